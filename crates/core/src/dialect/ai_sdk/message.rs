//! Builds messages from chunks as a client does. The history that the daemon serves is built the same way, so a page shows the same after a reload.
//! It is as strict as the clients are, and the tests use that.

use std::collections::{HashMap, HashSet};
use std::ops::{Deref, DerefMut};

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{AiSdk, Profile, Subject};
use crate::dialect::{Frames, Projection, name};
use crate::event::{Envelope, Event, Part, UserMessage};
use crate::id::{AskId, TurnId};

/// About what a message takes in memory besides what it says.
const MESSAGE_BYTES: usize = 512;

/// A message as these clients hold it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct UiMessage {
    pub id: String,
    pub role: &'static str,
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
    pub parts: Vec<Value>,
    /// Parts that are being written, by kind and id.
    #[serde(skip)]
    open: HashMap<(&'static str, String), usize>,
    /// Inputs that come in pieces.
    #[serde(skip)]
    inputs: HashMap<String, String>,
    /// Where the part of a call is: an answer may have thousands.
    #[serde(skip)]
    calls: HashMap<String, usize>,
    /// Where the parts are that are replaced in place, by type and id.
    #[serde(skip)]
    replaced: HashMap<(String, String), usize>,
}

impl UiMessage {
    pub fn assistant() -> Self {
        Self { role: "assistant", ..Self::default() }
    }

    /// Takes a chunk, or says why a client would not.
    pub fn apply(&mut self, chunk: &Value) -> Result<(), String> {
        let text = |key: &str| chunk.get(key).and_then(Value::as_str);
        let required = |key: &'static str| text(key).ok_or_else(|| format!("{key} is missing in {chunk}"));
        let kind = required("type")?;
        match kind {
            "start" => required("messageId")?.clone_into(&mut self.id),
            "start-step" => self.parts.push(json!({ "type": "step-start" })),
            "finish-step" => self.open.clear(),
            "text-start" => self.open_text("text", required("id")?),
            "reasoning-start" => self.open_text("reasoning", required("id")?),
            "text-delta" => self.more("text", required("id")?, required("delta")?)?,
            "reasoning-delta" => self.more("reasoning", required("id")?, required("delta")?)?,
            "text-end" => self.end("text", required("id")?)?,
            "reasoning-end" => self.end("reasoning", required("id")?)?,
            "tool-input-start" => {
                let id = required("toolCallId")?;
                self.inputs.insert(id.to_owned(), String::new());
                self.tool(chunk, id, required("toolName")?, json!({ "state": "input-streaming" }));
            }
            "tool-input-delta" => {
                let id = required("toolCallId")?;
                let input = self.inputs.get_mut(id).ok_or_else(|| format!("no input is streamed for {id}"))?;
                input.push_str(required("inputTextDelta")?);
                let input: Value = serde_json::from_str(input).unwrap_or_default();
                self.update(id, json!({ "input": input }))?;
            }
            "tool-input-available" => {
                let id = required("toolCallId")?;
                let input = chunk.get("input").ok_or("input is missing")?;
                self.tool(chunk, id, required("toolName")?, json!({ "state": "input-available", "input": input }));
            }
            "tool-output-available" => {
                let output = chunk.get("output").ok_or("output is missing")?;
                let preliminary = chunk.get("preliminary").cloned().unwrap_or_default();
                let fields = json!({ "state": "output-available", "output": output, "preliminary": preliminary });
                self.update(required("toolCallId")?, fields)?;
            }
            "tool-output-error" => {
                let fields = json!({ "state": "output-error", "errorText": required("errorText")?, "output": null, "preliminary": null });
                self.update(required("toolCallId")?, fields)?;
            }
            "tool-output-denied" => self.update(required("toolCallId")?, json!({ "state": "output-denied" }))?,
            "tool-approval-request" => {
                let approval = json!({ "id": required("approvalId")? });
                self.update(required("toolCallId")?, json!({ "state": "approval-requested", "approval": approval }))?;
            }
            "tool-approval-response" => {
                let (id, approved) = (required("approvalId")?, chunk.get("approved").ok_or("approved is missing")?);
                let is = |part: &&Value| part.pointer("/approval/id").and_then(Value::as_str) == Some(id);
                let call =
                    self.parts.iter().rev().find(is).and_then(|part| part.get("toolCallId")).and_then(Value::as_str);
                let call = call.ok_or_else(|| format!("there is no approval {id}"))?.to_owned();
                let approval = json!({ "id": id, "approved": approved });
                self.update(&call, json!({ "state": "approval-responded", "approval": approval }))?;
            }
            "source-url" | "file" | "steering-message" => self.parts.push(chunk.clone()),
            "message-metadata" => self.merge(chunk.get("messageMetadata")),
            "finish" => self.merge(chunk.get("messageMetadata")),
            "abort" | "error" => {}
            data if data.starts_with("data-") => self.data(data, chunk)?,
            other => return Err(format!("{other} is not known")),
        }
        Ok(())
    }

