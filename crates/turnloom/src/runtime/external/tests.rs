use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use turnloom_core::id::SessionId;
use turnloom_core::runtime::external::{Control, Cursor};

use super::hub::{Close, Connection, Hello, Hub, Outgoing};
use super::seat::{Seat, ToSession, Waiting};

fn hello(instance: &str, sessions: &[(&str, u64, u64)]) -> Hello {
    let sessions: Vec<Value> =
        sessions.iter().map(|(id, epoch, heard)| json!({ "session_id": id, "epoch": epoch, "heard": heard })).collect();
    let hello = json!({ "protocol": 1, "agent": "a", "instance": instance, "max_sessions": 2, "sessions": sessions });
    serde_json::from_value(hello).unwrap()
}

fn connect(hub: &Hub, hello: &Hello) -> (Connection, Outgoing, Value) {
    let (connection, mut outgoing) = hub.connect(hello, &BTreeMap::new());
    let welcome = next(&mut outgoing).expect("a welcome");
    assert_eq!(welcome["type"], "welcome");
    (connection, outgoing, welcome)
}

fn next(outgoing: &mut Outgoing) -> Option<Value> {
    outgoing.lines.try_recv().ok().map(|line| serde_json::from_str(&line).unwrap())
}

fn id(name: &str) -> SessionId {
    SessionId::trusted(name)
}

fn opened(hub: &Hub, name: &str, epoch: u64) -> Seat {
    let (message, fix) = (String::new(), String::new());
    let seat = hub.seat(id(name), Waiting::ForSomebody { epoch, wait: Duration::ZERO, message, fix });
    let open = json!({ "type": "open", "session_id": name, "epoch": epoch }).to_string();
    hub.open(&id(name), seat.number, &open).expect("somebody with room");
    seat
}

fn heard(seat: &mut Seat) -> Vec<String> {
    std::iter::from_fn(|| seat.inbox.try_recv().ok())
        .map(|message| match message {
            ToSession::Line(line) => Control::parse(line.trim_ascii_end())
                .map_or_else(|| String::from_utf8(line).unwrap(), |control| format!("{control:?}")),
            ToSession::End(code) => format!("end {code}"),
        })
        .collect()
}

fn say(connection: &Connection, session: &str, n: u64, kind: &str) -> Result<(), Close> {
    connection.receive(&json!({ "type": kind, "session_id": session, "n": n, "data": {} }).to_string())
}

#[test]
fn new_sessions_go_to_who_has_the_fewest_and_nobody_gets_too_many() {
    let hub = Hub::default();
    let (_one, mut to_one, _) = connect(&hub, &hello("one", &[]));
    let (_two, mut to_two, _) = connect(&hub, &hello("two", &[]));
    assert_eq!(hub.connected(), 2);
    let _seats: Vec<Seat> = ["s1", "s2", "s3", "s4"].iter().map(|name| opened(&hub, name, 1)).collect();
    let count = |outgoing: &mut Outgoing| std::iter::from_fn(|| next(outgoing)).count();
    assert_eq!((count(&mut to_one), count(&mut to_two)), (2, 2));
    let waiting = Waiting::ForSomebody { epoch: 1, wait: Duration::ZERO, message: String::new(), fix: String::new() };
    let seat = hub.seat(id("s5"), waiting);
    assert_eq!(hub.open(&id("s5"), seat.number, "{}"), None, "both said how many they take");
}

