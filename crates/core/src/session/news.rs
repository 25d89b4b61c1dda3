//! What somebody who was away wants to hear of: how the last turn ended, and since when messages are held. A fold of the log.

use serde::{Deserialize, Serialize};

use crate::event::{Envelope, Event, Origin};
use crate::summary::{HeldSince, TurnEnd};

/// How much of an answer a list shows.
const LINE_CHARS: usize = 200;

#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct News {
    /// Of the turn that runs.
    origin: Option<Origin>,
    line: Option<String>,
    pub(super) last_end: Option<TurnEnd>,
    pub(super) held: Option<HeldSince>,
}

impl News {
    pub(super) fn apply(&mut self, envelope: &Envelope) {
        match &envelope.event {
            // What comes of the new turn is what there is to tell.
            Event::TurnStarted(started) => {
                (self.origin, self.line, self.last_end) = (Some(started.origin), None, None);
            }
            Event::TurnResult(result) => self.line = line(&result.text),
            Event::Done(done) => {
                self.last_end = Some(TurnEnd {
                    turn_id: envelope.turn_id.clone(),
                    seq: envelope.seq,
                    at: envelope.ts,
                    outcome: done.outcome,
                    origin: self.origin.take().unwrap_or_default(),
                    reason: done.reason.clone(),
                    line: self.line.take(),
                });
            }
            // A copy has no end of its own, and what was rolled back did not happen.
            Event::Forked(_) | Event::Rollback(_) => self.last_end = None,
            Event::QueueChanged(changed) => {
                let why = changed.queue.iter().find_map(|item| item.held);
                self.held = match (why, self.held.take()) {
                    (Some(why), Some(held)) => Some(HeldSince { why, ..held }),
                    (Some(why), None) => Some(HeldSince { seq: envelope.seq, at: envelope.ts, why }),
                    (None, _) => None,
                };
            }
            _ => {}
        }
    }
}

fn line(text: &str) -> Option<String> {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(line.chars().take(LINE_CHARS).collect())
}
