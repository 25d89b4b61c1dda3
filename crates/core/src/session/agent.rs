//! How the session handles the reports of its agent. An agent is not trusted to keep the laws: a report that would break one is logged as unparsed,
//! and the session goes on.

use super::machine::{Agent, Effect, Machine, Operation, Output, ReplyTo, Step};
use super::open::{Scope, unanswered};
use super::queue::Place;
use super::state::Queued;
use crate::budget;
use crate::command::{Refusal, Reply};
use crate::event::{
    Activity, AgentUnparsed, Event, EventAuthor, Failure, Hold, Interrupt, Origin, Outcome, PermissionRequest,
    Placement, QuestionRequest, Rollback, SessionEnded, SessionReady, Steer, SteerState, SubagentEnded, ToolStart,
    Unanswered, UserMessage,
};
use crate::id::{AskId, MessageId, SubagentId, TurnId};
use crate::runtime::{AskRequest, Beginning, Order, Ready, Report, StartFailure, Verdict};
use crate::time::Timestamp;

/// How long a label in a status may be.
const LABEL_CHARS: usize = 80;

impl Machine {
    pub(super) fn report(&mut self, report: Report, at: Timestamp, out: &mut Output) {
        match report {
            Report::Ready(ready) => self.ready(*ready, at, out),
            Report::StartFailed(failure) => {
                if matches!(self.agent, Agent::Starting { .. }) {
                    self.start_failed(failure, at, out);
                    out.effects.push(Effect::Kill);
                    self.agent = Agent::Closing { deadline: at, step: Step::Killed };
                }
            }
            Report::Renamed { provider_session_id, reason } => self.renamed(provider_session_id, reason, at, out),
            Report::Anchor(anchor) => {
                if self.agent_in_turn() {
                    self.anchor = Some(anchor);
                }
            }
            Report::TurnStarted { origin, name } => self.spontaneous_turn(origin, name.as_deref(), at, out),
            Report::OfTurn { turn, report } => {
                if self.is_open_turn(&turn) {
                    self.report(*report, at, out);
                } else {
                    self.stale += 1;
                }
            }
            Report::NotConnected => {
                let label = format!("Waiting for {} to connect", self.setup.runtime);
                self.emit_status_if_changed(at, out, Activity::Starting, Some(label));
            }
            Report::Away => self.away(at, out),
            Report::Back { .. } => self.back(at, out),
            Report::Fact { subagent_id, event } | Report::FactWithOutputFile { subagent_id, event, .. } => {
                self.fact(subagent_id, event, at, out);
            }
            Report::HostCall(call) => self.host_call(*call, at, out),
            Report::Used(usage) => {
                if self.agent_in_turn() && self.counts_usage() {
                    self.fact(None, (*usage).into(), at, out);
                }
            }
            Report::Propose { key, subagent_id, call } => {
                self.hold_if_reached(at, out);
                if self.is_paused() && self.stop.is_none() {
                    return self.hold_call(Report::Propose { key, subagent_id, call }, None, out);
                }
                // Nobody judged it, so there are no rules here: a recording is played.
                out.order(Order::Verdict { key, verdict: Verdict::UpToAgent });
            }
            Report::Ask { key, subagent_id, request } => {
                let answered = matches!(&request, AskRequest::Permission(request)
                    if self.asked_after_verdict(&key, subagent_id.as_ref(), request, at, out));
                if !answered {
                    self.ask(key, subagent_id, request, at, out);
                }
            }
            Report::AskWithdrawn { key, reason } => self.ask_withdrawn(&key, &reason, at, out),
            Report::SteerDelivered { message_id } => self.steer_delivered(&message_id, at, out),
            Report::SteerRejected { message_id, reason } => self.steer_rejected(message_id, reason, at, out),
            Report::RolledBack { files_restored, branched } => {
                if let Some((to, Operation::Rollback { order, by, .. })) = self.take_rollback() {
                    let (turn_ids, branched) = (order.turn_ids, branched.then_some(true));
                    self.emit(at, out, Rollback { turn_ids, files_restored, by: Some(by), branched });
                    out.reply(to, Ok(Reply::Done));
                    if branched.is_some() {
                        // Its memory is not the session's any more.
                        self.close_agent(at, out);
                    }
                    self.proceed(at, out);
                }
            }
            Report::RollbackRefused { reason } => {
                if let Some((to, _)) = self.take_rollback() {
                    out.reply(to, Err(Refusal::Invalid(format!("the agent did not roll back: {reason}"))));
                    self.proceed(at, out);
                }
            }
            Report::TurnEnded { outcome, reason, failure } => self.turn_ended(outcome, reason, failure, at, out),
            Report::SessionEnded { reason, message } => {
                if !self.state.ended {
                    self.queue_untold(at, out);
                    self.emit(at, out, SessionEnded { reason, terminated_by: "agent".to_owned(), message });
                    self.hold(at, out, Hold::Ended);
                    self.proceed(at, out);
                }
            }
        }
    }

