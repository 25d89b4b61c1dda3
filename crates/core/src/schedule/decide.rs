//! The decision which runs are due. It depends on the clock, on what was decided before and on nothing else, so a daemon that died after it and before
//! writing it down decides the same again.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{MissedRule, Times};
use crate::time::Timestamp;

/// How late a run may start and still be on time: longer than a restart takes.
pub(super) const GRACE_MS: i64 = 60 * 1000;

/// How many runs on time one decision makes. Of more, the older ones count as missed: no agent is started a thousand times because a clock jumped.
const MAX_ON_TIME: usize = 100;

/// How many missed runs are counted one by one.
const MAX_COUNTED: u32 = 10_000;

/// A clock that is so far behind what was decided stood wrong before. What is further ahead would not run until it is caught up with.
const WRONG_CLOCK_MS: i64 = 48 * 60 * 60 * 1000;

/// A run that has to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due {
    pub at: Timestamp,
    pub lateness: Lateness,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lateness {
    OnTime,
    /// It makes up for a time at which nobody was there.
    Late,
}

/// Runs that were due and are not made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MissedRange {
    /// The first and the last of them.
    pub first: Timestamp,
    pub last: Timestamp,
    pub count: u32,
    /// There are more than were counted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub and_more: bool,
}

impl MissedRange {
    /// Both, the other one being later.
    pub(super) fn and(self, later: Self) -> Self {
        Self {
            first: self.first,
            last: later.last,
            count: self.count.saturating_add(later.count),
            and_more: self.and_more || later.and_more,
        }
    }
}

/// What is to be done about everything that was due up to now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// In the order they were due.
    pub runs: Vec<Due>,
    pub missed: Option<MissedRange>,
    /// Everything that was due until here is decided.
    pub decided: Timestamp,
}

/// What was due after `decided` and until `now`. Runs start `offset` later than they are due.
pub fn decide(times: &Times, offset: i64, rule: MissedRule, decided: Timestamp, now: Timestamp) -> Decision {
    let horizon = now.plus_millis(-offset);
    let nothing = |decided| Decision { runs: Vec::new(), missed: None, decided };
    if decided.millis().saturating_sub(now.millis()) > WRONG_CLOCK_MS {
        return nothing(now);
    }
    let Some(newest) = times.until(horizon).filter(|due| *due > decided) else { return nothing(decided) };

    // Backwards from the newest: however long nobody was there, what may run is found at once.
    let grace_from = horizon.plus_millis(-GRACE_MS);
    let earlier = |due: &Timestamp| times.until(due.plus_millis(-1)).filter(|due| *due > decided);
    let mut backwards = std::iter::successors(Some(newest), earlier).peekable();
    let mut runs: Vec<Due> = Vec::new();
    while let Some(due) = backwards.next_if(|due| *due > grace_from && runs.len() < MAX_ON_TIME) {
        runs.push(Due { at: due, lateness: Lateness::OnTime });
    }
    let late = match rule {
        MissedRule::Skip => 0,
        // Whatever runs on time makes up for the others.
        MissedRule::Once => usize::from(runs.is_empty()),
        MissedRule::All { at_most } => at_most as usize,
    };
    runs.extend(backwards.by_ref().take(late).map(|at| Due { at, lateness: Lateness::Late }));
    let missed = backwards.next().and_then(|last| missed(times, decided, last));
    runs.reverse();
    Decision { runs, missed, decided: newest }
}

fn missed(times: &Times, decided: Timestamp, last: Timestamp) -> Option<MissedRange> {
    let first = times.after(decided)?;
    let mut count = 1;
    let mut at = first;
    while at < last && count < MAX_COUNTED {
        at = times.after(at)?;
        count += 1;
    }
    Some(MissedRange { first, last, count, and_more: at < last })
}
