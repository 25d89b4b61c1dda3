//! Five clients of five protocols on one session during one turn: all see the same text, one answers, all see it settled.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::support::{Client, Daemon, Sse};

/// What a client of one protocol has: the text, the ask that waits, how it was settled, and whether the turn is over.
#[derive(Debug, Default)]
struct Seen {
    parts: BTreeMap<String, String>,
    order: Vec<String>,
    asked: Option<String>,
    settled: Option<String>,
    over: bool,
}

impl Seen {
    fn part(&mut self, id: &str) -> &mut String {
        if !self.parts.contains_key(id) {
            self.order.push(id.to_owned());
        }
        self.parts.entry(id.to_owned()).or_default()
    }

    fn text(&self) -> String {
        self.order.iter().map(|id| self.parts[id].as_str()).collect()
    }
}

type Reader = fn(&mut Seen, &str, &Value);

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn native(seen: &mut Seen, _: &str, event: &Value) {
    let data = &event["data"];
    match event["type"].as_str().unwrap_or_default() {
        "delta" => seen.part(data["block_id"].as_str().unwrap()).push_str(data["text"].as_str().unwrap()),
        "permission_request" => seen.asked = Some(text(&data["ask_id"])),
        "permission_resolved" => seen.settled = Some(text(&data["reply"])),
        "done" => seen.over = true,
        _ => {}
    }
}

fn ai_sdk(seen: &mut Seen, _: &str, chunk: &Value) {
    match chunk["type"].as_str().unwrap_or_default() {
        "text-delta" => seen.part(chunk["id"].as_str().unwrap()).push_str(chunk["delta"].as_str().unwrap()),
        "tool-approval-request" => seen.asked = Some(text(&chunk["approvalId"])),
        "tool-approval-response" => {
            seen.settled = Some(if chunk["approved"] == true { "once" } else { "reject" }.to_owned());
        }
        "finish" => seen.over = true,
        _ => {}
    }
}

fn universal(seen: &mut Seen, _: &str, event: &Value) {
    let data = &event["data"];
    match event["type"].as_str().unwrap_or_default() {
        "item.completed" if data["item"]["role"] == "assistant" && data["item"]["content"][0]["type"] == "text" => {
            let id = text(&data["item"]["item_id"]);
            *seen.part(&id) = text(&data["item"]["content"][0]["text"]);
        }
        "permission.requested" => seen.asked = Some(text(&data["permission_id"])),
        "permission.resolved" => {
            seen.settled = Some(if data["status"] == "accept" { "once" } else { "reject" }.to_owned());
        }
        "turn.ended" => seen.over = true,
        _ => {}
    }
}

fn agent_ui(seen: &mut Seen, _: &str, event: &Value) {
    let payload = &event["payload"];
    match event["type"].as_str().unwrap_or_default() {
        "text.delta" => seen.part(event["partId"].as_str().unwrap()).push_str(payload["delta"].as_str().unwrap()),
        "action.required" => seen.asked = Some(text(&event["actionId"])),
        "action.resolved" => {
            seen.settled = Some(if payload["decision"] == "allow_once" { "once" } else { "reject" }.to_owned());
        }
        "run.finished" => seen.over = true,
        _ => {}
    }
}

fn snapshot(seen: &mut Seen, name: &str, frame: &Value) {
    match (name, frame["event"]["type"].as_str().unwrap_or_default()) {
        ("exec-approval-request", _) => seen.asked = Some(text(&frame["approvalId"])),
        ("exec-approval-resolved", _) => {
            seen.settled = Some(if frame["decision"] == "allow-once" { "once" } else { "reject" }.to_owned());
        }
        (_, kind @ ("message_update" | "message_end")) => {
            let blocks = frame["event"]["message"]["content"].as_array().unwrap();
            let said: String = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
            *seen.part(frame["streamId"].as_str().unwrap()) = said;
            seen.over |= kind == "message_end" && frame["event"]["stopReason"] == "stop";
        }
        _ => {}
    }
}

