//! Universal events: items, deltas, turns, asks, each with a sequence of its own that counts from 1 without gaps.
//!
//! What comes out does not depend on when a reader came, so a sequence number is a cursor for ever, and a page and a stream agree. Items are in
//! `items`, shapes in `wire`; routes, files and errors are not here.

mod items;
mod wire;

use std::collections::HashMap;

use serde::Serialize;
use serde_json::{Value, json};

use self::items::{OpenText, OpenTool};
use self::wire::{EndedData, ErrorData, EventId, ItemId, PermissionData, QuestionData, TurnData, UnparsedData, Wire};
use super::{Dialect, Ending, Frames, Projection, name};
use crate::awaited::Awaited;
use crate::event::{Envelope, Event, Outcome, PermissionReply};
use crate::id::{MessageId, TurnId};

/// What the events say of their session and the log does not know: how its client calls it, and how it was asked for.
#[derive(Debug, Clone, Default)]
pub struct About {
    pub session_id: String,
    pub agent: String,
    pub agent_mode: String,
    pub permission_mode: String,
    pub model: Option<String>,
}

/// What a reader wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// Everything after a sequence number, for ever.
    After(u64),
    /// The turn that answers a message, until it ends or somebody has to answer.
    TurnOf(MessageId),
}

impl Default for Wanted {
    fn default() -> Self {
        Self::After(0)
    }
}

/// Whether an agent's own words are wanted, where the log has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Raw {
    #[default]
    LeftOut,
    Included,
}

/// What one reader is to be told.
#[derive(Debug, Clone)]
pub struct Reader {
    pub about: About,
    pub wanted: Wanted,
    pub raw: Raw,
}

/// The fold for one reader.
#[derive(Debug, Clone, Default)]
pub struct Universal {
    about: About,
    wanted: Wanted,
    raw: Raw,
    sequence: u64,
    items: u64,
    native: Option<String>,
    started: bool,
    turn: Option<TurnId>,
    /// The wanted turn is being told; for `After` that is always so.
    telling: bool,
    /// The message whose turn is wanted.
    awaited: Option<Awaited>,
    over: bool,
    texts: HashMap<String, OpenText>,
    thoughts: HashMap<String, OpenText>,
    tools: HashMap<String, OpenTool>,
    /// What the sub-agents' items belong to.
    lanes: HashMap<String, ItemId>,
    asks: HashMap<String, Asked>,
    usage: Option<Value>,
}

/// A request, to be repeated when it is settled.
#[derive(Debug, Clone)]
enum Asked {
    Permission { action: String, metadata: Value },
    Question { prompt: String, options: Vec<String> },
}

/// Who says an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    Agent,
    Daemon,
}

/// What ends the response of one turn.
const LAST: &[&str] =
    &["turn.ended", "session.ended", "error", "agent.unparsed", "permission.requested", "question.requested"];

impl Universal {
    /// A fold of the whole log for one reader.
    pub fn new(about: About, wanted: Wanted, raw: Raw) -> Self {
        let mut fold = Self::default();
        fold.start_reader(Reader { about, wanted, raw });
        fold
    }

