//! The commands of clients, carried out or refused. A refusal changes nothing.

use serde_json::Value;

use super::delegating;
use super::machine::{Agent, Machine, Operation, Output, ReplyTo, Work};
use super::queue::Place;
use super::screen;
use super::state::Queued;
use crate::budget;
use crate::command::{
    AfterAnswer, Answer, ClientCommand, Command, Files, Message, Outcome as Verdict, Receipt, Refusal, Reply, Update,
    When, check_pictures,
};
use crate::component;
use crate::delegation;
use crate::event::{
    AfterStop, BackgroundKind, Event, Hold, InterruptResolved, ModeChanged, ModelChanged, Origin, Outcome,
    PermissionReply, PermissionRequest, PermissionResolved, Question, QuestionResolved, QueueState, SessionReady,
    SessionUpdated, Steer, SteerState,
};
use crate::host_tools::{HOST_TOOLS, STATE_WAKES};
use crate::id::{AskId, MessageId, TurnId};
use crate::nesting;
use crate::runtime::{Answered, Order, Prompt};
use crate::summary::{AskKind, AskRequest};
use crate::time::Timestamp;

impl Machine {
    pub(super) fn execute(&mut self, command: ClientCommand, to: ReplyTo, at: Timestamp, out: &mut Output) {
        let ClientCommand { by, command } = command;
        if !nesting::command_fits(&command) {
            return out.reply(to, Err(Refusal::TooDeep));
        }
        let verdict = match command {
            Command::Send { message, when } => {
                let is_new = message.id.as_ref().is_none_or(|id| self.receipt(id).is_none());
                self.send(message, when, at, out).map(|receipt| Some(Reply::Accepted { receipt, is_new }))
            }
            Command::Stop { turn_id, then } => Ok(self.stop(turn_id.as_ref(), then, &by, to, at, out)),
            Command::ForceStop { turn_id } => {
                let reply = self.stop(Some(&turn_id), AfterStop::Continue, &by, to, at, out);
                self.hurry_stop(at);
                Ok(reply)
            }
            Command::Answer { ask_id, answer } => self.answer(&ask_id, answer, None, &by, at, out).map(Some),
            Command::AnswerAlong { ask_id, answer, with } => {
                self.answer(&ask_id, answer, Some(with), &by, at, out).map(Some)
            }
            Command::Resume { provider_session_id } => self.resume(provider_session_id, to, at, out),
            Command::Rollback { turns, files } => self.rollback(turns, files, by, to, at, out).map(|()| None),
            Command::Compact => self.compact(at, out).map(Some),
            Command::StopBackground { id } => self.stop_background(id, out).map(Some),
            Command::Update(update) => self.update(update, &by, at, out).map(Some),
            Command::Archive => Ok(Some(self.archive(&by, at, out))),
            Command::Unarchive => Ok(Some(self.unarchive(by, at, out))),
            Command::Unqueue { message_id } => self.unqueue(&message_id, at, out).map(Some),
            Command::Reorder { order } => self.reorder(&order, at, out).map(Some),
            Command::EditQueued { message_id, edit } => self.edit_queued(&message_id, edit, at, out).map(Some),
            Command::ReadQueued { message_id } => self.read_queued(&message_id).map(Some),
            Command::Continue => self.go_on(at, out).map(Some),
            Command::PatchState { patch } => self.patch_state(patch, by, at, out).map(Some),
            Command::CallBack(callback) => self.call_back(callback, by, at, out).map(Some),
            Command::Emit(emit) => self.emit_from_outside(emit, &by, at, out).map(Some),
            Command::AddChild(new) => self.add_child(*new, &by, at, out).map(Some),
            Command::Child(news) => self.child_news(*news, at, out).map(Some),
            Command::ToolResult { tool_use_id, answer } => {
                self.tool_result(&tool_use_id, answer, &by, at, out).map(Some)
            }
        };
        // `None`: the reply comes when the agent has done its part.
        if let Some(verdict) = verdict.transpose() {
            out.reply(to, verdict);
        }
    }

