use serde_json::{Value, json};

use super::*;
use crate::id::{Seq, SessionId, SubagentId};
use crate::time::Timestamp;

fn answer(facts: &[(&str, &str, Value)]) -> Option<(Outcome, String)> {
    let mut awaited = AwaitedAnswer::new(MessageId::trusted("m"));
    for (at, (turn, kind, data)) in facts.iter().enumerate() {
        awaited.step(&Envelope {
            seq: Seq(at as u64 + 1),
            ts: Timestamp::default(),
            session_id: SessionId::trusted("s"),
            turn_id: Some(TurnId::trusted(turn.trim_end_matches('+'))),
            subagent_id: turn.ends_with('+').then(|| SubagentId::trusted("sub")),
            event: Event::from_value(kind, data),
        });
    }
    awaited.answer().map(|answer| (answer.outcome, answer.text.clone()))
}

fn said(id: &str) -> Value {
    json!({ "message_id": id, "content": [], "origin": "webhook" })
}

fn delta(block: &str, text: &str) -> Value {
    json!({ "block_id": block, "text": text })
}

#[test]
fn the_answer_is_what_the_turn_of_the_message_came_to() {
    let done = |outcome: &str| json!({ "outcome": outcome, "reason": "because" });
    for (facts, expected) in [
        (vec![("t", "user_message", said("m"))], None),
        (
            vec![
                ("t", "user_message", said("m")),
                ("t", "result", json!({ "text": "yes" })),
                ("t", "done", done("completed")),
            ],
            Some((Outcome::Completed, "yes")),
        ),
        (
            vec![
                ("o", "user_message", said("other")),
                ("o", "result", json!({ "text": "not this" })),
                ("o", "done", done("completed")),
                ("t", "user_message", said("m")),
                ("t", "delta", delta("1", "I look")),
                ("t+", "delta", delta("2", "a sub-agent")),
                ("t", "delta", delta("3", "it ")),
                ("t", "delta", delta("3", "works")),
                ("t", "done", done("completed")),
                ("u", "user_message", said("later")),
                ("u", "done", done("failed")),
            ],
            Some((Outcome::Completed, "it works")),
        ),
        (
            vec![
                ("t", "user_message", said("m")),
                ("t", "error", json!({ "message": "no key", "code": "x", "retryable": false })),
                ("t", "done", done("failed")),
            ],
            Some((Outcome::Failed, "[failed: no key]")),
        ),
        (
            vec![
                ("t", "user_message", said("m")),
                ("t", "delta", delta("1", "half ")),
                ("t", "done", done("interrupted")),
            ],
            Some((Outcome::Interrupted, "half\n\n[interrupted: because]")),
        ),
    ] {
        assert_eq!(answer(&facts), expected.map(|(outcome, text)| (outcome, text.to_owned())), "{facts:?}");
    }
}
