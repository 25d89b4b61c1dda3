//! The machine itself: its inputs, its effects, and how facts are made. How a turn begins and ends is in `turn`, what clients ask for in `commands`, what
//! agents say in `agent`.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use super::budgets::Spending;
use super::delegating::ChildWait;
use super::host_calls::HostWaits;
use super::judging::Judgements;
use super::open::Scope;
use super::orders::Numbered;
use super::pausing::Held;
pub use super::setup::{Limits, Setup};
use super::state::State;
use super::unparsed_limiter::{self, UnparsedLimiter};
use crate::blob::{self, Blob};
use crate::budget::Shared;
use crate::command::{self, ClientCommand};
use crate::component::Rules;
use crate::delegation;
use crate::event::{
    Activity, DAEMON, Delta, Done, Envelope, Event, Hold, Origin, Outcome, RuleScope, SessionReady, SessionUpdated,
    Status, TurnStarted, UserMessage,
};
use crate::id::{AskId, MessageId, Seq, SessionId, SubagentId, TurnId};
use crate::nesting;
use crate::policy::Judgement;
use crate::runtime::{
    Beginning, CallbackOrder, Capabilities, Hearing, ImportedTurn, Opening, Order, Prompt, Report, RollbackOrder,
    StartFailure,
};
use crate::time::Timestamp;

/// The smallest piece that text is cut into: one character always fits.
const MIN_PIECE_BYTES: usize = 4;

/// Identifies the client that waits for a reply; chosen by the shell.
pub type ReplyTo = u64;

/// How orders reach the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// Once, over a pipe that loses nothing. What it is told ends with its process.
    Pipe,
    /// By the log: the agent may lose its connection, and is told again what it has not heard.
    Log {
        /// It had the session before this machine was there, and may come back to it.
        open: bool,
        /// How long a turn waits for it.
        grace_ms: i64,
    },
}

/// Everything that can happen to a session.
#[derive(Debug)]
pub enum Input {
    Command {
        command: ClientCommand,
        reply_to: ReplyTo,
    },
    Report(Report),
    /// What an agent said about a call, and what the rules say about that call.
    Judged {
        report: Report,
        judgement: Judgement,
    },
    /// An answer that changes a call's input, and what the rules say about the call as it would run now.
    JudgedEdit {
        command: ClientCommand,
        judgement: Judgement,
        reply_to: ReplyTo,
    },
    StartFailed(StartFailure),
    /// The agent's process is gone, and all it had started.
    Exited {
        exit_code: Option<i32>,
        description: String,
    },
    /// What other sessions have spent of what this one may spend.
    Shared(Box<Shared>),
    /// A deadline may have passed.
    Tick,
    /// The daemon ends.
    Shutdown,
}

/// What the shell shall do, in this order, once the facts are durable.
#[derive(Debug)]
pub enum Effect {
    Start(Opening),
    /// Wait for the agent that has the session.
    Attach,
    /// End the agent's connection: it does not do what it is told.
    Disconnect,
    Order(Order),
    /// Keep a rule that a person has answered *always* with.
    StoreRule {
        /// In TOML, without an id.
        rule: String,
        scope: RuleScope,
        by: String,
        /// What was answered so.
        ask_id: AskId,
        at: Timestamp,
    },
    /// Make a session that works for this one, and tell it what to do.
    Delegate(Box<delegation::Start>),
    /// Say more to it.
    TellChild {
        child: SessionId,
        message_id: MessageId,
        text: String,
    },
    /// Stop the turns of these sessions.
    StopChildren(Vec<SessionId>),
    /// Ask the agent's processes to end.
    Terminate,
    /// End them.
    Kill,
    Reply {
        to: ReplyTo,
        outcome: command::Outcome,
    },
}

/// What one input, or several, led to.
#[derive(Debug, Default)]
pub struct Output {
    pub facts: Vec<Envelope>,
    pub blobs: Vec<Blob>,
    /// What an agent is told that is told by the log.
    pub orders: Vec<Numbered>,
    pub effects: Vec<Effect>,
}

