//! Other people's wire protocols, each a fold of the log: one folder or file per protocol, and here what they have in common.
//!
//! A [`Dialect`] is a [`Projection`] that answers one reader. Nothing here knows sockets, requests or time: routes are
//! in the `turnloom` crate.

pub mod ag_ui;
pub mod agent_ui;
pub mod ai_sdk;
pub mod snapshot;
mod surfaces;
pub mod tasks;
#[cfg(test)]
pub(crate) mod tests;
pub mod text;
pub mod universal;

use std::collections::HashSet;

use serde_json::Value;

use crate::event::{Envelope, Event};
use crate::id::{AskId, TurnId};
pub use crate::projection::{Frame, Frames, Muted, Projection};

/// A fold of a log into another protocol's frames. Up to where a reader begins it is the same for all of them, so it is folded once, copied, and the
/// copy is [prepared](Dialect::start_reader) for that reader.
pub trait Dialect: Projection<Output = Frames> + Clone + Default + Sync + 'static {
    /// What one reader wants of the session.
    type Reader;

    /// Turns a fold of the past that nobody was told of into that of one reader, who is told what comes.
    fn start_reader(&mut self, reader: Self::Reader);

    /// Whether the response should end here because somebody has to answer first. It may go on for a moment, so that asks that come together
    /// are told together.
    fn needs_answer(&self) -> bool {
        false
    }

    /// The turn that the response is about, in the dialects whose responses are about one.
    fn turn(&self) -> Option<&TurnId> {
        None
    }

    /// Ends the response in the way the protocol wants it: whatever is open is closed, and the last frame says so.
    fn close(&mut self, ending: Ending, frames: &mut Frames);
}

/// Why a response ends before the log says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// [`Dialect::needs_answer`] said so.
    Waiting,
    /// The daemon is shutting down, or the session was removed.
    Gone,
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

/// Whether somebody has said yes, in whatever form an application gives it. What is neither yes nor no is a mistake, and must not be taken for either;
/// the error is for a person.
fn approved(given: &Value) -> Result<bool, String> {
    let said = given.get("approved").unwrap_or(given);
    let word = said.as_str().map(|word| word.trim().to_lowercase());
    match (said, word.as_deref()) {
        (Value::Bool(approved), _) => Ok(*approved),
        (_, Some("yes" | "true" | "approve" | "approved" | "allow" | "allowed" | "accept" | "accepted")) => Ok(true),
        (_, Some("no" | "false" | "reject" | "rejected" | "deny" | "denied" | "decline" | "declined")) => Ok(false),
        _ => Err(format!("{} is neither yes nor no: give `approved` as true or false", brief(given))),
    }
}

/// As much of a value as fits into a message.
fn brief(value: &Value) -> String {
    let mut text = value.to_string();
    text.truncate(text.floor_char_boundary(100));
    text
}

/// Answers to questions in whatever form an application gives them: one list per question is what they become. The error is for a person.
fn lists(output: &Value) -> Result<Vec<Vec<String>>, String> {
    let words = |value: &Value| match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(list) => list.iter().map(word).collect(),
        other => vec![word(other)],
    };
    Ok(match output {
        Value::Object(object) => match (object.get("answers"), object.get("answer")) {
            (Some(Value::Array(answers)), _) => answers.iter().map(words).collect(),
            (Some(other), _) | (None, Some(other)) => vec![words(other)],
            (None, None) => {
                let given = brief(output);
                return Err(format!("{given} is no answer: give `answer`, or `answers` with a list for each question"));
            }
        },
        Value::Array(list) if list.iter().any(Value::is_array) => list.iter().map(words).collect(),
        other => vec![words(other)],
    })
}

fn word(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
