//! What a socket carries, for the document: the ops from the types that they are read into, and what comes back.

#![expect(
    dead_code,
    reason = "answers are written by hand; these say what they are, and every answer in the tests is compared with them"
)]

use std::num::NonZeroU16;

use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};
use serde_with::skip_serializing_none;
use turnloom_core::command::Receipt;
use turnloom_core::id::{AskId, Seq, SessionId};
use turnloom_core::view::{OpsFrame, View};

use super::op::{Answers, Name, Nothing, Stop, Taken, Unsubscribe};
use crate::attention::Listed;
use crate::automation::Versions;
use crate::http::asks::{self, Permission};
use crate::http::asyncapi::{self, ChannelMessage};
use crate::http::dialect::tasks::{self, TaskFrame};
use crate::http::document::Schemas;
use crate::http::events::EventsQuery;
use crate::http::inbox::InboxQuery;
use crate::http::messages;
use crate::http::problem::Document as Problem;
use crate::http::sessions::{ListQuery, SessionList};
use crate::http::shapes;
use crate::http::views::StreamQuery;

/// What every subscription may have.
#[derive(JsonSchema)]
struct Subscribed {
    /// Its name; if absent, a session has one subscription, and so has each list.
    subscription: Option<Name>,
    /// How many frames may be on their way that the client has not said it has taken.
    window: Option<NonZeroU16>,
}

#[derive(JsonSchema)]
struct OfSession {
    session_id: SessionId,
}

#[derive(JsonSchema)]
struct OfAsk {
    session_id: SessionId,
    ask_id: AskId,
}

/// What a client may send.
pub(in crate::http) fn messages_from_client(schemas: &mut Schemas) -> Vec<ChannelMessage> {
    let generator = &mut schemas.requests;
    let subscribe = [
        stream::<(EventsQuery, OfSession)>(generator, "events"),
        stream::<(StreamQuery, OfSession)>(generator, "view"),
        stream::<(messages::Send, OfSession)>(generator, "turn"),
        stream::<(ListQuery, Nothing)>(generator, "sessions"),
        stream::<(Nothing, Nothing)>(generator, "asks"),
        stream::<(Nothing, Nothing)>(generator, "automation"),
        stream::<(InboxQuery, Nothing)>(generator, "inbox"),
        stream::<(tasks::EventsQuery, Nothing)>(generator, "tasks"),
    ];
    let answer = [
        op::<(Permission, OfAsk)>(generator, "answer"),
        op::<(Answers, OfAsk)>(generator, "answer"),
        op::<(asks::Value, OfAsk)>(generator, "answer"),
    ];
    vec![
        ("subscribe", "Subscribe to a stream, with the parameters of its route", json!({ "oneOf": subscribe })),
        (
            "unsubscribe",
            "End a subscription, named by its name, or by its session if it has no name",
            op::<(Unsubscribe, Nothing)>(generator, "unsubscribe"),
        ),
        (
            "taken",
            "Confirm that so many frames of a subscription with a window were read; there is no answer",
            op::<(Taken, Nothing)>(generator, "taken"),
        ),
        ("send", "Send a message", op::<(messages::Send, OfSession)>(generator, "send")),
        ("stop", "Stop the running turn", op::<(Stop, Nothing)>(generator, "stop")),
        ("answer", "Answer an ask: a permission, questions, or an interrupt", json!({ "oneOf": answer })),
        ("ping", "Check that the connection is alive", op::<(Nothing, Nothing)>(generator, "ping")),
    ]
}

/// What comes back: which subscription and session it is about, where it is about any.
#[skip_serializing_none]
#[derive(JsonSchema)]
struct About {
    subscription: Option<Name>,
    session_id: Option<SessionId>,
}

#[skip_serializing_none]
#[derive(JsonSchema)]
struct Head {
    /// Where the log is.
    head: Option<Seq>,
}

#[derive(JsonSchema)]
struct Fact {
    event: shapes::Event,
}

#[derive(JsonSchema)]
struct HeartbeatFrame {
    head: u64,
}

#[derive(JsonSchema)]
struct Unsubscribed {
    /// It was followed until now.
    was_subscribed: bool,
}

#[derive(JsonSchema)]
struct Accepted {
    receipt: Receipt,
}

#[derive(JsonSchema)]
struct Stopped {
    stopped: bool,
    /// How many things still run in the background.
    background: usize,
}

#[derive(JsonSchema)]
struct Resolved {
    resolved: bool,
    seq: Seq,
}

#[derive(JsonSchema)]
struct Refused {
    problem: Problem<'static>,
}

