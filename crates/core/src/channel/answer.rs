//! What of a turn is the answer to a message: a fold of the session's log, from anywhere before the message was accepted.

use crate::awaited::{Awaited, NoTurnReason};
use crate::event::{Envelope, Event, Outcome};
use crate::id::{BlockId, MessageId, TurnId};

/// A fold that waits for the end of the turn that a message is in.
#[derive(Debug, Clone)]
pub struct AwaitedAnswer {
    awaited: Awaited,
    turn_id: Option<TurnId>,
    /// The last block of text.
    block: Option<BlockId>,
    text: String,
    result: Option<String>,
    problem: Option<String>,
    answer: Option<Answer>,
}

/// How a turn ended, and what it said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub turn_id: TurnId,
    pub outcome: Outcome,
    pub text: String,
}

/// How much of a text is kept while it streams; what an agent says last is said whole in its result.
const MAX_TEXT: usize = 1024 * 1024;

impl AwaitedAnswer {
    pub fn new(message_id: MessageId) -> Self {
        let awaited = Awaited::new(message_id);
        Self { awaited, turn_id: None, block: None, text: String::new(), result: None, problem: None, answer: None }
    }

    pub fn step(&mut self, envelope: &Envelope) {
        let waited = !self.awaited.is_in_turn();
        self.awaited.step(envelope);
        if waited && self.awaited.is_in_turn() {
            self.turn_id.clone_from(&envelope.turn_id);
        }
        if self.answer.is_some() || self.turn_id.is_none() || envelope.turn_id != self.turn_id {
            return;
        }
        match &envelope.event {
            Event::Delta(delta) if envelope.subagent_id.is_none() => {
                if self.block.as_ref() != Some(&delta.block_id) {
                    self.block = Some(delta.block_id.clone());
                    self.text.clear();
                }
                if self.text.len() + delta.text.len() <= MAX_TEXT {
                    self.text.push_str(&delta.text);
                }
            }
            Event::TurnResult(result) => self.result = Some(result.text.clone()),
            Event::Failure(failure) => self.problem = Some(failure.message.clone()),
            Event::Done(done) => {
                let Some(turn_id) = envelope.turn_id.clone() else { return };
                let said = self.result.take().filter(|text| !text.trim().is_empty());
                let said = said.unwrap_or_else(|| std::mem::take(&mut self.text));
                let text = match done.outcome {
                    Outcome::Completed => said,
                    outcome => {
                        let why = self.problem.take().or_else(|| done.reason.clone());
                        unfinished(&said, outcome, why.as_deref())
                    }
                };
                self.answer = Some(Answer { turn_id, outcome: done.outcome, text });
            }
            _ => {}
        }
    }

    pub fn answer(&self) -> Option<&Answer> {
        self.answer.as_ref()
    }

    /// Whether the message is in a turn.
    pub fn is_in_turn(&self) -> bool {
        self.awaited.is_in_turn()
    }

    /// Why no answer comes, as things are; see [`Awaited::no_turn_reason`].
    pub fn no_turn_reason(&self) -> Option<NoTurnReason> {
        self.awaited.no_turn_reason()
    }
}

fn unfinished(said: &str, outcome: Outcome, why: Option<&str>) -> String {
    let how = match outcome {
        Outcome::Completed => "completed",
        Outcome::Stopped => "stopped",
        Outcome::Interrupted => "interrupted",
        Outcome::Failed => "failed",
    };
    let note = why.map_or_else(|| format!("[{how}]"), |why| format!("[{how}: {why}]"));
    if said.trim().is_empty() { note } else { format!("{}\n\n{note}", said.trim_end()) }
}

#[cfg(test)]
mod tests;
