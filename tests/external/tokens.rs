//! Scoped tokens: every route, every scope.

use std::io::BufRead as _;

use serde_json::{Value, json};

use crate::agent::make_token;
use crate::support::contract::CONTRACT;
use crate::support::{Client, Daemon, of_kind};

/// What each scope opens, besides what is open to everybody. Whatever is not here is closed.
const READS: &[&str] = &[
    "get /api/sessions/{id}",
    "get /api/sessions/{id}/export",
    "get /api/sessions/{id}/queue",
    "get /api/sessions/{id}/queue/{message_id}",
    "get /api/sessions/{id}/events",
    "get /api/sessions/{id}/view",
    "get /api/sessions/{id}/files",
    "get /api/sessions/{id}/view/stream",
    "get /api/sessions/{id}/state",
    "get /api/ws",
    "get /api/channel",
    "post /api/channel/{channel}",
    "get /api/blobs/{blob_id}",
];
/// The inbox is marked by whoever may answer in all sessions.
const USES_ALL: &[&str] = &[
    "post /api/inbox/read",
    "post /api/inbox/{item}/read",
    "post /api/inbox/{item}/unread",
    "post /api/inbox/{item}/snooze",
    "post /api/inbox/{item}/unsnooze",
];
const READS_ALL: &[&str] = &["get /api/sessions", "get /api/asks", "get /api/inbox"];
const USES: &[&str] = &[
    "post /api/sessions/{id}/message",
    "post /api/sessions/{id}/turn",
    "post /api/sessions/{id}/stop",
    "post /api/sessions/{id}/background/{background_id}/stop",
    "patch /api/sessions/{id}/queue",
    "post /api/sessions/{id}/continue",
    "patch /api/sessions/{id}/queue/{message_id}",
    "delete /api/sessions/{id}/queue/{message_id}",
    "post /api/sessions/{id}/permissions/{ask_id}",
    "post /api/sessions/{id}/questions/{ask_id}",
    "post /api/sessions/{id}/questions/{ask_id}/reject",
    "post /api/sessions/{id}/interrupt/{interrupt_id}",
    "patch /api/sessions/{id}/state",
    "post /api/sessions/{id}/components/{component_id}/callback",
    "post /api/sessions/{id}/tool-results/{tool_use_id}",
];
const EMITS: &[&str] = &["post /api/sessions/{id}/emit"];
const CONNECTS: &[&str] = &["get /api/agents/connect", "get /api/blobs/{blob_id}"];

fn status(client: &Client, method: &str, path: &str) -> u16 {
    let mut answer =
        client.send(&method.to_uppercase(), path, &[("content-type", "application/json")], b"{\"no_such\":1}");
    let mut line = String::new();
    answer.read_line(&mut line).unwrap();
    line.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_else(|| panic!("{method} {path}: {line:?}"))
}

/// A scope, what it opens, and what it does not.
type Scope<'a> = (&'a str, Vec<&'a [&'a str]>, Vec<&'a [&'a str]>);

#[test]
fn each_scope_opens_its_routes_and_no_other() {
    let daemon = Daemon::start();
    daemon.client.mock("s1");
    daemon.client.mock("s2");
    let scopes: [Scope<'_>; 8] = [
        ("read:s1", vec![READS], vec![]),
        ("read:*", vec![READS, READS_ALL], vec![READS]),
        ("use:s1", vec![READS, USES], vec![]),
        ("use:*", vec![READS, READS_ALL, USES, USES_ALL], vec![READS, USES]),
        ("emit:s1", vec![EMITS], vec![]),
        ("emit:*", vec![EMITS], vec![EMITS]),
        ("agent:research", vec![CONNECTS], vec![]),
        ("read:s2", vec![&READS[9..]], vec![READS]),
    ];
    let mut seen = 0;
    for (scope, own, others) in &scopes {
        let (_, token) = make_token(&daemon.client, "somebody", &[scope]);
        let client = Client::new(&daemon.client.address, Some(&token));
        for (path, methods) in CONTRACT.document["paths"].as_object().unwrap() {
            for (method, operation) in methods.as_object().unwrap() {
                let is_open = operation["security"] == json!([]);
                let name = format!("{method} {path}");
                for (session, allowed) in [("s1", own), ("s2", others)] {
                    if session == "s2" && !path.contains("/api/sessions/{id}") {
                        continue;
                    }
                    let concrete = filled(path, session);
                    let may = is_open || allowed.iter().any(|list| list.contains(&name.as_str()));
                    let answered = status(&client, method, &concrete);
                    assert_eq!(answered != 403, may, "{scope}: {method} {concrete} answers {answered}");
                    seen += 1;
                }
            }
        }
        assert_eq!(status(&client, "get", "/no/such/route"), 403, "{scope}");
        assert_eq!(status(&client, "post", "/api/sessions/s1"), 403, "{scope}: a method that is not there");
    }
    assert!(seen > 500, "{seen}");
}

/// A path with something in each of its places.
fn filled(path: &str, session: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        parts.push(match part {
            "{id}" if path.starts_with("/api/sessions/") => session,
            part if part.starts_with('{') => "none",
            part => part,
        });
    }
    parts.join("/")
}

