//! AG-UI, as its clients of 1.0 and of 0.0.x read it.
//!
//! One response is one run: it begins with a snapshot of everything that is settled (which is idempotent, so it does not matter what the client has)
//! and what is open (`opening`), goes on live, and ends where the turn ends or where somebody has to answer. The messages as the clients hold them
//! are in `messages`, calls and asks in `calls`, interrupts in `asks`, what a request wants in `request` and `state`.

mod asks;
mod calls;
mod frame;
mod messages;
mod opening;
mod request;
mod state;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use serde_json::{Value, json};

use self::asks::Ask;
use self::frame::Frame;
use self::messages::{Body, Messages};
pub use self::request::RunInput;
pub use self::state::{StateCopy, StateVersions};
use super::surfaces::{Changed, Surface, Surfaces};
use super::{Dialect, Ending, Frames, Muted as _, Projection, name};
use crate::awaited::{Awaited, NoTurnReason};
use crate::event::{Done, Envelope, Event, Failure, Outcome, Part, UserMessage, WorkStatus};
use crate::id::{AskId, MessageId, TurnId};

/// What one run is to tell.
#[derive(Debug, Clone, Default)]
pub struct Reader {
    pub run: RunInput,
    /// The message this run sent, if it sent one.
    pub wanted: Option<MessageId>,
}

/// The fold for one run.
#[derive(Debug, Clone, Default)]
pub struct AgUi {
    run: RunInput,
    /// The run begins with the turn that answers this message.
    wanted: Option<Awaited>,
    arrived: bool,
    begun: bool,
    over: bool,
    turn: Option<TurnId>,
    said: bool,
    messages: Messages,
    open: Vec<OpenText>,
    /// What the agent calls a call, and what it is called here.
    calls: HashMap<String, String>,
    lanes: BTreeMap<String, Lane>,
    asks: BTreeMap<AskId, Ask>,
    /// What clients were asked to run or to show, by name.
    asked_of_clients: HashSet<String>,
    surfaces: Arc<Surfaces>,
    /// Activities that came back after they were taken back, and what they are called since.
    renamed: HashMap<String, String>,
    usage: Option<Value>,
    failure: Option<Failure>,
}

#[derive(Debug, Clone)]
struct OpenText {
    id: String,
    place: usize,
    text_kind: TextKind,
    by: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TextKind {
    Text,
    Reasoning,
}

/// A sub-agent that has not ended.
#[derive(Debug, Clone)]
struct Lane {
    name: String,
    call: Option<String>,
    within: Option<String>,
}

impl AgUi {
    /// A fold of the whole log for one run.
    pub fn new(run: RunInput, wanted: Option<MessageId>) -> Self {
        let mut fold = Self::default();
        fold.start_reader(Reader { run, wanted });
        fold
    }

    /// Everything as it is, for who only reads.
    pub fn history(&self) -> Vec<Value> {
        self.messages.snapshot().to_messages().collect()
    }

    /// Whether this fold of the past is also that of a run with these tools: what a client runs itself is told in another way.
    pub fn is_past_of(&self, run: &RunInput) -> bool {
        run.tools.is_disjoint(&self.asked_of_clients)
    }

    /// A client that says nothing of its version knows less.
    fn is_current(&self) -> bool {
        self.run.protocol_version.is_some()
    }

