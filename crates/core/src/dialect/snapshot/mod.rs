//! Snapshots: the whole message each time, so that a client has nothing to put together. A message ends before its tools run, and what is said after
//! them is a new one.
//!
//! What is being said is held back until everything that is there was taken, so a burst of pieces is one frame. History as this protocol's clients
//! read it is in `history`; the gateway and its calls are not here.

mod history;
mod wire;

use std::collections::{BTreeMap, HashMap};

use serde_json::{Value, json};

pub use self::history::History;
use self::wire::{Approval, Block, Message, StreamEvent, StreamPayload};
use super::{Dialect, Ending, Frames, Muted as _, Projection, keep_tail, name};
use crate::event::{CompactionReason, Done, Envelope, Event, Outcome, PermissionReply, PermissionRequest, ToolStart};
use crate::id::Seq;

/// What all frames are called that carry a message, a tool or a compaction.
pub const STREAM: &str = "stream";
pub const APPROVAL_REQUEST: &str = "exec-approval-request";
pub const APPROVAL_RESOLVED: &str = "exec-approval-resolved";

/// The one agent that these clients know of: they drop what is of another.
pub const AGENT_ID: &str = "turnloom";

/// How much of a running tool's output is shown.
const PARTIAL_BYTES: usize = 8_192;

/// The fold for one reader.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    session: String,
    /// What the reader has, from a history or from before.
    after: Seq,
    /// It was told what was open there.
    going: bool,
    over: bool,
    turn: String,
    segment: u64,
    /// The last message that was begun.
    stream: String,
    open: Option<OpenMessage>,
    said: bool,
    tools: BTreeMap<String, OpenTool>,
    started: u64,
    asks: BTreeMap<String, Value>,
    delegates: HashMap<String, String>,
    /// What has ended, for a history; nobody else keeps it.
    kept: Option<history::EndedMessages>,
}

#[derive(Debug, Clone)]
struct OpenMessage {
    stream: String,
    content: Vec<Block>,
    /// There is more than was told.
    dirty: bool,
    /// It ends as soon as no tool runs: its end would look like theirs.
    ending: Option<&'static str>,
}

#[derive(Debug, Clone)]
struct OpenTool {
    /// The message that it was called in.
    stream: String,
    /// Tools are told in the order they began.
    order: u64,
    name: String,
    args: Value,
    partial: String,
    delegates: [u64; 2],
}

impl Snapshot {
    /// A fold of the whole log for one reader.
    pub fn new(after: Seq) -> Self {
        let mut fold = Self::default();
        fold.start_reader(after);
        fold
    }

    fn write_event(&self, stream: &str, event: StreamEvent<'_>, out: &mut Frames) {
        let conversation_id = self.session.as_str();
        out.push_named(STREAM, &StreamPayload { stream_id: stream, agent_id: AGENT_ID, conversation_id, event });
    }

    fn compaction(&self, event: StreamEvent<'_>, out: &mut Frames) {
        self.write_event(&format!("compaction:{AGENT_ID}"), event, out);
    }

    fn take(&mut self, envelope: &Envelope, out: &mut Frames) {
        if let Some(kept) = &mut self.kept {
            kept.take(envelope);
        }
        match &envelope.event {
            Event::TurnStarted(_) => {
                self.turn = envelope.turn_id.as_ref().map_or_else(String::new, ToString::to_string);
                (self.segment, self.said) = (0, false);
            }
            Event::PermissionRequest(ask) => self.ask(ask, out),
            Event::PermissionResolved(settled) => {
                let id = settled.ask_id.as_str();
                self.asks.remove(id);
                let decision = match (settled.allowed, settled.reply) {
                    (true, PermissionReply::Always) => "allow-always",
                    (true, _) => "allow-once",
                    (false, _) => "deny",
                };
                let settled = json!({
                    "approvalId": name(id), "agentId": AGENT_ID, "conversationId": self.session, "decision": decision, "by": settled.by,
                });
                self.update(out);
                out.push_named(APPROVAL_RESOLVED, &settled);
            }
            Event::SubagentStarted(started) => {
                if let Some(parent) = &started.parent_tool_use_id {
                    self.delegates.insert(started.subagent_id.to_string(), parent.to_string());
                    self.delegate(parent.as_str(), 0, out);
                }
            }
            Event::SubagentEnded(ended) => {
                if let Some(parent) = self.delegates.remove(ended.subagent_id.as_str()) {
                    self.delegate(&parent, 1, out);
                }
            }
            // What a helper says and does is its own; its call shows how far it is.
            _ if envelope.subagent_id.is_some() => {}
            _ => self.own(envelope, out),
        }
    }

