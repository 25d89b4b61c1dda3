//! Budgets: what a turn spends is counted here, and compared with what it may. A limit that is reached is a fact at once; what is done about it is in
//! `pausing`. What was spent, and what people said about it, is folded elsewhere ([`crate::budget::Ledger`]).

use super::machine::{Machine, Output};
use crate::budget::{self, Level, Plan, Shared, own_levels, shared_levels};
use crate::event::{Budget, BudgetMeasure, BudgetScope, BudgetState, Event, Usage};
use crate::time::Timestamp;

/// The time that the agent works: not that in which it is not there, or a person is waited for. By the machine's clock, which nobody sets.
#[derive(Debug, Default)]
pub(super) struct WorkClock {
    before_ms: u64,
    /// Since when it runs.
    since: Option<Timestamp>,
}

impl WorkClock {
    fn set_running(&mut self, runs: bool, at: Timestamp) {
        match (runs, self.since) {
            (true, None) => self.since = Some(at),
            (false, Some(_)) => *self = Self { before_ms: self.read(at), since: None },
            (true, Some(_)) | (false, None) => {}
        }
    }

    fn read(&self, at: Timestamp) -> u64 {
        let running = self.since.map_or(0, |since| at.millis().saturating_sub(since.millis()));
        self.before_ms + u64::try_from(running).unwrap_or(0)
    }

    fn reset(&mut self) {
        *self = Self::default();
    }
}

/// What the machine knows about spending that is not in the log.
#[derive(Debug, Default)]
pub(super) struct Spending {
    work: WorkClock,
    /// When the agent last said anything.
    heard_at: Option<Timestamp>,
    /// A limit is reached, and the agent goes on: by then it is held, or its turn is interrupted.
    pub(super) overdue: Option<Timestamp>,
}

impl Spending {
    pub(super) fn clock_was_set(&mut self, by_ms: i64) {
        for time in [&mut self.work.since, &mut self.heard_at, &mut self.overdue].into_iter().flatten() {
            *time = time.plus_millis(by_ms);
        }
    }
}

impl Machine {
    /// What holds for this session.
    pub fn budget(&self) -> Plan {
        self.setup.budgets.plan(self.param(budget::OWN), self.param(budget::GROUP))
    }

    /// The group whose budget a turn spends that begins now.
    pub(super) fn budget_group(&self) -> Option<String> {
        self.budget().group.map(|group| group.id)
    }

    /// Every limit, with what is spent of it by now.
    pub(super) fn levels(&self, at: Timestamp) -> Vec<Level> {
        let plan = self.budget();
        let (ledger, worked_ms) = (&self.state.ledger, self.spending.work.read(at));
        let mut levels = own_levels(&plan, ledger, worked_ms, self.silent_ms(at));
        levels.extend(shared_levels(&plan, &self.shared, ledger, worked_ms));
        levels
    }

    /// Those that matter to a turn that runs. It may have been one too many, but it has begun.
    pub(super) fn reached_in_turn(&self, at: Timestamp) -> Option<Level> {
        self.levels(at).into_iter().find(|level| level.measure != BudgetMeasure::Turns && level.is_reached())
    }

    /// How long the agent works without a word.
    fn silent_ms(&self, at: Timestamp) -> u64 {
        let since = self.silent_since().map_or(0, |since| at.millis().saturating_sub(since.millis()));
        u64::try_from(since).unwrap_or(0)
    }

    fn silent_since(&self) -> Option<Timestamp> {
        let since = self.spending.work.since?;
        Some(self.spending.heard_at.map_or(since, |heard| heard.max(since)))
    }

    pub(super) fn agent_was_heard(&mut self, at: Timestamp) {
        self.spending.heard_at = Some(at);
    }

    /// The clock of the work runs while the agent has a turn and nobody is waited for. Called after every fact.
    pub(super) fn set_work_clock(&mut self, event: Option<&Event>, at: Timestamp) {
        if matches!(event, Some(Event::TurnStarted(_))) {
            self.spending.work.reset();
        }
        let works = self.agent_in_turn() && self.state.open.asks.is_empty() && !self.waits_for_child();
        self.spending.work.set_running(works, at);
    }

    /// How long the turn has worked, where that is counted.
    pub(super) fn worked_ms(&self, at: Timestamp) -> Option<u64> {
        self.setup.budgets.counts_time.then(|| self.spending.work.read(at))
    }

    /// Whether what the agent says of its usage, while it still works, is worth a fact.
    pub(super) fn counts_usage(&self) -> bool {
        self.budget().limits_anything()
    }

    /// Gives a usage what only the session knows: what it costs, and how long it took.
    pub(super) fn completed_usage(&self, mut usage: Usage, at: Timestamp) -> Usage {
        usage.worked_ms = self.worked_ms(at);
        if usage.cost_usd.is_none()
            && let Some(price) = self.setup.budgets.price(self.state.model.as_deref())
        {
            usage.cost_usd = Some(price.of(&usage));
            usage.estimated = Some(true);
        }
        usage
    }

