//! Streams that share one WebSocket, and lists that are followed.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::connect;

use crate::support::{Daemon, Sse};
use crate::views::as_streamed;
use crate::websocket::{Socket, hear, open, tell, tell_wrong, until};

fn named(name: &str) -> impl Fn(&Value) -> bool {
    move |message| message["subscription"] == name && message["op"] != "heartbeat"
}

/// The next thing that a subscription tells.
fn next(socket: &mut Socket, name: &str) -> Value {
    until(socket, named(name)).1
}

#[test]
fn a_view_is_followed_and_resumed_like_its_own_stream() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("s");
    client.turn("s", "echo one");
    let mut socket = open(client);
    let subscribe = json!({ "op": "subscribe", "stream": "view", "session_id": "s", "subscription": "v", "ref": 7 });
    tell(&mut socket, &subscribe);
    let agreed = next(&mut socket, "v");
    assert_eq!((&agreed["op"], &agreed["ref"], &agreed["session_id"]), (&json!("subscribed"), &json!(7), &json!("s")));
    let snapshot = next(&mut socket, "v");
    assert_eq!((&snapshot["op"], &snapshot["name"]), (&json!("frame"), &json!("snapshot")));
    assert_eq!(snapshot["data"], as_streamed(client.get("/api/sessions/s/view").json()));
    let head = snapshot["position"].clone();
    assert_eq!(head, agreed["head"]);

    client.say("s", "echo two");
    let ops = next(&mut socket, "v");
    assert_eq!(ops["name"], "ops");
    assert!(ops["position"].as_u64() > head.as_u64());

    // Somebody who comes back gets what is missing and no snapshot.
    tell(&mut socket, &json!({ "op": "unsubscribe", "subscription": "v", "ref": 8 }));
    until(&mut socket, |message| message["ref"] == 8 && message["was_subscribed"] == true);
    client.until_idle("s");
    let resume =
        json!({ "op": "subscribe", "stream": "view", "session_id": "s", "after": head, "subscription": "again" });
    tell(&mut socket, &resume);
    assert_eq!(next(&mut socket, "again")["op"], "subscribed");
    assert_eq!(next(&mut socket, "again")["name"], "ops");
    let late = json!({ "op": "subscribe", "stream": "view", "session_id": "s", "after": 9999, "subscription": "late" });
    tell(&mut socket, &late);
    let refused = next(&mut socket, "late");
    assert_eq!((&refused["op"], &refused["problem"]["code"]), (&json!("error"), &json!("bad_cursor")));
}

#[test]
fn a_subscription_that_is_not_read_keeps_no_other_waiting() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("s");
    let mut socket = open(client);
    for (name, window) in [("slow", json!(4)), ("quick", json!(1_000))] {
        tell(&mut socket, &json!({ "op": "subscribe", "session_id": "s", "subscription": name, "window": window }));
    }
    client.say("s", "stream 200 10");
    let (before, _) =
        until(&mut socket, |message| message["subscription"] == "quick" && message["event"]["type"] == "done");
    let of = |name: &str| -> Vec<u64> {
        let events = before.iter().filter(|message| message["op"] == "event" && message["subscription"] == name);
        events.map(|message| message["event"]["seq"].as_u64().unwrap()).collect()
    };
    assert_eq!(of("slow"), [1, 2, 3, 4]);
    assert!(of("quick").len() > 200);

    // It goes on where it was, as far as it is let; one that counts wrong gets no more than its window.
    tell(&mut socket, &json!({ "op": "taken", "subscription": "slow", "frames": 3 }));
    let more: Vec<u64> = (0..3).map(|_| next(&mut socket, "slow")["event"]["seq"].as_u64().unwrap()).collect();
    assert_eq!(more, [5, 6, 7]);
    tell(&mut socket, &json!({ "op": "taken", "subscription": "slow", "frames": 60_000 }));
    tell(&mut socket, &json!({ "op": "taken", "subscription": "nobody", "frames": 1 }));
    let more: Vec<u64> = (0..4).map(|_| next(&mut socket, "slow")["event"]["seq"].as_u64().unwrap()).collect();
    assert_eq!(more, [8, 9, 10, 11]);
    tell(&mut socket, &json!({ "op": "ping", "ref": "p" }));
    let (between, _) = until(&mut socket, |message| message["ref"] == "p");
    assert!(!between.iter().any(|message| message["op"] == "event"), "{between:?}");
}

