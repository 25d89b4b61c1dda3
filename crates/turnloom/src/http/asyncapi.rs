//! The `AsyncAPI` document: the messages of the streams and the WebSocket. Requests and their answers are in `document`. The messages of foreign
//! protocols are documented by their authors.

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
use crate::attention::Listed;
use crate::automation::Versions;

/// A message of a channel: its name, what it is, and the schema of its content.
pub(super) type ChannelMessage = (&'static str, &'static str, Value);

/// The whole document.
pub fn asyncapi() -> Value {
    let mut all = Schemas::default();
    let (sent, told) = (socket::messages_from_client(&mut all), socket::messages_to_client(&mut all));
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
type StreamChannel = (&'static str, &'static str, &'static str, Vec<ChannelMessage>);

fn streams(generator: &mut SchemaGenerator) -> Vec<StreamChannel> {
    let event = ("event", "One event of the log", schema::<Event>(generator));
    let problem = ("problem", "The last frame: why the stream has ended", schema::<Problem<'_>>(generator));
    let facts = [event.clone(), heartbeat()].into_iter().chain(snapshot_dialect()).collect();
    vec![
        (
            "sessionEvents",
            "/api/sessions/{id}/events",
            "Every event of a session's log after a position, then new events as they happen: `id` is the position, `event` the type, `data` the event. \
             With `dialect=snapshot`, the frames of that protocol.",
            facts,
        ),
        (
            "sessionView",
            "/api/sessions/{id}/view/stream",
            "The conversation as people read it: `snapshot` first, unless the client is at the head, then `ops`.",
            vec![
                ("snapshot", "The whole window of the view", schema::<View>(generator)),
                ("ops", "The changes since the last frame", schema::<OpsFrame>(generator)),
                heartbeat(),
            ],
        ),
        (
            "turn",
            "/api/sessions/{id}/turn",
            "One message and its turn: `accepted`, then the events of the turn until `done`. If there will be no `done`, `problem` is the last frame.",
            vec![("accepted", "The message was accepted", schema::<Receipt>(generator)), event, problem, heartbeat()],
        ),
        (
            "sessions",
            "/api/sessions",
            "The list of sessions: `snapshot` first, unless the client's position is still known, then `changes`.",
            vec![
                ("snapshot", "The first page", schema::<SessionList>(generator)),
                ("changes", "The sessions that have changed", changes(generator)),
                heartbeat(),
            ],
        ),
        (
            "asks",
            "/api/asks",
            "Everything that waits for a person, sent each time it changes.",
            vec![("asks", "The whole list", schema::<Asks>(generator)), heartbeat()],
        ),
        (
            "automation",
            "/api/automation",
            "Whether schedules, channels or webhooks have changed: whoever shows them reads them again.",
            vec![
                ("automation", "A number for each, which is another one after a change", schema::<Versions>(generator)),
                heartbeat(),
            ],
        ),
        (
            "inbox",
            "/api/inbox",
            "Everything that is for a person, over all sessions, sent each time it changes.",
            vec![("inbox", "The whole inbox", schema::<Listed>(generator)), heartbeat()],
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
    fn channel(&mut self, name: &str, server: &str, address: &str, description: &str, messages: Vec<ChannelMessage>) {
        let parameters: Map<String, Value> = address
            .split('/')
            .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
            .map(|name| (name.to_owned(), json!({ "description": "The id of a session" })))
            .collect();
        let message = |(name, summary, mut payload): ChannelMessage| {
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
    fn stream(&mut self, name: &str, address: &str, description: &str, messages: Vec<ChannelMessage>) {
        self.channel(name, "http", address, description, messages);
        self.operations.insert(
            format!("follow_{name}"),
            json!({ "action": "send", "summary": description, "channel": { "$ref": format!("#/channels/{name}") } }),
        );
    }

    /// The WebSocket: ops that a client sends, and what comes back.
    fn socket(&mut self, mut sent: Vec<ChannelMessage>, mut told: Vec<ChannelMessage>, differing: &[String]) {
        for (_, _, payload) in &mut sent {
            schemas::rename(payload, differing);
        }
        for (_, _, payload) in &mut told {
            schemas::absent_is_not_null(payload);
        }
        let references = |carried: &[ChannelMessage]| {
            let path = |(name, ..): &ChannelMessage| json!({ "$ref": format!("#/channels/socket/messages/{name}") });
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

fn heartbeat() -> ChannelMessage {
    let head = json!({ "type": "integer", "minimum": 0 });
    let schema = json!({
        "type": "object", "properties": { "head": head }, "required": ["head"], "additionalProperties": false,
    });
    ("heartbeat", "Sent every 15 seconds: the newest position of the stream", schema)
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
pub(super) fn snapshot_dialect() -> Vec<ChannelMessage> {
    use turnloom_core::dialect::snapshot::{APPROVAL_REQUEST, APPROVAL_RESOLVED, STREAM};
    let names = [STREAM, APPROVAL_REQUEST, APPROVAL_RESOLVED];
    names.map(|name| (name, "With `dialect=snapshot` only", json!({ "type": "object" }))).to_vec()
}
