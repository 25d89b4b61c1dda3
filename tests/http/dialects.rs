//! Other people's protocols: what is wrong is said in their own way, and nothing is left half open. That their clients are content is tried with the
//! clients themselves, in `tests/clients`.

use std::io::BufRead as _;

use serde_json::{Value, json};

use crate::support::{Daemon, eventually, of_kind};

fn user(text: &str) -> Value {
    json!({ "id": "m1", "role": "user", "parts": [{ "type": "text", "text": text }] })
}

fn frames(body: &str) -> Vec<Value> {
    let data = body.split("\n\n").filter_map(|frame| frame.strip_prefix("data: "));
    data.filter(|data| *data != "[DONE]").map(|data| serde_json::from_str(data).expect("JSON")).collect()
}

#[test]
fn bad_requests_of_ai_sdk_clients_get_a_text() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    let assistant = json!({ "id": "turn_x", "role": "assistant", "parts": [] });
    for (path, body, status) in [
        ("/ai-sdk/chat", json!([]), 400),
        ("/ai-sdk/chat", json!({}), 400),
        ("/ai-sdk/chat", json!({ "id": "a" }), 400),
        ("/ai-sdk/chat", json!({ "id": "a", "messages": [] }), 400),
        ("/ai-sdk/chat", json!({ "id": "a", "messages": "hello" }), 400),
        ("/ai-sdk/chat", json!({ "id": "a", "messages": [{}] }), 400),
        ("/ai-sdk/chat", json!({ "messages": [user("hello")] }), 400),
        ("/ai-sdk/chat", json!({ "id": "", "messages": [user("hello")] }), 400),
        ("/ai-sdk/chat", json!({ "id": "a", "messages": [user("  ")] }), 400),
        ("/ai-sdk/chat", json!({ "id": "a", "messages": [{ "id": "m", "role": "user" }] }), 400),
        ("/ai-sdk/chat", json!({ "id": "a", "messages": [{ "role": "user", "parts": [] }] }), 400),
        ("/ai-sdk/chat", json!({ "id": "a", "messages": [{ "id": "m", "role": "system", "parts": [] }] }), 400),
        ("/ai-sdk/chat?v=4", json!({ "id": "a", "messages": [user("hello")] }), 400),
        ("/ai-sdk/chat?w=4", json!({ "id": "a", "messages": [user("hello")] }), 400),
        ("/ai-sdk/chat?runtime=nobody", json!({ "id": "a", "messages": [user("hello")] }), 400),
        ("/ai-sdk/chat", json!({ "id": "a", "messages": [user("hello")], "params": { "colour": 1 } }), 400),
        ("/ai-sdk/chat", json!({ "id": "a", "messages": [assistant] }), 404),
        ("/ai-sdk/chat", json!({ "id": "a", "trigger": "regenerate-message", "messages": [user("hello")] }), 404),
    ] {
        let answer = client.post(path, &body);
        assert_eq!(answer.status, status, "{path} {body}: {}", answer.body);
        assert_eq!(answer.header("content-type"), Some("text/plain; charset=utf-8"), "{body}");
        assert!(!answer.body.is_empty() && !answer.body.starts_with('{'), "{}", answer.body);
    }
    let answer = client.request("POST", "/ai-sdk/chat", &[("content-type", "application/json")], b"{not json");
    assert_eq!(answer.status, 400, "{}", answer.body);
    assert_eq!(client.get("/ai-sdk/chat/nobody/stream").status, 204);
    assert_eq!(client.get("/ai-sdk/chat/nobody/messages").json(), json!([]));
    assert_eq!(client.get("/ai-sdk/chat/nobody/stream?v=9").status, 400);
}

