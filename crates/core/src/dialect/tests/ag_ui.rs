use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::{Value, json};

use super::logs::{self, Dice};
use crate::command::Answer;
use crate::dialect::ag_ui::{AgUi, RunInput, StateCopy, StateVersions};
use crate::dialect::{Dialect as _, Ending, Frames, Projection as _, pending};
use crate::event::{Envelope, Event, Part, PermissionReply};

/// What a client holds: as strict as the real ones are, and with their reducer.
#[derive(Default)]
struct Client {
    messages: Vec<Value>,
    state: Value,
    /// What is open in this run, with who opened it.
    open: BTreeMap<String, Value>,
    running: bool,
    interrupts: Vec<Value>,
    /// The last run ended with an error, which has no place for what a helper still asks.
    failed: bool,
    /// What was said in messages that this run began: all that some front ends show of them.
    streamed: BTreeMap<String, String>,
}

impl Client {
    fn at(&mut self, id: &str) -> Option<usize> {
        self.messages.iter().position(|message| message["id"] == id)
    }

    fn open(&mut self, kind: &str, id: &Value, by: &Value) {
        let key = format!("{kind} {}", id.as_str().unwrap());
        assert!(self.open.insert(key.clone(), by.clone()).is_none(), "{key} is open already");
    }

    fn is_open(&mut self, kind: &str, id: &Value, by: &Value) {
        let key = format!("{kind} {}", id.as_str().unwrap());
        assert_eq!(self.open.get(&key), Some(by), "{key} is not open, or another's");
    }

    fn end(&mut self, kind: &str, id: &Value, by: &Value) {
        self.is_open(kind, id, by);
        self.open.remove(&format!("{kind} {}", id.as_str().unwrap()));
    }

    fn begin_text(&mut self, id: &Value, role: &str, by: &Value) {
        self.streamed.insert(id.as_str().unwrap().to_owned(), String::new());
        if self.at(id.as_str().unwrap()).is_none() {
            self.messages.push(tagged(json!({ "id": id, "role": role, "content": "" }), by));
        }
    }

    fn append(&mut self, id: &Value, delta: &Value) {
        let at = self.at(id.as_str().unwrap()).unwrap();
        let text = format!("{}{}", self.messages[at]["content"].as_str().unwrap(), delta.as_str().unwrap());
        self.messages[at]["content"] = json!(text);
        self.streamed.get_mut(id.as_str().unwrap()).unwrap().push_str(delta.as_str().unwrap());
    }

    /// A message that a run began was told whole by that run.
    fn loses_no_words(&self) {
        let told = |message: &&Value| self.streamed.contains_key(message["id"].as_str().unwrap());
        for message in self.messages.iter().filter(told) {
            assert_eq!(self.streamed[message["id"].as_str().unwrap()], message["content"], "{message}");
        }
    }

