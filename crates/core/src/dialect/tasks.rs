//! Tasks: every turn of every session as one line of work that starts, goes on and ends. A fold per session, with nothing in it while no turn runs.
//!
//! Not here: who reads which session, and the order over all of them. Logs have positions of their own, so that order is made in the `turnloom`
//! crate, where commits meet.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;
use serde_with::skip_serializing_none;

use super::{keep_tail, name};
use crate::event::{Envelope, Event, Origin, Outcome};
use crate::id::{AskId, Seq, SessionId, TurnId};
use crate::projection::{Muted, Projection};
use crate::time::Timestamp;

/// How much of what an agent says is shown as progress.
const TAIL_BYTES: usize = 1_024;

/// About what a task takes in memory.
const TASK_BYTES: usize = 512;

/// One turn, as a list of tasks shows it.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    pub run_id: TurnId,
    pub session_id: SessionId,
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub status: Status,
    pub origin: Origin,
    pub trigger_type: &'static str,
    /// Absent when the turn began before anybody counted.
    pub started_at: Option<Timestamp>,
    pub last_activity_at: Timestamp,
    pub completed_at: Option<Timestamp>,
    pub duration_ms: Option<i64>,
    pub error: Option<String>,
    /// How many asks wait for a person.
    pub needs_input: usize,
    /// How many messages wait for their turn.
    pub queued: usize,
    pub tool_name: Option<String>,
    #[serde(skip)]
    tail: String,
    #[serde(skip)]
    cut: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "TaskStatus")]
pub enum Status {
    Running,
    Succeeded,
    Failed,
    Cancelled,
}

impl Status {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

/// What a fact changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    Nothing,
    Started,
    Progress,
    Completed,
}

/// The types that change a task; others need not be read. Text is last, because it is only wanted while somebody looks.
pub const KINDS: &[&str] = &[
    "turn_started",
    "done",
    "error",
    "tool_start",
    "tool_result",
    "permission_request",
    "question_request",
    "interrupt",
    "permission_resolved",
    "question_resolved",
    "interrupt_resolved",
    "queue_changed",
    "delta",
];

/// The tasks of one session: at most one at a time.
#[derive(Debug, Clone, Default)]
pub struct SessionTasks {
    task: Option<Task>,
    asks: HashSet<AskId>,
    queued: usize,
    failure: Option<String>,
    seen: Seq,
}

impl SessionTasks {
    /// The turn that runs, or the one that has just ended.
    pub fn task(&self) -> Option<&Task> {
        self.task.as_ref()
    }

    /// The last position that was taken.
    pub fn seen(&self) -> Seq {
        self.seen
    }

    /// A turn that began before anybody looked.
    pub fn found(session_id: &SessionId, turn: TurnId, seen: Seq, at: Timestamp) -> Self {
        Self { task: Some(Task::new(session_id, turn, Origin::User, None, at)), seen, ..Self::default() }
    }

    /// Something happened in the turn that changes nothing else here.
    pub fn touch(&mut self, at: Timestamp) {
        if let Some(task) = &mut self.task {
            task.last_activity_at = task.last_activity_at.max(at);
        }
    }

    fn step(&mut self, envelope: &Envelope) -> Change {
        self.seen = envelope.seq;
        match &envelope.event {
            Event::TurnStarted(started) => {
                let Some(turn) = envelope.turn_id.clone() else { return Change::Nothing };
                let mut task = Task::new(&envelope.session_id, turn, started.origin, Some(envelope.ts), envelope.ts);
                task.queued = self.queued;
                self.asks.clear();
                self.failure = None;
                self.task = Some(task);
                return Change::Started;
            }
            Event::Done(done) => {
                let Some(turn) = envelope.turn_id.clone() else { return Change::Nothing };
                let known = self.task.take().filter(|task| task.run_id == turn);
                let mut task =
                    known.unwrap_or_else(|| Task::new(&envelope.session_id, turn, Origin::User, None, envelope.ts));
                task.status = match done.outcome {
                    Outcome::Completed => Status::Succeeded,
                    Outcome::Stopped => Status::Cancelled,
                    Outcome::Interrupted | Outcome::Failed => Status::Failed,
                };
                let failed = task.status == Status::Failed;
                task.error = self.failure.take().or_else(|| done.reason.clone()).filter(|_| failed);
                (task.last_activity_at, task.completed_at) = (envelope.ts, Some(envelope.ts));
                task.duration_ms = task.started_at.map(|started| envelope.ts.millis() - started.millis());
                (task.needs_input, task.tool_name) = (0, None);
                self.asks.clear();
                self.task = Some(task);
                return Change::Completed;
            }
            Event::QueueChanged(changed) => self.queued = changed.queue.len(),
            Event::Failure(failure) => self.failure = Some(failure.message.clone()),
            Event::PermissionRequest(ask) => drop(self.asks.insert(ask.ask_id.clone())),
            Event::QuestionRequest(ask) => drop(self.asks.insert(ask.ask_id.clone())),
            Event::Interrupt(ask) => drop(self.asks.insert(ask.interrupt_id.clone())),
            Event::PermissionResolved(ask) => drop(self.asks.remove(&ask.ask_id)),
            Event::QuestionResolved(ask) => drop(self.asks.remove(&ask.ask_id)),
            Event::InterruptResolved(ask) => drop(self.asks.remove(&ask.interrupt_id)),
            _ => {}
        }
        let (asks, queued) = (self.asks.len(), self.queued);
        let Some(task) = self.task.as_mut().filter(|task| task.status == Status::Running) else {
            return Change::Nothing;
        };
        task.last_activity_at = envelope.ts;
        (task.needs_input, task.queued) = (asks, queued);
        match &envelope.event {
            Event::ToolStart(start) => task.tool_name = Some(name(&start.tool).to_owned()),
            Event::ToolResult(_) => task.tool_name = None,
            Event::Delta(delta) if envelope.subagent_id.is_none() => {
                task.cut |= task.tail.len() + delta.text.len() > TAIL_BYTES;
                keep_tail(&mut task.tail, &delta.text, TAIL_BYTES);
            }
            _ => {}
        }
        Change::Progress
    }
}