    fn take(&mut self, envelope: &Envelope, out: &mut Frames) {
        let Changed { surface, components } = Arc::make_mut(&mut self.surfaces).step(envelope);
        for Surface { kind, id, data } in components {
            self.activity(envelope, kind, &id, data, out);
        }
        self.wanted.iter_mut().for_each(|wanted| wanted.step(envelope));
        match &envelope.event {
            Event::UserMessage(message) => self.user_message(envelope, message, out),
            Event::TurnStarted(_) => {
                self.turn.clone_from(&envelope.turn_id);
                (self.said, self.usage, self.failure) = (false, None, None);
            }
            Event::Delta(delta) => {
                self.said |= envelope.subagent_id.is_none() && !delta.text.is_empty();
                self.say(envelope, TextKind::Text, delta.block_id.as_str(), &delta.text, delta.done, out);
            }
            Event::Thinking(thinking) => {
                let done = thinking.done == Some(true);
                self.say(envelope, TextKind::Reasoning, thinking.block_id.as_str(), &thinking.text, done, out);
            }
            Event::TurnResult(result) if !self.said && !result.text.is_empty() => {
                self.said = true;
                self.say(envelope, TextKind::Text, "result", &result.text, true, out);
            }
            Event::ToolStart(start) => self.tool_start(envelope, start, out),
            Event::ToolProgress(progress) => {
                let Some(call) = self.calls.get(name(progress.tool_use_id.as_str())).cloned() else { return };
                if let Some(text) = &progress.text {
                    self.progress(envelope, &call, text, out);
                }
            }
            Event::ToolResult(result) => self.tool_result(result, out),
            Event::SubagentStarted(started) => {
                let lane = Lane {
                    name: started.name.clone(),
                    call: started.parent_tool_use_id.as_ref().and_then(|id| self.calls.get(id.as_str()).cloned()),
                    within: started.parent_subagent_id.as_ref().map(ToString::to_string),
                };
                lane.begin(name(started.subagent_id.as_str()), out);
                self.lanes.insert(name(started.subagent_id.as_str()).to_owned(), lane);
            }
            Event::SubagentEnded(ended) => self.lane_ended(name(ended.subagent_id.as_str()), ended.status, out),
            Event::StateSnapshot(snapshot) => out.push(&Frame::StateSnapshot { snapshot: &snapshot.state }),
            Event::StateDelta(delta) if self.surfaces.patched() => out.push(&Frame::StateDelta { delta: &delta.patch }),
            Event::Usage(usage) => {
                let usage = json!([{
                    "inputTokens": usage.input_tokens,
                    "outputTokens": usage.output_tokens,
                    "totalTokens": usage.input_tokens + usage.output_tokens,
                    "cachedInputTokens": usage.cached_tokens.unwrap_or_default(),
                    "reasoningTokens": usage.reasoning_tokens.unwrap_or_default(),
                }]);
                self.usage = Some(usage);
            }
            Event::Status(status) => {
                let turn = self.turn.as_ref().map_or("session", |turn| turn.as_str()).to_owned();
                self.activity(envelope, "status", &turn, json!(status), out);
            }
            Event::Retracted(retracted) => {
                let id = text_id(envelope, retracted.block_id.as_str());
                self.end_text(&id, out);
                self.messages.remove(&id);
                out.push(&Frame::MessagesSnapshot { messages: self.messages.snapshot() });
            }
            Event::Rollback(rollback) => {
                self.messages.remove_turns(&rollback.turn_ids);
                // A snapshot without any activity would leave a client with those that were taken back.
                let id = envelope.seq.to_string();
                self.activity(envelope, "rollback", &id, json!({ "turnIds": rollback.turn_ids }), out);
                out.push(&Frame::MessagesSnapshot { messages: self.messages.snapshot() });
            }
            Event::Done(done) => self.done(done, out),
            // What is delivered comes as a message.
            Event::Steer(_) => {}
            _ => {
                if let Event::Failure(failure) = &envelope.event {
                    self.failure = Some(failure.clone());
                }
                self.ask(envelope, out);
                if let Some(Surface { kind, id, data }) = surface {
                    self.activity(envelope, kind, &id, data, out);
                }
            }
        }
    }

    // ---- messages ----

