//! Agent UI events: nearly one to one with the log, with the log's own positions as `sequence`, so a position is a cursor here too. Sessions, runs,
//! text and tools are here; asks, products and everything else in `facts`. What the standard's reads answer is folded in `reads`; writes are
//! routes, and not here.

mod facts;
mod reads;
mod wire;

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Value, json};

pub use self::facts::artifact_address;
pub use self::reads::{Artifact, Artifacts, Findings};
use self::wire::{Payload, Place, Wire};
use super::surfaces::{Changed, Surface, Surfaces};
use super::{Dialect, Ending, Frames, Muted as _, Projection, name};
use crate::event::{
    Activity, Done, Envelope, Event, Outcome, Part, QueueItem, Status, ToolResult, ToolStart, UserMessage,
};
use crate::id::{Seq, TurnId};
use crate::time::Timestamp;

/// What a result may have before only its beginning is sent.
pub const PREVIEW_BYTES: usize = 4_096;

/// The fold for one reader.
#[derive(Debug, Clone, Default)]
pub struct AgentUi {
    /// What the reader has.
    after: Seq,
    opened: bool,
    over: bool,
    run: Option<TurnId>,
    /// What was said and has not got its turn yet.
    said: Vec<Value>,
    first_said: Option<String>,
    run_started: Option<Timestamp>,
    texts: HashMap<String, String>,
    thoughts: HashMap<String, String>,
    queue: Vec<QueueItem>,
    /// What was said to a run and has not got there yet.
    steers: HashMap<String, String>,
    names: HashMap<String, String>,
    failure: Option<Value>,
    surfaces: Arc<Surfaces>,
}

const RUN: Place = Place("runtime", "run", "accepted", "runtime_status");
const TEXT: Place = Place("model", "part", "producing", "conversation");
const THOUGHT: Place = Place("model", "part", "reasoning", "inline_process");
const TOOL: Place = Place("tool", "tool_call", "acting", "tool_ui");
const SESSION: Place = Place("session", "session", "accepted", "session_tabs");
const DIAGNOSTIC: Place = Place("diagnostics", "session", "unknown", "diagnostics");

impl AgentUi {
    /// Tells what stands after a position.
    pub fn new(after: Seq) -> Self {
        Self { after, ..Self::default() }
    }

    fn wire<'a>(kind: &'static str, envelope: &'a Envelope, place: Place) -> Wire<'a> {
        let turn = envelope.turn_id.as_ref().map(|turn| name(turn.as_str()));
        let subagent = envelope.subagent_id.as_ref().map(|id| name(id.as_str()));
        let Place(owner, scope, phase, surface) = place;
        let session = name(envelope.session_id.as_str());
        Wire {
            kind,
            sequence: envelope.seq.0,
            timestamp: envelope.ts,
            session_id: session,
            thread_id: session,
            run_id: turn,
            turn_id: turn,
            agent_id: subagent,
            subagent_id: subagent,
            owner,
            scope,
            phase,
            surface,
            runtime_entity: if subagent.is_some() { "subagent_turn" } else { "agent_turn" },
            ..Wire::default()
        }
    }

    fn with(wire: Wire<'_>, mut payload: Value, out: &mut Frames) {
        if let Some(payload) = payload.as_object_mut() {
            payload.retain(|_, member| !member.is_null());
        }
        out.push(&Wire { payload: Some(Payload::Other(payload)), ..wire });
    }

