//! Other people's wire protocols, each a fold of the log: one folder or file per protocol, and here what they have in common.
//!
//! A [`Dialect`] is made for one reader. It is fed the log from its beginning: first what was there when the reader came, then [`Dialect::arrive`],
//! then whatever happens. What comes out before and at `arrive` is the snapshot, what comes after it is live; both are made by `step`, so they cannot
//! disagree. Nothing is stored that is not in the log, and nothing here knows sockets, requests or time: routes are in the `turnloom` crate.

pub mod ag_ui;
pub mod agent_ui;
pub mod ai_sdk;
pub mod snapshot;
mod surfaces;
pub mod tasks;
#[cfg(test)]
mod tests;
pub mod text;
pub mod universal;

use std::collections::HashSet;

use serde::Serialize;
use serde_json::Value;

use crate::event::{Envelope, Event};
use crate::id::{AskId, TurnId};

/// A fold of one session's log into another protocol's frames, for one reader.
pub trait Dialect: Send {
    /// Takes the next fact, and says what the reader has to be told of it.
    fn step(&mut self, envelope: &Envelope, frames: &mut Frames);

    /// Everything that had happened when the reader came has been taken: says what is needed to be there. Comes exactly once.
    fn arrive(&mut self, frames: &mut Frames);

    /// Everything that is there for now was taken: what was held back so that it could be told once must go out.
    fn rest(&mut self, _frames: &mut Frames) {}

    /// Whether `rest` would tell something. Each time is the whole of it again, so a server lets some time pass between two.
    fn holds_back(&self) -> bool {
        false
    }

    /// Whether the response should end here because somebody has to answer first. It may go on for a moment, so that asks that come together
    /// are told together.
    fn waits(&self) -> bool {
        false
    }

    /// The turn that the response is about, in the dialects whose responses are about one.
    fn turn(&self) -> Option<&TurnId> {
        None
    }

    /// Ends the response in the way the protocol wants it: whatever is open is closed, and the last frame says so.
    fn close(&mut self, ending: Ending, frames: &mut Frames);

    /// The last frame was made; nothing more will come.
    fn is_over(&self) -> bool {
        false
    }
}

/// Why a response ends before the log says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// [`Dialect::waits`] said so.
    Waiting,
    /// The daemon is shutting down, or the session was removed.
    Gone,
}

/// Frames on their way out: JSON, each perhaps with a name. One buffer for all of them, because a long log makes many.
#[derive(Debug, Default)]
pub struct Frames {
    bytes: Vec<u8>,
    ends: Vec<(usize, Option<&'static str>)>,
    /// In a protocol that numbers its frames: one for each.
    numbers: Vec<u64>,
    muted: bool,
}

/// One frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    /// What an SSE stream calls it, in the protocols that name their frames.
    pub name: Option<&'static str>,
    /// Its own position, in the protocols that number their frames.
    pub number: Option<u64>,
    /// JSON on one line; text, in the one dialect that is only text.
    pub body: &'a [u8],
}

impl Frames {
    /// For a fold that nobody listens to.
    pub fn muted() -> Self {
        Self { muted: true, ..Self::default() }
    }

    pub fn push(&mut self, frame: &impl Serialize) {
        self.put(None, frame);
    }

    pub fn push_named(&mut self, name: &'static str, frame: &impl Serialize) {
        self.put(Some(name), frame);
    }

    /// For a protocol that numbers all of its frames.
    pub fn push_numbered(&mut self, number: u64, frame: &impl Serialize) {
        let before = self.ends.len();
        self.put(None, frame);
        if self.ends.len() > before {
            self.numbers.push(number);
        }
    }

    /// A frame that is not JSON.
    pub fn push_text(&mut self, text: &str) {
        if !self.muted {
            self.bytes.extend_from_slice(text.as_bytes());
            self.ends.push((self.bytes.len(), None));
        }
    }

    fn put(&mut self, name: Option<&'static str>, frame: &impl Serialize) {
        if self.muted {
            return;
        }
        let start = self.bytes.len();
        // Frames have string keys only and writing to a Vec cannot fail; a frame that failed all the same must not be sent half.
        if serde_json::to_writer(&mut self.bytes, frame).is_err() {
            return self.bytes.truncate(start);
        }
        self.ends.push((self.bytes.len(), name));
    }

    pub fn is_muted(&self) -> bool {
        self.muted
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// How much there is to send.
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    pub fn iter(&self) -> impl Iterator<Item = Frame<'_>> {
        let mut start = 0;
        self.ends.iter().enumerate().map(move |(at, (end, name))| {
            let body = self.bytes.get(start..*end).unwrap_or_default();
            start = *end;
            Frame { name: *name, number: self.numbers.get(at).copied(), body }
        })
    }

    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.numbers.clear();
    }
}

/// The asks that wait at the end of a log. A server has them from the session's summary.
pub fn pending<'a>(log: impl IntoIterator<Item = &'a Envelope>) -> HashSet<AskId> {
    let mut pending = HashSet::new();
    for envelope in log {
        match &envelope.event {
            Event::PermissionRequest(ask) => drop(pending.insert(ask.ask_id.clone())),
            Event::QuestionRequest(ask) => drop(pending.insert(ask.ask_id.clone())),
            Event::Interrupt(ask) => drop(pending.insert(ask.interrupt_id.clone())),
            Event::PermissionResolved(ask) => drop(pending.remove(&ask.ask_id)),
            Event::QuestionResolved(ask) => drop(pending.remove(&ask.ask_id)),
            Event::InterruptResolved(ask) => drop(pending.remove(&ask.interrupt_id)),
            _ => {}
        }
    }
    pending
}

/// Keeps the end of a text that grows, where only its end is shown.
fn keep_tail(text: &mut String, more: &str, bytes: usize) {
    text.push_str(more);
    // Cut now and then, not with every piece.
    if text.len() > bytes * 2 {
        let from = (text.len() - bytes..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
        text.drain(..from);
    }
}

/// Ids are never empty in any of these protocols; an agent's may be.
fn name(id: &str) -> &str {
    if id.is_empty() { "_" } else { id }
}

/// A client's name for something as one of ours: itself where it can be, else a digest of it.
pub fn own_id(text: &str) -> String {
    use sha2::Digest as _;
    if crate::id::SessionId::parse(text).is_ok() {
        return text.to_owned();
    }
    let digest = sha2::Sha256::digest(text.as_bytes());
    format!("x-{}", crate::blob::hex(digest.get(..16).unwrap_or_default()))
}

/// Answers to questions in whatever form an application gives them: one list per question is what they become.
fn lists(output: &Value) -> Vec<Vec<String>> {
    let words = |value: &Value| match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(list) => list.iter().map(word).collect(),
        other => vec![word(other)],
    };
    match output {
        Value::Object(object) => match (object.get("answers"), object.get("answer")) {
            (Some(Value::Array(answers)), _) => answers.iter().map(words).collect(),
            (Some(other), _) | (None, Some(other)) => vec![words(other)],
            (None, None) => vec![vec![output.to_string()]],
        },
        Value::Array(list) if list.iter().any(Value::is_array) => list.iter().map(words).collect(),
        other => vec![words(other)],
    }
}

fn word(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
