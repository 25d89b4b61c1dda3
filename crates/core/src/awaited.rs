//! Tracks an accepted message until its turn comes, for every client that sends one and waits for the result. Not here: what the turn says.

use crate::event::{Envelope, Event};
use crate::id::MessageId;

#[cfg(test)]
mod tests;

/// A fold of the log, from anywhere before the message was accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Awaited {
    message_id: MessageId,
    place: Place,
    archived: bool,
    ended: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// It was not in the queue yet, and may never be: most begin a turn at once.
    Elsewhere,
    Queued,
    Held,
    Removed,
    /// In a turn, which is where it stays.
    InTurn,
}

/// Why no turn comes, as things are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoTurnReason {
    #[error("the message was taken out of the queue")]
    Removed,
    #[error("the queue is held; the message waits until the queue is continued")]
    Held,
    #[error("the session is archived; the message waits until it is unarchived")]
    Archived,
    #[error("the session has ended; the message waits until it is resumed")]
    Ended,
}

impl Awaited {
    pub fn new(message_id: MessageId) -> Self {
        Self { message_id, place: Place::Elsewhere, archived: false, ended: false }
    }

    pub fn step(&mut self, envelope: &Envelope) {
        match &envelope.event {
            Event::UserMessage(message) if message.message_id == self.message_id => self.place = Place::InTurn,
            Event::QueueChanged(changed) => {
                let item = changed.queue.iter().find(|item| item.message_id == self.message_id);
                self.place = match (self.place, item) {
                    (Place::InTurn, _) => Place::InTurn,
                    (_, Some(item)) if item.held.is_some() => Place::Held,
                    (_, Some(_)) => Place::Queued,
                    (Place::Elsewhere, None) => Place::Elsewhere,
                    (Place::Queued | Place::Held | Place::Removed, None) => Place::Removed,
                };
            }
            Event::SessionUpdated(updated) => self.archived = updated.archived.unwrap_or(self.archived),
            Event::SessionReady(_) => self.ended = false,
            Event::SessionEnded(_) => self.ended = true,
            _ => {}
        }
    }

    /// Whether the turn that answers it has begun, or the one that runs has taken it in.
    pub fn is_in_turn(&self) -> bool {
        self.place == Place::InTurn
    }

    /// Whether the log has said anything of it.
    pub fn is_known(&self) -> bool {
        self.place != Place::Elsewhere
    }

    /// Why its turn does not come. To be asked between appends only: that a message leaves the queue and that its turn begins are two facts of one.
    pub fn no_turn_reason(&self) -> Option<NoTurnReason> {
        match self.place {
            Place::Removed => Some(NoTurnReason::Removed),
            Place::Queued | Place::Held if self.archived => Some(NoTurnReason::Archived),
            Place::Queued | Place::Held if self.ended => Some(NoTurnReason::Ended),
            Place::Held => Some(NoTurnReason::Held),
            Place::Elsewhere | Place::Queued | Place::InTurn => None,
        }
    }
}

impl NoTurnReason {
    /// The stable word for it.
    pub fn code(self) -> &'static str {
        match self {
            NoTurnReason::Removed => "not_queued",
            NoTurnReason::Held => "held",
            NoTurnReason::Archived => "archived",
            NoTurnReason::Ended => "session_ended",
        }
    }
}
