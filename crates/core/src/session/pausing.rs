//! Work that waits for a person because a limit is reached. An agent with a gate is held before its next call; another one is interrupted, and goes on in
//! another turn. A message that would begin a turn is held before the agent hears of it. Each pause is one ask, and nothing reaches the agent while it
//! is open.

use serde_json::json;

use super::machine::{Agent, Effect, Machine, Output};
use super::state::Queued;
use crate::budget::{self, Level, Pause};
use crate::command::AfterAnswer;
use crate::event::{
    AfterStop, Budget, BudgetHold, BudgetMeasure, BudgetScope, BudgetState, DAEMON, Hold, Origin, Outcome, Part,
    PermissionOption, PermissionReply, PermissionRequest, PermissionResolved, QueueState,
};
use crate::id::{AskId, MessageId, TurnId};
use crate::policy::Judgement;
use crate::runtime::{Order, Report, Verdict};
use crate::time::Timestamp;

/// What the ask is about, where others have the name of a tool.
pub(crate) const TOOL: &str = "Go over the budget";

/// Calls that are held at once. Of more, each is denied.
const MAX_HELD_CALLS: usize = 256;

/// How long an agent that cannot be held may take to end its turn by itself.
const UNGATED_MS: i64 = 1_000;

/// What an agent hears whose turn was interrupted, when it may go on.
const GO_ON: &str =
    "Your last turn was interrupted because its budget was used up. You may go on now: continue where you stopped.";

/// What is held while a person is asked.
#[derive(Debug, Default)]
pub(super) struct Held {
    calls: Vec<HeldCall>,
    orders: Vec<Order>,
    /// The turn that was interrupted, and why: another one goes on with it.
    interrupted: Option<(TurnId, Level)>,
    /// What has to be asked before the turn's message goes out.
    asks_first: Option<Level>,
}

#[derive(Debug)]
struct HeldCall {
    report: Report,
    judgement: Option<Judgement>,
}

impl Machine {
    /// A person is asked whether the work may go on.
    pub fn is_paused(&self) -> bool {
        self.state.ledger.pause().is_some()
    }

    fn can_hold_calls(&self) -> bool {
        self.setup.capabilities.gate && !self.is_told_by_log()
    }

    /// How long an agent may go on over a limit before something is done: one with a gate comes to it by itself.
    pub(super) fn patience_ms(&self) -> i64 {
        if self.can_hold_calls() { self.setup.budgets.hold_ms } else { UNGATED_MS.min(self.setup.budgets.hold_ms) }
    }

    // ---- an agent that works ----

    /// The agent is about to spend more: it proposes a call, or somebody has answered what it waits for.
    pub(super) fn hold_if_reached(&mut self, at: Timestamp, out: &mut Output) {
        if self.spending.overdue.is_some() && self.can_hold_calls() {
            self.pause_at_call(at, out);
        }
    }

    /// One that cannot be held begins a call.
    pub(super) fn interrupt_if_reached(&mut self, at: Timestamp, out: &mut Output) {
        if self.spending.overdue.is_some() && !self.can_hold_calls() {
            self.hold_or_interrupt(at, out);
        }
    }

    fn may_pause(&self) -> bool {
        self.agent_in_turn() && self.stop.is_none() && !self.is_paused() && !self.shutting_down
    }

    fn pause_at_call(&mut self, at: Timestamp, out: &mut Output) {
        self.spending.overdue = None;
        if let Some(level) = self.reached_in_turn(at).filter(|_| self.may_pause()) {
            self.ask_to_go_on(&level, BudgetHold::Call, at, out);
        }
    }

