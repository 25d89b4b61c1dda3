//! Earlier turns, for clients that send a message again or reconnect without their position. This is a fold of the whole log, shared by all readers.

use serde_json::Value;

use super::request::shows;
use crate::event::{Envelope, Event, Part};
use crate::id::{MessageId, Seq, TurnId};
use crate::projection::Projection;

/// About what a turn takes in memory.
const TURN_BYTES: usize = 1_024;

/// What a message said, under its id.
type Message = (MessageId, Vec<Part>);

/// The turns that stand, and the asks in them.
#[derive(Debug, Clone, Default)]
pub struct Turns {
    /// In order, a turn once for each message in it and once for its start.
    standing: Vec<(TurnId, Option<Message>)>,
    /// Every message that was ever said, also those that were taken back.
    said: Vec<MessageId>,
    asks: Vec<Envelope>,
}

/// A message that is to be said again.
#[derive(Debug, Clone, PartialEq)]
pub struct Regeneration {
    /// How many turns have to be taken back for it.
    pub turns: usize,
    /// The id under which it is said: the same again would be the same message.
    pub id: MessageId,
    /// What it said.
    pub content: Vec<Part>,
}

impl Turns {
    /// The newest version of a message, if it stands.
    pub fn regenerate(&self, wanted: &MessageId) -> Option<Regeneration> {
        let is_wanted = |said: &Message| is_version_of(&said.0, wanted);
        let at = self.standing.iter().rposition(|(_, said)| said.as_ref().is_some_and(is_wanted))?;
        let (_, content) = self.standing.get(at)?.1.clone()?;
        let mut taken: Vec<&TurnId> = self.standing.iter().skip(at).map(|(turn, _)| turn).collect();
        taken.dedup();
        let versions = self.said.iter().filter(|said| is_version_of(said, wanted)).count();
        let id = MessageId::trusted(format!("{wanted}.{}", versions + 1));
        Some(Regeneration { turns: taken.len(), id, content })
    }

    /// How far a client has come at least that shows these parts: to the last ask among them.
    pub fn last_shown(&self, parts: &[Value]) -> Option<Seq> {
        self.asks.iter().rev().find(|ask| shows(parts, ask)).map(|ask| ask.seq)
    }
}

impl Projection for Turns {
    type Output = ();

    fn apply(&mut self, envelope: &Envelope, (): &mut ()) {
        match (&envelope.event, &envelope.turn_id) {
            (Event::UserMessage(message), Some(turn)) => {
                self.said.push(message.message_id.clone());
                self.standing.push((turn.clone(), Some((message.message_id.clone(), message.content.clone()))));
            }
            (Event::TurnStarted(_), Some(turn)) => self.standing.push((turn.clone(), None)),
            (Event::Rollback(rollback), _) => self.standing.retain(|(turn, _)| !rollback.turn_ids.contains(turn)),
            (Event::PermissionRequest(_) | Event::QuestionRequest(_) | Event::Interrupt(_), _) => {
                self.asks.push(envelope.clone());
            }
            _ => {}
        }
    }

    fn weight(&self) -> usize {
        (self.standing.len() + self.asks.len()) * TURN_BYTES
    }
}

/// `m.2` is what was said again under the name `m`.
fn is_version_of(known: &MessageId, wanted: &MessageId) -> bool {
    let is_number = |n: &str| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit());
    // One that knows it as `m.2` says it again as `m.2.2`.
    known.as_str().strip_prefix(wanted.as_str()).is_some_and(|rest| {
        rest.is_empty() || rest.strip_prefix('.').is_some_and(|rest| rest.split('.').all(is_number))
    })
}
