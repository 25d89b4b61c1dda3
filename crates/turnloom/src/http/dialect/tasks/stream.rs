//! The stream of tasks. Starts and ends are sent at once; progress is throttled, and only the newest is sent.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;
use turnloom_core::dialect::tasks::{Progress, Status, Task, Throttle};
use turnloom_core::id::TurnId;
use turnloom_core::time::Timestamp;

use super::super::super::App;
use super::super::super::events::cursor;
use super::super::super::extract::Query;
use super::super::super::problem::Problem;
use super::hub::{Head, TaskUpdates, What};
use super::{catch_up, now};
use crate::log::Position;
use crate::reader::{self, FeedProjection, FeedStream, Frame};

/// Each task's progress is told at most this often.
const PROGRESS_MS: i64 = 300;

/// That lists have changed is told at most this often.
const LISTS_PACE: Duration = Duration::from_millis(500);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "TaskEventsQuery")]
pub(in crate::http) struct EventsQuery {
    /// The last position the client has; also `Last-Event-ID`.
    after: Option<u64>,
    /// Also say when a list of sessions or of asks has changed, as `sessions:changed`: for clients that cannot follow those lists as well.
    #[serde(default)]
    lists: bool,
}

pub(super) async fn events(
    State(app): State<App>,
    Query(query): Query<EventsQuery>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let after = cursor(query.after, &headers)?.map(|position| position.0);
    Ok(reader::sse(TaskStream::follow(&app, EventsQuery { after, ..query }).await?, reader::GREETING, ""))
}

pub(in crate::http) struct TaskStream {
    app: App,
    cursor: Position,
    beat: u64,
    /// Where lists were when the reader was last told of them, and when it may be told again; nothing for those who do not want to know.
    lists: Option<(Position, Instant)>,
    greeted: bool,
    /// The client has a position of an earlier stream.
    comes_back: bool,
    throttle: Throttle,
    /// What the throttle counts from; the wall clock may be set.
    begun: Instant,
    /// Tasks whose newest progress was not told yet, and when it may be.
    held: HashMap<TurnId, i64>,
    ready: VecDeque<Frame>,
}

