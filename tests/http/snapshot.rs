//! Snapshot shapes: over SSE and WebSocket, with history by call.

use serde_json::{Value, json};

use crate::support::{Client, Daemon, Sse};
use crate::websocket;

fn until(stream: &mut Sse, kind: &str) -> Vec<(String, Value)> {
    let mut frames = Vec::new();
    while let Some(event) = stream.next_event() {
        let data: Value = serde_json::from_str(&event.data).unwrap();
        let last = data["event"]["type"] == kind || event.kind == kind;
        frames.push((event.kind, data));
        if last {
            return frames;
        }
    }
    panic!("the stream ended before {kind}");
}

fn call(client: &Client, method: &str, params: &Value) -> Value {
    client.post("/snapshot/rpc", &json!({ "requestId": "r", "method": method, "params": params })).json()
}

#[test]
fn a_turn_is_whole_messages_and_history_is_the_same() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("s");
    let mut stream = Sse::open(client, "/api/sessions/s/events?dialect=snapshot");
    client.say("s", "permission");
    let (_, asked) = until(&mut stream, "exec-approval-request").pop().unwrap();
    assert_eq!((&asked["command"], &asked["expiresAtMs"]), (&json!("rm -rf build"), &json!(-1)));
    let allow = json!({ "approvalId": asked["approvalId"], "decision": "allow-once" });
    assert_eq!(call(client, "resolveExecApproval", &allow)["payload"], json!({ "ok": true }));
    assert_eq!(call(client, "resolveExecApproval", &allow)["error"]["code"], "NOT_FOUND");
    let (_, settled) = until(&mut stream, "exec-approval-resolved").pop().unwrap();
    assert_eq!(settled["decision"], "allow-once");
    let frames = until(&mut stream, "message_end");
    let (_, end) = frames.last().unwrap();
    assert_eq!(end["event"]["message"]["content"][0]["text"], "Done, with your permission.");
    client.until_idle("s");
    let history = call(client, "getAgentMessages", &json!({ "agentId": "turnloom", "conversationId": "s" }));
    let messages = history["payload"]["messages"].as_array().unwrap();
    assert_eq!(messages.last().unwrap()["streamId"], end["streamId"]);
    assert_eq!(messages.last().unwrap()["content"], end["event"]["message"]["content"]);
    assert!(messages.iter().any(|message| message["role"] == "toolResult"));
    let page = call(client, "getAgentMessages", &json!({ "conversationId": "s", "offset": 0, "limit": 1 }));
    assert_eq!((&page["payload"]["messages"][0]["role"], &page["payload"]["offset"]), (&json!("user"), &json!(0)));
    assert_eq!(page["payload"]["total"], messages.len());
}

#[test]
fn a_client_that_comes_in_the_middle_gets_what_is_open() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("s");
    client.say("s", "permission");
    client.ask("s");
    let history = call(client, "getAgentMessages", &json!({ "conversationId": "s" }));
    let after = history["payload"]["after"].as_u64().unwrap();
    let mut stream = Sse::open(client, &format!("/api/sessions/s/events?dialect=snapshot&after={after}"));
    let frames = until(&mut stream, "exec-approval-request");
    assert!(frames.iter().any(|(_, frame)| frame["event"]["type"] == "tool_execution_start"), "{frames:?}");
    assert_eq!(call(client, "interrupt", &json!({ "conversationId": "s" }))["payload"], json!({ "ok": true }));
    until(&mut stream, "exec-approval-resolved");
}

#[test]
fn compaction_has_its_counts() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("s");
    let mut stream = Sse::open(client, "/api/sessions/s/events?dialect=snapshot");
    client.say("s", "compaction");
    let frames = until(&mut stream, "compaction_end");
    assert!(frames.iter().any(|(_, frame)| frame["event"]["type"] == "compaction_start"));
    let (_, end) = frames.last().unwrap();
    assert_eq!(end["streamId"], "compaction:turnloom");
    assert!(end["event"]["removed"].is_u64() && end["event"]["kept"].is_u64() && end["event"]["reason"].is_string());
}

