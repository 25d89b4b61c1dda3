//! The numbers in commands. The mock may be a task of the daemon, so none is taken that would hurt it.

use super::Step;
use super::steps::turn_end;
use crate::event::{Failure, Outcome};

/// The largest that commands take.
const LIMITS: &[(&str, &[u64])] = &[
    ("garbage", &[256 << 20]),
    ("big", &[256 << 20]),
    ("sleep", &[24 * 3600 * 1000]),
    ("status", &[24 * 3600 * 1000]),
    ("stream", &[1_000_000_000, 16 << 20, 1_000_000]),
    ("spend", &[1_000_000_000, 200]),
    ("burn", &[1_000_000_000]),
    ("circle", &[200]),
    ("prose", &[1_000_000_000, 16 << 20, 1_000_000]),
];

/// What a word says, if it is a number: digits and nothing else, however many.
pub(super) fn number(word: &str) -> Option<u64> {
    let is_number = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| word.parse().unwrap_or(u64::MAX))
}

/// The limit that a number in a command is over, if one is.
pub(super) fn exceeded(words: &[&str]) -> Option<u64> {
    let (command, numbers) = words.split_first()?;
    let (_, limits) = LIMITS.iter().find(|(name, _)| name == command)?;
    let is_over = |word: &str, limit: u64| number(word).is_some_and(|number| number > limit);
    numbers.iter().zip(*limits).find(|(word, limit)| is_over(word, **limit)).map(|(_, limit)| *limit)
}

pub(super) fn number_too_large(prompt: &str, limit: u64) -> Vec<Step> {
    let failure = Failure {
        message: format!("{prompt:?} has a number over {limit}"),
        code: "invalid_request".to_owned(),
        retryable: false,
        fix: Some("Use a smaller one.".to_owned()),
    };
    vec![turn_end(Outcome::Failed, Some(failure))]
}