/// What the stream tells.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "type")]
#[schemars(rename = "TaskFrame")]
pub(in crate::http) enum TaskFrame<'a> {
    /// The first; what runs follows, unless the client knows it.
    #[serde(rename = "connected")]
    Connected { timestamp: Timestamp, data: Connected },
    #[serde(rename = "task:started")]
    Started { data: About<'a> },
    #[serde(rename = "task:progress")]
    Progress { data: Progress<'a> },
    #[serde(rename = "task:completed")]
    Completed { data: About<'a> },
    /// A list of sessions or of asks is not what it was.
    #[serde(rename = "sessions:changed")]
    ListsChanged { timestamp: Timestamp },
    #[serde(rename = "heartbeat")]
    Heartbeat { timestamp: Timestamp },
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TasksConnected")]
pub(in crate::http) struct Connected {
    position: u64,
    /// The client missed nothing.
    resumed: bool,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "AboutTask")]
pub(in crate::http) struct About<'a> {
    /// The same as the frame's `type`.
    event_type: &'static str,
    task: &'a Task,
    timestamp: Timestamp,
}

impl<'a> About<'a> {
    fn new(event_type: &'static str, task: &'a Task) -> Self {
        Self { event_type, task, timestamp: task.completed_at.unwrap_or(task.last_activity_at) }
    }
}

impl FeedProjection for TaskStream {
    type Head = Head;

    fn pace(seen: Head, head: Head) -> Option<Duration> {
        (head != seen).then_some(Duration::ZERO)
    }

    async fn update(&mut self, out: &mut VecDeque<Frame>) -> Option<()> {
        let mut updates = self.app.tasks.since(self.cursor, self.beat);
        if !std::mem::replace(&mut self.greeted, true) {
            updates.complete &= self.comes_back;
            self.write_connected(&updates);
        } else if !updates.complete {
            // Too far behind: what runs is told anew, as to somebody who has just come.
            self.write_connected(&updates);
        }
        self.write_updates(updates);
        self.write_held();
        self.write_lists();
        out.append(&mut self.ready);
        Some(())
    }

    fn due(&self) -> Option<Instant> {
        let held = self.held.values().min();
        let held = held.map(|due| self.begun + Duration::from_millis(u64::try_from(*due).unwrap_or(0)));
        let lists = self.lists.filter(|(told, _)| self.notable() > *told).map(|(_, may)| may);
        [held, lists].into_iter().flatten().min()
    }

    fn heartbeat(&self) -> Frame {
        plain(&TaskFrame::Heartbeat { timestamp: now() }, None)
    }
}

impl TaskStream {
    pub(in crate::http) async fn follow(app: &App, query: EventsQuery) -> Result<FeedStream<Self>, Problem> {
        // Followed before anything is read, so that nothing falls between.
        let source = app.reader.feed_fold_source(app.tasks.watch(), app.reader.admit()?);
        catch_up(app).await;
        let stream = Self {
            cursor: Position(query.after.unwrap_or(0)),
            beat: 0,
            lists: query.lists.then(|| (app.sessions.log().feed().head().notable, Instant::now())),
            greeted: false,
            comes_back: query.after.is_some(),
            throttle: Throttle::every(PROGRESS_MS),
            begun: Instant::now(),
            held: HashMap::new(),
            ready: VecDeque::new(),
            app: app.clone(),
        };
        Ok(FeedStream::new(source, stream))
    }

    /// Says where the reader is, and what runs if it does not know.
    fn write_connected(&mut self, updates: &TaskUpdates) {
        let data = Connected { position: updates.position.0, resumed: updates.complete };
        let connected = TaskFrame::Connected { timestamp: now(), data };
        if updates.complete {
            return self.frame(&connected, None);
        }
        let (tasks, position) = self.app.tasks.active();
        self.cursor = position;
        self.held.clear();
        // The last frame of the greeting carries the position: a client that has all of it can resume from here, even if nothing else happens before.
        self.frame(&connected, tasks.is_empty().then_some(position));
        for (at, task) in tasks.iter().enumerate() {
            self.started(task, (at + 1 == tasks.len()).then_some(position));
        }
    }

    fn write_updates(&mut self, updates: TaskUpdates) {
        let (told, at) = (self.cursor, self.elapsed_ms());
        // A greeting may have told of it already.
        let mut new = updates.told.into_iter().filter(|(position, _, _)| *position > told).peekable();
        while let Some((position, what, task)) = new.next() {
            // One commit may concern several tasks: a client that resumes must have all of them.
            let position = new.peek().is_none_or(|(next, _, _)| *next > position).then_some(position);
            match what {
                What::Started => self.started(&task, position),
                What::Completed => {
                    self.held.remove(&task.run_id);
                    self.throttle.forget(&task.run_id);
                    let data = About::new("task:completed", &task);
                    self.frame(&TaskFrame::Completed { data }, position);
                }
                What::Progress => match self.throttle.hold(&task.run_id, at) {
                    None => {
                        self.held.remove(&task.run_id);
                        self.progress(&task, position);
                    }
                    Some(due) => drop(self.held.insert(task.run_id, due)),
                },
            }
        }
        for task in updates.beats {
            self.progress(&task, None);
        }
        self.beat = updates.beat;
        self.cursor = self.cursor.max(updates.position);
    }

    /// The newest commit that was more than somebody talking on.
    fn notable(&self) -> Position {
        self.app.sessions.log().feed().head().notable
    }

    fn write_lists(&mut self) {
        let (notable, at) = (self.notable(), Instant::now());
        if self.lists.is_some_and(|(told, may)| notable > told && at >= may) {
            self.lists = Some((notable, at + LISTS_PACE));
            self.frame(&TaskFrame::ListsChanged { timestamp: now() }, None);
        }
    }

    fn elapsed_ms(&self) -> i64 {
        i64::try_from(self.begun.elapsed().as_millis()).unwrap_or(i64::MAX)
    }

    fn write_held(&mut self) {
        let at = self.elapsed_ms();
        let due: Vec<TurnId> = self.held.iter().filter(|(_, due)| **due <= at).map(|(run, _)| run.clone()).collect();
        for run in due {
            self.held.remove(&run);
            let task = self.app.tasks.find(&run).filter(|task| task.status == Status::Running);
            if let Some(task) = task {
                self.throttle.hold(&run, at);
                // With the last of it the reader has everything up to here.
                self.progress(&task, Some(self.cursor));
            }
        }
    }

    fn started(&mut self, task: &Task, position: Option<Position>) {
        self.frame(&TaskFrame::Started { data: About::new("task:started", task) }, position);
    }

    fn progress(&mut self, task: &Task, position: Option<Position>) {
        self.frame(&TaskFrame::Progress { data: task.progress() }, position);
    }

    /// Frames have no name: the clients of this protocol listen for plain messages.
    fn frame(&mut self, frame: &TaskFrame<'_>, position: Option<Position>) {
        // As long as something is held back, a reader must not come back behind it.
        let position = position.filter(|_| self.held.is_empty());
        self.ready.push_back(plain(frame, position));
    }
}

fn plain(frame: &TaskFrame<'_>, position: Option<Position>) -> Frame {
    // Frames have string keys only, so they always encode.
    let data = serde_json::to_string(frame).unwrap_or_default();
    Frame::Plain { position: position.map(|position| position.0), data }
}
