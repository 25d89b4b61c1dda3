//! What one session has spent, and what became of its limits: a fold of its log.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::amount::{Spent, from_units};
use super::repeats::Repeats;
use super::rules::{GROUP, OWN};
use crate::event::{
    Budget, BudgetHold, BudgetMeasure, BudgetScope, BudgetState, Envelope, Event, PermissionResolved, TurnStarted,
};
use crate::id::{AskId, TurnId};

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ledger {
    /// Of the turns that have ended.
    ended: Spent,
    /// Of the turn that runs.
    pub(super) turn: Spent,
    /// What that turn is called, also when it has ended.
    turn_id: Option<TurnId>,
    runs: bool,
    /// Of the turns that it goes on with.
    carried: Spent,
    /// The agent has not heard of the turn: a person has to be asked first.
    holds_message: bool,
    /// It was said that what this costs is not known.
    unmeasured: bool,
    raised: Vec<Entry>,
    warned: Vec<Entry>,
    reached: Vec<Entry>,
    pause: Option<Pause>,
    repeats: Repeats,
}

/// Something that was said about a limit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Entry {
    scope: BudgetScope,
    id: Option<String>,
    measure: BudgetMeasure,
    limit: u64,
}

/// Work that waits for a person, because a limit is reached.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pause {
    pub ask_id: AskId,
    pub scope: BudgetScope,
    pub id: Option<String>,
    pub measure: BudgetMeasure,
    pub limit: u64,
    pub spent: u64,
    /// What the limit becomes if the work goes on.
    pub raised: u64,
    pub how: BudgetHold,
}

/// What a list shows of it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Tally {
    pub session: Spent,
    /// Of the turn that runs, or the last one.
    pub turn: Spent,
    /// What people have raised limits to.
    pub raised: Vec<Raised>,
}

/// A limit that a person has raised.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Raised {
    pub scope: BudgetScope,
    pub id: Option<String>,
    pub measure: BudgetMeasure,
    pub limit: u64,
}

impl Ledger {
    /// What this turn and those that it goes on with have spent.
    pub fn of_turn(&self) -> Spent {
        self.carried.plus(self.turn)
    }

    pub fn of_session(&self) -> Spent {
        self.ended.plus(self.turn)
    }

    /// The turn that runs, or the last one, with the time that it has worked by now.
    pub(super) fn turn_now(&self, worked_ms: u64) -> Spent {
        Spent { worked_ms: self.turn.worked_ms.max(if self.runs { worked_ms } else { 0 }), ..self.turn }
    }

    /// Of the turns that this one goes on with, and of all before it.
    pub fn before_turn(&self) -> (Spent, Spent) {
        (self.carried, self.ended)
    }

    /// The turn that runs, or the last one, and whether it runs.
    pub(super) fn latest_turn(&self) -> (Option<&str>, bool) {
        (self.turn_id.as_ref().map(TurnId::as_str), self.runs)
    }

    /// Whether the agent must not hear of the turn yet.
    pub fn holds_message(&self) -> bool {
        self.holds_message
    }

    /// Whether it was said that what this costs is not known.
    pub fn is_unmeasured(&self) -> bool {
        self.unmeasured
    }

    pub fn pause(&self) -> Option<&Pause> {
        self.pause.as_ref()
    }

    pub(super) fn repeats(&self) -> &Repeats {
        &self.repeats
    }

    pub(super) fn raised_to(&self, scope: BudgetScope, id: Option<&str>, measure: BudgetMeasure) -> Option<u64> {
        self.raised.iter().find(|entry| entry.is(scope, id, measure)).map(|entry| entry.limit)
    }

    /// Whether it was said that this limit is near.
    pub fn has_warned(&self, scope: BudgetScope, id: Option<&str>, measure: BudgetMeasure, limit: u64) -> bool {
        self.warned.iter().any(|entry| entry.is(scope, id, measure) && entry.limit == limit)
    }

    /// Whether it was said that this limit is reached.
    pub fn has_reached(&self, scope: BudgetScope, id: Option<&str>, measure: BudgetMeasure, limit: u64) -> bool {
        self.reached.iter().any(|entry| entry.is(scope, id, measure) && entry.limit == limit)
    }

    pub fn tally(&self) -> Option<Tally> {
        let raised = self.raised.iter().cloned().map(|entry| Raised {
            scope: entry.scope,
            id: entry.id,
            measure: entry.measure,
            limit: entry.limit,
        });
        let tally = Tally { session: self.of_session(), turn: self.of_turn(), raised: raised.collect() };
        Some(tally).filter(|tally| *tally != Tally::default())
    }