#[test]
fn bad_requests_of_ag_ui_clients_get_a_problem() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    let run = |more: Value| {
        let mut run = json!({ "threadId": "t", "runId": "r", "messages": [] });
        run.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        run
    };
    for (path, body) in [
        ("/ag-ui/s", json!([])),
        ("/ag-ui/s", json!({})),
        ("/ag-ui/s", json!({ "threadId": "t" })),
        ("/ag-ui/s", json!({ "threadId": 1, "runId": "r" })),
        ("/ag-ui/s", run(json!({ "messages": {} }))),
        ("/ag-ui/s", run(json!({ "messages": [{ "role": "user", "content": "x" }] }))),
        ("/ag-ui/s", run(json!({ "messages": [{ "id": "m", "role": "user", "content": "" }] }))),
        ("/ag-ui/s", run(json!({ "messages": [{ "id": "m", "role": "user", "content": 5 }] }))),
        ("/ag-ui/s", run(json!({ "messages": [{ "id": "m", "role": "user", "content": [{ "type": "video" }] }] }))),
        ("/ag-ui/s", run(json!({ "tools": "none" }))),
        ("/ag-ui/s", run(json!({ "resume": {} }))),
        ("/ag-ui/copilotkit", json!({ "method": "dance" })),
        ("/ag-ui/copilotkit", json!({ "method": "agent/stop" })),
        ("/ag-ui/copilotkit", json!({})),
    ] {
        client.post(path, &body).is_problem(400, "invalid_request");
    }
    client.post("/ag-ui/s2?runtime=nobody", &run(json!({}))).is_problem(400, "unknown_runtime");
    client.post("/ag-ui/copilotkit/agent/nobody/run", &run(json!({}))).is_problem(404, "unknown_runtime");
    assert_eq!(client.post("/ag-ui/copilotkit/agent/mock/stop/nobody", &json!({})).json(), json!({ "stopped": false }));
    // Answers to what nobody asked are not an error: the run tells how things are.
    let resume = json!({ "resume": [{ "interruptId": "x", "status": "resolved" }, 5, {}] });
    let told = frames(&client.post("/ag-ui/s3", &run(resume)).body);
    assert_eq!(told.last().unwrap()["type"], "RUN_FINISHED");
}

#[test]
fn a_daemon_that_ends_ends_every_response_with_a_last_word() {
    let mut daemon = Daemon::start();
    let client = daemon.client.clone();
    client.mock("a");
    client.mock("b");
    client.mock("c");
    let ai = client.clone();
    let ai =
        std::thread::spawn(move || ai.post("/ai-sdk/chat", &json!({ "id": "a", "messages": [user("hang")] })).body);
    let ag = client.clone();
    let ag = std::thread::spawn(move || {
        let messages = json!([{ "id": "m1", "role": "user", "content": "hang" }]);
        ag.post("/ag-ui/b", &json!({ "threadId": "b", "runId": "r", "messages": messages })).body
    });
    let text = client.clone();
    let text = std::thread::spawn(move || {
        let headers = [("content-type", "application/json"), ("accept", "text/plain")];
        text.request("POST", "/api/sessions/c/turn", &headers, br#"{"message":"hang"}"#).body
    });
    for id in ["a", "b", "c"] {
        eventually("it runs", || {
            let events = client.get(&format!("/api/sessions/{id}/events")).body;
            events.contains("Waiting.").then_some(())
        });
    }
    daemon.terminate();
    let ai = ai.join().unwrap();
    assert!(ai.ends_with("data: [DONE]\n\n"), "{ai}");
    assert_eq!(frames(&ai).last().unwrap()["type"], "error", "{ai}");
    let ag = ag.join().unwrap();
    assert_eq!(frames(&ag).last().unwrap()["type"], "RUN_ERROR", "{ag}");
    let text = text.join().unwrap();
    assert!(text.starts_with("Waiting.\nerror: "), "{text}");
}

#[test]
fn a_connection_that_is_closed_stops_the_turn_only_if_that_was_wanted() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    let ai = json!({ "messages": [user("hang")] });
    let ag = |id: &str| json!({ "threadId": id, "runId": "r", "messages": [{ "id": "m1", "role": "user", "content": "hang" }] });
    for (id, path, body) in [
        ("ai-goes-on", "/ai-sdk/ai-goes-on/chat", ai.clone()),
        ("ag-goes-on", "/ag-ui/ag-goes-on", ag("ag-goes-on")),
        ("ai-stops", "/ai-sdk/ai-stops/chat?cancel_on_disconnect=true", ai),
        ("ag-stops", "/ag-ui/ag-stops?cancel_on_disconnect=true", ag("ag-stops")),
    ] {
        client.mock(id);
        let json = [("content-type", "application/json")];
        let mut response = client.send("POST", path, &json, body.to_string().as_bytes());
        let mut line = String::new();
        while !line.contains("Waiting.") {
            line.clear();
            assert_ne!(response.read_line(&mut line).unwrap(), 0, "{id} ended");
        }
    }
    for id in ["ai-stops", "ag-stops"] {
        let log = eventually("it is stopped", || {
            let log = client.log(id);
            (log.last()?["type"] == "done").then_some(log)
        });
        assert_eq!(log.last().unwrap()["data"]["outcome"], "stopped");
    }
    // The others were left before these.
    for id in ["ai-goes-on", "ag-goes-on"] {
        assert_eq!(client.get(&format!("/api/sessions/{id}")).json()["status"], "running");
    }
}

