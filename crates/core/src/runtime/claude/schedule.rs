//! When the agent wakes itself up: at a time that it has set, once or repeatedly. Nothing runs until then, but an agent that was ended would not wake
//! up, so the log shows this as background work.
//!
//! What is due waits for the turn that runs. Then the program says that it begins with it, and of a wake-up which one it is. An older program
//! says nothing, so there a turn that nothing else explains is taken for it.

use std::collections::{BTreeMap, HashSet};

use serde_json::Value;

use crate::event::{BackgroundEnded, BackgroundKind, BackgroundStarted, WorkStatus};
use crate::id::BackgroundId;
use crate::runtime::Output;
use crate::time::Timestamp;

/// There is one next wake-up at most; setting it again moves it.
const WAKE_UP: &str = "wake-up";
/// So much before its time the program may begin with something.
const EARLY_MS: i64 = 120_000;

#[derive(Debug, Default)]
pub(super) struct Schedule {
    /// How often each was set, for a name of its own in the log.
    set: u64,
    /// The same when the turn began. What the turn itself has set is still to come.
    set_before: u64,
    open: BTreeMap<String, Entry>,
    /// The program says when it begins with what was due.
    reports_wakeups: bool,
    /// It has begun with something that was due; which, it did not say.
    woke_up: bool,
    /// Messages and other things that the program has said to wait or to run, until they are over.
    known: HashSet<String>,
    now: Option<Timestamp>,
}

#[derive(Debug)]
struct Entry {
    background_id: BackgroundId,
    /// When it is due; nothing, if it comes again and again.
    once_at: Option<Timestamp>,
    number: u64,
}

/// How far the program is with a message, or with something that it has set itself.
#[derive(Debug)]
pub(super) struct Lifecycle<'a> {
    pub(super) uuid: &'a str,
    pub(super) state: &'a str,
    pub(super) wakeup_source: Option<&'a str>,
    pub(super) scheduled_for: Option<u64>,
}

impl Schedule {
    /// What a tool has changed of it.
    pub(super) fn changed(&mut self, tool: &str, input: &Value, result: &Value, out: &mut Output) {
        let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
        let time = |name: &str| result.get(name).and_then(Value::as_u64).map(time);
        match tool {
            "ScheduleWakeup" => {
                self.ended(WAKE_UP, WorkStatus::Completed, out);
                if let Some(at) = time("scheduledFor") {
                    let why = text(input, "reason").unwrap_or_else(|| "goes on by itself".to_owned());
                    self.entry_started(WAKE_UP.to_owned(), Some(at), format!("Wakes up: {why}"), out);
                }
            }
            "CronCreate" => {
                let Some(id) = text(result, "id") else { return };
                let once = result.get("recurring").and_then(Value::as_bool) == Some(false);
                let when = text(result, "humanSchedule").or_else(|| text(input, "cron")).unwrap_or_default();
                let what = text(input, "prompt").unwrap_or_default();
                let what = what.lines().next().unwrap_or_default();
                self.entry_started(
                    id,
                    once.then(|| time("nextFireAt").unwrap_or_default()),
                    format!("{when}: {what}"),
                    out,
                );
            }
            "CronDelete" => {
                if let Some(id) = text(input, "id").or_else(|| text(result, "id")) {
                    self.ended(&id, WorkStatus::Interrupted, out);
                }
            }
            _ => {}
        }
    }

    /// A line of the program says when it was said.
    pub(super) fn set_time(&mut self, now: Timestamp) {
        self.now = Some(now);
    }

    /// A turn of the program begins.
    pub(super) fn turn_started(&mut self, reports_wakeups: bool) {
        self.reports_wakeups = reports_wakeups;
        self.set_before = self.set;
    }

    /// The program goes on with something, or drops it.
    pub(super) fn lifecycle_changed(&mut self, with: &Lifecycle<'_>, out: &mut Output) {
        match (with.state, with.wakeup_source) {
            ("started", Some("loop_wakeup")) => {
                self.known.insert(with.uuid.to_owned());
                let set_for = self.open.get(WAKE_UP).and_then(|entry| entry.once_at);
                // One that was moved may still come once at its old time.
                if with.scheduled_for.is_none() || with.scheduled_for.map(time) == set_for {
                    self.ended(WAKE_UP, WorkStatus::Completed, out);
                }
            }
            ("queued" | "started", source) => {
                self.woke_up |= source.is_some();
                self.known.insert(with.uuid.to_owned());
            }
            // Only of what was due nothing is said before its end: a stop has dropped it.
            ("cancelled" | "discarded" | "refused", _) if !self.known.remove(with.uuid) => {
                self.set_before = self.set;
                self.first_due_ended(WorkStatus::Interrupted, out);
            }
            _ => drop(self.known.remove(with.uuid)),
        }
    }

    /// A turn of the program is over, perhaps one that nothing else explains.
    pub(super) fn turn_ended(&mut self, unexplained: bool, out: &mut Output) {
        if std::mem::take(&mut self.woke_up) || (unexplained && !self.reports_wakeups) {
            self.first_due_ended(WorkStatus::Completed, out);
        }
    }

    /// What was to come once, and first, has come. Something that comes again and again may have come instead, if nothing was due yet.
    fn first_due_ended(&mut self, status: WorkStatus, out: &mut Output) {
        let is_due = |at: Timestamp| self.now.is_none_or(|now| at <= now.plus_millis(EARLY_MS));
        let waiting = self.open.iter().filter(|(_, entry)| entry.number <= self.set_before);
        let due = waiting.filter_map(|(id, entry)| Some((entry.once_at.filter(|at| is_due(*at))?, id.clone()))).min();
        if let Some((_, id)) = due {
            self.ended(&id, status, out);
        }
    }

    fn entry_started(&mut self, id: String, once_at: Option<Timestamp>, label: String, out: &mut Output) {
        self.set += 1;
        let background_id = BackgroundId::trusted(format!("schedule-{}-{id}", self.set));
        let entry = Entry { background_id: background_id.clone(), once_at, number: self.set };
        self.open.insert(id, entry);
        out.report(BackgroundStarted { background_id, kind: BackgroundKind::Schedule, tool_use_id: None, label });
    }

    fn ended(&mut self, id: &str, status: WorkStatus, out: &mut Output) {
        if let Some(Entry { background_id, .. }) = self.open.remove(id) {
            out.report(BackgroundEnded { background_id, status, ..BackgroundEnded::default() });
        }
    }
}

fn time(millis: u64) -> Timestamp {
    Timestamp::from_millis(i64::try_from(millis).unwrap_or(i64::MAX))
}
