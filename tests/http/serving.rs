//! Sockets: who does not read, write or say who they are keeps nobody waiting.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

use crate::support::{Client, Daemon, PATIENCE, Sse, eventually, preload};
use crate::websocket;

/// A connection on which exactly this was sent.
fn open(client: &Client, sent: &str) -> TcpStream {
    let mut stream = TcpStream::connect(&client.address).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    stream.write_all(sent.as_bytes()).expect("it is sent");
    stream
}

fn bearer(client: &Client) -> String {
    format!("host: {}\r\nauthorization: Bearer {}\r\n", client.address, client.token.as_deref().unwrap())
}

/// Whatever comes until the daemon closes the connection.
fn until_closed(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    // A connection may also be reset.
    match stream.read_to_end(&mut bytes) {
        Ok(_) => {}
        Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset),
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn ending_waits_for_no_stranger_and_no_reader_that_does_not_read() {
    let mut daemon = Daemon::start();
    let client = daemon.client.clone();
    client.mock("s");
    // More than all buffers on the way hold.
    let big = client.turn("s", "big 16000000");
    let blob = big.iter().find_map(|event| event["data"]["blob"]["id"].as_str()).expect("a blob").to_owned();
    client.turn("s", "stream 1500 8000");
    let known = bearer(&client);
    let held = [
        open(&client, ""),
        open(&client, "GET / HT"),
        open(&client, &format!("POST /api/sessions HTTP/1.1\r\n{known}content-length: 100\r\n\r\n{{")),
        open(&client, &format!("GET /api/blobs/{blob} HTTP/1.1\r\n{known}\r\n")),
        open(&client, &format!("GET /api/sessions/s/events HTTP/1.1\r\n{known}accept: text/event-stream\r\n\r\n")),
    ];
    let mut socket = websocket::open(&client);
    let subscribe = json!({ "op": "subscribe", "session_id": "s" }).to_string();
    socket.send(Message::Text(subscribe.into())).unwrap();
    // Whoever waits for an answer that is coming still gets it.
    client.say("s", "hang");
    client.until_thinking("s");
    let begun = Instant::now();
    assert_eq!(daemon.terminate(), Some(0));
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    drop((held, socket));
}

#[test]
fn a_request_that_does_not_come_is_not_waited_for() {
    let daemon = Daemon::start_with("request_seconds = 1", &[]);
    let client = &daemon.client;
    client.mock("s");
    let mut follower = Sse::open(client, "/api/sessions/s/events?after=0");
    assert_eq!(until_closed(&mut open(client, "GET /api/sess")), "", "half a head");
    assert_eq!(until_closed(&mut open(client, "")), "", "nothing at all");
    let known = bearer(client);
    let body = format!("POST /api/sessions/s/message HTTP/1.1\r\n{known}content-length: 100\r\n\r\n{{");
    let answer = until_closed(&mut open(client, &body));
    assert!(answer.starts_with("HTTP/1.1 408 ") && answer.contains("request_timeout"), "{answer}");
    let stranger = "POST /api/sessions HTTP/1.1\r\nhost: nobody\r\ncontent-length: 100\r\n\r\n{";
    let answer = until_closed(&mut open(client, stranger));
    assert!(answer.starts_with("HTTP/1.1 421 "), "{answer}");
    // Whoever follows says nothing for long, and stays.
    client.turn("s", "echo still there");
    assert_eq!(follower.until("done").last().unwrap().kind, "done");
}

#[test]
fn strangers_keep_out_strangers_and_nobody_else() {
    let daemon = Daemon::start_with("max_strangers = 4", &[]);
    let client = &daemon.client;
    client.mock("s");
    let mut follower = Sse::open(client, "/api/sessions/s/events?after=0");
    let mut strangers: Vec<TcpStream> = (0..12).map(|_| open(client, "GET /api/sess")).collect();
    for stranger in &mut strangers[..8] {
        assert_eq!(until_closed(stranger), "");
    }
    assert_eq!(client.turn("s", "echo hello").last().unwrap()["data"]["outcome"], "completed");
    follower.until("done");
}

#[test]
fn running_out_of_descriptors_is_survived() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("s");
    client.turn("s", "echo before");
    let pid = Pid::from_raw(i32::try_from(daemon.pid()).unwrap());
    let used = std::fs::read_dir(format!("/proc/{}/fd", daemon.pid())).unwrap().count() as u64;
    let limit = |current| Rlimit { current: Some(current), maximum: Some(current) };
    prlimit(pid, Resource::Nofile, limit(used + 8)).expect("its limit is changed");
    let strangers: Vec<TcpStream> = (0..60).map(|_| open(client, "GET /api/sess")).collect();
    // Strangers make room, so that who is known is served.
    eventually("it answers", || (client.get("/api/sessions/s").status == 200).then_some(()));
    drop(strangers);
    assert_eq!(client.get("/health").status, 200);
}

#[test]
fn a_daemon_that_accepts_nobody_any_more_ends_with_an_error() {
    let place = tempfile::tempdir().unwrap();
    let (library, wanted) = (preload("accept.c", place.path()), place.path().join("now"));
    let env = [("LD_PRELOAD", library), ("TEST_ACCEPT", wanted.clone()), ("PATH", "/usr/bin:/bin".into())];
    let env = env.map(|(name, value)| (name.to_owned(), value.to_str().unwrap().to_owned()));
    let mut daemon = Daemon::start_in("", env.to_vec());
    daemon.client.mock("s");
    daemon.client.turn("s", "echo hi");
    std::fs::write(wanted, "").unwrap();
    // Nobody answers it: the task that would is the one that panics.
    let knocking = open(&daemon.client, "");
    assert_eq!(daemon.exit_code(), Some(1));
    drop(knocking);
    assert!(!daemon.data.join("daemon.json").exists(), "it said that it is gone");
}