    fn send(&mut self, message: Message, when: When, at: Timestamp, out: &mut Output) -> Result<Receipt, Refusal> {
        let known = message.id.as_ref().and_then(|id| self.receipt(id));
        if let Some(receipt) = known {
            self.sent_again(&receipt.message_id, at, out);
            return Ok(receipt);
        }
        self.require_open()?;
        if message.id.as_ref().is_some_and(|id| screen::range_of(id).is_some()) {
            return Err(Refusal::Invalid("message ids like `ui-1-2` are given by the session".to_owned()));
        }
        if message.id.as_ref().is_some_and(delegating::is_reserved) {
            return Err(Refusal::Invalid(
                "message ids that begin with `delegation-` are given by the session".to_owned(),
            ));
        }
        check_pictures(&message.content)?;
        let message_id = message.id.unwrap_or_else(|| MessageId::fresh(&mut self.setup.ids, at));
        let Message { content, origin, source, .. } = message;
        let message =
            Queued { message_id: message_id.clone(), content, origin, source, state: QueueState::Waiting, held: None };
        match when {
            // What is held does not hold up what comes after it.
            _ if !self.busy() && self.state.next_queued().is_none() => {
                self.begin_turn(at, out, vec![message], origin, None);
            }
            When::Reject => return Err(Refusal::Busy),
            When::Steer if self.state.turn.is_some() && self.stop.is_none() => self.steer(message, at, out)?,
            When::Queue | When::Steer => {
                if self.state.queue.len() >= self.setup.limits.queue {
                    return Err(Refusal::QueueFull(self.setup.limits.queue));
                }
                self.enqueue(at, out, message, Place::Last);
                self.proceed(at, out);
            }
        }
        self.receipt(&message_id).ok_or(Refusal::Busy)
    }

    pub(super) fn steer(&mut self, message: Queued, at: Timestamp, out: &mut Output) -> Result<(), Refusal> {
        if !self.setup.capabilities.steer {
            return Err(Refusal::Unsupported {
                what: "take a message into a running turn; send it with \"when\": \"queue\"",
            });
        }
        if let Some(before) = self.untold_before(std::slice::from_ref(&message)) {
            self.tell_at = None;
            self.steer(before, at, out)?;
        }
        let steer = Steer {
            message_id: message.message_id.clone(),
            state: SteerState::Accepted,
            content: Some(message.content.clone()),
            origin: Some(message.origin),
            reason: None,
        };
        self.emit(at, out, steer);
        // Before the turn's own message has gone out, `deliver` will send it.
        if let Some(turn_id) = self.state.turn.clone().filter(|_| self.undelivered.is_none()) {
            let Queued { message_id, content, origin, .. } = message;
            let message = Prompt { message_id, content, origin };
            out.order(Order::Steer { turn_id, message });
        }
        Ok(())
    }

    fn stop(
        &mut self,
        turn_id: Option<&TurnId>,
        then: AfterStop,
        by: &str,
        to: ReplyTo,
        at: Timestamp,
        out: &mut Output,
    ) -> Option<Reply> {
        let current = self.state.turn.as_ref();
        let background = self.state.open.background_count();
        if turn_id.is_some() && turn_id != current {
            return Some(Reply::Stopped { stopped: false, background });
        }
        let hold = hold_after_stop(then);
        self.stop_children(at, out);
        let current = self.state.turn.as_ref();
        if current.is_none() {
            if let Some(why) = hold {
                self.hold(at, out, why);
            }
            return Some(Reply::Stopped { stopped: false, background });
        }
        self.forget_interrupted();
        self.begin_stop(at, out, Outcome::Stopped, format!("stopped by {by}"), hold, Some(to));
        None
    }

    /// Its end is a fact that the agent brings.
    fn stop_background(&mut self, id: String, out: &mut Output) -> Verdict {
        let Some(kind) = self.state.open.kind_in_background(&id) else {
            return Err(Refusal::BackgroundNotFound(id));
        };
        if kind == BackgroundKind::Schedule {
            // Nothing runs, and no agent takes back its own plans on such an order.
            return Err(Refusal::Unsupported { what: "take back a time that it has set itself; ask it to" });
        }
        if !self.setup.capabilities.stop_background {
            return Err(Refusal::Unsupported { what: "end one thing that runs in the background" });
        }
        out.order(Order::StopBackground { id });
        Ok(Reply::Done)
    }

