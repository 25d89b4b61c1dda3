//! Delegating: an agent has other sessions made that work for it, says more to them, and hears how their turns end: as the result of a call that waits,
//! or by one message. The message is named after the turn that it is about, and what was told to calls is a fold, so each end is heard once, whenever a
//! daemon ends.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use self::calls::Room;
use super::children::{Child, End};
use super::host_calls::refuse_host_call;
use super::machine::{Effect, Machine, Output};
use super::queue::Place;
use super::state::Queued;
use crate::budget;
use crate::command::{Outcome as Verdict, Refusal, Reply};
use crate::delegation::{
    self, ALLOWED, ChildNews, Heard, Inherited, MAX_FACT_BYTES, MAX_TEXT_BYTES, NewChild, News, TurnEnd, cut,
    fingerprint, message_id,
};
use crate::event::{
    BudgetMeasure, BudgetScope, DAEMON, Delegated, DelegatedAsk, DelegationStarted, DelegationState, DelegationUpdated,
    Event, Hold, Origin, Outcome, Part, QueueState, SessionUpdated, ToolResult,
};
use crate::id::{MessageId, Seq, SessionId, ToolUseId};
use crate::runtime::{HostCall, Order};
use crate::summary::{AskRequest, PendingAsk};
use crate::time::Timestamp;

mod calls;

/// A call that waits for a session: to be there, or to end its turn.
#[derive(Debug)]
pub(super) struct ChildWait {
    child: SessionId,
    /// What the agent calls its call.
    key: String,
    tool_use_id: Option<ToolUseId>,
    for_what: Waiting,
    /// Until when the call is held.
    until: Option<Timestamp>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Waiting {
    /// For it to have begun.
    Start,
    /// For the end of its turn.
    End,
}

impl Machine {
    /// The session that this one works for.
    pub fn parent(&self) -> Option<&SessionId> {
        self.state.children.parent()
    }

    /// Works for another session, from its first fact on.
    pub fn create_for(&mut self, delegated: Delegated, at: Timestamp, out: &mut Output) {
        self.create(at, out);
        self.emit(at, out, delegated);
    }

    /// Works for nobody, and nobody for it: what a file says of other sessions is not about those that are here.
    pub(super) fn settle_imported_children(&mut self, at: Timestamp, out: &mut Output) {
        if self.parent().is_some() {
            self.emit(at, out, Delegated::default());
        }
        let known: Vec<SessionId> = self.state.children.all.keys().cloned().collect();
        for child_session_id in known {
            let state = DelegationState::Removed;
            self.emit(at, out, DelegationUpdated { child_session_id, state, ..DelegationUpdated::default() });
        }
    }

    /// Sessions of which this one should know more, and how far it knows each. Somebody has to look before [`Machine::recover`].
    pub fn unsettled_children(&self) -> Vec<(SessionId, Seq, BTreeSet<MessageId>)> {
        let open = self.state.children.open();
        open.map(|(id, child)| (id.clone(), child.seq, child.expected.clone())).collect()
    }

    /// Whether the tools to delegate are offered.
    pub(super) fn may_delegate(&self) -> bool {
        let allowed = self.param(ALLOWED).and_then(Value::as_bool).unwrap_or(self.setup.delegation.allowed);
        allowed && self.state.children.depth() < self.setup.delegation.depth
    }

    fn inherited(&self, task: String, tool_use_id: Option<ToolUseId>) -> Inherited {
        let above = &self.state.children.delegated;
        let own = self.setup.session_id.clone();
        let delegated = Delegated {
            parent_session_id: Some(own.clone()),
            ancestors: above.ancestors.iter().cloned().chain([own]).collect(),
            tasks: above.tasks.iter().cloned().chain([task]).collect(),
            tool_use_id,
        };
        let names = [budget::OWN, budget::GROUP, ALLOWED];
        let given = names.iter().filter_map(|name| Some(((*name).to_owned(), self.param(name)?.clone())));
        Inherited {
            delegated,
            params: given.filter(|(_, value)| !value.is_null()).collect(),
            mode: self.state.mode.clone(),
            cwd: self.state.cwd.clone(),
        }
    }

