//! What a finished schedule is looked through for, beside the laws: asks that ended by themselves, what people did on the screen, pauses.

use std::collections::{BTreeMap, BTreeSet};

use crate::delegation::message_id;
use crate::event::{BudgetState, DelegationState, Envelope, Event, Origin, Unanswered};

/// What ended by itself must have said so before: when, and how. Nothing opaque is allowed by waiting.
pub(super) fn wrongly_expired(log: &[Envelope]) -> Vec<String> {
    let mut asked = BTreeMap::new();
    let mut wrong = Vec::new();
    for envelope in log {
        match &envelope.event {
            Event::PermissionRequest(request) => drop(asked.insert(&request.ask_id, request)),
            Event::PermissionResolved(resolved) if resolved.unanswered == Some(Unanswered::Expired) => {
                let request = asked.get(&resolved.ask_id);
                let said = request.and_then(|request| request.expiry.as_ref());
                let fits = said.is_some_and(|said| said.at <= envelope.ts && said.allowed == resolved.allowed);
                let opaque = request.and_then(|request| request.judged.as_ref()).is_none_or(|judged| judged.opaque);
                if !fits || (opaque && resolved.allowed) {
                    wrong.push(format!("{}: {} expired in another way than it said", envelope.seq, resolved.ask_id));
                }
            }
            _ => {}
        }
    }
    wrong
}

/// What people did on the screen is told once: the messages about it are about different facts, and what should wake the agent is in one of them.
pub(super) fn wrongly_told(log: &[Envelope], has_room: bool) -> Vec<String> {
    let mut done = Vec::new();
    let mut ranges = BTreeSet::new();
    for envelope in log {
        let message = match &envelope.event {
            Event::ComponentCallback(callback) if callback.settles.is_none() => {
                done.extend(callback.wakes.map(|wakes| (envelope.seq.0, wakes)));
                None
            }
            Event::StateDelta(delta) => {
                done.extend(delta.wakes.map(|wakes| (envelope.seq.0, wakes)));
                None
            }
            Event::UserMessage(message) => Some((&message.message_id, message.origin)),
            Event::Steer(steer) => steer.origin.map(|origin| (&steer.message_id, origin)),
            Event::QueueChanged(changed) => changed.added.as_ref().map(|added| (&added.message_id, added.origin)),
            _ => None,
        };
        if let Some((message_id, Origin::Component)) = message {
            let numbers: Vec<u64> = message_id.as_str().split('-').filter_map(|part| part.parse().ok()).collect();
            let [first, last] = numbers.as_slice() else {
                return vec![format!("{message_id} is no id of such a message")];
            };
            ranges.insert((*first, *last));
        }
    }
    let times = |seq: u64| ranges.iter().filter(|(first, last)| (*first..=*last).contains(&seq)).count();
    let wrong = |(seq, wakes): &(u64, bool)| match times(*seq) {
        0 => *wakes && has_room,
        times => times > 1,
    };
    done.into_iter().filter(wrong).map(|(seq, _)| format!("{seq} was told {} times", times(seq))).collect()
}

/// Each limit is reached once, each pause is one ask, and each of these has one outcome.
pub(super) fn wrongly_paused(log: &[Envelope]) -> Vec<String> {
    let mut wrong = Vec::new();
    let (mut open, mut reached) = (None, BTreeSet::new());
    for envelope in log {
        let seq = envelope.seq;
        match &envelope.event {
            Event::TurnStarted(started) if started.continues.is_none() => {
                reached.retain(|(scope, _, _, _): &(String, _, String, String)| !scope.contains("Turn"));
            }
            Event::SessionUpdated(updated) if updated.settings.is_some() => reached.clear(),
            Event::Budget(budget) => {
                let limit = (
                    format!("{:?}", budget.scope),
                    budget.id.clone(),
                    format!("{:?}", budget.measure),
                    budget.limit.to_string(),
                );
                match budget.state {
                    BudgetState::Reached if !reached.insert(limit) && budget.id.is_none() => {
                        wrong.push(format!("{seq}: the same limit is reached twice"));
                    }
                    BudgetState::Paused => {
                        if open.is_some() {
                            wrong.push(format!("{seq}: two pauses at once"));
                        }
                        open.clone_from(&budget.ask_id);
                    }
                    _ => {}
                }
            }
            Event::PermissionResolved(resolved) if open.as_ref() == Some(&resolved.ask_id) => open = None,
            Event::UserMessage(_) if open.is_some() => wrong.push(format!("{seq}: a message goes out in a pause")),
            Event::Done(_) if open.is_some() => wrong.push(format!("{seq}: a turn ends in a pause")),
            _ => {}
        }
    }
    wrong
}

/// How a turn of another session ended is brought by one message, unless a call was told, or the session was stopped from here or is closed.
pub(super) fn wrongly_delegated(log: &[Envelope]) -> Vec<String> {
    let mut wrong = Vec::new();
    let (mut queued, mut begun) = (BTreeMap::new(), BTreeMap::new());
    for envelope in log {
        match &envelope.event {
            Event::UserMessage(message) => *begun.entry(&message.message_id).or_insert(0) += 1,
            Event::QueueChanged(changed) => {
                // What is edited is said again.
                let added = changed.added.iter().filter(|added| !added.message_id.as_str().starts_with('m'));
                added.for_each(|added| *queued.entry(&added.message_id).or_insert(0) += 1);
            }
            _ => {}
        }
    }
    let (mut stopping, mut archived, mut ended) = (BTreeSet::new(), false, false);
    for envelope in log {
        match &envelope.event {
            Event::SessionUpdated(updated) => archived = updated.archived.unwrap_or(archived),
            Event::SessionEnded(_) => ended = true,
            Event::SessionReady(_) => ended = false,
            Event::DelegationUpdated(updated) if updated.state == DelegationState::Stopping => {
                stopping.insert(&updated.child_session_id);
            }
            Event::DelegationUpdated(updated) if !updated.state.is_open() => {
                let was_stopped = stopping.remove(&updated.child_session_id);
                let has_ended = updated.turn_id.is_some() || updated.reason.is_some();
                if !has_ended || was_stopped || archived || ended || !updated.told.is_empty() {
                    continue;
                }
                let id = message_id(&updated.child_session_id, updated.turn_id.as_ref());
                if !begun.contains_key(&id) && !queued.contains_key(&id) {
                    wrong.push(format!("{}: nobody has heard of {id}", envelope.seq));
                }
            }
            _ => {}
        }
    }
    let twice = begun.iter().filter(|(id, times)| id.as_str().starts_with("delegation-") && **times > 1);
    wrong.extend(twice.map(|(id, times)| format!("{id} was said {times} times")));
    wrong
}