    pub(super) fn answer(
        &mut self,
        ask_id: &AskId,
        answer: Answer,
        along_with: Option<AskId>,
        by: &str,
        at: Timestamp,
        out: &mut Output,
    ) -> Verdict {
        let ask = self.state.open.asks.get(ask_id).map(|ask| &ask.pending.request);
        if let (Answer::Interrupt { value }, Some(AskRequest::Interrupt(request))) = (&answer, ask) {
            self.check_value(request, value)?;
        }
        self.settle(ask_id, answer, along_with, by, at, out)
    }

    /// Takes an answer whose value is right.
    pub(super) fn settle(
        &mut self,
        ask_id: &AskId,
        answer: Answer,
        along_with: Option<AskId>,
        by: &str,
        at: Timestamp,
        out: &mut Output,
    ) -> Verdict {
        let Some(ask) = self.state.open.asks.get(ask_id) else {
            let settled = self.state.settled.get(ask_id).cloned();
            return Err(settled.map_or_else(
                || Refusal::AskNotFound(ask_id.clone()),
                |settled| Refusal::AlreadyResolved { by: settled.by, how: settled.how, seq: settled.seq },
            ));
        };
        if ask.pending.kind != answer.kind() {
            return Err(Refusal::Invalid(format!("this ask takes {}", route_of(ask.pending.kind))));
        }
        if matches!(answer, Answer::ToolFailed { .. }) && ask.pending.client_call().is_none() {
            return Err(Refusal::Invalid("this ask is not about a tool, so it cannot have failed".to_owned()));
        }
        if let Answer::Question { answers: Some(answers) } = &answer {
            check_answers(ask.pending.questions(), answers).map_err(Refusal::Invalid)?;
        }
        let mut answer = answer;
        if let (Answer::Permission { reply, rule, updated_input, .. }, AskRequest::Permission(request)) =
            (&mut answer, &ask.pending.request)
        {
            let can_edit =
                self.setup.capabilities.edit_input && request.fixed_input != Some(true) && !self.is_consent(ask_id);
            if updated_input.is_some() && !can_edit {
                // It would run what was asked about, and somebody would believe that it ran the other.
                return Err(Refusal::Unsupported { what: "run a tool with an edited input" });
            }
            if let Some(edited) = updated_input {
                check_edit(&request.tool_input, edited).map_err(Refusal::Invalid)?;
            }
            *rule = chosen_rule(request, *reply, rule.take()).map_err(Refusal::Invalid)?;
        }
        let request = match &ask.pending.request {
            AskRequest::Permission(request) => Some(request.clone()),
            AskRequest::Question(_) | AskRequest::Interrupt(_) => None,
        };
        let (tool_name, ask_id) = (ask.tool_name.clone(), ask_id.clone());
        let is_tool = ask.pending.client_call().is_some();
        let mut and_then = AfterAnswer::GoOn;
        let event: Event = match answer.clone() {
            Answer::Permission { reply, updated_input, message, rule, and_then: then } => {
                and_then = then;
                let allowed = reply != PermissionReply::Reject;
                PermissionResolved {
                    ask_id: ask_id.clone(),
                    tool_name,
                    allowed,
                    reply,
                    by: by.to_owned(),
                    reason: message,
                    rule,
                    updated_input,
                    unanswered: None,
                    along_with,
                }
                .into()
            }
            Answer::Question { answers } => {
                let rejected = answers.is_none().then_some(true);
                let (ask_id, by) = (ask_id.clone(), by.to_owned());
                QuestionResolved { ask_id, answers, rejected, by, ..QuestionResolved::default() }.into()
            }
            Answer::Interrupt { value } => interrupt_resolved(&ask_id, value, None, by),
            Answer::ToolFailed { output } => interrupt_resolved(&ask_id, output, Some(true), by),
        };
        let owner = ask.owner.clone();
        let turn_id = self.turn_of(owner.as_ref());
        let pause = self.state.ledger.pause().filter(|pause| pause.ask_id == ask_id).cloned();
        let seq = self.emit_as(at, out, owner, turn_id, event);
        if let Some(pause) = pause {
            let allowed = !matches!(answer, Answer::Permission { reply: PermissionReply::Reject, .. });
            self.pause_answered(&pause, allowed, and_then, by, at, out);
            return Ok(Reply::Resolved { seq });
        }
        if self.is_consent(&ask_id) {
            let allowed = !matches!(answer, Answer::Permission { reply: PermissionReply::Reject, .. });
            self.consent_answered(allowed, by, at, out);
            return Ok(Reply::Resolved { seq });
        }
        if let Some(request) = request {
            Self::store_chosen_rule(&request, &mut answer, by, at, out);
            // Should the agent ask about the same call again, it is another question.
            request.tool_use_id.iter().for_each(|call| self.judgements.forget(call));
        }
        self.hold_if_reached(at, out);
        if let Some(key) = self.ask_keys.remove(&ask_id) {
            if self.host_answered(&ask_id, &answer, by, out) {
                self.update_status_after_ask(at, out);
                return Ok(Reply::Resolved { seq });
            }
            let about = Answered { ask_id, by: by.to_owned(), is_tool };
            out.order(Order::Answer { key, answer, about: Some(Box::new(about)) });
        }
        self.update_status_after_ask(at, out);
        if let (AfterAnswer::Stop(then), true) = (and_then, self.state.turn.is_some()) {
            let reason = format!("rejected and stopped by {by}");
            self.begin_stop(at, out, Outcome::Stopped, reason, hold_after_stop(then), None);
        }
        Ok(Reply::Resolved { seq })
    }

