//! When something that failed is tried again: soon at first, then ever more rarely, for days. A little chance, from the name of what is sent, keeps those
//! that failed together from coming back together.

use sha2::{Digest, Sha256};

/// The first pause, the longest, and how long it is tried at all.
const FIRST_MS: i64 = 1_000;
const LONGEST_MS: i64 = 6 * 3600 * 1000;
const GIVE_UP_MS: i64 = 3 * 24 * 3600 * 1000;

/// How much longer a pause may be, in percent.
const JITTER: i64 = 20;

/// How long to wait after so many tries have failed, in milliseconds. Nothing after the last.
pub fn pause_ms(name: &str, failed: u32) -> Option<i64> {
    // Far fewer are as long as it takes.
    let before: i64 = (1..failed.min(1_000)).map(without_chance).sum();
    if before >= GIVE_UP_MS {
        return None;
    }
    let pause = without_chance(failed);
    let chance = Sha256::digest(format!("{name} {failed}").as_bytes());
    let percent = i64::from(chance.first().copied().unwrap_or_default()) * JITTER / 255;
    Some(pause + pause * percent / 100)
}

fn without_chance(failed: u32) -> i64 {
    // Twice as long each time; more doublings than these are over the longest anyway.
    (FIRST_MS << failed.saturating_sub(1).min(30)).min(LONGEST_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_tried_for_three_days_and_not_for_ever() {
        let mut waited = 0;
        let mut tries = 0;
        while let Some(pause) = pause_ms("msg", tries + 1) {
            assert!((FIRST_MS..=LONGEST_MS + LONGEST_MS / 5).contains(&pause), "{pause}");
            waited += pause;
            tries += 1;
        }
        assert!((GIVE_UP_MS..GIVE_UP_MS * 3 / 2).contains(&waited), "{waited}");
        assert!((20..40).contains(&tries), "{tries}");
        assert_eq!(pause_ms("msg", u32::MAX), None);
    }

    #[test]
    fn pauses_grow_and_differ() {
        for failed in 1..14 {
            assert!(pause_ms("a", failed) < pause_ms("a", failed + 2), "{failed}");
        }
        assert!((1..10).any(|failed| pause_ms("a", failed) != pause_ms("b", failed)));
        assert_eq!(pause_ms("a", 3), pause_ms("a", 3));
    }
}
