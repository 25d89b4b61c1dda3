//! The same over one WebSocket.

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::{Message, WebSocket, connect, stream::MaybeTlsStream};

use crate::support::contract::STREAMS;
use crate::support::{Client, Daemon};

pub(crate) type Socket = WebSocket<MaybeTlsStream<std::net::TcpStream>>;

pub(crate) fn open(client: &Client) -> Socket {
    let bearer = format!("Bearer {}", client.token.as_deref().unwrap());
    open_with(client, &[("authorization", &bearer)])
}

pub(crate) fn open_with(client: &Client, headers: &[(&'static str, &str)]) -> Socket {
    let mut request = format!("ws://{}/api/ws", client.address).into_client_request().unwrap();
    for (name, value) in headers {
        request.headers_mut().insert(*name, value.parse().unwrap());
    }
    connect(request).expect("a socket").0
}

/// Sends an op that the document describes.
#[track_caller]
pub(crate) fn tell(socket: &mut Socket, op: &Value) {
    STREAMS.check_op(op);
    socket.send(Message::Text(op.to_string().into())).unwrap();
}

/// Sends one that it does not.
#[track_caller]
pub(crate) fn tell_wrong(socket: &mut Socket, op: &Value) {
    assert!(!STREAMS.errors_of_op(op).is_empty(), "the document allows {op}");
    socket.send(Message::Text(op.to_string().into())).unwrap();
}

/// What comes next, which is what the document says.
#[track_caller]
pub(crate) fn hear(socket: &mut Socket) -> Value {
    loop {
        if let Message::Text(text) = socket.read().expect("a message") {
            let told = serde_json::from_str(&text).unwrap();
            STREAMS.check_op(&told);
            return told;
        }
    }
}

pub(crate) fn until(socket: &mut Socket, found: impl Fn(&Value) -> bool) -> (Vec<Value>, Value) {
    let mut before = Vec::new();
    loop {
        let message = hear(socket);
        if found(&message) {
            return (before, message);
        }
        before.push(message);
    }
}

#[test]
fn follow_send_answer_and_stop_on_one_socket() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("a");
    client.mock("b");
    let mut socket = open(client);
    tell(&mut socket, &json!({ "op": "ping", "ref": 1 }));
    assert_eq!(hear(&mut socket), json!({ "op": "pong", "ref": 1 }));
    for id in ["a", "b"] {
        tell(&mut socket, &json!({ "op": "subscribe", "session_id": id, "after": 0, "ref": id }));
    }
    tell(&mut socket, &json!({ "op": "send", "session_id": "a", "message": "permission", "ref": "s" }));
    let (_, asked) = until(&mut socket, |message| message["event"]["type"] == "permission_request");
    assert_eq!(asked["ref"], "a");
    let ask_id = asked["event"]["data"]["ask_id"].clone();
    let answer = json!({ "op": "answer", "session_id": "a", "ask_id": ask_id, "reply": "once", "ref": "x" });
    tell(&mut socket, &answer);
    let (_, resolved) = until(&mut socket, |message| message["ref"] == "x");
    assert_eq!((&resolved["op"], &resolved["resolved"]), (&json!("resolved"), &json!(true)));
    tell(&mut socket, &answer);
    let (_, refused) = until(&mut socket, |message| message["ref"] == "x");
    assert_eq!(refused["problem"]["code"], "already_resolved");

    tell(&mut socket, &json!({ "op": "send", "session_id": "b", "message": "hang", "ref": "h" }));
    until(&mut socket, |message| message["ref"] == "h");
    tell(&mut socket, &json!({ "op": "stop", "session_id": "b", "ref": "stop" }));
    let (_, stopped) = until(&mut socket, |message| message["ref"] == "stop");
    assert_eq!(stopped["stopped"], true);
}

#[test]
fn what_a_socket_sends_is_what_the_log_holds() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("s");
    client.turn("s", "demo_is_just_an_echo");
    let mut socket = open(client);
    tell(&mut socket, &json!({ "op": "subscribe", "session_id": "s", "after": 2 }));
    let (before, last) = until(&mut socket, |message| message["event"]["type"] == "done");
    let events: Vec<Value> = before
        .iter()
        .chain([&last])
        .filter(|message| message["op"] == "event")
        .map(|message| message["event"].clone())
        .collect();
    assert_eq!(events, client.log("s")[2..]);
    tell(&mut socket, &json!({ "op": "unsubscribe", "session_id": "s", "ref": 9 }));
    assert_eq!(hear(&mut socket)["was_subscribed"], true);
}

