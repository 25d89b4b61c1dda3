use std::collections::HashSet;

use serde_json::{Value, json};

use super::logs::{self, Dice};
use crate::dialect::ai_sdk::{AiSdk, History, Profile, Subject, UiMessage};
use crate::dialect::{Dialect as _, Ending, Frames, Projection as _, pending};
use crate::event::{Envelope, Event, PermissionReply};
use crate::id::{AskId, Seq, TurnId};

const PROFILES: [Profile; 3] = [Profile::V5, Profile::V6, Profile::V7];

/// What one response said, and what waits after it.
struct Response {
    chunks: Vec<Value>,
    /// How much of the log it has told.
    upto: usize,
    over: bool,
}

/// One response: the log up to `head` was there when the client came, and `patience` more facts may come after an ask.
fn respond(log: &[Envelope], subject: Subject, profile: Profile, head: usize, patience: usize) -> Response {
    let mut dialect = AiSdk::new(profile, subject, pending(&log[..head]));
    let mut frames = Frames::default();
    log[..head].iter().for_each(|envelope| dialect.apply(envelope, &mut frames));
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
    let chunks: Vec<Value> = frames.iter().map(|frame| serde_json::from_slice(frame.body).unwrap()).collect();
    if dialect.is_done() {
        let last = chunks.last().map(|chunk| chunk["type"].as_str().unwrap());
        assert!(matches!(last, Some("finish" | "error")), "a response ends with {last:?}");
    }
    Response { chunks, upto, over: dialect.is_done() }
}

/// A client that comes when `head` facts are there, and answers whatever it is asked, until the turn is over.
fn client(log: &[Envelope], turn: &TurnId, profile: Profile, head: usize, dice: &mut Dice) -> UiMessage {
    let mut message = UiMessage::assistant();
    let mut subject = Subject::Turn(turn.clone());
    let mut head = head;
    for _ in 0..200 {
        let response = respond(log, subject, profile, head, dice.below(3));
        for chunk in &response.chunks {
            accept(&mut message, chunk, profile);
        }
        let waits = response.over && message.metadata.get("cursor").is_some() && finished(&response) == "tool-calls";
        if !waits {
            return message;
        }
        // The answers are in the log when the client comes back.
        let asked = pending(&log[..response.upto]);
        let answered = |upto: &usize| asked.is_disjoint(&pending(&log[..*upto]));
        let Some(back) = (response.upto..=log.len()).find(answered) else { return message };
        let after = Seq(message.metadata["cursor"].as_u64().unwrap());
        subject = Subject::Rest { turn: turn.clone(), after };
        head = back;
    }
    panic!("this never ends");
}

fn finished(response: &Response) -> &str {
    response.chunks.last().and_then(|chunk| chunk["finishReason"].as_str()).unwrap_or_default()
}

fn accept(message: &mut UiMessage, chunk: &Value, profile: Profile) {
    message.apply(chunk).unwrap_or_else(|error| panic!("{error}: {chunk} after {:?}", message.parts));
    let kind = chunk["type"].as_str().unwrap();
    let newest = match kind {
        "tool-approval-request" | "tool-output-denied" => Profile::V6,
        "tool-approval-response" | "steering-message" => Profile::V7,
        _ => Profile::V5,
    };
    assert!(newest <= profile, "{kind} is not for {profile:?}");
    let nulls = chunk.as_object().unwrap().iter().filter(|(key, value)| value.is_null() && *key != "output").count();
    assert_eq!(nulls, 0, "{chunk}");
    for id in ["id", "toolCallId", "approvalId", "messageId", "toolName"] {
        assert_ne!(chunk[id], "", "{chunk}");
    }
}

