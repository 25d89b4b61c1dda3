//! The tasks of all sessions: the running ones and the last that ended. This is a fold of the feed, in memory. A daemon settles all turns before it
//! starts, so it begins with none.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use turnloom_core::dialect::Projection as _;
use turnloom_core::dialect::tasks::{Change, KINDS, SessionTasks, Status, Task};
use turnloom_core::event::{Event, Origin, Record};
use turnloom_core::id::{SessionId, TurnId};
use turnloom_core::time::Timestamp;

use crate::log::{self, Commit, Log, Position, SessionRow};
use crate::reader::{Commits, until};
use crate::session::now;
use crate::sync::Locked;

/// Starts and ends that are kept for readers that come back or fall behind.
const RING: usize = 64;

/// The hub. Cloning shares it.
#[derive(Debug, Clone)]
pub struct Hub(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    state: Locked<State>,
    head: watch::Sender<Head>,
    /// Turns that are silent for so long are taken for dead.
    zombie_after: Duration,
    closing: CancellationToken,
}

/// How far it is: in the feed, and in what is told although nothing was committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::http) struct Head {
    pub(super) position: Position,
    pub(super) beat: u64,
}

#[derive(Debug)]
struct State {
    position: Position,
    beat: u64,
    /// When it has to be looked whether somebody is dead; nothing while nobody runs.
    look_at: Option<Instant>,
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
    /// When something was last decided about it that no commit says.
    beat: u64,
    /// When anything was last heard of its session, by a clock that nobody sets.
    last_event: Instant,
}

impl Default for Running {
    fn default() -> Self {
        Self { tasks: SessionTasks::default(), position: Position::default(), beat: 0, last_event: Instant::now() }
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
    /// Tasks that changed without a commit.
    pub(super) beats: Vec<Task>,
    pub(super) beat: u64,
}

impl Hub {
    /// Follows the feed from now on, until the daemon ends.
    pub fn start(log: &Log, tracker: &TaskTracker, closing: CancellationToken, zombie_after: Duration) -> Self {
        let position = log.feed().head().position;
        let commits = Commits::new(log, position, closing.clone());
        let state =
            State { position, beat: 0, look_at: None, floor: position, running: HashMap::new(), ring: VecDeque::new() };
        let head = watch::Sender::new(Head { position, beat: 0 });
        let hub = Self(Arc::new(Inner { state: Locked::new(state), head, zombie_after, closing }));
        tracker.spawn(hub.clone().follow(commits, log.clone()));
        hub
    }

    async fn follow(self, mut commits: Commits, log: Log) {
        if let Err(error) = self.take_all(&mut commits, &log).await {
            tracing::debug!(%error, "tasks are not followed any more");
        }
    }

    async fn take_all(&self, commits: &mut Commits, log: &Log) -> Result<(), log::Error> {
        loop {
            let look_at = self.0.state.lock().look_at;
            tokio::select! {
                biased;
                next = commits.next() => {
                    let Some((commit, records)) = next? else { return Ok(()) };
                    let parent = parent_of(log, &commit, &records).await?;
                    self.take(&commit, &records, parent.as_ref());
                    if let Some(position) = commits.reached() {
                        self.0.head.send_modify(|head| head.position = position);
                    }
                }
                () = until(look_at) => self.look_for_dead(),
            }
        }
    }

    fn take(&self, commit: &Commit, records: &[Record], parent: Option<&SessionId>) {
        let mut state = self.0.state.lock();
        state.position = commit.position;
        let session = &commit.session;
        if commit.change == log::Change::Removed {
            state.running.remove(session);
        }
        let position = state.position;
        if let Some(running) = state.running.get_mut(session) {
            running.last_event = Instant::now();
            if running.tasks.touch(now()) {
                running.position = position;
            }
        }
        for record in records.iter().filter(|record| KINDS.contains(&record.kind())) {
            let Ok(envelope) = record.decode() else { continue };
            let running = state.running.entry(session.clone()).or_default();
            let mut change = Change::Nothing;
            running.tasks.apply(&envelope, &mut change);
            if let (Change::Started, Some(parent)) = (change, parent) {
                running.tasks.set_parent(parent);
            }
            let task = running.tasks.task().cloned();
            state.record(session, change, task);
        }
        // A queue that changes while nothing runs leaves no task behind.
        if state.running.get(session).is_some_and(|running| running.tasks.task().is_none()) {
            state.running.remove(session);
        }
        if !state.running.is_empty() {
            // What runs already is looked at no later than that.
            state.look_at.get_or_insert_with(|| Instant::now() + self.0.zombie_after);
        }
    }

    /// Finds the turns of which nothing was heard for too long, and when to look again.
    fn look_for_dead(&self) {
        let mut state = self.0.state.lock();
        let (now, beat) = (Instant::now(), state.beat + 1);
        let mut next: Option<Instant> = None;
        let mut is_new = false;
        for running in state.running.values_mut() {
            let due = running.last_event + self.0.zombie_after;
            if due > now {
                next = Some(next.map_or(due, |next| next.min(due)));
            } else if running.tasks.give_up() {
                (running.beat, is_new) = (beat, true);
            } else {
                // It waits for a person, or is dead already: both are over with the next commit, which asks to be looked at again.
            }
        }
        state.look_at = next;
        if is_new {
            state.beat = beat;
            drop(state);
            self.0.head.send_modify(|head| head.beat = beat);
        }
    }

    /// Waits until everything up to this position is known here, or the daemon ends.
    pub(super) async fn caught_up(&self, position: Position) {
        let mut head = self.0.head.subscribe();
        let waits = head.wait_for(|head| head.position >= position);
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
    pub(super) fn since(&self, cursor: Position, beat: u64) -> TaskUpdates {
        let state = self.0.state.lock();
        let kept = state.ring.iter().filter(|(at, _, _)| *at > cursor).cloned();
        let mut told: Vec<(Position, What, Task)> = kept.collect();
        let moved = state.running.values().filter(|running| running.position > cursor);
        told.extend(
            moved.filter_map(|running| Some((running.position, What::Progress, running.tasks.task()?.clone()))),
        );
        told.sort_by_key(|(at, _, _)| *at);
        let beats = state.running.values().filter(|running| running.beat > beat && running.position <= cursor);
        let beats = beats.filter_map(|running| running.tasks.task().cloned()).collect();
        let complete = cursor >= state.floor && cursor <= state.position;
        TaskUpdates { position: state.position, complete, told, beats, beat: state.beat }
    }

    /// To wait for more.
    pub(super) fn watch(&self) -> watch::Receiver<Head> {
        self.0.head.subscribe()
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

/// Who gave the work away that begins with this commit, if somebody did: it stands in what the session was made with.
async fn parent_of(log: &Log, commit: &Commit, records: &[Record]) -> Result<Option<SessionId>, log::Error> {
    let is_given = |record: &Record| {
        record.kind() == "turn_started"
            && record.decode().is_ok_and(|envelope| {
                matches!(&envelope.event, Event::TurnStarted(started) if started.origin == Origin::Delegation)
            })
    };
    if !records.iter().any(is_given) {
        return Ok(None);
    }
    Ok(log.session(&commit.session).await?.as_ref().and_then(parent_in))
}

/// The session that a session was made for.
pub(super) fn parent_in(row: &SessionRow) -> Option<SessionId> {
    SessionId::parse(row.params.get("parent_session_id")?.as_str()?).ok()
}

/// When something was last heard of a session.
pub(super) fn last_activity(row: &SessionRow) -> Timestamp {
    row.updated_at
}
