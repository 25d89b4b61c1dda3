//! The daemon's token: which texts are valid, and where it is stored. Access with it is checked in `http`.

use std::collections::BTreeSet;

use sha2::{Digest as _, Sha256};

/// Who may call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Token {
    /// The one kept in the data directory, made at the first start.
    Kept,
    Given(String),
    /// Nobody is asked; only on loopback.
    None,
}

/// The fewest characters, and the fewest different ones, of a token that people elsewhere may try to guess.
const MIN_CHARACTERS: usize = 16;
const MIN_DIFFERENT: usize = 8;

/// Why a text is no token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadToken {
    #[error("the token is empty; leave --token and TURNLOOM_TOKEN out to use the one kept in the data directory")]
    Empty,
    #[error("the token begins or ends with a space; give it without")]
    OuterSpace,
    #[error("the token holds a character that a header cannot carry; use letters, digits and signs of ASCII")]
    Character,
    #[error(
        "the token is too easy to guess for a daemon that others can reach; use {MIN_CHARACTERS} random characters or more, or leave it out to use the one kept in the data directory"
    )]
    Weak,
}

/// What every token must be: an empty one would let anybody in, and one that cannot be sent nobody.
pub fn check(token: &str) -> Result<(), BadToken> {
    if token.trim().is_empty() {
        return Err(BadToken::Empty);
    }
    if token.trim() != token {
        return Err(BadToken::OuterSpace);
    }
    if token.chars().any(|c| !(c.is_ascii_graphic() || c == ' ')) {
        return Err(BadToken::Character);
    }
    Ok(())
}

/// What a token must be where strangers can try.
pub fn check_strength(token: &str) -> Result<(), BadToken> {
    let different: BTreeSet<char> = token.chars().collect();
    if token.len() < MIN_CHARACTERS || different.len() < MIN_DIFFERENT {
        return Err(BadToken::Weak);
    }
    Ok(())
}

/// 256 random bits.
pub fn random_token() -> String {
    let random = [uuid::Uuid::new_v4(), uuid::Uuid::new_v4(), uuid::Uuid::new_v4()];
    let mut hash = Sha256::new();
    for part in random {
        hash.update(part.as_bytes());
    }
    turnloom_core::blob::hex(&hash.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_protects_is_a_token() {
        for (token, expected) in [
            ("", Err(BadToken::Empty)),
            (" \t", Err(BadToken::Empty)),
            (" secret", Err(BadToken::OuterSpace)),
            ("secret\n", Err(BadToken::OuterSpace)),
            ("sécret", Err(BadToken::Character)),
            ("a\u{7f}b", Err(BadToken::Character)),
            ("secret", Ok(())),
            ("two words", Ok(())),
        ] {
            assert_eq!(check(token), expected, "{token:?}");
        }
        for (token, expected) in [
            ("secret", Err(BadToken::Weak)),
            ("aaaaaaaaaaaaaaaaaaaaaaaa", Err(BadToken::Weak)),
            ("0123456789abcde", Err(BadToken::Weak)),
            ("0123456789abcdef", Ok(())),
        ] {
            assert_eq!(check_strength(token), expected, "{token:?}");
        }
    }
}
