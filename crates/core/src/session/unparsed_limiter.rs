//! Limits how many unparsed lines of an agent go into the log. The first lines show what is wrong. Of a program that prints garbage without end, the
//! rest is only counted, so that the log does not grow with it.

use crate::event::AgentUnparsed;
use crate::time::Timestamp;

/// How much of each of its texts goes into the log. Where something was said and why it could not be read often quote it.
const KEPT_BYTES: usize = 2 * 1024;

/// Facts that may come at once.
const MAX_BURST: u32 = 200;

/// How long it takes until there is room for another.
const REFILL_MS: i64 = 1_000;

/// Leaves of each text only its beginning.
pub(super) fn shorten(unparsed: &mut AgentUnparsed) {
    for text in [&mut unparsed.location, &mut unparsed.error, &mut unparsed.raw] {
        text.truncate(text.floor_char_boundary(KEPT_BYTES));
    }
}

/// A token bucket for unparsed lines, and the count of those that were left out.
#[derive(Debug)]
pub(super) struct UnparsedLimiter {
    room: u32,
    refilled_at: Option<Timestamp>,
    left_out: u64,
    bytes: u64,
}

impl Default for UnparsedLimiter {
    fn default() -> Self {
        Self { room: MAX_BURST, refilled_at: None, left_out: 0, bytes: 0 }
    }
}

impl UnparsedLimiter {
    /// Whether this one goes into the log; if not, it is counted.
    pub(super) fn allows(&mut self, unparsed: &AgentUnparsed, at: Timestamp) -> bool {
        let since = self.refilled_at.map_or(0, |then| at.millis().saturating_sub(then.millis()));
        // A clock that was set back begins anew.
        if self.refilled_at.is_none() || !(0..REFILL_MS).contains(&since) {
            let more = u32::try_from(since.max(0) / REFILL_MS).unwrap_or(MAX_BURST);
            self.room = self.room.saturating_add(more).min(MAX_BURST);
            self.refilled_at = Some(at);
        }
        let admitted = self.room > 0;
        if admitted {
            self.room -= 1;
        } else {
            self.left_out += 1;
            self.bytes += unparsed.size.unwrap_or(unparsed.raw.len() as u64);
        }
        admitted
    }

    /// What was left out since the last time, as a fact.
    pub(super) fn take_summary(&mut self, runtime: &str) -> Option<AgentUnparsed> {
        let (count, bytes) = (std::mem::take(&mut self.left_out), std::mem::take(&mut self.bytes));
        (count > 0).then(|| AgentUnparsed {
            location: format!("{runtime}/noise"),
            error: format!("{count} more could not be read and were left out of the log"),
            raw: String::new(),
            size: Some(bytes),
            sha256: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_BURST, UnparsedLimiter};
    use crate::event::AgentUnparsed;
    use crate::time::Timestamp;

    #[test]
    fn garbage_without_end_is_counted_and_not_kept() {
        let mut limiter = UnparsedLimiter::default();
        let line = AgentUnparsed { size: Some(100), ..AgentUnparsed::default() };
        let mut kept = 0_u32;
        // A thousand lines a second, for a minute.
        for n in 0..60_000_i64 {
            kept += u32::from(limiter.allows(&line, Timestamp::from_millis(n)));
        }
        assert!((MAX_BURST..MAX_BURST + 61).contains(&kept), "{kept}");
        let account = limiter.take_summary("mock").unwrap();
        assert_eq!(account.size, Some(u64::from(60_000 - kept) * 100));
        assert!(account.error.starts_with(&format!("{} more", 60_000 - kept)), "{}", account.error);
        assert!(limiter.take_summary("mock").is_none(), "it is told once");
        assert!(limiter.allows(&line, Timestamp::from_millis(200_000)), "a quiet time makes room again");
    }

    #[test]
    fn a_clock_that_is_set_back_leaves_nobody_without_room() {
        let mut limiter = UnparsedLimiter::default();
        let line = AgentUnparsed::default();
        (0..MAX_BURST).for_each(|_| assert!(limiter.allows(&line, Timestamp::from_millis(9_000_000))));
        assert!(!limiter.allows(&line, Timestamp::from_millis(1_000)));
        assert!(limiter.allows(&line, Timestamp::from_millis(2_500)));
    }
}