/// What must be the same however often a client came and went: steps are where a response ended, and approvals are told only to those who were there.
fn normal(message: &UiMessage) -> Vec<Value> {
    let mut parts: Vec<Value> = Vec::new();
    for part in &message.parts {
        let mut part = part.clone();
        match part["type"].as_str().unwrap() {
            "step-start" => continue,
            kind @ ("text" | "reasoning") => {
                if let Some(last) = parts.last_mut().filter(|last| last["type"] == kind) {
                    last["text"] =
                        json!(format!("{}{}", last["text"].as_str().unwrap(), part["text"].as_str().unwrap()));
                    continue;
                }
            }
            _ => drop(part.as_object_mut().unwrap().remove("approval")),
        }
        parts.push(part);
    }
    parts
}

fn turns(log: &[Envelope]) -> Vec<(TurnId, usize, usize)> {
    let started = log.iter().enumerate().filter(|(_, envelope)| matches!(envelope.event, Event::TurnStarted(_)));
    started
        .map(|(at, envelope)| {
            let turn = envelope.turn_id.clone().unwrap();
            let ends = |envelope: &&Envelope| {
                matches!(envelope.event, Event::Done(_)) && envelope.turn_id.as_ref() == Some(&turn)
            };
            let done = log.iter().position(|envelope| ends(&envelope)).unwrap_or(log.len());
            (turn, at, done)
        })
        .collect()
}

fn check(log: &[Envelope], every: usize, seed: u64) {
    let mut dice = Dice::seeded(seed);
    for profile in PROFILES {
        for (turn, start, done) in turns(log) {
            let live = client(log, &turn, profile, 0, &mut dice);
            for part in &live.parts {
                assert_ne!(part["state"], "streaming", "{part}");
            }
            for head in (start + 1..=done).step_by(every) {
                let back = client(log, &turn, profile, head, &mut dice);
                assert_eq!(normal(&back), normal(&live), "{profile:?} {turn} from {head} of {}", log.len());
            }
        }
    }
}

#[test]
fn a_client_that_comes_later_holds_the_same_on_played_logs() {
    for script in logs::SCRIPTS {
        for reply in [PermissionReply::Once, PermissionReply::Reject] {
            check(&logs::played(&[script], reply), 1, 1);
        }
    }
}