#[test]
fn bad_calls_are_answered_in_their_own_way() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("s");
    for (method, params, code) in [
        ("nope", json!({}), "METHOD_NOT_FOUND"),
        ("getAgentMessages", json!({}), "INVALID_PARAMS"),
        ("getAgentMessages", json!({ "conversationId": "nobody" }), "NOT_FOUND"),
        ("getAgentMessages", json!({ "conversationId": "s", "limit": "x" }), "INVALID_PARAMS"),
        ("resolveExecApproval", json!({ "approvalId": "x" }), "INVALID_PARAMS"),
        ("resolveExecApproval", json!({ "approvalId": "x", "decision": "deny" }), "NOT_FOUND"),
        ("createConversation", json!({ "id": "not an id" }), "INVALID_PARAMS"),
    ] {
        let answer = call(client, method, &params);
        assert_eq!(
            (&answer["ok"], &answer["error"]["code"], &answer["requestId"]),
            (&json!(false), &json!(code), &json!("r"))
        );
    }
    client.post("/snapshot/rpc", &json!({ "params": {} })).is_problem(400, "invalid_request");
    client.request("POST", "/snapshot/rpc", &[], b"{").is_problem(400, "invalid_request");
    client.get("/api/sessions/s/events?dialect=klingon").is_problem(400, "unknown_dialect");
    client.get("/api/sessions/s/events?dialect=snapshot&after=99").is_problem(400, "bad_cursor");
    client.get("/api/sessions/nobody/events?dialect=snapshot").is_problem(404, "session_not_found");
    let made = call(client, "createConversation", &json!({ "id": "new" }));
    assert_eq!(made["payload"]["id"], "new");
    let listed = call(client, "listConversations", &json!({}));
    assert_eq!(listed["payload"]["conversations"].as_array().unwrap().len(), 2);
    assert_eq!(call(client, "getHubInfo", &json!({}))["payload"]["agentCount"], 2);
    assert_eq!(call(client, "deleteConversation", &json!({ "id": "new" }))["payload"], json!({ "ok": true }));
}

#[test]
fn the_same_frames_come_over_a_websocket() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("s");
    let mut socket = websocket::open(client);
    // One after the other: the second would take the place of the first.
    let [refused, subscribed] = [(1, "klingon"), (2, "snapshot")].map(|(reference, dialect)| {
        let op = json!({ "op": "subscribe", "session_id": "s", "dialect": dialect, "ref": reference });
        websocket::tell(&mut socket, &op);
        websocket::hear(&mut socket)
    });
    assert_eq!((&refused["op"], &refused["problem"]["code"]), (&json!("error"), &json!("unknown_dialect")));
    assert_eq!((&subscribed["op"], &subscribed["ref"]), (&json!("subscribed"), &json!(2)));
    client.say("s", "tool");
    let mut over_socket = Vec::new();
    loop {
        let message = websocket::hear(&mut socket);
        assert_eq!((&message["ref"], &message["name"]), (&json!(2), &json!("stream")));
        let event = &message["data"]["event"];
        if event["type"] != "message_update" {
            over_socket.push(message["data"].clone());
        }
        if event["stopReason"] == "stop" {
            break;
        }
    }
    let mut stream = Sse::open(client, "/api/sessions/s/events?dialect=snapshot");
    let mut over_http = Vec::new();
    while over_http.last().is_none_or(|frame: &Value| frame["event"]["stopReason"] != "stop") {
        let frame: Value = serde_json::from_str(&stream.next_event().unwrap().data).unwrap();
        if frame["event"]["type"] != "message_update" {
            over_http.push(frame);
        }
    }
    assert_eq!(over_socket, over_http, "how much is told at once may differ, what is told may not");
}

#[test]
fn a_long_answer_is_told_whole_but_not_with_every_word() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("a");
    let mut stream = Sse::open(client, "/api/sessions/a/events?dialect=snapshot");
    client.say("a", "stream 200 20 200");
    let (mut updates, mut last) = (0, Value::Null);
    while last["event"]["type"] != "message_end" {
        let event = stream.next_event().expect("the stream goes on");
        last = serde_json::from_str(&event.data).unwrap_or_default();
        updates += usize::from(last["event"]["type"] == "message_update");
    }
    let text = last["event"]["message"]["content"][0]["text"].as_str().unwrap();
    assert_eq!(text.len(), 200 * 20);
    // It takes a second, and is told ten times in one.
    assert!((2..40).contains(&updates), "{updates} updates");
}

#[test]
fn a_picture_in_the_history_is_a_base64_source() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("s");
    // A small one stays in its event; a large one is stored beside it.
    for data in ["iVBORw0KGgo=".to_owned(), "A".repeat(400_000)] {
        let picture = json!({ "type": "image", "media_type": "image/png", "data": data });
        let message = json!({ "message": [{ "type": "text", "text": "echo seen" }, picture] });
        assert_eq!(client.post("/api/sessions/s/message", &message).status, 202);
        client.until_idle("s");
        let history = call(client, "getAgentMessages", &json!({ "conversationId": "s" }));
        let said = history["payload"]["messages"].as_array().unwrap().iter().rfind(|message| message["role"] == "user");
        let source = json!({ "type": "base64", "media_type": "image/png", "data": data });
        assert_eq!(said.unwrap()["content"][1]["source"], source);
    }
}