    pub(super) fn take_rollback(&mut self) -> Option<(ReplyTo, Operation)> {
        self.pending_operation.take_if(|(_, operation)| matches!(operation, Operation::Rollback { .. }))
    }

    fn renamed(&mut self, provider_session_id: String, reason: String, at: Timestamp, out: &mut Output) {
        if matches!(self.agent, Agent::Ready { .. })
            && self.state.provider_session_id.as_ref() != Some(&provider_session_id)
        {
            let (session_id, runtime) = (Some(self.setup.session_id.clone()), self.setup.runtime.clone());
            let (provider_session_id, reason) = (Some(provider_session_id), Some(reason));
            let ready = SessionReady { session_id, runtime, provider_session_id, reason, ..SessionReady::default() };
            self.emit(at, out, ready);
        }
    }

    fn ready(&mut self, ready: Ready, at: Timestamp, out: &mut Output) {
        let Agent::Starting { beginning, .. } = &self.agent else { return };
        let resumed = (*beginning != Beginning::Fresh).then_some(ready.resumed);
        self.agent = Agent::Ready { idle_deadline: None };
        self.anchor = None;
        let Ready { provider_session_id, reason, model, mode, version, commands, models, .. } = ready;
        let ready = SessionReady {
            session_id: Some(self.setup.session_id.clone()),
            runtime: self.setup.runtime.clone(),
            provider_session_id,
            resumed,
            reason,
            // What the agent chose by itself is worth knowing; what the session was told to use stands.
            model: model.filter(|_| self.state.model.is_none()),
            mode: mode.filter(|_| self.state.mode.is_none()),
            version,
            commands,
            models,
            epoch: self.is_told_by_log().then_some(self.epoch),
            ..SessionReady::default()
        };
        self.emit(at, out, ready);
        if self.shutting_down {
            return self.close_agent(at, out);
        }
        self.send_pending_updates(out);
        match self.pending_operation.take() {
            Some((to, Operation::Resume(_))) => out.reply(to, Ok(Reply::Done)),
            Some((to, Operation::Rollback { order, by, .. })) => {
                out.order(Order::Rollback(order.clone()));
                let until = Some(at.plus_millis(self.setup.limits.start_ms));
                self.pending_operation = Some((to, Operation::Rollback { order, by, until }));
            }
            None => {}
        }
        self.deliver(at, out);
        self.proceed(at, out);
    }

    fn spontaneous_turn(&mut self, origin: Origin, name: Option<&str>, at: Timestamp, out: &mut Output) {
        if self.state.turn.is_some() || !matches!(self.agent, Agent::Ready { .. }) {
            return;
        }
        let turn_id = match name {
            Some(name) => self.turn_called(name),
            None => TurnId::fresh(&mut self.setup.ids, at),
        };
        if self.state.has_had(&turn_id) {
            return self.refuse_words("turn_started", "a turn of this name has ended", turn_id.as_str(), at, out);
        }
        self.agent = Agent::Ready { idle_deadline: None };
        self.begin_turn_called(turn_id, at, out, Vec::new(), origin, None);
        self.emit_status_if_changed(at, out, Activity::Thinking, None);
    }

