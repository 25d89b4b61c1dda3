use super::*;
use crate::id::TurnId;

fn fact(seq: u64, turn: &str, kind: &str, data: &Value) -> Envelope {
    Envelope {
        seq: Seq(seq),
        ts: Timestamp::from_millis(1_000),
        session_id: SessionId::trusted("s"),
        turn_id: Some(TurnId::trusted(turn)),
        subagent_id: None,
        event: Event::from_value(kind, data),
    }
}

fn about(facts: &[Envelope]) -> TurnFacts {
    let (last, before) = facts.split_last().unwrap();
    let mut turn = TurnFacts::default();
    let _ = before.iter().rev().try_for_each(|fact| turn.look_back(last, fact));
    turn
}

#[test]
fn every_kind_that_is_looked_at_is_told_and_no_other() {
    for kind in Event::KINDS {
        let told = event_type(&Event::from_value(kind, &json!({}))).is_some();
        // An event that does not fit its type is unknown, and says so by its kind only.
        if told {
            assert!(KINDS.contains(kind), "{kind}");
        }
    }
    for (kind, data, expected) in [
        ("done", json!({ "outcome": "completed" }), Some(EventType::TurnCompleted)),
        ("done", json!({ "outcome": "failed" }), Some(EventType::TurnFailed)),
        ("done", json!({ "outcome": "interrupted" }), Some(EventType::TurnFailed)),
        ("done", json!({ "outcome": "stopped", "stopped": true }), Some(EventType::TurnStopped)),
        ("question_request", json!({ "ask_id": "a", "questions": [] }), Some(EventType::AskOpened)),
        ("question_resolved", json!({ "ask_id": "a", "by": "x" }), Some(EventType::AskResolved)),
        ("budget", json!({ "state": "reached", "limit": 4.0 }), Some(EventType::BudgetReached)),
        ("budget", json!({ "state": "raised" }), None),
        ("schedule_missed", json!({}), Some(EventType::ScheduleMissed)),
        ("delta", json!({ "block_id": "b", "text": "x" }), None),
    ] {
        assert_eq!(event_type(&Event::from_value(kind, &data)), expected, "{kind}");
    }
}

#[test]
fn a_turn_is_told_with_what_it_came_to_and_how_it_began() {
    let source = json!({ "channel": "issues", "delivery": "d1" });
    let facts = [
        fact(1, "old", "result", &json!({ "text": "another turn" })),
        fact(2, "old", "done", &json!({ "outcome": "completed" })),
        fact(
            3,
            "t",
            "user_message",
            &json!({ "message_id": "m", "content": [], "origin": "webhook", "source": source }),
        ),
        fact(4, "t", "turn_started", &json!({ "message_ids": ["m"], "origin": "webhook" })),
        fact(5, "t", "result", &json!({ "text": "done so" })),
        fact(6, "t", "done", &json!({ "outcome": "completed" })),
    ];
    let turn = about(&facts);
    assert_eq!(turn.origin, Some(Origin::Webhook));
    let told = payload(EventType::TurnCompleted, &facts[5], About { runtime: "mock", title: "T" }, &turn);
    assert_eq!(
        told,
        json!({ "type": "turn.completed", "timestamp": "1970-01-01T00:00:01.000Z", "data": {
            "session_id": "s", "runtime": "mock", "title": "T", "seq": 6, "turn_id": "t", "origin": "webhook", "source": source,
            "outcome": "completed", "text": "done so",
        } })
    );
    let empty = about(&facts[..2]);
    assert_eq!(empty.origin, None);
}

#[test]
fn an_ask_is_told_with_its_request() {
    let facts = [
        fact(1, "t", "turn_started", &json!({ "message_ids": [], "origin": "agent" })),
        fact(
            2,
            "t",
            "interrupt",
            &json!({ "interrupt_id": "i", "component_name": "form", "props": {}, "surface": "chat" }),
        ),
    ];
    let told = payload(EventType::AskOpened, &facts[1], About { runtime: "mock", title: "" }, &about(&facts));
    assert_eq!((&told["data"]["kind"], &told["data"]["ask_id"]), (&json!("interrupt"), &json!("i")));
    assert_eq!(told["data"]["request"]["component_name"], "form");
    assert_eq!(told["data"]["origin"], "agent");
    let large = json!({ "interrupt_id": "i", "component_name": "form", "props": { "a": "x".repeat(MAX_DATA_BYTES) }, "surface": "chat" });
    let told = payload(
        EventType::AskOpened,
        &fact(1, "t", "interrupt", &large),
        About { runtime: "", title: "" },
        &TurnFacts::default(),
    );
    assert_eq!((told["data"]["request_cut"].as_bool(), told["data"].get("request")), (Some(true), None));
}

#[test]
fn the_name_of_an_event_is_always_the_same() {
    let of = |session, seq| webhook_id(&SessionId::trusted(session), Seq(seq), EventType::TurnCompleted);
    assert_eq!(of("s", 1), of("s", 1));
    assert_ne!(of("s", 1), of("s", 2));
    assert_ne!(of("s", 11), of("s 1", 1));
}