impl Output {
    pub(super) fn reply(&mut self, to: ReplyTo, outcome: command::Outcome) {
        self.effects.push(Effect::Reply { to, outcome });
    }

    pub(super) fn order(&mut self, order: Order) {
        self.effects.push(Effect::Order(order));
    }
}

#[derive(Debug)]
pub struct Machine {
    pub(super) setup: Setup,
    pub(super) state: State,
    pub(super) agent: Agent,
    /// What the running turn still has to tell the agent.
    pub(super) undelivered: Option<Work>,
    pub(super) stop: Option<Stop>,
    /// A command that needs the agent but is no turn.
    pub(super) pending_operation: Option<(ReplyTo, Operation)>,
    /// Where the agent's conversation stands.
    pub(super) anchor: Option<String>,
    /// What the agent calls its open asks.
    pub(super) ask_keys: HashMap<AskId, String>,
    /// Calls of the session's own tools that wait for a person.
    pub(super) host_waits: HostWaits,
    /// Those that wait for another session.
    pub(super) child_waits: Vec<ChildWait>,
    /// The ask whether an imported session may run.
    pub(super) consent: Option<AskId>,
    /// What was done in components while no agent was there to hear it.
    pub(super) pending_callbacks: Vec<CallbackOrder>,
    /// How many messages at the head of the queue were said into this turn and refused by the agent.
    pub(super) refused: usize,
    pub(super) last_status: Option<(Activity, Option<String>)>,
    /// What began the running turn.
    pub(super) origin: Origin,
    pub(super) judgements: Judgements,
    /// When asks end by themselves.
    pub(super) expiries: HashMap<AskId, Timestamp>,
    /// What is counted against budgets, and what other sessions have spent of them.
    pub(super) spending: Spending,
    pub(super) shared: Shared,
    /// What waits for a person's word about a budget.
    pub(super) held: Held,
    unparsed_limiter: UnparsedLimiter,
    pub(super) shutting_down: bool,
    pub(super) delivery: Delivery,
    pub(super) hearing: Hearing,
    /// When the agent is told what was done on the screen.
    pub(super) tell_at: Option<Timestamp>,
    /// The epoch of the agent that is there, or on its way.
    pub(super) epoch: u64,
    /// Turns in a row that the agent did not stop when it was told to.
    pub(super) ignored_stops: u32,
    /// How much was said about turns that had ended.
    pub(super) stale: u64,
}

/// The agent's process.
#[derive(Debug, PartialEq)]
pub(super) enum Agent {
    Absent,
    Starting {
        beginning: Beginning,
        deadline: Timestamp,
    },
    Ready {
        idle_deadline: Option<Timestamp>,
    },
    /// It has the session, and its connection is lost.
    Away {
        /// When it is taken for gone.
        deadline: Timestamp,
        /// When people are told that it is waited for, if they were not.
        say_at: Option<Timestamp>,
    },
    /// Told to end.
    Closing {
        deadline: Timestamp,
        step: Step,
    },
}

/// How far the escalation to end the agent has gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Asked,
    Terminated,
    Killed,
}

/// What a turn is about.
#[derive(Debug)]
pub(super) enum Work {
    Messages(Vec<Prompt>),
    Compaction,
}

/// A stop that is under way.
#[derive(Debug)]
pub(super) struct Stop {
    pub(super) outcome: Outcome,
    pub(super) reason: String,
    /// What was said into the turn and not taken is held too.
    pub(super) hold: Option<Hold>,
    pub(super) step: Step,
    pub(super) deadline: Timestamp,
    pub(super) waiters: Vec<ReplyTo>,
}

#[derive(Debug)]
pub(super) enum Operation {
    /// The conversation, if it is not the session's own.
    Resume(Option<String>),
    Rollback {
        order: RollbackOrder,
        by: String,
        /// Until when the agent has to answer, once it was told.
        until: Option<Timestamp>,
    },
}

