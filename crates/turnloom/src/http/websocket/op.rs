//! Parses one op strictly: an unknown field or an invalid answer is refused by name and never taken for something else.

use std::num::NonZeroU16;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use turnloom_core::command::Answer;
use turnloom_core::event::AfterStop;
use turnloom_core::id::{AskId, SessionId, TurnId};

use crate::http::asks::{self, Permission};
use crate::http::dialect::tasks;
use crate::http::events::EventsQuery;
use crate::http::inbox::InboxQuery;
use crate::http::messages;
use crate::http::problem::Problem;
use crate::http::sessions::ListQuery;
use crate::http::views::StreamQuery;
use crate::scoped_tokens::Need;

/// What a client may want on a socket.
pub(super) enum Op {
    Subscribe(Subscribe),
    Unsubscribe(Unsubscribe),
    Taken(Taken),
    Send { session_id: SessionId, send: messages::Send },
    Stop(Stop),
    Answer { session_id: SessionId, ask_id: AskId, answer: Answer },
    Ping,
}

/// What to follow, and how.
pub(super) struct Subscribe {
    /// Chosen by the client; if absent, a session has one subscription, and so has each list.
    pub(super) name: Option<Value>,
    pub(super) window: Option<NonZeroU16>,
    pub(super) stream: Stream,
}

/// What can be followed. What is asked of each is what its route takes.
pub(super) enum Stream {
    Events {
        session_id: SessionId,
        query: EventsQuery,
    },
    View {
        session_id: SessionId,
        query: StreamQuery,
    },
    /// Sends a message and follows its turn.
    Turn {
        session_id: SessionId,
        send: messages::Send,
    },
    Sessions(ListQuery),
    Asks,
    /// Whether schedules, channels and webhooks have changed.
    Automation,
    Inbox(InboxQuery),
    Tasks(tasks::EventsQuery),
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Unsubscribe {
    /// The name that it was given; else its session.
    #[schemars(with = "Option<Name>")]
    pub(super) subscription: Option<Value>,
    pub(super) session_id: Option<SessionId>,
}

/// So many frames of a subscription with a window were read, and as many may come.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Taken {
    #[schemars(with = "Name")]
    pub(super) subscription: Value,
    pub(super) frames: u16,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "StopOp")]
pub(super) struct Stop {
    pub(super) session_id: SessionId,
    pub(super) turn_id: Option<TurnId>,
    /// What becomes of the queue.
    #[serde(default)]
    pub(super) then: AfterStop,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Nothing {}

/// `null` leaves a question without an answer.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "AnswersOp")]
pub(super) struct Answers {
    #[schemars(schema_with = "answers_or_null")]
    answers: Option<Vec<Vec<String>>>,
}

/// One list per question, or `null`, which has to be said.
fn answers_or_null(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<Option<Vec<Vec<String>>>>()
}

/// The name of a subscription, of the client's choice.
#[derive(JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "SubscriptionName")]
#[expect(dead_code, reason = "names are kept as they came; this says what they may be")]
pub(super) enum Name {
    Text(String),
    Number(f64),
}

impl Op {
    /// What it asks of a scoped token.
    pub(super) fn need(&self) -> Need<'_> {
        match self {
            Op::Ping | Op::Unsubscribe(_) | Op::Taken(_) => Need::Nothing,
            Op::Send { session_id, .. } | Op::Stop(Stop { session_id, .. }) | Op::Answer { session_id, .. } => {
                Need::Use(Some(session_id.as_str()))
            }
            Op::Subscribe(subscribe) => match &subscribe.stream {
                Stream::Events { session_id, .. } | Stream::View { session_id, .. } => {
                    Need::Read(Some(session_id.as_str()))
                }
                Stream::Turn { session_id, .. } => Need::Use(Some(session_id.as_str())),
                Stream::Sessions(_) | Stream::Asks | Stream::Inbox(_) | Stream::Tasks(_) => Need::Read(None),
                Stream::Automation => Need::Full,
            },
        }
    }

    /// The op in a text, and the `ref` that its answer repeats, as far as there is one.
    pub(super) fn read(text: &str) -> (Option<Value>, Result<Self, Problem>) {
        match serde_json::from_str::<Map<String, Value>>(text) {
            Ok(fields) => Self::of_fields(fields),
            Err(error) => (None, Err(not_an_op(&error))),
        }
    }

    /// The same of an object that was read already.
    pub(super) fn of_fields(mut fields: Map<String, Value>) -> (Option<Value>, Result<Self, Problem>) {
        let reference = fields.remove("ref").filter(|reference| !reference.is_null());
        (reference, Self::of(fields))
    }