#[test]
fn a_client_that_comes_later_holds_the_same_on_simulated_logs() {
    for seed in 0..120 {
        check(&logs::simulated(seed, 60), 5, seed);
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
    for (profile, named) in PROFILES.into_iter().zip(["v5", "v6", "v7"]) {
        let golden = logs::golden("client_state");
        let golden = golden.iter().find(|line| line["dialect"] == "ai-sdk" && line["profile"] == named).unwrap();
        let shown = |parts: &[Value]| -> Vec<Value> {
            let told = parts.iter().filter(|part| {
                let kind = part["type"].as_str().unwrap();
                kind.contains("tool") || kind == "text" || kind == "reasoning"
            });
            let told = told.map(|part| {
                let output = part["output"].clone();
                // Ours gives every question's answers as well.
                let output = if output["answers"].is_array() { json!({ "answer": output["answer"] }) } else { output };
                json!([part["type"], part["text"], part["toolCallId"], part["state"], output, part["errorText"]])
            });
            let mut told: Vec<Value> = told.collect();
            told.sort_by_key(ToString::to_string);
            told
        };
        let live = client(&log, &TurnId::trusted("T1"), profile, 0, &mut Dice::seeded(0));
        assert_eq!(shown(&live.parts), shown(golden["messages"][1]["parts"].as_array().unwrap()), "{named}");
    }
}

#[test]
fn a_history_is_what_a_client_holds() {
    let played = logs::SCRIPTS.iter().map(|script| {
        let log = logs::played(&["echo first", script], PermissionReply::Once);
        ((*script).to_owned(), log)
    });
    for (script, log) in played.chain(logs::recorded()) {
        let mut history = History::new(Profile::V6, HashSet::new());
        for envelope in &log {
            history.apply(envelope, &mut ());
        }
        let messages = history.messages(usize::MAX);
        let taken_back: Vec<&TurnId> = log
            .iter()
            .flat_map(|envelope| match &envelope.event {
                Event::Rollback(rollback) => rollback.turn_ids.as_slice(),
                _ => &[],
            })
            .collect();
        for (turn, ..) in turns(&log) {
            if taken_back.contains(&&turn) {
                assert!(messages.iter().all(|message| message.id != turn.as_str()), "{script}");
                continue;
            }
            let live = client(&log, &turn, Profile::V6, log.len(), &mut Dice::seeded(0));
            let Some(kept) = messages.iter().find(|message| message.id == turn.as_str()) else {
                assert!(live.parts.is_empty(), "{script}: {:?}", live.parts);
                continue;
            };
            assert_eq!(normal(kept), normal(&live), "{script}");
        }
        let stays = |envelope: &&Envelope| {
            matches!(envelope.event, Event::UserMessage(_))
                && envelope.turn_id.as_ref().is_none_or(|turn| !taken_back.contains(&turn))
        };
        let said = log.iter().filter(stays).count();
        let shown = messages.iter().filter(|message| message.role == "user").count();
        let steered =
            messages.iter().flat_map(|message| &message.parts).filter(|part| part["type"] == "data-steer").count();
        assert_eq!(shown + steered, said, "{script}");
    }
}

/// The log of one turn.
fn one_turn(events: &[(&str, Value)]) -> Vec<Envelope> {
    let envelope = |(seq, (kind, data)): (u64, &(&str, Value))| Envelope {
        seq: Seq(seq),
        ts: crate::time::Timestamp::default(),
        session_id: crate::id::SessionId::trusted("s"),
        turn_id: Some(TurnId::trusted("t")),
        subagent_id: None,
        event: Event::from_value(kind, data),
    };
    (1..).zip(events).map(envelope).collect()
}

#[test]
fn a_call_that_is_asked_about_twice_is_the_same_live_and_later() {
    let ask = |ask: &str| {
        let request =
            json!({ "ask_id": ask, "tool_use_id": "a", "tool_name": "Bash", "tool_input": {}, "options": [] });
        ("permission_request", request)
    };
    let answer = |ask: &str, allowed: bool| {
        let reply = if allowed { "once" } else { "reject" };
        let answer = json!({ "ask_id": ask, "tool_name": "Bash", "allowed": allowed, "reply": reply, "by": "x" });
        ("permission_resolved", answer)
    };
    for middle in [
        [ask("one"), ask("two"), answer("one", true), answer("two", true)],
        [ask("one"), ask("two"), answer("two", true), answer("one", false)],
        [ask("one"), answer("one", true), ask("two"), answer("two", false)],
    ] {
        let mut events = vec![
            ("turn_started", json!({ "message_ids": [], "origin": "user" })),
            ("tool_start", json!({ "tool_use_id": "a", "tool": "Bash", "input": {} })),
        ];
        events.extend(middle);
        events.push(("tool_result", json!({ "tool_use_id": "a", "output": "done", "is_error": false })));
        events.push(("done", json!({ "outcome": "completed" })));
        check(&one_turn(&events), 1, 9);
    }
}

#[test]
fn parallel_calls_with_asks_end_at_once_and_lose_nothing() {
    let call = |id: &str| ("tool_start", json!({ "tool_use_id": id, "tool": "Bash", "input": { "id": id } }));
    let ask = |id: &str| {
        let request = json!({ "ask_id": format!("ask-{id}"), "tool_use_id": id, "tool_name": "Bash", "tool_input": {}, "options": [] });
        ("permission_request", request)
    };
    let allow = |id: &str| {
        let answer =
            json!({ "ask_id": format!("ask-{id}"), "tool_name": "Bash", "allowed": true, "reply": "once", "by": "x" });
        ("permission_resolved", answer)
    };
    let result = |id: &str| ("tool_result", json!({ "tool_use_id": id, "output": id, "is_error": false }));
    let events = [
        ("turn_started", json!({ "message_ids": [], "origin": "user" })),
        call("a"),
        call("b"),
        call("c"),
        ask("b"),
        ("delta", json!({ "block_id": "x", "text": "meanwhile" })),
        result("a"),
        ask("c"),
        allow("b"),
        allow("c"),
        result("c"),
        result("b"),
        ("done", json!({ "outcome": "completed" })),
    ];
    let log = one_turn(&events);
    check(&log, 1, 9);
    let first = respond(&log, Subject::Turn(TurnId::trusted("t")), Profile::V6, 0, 0);
    assert_eq!(
        (first.upto, finished(&first)),
        (5, "tool-calls"),
        "a call that runs does not keep an ask from ending it"
    );
    let live = client(&log, &TurnId::trusted("t"), Profile::V6, 0, &mut Dice::seeded(1));
    let outputs: HashSet<&str> = live.parts.iter().filter_map(|part| part["output"].as_str()).collect();
    assert_eq!(outputs, HashSet::from(["a", "b", "c"]));
}

#[test]
fn what_is_said_into_a_turn_is_part_of_its_answer() {
    let recorded = logs::recorded();
    let (_, log) = recorded.iter().find(|(name, _)| name == "codex__steer").unwrap();
    let steer = logs::said(log).pop().unwrap();
    for (profile, kind) in PROFILES.into_iter().zip(["data-steer", "data-steer", "steering-message"]) {
        let (turn, ..) = turns(log).pop().unwrap();
        let live = client(log, &turn, profile, 0, &mut Dice::seeded(0));
        let told: Vec<&Value> = live.parts.iter().filter(|part| part["id"] == steer.as_str()).collect();
        assert_eq!(told.len(), 1, "{profile:?}");
        assert_eq!(told[0]["type"], kind);
        let content = told[0].get("parts").unwrap_or(&told[0]["data"]["content"]);
        assert_eq!(*content, json!([{ "type": "text", "text": "also do this" }]));
    }
    // A page that is loaded anew shows it there too, and nothing after the answer.
    for profile in PROFILES {
        let mut history = History::new(profile, HashSet::new());
        for envelope in log {
            history.apply(envelope, &mut ());
        }
        let messages = history.messages(usize::MAX);
        let roles: Vec<&str> = messages.iter().map(|message| message.role).collect();
        assert_eq!(roles, ["user", "assistant"], "{profile:?}");
        assert!(messages[1].parts.iter().any(|part| part["id"] == steer.as_str()), "{profile:?}");
    }
    // Who sent it follows the turn that took it in.
    let response = respond(log, Subject::Message(steer), Profile::V6, 0, 0);
    assert!(response.over);
    assert!(response.chunks.iter().any(|chunk| chunk["type"] == "start"));
    assert_eq!(finished(&response), "stop");
}

#[test]
fn a_message_that_is_taken_out_of_the_queue_ends_its_response() {
    let queue = |ids: &[&str]| {
        let items: Vec<Value> =
            ids.iter().map(|id| json!({ "message_id": id, "preview": "", "state": "waiting" })).collect();
        Envelope {
            seq: Seq(1),
            ts: crate::time::Timestamp::default(),
            session_id: crate::id::SessionId::trusted("s"),
            turn_id: None,
            subagent_id: None,
            event: Event::from_value("queue_changed", &json!({ "queue": items })),
        }
    };
    let mut dialect =
        AiSdk::new(Profile::V6, Subject::Message(crate::id::MessageId::trusted("m")), HashSet::<AskId>::new());
    let mut frames = Frames::default();
    dialect.caught_up(&mut frames);
    dialect.apply(&queue(&["m"]), &mut frames);
    assert!(!dialect.needs_answer());
    dialect.apply(&queue(&[]), &mut frames);
    assert!(dialect.needs_answer());
    dialect.close(Ending::Waiting, &mut frames);
    let last = frames.iter().last().map(|frame| String::from_utf8_lossy(frame.body).into_owned()).unwrap();
    assert!(last.contains("taken out of the queue"), "{last}");
}
