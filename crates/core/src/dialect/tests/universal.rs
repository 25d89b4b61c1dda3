use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use serde_json::Value;

use super::logs;
use crate::dialect::universal::{About, Raw, Universal, Wanted};
use crate::dialect::{Frames, Projection as _};
use crate::event::{Envelope, Event, PermissionReply};

/// The events of every recording of the protocol's own server: those of streams, and those of pages.
fn golden() -> Vec<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/clients/golden/sandbox-agent");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let texts = files.map(|path| std::fs::read_to_string(path).unwrap());
    let lines: Vec<Value> = texts
        .flat_map(|text| text.lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<_>>())
        .collect();
    let streamed = lines.iter().filter(|line| line["kind"] == "sse").map(|line| &line["data"]);
    let paged = lines.iter().filter_map(|line| line["body"]["events"].as_array()).flatten();
    let events: Vec<Value> = streamed.chain(paged).cloned().collect();
    assert!(events.len() > 400, "{} events", events.len());
    events
}

fn about() -> About {
    About {
        session_id: "s".into(),
        agent: "mock".into(),
        agent_mode: "build".into(),
        permission_mode: "default".into(),
        model: Some("mock".into()),
    }
}

/// What a client is sent that comes when `head` facts are there.
fn sent(log: &[Envelope], wanted: Wanted, head: usize) -> Frames {
    let mut dialect = Universal::new(about(), wanted, Raw::Included);
    let mut frames = Frames::default();
    for (at, envelope) in log.iter().enumerate() {
        if at == head {
            dialect.caught_up(&mut frames);
        }
        dialect.apply(envelope, &mut frames);
        if dialect.is_done() {
            break;
        }
    }
    frames
}

fn client(log: &[Envelope], wanted: Wanted) -> Vec<Value> {
    let frames = sent(log, wanted, 0);
    let events: Vec<Value> = frames.iter().map(|frame| serde_json::from_slice(frame.body).unwrap()).collect();
    for (frame, event) in frames.iter().zip(&events) {
        assert_eq!(frame.id, event["sequence"].as_u64());
    }
    events
}

/// The members of an object and the kinds of their values, down to the parts; what is optional or free is not looked at.
fn shape(value: &Value, path: &str, into: &mut BTreeMap<String, BTreeSet<String>>) {
    match value {
        Value::Object(members) => {
            let path = members
                .get("type")
                .and_then(Value::as_str)
                .map_or_else(|| path.to_owned(), |kind| format!("{path}<{kind}>"));
            let free = ["metadata", "details", "json", "raw"].contains(&path.rsplit('.').next().unwrap_or_default());
            if free {
                return;
            }
            let keys = members.keys().filter(|key| !matches!(key.as_str(), "turn_id" | "metadata" | "message"));
            into.entry(path.clone()).or_default().insert(keys.cloned().collect::<Vec<_>>().join(" "));
            members.iter().for_each(|(key, member)| shape(member, &format!("{path}.{key}"), into));
        }
        Value::Array(items) => items.iter().for_each(|item| shape(item, &format!("{path}[]"), into)),
        Value::Null => {}
        Value::Bool(_) => drop(into.entry(path.to_owned()).or_default().insert("yes or no".to_owned())),
        Value::Number(_) => drop(into.entry(path.to_owned()).or_default().insert("number".to_owned())),
        Value::String(_) => drop(into.entry(path.to_owned()).or_default().insert("text".to_owned())),
    }
}

fn every_log() -> Vec<Vec<Envelope>> {
    let replies = [PermissionReply::Once, PermissionReply::Always, PermissionReply::Reject];
    let played = logs::SCRIPTS.iter().flat_map(|script| replies.map(|reply| logs::played(&[script], reply)));
    let simulated = (0..30).map(|seed| logs::simulated(seed, 50));
    played.chain(simulated).chain(logs::recorded().into_iter().map(|(_, log)| log)).collect()
}

