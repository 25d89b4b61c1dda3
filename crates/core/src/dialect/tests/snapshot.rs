use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::logs::{self, Dice};
use crate::dialect::snapshot::{APPROVAL_REQUEST, APPROVAL_RESOLVED, History, STREAM, Snapshot};
use crate::dialect::{Frames, Projection as _};
use crate::event::{Envelope, Event, PermissionReply};
use crate::id::Seq;

/// What a client of this protocol holds: it does what the protocol's own client does.
#[derive(Debug, Default, Clone, PartialEq)]
struct Client {
    /// Text by stream.
    messages: BTreeMap<String, Vec<Value>>,
    open: Vec<String>,
    tools: BTreeMap<String, (String, Value)>,
    approvals: Vec<String>,
    lines: Vec<Value>,
}

/// Calls are found in a history only, when they ran beside others.
fn said(content: &Value) -> Vec<Value> {
    content.as_array().unwrap().iter().filter(|block| block["type"] != "toolCall").cloned().collect()
}

impl Client {
    fn load(&mut self, history: &History) {
        for item in history.messages(0, usize::MAX) {
            let text = |name: &str| item[name].as_str().unwrap().to_owned();
            match text("role").as_str() {
                "assistant" => drop(self.messages.insert(text("streamId"), said(&item["content"]))),
                "toolResult" => {
                    let status = if item["isError"] == true { "error" } else { "success" };
                    self.tools.insert(text("toolCallId"), (status.to_owned(), item["content"].clone()));
                }
                _ => assert_eq!(item["role"], "user"),
            }
        }
    }

    fn apply(&mut self, name: &str, frame: &Value) {
        if name == APPROVAL_REQUEST {
            return self.approvals.push(frame["approvalId"].as_str().unwrap().to_owned());
        }
        if name == APPROVAL_RESOLVED {
            return self.approvals.retain(|known| frame["approvalId"] != known.as_str());
        }
        assert_eq!(name, STREAM);
        assert!(frame["agentId"].is_string() && frame["conversationId"].is_string(), "{frame}");
        let (stream, event) = (frame["streamId"].as_str().unwrap().to_owned(), &frame["event"]);
        let tool = event["toolCallId"].as_str().unwrap_or_default().to_owned();
        match event["type"].as_str().unwrap() {
            "message_start" => {
                assert_eq!(event["message"], json!({ "role": "assistant", "content": [] }));
                self.messages.insert(stream.clone(), Vec::new());
                self.open.push(stream);
            }
            "message_update" => {
                assert!(self.open.contains(&stream), "an update is of a message that began: {frame}");
                self.messages.insert(stream, said(&event["message"]["content"]));
            }
            "message_end" => {
                assert!(event["stopReason"].is_string());
                self.open.retain(|known| *known != stream);
                self.messages.insert(stream, said(&event["message"]["content"]));
                let running = self.tools.values().filter(|(status, _)| status == "running").count();
                assert_eq!(running, 0, "a client takes a tool for interrupted that runs when a message ends");
            }
            "tool_execution_start" => {
                assert!(self.messages.contains_key(&stream), "a tool is of the message that called it: {frame}");
                self.tools.insert(tool, ("running".to_owned(), Value::Null));
            }
            "tool_execution_update" => assert!(self.tools.contains_key(&tool), "an update before a start is lost"),
            "tool_execution_end" => {
                assert!(self.tools.contains_key(&tool), "{frame}");
                let status = if event["isError"] == true { "error" } else { "success" };
                assert!(event["result"].is_string(), "{event}");
                let content = json!([{ "type": "text", "text": event["result"] }]);
                self.tools.insert(tool, (status.to_owned(), content));
            }
            "compaction_start" => assert_eq!(stream, "compaction:turnloom"),
            "compaction_end" => {
                assert_eq!(stream, "compaction:turnloom");
                assert!(event["removed"].is_u64() && event["kept"].is_u64() && event["reason"].is_string(), "{event}");
                self.lines.push(event.clone());
            }
            "agent_error" => self.lines.push(event.clone()),
            other => panic!("{other} is not of this protocol"),
        }
    }
}