impl Machine {
    /// A machine for a session whose log has been folded into `state`.
    pub fn new(setup: Setup, state: State) -> Self {
        Self {
            setup,
            state,
            agent: Agent::Absent,
            undelivered: None,
            stop: None,
            pending_operation: None,
            anchor: None,
            ask_keys: HashMap::new(),
            host_waits: HostWaits::default(),
            child_waits: Vec::new(),
            consent: None,
            pending_callbacks: Vec::new(),
            refused: 0,
            last_status: None,
            origin: Origin::default(),
            judgements: Judgements::default(),
            expiries: HashMap::new(),
            spending: Spending::default(),
            shared: Shared::default(),
            held: Held::default(),
            unparsed_limiter: UnparsedLimiter::default(),
            shutting_down: false,
            delivery: Delivery::Pipe,
            hearing: Hearing::Orders,
            tell_at: None,
            epoch: 0,
            ignored_stops: 0,
            stale: 0,
        }
    }

    /// The same, for an agent that is told so.
    #[must_use]
    pub fn told_by(mut self, delivery: Delivery) -> Self {
        self.delivery = delivery;
        self
    }

    /// The same, for an agent that hears so what people do on the screen.
    #[must_use]
    pub fn hearing_by(mut self, hearing: Hearing) -> Self {
        self.hearing = hearing;
        self
    }

    /// What the agent can do is known only when it is there.
    pub fn set_capabilities(&mut self, capabilities: Capabilities) {
        self.setup.capabilities = capabilities;
    }

    /// Other components are there now. What was made by the rules of before stays as it is.
    pub fn set_components(&mut self, components: Arc<Rules>) {
        self.setup.components = components;
    }

    /// The facts a session begins with.
    pub fn create(&mut self, at: Timestamp, out: &mut Output) {
        let text = |name: &str| self.setup.params.get(name).and_then(Value::as_str).map(str::to_owned);
        let ready = SessionReady {
            session_id: Some(self.setup.session_id.clone()),
            runtime: self.setup.runtime.clone(),
            title: text("title"),
            cwd: text("cwd"),
            model: text("model"),
            mode: text("mode"),
            ..SessionReady::default()
        };
        self.emit(at, out, ready);
    }

    /// Settles what a daemon that is gone left open. What was accepted waits for somebody who knows what was cut off. Also what every load of a session begins with.
    pub fn recover(&mut self, at: Timestamp, out: &mut Output) {
        if self.recover_agent_told_by_log(at, out) {
            return;
        }
        self.end_waiting_calls(at, out);
        if self.state.turn.is_some() {
            let reason = "the daemon ended while this turn was running".to_owned();
            self.finish_turn(at, out, Outcome::Interrupted, Some(reason), None, None);
        }
        self.close(at, out, Scope::All, Outcome::Interrupted, "the daemon ended");
        self.queue_untold(at, out);
        self.hold(at, out, Hold::Restarted);
    }

    /// Takes in what was said in the agent's conversation before the session was there.
    pub fn adopt(&mut self, at: Timestamp, out: &mut Output, conversation: String, turns: Vec<ImportedTurn>) {
        for turn in turns {
            let turn_id = Some(TurnId::fresh(&mut self.setup.ids, turn.started_at));
            let ImportedTurn { message_id, content, started_at, events, ended_at, anchor } = turn;
            let message_ids = vec![message_id.clone()];
            let message = UserMessage { message_id, content, origin: Origin::Import, source: None };
            self.emit_as(started_at, out, None, turn_id.clone(), message.into());
            self.emit_as(
                started_at,
                out,
                None,
                turn_id,
                TurnStarted { message_ids, origin: Origin::Import, ..TurnStarted::default() }.into(),
            );
            for (at, event) in events {
                if self.state.open.law_violation(&event, None).is_none()
                    && let Ok(event) = self.prepared(event)
                {
                    self.emit(at, out, event);
                }
            }
            self.close(ended_at, out, Scope::Turn, Outcome::Interrupted, "the conversation was stored without an end");
            self.emit(ended_at, out, Done { outcome: Outcome::Completed, anchor, ..Done::default() });
        }
        let ready = SessionReady {
            session_id: Some(self.setup.session_id.clone()),
            runtime: self.setup.runtime.clone(),
            provider_session_id: Some(conversation),
            resumed: Some(true),
            reason: Some("the conversation was there before this session".to_owned()),
            ..SessionReady::default()
        };
        self.emit(at, out, ready);
    }

