use super::*;
use crate::id::RunId;

const NOW: &str = "2026-03-01T00:00:00Z";

fn every_minute(overlap: Overlap, missed: MissedRule) -> Machine {
    let every = definition(&json!({ "type": "interval", "every": "1m" }));
    Machine::create(id("s"), Definition { overlap, missed, ..every }, at(NOW)).unwrap()
}

fn minute(minute: i64) -> Timestamp {
    at(NOW).plus_millis(minute * 60_000)
}

fn tick(machine: &mut Machine, now: Timestamp) -> Output {
    let mut out = Output::default();
    machine.tick(now, &mut out);
    out
}

fn end(machine: &mut Machine, run: &RunId, now: Timestamp) -> Output {
    let mut out = Output::default();
    let end =
        End { at: now, outcome: RunOutcome::Completed, reason: None, usage: None, result: Some("fine".to_owned()) };
    machine.ended(run, end, now, &mut out);
    out
}

fn starts(out: &Output) -> Vec<String> {
    let started = out.effects.iter().filter_map(|effect| match effect {
        Effect::Start(run) => Some(run.to_string()),
        Effect::Stop(_) => None,
    });
    started.collect()
}

fn outcomes(out: &Output) -> Vec<Option<RunOutcome>> {
    out.runs.iter().map(|run| run.outcome).collect()
}

#[test]
fn a_run_is_named_by_its_schedule_and_its_time() {
    let mut machine = every_minute(Overlap::Skip, MissedRule::Once);
    assert_eq!(machine.wake_at(), Some(minute(1)));
    assert!(!tick(&mut machine, minute(1).plus_millis(-1)).changed);
    let out = tick(&mut machine, minute(1).plus_millis(3));
    assert_eq!(starts(&out), ["s.20260301T000100.000Z"]);
    assert_eq!(out.runs.len(), 1);
    assert_eq!(out.runs[0].prompt.as_deref(), Some("echo 2026-03-01 00:01"));
    assert_eq!(key_of(&out.runs[0].run_id, &id("s")), "s/20260301T000100.000Z");
    assert!(!tick(&mut machine, minute(1).plus_millis(9)).changed, "it is decided");
}

#[test]
fn overlaps_are_left_out_queued_or_end_the_old_one() {
    let mut machine = every_minute(Overlap::Skip, MissedRule::Once);
    let first = tick(&mut machine, minute(1)).runs[0].run_id.clone();
    let out = tick(&mut machine, minute(2));
    assert_eq!((outcomes(&out), starts(&out).len()), (vec![Some(RunOutcome::Skipped)], 0));
    assert!(starts(&end(&mut machine, &first, minute(2))).is_empty());
    assert_eq!(starts(&tick(&mut machine, minute(3))).len(), 1);

    let mut machine = every_minute(Overlap::Queue, MissedRule::Once);
    let first = tick(&mut machine, minute(1)).runs[0].run_id.clone();
    assert!(starts(&tick(&mut machine, minute(2))).is_empty());
    assert_eq!(starts(&end(&mut machine, &first, minute(2))), ["s.20260301T000200.000Z"]);

    let mut machine = every_minute(Overlap::Stop, MissedRule::Once);
    let first = tick(&mut machine, minute(1)).runs[0].run_id.clone();
    assert_eq!(tick(&mut machine, minute(2)).effects, [Effect::Stop(first.clone())]);
    let out = tick(&mut machine, minute(3));
    assert_eq!(out.effects, [Effect::Stop(first.clone())]);
    assert!(outcomes(&out).contains(&Some(RunOutcome::Skipped)), "the one that waited is replaced");
    assert_eq!(starts(&end(&mut machine, &first, minute(3))), ["s.20260301T000300.000Z"]);
}

#[test]
fn what_was_missed_goes_by_the_rule() {
    let mut machine = every_minute(Overlap::Skip, MissedRule::Skip);
    let out = tick(&mut machine, minute(500).plus_millis(30_000));
    // One is within the grace.
    assert_eq!(out.runs[0].missed.unwrap().count, 499);
    assert_eq!(starts(&out), ["s.20260301T082000.000Z"]);

    let mut machine = every_minute(Overlap::Skip, MissedRule::Once);
    assert_eq!(starts(&tick(&mut machine, minute(500))).len(), 1);

    let mut machine = every_minute(Overlap::Skip, MissedRule::All { at_most: 5 });
    let out = tick(&mut machine, minute(500));
    assert_eq!(out.runs.iter().find_map(|run| run.missed).unwrap().count, 494);
    assert_eq!(machine.open().count(), 5, "those that make up for others wait for each other");

    let hourly = definition(&json!({ "type": "interval", "every": "1h" }));
    let mut machine = Machine::create(id("s"), hourly, at(NOW)).unwrap();
    let out = tick(&mut machine, minute(60 * 24 * 365 * 10 + 30));
    assert_eq!(starts(&out), ["s.20360227T000000.000Z"], "one run makes up for ten years");
    let missed = out.runs.iter().find_map(|run| run.missed).unwrap();
    assert_eq!((missed.count, missed.and_more), (10_000, true));
}