    /// The agent had its time. If it spends no more, it is held when it comes to its next call.
    pub(super) fn hold_or_interrupt(&mut self, at: Timestamp, out: &mut Output) {
        self.spending.overdue = None;
        let Some(level) = self.reached_in_turn(at).filter(|_| self.may_pause()) else { return };
        if self.can_hold_calls() && level.measure == BudgetMeasure::Silence {
            // Perhaps something runs that takes its time. Nobody ends it unasked.
            return self.ask_to_go_on(&level, BudgetHold::Call, at, out);
        }
        let rests = !self.state.open.asks.is_empty() || !self.state.open.tools.is_empty();
        if self.can_hold_calls() && rests {
            self.spending.overdue = Some(at.plus_millis(self.patience_ms()));
            return;
        }
        let reason = format!("paused: {}", level.words());
        self.emit(at, out, Budget { reason: Some(reason.clone()), ..level.fact(BudgetState::Interrupted) });
        self.held.interrupted = self.state.turn.clone().map(|turn| (turn, level));
        self.begin_stop(at, out, Outcome::Interrupted, reason, None, None);
    }

    /// Keeps a call that the agent proposes until a person has answered.
    pub(super) fn hold_call(&mut self, report: Report, judgement: Option<Judgement>, out: &mut Output) {
        if self.held.calls.len() < MAX_HELD_CALLS {
            self.held.calls.push(HeldCall { report, judgement });
        } else if let Report::Propose { key, .. } = report {
            deny(key, out);
        }
    }

    /// Keeps what would let the agent go on. The effects of one append happen together, so all of them are looked at.
    pub(super) fn hold_orders(&mut self, out: &mut Output) {
        if !self.is_paused() {
            return;
        }
        for effect in std::mem::take(&mut out.effects) {
            match effect {
                Effect::Order(order) if lets_go_on(&order) => self.held.orders.push(order),
                other => out.effects.push(other),
            }
        }
    }

    // ---- a turn that begins ----

    /// Whether a person has to be asked before a turn's message may go out. The turn that is about to begin is counted.
    pub(super) fn limit_before_turn(&self, at: Timestamp) -> Option<Level> {
        if let Some((_, level)) = &self.held.interrupted {
            return Some(level.clone());
        }
        let counted = |mut level: Level| {
            if level.scope == BudgetScope::Turn {
                return None;
            }
            level.spent += u64::from(level.measure == BudgetMeasure::Turns);
            level.is_reached().then_some(level)
        };
        self.levels(at).into_iter().find_map(counted)
    }

    pub(super) fn set_asks_first(&mut self, level: Option<Level>) {
        self.held.asks_first = level;
    }

    /// Asks, if that has to be done before the turn's message goes out. The turn waits.
    pub(super) fn asks_before_delivery(&mut self, at: Timestamp, out: &mut Output) -> bool {
        if self.undelivered.is_none() || self.is_paused() {
            return self.is_paused();
        }
        let Some(level) = self.held.asks_first.take() else { return false };
        self.say_reached(&level, at, out);
        self.ask_to_go_on(&level, BudgetHold::Message, at, out);
        true
    }

    /// Begins the turn that goes on with one that was interrupted. It asks first.
    pub(super) fn continue_interrupted(&mut self, at: Timestamp, out: &mut Output) -> bool {
        if self.held.interrupted.is_none() {
            return false;
        }
        let message = Queued {
            message_id: MessageId::fresh(&mut self.setup.ids, at),
            content: vec![Part::Text { text: GO_ON.to_owned() }],
            origin: Origin::Api,
            source: None,
            state: QueueState::Waiting,
            held: None,
        };
        self.begin_turn(at, out, vec![message], Origin::Api, None);
        true
    }

    /// Which turn the one that begins goes on with.
    pub(super) fn take_interrupted(&mut self) -> Option<TurnId> {
        self.held.interrupted.take().map(|(turn, _)| turn)
    }

    /// Somebody stops the session, or it ends: nothing goes on by itself.
    pub(super) fn forget_interrupted(&mut self) {
        self.held.interrupted = None;
    }

    // ---- asking ----