    fn apply(&mut self, event: &Value, current: bool) {
        no_nulls(event);
        let kind = event["type"].as_str().unwrap();
        let (id, by, call) = (&event["messageId"], &event["subagentRunId"], &event["toolCallId"]);
        assert!(self.running || matches!(kind, "RUN_STARTED" | "RUN_ERROR"), "{event} outside a run");
        match kind {
            "RUN_STARTED" => {
                assert!(!std::mem::replace(&mut self.running, true));
                self.streamed.clear();
                assert_eq!(event.get("protocolVersion").is_some(), current);
            }
            "RUN_FINISHED" => {
                self.failed = false;
                assert!(self.open.is_empty(), "{:?} at the end", self.open);
                self.running = false;
                let outcome = &event["outcome"];
                assert!(current || matches!(outcome["type"].as_str(), None | Some("interrupt")), "{outcome}");
                self.interrupts = outcome["interrupts"].as_array().cloned().unwrap_or_default();
            }
            "RUN_ERROR" => {
                self.failed = true;
                assert!(!event["message"].as_str().unwrap().is_empty());
                (self.running, self.open) = (false, BTreeMap::new());
                // They went with the turn.
                self.interrupts.clear();
            }
            "STATE_SNAPSHOT" => self.state = event["snapshot"].clone(),
            "STATE_DELTA" => {
                let patch: json_patch::Patch = serde_json::from_value(event["delta"].clone()).unwrap();
                json_patch::patch(&mut self.state, &patch).unwrap();
            }
            "MESSAGES_SNAPSHOT" => self.snapshot(event["messages"].as_array().unwrap()),
            "TEXT_MESSAGE_START" => {
                self.open("text", id, by);
                self.begin_text(id, event["role"].as_str().unwrap(), by);
            }
            "TEXT_MESSAGE_CONTENT" => {
                self.is_open("text", id, by);
                self.append(id, &event["delta"]);
            }
            "TEXT_MESSAGE_END" => self.end("text", id, by),
            "REASONING_START" => self.open("span", id, by),
            "REASONING_END" => self.end("span", id, by),
            "REASONING_MESSAGE_START" => {
                self.open("reasoning", id, by);
                self.begin_text(id, "reasoning", by);
            }
            "REASONING_MESSAGE_CONTENT" => {
                self.is_open("reasoning", id, by);
                self.append(id, &event["delta"]);
            }
            "REASONING_MESSAGE_END" => self.end("reasoning", id, by),
            "TOOL_CALL_START" => {
                self.open("call", call, by);
                assert!(self.at(call.as_str().unwrap()).is_none(), "{call} would be written over");
                let function = json!({ "name": event["toolCallName"], "arguments": "" });
                let calls = json!([{ "id": call, "type": "function", "function": function }]);
                self.messages.push(tagged(json!({ "id": call, "role": "assistant", "toolCalls": calls }), by));
            }
            "TOOL_CALL_ARGS" => {
                self.is_open("call", call, by);
                let at = self.at(call.as_str().unwrap()).unwrap();
                self.messages[at]["toolCalls"][0]["function"]["arguments"] = event["delta"].clone();
            }
            "TOOL_CALL_END" => self.end("call", call, by),
            "TOOL_CALL_RESULT" => {
                let at = self.at(call.as_str().unwrap()).unwrap();
                assert!(self.at(id.as_str().unwrap()).is_none(), "{id} twice");
                let mut result = json!({ "id": id, "role": "tool", "toolCallId": call, "content": event["content"] });
                if let Some(metadata) = event.get("metadata") {
                    result["metadata"] = metadata.clone();
                }
                self.messages.insert(at + 1, tagged(result, by));
            }
            "ACTIVITY_SNAPSHOT" => {
                assert!(event["content"].is_object());
                let message = json!({ "id": id, "role": "activity", "activityType": event["activityType"], "content": event["content"] });
                match self.at(id.as_str().unwrap()) {
                    Some(at) => self.messages[at] = message,
                    None => self.messages.push(message),
                }
            }
            "SUBAGENT_STARTED" => self.open("lane", by, &Value::Null),
            "SUBAGENT_FINISHED" | "SUBAGENT_ERROR" => self.end("lane", by, &Value::Null),
            other => panic!("{other} is not known"),
        }
    }

    /// Same ids are replaced where they are, new ones come at the end, missing ones go; unless there is none of their kind at all.
    fn snapshot(&mut self, messages: &[Value]) {
        let has = |role: &str| messages.iter().any(|message| message["role"] == role);
        let kept = |message: &Value| {
            let known = messages.iter().find(|new| new["id"] == message["id"]);
            let role = message["role"].as_str().unwrap();
            let stays = matches!(role, "activity" | "reasoning") && !has(role);
            known.cloned().or_else(|| stays.then(|| message.clone()))
        };
        let mut list: Vec<Value> = self.messages.iter().filter_map(kept).collect();
        let known: HashSet<String> = list.iter().map(|message| message["id"].to_string()).collect();
        list.extend(messages.iter().filter(|message| !known.contains(&message["id"].to_string())).cloned());
        let ids: HashSet<String> = list.iter().map(|message| message["id"].to_string()).collect();
        assert_eq!(ids.len(), list.len(), "an id stands for two messages");
        self.messages = list;
    }
}

fn tagged(mut message: Value, by: &Value) -> Value {
    if !by.is_null() {
        message["subagentRunId"] = by.clone();
    }
    message
}

fn no_nulls(event: &Value) {
    for (key, value) in event.as_object().unwrap() {
        assert!(!value.is_null(), "{key} is null in {event}");
        // Contents may be empty, ids may not.
        assert!(value != "" || matches!(key.as_str(), "content" | "delta"), "{key} is empty in {event}");
    }
}

fn input(client: &Client, current: bool, tools: &[&str]) -> RunInput {
    let tools: Vec<Value> = tools.iter().map(|name| json!({ "name": name })).collect();
    let messages: Vec<&Value> = client.messages.iter().filter(|message| message["role"] != "activity").collect();
    let mut body = json!({ "threadId": "s", "runId": "r", "messages": messages, "tools": tools });
    if current {
        body["protocolVersion"] = json!("1.0");
    }
    RunInput::read(&body).unwrap()
}

