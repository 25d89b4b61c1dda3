//! What was spent: by one session, and by all of them.

use axum::Json;
use axum::extract::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use turnloom_core::budget::{
    self, Ledger, Level, Limits, Plan, Spent, Sum, Tally, in_units, own_levels, shared_levels,
};
use turnloom_core::event::{BudgetMeasure, BudgetScope};

use super::App;
use super::extract::Query;
use crate::log::SessionRow;

/// Days of an answer, unless asked for another number.
const DAYS: usize = 7;
const MAX_DAYS: usize = 400;

/// Groups of an answer: those that spent last.
const MAX_GROUPS: usize = 100;

/// What was spent, in the units of people.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub(super) struct Amounts {
    /// All that the model read and wrote, also what it read from a cache.
    tokens: u64,
    usd: f64,
    turns: u64,
    /// Of work, without those in which a person was waited for.
    minutes: f64,
}

impl From<Spent> for Amounts {
    fn from(spent: Spent) -> Self {
        let usd = in_units(BudgetMeasure::Usd, spent.nano_usd);
        let minutes = in_units(BudgetMeasure::Minutes, spent.worked_ms);
        Self { tokens: spent.tokens, usd, turns: spent.turns, minutes }
    }
}

/// A limit, and how far it is used up.
#[skip_serializing_none]
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct LimitView {
    scope: BudgetScope,
    /// Which group, which day.
    id: Option<String>,
    measure: BudgetMeasure,
    /// With what people added.
    limit: f64,
    spent: f64,
}

impl From<Level> for LimitView {
    fn from(level: Level) -> Self {
        let units = |amount| in_units(level.measure, amount);
        Self {
            scope: level.scope,
            measure: level.measure,
            limit: units(level.limit),
            spent: units(level.spent),
            id: level.id,
        }
    }
}

/// What a session has spent, and may.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct SessionBudget {
    spent: Amounts,
    /// Of the turn that runs, or the last one.
    turn: Amounts,
    /// Every limit that holds for it; those that it shares with others too.
    limits: Vec<LimitView>,
}

impl SessionBudget {
    /// Nothing, if it has spent nothing and nothing limits it.
    pub(super) fn of(app: &App, row: &SessionRow) -> Option<Self> {
        let budgets = app.sessions.budgets();
        let param = |name: &str| row.summary.settings.get(name).or_else(|| row.params.get(name));
        let plan = budgets.rules().plan(param(budget::OWN), param(budget::GROUP));
        let tally = row.summary.spent.as_deref().cloned().unwrap_or_default();
        if tally == Tally::default() && !plan.limits_anything() {
            return None;
        }
        let mut ledger = Ledger::of_tally(&tally);
        let mut levels = own_levels(&plan, &ledger, 0, 0);
        if plan.is_shared() {
            let shared = budgets.shared(&row.id, &plan, false);
            // The sums have what it spent already.
            ledger = Ledger::default();
            levels.extend(shared_levels(&plan, &shared, &ledger, 0));
        }
        let limits = levels.into_iter().filter(|level| !level.is_runaway()).map(LimitView::from).collect();
        Some(Self { spent: tally.session.into(), turn: tally.turn.into(), limits })
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct UsageQuery {
    /// How many days, with today.
    days: Option<usize>,
    /// Only this group.
    group: Option<String>,
}

/// What was spent on a day, or by a group.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct UsageSum {
    /// The day, or the name of the group.
    id: String,
    spent: Amounts,
}

/// What all sessions have spent, and may.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Usage {
    today: String,
    /// Of all sessions, as long as they are counted.
    daemon: Amounts,
    /// The newest first; days on which nothing was spent are left out.
    days: Vec<UsageSum>,
    /// Those that spent last come first.
    groups: Vec<UsageSum>,
    /// The limits of today and of all sessions.
    limits: Vec<LimitView>,
}

pub(super) async fn show(State(app): State<App>, Query(query): Query<UsageQuery>) -> Json<Usage> {
    let UsageQuery { days, group } = query;
    let budgets = app.sessions.budgets();
    let (rules, today) = (budgets.rules(), budgets.today());
    let plan = Plan {
        turn: Limits::default(),
        session: Limits::default(),
        group: None,
        day: rules.day,
        daemon: rules.daemon,
        runaway: rules.runaway,
    };
    let sum = |(id, sum): (&String, &Sum)| UsageSum { id: id.clone(), spent: sum.spent.into() };
    let usage = budgets.read(app.sessions.log(), |sums| {
        let mut groups: Vec<(&String, &Sum)> =
            sums.groups().iter().filter(|(id, _)| group.as_ref().is_none_or(|group| group == *id)).collect();
        groups.sort_by_key(|(_, sum)| std::cmp::Reverse(sum.at));
        let days = sums.days().iter().rev().take(days.unwrap_or(DAYS).min(MAX_DAYS)).map(sum).collect();
        let groups = groups.into_iter().take(MAX_GROUPS).map(sum).collect();
        (Amounts::from(sums.daemon().spent), days, groups)
    });
    let (daemon, days, groups) = usage.await;
    let nobody = turnloom_core::id::SessionId::trusted("");
    let shared = budgets.shared(&nobody, &plan, false);
    let limits = shared_levels(&plan, &shared, &Ledger::default(), 0).into_iter().map(LimitView::from).collect();
    Json(Usage { today, daemon, days, groups, limits })
}