    /// From the first delegation on, the sessions of a tree spend together what the first of them may spend.
    fn share_budget(&mut self, at: Timestamp, out: &mut Output) {
        if self.param(budget::GROUP).is_some_and(|group| !group.is_null()) {
            return;
        }
        let own: Vec<_> = self.levels(at).into_iter().filter(|level| level.scope == BudgetScope::Session).collect();
        let ledger = &self.state.ledger;
        let before = if self.state.turn.is_some() { ledger.before_turn().1 } else { ledger.of_session() };
        let (mut limits, mut free) = (Map::new(), Map::new());
        for level in own {
            let name = match level.measure {
                BudgetMeasure::Tokens => "tokens",
                BudgetMeasure::Usd => "usd",
                BudgetMeasure::Turns => "turns",
                BudgetMeasure::Minutes => "minutes",
                _ => continue,
            };
            // What earlier turns have spent is not in the group's sum.
            let left = level.limit.saturating_sub(before.of(level.measure)).max(1);
            limits.insert(name.to_owned(), json!(budget::in_units(level.measure, left)));
            free.insert(name.to_owned(), Value::Null);
        }
        let group = json!({ "id": format!("tree-{}", self.setup.session_id), "limits": limits });
        let mut settings = Map::from_iter([(budget::GROUP.to_owned(), group)]);
        if !free.is_empty() {
            let mut own = self.param(budget::OWN).and_then(Value::as_object).cloned().unwrap_or_default();
            own.insert("session".to_owned(), Value::Object(free));
            settings.insert(budget::OWN.to_owned(), Value::Object(own));
        }
        let by = DAEMON.to_owned();
        self.emit(at, out, SessionUpdated { settings: Some(settings), by, ..SessionUpdated::default() });
    }

    // ---- those that clients make ----

    /// A client makes a session that works for this one. Said again, it is answered the same.
    pub(super) fn add_child(&mut self, new: NewChild, by: &str, at: Timestamp, out: &mut Output) -> Verdict {
        let NewChild { child, runtime, title, cwd } = new;
        let own = &self.setup.session_id;
        if child == *own || self.state.children.delegated.ancestors.contains(&child) {
            return Err(Refusal::DelegationCycle(child));
        }
        if !self.state.children.all.contains_key(&child) {
            self.require_open()?;
            self.check_room(Room::Any).map_err(Refusal::DelegationLimit)?;
            self.share_budget(at, out);
            let started = DelegationStarted {
                child_session_id: child.clone(),
                runtime: runtime.clone(),
                title,
                cwd: cwd.clone(),
                by: Some(by.to_owned()),
                ..DelegationStarted::default()
            };
            self.emit(at, out, started);
        }
        let task = fingerprint(&runtime, cwd.as_deref(), child.as_str());
        Ok(Reply::Inherited(Box::new(self.inherited(task, None))))
    }

    // ---- news ----

    pub(super) fn child_news(&mut self, news: ChildNews, at: Timestamp, out: &mut Output) -> Verdict {
        if self.shutting_down {
            // The next daemon looks itself.
            return Err(Refusal::ShuttingDown);
        }
        let ChildNews { child, news, heard } = news;
        let Some(known) = self.state.children.all.get(&child) else { return Ok(Reply::Done) };
        match news {
            News::Started if matches!(known.state, DelegationState::Stopping | DelegationState::Failed) => {
                // It was stopped while it was being made.
                out.effects.push(Effect::StopChildren(vec![child]));
            }
            News::Started => {
                if known.state == DelegationState::Starting {
                    let expects = !known.expected.is_empty();
                    let state = if expects { DelegationState::Running } else { DelegationState::Idle };
                    let update = self.as_it_is(&child, state);
                    self.emit(at, out, update);
                }
                let begun = json!({ "session_id": child, "status": "running" });
                self.tell_waits(
                    &child,
                    Waiting::Start,
                    |key| Order::HostResult { key, output: begun.to_string(), is_error: false },
                    out,
                );
            }
            News::NotStarted { message_id, reason } => {
                let is_known = message_id.as_ref().is_none_or(|id| known.expected.contains(id));
                if is_known && known.state.is_open() {
                    let end = TurnEnd {
                        turn_id: None,
                        origin: Origin::Delegation,
                        message_ids: message_id.into_iter().collect(),
                        state: DelegationState::Failed,
                        text: None,
                        reason: Some(reason),
                        seq: known.seq,
                    };
                    self.child_ended(&child, &end, heard, at, out);
                }
            }
            News::Changed { state, activity, asks, seq } => {
                if seq < known.seq || known.state == DelegationState::Removed {
                    return Ok(Reply::Done);
                }
                // What was told to stop is stopping until it has ended.
                let state =
                    if known.state == DelegationState::Stopping && state.is_open() { known.state } else { state };
                let is_new = (state, &activity, &asks) != (known.state, &known.activity, &known.asks);
                if is_new {
                    let child_session_id = child.clone();
                    let child_seq = Some(seq);
                    let update = DelegationUpdated {
                        child_session_id,
                        state,
                        activity,
                        asks,
                        child_seq,
                        ..DelegationUpdated::default()
                    };
                    self.emit(at, out, update);
                }
            }
            News::Ended(end) => {
                if end.seq > known.seq {
                    self.child_ended(&child, &end, heard, at, out);
                }
            }
            News::Removed => {
                if known.state.is_open() {
                    let end = TurnEnd {
                        turn_id: None,
                        origin: Origin::Delegation,
                        message_ids: Vec::new(),
                        state: DelegationState::Removed,
                        text: None,
                        reason: Some("it was removed".to_owned()),
                        seq: known.seq,
                    };
                    self.child_ended(&child, &end, heard, at, out);
                } else if known.state != DelegationState::Removed {
                    let update = self.as_it_is(&child, DelegationState::Removed);
                    self.emit(at, out, DelegationUpdated { asks: Vec::new(), ..update });
                }
            }
        }
        Ok(Reply::Done)
    }

