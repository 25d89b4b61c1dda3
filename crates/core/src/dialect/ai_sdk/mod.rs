//! The UI message stream of the AI SDK, as its clients of versions 5, 6 and 7 read it.
//!
//! One response tells one stretch of one turn: it ends where somebody has to answer, and the answer comes with the next request, which gets the
//! rest. Tools, steps and asks are in `tools`, sub-agents in `lanes`, what a client makes of the chunks in `message`, what a request wants in
//! `request`.

mod chunk;
mod lanes;
mod message;
mod request;
mod tools;
mod turns;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use serde_json::{Value, json};

use self::chunk::{Chunk, DataPart, PartName};
use self::lanes::Lane;
pub use self::message::{History, HistoryOf, UiMessage};
pub use self::request::{Chat, ChatAction, answers, says_the_same};
use self::tools::{Ask, Step, Tool};
pub use self::turns::{Regeneration, Turns};
use super::surfaces::{Changed, Surface, Surfaces};
use super::{Dialect, Ending, Frames, Muted as _, Projection, name};
use crate::awaited::{Awaited, NoTurnReason};
use crate::event::{Done, Envelope, Event, Outcome, QueueItem, SteerState, ToolStart, UserMessage};
use crate::id::{AskId, MessageId, Seq, TurnId};

/// Which clients are spoken to. Unknown chunks are fatal in all of them, so newer ones are sent only to those that know them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Profile {
    /// No approvals: permission is a client tool named `approve_tool`.
    V5,
    #[default]
    V6,
    V7,
}

/// What a response is about.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Subject {
    /// Nothing yet: the past, which all readers share.
    #[default]
    Nothing,
    /// The turn that answers this message, once it begins.
    Message(MessageId),
    /// All of a turn: what a client that comes back needs.
    Turn(TurnId),
    /// What follows after a position in a turn that the client has up to there.
    Rest { turn: TurnId, after: Seq },
    /// Every turn: for a history.
    Everything,
}

/// What one response is to tell.
#[derive(Debug, Clone)]
pub struct Reader {
    pub profile: Profile,
    pub subject: Subject,
    /// The asks that wait now: what was asked before and is not among them has been answered.
    pub pending: HashSet<AskId>,
}

/// The fold for one response.
#[derive(Debug, Clone, Default)]
pub struct AiSdk {
    profile: Profile,
    subject: Subject,
    /// What the client has already.
    after: Seq,
    /// What waited for an answer when the reader came; every other ask before that has one.
    pending: HashSet<AskId>,
    arrived: bool,
    over: bool,
    seq: Seq,
    /// The turn that runs, and the one that is being told.
    running: Option<TurnId>,
    turn: Option<TurnId>,
    queue: Vec<QueueItem>,
    /// The message whose answer is wanted.
    awaited: Option<Awaited>,
    /// `start` was sent, or will not be needed.
    begun: bool,
    text: Option<OpenText>,
    /// The agent itself has said something in this turn.
    said: bool,
    step: Step,
    /// The last step that was told has calls that the client runs.
    client_step: bool,
    tools: HashMap<String, Tool>,
    /// Calls that are shown and have not ended.
    open_calls: usize,
    held: Vec<ToolStart>,
    /// Calls that a client runs, until it is asked to.
    client_calls: HashMap<String, ToolStart>,
    asks: BTreeMap<AskId, Ask>,
    lanes: HashMap<String, Lane>,
    surfaces: Arc<Surfaces>,
    failure: Option<String>,
}

#[derive(Debug, PartialEq, Eq, Clone, Copy)]
enum TextKind {
    Text,
    Reasoning,
}

#[derive(Debug, Clone)]
struct OpenText {
    text_kind: TextKind,
    id: String,
}

impl AiSdk {
    /// A fold of the whole log for one reader.
    pub fn new(profile: Profile, subject: Subject, pending: HashSet<AskId>) -> Self {
        let mut fold = Self::default();
        fold.start_reader(Reader { profile, subject, pending });
        fold
    }

