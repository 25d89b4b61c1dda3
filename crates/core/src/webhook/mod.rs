//! Webhooks: what happens in sessions, told to other programs. Signed as Standard Webhooks are, at least once, in order for each session.
//!
//! Here is which facts are told (`payload`), how that is signed (`sign`), where it may be sent (`address`), when it is tried again (`backoff`) and how far a
//! subscription is (`outbox`). Not here: sockets, the clock, and where positions are kept.

pub mod address;
pub mod backoff;
mod outbox;
pub mod payload;
pub mod sign;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

pub use self::outbox::{Change, Item, ItemState, MAX_DEAD, MAX_WAITING, Outbox};

use crate::event::Origin;

/// What is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "WebhookEventType")]
pub enum EventType {
    #[serde(rename = "turn.completed")]
    TurnCompleted,
    #[serde(rename = "turn.failed")]
    TurnFailed,
    /// Somebody stopped it.
    #[serde(rename = "turn.stopped")]
    TurnStopped,
    #[serde(rename = "ask.opened")]
    AskOpened,
    #[serde(rename = "ask.resolved")]
    AskResolved,
    #[serde(rename = "budget.reached")]
    BudgetReached,
    #[serde(rename = "schedule.missed")]
    ScheduleMissed,
}

impl EventType {
    pub const ALL: [Self; 7] = [
        Self::TurnCompleted,
        Self::TurnFailed,
        Self::TurnStopped,
        Self::AskOpened,
        Self::AskResolved,
        Self::BudgetReached,
        Self::ScheduleMissed,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::TurnCompleted => "turn.completed",
            Self::TurnFailed => "turn.failed",
            Self::TurnStopped => "turn.stopped",
            Self::AskOpened => "ask.opened",
            Self::AskResolved => "ask.resolved",
            Self::BudgetReached => "budget.reached",
            Self::ScheduleMissed => "schedule.missed",
        }
    }
}

/// Who is told what.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "WebhookSettings")]
pub struct Subscription {
    pub url: String,
    /// Which events; all, if there are none.
    #[serde(default)]
    pub events: Vec<EventType>,
    /// Only of these sessions.
    #[serde(default)]
    pub sessions: Vec<String>,
    /// Only of sessions with these runtimes.
    #[serde(default)]
    pub runtimes: Vec<String>,
    /// Only of turns that came about so.
    #[serde(default)]
    pub origins: Vec<Origin>,
    /// For people.
    pub description: Option<String>,
    /// Nothing is sent while it is paused; what happens meanwhile is told afterwards.
    #[serde(default)]
    pub paused: bool,
}

/// The most that one filter may list.
const MAX_LISTED: usize = 100;
const MAX_DESCRIPTION_BYTES: usize = 500;

impl Subscription {
    /// What is wrong with it.
    pub fn check(&self) -> Result<(), String> {
        address::Target::parse(&self.url).map_err(|error| format!("`url`: {error}"))?;
        for (name, length) in
            [("sessions", self.sessions.len()), ("runtimes", self.runtimes.len()), ("origins", self.origins.len())]
        {
            if length > MAX_LISTED {
                return Err(format!("`{name}` lists at most {MAX_LISTED}"));
            }
        }
        match &self.description {
            Some(text) if text.len() > MAX_DESCRIPTION_BYTES => {
                Err(format!("`description` has at most {MAX_DESCRIPTION_BYTES} bytes"))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Whether an event may be wanted, before more is known of it.
    pub fn may_want(&self, event: EventType, session: &str) -> bool {
        (self.events.is_empty() || self.events.contains(&event))
            && (self.sessions.is_empty() || self.sessions.iter().any(|one| one == session))
    }

    /// Whether one is wanted.
    pub fn wants(&self, runtime: &str, origin: Option<Origin>) -> bool {
        (self.runtimes.is_empty() || self.runtimes.iter().any(|one| one == runtime))
            && (self.origins.is_empty() || origin.is_some_and(|origin| self.origins.contains(&origin)))
    }
}