    fn open_text(&mut self, kind: &'static str, id: &str) {
        self.open.insert((kind, id.to_owned()), self.parts.len());
        self.parts.push(json!({ "type": kind, "text": "", "state": "streaming" }));
    }

    fn opened(&mut self, kind: &'static str, id: &str) -> Result<&mut Value, String> {
        let at = self.open.get(&(kind, id.to_owned())).copied();
        at.and_then(|at| self.parts.get_mut(at)).ok_or_else(|| format!("{kind} {id} is not open"))
    }

    fn more(&mut self, kind: &'static str, id: &str, delta: &str) -> Result<(), String> {
        if let Some(Value::String(text)) = self.opened(kind, id)?.get_mut("text") {
            text.push_str(delta);
        }
        Ok(())
    }

    fn end(&mut self, kind: &'static str, id: &str) -> Result<(), String> {
        if let Some(part) = self.opened(kind, id)?.as_object_mut() {
            part.insert("state".to_owned(), json!("done"));
        }
        self.open.remove(&(kind, id.to_owned()));
        Ok(())
    }

    fn tool(&mut self, chunk: &Value, id: &str, tool_name: &str, fields: Value) {
        if self.update(id, fields.clone()).is_ok() {
            return;
        }
        let dynamic = chunk.get("dynamic") == Some(&json!(true));
        let mut part = if dynamic {
            json!({ "type": "dynamic-tool", "toolName": tool_name })
        } else {
            json!({ "type": format!("tool-{tool_name}") })
        };
        if let Some(part) = part.as_object_mut() {
            part.insert("toolCallId".to_owned(), json!(id));
            if let Some(executed) = chunk.get("providerExecuted") {
                part.insert("providerExecuted".to_owned(), executed.clone());
            }
        }
        self.calls.insert(id.to_owned(), self.parts.len());
        self.parts.push(part);
        drop(self.update(id, fields));
    }

    /// Sets members of a call's part; a null takes one away.
    fn update(&mut self, id: &str, fields: Value) -> Result<(), String> {
        let part = self.calls.get(id).and_then(|at| self.parts.get_mut(*at)).and_then(Value::as_object_mut);
        let part = part.ok_or_else(|| format!("there is no call {id}"))?;
        if let Value::Object(fields) = fields {
            let has_output = fields.get("state").is_some_and(|state| state == "output-available");
            for (key, value) in fields {
                if value.is_null() && !(has_output && key == "output") {
                    part.remove(&key);
                } else {
                    part.insert(key, value);
                }
            }
        }
        Ok(())
    }

    fn data(&mut self, kind: &str, chunk: &Value) -> Result<(), String> {
        let data = chunk.get("data").ok_or("data is missing")?;
        if chunk.get("transient") == Some(&json!(true)) {
            return Ok(());
        }
        let key = chunk.get("id").and_then(Value::as_str).map(|id| (kind.to_owned(), id.to_owned()));
        let known = key.as_ref().and_then(|key| self.replaced.get(key)).and_then(|at| self.parts.get_mut(*at));
        if let Some(part) = known.and_then(Value::as_object_mut) {
            part.insert("data".to_owned(), data.clone());
        } else {
            self.replaced.extend(key.map(|key| (key, self.parts.len())));
            self.parts.push(json!({ "type": kind, "id": chunk.get("id"), "data": data }));
        }
        Ok(())
    }

    fn merge(&mut self, metadata: Option<&Value>) {
        self.metadata.extend(metadata.and_then(Value::as_object).cloned().unwrap_or_default());
    }
}

/// A session as the messages of such a client.
#[derive(Debug, Clone)]
pub struct History {
    dialect: AiSdk,
    messages: Vec<(Option<TurnId>, UiMessage)>,
    /// The message that is being written.
    current: Option<usize>,
    /// Which call each permission was asked for.
    calls: HashMap<AskId, String>,
    /// How much was said, as JSON.
    bytes: usize,
}

/// The same for the clients of one version, so that all of them share it: 5, 6 or 7. Every ask in it has its answer, unless a reader is [started](History::start_reader).
#[derive(Debug, Clone)]
pub struct HistoryOf<const V: u8>(History);

impl<const V: u8> Default for HistoryOf<V> {
    fn default() -> Self {
        let profile = match V {
            ..=5 => Profile::V5,
            6 => Profile::V6,
            7.. => Profile::V7,
        };
        Self(History::new(profile, HashSet::new()))
    }
}

