//! How a turn begins, reaches the agent and ends, and what comes after it.

use serde_json::Value;

use super::machine::{Agent, Effect, Machine, Operation, Output, Step, Work};
use super::open::Scope;
use super::queue::Place;
use super::state::{Branch, Queued};
use crate::command::{Receipt, Reply};
use crate::event::{
    Activity, AfterStop, Done, Failure, Hold, Origin, Outcome, QueueState, Steer, SteerState, TurnStarted, UserMessage,
};
use crate::id::{MessageId, TurnId};
use crate::runtime::{Beginning, Opening, Order, Prompt};
use crate::time::Timestamp;

impl Machine {
    pub(super) fn busy(&self) -> bool {
        self.state.turn.is_some() || self.pending_operation.is_some()
    }

    /// Begins a turn and, if the agent is there, tells it.
    pub(super) fn begin_turn(
        &mut self,
        at: Timestamp,
        out: &mut Output,
        messages: Vec<Queued>,
        origin: Origin,
        work: Option<Work>,
    ) {
        let messages = self.with_untold(messages);
        let turn_id = TurnId::fresh(&mut self.setup.ids, at);
        self.begin_turn_called(turn_id, at, out, messages, origin, work);
    }

    pub(super) fn begin_turn_called(
        &mut self,
        turn_id: TurnId,
        at: Timestamp,
        out: &mut Output,
        messages: Vec<Queued>,
        origin: Origin,
        work: Option<Work>,
    ) {
        let message_ids = messages.iter().map(|message| message.message_id.clone()).collect();
        let mut prompts = Vec::with_capacity(messages.len());
        for Queued { message_id, content, origin, source, .. } in messages {
            prompts.push(Prompt { message_id: message_id.clone(), content: content.clone(), origin });
            let message = UserMessage { message_id, content, origin, source };
            self.emit_as(at, out, None, Some(turn_id.clone()), message.into());
        }
        // One that the agent has begun itself is held when it comes to its next call.
        let limit = self.limit_before_turn(at).filter(|_| origin != Origin::Agent);
        let continues = self.take_interrupted();
        let (waits, budget_group) = (limit.is_some().then_some(true), self.budget_group());
        let started = TurnStarted { message_ids, origin, continues, waits, budget_group };
        self.emit_as(at, out, None, Some(turn_id), started.into());
        self.last_status = None;
        self.origin = origin;
        self.check_turns(at, out);
        if origin == Origin::Agent {
            return self.check_budgets(at, out); // It speaks already.
        }
        self.emit_status_if_changed(at, out, Activity::Accepted, None);
        self.undelivered = Some(work.unwrap_or(Work::Messages(prompts)));
        self.set_asks_first(limit);
        self.deliver(at, out);
    }

    /// Hands the turn's work to the agent, starting it if need be.
    pub(super) fn deliver(&mut self, at: Timestamp, out: &mut Output) {
        if self.asks_before_delivery(at, out) {
            return;
        }
        match &mut self.agent {
            Agent::Ready { idle_deadline } => *idle_deadline = None,
            Agent::Absent => return self.start_agent(at, out),
            Agent::Away { .. } => return self.say_that_it_is_away(at, out),
            Agent::Starting { .. } | Agent::Closing { .. } => return,
        }
        let (Some(turn_id), Some(work)) = (self.state.turn.clone(), self.undelivered.take()) else { return };
        match work {
            Work::Messages(messages) => {
                self.emit_status_if_changed(at, out, Activity::Thinking, None);
                out.order(Order::Prompt { turn_id: turn_id.clone(), messages });
            }
            Work::Compaction => {
                self.emit_status_if_changed(at, out, Activity::Compacting, None);
                out.order(Order::Compact { turn_id: turn_id.clone() });
            }
        }
        for steer in &self.state.steers {
            let (message_id, content) = (steer.message_id.clone(), steer.content.clone());
            let message = Prompt { message_id, content, origin: steer.origin };
            out.order(Order::Steer { turn_id: turn_id.clone(), message });
        }
        self.set_work_clock(None, at);
    }

