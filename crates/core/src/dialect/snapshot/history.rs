//! History as this protocol's clients read it: messages, answers and tool results. It holds only what has ended; what is open comes with the stream.
//! A turn that was rolled back is left out.

use serde_json::{Value, json};

use super::Snapshot;
use super::wire::Block;
use crate::dialect::{Frames, Muted as _, Projection, name};
use crate::event::{Envelope, Event, Part, SteerState};
use crate::id::{MessageId, Seq, TurnId};

/// About what a message takes in memory.
const MESSAGE_BYTES: usize = 2_048;

/// A fold of a log into a list of messages.
#[derive(Debug, Clone)]
pub struct History(Snapshot);

/// What has ended.
#[derive(Debug, Clone, Default)]
pub(super) struct EndedMessages {
    runtime: String,
    model: Option<String>,
    items: Vec<(Option<TurnId>, Value)>,
    steers: Vec<(MessageId, Vec<Part>)>,
    seq: Seq,
}

impl Default for History {
    fn default() -> Self {
        Self(Snapshot { kept: Some(EndedMessages::default()), ..Snapshot::new(Seq(u64::MAX)) })
    }
}

impl Projection for History {
    type Output = ();

    fn apply(&mut self, envelope: &Envelope, (): &mut ()) {
        self.0.apply(envelope, &mut Frames::muted());
    }

    fn weight(&self) -> usize {
        let kept = self.0.kept.as_ref();
        kept.map_or(0, |kept| kept.items.len() * MESSAGE_BYTES)
    }
}

impl History {
    /// The position up to which this is told: a stream that begins after it goes on seamlessly.
    pub fn seq(&self) -> Seq {
        self.0.kept.as_ref().map_or(Seq::ZERO, |kept| kept.seq)
    }

    /// How many messages there are.
    pub fn len(&self) -> usize {
        self.0.kept.as_ref().map_or(0, |kept| kept.items.len())
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// So many messages from a place on, oldest first.
    pub fn messages(&self, offset: usize, limit: usize) -> Vec<Value> {
        let items = self.0.kept.iter().flat_map(|kept| &kept.items);
        items.skip(offset).take(limit).map(|(_, item)| item.clone()).collect()
    }
}

impl EndedMessages {
    pub(super) fn take(&mut self, envelope: &Envelope) {
        self.seq = envelope.seq;
        match &envelope.event {
            Event::SessionReady(ready) => {
                self.runtime.clone_from(&ready.runtime);
                self.model = ready.model.clone().or(self.model.take());
            }
            Event::ModelChanged(changed) => self.model = Some(changed.model.clone()),
            Event::UserMessage(message) => self.user(envelope, &message.content),
            Event::Steer(steer) => {
                if let Some(content) = &steer.content {
                    self.steers.push((steer.message_id.clone(), content.clone()));
                }
                if steer.state != SteerState::Accepted
                    && let Some(at) = self.steers.iter().position(|(id, _)| *id == steer.message_id)
                {
                    let (_, content) = self.steers.remove(at);
                    if steer.state == SteerState::Delivered {
                        self.user(envelope, &content);
                    }
                }
            }
            Event::Rollback(rollback) => {
                self.items.retain(|(turn, _)| turn.as_ref().is_none_or(|turn| !rollback.turn_ids.contains(turn)));
            }
            Event::Usage(usage) => {
                let total = usage.input_tokens + usage.output_tokens;
                let usage = json!({
                    "input": usage.input_tokens, "output": usage.output_tokens, "cacheRead": usage.cached_tokens.unwrap_or(0),
                    "cacheWrite": 0, "totalTokens": total, "cost": { "total": usage.cost_usd.unwrap_or(0.0) },
                });
                let turn = &envelope.turn_id;
                let last = self.items.iter_mut().rev().find(|(of, item)| of == turn && is_assistant(item));
                if let Some(item) = last.and_then(|(_, item)| item.as_object_mut()) {
                    item.insert("usage".to_owned(), usage);
                }
            }
            _ => {}
        }
    }

    fn user(&mut self, envelope: &Envelope, content: &[Part]) {
        let block = |part: &Part| match part {
            Part::Text { text } => json!({ "type": "text", "text": text }),
            Part::Image { media_type, data, blob } => {
                // Content that is stored as a blob is added by the code that can read blobs.
                let (kind, member, value) = match (data, blob) {
                    (None, Some(blob)) => ("url", "url", format!("/api/blobs/{}", blob.id)),
                    (data, _) => ("base64", "data", data.clone().unwrap_or_default()),
                };
                json!({ "type": "image", "source": { "type": kind, "media_type": media_type, member: value } })
            }
            Part::File { path } => json!({ "type": "text", "text": path }),
        };
        let content: Value = match content {
            [Part::Text { text }] => json!(text),
            parts => parts.iter().map(block).collect(),
        };
        let timestamp = envelope.ts.millis();
        let item = json!({ "role": "user", "content": content, "timestamp": timestamp, "source": { "type": "local" } });
        self.items.push((envelope.turn_id.clone(), item));
    }

    pub(super) fn message(&mut self, envelope: &Envelope, stream: &str, content: &[Block], stop_reason: &str) {
        let item = json!({
            "role": "assistant", "content": content, "api": "turnloom", "provider": self.runtime, "model": self.model.as_deref().unwrap_or("default"),
            "usage": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0, "cost": { "total": 0.0 } },
            "stopReason": stop_reason, "timestamp": envelope.ts.millis(), "streamId": stream,
        });
        self.items.push((envelope.turn_id.clone(), item));
    }

    /// A call whose message has ended: clients look for its arguments there.
    pub(super) fn call(&mut self, call: &Block) {
        let last = self.items.iter_mut().rev().find(|(_, item)| is_assistant(item));
        let content = last.and_then(|(_, item)| item.get_mut("content")).and_then(Value::as_array_mut);
        if let Some(content) = content {
            content.push(json!(call));
        }
    }

    pub(super) fn tool(&mut self, envelope: &Envelope, id: &str, tool: &str, text: &str, is_error: bool) {
        let item = json!({
            "role": "toolResult", "toolCallId": name(id), "toolName": tool, "content": [{ "type": "text", "text": text }], "isError": is_error,
            "timestamp": envelope.ts.millis(),
        });
        self.items.push((envelope.turn_id.clone(), item));
    }
}

fn is_assistant(item: &Value) -> bool {
    item.get("role").and_then(Value::as_str) == Some("assistant")
}