    fn resume(
        &mut self,
        provider_session_id: Option<String>,
        to: ReplyTo,
        at: Timestamp,
        out: &mut Output,
    ) -> Result<Option<Reply>, Refusal> {
        if self.state.archived {
            return Err(Refusal::Archived);
        }
        if self.busy() {
            return Err(Refusal::Busy);
        }
        if !self.setup.capabilities.resume {
            return Err(Refusal::Unsupported { what: "resume a conversation" });
        }
        let other = provider_session_id.filter(|wanted| self.state.provider_session_id.as_ref() != Some(wanted));
        if other.is_none() && self.state.ended && self.needs_consent() {
            // No agent before somebody has agreed; but it takes messages again, and the next one asks.
            self.reopen(at, out);
            return Ok(Some(Reply::Done));
        }
        self.require_consent()?;
        match self.agent {
            // It never left, unless another conversation is wanted.
            Agent::Ready { .. } if other.is_none() && !self.state.ended => return Ok(Some(Reply::Done)),
            Agent::Starting { .. } => return Err(Refusal::Busy),
            Agent::Away { .. } => return Err(self.is_away()),
            Agent::Ready { .. } | Agent::Closing { .. } | Agent::Absent => {}
        }
        if self.state.ended {
            self.reopen(at, out);
        }
        self.pending_operation = Some((to, Operation::Resume(other)));
        match self.agent {
            Agent::Absent => self.start_agent(at, out),
            // The next one starts when this one is gone.
            Agent::Ready { .. } => self.close_agent(at, out),
            Agent::Closing { .. } | Agent::Starting { .. } | Agent::Away { .. } => {}
        }
        Ok(None)
    }

    /// A session that had ended takes messages again.
    fn reopen(&mut self, at: Timestamp, out: &mut Output) {
        let (session_id, runtime) = (Some(self.setup.session_id.clone()), self.setup.runtime.clone());
        let reason = Some("a client asked to resume".to_owned());
        self.emit(at, out, SessionReady { session_id, runtime, reason, ..SessionReady::default() });
    }

    fn rollback(
        &mut self,
        turns: usize,
        files: Files,
        by: String,
        to: ReplyTo,
        at: Timestamp,
        out: &mut Output,
    ) -> Result<(), Refusal> {
        self.require_open()?;
        if !self.setup.capabilities.rollback {
            return Err(Refusal::Unsupported { what: "roll back" });
        }
        self.require_consent()?;
        if files == Files::Restore && !self.setup.capabilities.restore_files {
            return Err(Refusal::Unsupported { what: "put files back" });
        }
        if self.busy() {
            return Err(Refusal::Busy);
        }
        let order = self.state.taking_back(turns, files).filter(|order| !order.turn_ids.is_empty());
        let Some(order) = order else {
            return Err(Refusal::Invalid(format!(
                "\"turns\" must be from 1 to the number of turns there are, not {turns}"
            )));
        };
        let mut until = None;
        match self.agent {
            Agent::Ready { .. } => {
                self.agent = Agent::Ready { idle_deadline: None };
                out.order(Order::Rollback(order.clone()));
                until = Some(at.plus_millis(self.setup.limits.start_ms));
            }
            Agent::Absent => self.start_agent(at, out),
            Agent::Away { .. } => return Err(self.is_away()),
            Agent::Starting { .. } | Agent::Closing { .. } => {}
        }
        self.pending_operation = Some((to, Operation::Rollback { order, by, until }));
        Ok(())
    }

