//! The `AsyncAPI` document: what the streams and the WebSocket carry. Requests and their answers are in `document`; what a socket carries stands with it,
//! and what other people's protocols carry is described by those who made them.

use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};
use turnloom_core::command::Receipt;
use turnloom_core::view::{OpsFrame, View};

use super::asks::Asks;
use super::dialect::tasks::TaskFrame;
use super::document::{Schemas, schemas};
use super::problem::Document as Problem;
use super::sessions::{SessionList, SessionView};
use super::shapes::Event;
use super::websocket::shapes as socket;

/// A message of a channel: its name, what it is, and the schema of its content.
pub(super) type Carried = (&'static str, &'static str, Value);

/// The whole document.
pub fn asyncapi() -> Value {
    let mut all = Schemas::default();
    let (sent, told) = (socket::sent(&mut all), socket::told(&mut all));
    let mut document = Document::default();
    for (name, address, description, carried) in streams(&mut all.answers) {
        document.stream(name, address, description, carried);
    }
    let (components, differing) = all.joined();
    document.socket(sent, told, &differing);
    json!({
        "asyncapi": "3.0.0",
        "info": {
            "title": "Turnloom: streams",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Server-sent events and one WebSocket. Requests are described by /api/openapi.json.",
            "license": { "name": "Apache-2.0" },
        },
        "defaultContentType": "application/json",
        "servers": {
            "http": { "host": "127.0.0.1:7171", "protocol": "http", "description": "Streams are server-sent events" },
            "ws": { "host": "127.0.0.1:7171", "protocol": "ws" },
        },
        "channels": document.channels,
        "operations": document.operations,
        "components": { "schemas": components },
    })
}

