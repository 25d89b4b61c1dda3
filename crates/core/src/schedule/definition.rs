//! What people say of a schedule, and whether it makes sense by itself. Whether its runtime and its session are there is asked elsewhere.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use serde_with::skip_serializing_none;

use super::template::{MAX_TEMPLATE_BYTES, Template};
use super::{Error, Times};
use crate::budget::{self, Group, Limits};
use crate::id::{ScheduleId, SessionId};
use crate::time::Timestamp;

/// The longest id: a run's id has the time behind it, and is a session's.
const MAX_ID_BYTES: usize = 80;

/// Ids that would be another route.
const RESERVED_IDS: &[&str] = &["preview"];

const MAX_TITLE_BYTES: usize = 200;
const MAX_VARIABLES: usize = 64;
/// All variables together, and all parameters: with the prompt and the last result they fit into a document, however they are escaped.
const MAX_VARIABLE_BYTES: usize = 8 * 1024;

const MAX_PARAMS_BYTES: usize = 16 * 1024;

/// How many runs may be made up for at once.
pub const MAX_CATCH_UP: u32 = 100;

/// A day: a run that is later than the next one would be another one.
pub const MAX_JITTER_SECONDS: u32 = 24 * 60 * 60;

/// When runs are due.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
#[schemars(rename = "ScheduleWhen")]
pub enum When {
    /// By a cron expression, in the time zone of the schedule.
    Cron {
        /// Minute, hour, day of month, month, day of week; with a sixth field in front, seconds. `L`, `W`, `#` and `@daily` are understood.
        expression: String,
    },
    /// Again and again after the same time.
    Interval {
        /// Such as `15m`, `1h 30m`, `PT6H`; 100 ms at least.
        every: String,
        /// Counted from here; from the schedule's creation, if not given.
        from: Option<Timestamp>,
    },
    /// One time.
    Once { at: Timestamp },
}

/// Where a run takes place.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
#[schemars(rename = "ScheduleSession")]
pub enum Target {
    /// In a session of its own.
    #[default]
    New,
    /// All in one session: this one, or one that the first run creates.
    Same { session_id: Option<SessionId> },
    /// Each in a new fork of this session.
    Fork { session_id: SessionId },
}

/// What happens when a run is due while an earlier one goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "ScheduleOverlap")]
pub enum Overlap {
    /// The new one is left out.
    #[default]
    Skip,
    /// The new one waits.
    Queue,
    /// The old one is stopped.
    Stop,
}

/// What happens to runs that were due while the daemon was off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
#[schemars(rename = "ScheduleMissed")]
pub enum MissedRule {
    /// One run makes up for all of them.
    #[default]
    Once,
    /// The latest of them run, one after another.
    All {
        at_most: u32,
    },
    Skip,
}

/// A schedule as people define it.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ScheduleDefinition")]
pub struct Definition {
    pub title: String,
    pub when: When,
    /// The time zone of a cron expression, and of dates in the prompt.
    #[serde(default = "utc")]
    pub zone: String,
    /// What the agent is told. `{{date}}`, `{{time}}`, `{{last_result}}` and the schedule's own variables are put in when a run starts.
    pub prompt: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub variables: BTreeMap<String, String>,
    /// Who runs it. Not for a session that is there already, which has its own.
    pub runtime: Option<String>,
    /// What new sessions are created with: `cwd`, `model`, `mode` and all else that a session takes.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub params: Map<String, Value>,
    /// What each run may spend. At its end a person is asked.
    pub budget: Option<Limits>,
    /// What all runs may spend together. It counts for sessions that are created from then on.
    pub total_budget: Option<Limits>,
    #[serde(default)]
    pub session: Target,
    #[serde(default)]
    pub overlap: Overlap,
    #[serde(default)]
    pub missed: MissedRule,
    /// Runs start up to so much later than they are due, always equally much: many schedules of one hour do not all start in one moment.
    #[serde(default)]
    pub jitter_seconds: u32,
    #[serde(default)]
    pub paused: bool,
}

fn utc() -> String {
    "UTC".to_owned()
}