    fn fact(&mut self, mut subagent_id: Option<SubagentId>, mut event: Event, at: Timestamp, out: &mut Output) {
        if let Event::SubagentStarted(started) = &mut event {
            // The payload names the new one; who started it is its parent.
            started.parent_subagent_id = started.parent_subagent_id.take().or(subagent_id.take());
        }
        if matches!(&event, Event::SessionUpdated(updated) if updated.title.as_ref() == Some(&self.state.title)) {
            return; // The echo of a name that it was told.
        }
        if let Event::Usage(usage) = event {
            event = self.completed_usage(usage, at).into();
        }
        let event = match self.prepared(event) {
            Ok(event) => event,
            Err(refused) => {
                let (event, error) = *refused;
                return self.refuse_fact(subagent_id, &event, &error, at, out);
            }
        };
        let law_violation = match &event {
            event if event.author() != EventAuthor::Agent => Some("this is not for an agent to say"),
            // Nobody sets his own budget.
            Event::SessionUpdated(updated)
                if [budget::OWN, budget::GROUP]
                    .iter()
                    .any(|name| updated.settings.as_ref().is_some_and(|s| s.contains_key(*name))) =>
            {
                Some("this is not for an agent to say")
            }
            event => self.state.open.law_violation(event, subagent_id.as_ref()),
        };
        let actor = match &event {
            Event::SubagentEnded(ended) => Some(&ended.subagent_id),
            Event::SubagentUpdated(updated) => Some(&updated.subagent_id),
            // One that works in the background may have helpers of its own.
            Event::SubagentStarted(started) => started.parent_subagent_id.as_ref(),
            _ => subagent_id.as_ref(),
        };
        let of_background_call = matches!(&event, Event::ToolProgress(progress) if self.state.open.is_background_call(&progress.tool_use_id));
        let in_background = of_background_call || self.state.open.in_background(actor);
        let stray = !self.agent_in_turn() && !in_background && !allowed_between_turns(&event);
        if let Some(error) = law_violation.or(stray.then_some("said outside a turn")) {
            return self.refuse_fact(subagent_id, &event, error, at, out);
        }
        if let Event::SubagentEnded(ended) = event {
            return self.subagent_ended(ended, at, out);
        }
        let activity = if subagent_id.is_none() { self.activity_of(&event) } else { None };
        let turn_id = match &event {
            Event::SubagentStarted(started) if started.background == Some(true) => self.state.turn.clone(),
            _ if of_background_call => None,
            _ => self.turn_of(subagent_id.as_ref()),
        };
        if let Event::Status(status) = &event {
            // The agent's own word; it counts as shown.
            self.last_status = Some((status.state, status.label.clone()));
            if self.stop.is_some() {
                return;
            }
        }
        if let Event::ToolResult(result) = &event {
            self.judgements.forget(&result.tool_use_id);
            self.settle_call(&result.tool_use_id, at, out);
        }
        let begins_call = matches!(event, Event::ToolStart(_));
        let used = if let Event::Usage(usage) = &event { Some(usage.clone()) } else { None };
        let is_counted = matches!(event, Event::Usage(_) | Event::ToolResult(_) | Event::CompactionEnd(_));
        self.emit_as(at, out, subagent_id, turn_id, event);
        if let Some((activity, label)) = activity {
            self.emit_status_if_changed(at, out, activity, label);
        }
        if let Some(used) = used {
            self.say_if_unmeasured(&used, at, out);
        }
        if is_counted {
            self.check_budgets(at, out);
        }
        // After the call was written down: it has begun, and it ends with the turn.
        if begins_call {
            self.interrupt_if_reached(at, out);
        }
    }