#[test]
fn every_event_has_the_shape_of_the_recordings() {
    let mut known = BTreeMap::new();
    let mut words: HashMap<String, BTreeSet<String>> = HashMap::new();
    for event in golden() {
        shape(&event, "", &mut known);
    }
    words.insert(
        "kind".into(),
        ["message", "tool_call", "tool_result", "system", "status", "unknown"].map(str::to_owned).into(),
    );
    words.insert("role".into(), ["user", "assistant", "system", "tool"].map(str::to_owned).into());
    words.insert("status".into(), ["in_progress", "completed", "failed"].map(str::to_owned).into());
    let mut seen = BTreeMap::new();
    for log in every_log() {
        for event in client(&log, Wanted::After(0)) {
            shape(&event, "", &mut seen);
            if let Some(item) = event["data"]["item"].as_object() {
                for (key, allowed) in &words {
                    assert!(allowed.contains(item[key].as_str().unwrap()), "{event}");
                }
                assert_ne!(item["native_item_id"], "");
            }
        }
    }
    for (path, shapes) in &seen {
        // What the recordings have only as null, or not at all because it is optional, is known from the member's name.
        if let Some(golden) = known.get(path) {
            assert!(shapes.is_subset(golden), "{path}: {shapes:?} is not {golden:?}");
        } else {
            assert!(!path.ends_with('>'), "the recordings have no {path}");
        }
    }
    // A text begins empty here, so its parts are looked for in its end.
    for path in known.keys().filter(|path| path.ends_with('>')) {
        let path = path.replace("<item.started>.", "<item.completed>.");
        assert!(seen.contains_key(&path), "nothing gives {path}");
    }
}

#[test]
fn items_begin_once_and_end_once_and_nothing_is_missing() {
    for log in every_log() {
        let events = client(&log, Wanted::After(0));
        let mut open: HashMap<String, String> = HashMap::new();
        let mut ended = BTreeSet::new();
        let mut said = Vec::new();
        for (number, event) in (1..).zip(&events) {
            assert_eq!(event["sequence"], number);
            assert_eq!(event["event_id"], format!("evt_{number}"));
            let item = &event["data"]["item"];
            let id = item["item_id"].as_str().or(event["data"]["item_id"].as_str()).unwrap_or_default().to_owned();
            match event["type"].as_str().unwrap() {
                "item.started" => assert!(open.insert(id.clone(), String::new()).is_none() && !ended.contains(&id)),
                "item.delta" => open.get_mut(&id).unwrap().push_str(event["data"]["delta"].as_str().unwrap()),
                "item.completed" => {
                    let streamed = open.remove(&id).unwrap_or_else(|| panic!("{event}"));
                    let text = item["content"][0]["text"].as_str();
                    if item["role"] == "assistant"
                        && !streamed.is_empty()
                        && item["status"] == "completed"
                        && item["kind"] == "message"
                    {
                        assert_eq!(text, Some(streamed.as_str()), "the whole is what was streamed");
                    }
                    if item["role"] == "user" {
                        said.push(item["native_item_id"].as_str().unwrap().to_owned());
                    }
                    ended.insert(id);
                }
                _ => {}
            }
        }
        let people: Vec<String> = logs::said(&log).iter().map(ToString::to_string).collect();
        assert_eq!(said, people, "what a person said is told once");
        // A helper in the background may outlive the turn, and its items with it.
        let helpers = log
            .iter()
            .any(|envelope| matches!(envelope.event, Event::SubagentStarted(_) | Event::BackgroundStarted(_)));
        let done = log.iter().rposition(|envelope| matches!(envelope.event, Event::Done(_)));
        if !helpers && done == Some(log.len() - 1) {
            assert!(
                open.is_empty(),
                "{open:?} {:?}",
                log.iter().map(|envelope| envelope.event.kind()).collect::<Vec<_>>()
            );
        }
    }
}

#[test]
fn whenever_a_client_comes_and_from_wherever_it_gets_the_same() {
    for log in every_log() {
        let all = sent(&log, Wanted::After(0), 0);
        for head in 0..=log.len() {
            assert!(sent(&log, Wanted::After(0), head).iter().eq(all.iter()), "from {head} of {}", log.len());
        }
        for offset in 0..=all.len() {
            let rest = sent(&log, Wanted::After(offset as u64), log.len());
            assert!(rest.iter().eq(all.iter().skip(offset)), "after {offset} of {}", log.len());
        }
    }
}

#[test]
fn a_turn_stream_is_its_turn_up_to_the_first_thing_that_ends_it() {
    for script in logs::SCRIPTS {
        let log = logs::played(&["echo before", script], PermissionReply::Once);
        let told = client(&log, Wanted::TurnOf(logs::said(&log).pop().unwrap()));
        assert_eq!(told[0]["type"], "turn.started", "{script}");
        assert_eq!(told[1]["data"]["item"]["role"], "user", "{script}");
        let last =
            ["turn.ended", "session.ended", "error", "agent.unparsed", "permission.requested", "question.requested"];
        let ends = told.iter().filter(|event| last.contains(&event["type"].as_str().unwrap())).count();
        assert_eq!(ends, 1, "{script}");
        assert!(last.contains(&told.last().unwrap()["type"].as_str().unwrap()), "{script}");
        if *script == "permission" {
            assert_eq!(told.last().unwrap()["type"], "permission.requested");
        }
    }
}
