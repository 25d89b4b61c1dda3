//! How far a limit is used up.

use super::amount::{Spent, in_units, in_words};
use super::ledger::Ledger;
use super::repeats::Repeats;
use super::rules::{Limits, Plan};
use super::sums::{Shared, SharedSum};
use crate::event::{Budget, BudgetMeasure, BudgetScope, BudgetState};

/// One limit, and what was spent of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Level {
    pub scope: BudgetScope,
    /// Which group, which day.
    pub id: Option<String>,
    pub measure: BudgetMeasure,
    /// With what people added.
    pub limit: u64,
    pub spent: u64,
    /// As it was given, without what people added.
    pub given: u64,
}

impl Level {
    /// Nothing more may be spent. Of turns it is the one too many that may not begin.
    pub fn is_reached(&self) -> bool {
        match self.measure {
            BudgetMeasure::Turns => self.spent > self.limit,
            _ => self.spent >= self.limit,
        }
    }

    pub fn is_near(&self, percent: u32) -> bool {
        !self.is_runaway() && u128::from(self.spent) * 100 >= u128::from(self.limit) * u128::from(percent)
    }

    /// It is no budget, but the sign of a turn that runs away.
    pub fn is_runaway(&self) -> bool {
        matches!(self.measure, BudgetMeasure::Repeats | BudgetMeasure::Compactions | BudgetMeasure::Silence)
    }

    /// What a person adds who lets the work go on: a part of what was given, counted from what is spent.
    pub fn raised(&self, percent: u32) -> u64 {
        let step = u128::from(self.given) * u128::from(percent) / 100;
        let step = u64::try_from(step).unwrap_or(u64::MAX).max(1);
        // A turn that waits to begin is counted already.
        let begins = u64::from(self.measure == BudgetMeasure::Turns);
        let step = if self.is_runaway() { self.given } else { step };
        self.spent.max(self.limit).saturating_add(step).saturating_sub(begins)
    }

    /// Whether a fact, or something that was folded from one, is about this limit.
    pub fn is_of(&self, scope: BudgetScope, id: Option<&str>, measure: BudgetMeasure) -> bool {
        self.scope == scope && self.id.as_deref() == id && self.measure == measure
    }

    pub fn fact(&self, state: BudgetState) -> Budget {
        Budget {
            state,
            scope: self.scope,
            id: self.id.clone(),
            measure: self.measure,
            limit: in_units(self.measure, self.limit),
            spent: in_units(self.measure, self.spent),
            ..Budget::default()
        }
    }

    /// `$2.01 of $2.00 in this session`.
    pub fn words(&self) -> String {
        let spent = in_words(self.measure, self.spent);
        match self.measure {
            BudgetMeasure::Repeats => format!("{spent} with equal results in a row"),
            BudgetMeasure::Compactions => format!("{spent} without anything new between them"),
            BudgetMeasure::Silence => format!("{spent} without a word of the agent"),
            // The turn that waits is not spent.
            BudgetMeasure::Turns if self.spent > self.limit => {
                format!("all of {} {}", in_words(self.measure, self.limit), self.place())
            }
            _ => format!("{spent} of {} {}", in_words(self.measure, self.limit), self.place()),
        }
    }

    fn place(&self) -> String {
        let id = self.id.as_deref().unwrap_or_default();
        match self.scope {
            BudgetScope::Turn => "in this turn".to_owned(),
            BudgetScope::Session => "in this session".to_owned(),
            BudgetScope::Group => format!("in the group {id}"),
            BudgetScope::Day => format!("on {id}"),
            BudgetScope::Daemon => "in all sessions".to_owned(),
        }
    }

    /// What a person hears who may let the work go on up to a higher limit.
    pub fn offer(&self, raised: u64) -> String {
        match self.measure {
            BudgetMeasure::Repeats | BudgetMeasure::Compactions | BudgetMeasure::Silence => "Let it go on".to_owned(),
            measure => {
                let begins = u64::from(measure == BudgetMeasure::Turns);
                let more = raised.saturating_sub(self.spent).saturating_add(begins);
                format!("Go on with another {}", in_words(measure, more))
            }
        }
    }
}

/// The limits of a session and of its turn. `worked_ms` is of the turn that runs, by a clock that nobody sets; `silent_ms` is how long nothing was heard.
pub fn own_levels(plan: &Plan, ledger: &Ledger, worked_ms: u64, silent_ms: u64) -> Vec<Level> {
    let turn = ledger.turn_now(worked_ms);
    let (carried, ended) = ledger.before_turn();
    let mut levels = Vec::new();
    let mut add = |scope, limits: &Limits, spent: Spent| {
        levels.extend(limits.each().map(|(measure, given)| {
            let limit = ledger.raised_to(scope, None, measure).map_or(given, |raised| raised.max(given));
            Level { scope, id: None, measure, limit, spent: spent.of(measure), given }
        }));
    };
    add(BudgetScope::Turn, &plan.turn, carried.plus(turn));
    add(BudgetScope::Session, &plan.session, ended.plus(turn));
    levels.extend(runaways(plan, ledger.repeats(), silent_ms));
    levels
}

fn runaways(plan: &Plan, repeats: &Repeats, silent_ms: u64) -> impl Iterator<Item = Level> {
    let silence = super::amount::from_units(BudgetMeasure::Silence, plan.runaway.silent_minutes);
    let signs = [
        (BudgetMeasure::Repeats, u64::from(plan.runaway.repeats), repeats.most()),
        (BudgetMeasure::Compactions, u64::from(plan.runaway.compactions), repeats.compactions()),
        (BudgetMeasure::Silence, silence, silent_ms),
    ];
    signs.into_iter().filter(|(_, limit, _)| *limit > 0).map(|(measure, limit, spent)| Level {
        scope: BudgetScope::Turn,
        id: None,
        measure,
        limit,
        spent,
        given: limit,
    })
}

/// The limits that a session shares with others. What it spent itself and the sums do not know yet is added.
pub fn shared_levels(plan: &Plan, shared: &Shared, ledger: &Ledger, worked_ms: u64) -> Vec<Level> {
    let (latest, runs) = ledger.latest_turn();
    let counted = shared.own_turn.as_ref().filter(|(known, _)| Some(known.as_str()) == latest);
    let (known, now) = match counted {
        Some((_, known)) => (*known, ledger.turn_now(worked_ms)),
        // It ended long ago, and is in the sums.
        None if !runs && shared.own_turn.is_none() => (Spent::default(), Spent::default()),
        None => (Spent::default(), ledger.turn_now(worked_ms)),
    };
    let mut levels = Vec::new();
    let mut add = |scope, limits: &Limits, sum: &SharedSum| {
        let spent = sum.spent.replacing(known, now);
        levels.extend(limits.each().map(|(measure, given)| {
            let own = ledger.raised_to(scope, sum.id.as_deref(), measure);
            let limit = [Some(given), own, sum.raised_to(measure)].into_iter().flatten().max().unwrap_or(given);
            Level { scope, id: sum.id.clone(), measure, limit, spent: spent.of(measure), given }
        }));
    };
    if let (Some(group), Some(sum)) = (&plan.group, &shared.group) {
        // Another group than that of the sum is one that was named since.
        if sum.id.as_deref() == Some(group.id.as_str()) {
            add(BudgetScope::Group, &group.limits, sum);
        }
    }
    add(BudgetScope::Day, &plan.day, &shared.day);
    add(BudgetScope::Daemon, &plan.daemon, &shared.daemon);
    levels
}