    fn take(&mut self, envelope: &Envelope, out: &mut Frames) {
        let Changed { components, .. } = Arc::make_mut(&mut self.surfaces).step(envelope);
        for Surface { id, data, .. } in components {
            Self::component(envelope, &id, data, out);
        }
        match &envelope.event {
            Event::SessionReady(ready) => {
                let kind = if std::mem::replace(&mut self.opened, true) { "session.updated" } else { "session.opened" };
                let wire = Wire { persistence: Some("snapshot"), ..Self::wire(kind, envelope, SESSION) };
                Self::with(wire, json!(ready), out);
            }
            Event::SessionUpdated(updated) => {
                let kind = if updated.archived == Some(true) { "session.closed" } else { "session.updated" };
                Self::with(Self::wire(kind, envelope, SESSION), json!(updated), out);
            }
            Event::SessionEnded(ended) => {
                let place = Place("session", "session", "completed", "session_tabs");
                Self::with(Self::wire("session.closed", envelope, place), json!(ended), out);
            }
            Event::ModelChanged(_) | Event::Rollback(_) | Event::Forked(_) => {
                let payload = json!({ envelope.event.kind(): envelope.event.data() });
                Self::with(Self::wire("session.updated", envelope, SESSION), payload, out);
            }
            Event::ModeChanged(changed) => {
                let place = Place("policy", "session", "accepted", "runtime_status");
                Self::with(Self::wire("permission.changed", envelope, place), json!(changed), out);
            }
            // What a run takes in is told as a steer.
            Event::UserMessage(_) if self.run.is_some() && self.run == envelope.turn_id => {}
            Event::UserMessage(message) => self.remember_message(message),
            Event::TurnStarted(started) => {
                let mut wire =
                    Self::wire("run.started", envelope, Place("runtime", "run", "submitted", "runtime_status"));
                let first = self.first_said.take();
                wire.message_id = first.as_deref().map(name);
                wire.runtime_status = Some("running");
                let said = std::mem::take(&mut self.said);
                Self::with(
                    wire,
                    json!({ "userMessage": said.first(), "userMessages": said, "origin": started.origin }),
                    out,
                );
                let mut wire = Self::wire("run.status", envelope, RUN);
                wire.runtime_status = Some("accepted");
                Self::with(wire, json!({ "stage": "submitted" }), out);
                self.run_started = Some(envelope.ts);
                self.run.clone_from(&envelope.turn_id);
                self.failure = None;
            }
            Event::Status(status) => Self::status(envelope, status, out),
            Event::Delta(delta) => {
                if !delta.text.is_empty() && envelope.subagent_id.is_none() {
                    self.time_to_text(envelope, out);
                }
                let block = delta.block_id.as_str();
                self.say(envelope, ("text.delta", "text.final", TEXT), (block, &delta.text), delta.done, out);
            }
            Event::Thinking(thought) => {
                let done = thought.done == Some(true);
                let kinds = ("reasoning.delta", "reasoning.summary", THOUGHT);
                self.say(envelope, kinds, (thought.block_id.as_str(), &thought.text), done, out);
            }
            Event::Retracted(retracted) => {
                self.texts.remove(retracted.block_id.as_str());
                let wire = Self::part("text.final", envelope, retracted.block_id.as_str(), TEXT);
                Self::with(wire, json!({ "text": "", "retracted": true }), out);
            }
            Event::TurnResult(result) => {
                let mut wire =
                    Self::wire("text.final", envelope, Place("runtime", "message", "reconciling", "conversation"));
                wire.message_id = wire.run_id;
                wire.persistence = Some("transcript");
                Self::with(wire, json!({ "text": result.text }), out);
            }
            Event::ToolStart(start) => Self::tool_start(envelope, start, out),
            Event::ToolProgress(progress) => {
                let id = name(progress.tool_use_id.as_str());
                if let Some(text) = &progress.text {
                    let wire = Wire { tool_call_id: Some(id), ..Self::wire("tool.output.delta", envelope, TOOL) };
                    out.push(&Wire { payload: Some(Payload::Delta { delta: text }), ..wire });
                }
                if let Some(fraction) = progress.fraction {
                    let wire = Wire { tool_call_id: Some(id), ..Self::wire("tool.progress", envelope, TOOL) };
                    Self::with(wire, json!({ "percent": fraction * 100.0 }), out);
                }
            }
            Event::ToolResult(result) => Self::tool_result(envelope, result, out),
            Event::Failure(failure) => {
                self.failure = Some(json!(failure));
                Self::diagnose(envelope, json!(failure), out);
            }
            Event::Done(done) => self.done(envelope, done, out),
            _ => self.fact(envelope, out),
        }
    }

    fn remember_message(&mut self, message: &UserMessage) {
        let text = text_of(&message.content);
        let attachments = message.content.iter().filter(|part| !matches!(part, Part::Text { .. })).count();
        let id = name(message.message_id.as_str());
        self.first_said.get_or_insert_with(|| id.to_owned());
        let mut said = json!({ "id": id, "preview": preview(&text, 120).0, "text": text, "origin": message.origin });
        if let (1.., Some(said)) = (attachments, said.as_object_mut()) {
            said.insert("attachments".to_owned(), json!(attachments));
        }
        self.said.push(said);
    }

