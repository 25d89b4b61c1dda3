use std::collections::BTreeSet;

use serde_json::Value;

use super::State;
use crate::blob::BlobId;
use crate::dialect::tests::logs::{self, naming};
use crate::event::{Envelope, PermissionReply};
use crate::session::simulation::Dice;

/// What is beside this file.
fn beside(name: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/session/stored");
    std::fs::read_to_string(format!("{folder}/{name}")).unwrap()
}

/// A log with everything in it that a state knows of. It is never changed, so whatever differs is the fold's doing or the form's.
fn sample() -> Vec<Envelope> {
    beside("sample.jsonl").lines().map(|line| Envelope::decode(line.as_bytes()).unwrap()).collect()
}

fn fold<'a>(mut state: State, log: impl IntoIterator<Item = &'a Envelope>) -> State {
    log.into_iter().for_each(|envelope| state.apply(envelope));
    state
}

fn again(state: &State) -> State {
    State::load(&state.store().unwrap()).unwrap()
}

/// For any cut: the beginning, stored and loaded, and the rest.
fn check(log: &[Envelope], cuts: impl IntoIterator<Item = usize>) {
    let whole = fold(State::default(), log);
    for cut in cuts {
        let (begun, rest) = log.split_at(cut);
        let begun = fold(State::default(), begun);
        let loaded = again(&begun);
        assert_eq!(loaded, begun, "after {cut} events");
        assert_eq!(loaded.store().unwrap(), begun.store().unwrap(), "the same bytes, after {cut} events");
        let gone_on = fold(loaded, rest);
        assert_eq!(gone_on, whole, "cut after {cut} events");
        assert_eq!(gone_on.store().unwrap(), whole.store().unwrap(), "the same bytes, cut after {cut} events");
    }
}

#[test]
fn a_state_that_was_stored_goes_on_as_if_it_had_not_been() {
    check(&sample(), 0..=sample().len());
    for seed in 0..60 {
        let log = logs::simulated(seed, 120);
        naming(&format!("of seed {seed}"), || check(&log, (0..=log.len()).step_by(5)));
    }
    for script in logs::SCRIPTS {
        for reply in [PermissionReply::Once, PermissionReply::Always, PermissionReply::Reject] {
            let log = logs::played(&[script, "echo more"], reply);
            // Of a long one some cuts are enough: every kind of event comes early.
            let mut dice = Dice::seeded(1);
            let cuts: Vec<usize> = (0..=log.len().min(40)).chain((0..20).map(|_| dice.below(log.len()))).collect();
            naming(script, || check(&log, cuts));
        }
    }
}

#[test]
fn the_state_of_a_recorded_session_goes_on_as_if_it_had_not_been_stored() {
    let mut dice = Dice::seeded(2);
    for (name, log) in logs::recorded() {
        let cuts: Vec<usize> = [0, log.len()].into_iter().chain((0..12).map(|_| dice.below(log.len()))).collect();
        naming(&name, || check(&log, cuts));
    }
}

#[test]
fn what_is_stored_changes_with_the_version_only() {
    let mut state = State::default();
    let mut stored = state.store().unwrap();
    for envelope in sample() {
        state.apply(&envelope);
        stored.extend(state.store().unwrap());
    }
    let digest = BlobId::of(&stored);
    let form = format!(
        "version {}: {digest}
",
        State::VERSION
    );
    assert_eq!(
        form,
        beside("form.txt"),
        "what is stored of a log has changed: raise State::VERSION, then say so in form.txt"
    );
}

#[test]
fn the_sample_has_something_in_every_field() {
    let empty = serde_json::to_value(State::default()).unwrap();
    let fields = |stored: &Value| {
        let open =
            stored["open"].as_object().unwrap().iter().map(|(name, value)| (format!("open.{name}"), value.clone()));
        let own = stored.as_object().unwrap().iter().map(|(name, value)| (name.clone(), value.clone()));
        own.chain(open).collect::<Vec<_>>()
    };
    let mut untouched: BTreeSet<String> = fields(&empty).into_iter().map(|(name, _)| name).collect();
    let mut state = State::default();
    for envelope in sample() {
        state.apply(&envelope);
        let stored = serde_json::to_value(&state).unwrap();
        for ((name, value), (_, unset)) in fields(&stored).into_iter().zip(fields(&empty)) {
            if value != unset {
                untouched.remove(&name);
            }
        }
    }
    assert_eq!(untouched, BTreeSet::new(), "these were never anything but empty");
}

#[test]
fn what_is_not_a_state_is_not_taken_for_one() {
    let stored = fold(State::default(), &sample()).store().unwrap();
    for wrong in [&b""[..], b"{}", b"null", b"[]", &stored[..stored.len() - 1], &stored[1..]] {
        assert!(State::load(wrong).is_err());
    }
    let mut more: Value = serde_json::from_slice(&stored).unwrap();
    more["another"] = Value::Null;
    assert!(State::load(more.to_string().as_bytes()).is_err(), "a field that nobody knows");
}

#[test]
fn ten_thousand_turns_are_stored_in_little() {
    let log = logs::played(&["echo hello"], PermissionReply::Once);
    let before = fold(State::default(), &log).store().unwrap().len();
    let log = logs::played(&["echo hello"; 101], PermissionReply::Once);
    let after = fold(State::default(), &log).store().unwrap().len();
    let each = (after - before) / 100;
    assert!(each < 250, "{each} bytes for each turn");
}
