//! Schedules: when an agent is sent a prompt by itself, which of these runs are due, and what became of each.
//!
//! A run is named by its schedule and the moment it was due. Its session and its message are named by the run, so whatever is done again after a crash
//! finds what was done before. Not here: a clock, the store, and whoever creates sessions and sends messages.

mod decide;
mod definition;
mod machine;
mod outcome;
mod run;
mod template;
mod times;
mod words;

#[cfg(test)]
mod tests;

pub use self::decide::{Decision, Due, Lateness, MissedRange, decide};
pub use self::definition::{Definition, MAX_CATCH_UP, MAX_JITTER_SECONDS, MissedRule, Overlap, Target, When, check_id};
pub use self::machine::{Effect, MAX_HISTORY, MAX_QUEUED, Machine, NotNow, Output, Progress, Schedule, Started};
pub use self::outcome::{End, RunFold};
pub use self::run::{Cause, Reason, Run, RunOutcome, RunState, RunUsage, key_of, run_id};
pub use self::template::{MAX_RESULT_BYTES, Template, Words};
pub use self::times::Times;
pub use self::words::words;

use crate::id::SessionId;
use crate::time::Timestamp;

/// Why a schedule cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("`when.expression`: {expression:?} is no cron expression: {why}")]
    Cron { expression: String, why: String },
    #[error("`zone`: there is no time zone {0:?}; names are those of the IANA database, such as Europe/Berlin or UTC")]
    Zone(String),
    #[error("`when.every`: {every:?} {why}")]
    Interval { every: String, why: String },
    #[error("`when`: there is no such time in the years to come")]
    Never,
    #[error("`when.at`: {0} is in the past")]
    Past(Timestamp),
    #[error("`prompt`: {0}")]
    Template(String),
    #[error("`{field}` {why}")]
    Field { field: &'static str, why: String },
    #[error("`session`: there is no session {0}")]
    NoSession(SessionId),
}

impl Error {
    /// The stable word for it.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Cron { .. } => "invalid_cron",
            Self::Zone(_) => "unknown_zone",
            Self::Interval { .. } => "invalid_interval",
            Self::Never => "never_due",
            Self::Past(_) => "in_the_past",
            Self::Template(_) => "invalid_template",
            Self::Field { .. } => "invalid_request",
            Self::NoSession(_) => "session_not_found",
        }
    }

    pub(crate) fn field(field: &'static str, why: impl Into<String>) -> Self {
        Self::Field { field, why: why.into() }
    }
}
