//! Universal events: what was asked of the protocol's own server is asked of ours, and gets the same status and the same members.

use serde_json::Value;

use crate::support::{Client, Daemon};

/// Where the recorded server worked.
const WORKSPACE: &str = "/workspace";

struct Exchange {
    number: u64,
    method: String,
    path: String,
    body: Value,
    status: u64,
    answer: Value,
}

/// The exchanges of a recording, in another place.
fn exchanges(recording: &str, place: &str) -> Vec<Exchange> {
    let lines: Vec<Value> =
        recording.lines().map(|line| serde_json::from_str(&line.replace(WORKSPACE, place)).unwrap()).collect();
    let requests = lines.iter().filter(|line| line["kind"] == "request");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    requests
        .map(|request| {
            let is_answer = |line: &&Value| line["kind"] == "response" && line["n"] == request["n"];
            let response = lines.iter().find(is_answer).unwrap();
            Exchange {
                number: request["n"].as_u64().unwrap(),
                method: text(&request["method"]),
                path: text(&request["path"]),
                body: request["body"].clone(),
                status: response["status"].as_u64().unwrap(),
                answer: response["body"].clone(),
            }
        })
        .collect()
}

/// Bytes are recorded with their base64, which is one of two here.
fn bytes(value: &Value) -> Option<&'static [u8]> {
    match value["base64"].as_str()? {
        "aGVsbG8=" => Some(b"hello"),
        "eA==" => Some(b"x"),
        other => panic!("{other} is new"),
    }
}

fn ask(client: &Client, exchange: &Exchange) {
    let Exchange { number, method, path, body, status, answer } = exchange;
    let (content_type, sent) = match bytes(body) {
        Some(bytes) => ("application/octet-stream", bytes.to_vec()),
        None if body.is_null() => ("", Vec::new()),
        None => ("application/json", body.to_string().into_bytes()),
    };
    let ours = client.request(method, &format!("/universal{path}"), &[("content-type", content_type)], &sent);
    let what = format!("{number}: {method} {path}");
    assert_eq!(u64::from(ours.status), *status, "{what}: {}", ours.body);
    if let Some(bytes) = bytes(answer) {
        assert_eq!(ours.bytes, bytes, "{what}");
    } else if answer.is_object() || answer.is_array() {
        let ours = ours.json();
        has_members(&ours, answer, &what);
        for word in ["type", "title", "hasMore"] {
            assert_eq!(ours.get(word), answer.get(word), "{what}");
        }
    } else {
        assert_eq!(ours.body.is_empty(), answer.is_null(), "{what}: {}", ours.body);
        assert!(serde_json::from_str::<Value>(&ours.body).is_err(), "{what}: a text, not {}", ours.body);
    }
}

/// Ours has what theirs has, of the same kind; what is null may be anything, and of lists the first counts.
fn has_members(ours: &Value, theirs: &Value, what: &str) {
    match (ours, theirs) {
        (Value::Object(ours), Value::Object(theirs)) => {
            // Agents start with the first message here, so nobody knows their own name for a new session; it is optional.
            for (name, member) in theirs.iter().filter(|(name, _)| *name != "nativeSessionId") {
                let known = ours.get(name).unwrap_or_else(|| panic!("{what} has no {name}: {ours:?}"));
                has_members(known, member, &format!("{what} {name}"));
            }
        }
        (Value::Array(ours), Value::Array(theirs)) => {
            if let (Some(ours), Some(theirs)) = (ours.first(), theirs.first()) {
                has_members(ours, theirs, what);
            }
        }
        (Value::Null, _) | (_, Value::Null) => {}
        (ours, theirs) => {
            assert_eq!(std::mem::discriminant(ours), std::mem::discriminant(theirs), "{what}: {ours} {theirs}");
        }
    }
}

#[test]
fn every_recorded_call_of_agents_and_sessions_is_answered_alike() {
    let (daemon, folder) = (Daemon::start(), tempfile::tempdir().unwrap());
    let recording = include_str!("../clients/golden/sandbox-agent/surface.jsonl");
    for exchange in exchanges(recording, folder.path().to_str().unwrap()) {
        // An agent that is not among ours.
        if !exchange.path.contains("/agents/amp/") {
            ask(&daemon.client, &exchange);
        }
    }
}

#[test]
fn every_recorded_call_of_files_is_answered_alike() {
    let (daemon, folder) = (Daemon::start(), tempfile::tempdir().unwrap());
    let place = folder.path().to_str().unwrap();
    for mut exchange in exchanges(include_str!("../clients/golden/sandbox-agent/fs.jsonl"), place) {
        match exchange.path.as_str() {
            // That server worked where it was started; ours is told where.
            "/v1/sessions/fs" => exchange.body["directory"] = place.into(),
            // The archive was not recorded, nor is anybody's home.
            path if path.contains("upload-batch") || path == "/v1/fs/entries" => continue,
            _ => {}
        }
        ask(&daemon.client, &exchange);
    }
}