    fn user_message(&mut self, envelope: &Envelope, message: &UserMessage, out: &mut Frames) {
        let id = name(message.message_id.as_str());
        self.wanted.take_if(|wanted| wanted.is_in_turn());
        if !self.run.known.contains(id) && !self.messages.contains(id) {
            // The message came from another client. The client that sent it here has it already and would show it twice.
            let (by, content) = (None, text_of(&message.content));
            out.push(&Frame::TextMessageStart { message_id: id, role: "user", subagent_run_id: by });
            out.push(&Frame::TextMessageContent { message_id: id, delta: &content, subagent_run_id: by });
            out.push(&Frame::TextMessageEnd { message_id: id, subagent_run_id: by });
        }
        self.messages.add(id, envelope.turn_id.clone(), None, Body::User(content_of(&message.content)));
    }

    fn say(&mut self, envelope: &Envelope, text_kind: TextKind, block: &str, text: &str, done: bool, out: &mut Frames) {
        let id = text_id(envelope, block);
        let at = match self.open.iter().position(|open| open.id == id) {
            Some(at) => at,
            // An empty thought shows that the agent thinks; an empty text shows nothing.
            None if text.is_empty() && (done || text_kind == TextKind::Text) => return,
            None => {
                let by = envelope.subagent_id.as_ref().map(ToString::to_string);
                let body = match text_kind {
                    TextKind::Text => Body::Text(String::new()),
                    TextKind::Reasoning => Body::Reasoning(String::new()),
                };
                let place = self.messages.add(&id, envelope.turn_id.clone(), by.clone(), body);
                let open = OpenText { id: id.clone(), place, text_kind, by };
                open.begin(out);
                self.open.push(open);
                self.open.len() - 1
            }
        };
        let Some(open) = self.open.get(at).filter(|_| !text.is_empty() || done) else { return };
        if !text.is_empty() {
            if let Some(Body::Text(known) | Body::Reasoning(known)) =
                self.messages.at(open.place).map(|message| &mut message.body)
            {
                known.push_str(text);
            }
            let (message_id, subagent_run_id) = (open.id.as_str(), open.by.as_deref());
            out.push(&match open.text_kind {
                TextKind::Text => Frame::TextMessageContent { message_id, delta: text, subagent_run_id },
                TextKind::Reasoning => Frame::ReasoningMessageContent { message_id, delta: text, subagent_run_id },
            });
        }
        if done {
            self.open.remove(at).end(out);
        }
    }

    fn end_text(&mut self, id: &str, out: &mut Frames) {
        if let Some(at) = self.open.iter().position(|open| open.id == id) {
            self.open.remove(at).end(out);
        }
    }

    fn activity(&mut self, envelope: &Envelope, kind: &str, id: &str, content: Value, out: &mut Frames) {
        let name = format!("{kind}:{id}");
        let known = self.renamed.get(&name).unwrap_or(&name);
        let message_id = if self.messages.was_taken_back(known) {
            // A client that was away still has it where it was. Under another name it is a new one, at the end, for everybody.
            let again = format!("{name}:{}", envelope.seq);
            self.renamed.insert(name, again.clone());
            again
        } else {
            known.clone()
        };
        let content = if content.is_object() { content } else { json!({ "value": content }) };
        out.push(&Frame::ActivitySnapshot { message_id: &message_id, activity_type: kind, content: &content });
        let body = Body::Activity { kind: kind.to_owned(), content };
        match self.messages.get(&message_id) {
            Some(message) => message.body = body,
            None => drop(self.messages.add(&message_id, envelope.turn_id.clone(), None, body)),
        }
    }

    // ---- sub-agents ----

    fn lane_ended(&mut self, subagent_run_id: &str, status: WorkStatus, out: &mut Frames) {
        if self.lanes.remove(subagent_run_id).is_none() {
            return;
        }
        out.push(&match status {
            WorkStatus::Completed => Frame::SubagentFinished { subagent_run_id, outcome: None },
            WorkStatus::Failed => Frame::SubagentError { subagent_run_id, message: "the sub-agent failed" },
            WorkStatus::Interrupted => {
                Frame::SubagentError { subagent_run_id, message: "the sub-agent was interrupted" }
            }
        });
    }