    fn of(mut fields: Map<String, Value>) -> Result<Self, Problem> {
        let name: String = take(&mut fields, "op")?;
        Ok(match name.as_str() {
            "subscribe" => Op::Subscribe(Subscribe::of(fields)?),
            "unsubscribe" => Op::Unsubscribe(whole(fields)?),
            "taken" => Op::Taken(whole(fields)?),
            "send" => Op::Send { session_id: take(&mut fields, "session_id")?, send: whole(fields)? },
            "stop" => Op::Stop(whole(fields)?),
            "answer" => {
                let (session_id, ask_id) = (take(&mut fields, "session_id")?, take(&mut fields, "ask_id")?);
                Op::Answer { session_id, ask_id, answer: answer(fields)? }
            }
            "ping" => whole(fields).map(|Nothing {}| Op::Ping)?,
            other => {
                let known = "subscribe, unsubscribe, taken, send, stop, answer, ping";
                return Err(not_an_op(&format_args!("there is no op {other:?}; there are {known}")));
            }
        })
    }
}

impl Subscribe {
    fn of(mut fields: Map<String, Value>) -> Result<Self, Problem> {
        let name = fields.remove("subscription").filter(|name| !name.is_null());
        if let Some(name) = name.as_ref().filter(|name| !name.is_string() && !name.is_number()) {
            return Err(not_an_op(&format_args!("`subscription` is a text or a number, not {name}")));
        }
        let window = fields.contains_key("window").then(|| take(&mut fields, "window")).transpose()?;
        let stream = match fields.remove("stream") {
            None => "events".to_owned(),
            Some(stream) => stream.as_str().unwrap_or_default().to_owned(),
        };
        let stream = match stream.as_str() {
            "events" => Stream::Events { session_id: take(&mut fields, "session_id")?, query: whole(fields)? },
            "view" => Stream::View { session_id: take(&mut fields, "session_id")?, query: whole(fields)? },
            "turn" => Stream::Turn { session_id: take(&mut fields, "session_id")?, send: whole(fields)? },
            "sessions" => Stream::Sessions(whole(fields)?),
            "asks" => whole(fields).map(|Nothing {}| Stream::Asks)?,
            "automation" => whole(fields).map(|Nothing {}| Stream::Automation)?,
            "inbox" => Stream::Inbox(whole(fields)?),
            "tasks" => Stream::Tasks(whole(fields)?),
            _ => return Err(not_an_op(&"`stream` is events, view, turn, sessions, asks, inbox, tasks or automation")),
        };
        Ok(Self { name, window, stream })
    }

    pub(super) fn session(&self) -> Option<&SessionId> {
        match &self.stream {
            Stream::Events { session_id, .. } | Stream::View { session_id, .. } | Stream::Turn { session_id, .. } => {
                Some(session_id)
            }
            Stream::Sessions(_) | Stream::Asks | Stream::Automation | Stream::Inbox(_) | Stream::Tasks(_) => None,
        }
    }

    /// What `unsubscribe` and `taken` know it by.
    pub(super) fn key(&self) -> String {
        match (&self.name, &self.stream) {
            (Some(name), _) => name.to_string(),
            (
                None,
                Stream::Events { session_id, .. } | Stream::View { session_id, .. } | Stream::Turn { session_id, .. },
            ) => key_of_session(session_id),
            (None, Stream::Sessions(_)) => "sessions".to_owned(),
            (None, Stream::Asks) => "asks".to_owned(),
            (None, Stream::Automation) => "automation".to_owned(),
            (None, Stream::Inbox(_)) => "inbox".to_owned(),
            (None, Stream::Tasks(_)) => "tasks".to_owned(),
        }
    }
}

/// The subscription of a session whose client gave it no name: no JSON, so no name is equal to it.
pub(super) fn key_of_session(id: &SessionId) -> String {
    format!("session {id}")
}

/// The three kinds of answer, told apart by what is in them.
fn answer(fields: Map<String, Value>) -> Result<Answer, Problem> {
    if fields.contains_key("reply") {
        return whole::<Permission>(fields)?.into_answer();
    }
    if fields.contains_key("answers") {
        return whole(fields).map(|Answers { answers }| Answer::Question { answers });
    }
    if fields.contains_key("value") {
        return whole(fields).map(|asks::Value { value }| Answer::Interrupt { value });
    }
    let what = "an answer has `reply` for a permission, `answers` for a question (null to give none), or `value`";
    Err(not_an_op(&what))
}

fn take<T: DeserializeOwned>(fields: &mut Map<String, Value>, name: &str) -> Result<T, Problem> {
    let value = fields.remove(name).ok_or_else(|| not_an_op(&format_args!("missing field `{name}`")))?;
    serde_json::from_value(value).map_err(|error| not_an_op(&format_args!("`{name}`: {error}")))
}

/// What is left, all of it.
fn whole<T: DeserializeOwned>(fields: Map<String, Value>) -> Result<T, Problem> {
    serde_json::from_value(Value::Object(fields)).map_err(|error| not_an_op(&error))
}

fn not_an_op(why: &dyn std::fmt::Display) -> Problem {
    Problem::invalid(format!("this is not an op: {why}"))
}
