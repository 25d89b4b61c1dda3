//! What all sessions spend: a fold of the feed. Days are told apart by whoever knows the zone.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::amount::{Spent, from_units};
use super::rules::GROUP;
use crate::event::{BudgetMeasure, BudgetScope, BudgetState, Envelope, Event, Origin};
use crate::id::SessionId;

/// Days that are kept.
const MAX_DAYS: usize = 400;

/// Groups that are kept. Of more, the one that has not spent for longest is forgotten.
const MAX_GROUPS: usize = 10_000;

/// Sessions whose last turn is remembered after its end.
const MAX_ENDED: usize = 1_024;

/// The types that it reads.
const KINDS: &[&str] = &["turn_started", "usage", "done", "budget", "session_updated"];

/// What was spent somewhere, and what its limits were raised to.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Sum {
    pub spent: Spent,
    raised: Vec<(BudgetMeasure, u64)>,
    /// When it last changed, in milliseconds since 1970.
    pub at: i64,
}

impl Sum {
    pub fn raised_to(&self, measure: BudgetMeasure) -> Option<u64> {
        self.raised.iter().find(|(known, _)| *known == measure).map(|(_, limit)| *limit)
    }

    fn raise(&mut self, measure: BudgetMeasure, limit: u64) {
        let limit = self.raised_to(measure).map_or(limit, |known| known.max(limit));
        self.raised.retain(|(known, _)| *known != measure);
        self.raised.push((measure, limit));
    }
}

/// A turn that runs, or the last one, as far as it is counted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Running {
    turn: String,
    group: Option<String>,
    spent: Spent,
    /// It has ended, then.
    ended_at: Option<i64>,
}

/// The sums over all sessions.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Sums {
    daemon: Sum,
    days: BTreeMap<String, Sum>,
    groups: BTreeMap<String, Sum>,
    running: BTreeMap<SessionId, Running>,
}

/// The sums as one session needs them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Shared {
    pub daemon: SharedSum,
    pub day: SharedSum,
    pub group: Option<SharedSum>,
    /// The session's turn, as far as it is in the sums.
    pub own_turn: Option<(String, Spent)>,
    /// Of which limits this session is the one that warns.
    pub warns: Vec<(BudgetScope, BudgetMeasure)>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct SharedSum {
    pub id: Option<String>,
    pub spent: Spent,
    pub raised: Vec<(BudgetMeasure, u64)>,
}

impl SharedSum {
    pub(super) fn raised_to(&self, measure: BudgetMeasure) -> Option<u64> {
        self.raised.iter().find(|(known, _)| *known == measure).map(|(_, limit)| *limit)
    }

    fn of(id: Option<&str>, sum: Option<&Sum>) -> Self {
        let (spent, raised) = sum.map(|sum| (sum.spent, sum.raised.clone())).unwrap_or_default();
        Self { id: id.map(str::to_owned), spent, raised }
    }
}

impl Sums {
    /// Whether a fact of this type changes anything.
    pub fn reads(kind: &str) -> bool {
        KINDS.contains(&kind)
    }

    pub fn daemon(&self) -> &Sum {
        &self.daemon
    }

    pub fn days(&self) -> &BTreeMap<String, Sum> {
        &self.days
    }

    pub fn groups(&self) -> &BTreeMap<String, Sum> {
        &self.groups
    }

    /// What a session has to know, today.
    pub fn shared(&self, session: &SessionId, today: &str, group: Option<&str>) -> Shared {
        Shared {
            daemon: SharedSum::of(None, Some(&self.daemon)),
            day: SharedSum::of(Some(today), self.days.get(today)),
            group: group.map(|group| SharedSum::of(Some(group), self.groups.get(group))),
            own_turn: self.running.get(session).map(|running| (running.turn.clone(), running.spent)),
            warns: Vec::new(),
        }
    }

    /// A session is gone. What it spent is spent.
    pub fn removed(&mut self, session: &SessionId) {
        self.running.remove(session);
    }