    // ---- the run ----

    /// Why there will be nothing to tell.
    fn no_turn_reason(&self) -> Option<NoTurnReason> {
        self.wanted.as_ref().and_then(Awaited::no_turn_reason)
    }

    fn done(&mut self, done: &Done, out: &mut Frames) {
        self.turn = None;
        let told = self.begun && !self.over;
        // Told once, with the run that the turn ends in: clients add up what their runs used.
        let usage = self.usage.take().filter(|_| told);
        let reason = done.reason.as_deref();
        match done.outcome {
            _ if !told => {}
            // A helper in the background still asks.
            Outcome::Completed | Outcome::Stopped if !self.asks.is_empty() => {
                self.finish(self.waiting_outcome(), usage.as_ref(), out);
            }
            Outcome::Completed => {
                self.finish(self.is_current().then(|| json!({ "type": "success" })), usage.as_ref(), out);
            }
            Outcome::Stopped => {
                self.finish(self.is_current().then(|| json!({ "type": "cancelled" })), usage.as_ref(), out);
            }
            Outcome::Failed | Outcome::Interrupted => {
                let failure = self.failure.take();
                let message = failure.as_ref().map(|failure| failure.message.as_str()).filter(|text| !text.is_empty());
                let message = message.or(reason);
                let code = failure.as_ref().map(|failure| failure.code.as_str()).filter(|code| !code.is_empty());
                self.fail(message.unwrap_or("the turn did not end well"), code, out);
            }
        }
    }

    /// How a run ends while somebody is asked.
    fn waiting_outcome(&self) -> Option<Value> {
        let interrupts: Vec<&Value> = self.asks.values().filter_map(Ask::interrupt).collect();
        let calls: Vec<&String> = self.asks.values().filter_map(Ask::call).collect();
        match (interrupts.is_empty(), self.is_current()) {
            (false, _) => Some(json!({ "type": "interrupt", "interrupts": interrupts })),
            (true, true) => Some(json!({ "type": "success", "pendingToolCallIds": calls })),
            (true, false) => None,
        }
    }

    fn finish(&mut self, outcome: Option<Value>, usage: Option<&Value>, out: &mut Frames) {
        self.open.drain(..).for_each(|open| open.end(out));
        for subagent_run_id in self.lanes.keys() {
            out.push(&Frame::SubagentFinished { subagent_run_id, outcome: Some(json!({ "type": "suspended" })) });
        }
        let (thread_id, run_id) = (self.run.thread_id.as_str(), self.run.run_id.as_str());
        out.push(&Frame::RunFinished { thread_id, run_id, outcome, usage });
        self.over = true;
    }

    fn fail(&mut self, message: &str, code: Option<&str>, out: &mut Frames) {
        // An error alone would leave a client waiting for answers that it has given.
        if self.begun && self.run.answers_something() {
            self.finish(None, None, out);
        }
        out.push(&Frame::RunError { message, code });
        self.over = true;
    }
}

impl OpenText {
    fn begin(&self, out: &mut Frames) {
        let (message_id, subagent_run_id) = (self.id.as_str(), self.by.as_deref());
        match self.text_kind {
            TextKind::Text => out.push(&Frame::TextMessageStart { message_id, role: "assistant", subagent_run_id }),
            TextKind::Reasoning => {
                out.push(&Frame::ReasoningStart { message_id, subagent_run_id });
                out.push(&Frame::ReasoningMessageStart { message_id, role: "reasoning", subagent_run_id });
            }
        }
    }

