//! Schedules and runs in words.

use std::fmt::Write as _;

use turnloom_core::schedule::{MissedRule, Overlap, Run, RunOutcome, RunState, Target, When};
use turnloom_core::time::Timestamp;

use crate::cli::render::{Ink, Look, duration, one_line};
use crate::schedules::{ScheduleStatus, ScheduleView};
use crate::session::now;

/// One schedule in one line.
pub(super) fn summary(schedule: &ScheduleView, look: Look) -> String {
    let next = match (schedule.status, schedule.next.first()) {
        (ScheduleStatus::Active, Some(next)) => format!("in {}", duration(next.millis() - now().millis())),
        (ScheduleStatus::Paused, _) => "paused".to_owned(),
        (ScheduleStatus::Ended | ScheduleStatus::Active, _) => "ended".to_owned(),
    };
    let state = match (&schedule.open_runs.first(), &schedule.last_run) {
        (Some(run), _) => outcome(run, look),
        (None, Some(run)) => outcome(run, look),
        (None, None) => look.paint(Ink::Dim, "not yet"),
    };
    let id = &schedule.schedule_id;
    format!("{id}  {}  {next}  {state}  {}\n", when(schedule), look.paint(Ink::Dim, &one_line(&schedule.title)))
}

/// All that there is to say of one.
pub(super) fn in_full(schedule: &ScheduleView, look: Look) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(text, "{} {value}", look.paint(Ink::Dim, &format!("{name:<9}")));
    };
    line("schedule", schedule.schedule_id.as_str());
    line("title", &one_line(&schedule.title));
    line("when", &when(schedule));
    line("prompt", &one_line(&schedule.prompt));
    line("where", &place(schedule));
    let overlap = match schedule.overlap {
        Overlap::Skip => "a run that overlaps another is left out",
        Overlap::Queue => "a run that overlaps another waits",
        Overlap::Stop => "a run that overlaps another stops it",
    };
    line("overlap", overlap);
    let missed = match schedule.missed {
        MissedRule::Once => "one run makes up for those that were missed".to_owned(),
        MissedRule::All { at_most } => format!("those that were missed run, {at_most} at most"),
        MissedRule::Skip => "those that were missed are left out".to_owned(),
    };
    line("missed", &missed);
    match schedule.status {
        ScheduleStatus::Paused => line("next", "paused"),
        ScheduleStatus::Ended => line("next", "never again"),
        ScheduleStatus::Active => {
            let next: Vec<String> = schedule.next.iter().map(Timestamp::to_string).collect();
            line("next", &next.join(", "));
        }
    }
    for run in schedule.open_runs.iter().chain(&schedule.last_run) {
        line("run", run_line(run, look).trim_end());
    }
    text
}

/// One run in one line.
pub(super) fn run_line(run: &Run, look: Look) -> String {
    let mut text = format!("{}  {}", run.run_id, outcome(run, look));
    if let Some(took) = run.duration_ms {
        let _ = write!(text, "  {}", duration(took));
    }
    if let Some(cost) = run.usage.and_then(|usage| usage.cost_usd) {
        let _ = write!(text, "  ${cost:.4}");
    }
    if let Some(missed) = &run.missed {
        let more = if missed.and_more { " and more" } else { "" };
        let _ = write!(text, "  {}{more} since {}", missed.count, missed.first);
    }
    if let Some(reason) = &run.reason {
        let _ = write!(text, "  {}", look.paint(Ink::Dim, &one_line(&reason.message)));
    }
    text.push('\n');
    text
}

fn outcome(run: &Run, look: Look) -> String {
    let (ink, word) = match (run.state, run.outcome) {
        (RunState::Queued, _) => (Ink::Dim, "queued"),
        (RunState::Starting, _) => (Ink::Cyan, "starting"),
        (RunState::Running, _) => (Ink::Cyan, "running"),
        (RunState::Ended, Some(RunOutcome::Completed)) => (Ink::Green, "completed"),
        (RunState::Ended, Some(RunOutcome::Stopped)) => (Ink::Yellow, "stopped"),
        (RunState::Ended, Some(RunOutcome::Interrupted)) => (Ink::Yellow, "interrupted"),
        (RunState::Ended, Some(RunOutcome::Skipped)) => (Ink::Dim, "skipped"),
        (RunState::Ended, Some(RunOutcome::Missed)) => (Ink::Yellow, "missed"),
        (RunState::Ended, Some(RunOutcome::Failed) | None) => (Ink::Red, "failed"),
    };
    look.paint(ink, word)
}

fn when(schedule: &ScheduleView) -> String {
    match &schedule.when {
        When::Cron { expression } => format!("{expression} {}", schedule.zone),
        When::Interval { every, .. } => format!("every {every}"),
        When::Once { at } => format!("once, {at}"),
    }
}

fn place(schedule: &ScheduleView) -> String {
    let runtime = schedule.runtime.as_deref().unwrap_or_default();
    let cwd = schedule.params.get("cwd").and_then(|cwd| cwd.as_str());
    let at = cwd.map(|cwd| format!(" in {cwd}")).unwrap_or_default();
    match &schedule.session {
        Target::New => format!("a new session of {runtime} each time{at}"),
        Target::Same { session_id: None } => format!("one session of {runtime}{at}"),
        Target::Same { session_id: Some(session) } => format!("session {session}"),
        Target::Fork { session_id } => format!("a fork of session {session_id} each time"),
    }
}