/// Says what the last fact changed.
impl Projection for SessionTasks {
    type Output = Change;

    fn apply(&mut self, envelope: &Envelope, out: &mut Change) {
        *out = if KINDS.contains(&envelope.event.kind()) { self.step(envelope) } else { Change::Nothing };
    }
}

impl Muted for Change {
    fn muted() -> Self {
        Self::Nothing
    }
}

/// Every task of one session, to look up the result of a turn. It does not hold what agents said.
#[derive(Debug, Clone, Default)]
pub struct TaskHistory {
    tasks: SessionTasks,
    before: HashMap<TurnId, Task>,
}

impl TaskHistory {
    pub fn task(&self, turn: &TurnId) -> Option<&Task> {
        let latest = self.tasks.task().filter(|task| task.run_id == *turn);
        latest.or_else(|| self.before.get(turn))
    }
}

impl Projection for TaskHistory {
    type Output = ();

    fn apply(&mut self, envelope: &Envelope, (): &mut ()) {
        if let Event::Delta(_) = &envelope.event {
            return;
        }
        if let Event::TurnStarted(_) | Event::Done(_) = &envelope.event {
            let latest = self.tasks.task().filter(|task| Some(&task.run_id) != envelope.turn_id.as_ref());
            self.before.extend(latest.map(|task| (task.run_id.clone(), task.clone())));
        }
        self.tasks.apply(envelope, &mut Change::muted());
    }

    fn weight(&self) -> usize {
        (self.before.len() + 1) * TASK_BYTES
    }
}

impl Task {
    fn new(
        session_id: &SessionId,
        run_id: TurnId,
        origin: Origin,
        started_at: Option<Timestamp>,
        at: Timestamp,
    ) -> Self {
        let (kind, trigger_type) = match origin {
            Origin::User | Origin::Component => ("chat", "chat"),
            Origin::Api => ("chat", "api"),
            Origin::Agent | Origin::Import => ("chat", "job"),
            Origin::Delegation => ("chat", "delegation"),
            Origin::Schedule => ("scheduled", "cron"),
            Origin::Webhook => ("channel", "webhook"),
        };
        Self {
            run_id,
            session_id: session_id.clone(),
            kind,
            status: Status::Running,
            origin,
            trigger_type,
            started_at,
            last_activity_at: at,
            completed_at: None,
            duration_ms: None,
            error: None,
            needs_input: 0,
            queued: 0,
            tool_name: None,
            tail: String::new(),
            cut: false,
        }
    }

    /// The turn is over, and nobody saw how.
    #[must_use]
    pub fn lost(mut self, at: Timestamp) -> Self {
        (self.status, self.completed_at) = (Status::Failed, Some(at));
        self.error = Some("the end of this turn was not seen here; its log tells it".to_owned());
        self
    }

    /// How the task goes on, small whatever the agent says.
    pub fn progress(&self) -> Progress<'_> {
        Progress {
            event_type: "task:progress",
            run_id: &self.run_id,
            kind: self.kind,
            session_id: &self.session_id,
            text: self.tail.trim(),
            limited: self.cut,
            tool_name: self.tool_name.as_deref(),
            needs_input: self.needs_input,
            queued: self.queued,
            started_at: self.started_at,
            timestamp: self.last_activity_at,
        }
    }
}

#[skip_serializing_none]
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "TaskProgress")]
pub struct Progress<'a> {
    event_type: &'static str,
    run_id: &'a TurnId,
    #[serde(rename = "type")]
    kind: &'static str,
    session_id: &'a SessionId,
    /// The end of what the agent said.
    #[serde(rename = "progressText")]
    text: &'a str,
    #[serde(rename = "progressContentLimited")]
    limited: bool,
    tool_name: Option<&'a str>,
    needs_input: usize,
    queued: usize,
    started_at: Option<Timestamp>,
    timestamp: Timestamp,
}

/// Whether a turn that runs is taken for dead: nothing was heard of it for so long, and it does not wait for a person.
pub fn is_zombie(silent: Duration, waits_for_person: bool, after: Duration) -> bool {
    !waits_for_person && silent >= after
}

/// Limits how often the progress of each task is sent. A delayed task is checked again later, and then its newest progress is sent.
#[derive(Debug)]
pub struct Throttle {
    every_ms: i64,
    told: HashMap<TurnId, i64>,
}

impl Throttle {
    pub fn every(every_ms: i64) -> Self {
        Self { every_ms, told: HashMap::new() }
    }

    /// Nothing if it may be told now; else when.
    pub fn hold(&mut self, run: &TurnId, now_ms: i64) -> Option<i64> {
        match self.told.get_mut(run) {
            Some(last) if now_ms < *last + self.every_ms => Some(*last + self.every_ms),
            Some(last) => {
                *last = now_ms;
                None
            }
            None => {
                self.told.insert(run.clone(), now_ms);
                None
            }
        }
    }

    pub fn forget(&mut self, run: &TurnId) {
        self.told.remove(run);
    }
}
