//! Names and positions. An id is text that somebody chose, so every id that comes from outside is checked here, once.

use std::borrow::Borrow;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// The longest id accepted from outside.
pub const MAX_ID_BYTES: usize = 128;

/// Why a text is not an id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("an id must not be empty")]
    Empty,
    #[error("an id has at most {MAX_ID_BYTES} bytes, this one has {0}")]
    TooLong(usize),
    #[error("an id must not be {0:?}: in an address that means another place")]
    Place(String),
    #[error("an id may hold letters, digits, '-', '_', '.' and ':', not {0:?}")]
    Character(char),
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident $prefix:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Accepts a text from outside after checking it.
            pub fn parse(text: &str) -> Result<Self, Error> {
                check(text).map(|()| Self(text.to_owned()))
            }

            /// Takes a text that is already known to be an id: read from our own log, or made by an agent whose ids we only echo.
            pub fn trusted(text: impl Into<String>) -> Self {
                Self(text.into())
            }

            /// Makes a new id that sorts by time.
            pub fn fresh(ids: &mut IdSource, at: Timestamp) -> Self {
                Self(ids.next($prefix, at))
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:?}", self.0)
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }
    )*};
}

ids! {
    /// One persistent conversation with one runtime.
    SessionId "";
    /// From a user message, or another trigger, to `done`.
    TurnId "turn_";
    /// One message of a person, or of whatever stands for one.
    MessageId "msg_";
    /// Something that waits for a person.
    AskId "ask_";
    /// A stretch of text or thinking.
    BlockId "block_";
    /// One call of a tool; the agent's own id.
    ToolUseId "tool_";
    /// An agent started by an agent.
    SubagentId "sub_";
    /// A command or an agent that outlives its turn.
    BackgroundId "bg_";
    /// What sends an agent prompts by itself.
    ScheduleId "schedule_";
    /// One run of a schedule.
    RunId "run_";
}

fn check(text: &str) -> Result<(), Error> {
    if text.is_empty() {
        return Err(Error::Empty);
    }
    if text.len() > MAX_ID_BYTES {
        return Err(Error::TooLong(text.len()));
    }
    if matches!(text, "." | "..") {
        return Err(Error::Place(text.to_owned()));
    }
    match text.chars().find(|c| !(c.is_ascii_alphanumeric() || "-_.:".contains(*c))) {
        Some(c) => Err(Error::Character(c)),
        None => Ok(()),
    }
}

/// A position in one session's log. The first event has 1; `ZERO` stands before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Seq(pub u64);

impl Seq {
    pub const ZERO: Seq = Seq(0);

    #[must_use]
    pub fn next(self) -> Seq {
        Seq(self.0 + 1)
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Where new ids come from: a seeded generator, so that a simulation with the same seed makes the same ids.
#[derive(Debug, Clone)]
pub struct IdSource(u64);

impl IdSource {
    pub fn seeded(seed: u64) -> Self {
        Self(seed)
    }

    /// `SplitMix64`: each step is a bijection of a counter, so one seed never repeats an id.
    fn random(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn next(&mut self, prefix: &str, at: Timestamp) -> String {
        let [high, low] = [self.random(), self.random()];
        let mut random = [0; 10];
        random
            .iter_mut()
            .zip(high.to_be_bytes().into_iter().chain(low.to_be_bytes()))
            .for_each(|(to, from)| *to = from);
        let uuid = uuid::Builder::from_unix_timestamp_millis(at.millis().max(0).unsigned_abs(), &random).into_uuid();
        format!("{prefix}{uuid}")
    }
}
