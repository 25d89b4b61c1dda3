//! What is wrong is said, by name, and nothing is half done.

use serde_json::json;

use crate::support::{Daemon, of_kind};

const JSON: (&str, &str) = ("content-type", "application/json");

#[test]
fn bodies_that_are_not_right() {
    let daemon = Daemon::start_with("max_body_bytes = 100000", &[]);
    let client = &daemon.client;
    client.mock("s");
    let send = |body: &[u8]| client.request("POST", "/api/sessions/s/message", &[JSON], body);
    for (body, named) in [
        (&b"{\"message\""[..], "EOF"),
        (b"[]", "invalid"),
        (b"{}", "message"),
        (b"{\"message\":7}", "message"),
        (b"{\"message\":\"hi\",\"wehn\":\"queue\"}", "wehn"),
        (b"{\"message\":\"hi\",\"when\":\"soon\"}", "soon"),
        (b"{\"message\":\"   \"}", "say something"),
        (b"{\"message\":[{\"type\":\"smell\"}]}", "smell"),
        (b"{\"message\":[{\"type\":\"text\",\"text\":\"a\",\"colour\":1}]}", "colour"),
        (b"{\"message\":\"hi\",\"message_id\":\"has space\"}", "message_id"),
        (b"{\"message\":\"hi\"} trailing", "trailing"),
        (b"{\"message\":\"\xff\"}", "unicode"),
        (b"\xff\xfe", "expected"),
    ] {
        let problem = send(body).is_problem(400, "invalid_request");
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.to_lowercase().contains(&named.to_lowercase()), "{detail:?} should name {named:?}");
    }
    let long = json!({ "message": "x".repeat(200_000) }).to_string();
    send(long.as_bytes()).is_problem(413, "body_too_large");
    let text =
        client.request("POST", "/api/sessions/s/message", &[("content-type", "text/plain")], b"{\"message\":\"hi\"}");
    text.is_problem(415, "unsupported_media_type");
    assert_eq!(client.log("s").len(), 1, "nothing was half done");
}

#[test]
fn sessions_that_cannot_be() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    let create = |body: serde_json::Value| client.post("/api/sessions", &body);
    create(json!({ "runtime": "nobody" })).is_problem(400, "unknown_runtime");
    create(json!({ "runtime": "mock", "session_id": "../etc" })).is_problem(400, "invalid_request");
    for place in [".", ".."] {
        create(json!({ "runtime": "mock", "session_id": place })).is_problem(400, "invalid_request");
    }
    create(json!({ "runtime": "mock", "session_id": "" })).is_problem(400, "invalid_request");
    create(json!({ "runtime": "mock", "session_id": "x".repeat(200) })).is_problem(400, "invalid_request");
    let problem = create(json!({ "runtime": "mock", "params": { "colour": 1 } })).is_problem(400, "invalid_request");
    assert!(problem["detail"].as_str().unwrap().contains("params.colour"));
    create(json!({ "runtime": "mock", "params": { "model": 7 } })).is_problem(400, "invalid_request");
    create(json!({ "runtime": "mock", "params": { "cwd": "/nowhere/at/all" } })).is_problem(400, "invalid_request");
    create(json!({ "runtime": "mock", "params": { "pace_ms": u64::MAX } })).is_problem(400, "invalid_request");
    create(json!({ "runtime": "mock", "extra": 1 })).is_problem(400, "invalid_request");
    assert_eq!(client.get("/api/sessions").json()["sessions"], json!([]));
}

#[test]
fn routes_and_ids_that_are_not_there() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("s");
    client.get("/api/nothing").is_problem(404, "not_found");
    client.get("/api/sessions/nobody").is_problem(404, "session_not_found");
    client.get("/api/sessions/%2e%2e%2fetc").is_problem(404, "session_not_found");
    client.get("/api/sessions/nobody/events").is_problem(404, "session_not_found");
    client.post("/api/sessions/nobody/message", &json!({ "message": "hi" })).is_problem(404, "session_not_found");
    client.post("/api/sessions/nobody/stop", &json!({})).is_problem(404, "session_not_found");
    client.delete("/api/sessions/nobody?purge=true").is_problem(404, "session_not_found");
    client.request("PUT", "/api/sessions/s", &[], b"").is_problem(405, "method_not_allowed");
    client.get("/api/sessions/s/events?after=99").is_problem(400, "bad_cursor");
    client.get("/api/sessions/s/events?after=-1").is_problem(400, "invalid_request");
    client.get("/api/sessions/s/events?after=x").is_problem(400, "invalid_request");
    client.get("/api/sessions/s/events?since=3").is_problem(400, "invalid_request");
    client.get("/api/sessions/s/events?limit=0").is_problem(400, "invalid_request");
    client.get("/api/sessions/s/events?dialect=klingon").is_problem(400, "unknown_dialect");
    client.request("GET", "/api/sessions/s/events", &[("last-event-id", "abc")], b"").is_problem(400, "bad_cursor");
    let nameless = [JSON, ("turnloom-client", &"n".repeat(100))];
    client.request("PATCH", "/api/sessions/s", &nameless, b"{}").is_problem(400, "invalid_request");
}