    /// Whether the agent works on the turn that is open; before it has heard of it, what it says is about something else.
    pub(super) fn agent_in_turn(&self) -> bool {
        self.state.turn.is_some() && self.undelivered.is_none()
    }

    /// Keeps what an agent said although it breaks a law.
    fn refuse_fact(
        &mut self,
        subagent_id: Option<SubagentId>,
        event: &Event,
        error: &str,
        at: Timestamp,
        out: &mut Output,
    ) {
        let unparsed = self.unparsed(event.kind(), error, format!("{event:?}"));
        let turn_id = self.state.turn.clone();
        self.emit_as(at, out, subagent_id, turn_id, unparsed.into());
    }

    /// The same for what is no fact.
    fn refuse_words(&mut self, kind: &str, error: &str, raw: &str, at: Timestamp, out: &mut Output) {
        let unparsed = self.unparsed(kind, error, raw.to_owned());
        self.emit(at, out, unparsed);
    }

    fn unparsed(&self, kind: &str, error: &str, raw: String) -> AgentUnparsed {
        let (location, size) = (format!("{}/{kind}", self.setup.runtime), Some(raw.len() as u64));
        AgentUnparsed { location, error: error.to_owned(), raw, size, sha256: None }
    }

    fn subagent_ended(&mut self, ended: SubagentEnded, at: Timestamp, out: &mut Output) {
        let outcome = match ended.status {
            crate::event::WorkStatus::Completed => Outcome::Completed,
            crate::event::WorkStatus::Failed => Outcome::Failed,
            crate::event::WorkStatus::Interrupted => Outcome::Interrupted,
        };
        let turn_id = self.turn_of(Some(&ended.subagent_id));
        self.close(at, out, Scope::Inside(&ended.subagent_id), outcome, "the sub-agent ended");
        let (tool_calls, file_changes) = self.state.open.counts(&ended.subagent_id);
        let ended = SubagentEnded {
            tool_calls: ended.tool_calls.max(tool_calls),
            file_changes: ended.file_changes.max(file_changes),
            ..ended
        };
        self.emit_as(at, out, None, turn_id, ended.into());
        self.proceed(at, out);
    }

    pub(super) fn ask(
        &mut self,
        key: String,
        subagent_id: Option<SubagentId>,
        request: AskRequest,
        at: Timestamp,
        out: &mut Output,
    ) -> Option<AskId> {
        let in_background = self.state.open.in_background(subagent_id.as_ref());
        if self.is_told_by_log() && self.ask_by_key(&key).is_some() {
            return None; // It is asked already.
        }
        let ask_id = AskId::fresh(&mut self.setup.ids, at);
        let request = self.with_key(request, &key);
        let (event, label): (Event, &str) = match request {
            AskRequest::Permission(request) => {
                (PermissionRequest { ask_id: ask_id.clone(), ..request }.into(), "Waiting for your permission")
            }
            AskRequest::Question(request) => {
                (QuestionRequest { ask_id: ask_id.clone(), ..request }.into(), "Waiting for your answer")
            }
            AskRequest::Interrupt(request) => {
                let request = self.prepared_interrupt(request);
                let waits =
                    if request.tool_use_id.is_some() { "Waiting for a client" } else { "Waiting for your input" };
                (Interrupt { interrupt_id: ask_id.clone(), ..request }.into(), waits)
            }
        };
        if !self.agent_in_turn() && !in_background {
            self.refuse_fact(subagent_id, &event, "asked outside a turn", at, out);
            return None;
        }
        self.note_expiry(&event);
        let turn_id = self.turn_of(subagent_id.as_ref());
        self.emit_as(at, out, subagent_id, turn_id, event);
        self.ask_keys.insert(ask_id.clone(), key);
        self.emit_status_if_changed(at, out, Activity::Waiting, Some(label.to_owned()));
        Some(ask_id)
    }