    /// What the agent itself says and does.
    fn own(&mut self, envelope: &Envelope, out: &mut Frames) {
        match &envelope.event {
            Event::Delta(delta) => {
                self.said |= !delta.text.is_empty();
                self.say(delta.block_id.as_str(), &delta.text, Block::text, out);
            }
            Event::Thinking(thought) => self.say(thought.block_id.as_str(), &thought.text, Block::thinking, out),
            Event::Retracted(retracted) => {
                if let Some(open) = &mut self.open {
                    open.content.retain(|block| !block.is_text(retracted.block_id.as_str()));
                    open.dirty = true;
                }
            }
            Event::TurnResult(result) if !self.said => self.say("result", &result.text, Block::text, out),
            Event::QuestionRequest(ask) => {
                let question = |question: &crate::event::Question| {
                    let options: Vec<&str> = question.options.iter().map(|option| option.label.as_str()).collect();
                    format!("{} ({})", question.prompt, options.join(", "))
                };
                // There is no such thing as a question here; it can at least be read.
                let text: Vec<String> = ask.questions.iter().map(question).collect();
                self.say(ask.ask_id.as_str(), &text.join("\n"), Block::text, out);
            }
            Event::Interrupt(ask) => {
                self.say(ask.interrupt_id.as_str(), &format!("[{}]", ask.component_name), Block::text, out);
            }
            Event::ToolStart(start) => self.tool_start(start, out),
            Event::ToolProgress(progress) => {
                let id = progress.tool_use_id.as_str();
                if let (Some(tool), Some(text)) = (self.tools.get_mut(id), &progress.text) {
                    keep_tail(&mut tool.partial, text, PARTIAL_BYTES);
                    self.tool_update(id, out);
                }
            }
            Event::ToolResult(result) => {
                let id = result.tool_use_id.as_str();
                let Some(tool) = self.tools.remove(id) else { return };
                self.update(out);
                let mut text = result.output.clone();
                if let Some(blob) = &result.blob {
                    // What is above shows both ends of it.
                    text = format!("{text}\n[all {} bytes: /api/blobs/{}]", blob.size, blob.id);
                }
                let event = StreamEvent::ToolExecutionEnd {
                    tool_call_id: name(id),
                    tool_name: &tool.name,
                    result: &text,
                    is_error: result.is_error,
                };
                self.write_event(&tool.stream, event, out);
                if let Some(kept) = &mut self.kept {
                    kept.tool(envelope, id, &tool.name, &text, result.is_error);
                }
                self.end_if_free(envelope, out);
            }
            Event::CompactionStart(_) => {
                self.update(out);
                self.compaction(StreamEvent::CompactionStart {}, out);
            }
            Event::CompactionEnd(end) => {
                self.update(out);
                let reason = match end.reason {
                    CompactionReason::Tokens => "tokens",
                    CompactionReason::Count => "count",
                    CompactionReason::Summary | CompactionReason::Manual => "summary",
                };
                let tokens_removed =
                    end.tokens_before.zip(end.tokens_after).map(|(before, after)| before.saturating_sub(after));
                let event = StreamEvent::CompactionEnd {
                    removed: end.removed.unwrap_or(0),
                    kept: end.kept.unwrap_or(0),
                    tokens_removed,
                    tokens_kept: end.tokens_after,
                    reason,
                };
                self.compaction(event, out);
            }
            Event::Failure(failure) => {
                self.update(out);
                let event = StreamEvent::AgentError { message: &failure.message };
                self.write_event(&format!("system:{}", self.session), event, out);
            }
            Event::Done(done) => self.done(envelope, done, out),
            _ => {}
        }
    }

    // ---- messages ----

    fn message(&mut self, out: &mut Frames) -> &mut OpenMessage {
        if self.open.is_none() {
            self.segment += 1;
            let stream = format!("{}:{}", name(&self.turn), self.segment);
            self.write_event(&stream, StreamEvent::MessageStart { message: Message::assistant(&[]) }, out);
            self.stream.clone_from(&stream);
            self.open = Some(OpenMessage { stream, content: Vec::new(), dirty: false, ending: None });
        }
        self.open.get_or_insert_with(unreachable_message)
    }