#[test]
fn full_opens_everything_but_tokens_and_its_name_is_in_the_log() {
    let daemon = Daemon::start();
    daemon.client.mock("s1");
    let (id, token) = make_token(&daemon.client, "Deputy", &["full"]);
    let deputy = Client::new(&daemon.client.address, Some(&token));
    assert_eq!(deputy.get("/api/agents").status, 200);
    for (method, path) in [("GET", "/api/tokens"), ("POST", "/api/tokens"), ("DELETE", "/api/tokens/x")] {
        deputy.request(method, path, &[], b"{}").is_problem(403, "forbidden");
    }
    let headers = [("turnloom-client", "somebody else"), ("content-type", "application/json")];
    assert_eq!(deputy.request("PATCH", "/api/sessions/s1", &headers, b"{\"title\":\"Mine\"}").status, 200);
    let log = daemon.client.log("s1");
    assert_eq!(of_kind(&log, "session_updated")[0]["data"]["by"], "Deputy", "whatever it calls itself");
    let listed = daemon.client.get("/api/tokens").json();
    assert_eq!((&listed["tokens"][0]["name"], &listed["tokens"][0]["token_id"]), (&json!("Deputy"), &json!(id)));
    assert!(!listed.to_string().contains(&token));
    let kept = std::fs::read_to_string(daemon.data.join("tokens")).unwrap();
    assert!(!kept.contains(&token[3..]), "only its digest is kept");
    let own = daemon.client.request(
        "POST",
        "/api/tokens",
        &[("turnloom-client", "agent")],
        b"{\"name\":\"agent\",\"scopes\":[\"full\"]}",
    );
    own.is_problem(400, "invalid_request");
}

#[test]
fn a_token_outlives_the_daemon_until_it_is_revoked_and_takes_its_streams_with_it() {
    let mut daemon = Daemon::start();
    daemon.client.mock("s1");
    let (id, token) = make_token(&daemon.client, "Reader", &["read:s1"]);
    daemon.kill();
    daemon.again();
    let reader = Client::new(&daemon.client.address, Some(&token));
    let mut stream = crate::support::Sse::open(&reader, "/api/sessions/s1/events");
    assert!(stream.next_event().is_some());
    assert_eq!(daemon.client.delete(&format!("/api/tokens/{id}")).status, 204);
    while stream.next_event().is_some() {}
    reader.get("/api/sessions/s1").is_problem(401, "unauthorized");
    daemon.client.delete(&format!("/api/tokens/{id}")).is_problem(404, "token_not_found");
}

#[test]
fn a_token_ends_when_it_was_to_end() {
    let daemon = Daemon::start();
    daemon.client.mock("s1");
    let soon = turnloom::session::now().plus_millis(3_000);
    let made = daemon.client.post("/api/tokens", &json!({ "name": "Short", "scopes": ["read:*"], "expires_at": soon }));
    let reader = Client::new(&daemon.client.address, made.json()["token"].as_str());
    let mut stream = crate::support::Sse::open(&reader, "/api/sessions/s1/events");
    while stream.next_event().is_some() {}
    reader.get("/api/sessions/s1").is_problem(401, "unauthorized");
    assert_eq!(daemon.client.get("/api/tokens").json()["tokens"], json!([]));
}

#[test]
fn ops_of_a_socket_are_held_to_the_scopes() {
    use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
    use tokio_tungstenite::tungstenite::{Message, connect};
    let daemon = Daemon::start();
    daemon.client.mock("s1");
    daemon.client.mock("s2");
    let (id, token) = make_token(&daemon.client, "Reader", &["read:s1"]);
    let mut request = format!("ws://{}/api/ws?client=boss", daemon.client.address).into_client_request().unwrap();
    request.headers_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
    let mut socket = connect(request).unwrap().0;
    for (op, may) in [
        (json!({ "op": "subscribe", "stream": "events", "session_id": "s1" }), true),
        (json!({ "op": "subscribe", "stream": "events", "session_id": "s2" }), false),
        (json!({ "op": "subscribe", "stream": "view", "session_id": "s2" }), false),
        (json!({ "op": "subscribe", "stream": "turn", "session_id": "s1", "message": "demo" }), false),
        (json!({ "op": "subscribe", "stream": "sessions" }), false),
        (json!({ "op": "subscribe", "stream": "asks" }), false),
        (json!({ "op": "subscribe", "stream": "tasks" }), false),
        (json!({ "op": "send", "session_id": "s1", "message": "demo" }), false),
        (json!({ "op": "stop", "session_id": "s1" }), false),
        (json!({ "op": "ping" }), true),
    ] {
        let mut op: Value = op;
        op["ref"] = json!("r");
        socket.send(Message::text(op.to_string())).unwrap();
        let answer: Value = loop {
            if let Message::Text(text) = socket.read().unwrap() {
                let told: Value = serde_json::from_str(&text).unwrap();
                if told["ref"] == "r" && told["op"] != "event" && told["op"] != "heartbeat" {
                    break told;
                }
            }
        };
        assert_eq!(answer["problem"]["code"] != "forbidden", may, "{op} {answer}");
    }
    assert_eq!(daemon.client.delete(&format!("/api/tokens/{id}")).status, 204);
    while !matches!(socket.read(), Err(_) | Ok(Message::Close(_))) {}
}
