//! Tasks: every turn of every session as one line of work that starts, goes on and ends. A fold per session, with nothing in it while no turn runs.
//!
//! Not here: who reads which session, and the order over all of them. Logs have positions of their own, so that order is made in the `turnloom`
//! crate, where commits meet.

mod task;

use std::collections::{HashMap, HashSet};
use std::time::Duration;

pub use self::task::{Kind, Metadata, Presence, Progress, Status, Task, TaskActivity, WaitsFor};
use super::{keep_tail, name};
use crate::event::{Done, Envelope, Event, Origin, Outcome, TurnStarted, UserMessage};
use crate::id::{AskId, Seq, SessionId, SubagentId, TurnId};
use crate::projection::{Muted, Projection};
use crate::summary::{ContextUse, first_line};
use crate::time::Timestamp;

/// How much of what an agent says is shown as progress.
const TAIL_BYTES: usize = 1_024;

/// About what a task takes in memory.
const TASK_BYTES: usize = 768;

/// Tools that ask for nothing but approval of a plan.
const PLAN_APPROVALS: [&str; 2] = ["ExitPlanMode", "exit_plan_mode"];

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
    "user_message",
    "turn_started",
    "done",
    "error",
    "status",
    "usage",
    "compaction_end",
    "tool_start",
    "tool_result",
    "subagent_started",
    "subagent_ended",
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
    /// The first message of a turn that has not begun.
    message: Option<UserMessage>,
    asks: HashMap<AskId, WaitsFor>,
    subagents: HashSet<SubagentId>,
    queued: usize,
    context: Option<ContextUse>,
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

    /// Something was heard of the turn. Says whether it was taken for dead.
    pub fn touch(&mut self, at: Timestamp) -> bool {
        let Some(task) = &mut self.task else { return false };
        task.last_activity_at = task.last_activity_at.max(at);
        std::mem::take(&mut task.is_zombie)
    }

    /// Takes the turn for dead, unless it waits for a person. Says whether that is new.
    pub fn give_up(&mut self) -> bool {
        let Some(task) = self.task.as_mut().filter(|task| task.status == Status::Running) else { return false };
        task.needs_input == 0 && !std::mem::replace(&mut task.is_zombie, true)
    }

    /// The session that gave this work away.
    pub fn set_parent(&mut self, parent: &SessionId) {
        if let Some(task) = &mut self.task {
            task.metadata.parent_session_id = Some(parent.clone());
        }
    }

    fn step(&mut self, envelope: &Envelope) -> Change {
        self.seen = envelope.seq;
        match &envelope.event {
            Event::UserMessage(message) => {
                let runs = self.task.as_ref().is_some_and(|task| task.status == Status::Running);
                if !runs && self.message.is_none() {
                    self.message = Some(message.clone());
                }
                return Change::Nothing;
            }
            Event::TurnStarted(started) => return self.start(envelope, started),
            Event::Done(done) => return self.end(envelope, done),
            Event::QueueChanged(changed) => self.queued = changed.queue.len(),
            Event::Failure(failure) => self.failure = Some(failure.message.clone()),
            Event::PermissionRequest(ask) => {
                let plan = PLAN_APPROVALS.contains(&ask.tool_name.as_str());
                self.asks.insert(ask.ask_id.clone(), if plan { WaitsFor::Plan } else { WaitsFor::Permission });
            }
            Event::QuestionRequest(ask) => drop(self.asks.insert(ask.ask_id.clone(), WaitsFor::Question)),
            Event::Interrupt(ask) => drop(self.asks.insert(ask.interrupt_id.clone(), WaitsFor::Input)),
            Event::PermissionResolved(ask) => drop(self.asks.remove(&ask.ask_id)),
            Event::QuestionResolved(ask) => drop(self.asks.remove(&ask.ask_id)),
            Event::InterruptResolved(ask) => drop(self.asks.remove(&ask.interrupt_id)),
            Event::SubagentStarted(started) => drop(self.subagents.insert(started.subagent_id.clone())),
            Event::SubagentEnded(ended) => drop(self.subagents.remove(&ended.subagent_id)),
            _ => {}
        }
        ContextUse::fold(&mut self.context, envelope);
        let Some(task) = self.task.as_mut().filter(|task| task.status == Status::Running) else {
            return Change::Nothing;
        };
        task.last_activity_at = envelope.ts;
        task.is_zombie = false;
        (task.needs_input, task.waits_for) = (self.asks.len(), self.asks.values().max().copied());
        (task.queued, task.subagents, task.context) = (self.queued, self.subagents.len(), self.context);
        match &envelope.event {
            Event::Status(status) => {
                let since = match &task.activity {
                    Some(known) if known.state == status.state && known.label == status.label => known.since,
                    _ => envelope.ts,
                };
                task.activity = Some(TaskActivity { state: status.state, label: status.label.clone(), since });
            }
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

    fn start(&mut self, envelope: &Envelope, started: &TurnStarted) -> Change {
        let Some(turn) = envelope.turn_id.clone() else { return Change::Nothing };
        let mut task = Task::new(&envelope.session_id, turn, started.origin, envelope.ts);
        task.started_at = Some(envelope.ts);
        let message = self.message.take().filter(|message| started.message_ids.contains(&message.message_id));
        task.prompt = message.as_ref().map(|message| first_line(&message.content)).filter(|line| !line.is_empty());
        let source = message.and_then(|message| message.source);
        task.metadata = Metadata::of(started.origin, started.message_ids.first(), source);
        task.metadata.continues.clone_from(&started.continues);
        (task.queued, task.context) = (self.queued, self.context);
        self.asks.clear();
        self.subagents.clear();
        self.failure = None;
        self.task = Some(task);
        Change::Started
    }

    fn end(&mut self, envelope: &Envelope, done: &Done) -> Change {
        let Some(turn) = envelope.turn_id.clone() else { return Change::Nothing };
        let known = self.task.take().filter(|task| task.run_id == turn);
        let mut task = known.unwrap_or_else(|| Task::new(&envelope.session_id, turn, Origin::User, envelope.ts));
        task.status = match done.outcome {
            Outcome::Completed => Status::Succeeded,
            Outcome::Stopped => Status::Cancelled,
            Outcome::Interrupted | Outcome::Failed => Status::Failed,
        };
        let failed = task.status == Status::Failed;
        task.error = self.failure.take().or_else(|| done.reason.clone()).filter(|_| failed);
        (task.last_activity_at, task.completed_at) = (envelope.ts, Some(envelope.ts));
        task.duration_ms = task.started_at.map(|started| envelope.ts.millis() - started.millis());
        (task.needs_input, task.waits_for, task.subagents) = (0, None, 0);
        (task.activity, task.tool_name, task.is_zombie) = (None, None, false);
        self.asks.clear();
        self.task = Some(task);
        Change::Completed
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

/// Every task of one session, to look up what became of a turn, and to list turns. It does not hold what agents said.
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

    /// All of them, in no order.
    pub fn all(&self) -> impl Iterator<Item = &Task> {
        self.before.values().chain(self.tasks.task())
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