    fn status(envelope: &Envelope, status: &Status, out: &mut Frames) {
        let (runtime_status, stage, phase) = match status.state {
            Activity::Accepted => ("accepted", "submitted", "accepted"),
            Activity::Starting => ("preparing", "preparing", "preparing"),
            Activity::Thinking => ("running", "waiting_provider", "reasoning"),
            Activity::Responding => ("running", "streaming", "producing"),
            Activity::Tool => ("running", "tool_running", "acting"),
            Activity::Waiting => ("needs_input", "action_required", "waiting"),
            Activity::Retrying => ("running", "retrying", "waiting"),
            Activity::Compacting => ("running", "preparing", "preparing"),
            Activity::Stopping => ("running", "cancelled", "interrupted"),
        };
        let mut wire = Self::wire("run.status", envelope, Place("runtime", "run", phase, "runtime_status"));
        wire.runtime_status = Some(runtime_status);
        let mut payload = json!({ "stage": stage });
        if let Some(payload) = payload.as_object_mut() {
            payload.extend(status.label.as_ref().map(|label| ("label".to_owned(), json!(label))));
            payload.extend(status.attempt.map(|attempt| ("attempt".to_owned(), json!(attempt))));
        }
        Self::with(wire, payload, out);
    }

    fn part<'a>(kind: &'static str, envelope: &'a Envelope, block: &'a str, place: Place) -> Wire<'a> {
        let mut wire = Self::wire(kind, envelope, place);
        // A helper may speak when no turn runs.
        wire.message_id = wire.run_id.or(wire.subagent_id);
        wire.part_id = Some(name(block));
        wire
    }

    fn say(
        &mut self,
        envelope: &Envelope,
        (delta, last, place): (&'static str, &'static str, Place),
        (block, text): (&str, &str),
        done: bool,
        out: &mut Frames,
    ) {
        let known = if delta == "text.delta" { &mut self.texts } else { &mut self.thoughts };
        if !text.is_empty() {
            let wire = Self::part(delta, envelope, block, place);
            out.push(&Wire { payload: Some(Payload::Delta { delta: text }), ..wire });
            match known.get_mut(block) {
                Some(known) => known.push_str(text),
                None => drop(known.insert(block.to_owned(), text.to_owned())),
            }
        }
        if done && let Some(whole) = known.remove(block) {
            let wire = Wire { persistence: Some("transcript"), ..Self::part(last, envelope, block, place) };
            Self::with(wire, json!({ "text": whole }), out);
        }
    }

    fn time_to_text(&mut self, envelope: &Envelope, out: &mut Frames) {
        if let Some(started) = self.run_started.take() {
            let wire = Self::wire("metric.changed", envelope, Place("diagnostics", "run", "producing", "diagnostics"));
            let wire = Wire { metric_name: Some("first_text_delta_ms"), ..wire };
            Self::with(wire, json!({ "value": envelope.ts.millis() - started.millis() }), out);
        }
    }

    fn tool_start(envelope: &Envelope, start: &ToolStart, out: &mut Frames) {
        let id = name(start.tool_use_id.as_str());
        let summary = start.command.as_ref().or(start.file_path.as_ref()).or(start.pattern.as_ref());
        let wire = Wire { tool_call_id: Some(id), ..Self::wire("tool.started", envelope, TOOL) };
        let mut payload = json!({ "name": start.tool, "status": "running" });
        if let (Some(summary), Some(payload)) = (summary, payload.as_object_mut()) {
            payload.insert("summary".to_owned(), json!(preview(summary, 200).0));
        }
        Self::with(wire, payload, out);
        let wire = Wire { tool_call_id: Some(id), ..Self::wire("tool.args", envelope, TOOL) };
        let mut payload = json!({ "input": start.input });
        if let (Some(blob), Some(payload)) = (&start.blob, payload.as_object_mut()) {
            payload.insert("inputRef".to_owned(), json!(format!("/api/blobs/{}", blob.id)));
        }
        Self::with(wire, payload, out);
    }

    fn tool_result(envelope: &Envelope, result: &ToolResult, out: &mut Frames) {
        let reason = match (result.denied, result.interrupted, result.is_error) {
            (Some(true), _, _) => Some("denied"),
            (_, Some(true), _) => Some("cancelled"),
            (_, _, true) => Some("error"),
            _ => None,
        };
        let (kind, phase) = if reason.is_some() { ("tool.failed", "failed") } else { ("tool.result", "completed") };
        let wire = Self::wire(kind, envelope, Place("tool", "tool_call", phase, "tool_ui"));
        let wire = Wire { tool_call_id: Some(name(result.tool_use_id.as_str())), ..wire };
        let (shown, cut) = preview(&result.output, PREVIEW_BYTES);
        let mut payload = json!({ "preview": shown });
        if let Some(payload) = payload.as_object_mut() {
            payload.extend(reason.map(|reason| ("reason".to_owned(), json!(reason))));
            payload.extend(result.exit_code.map(|code| ("exitCode".to_owned(), json!(code))));
            payload.extend(result.file_path.as_ref().map(|path| ("filePath".to_owned(), json!(path))));
            if cut || result.blob.is_some() {
                // A large output is loaded when somebody wants it.
                let whole = result.blob.as_ref().map_or_else(
                    || format!("/api/sessions/{}/events?after={}&limit=1", envelope.session_id, envelope.seq.0 - 1),
                    |blob| format!("/api/blobs/{}", blob.id),
                );
                payload.insert("outputRef".to_owned(), json!(whole));
                payload.insert("truncated".to_owned(), json!(true));
            }
        }
        Self::with(wire, payload, out);
    }

    fn done(&mut self, envelope: &Envelope, done: &Done, out: &mut Frames) {
        (self.run, self.run_started) = (None, None);
        let (kind, status, phase, outcome) = match done.outcome {
            Outcome::Completed => ("run.finished", "completed", "completed", "success"),
            Outcome::Stopped => ("run.finished", "cancelled", "cancelled", "cancelled"),
            Outcome::Interrupted => ("run.finished", "aborted", "interrupted", "interrupt"),
            Outcome::Failed => ("run.failed", "failed", "failed", "failed"),
        };
        let mut wire = Self::wire(kind, envelope, Place("runtime", "run", phase, "runtime_status"));
        (wire.runtime_status, wire.latest_turn_status) = (Some(status), Some(status));
        let mut payload = json!({ "outcome": outcome });
        if let Some(payload) = payload.as_object_mut() {
            payload.extend(done.reason.as_ref().map(|reason| ("reason".to_owned(), json!(reason))));
            if let Some(failure) = self.failure.take() {
                let retryable = failure.get("retryable").cloned().unwrap_or(Value::Bool(false));
                payload.insert("error".to_owned(), failure);
                payload.insert("retryable".to_owned(), retryable);
            }
        }
        Self::with(wire, payload, out);
    }

    fn diagnose(envelope: &Envelope, payload: Value, out: &mut Frames) {
        let mut wire = Self::wire("diagnostic.changed", envelope, DIAGNOSTIC);
        wire.persistence = Some("diagnostics_log");
        wire.diagnostic_id = Some(format!("d{}", envelope.seq));
        Self::with(wire, payload, out);
    }
}

fn text_of(content: &[Part]) -> String {
    let texts =
        content.iter().filter_map(|part| if let Part::Text { text } = part { Some(text.as_str()) } else { None });
    texts.collect::<Vec<_>>().join("\n")
}

/// The beginning of a text, and whether that is not all of it.
pub(super) fn preview(text: &str, bytes: usize) -> (&str, bool) {
    if text.len() <= bytes {
        return (text, false);
    }
    let end = (0..=bytes).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    (text.get(..end).unwrap_or_default(), true)
}

impl Projection for AgentUi {
    type Output = Frames;

    fn apply(&mut self, envelope: &Envelope, frames: &mut Frames) {
        if self.over {
            return;
        }
        if envelope.seq <= self.after {
            self.take(envelope, &mut Frames::muted());
        } else {
            self.take(envelope, frames);
        }
    }

    fn is_done(&self) -> bool {
        self.over
    }
}

impl Dialect for AgentUi {
    /// What the reader has.
    type Reader = Seq;

    fn start_reader(&mut self, after: Seq) {
        self.after = after;
    }

    /// A stream that ends here is read again from where it was.
    fn close(&mut self, _ending: Ending, _frames: &mut Frames) {
        self.over = true;
    }
}
