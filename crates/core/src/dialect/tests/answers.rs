//! What clients answer, and what of it is not taken for an answer.

use serde_json::{Value, json};

use super::logs;
use crate::command::Answer;
use crate::dialect::ag_ui::RunInput;
use crate::dialect::ai_sdk;
use crate::event::PermissionReply;
use crate::session::State;
use crate::summary::PendingAsk;

/// What waits when a mock has been told this.
fn waiting(script: &str) -> PendingAsk {
    let log = logs::played(&[script], PermissionReply::Once);
    let mut state = State::default();
    let mut asks = log.iter().filter_map(|envelope| {
        state.apply(envelope);
        state.summary().asks.pop()
    });
    asks.next().unwrap()
}

/// The same answer given in two protocols.
fn given(ask: &PendingAsk, value: &Value) -> [Result<Option<Answer>, String>; 2] {
    let resume = json!([{ "interruptId": ask.ask_id, "status": "resolved", "payload": value }]);
    let run = RunInput::read(&json!({ "threadId": "s", "runId": "r", "resume": resume })).unwrap();
    let part = json!({ "toolCallId": ask.ask_id, "state": "output-available", "output": value });
    let asks = std::slice::from_ref(ask);
    let newest = |answers: Vec<(_, Answer)>| answers.into_iter().next().map(|(_, answer)| answer);
    [run.answers(asks).map(newest), ai_sdk::answers(&[part], asks).map(newest)]
}

#[test]
fn what_is_neither_yes_nor_no_is_not_taken_for_a_rejection() {
    let ask = waiting("permission");
    let reply = |answer: Option<Answer>| match answer {
        Some(Answer::Permission { reply, .. }) => reply,
        other => panic!("{other:?}"),
    };
    for (values, wanted) in [
        ([json!(true), json!({ "approved": true }), json!("Yes"), json!("approved")], PermissionReply::Once),
        (
            [json!(false), json!({ "approved": false, "reason": "no" }), json!("no"), json!("denied")],
            PermissionReply::Reject,
        ),
    ] {
        for value in values {
            for answer in given(&ask, &value) {
                assert_eq!(reply(answer.unwrap()), wanted, "{value}");
            }
        }
    }
    for value in [json!({ "aproved": true }), json!({}), json!("yep"), json!(""), json!(1), json!({ "approved": "?" })]
    {
        for answer in given(&ask, &value) {
            assert!(answer.unwrap_err().contains("neither yes nor no"), "{value}");
        }
    }
    let cancelled = |entry: Value| {
        let run = RunInput::read(&json!({ "threadId": "s", "runId": "r", "resume": [entry] })).unwrap();
        run.answers(std::slice::from_ref(&ask)).map(|answers| answers.len())
    };
    let id = &ask.ask_id;
    assert_eq!(cancelled(json!({ "interruptId": id, "status": "cancelled" })), Ok(1));
    assert!(cancelled(json!({ "interruptId": id, "status": "canceld", "payload": true })).is_err());
    assert!(cancelled(json!({ "interruptId": id, "status": "resolved" })).is_err());
}

#[test]
fn an_answer_that_is_misspelt_is_not_passed_on() {
    let ask = waiting("question");
    for value in [json!("Blue"), json!({ "answer": "Blue" }), json!({ "answers": [["Blue"]] }), json!([["Blue"]])] {
        for answer in given(&ask, &value) {
            let expected = Answer::Question { answers: Some(vec![vec!["Blue".to_owned()]]) };
            assert_eq!(answer.unwrap(), Some(expected), "{value}");
        }
    }
    for answer in given(&ask, &json!({ "anwsers": [["Blue"]] })) {
        assert!(answer.unwrap_err().contains("is no answer"));
    }
}
