//! One fact: what is written to a session's log, once, and never changed.
//!
//! `data` holds the payload of every type, `words` the words in them, `table` what is true of each type. Here is the envelope around them and its JSON, which is both what is
//! stored and what is sent.
//! Nothing here knows what a fact means for a turn or for a view.

mod data;
mod delegation;
mod empty_ids;
mod encoding;
mod history;
mod part;
mod samples;
mod source;
mod table;
#[cfg(test)]
mod tests;
mod unanswered;
mod words;

use serde_json::value::RawValue;

pub use self::data::*;
pub use self::delegation::*;
pub use self::encoding::{Record, UNREADABLE, readdress, schema};
pub use self::history::*;
pub use self::part::Part;
pub use self::samples::{samples, samples_page};
pub use self::source::MessageSource;
pub use self::table::{Durability, Event, EventAuthor, Large, Placement};
pub use self::unanswered::{AGENT, DAEMON};
pub use self::words::*;
use crate::id::{Seq, SessionId, SubagentId, TurnId};
use crate::time::Timestamp;

/// A fact with its place in the log.
#[derive(Debug, Clone)]
pub struct Envelope {
    pub seq: Seq,
    pub ts: Timestamp,
    pub session_id: SessionId,
    pub turn_id: Option<TurnId>,
    /// Who did it, when it was a sub-agent. Written inside `data`.
    pub subagent_id: Option<SubagentId>,
    pub event: Event,
}

/// A type this version does not know, or knows with another shape: kept as it came.
#[derive(Debug, Clone)]
pub struct Unknown {
    pub kind: String,
    pub data: Box<RawValue>,
}

/// Why bytes from a log are not an event.
#[derive(Debug, thiserror::Error)]
#[error("not an event: {0}")]
pub struct Error(#[from] serde_json::Error);