    /// Settles a copy of another session's log: what was open there is not open here, and it has a title of its own.
    pub fn settle_fork(&mut self, at: Timestamp, out: &mut Output, from_session: SessionId, title: Option<String>) {
        let at_seq = self.state.head;
        let from_title = Some(self.state.title.clone()).filter(|title| !title.is_empty());
        self.emit(at, out, crate::event::Forked { from_session, from_title, at_seq });
        if let Some(title) = title {
            let by = DAEMON.to_owned();
            self.emit(at, out, SessionUpdated { title: Some(title), by, ..SessionUpdated::default() });
        }
        self.close(at, out, Scope::All, Outcome::Stopped, "the session was forked");
        if !self.state.queue.is_empty() {
            self.change_queue(at, out, Vec::new(), None);
        }
    }

    pub fn handle(&mut self, input: Input, at: Timestamp, out: &mut Output) {
        if matches!(input, Input::Report(_) | Input::Judged { .. }) {
            self.agent_was_heard(at);
        }
        match input {
            Input::Command { command, reply_to } => self.execute(command, reply_to, at, out),
            Input::Report(report) => self.report(report, at, out),
            Input::Judged { report, judgement } => self.judged(report, judgement, at, out),
            Input::JudgedEdit { command, judgement, reply_to } => {
                self.answer_with_edit(command, &judgement, reply_to, at, out);
            }
            Input::StartFailed(failure) => self.start_failed(failure, at, out),
            Input::Exited { exit_code, description } => self.exited(exit_code, &description, at, out),
            Input::Shared(shared) => self.share(*shared, at, out),
            Input::Tick => self.tick(at, out),
            Input::Shutdown => self.shutdown(at, out),
        }
        self.hold_orders(out);
    }

    pub fn session_id(&self) -> &SessionId {
        &self.setup.session_id
    }

    pub fn runtime(&self) -> &str {
        &self.setup.runtime
    }

    pub fn state(&self) -> &State {
        &self.state
    }

    /// The directory in which the agent works, if one was given.
    pub fn workspace(&self) -> Option<&str> {
        self.state.cwd.as_deref()
    }

    /// Whether a turn is open.
    pub fn is_in_turn(&self) -> bool {
        self.state.turn.is_some()
    }

    pub fn mode(&self) -> Option<&str> {
        self.state.mode.as_deref()
    }

    pub fn head(&self) -> Seq {
        self.state.head
    }

    /// The open ask that the agent calls so.
    pub fn ask_by_key(&self, key: &str) -> Option<AskId> {
        self.ask_keys.iter().find(|(_, known)| *known == key).map(|(ask_id, _)| ask_id.clone())
    }

    // ---- facts ----

    pub(super) fn emit(&mut self, at: Timestamp, out: &mut Output, event: impl Into<Event>) -> Seq {
        self.emit_as(at, out, None, self.state.turn.clone(), event.into())
    }

