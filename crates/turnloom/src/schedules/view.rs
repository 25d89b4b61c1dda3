//! A schedule as clients see it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use serde_with::skip_serializing_none;
use turnloom_core::budget::Limits;
use turnloom_core::id::ScheduleId;
use turnloom_core::schedule::{Machine, MissedRule, Overlap, Run, Target, When};
use turnloom_core::time::Timestamp;

/// How many of the next times are told.
const NEXT: usize = 5;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ScheduleStatus {
    Active,
    Paused,
    /// Nothing will be due any more.
    Ended,
}

#[skip_serializing_none]
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Schedule")]
pub struct ScheduleView {
    pub schedule_id: ScheduleId,
    pub title: String,
    pub status: ScheduleStatus,
    pub when: When,
    /// The same in words.
    pub words: String,
    pub zone: String,
    pub prompt: String,
    pub variables: BTreeMap<String, String>,
    pub runtime: Option<String>,
    pub params: Map<String, Value>,
    pub budget: Option<Limits>,
    pub total_budget: Option<Limits>,
    pub session: Target,
    pub overlap: Overlap,
    pub missed: MissedRule,
    pub jitter_seconds: u32,
    pub paused: bool,
    /// When the next runs start, at most five.
    pub next: Vec<Timestamp>,
    /// The runs that have not ended, the oldest first.
    pub open_runs: Vec<Run>,
    /// The last one that ended, without its prompt and result.
    pub last_run: Option<Run>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl ScheduleView {
    pub(super) fn of(machine: &Machine, now: Timestamp) -> Self {
        let schedule = machine.schedule().clone();
        let definition = schedule.definition;
        let next = machine.next(NEXT, now);
        let status = match (definition.paused, next.is_empty()) {
            (true, _) => ScheduleStatus::Paused,
            (false, true) => ScheduleStatus::Ended,
            (false, false) => ScheduleStatus::Active,
        };
        Self {
            schedule_id: schedule.schedule_id,
            title: definition.title,
            status,
            words: machine.words(),
            when: definition.when,
            zone: definition.zone,
            prompt: definition.prompt,
            variables: definition.variables,
            runtime: definition.runtime,
            params: definition.params,
            budget: definition.budget,
            total_budget: definition.total_budget,
            session: definition.session,
            overlap: definition.overlap,
            missed: definition.missed,
            jitter_seconds: definition.jitter_seconds,
            paused: definition.paused,
            next,
            open_runs: machine.open().cloned().collect(),
            last_run: schedule.progress.last_run.map(|run| *run),
            created_at: schedule.created_at,
            updated_at: schedule.updated_at,
        }
    }
}
