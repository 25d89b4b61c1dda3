//! Streams and ops where no `WebSocket` gets through: one stream that tells, to which ops are posted.

use serde_json::{Value, json};

use crate::support::{Client, Daemon, Sse, eventually};

struct Channel<'a> {
    client: &'a Client,
    stream: Sse,
    address: String,
}

impl<'a> Channel<'a> {
    fn open(client: &'a Client) -> Self {
        let mut stream = Sse::open(client, "/api/channel");
        assert_eq!(stream.status, 200);
        let opened: Value = serde_json::from_str(&stream.next_event().unwrap().data).unwrap();
        assert_eq!(opened["op"], "opened");
        let address = format!("/api/channel/{}", opened["channel"].as_str().unwrap());
        Self { client, stream, address }
    }

    fn post(&self, ops: &Value) {
        assert_eq!(self.client.post(&self.address, ops).status, 204);
    }

    /// What is told, up to what is looked for.
    fn until(&mut self, is_it: impl Fn(&Value) -> bool) -> Vec<Value> {
        let mut told = Vec::new();
        loop {
            let event = self.stream.next_event().expect("it goes on");
            told.push(serde_json::from_str(&event.data).unwrap());
            if told.last().is_some_and(&is_it) {
                return told;
            }
        }
    }
}

fn sockets(client: &Client) -> String {
    let text = client.get("/metrics").body;
    text.lines().find_map(|line| line.strip_prefix("turnloom_sockets ")).unwrap().to_owned()
}

#[test]
fn a_channel_does_what_a_socket_does() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    for id in ["a", "b"] {
        client.mock(id);
    }
    let mut channel = Channel::open(client);
    let subscribe = |stream: &str, id: &str, name: &str| json!({ "op": "subscribe", "stream": stream, "session_id": id, "subscription": name, "window": 64 });
    channel.post(&json!([
        subscribe("events", "a", "a"),
        subscribe("view", "b", "b"),
        { "op": "subscribe", "stream": "asks", "subscription": "asks" },
        { "op": "send", "session_id": "a", "message": "permission", "ref": 7 },
    ]));
    let told = channel.until(|told| told["event"]["type"] == "permission_request");
    assert!(told.iter().any(|told| told["op"] == "accepted" && told["ref"] == 7), "{told:?}");
    assert!(told.iter().any(|told| told["subscription"] == "b" && told["name"] == "snapshot"), "{told:?}");
    // What is posted later is done later, on the same stream.
    let ask = told.last().unwrap()["event"]["data"]["ask_id"].clone();
    channel.post(&json!([{ "op": "answer", "session_id": "a", "ask_id": ask, "reply": "once", "ref": "x" }]));
    let told = channel.until(|told| told["event"]["type"] == "done");
    assert!(told.iter().any(|told| told["op"] == "resolved" && told["ref"] == "x"), "{told:?}");
    channel.post(
        &json!([{ "op": "unsubscribe", "subscription": "a" }, { "op": "ping", "ref": 1 }, { "op": "dance", "ref": 2 }]),
    );
    let told = channel.until(|told| told["ref"] == 2);
    let ops: Vec<&str> = told.iter().filter_map(|told| told["op"].as_str()).filter(|op| *op != "event").collect();
    assert_eq!(ops[ops.len() - 3..], ["unsubscribed", "pong", "error"], "{told:?}");
    assert_eq!(told.last().unwrap()["problem"]["code"], "invalid_request");
    assert_eq!(sockets(client), "1");
}

#[test]
fn a_channel_ends_with_its_stream_and_with_the_daemon() {
    let mut daemon = Daemon::start();
    let client = daemon.client.clone();
    let channel = Channel::open(&client);
    client.post("/api/channel/of-nobody", &json!([])).is_problem(404, "channel_not_found");
    client.post(&channel.address, &json!({ "op": "ping" })).is_problem(400, "invalid_request");
    let address = channel.address.clone();
    drop(channel);
    eventually("it is gone", || (client.post(&address, &json!([])).status == 404).then_some(()));
    eventually("nothing is kept of it", || (sockets(&client) == "0").then_some(()));
    let mut channel = Channel::open(&client);
    client.mock("s");
    channel.post(&json!([{ "op": "subscribe", "session_id": "s" }]));
    channel.until(|told| told["op"] == "event");
    assert_eq!(daemon.terminate(), Some(0));
    while channel.stream.next_event().is_some() {}
}
