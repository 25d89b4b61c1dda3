//! The wall clock, watched. Facts carry its time, but what is to happen in five seconds happens in five seconds, also when somebody sets the clock
//! meanwhile.

use std::time::{Duration, Instant};

use turnloom_core::time::Timestamp;

use super::now;

/// The wall clock beside one that nobody can set.
#[derive(Debug)]
pub(super) struct Clock {
    started: Instant,
    /// How far the wall clock is ahead of the time since then, in milliseconds.
    ahead: i64,
}

impl Clock {
    pub(super) fn start() -> Self {
        Self { started: Instant::now(), ahead: now().millis() }
    }

    /// The time, and by how many milliseconds the wall clock was set since the last look.
    pub(super) fn read(&mut self) -> (Timestamp, i64) {
        let wall = now();
        (wall, self.compare(wall, self.started.elapsed()))
    }

    fn compare(&mut self, wall: Timestamp, steady: Duration) -> i64 {
        let ahead = wall.millis().saturating_sub(i64::try_from(steady.as_millis()).unwrap_or(i64::MAX));
        ahead.saturating_sub(std::mem::replace(&mut self.ahead, ahead))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_set_counts() {
        let mut clock = Clock { started: Instant::now(), ahead: 1_000_000 };
        let mut at =
            |wall: i64, steady: u64| clock.compare(Timestamp::from_millis(wall), Duration::from_millis(steady));
        assert_eq!(at(1_000_010, 10), 0, "time passes");
        assert_eq!(at(-2_599_980, 20), -3_600_000, "set back by an hour");
        assert_eq!(at(-2_599_970, 30), 0, "and it stays there");
        assert_eq!(at(1_000_040, 40), 3_600_000, "set right again");
    }
}