    pub(super) fn start_agent(&mut self, at: Timestamp, out: &mut Output) {
        if self.needs_consent() {
            return self.ask_consent(at, out);
        }
        let wanted = match &self.pending_operation {
            Some((_, Operation::Resume(wanted))) => wanted.clone(),
            Some((_, Operation::Rollback { .. })) | None => None,
        };
        // What was never said in a conversation is not stored by the agent, so there would be nothing to resume.
        let own = self.state.provider_session_id.clone().filter(|_| self.state.conversed);
        let (is_wanted, conversation) = (wanted.is_some(), wanted.or(own));
        let beginning = match (conversation, &self.state.fork_of) {
            (Some(provider_session_id), _) => Beginning::Resume { provider_session_id, wanted: is_wanted },
            (None, Some(Branch { provider_session_id, at })) => {
                Beginning::Fork { provider_session_id: provider_session_id.clone(), at: at.clone() }
            }
            (None, None) => Beginning::Fresh,
        };
        self.emit_status_if_changed(at, out, Activity::Starting, Some(format!("Starting {}", self.setup.runtime)));
        self.epoch = self.epoch.max(self.state.outbox.epoch) + 1;
        let text = |name: &str| self.setup.params.get(name).and_then(Value::as_str).map(str::to_owned);
        out.effects.push(Effect::Start(Opening {
            session_id: self.setup.session_id.clone(),
            cwd: self.state.cwd.clone(),
            model: self.state.model.clone(),
            mode: self.state.mode.clone(),
            system_prompt: text("system_prompt"),
            beginning: beginning.clone(),
            anchor: self.state.end_of_conversation().filter(|_| !is_wanted),
            params: self.state.params(&self.setup.params),
            state: self.state.shared.clone(),
            epoch: self.epoch,
            host_tools: self.host_tools(),
        }));
        self.agent = Agent::Starting { beginning, deadline: at.plus_millis(self.setup.limits.start_ms) };
    }

    pub(super) fn finish_turn(
        &mut self,
        at: Timestamp,
        out: &mut Output,
        outcome: Outcome,
        reason: Option<String>,
        failure: Option<Failure>,
        exit_code: Option<i32>,
    ) {
        if let Some(failure) = failure {
            self.emit(at, out, failure);
        }
        let why = match outcome {
            Outcome::Completed => "the turn ended",
            Outcome::Stopped => "the turn was stopped",
            Outcome::Interrupted => "the turn was interrupted",
            Outcome::Failed => "the turn failed",
        };
        self.close(at, out, Scope::Turn, outcome, reason.as_deref().unwrap_or(why));
        self.bring_unheard(Self::hold_of_unheard(outcome), at, out);
        let held = self.stop.as_ref().and_then(|stop| stop.hold);
        // The last one first, so that each goes to the front and their order stays.
        for steer in self.state.steers.clone().into_iter().rev() {
            let returned =
                Steer { message_id: steer.message_id.clone(), state: SteerState::Returned, ..Steer::default() };
            self.emit(at, out, returned);
            self.enqueue(at, out, Queued { state: QueueState::Returned, held, ..steer }, Place::First);
        }
        self.refused = 0;
        let anchor = self.anchor.take();
        let stopped = outcome == Outcome::Stopped;
        // Nobody asked the ending daemon to hold the queue; it does so for the next start.
        let then = held.filter(|why| *why != Hold::Restarted).map(|_| AfterStop::Hold);
        let worked_ms = self.worked_ms(at);
        self.emit(at, out, Done { outcome, stopped, exit_code, reason, anchor, then, worked_ms });
        self.undelivered = None;
        self.end_pause(out);
        if outcome == Outcome::Completed {
            self.forget_interrupted(); // It was quicker.
        }
        self.last_status = None;
        if let Some(stop) = self.stop.take() {
            let stopped = outcome == Outcome::Stopped || outcome == Outcome::Interrupted;
            let background = self.state.open.background_count();
            stop.waiters.into_iter().for_each(|to| out.reply(to, Ok(Reply::Stopped { stopped, background })));
            // An agent that was ended by force is on its way out.
            if stop.step != Step::Asked && matches!(self.agent, Agent::Ready { .. }) {
                self.agent = Agent::Closing { deadline: stop.deadline, step: stop.step };
            }
        }
    }

    /// Goes on with the queue, or lets the agent rest.
    pub(super) fn proceed(&mut self, at: Timestamp, out: &mut Output) {
        if self.busy() {
            return;
        }
        let may_go_on = !self.shutting_down && !self.state.archived && !self.state.ended;
        if !may_go_on {
            self.forget_interrupted();
        } else if self.continue_interrupted(at, out) {
            return;
        }
        let next = self.state.next_queued().filter(|_| may_go_on).cloned();
        if let Some(message) = next {
            let mut queue = self.state.queue_items();
            queue.retain(|item| item.message_id != message.message_id);
            self.change_queue(at, out, queue, None);
            let origin = message.origin;
            return self.begin_turn(at, out, vec![message], origin, None);
        }
        if matches!(self.agent, Agent::Ready { .. }) {
            if !may_go_on {
                return self.close_agent(at, out);
            }
            let rests = !self.state.open.has_background();
            let deadline = at.plus_millis(self.setup.limits.idle_ms);
            self.agent = Agent::Ready { idle_deadline: rests.then_some(deadline) };
        }
    }

    pub(super) fn receipt(&self, message_id: &MessageId) -> Option<Receipt> {
        self.state.receipt(message_id)
    }
}