fn read(stream: &mut Sse, seen: &mut Seen, reader: Reader, enough: impl Fn(&Seen) -> bool) {
    while !enough(seen) {
        let event = stream.next_event().expect("the stream goes on");
        if let Ok(data) = serde_json::from_str(&event.data) {
            reader(seen, &event.kind, &data);
        }
    }
}

fn follow(client: &Client, path: &str, reader: Reader) -> (Sse, Seen, Reader) {
    let stream = Sse::open(client, path);
    assert_eq!(stream.status, 200, "{path}");
    (stream, Seen::default(), reader)
}

#[test]
fn five_clients_of_five_protocols_see_one_turn() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("s");
    let mut clients = vec![
        follow(client, "/api/sessions/s/events", native),
        follow(client, "/universal/v1/sessions/s/events/sse", universal),
        follow(client, "/agent-ui/sessions/s/events", agent_ui),
        follow(client, "/api/sessions/s/events?dialect=snapshot", snapshot),
    ];
    // The AI SDK's client speaks; its response ends where somebody has to answer.
    let said = json!({ "id": "s", "messages": [{ "id": "m1", "role": "user", "parts": [{ "type": "text", "text": "permission" }] }] });
    let stream = Sse::post(client, "/ai-sdk/chat?v=7", &said);
    clients.push((stream, Seen::default(), ai_sdk));
    for (stream, seen, reader) in &mut clients {
        read(stream, seen, *reader, |seen| seen.asked.is_some());
    }
    let asks: Vec<&str> = clients.iter().map(|(_, seen, _)| seen.asked.as_deref().unwrap()).collect();
    assert!(asks.iter().all(|ask| *ask == asks[0]), "all are asked the same: {asks:?}");
    assert!(clients.iter().all(|(_, seen, _)| seen.settled.is_none()), "nobody has answered");
    // One of them answers.
    let path = format!("/universal/v1/sessions/s/permissions/{}/reply", asks[0]);
    assert_eq!(client.post(&path, &json!({ "reply": "once" })).status, 204);
    // The others see it, each in its own words; the AI SDK's client gets the rest when it comes back.
    let (_, mut chat, _) = clients.pop().unwrap();
    for (stream, seen, reader) in &mut clients {
        read(stream, seen, *reader, |seen| seen.over);
    }
    client.until_idle("s");
    let messages = client.get("/ai-sdk/chat/s/messages?v=7").json();
    let answer = messages.as_array().unwrap().iter().find(|message| message["role"] == "assistant").unwrap();
    chat = Seen { asked: chat.asked, ..Seen::default() };
    for (at, part) in answer["parts"].as_array().unwrap().iter().enumerate() {
        match part["type"].as_str().unwrap() {
            "text" => *chat.part(&at.to_string()) = text(&part["text"]),
            "dynamic-tool" if part["state"] == "output-available" => chat.settled = Some("once".to_owned()),
            _ => {}
        }
    }
    clients.push((Sse::open(client, "/api/sessions/s/events"), chat, ai_sdk));
    let texts: Vec<String> = clients.iter().map(|(_, seen, _)| seen.text()).collect();
    assert!(texts[0].ends_with("Done, with your permission."), "{texts:?}");
    assert!(texts.iter().all(|text| *text == texts[0]), "all see the same text: {texts:?}");
    let settled: Vec<_> = clients.iter().map(|(_, seen, _)| seen.settled.as_deref()).collect();
    assert_eq!(settled, [Some("once"); 5], "all see it settled");
    // A second answer in another protocol comes too late, and is told so.
    let late =
        json!({ "method": "resolveExecApproval", "params": { "approvalId": asks_of(&clients), "decision": "deny" } });
    assert_eq!(client.post("/snapshot/rpc", &late).json()["error"]["code"], "NOT_FOUND");
}

fn asks_of(clients: &[(Sse, Seen, Reader)]) -> String {
    clients[0].1.asked.clone().unwrap()
}