/// One run of a client that comes when `head` facts are there. Returns how much of the log it was told.
fn run(log: &[Envelope], client: &mut Client, current: bool, tools: &[&str], head: usize, patience: usize) -> usize {
    let mut dialect = AgUi::new(input(client, current, tools), None);
    let mut frames = Frames::default();
    log[..head].iter().for_each(|envelope| dialect.apply(envelope, &mut frames));
    assert!(frames.is_empty(), "a run begins with its snapshot");
    dialect.caught_up(&mut frames);
    let (mut upto, mut patience) = (head, patience);
    while !dialect.is_done() {
        let waits = dialect.needs_answer();
        if waits && (patience == 0 || upto == log.len()) {
            dialect.close(Ending::Waiting, &mut frames);
        } else if let Some(envelope) = log.get(upto) {
            patience -= usize::from(waits);
            dialect.apply(envelope, &mut frames);
            upto += 1;
        } else {
            break;
        }
    }
    for frame in frames.iter() {
        client.apply(&serde_json::from_slice(frame.body).unwrap(), current);
    }
    client.loses_no_words();
    upto
}

/// What a client holds that comes when everything has happened.
fn snapshot(log: &[Envelope], current: bool, tools: &[&str]) -> Client {
    let mut client = Client::default();
    run(log, &mut client, current, tools, log.len(), 0);
    client
}

/// What clients hold that come when so many facts have happened.
type Fresh = HashMap<usize, Client>;

/// A client that comes at `head` and stays until the log ends: after each run it holds what anybody would who comes then.
fn check_from(
    log: &[Envelope],
    current: bool,
    tools: &[&str],
    mut head: usize,
    (known, dice): (&mut Fresh, &mut Dice),
) {
    let mut client = Client::default();
    loop {
        let upto = run(log, &mut client, current, tools, head, dice.below(3));
        let fresh = known.entry(upto).or_insert_with(|| snapshot(&log[..upto], current, tools));
        // Where every thought was taken back, the clients keep them; there is no way to tell them otherwise.
        let is_known = |id: &Value| fresh.messages.iter().any(|message| message["id"] == *id);
        client.messages.retain(|message| message["role"] != "reasoning" || is_known(&message["id"]));
        let differs = client.messages.iter().zip(&fresh.messages).position(|(ours, theirs)| ours != theirs);
        if let Some(at) = differs {
            let (ours, theirs) = (&client.messages[at..], &fresh.messages[at..]);
            panic!("current {current}, from {head} to {upto} of {}: {ours:?} is {theirs:?}", log.len());
        }
        assert_eq!(client.messages.len(), fresh.messages.len());
        assert_eq!(client.state, fresh.state);
        // What is asked is told at the end of a run; until then a client holds what the last one told it.
        if !client.running && !client.failed {
            assert_eq!(client.interrupts, fresh.interrupts);
        }
        // Who is asked comes back with the answer; who is not, with the next turn.
        let asked = pending(&log[..upto]);
        let back = |at: &usize| {
            let started = matches!(log[*at - 1].event, Event::TurnStarted(_));
            if asked.is_empty() { started } else { asked.is_disjoint(&pending(&log[..*at])) }
        };
        match (upto + 1..=log.len()).find(back) {
            Some(next) => head = next,
            None => break,
        }
    }
}

fn check(log: &[Envelope], every: usize, seed: u64) {
    let mut dice = Dice::seeded(seed);
    // A client's own tools make a difference only where a component waits.
    let waits = log.iter().any(|envelope| matches!(envelope.event, Event::Interrupt(_)));
    let tools = [&[][..], &["form", "Form", "get_weather"][..]];
    for current in [true, false] {
        for tools in tools.iter().take(1 + usize::from(waits)) {
            let mut fresh = Fresh::new();
            for head in (0..=log.len()).step_by(every) {
                check_from(log, current, tools, head, (&mut fresh, &mut dice));
            }
        }
    }
}

#[test]
fn a_client_that_comes_later_holds_the_same_on_played_logs() {
    for script in logs::SCRIPTS {
        for reply in [PermissionReply::Once, PermissionReply::Reject] {
            check(&logs::played(&["echo first", script], reply), 3, 1);
        }
    }
}

#[test]
fn a_client_that_comes_later_holds_the_same_on_simulated_logs() {
    for seed in 0..40 {
        check(&logs::simulated(seed, 60), 11, seed);
    }
}

#[test]
fn a_client_that_comes_later_holds_the_same_on_recorded_logs() {
    for (name, log) in logs::recorded() {
        logs::naming(&name, || check(&log, 1, 4));
    }
}

