//! Reading and following the log.

use serde_json::{Value, json};

use crate::contract::operations;
use crate::support::contract::CONTRACT;
use crate::support::{Daemon, Sse};

#[test]
fn every_way_of_reading_gives_the_same_bytes() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("s");
    client.turn("s", "tool");
    let all = Sse::open(client, "/api/sessions/s/events?after=0").until("done");
    assert!(all.iter().enumerate().all(|(at, event)| event.id == Some(at as u64 + 1)));
    // A resume at any position gives exactly the rest.
    for cut in 0..all.len() - 1 {
        let rest = Sse::open(client, &format!("/api/sessions/s/events?after={cut}")).until("done");
        assert_eq!(rest, all[cut..], "after {cut}");
    }
    let by_header = Sse::with(client, "/api/sessions/s/events", &[("last-event-id", "3")]).until("done");
    assert_eq!(by_header, all[3..]);
    // A browser repeats its first address and adds how far it came.
    let both = Sse::with(client, "/api/sessions/s/events?after=1", &[("last-event-id", "3")]).until("done");
    assert_eq!(both, all[3..]);
    let body = client.get("/api/sessions/s/events?limit=10000").body;
    let joined: Vec<&str> = all.iter().map(|event| event.data.as_str()).collect();
    assert!(body.starts_with(&format!("{{\"events\":[{}]", joined.join(","))));
}

#[test]
fn pages_have_bounds_and_filters() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("s");
    client.turn("s", "echo a b c d e f");
    let head = client.session("s")["head"].as_u64().unwrap();
    let page = client.get("/api/sessions/s/events?limit=3").json();
    assert_eq!(
        (page["events"].as_array().unwrap().len(), &page["has_more"], page["head"].as_u64()),
        (3, &json!(true), Some(head))
    );
    let page = client.get(&format!("/api/sessions/s/events?after={head}")).json();
    assert_eq!((page["events"].as_array().unwrap().len(), &page["has_more"]), (0, &json!(false)));
    let page = client.get("/api/sessions/s/events?types=delta,done&limit=4").json();
    let kinds: Vec<_> =
        page["events"].as_array().unwrap().iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["delta", "delta", "delta", "delta"]);
    let filtered = Sse::open(client, "/api/sessions/s/events?types=user_message,done").until("done");
    assert_eq!(filtered.len(), 2);
}

#[test]
fn many_follow_and_all_see_everything() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("s");
    let followers: Vec<_> = (0..20)
        .map(|_| {
            let client = client.clone();
            let mut stream = Sse::open(&client, "/api/sessions/s/events");
            std::thread::spawn(move || stream.until("done"))
        })
        .collect();
    client.say("s", "stream 2000");
    let seen: Vec<_> = followers.into_iter().map(|follower| follower.join().unwrap()).collect();
    assert!(seen.iter().all(|events| *events == seen[0]));
    assert!(seen[0].iter().enumerate().all(|(at, event)| event.id == Some(at as u64 + 1)));
}

#[test]
fn a_deleted_session_ends_its_followers() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("s");
    let mut stream = Sse::open(client, "/api/sessions/s/events");
    assert_eq!(stream.next_event().unwrap().kind, "session_ready");
    client.delete("/api/sessions/s?purge=true");
    while stream.next_event().is_some() {}
}

#[test]
fn large_output_is_in_a_blob_with_ranges() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("s");
    let events = client.turn("s", "big 100000");
    let result = events.iter().find(|event| event["type"] == "tool_result").unwrap();
    let blob: &Value = &result["data"]["blob"];
    assert_eq!(blob["size"], 100_000);
    assert!(blob["head"].as_str().unwrap().starts_with("0123456789abcdef"));
    assert!(!blob["tail"].as_str().unwrap().is_empty());
    let path = format!("/api/blobs/{}", blob["id"].as_str().unwrap());
    let whole = client.get(&path);
    assert_eq!((whole.status, whole.bytes.len()), (200, 100_000));
    let range = |range: &str| client.request("GET", &path, &[("range", range)], b"");
    let part = range("bytes=10-19");
    assert_eq!(
        (part.status, part.bytes.as_slice(), part.header("content-range")),
        (206, &whole.bytes[10..20], Some("bytes 10-19/100000"))
    );
    assert_eq!(range("bytes=-5").bytes, whole.bytes[99_995..]);
    assert_eq!(range("bytes=99990-").bytes.len(), 10);
    assert_eq!(range("bytes=200000-").status, 416);
    client.get("/api/blobs/0").is_problem(404, "blob_not_found");
}

#[test]
fn an_image_comes_to_the_agent_whole() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("s");
    let parts = json!([{ "type": "text", "text": "echo" }, { "type": "image", "media_type": "image/png", "data": "A".repeat(50_000) }]);
    assert_eq!(client.post("/api/sessions/s/message", &json!({ "message": parts })).status, 202);
    client.until_idle("s");
    let log = client.log("s");
    let message = log.iter().find(|event| event["type"] == "user_message").unwrap();
    assert_eq!(message["data"]["content"][1]["blob"]["size"], 50_000);
    assert!(message["data"]["content"][1]["data"].is_null());
}

#[test]
fn a_stream_leaves_as_it_is_written_through_every_proxy() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("runs");
    client.turn("runs", "echo hello");
    // Some streams are there only while a turn runs.
    client.say("runs", "hang");
    let check = |what: &str, stream: &Sse| {
        let of = |name: &str| stream.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
        assert_eq!((stream.status, of("x-accel-buffering")), (200, Some("no")), "{what}: {:?}", stream.headers);
    };
    for path in ["/api/sessions/runs/events?dialect=snapshot", "/api/sessions/runs/wire"] {
        check(path, &Sse::open(client, path));
    }
    let is_stream = |operation: &Value| operation["responses"]["200"]["content"].get("text/event-stream").is_some();
    let streams: Vec<_> = operations(&CONTRACT.document).filter(|(.., operation)| is_stream(operation)).collect();
    assert!(streams.len() > 10, "{streams:?}");
    for (at, (path, method, operation)) in streams.into_iter().enumerate() {
        // What is written begins a turn, each in a session of its own.
        let session = if method == "get" { "runs".to_owned() } else { format!("s-{at}") };
        if method == "post" {
            client.mock(&session);
        }
        let address = path.replace("{id}", &session).replace("{session}", &session).replace("{agent}", "mock");
        let body = &operation["requestBody"]["content"]["application/json"]["example"];
        let body: Value = serde_json::from_str(&body.to_string().replace("try-me", &session)).unwrap();
        let what = format!("{method} {address}");
        match (method.as_str(), path.as_str()) {
            ("get", _) => check(&what, &Sse::open(client, &address)),
            // The example of this one asks for no stream.
            (_, "/ag-ui/copilotkit") => {
                let run = json!({ "threadId": session, "runId": "run-1", "messages": [{ "id": "m-1", "role": "user", "content": "hello" }], "tools": [], "context": [], "state": {} });
                let body = json!({ "method": "agent/run", "params": { "agentId": "mock" }, "body": run });
                check(&what, &Sse::post(client, &address, &body));
            }
            _ => check(&what, &Sse::post(client, &address, &body)),
        }
    }
}