impl Definition {
    /// Refuses what makes no sense, and tells when runs are due.
    pub fn check(&self, from: Timestamp, now: Timestamp) -> Result<Times, Error> {
        let times = self.times(from)?;
        if let When::Once { at } = self.when
            && at <= now
        {
            return Err(Error::Past(at));
        }
        if times.after(now).is_none() {
            return Err(Error::Never);
        }
        self.check_words()?;
        Ok(times)
    }

    /// Refuses what makes no sense, whenever it is due.
    pub(super) fn check_words(&self) -> Result<(), Error> {
        self.check_fields()?;
        Template::parse(&self.prompt)?.check(self.variables.keys().map(String::as_str))
    }

    /// What a session is created with: what people said, and the budgets of this schedule.
    pub fn session_params(&self, id: &ScheduleId) -> Map<String, Value> {
        let mut params = self.params.clone();
        params.entry("title").or_insert_with(|| Value::from(self.title.as_str()));
        if let Some(limits) = self.budget.filter(|limits| !limits.is_empty()) {
            // A run is a turn.
            params.entry(budget::OWN).or_insert_with(|| json!({ "turn": limits }));
        }
        let group = Group { id: format!("schedule/{id}"), limits: self.total_budget.unwrap_or_default() };
        params.entry(budget::GROUP).or_insert_with(|| json!(group));
        params
    }

    pub(super) fn times(&self, from: Timestamp) -> Result<Times, Error> {
        Times::new(&self.when, &self.zone, from)
    }

    fn check_fields(&self) -> Result<(), Error> {
        if self.title.trim().is_empty() || self.title.len() > MAX_TITLE_BYTES {
            return Err(Error::field("title", format!("must have 1 to {MAX_TITLE_BYTES} bytes")));
        }
        if self.prompt.trim().is_empty() || self.prompt.len() > MAX_TEMPLATE_BYTES {
            return Err(Error::field("prompt", format!("must say something in at most {MAX_TEMPLATE_BYTES} bytes")));
        }
        let bytes: usize = self.variables.values().map(String::len).sum();
        if self.variables.len() > MAX_VARIABLES || bytes > MAX_VARIABLE_BYTES {
            let why = format!("may be {MAX_VARIABLES}, of {MAX_VARIABLE_BYTES} bytes together");
            return Err(Error::field("variables", why));
        }
        if Value::Object(self.params.clone()).to_string().len() > MAX_PARAMS_BYTES {
            return Err(Error::field("params", format!("have at most {MAX_PARAMS_BYTES} bytes")));
        }
        if self.jitter_seconds > MAX_JITTER_SECONDS {
            return Err(Error::field("jitter_seconds", format!("is at most {MAX_JITTER_SECONDS}")));
        }
        if let MissedRule::All { at_most } = self.missed
            && !(1..=MAX_CATCH_UP).contains(&at_most)
        {
            return Err(Error::field("missed.at_most", format!("must be between 1 and {MAX_CATCH_UP}")));
        }
        let creates = matches!(self.session, Target::New | Target::Same { session_id: None });
        for (field, limits, is_run) in [("budget", self.budget, true), ("total_budget", self.total_budget, false)] {
            let Some(limits) = limits.filter(|limits| !limits.is_empty()) else { continue };
            if !creates {
                return Err(Error::field(field, "is that of the session; leave it out, or let runs create one"));
            }
            if let Some(problem) = limits.problem(is_run) {
                return Err(Error::field(field, format!("is not right: {problem}")));
            }
        }
        match (&self.runtime, creates) {
            (None, true) => Err(Error::field("runtime", "is needed where runs create a session")),
            (Some(_), false) => {
                Err(Error::field("runtime", "is that of the session; leave it out, or let runs create one"))
            }
            (None, false) if !self.params.is_empty() => {
                Err(Error::field("params", "are those of the session; leave them out, or let runs create one"))
            }
            _ => Ok(()),
        }
    }
}

/// Accepts the id of a schedule from outside.
pub fn check_id(text: &str) -> Result<ScheduleId, Error> {
    let wrong = |why: String| Error::field("schedule_id", why);
    if text.len() > MAX_ID_BYTES {
        return Err(wrong(format!("has at most {MAX_ID_BYTES} bytes")));
    }
    if RESERVED_IDS.contains(&text) {
        return Err(wrong(format!("must not be {text:?}")));
    }
    ScheduleId::parse(text).map_err(|error| wrong(format!("cannot be used: {error}")))
}