    /// Gives a fact its place and makes it part of the state. It becomes true for others when the shell has stored it.
    pub(super) fn emit_as(
        &mut self,
        at: Timestamp,
        out: &mut Output,
        subagent_id: Option<SubagentId>,
        turn_id: Option<TurnId>,
        mut event: Event,
    ) -> Seq {
        if let Event::AgentUnparsed(unparsed) = &mut event {
            unparsed_limiter::shorten(unparsed);
        }
        let may_account = match &event {
            Event::AgentUnparsed(unparsed) if !self.unparsed_limiter.allows(unparsed, at) => return self.state.head,
            Event::AgentUnparsed(_) | Event::Done(_) | Event::SessionEnded(_) => true,
            _ => false,
        };
        if may_account && let Some(account) = self.unparsed_limiter.take_summary(&self.setup.runtime) {
            self.store(at, out, None, self.state.turn.clone(), account.into());
        }
        let limit = self.setup.limits.inline_bytes.max(MIN_PIECE_BYTES);
        // Text is not moved out of the log, it is the log; it only comes in more pieces.
        while let Event::Delta(delta) = &mut event
            && delta.text.len() > limit
        {
            let cut = delta.text.floor_char_boundary(limit);
            let rest = delta.text.split_off(cut);
            let (block_id, text) = (delta.block_id.clone(), std::mem::replace(&mut delta.text, rest));
            let piece = Delta { block_id, text, ..Delta::default() };
            self.store(at, out, subagent_id.clone(), turn_id.clone(), piece.into());
        }
        nesting::bound(&mut event);
        out.blobs.extend(blob::spill(&mut event, self.setup.limits.inline_bytes));
        let may_lead_somewhere = matches!(event, Event::StateSnapshot(_) | Event::StateDelta(_) | Event::Rollback(_));
        let seq = self.store(at, out, subagent_id, turn_id, event);
        if may_lead_somewhere {
            self.show_state(at, out);
        }
        seq
    }

    fn store(
        &mut self,
        at: Timestamp,
        out: &mut Output,
        subagent_id: Option<SubagentId>,
        turn_id: Option<TurnId>,
        event: Event,
    ) -> Seq {
        let seq = self.state.head.next();
        let envelope = Envelope { seq, ts: at, session_id: self.setup.session_id.clone(), turn_id, subagent_id, event };
        let orders = self.state.apply_and_order(&envelope);
        if self.is_told_by_log() {
            out.orders.extend(orders);
        }
        self.set_work_clock(Some(&envelope.event), at);
        out.facts.push(envelope);
        seq
    }

    /// Says what the session is doing, when that is new.
    pub(super) fn emit_status_if_changed(
        &mut self,
        at: Timestamp,
        out: &mut Output,
        activity: Activity,
        label: Option<String>,
    ) {
        let now = Some((activity, label));
        // Whatever else goes on, a person is waited for first.
        let waits = !self.state.open.asks.is_empty() && !matches!(activity, Activity::Waiting | Activity::Stopping);
        if self.state.turn.is_some() && self.stop.is_none() && !waits && self.last_status != now {
            self.last_status = now;
            let label = self.last_status.as_ref().and_then(|(_, label)| label.clone());
            self.emit(at, out, Status { state: activity, label, ..Status::default() });
        }
    }

    pub(super) fn close(&mut self, at: Timestamp, out: &mut Output, scope: Scope<'_>, outcome: Outcome, reason: &str) {
        for (owner, event) in self.state.open.closing_events(scope, outcome, reason) {
            if let Event::ToolResult(result) = &event {
                self.settle_call(&result.tool_use_id, at, out);
            }
            let turn_id = self.turn_of(owner.as_ref());
            self.emit_as(at, out, owner, turn_id, event);
        }
        self.ask_keys.retain(|ask_id, _| self.state.open.asks.contains_key(ask_id));
        self.release_host_waits(reason, out);
        self.release_child_waits(reason, out);
    }

    /// The turn that something belongs to: none, when a sub-agent does it in the background.
    pub(super) fn turn_of(&self, owner: Option<&SubagentId>) -> Option<TurnId> {
        self.state.turn.clone().filter(|_| !self.state.open.in_background(owner))
    }
}
