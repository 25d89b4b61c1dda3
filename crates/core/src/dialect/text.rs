//! Plain text: the agent's answer as it is streamed, for a terminal or a pipe. Thoughts, tools and sub-agents are left out; of a
//! component there is a line that says what it is.

use super::{Dialect, Ending, Frames, Muted as _, Projection};
use serde_json::Value;

use crate::awaited::Awaited;
use crate::component::Shown;
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
    components: Shown,
    over: bool,
}

impl Default for PlainText {
    fn default() -> Self {
        Self {
            scope: Scope::After(Seq::ZERO),
            awaited: None,
            components: Shown::default(),
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

    /// Says what was shown, once for each component.
    fn show(&mut self, id: &str, out: &mut Frames) {
        // What shows a part of the state says so in its own time; nobody reads the state here.
        let Some(component) = self.components.get(id, &Value::Null) else { return };
        let title = component.props.get("title").and_then(Value::as_str).unwrap_or_default();
        let name = &component.name;
        let line = if title.is_empty() { format!("[{name}]\n") } else { format!("[{name}: {title}]\n") };
        let said = self.said;
        self.say(&format!("component {id}"), &line, out);
        // The answer itself may still come as a whole.
        self.said = said;
    }

    fn take(&mut self, envelope: &Envelope, out: &mut Frames) {
        self.awaited.iter_mut().for_each(|awaited| awaited.step(envelope));
        let known: Vec<String> = self.components.touched_by(&envelope.event).into_iter().map(str::to_owned).collect();
        let changed = self.components.step(envelope);
        let new: Vec<String> = changed.into_iter().filter(|id| !known.contains(id)).collect();
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
        for id in &new {
            self.show(id, out);
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
            let components = std::mem::take(&mut self.components);
            *self = Self { awaited: Some(Awaited::new(message_id.clone())), components, ..Self::default() };
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