#[test]
fn one_session_is_followed_twice_on_one_socket() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("s");
    let mut socket = open(client);
    for name in ["one", "two"] {
        tell(&mut socket, &json!({ "op": "subscribe", "session_id": "s", "subscription": name, "types": "done" }));
    }
    client.say("s", "echo hello");
    let mut heard: Vec<String> = (0..2)
        .map(|_| until(&mut socket, |message| message["event"]["type"] == "done").1)
        .map(|message| message["subscription"].as_str().unwrap().to_owned())
        .collect();
    heard.sort();
    assert_eq!(heard, ["one", "two"]);
}

#[test]
fn a_message_and_its_turn_are_one_subscription() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("s");
    let mut socket = open(client);
    let turn = json!({
        "op": "subscribe", "stream": "turn", "session_id": "s", "subscription": "t", "message": "echo hi", "message_id": "m1",
    });
    tell(&mut socket, &turn);
    let (told, _) = until(&mut socket, |message| message["op"] == "ended");
    let kinds: Vec<&str> =
        told.iter().filter_map(|message| message["event"]["type"].as_str().or(message["name"].as_str())).collect();
    assert_eq!((kinds[0], kinds[1], *kinds.last().unwrap()), ("accepted", "user_message", "done"));
    let wrong = json!({ "op": "subscribe", "stream": "turn", "session_id": "s", "mesage": "hi", "ref": 1 });
    tell_wrong(&mut socket, &wrong);
    assert_eq!(hear(&mut socket)["problem"]["code"], "invalid_request");
}

/// What a list that is followed holds after each frame: ids and status.
struct List {
    stream: Sse,
    held: Vec<(String, String)>,
    position: u64,
}

impl List {
    fn follow(daemon: &Daemon, query: &str) -> Self {
        let stream = Sse::open(&daemon.client, &format!("/api/sessions{query}"));
        Self { stream, held: Vec::new(), position: 0 }
    }

    /// Takes frames until the list is like this.
    fn until(&mut self, what: &str, found: impl Fn(&[(String, String)]) -> bool) {
        loop {
            let event = self.stream.next_event().unwrap_or_else(|| panic!("never: {what}: {:?}", self.held));
            let data: Value = serde_json::from_str(&event.data).unwrap();
            let rows = |name: &str| data[name].as_array().cloned().unwrap_or_default();
            if event.kind == "snapshot" {
                self.held.clear();
            }
            let gone: Vec<Value> = rows("removed")
                .into_iter()
                .chain(rows("sessions").iter().map(|row| row["session_id"].clone()))
                .collect();
            self.held.retain(|(id, _)| !gone.contains(&json!(id)));
            let text = |row: &Value, name: &str| row[name].as_str().unwrap().to_owned();
            self.held.extend(rows("sessions").iter().map(|row| (text(row, "session_id"), text(row, "status"))));
            self.position = event.id.unwrap_or(self.position);
            if found(&self.held) {
                return;
            }
        }
    }
}