    fn ask_to_go_on(&mut self, level: &Level, how: BudgetHold, at: Timestamp, out: &mut Output) {
        self.say_reached(level, at, out);
        let ask_id = AskId::fresh(&mut self.setup.ids, at);
        let raised = level.raised(self.setup.budgets.raise_percent);
        let units = |amount| budget::in_units(level.measure, amount);
        let added = units(raised) - units(level.limit);
        let reason = level.words();
        let fact = Budget {
            how: Some(how),
            ask_id: Some(ask_id.clone()),
            added: Some(added),
            reason: Some(reason.clone()),
            ..level.fact(BudgetState::Paused)
        };
        let tool_input = json!({
            "scope": level.scope, "id": level.id, "measure": level.measure, "limit": fact.limit, "spent": fact.spent, "added": added,
        });
        self.emit(at, out, fact);
        let (what, stop) = match how {
            BudgetHold::Call => ("The turn is paused", "Stop the turn"),
            BudgetHold::Message => ("The message waits", "Do not go on"),
        };
        let option = |reply, label: String| PermissionOption { reply, label, rule: None, scope: None };
        let request = PermissionRequest {
            ask_id,
            tool_name: TOOL.to_owned(),
            tool_input,
            title: Some(format!("{what}: {reason}. Go on?")),
            options: vec![
                option(PermissionReply::Once, level.offer(raised)),
                option(PermissionReply::Reject, stop.to_owned()),
            ],
            fixed_input: Some(true),
            ..PermissionRequest::default()
        };
        self.emit(at, out, request);
        let label = Some("Waiting for your permission".to_owned());
        self.emit_status_if_changed(at, out, crate::event::Activity::Waiting, label);
    }

    /// A person has answered. The answer is a fact already.
    pub(super) fn pause_answered(
        &mut self,
        pause: &Pause,
        allowed: bool,
        then: AfterAnswer,
        by: &str,
        at: Timestamp,
        out: &mut Output,
    ) {
        if allowed {
            self.raise(pause, by, None, at, out);
            if let (AfterAnswer::Stop(then), true) = (then, self.state.turn.is_some()) {
                self.forget_interrupted();
                let hold = (then == AfterStop::Hold).then_some(Hold::Stopped);
                self.begin_stop(at, out, Outcome::Stopped, format!("stopped by {by}"), hold, None);
            }
            return;
        }
        let stopped = Budget { by: Some(by.to_owned()), ..Self::fact_of(pause, BudgetState::Stopped) };
        self.emit(at, out, stopped);
        let reason = format!("{by} did not let it go over the budget");
        // What waits behind it would only ask again.
        let asks_again = pause.scope != BudgetScope::Turn || matches!(then, AfterAnswer::Stop(AfterStop::Hold));
        let hold = asks_again.then_some(Hold::Stopped);
        self.begin_stop(at, out, Outcome::Stopped, reason, hold, None);
    }

    /// The work goes on, up to a limit that is higher than it was. If it meets another limit, it does not.
    fn raise(&mut self, pause: &Pause, by: &str, why: Option<&str>, at: Timestamp, out: &mut Output) {
        let limit = budget::in_units(pause.measure, pause.raised);
        let added = limit - budget::in_units(pause.measure, pause.limit);
        let fact = Budget {
            limit,
            added: Some(added),
            by: Some(by.to_owned()),
            reason: why.map(str::to_owned),
            ..Self::fact_of(pause, BudgetState::Raised)
        };
        self.agent_was_heard(at);
        match pause.how {
            BudgetHold::Call => {
                self.emit(at, out, fact);
                if let Some(level) = self.reached_in_turn(at) {
                    self.ask_to_go_on(&level, BudgetHold::Call, at, out);
                } else {
                    self.update_status_after_ask(at, out);
                    self.release(at, out);
                }
            }
            BudgetHold::Message => {
                // It is raised before it is known whether another limit is reached; only the last word lets the message go.
                let others = self.levels(at).into_iter().filter(|level| level.scope != BudgetScope::Turn);
                let mut others = others.filter(|level| !level.is_of(pause.scope, pause.id.as_deref(), pause.measure));
                let next = others.find(Level::is_reached);
                let how = next.is_none().then_some(BudgetHold::Message);
                self.emit(at, out, Budget { how, ..fact });
                match next {
                    Some(level) => self.ask_to_go_on(&level, BudgetHold::Message, at, out),
                    None => self.deliver(at, out),
                }
            }
        }
    }