    /// Takes in a fact. The facts with which a session begins (a fork, an import) are not told here: they are copies.
    pub fn apply(&mut self, envelope: &Envelope, day: &str) {
        let session = &envelope.session_id;
        let at = envelope.ts.millis();
        match &envelope.event {
            Event::TurnStarted(started) if started.origin != Origin::Import => {
                let Some(turn) = &envelope.turn_id else { return };
                let (turn, group) = (turn.to_string(), started.budget_group.clone());
                let running = Running { turn, group, spent: Spent::default(), ended_at: None };
                self.running.insert(session.clone(), running);
                self.spend(session, Spent { turns: 1, ..Spent::default() }, day, at);
            }
            Event::Usage(usage) => {
                if let Some(running) = self.running.get(session) {
                    self.spend(session, running.spent.used(usage), day, at);
                }
            }
            Event::Done(done) => {
                if let Some(running) = self.running.get(session) {
                    let worked_ms = done.worked_ms.unwrap_or(running.spent.worked_ms);
                    self.spend(session, Spent { worked_ms, ..running.spent }, day, at);
                }
                self.ended(session, at);
            }
            // A turn that runs belongs from here on to a group that it did not belong to.
            Event::SessionUpdated(updated) => {
                let group = updated.settings.as_ref().and_then(|settings| settings.get(GROUP)?.get("id")?.as_str());
                let running = self.running.get_mut(session).filter(|running| running.ended_at.is_none());
                if let (Some(group), Some(running)) = (group, running.filter(|running| running.group.is_none())) {
                    running.group = Some(group.to_owned());
                    let spent = running.spent;
                    let sum = self.group(group);
                    (sum.spent, sum.at) = (sum.spent.plus(spent), at);
                }
            }
            Event::Budget(budget) if budget.state == BudgetState::Raised => {
                let limit = from_units(budget.measure, budget.limit);
                match (budget.scope, &budget.id) {
                    (BudgetScope::Daemon, _) => self.daemon.raise(budget.measure, limit),
                    (BudgetScope::Day, Some(day)) => self.day(day).raise(budget.measure, limit),
                    (BudgetScope::Group, Some(group)) => self.group(group).raise(budget.measure, limit),
                    _ => {}
                }
            }
            _ => {}
        }
    }

    /// A turn has spent so much by now. What is new of it belongs to the day on which it is said.
    fn spend(&mut self, session: &SessionId, now: Spent, day: &str, at: i64) {
        let Some(running) = self.running.get_mut(session) else { return };
        let before = std::mem::replace(&mut running.spent, now);
        let group = running.group.clone();
        let add = |sum: &mut Sum| {
            sum.spent = sum.spent.replacing(before, now);
            sum.at = at;
        };
        add(&mut self.daemon);
        add(self.day(day));
        if let Some(group) = group {
            add(self.group(&group));
        }
    }

    fn ended(&mut self, session: &SessionId, at: i64) {
        if let Some(running) = self.running.get_mut(session) {
            running.ended_at = Some(at);
        }
        let ended = self.running.iter().filter_map(|(session, running)| Some((running.ended_at?, session)));
        if ended.clone().count() > MAX_ENDED {
            let oldest = ended.min().map(|(_, session)| session.clone());
            if let Some(oldest) = oldest {
                self.running.remove(&oldest);
            }
        }
    }

    fn day(&mut self, day: &str) -> &mut Sum {
        while self.days.len() >= MAX_DAYS && !self.days.contains_key(day) && self.days.pop_first().is_some() {}
        self.days.entry(day.to_owned()).or_default()
    }

    fn group(&mut self, group: &str) -> &mut Sum {
        if self.groups.len() >= MAX_GROUPS && !self.groups.contains_key(group) {
            let oldest = self.groups.iter().min_by_key(|(_, sum)| sum.at).map(|(name, _)| name.clone());
            if let Some(oldest) = oldest {
                self.groups.remove(&oldest);
            }
        }
        self.groups.entry(group.to_owned()).or_default()
    }
}
