//! Which facts are told, and what is said of them. A payload is a function of the log: it is made again for every try, and says the same.

use std::ops::ControlFlow;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::EventType;
use crate::event::{Envelope, Event, MessageSource, Origin, Outcome};
use crate::id::{Seq, SessionId};
use crate::time::Timestamp;

/// The kinds of facts that may be told: the only ones that are looked at.
pub const KINDS: &[&str] = &[
    "done",
    "permission_request",
    "permission_resolved",
    "question_request",
    "question_resolved",
    "interrupt",
    "interrupt_resolved",
    "budget",
    "schedule_missed",
];

/// How much of an answer, a request or a resolution is sent; the rest is in the session.
const MAX_TEXT_BYTES: usize = 64 * 1024;
const MAX_DATA_BYTES: usize = 64 * 1024;

/// What is told of a fact, if anything.
pub fn event_type(event: &Event) -> Option<EventType> {
    match event {
        Event::Done(done) => Some(match done.outcome {
            Outcome::Completed => EventType::TurnCompleted,
            Outcome::Stopped => EventType::TurnStopped,
            Outcome::Failed | Outcome::Interrupted => EventType::TurnFailed,
        }),
        Event::PermissionRequest(_) | Event::QuestionRequest(_) | Event::Interrupt(_) => Some(EventType::AskOpened),
        Event::PermissionResolved(_) | Event::QuestionResolved(_) | Event::InterruptResolved(_) => {
            Some(EventType::AskResolved)
        }
        other => match other.kind() {
            "budget" => (other.data().get("state")? == "reached").then_some(EventType::BudgetReached),
            "schedule_missed" => Some(EventType::ScheduleMissed),
            _ => None,
        },
    }
}

/// The name of an event for its receivers: follows from where it stands, so that it is the same after a crash.
pub fn webhook_id(session: &SessionId, seq: Seq, event: EventType) -> String {
    let hash = Sha256::digest(format!("{session} {seq} {}", event.as_str()).as_bytes());
    let hex: String = crate::blob::hex(&hash).chars().take(32).collect();
    format!("msg_{hex}")
}

/// What is known of a session beside its log.
#[derive(Debug, Clone, Copy)]
pub struct About<'a> {
    pub runtime: &'a str,
    pub title: &'a str,
}

/// What is known of the turn that a fact stands in, found by looking back from it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TurnFacts {
    pub origin: Option<Origin>,
    source: Option<MessageSource>,
    text: Option<String>,
    problem: Option<String>,
}

impl TurnFacts {
    /// Takes the fact before the last one, until the turn's beginning is found.
    pub fn look_back(&mut self, of: &Envelope, before: &Envelope) -> ControlFlow<()> {
        if before.turn_id != of.turn_id {
            // Background work may stand between; another turn may not.
            return match (&of.turn_id, &before.event) {
                (None, _) | (_, Event::Done(_)) => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            };
        }
        match &before.event {
            Event::TurnResult(result) if self.text.is_none() => self.text = Some(result.text.clone()),
            Event::Failure(failure) if self.problem.is_none() => self.problem = Some(failure.message.clone()),
            Event::TurnStarted(started) => {
                self.origin = Some(started.origin);
                return if started.message_ids.is_empty() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
            }
            // They stand right before the turn's beginning.
            Event::UserMessage(message) if self.origin.is_some() => {
                self.source.clone_from(&message.source);
                return ControlFlow::Break(());
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// The body of a webhook.
pub fn payload(event: EventType, envelope: &Envelope, about: About<'_>, turn: &TurnFacts) -> Value {
    let mut data = json!({
        "session_id": envelope.session_id,
        "runtime": about.runtime,
        "title": about.title,
        "seq": envelope.seq,
    });
    let mut set = |name: &str, value: Value| {
        if let (Value::Object(members), false) = (&mut data, value.is_null()) {
            members.insert(name.to_owned(), value);
        }
    };
    set("turn_id", json!(envelope.turn_id));
    set("origin", json!(turn.origin));
    set("source", json!(turn.source));
    match &envelope.event {
        Event::Done(done) => {
            set("outcome", json!(done.outcome));
            set("reason", json!(turn.problem.as_ref().or(done.reason.as_ref())));
            if let Some(text) = &turn.text {
                let end = text.floor_char_boundary(MAX_TEXT_BYTES);
                set("text", json!(text.get(..end)));
                if end < text.len() {
                    set("text_cut", json!(true));
                }
            }
        }
        event => {
            let name = if event_type(event) == Some(EventType::AskOpened) { "request" } else { "resolution" };
            let is_ask = matches!(event_type(event), Some(EventType::AskOpened | EventType::AskResolved));
            let facts = event.data();
            if is_ask {
                set("kind", json!(ask_kind(event)));
                set("ask_id", facts.get("ask_id").or_else(|| facts.get("interrupt_id")).cloned().unwrap_or_default());
            }
            let fits = facts.to_string().len() <= MAX_DATA_BYTES;
            let name = if is_ask { name } else { "facts" };
            if fits {
                set(name, facts);
            } else {
                set(&format!("{name}_cut"), json!(true));
            }
        }
    }
    json!({ "type": event.as_str(), "timestamp": envelope.ts, "data": data })
}

/// What somebody is sent who tries a subscription.
pub fn test_payload(at: Timestamp) -> Value {
    json!({ "type": "webhook.test", "timestamp": at, "data": {} })
}

fn ask_kind(event: &Event) -> &'static str {
    match event {
        Event::PermissionRequest(_) | Event::PermissionResolved(_) => "permission",
        Event::QuestionRequest(_) | Event::QuestionResolved(_) => "question",
        _ => "interrupt",
    }
}

#[cfg(test)]
mod tests;
