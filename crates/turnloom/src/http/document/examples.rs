//! Examples of the answers that nearly every client reads. Examples of bodies are with their routes.

use serde_json::{Value, json};
use turnloom_core::runtime::Capabilities;

/// The example of an answer, by the name of its schema.
pub(super) fn of(schema: &str) -> Option<Value> {
    match schema {
        "Asks" => Some(json!({ "asks": [ask()] })),
        "EventPage" => Some(json!({ "events": events(), "head": 11, "next": 3, "has_more": true })),
        "Receipt" => Some(json!({ "accepted": true, "message_id": "m-1", "turn_id": "turn-1", "queued": false })),
        "SessionList" => Some(json!({ "sessions": [session()] })),
        "SessionView" => Some(session()),
        _ => None,
    }
}

fn session() -> Value {
    let capabilities =
        Capabilities { steer: true, resume: true, permissions: true, questions: true, ..Capabilities::default() };
    json!({
        "session_id": "try-me", "runtime": "mock", "status": "waiting", "head": 11, "turn": "turn-1", "title": "A first try",
        "archived": false, "asks": 1, "queued": 0, "held": 0, "capabilities": capabilities,
        "created_at": "2026-11-15T12:00:00.000Z", "updated_at": "2026-11-15T12:00:00.123Z",
    })
}

fn ask() -> Value {
    json!({
        "session_id": "try-me", "session_title": "A first try", "ask_id": "ask-1", "kind": "permission", "turn_id": "turn-1",
        "seq": 10, "asked_at": "2026-11-15T12:00:00.123Z", "title": "Run rm -rf build",
        "request": {
            "ask_id": "ask-1", "tool_name": "Bash", "tool_input": { "command": "rm -rf build" }, "tool_use_id": "call-1",
            "title": "Run rm -rf build",
            "options": [{ "reply": "once", "label": "Allow once" }, { "reply": "reject", "label": "Reject" }],
        },
    })
}

fn events() -> Value {
    let ts = "2026-11-15T12:00:00.000Z";
    json!([
        {
            "seq": 1, "ts": ts, "type": "session_ready", "session_id": "try-me",
            "data": { "session_id": "try-me", "runtime": "mock", "title": "A first try" },
        },
        {
            "seq": 2, "ts": ts, "type": "user_message", "session_id": "try-me", "turn_id": "turn-1",
            "data": { "message_id": "m-1", "content": [{ "type": "text", "text": "permission" }], "origin": "user" },
        },
        {
            "seq": 3, "ts": ts, "type": "turn_started", "session_id": "try-me", "turn_id": "turn-1",
            "data": { "message_ids": ["m-1"], "origin": "user" },
        },
    ])
}