    fn take(&mut self, envelope: &Envelope, out: &mut Frames) {
        let Changed { surface, components } = Arc::make_mut(&mut self.surfaces).step(envelope);
        self.awaited.iter_mut().for_each(|awaited| awaited.step(envelope));
        match &envelope.event {
            Event::UserMessage(message) => {
                let steers = self.running.is_some() && self.running == envelope.turn_id;
                if matches!(&self.subject, Subject::Message(wanted) if *wanted == message.message_id) {
                    let turn = envelope.turn_id.clone();
                    self.subject = turn.map_or(Subject::Everything, Subject::Turn);
                    if steers {
                        // The turn that runs took it in: the rest of that is its answer.
                        self.turn_started(envelope, out);
                    }
                } else if steers && self.is_about_told_turn(envelope) {
                    self.steered(message, out);
                }
                return;
            }
            Event::TurnStarted(_) => {
                self.running.clone_from(&envelope.turn_id);
                return self.turn_started(envelope, out);
            }
            Event::QueueChanged(changed) => {
                self.queue.clone_from(&changed.queue);
                return self.write_queue(out);
            }
            Event::SessionReady(_)
            | Event::SessionUpdated(_)
            | Event::SessionEnded(_)
            | Event::ModeChanged(_)
            | Event::ModelChanged(_) => {
                return self.passing("session", envelope.event.data(), out);
            }
            _ => {}
        }
        if matches!(envelope.event, Event::Done(_)) {
            self.running = None;
        }
        if self.turn.is_none() {
            return;
        }
        if matches!(envelope.event, Event::StateSnapshot(_) | Event::StateDelta(_)) {
            let state = self.surfaces.state();
            self.part("state", "state", state, out);
            return components.into_iter().for_each(|component| self.surface(Some(component), out));
        }
        // What belongs to no turn happens in the background, and is told when a turn can show it.
        if envelope.turn_id != self.turn && envelope.turn_id.is_some() {
            return;
        }
        if envelope.turn_id.is_some() {
            for component in components {
                self.surface(Some(component), out);
            }
        }
        match &envelope.subagent_id {
            Some(subagent) => self.in_lane(subagent, envelope, out),
            None if envelope.turn_id.is_some() => self.in_turn(envelope, surface, out),
            None => {}
        }
    }

    /// Whether the turn of a fact is the one that is being told.
    fn is_about_told_turn(&self, envelope: &Envelope) -> bool {
        self.turn.is_some() && self.turn == envelope.turn_id
    }

    fn turn_started(&mut self, envelope: &Envelope, out: &mut Frames) {
        let mine = match &self.subject {
            Subject::Nothing | Subject::Message(_) => false,
            Subject::Turn(turn) | Subject::Rest { turn, .. } => envelope.turn_id.as_ref() == Some(turn),
            Subject::Everything => true,
        };
        if !mine {
            return;
        }
        self.turn.clone_from(&envelope.turn_id);
        (self.text, self.said, self.failure) = (None, false, None);
        (self.step, self.client_step) = (Step::default(), false);
        self.tools.clear();
        self.open_calls = 0;
        self.held.clear();
        self.client_calls.clear();
        self.asks.clear();
        self.lanes.clear();
        if !out.is_muted() {
            self.begin(out);
        }
    }

    fn in_turn(&mut self, envelope: &Envelope, surface: Option<Surface>, out: &mut Frames) {
        match &envelope.event {
            Event::Delta(delta) => {
                self.said |= !delta.text.is_empty();
                self.say(TextKind::Text, delta.block_id.as_str(), &delta.text, delta.done, out);
            }
            Event::Thinking(thinking) => {
                let done = thinking.done == Some(true);
                self.say(TextKind::Reasoning, thinking.block_id.as_str(), &thinking.text, done, out);
            }
            Event::TurnResult(result) if !self.said && !result.text.is_empty() => {
                self.said = true;
                self.say(TextKind::Text, "result", &result.text, true, out);
            }
            Event::ToolStart(start) => self.tool_start(start, out),
            Event::ToolProgress(progress) => self.tool_progress(progress, out),
            Event::ToolResult(result) => self.tool_result(result, out),
            Event::PermissionRequest(_) | Event::QuestionRequest(_) | Event::Interrupt(_) => self.ask(envelope, out),
            Event::PermissionResolved(_) | Event::QuestionResolved(_) | Event::InterruptResolved(_) => {
                self.answer(envelope, out);
            }
            Event::SubagentStarted(started) => self.lane_started(started, out),
            Event::SubagentEnded(ended) => self.lane_ended(ended, out),
            Event::Status(status) => self.passing("status", json!(status), out),
            Event::Usage(usage) => {
                let usage = json!({
                    "inputTokens": usage.input_tokens,
                    "outputTokens": usage.output_tokens,
                    "totalTokens": usage.input_tokens + usage.output_tokens,
                    "cachedInputTokens": usage.cached_tokens.unwrap_or_default(),
                    "reasoningTokens": usage.reasoning_tokens.unwrap_or_default(),
                });
                out.push(&Chunk::MessageMetadata { message_metadata: json!({ "usage": usage }) });
            }
            Event::Done(done) => self.done(done, out),
            Event::Failure(failure) => {
                self.failure = Some(failure.message.clone());
                self.surface(surface, out);
            }
            // What is delivered comes as a message.
            Event::Steer(_) => {}
            Event::EvidenceChanged(evidence) => {
                let url = evidence.detail.as_ref().and_then(|detail| detail.get("url")).and_then(Value::as_str);
                match url {
                    Some(url) => {
                        self.end_text(out);
                        let (source_id, title) = (name(&evidence.evidence_id), evidence.title.as_str());
                        out.push(&Chunk::SourceUrl { source_id, url, title });
                    }
                    None => self.surface(surface, out),
                }
            }
            Event::ArtifactCreated(artifact) => {
                self.surface(surface, out);
                let media_type = artifact.media_type.as_str();
                let url = match (&artifact.blob, &artifact.content) {
                    (Some(blob), _) => Some(format!("/api/blobs/{}", blob.id)),
                    (None, Some(content)) if media_type.starts_with("image/") => {
                        Some(format!("data:{media_type};base64,{content}"))
                    }
                    (None, _) => None,
                };
                if let Some(url) = url {
                    out.push(&Chunk::File { url: &url, media_type });
                }
            }
            _ => self.surface(surface, out),
        }
    }

