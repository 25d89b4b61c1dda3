//! However many do not read what they asked for, the daemon's memory is bounded.

use std::net::TcpStream;

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use crate::gateway::Device;
use crate::support::{Client, Daemon, eventually};
use crate::views::as_streamed;
use crate::websocket::{self, Socket};

const MIB: usize = 1024 * 1024;

/// How many ask at once.
const MANY: usize = 50;

/// A session whose view is some ten mebibytes.
fn large(client: &Client) -> usize {
    client.mock("s");
    client.turn("s", "stream 1000 12000");
    let size = as_streamed(client.get("/api/sessions/s/view").json()).to_string().len();
    assert!(size > 10 * MIB, "{size}");
    size
}

fn subscribe(socket: &mut Socket, name: usize) {
    websocket::tell(socket, &json!({ "op": "subscribe", "stream": "view", "session_id": "s", "subscription": name }));
}

/// Reads snapshots until each of these subscriptions has had its own. Texts are not parsed: they are large.
fn take_snapshots(socket: &mut Socket, count: usize, size: usize) {
    let mut taken = 0;
    while taken < count {
        if let Message::Text(text) = socket.read().expect("a message")
            && text.contains("\"name\":\"snapshot\"")
        {
            assert!(text.len() >= size && text.ends_with('}'), "all of it");
            taken += 1;
        }
    }
}

fn until_followed(client: &Client, followers: usize) {
    let line = format!("turnloom_followers {followers}\n");
    eventually("all follow", || client.get("/metrics").body.contains(&line).then_some(()));
}

#[test]
fn unread_views_share_what_they_are_sent() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    let size = large(client);
    let before = daemon.peak_memory();
    let mut one = websocket::open(client);
    for name in 0..MANY {
        subscribe(&mut one, name);
    }
    until_followed(client, MANY);
    take_snapshots(&mut one, MANY, size);
    drop(one);
    until_followed(client, 0);
    let on_one = daemon.peak_memory() - before;
    assert!(on_one < 100 * MIB, "{MANY} on one socket took {} MiB", on_one / MIB);

    let mut sockets: Vec<Socket> = (0..MANY).map(|_| websocket::open(client)).collect();
    for socket in &mut sockets {
        subscribe(socket, 1);
    }
    until_followed(client, MANY);
    for socket in &mut sockets {
        assert_eq!(websocket::hear(socket)["op"], "subscribed");
    }
    for socket in &mut sockets {
        take_snapshots(socket, 1, size);
    }
    let on_many = daemon.peak_memory() - before;
    assert!(on_many < 150 * MIB, "{MANY} sockets took {} MiB", on_many / MIB);
}

#[test]
fn unread_histories_wait_their_turn() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    large(client);
    let path = "/ai-sdk/chat/s/messages";
    let size = client.get(path).body.len();
    assert!(size > 10 * MIB, "{size}");
    let before = daemon.peak_memory();
    let unread: Vec<TcpStream> = (0..MANY).map(|_| client.send("GET", path, &[], b"").into_inner()).collect();
    // Four are on their way to somebody; the others have not begun, and nobody else waits for them.
    let has_begun = |stream: &&TcpStream| {
        stream.set_nonblocking(true).unwrap();
        stream.peek(&mut [0; 1]).is_ok()
    };
    eventually("four have begun", || (unread.iter().filter(has_begun).count() >= 4).then_some(()));
    assert_eq!(client.turn("s", "echo still here").last().unwrap()["data"]["outcome"], "completed");
    let taken = daemon.peak_memory() - before;
    assert!(taken < 300 * MIB, "{MANY} histories took {} MiB", taken / MIB);
    drop(unread);
    let again = client.get(path);
    assert!(again.status == 200 && again.json().as_array().unwrap().len() == 4);
}

/// How many of these have an answer.
fn begun(streams: &[TcpStream]) -> usize {
    let has_begun = |stream: &&TcpStream| {
        stream.set_nonblocking(true).unwrap();
        stream.peek(&mut [0; 1]).is_ok()
    };
    streams.iter().filter(has_begun).count()
}

