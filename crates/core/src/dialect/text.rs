//! Plain text: what the agent says, as it says it, for a terminal or a pipe. Nothing else is told: no thoughts, no tools, no sub-agents.

use super::{Dialect, Ending, Frames};
use crate::event::{Envelope, Event, Failure, Outcome};
use crate::id::{MessageId, Seq, TurnId};

/// Which text is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// The answer to this message; the response ends with it.
    Answer(MessageId),
    /// Everything after a position, for as long as somebody listens.
    After(Seq),
}

/// The fold for one reader.
#[derive(Debug)]
pub struct PlainText {
    scope: Scope,
    turn: Option<TurnId>,
    /// The block that was written last, and whether anything was.
    block: Option<String>,
    said: bool,
    ends_with_newline: bool,
    failure: Option<Failure>,
    arrived: bool,
    /// The message that is waited for will not come.
    lost: bool,
    over: bool,
}

impl PlainText {
    pub fn new(scope: Scope) -> Self {
        Self {
            scope,
            turn: None,
            block: None,
            said: false,
            ends_with_newline: true,
            failure: None,
            arrived: false,
            lost: false,
            over: false,
        }
    }

    fn write(&mut self, text: &str, out: &mut Frames) {
        if !text.is_empty() {
            self.ends_with_newline = text.ends_with('\n');
            out.push_text(text);
        }
    }

    fn end_line(&mut self, out: &mut Frames) {
        if !self.ends_with_newline {
            self.write("\n", out);
        }
    }

    fn say(&mut self, block: &str, text: &str, out: &mut Frames) {
        if text.is_empty() {
            return;
        }
        if self.block.as_deref() != Some(block) {
            if self.block.is_some() {
                self.end_line(out);
                self.write("\n", out);
            }
            self.block = Some(block.to_owned());
        }
        self.said = true;
        self.write(text, out);
    }

    fn take(&mut self, envelope: &Envelope, out: &mut Frames) {
        match &envelope.event {
            Event::UserMessage(message) if matches!(&self.scope, Scope::Answer(wanted) if *wanted == message.message_id) =>
            {
                self.turn.clone_from(&envelope.turn_id);
                self.lost = false;
                return;
            }
            Event::QueueChanged(changed) if self.arrived && self.turn.is_none() => {
                if let Scope::Answer(wanted) = &self.scope {
                    self.lost = !changed.queue.iter().any(|item| item.message_id == *wanted);
                }
            }
            Event::TurnStarted(_) if matches!(self.scope, Scope::After(_)) => self.turn.clone_from(&envelope.turn_id),
            _ => {}
        }
        if self.turn.is_none() || envelope.turn_id != self.turn || envelope.subagent_id.is_some() {
            return;
        }
        match &envelope.event {
            Event::Delta(delta) => self.say(delta.block_id.as_str(), &delta.text, out),
            Event::TurnResult(result) if !self.said => self.say("result", &result.text, out),
            Event::Failure(failure) => self.failure = Some(failure.clone()),
            Event::Done(done) => {
                self.end_line(out);
                if matches!(done.outcome, Outcome::Failed | Outcome::Interrupted) {
                    let failure = self.failure.take().map(|failure| failure.message);
                    let why = failure.or_else(|| done.reason.clone()).unwrap_or_default();
                    self.write(&format!("error: {why}\n"), out);
                }
                (self.turn, self.block, self.said) = (None, None, false);
                self.over = matches!(self.scope, Scope::Answer(_));
            }
            _ => {}
        }
    }
}

impl Dialect for PlainText {
    fn step(&mut self, envelope: &Envelope, frames: &mut Frames) {
        let silent = self.over || matches!(self.scope, Scope::After(after) if envelope.seq <= after);
        if silent { self.take(envelope, &mut Frames::muted()) } else { self.take(envelope, frames) }
    }

    fn arrive(&mut self, _frames: &mut Frames) {
        self.arrived = true;
    }

    fn waits(&self) -> bool {
        self.lost && !self.over
    }

    fn close(&mut self, ending: Ending, frames: &mut Frames) {
        self.end_line(frames);
        self.write(
            match ending {
                Ending::Waiting => "error: the message was taken out of the queue\n",
                Ending::Gone => "error: the daemon is shutting down\n",
            },
            frames,
        );
        self.over = true;
    }

    fn is_over(&self) -> bool {
        self.over
    }
}