#[test]
fn plain_text_is_the_answer_and_nothing_else() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("s");
    let headers = [("content-type", "application/json"), ("accept", "text/plain")];
    let answer = client.request("POST", "/api/sessions/s/turn", &headers, br#"{"message":"echo hello there"}"#);
    assert_eq!((answer.status, answer.body.as_str()), (200, "hello there\n"));
    assert_eq!(answer.header("content-type"), Some("text/plain; charset=utf-8"));
    let refused = client.request("POST", "/api/sessions/nobody/turn", &headers, br#"{"message":"hello"}"#);
    refused.is_problem(404, "session_not_found");
}

#[test]
fn names_that_cannot_be_ids_have_sessions_too() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    let body = json!({ "id": "my chat/1", "messages": [user("echo hello")], "params": { "pace_ms": 0 } });
    assert_eq!(client.post("/ai-sdk/chat", &body).status, 200);
    let kept = client.get("/ai-sdk/chat/my%20chat%2F1/messages").json();
    assert_eq!(kept[1]["parts"].as_array().unwrap().last().unwrap()["text"], "hello");
}

#[test]
fn tools_of_a_run_are_an_offer_and_its_state_is_taken() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    let run = |path: &str, more: Value| {
        let mut run = json!({ "threadId": "t", "runId": "r", "messages": [], "tools": [{ "name": "fine" }, { "name": "not fine" }, {}] });
        run.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let answer = client.post(path, &run);
        assert_eq!(answer.status, 200, "{}", answer.body);
        frames(&answer.body)
    };
    // A runtime that cannot call them is not bothered.
    assert_eq!(run("/ag-ui/exec?runtime=codex-exec", json!({})).last().unwrap()["type"], "RUN_FINISHED");
    assert_eq!(client.log("exec").len(), 1);
    // One that can is told of those that can be served.
    let said = json!({ "messages": [{ "id": "m1", "role": "user", "content": "client" }], "state": { "rows": 1 } });
    let told = run("/ag-ui/mock", said);
    let log = client.log("mock");
    let text: String = of_kind(&log, "delta").iter().filter_map(|event| event["data"]["text"].as_str()).collect();
    assert!(text.ends_with("Clients run these for me: fine."), "{text}");
    let state = told.iter().find(|frame| frame["type"] == "STATE_SNAPSHOT").unwrap();
    assert_eq!(state["snapshot"], json!({ "rows": 1 }));
    // A state that cannot be kept is left as it is; the run goes on, and says what it is.
    let large = json!({ "messages": [{ "id": "m2", "role": "user", "content": "echo hello" }], "state": "x".repeat(1_100_000) });
    let told = run("/ag-ui/mock", large);
    let state = told.iter().find(|frame| frame["type"] == "STATE_SNAPSHOT").unwrap();
    assert_eq!(state["snapshot"], json!({ "rows": 1 }));
}