/// A client that reads the history when `head` facts are there, and follows from there; frames leave in bursts.
fn client(log: &[Envelope], head: usize, dice: &mut Dice) -> Client {
    let mut client = Client::default();
    let mut history = History::default();
    log[..head].iter().for_each(|envelope| history.apply(envelope, &mut ()));
    client.load(&history);
    assert_eq!(history.seq().0, head as u64);
    let mut dialect = Snapshot::new(history.seq());
    let mut frames = Frames::default();
    for (at, envelope) in log.iter().enumerate() {
        if at == head {
            dialect.caught_up(&mut frames);
        }
        dialect.apply(envelope, &mut frames);
        if dice.below(4) == 0 {
            dialect.flush(&mut frames);
        }
    }
    if head == log.len() {
        dialect.caught_up(&mut frames);
    }
    dialect.flush(&mut frames);
    for frame in frames.iter() {
        client.apply(frame.name.unwrap(), &serde_json::from_slice(frame.body).unwrap());
    }
    client
}

#[test]
fn whenever_a_client_comes_it_holds_the_same() {
    let played = logs::SCRIPTS.iter().flat_map(|script| {
        [PermissionReply::Once, PermissionReply::Reject].map(|reply| logs::played(&["echo one", script], reply))
    });
    let mut dice = Dice::seeded(5);
    for log in played.chain([logs::sample()]) {
        check(&log, 1, &mut dice);
    }
}

#[test]
fn whenever_a_client_comes_it_holds_the_same_on_recorded_logs() {
    let mut dice = Dice::seeded(7);
    for (name, log) in logs::recorded() {
        logs::naming(&name, || check(&log, 1, &mut dice));
    }
}

fn check(log: &[Envelope], every: usize, dice: &mut Dice) {
    let live = client(log, 0, dice);
    // What was taken back is not in a history, and a client that was there still shows it.
    let taken_back = log.iter().any(|envelope| matches!(envelope.event, Event::Rollback(_) | Event::Retracted(_)));
    for head in (1..=log.len()).step_by(every) {
        let later = client(log, head, dice);
        if !taken_back {
            assert_eq!((&later.messages, &later.tools), (&live.messages, &live.tools), "from {head} of {}", log.len());
        }
        assert_eq!(later.approvals, live.approvals, "from {head} of {}", log.len());
    }
}

#[test]
fn simulated_logs_break_no_rule_of_the_client() {
    let mut dice = Dice::seeded(11);
    for seed in 0..60 {
        logs::naming(&format!("seed {seed}"), || check(&logs::simulated(seed, 60), 9, &mut dice));
    }
}

#[test]
fn a_burst_is_one_frame_and_the_whole_of_it() {
    let log = logs::played(&["stream 200 10"], PermissionReply::Once);
    let mut dialect = Snapshot::new(Seq::ZERO);
    let mut frames = Frames::default();
    for envelope in &log {
        dialect.apply(envelope, &mut frames);
    }
    dialect.flush(&mut frames);
    let events: Vec<Value> =
        frames.iter().map(|frame| serde_json::from_slice::<Value>(frame.body).unwrap()["event"].take()).collect();
    let kinds: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["message_start", "message_end"]);
    let text = events[1]["message"]["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("0 x") && text.len() == 2_000);
}

#[test]
fn a_message_ends_before_its_tools_and_a_new_one_begins_after() {
    let log = logs::played(&["tool"], PermissionReply::Once);
    let mut history = History::default();
    for envelope in &log {
        history.apply(envelope, &mut ());
    }
    let messages = history.messages(0, usize::MAX);
    assert_eq!(messages[0]["role"], "user");
    for (at, message) in messages.iter().enumerate().filter(|(_, message)| message["role"] == "toolResult") {
        let calls = messages[..at].iter().filter(|before| before["role"] == "assistant");
        let found = calls
            .flat_map(|before| before["content"].as_array().unwrap())
            .any(|block| block["id"] == message["toolCallId"]);
        assert!(found, "the call of {message} is in a message before it");
    }
    let last = messages.iter().rfind(|message| message["role"] == "assistant").unwrap();
    assert_eq!(last["stopReason"], "stop");
    assert!(last["usage"]["totalTokens"].is_u64());
}
