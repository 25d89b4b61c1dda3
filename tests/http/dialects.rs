//! Other people's protocols: what is wrong is said in their own way, and nothing is left half open. That their clients are content is tried with the
//! clients themselves, in `tests/clients`.

use std::io::BufRead as _;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use crate::support::{Client, Daemon, Sse, eventually, of_kind};

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
    // Also what never reaches a route of theirs.
    let stranger = Client::new(&client.address, None);
    for (answer, status) in [
        (client.get("/ai-sdk/nothing"), 404),
        (client.get("/ai-sdk/chat"), 405),
        (stranger.get("/ai-sdk/chat/a/stream"), 401),
        (client.request("GET", "/ai-sdk/chat/a/stream", &[("origin", "http://elsewhere.example")], b""), 403),
    ] {
        assert_eq!(answer.status, status, "{}", answer.body);
        assert_eq!(answer.header("content-type"), Some("text/plain; charset=utf-8"), "{}", answer.body);
        assert!(!answer.body.is_empty() && !answer.body.starts_with('{'), "{}", answer.body);
    }
}

fn ai_sdk(client: &Client, session: &str, messages: &Value) -> Vec<Value> {
    frames(&client.post("/ai-sdk/chat", &json!({ "id": session, "messages": messages })).body)
}

fn ag_ui(client: &Client, session: &str, messages: &Value) -> Vec<Value> {
    frames(
        &client
            .post(&format!("/ag-ui/{session}"), &json!({ "threadId": "t", "runId": "r", "messages": messages }))
            .body,
    )
}

#[test]
fn a_message_that_is_only_sent_again_answers_nothing() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("a");
    client.mock("b");
    let said = json!([user("permission")]);
    let kept =
        |told: Vec<Value>| -> Vec<Value> { told.into_iter().filter(|chunk| chunk["transient"] != true).collect() };
    let first = kept(ai_sdk(client, "a", &said));
    // The connection was lost, and the page sends it again.
    assert_eq!(kept(ai_sdk(client, "a", &said)), first);
    let said = json!([{ "id": "m1", "role": "user", "content": "permission" }]);
    let first = ag_ui(client, "b", &said).pop().unwrap();
    assert_eq!(first["outcome"]["type"], "interrupt");
    assert_eq!(ag_ui(client, "b", &said).pop().unwrap(), first);
    // Something else is an answer: no.
    let other = json!([{ "id": "m2", "role": "user", "content": "echo instead" }]);
    assert_eq!(ag_ui(client, "b", &other).pop().unwrap()["type"], "RUN_FINISHED");
    let log = client.log("b");
    assert_eq!(of_kind(&log, "permission_resolved")[0]["data"]["allowed"], false);
}

#[test]
fn nor_does_one_that_had_to_wait_for_its_turn() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("a");
    client.say("a", "hang");
    eventually("it hangs", || (client.session("a")["status"] == "running").then_some(()));
    // It is the first in the queue, and then the one that asks.
    let queued = client.post("/api/sessions/a/message", &json!({ "message": "permission", "message_id": "m1" })).json();
    assert_eq!(queued["position"], 1);
    client.post("/api/sessions/a/stop", &json!({}));
    eventually("it asks", || (client.session("a")["status"] == "waiting").then_some(()));
    let said = json!([{ "id": "m1", "role": "user", "content": "permission" }]);
    assert_eq!(ag_ui(client, "a", &said).pop().unwrap()["outcome"]["type"], "interrupt");
    assert_eq!(client.session("a")["status"], "waiting");
    assert_eq!(of_kind(&client.log("a"), "permission_resolved").len(), 0);
}

#[test]
fn what_goes_on_beside_an_ask_does_not_keep_a_response_open() {
    let daemon = Daemon::start();
    for session in ["ai", "ag"] {
        daemon.client.mock(session);
        let client = daemon.client.clone();
        let response = std::thread::spawn(move || {
            let said = json!([{ "id": "m1", "role": "user", "content": "permission", "parts": [{ "type": "text", "text": "permission" }] }]);
            if session == "ai" { ai_sdk(&client, session, &said) } else { ag_ui(&client, session, &said) }
        });
        // Facts without a pause, until the response has ended.
        let mut times = 0;
        eventually("the response ends", || {
            times += 1;
            daemon.client.patch(&format!("/api/sessions/{session}"), &json!({ "title": format!("title {times}") }));
            response.is_finished().then_some(())
        });
        let last = response.join().unwrap().pop().unwrap();
        assert!(last["type"] == "finish" || last["outcome"]["type"] == "interrupt", "{last}");
    }
}

#[test]
fn a_client_that_lost_its_place_gets_what_came_after_its_ask() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("a");
    let first = ai_sdk(client, "a", &json!([user("permission")]));
    let of = |kind: &str| first.iter().find(|chunk| chunk["type"] == kind).unwrap().clone();
    let (start, call, ask) = (of("start"), of("tool-input-available"), of("tool-approval-request"));
    client.post(
        &format!("/api/sessions/a/permissions/{}", ask["approvalId"].as_str().unwrap()),
        &json!({ "reply": "once" }),
    );
    client.until_idle("a");
    // It never saw the end of its response, so it has no cursor; and somebody else has answered.
    let part = json!({
        "type": "dynamic-tool", "toolName": "Bash", "toolCallId": call["toolCallId"], "state": "approval-responded", "input": {},
        "approval": { "id": ask["approvalId"], "approved": true },
    });
    let rest = ai_sdk(client, "a", &json!([{ "id": start["messageId"], "role": "assistant", "parts": [part] }]));
    let text: String = rest.iter().filter_map(|chunk| chunk["delta"].as_str()).collect();
    assert_eq!(text, "Done, with your permission.");
    assert!(rest.iter().any(|chunk| chunk["type"] == "tool-output-available"));
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
    let exec = json!({ "session_id": "exec", "runtime": "codex-exec" });
    assert_eq!(client.post("/api/sessions", &exec).status, 201);
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