    /// Says once that money is limited and not measured.
    pub(super) fn say_if_unmeasured(&mut self, usage: &Usage, at: Timestamp, out: &mut Output) {
        let plan = self.budget();
        if usage.cost_usd.is_some() || !plan.limits_money() || self.state.ledger.is_unmeasured() {
            return;
        }
        let model = self.state.model.as_deref().unwrap_or("this agent's model");
        let reason = format!(
            "money is limited, and what this turn costs is not known while it runs; add a price for {model} to `budgets.prices`"
        );
        let (state, measure) = (BudgetState::Unmeasured, BudgetMeasure::Usd);
        let spent = budget::in_units(measure, self.state.ledger.of_session().nano_usd);
        let limit = plan.session.usd.or(plan.turn.usd).or(plan.day.usd).or(plan.daemon.usd).unwrap_or_default();
        self.emit(at, out, Budget { state, measure, limit, spent, reason: Some(reason), ..Budget::default() });
    }

    /// Says what is near and what is reached, each once. If the agent works, it shall be held.
    pub(super) fn check_budgets(&mut self, at: Timestamp, out: &mut Output) {
        if self.state.turn.is_none() || self.stop.is_some() {
            return;
        }
        let percent = self.setup.budgets.warn_percent;
        for level in self.levels(at).into_iter().filter(|level| level.measure != BudgetMeasure::Turns) {
            if level.is_reached() {
                self.say_reached(&level, at, out);
            } else if level.is_near(percent) {
                self.warn_of(&level, at, out);
            }
        }
        if self.agent_in_turn() && !self.is_paused() && self.spending.overdue.is_none() {
            self.spending.overdue = self.reached_in_turn(at).map(|_| at.plus_millis(self.patience_ms()));
        }
    }

    /// Of turns, the one that begins is counted.
    pub(super) fn check_turns(&mut self, at: Timestamp, out: &mut Output) {
        let percent = self.setup.budgets.warn_percent;
        let turns = |level: &Level| level.measure == BudgetMeasure::Turns && !level.is_reached();
        for level in self.levels(at).into_iter().filter(turns).filter(|level| level.is_near(percent)) {
            self.warn_of(&level, at, out);
        }
    }

    fn warn_of(&mut self, level: &Level, at: Timestamp, out: &mut Output) {
        let is_shared = !matches!(level.scope, BudgetScope::Turn | BudgetScope::Session);
        let is_ours = !is_shared || self.shared.warns.contains(&(level.scope, level.measure));
        let known = self.state.ledger.has_warned(level.scope, level.id.as_deref(), level.measure, level.limit);
        if is_ours && !known {
            let reason = Some(level.words());
            self.emit(at, out, Budget { reason, ..level.fact(BudgetState::Warned) });
        }
    }

    pub(super) fn say_reached(&mut self, level: &Level, at: Timestamp, out: &mut Output) {
        if !self.state.ledger.has_reached(level.scope, level.id.as_deref(), level.measure, level.limit) {
            let reason = Some(level.words());
            self.emit(at, out, Budget { reason, ..level.fact(BudgetState::Reached) });
        }
    }

    /// Takes in what other sessions have spent, and what people have said there.
    pub(super) fn share(&mut self, shared: Shared, at: Timestamp, out: &mut Output) {
        self.shared = shared;
        self.go_on_if_raised(crate::event::DAEMON, "the limit was raised in another session", at, out);
        self.check_budgets(at, out);
    }

    /// When a limit of time is reached, or the agent has to be held.
    pub(super) fn next_budget_deadline(&self) -> Option<Timestamp> {
        let overdue = self.spending.overdue.filter(|_| self.stop.is_none());
        let Some(since) = self.spending.work.since.filter(|_| self.stop.is_none()) else { return overdue };
        let percent = u64::from(self.setup.budgets.warn_percent);
        let times = self.levels(since).into_iter().filter_map(|level| {
            let reached = |limit: u64| {
                let left = i64::try_from(limit.saturating_sub(level.spent)).unwrap_or(i64::MAX);
                since.plus_millis(left)
            };
            match level.measure {
                BudgetMeasure::Silence => {
                    Some(self.silent_since()?.plus_millis(i64::try_from(level.limit).unwrap_or(i64::MAX)))
                }
                BudgetMeasure::Minutes => {
                    let warns_at = level.limit.saturating_mul(percent).div_ceil(100);
                    let has_warned =
                        self.state.ledger.has_warned(level.scope, level.id.as_deref(), level.measure, level.limit);
                    let is_ours = matches!(level.scope, BudgetScope::Turn | BudgetScope::Session);
                    Some(reached(if has_warned || !is_ours { level.limit } else { warns_at }))
                }
                _ => None,
            }
        });
        // What is reached and said has a deadline of its own.
        let due = times.min().filter(|_| self.spending.overdue.is_none() && !self.is_paused());
        [overdue, due].into_iter().flatten().min()
    }

    pub(super) fn tick_budgets(&mut self, at: Timestamp, out: &mut Output) {
        self.check_budgets(at, out);
        if self.spending.overdue.is_some_and(|due| due <= at) {
            self.hold_or_interrupt(at, out);
        }
    }
}
