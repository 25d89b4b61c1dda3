//! The chat fold on the wire: the newest messages, older ones by page, and the changes as they come.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until};
use turnloom_core::id::Seq;
use turnloom_core::view::Window;

use super::App;
use super::events::{FRAME_RECORDS, Following, HEARTBEAT, admit, cursor, event_stream};
use super::extract::{Query, Session};
use super::problem::Problem;
use super::sessions::page_size;
use crate::log::Follower;
use crate::view::{SharedView, Update};

/// Messages in a window, unless asked for another number.
const WINDOW: usize = 30;
const MAX_WINDOW: usize = 500;

/// Changes that come within this time go out together: people do not see faster.
const FRAME: Duration = Duration::from_millis(30);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ViewQuery {
    /// How many messages.
    messages: Option<usize>,
    /// The `before` of a newer window: the messages before that one.
    before: Option<String>,
}

pub(super) async fn view(
    State(app): State<App>,
    Session(id): Session,
    Query(query): Query<ViewQuery>,
) -> Result<Json<Value>, Problem> {
    let head = app.sessions.row(&id).await?.head;
    let window = Window { messages: page_size(query.messages, WINDOW, MAX_WINDOW)?, before: query.before };
    let view = app.views.of(&id);
    view.catch_up(head).await?;
    if let Some(before) = window.before.as_ref().filter(|before| !view.has_message(before)) {
        let detail = format!("there is no message {before:?} in this view; start again without `before`");
        return Err(Problem::new(StatusCode::BAD_REQUEST, "bad_cursor", detail));
    }
    Ok(Json(view.snapshot(&window)))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct StreamQuery {
    /// The position of the view the client holds.
    after: Option<u64>,
    /// How many messages a snapshot has.
    messages: Option<usize>,
}

pub(super) async fn follow(
    State(app): State<App>,
    Session(id): Session,
    Query(query): Query<StreamQuery>,
    headers: axum::http::HeaderMap,
) -> Result<Response, Problem> {
    let head = app.sessions.row(&id).await?.head;
    let cursor = cursor(query.after, &headers)?;
    if cursor.is_some_and(|cursor| cursor > head) {
        let detail = format!("the cursor is after the head {head}; start again without `after`");
        return Err(Problem::new(StatusCode::BAD_REQUEST, "bad_cursor", detail));
    }
    let window = Window { messages: page_size(query.messages, WINDOW, MAX_WINDOW)?, before: None };
    let permit = admit(&app)?;
    let shared = app.views.of(&id);
    shared.catch_up(head).await?;
    let live = LiveView {
        follower: app.sessions.log().follow(&id, head),
        app: app.clone(),
        shared,
        window,
        cursor,
        next_frame: Instant::now(),
        begun: false,
        _following: Following::new(&app, permit),
    };
    Ok(event_stream(live.frames()))
}

/// A connection that follows a view.
struct LiveView {
    app: App,
    shared: Arc<SharedView>,
    /// Only to be woken, and to bring the view forward.
    follower: Follower,
    window: Window,
    cursor: Option<Seq>,
    next_frame: Instant,
    begun: bool,
    _following: Following,
}

impl LiveView {
    fn frames(self) -> impl stream::Stream<Item = Result<Bytes, std::io::Error>> {
        stream::unfold(self, |mut live| async move {
            let frame = live.next().await?;
            Some((Ok(frame), live))
        })
    }

    async fn next(&mut self) -> Option<Bytes> {
        if !std::mem::replace(&mut self.begun, true) {
            return Some(self.update().unwrap_or(Bytes::from_static(b": connected\n\n")));
        }
        loop {
            tokio::select! {
                biased;
                () = self.app.closing.cancelled() => return None,
                records = self.follower.next(FRAME_RECORDS) => {
                    self.shared.take(&records.ok()?);
                    // What is not folded yet lies between the view and us, when nobody else has looked for a while.
                    self.shared.catch_up(self.follower.cursor()).await.ok()?;
                }
                () = tokio::time::sleep(HEARTBEAT) => {
                    return Some(format!("event: heartbeat\ndata: {{\"head\":{}}}\n\n", self.follower.head()).into());
                }
            }
            sleep_until(self.next_frame).await;
            if let Some(frame) = self.update() {
                self.next_frame = Instant::now() + FRAME;
                return Some(frame);
            }
        }
    }

    /// The frame that brings the reader to where the view is.
    fn update(&mut self) -> Option<Bytes> {
        let (seq, name, data) = match self.shared.since(self.cursor, &self.window) {
            Update::Nothing => return None,
            Update::Ops { seq, ops } if ops.is_empty() => {
                self.cursor = Some(seq);
                return None;
            }
            Update::Ops { seq, ops } => (seq, "ops", json!({ "seq": seq, "ops": ops })),
            Update::Snapshot { seq, snapshot } => (seq, "snapshot", snapshot),
        };
        self.cursor = Some(seq);
        Some(format!("id: {seq}\nevent: {name}\ndata: {data}\n\n").into())
    }
}