#[test]
fn the_golden_sample_comes_out_as_the_clients_had_it() {
    let log = logs::sample();
    check(&log, 1, 3);
    let golden = logs::golden("projection");
    let last = golden.iter().rfind(|line| line["dialect"] == "ag-ui").unwrap();
    let theirs = last["frames"][2]["messages"].as_array().unwrap();
    let ours = snapshot(&log, true, &[]);
    let shown = |messages: &[Value]| -> Vec<Value> {
        let told = messages.iter().filter(|message| message["role"] != "activity");
        told.map(|message| json!([message["id"], message["role"], message["content"], message["toolCalls"]])).collect()
    };
    let ours = shown(&ours.messages);
    for message in shown(theirs) {
        assert!(ours.contains(&message), "{message} is missing");
    }
}

#[test]
fn a_message_that_is_open_is_left_out_of_the_snapshot_and_told_from_its_start() {
    let log = logs::played(&["stream 30 20"], PermissionReply::Once);
    let mut came_in_the_middle = 0;
    for head in 0..log.len() {
        let mut dialect = AgUi::new(input(&Client::default(), false, &[]), None);
        let mut frames = Frames::default();
        log[..head].iter().for_each(|envelope| dialect.apply(envelope, &mut frames));
        dialect.caught_up(&mut frames);
        log[head..].iter().for_each(|envelope| dialect.apply(envelope, &mut frames));
        let told: Vec<Value> = frames.iter().map(|frame| serde_json::from_slice(frame.body).unwrap()).collect();
        let snapshot = told.iter().find(|frame| frame["type"] == "MESSAGES_SNAPSHOT").unwrap();
        let settled: Vec<&Value> =
            snapshot["messages"].as_array().unwrap().iter().map(|message| &message["id"]).collect();
        for start in told.iter().filter(|frame| frame["type"] == "TEXT_MESSAGE_START") {
            assert!(!settled.contains(&&start["messageId"]), "{start} is in the snapshot of {head}");
        }
        came_in_the_middle += usize::from(matches!(log[head].event, Event::Delta(_)));
    }
    assert!(came_in_the_middle > 20);
}

#[test]
fn a_file_of_the_old_versions_is_taken() {
    let said = |part: Value| {
        let messages = json!([{ "id": "m", "role": "user", "content": [{ "type": "text", "text": "look" }, part] }]);
        let run = RunInput::read(&json!({ "threadId": "s", "runId": "r", "messages": messages })).unwrap();
        run.last_user_message().map(|said| said.unwrap().1.remove(1))
    };
    let picture = Part::Image { media_type: "image/png".to_owned(), data: Some("aGk=".to_owned()), blob: None };
    assert_eq!(said(json!({ "type": "binary", "mimeType": "image/png", "data": "aGk=" })), Ok(picture.clone()));
    let url = "data:image/png;base64,aGk=";
    assert_eq!(said(json!({ "type": "binary", "mimeType": "image/png", "url": url })), Ok(picture));
    let link = Part::Text { text: "[plan.pdf](https://example.com/plan.pdf)".to_owned() };
    let url = "https://example.com/plan.pdf";
    let pdf = json!({ "type": "binary", "mimeType": "application/pdf", "url": url, "filename": "plan.pdf" });
    assert_eq!(said(pdf), Ok(link));
    assert!(
        said(json!({ "type": "binary", "mimeType": "application/pdf", "data": "aGk=" })).unwrap_err().contains("pdf")
    );
    assert!(said(json!({ "type": "binary", "mimeType": "image/png", "id": "x" })).unwrap_err().contains("neither"));
}

#[test]
fn a_snapshot_is_never_too_large_for_a_client() {
    let mut log = logs::played(&["echo hello"], PermissionReply::Once);
    let at = log.iter().position(|envelope| matches!(envelope.event, Event::Delta(_))).unwrap();
    let delta = log[at].clone();
    for block in 0..30 {
        let text = "a line of \"text\"\n".repeat(30_000);
        let event = Event::from_value("delta", &json!({ "block_id": format!("b{block}"), "text": text, "done": true }));
        log.insert(at, Envelope { event, ..delta.clone() });
    }
    let mut dialect = AgUi::new(input(&Client::default(), true, &[]), None);
    let mut frames = Frames::default();
    for envelope in &log {
        dialect.apply(envelope, &mut frames);
    }
    dialect.caught_up(&mut frames);
    assert!(frames.iter().all(|frame| frame.body.len() < 10_000_000));
    let mut client = Client::default();
    for frame in frames.iter() {
        client.apply(&serde_json::from_slice(frame.body).unwrap(), true);
    }
    let newest = client.messages.iter().rfind(|message| message["role"] == "assistant").unwrap();
    assert_eq!(newest["content"], "hello");
    assert!(client.messages.len() > 10 && client.messages.iter().all(|message| message["role"] != "user"));
}