/// What the daemon may send.
pub(in crate::http) fn messages_to_client(schemas: &mut Schemas) -> Vec<ChannelMessage> {
    let generator = &mut schemas.answers;
    vec![
        ("subscribed", "The subscription is open", op::<(Head, About)>(generator, "subscribed")),
        ("event", "One event of a subscribed session", op::<(Fact, About)>(generator, "event")),
        (
            "frame",
            "A frame of another stream: `name` and `data` as in its server-sent events",
            json!({ "oneOf": frames(generator) }),
        ),
        (
            "heartbeat",
            "The connection is alive; `head` is the newest position of the stream",
            op::<(HeartbeatFrame, About)>(generator, "heartbeat"),
        ),
        (
            "ended",
            "The stream has ended: the turn is over, or the session was deleted",
            op::<(Nothing, About)>(generator, "ended"),
        ),
        ("unsubscribed", "The subscription has ended", op::<(Unsubscribed, About)>(generator, "unsubscribed")),
        ("accepted", "The message was accepted", op::<(Accepted, About)>(generator, "accepted")),
        ("stopped", "The turn has ended", op::<(Stopped, About)>(generator, "stopped")),
        ("resolved", "The ask was answered", op::<(Resolved, About)>(generator, "resolved")),
        ("pong", "The answer to `ping`", op::<(Nothing, Nothing)>(generator, "pong")),
        ("error", "The op was refused, and why", op::<(Refused, About)>(generator, "error")),
    ]
}

/// What streams other than a log's own tell.
fn frames(generator: &mut SchemaGenerator) -> Vec<Value> {
    let mut frames = Vec::new();
    let mut frame = |generator: &mut SchemaGenerator, name: Option<&str>, data: Value| {
        let mut members = Map::from_iter([
            (
                "position".to_owned(),
                json!({ "type": "integer", "minimum": 0, "description": "Where to go on after it" }),
            ),
            ("data".to_owned(), data),
        ]);
        members.extend(name.map(|name| ("name".to_owned(), json!({ "const": name }))));
        let required = if name.is_some() { json!(["data", "name"]) } else { json!(["data"]) };
        let more = json!({ "properties": members, "required": required });
        frames.push(with(op::<(Nothing, About)>(generator, "frame"), more));
    };
    let view = generator.subschema_for::<View>().to_value();
    let list = generator.subschema_for::<SessionList>().to_value();
    let snapshot = json!({ "anyOf": [view, list] });
    let (asks, receipt) = (schema::<asks::Asks>(generator), schema::<Receipt>(generator));
    let (problem, task) = (schema::<Problem<'_>>(generator), schema::<TaskFrame<'_>>(generator));
    let changes = asyncapi::changes(generator);
    frame(generator, Some("snapshot"), snapshot);
    let ops = schema::<OpsFrame>(generator);
    frame(generator, Some("ops"), ops);
    frame(generator, Some("changes"), changes);
    frame(generator, Some("asks"), asks);
    let automation = schema::<Versions>(generator);
    frame(generator, Some("automation"), automation);
    let inbox = schema::<Listed>(generator);
    frame(generator, Some("inbox"), inbox);
    frame(generator, Some("accepted"), receipt);
    frame(generator, Some("problem"), problem);
    for (name, _, data) in asyncapi::snapshot_dialect() {
        frame(generator, Some(name), data);
    }
    frame(generator, None, task);
    frames
}

fn schema<T: JsonSchema>(generator: &mut SchemaGenerator) -> Value {
    generator.subschema_for::<T>().to_value()
}

/// A subscription to this stream.
fn stream<T: Members>(generator: &mut SchemaGenerator, name: &str) -> Value {
    let op = with(op::<T>(generator, "subscribe"), <(Subscribed, Nothing)>::members(generator));
    // The log is what is followed if nothing is said.
    let required = if name == "events" { json!([]) } else { json!(["stream"]) };
    with(op, json!({ "properties": { "stream": { "const": name } }, "required": required }))
}

/// An op of this name, with the members of these types and no others.
fn op<T: Members>(generator: &mut SchemaGenerator, name: &str) -> Value {
    let reference = json!({ "description": "Of the client's choice; the answer repeats it" });
    let op = json!({
        "type": "object", "properties": { "op": { "const": name }, "ref": reference }, "required": ["op"],
        "additionalProperties": false,
    });
    with(op, T::members(generator))
}

/// Both.
fn with(mut schema: Value, more: Value) -> Value {
    let Value::Object(mut more) = more else { return schema };
    let Some(members) = schema.as_object_mut() else { return schema };
    if let (Some(Value::Object(more)), Some(Value::Object(known))) =
        (more.remove("properties"), members.get_mut("properties"))
    {
        known.extend(more);
    }
    if let (Some(Value::Array(more)), Some(Value::Array(known))) =
        (more.remove("required"), members.get_mut("required"))
    {
        known.extend(more);
    }
    schema
}

/// Types whose members stand in an op beside each other.
trait Members {
    fn members(generator: &mut SchemaGenerator) -> Value;
}

impl<A: JsonSchema, B: JsonSchema> Members for (A, B) {
    fn members(generator: &mut SchemaGenerator) -> Value {
        let nothing = json!({ "properties": {}, "required": [] });
        let both = with(nothing, A::json_schema(generator).to_value());
        with(both, B::json_schema(generator).to_value())
    }
}