    fn say(&mut self, block: &str, text: &str, make: fn(&str) -> Block, out: &mut Frames) {
        if text.is_empty() {
            return;
        }
        let mut new = make(block);
        let open = self.message(out);
        if let Some(known) = open.content.iter_mut().rfind(|known| known.same(&new)) {
            known.push(text);
        } else {
            new.push(text);
            open.content.push(new);
        }
        open.dirty = true;
    }

    /// Tells the message that is being said, if there is more of it.
    fn update(&mut self, out: &mut Frames) {
        if let Some(open) = &mut self.open
            && std::mem::replace(&mut open.dirty, false)
            && let Some(open) = &self.open
        {
            self.write_event(
                &open.stream,
                StreamEvent::MessageUpdate { message: Message::assistant(&open.content) },
                out,
            );
        }
    }

    fn end(&mut self, envelope: &Envelope, stop_reason: &'static str, out: &mut Frames) {
        if !self.tools.is_empty() {
            self.update(out);
            self.open.iter_mut().for_each(|open| open.ending = Some(stop_reason));
            return;
        }
        if let Some(open) = self.open.take() {
            let message = Message { stop_reason: Some(stop_reason), ..Message::assistant(&open.content) };
            self.write_event(&open.stream, StreamEvent::MessageEnd { message, stop_reason }, out);
            if let Some(kept) = &mut self.kept {
                kept.message(envelope, &open.stream, &open.content, stop_reason);
            }
        }
    }

    fn end_if_free(&mut self, envelope: &Envelope, out: &mut Frames) {
        if let Some(reason) = self.open.as_ref().and_then(|open| open.ending) {
            self.end(envelope, reason, out);
        }
    }

    fn done(&mut self, envelope: &Envelope, done: &Done, out: &mut Frames) {
        let reason = match done.outcome {
            Outcome::Completed => "stop",
            Outcome::Stopped | Outcome::Interrupted => "aborted",
            Outcome::Failed => "error",
        };
        self.end(envelope, reason, out);
    }

    // ---- tools ----

    fn tool_start(&mut self, start: &ToolStart, out: &mut Frames) {
        let id = start.tool_use_id.as_str();
        let args = start.input.clone().unwrap_or_else(|| json!({}));
        let call = Block::call(name(id), name(&start.tool), args.clone());
        self.said = true;
        if self.tools.is_empty() {
            let open = self.message(out);
            open.content.push(call);
            open.ending = Some("toolUse");
        } else if let Some(open) = &mut self.open {
            open.content.push(call);
            open.dirty = true;
        } else if let Some(kept) = &mut self.kept {
            // Beside another call: its message has ended, and only a history can still be given the call.
            kept.call(&call);
        }
    }

    fn tool_run(&mut self, start: &ToolStart, out: &mut Frames) {
        let id = start.tool_use_id.as_str();
        self.started += 1;
        let tool = OpenTool {
            stream: self.stream.clone(),
            order: self.started,
            name: name(&start.tool).to_owned(),
            args: start.input.clone().unwrap_or_else(|| json!({})),
            partial: String::new(),
            delegates: [0, 0],
        };
        self.write_start(id, &tool, out);
        self.tools.insert(id.to_owned(), tool);
    }

    fn write_start(&self, id: &str, tool: &OpenTool, out: &mut Frames) {
        let event = StreamEvent::ToolExecutionStart { tool_call_id: name(id), tool_name: &tool.name, args: &tool.args };
        self.write_event(&tool.stream, event, out);
    }

    fn delegate(&mut self, id: &str, which: usize, out: &mut Frames) {
        if let Some(count) = self.tools.get_mut(id).and_then(|tool| tool.delegates.get_mut(which)) {
            *count += 1;
            self.tool_update(id, out);
        }
    }

    fn tool_update(&mut self, id: &str, out: &mut Frames) {
        self.update(out);
        if let Some(tool) = self.tools.get(id) {
            self.write_update(id, tool, out);
        }
    }