    fn ask_withdrawn(&mut self, key: &str, reason: &str, at: Timestamp, out: &mut Output) {
        let Some(ask_id) = self.ask_by_key(key) else { return };
        self.ask_keys.remove(&ask_id);
        self.host_waits.forget(&ask_id);
        if let Some(ask) = self.state.open.asks.get(&ask_id) {
            let (owner, event) = (ask.owner.clone(), unanswered(ask, Unanswered::Withdrawn, reason));
            let turn_id = self.turn_of(owner.as_ref());
            self.emit_as(at, out, owner, turn_id, event);
            self.update_status_after_ask(at, out);
        }
    }

    /// What the session does once a person has answered.
    pub(super) fn update_status_after_ask(&mut self, at: Timestamp, out: &mut Output) {
        if self.state.open.asks.is_empty() {
            let activity = if self.state.open.tools.is_empty() { Activity::Thinking } else { Activity::Tool };
            self.emit_status_if_changed(at, out, activity, None);
        }
    }

    fn steer_delivered(&mut self, message_id: &MessageId, at: Timestamp, out: &mut Output) {
        let Some(steer) = self.state.steers.iter().find(|steer| steer.message_id == *message_id).cloned() else {
            return;
        };
        self.emit(
            at,
            out,
            UserMessage {
                message_id: steer.message_id.clone(),
                content: steer.content,
                origin: steer.origin,
                source: steer.source,
            },
        );
        self.emit(at, out, Steer { message_id: steer.message_id, state: SteerState::Delivered, ..Steer::default() });
    }

    fn steer_rejected(&mut self, message_id: MessageId, reason: String, at: Timestamp, out: &mut Output) {
        let Some(steer) = self.state.steers.iter().find(|steer| steer.message_id == message_id).cloned() else {
            return;
        };
        let rejected = Steer { message_id, state: SteerState::Rejected, reason: Some(reason), ..Steer::default() };
        self.emit(at, out, rejected);
        // Accepted is accepted: it gets a turn of its own.
        let held = self.stop.as_ref().and_then(|stop| stop.hold);
        self.enqueue(at, out, Queued { held, ..steer }, Place::First);
        self.refused += 1;
        self.proceed(at, out);
    }

    fn turn_ended(
        &mut self,
        outcome: Outcome,
        reason: Option<String>,
        failure: Option<Failure>,
        at: Timestamp,
        out: &mut Output,
    ) {
        if !self.agent_in_turn() {
            return; // The end of a turn that was already settled.
        }
        self.ignored_stops = 0;
        match &self.stop {
            // It was quicker than the stop.
            Some(_) if outcome == Outcome::Completed => self.finish_turn(at, out, outcome, reason, failure, None),
            Some(stop) => {
                let (outcome, reason) = (stop.outcome, stop.reason.clone());
                self.finish_turn(at, out, outcome, Some(reason), None, None);
            }
            None => self.finish_turn(at, out, outcome, reason, failure, None),
        }
        self.proceed(at, out);
    }

    pub(super) fn start_failed(&mut self, failure: StartFailure, at: Timestamp, out: &mut Output) {
        self.agent = Agent::Absent;
        let StartFailure { message, code, fix } = failure;
        let failure = Failure { message, code, retryable: true, fix };
        let operation = self.pending_operation.take();
        if let Some((to, _)) = operation {
            let Failure { message, code, fix, .. } = failure.clone();
            out.reply(to, Err(Refusal::AgentFailed { message, code, fix }));
            if self.state.turn.is_none() {
                self.emit(at, out, failure.clone());
            }
        }
        if self.state.turn.is_some() {
            self.finish_turn(at, out, Outcome::Failed, None, Some(failure), None);
        }
        self.pending_callbacks.clear();
        // What waits would only fail as well.
        self.hold(at, out, Hold::NotStarted);
        self.proceed(at, out);
    }