#[test]
fn a_message_of_the_client_is_not_told_to_it_again() {
    let log = logs::played(&["echo hello"], PermissionReply::Once);
    let said = logs::said(&log).pop().unwrap();
    let mut client = Client::default();
    client.messages.push(json!({ "id": said, "role": "user", "content": "echo hello" }));
    let mut dialect = AgUi::new(input(&client, true, &[]), Some(said));
    let mut frames = Frames::default();
    dialect.caught_up(&mut frames);
    assert!(frames.is_empty(), "nothing is told before its turn");
    for envelope in &log {
        dialect.apply(envelope, &mut frames);
    }
    assert!(dialect.is_done());
    for frame in frames.iter() {
        client.apply(&serde_json::from_slice(frame.body).unwrap(), true);
    }
    assert_eq!(client.messages[0]["content"], "echo hello");
    assert_eq!(client.messages.last().unwrap()["content"], "hello");
}

/// A run of a client that holds these messages and this copy of the state.
fn change(log: &[Envelope], messages: &[&str], copy: &Value) -> Option<Value> {
    let message = |id: &&str| json!({ "id": id, "role": "assistant", "content": "" });
    let messages: Vec<Value> = messages.iter().map(message).collect();
    let body = json!({ "threadId": "s", "runId": "r", "messages": messages, "state": copy });
    let mut versions = StateVersions::default();
    for envelope in log {
        versions.apply(envelope, &mut ());
    }
    StateCopy::of(&RunInput::read(&body).unwrap()).unwrap().change(&versions)
}

#[test]
fn a_copy_of_the_state_that_is_only_old_changes_nothing() {
    // One row, then two and another colour; what was said after it is the client's if it was there.
    let log = logs::played(&["state"], PermissionReply::Once);
    let said = log.iter().rev().find(|envelope| matches!(envelope.event, Event::Delta(_))).unwrap();
    let Event::Delta(delta) = &said.event else { unreachable!() };
    let told = format!("{}:{}", said.turn_id.as_ref().unwrap(), delta.block_id);
    let (first, second) =
        (json!({ "rows": 1, "colours": ["indigo"] }), json!({ "rows": 2, "colours": ["indigo", "weld"] }));
    for old in [json!({}), first.clone(), second] {
        assert_eq!(change(&log, &[], &old), None, "{old} may be what a client still has");
    }
    let back = change(&log, &[&told], &first).expect("who saw the second row and has one took one away");
    assert!(back.as_array().unwrap().contains(&json!({ "op": "replace", "path": "/rows", "value": 1 })), "{back}");
    // What a client adds to an old copy is all that it means.
    let added = change(&log, &[], &json!({ "rows": 1, "colours": ["indigo"], "warp": 9 }));
    assert_eq!(added, Some(json!([{ "op": "add", "path": "/warp", "value": 9 }])));
}

#[test]
fn the_result_of_a_clients_tool_is_taken_as_it_came() {
    let log = logs::played(&["client get_weather"], PermissionReply::Once);
    let at = log.iter().position(|envelope| matches!(envelope.event, Event::Interrupt(_))).unwrap();
    let mut state = crate::session::State::default();
    for envelope in &log[..=at] {
        state.apply(envelope);
    }
    let asks = state.summary().asks;
    let call = asks[0].client_call().unwrap();
    let turn = asks[0].turn_id.as_ref().unwrap();
    let given = |call: &str, more: Value| {
        let mut message = json!({ "id": "t", "role": "tool", "toolCallId": call, "content": "007" });
        message.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let body = json!({ "threadId": "s", "runId": "r", "messages": [message] });
        RunInput::read(&body).unwrap().answers(&asks).unwrap().pop().map(|(_, answer)| answer)
    };
    let value = Answer::Interrupt { value: json!("007") };
    assert_eq!(given(call, json!({})), Some(value.clone()));
    assert_eq!(given(&format!("{turn}:{call}"), json!({})), Some(value));
    assert_eq!(given(call, json!({ "error": "no" })), Some(Answer::ToolFailed { output: json!("no") }));
    assert_eq!(given("another", json!({})), None);
}
