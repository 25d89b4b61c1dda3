//! What of all sessions is for a person: what waits, what failed, what finished unread; in which order, and what devices are told of it.
//!
//! An inbox is a function of what is stored beside logs ([`items_of`]), of the marks that people made ([`Mark`]) and of the time. Not here: where marks and
//! devices are kept, the clock, and how a device is reached.

mod items;
mod notices;
mod order;
mod quiet;
#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

pub use self::items::{Session, item_id, items_of};
pub use self::notices::{Decision, DoneChoice, Notice, Settings, Telling, Told, decide, notice, telling};
pub use self::order::{next_change, sort};
pub use self::quiet::{QuietHours, TimeOfDay};
use crate::event::{Hold, Origin};
use crate::id::{Seq, SessionId, TurnId};
use crate::summary::{LostAsk, PendingAsk, Problem};
use crate::time::Timestamp;

/// What something in the inbox is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "InboxKind")]
pub enum Kind {
    /// An agent asks for a permission, an answer or a value.
    Ask,
    /// A limit is reached, and the work waits for a word.
    Budget,
    /// What was asked could not be answered any more.
    LostAsk,
    /// Messages do not go on by themselves.
    Held,
    /// The last turn failed.
    Failed,
    /// The last turn is done.
    Finished,
}

impl Kind {
    /// Whether it waits for a person, instead of only being news.
    pub fn needs_you(self) -> bool {
        match self {
            Self::Ask | Self::Budget | Self::LostAsk | Self::Held => true,
            Self::Failed | Self::Finished => false,
        }
    }

    /// Whether it is there until it is settled, whoever has seen it.
    pub fn stays_when_read(self) -> bool {
        match self {
            Self::Ask | Self::Budget | Self::LostAsk | Self::Held => true,
            Self::Failed | Self::Finished => false,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Budget => "budget",
            Self::LostAsk => "lost_ask",
            Self::Held => "held",
            Self::Failed => "failed",
            Self::Finished => "finished",
        }
    }
}

/// One thing for a person.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "InboxThing")]
pub struct Item {
    /// Follows from what it is about, so that it is the same on every device and after a restart.
    pub item_id: String,
    pub kind: Kind,
    pub session_id: SessionId,
    pub session_title: String,
    pub runtime: String,
    /// One line for a person.
    pub title: String,
    /// Since when it waits, or when it ended.
    pub since: Timestamp,
    /// Where the log says so.
    pub seq: Seq,
    /// How much waits for it: the turn, and the messages behind it.
    pub blocks: u32,
    pub turn_id: Option<TurnId>,
    /// How the turn came about that ended.
    pub origin: Option<Origin>,
    /// What is asked; it is answered as every ask is.
    pub ask: Option<PendingAsk>,
    /// What was asked and could not be answered any more.
    pub lost_ask: Option<LostAsk>,
    /// What went wrong.
    pub problem: Option<Problem>,
    /// Why messages are held.
    pub held: Option<Hold>,
}

/// What a person said of an item.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Mark {
    pub read_at: Option<Timestamp>,
    /// It comes back then.
    pub snoozed_until: Option<Timestamp>,
}

impl Mark {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub fn is_snoozed(&self, now: Timestamp) -> bool {
        self.snoozed_until.is_some_and(|until| now < until)
    }
}

/// Whether an item is in the inbox, or done with.
pub fn is_listed(item: &Item, mark: Mark) -> bool {
    mark.read_at.is_none() || item.kind.stays_when_read()
}