    fn compact(&mut self, at: Timestamp, out: &mut Output) -> Verdict {
        self.require_open()?;
        if !self.setup.capabilities.compact {
            return Err(Refusal::Unsupported { what: "compact its history" });
        }
        if self.busy() {
            return Err(Refusal::Busy);
        }
        self.begin_turn(at, out, Vec::new(), Origin::Api, Some(Work::Compaction));
        Ok(Reply::Done)
    }

    fn update(&mut self, update: Update, by: &str, at: Timestamp, out: &mut Output) -> Verdict {
        let Update { title, model, mode, mut settings } = update;
        if model.is_some() && !self.setup.capabilities.set_model {
            return Err(Refusal::Unsupported { what: "change its model" });
        }
        if mode.is_some() && !self.setup.capabilities.set_mode {
            return Err(Refusal::Unsupported { what: "change its mode" });
        }
        self.check_tools(&settings)?;
        // What is said again, and an empty list of what was never given, change nothing.
        settings.retain(|name, value| match self.state.settings.get(name) {
            Some(known) => known != value,
            None => value.as_array().is_none_or(|list| !list.is_empty()) || self.setup.params.get(name).is_some(),
        });
        let (by, by_whom) = (by.to_owned(), by.to_owned());
        let told = matches!(self.agent, Agent::Ready { .. });
        if let Some(title) = title.filter(|title| *title != self.state.title) {
            self.emit(at, out, SessionUpdated { title: Some(title), by: by.clone(), ..SessionUpdated::default() });
        }
        if !settings.is_empty() {
            let by = by.clone();
            self.emit(at, out, SessionUpdated { settings: Some(settings.clone()), by, ..SessionUpdated::default() });
            let changes_tools = [component::SESSION_COMPONENTS, HOST_TOOLS, delegation::ALLOWED]
                .iter()
                .any(|name| settings.contains_key(*name));
            if told && changes_tools && self.hears_by_messages() {
                out.order(Order::HostTools(self.host_tools()));
            }
            let names_budget = [budget::OWN, budget::GROUP].iter().any(|name| settings.contains_key(*name));
            if names_budget {
                self.go_on_if_raised(&by_whom, "the limit was changed", at, out);
                self.check_budgets(at, out);
            }
            // Components and their rules are the session's, and so are its tools and budgets.
            let of_session = [
                component::SESSION_COMPONENTS,
                component::SESSION_RULES,
                HOST_TOOLS,
                STATE_WAKES,
                delegation::ALLOWED,
                budget::OWN,
                budget::GROUP,
            ];
            settings.retain(|name, _| !of_session.contains(&name.as_str()));
            if told && !settings.is_empty() {
                out.order(Order::Configure { settings });
            }
        }
        if let Some(model) = model.filter(|model| self.state.model.as_ref() != Some(model)) {
            self.emit(at, out, ModelChanged { model: model.clone(), by: Some(by.clone()) });
            if told {
                out.order(Order::SetModel { model });
            }
        }
        if let Some(mode) = mode.filter(|mode| self.state.mode.as_ref() != Some(mode)) {
            self.emit(at, out, ModeChanged { mode: mode.clone(), by: Some(by) });
            if told {
                out.order(Order::SetMode { mode });
            }
        }
        Ok(Reply::Done)
    }

    fn archive(&mut self, by: &str, at: Timestamp, out: &mut Output) -> Reply {
        if !self.state.archived {
            self.queue_untold(at, out);
            self.emit(at, out, SessionUpdated { archived: Some(true), by: by.to_owned(), ..SessionUpdated::default() });
            self.hold(at, out, Hold::Archived);
            self.forget_interrupted();
            self.stop_children(at, out);
            if self.state.turn.is_some() {
                let reason = format!("archived by {by}");
                self.begin_stop(at, out, Outcome::Stopped, reason, Some(Hold::Archived), None);
            } else {
                self.proceed(at, out);
            }
        }
        Reply::Done
    }