#[test]
fn the_list_of_sessions_is_followed() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("first");
    let has = |id: &str, status: &str| {
        let row = (id.to_owned(), status.to_owned());
        move |held: &[(String, String)]| held.contains(&row)
    };
    let lacks = |id: &'static str| move |held: &[(String, String)]| !held.iter().any(|(known, _)| known == id);
    let mut list = List::follow(&daemon, "");
    list.until("what was there", has("first", "idle"));
    client.mock("second");
    list.until("a new one", has("second", "idle"));
    client.say("second", "hang");
    list.until("it runs", has("second", "running"));
    client.post("/api/sessions/second/stop", &json!({}));
    list.until("it was stopped", has("second", "idle"));
    client.say("second", "permission");
    list.until("it waits", has("second", "waiting"));
    let position = list.position;
    client.delete("/api/sessions/first");
    list.until("archived ones leave", lacks("first"));
    client.delete("/api/sessions/second?purge=true");
    list.until("removed ones leave", lacks("second"));

    let mut archived = List::follow(&daemon, "?archived=true");
    archived.until("the other list", has("first", "archived"));
    // Somebody who was away for a moment hears only what changed.
    let mut back = List::follow(&daemon, &format!("?after={position}"));
    let event = back.stream.next_event().unwrap();
    let data: Value = serde_json::from_str(&event.data).unwrap();
    assert_eq!(event.kind, "changes");
    assert_eq!(data, json!({ "sessions": [], "removed": ["first", "second"] }));
    // A position that was never reached is a list anew.
    let mut anew = List::follow(&daemon, "?after=12000000");
    assert_eq!(anew.stream.next_event().unwrap().kind, "snapshot");
    let stream = [("accept", "text/event-stream")];
    client.request("GET", "/api/sessions?q=x", &stream, b"").is_problem(400, "invalid_request");
    client.get("/api/sessions?after=3").is_problem(400, "invalid_request");
}

#[test]
fn what_waits_for_a_person_is_followed() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("s");
    let mut socket = open(client);
    tell(&mut socket, &json!({ "op": "subscribe", "stream": "asks", "subscription": "a" }));
    tell(&mut socket, &json!({ "op": "subscribe", "stream": "sessions", "subscription": "l" }));
    let count = |message: &Value| message["data"]["asks"].as_array().map(Vec::len);
    let (_, none) = until(&mut socket, |message| message["name"] == "asks");
    assert_eq!(count(&none), Some(0));
    client.say("s", "permission");
    let (_, one) = until(&mut socket, |message| message["name"] == "asks");
    assert_eq!(count(&one), Some(1));
    assert_eq!(one["data"], client.get("/api/asks").json());
    let ask = one["data"]["asks"][0]["ask_id"].as_str().unwrap();
    client.post(&format!("/api/sessions/s/permissions/{ask}"), &json!({ "reply": "once" }));
    let (_, settled) = until(&mut socket, |message| message["name"] == "asks");
    assert_eq!(count(&settled), Some(0));
}

#[test]
fn a_page_gives_its_token_as_a_protocol() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("s");
    let request = |token: &str| {
        let mut request = format!("ws://{}/api/ws?client=page", client.address).into_client_request().unwrap();
        let protocols = format!("turnloom, turnloom.token.{}", BASE64_URL_SAFE_NO_PAD.encode(token));
        request.headers_mut().insert("sec-websocket-protocol", protocols.parse().unwrap());
        request
    };
    let (mut socket, response) = connect(request(client.token.as_deref().unwrap())).expect("a socket");
    assert_eq!(response.headers()["sec-websocket-protocol"], "turnloom");
    tell(&mut socket, &json!({ "op": "send", "session_id": "s", "message": "permission", "ref": 1 }));
    until(&mut socket, |message| message["op"] == "accepted");
    let ask_id = client.ask("s");
    tell(&mut socket, &json!({ "op": "answer", "session_id": "s", "ask_id": ask_id, "reply": "once", "ref": 2 }));
    until(&mut socket, |message| message["op"] == "resolved");
    let resolved = client.log("s").into_iter().find(|event| event["type"] == "permission_resolved").unwrap();
    assert_eq!(resolved["data"]["by"], "page");

    let refused = connect(request("wrong")).expect_err("a wrong token");
    assert!(refused.to_string().contains("401"), "{refused}");
    // Why a socket does not come about is asked by an ordinary request.
    client.get("/api/ws").is_problem(426, "upgrade_required");
    client.get("/api/ws?colour=red").is_problem(400, "invalid_request");
}