#[test]
fn numbers_have_no_gap_and_no_repeat_and_other_sessions_are_nobodys() {
    let hub = Hub::default();
    let (one, _to_one, _) = connect(&hub, &hello("one", &[]));
    let (two, _to_two, _) = connect(&hub, &hello("two", &[]));
    let mut seat = opened(&hub, "s1", 1);
    assert_eq!(say(&one, "s1", 1, "ready"), Ok(()));
    assert_eq!(say(&one, "s1", 1, "ready"), Ok(()), "it was heard already");
    assert_eq!(say(&two, "s1", 2, "delta"), Ok(()), "not its own");
    assert_eq!(say(&one, "nobody", 2, "delta"), Ok(()));
    assert_eq!(one.receive(r#"{"type":"from_the_future"}"#), Ok(()));
    assert_eq!(heard(&mut seat).len(), 1);
    assert_eq!(say(&one, "s1", 3, "delta").map_err(|close| close.reason), Err("gap"));
    for broken in ["", "{", "[]", "7", "{\"type\":null}"] {
        assert_eq!(one.receive(broken).map_err(|close| close.code), Err(1008), "{broken}");
    }
    assert_eq!(one.receive(r#"{"type":"hello"}"#), Err(Close::BAD_HELLO));
    let written_wide = "{\n \"type\": \"delta\",\r\n \"session_id\": \"s1\", \"n\": 2 }";
    assert_eq!(one.receive(written_wide), Ok(()));
    assert_eq!(heard(&mut seat), ["{\"type\":\"delta\",\"session_id\":\"s1\",\"n\":2}\n"], "one message, one line");
}

#[test]
fn who_says_more_than_is_heard_is_stopped() {
    let hub = Hub::default();
    let (one, _to_one, _) = connect(&hub, &hello("one", &[]));
    let seat = opened(&hub, "s1", 1);
    for n in 1..=2_048 {
        let kind = if n == 1 { "ready" } else { "delta" };
        assert_eq!(say(&one, "s1", n, kind), Ok(()), "{n}");
    }
    assert_eq!(say(&one, "s1", 2_049, "delta").map_err(|close| close.reason), Err("window"));
    hub.take_from_session(&id("s1"), seat.number, br#"{"type":"ack","session_id":"s1","n":2048}"#);
    assert_eq!(say(&one, "s1", 2_049, "delta"), Ok(()));
}

#[test]
fn a_lost_process_is_waited_for_and_goes_on_where_it_was() {
    let hub = Hub::default();
    let (one, to_one, _) = connect(&hub, &hello("one", &[]));
    let mut seat = opened(&hub, "s1", 3);
    let mut half = opened(&hub, "s2", 1);
    say(&one, "s1", 1, "ready").unwrap();
    say(&one, "s1", 2, "delta").unwrap();
    hub.take_from_session(&id("s1"), seat.number, br#"{"type":"ack","session_id":"s1","n":1}"#);
    drop((one, to_one));
    assert_eq!(heard(&mut seat).last().unwrap(), "Away");
    assert_eq!(heard(&mut half), ["end 1"], "it was never ready");
    drop(half);

    let listed = hello("one", &[("s1", 3, 5), ("s2", 1, 0), ("s3", 1, 0)]);
    let (one, mut to_one, welcome) = connect(&hub, &listed);
    assert_eq!(welcome["sessions"][0], json!({ "session_id": "s1", "state": "yours", "said": 1 }));
    assert_eq!((&welcome["sessions"][1]["state"], &welcome["sessions"][2]["state"]), (&json!("gone"), &json!("gone")));
    let back = heard(&mut seat);
    assert!(back[0].starts_with("Back") && back[0].contains("heard: 5"), "{back:?}");
    // Nothing leaves before the session has said again what was missed.
    hub.take_from_session(&id("s1"), seat.number, br#"{"type":"state","session_id":"s1","o":7}"#);
    assert_eq!(next(&mut to_one), None);
    let connection = back[0].split(&[' ', ','][..]).find_map(|word| word.parse().ok()).unwrap();
    let live = Control::Live { connection }.line();
    hub.take_from_session(&id("s1"), seat.number, live.trim_ascii_end());
    hub.take_from_session(&id("s1"), seat.number, br#"{"type":"state","session_id":"s1","o":6}"#);
    assert_eq!(next(&mut to_one).unwrap()["o"], 6);
    say(&one, "s1", 2, "delta").unwrap();
    assert!(heard(&mut seat).is_empty(), "that was heard before the cut");
    say(&one, "s1", 3, "delta").unwrap();
    assert_eq!(heard(&mut seat).len(), 1);
}

#[test]
fn another_process_and_another_epoch_get_nothing() {
    let hub = Hub::default();
    let (one, _to_one, _) = connect(&hub, &hello("one", &[]));
    let mut seat = opened(&hub, "s1", 2);
    say(&one, "s1", 1, "ready").unwrap();
    let (_, _, welcome) = connect(&hub, &hello("two", &[("s1", 2, 0)]));
    assert_eq!(welcome["sessions"][0]["reason"], "another instance has it");
    heard(&mut seat);
    // The same process again: its first connection is ended, and what it does not name it has lost.
    let (_again, to_again, welcome) = connect(&hub, &hello("one", &[("s1", 1, 0)]));
    assert_eq!(welcome["sessions"][0]["state"], "gone");
    assert_eq!(heard(&mut seat), ["end 1"]);
    drop(one);
    assert_eq!(heard(&mut seat).len(), 0, "the old connection has nothing any more");
    drop(to_again);
}

#[test]
fn the_same_process_twice_leaves_one_connection() {
    let hub = Hub::default();
    let (_first, outgoing, _) = connect(&hub, &hello("one", &[]));
    let (_second, _to_second, _) = connect(&hub, &hello("one", &[]));
    assert_eq!(outgoing.close.borrow().map(|close| close.code), Some(4001));
    assert_eq!(hub.connected(), 1);
}

#[test]
fn after_a_restart_only_the_owner_gets_its_session() {
    let hub = Hub::default();
    let cursor = Cursor { epoch: 4, instance: "one".to_owned(), said: 9, open: true };
    let mut seat = hub.seat(id("s1"), Waiting::ForItsOwner(cursor));
    let (_, _, welcome) = connect(&hub, &hello("two", &[("s1", 4, 0)]));
    assert_eq!(welcome["sessions"][0]["state"], "gone");
    let (one, _to_one, welcome) = connect(&hub, &hello("one", &[("s1", 4, 2)]));
    assert_eq!(welcome["sessions"][0], json!({ "session_id": "s1", "state": "yours", "said": 9 }));
    heard(&mut seat);
    say(&one, "s1", 9, "delta").unwrap();
    assert!(heard(&mut seat).is_empty());
    say(&one, "s1", 10, "delta").unwrap();
    assert_eq!(heard(&mut seat).len(), 1);
}

#[test]
fn who_does_not_read_has_to_come_back() {
    let hub = Hub::default();
    let (_one, outgoing, _) = connect(&hub, &hello("one", &[]));
    let seat = opened(&hub, "s1", 1);
    let large = json!({ "type": "state", "session_id": "s1", "state": "x".repeat(8 << 20) }).to_string();
    for _ in 0..6 {
        hub.take_from_session(&id("s1"), seat.number, large.as_bytes());
    }
    assert_eq!(outgoing.close.borrow().map(|close| close.code), Some(1013));
}