#[test]
fn what_was_missed_is_told_by_the_next_run_and_by_no_other() {
    let hourly = definition(&json!({ "type": "interval", "every": "1h" }));
    let hourly = Definition { missed: MissedRule::Skip, ..hourly };
    let mut machine = Machine::create(id("s"), hourly, at(NOW)).unwrap();
    let out = tick(&mut machine, minute(3 * 60 + 30));
    assert_eq!((out.runs[0].missed.unwrap().count, starts(&out).len()), (3, 0));
    let out = tick(&mut machine, minute(5 * 60 + 30));
    assert_eq!((out.runs[0].missed.unwrap().count, starts(&out).len()), (2, 0));
    // Nothing made up for them, so the next one says it.
    let out = tick(&mut machine, minute(6 * 60));
    let run = out.runs.iter().find(|run| run.state == RunState::Starting).unwrap();
    let missed = run.missed_before.unwrap();
    assert_eq!((missed.first, missed.last, missed.count), (minute(60), minute(5 * 60), 5));
    end(&mut machine, &run.run_id, minute(6 * 60 + 1));
    let out = tick(&mut machine, minute(7 * 60));
    assert_eq!((starts(&out).len(), out.runs[0].missed_before), (1, None));
}

#[test]
fn a_pause_is_not_made_up_for() {
    let mut machine = every_minute(Overlap::Skip, MissedRule::All { at_most: 9 });
    let paused = Definition { paused: true, ..machine.schedule().definition.clone() };
    machine.edit(paused.clone(), minute(1).plus_millis(-1)).unwrap();
    assert_eq!((machine.wake_at(), tick(&mut machine, minute(9)).changed), (None, false));
    assert!(machine.next(5, minute(9)).is_empty());
    machine.edit(Definition { paused: false, ..paused }, minute(9)).unwrap();
    assert!(!tick(&mut machine, minute(9)).changed);
    assert_eq!(machine.next(2, minute(9)), [minute(10), minute(11)]);
}

#[test]
fn now_is_a_run_like_others() {
    let mut machine = every_minute(Overlap::Skip, MissedRule::Once);
    let mut out = Output::default();
    let run = machine.run_now(minute(1), &mut out).unwrap();
    assert_eq!(run.as_str(), "s.20260301T000100.000Z-now");
    assert_eq!(machine.run_now(minute(1), &mut out), Err(NotNow::Active(run.clone())));
    assert_eq!(outcomes(&tick(&mut machine, minute(1))), [Some(RunOutcome::Skipped)]);
    end(&mut machine, &run, minute(2));
    assert_eq!(machine.schedule().progress.last_result.as_deref(), Some("fine"));
    let brief = machine.schedule().progress.last_run.as_ref().unwrap();
    assert_eq!((brief.outcome, &brief.result), (Some(RunOutcome::Completed), &None));
}

#[test]
fn a_clock_that_stood_wrong_does_not_stop_a_schedule_for_years() {
    let mut machine = every_minute(Overlap::Queue, MissedRule::Once);
    let wrong = at("2031-01-01T00:00:00Z");
    assert_eq!(starts(&tick(&mut machine, wrong)).len(), 1);
    assert!(tick(&mut machine, minute(5)).runs.is_empty());
    assert_eq!(machine.wake_at(), Some(minute(6)), "it goes on from the clock that is right");
    // A day back is no clock that stood wrong: what was decided stays decided.
    let mut machine = every_minute(Overlap::Queue, MissedRule::Once);
    tick(&mut machine, minute(60 * 24));
    assert!(!tick(&mut machine, minute(5)).changed);
    assert_eq!(machine.wake_at(), Some(minute(60 * 24 + 1)));
}

#[test]
fn jitter_is_the_same_for_one_schedule_and_another_for_another() {
    let every = definition(&json!({ "type": "interval", "every": "1h" }));
    let jittered = |name: &str| {
        let definition = Definition { jitter_seconds: 600, ..every.clone() };
        Machine::create(id(name), definition, at(NOW)).unwrap().next(3, at(NOW))
    };
    let (first, second) = (jittered("first"), jittered("second"));
    assert_ne!(first, second);
    for times in [first, second] {
        let late = times[0].millis() - minute(60).millis();
        assert!((0..=600_000).contains(&late), "{late}");
        assert_eq!(times[1].millis() - times[0].millis(), 3_600_000);
    }
}

#[test]
fn an_edit_of_the_words_changes_no_time() {
    let mut machine = every_minute(Overlap::Skip, MissedRule::Once);
    tick(&mut machine, minute(3));
    let other = Definition { title: "Another".to_owned(), ..machine.schedule().definition.clone() };
    machine.edit(other.clone(), minute(3).plus_millis(30_000)).unwrap();
    assert_eq!(machine.wake_at(), Some(minute(4)));
    let bad = Definition { prompt: "{{nothing}}".to_owned(), ..other.clone() };
    assert_eq!(machine.edit(bad, minute(4)).unwrap_err().code(), "invalid_template");
    assert_eq!(machine.schedule().definition, other, "and nothing is changed");
    let when = serde_json::from_value(json!({ "type": "interval", "every": "2m" })).unwrap();
    machine.edit(Definition { when, ..other }, minute(4).plus_millis(5)).unwrap();
    assert_eq!(machine.wake_at(), Some(minute(6).plus_millis(5)));
}
