//! The tasks of all sessions: the running ones and the last that ended. This is a fold of the feed, in memory. A daemon settles all turns before it
//! starts, so it begins with none.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use turnloom_core::dialect::Projection as _;
use turnloom_core::dialect::tasks::{Change, KINDS, SessionTasks, Status, Task};
use turnloom_core::event::Record;
use turnloom_core::id::{SessionId, TurnId};
use turnloom_core::time::Timestamp;

use crate::log::{self, Commit, Log, Position, SessionRow};
use crate::reader::Commits;
use crate::sync::Locked;

/// Starts and ends that are kept for readers that come back or fall behind.
const RING: usize = 64;

/// The hub. Cloning shares it.
#[derive(Debug, Clone)]
pub struct Hub(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    state: Locked<State>,
    /// How far in the feed it is.
    position: watch::Sender<Position>,
    closing: CancellationToken,
}

#[derive(Debug)]
struct State {
    position: Position,
    /// The position before the oldest in the ring.
    floor: Position,
    /// Only sessions whose turn runs.
    running: HashMap<SessionId, Running>,
    /// Starts and ends, oldest first.
    ring: VecDeque<(Position, What, Task)>,
}

#[derive(Debug)]
struct Running {
    tasks: SessionTasks,
    /// When it last went on.
    position: Position,
    /// When anything was last heard of its session, by a clock that nobody sets.
    last_event: Instant,
}

impl Default for Running {
    fn default() -> Self {
        Self { tasks: SessionTasks::default(), position: Position::default(), last_event: Instant::now() }
    }
}

/// What is told of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    Started,
    Progress,
    Completed,
}

/// What a reader has to be told.
pub(super) struct TaskUpdates {
    pub(super) position: Position,
    /// False if some of it is not kept any more.
    pub(super) complete: bool,
    pub(super) told: Vec<(Position, What, Task)>,
}

impl Hub {
    /// Follows the feed from now on, until the daemon ends.
    pub fn start(log: &Log, tracker: &TaskTracker, closing: CancellationToken) -> Self {
        let position = log.feed().head().position;
        let commits = Commits::new(log, position, closing.clone());
        let state = State { position, floor: position, running: HashMap::new(), ring: VecDeque::new() };
        let position = watch::Sender::new(position);
        let hub = Self(Arc::new(Inner { state: Locked::new(state), position, closing }));
        tracker.spawn(hub.clone().follow(commits));
        hub
    }

    async fn follow(self, mut commits: Commits) {
        if let Err(error) = self.take_all(&mut commits).await {
            tracing::debug!(%error, "tasks are not followed any more");
        }
    }

    async fn take_all(&self, commits: &mut Commits) -> Result<(), log::Error> {
        while let Some((commit, records)) = commits.next().await? {
            self.take(&commit, &records);
            if let Some(reached) = commits.reached() {
                self.0.position.send_replace(reached);
            }
        }
        Ok(())
    }

    fn take(&self, commit: &Commit, records: &[Record]) {
        let mut state = self.0.state.lock();
        state.position = commit.position;
        let session = &commit.session;
        if commit.change == log::Change::Removed {
            state.running.remove(session);
        }
        if let Some(running) = state.running.get_mut(session) {
            running.last_event = Instant::now();
        }
        for record in records.iter().filter(|record| KINDS.contains(&record.kind())) {
            let Ok(envelope) = record.decode() else { continue };
            let running = state.running.entry(session.clone()).or_default();
            let mut change = Change::Nothing;
            running.tasks.apply(&envelope, &mut change);
            let task = running.tasks.task().cloned();
            state.record(session, change, task);
        }
        // A queue that changes while nothing runs leaves no task behind.
        if state.running.get(session).is_some_and(|running| running.tasks.task().is_none()) {
            state.running.remove(session);
        }
    }

    /// Waits until everything up to this position is known here, or the daemon ends.
    pub(super) async fn caught_up(&self, position: Position) {
        let mut reached = self.0.position.subscribe();
        let waits = reached.wait_for(|reached| *reached >= position);
        self.0.closing.run_until_cancelled(async { drop(waits.await) }).await;
    }

    /// The tasks that run, oldest first, and the position they belong to.
    pub(super) fn active(&self) -> (Vec<Task>, Position) {
        let state = self.0.state.lock();
        let mut tasks: Vec<Task> = state.running.values().filter_map(|running| running.tasks.task().cloned()).collect();
        tasks.sort_by(|left, right| (left.started_at, &left.run_id).cmp(&(right.started_at, &right.run_id)));
        (tasks, state.position)
    }

    /// A task that runs, or ended not long ago.
    pub(super) fn find(&self, run: &TurnId) -> Option<Task> {
        let state = self.0.state.lock();
        let runs = state.running.values().filter_map(|running| running.tasks.task()).find(|task| task.run_id == *run);
        let ended = || {
            let mut ended = state.ring.iter().rev().filter(|(_, what, _)| *what == What::Completed);
            ended.find(|(_, _, task)| task.run_id == *run).map(|(_, _, task)| task)
        };
        runs.or_else(ended).cloned()
    }

    /// For how long nothing was heard of a session whose turn runs.
    pub(super) fn silence_of(&self, session: &SessionId) -> Duration {
        self.0.state.lock().running.get(session).map(|running| running.last_event.elapsed()).unwrap_or_default()
    }

    /// What happened after a position, in order; of each task's progress only the newest.
    pub(super) fn since(&self, cursor: Position) -> TaskUpdates {
        let state = self.0.state.lock();
        let kept = state.ring.iter().filter(|(at, _, _)| *at > cursor).cloned();
        let mut told: Vec<(Position, What, Task)> = kept.collect();
        let moved = state.running.values().filter(|running| running.position > cursor);
        told.extend(
            moved.filter_map(|running| Some((running.position, What::Progress, running.tasks.task()?.clone()))),
        );
        told.sort_by_key(|(at, _, _)| *at);
        let complete = cursor >= state.floor && cursor <= state.position;
        TaskUpdates { position: state.position, complete, told }
    }

    /// To wait for more.
    pub(super) fn watch(&self) -> watch::Receiver<Position> {
        self.0.position.subscribe()
    }
}

impl State {
    fn record(&mut self, session: &SessionId, change: Change, task: Option<Task>) {
        let Some(task) = task else { return };
        match change {
            Change::Nothing => {}
            Change::Started => self.keep(What::Started, task),
            Change::Completed => {
                self.running.remove(session);
                self.keep(What::Completed, task);
            }
            Change::Progress => {
                debug_assert_eq!(task.status, Status::Running, "progress is of what runs");
                if let Some(running) = self.running.get_mut(session) {
                    running.position = self.position;
                }
            }
        }
    }

    fn keep(&mut self, what: What, task: Task) {
        self.ring.push_back((self.position, what, task));
        if self.ring.len() > RING
            && let Some((position, _, _)) = self.ring.pop_front()
        {
            self.floor = position;
        }
    }
}

/// When something was last heard of a session.
pub(super) fn last_activity(row: &SessionRow) -> Timestamp {
    row.updated_at
}
