use serde_json::{Value, json};

use super::{Awaited, NoTurnReason};
use crate::event::{Envelope, Event};
use crate::id::{MessageId, Seq, SessionId};

/// Whether the message `m` is in a turn after these facts, or why it will not be.
fn fate(facts: &[(&str, Value)]) -> Result<bool, NoTurnReason> {
    let mut awaited = Awaited::new(MessageId::trusted("m"));
    for (at, (kind, data)) in facts.iter().enumerate() {
        awaited.step(&Envelope {
            seq: Seq(at as u64 + 1),
            ts: crate::time::Timestamp::default(),
            session_id: SessionId::trusted("s"),
            turn_id: None,
            subagent_id: None,
            event: Event::from_value(kind, data),
        });
    }
    awaited.no_turn_reason().map_or(Ok(awaited.is_in_turn()), Err)
}

fn queue(ids: &[&str]) -> (&'static str, Value) {
    let item = |id: &&str| json!({ "message_id": id, "preview": "", "state": "waiting" });
    ("queue_changed", json!({ "queue": ids.iter().map(item).collect::<Vec<_>>() }))
}

fn held(id: &str) -> (&'static str, Value) {
    ("queue_changed", json!({ "queue": [{ "message_id": id, "preview": "", "state": "waiting", "held": "stopped" }] }))
}

fn said(id: &str) -> (&'static str, Value) {
    ("user_message", json!({ "message_id": id, "content": [], "origin": "user" }))
}

fn archived(archived: bool) -> (&'static str, Value) {
    ("session_updated", json!({ "archived": archived, "by": "test" }))
}

#[test]
fn what_becomes_of_a_message() {
    let ended = || ("session_ended", json!({ "reason": "completed", "terminated_by": "agent" }));
    let ready = || ("session_ready", json!({ "runtime": "mock" }));
    for (facts, expected) in [
        (vec![], Ok(false)),
        (vec![said("m")], Ok(true)),
        (vec![queue(&["other"]), queue(&[]), said("other")], Ok(false)),
        (vec![queue(&["other"]), queue(&[]), said("other"), said("m")], Ok(true)),
        (vec![queue(&["m"]), queue(&["other", "m"])], Ok(false)),
        (vec![queue(&["m"]), queue(&[]), said("m"), queue(&["other"]), ended()], Ok(true)),
        (vec![queue(&["m"]), queue(&[])], Err(NoTurnReason::Removed)),
        (vec![queue(&["m"]), queue(&[]), said("other"), queue(&["other"])], Err(NoTurnReason::Removed)),
        (vec![queue(&["m"]), held("m")], Err(NoTurnReason::Held)),
        (vec![queue(&["m"]), held("m"), queue(&["m"])], Ok(false)),
        (vec![queue(&["m"]), held("m"), archived(true)], Err(NoTurnReason::Archived)),
        (vec![queue(&["m"]), held("m"), queue(&[])], Err(NoTurnReason::Removed)),
        (vec![queue(&["m"]), archived(true)], Err(NoTurnReason::Archived)),
        (vec![queue(&["m"]), archived(true), archived(false)], Ok(false)),
        (vec![archived(true), archived(false), queue(&["m"])], Ok(false)),
        (vec![queue(&["m"]), ended()], Err(NoTurnReason::Ended)),
        (vec![queue(&["m"]), ended(), ready()], Ok(false)),
        (vec![queue(&["m"]), archived(true), queue(&[])], Err(NoTurnReason::Removed)),
    ] {
        assert_eq!(fate(&facts), expected, "{facts:?}");
    }
}
