use super::{TurnFold, fingerprint, is_looser, message_id};
use crate::event::DelegationState;
use crate::event::{Delta, Done, Envelope, Event, Failure, Origin, Outcome, TurnResult, TurnStarted};
use crate::id::{BlockId, Seq, SessionId, TurnId};
use crate::time::Timestamp;

fn fact(seq: u64, turn: &str, event: impl Into<Event>) -> Envelope {
    Envelope {
        seq: Seq(seq),
        ts: Timestamp::from_millis(0),
        session_id: SessionId::trusted("child"),
        turn_id: Some(TurnId::trusted(turn)),
        subagent_id: None,
        event: event.into(),
    }
}

fn says(block: &str, text: &str) -> Delta {
    Delta { block_id: BlockId::trusted(block), text: text.to_owned(), ..Delta::default() }
}

#[test]
fn the_last_words_of_a_turn_are_its_result() {
    let mut fold = TurnFold::default();
    let started = TurnStarted { origin: Origin::Delegation, ..TurnStarted::default() };
    for event in [Event::from(started), says("a", "First.").into(), says("b", "La").into(), says("b", "st.").into()] {
        assert_eq!(fold.step(&fact(1, "t", event)), None);
    }
    // What another turn says, and a sub-agent, is not its.
    fold.step(&fact(2, "other", says("c", "Else.")));
    let by_helper =
        Envelope { subagent_id: Some(crate::id::SubagentId::trusted("h")), ..fact(2, "t", says("d", "No.")) };
    fold.step(&by_helper);
    let end = fold.step(&fact(9, "t", Done::default())).unwrap();
    assert_eq!((end.text.as_deref(), end.state, end.seq), (Some("Last."), DelegationState::Completed, Seq(9)));
    assert_eq!((end.origin, end.reason), (Origin::Delegation, None));
    assert!(!fold.knows(Some(&TurnId::trusted("t"))), "it is over");

    fold.step(&fact(10, "u", TurnStarted::default()));
    fold.step(&fact(11, "u", says("a", "Half")));
    fold.step(&fact(12, "u", TurnResult { text: "Whole.".into(), structured_output: None }));
    fold.step(&fact(13, "u", Failure { message: "no key".into(), fix: Some("sign in".into()), ..Failure::default() }));
    let end = fold.step(&fact(14, "u", Done { outcome: Outcome::Failed, ..Done::default() })).unwrap();
    assert_eq!((end.text.as_deref(), end.reason.as_deref()), (Some("Whole."), Some("no key; sign in")));
}

#[test]
fn nobody_has_another_do_what_they_may_not() {
    let strict = [Some("plan"), Some("ask"), Some("implement"), Some("bypass")];
    for (at, parent) in strict.iter().enumerate() {
        for (below, child) in strict.iter().enumerate() {
            assert_eq!(is_looser(*child, *parent), below > at, "{child:?} below {parent:?}");
        }
    }
    assert!(!is_looser(None, None) && !is_looser(Some("plan"), None) && is_looser(Some("acceptEdits"), None));
    assert!(is_looser(Some("full-access"), Some("auto")));
    // What somebody has made is not known: only the same is.
    assert!(!is_looser(Some("mine"), Some("mine")) && is_looser(Some("mine"), Some("bypass")));
    assert!(is_looser(Some("ask"), Some("mine")) && !is_looser(Some("plan"), Some("mine")));
}

#[test]
fn a_task_and_the_message_about_it_have_one_name() {
    let task = fingerprint("codex", Some("/a"), "Build it");
    assert_eq!(task, fingerprint("codex", Some("/a"), " Build it\n"));
    for other in [fingerprint("claude", Some("/a"), "Build it"), fingerprint("codex", None, "Build it")] {
        assert_ne!(task, other);
    }
    let turn = TurnId::trusted("turn_1");
    assert_eq!(message_id(&SessionId::trusted("c"), Some(&turn)).as_str(), "delegation-c-turn_1");
}