    fn end(&self, out: &mut Frames) {
        let (message_id, subagent_run_id) = (self.id.as_str(), self.by.as_deref());
        match self.text_kind {
            TextKind::Text => out.push(&Frame::TextMessageEnd { message_id, subagent_run_id }),
            TextKind::Reasoning => {
                out.push(&Frame::ReasoningMessageEnd { message_id, subagent_run_id });
                out.push(&Frame::ReasoningEnd { message_id, subagent_run_id });
            }
        }
    }
}

impl Lane {
    fn begin(&self, subagent_run_id: &str, out: &mut Frames) {
        out.push(&Frame::SubagentStarted {
            subagent_run_id,
            name: name(&self.name),
            parent_tool_call_id: self.call.as_deref(),
            parent_subagent_run_id: self.within.as_deref(),
        });
    }
}

impl Projection for AgUi {
    type Output = Frames;

    fn apply(&mut self, envelope: &Envelope, frames: &mut Frames) {
        if self.over {
            return;
        }
        if self.begun {
            return self.take(envelope, frames);
        }
        self.take(envelope, &mut Frames::muted());
        if self.arrived && self.wanted.is_none() && self.turn.is_some() {
            self.begin(frames);
        }
    }

    fn caught_up(&mut self, frames: &mut Frames) {
        self.arrived = true;
        if self.wanted.is_none() {
            self.begin(frames);
        }
    }

    fn is_done(&self) -> bool {
        self.over
    }

    fn weight(&self) -> usize {
        self.messages.weight()
    }
}

impl Dialect for AgUi {
    type Reader = Reader;

    fn start_reader(&mut self, Reader { run, wanted }: Reader) {
        (self.run, self.wanted) = (run, wanted.map(Awaited::new));
    }

    fn needs_answer(&self) -> bool {
        self.arrived && !self.over && (self.no_turn_reason().is_some() || (self.begun && !self.asks.is_empty()))
    }

    fn turn(&self) -> Option<&TurnId> {
        self.turn.as_ref().filter(|_| self.begun)
    }

    fn close(&mut self, ending: Ending, frames: &mut Frames) {
        match (ending, self.no_turn_reason()) {
            _ if self.over => {}
            (Ending::Waiting, Some(loss)) => self.fail(&loss.to_string(), Some(loss.code()), frames),
            (Ending::Waiting, None) => {
                self.finish(self.waiting_outcome(), None, frames);
            }
            (Ending::Gone, _) => {
                self.fail(
                    "the daemon is shutting down; the log keeps what has happened",
                    Some("shutting_down"),
                    frames,
                );
            }
        }
    }
}

/// Agents name blocks anew in each turn; messages are of the whole session.
fn text_id(envelope: &Envelope, block: &str) -> String {
    let turn = envelope.turn_id.as_ref().map_or("-", |turn| turn.as_str());
    let mut id = String::with_capacity(turn.len() + block.len() + 1);
    id.push_str(turn);
    id.push(':');
    id.push_str(name(block));
    id
}

/// What a person said, as these clients keep it: a text, or parts where there are pictures.
fn content_of(content: &[Part]) -> Value {
    let part = |part: &Part| {
        let Part::Image { media_type, data, blob } = part else {
            return json!({ "type": "text", "text": text_of(std::slice::from_ref(part)) });
        };
        let (kind, value) = match (data, blob) {
            (Some(data), _) => ("data", data.clone()),
            (None, blob) => {
                ("url", blob.as_ref().map_or("about:blank".to_owned(), |blob| format!("/api/blobs/{}", blob.id)))
            }
        };
        json!({ "type": "image", "source": { "type": kind, "value": value, "mimeType": name(media_type) } })
    };
    let has_picture = content.iter().any(|part| matches!(part, Part::Image { .. }));
    if has_picture { content.iter().map(part).collect() } else { text_of(content).into() }
}

fn text_of(content: &[Part]) -> String {
    let describe = |part: &Part| match part {
        Part::Text { text } => text.clone(),
        Part::Image { media_type, .. } => format!("[{media_type}]"),
        Part::File { path } => format!("[{path}]"),
    };
    content.iter().map(describe).collect::<Vec<_>>().join("\n")
}