#[test]
fn what_an_agent_says_wrong_is_kept_and_the_turn_goes_on() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("s");
    for (prompt, shown) in [("garbage", "not JSON"), ("garbage utf8", "\u{fffd}"), ("garbage 100000000", "xxxx")] {
        let events = client.turn("s", prompt);
        let unparsed = of_kind(&events, "agent_unparsed");
        assert_eq!(unparsed.len(), 1, "{prompt}");
        assert!(unparsed[0]["data"]["raw"].as_str().unwrap().contains(shown), "{prompt}");
        assert_eq!(events.last().unwrap()["data"]["outcome"], "completed", "{prompt}");
    }
    let long = of_kind(&client.log("s"), "agent_unparsed").last().copied().cloned().unwrap();
    assert_eq!(long["data"]["size"], 100_000_000);
    assert_eq!(long["data"]["sha256"].as_str().unwrap().len(), 64);
    assert!(daemon.memory() < 200 * 1024 * 1024, "{} bytes", daemon.memory());
}

#[test]
fn absurd_numbers_hurt_nobody() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    for in_process in [true, false] {
        let id = format!("in-process-{in_process}");
        let params = json!({ "pace_ms": 0, "in_process": in_process });
        let body = json!({ "session_id": id, "runtime": "mock", "params": params });
        assert_eq!(client.post("/api/sessions", &body).status, 201);
        for prompt in [
            "big 18446744073709551615",
            "garbage 9223372036854775807",
            "sleep 18446744073709551615",
            "stream 18446744073709551615 18446744073709551615",
            "stream 3 99999999999999999999999",
            "prose 3 9 18446744073709551615",
        ] {
            let events = client.turn(&id, prompt);
            assert_eq!(of_kind(&events, "error")[0]["data"]["code"], "invalid_request", "{prompt}");
            assert_eq!(events.last().unwrap()["data"]["outcome"], "failed", "{prompt}");
        }
        // With a sign it is a word like any other, and no way round the limits.
        for prompt in ["garbage +9000000000000000000", "big +18446744073709551615", "stream +9000000000000000000 +9"] {
            let events = client.turn(&id, prompt);
            assert_eq!(events.last().unwrap()["data"]["outcome"], "completed", "{prompt}");
            assert_eq!(of_kind(&events, "result")[0]["data"]["text"], prompt);
        }
        assert_eq!(client.turn(&id, "echo fine").last().unwrap()["data"]["outcome"], "completed");
    }
}

#[test]
fn names_that_no_file_can_have() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    let long = format!("/{}", "d".repeat(300));
    let listed = client.get(&format!("/api/agents/claude/conversations?cwd={long}"));
    assert_eq!((listed.status, listed.json()), (200, json!({ "conversations": [] })));
    let body = json!({ "runtime": "mock", "params": { "cwd": long } });
    client.post("/api/sessions", &body).is_problem(400, "invalid_request");
    let routes = [("GET", "entries"), ("GET", "stat"), ("GET", "file"), ("PUT", "file"), ("POST", "mkdir")];
    for (method, route) in routes.into_iter().chain([("DELETE", "entry"), ("POST", "upload-batch")]) {
        let answer = client.request(method, &format!("/universal/v1/fs/{route}?path={long}"), &[], b"");
        assert_eq!(answer.status, 400, "{method} {route}: {}", answer.body);
    }
    for (from, to) in [(long.as_str(), "/tmp/x"), ("/proc/self/environ", long.as_str()), ("a\0b", "/tmp/x")] {
        let body = json!({ "from": from, "to": to }).to_string();
        let answer =
            client.request("POST", "/universal/v1/fs/move", &[("content-type", "application/json")], body.as_bytes());
        assert_eq!(answer.status, 400, "{from:?} to {to:?}: {}", answer.body);
    }
}