    fn fact_of(pause: &Pause, state: BudgetState) -> Budget {
        Budget {
            state,
            scope: pause.scope,
            id: pause.id.clone(),
            measure: pause.measure,
            limit: budget::in_units(pause.measure, pause.limit),
            spent: budget::in_units(pause.measure, pause.spent),
            ask_id: Some(pause.ask_id.clone()),
            ..Budget::default()
        }
    }

    /// The limit that the work waits for was raised somewhere else: another session, or by whoever changed it.
    pub(super) fn go_on_if_raised(&mut self, by: &str, why: &str, at: Timestamp, out: &mut Output) {
        let Some(pause) = self.state.ledger.pause().cloned().filter(|_| self.stop.is_none()) else { return };
        let levels = self.levels(at);
        let level = levels.iter().find(|level| level.is_of(pause.scope, pause.id.as_deref(), pause.measure));
        // Of another day, of another group, or of what is no budget, only a person says that it goes on.
        let is_own = matches!(pause.scope, BudgetScope::Turn | BudgetScope::Session);
        let limit = match level {
            Some(level) if level.is_reached() || level.is_runaway() => return,
            Some(level) => level.limit,
            None if is_own && by != DAEMON => pause.raised,
            None => return,
        };
        let resolved = PermissionResolved {
            ask_id: pause.ask_id.clone(),
            tool_name: TOOL.to_owned(),
            allowed: true,
            reply: PermissionReply::Once,
            by: by.to_owned(),
            reason: Some(why.to_owned()),
            ..PermissionResolved::default()
        };
        self.emit(at, out, resolved);
        self.raise(&Pause { raised: limit, ..pause }, by, Some(why), at, out);
    }

    // ---- going on ----

    /// Lets everything go that was held.
    fn release(&mut self, at: Timestamp, out: &mut Output) {
        out.effects.extend(std::mem::take(&mut self.held.orders).into_iter().map(Effect::Order));
        for HeldCall { report, judgement } in std::mem::take(&mut self.held.calls) {
            match judgement {
                Some(judgement) => self.judged(report, judgement, at, out),
                None => self.report(report, at, out),
            }
        }
    }

    /// The turn is being stopped: what was held does not run.
    pub(super) fn deny_held(&mut self, out: &mut Output) {
        for HeldCall { report, .. } in std::mem::take(&mut self.held.calls) {
            if let Report::Propose { key, .. } = report {
                deny(key, out);
            }
        }
    }

    /// The turn is over. What was meant for it is void; the rest the agent shall hear.
    pub(super) fn end_pause(&mut self, out: &mut Output) {
        self.spending.overdue = None;
        self.held.asks_first = None;
        self.deny_held(out);
        let is_there = matches!(self.agent, Agent::Ready { .. });
        for order in std::mem::take(&mut self.held.orders) {
            if is_there && matches!(order, Order::Callback(_) | Order::State { .. }) {
                out.order(order);
            }
        }
    }
}

fn deny(key: String, out: &mut Output) {
    out.order(Order::Verdict { key, verdict: Verdict::Deny { reason: "the budget is used up".to_owned() } });
}

/// Whether an agent that hears this may spend more.
fn lets_go_on(order: &Order) -> bool {
    match order {
        Order::Prompt { .. }
        | Order::Steer { .. }
        | Order::Answer { .. }
        | Order::HostResult { .. }
        | Order::Compact { .. }
        | Order::Callback(_)
        | Order::State { .. } => true,
        Order::Verdict { verdict, .. } => !matches!(verdict, Verdict::Deny { .. }),
        Order::Interrupt { .. }
        | Order::SetModel { .. }
        | Order::SetMode { .. }
        | Order::StopBackground { .. }
        | Order::Configure { .. }
        | Order::HostTools(_)
        | Order::Rollback(_)
        | Order::Close { .. } => false,
    }
}

#[cfg(test)]
mod tests;
