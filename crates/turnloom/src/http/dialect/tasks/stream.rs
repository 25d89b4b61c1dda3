//! The stream of tasks: starts and ends at once, progress so often and no more, always the newest.

use std::collections::HashMap;
use std::time::Duration;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use bytes::{Bytes, BytesMut};
use futures_util::stream;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::watch;
use turnloom_core::dialect::tasks::{Status, Task, Throttle};
use turnloom_core::id::TurnId;

use super::super::super::App;
use super::super::super::events::{Following, HEARTBEAT, admit, cursor, event_stream};
use super::super::super::extract::Query;
use super::super::super::problem::Problem;
use super::hub::{News, What};
use super::{now, repair};

/// Each task's progress is told at most this often.
const PROGRESS_MS: i64 = 300;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "TaskEventsQuery")]
pub(super) struct EventsQuery {
    /// The last position the client has; also `Last-Event-ID`.
    after: Option<u64>,
}

pub(super) async fn events(
    State(app): State<App>,
    Query(query): Query<EventsQuery>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let after = cursor(query.after, &headers)?.map(|position| position.0);
    let permit = admit(&app)?;
    // Followed before anything is read, so that nothing falls between.
    let moved = app.tasks.follow();
    repair(&app).await?;
    let feed = Feed {
        cursor: after.unwrap_or(0),
        moved,
        greeted: false,
        throttle: Throttle::every(PROGRESS_MS),
        held: HashMap::new(),
        out: BytesMut::new(),
        _following: Following::new(&app, permit),
        app,
    };
    let frames = stream::unfold(feed, |mut feed| async move {
        let bytes = feed.next().await?;
        Some((Ok::<_, std::io::Error>(bytes), feed))
    });
    Ok(event_stream(frames))
}

struct Feed {
    app: App,
    cursor: u64,
    moved: watch::Receiver<u64>,
    greeted: bool,
    throttle: Throttle,
    /// Tasks whose newest progress was not told yet, and when it may be.
    held: HashMap<TurnId, i64>,
    out: BytesMut,
    _following: Following,
}

#[derive(Serialize)]
struct About<'a> {
    #[serde(rename = "eventType")]
    event_type: &'static str,
    task: &'a Task,
    timestamp: turnloom_core::time::Timestamp,
}

impl Feed {
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            self.moved.borrow_and_update();
            let news = self.app.tasks.since(self.cursor);
            if !std::mem::replace(&mut self.greeted, true) {
                self.greet(&news);
            } else if !news.complete {
                // Too far behind: what runs is told anew, as to somebody who has just come.
                self.greet(&news);
            }
            self.tell(news);
            self.tell_held();
            if !self.out.is_empty() {
                return Some(self.out.split().freeze());
            }
            let due = self.held.values().min().map(|due| u64::try_from(due - now().millis()).unwrap_or(0));
            let patience = due.map_or(HEARTBEAT, |due| Duration::from_millis(due).min(HEARTBEAT));
            tokio::select! {
                biased;
                () = self.app.closing.cancelled() => return None,
                moved = self.moved.changed() => moved.ok()?,
                () = tokio::time::sleep(patience) => {
                    if patience == HEARTBEAT {
                        self.plain("heartbeat", None, None);
                        return Some(self.out.split().freeze());
                    }
                }
            }
        }
    }

    /// Says where the reader is, and what runs if it does not know.
    fn greet(&mut self, news: &News) {
        let resumed = news.complete;
        let connected = Some(json!({ "position": news.position, "resumed": resumed }));
        if resumed {
            return self.plain("connected", connected, None);
        }
        let (tasks, position) = self.app.tasks.active();
        self.cursor = position;
        self.held.clear();
        // The last of the greeting has the position: whoever has all of it can come back to here, also if nothing happens before.
        self.plain("connected", connected, tasks.is_empty().then_some(position));
        for (at, task) in tasks.iter().enumerate() {
            self.about("task:started", task, (at + 1 == tasks.len()).then_some(position));
        }
    }

    fn tell(&mut self, news: News) {
        let told = self.cursor;
        // A greeting may have told of it already.
        for (position, what, task) in news.told.into_iter().filter(|(position, _, _)| *position > told) {
            match what {
                What::Started => self.about("task:started", &task, Some(position)),
                What::Completed => {
                    self.held.remove(&task.run_id);
                    self.throttle.forget(&task.run_id);
                    self.about("task:completed", &task, Some(position));
                }
                What::Progress => match self.throttle.hold(&task.run_id, now().millis()) {
                    None => {
                        self.held.remove(&task.run_id);
                        self.progress(&task, Some(position));
                    }
                    Some(due) => drop(self.held.insert(task.run_id, due)),
                },
            }
        }
        self.cursor = self.cursor.max(news.position);
    }

    fn tell_held(&mut self) {
        let at = now().millis();
        let due: Vec<TurnId> = self.held.iter().filter(|(_, due)| **due <= at).map(|(run, _)| run.clone()).collect();
        for run in due {
            self.held.remove(&run);
            let task = self.app.tasks.find(&run).filter(|task| task.status == Status::Running);
            if let Some(task) = task {
                self.throttle.hold(&run, at);
                self.progress(&task, None);
            }
        }
    }

    fn about(&mut self, event_type: &'static str, task: &Task, position: Option<u64>) {
        let timestamp = task.completed_at.unwrap_or(task.last_activity_at);
        let data = About { event_type, task, timestamp };
        self.frame(&json!({ "type": event_type, "data": data }), position);
    }

    fn progress(&mut self, task: &Task, position: Option<u64>) {
        self.frame(&json!({ "type": "task:progress", "data": task.progress() }), position);
    }

    fn plain(&mut self, kind: &str, data: Option<Value>, position: Option<u64>) {
        let mut frame = json!({ "type": kind, "timestamp": now() });
        if let (Some(data), Some(frame)) = (data, frame.as_object_mut()) {
            frame.insert("data".to_owned(), data);
        }
        self.frame(&frame, position);
    }

    /// Frames have no name: the clients of this protocol listen for plain messages.
    fn frame(&mut self, frame: &Value, position: Option<u64>) {
        // As long as something is held back, a reader must not come back behind it.
        if let Some(position) = position.filter(|_| self.held.is_empty()) {
            self.out.extend_from_slice(format!("id: {position}\n").as_bytes());
        }
        self.out.extend_from_slice(b"data: ");
        self.out.extend_from_slice(frame.to_string().as_bytes());
        self.out.extend_from_slice(b"\n\n");
    }
}