    /// A ledger that says what a tally says.
    pub fn of_tally(tally: &Tally) -> Self {
        let raised = tally.raised.iter().cloned().map(|raised| Entry {
            scope: raised.scope,
            id: raised.id,
            measure: raised.measure,
            limit: raised.limit,
        });
        Self {
            ended: tally.session.replacing(tally.turn, Spent::default()),
            turn: tally.turn,
            raised: raised.collect(),
            ..Self::default()
        }
    }

    pub fn apply(&mut self, envelope: &Envelope) {
        match &envelope.event {
            Event::TurnStarted(started) => self.turn_started(started, envelope.turn_id.clone()),
            Event::Usage(usage) => self.turn = self.turn.used(usage),
            Event::Done(done) => {
                self.turn.worked_ms = done.worked_ms.unwrap_or(self.turn.worked_ms);
                (self.runs, self.holds_message, self.pause) = (false, false, None);
                self.repeats.clear();
            }
            Event::PermissionResolved(resolved) => self.resolved(resolved),
            Event::Budget(budget) => self.said(budget),
            Event::ModelChanged(_) => self.unmeasured = false,
            // What was spent before was spent by another session.
            Event::Forked(_) => *self = Self::default(),
            Event::SessionUpdated(updated) => {
                let names = |name: &str| updated.settings.as_ref().is_some_and(|settings| settings.contains_key(name));
                // Whoever says what a limit is means that, and not what was added to another.
                if names(OWN) {
                    self.raised.retain(|entry| !matches!(entry.scope, BudgetScope::Turn | BudgetScope::Session));
                }
                if names(GROUP) {
                    self.raised.retain(|entry| entry.scope != BudgetScope::Group);
                }
            }
            _ => self.repeats.apply(envelope),
        }
    }

    fn turn_started(&mut self, started: &TurnStarted, turn_id: Option<TurnId>) {
        self.ended = self.ended.plus(self.turn);
        if started.continues.is_some() {
            self.carried = Spent { turns: 0, ..self.of_turn() };
        } else {
            self.carried = Spent::default();
            for said in [&mut self.raised, &mut self.warned, &mut self.reached] {
                said.retain(|entry| entry.scope != BudgetScope::Turn);
            }
        }
        self.repeats.clear();
        (self.turn_id, self.runs) = (turn_id, true);
        self.holds_message = started.waits == Some(true);
        self.turn = Spent { turns: 1, ..Spent::default() };
    }

    fn resolved(&mut self, resolved: &PermissionResolved) {
        self.pause.take_if(|pause| pause.ask_id == resolved.ask_id);
    }

    fn said(&mut self, budget: &Budget) {
        let limit = from_units(budget.measure, budget.limit);
        let entry = Entry { scope: budget.scope, id: budget.id.clone(), measure: budget.measure, limit };
        match budget.state {
            BudgetState::Warned => note(&mut self.warned, entry),
            BudgetState::Reached => note(&mut self.reached, entry),
            BudgetState::Paused => {
                let Some(ask_id) = budget.ask_id.clone() else { return };
                let spent = from_units(budget.measure, budget.spent);
                let raised = from_units(budget.measure, budget.limit + budget.added.unwrap_or_default());
                let (scope, id, measure) = (entry.scope, entry.id, entry.measure);
                let how = budget.how.unwrap_or_default();
                self.pause = Some(Pause { ask_id, scope, id, measure, limit, spent, raised, how });
            }
            BudgetState::Raised => {
                self.holds_message &= budget.how != Some(BudgetHold::Message);
                self.repeats.count_again();
                // A sign of a runaway is no limit: it is counted again from here.
                if matches!(entry.measure, BudgetMeasure::Repeats | BudgetMeasure::Compactions | BudgetMeasure::Silence)
                {
                    self.reached.retain(|known| !known.is(entry.scope, entry.id.as_deref(), entry.measure));
                } else {
                    note(&mut self.raised, entry);
                }
            }
            BudgetState::Unmeasured => self.unmeasured = true,
            BudgetState::Interrupted | BudgetState::Stopped => {}
        }
    }
}

impl Entry {
    fn is(&self, scope: BudgetScope, id: Option<&str>, measure: BudgetMeasure) -> bool {
        self.scope == scope && self.id.as_deref() == id && self.measure == measure
    }
}

/// The newest that was said of each limit; of the day, of this day only.
fn note(said: &mut Vec<Entry>, entry: Entry) {
    said.retain(|known| known.scope != entry.scope || (known.id == entry.id && known.measure != entry.measure));
    said.push(entry);
}