    /// How many events there are so far.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    fn emit(&mut self, envelope: &Envelope, by: By, kind: &'static str, data: &impl Serialize, out: &mut Frames) {
        self.emit_raw(envelope, by, kind, data, None, out);
    }

    fn emit_raw(
        &mut self,
        envelope: &Envelope,
        by: By,
        kind: &'static str,
        data: &impl Serialize,
        raw: Option<&Value>,
        out: &mut Frames,
    ) {
        self.sequence += 1;
        let wanted = match self.wanted {
            Wanted::After(after) => self.sequence > after,
            Wanted::TurnOf(_) => self.telling && !self.over,
        };
        if !wanted {
            return;
        }
        let (synthetic, source) = if by == By::Daemon { (true, "daemon") } else { (false, "agent") };
        let wire = Wire {
            event_id: EventId(self.sequence),
            sequence: self.sequence,
            time: envelope.ts,
            session_id: &self.about.session_id,
            native_session_id: self.native.as_deref(),
            synthetic,
            source,
            kind,
            data,
            raw: raw.filter(|_| self.raw == Raw::Included),
        };
        out.push_numbered(self.sequence, &wire);
        self.over = matches!(self.wanted, Wanted::TurnOf(_)) && LAST.contains(&kind);
    }

    fn take(&mut self, envelope: &Envelope, out: &mut Frames) {
        match &envelope.event {
            Event::SessionReady(ready) => {
                if ready.provider_session_id.is_some() {
                    self.native.clone_from(&ready.provider_session_id);
                }
                if !std::mem::replace(&mut self.started, true) {
                    let about = &self.about;
                    let metadata = json!({
                        "agent": about.agent,
                        "agentMode": about.agent_mode,
                        "model": about.model,
                        "permissionMode": about.permission_mode,
                        "variant": null,
                    });
                    self.emit(envelope, By::Daemon, "session.started", &json!({ "metadata": metadata }), out);
                }
            }
            Event::SessionEnded(ended) => {
                let reason = match ended.reason {
                    crate::event::EndReason::Completed => "completed",
                    crate::event::EndReason::Error => "error",
                    crate::event::EndReason::Terminated => "terminated",
                };
                let terminated_by = if ended.terminated_by == "agent" { "agent" } else { "daemon" };
                let message = ended.message.as_deref().filter(|_| reason == "error");
                let data = EndedData { reason, terminated_by, message };
                self.emit(envelope, By::Daemon, "session.ended", &data, out);
            }
            // Here is no such thing as an archive: what is put away has ended.
            Event::SessionUpdated(updated) if updated.archived == Some(true) => {
                let data = EndedData { reason: "terminated", terminated_by: "daemon", message: None };
                self.emit(envelope, By::Daemon, "session.ended", &data, out);
            }
            Event::UserMessage(message) => {
                self.telling |= self.awaited.as_ref().is_some_and(Awaited::is_in_turn);
                self.begin_turn(envelope, out);
                self.user(envelope, message.message_id.as_str(), &message.content, out);
            }
            Event::TurnStarted(_) => self.begin_turn(envelope, out),
            Event::Usage(usage) => self.usage = Some(json!(usage)),
            Event::Failure(failure) => {
                let details = Some(json!({ "retryable": failure.retryable, "fix": failure.fix }));
                let data = ErrorData { message: &failure.message, code: Some(&failure.code), details };
                self.emit(envelope, By::Daemon, "error", &data, out);
            }
            Event::AgentUnparsed(unparsed) => {
                let raw_hash = unparsed.sha256.as_deref();
                let data = UnparsedData { error: &unparsed.error, location: &unparsed.location, raw_hash };
                let raw = Value::String(unparsed.raw.clone());
                self.emit_raw(envelope, By::Daemon, "agent.unparsed", &data, Some(&raw), out);
            }
            Event::Done(done) => {
                let outcome = match done.outcome {
                    Outcome::Completed => "completed",
                    Outcome::Stopped => "stopped",
                    Outcome::Interrupted => "interrupted",
                    Outcome::Failed => "failed",
                };
                let usage = self.usage.take();
                let mut metadata = json!({ "outcome": outcome });
                if let (Some(usage), Some(metadata)) = (usage, metadata.as_object_mut()) {
                    metadata.insert("usage".to_owned(), usage);
                }
                let turn = self.turn.take();
                let turn_id = turn.as_ref().or(envelope.turn_id.as_ref()).map_or("_", |turn| name(turn.as_str()));
                let data = TurnData { phase: "ended", turn_id, metadata: Some(metadata) };
                self.emit(envelope, By::Daemon, "turn.ended", &data, out);
            }
            Event::PermissionRequest(_)
            | Event::QuestionRequest(_)
            | Event::Interrupt(_)
            | Event::PermissionResolved(_)
            | Event::QuestionResolved(_)
            | Event::InterruptResolved(_) => self.ask(envelope, out),
            _ => self.item(envelope, out),
        }
    }

    /// A turn is first seen in the message that began it, or in the fact that it began.
    fn begin_turn(&mut self, envelope: &Envelope, out: &mut Frames) {
        let Some(turn) = envelope.turn_id.as_ref().filter(|turn| self.turn.as_ref() != Some(turn)) else { return };
        let origin = match &envelope.event {
            Event::UserMessage(message) => message.origin,
            Event::TurnStarted(started) => started.origin,
            _ => return,
        };
        self.turn = Some(turn.clone());
        let metadata = Some(json!({ "origin": origin }));
        let data = TurnData { phase: "started", turn_id: name(turn.as_str()), metadata };
        self.emit(envelope, By::Daemon, "turn.started", &data, out);
    }

    // ---- asks ----

    fn ask(&mut self, envelope: &Envelope, out: &mut Frames) {
        match &envelope.event {
            Event::PermissionRequest(ask) => {
                let mut metadata = json!({ "toolName": ask.tool_name, "input": ask.tool_input, "title": ask.title });
                if let (Some(command), Some(metadata)) = (ask.tool_input.get("command"), metadata.as_object_mut()) {
                    metadata.insert("command".to_owned(), command.clone());
                }
                let action = name(&ask.tool_name).to_owned();
                self.permission(envelope, ask.ask_id.as_str(), (&action, &metadata), "requested", out);
                self.asks.insert(ask.ask_id.to_string(), Asked::Permission { action, metadata });
            }
            Event::QuestionRequest(ask) => {
                let prompts: Vec<&str> = ask.questions.iter().map(|question| question.prompt.as_str()).collect();
                let prompt = prompts.join("\n");
                let first = ask.questions.first();
                let options: Vec<String> = first
                    .map(|question| question.options.iter().map(|option| option.label.clone()).collect())
                    .unwrap_or_default();
                self.question(envelope, ask.ask_id.as_str(), (&prompt, &options), (None, "requested"), out);
                self.asks.insert(ask.ask_id.to_string(), Asked::Question { prompt, options });
            }
            // A form is a question that takes any text.
            Event::Interrupt(ask) => {
                let label = ask.props.get("label").and_then(Value::as_str);
                let prompt = label.unwrap_or(&ask.component_name).to_owned();
                self.question(envelope, ask.interrupt_id.as_str(), (&prompt, &[]), (None, "requested"), out);
                self.asks.insert(ask.interrupt_id.to_string(), Asked::Question { prompt, options: Vec::new() });
            }
            Event::PermissionResolved(settled) => {
                let status = match (settled.allowed, settled.reply) {
                    (true, PermissionReply::Always) => "accept_for_session",
                    (true, _) => "accept",
                    (false, _) => "reject",
                };
                let id = settled.ask_id.as_str();
                if let Some(Asked::Permission { action, metadata }) = self.asks.remove(id) {
                    self.permission(envelope, id, (&action, &metadata), status, out);
                }
            }
            Event::QuestionResolved(settled) => {
                let first = settled.answers.as_ref().and_then(|answers| answers.iter().flatten().next());
                let status = if settled.answers.is_some() { "answered" } else { "rejected" };
                self.settle_question(envelope, settled.ask_id.as_str(), first.map(String::as_str), status, out);
            }
            Event::InterruptResolved(settled) => {
                let value = settled.value.as_ref().filter(|value| !value.is_null());
                let status = if value.is_some() { "answered" } else { "rejected" };
                let text = value.map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
                self.settle_question(envelope, settled.interrupt_id.as_str(), text.as_deref(), status, out);
            }
            _ => {}
        }
    }

    fn permission(
        &mut self,
        envelope: &Envelope,
        id: &str,
        (action, metadata): (&str, &Value),
        status: &'static str,
        out: &mut Frames,
    ) {
        let data = PermissionData { permission_id: name(id), action, status, metadata };
        let (by, kind) = if status == "requested" {
            (By::Agent, "permission.requested")
        } else {
            (By::Daemon, "permission.resolved")
        };
        self.emit(envelope, by, kind, &data, out);
    }

    fn question(
        &mut self,
        envelope: &Envelope,
        id: &str,
        (prompt, options): (&str, &[String]),
        (response, status): (Option<&str>, &'static str),
        out: &mut Frames,
    ) {
        let data = QuestionData { question_id: name(id), prompt, options, response, status };
        let (by, kind) =
            if status == "requested" { (By::Agent, "question.requested") } else { (By::Daemon, "question.resolved") };
        self.emit(envelope, by, kind, &data, out);
    }

    fn settle_question(
        &mut self,
        envelope: &Envelope,
        id: &str,
        response: Option<&str>,
        status: &'static str,
        out: &mut Frames,
    ) {
        if let Some(Asked::Question { prompt, options }) = self.asks.remove(id) {
            self.question(envelope, id, (&prompt, &options), (response, status), out);
        }
    }
}

impl Projection for Universal {
    type Output = Frames;

    fn apply(&mut self, envelope: &Envelope, frames: &mut Frames) {
        if !self.over {
            self.awaited.iter_mut().for_each(|awaited| awaited.step(envelope));
            self.take(envelope, frames);
        }
    }

    fn is_done(&self) -> bool {
        self.over
    }
}

impl Dialect for Universal {
    type Reader = Reader;

    fn start_reader(&mut self, Reader { about, wanted, raw }: Reader) {
        self.awaited = match &wanted {
            Wanted::TurnOf(message_id) => Some(Awaited::new(message_id.clone())),
            Wanted::After(_) => None,
        };
        self.telling = self.awaited.is_none();
        (self.about, self.wanted, self.raw) = (about, wanted, raw);
    }

    fn needs_answer(&self) -> bool {
        !self.over && self.awaited.as_ref().and_then(Awaited::no_turn_reason).is_some()
    }

    /// There is no last word: a stream that ends has ended.
    fn close(&mut self, _ending: Ending, _frames: &mut Frames) {
        self.over = true;
    }
}