    // ---- text ----

    fn say(&mut self, text_kind: TextKind, block: &str, text: &str, done: bool, out: &mut Frames) {
        let id = name(block);
        let open = self.text.as_ref().is_some_and(|open| open.text_kind == text_kind && open.id == id);
        if !open {
            // An empty thought shows that the agent thinks; an empty text shows nothing.
            if text.is_empty() && (done || text_kind == TextKind::Text) {
                return;
            }
            self.end_text(out);
            self.step_for_text(out);
            out.push(&match text_kind {
                TextKind::Text => Chunk::TextStart { id },
                TextKind::Reasoning => Chunk::ReasoningStart { id },
            });
            self.text = Some(OpenText { text_kind, id: id.to_owned() });
        }
        if !text.is_empty() {
            out.push(&match text_kind {
                TextKind::Text => Chunk::TextDelta { id, delta: text },
                TextKind::Reasoning => Chunk::ReasoningDelta { id, delta: text },
            });
        }
        if done {
            self.end_text(out);
        }
    }

    fn end_text(&mut self, out: &mut Frames) {
        if let Some(OpenText { text_kind, id }) = self.text.take() {
            out.push(&match text_kind {
                TextKind::Text => Chunk::TextEnd { id: &id },
                TextKind::Reasoning => Chunk::ReasoningEnd { id: &id },
            });
        }
    }

    /// Somebody said something into the turn. In the newest clients what follows is a step of its own; the others have no part for it.
    fn steered(&mut self, message: &UserMessage, out: &mut Frames) {
        if self.profile < Profile::V7 {
            let data = json!({ "state": SteerState::Delivered, "content": message.content });
            return self.part("steer", name(message.message_id.as_str()), data, out);
        }
        self.end_text(out);
        self.end_step(out);
        let parts = message::steering_parts(message);
        out.push(&Chunk::SteeringMessage { id: name(message.message_id.as_str()), parts });
    }

    // ---- data ----

    fn surface(&mut self, surface: Option<Surface>, out: &mut Frames) {
        if let Some(Surface { kind, id, data }) = surface {
            self.part(kind, &id, data, out);
        }
    }

    fn part(&mut self, kind: &str, id: &str, data: Value, out: &mut Frames) {
        // What was being said goes on in a part of its own, after this one.
        self.end_text(out);
        out.push(&DataPart { kind: PartName(kind), id: Some(id), data, transient: None });
    }

    /// Something for the moment only: it is not kept by the client, so it is not told again.
    fn passing(&self, kind: &str, data: Value, out: &mut Frames) {
        let concerns = self.turn.is_some() || matches!(self.subject, Subject::Message(_));
        if self.arrived && concerns {
            out.push(&DataPart { kind: PartName(kind), id: None, data, transient: Some(true) });
        }
    }

    fn write_queue(&self, out: &mut Frames) {
        self.passing("queue", json!({ "queue": self.queue }), out);
    }

