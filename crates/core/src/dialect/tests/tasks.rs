use std::collections::BTreeMap;
use std::time::Duration;

use super::logs;
use crate::dialect::Projection as _;
use crate::dialect::tasks::{
    Change, Kind, Presence, SessionTasks, Status, Task, TaskHistory, Throttle, WaitsFor, is_zombie,
};
use crate::event::{Envelope, Event, Origin, PermissionReply};
use crate::id::TurnId;

/// What a client holds that comes when `head` facts are there: the active tasks it reads then, and what it is told after that.
fn held(log: &[Envelope], head: usize) -> (BTreeMap<String, Task>, BTreeMap<String, Task>) {
    let mut fold = SessionTasks::default();
    let (mut active, mut ended) = (BTreeMap::new(), BTreeMap::new());
    for (at, envelope) in log.iter().enumerate() {
        if at == head {
            active.extend(
                fold.task()
                    .filter(|task| task.status == Status::Running)
                    .map(|task| (task.run_id.to_string(), task.clone())),
            );
        }
        let mut change = Change::Nothing;
        fold.apply(envelope, &mut change);
        let Some(task) = fold.task().filter(|_| at >= head) else { continue };
        let id = task.run_id.to_string();
        match change {
            Change::Nothing => {}
            Change::Started => assert!(active.insert(id, task.clone()).is_none()),
            Change::Progress => {
                assert!(active.insert(id, task.clone()).is_some(), "progress is of a task that is known");
            }
            Change::Completed => {
                assert!(active.remove(&id).is_some(), "what ends was active");
                ended.insert(id, task.clone());
            }
        }
    }
    (active, ended)
}

#[test]
fn every_turn_is_a_task_whenever_a_client_comes() {
    let played = logs::SCRIPTS.iter().map(|script| logs::played(&["echo one", script], PermissionReply::Once));
    let recorded = logs::recorded().into_iter().map(|(_, log)| log);
    for log in played.chain((0..60).map(|seed| logs::simulated(seed, 60))).chain(recorded) {
        let (active, ended) = held(&log, 0);
        let dones = log.iter().filter(|envelope| matches!(envelope.event, Event::Done(_))).count();
        let turns = log.iter().filter(|envelope| matches!(envelope.event, Event::TurnStarted(_))).count();
        assert_eq!((ended.len(), active.len()), (dones, turns - dones));
        let mut history = TaskHistory::default();
        for envelope in &log {
            history.apply(envelope, &mut ());
        }
        for (id, task) in &ended {
            let found = history.task(&TurnId::trusted(id)).unwrap();
            assert_eq!((found.status, found.completed_at, &found.error), (task.status, task.completed_at, &task.error));
        }
        assert!(ended.values().all(|task| task.duration_ms.is_some_and(|ms| ms >= 0) && task.needs_input == 0));
        for head in 0..log.len() {
            let (later_active, later_ended) = held(&log, head);
            assert_eq!(later_active, active, "from {head}");
            assert!(later_ended.iter().all(|(id, task)| ended[id] == *task), "from {head}");
        }
    }
}

#[test]
fn progress_is_small_and_says_what_waits() {
    let log = logs::played(&["stream 500 100"], PermissionReply::Once);
    let mut fold = SessionTasks::default();
    for envelope in &log {
        let mut change = Change::Nothing;
        fold.apply(envelope, &mut change);
        if change == Change::Progress {
            let progress = serde_json::to_string(&fold.task().unwrap().progress()).unwrap();
            assert!(progress.len() < 3_000, "{}", progress.len());
        }
    }
    let log = logs::played(&["permission"], PermissionReply::Once);
    let mut fold = SessionTasks::default();
    let mut waited = 0;
    for envelope in &log {
        fold.apply(envelope, &mut Change::Nothing);
        waited = waited.max(fold.task().map_or(0, |task| task.needs_input));
    }
    assert_eq!((waited, fold.task().unwrap().needs_input), (1, 0));
}

#[test]
fn a_task_says_what_it_is_about_what_it_waits_for_and_who_works_for_it() {
    let log = logs::played(&["plan approval", "subagent"], PermissionReply::Once);
    let mut fold = SessionTasks::default();
    let (mut plans, mut helpers, mut prompts) = (0, 0, Vec::new());
    for envelope in &log {
        let mut change = Change::Nothing;
        fold.apply(envelope, &mut change);
        let Some(task) = fold.task() else { continue };
        plans += usize::from(task.waits_for == Some(WaitsFor::Plan));
        helpers = helpers.max(task.subagents);
        if change == Change::Completed {
            assert_eq!((task.waits_for, task.subagents, &task.activity), (None, 0, &None));
            prompts.extend(task.prompt.clone());
        }
    }
    assert!(plans > 0 && helpers == 1, "{plans} {helpers}");
    assert_eq!(prompts, ["plan approval", "subagent"]);
}

#[test]
fn a_dead_turn_is_told_once_and_lives_again_with_the_next_fact() {
    let log = logs::played(&["permission"], PermissionReply::Once);
    let mut fold = SessionTasks::default();
    let mut waited = false;
    for envelope in &log {
        fold.apply(envelope, &mut Change::Nothing);
        let running = fold.task().filter(|task| task.status == Status::Running);
        let (runs, waits) = (running.is_some(), running.is_some_and(|task| task.needs_input > 0));
        waited |= waits;
        assert_eq!(fold.give_up(), runs && !waits, "who waits for a person is not dead");
        assert!(!fold.give_up(), "it is dead already");
        assert_eq!(fold.touch(envelope.ts), runs && !waits);
    }
    assert!(waited);
}

#[test]
fn what_a_person_began_is_in_front_and_all_else_behind() {
    use Origin::{Agent, Api, Component, Delegation, Import, Schedule, User, Webhook};
    for origin in [User, Component, Api, Agent, Import, Schedule, Webhook, Delegation] {
        let front = matches!(origin, User | Component);
        assert_eq!(Presence::of(origin), if front { Presence::Foreground } else { Presence::Background }, "{origin:?}");
        let kind = match origin {
            Schedule => Kind::Scheduled,
            Webhook => Kind::Channel,
            Delegation => Kind::Delegation,
            _ => Kind::Chat,
        };
        assert_eq!(Kind::of(origin), kind);
    }
}

#[test]
fn a_turn_that_waits_for_a_person_is_not_dead() {
    let limit = Duration::from_mins(30);
    assert!(!is_zombie(Duration::from_mins(29), false, limit));
    assert!(is_zombie(limit, false, limit));
    assert!(!is_zombie(Duration::from_hours(10), true, limit));
}

#[test]
fn progress_is_told_at_most_so_often_and_never_forgotten() {
    let (one, two) = (TurnId::trusted("one"), TurnId::trusted("two"));
    let mut throttle = Throttle::every(300);
    assert_eq!(throttle.hold(&one, 1_000), None);
    assert_eq!(throttle.hold(&one, 1_100), Some(1_300));
    assert_eq!(throttle.hold(&two, 1_100), None, "each task has its own");
    assert_eq!(throttle.hold(&one, 1_299), Some(1_300));
    assert_eq!(throttle.hold(&one, 1_300), None);
    throttle.forget(&one);
    assert_eq!(throttle.hold(&one, 1_301), None);
}