impl<const V: u8> Deref for HistoryOf<V> {
    type Target = History;

    fn deref(&self) -> &History {
        &self.0
    }
}

impl<const V: u8> DerefMut for HistoryOf<V> {
    fn deref_mut(&mut self) -> &mut History {
        &mut self.0
    }
}

impl<const V: u8> Projection for HistoryOf<V> {
    type Output = ();

    fn apply(&mut self, envelope: &Envelope, (): &mut ()) {
        self.0.apply(envelope, &mut ());
    }

    fn weight(&self) -> usize {
        self.0.weight()
    }
}

impl Projection for History {
    type Output = ();

    fn apply(&mut self, envelope: &Envelope, (): &mut ()) {
        let mut frames = Frames::default();
        self.dialect.apply(envelope, &mut frames);
        self.bytes += frames.size();
        match &envelope.event {
            // A part of the answer that it was said into.
            Event::UserMessage(_) if self.dialect.is_about_told_turn(envelope) => {}
            Event::UserMessage(message) => {
                let message = of_user(message);
                self.bytes += message.parts.iter().map(|part| part.to_string().len()).sum::<usize>();
                self.messages.push((envelope.turn_id.clone(), message));
            }
            Event::TurnStarted(_) => {
                self.current = Some(self.messages.len());
                self.messages.push((envelope.turn_id.clone(), UiMessage::assistant()));
            }
            Event::Rollback(rollback) => {
                self.messages.retain(|(turn, _)| !turn.as_ref().is_some_and(|turn| rollback.turn_ids.contains(turn)));
                self.current = None;
            }
            Event::PermissionRequest(request) => {
                let call = self.dialect.call_of(&request.ask_id).map(str::to_owned);
                self.calls.extend(call.map(|call| (request.ask_id.clone(), call)));
            }
            _ => {}
        }
        let Some((_, message)) = self.current.and_then(|at| self.messages.get_mut(at)) else { return };
        for frame in frames.iter() {
            let chunk = serde_json::from_slice(frame.body).unwrap_or_default();
            // What the clients would refuse is not sent, which the tests see to.
            drop(message.apply(&chunk));
        }
        if let Event::PermissionResolved(resolved) = &envelope.event
            && let Some(call) = self.calls.remove(&resolved.ask_id)
            && self.dialect.profile >= Profile::V6
        {
            // A stored message is valid only if it says how an approval ended.
            let approval = json!({ "id": name(resolved.ask_id.as_str()), "approved": resolved.allowed });
            drop(message.update(&call, json!({ "approval": approval })));
        }
    }

    fn weight(&self) -> usize {
        // As values it takes more than as text.
        self.messages.len() * MESSAGE_BYTES + self.bytes * 2
    }
}

impl History {
    pub fn new(profile: Profile, pending: HashSet<AskId>) -> Self {
        let dialect = AiSdk::new(profile, Subject::Everything, pending);
        Self { dialect, messages: Vec::new(), current: None, calls: HashMap::new(), bytes: 0 }
    }

    /// Says which asks wait, before the first of them is taken.
    pub fn start_reader(&mut self, pending: HashSet<AskId>) {
        self.dialect.pending = pending;
    }

    /// The newest messages, oldest first. An answer of which there is nothing yet is not among them.
    pub fn messages(&self, limit: usize) -> Vec<&UiMessage> {
        let all = self.messages.iter().map(|(_, message)| message);
        let shown = all.filter(|message| message.role == "user" || !message.parts.is_empty());
        let mut newest: Vec<&UiMessage> = shown.rev().take(limit).collect();
        newest.reverse();
        newest
    }
}

/// What was said into a turn; there are only texts and files in it.
pub(super) fn steering_parts(message: &UserMessage) -> Vec<Value> {
    let part = |part: &Part| match part {
        Part::File { path } => json!({ "type": "text", "text": path }),
        part => part_of_user(part),
    };
    message.content.iter().map(part).collect()
}

fn part_of_user(part: &Part) -> Value {
    match part {
        Part::Text { text } => json!({ "type": "text", "text": text }),
        Part::Image { media_type, data, blob } => {
            let url = match (data, blob) {
                (Some(data), _) => format!("data:{media_type};base64,{data}"),
                (None, Some(blob)) => format!("/api/blobs/{}", blob.id),
                (None, None) => "about:blank".to_owned(),
            };
            json!({ "type": "file", "mediaType": media_type, "url": url })
        }
        Part::File { path } => json!({ "type": "data-file", "data": { "path": path } }),
    }
}

fn of_user(message: &UserMessage) -> UiMessage {
    let parts = message.content.iter().map(part_of_user).collect();
    UiMessage { id: message.message_id.to_string(), role: "user", parts, ..UiMessage::default() }
}