    fn unarchive(&mut self, by: String, at: Timestamp, out: &mut Output) -> Reply {
        if self.state.archived {
            self.emit(at, out, SessionUpdated { archived: Some(false), by, ..SessionUpdated::default() });
            self.proceed(at, out);
        }
        Reply::Done
    }

    pub(super) fn require_open(&self) -> Result<(), Refusal> {
        match () {
            () if self.shutting_down => Err(Refusal::ShuttingDown),
            () if self.state.archived => Err(Refusal::Archived),
            () if self.state.ended => Err(Refusal::Ended),
            () => Ok(()),
        }
    }
}

fn hold_after_stop(then: AfterStop) -> Option<Hold> {
    match then {
        AfterStop::Continue => None,
        AfterStop::Hold => Some(Hold::Stopped),
    }
}

fn interrupt_resolved(ask_id: &AskId, value: Value, is_error: Option<bool>, by: &str) -> Event {
    let (interrupt_id, value, by) = (ask_id.clone(), Some(value), by.to_owned());
    InterruptResolved { interrupt_id, value, is_error, by, ..InterruptResolved::default() }.into()
}

/// The rule that an answer stores. Only what was offered can be chosen.
fn chosen_rule(
    request: &PermissionRequest,
    reply: PermissionReply,
    wanted: Option<String>,
) -> Result<Option<String>, String> {
    let mut offered =
        request.options.iter().filter(|option| option.reply == PermissionReply::Always).filter_map(|o| o.rule.clone());
    match (reply, wanted) {
        (PermissionReply::Always, None) => match offered.next() {
            Some(rule) => Ok(Some(rule)),
            None if request.options.iter().any(|option| option.reply == reply) => {
                Ok(Some(format!("allow {}", request.tool_name)))
            }
            None => Err("this ask can be allowed once, but not always".to_owned()),
        },
        (PermissionReply::Always, Some(wanted)) if offered.any(|rule| rule == wanted) => Ok(Some(wanted)),
        (PermissionReply::Always, Some(wanted)) => Err(format!("this ask does not offer the rule {wanted:?}")),
        (PermissionReply::Once | PermissionReply::Reject, None) => Ok(None),
        (PermissionReply::Once | PermissionReply::Reject, Some(_)) => {
            Err("`rule` goes with the reply `always`".to_owned())
        }
    }
}

/// An edited input is of the same shape: an object whose known fields are of the kinds that they were.
fn check_edit(asked: &Value, edited: &Value) -> Result<(), String> {
    let (Some(asked), Some(edited)) = (asked.as_object(), edited.as_object()) else {
        return if asked.is_object() { Err("`updated_input` must be an object".to_owned()) } else { Ok(()) };
    };
    let differs = |(name, value): &(&String, &Value)| {
        asked
            .get(*name)
            .is_some_and(|asked| !asked.is_null() && std::mem::discriminant(asked) != std::mem::discriminant(*value))
    };
    match edited.iter().find(differs) {
        Some((name, _)) => Err(format!("`updated_input`: {name:?} is of another kind than the tool takes")),
        None => Ok(()),
    }
}

fn route_of(kind: AskKind) -> &'static str {
    match kind {
        AskKind::Permission => "a permission reply (.../permissions/{ask_id})",
        AskKind::Question => "answers (.../questions/{ask_id})",
        AskKind::Interrupt => "a value (.../interrupt/{interrupt_id})",
    }
}

fn check_answers(questions: &[Question], answers: &[Vec<String>]) -> Result<(), String> {
    if questions.len() != answers.len() {
        return Err(format!(
            "\"answers\" needs one list per question: {} of them, not {}",
            questions.len(),
            answers.len()
        ));
    }
    for (number, (question, answers)) in (1..).zip(questions.iter().zip(answers)) {
        if answers.len() > 1 && !question.multiple {
            return Err(format!("question {number} takes one answer, not {}", answers.len()));
        }
        let known = |answer: &&String| question.options.iter().any(|option| option.label == **answer);
        if let Some(answer) = answers.iter().find(|answer| !question.free_text && !known(answer)) {
            return Err(format!("question {number} has no option {answer:?}"));
        }
    }
    Ok(())
}
