//! Sessions that work for other sessions: how far that may go, what travels between the two, and how a turn of the one ended for the other. What a
//! session makes of it is in `session/delegating`; who makes the other session is the shell's business.

mod modes;
mod outcome;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

pub use self::modes::{is_looser, looseness};
pub use self::outcome::{KINDS, TurnEnd, TurnFold, activity_of};
use crate::event::{Delegated, DelegatedAsk, DelegationState};
use crate::id::{MessageId, Seq, SessionId, TurnId};

/// The parameter, and setting, of every runtime: whether the agent is offered the tools to delegate.
pub const ALLOWED: &str = "delegation";

/// What of a turn's last words goes to whoever delegated it.
pub const MAX_TEXT_BYTES: usize = 64 * 1024;

/// What of it stands in the parent's log.
pub const MAX_FACT_BYTES: usize = 8 * 1024;

/// An ask that is larger stands in the parent's log without what exactly is asked.
pub const MAX_ASK_BYTES: usize = 32 * 1024;

/// Asks of other sessions that one says of those that work for it.
pub const MAX_ASKS: usize = 32;

/// How the ids of the messages begin that say how a turn ended.
pub const MESSAGE_PREFIX: &str = "delegation-";

/// How far delegating may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// Whether agents are offered the tools, unless the session says otherwise.
    pub allowed: bool,
    /// How many sessions may stand above each other.
    pub depth: usize,
    /// How many may work for one session at once.
    pub at_once: usize,
    /// How many one session may have had, in all.
    pub total: usize,
    /// Who stops a session stops those that work for it.
    pub stop_children: bool,
}

impl Default for Rules {
    fn default() -> Self {
        Self { allowed: false, depth: 3, at_once: 4, total: 50, stop_children: true }
    }
}

/// What a session is made with that works for another one.
#[derive(Debug, Clone, PartialEq)]
pub struct Inherited {
    pub delegated: Delegated,
    /// Budgets, and whether it may delegate in its turn.
    pub params: Map<String, Value>,
    /// The parent's mode and folder: the child's are not wider.
    pub mode: Option<String>,
    pub cwd: Option<String>,
}

/// A session that an agent wants to have made.
#[derive(Debug, Clone, PartialEq)]
pub struct Start {
    pub child: SessionId,
    pub runtime: String,
    pub prompt: String,
    pub cwd: Option<String>,
    pub message_id: MessageId,
    pub inherited: Inherited,
}

/// A session that a client makes, for another one.
#[derive(Debug, Clone, PartialEq)]
pub struct NewChild {
    pub child: SessionId,
    pub runtime: String,
    pub title: String,
    pub cwd: Option<String>,
}

/// What a session hears of one that works for it.
#[derive(Debug, Clone, PartialEq)]
pub struct ChildNews {
    pub child: SessionId,
    pub news: News,
    pub heard: Heard,
}

/// When it is heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    AsItHappens,
    /// By the daemon after the one in which it happened: nothing goes on by itself.
    AfterRestart,
}

#[derive(Debug, Clone, PartialEq)]
pub enum News {
    /// It is there, and has been told.
    Started,
    /// It has not been told, and will not be.
    NotStarted {
        message_id: Option<MessageId>,
        reason: String,
    },
    Changed {
        state: DelegationState,
        activity: Option<String>,
        asks: Vec<DelegatedAsk>,
        seq: Seq,
    },
    /// A turn has ended that was begun for the parent.
    Ended(Box<TurnEnd>),
    Removed,
}

/// The message that says how a turn ended. There is one such turn, so there is one such message, however often it is sent.
pub fn message_id(child: &SessionId, turn: Option<&TurnId>) -> MessageId {
    let turn = turn.map_or("none", TurnId::as_str);
    MessageId::trusted(format!("{MESSAGE_PREFIX}{child}-{turn}"))
}

/// What tells a task from others: the same one given on to somebody below would come round for ever.
pub fn fingerprint(runtime: &str, cwd: Option<&str>, prompt: &str) -> String {
    let digest = crate::policy::digest(&serde_json::json!([runtime, cwd, prompt.trim()]));
    digest.chars().take(16).collect()
}

/// The beginning of a text.
pub fn cut(text: &str, limit: usize) -> &str {
    text.get(..text.floor_char_boundary(limit)).unwrap_or(text)
}