#[test]
fn unread_pages_of_events_wait_their_turn_if_they_are_large() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    large(client);
    let path = "/api/sessions/s/events?limit=10000";
    let size = client.get(path).body.len();
    assert!(size >= 4 * MIB, "{size}");
    let before = daemon.peak_memory();
    let unread: Vec<TcpStream> = (0..MANY).map(|_| client.send("GET", path, &[], b"").into_inner()).collect();
    eventually("some have begun", || (begun(&unread) >= 8).then_some(()));
    // A small one does not wait for them.
    assert_eq!(client.get("/api/sessions/s/events?limit=2").json()["events"].as_array().unwrap().len(), 2);
    let taken = daemon.peak_memory() - before;
    assert!(taken < 100 * MIB, "{MANY} pages took {} MiB", taken / MIB);
    assert!(begun(&unread) < MANY, "all are on their way");
    drop(unread);
    assert_eq!(client.get(path).body.len(), size);
}

#[test]
fn what_is_large_leaves_in_pieces() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("large");
    let content: Vec<u8> = (0..64 * MIB).map(|n| (n % 251) as u8).collect();
    std::fs::write(&file, &content).unwrap();
    client.mock("s");
    client.turn("s", &format!("big {}", 8 * MIB));
    let log = client.log("s");
    let blob = log.iter().find_map(|event| event["data"]["blob"]["id"].as_str()).unwrap();
    let (blob, file) = (format!("/api/blobs/{blob}"), format!("/universal/v1/fs/file?path={}", file.display()));
    let whole = client.get(&blob);
    assert!(whole.bytes.len() >= 8 * MIB);
    let part = client.request("GET", &blob, &[("range", "bytes=1000000-3999999")], b"");
    assert_eq!((part.status, part.header("content-length")), (206, Some("3000000")));
    assert_eq!(part.bytes, whole.bytes[1_000_000..4_000_000]);
    let before = daemon.peak_memory();
    let ask = |path: &str| client.send("GET", path, &[], b"").into_inner();
    let unread: Vec<TcpStream> = (0..MANY).flat_map(|_| [ask(&blob), ask(&file)]).collect();
    eventually("all have begun", || (begun(&unread) == 2 * MANY).then_some(()));
    let taken = daemon.peak_memory() - before;
    assert!(taken < 150 * MIB, "they took {} MiB", taken / MIB);
    drop(unread);
    assert!(client.get(&file).bytes == content, "all of it");
}

#[test]
fn a_device_that_does_not_read_is_sent_little() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("s");
    let mut device = Device::connect(client, "slow", &[]);
    device.verify(client);
    assert_eq!(device.call("getAgentMessages", &json!({ "conversationId": "s" }))["error"], Value::Null);
    let before = daemon.peak_memory();
    client.turn("s", "stream 300 32000 50");
    let taken = daemon.peak_memory() - before;
    assert!(taken < 150 * MIB, "it took {} MiB", taken / MIB);
    let answer = device.call("getAgentMessages", &json!({ "conversationId": "s" }));
    assert_eq!(answer["error"], Value::Null, "it reads on, and is answered");
}

#[test]
fn a_page_of_universal_events_ends_before_it_is_large() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("s");
    for _ in 0..6 {
        client.turn("s", "stream 100 10000");
    }
    let (mut offset, mut pages, mut events) = (0, 0, Vec::new());
    loop {
        let answer = client.get(&format!("/universal/v1/sessions/s/events?offset={offset}"));
        // One more event than four mebibytes, and an event is not taken apart.
        assert!(answer.body.len() < 6 * MIB, "{}", answer.body.len());
        let page = answer.json();
        let told = page["events"].as_array().unwrap();
        offset = told.last().map_or(offset, |event| event["sequence"].as_u64().unwrap());
        events.extend(told.iter().map(|event| event["sequence"].as_u64().unwrap()));
        pages += 1;
        if page["hasMore"] != true {
            break;
        }
        assert!(!told.is_empty(), "a page that says that there is more says something");
    }
    assert!(pages > 2, "{pages}");
    assert_eq!(events, (1..=events.len() as u64).collect::<Vec<_>>());
    let limited: Value = client.get("/universal/v1/sessions/s/events?limit=3").json();
    assert_eq!((limited["events"].as_array().unwrap().len(), &limited["hasMore"]), (3, &json!(true)));
}