    /// A turn has ended that somebody here has to hear of: the calls that wait for it, or the agent by a message.
    fn child_ended(&mut self, child: &SessionId, end: &TurnEnd, heard: Heard, at: Timestamp, out: &mut Output) {
        let Some(known) = self.state.children.all.get(child) else { return };
        let was_stopped_from_here = known.state == DelegationState::Stopping;
        let waiting: Vec<ToolUseId> = match heard {
            Heard::AsItHappens => {
                let waits = self.child_waits.iter().filter(|wait| wait.child == *child);
                waits.filter_map(|wait| wait.tool_use_id.clone()).collect()
            }
            // Nobody waits any more, but the log has calls that did.
            Heard::AfterRestart => {
                known.calls.iter().filter(|call| self.state.open.tools.contains_key(*call)).cloned().collect()
            }
        };
        let is_told = !waiting.is_empty() || self.child_waits.iter().any(|wait| wait.child == *child);
        let turn_id = end.turn_id.clone();
        let words = words_of(child, known, end);
        let text = end.text.as_deref().map(|text| cut(text, MAX_FACT_BYTES).to_owned());
        let update = DelegationUpdated {
            child_session_id: child.clone(),
            state: end.state,
            turn_id: turn_id.clone(),
            text,
            reason: end.reason.clone(),
            told: waiting,
            child_seq: Some(end.seq),
            ..DelegationUpdated::default()
        };
        let result = |key: String| match (end.state, &end.text) {
            (DelegationState::Completed, Some(text)) => {
                Order::HostResult { key, output: cut(text, MAX_TEXT_BYTES).to_owned(), is_error: false }
            }
            (DelegationState::Completed, None) => Order::HostResult {
                key,
                output: format!("Session {child} is done, and said nothing."),
                is_error: false,
            },
            _ => Order::HostResult { key, output: words.clone(), is_error: true },
        };
        let mut orders = Output::default();
        for for_what in [Waiting::Start, Waiting::End] {
            self.tell_waits(child, for_what, result, &mut orders);
        }
        self.emit(at, out, update);
        out.effects.append(&mut orders.effects);
        let is_for_us = end.origin == Origin::Delegation;
        if is_told || was_stopped_from_here || !is_for_us {
            return;
        }
        let hold = (heard == Heard::AfterRestart).then_some(Hold::Restarted);
        self.bring(message_id(child, turn_id.as_ref()), words, hold, at, out);
    }

    /// Tells the agent by a message, once.
    fn bring(&mut self, message_id: MessageId, text: String, held: Option<Hold>, at: Timestamp, out: &mut Output) {
        if self.receipt(&message_id).is_some() || self.state.archived || self.state.ended {
            return;
        }
        let content = vec![Part::Text { text }];
        let origin = Origin::Delegation;
        let message = Queued { message_id, content, origin, source: None, state: QueueState::Waiting, held };
        if held.is_none() && !self.shutting_down && !self.busy() && self.state.next_queued().is_none() {
            return self.begin_turn(at, out, vec![message], origin, None);
        }
        // It is taken also where the queue is full: there are no more of these than sessions that work for this one.
        self.enqueue(at, out, message, Place::Last);
        if held.is_none() {
            self.proceed(at, out);
        }
    }

