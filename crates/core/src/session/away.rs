//! Agents that may lose their connection and come back: their orders come from the log, and a turn outlives a cut, and a restart of the daemon.

use super::machine::{Agent, Delivery, Effect, Machine, Operation, Output, Step, Work};
use super::open::Scope;
use crate::command::Refusal;
use crate::event::{
    Activity, Failure, Hold, Interrupt, Outcome, PermissionReply, PermissionRequest, PermissionResolved,
    QuestionRequest, Status,
};
use crate::id::{AskId, SubagentId, TurnId};
use crate::runtime::AskRequest;
use crate::time::Timestamp;

/// How long a connection may be lost before people hear of it.
const SAY_AFTER_MS: i64 = 2_000;

/// Turns in a row that an agent may fail to stop before its connection is ended.
const MAX_IGNORED_STOPS: u32 = 3;

/// Who answers, when a rule does.
const RULES: &str = "rules";

impl Machine {
    pub fn is_told_by_log(&self) -> bool {
        matches!(self.delivery, Delivery::Log { .. })
    }

    /// Whether an agent has the session: it was ready, and has not been told to let go.
    pub fn is_held_by_agent(&self) -> bool {
        matches!(self.agent, Agent::Ready { .. } | Agent::Away { .. })
    }

    /// How much was said about turns that had ended, since this was last asked.
    pub fn take_stale(&mut self) -> u64 {
        std::mem::take(&mut self.stale)
    }

    fn grace_ms(&self) -> i64 {
        match self.delivery {
            Delivery::Log { grace_ms, .. } => grace_ms,
            Delivery::Pipe => 0,
        }
    }

    /// Leaves to the agent what is its own. False if there is nothing of the kind.
    pub(super) fn recover_agent_told_by_log(&mut self, at: Timestamp, out: &mut Output) -> bool {
        let Delivery::Log { open, grace_ms } = self.delivery else { return false };
        self.epoch = self.state.outbox.epoch;
        if open {
            let keys = self.state.open.asks.iter();
            self.ask_keys = keys.filter_map(|(id, ask)| Some((id.clone(), ask.key()?.to_owned()))).collect();
            self.agent = Agent::Away { deadline: at.plus_millis(grace_ms), say_at: Some(at.plus_millis(SAY_AFTER_MS)) };
            out.effects.push(Effect::Attach);
            self.undelivered = self.state.ledger.holds_message().then(|| self.work_of_turn());
            return true;
        }
        if self.state.turn.is_none() || self.needs_consent() || self.state.archived || self.state.ended {
            return false;
        }
        // It was accepted, and no agent has heard of it.
        self.undelivered = Some(self.work_of_turn());
        if !self.is_paused() {
            self.start_agent(at, out);
        }
        true
    }

    /// What the turn is about that no agent has heard of.
    fn work_of_turn(&self) -> Work {
        let messages = self.state.outbox.prompt.clone();
        if messages.is_empty() { Work::Compaction } else { Work::Messages(messages) }
    }

    /// The connection is lost.
    pub(super) fn away(&mut self, at: Timestamp, out: &mut Output) {
        if !matches!(self.agent, Agent::Ready { .. }) {
            return;
        }
        let deadline = at.plus_millis(self.grace_ms());
        self.agent = Agent::Away { deadline, say_at: Some(at.plus_millis(SAY_AFTER_MS)) };
        if let Some(stop) = &self.stop {
            // Nobody is there who could take his time.
            let (outcome, reason) = (stop.outcome, stop.reason.clone());
            self.finish_turn(at, out, outcome, Some(reason), None, None);
        }
        if let Some((to, Operation::Rollback { .. })) = self.take_rollback() {
            out.reply(to, Err(self.is_away()));
        }
        self.proceed(at, out);
    }

    /// It is back, and has its session still.
    pub(super) fn back(&mut self, at: Timestamp, out: &mut Output) {
        let Agent::Away { say_at, .. } = self.agent else { return };
        self.agent = Agent::Ready { idle_deadline: None };
        if say_at.is_none() && self.agent_in_turn() {
            let (activity, label) = match () {
                () if !self.state.open.asks.is_empty() => (Activity::Waiting, None),
                () if !self.state.open.tools.is_empty() => (Activity::Tool, None),
                () => (Activity::Thinking, None),
            };
            self.emit_status_if_changed(at, out, activity, label);
        }
        self.deliver(at, out);
        self.proceed(at, out);
    }

    pub(super) fn say_that_it_is_away(&mut self, at: Timestamp, out: &mut Output) {
        let label = format!("Waiting for {} to come back", self.setup.runtime);
        let said = Some((Activity::Retrying, Some(label.clone())));
        if self.state.turn.is_some() && self.stop.is_none() && self.last_status != said {
            // Also while a person is waited for: the answer will have to wait too.
            self.last_status = said;
            self.emit(at, out, Status { state: Activity::Retrying, label: Some(label), ..Status::default() });
        }
        if let Agent::Away { say_at, .. } = &mut self.agent {
            *say_at = None;
        }
    }

