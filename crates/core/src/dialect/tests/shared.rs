//! The law of shared folds: a reader that gets a copy of what everybody shares is told what it would be told if it had read from the beginning.

use std::collections::HashSet;

use serde_json::json;

use super::logs::{self, Dice};
use crate::dialect::ag_ui::{self, AgUi, RunInput, StateCopy, StateVersions};
use crate::dialect::agent_ui::{AgentUi, Artifacts, Findings};
use crate::dialect::ai_sdk::{self, AiSdk, History, HistoryOf, Profile, Subject};
use crate::dialect::snapshot::Snapshot;
use crate::dialect::tasks::{SessionTasks, TaskHistory};
use crate::dialect::text::{PlainText, Scope};
use crate::dialect::universal::{self, About, Raw, Universal, Wanted};
use crate::dialect::{Dialect, Frames, Muted as _, Projection, pending};
use crate::event::{Envelope, Event, PermissionReply};
use crate::id::{Seq, TurnId};

/// Where a reader begins, and how much was there when it came.
#[derive(Debug, Clone, Copy)]
struct Cut {
    start: usize,
    head: usize,
}

type Told = Vec<(Option<&'static str>, Option<u64>, String)>;

fn told<D: Dialect>(mut fold: D, log: &[Envelope], Cut { start, head }: Cut) -> Told {
    let mut frames = Frames::default();
    for (at, envelope) in log.iter().enumerate().skip(start) {
        if at == head {
            fold.caught_up(&mut frames);
        }
        fold.apply(envelope, &mut frames);
    }
    if head == log.len() {
        fold.caught_up(&mut frames);
    }
    fold.flush(&mut frames);
    frames.iter().map(|frame| (frame.name, frame.id, String::from_utf8(frame.body.to_vec()).unwrap())).collect()
}

fn folded<P: Projection>(mut fold: P, log: &[Envelope]) -> P {
    for envelope in log {
        fold.apply(envelope, &mut P::Output::muted());
    }
    fold
}

fn holds<D: Dialect>(log: &[Envelope], cut: Cut, reader: impl Fn() -> D::Reader) {
    let mut own = D::default();
    own.start_reader(reader());
    let own = folded(own, &log[..cut.start]);
    let mut shared = folded(D::default(), &log[..cut.start]);
    shared.start_reader(reader());
    assert_eq!(told(shared, log, cut), told(own, log, cut), "{} at {cut:?}", std::any::type_name::<D>());
}

/// A fold that is asked: brought forward from a copy, it answers what one does that read everything.
fn answers_the_same<P: Projection + Default + Clone, T: PartialEq + std::fmt::Debug>(
    log: &[Envelope],
    Cut { start, head }: Cut,
    ask: impl Fn(&P) -> T,
) {
    let shared = folded(P::default(), &log[..start]);
    let (copy, own) = (folded(shared.clone(), &log[start..head]), folded(P::default(), &log[..head]));
    assert_eq!(ask(&copy), ask(&own), "{} at {start} to {head}", std::any::type_name::<P>());
}

/// The history of the AI SDK is shared up to the first ask that waits, and told apart from there.
fn history_holds<const V: u8>(log: &[Envelope], profile: Profile, Cut { start, head }: Cut) {
    let waiting = pending(&log[..head]);
    let waits = |envelope: &Envelope| match &envelope.event {
        Event::PermissionRequest(ask) => waiting.contains(&ask.ask_id),
        Event::QuestionRequest(ask) => waiting.contains(&ask.ask_id),
        Event::Interrupt(ask) => waiting.contains(&ask.interrupt_id),
        _ => false,
    };
    let first = log[..head].iter().position(waits).unwrap_or(head);
    let mut copy = folded(HistoryOf::<V>::default(), &log[..start.min(first)]);
    copy.start_reader(waiting.clone());
    let copy = folded(copy, &log[start.min(first)..head]);
    let own = folded(History::new(profile, waiting), &log[..head]);
    assert_eq!(json!(copy.messages(usize::MAX)), json!(own.messages(usize::MAX)), "{profile:?} at {start} to {head}");
}

fn all_answer(log: &[Envelope], cut: Cut) {
    history_holds::<5>(log, Profile::V5, cut);
    history_holds::<6>(log, Profile::V6, cut);
    history_holds::<7>(log, Profile::V7, cut);
    let turns: HashSet<TurnId> = log.iter().filter_map(|envelope| envelope.turn_id.clone()).collect();
    answers_the_same(log, cut, |tasks: &SessionTasks| tasks.task().cloned());
    answers_the_same(log, cut, |tasks: &TaskHistory| {
        turns.iter().map(|turn| tasks.task(turn).cloned()).collect::<Vec<_>>()
    });
    answers_the_same(log, cut, |found: &Findings| (found.seq(), found.evidence(), found.diagnostics()));
    let artifacts: Vec<&str> = log
        .iter()
        .filter_map(|envelope| match &envelope.event {
            Event::ArtifactCreated(created) => Some(created.artifact_id.as_str()),
            _ => None,
        })
        .collect();
    answers_the_same(log, cut, |known: &Artifacts| {
        artifacts.iter().map(|id| known.get(id).cloned()).collect::<Vec<_>>()
    });
    let said = logs::said(log).into_iter().map(|id| id.to_string()).collect();
    let mut run = RunInput::default();
    (run.state, run.known) = (Some(json!({ "rows": 1, "warp": 9 })), said);
    let copy = StateCopy::of(&run).unwrap();
    answers_the_same(log, cut, |versions: &StateVersions| copy.change(versions));
}

/// The reader of the AI SDK wants a turn, and the fold stands right before it.
fn holds_by_turn(log: &[Envelope], head: usize) {
    let begins = |envelope: &&Envelope| matches!(envelope.event, Event::UserMessage(_) | Event::TurnStarted(_));
    let turns = log[..head].iter().filter(begins).filter_map(|envelope| envelope.turn_id.clone());
    for turn in turns.collect::<std::collections::BTreeSet<_>>() {
        let is_first = |envelope: &Envelope| envelope.turn_id.as_ref() == Some(&turn) && begins(&envelope);
        let start = log.iter().position(is_first).unwrap();
        let subjects = [Subject::Turn(turn.clone()), Subject::Rest { turn: turn.clone(), after: log[head - 1].seq }];
        for subject in subjects {
            let reader =
                || ai_sdk::Reader { profile: Profile::V7, subject: subject.clone(), pending: pending(&log[..head]) };
            holds::<AiSdk>(log, Cut { start, head }, reader);
        }
    }
}

fn all_hold(log: &[Envelope], cut: Cut) {
    let after = cut.start.checked_sub(1).map_or(Seq::ZERO, |last| log[last].seq);
    holds::<AgUi>(log, cut, || ag_ui::Reader { run: RunInput::default(), wanted: None });
    let mut with_tools = RunInput::default();
    with_tools.tools.extend(["get_weather", "form"].map(str::to_owned));
    if folded(AgUi::default(), &log[..cut.start]).is_past_of(&with_tools) {
        holds::<AgUi>(log, cut, || ag_ui::Reader { run: with_tools.clone(), wanted: None });
    }
    holds::<AgentUi>(log, cut, || after);
    holds::<Snapshot>(log, cut, || after);
    holds::<PlainText>(log, cut, || Scope::After(after));
    let sequence = folded(Universal::default(), &log[..cut.start]).sequence();
    let wanted = || Wanted::After(sequence);
    holds::<Universal>(log, cut, || universal::Reader {
        about: About::default(),
        wanted: wanted(),
        raw: Raw::Included,
    });
    let mut messages = log[cut.start..].iter().filter_map(|envelope| match &envelope.event {
        Event::UserMessage(message) => Some(message.message_id.clone()),
        _ => None,
    });
    // Somebody who sent a message came before it was accepted.
    if let Some(message) = messages.next_back() {
        let cut = Cut { head: cut.start, ..cut };
        holds::<PlainText>(log, cut, || Scope::Answer(message.clone()));
        let subject = || Subject::Message(message.clone());
        let waiting = || pending(&log[..cut.head]);
        holds::<AiSdk>(log, cut, || ai_sdk::Reader { profile: Profile::V6, subject: subject(), pending: waiting() });
        holds::<AgUi>(log, cut, || ag_ui::Reader { run: RunInput::default(), wanted: Some(message.clone()) });
        let wanted = || Wanted::TurnOf(message.clone());
        holds::<Universal>(log, cut, || universal::Reader {
            about: About::default(),
            wanted: wanted(),
            raw: Raw::LeftOut,
        });
    }
}

fn every_log() -> Vec<(String, Vec<Envelope>)> {
    let played = logs::played(logs::SCRIPTS, PermissionReply::Once);
    let simulated = (0..20).map(|seed| (format!("simulated {seed}"), logs::simulated(seed, 300)));
    let fixed = [("played".to_owned(), played), ("sample".to_owned(), logs::sample())];
    fixed.into_iter().chain(simulated).chain(logs::recorded()).collect()
}

#[test]
fn whoever_gets_a_copy_is_told_what_one_is_who_read_everything() {
    let mut dice = Dice::seeded(7);
    for (name, log) in every_log() {
        logs::naming(&name, || {
            for _ in 0..4 {
                let start = dice.below(log.len() as u64 + 1);
                let head = start + dice.below((log.len() - start) as u64 + 1);
                all_hold(&log, Cut { start, head });
                all_answer(&log, Cut { start, head });
            }
            if !log.is_empty() {
                holds_by_turn(&log, 1 + dice.below(log.len() as u64));
            }
        });
    }
}