    // ---- calls that wait ----

    fn wait_for_child(&mut self, child: &SessionId, call: &HostCall, for_what: Waiting, at: Timestamp) {
        let until = self.setup.limits.hold_ms.filter(|_| for_what == Waiting::End).map(|ms| at.plus_millis(ms));
        let (key, tool_use_id) = (call.key.clone(), call.tool_use_id.clone());
        self.child_waits.push(ChildWait { child: child.clone(), key, tool_use_id, for_what, until });
    }

    fn tell_waits(&mut self, child: &SessionId, for_what: Waiting, result: impl Fn(String) -> Order, out: &mut Output) {
        let is_meant = |wait: &ChildWait| wait.child == *child && wait.for_what == for_what;
        for wait in self.child_waits.extract_if(.., |wait| is_meant(wait)) {
            out.order(result(wait.key));
        }
    }

    /// Whether the agent waits for another session, and not the other way round.
    pub(super) fn waits_for_child(&self) -> bool {
        self.child_waits.iter().any(|wait| wait.for_what == Waiting::End)
    }

    pub(super) fn next_child_deadline(&self) -> Option<Timestamp> {
        self.child_waits.iter().filter_map(|wait| wait.until).min()
    }
}

/// Somebody set the wall clock: what is due in five seconds is still due in five seconds.
pub(super) fn clock_was_set(waits: &mut [ChildWait], by_ms: i64) {
    for until in waits.iter_mut().filter_map(|wait| wait.until.as_mut()) {
        *until = until.plus_millis(by_ms);
    }
}

impl Machine {
    /// A call that was held for long enough ends; the session goes on.
    pub(super) fn tick_child_waits(&mut self, at: Timestamp, out: &mut Output) {
        let is_due = |wait: &ChildWait| wait.until.is_some_and(|until| until <= at);
        for wait in self.child_waits.extract_if(.., |wait| is_due(wait)) {
            let hint = "its result comes as a message; to go on waiting, call delegate_status with wait";
            let output = json!({ "session_id": wait.child, "status": "running", "hint": hint }).to_string();
            out.order(Order::HostResult { key: wait.key, output, is_error: false });
        }
    }

    /// Calls that are closed wait for nothing.
    pub(super) fn release_child_waits(&mut self, reason: &str, out: &mut Output) {
        let (open, in_turn) = (&self.state.open.tools, self.state.turn.is_some());
        let is_over = |wait: &ChildWait| wait.tool_use_id.as_ref().map_or(!in_turn, |call| !open.contains_key(call));
        for wait in self.child_waits.extract_if(.., |wait| is_over(wait)) {
            refuse_host_call(wait.key, reason.to_owned(), out);
        }
    }

    // ---- ends ----

    /// Before open calls are closed because the daemon had ended: those that waited have a truer end.
    pub(super) fn end_waiting_calls(&mut self, at: Timestamp, out: &mut Output) {
        let mut ends: Vec<(ToolUseId, String, bool)> = Vec::new();
        for (id, child) in &self.state.children.all {
            for call in child.calls.iter().chain(&child.told).filter(|call| self.state.open.tools.contains_key(*call)) {
                let (output, is_error) = match (&child.end, child.state.is_open()) {
                    (Some(end), false) => {
                        (words(id, child, child.state, end), child.state != DelegationState::Completed)
                    }
                    _ => (
                        format!(
                            "The daemon ended while this waited. Session {id} goes on, and says by a message how it ends."
                        ),
                        true,
                    ),
                };
                ends.push((call.clone(), output, is_error));
            }
        }
        for (tool_use_id, output, is_error) in ends {
            let Some(owner) = self.state.open.tools.get(&tool_use_id).cloned() else { continue };
            let turn_id = self.turn_of(owner.as_ref());
            let interrupted = Some(true);
            let result = ToolResult { tool_use_id, output, is_error, interrupted, ..ToolResult::default() };
            self.emit_as(at, out, owner, turn_id, Event::from(result));
        }
    }