    pub(super) fn tick_away(&mut self, at: Timestamp, out: &mut Output) {
        let Agent::Away { deadline, say_at } = self.agent else { return };
        if deadline > at {
            if say_at.is_some_and(|say_at| say_at <= at) {
                self.say_that_it_is_away(at, out);
            }
            return;
        }
        if self.agent_in_turn() {
            let runtime = &self.setup.runtime;
            let failure = Failure {
                message: format!(
                    "{runtime} lost its connection and did not come back within {} s",
                    self.grace_ms() / 1000
                ),
                code: "agent_away".to_owned(),
                retryable: true,
                fix: Some(format!("start {runtime} again, then send the message again")),
            };
            let reason = Some("the agent is away".to_owned());
            self.finish_turn(at, out, Outcome::Interrupted, reason, Some(failure), None);
            self.hold(at, out, Hold::NotStarted);
        }
        self.close(at, out, Scope::All, Outcome::Interrupted, "the agent is away");
        // Whoever comes back hears that the session is not his any more.
        out.effects.push(Effect::Kill);
        self.agent = Agent::Closing { deadline: at, step: Step::Killed };
    }

    /// There is no process to end: a turn whose agent does not stop is ended for it.
    pub(super) fn end_ignored_stop(&mut self, at: Timestamp, out: &mut Output) {
        let Some(stop) = self.stop.as_ref().filter(|stop| stop.deadline <= at) else { return };
        let (outcome, reason) = (stop.outcome, stop.reason.clone());
        self.finish_turn(at, out, outcome, Some(reason), None, None);
        self.ignored_stops += 1;
        if self.ignored_stops >= MAX_IGNORED_STOPS {
            self.ignored_stops = 0;
            out.effects.push(Effect::Disconnect);
        }
        self.proceed(at, out);
    }

    pub(super) fn is_away(&self) -> Refusal {
        let runtime = &self.setup.runtime;
        let message = format!("{runtime} has lost its connection; wait until it is back");
        Refusal::AgentFailed { message, code: "agent_away".to_owned(), fix: Some(format!("start {runtime} again")) }
    }

    /// Whether somebody else may be opened in the place of one that was lost before it was ready.
    pub(super) fn opens_again(&self, deadline: Timestamp, at: Timestamp) -> bool {
        self.is_told_by_log() && at < deadline && !self.shutting_down
    }

    pub(super) fn keep_start_deadline(&mut self, until: Timestamp) {
        if let Agent::Starting { deadline, .. } = &mut self.agent {
            *deadline = until;
        }
    }

    pub(super) fn callbacks_wait(&self) -> bool {
        let waiting = &self.state.outbox.callbacks;
        !self.pending_callbacks.is_empty() || (self.is_told_by_log() && !waiting.is_empty())
    }

    /// The id of a turn that the agent has begun and named. It says nothing else of it, so it must be found again without being stored.
    pub(super) fn turn_called(&self, name: &str) -> TurnId {
        let epoch = self.epoch;
        TurnId::trusted(if self.is_told_by_log() { format!("agent.{epoch}.{name}") } else { format!("agent.{name}") })
    }

    /// Whether this is the turn that is open, as the agent calls it.
    pub(super) fn is_open_turn(&self, turn: &str) -> bool {
        let open = self.state.turn.as_ref();
        open.is_some_and(|open| open.as_str() == turn || *open == self.turn_called(turn))
    }

    /// An ask with what the agent calls it, where that must outlive the daemon.
    pub(super) fn with_key(&self, request: AskRequest, key: &str) -> AskRequest {
        let key = self.is_told_by_log().then(|| key.to_owned());
        match request {
            AskRequest::Permission(request) => AskRequest::Permission(PermissionRequest { key, ..request }),
            AskRequest::Question(request) => AskRequest::Question(QuestionRequest { key, ..request }),
            AskRequest::Interrupt(request) => AskRequest::Interrupt(Interrupt { key, ..request }),
        }
    }

    /// Asks, and answers at once as the rules want it.
    #[expect(clippy::too_many_arguments, reason = "all of an ask and of its answer")]
    pub(super) fn settle_by_rule(
        &mut self,
        key: String,
        subagent_id: Option<SubagentId>,
        request: PermissionRequest,
        reply: PermissionReply,
        reason: Option<String>,
        at: Timestamp,
        out: &mut Output,
    ) {
        let in_background = self.state.open.in_background(subagent_id.as_ref());
        let already = self.ask_by_key(&key).is_some();
        if already || !(self.agent_in_turn() || in_background) {
            self.ask(key, subagent_id, AskRequest::Permission(request), at, out);
            return;
        }
        let ask_id = AskId::fresh(&mut self.setup.ids, at);
        let tool_name = request.tool_name.clone();
        let turn_id = self.turn_of(subagent_id.as_ref());
        let asked = PermissionRequest { ask_id: ask_id.clone(), key: Some(key), ..request };
        self.emit_as(at, out, subagent_id.clone(), turn_id.clone(), asked.into());
        let (allowed, by) = (reply != PermissionReply::Reject, RULES.to_owned());
        let resolved =
            PermissionResolved { ask_id, tool_name, allowed, reply, by, reason, ..PermissionResolved::default() };
        self.emit_as(at, out, subagent_id, turn_id, resolved.into());
    }
}