    fn write_update(&self, id: &str, tool: &OpenTool, out: &mut Frames) {
        let mut partial = json!({ "content": [{ "type": "text", "text": tool.partial }] });
        let [begun, ended] = tool.delegates;
        if let (1.., Some(partial)) = (begun, partial.as_object_mut()) {
            let details = json!({
                "kind": "delegate_progress", "taskCount": begun, "completed": ended, "running": begun.saturating_sub(ended),
            });
            partial.insert("details".to_owned(), details);
        }
        let event = StreamEvent::ToolExecutionUpdate {
            tool_call_id: name(id),
            tool_name: &tool.name,
            args: &tool.args,
            partial_result: &partial,
        };
        self.write_event(&tool.stream, event, out);
    }

    // ---- asks ----

    fn ask(&mut self, ask: &PermissionRequest, out: &mut Frames) {
        let command = ask.tool_input.get("command").and_then(Value::as_str);
        let command = command.map_or_else(|| format!("{} {}", ask.tool_name, ask.tool_input), str::to_owned);
        let approval = Approval {
            id: name(ask.ask_id.as_str()),
            agent_id: AGENT_ID,
            conversation_id: self.session.as_str(),
            command: &command,
            risk_level: "needs-review",
            risk_reasons: ask.title.as_deref().into_iter().collect(),
            expires_at_ms: -1,
        };
        let value = serde_json::to_value(&approval).unwrap_or_default();
        self.update(out);
        out.push_named(APPROVAL_REQUEST, &value);
        self.asks.insert(ask.ask_id.to_string(), value);
    }

    /// A reader that has what ended is told what is open.
    fn go_on(&mut self, out: &mut Frames) {
        if std::mem::replace(&mut self.going, true) {
            return;
        }
        if let Some(open) = &mut self.open {
            open.dirty = false;
        }
        if let Some(open) = &self.open {
            self.write_event(&open.stream, StreamEvent::MessageStart { message: Message::assistant(&[]) }, out);
            self.write_event(
                &open.stream,
                StreamEvent::MessageUpdate { message: Message::assistant(&open.content) },
                out,
            );
        }
        let mut tools: Vec<(&String, &OpenTool)> = self.tools.iter().collect();
        tools.sort_by_key(|(_, tool)| tool.order);
        for (id, tool) in tools {
            self.write_start(id, tool, out);
            if !tool.partial.is_empty() || tool.delegates != [0, 0] {
                self.write_update(id, tool, out);
            }
        }
        for ask in self.asks.values() {
            out.push_named(APPROVAL_REQUEST, ask);
        }
    }
}

/// Only so that the type says it: the message was opened on the line before.
fn unreachable_message() -> OpenMessage {
    OpenMessage { stream: "_".to_owned(), content: Vec::new(), dirty: false, ending: None }
}

impl Projection for Snapshot {
    type Output = Frames;

    fn apply(&mut self, envelope: &Envelope, frames: &mut Frames) {
        if self.over {
            return;
        }
        if self.session.is_empty() {
            self.session = envelope.session_id.to_string();
        }
        let mut nobody = Frames::muted();
        let out = if envelope.seq <= self.after {
            &mut nobody
        } else {
            self.go_on(frames);
            frames
        };
        self.take(envelope, out);
        // The message ends before the tool begins, or its end would look like the tool's.
        if let (Event::ToolStart(start), None) = (&envelope.event, &envelope.subagent_id) {
            if self.tools.is_empty() {
                self.end_if_free(envelope, out);
            } else {
                self.update(out);
            }
            self.tool_run(start, out);
        }
    }

    fn caught_up(&mut self, frames: &mut Frames) {
        self.go_on(frames);
    }

    fn flush(&mut self, frames: &mut Frames) {
        if self.going {
            self.update(frames);
        }
    }

    fn has_buffered(&self) -> bool {
        self.going && self.open.as_ref().is_some_and(|open| open.dirty)
    }

    fn is_done(&self) -> bool {
        self.over
    }
}

impl Dialect for Snapshot {
    /// What the reader has.
    type Reader = Seq;

    fn start_reader(&mut self, after: Seq) {
        (self.after, self.going) = (after, after == Seq::ZERO);
    }

    /// A client that reconnects gets the whole message again, so nothing has to be closed.
    fn close(&mut self, _ending: Ending, _frames: &mut Frames) {
        self.over = true;
    }
}
