//! What became of a run, as its session's log tells it.

use super::run::{Reason, RunOutcome, RunUsage};
use super::template::MAX_RESULT_BYTES;
use crate::awaited::{Awaited, NoTurnReason};
use crate::event::{Envelope, Event, Outcome};
use crate::id::{MessageId, RunId, Seq, TurnId};
use crate::time::Timestamp;

/// How a run ended.
#[derive(Debug, Clone, PartialEq)]
pub struct End {
    pub at: Timestamp,
    pub outcome: RunOutcome,
    pub reason: Option<Reason>,
    pub usage: Option<RunUsage>,
    pub result: Option<String>,
}

impl End {
    pub fn failed(at: Timestamp, reason: Reason) -> Self {
        Self { at, outcome: RunOutcome::Failed, reason: Some(reason), usage: None, result: None }
    }
}

/// A fold of a session's log, from anywhere before the run's message. What was folded already is not folded again.
#[derive(Debug, Clone)]
pub struct RunFold {
    message_id: MessageId,
    awaited: Awaited,
    seq: Seq,
    at: Timestamp,
    turn: Option<TurnId>,
    usage: Option<RunUsage>,
    result: Option<String>,
    failure: Option<Reason>,
    end: Option<End>,
}

impl RunFold {
    pub fn new(run: &RunId) -> Self {
        let message_id = MessageId::trusted(run.as_str());
        Self {
            awaited: Awaited::new(message_id.clone()),
            message_id,
            seq: Seq::ZERO,
            at: Timestamp::default(),
            turn: None,
            usage: None,
            result: None,
            failure: None,
            end: None,
        }
    }

    pub fn step(&mut self, envelope: &Envelope) {
        if envelope.seq <= self.seq || self.end.is_some() {
            return;
        }
        (self.seq, self.at) = (envelope.seq, envelope.ts);
        self.awaited.step(envelope);
        if let Event::UserMessage(message) = &envelope.event
            && message.message_id == self.message_id
        {
            self.turn.clone_from(&envelope.turn_id);
        }
        if self.turn.is_none() || envelope.turn_id != self.turn || envelope.subagent_id.is_some() {
            return;
        }
        match &envelope.event {
            Event::Usage(usage) => self.usage = Some(usage.into()),
            Event::TurnResult(result) => self.result = Some(cut(&result.text)),
            Event::Failure(failure) => self.failure = Some(Reason::new(&failure.code, &failure.message)),
            Event::Done(done) => {
                let outcome = match done.outcome {
                    Outcome::Completed => RunOutcome::Completed,
                    Outcome::Stopped => RunOutcome::Stopped,
                    Outcome::Interrupted => RunOutcome::Interrupted,
                    Outcome::Failed => RunOutcome::Failed,
                };
                let said = done.reason.as_ref().map(|reason| Reason::new(word(outcome), reason));
                let failure = self.failure.take().filter(|_| outcome != RunOutcome::Completed);
                self.end = Some(End {
                    at: envelope.ts,
                    outcome,
                    reason: failure.or(said).filter(|_| outcome != RunOutcome::Completed),
                    usage: self.usage,
                    result: self.result.take(),
                });
            }
            _ => {}
        }
    }

    pub fn turn(&self) -> Option<&TurnId> {
        self.turn.as_ref()
    }

    /// Whether the log knows its message.
    pub fn has_message(&self) -> bool {
        self.awaited.is_known()
    }

    /// How far the log was folded.
    pub fn seq(&self) -> Seq {
        self.seq
    }

    /// How it ended, or that it never begins. To be asked between appends only.
    pub fn end(&self) -> Option<End> {
        let reason = self.awaited.no_turn_reason().filter(|reason| *reason != NoTurnReason::Held);
        let lost = || {
            let reason = reason?;
            let end = End::failed(self.at, Reason::new(reason.code(), reason.to_string()));
            // Somebody took it back: nothing went wrong.
            let outcome = if reason == NoTurnReason::Removed { RunOutcome::Stopped } else { end.outcome };
            Some(End { outcome, ..end })
        };
        self.end.clone().or_else(lost)
    }
}

fn word(outcome: RunOutcome) -> &'static str {
    match outcome {
        RunOutcome::Completed => "completed",
        RunOutcome::Stopped => "stopped",
        RunOutcome::Interrupted => "interrupted",
        RunOutcome::Failed => "failed",
        RunOutcome::Skipped => "skipped",
        RunOutcome::Missed => "missed",
    }
}

fn cut(text: &str) -> String {
    let end = text.floor_char_boundary(MAX_RESULT_BYTES);
    text.get(..end).unwrap_or_default().to_owned()
}
