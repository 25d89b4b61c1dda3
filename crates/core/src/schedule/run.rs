//! One run of a schedule: when it was due, and what became of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::MissedRange;
use crate::event::Usage;
use crate::id::{RunId, ScheduleId, Seq, SessionId, TurnId};
use crate::time::Timestamp;

/// Why there is a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "RunCause")]
pub enum Cause {
    Due,
    /// It makes up for a time at which the daemon was off.
    Late,
    /// Somebody wanted it now.
    Manual,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// It waits for an earlier one.
    Queued,
    /// Its session and its message are being made.
    Starting,
    /// The agent has its message, or will have it.
    Running,
    Ended,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunOutcome {
    Completed,
    Stopped,
    /// The daemon ended in the middle of it.
    Interrupted,
    Failed,
    /// An earlier one was going on.
    Skipped,
    /// The daemon was off, and nothing makes up for it.
    Missed,
}

/// Why a run ended as it did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RunReason")]
pub struct Reason {
    /// A stable word.
    pub code: String,
    pub message: String,
}

impl Reason {
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into() }
    }
}

/// What a run used.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct RunUsage {
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cost_usd: Option<f64>,
}

impl From<&Usage> for RunUsage {
    fn from(usage: &Usage) -> Self {
        Self { input_tokens: usage.input_tokens, output_tokens: usage.output_tokens, cost_usd: usage.cost_usd }
    }
}

/// One run, as it is stored and shown.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// Also the id of its message, and of the session that it creates.
    pub run_id: RunId,
    pub schedule_id: ScheduleId,
    pub due_at: Timestamp,
    pub cause: Cause,
    pub state: RunState,
    pub outcome: Option<RunOutcome>,
    pub reason: Option<Reason>,
    pub session_id: Option<SessionId>,
    pub turn_id: Option<TurnId>,
    /// Where in its session's log it begins.
    pub after: Option<Seq>,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    pub duration_ms: Option<i64>,
    pub usage: Option<RunUsage>,
    /// What the agent was told.
    pub prompt: Option<String>,
    /// What the agent said in the end, as far as that is kept.
    pub result: Option<String>,
    /// For a run that stands for those that were missed.
    pub missed: Option<MissedRange>,
    /// What was missed before this run, which its session is told.
    pub missed_before: Option<MissedRange>,
}

impl Run {
    pub(super) fn new(schedule_id: &ScheduleId, due_at: Timestamp, cause: Cause) -> Self {
        Self {
            run_id: run_id(schedule_id, due_at, cause),
            schedule_id: schedule_id.clone(),
            due_at,
            cause,
            state: RunState::Queued,
            outcome: None,
            reason: None,
            session_id: None,
            turn_id: None,
            after: None,
            started_at: None,
            ended_at: None,
            duration_ms: None,
            usage: None,
            prompt: None,
            result: None,
            missed: None,
            missed_before: None,
        }
    }

    pub fn is_active(&self) -> bool {
        matches!(self.state, RunState::Starting | RunState::Running)
    }
}

/// A run's name: its schedule, and when it was due.
pub fn run_id(schedule: &ScheduleId, due_at: Timestamp, cause: Cause) -> RunId {
    let mut stamp = due_at.to_string();
    stamp.retain(|c| !matches!(c, '-' | ':'));
    let mark = match cause {
        Cause::Manual => "-now",
        Cause::Due | Cause::Late => "",
    };
    RunId::trusted(format!("{schedule}.{stamp}{mark}"))
}

/// Where a run is kept: in the order of time behind the name of its schedule.
pub fn key_of(run: &RunId, schedule: &ScheduleId) -> String {
    let stamp = run.as_str().get(schedule.as_str().len() + 1..).unwrap_or_default();
    format!("{schedule}/{stamp}")
}