#[test]
fn a_bad_op_is_refused_and_the_socket_goes_on() {
    let daemon = Daemon::start();
    let mut socket = open(&daemon.client);
    for op in [
        json!({ "op": "fly", "ref": 1 }),
        json!({ "op": "subscribe", "stream": "clouds", "ref": 1 }),
        json!({ "op": "subscribe", "session_id": "s", "window": 0, "ref": 1 }),
        json!({ "op": "subscribe", "session_id": "s", "subscription": [], "ref": 1 }),
        json!({ "op": "send", "session_id": "s", "message": 7, "ref": 1 }),
        json!({ "op": "stop", "session_id": "s", "then": "wait", "ref": 1 }),
        json!({ "ref": 1 }),
    ] {
        tell_wrong(&mut socket, &op);
        let answer = hear(&mut socket);
        assert_eq!((&answer["op"], &answer["ref"]), (&json!("error"), &json!(1)), "{op}");
        assert!(answer["problem"]["code"].is_string());
    }
    tell(&mut socket, &json!({ "op": "subscribe", "session_id": "nobody", "ref": 1 }));
    assert_eq!(hear(&mut socket)["problem"]["code"], "session_not_found");
    for (op, named) in [
        (json!({ "op": "ping", "colour": 1, "ref": 1 }), "colour"),
        (json!({ "op": "subscribe", "session_id": "s", "aftre": 3, "ref": 1 }), "aftre"),
        (json!({ "op": "unsubscribe", "session_id": "s", "after": 3, "ref": 1 }), "after"),
        (json!({ "op": "send", "session_id": "s", "message": "hi", "wehn": "queue", "ref": 1 }), "wehn"),
        (json!({ "op": "stop", "session_id": "s", "turn": "t", "ref": 1 }), "turn"),
        (json!({ "op": "answer", "session_id": "s", "ask_id": "a", "reply": "once", "msg": "", "ref": 1 }), "msg"),
        (json!({ "op": "answer", "session_id": "s", "ask_id": "a", "ref": 1 }), "reply"),
    ] {
        tell_wrong(&mut socket, &op);
        let problem = hear(&mut socket)["problem"].clone();
        assert_eq!(problem["code"], "invalid_request", "{op}: {problem}");
        assert!(problem["detail"].as_str().unwrap().contains(&format!("`{named}`")), "{op}: {problem}");
    }
    socket.send(Message::Text("not json".into())).unwrap();
    assert_eq!(hear(&mut socket)["op"], "error");
    socket.send(Message::Binary(vec![1, 2].into())).unwrap();
    assert_eq!(hear(&mut socket)["op"], "error");
    tell(&mut socket, &json!({ "op": "ping", "ref": 2 }));
    assert_eq!(hear(&mut socket)["op"], "pong");
}

#[test]
fn a_misspelt_answer_answers_nothing() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("s");
    client.say("s", "question");
    let ask_id = client.ask("s");
    let mut socket = open(client);
    let answer = |fields: Value| {
        let mut op = json!({ "op": "answer", "session_id": "s", "ask_id": ask_id, "ref": 1 });
        op.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        op
    };
    for wrong in [
        json!({ "anwsers": [["Silk"], []] }),
        json!({ "reply": "noce" }),
        json!({ "answers": "Silk" }),
        json!({ "answers": null, "value": 1 }),
    ] {
        tell_wrong(&mut socket, &answer(wrong.clone()));
        assert_eq!(hear(&mut socket)["problem"]["code"], "invalid_request", "{wrong}");
    }
    tell(&mut socket, &answer(json!({ "reply": "reject", "updated_input": {} })));
    assert_eq!(hear(&mut socket)["problem"]["code"], "invalid_request");
    assert_eq!(client.ask("s"), ask_id, "it still waits");
    tell(&mut socket, &answer(json!({ "answers": null })));
    assert_eq!(hear(&mut socket)["resolved"], true);
}

#[test]
fn a_goodbye_is_answered() {
    let daemon = Daemon::start();
    let mut socket = open(&daemon.client);
    socket.close(None).unwrap();
    let mut heard = Vec::new();
    let ended = loop {
        match socket.read() {
            Ok(message) => heard.push(message),
            Err(error) => break error,
        }
    };
    assert!(matches!(heard.as_slice(), [Message::Close(_)]), "{heard:?}, then {ended}");
}

#[test]
fn who_wants_too_much_at_once_is_not_read_on() {
    let daemon = Daemon::start_with("interrupt_seconds = 2\nterminate_seconds = 1", &[]);
    let client = &daemon.client;
    client.mock("s");
    let first_heard = |stops: usize| {
        client.say("s", "stubborn");
        client.until_thinking("s");
        let mut socket = open(client);
        for number in 0..stops {
            tell(&mut socket, &json!({ "op": "stop", "session_id": "s", "ref": number }));
        }
        tell(&mut socket, &json!({ "op": "ping" }));
        let heard: Vec<Value> = (0..=stops).map(|_| hear(&mut socket)).collect();
        assert!(heard.iter().filter(|told| told["op"] == "stopped").count() == stops, "all are answered");
        heard[0]["op"].clone()
    };
    assert_eq!(first_heard(63), "pong");
    assert_eq!(first_heard(65), "stopped", "the ping waits behind the stop that is too much");
}