#[test]
fn pictures_are_shown_again_when_a_page_is_loaded_again() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("a");
    // Over the limit of what an event carries itself, as nearly all are.
    let picture = [b"\x89PNG\r\n\x1a\n".as_slice(), &vec![7; 30_000]].concat();
    let url = format!("data:image/png;base64,{}", BASE64_STANDARD.encode(&picture));
    let part = json!({ "type": "file", "mediaType": "image/png", "url": url });
    let said = json!([{ "id": "m1", "role": "user", "parts": [{ "type": "text", "text": "echo hello" }, part] }]);
    ai_sdk(client, "a", &said);
    let kept = client.get("/ai-sdk/chat/a/messages").json();
    assert_eq!(kept[0]["parts"][1]["url"], url.as_str());
    // In AG-UI it stays the part it was, with an address under which a page gets a picture.
    let run = ag_ui(client, "a", &json!([]));
    let snapshot = run.iter().find(|frame| frame["type"] == "MESSAGES_SNAPSHOT").unwrap();
    let source = &snapshot["messages"][0]["content"][1]["source"];
    assert_eq!((&source["type"], &source["mimeType"]), (&json!("url"), &json!("image/png")));
    let address = source["value"].as_str().unwrap();
    let shown = client.request("GET", address, &[("accept", "image/avif,image/webp,*/*")], b"");
    assert_eq!((shown.header("content-type"), &shown.bytes), (Some("image/png"), &picture));
    assert_eq!(client.get(address).body, BASE64_STANDARD.encode(&picture), "others get what is kept");
}

#[test]
fn a_large_output_has_an_address_in_every_protocol() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("a");
    let log = client.turn("a", "big 300000");
    let blob = of_kind(&log, "tool_result")[0]["data"]["blob"]["id"].as_str().unwrap().to_owned();
    let url = format!("/api/blobs/{blob}");
    let history = json!({ "requestId": "1", "method": "getAgentMessages", "params": { "conversationId": "a" } });
    let mut stream = Sse::open(client, "/api/sessions/a/events?dialect=snapshot");
    let mut told = String::new();
    while !told.contains("tool_execution_end") {
        told = stream.next_event().expect("the stream goes on").data;
    }
    for (protocol, body) in [
        ("universal", client.get("/universal/v1/sessions/a/events").body),
        ("snapshot", told),
        ("snapshot, history", client.post("/snapshot/rpc", &history).body),
        ("AI SDK", client.get("/ai-sdk/chat/a/messages").body),
        ("AG-UI", client.post("/ag-ui/a", &json!({ "threadId": "t", "runId": "r", "messages": [] })).body),
        ("Agent UI", client.get("/agent-ui/sessions/a/timeline").body),
    ] {
        assert!(body.contains(&url), "{protocol}: {body}");
    }
}

#[test]
fn who_only_looks_for_a_session_makes_none() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    let run = json!({ "threadId": "nobody", "runId": "r", "messages": [], "state": { "rows": 1 } });
    for path in ["/ag-ui/nobody", "/ag-ui/copilotkit/agent/mock/connect", "/ag-ui/copilotkit/agent/mock/run"] {
        let answer = client.post(path, &run);
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        let frames: Vec<Value> = answer
            .body
            .lines()
            .filter_map(|line| line.strip_prefix("data: "))
            .map(|data| serde_json::from_str(data).unwrap())
            .collect();
        let kinds: Vec<&str> = frames.iter().map(|frame| frame["type"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["RUN_STARTED", "STATE_SNAPSHOT", "MESSAGES_SNAPSHOT", "RUN_FINISHED"], "{path}");
        assert_eq!(frames[2]["messages"], json!([]));
    }
    // Neither does who says nothing, or asks for what was said.
    let blank =
        json!({ "threadId": "nobody", "runId": "r", "messages": [{ "id": "m", "role": "user", "content": " " }] });
    client.post("/ag-ui/nobody", &blank).is_problem(400, "invalid_request");
    assert_eq!(client.get("/ag-ui/nobody/messages").json(), json!([]));
    assert_eq!(client.get("/api/sessions").json()["sessions"], json!([]));
}

#[test]
fn a_session_can_be_read_as_ag_ui_messages() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("s");
    client.turn("s", "tool");
    let messages = client.get("/ag-ui/s/messages").json();
    let run = json!({ "threadId": "s", "runId": "r", "messages": [] });
    let body = client.post("/ag-ui/s", &run).body;
    let snapshot = body.lines().find(|line| line.contains("MESSAGES_SNAPSHOT")).unwrap();
    let snapshot: Value = serde_json::from_str(snapshot.strip_prefix("data: ").unwrap()).unwrap();
    assert_eq!(messages, snapshot["messages"]);
    let roles: Vec<&str> =
        messages.as_array().unwrap().iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert!(["user", "assistant", "tool"].iter().all(|role| roles.contains(role)), "{roles:?}");
}