    /// What a call was told that the agent has not heard, because its turn ended first, is told by a message.
    pub(super) fn bring_unheard(&mut self, held: Option<Hold>, at: Timestamp, out: &mut Output) {
        let mut unheard: Vec<(MessageId, String)> = Vec::new();
        for (id, child) in self.state.children.all.iter().filter(|(_, child)| !child.told.is_empty()) {
            let is_cut_off = child.told.iter().all(|call| !self.state.open.tools.contains_key(call));
            if let Some(end) = child.end.as_ref().filter(|_| is_cut_off) {
                unheard.push((message_id(id, end.turn_id.as_ref()), words(id, child, child.state, end)));
            }
        }
        for (message_id, text) in unheard {
            if self.receipt(&message_id).is_none() && !self.state.archived && !self.state.ended {
                let (content, origin) = (vec![Part::Text { text }], Origin::Delegation);
                let message = Queued { message_id, content, origin, source: None, state: QueueState::Waiting, held };
                self.enqueue(at, out, message, Place::Last);
            }
        }
    }

    /// How what is brought after the end of a turn waits: who stopped the turn does not want the next one at once.
    pub(super) fn hold_of_unheard(outcome: Outcome) -> Option<Hold> {
        match outcome {
            Outcome::Stopped => Some(Hold::Stopped),
            Outcome::Interrupted => Some(Hold::Restarted),
            Outcome::Completed | Outcome::Failed => None,
        }
    }

    /// Who stops this session stops those that work for it.
    pub(super) fn stop_children(&mut self, at: Timestamp, out: &mut Output) {
        if !self.setup.delegation.stop_children {
            return;
        }
        let open: Vec<SessionId> = self.state.children.open().map(|(id, _)| id.clone()).collect();
        for child in &open {
            let update = self.as_it_is(child, DelegationState::Stopping);
            self.emit(at, out, update);
        }
        if !open.is_empty() {
            out.effects.push(Effect::StopChildren(open));
        }
    }

    /// An update that changes nothing but the state.
    fn as_it_is(&self, child: &SessionId, state: DelegationState) -> DelegationUpdated {
        let known = self.state.children.all.get(child);
        DelegationUpdated {
            child_session_id: child.clone(),
            state,
            activity: known.and_then(|known| known.activity.clone()).filter(|_| state.is_open()),
            asks: known.map(|known| known.asks.clone()).unwrap_or_default(),
            ..DelegationUpdated::default()
        }
    }
}

fn words_of(id: &SessionId, child: &Child, end: &TurnEnd) -> String {
    let known = End { turn_id: None, text: end.text.clone(), reason: end.reason.clone() };
    words(id, child, end.state, &known)
}

/// How a turn ended, for the agent that delegated it.
fn words(id: &SessionId, child: &Child, state: DelegationState, end: &End) -> String {
    let Child { runtime, title, .. } = child;
    let how = match state {
        DelegationState::Completed => "is done",
        DelegationState::Stopped => "was stopped",
        DelegationState::Interrupted => "was interrupted",
        DelegationState::Removed => "is gone",
        _ => "has failed",
    };
    let mut text = format!("Session {id} ({runtime}), which works for you on \"{title}\", {how}");
    if let Some(reason) = &end.reason {
        let _ = write!(text, ": {reason}");
    }
    match &end.text {
        Some(said) if state == DelegationState::Completed => {
            let _ = write!(text, ":\n\n{}", cut(said, MAX_TEXT_BYTES));
        }
        Some(said) => {
            let _ = write!(text, ". It had said:\n\n{}", cut(said, MAX_TEXT_BYTES));
        }
        None => text.push('.'),
    }
    text
}

/// Whether a client may not choose this id: a message that says how a turn ended has it.
pub(super) fn is_reserved(message_id: &MessageId) -> bool {
    message_id.as_str().starts_with(delegation::MESSAGE_PREFIX)
}

/// The asks of a session and of those that work for it, for the one that it works for.
pub fn asks_for_parent(session: &SessionId, own: &[PendingAsk], below: &[DelegatedAsk]) -> Vec<DelegatedAsk> {
    let own = own.iter().map(|ask| DelegatedAsk { session_id: session.clone(), ask: ask.clone() });
    let fits =
        |asked: &DelegatedAsk| serde_json::to_vec(asked).is_ok_and(|bytes| bytes.len() <= delegation::MAX_ASK_BYTES);
    let fitting = |mut asked: DelegatedAsk| {
        if let (false, AskRequest::Permission(request)) = (fits(&asked), &mut asked.ask.request) {
            (request.tool_input, request.judged) = (Value::Null, None);
        }
        Some(asked).filter(fits)
    };
    own.chain(below.iter().cloned()).filter_map(fitting).take(delegation::MAX_ASKS).collect()
}

#[cfg(test)]
mod tests;
