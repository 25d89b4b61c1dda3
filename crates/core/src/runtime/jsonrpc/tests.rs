use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Error, Flavor, Id, Peer, Received};
use crate::runtime::Line;
use crate::time::Timestamp;

fn peer() -> Peer<&'static str> {
    Peer::new(Flavor::Plain)
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::default().plus_millis(seconds * 1000)
}

#[test]
fn a_call_ends_once() {
    let mut peer = peer();
    let (_, line) = peer.request("go", json!({ "far": true }), "the call", None);
    assert_eq!(line, json!({ "method": "go", "id": 1, "params": { "far": true } }));
    let answer = br#"{"jsonrpc":"2.0","id":1,"result":{"there":1}}"#;
    assert!(matches!(
        peer.receive(Line::Text(answer)),
        Received::Response { call: "the call", result: Ok(r#"{"there":1}"#) }
    ));
    assert!(matches!(peer.receive(Line::Text(answer)), Received::Nothing));
}

#[test]
fn errors_keep_their_words() {
    let mut peer = peer();
    peer.request("go", Value::Null, "the call", None);
    let line = Line::Text(br#"{"error":{"code":-32600,"message":"no","data":{"why":1}},"id":1}"#);
    let Received::Response { result: Err(error), .. } = peer.receive(line) else { panic!() };
    assert_eq!(error, Error { code: -32_600, message: "no".into(), data: Some(json!({ "why": 1 })) });
    peer.request("go", Value::Null, "the call", None);
    let Received::Response { result: Err(error), .. } = peer.receive(Line::Text(br#"{"error":"odd","id":2}"#)) else {
        panic!()
    };
    assert_eq!(error.message, "an error that cannot be read: \"odd\"");
}

#[test]
fn both_sides_count_for_themselves() {
    let mut peer = peer();
    peer.request("ours", Value::Null, "ours", None);
    let heard = peer.receive(Line::Text(br#"{"method":"theirs","id":1,"params":[1]}"#));
    assert!(matches!(heard, Received::Request { id: Id::Number(1), params: "[1]", .. }));
    assert!(matches!(peer.receive(Line::Text(br#"{"method":"said"}"#)), Received::Notification { params: "null", .. }));
    assert_eq!(peer.respond(&Id::Number(1), Ok(json!("done"))), Some(json!({ "id": 1, "result": "done" })));
    assert_eq!(peer.respond(&Id::Number(1), Ok(json!("again"))), None, "answered once");
    assert!(matches!(peer.receive(Line::Text(br#"{"id":1,"result":null}"#)), Received::Response { call: "ours", .. }));
}

#[test]
fn ids_may_be_text() {
    let mut peer = peer();
    let heard = peer.receive(Line::Text(br#"{"method":"m","id":"a-1"}"#));
    assert!(matches!(heard, Received::Request { id: Id::Text(_), .. }));
    let refusal = Err(Error::method_not_found("m"));
    let answer = peer.respond(&Id::Text("a-1".into()), refusal).unwrap();
    assert_eq!(answer, json!({ "id": "a-1", "error": { "code": -32601, "message": "there is no method m" } }));
    peer.request("go", Value::Null, "the call", None);
    assert!(matches!(peer.receive(Line::Text(br#"{"id":"1","result":1}"#)), Received::Response { .. }));
}

#[test]
fn calls_have_time_limits_and_can_be_cancelled() {
    let mut peer = peer();
    peer.request("slow", Value::Null, "slow", Some(at(5)));
    let (id, _) = peer.request("never mind", Value::Null, "cancelled", Some(at(1)));
    peer.request("patient", Value::Null, "patient", None);
    assert_eq!(peer.cancel(id), Some("cancelled"));
    assert_eq!(peer.next_deadline(), Some(at(5)));
    assert_eq!(peer.expire(at(4)), []);
    let ended = peer.expire(at(5));
    assert_eq!(ended.iter().map(|(call, error)| (*call, error.code)).collect::<Vec<_>>(), [("slow", Error::TIMED_OUT)]);
    assert!(matches!(peer.receive(Line::Text(br#"{"id":1,"result":1}"#)), Received::Nothing), "too late");
}

#[test]
fn the_end_of_the_other_side_ends_every_call() {
    let mut peer = peer();
    peer.request("one", Value::Null, "one", None);
    peer.request("two", Value::Null, "two", Some(at(9)));
    peer.receive(Line::Text(br#"{"method":"m","id":7}"#));
    let ended: Vec<_> = peer.close("it crashed").into_iter().map(|(call, error)| (call, error.message)).collect();
    assert_eq!(ended, [("one", "it crashed".to_owned()), ("two", "it crashed".to_owned())]);
    assert!(!peer.awaits_response(&Id::Number(7)));
    assert_eq!((peer.close("again"), peer.close_reason()), (vec![], Some("again")));
}

#[test]
fn what_cannot_be_read_says_why() {
    for (line, reason) in [
        ("{", "EOF"),
        ("[]", "not a JSON object"),
        ("[1,\"m\",{}]", "not a JSON object"),
        ("17", "not a JSON object"),
        ("{}", "neither"),
        (r#"{"id":{},"method":"m"}"#, "not an id"),
        (r#"{"id":1.5,"method":"m"}"#, "not an id"),
        (r#"{"method":7}"#, "invalid type"),
    ] {
        let Received::Unreadable(error) = peer().receive(Line::Text(line.as_bytes())) else { panic!("{line}") };
        assert!(error.contains(reason), "{line}: {error}");
    }
    assert!(matches!(peer().receive(Line::Text(b" \r")), Received::Nothing));
    assert!(matches!(peer().receive(Line::Text(b"\xff\xfe")), Received::Unreadable(_)));
    let long = Line::TooLong { size: 99, sha256: "", head: b"{" };
    assert!(matches!(peer().receive(long), Received::Unreadable(error) if error.contains("99 bytes")));
}

#[test]
fn the_version_is_said_where_it_is_wanted() {
    let mut peer: Peer<()> = Peer::new(Flavor::Versioned);
    assert_eq!(peer.notification("hello", None), json!({ "jsonrpc": "2.0", "method": "hello" }));
    let (_, line) = peer.request("go", json!({}), (), None);
    assert_eq!(line["jsonrpc"], "2.0");
}

proptest! {
    /// Whatever comes, a peer neither panics nor stops, and every call ends exactly once.
    #[test]
    fn any_lines(lines in prop::collection::vec(prop_oneof![
        prop::collection::vec(any::<u8>(), 0..60),
        (0i64..6).prop_map(|id| format!("{{\"id\":{id},\"result\":{id}}}").into_bytes()),
        (0i64..6).prop_map(|id| format!("{{\"id\":{id},\"error\":{{}}}}").into_bytes()),
        (0i64..6).prop_map(|id| format!("{{\"id\":{id},\"method\":\"m\"}}").into_bytes()),
    ], 0..40)) {
        let mut peer = Peer::new(Flavor::Plain);
        for call in 0..4 {
            peer.request("m", Value::Null, call, None);
        }
        let mut ended = Vec::new();
        for line in &lines {
            match peer.receive(Line::Text(line)) {
                Received::Response { call, .. } => ended.push(call),
                Received::Request { id, .. } => prop_assert!(peer.respond(&id, Ok(Value::Null)).is_some()),
                Received::Notification { .. } | Received::Nothing | Received::Unreadable(_) => {}
            }
        }
        ended.extend(peer.close("over").into_iter().map(|(call, _)| call));
        ended.sort_unstable();
        prop_assert_eq!(ended, [0, 1, 2, 3]);
    }
}
