//! When the agent wakes itself.

use serde_json::{Value, json};

use super::lines::{Bench, events, kinds};
use crate::event::{Event, WorkStatus};
use crate::runtime::Report;

const AT: u64 = 1_794_855_960_000;

/// The program takes something up, or is done with it.
fn lifecycle(bench: &mut Bench, uuid: &str, state: &str, mut more: Value) -> Vec<Report> {
    more["type"] = "command_lifecycle".into();
    more["command_uuid"] = uuid.into();
    more["state"] = state.into();
    bench.says(&more)
}

fn begin(bench: &mut Bench) {
    let can = ["lifecycle_wakeup_source_v1"];
    bench.system("init", json!({ "session_id": "conversation", "capabilities": can }));
}

fn sets_wake_up(bench: &mut Bench, at: u64) -> Vec<Report> {
    bench.calls("ScheduleWakeup", &json!({ "reason": "look at the loom" }));
    bench.returns(&"Next wakeup scheduled".into(), &json!({ "scheduledFor": at }))
}

fn sets_cron(bench: &mut Bench, id: &str, recurring: bool, at: u64) {
    bench.calls("CronCreate", &json!({ "prompt": id, "cron": "0 9 * * *" }));
    let said = bench.returns(&"Scheduled".into(), &json!({ "id": id, "recurring": recurring, "nextFireAt": at }));
    assert_eq!(kinds(&said), ["tool_result", "background_started"]);
}

/// Which have ended, and how.
fn ended(said: &[Report]) -> Vec<(&str, WorkStatus)> {
    let events = events(said).into_iter();
    events
        .filter_map(|event| match event {
            Event::BackgroundEnded(ended) => Some((ended.background_id.as_str(), ended.status)),
            _ => None,
        })
        .collect()
}

/// A moment by the program's clock.
fn says_at(bench: &mut Bench, time: &str) {
    let line = json!({ "type": "assistant", "message": { "id": "a", "content": [] }, "timestamp": time });
    assert!(bench.says(&line).is_empty());
}

#[test]
fn a_time_to_wake_up_is_work_until_it_has_come() {
    let mut bench = Bench::new();
    bench.prompt("look later");
    assert_eq!(kinds(&sets_wake_up(&mut bench, AT)), ["tool_result", "background_started"]);
    bench.ends(json!({ "result": "later" }));
    // A turn of its own that a background task explains is not this one. An older program says nothing else.
    bench.system("init", json!({ "session_id": "conversation" }));
    let other = bench.ends(json!({ "result": "x", "origin": { "kind": "task-notification" } }));
    assert!(ended(&other).is_empty());
    bench.system("init", json!({ "session_id": "conversation" }));
    let awake = bench.ends(json!({ "result": "awake" }));
    assert_eq!(ended(&awake), [("schedule-1-wake-up", WorkStatus::Completed)]);
}

#[test]
fn a_wake_up_that_comes_before_a_persons_message_ends_too() {
    let mut bench = Bench::new();
    bench.prompt("look later");
    sets_wake_up(&mut bench, AT);
    bench.ends(json!({ "result": "later" }));
    // The person's message is on its way when the program begins with the wake-up.
    bench.prompt("hello");
    let source = json!({ "wakeup_source": "loop_wakeup", "scheduled_for": AT });
    let begun = lifecycle(&mut bench, "fire", "started", source);
    assert_eq!(ended(&begun), [("schedule-1-wake-up", WorkStatus::Completed)]);
    // One that was moved comes once more at its old time.
    sets_wake_up(&mut bench, AT + 60_000);
    let source = json!({ "wakeup_source": "loop_wakeup", "scheduled_for": AT });
    assert!(ended(&lifecycle(&mut bench, "stale", "started", source)).is_empty());
}

#[test]
fn a_loop_that_sets_its_next_time_is_not_over() {
    let mut bench = Bench::new();
    bench.prompt("look later");
    sets_wake_up(&mut bench, AT);
    bench.ends(json!({ "result": "later" }));
    // An older program: the turn that the wake-up began sets the next one.
    bench.system("init", json!({ "session_id": "conversation" }));
    assert_eq!(ended(&sets_wake_up(&mut bench, AT + 60_000)), [("schedule-1-wake-up", WorkStatus::Completed)]);
    assert!(ended(&bench.ends(json!({ "result": "again" }))).is_empty(), "the next is still to come");
}

#[test]
fn what_comes_again_and_again_does_not_end_what_comes_once() {
    let mut bench = Bench::new();
    bench.prompt("look later");
    sets_cron(&mut bench, "daily", true, AT);
    sets_cron(&mut bench, "once", false, AT + 3_600_000);
    bench.ends(json!({ "result": "later" }));
    let fire = |bench: &mut Bench, time: &str| {
        lifecycle(bench, "fire", "started", json!({ "wakeup_source": "schedule_wakeup" }));
        begin(bench);
        says_at(bench, time);
        let said = bench.ends(json!({ "result": "x" }));
        lifecycle(bench, "fire", "completed", json!({}));
        said
    };
    assert!(ended(&fire(&mut bench, "2026-11-16T19:06:01.000Z")).is_empty(), "it is not due for an hour");
    let said = fire(&mut bench, "2026-11-16T20:06:01.000Z");
    assert_eq!(ended(&said), [("schedule-2-once", WorkStatus::Completed)]);
}

#[test]
fn what_was_due_and_dropped_by_a_stop_does_not_come() {
    let mut bench = Bench::new();
    bench.prompt("look later");
    sets_cron(&mut bench, "once", false, AT);
    bench.ends(json!({ "result": "later" }));
    lifecycle(&mut bench, "message", "queued", json!({}));
    assert!(ended(&lifecycle(&mut bench, "message", "cancelled", json!({}))).is_empty(), "a person's message");
    let dropped = lifecycle(&mut bench, "fire", "cancelled", json!({}));
    assert_eq!(ended(&dropped), [("schedule-1-once", WorkStatus::Interrupted)]);
}
