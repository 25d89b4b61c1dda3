//! The same over one WebSocket.

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::{Message, WebSocket, connect, stream::MaybeTlsStream};

use crate::support::{Client, Daemon};

type Socket = WebSocket<MaybeTlsStream<std::net::TcpStream>>;

fn open(client: &Client) -> Socket {
    let mut request = format!("ws://{}/api/ws", client.address).into_client_request().unwrap();
    let bearer = format!("Bearer {}", client.token.as_deref().unwrap());
    request.headers_mut().insert("authorization", bearer.parse().unwrap());
    connect(request).expect("a socket").0
}

fn tell(socket: &mut Socket, op: &Value) {
    socket.send(Message::Text(op.to_string().into())).unwrap();
}

fn hear(socket: &mut Socket) -> Value {
    loop {
        if let Message::Text(text) = socket.read().expect("a message") {
            return serde_json::from_str(&text).unwrap();
        }
    }
}

fn until(socket: &mut Socket, found: impl Fn(&Value) -> bool) -> (Vec<Value>, Value) {
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
        json!({ "op": "subscribe", "session_id": "nobody", "ref": 1 }),
        json!({ "op": "send", "session_id": "s", "message": 7, "ref": 1 }),
        json!({ "ref": 1 }),
    ] {
        tell(&mut socket, &op);
        let answer = hear(&mut socket);
        assert_eq!((&answer["op"], &answer["ref"]), (&json!("error"), &json!(1)), "{op}");
        assert!(answer["problem"]["code"].is_string());
    }
    socket.send(Message::Text("not json".into())).unwrap();
    assert_eq!(hear(&mut socket)["op"], "error");
    socket.send(Message::Binary(vec![1, 2].into())).unwrap();
    assert_eq!(hear(&mut socket)["op"], "error");
    tell(&mut socket, &json!({ "op": "ping", "ref": 2 }));
    assert_eq!(hear(&mut socket)["op"], "pong");
}
