//! How tests wait.

#![allow(dead_code, reason = "each test program uses a part of this")]

use std::time::{Duration, Instant};

/// How long anything may take before a test gives up. Generous, because it is only ever waited for when something is broken: on a machine with
/// twenty times more to do than it can, a real agent takes a minute to begin.
pub(crate) const PATIENCE: Duration = Duration::from_mins(4);

/// Asks until there is an answer.
#[track_caller]
pub(crate) fn eventually<T>(what: &str, ask: impl FnMut() -> Option<T>) -> T {
    eventually_or(what, ask, String::new)
}

/// As [`eventually`], and says what there was instead.
#[track_caller]
pub(crate) fn eventually_or<T>(what: &str, mut ask: impl FnMut() -> Option<T>, instead: impl FnOnce() -> String) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(Instant::now() < deadline, "never: {what}\n{}", instead());
        std::thread::sleep(Duration::from_millis(5));
    }
}