    pub(super) fn exited(&mut self, exit_code: Option<i32>, description: &str, at: Timestamp, out: &mut Output) {
        let before = std::mem::replace(&mut self.agent, Agent::Absent);
        self.ask_keys.clear();
        self.host_waits.clear();
        match before {
            Agent::Absent => return,
            Agent::Starting { deadline, .. } if self.opens_again(deadline, at) => {
                self.start_agent(at, out);
                self.keep_start_deadline(deadline);
                return;
            }
            Agent::Starting { .. } => {
                let failure = StartFailure {
                    message: format!("{} ended before it was ready: {description}", self.setup.runtime),
                    code: "agent_start_failed".to_owned(),
                    fix: Some("run `turnloom doctor`, then send the message again".to_owned()),
                };
                self.start_failed(failure, at, out);
            }
            Agent::Ready { .. } | Agent::Away { .. } => {
                if self.agent_in_turn() {
                    self.lost_in_turn(exit_code, description, at, out);
                }
                if let Some((to, _)) = self.pending_operation.take() {
                    let message = format!("{} ended: {description}", self.setup.runtime);
                    out.reply(to, Err(Refusal::AgentFailed { message, code: "agent_exited".to_owned(), fix: None }));
                }
            }
            // It was told to; what came in meanwhile is for the next one. But it may have begun a turn by itself before it heard so.
            Agent::Closing { .. } => {
                if self.agent_in_turn() {
                    self.lost_in_turn(exit_code, description, at, out);
                }
            }
        }
        self.close(at, out, Scope::All, Outcome::Interrupted, "the agent ended");
        let is_needed = self.undelivered.is_some() || self.pending_operation.is_some() || self.callbacks_wait();
        if is_needed && !self.is_paused() && !self.shutting_down {
            self.start_agent(at, out);
        }
        self.proceed(at, out);
    }

    fn lost_in_turn(&mut self, exit_code: Option<i32>, description: &str, at: Timestamp, out: &mut Output) {
        if let Some(stop) = &self.stop {
            let (outcome, reason) = (stop.outcome, stop.reason.clone());
            return self.finish_turn(at, out, outcome, Some(reason), None, exit_code);
        }
        let failure = Failure {
            message: format!("{} ended in the middle of the turn: {description}", self.setup.runtime),
            code: "agent_exited".to_owned(),
            retryable: true,
            fix: Some("send the message again; the conversation is resumed".to_owned()),
        };
        let reason = Some("the agent's process ended".to_owned());
        self.finish_turn(at, out, Outcome::Interrupted, reason, Some(failure), exit_code);
    }

    fn activity_of(&self, event: &Event) -> Option<(Activity, Option<String>)> {
        match event {
            Event::Delta(_) => Some((Activity::Responding, None)),
            Event::Thinking(_) => Some((Activity::Thinking, None)),
            Event::ToolStart(start) => Some((Activity::Tool, Some(tool_label(start)))),
            Event::ToolResult(result) => {
                let others = self.state.open.tools.keys().any(|id| *id != result.tool_use_id);
                (!others).then_some((Activity::Thinking, None))
            }
            Event::CompactionStart(_) => Some((Activity::Compacting, None)),
            Event::CompactionEnd(_) => Some((Activity::Thinking, None)),
            _ => None,
        }
    }
}

fn tool_label(start: &ToolStart) -> String {
    let object = [&start.command, &start.file_path, &start.pattern].into_iter().flatten().next();
    let label = match object {
        Some(object) if start.command.is_some() => format!("Running {object}"),
        Some(object) => format!("{} {object}", start.tool),
        None => format!("Running {}", start.tool),
    };
    label.lines().next().unwrap_or_default().chars().take(LABEL_CHARS).collect()
}

/// Whether a fact may stand between turns.
fn allowed_between_turns(event: &Event) -> bool {
    match Event::placement(event.kind()) {
        Placement::Anywhere => true,
        Placement::InTurn => false,
        // A helper may begin its work after the turn that wanted it.
        Placement::InTurnOrBackground => {
            matches!(event, Event::SubagentStarted(started) if started.background == Some(true))
        }
    }
}
