//! Where the commits of all sessions meet: the tasks that run, the last that ended, and one order over them. In memory only: a daemon that starts
//! anew begins with what the log says is open, and with positions above all that were given before.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use turnloom_core::dialect::tasks::{Change, KINDS, SessionTasks, Status, Task};
use turnloom_core::event::Record;
use turnloom_core::id::{SessionId, TurnId};
use turnloom_core::time::Timestamp;

use crate::log::SessionRow;

/// Starts and ends that are kept for readers that come back or fall behind.
const RING: usize = 64;

/// Positions are above the milliseconds of the start times this, so that those of an earlier daemon are never met again.
const POSITIONS_PER_MILLISECOND: u64 = 1_000;

/// The hub. Cloning shares it.
#[derive(Debug, Clone)]
pub struct Hub(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    state: Mutex<State>,
    moved: watch::Sender<u64>,
}

#[derive(Debug)]
struct State {
    position: u64,
    /// The position before the oldest in the ring.
    floor: u64,
    /// Only sessions whose turn runs.
    running: HashMap<SessionId, Running>,
    /// Starts and ends, oldest first.
    ring: VecDeque<(u64, What, Task)>,
}

#[derive(Debug, Default)]
struct Running {
    tasks: SessionTasks,
    /// When it last went on.
    position: u64,
}

/// What is told of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    Started,
    Progress,
    Completed,
}

/// What a reader has to be told.
pub(super) struct News {
    pub(super) position: u64,
    /// False if some of it is not kept any more.
    pub(super) complete: bool,
    pub(super) told: Vec<(u64, What, Task)>,
}

impl Default for Hub {
    fn default() -> Self {
        let millis = u64::try_from(super::now().millis()).unwrap_or(0);
        let position = millis * POSITIONS_PER_MILLISECOND;
        let state = State { position, floor: position, running: HashMap::new(), ring: VecDeque::new() };
        Self(Arc::new(Inner { state: Mutex::new(state), moved: watch::Sender::new(position) }))
    }
}

impl Hub {
    /// Whether a record can change a task. Text is not read while nobody looks.
    pub(super) fn wants(&self, record: &Record) -> bool {
        let kind = record.kind();
        KINDS.contains(&kind) && (kind != "delta" || self.0.moved.receiver_count() > 0)
    }

    /// Takes what was committed in one session, in the order of its log.
    pub(super) fn committed(&self, session: &SessionId, records: &[Record]) {
        let mut state = self.lock();
        let before = state.position;
        for record in records {
            let Ok(envelope) = record.decode() else { continue };
            let running = state.running.entry(session.clone()).or_default();
            let change = running.tasks.step(&envelope);
            let task = running.tasks.task().cloned();
            state.tell(session, change, task);
        }
        let position = state.position;
        // A queue that changes while nothing runs leaves no task behind.
        if state.running.get(session).is_some_and(|running| running.tasks.task().is_none()) {
            state.running.remove(session);
        }
        drop(state);
        if position > before {
            self.0.moved.send_replace(position);
        }
    }

    pub(super) fn forget(&self, session: &SessionId) {
        self.lock().running.remove(session);
    }

    /// Compares with what the log says: finds what began before this daemon, and lets go of what ended unseen.
    pub(super) fn repair(&self, rows: &[SessionRow]) {
        let mut state = self.lock();
        for row in rows {
            let known = state.running.get(&row.id);
            let seen = known.map_or(turnloom_core::id::Seq::ZERO, |running| running.tasks.seen());
            let runs = known.and_then(|running| running.tasks.task()).map(|task| task.run_id.clone());
            if let Some(running) = state.running.get_mut(&row.id).filter(|_| row.summary.turn == runs) {
                // Text and thoughts are not read here while nobody looks, but they are signs of life.
                running.tasks.heard(row.updated_at);
            }
            if row.summary.turn == runs || seen >= row.head {
                continue;
            }
            if let Some(ended) = state.running.remove(&row.id) {
                let task = ended.tasks.task().cloned().map(|task| task.lost(row.updated_at));
                state.tell(&row.id, Change::Completed, task);
            }
            if let Some(turn) = row.summary.turn.clone() {
                let tasks = SessionTasks::found(&row.id, turn, row.head, row.updated_at);
                let task = tasks.task().cloned();
                state.running.insert(row.id.clone(), Running { tasks, position: 0 });
                state.tell(&row.id, Change::Started, task);
            }
        }
        let position = state.position;
        drop(state);
        self.0.moved.send_if_modified(|known| std::mem::replace(known, position) != position);
    }

    /// The tasks that run, oldest first, and the position they belong to.
    pub(super) fn active(&self) -> (Vec<Task>, u64) {
        let state = self.lock();
        let mut tasks: Vec<Task> = state.running.values().filter_map(|running| running.tasks.task().cloned()).collect();
        tasks.sort_by(|left, right| (left.started_at, &left.run_id).cmp(&(right.started_at, &right.run_id)));
        (tasks, state.position)
    }

    /// A task that runs, or ended not long ago.
    pub(super) fn find(&self, run: &TurnId) -> Option<Task> {
        let state = self.lock();
        let runs = state.running.values().filter_map(|running| running.tasks.task()).find(|task| task.run_id == *run);
        let ended = || {
            let mut ended = state.ring.iter().rev().filter(|(_, what, _)| *what == What::Completed);
            ended.find(|(_, _, task)| task.run_id == *run).map(|(_, _, task)| task)
        };
        runs.or_else(ended).cloned()
    }

    pub(super) fn sessions(&self) -> Vec<SessionId> {
        self.lock().running.keys().cloned().collect()
    }

    /// What happened after a position, in order; of each task's progress only the newest.
    pub(super) fn since(&self, cursor: u64) -> News {
        let state = self.lock();
        let kept = state.ring.iter().filter(|(at, _, _)| *at > cursor).cloned();
        let mut told: Vec<(u64, What, Task)> = kept.collect();
        let moved = state.running.values().filter(|running| running.position > cursor);
        told.extend(
            moved.filter_map(|running| Some((running.position, What::Progress, running.tasks.task()?.clone()))),
        );
        told.sort_by_key(|(at, _, _)| *at);
        let complete = cursor >= state.floor && cursor <= state.position;
        News { position: state.position, complete, told }
    }

    pub(super) fn follow(&self) -> watch::Receiver<u64> {
        self.0.moved.subscribe()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // What is under the lock is whole after every statement.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn tell(&mut self, session: &SessionId, change: Change, task: Option<Task>) {
        let Some(task) = task else { return };
        if change == Change::Nothing {
            return;
        }
        self.position += 1;
        let position = self.position;
        match change {
            Change::Started => self.keep(What::Started, task),
            Change::Completed => {
                self.running.remove(session);
                self.keep(What::Completed, task);
            }
            Change::Progress | Change::Nothing => {
                debug_assert_eq!(task.status, Status::Running, "progress is of what runs");
                if let Some(running) = self.running.get_mut(session) {
                    running.position = position;
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
pub(super) fn last_heard(row: &SessionRow) -> Timestamp {
    row.updated_at
}