    // ---- beginning and ending ----

    /// Why there will be nothing to tell.
    fn no_turn_reason(&self) -> Option<NoTurnReason> {
        self.awaited.as_ref().and_then(Awaited::no_turn_reason)
    }

    fn begin(&mut self, out: &mut Frames) {
        if let (false, Some(turn)) = (self.begun, &self.turn) {
            self.begun = true;
            out.push(&Chunk::Start { message_id: name(turn.as_str()) });
        }
        if self.subject == Subject::Everything {
            self.begun = false;
        }
    }

    /// The client has what came before: where it was cut, everything open was closed.
    fn go_on(&mut self, out: &mut Frames) {
        if matches!(self.subject, Subject::Rest { .. }) && !self.begun && self.turn.is_some() {
            let mut nobody = Frames::muted();
            self.end_text(&mut nobody);
            self.end_step(&mut nobody);
            self.begin(out);
        }
    }

    fn done(&mut self, done: &Done, out: &mut Frames) {
        self.end_text(out);
        self.end_last_step(out);
        let reason = done.reason.as_deref();
        match done.outcome {
            Outcome::Completed => self.finish("stop", out),
            Outcome::Stopped => {
                out.push(&Chunk::Abort { reason: reason.unwrap_or("stopped") });
                self.finish("other", out);
            }
            Outcome::Failed | Outcome::Interrupted => {
                let failure = self.failure.take();
                let failure = failure.as_deref().filter(|text| !text.is_empty());
                let text = failure.or(reason).unwrap_or("the turn did not end well");
                self.end_with_error(text, out);
            }
        }
        self.turn = None;
        self.over = self.subject != Subject::Everything;
    }

    fn finish(&mut self, finish_reason: &str, out: &mut Frames) {
        let message_metadata = Some(json!({ "cursor": self.seq }));
        out.push(&Chunk::Finish { finish_reason, message_metadata });
    }

    fn end_with_error(&self, text: &str, out: &mut Frames) {
        // In a history it is a part already.
        if self.subject != Subject::Everything {
            out.push(&Chunk::Error { error_text: text });
        }
    }
}

impl Projection for AiSdk {
    type Output = Frames;

    const IS_READ_BY_TURN: bool = true;

    fn apply(&mut self, envelope: &Envelope, frames: &mut Frames) {
        if self.over {
            return;
        }
        self.seq = envelope.seq;
        if envelope.seq <= self.after {
            return self.take(envelope, &mut Frames::muted());
        }
        self.go_on(frames);
        self.take(envelope, frames);
    }

    fn caught_up(&mut self, frames: &mut Frames) {
        self.arrived = true;
        self.go_on(frames);
        if matches!(self.subject, Subject::Message(_)) {
            // It waits, and that is all there is to show.
            self.write_queue(frames);
        }
        if let (Subject::Rest { turn, .. }, false) = (&self.subject, self.begun) {
            // The turn has ended, and the client has all of it.
            frames.push(&Chunk::Start { message_id: name(turn.as_str()) });
            self.client_step = true;
            self.end_last_step(frames);
            self.finish("stop", frames);
            self.over = true;
        }
    }

    fn is_done(&self) -> bool {
        self.over
    }
}

impl Dialect for AiSdk {
    type Reader = Reader;

    fn start_reader(&mut self, Reader { profile, subject, pending }: Reader) {
        self.after = if let Subject::Rest { after, .. } = &subject { *after } else { Seq::ZERO };
        self.awaited = if let Subject::Message(id) = &subject { Some(Awaited::new(id.clone())) } else { None };
        (self.profile, self.subject, self.pending) = (profile, subject, pending);
    }

    fn needs_answer(&self) -> bool {
        self.arrived && !self.over && (self.no_turn_reason().is_some() || (!self.asks.is_empty() && !self.step_runs()))
    }

    fn turn(&self) -> Option<&TurnId> {
        self.turn.as_ref()
    }

    fn close(&mut self, ending: Ending, frames: &mut Frames) {
        if self.over {
            return;
        }
        self.end_text(frames);
        self.end_step(frames);
        match (ending, self.no_turn_reason()) {
            (Ending::Waiting, Some(loss)) => self.end_with_error(&loss.to_string(), frames),
            (Ending::Waiting, None) => self.finish("tool-calls", frames),
            (Ending::Gone, _) => {
                self.end_with_error("the daemon is shutting down; the log keeps what has happened", frames);
            }
        }
        self.over = true;
    }
}
