//! Plain text: the agent's answer as it is streamed, for a terminal or a pipe. Thoughts, tools and sub-agents are left out.

use super::{Dialect, Ending, Frames, Muted as _, Projection};
use crate::awaited::Awaited;
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
#[derive(Debug, Clone)]
pub struct PlainText {
    scope: Scope,
    turn: Option<TurnId>,
    /// The block that was written last, and whether anything was.
    block: Option<String>,
    said: bool,
    ends_with_newline: bool,
    failure: Option<Failure>,
    /// The message whose answer is wanted.
    awaited: Option<Awaited>,
    over: bool,
}

impl Default for PlainText {
    fn default() -> Self {
        Self {
            scope: Scope::After(Seq::ZERO),
            awaited: None,
            turn: None,
            block: None,
            said: false,
            ends_with_newline: true,
            failure: None,
            over: false,
        }
    }
}

impl PlainText {
    /// A fold of the whole log for one reader.
    pub fn new(scope: Scope) -> Self {
        let mut fold = Self::default();
        fold.start_reader(scope);
        fold
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
        self.awaited.iter_mut().for_each(|awaited| awaited.step(envelope));
        match &envelope.event {
            Event::UserMessage(message) if matches!(&self.scope, Scope::Answer(wanted) if *wanted == message.message_id) =>
            {
                self.turn.clone_from(&envelope.turn_id);
                return;
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

impl Projection for PlainText {
    type Output = Frames;

    fn apply(&mut self, envelope: &Envelope, frames: &mut Frames) {
        let silent = self.over || matches!(self.scope, Scope::After(after) if envelope.seq <= after);
        if silent { self.take(envelope, &mut Frames::muted()) } else { self.take(envelope, frames) }
    }

    fn is_done(&self) -> bool {
        self.over
    }
}

impl Dialect for PlainText {
    type Reader = Scope;

    fn start_reader(&mut self, scope: Scope) {
        if let Scope::Answer(message_id) = &scope {
            // Whatever else runs is not wanted.
            *self = Self { awaited: Some(Awaited::new(message_id.clone())), ..Self::default() };
        }
        self.scope = scope;
    }

    fn needs_answer(&self) -> bool {
        !self.over && self.awaited.as_ref().and_then(Awaited::no_turn_reason).is_some()
    }

    fn close(&mut self, ending: Ending, frames: &mut Frames) {
        self.end_line(frames);
        match self.awaited.as_ref().and_then(Awaited::no_turn_reason).filter(|_| ending == Ending::Waiting) {
            Some(loss) => self.write(&format!("error: {loss}\n"), frames),
            None => self.write("error: the daemon is shutting down\n", frames),
        }
        self.over = true;
    }
}