/// Each stream: its name, its address, what it tells, and how.
type Told = (&'static str, &'static str, &'static str, Vec<Carried>);

fn streams(generator: &mut SchemaGenerator) -> Vec<Told> {
    let event = ("event", "One fact", schema::<Event>(generator));
    let problem = ("problem", "The last: why there is no more", schema::<Problem<'_>>(generator));
    let facts = [event.clone(), heartbeat()].into_iter().chain(snapshot_dialect()).collect();
    vec![
        (
            "sessionEvents",
            "/api/sessions/{id}/events",
            "Every event of a session's log after a position, and then whatever comes: `id` is the position, `event` the type, `data` the event. \
             With `dialect=snapshot`, what that protocol makes of them.",
            facts,
        ),
        (
            "sessionView",
            "/api/sessions/{id}/view/stream",
            "The conversation as people read it: `snapshot` first, unless the client is at the head, then `ops`.",
            vec![
                ("snapshot", "All of it", schema::<View>(generator)),
                ("ops", "The smallest change that brings the view forward", schema::<OpsFrame>(generator)),
                heartbeat(),
            ],
        ),
        (
            "turn",
            "/api/sessions/{id}/turn",
            "What one message makes of a session: `accepted`, then the events of its turn until `done`. Where there will be none, `problem` is the last.",
            vec![("accepted", "The message was taken", schema::<Receipt>(generator)), event, problem, heartbeat()],
        ),
        (
            "sessions",
            "/api/sessions",
            "The list of sessions: `snapshot` first, unless the client's position is still known, then `changes`.",
            vec![
                ("snapshot", "The first page", schema::<SessionList>(generator)),
                ("changes", "What became different", changes(generator)),
                heartbeat(),
            ],
        ),
        (
            "asks",
            "/api/asks",
            "What waits for a person, each time it has changed.",
            vec![("asks", "All of it", schema::<Asks>(generator)), heartbeat()],
        ),
        (
            "tasks",
            "/api/tasks/events",
            "The turns of all sessions. Frames have no `event`: `type` in their data says what they are.",
            vec![("task", "A turn, as a list of tasks shows it", schema::<TaskFrame<'_>>(generator))],
        ),
    ]
}

fn schema<T: JsonSchema>(generator: &mut SchemaGenerator) -> Value {
    generator.subschema_for::<T>().to_value()
}

#[derive(Default)]
struct Document {
    channels: Map<String, Value>,
    operations: Map<String, Value>,
}

impl Document {
    fn channel(&mut self, name: &str, server: &str, address: &str, description: &str, messages: Vec<Carried>) {
        let parameters: Map<String, Value> = address
            .split('/')
            .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
            .map(|name| (name.to_owned(), json!({ "description": "The id of a session" })))
            .collect();
        let message = |(name, summary, mut payload): Carried| {
            schemas::plain(&mut payload);
            (name.to_owned(), json!({ "name": name, "summary": summary, "payload": payload }))
        };
        let messages: Map<String, Value> = messages.into_iter().map(message).collect();
        let channel = json!({
            "address": address, "description": description, "messages": messages, "parameters": parameters,
            "servers": [{ "$ref": format!("#/servers/{server}") }],
        });
        self.channels.insert(name.to_owned(), channel);
    }

    /// A stream of server-sent events: the name of a message is its `event`.
    fn stream(&mut self, name: &str, address: &str, description: &str, messages: Vec<Carried>) {
        self.channel(name, "http", address, description, messages);
        self.operations.insert(
            format!("follow_{name}"),
            json!({ "action": "send", "summary": description, "channel": { "$ref": format!("#/channels/{name}") } }),
        );
    }

    /// The WebSocket: ops that a client sends, and what comes back.
    fn socket(&mut self, mut sent: Vec<Carried>, mut told: Vec<Carried>, differing: &[String]) {
        for (_, _, payload) in &mut sent {
            schemas::rename(payload, differing);
        }
        for (_, _, payload) in &mut told {
            schemas::absent_is_not_null(payload);
        }
        let references = |carried: &[Carried]| {
            let path = |(name, ..): &Carried| json!({ "$ref": format!("#/channels/socket/messages/{name}") });
            carried.iter().map(path).collect::<Vec<_>>()
        };
        for (operation, action, messages) in
            [("socket_ops", "receive", references(&sent)), ("socket_answers", "send", references(&told))]
        {
            let operation_json =
                json!({ "action": action, "channel": { "$ref": "#/channels/socket" }, "messages": messages });
            self.operations.insert(operation.to_owned(), operation_json);
        }
        let opened = json!({
            "type": "object", "properties": { "op": { "const": "opened" }, "channel": { "type": "string" } },
            "required": ["op", "channel"], "additionalProperties": false,
        });
        let opened = ("opened", "The first: ops are posted to /api/channel/{channel}", opened);
        let posted = "The same where WebSockets do not get through: one stream, to which ops are posted. Frames have no `event`: `op` in their data says what they are.";
        self.stream("channel", "/api/channel", posted, std::iter::once(opened).chain(told.clone()).collect());
        let all = sent.into_iter().chain(told).collect();
        self.channel("socket", "ws", "/api/ws", "Everything over one WebSocket: one JSON object per frame.", all);
    }
}

fn heartbeat() -> Carried {
    let head = json!({ "type": "integer", "minimum": 0 });
    let schema = json!({
        "type": "object", "properties": { "head": head }, "required": ["head"], "additionalProperties": false,
    });
    ("heartbeat", "Every 15 seconds: where the head is", schema)
}

/// What the list of sessions says when it changes.
pub(super) fn changes(generator: &mut SchemaGenerator) -> Value {
    json!({
        "type": "object",
        "properties": {
            "sessions": { "type": "array", "items": schema::<SessionView>(generator) },
            "removed": { "type": "array", "items": { "type": "string" }, "description": "Ids that are not in the list any more" },
        },
        "required": ["sessions", "removed"],
        "additionalProperties": false,
    })
}

/// What the snapshot protocol makes of a log. Its clients know its shapes.
pub(super) fn snapshot_dialect() -> Vec<Carried> {
    use turnloom_core::dialect::snapshot::{APPROVAL_REQUEST, APPROVAL_RESOLVED, STREAM};
    let names = [STREAM, APPROVAL_REQUEST, APPROVAL_RESOLVED];
    names.map(|name| (name, "With `dialect=snapshot` only", json!({ "type": "object" }))).to_vec()
}
