//! The inbox over all sessions: what is in it, and what people say of it. Asks in it are answered as every ask is.

use std::collections::VecDeque;
use std::time::Duration;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::time::Instant;
use turnloom_core::id::{Seq, SessionId};
use turnloom_core::time::Timestamp;

use super::extract::{Body, Query};
use super::problem::Problem;
use super::table::{Route, get, post};
use super::{App, SSE, events};
use crate::attention::{Error, Listed, Which};
use crate::outgoing;
use crate::reader::{self, FeedProjection, FeedStream, Frame};
use crate::session::now;

/// News that come within this time go out together.
const FRAME: Duration = Duration::from_millis(50);

pub(super) fn routes() -> Vec<Route> {
    vec![
        get(
            "/api/inbox",
            "List what waits for a person, what failed and what finished unread, over all sessions",
            list,
        )
        .named("list_inbox")
        .reads()
        .query::<InboxQuery>()
        .answers::<Listed>(200, "By how long each blocks how much")
        .answers_as(200, "`inbox`, all of it, each time it changes", SSE),
        post("/api/inbox/read", "Mark what a session, or every session, had to tell as read", read_news)
            .named("read_inbox")
            .uses()
            .body::<ReadNews>()
            .example(json!({}))
            .answers::<Marked>(200, "How many were marked"),
        post("/api/inbox/{item}/read", "Mark something as read: devices are not told of it any more", read)
            .named("read_inbox_item")
            .uses()
            .answers_empty(204, "Marked; what only was news leaves the inbox"),
        post("/api/inbox/{item}/unread", "Take a read mark back", unread)
            .named("unread_inbox_item")
            .uses()
            .answers_empty(204, "It is as if nobody had seen it"),
        post("/api/inbox/{item}/snooze", "Take something out of the way for a while", snooze)
            .named("snooze_inbox_item")
            .uses()
            .body::<Snooze>()
            .example(json!({ "minutes": 60 }))
            .answers::<Snoozed>(200, "It comes back then, and devices are told again"),
        post("/api/inbox/{item}/unsnooze", "Bring something back that was snoozed", unsnooze)
            .named("unsnooze_inbox_item")
            .uses()
            .answers_empty(204, "It is in the inbox"),
    ]
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct InboxQuery {
    /// Also what somebody has read.
    all: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadNews {
    /// All sessions, if absent; then only turns that ended are marked.
    session_id: Option<SessionId>,
    /// Only what stands up to here in its log.
    seq: Option<Seq>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "InboxMarked")]
pub(super) struct Marked {
    marked: usize,
}

/// One of both.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "InboxSnooze")]
pub(super) struct Snooze {
    /// From now on.
    minutes: Option<u32>,
    until: Option<Timestamp>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "InboxSnoozed")]
pub(super) struct Snoozed {
    snoozed_until: Timestamp,
}

/// What there is, or, if the client accepts a stream, all of it each time it changes.
pub(super) async fn list(
    State(app): State<App>,
    Query(InboxQuery { all }): Query<InboxQuery>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let which = if all { Which::All } else { Which::Open };
    if events::is_stream_wanted(&headers) {
        return Ok(reader::sse(LiveInbox::follow(&app, which)?, reader::GREETING, ""));
    }
    Ok(Json(app.attention.list(which).await.0).into_response())
}

async fn read_news(State(app): State<App>, Body(news): Body<ReadNews>) -> Result<Json<Marked>, Problem> {
    let ReadNews { session_id, seq } = news;
    if seq.is_some() && session_id.is_none() {
        return Err(Problem::invalid("`seq` is a place in one session; say which"));
    }
    Ok(Json(Marked { marked: app.attention.read_news(session_id, seq).await? }))
}

async fn read(State(app): State<App>, Path(item): Path<String>) -> Result<StatusCode, Problem> {
    app.attention.read(&item).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn unread(State(app): State<App>, Path(item): Path<String>) -> Result<StatusCode, Problem> {
    app.attention.unread(&item).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn snooze(
    State(app): State<App>,
    Path(item): Path<String>,
    Body(snooze): Body<Snooze>,
) -> Result<Json<Snoozed>, Problem> {
    let snoozed_until = match (snooze.minutes, snooze.until) {
        (Some(minutes), None) => now().plus_millis(i64::from(minutes) * 60_000),
        (None, Some(until)) => until,
        _ => return Err(Problem::invalid("say either `minutes` or `until`")),
    };
    app.attention.snooze(&item, snoozed_until).await?;
    Ok(Json(Snoozed { snoozed_until }))
}

async fn unsnooze(State(app): State<App>, Path(item): Path<String>) -> Result<StatusCode, Problem> {
    app.attention.unsnooze(&item).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// A connection that follows the inbox: all of it, each time it has changed.
pub(super) struct LiveInbox {
    app: App,
    which: Which,
    told: Option<String>,
    change: Option<Instant>,
}

impl LiveInbox {
    pub(super) fn follow(app: &App, which: Which) -> Result<FeedStream<Self>, Problem> {
        let source = app.reader.feed_fold_source(app.attention.watch(), app.reader.admit()?);
        Ok(FeedStream::new(source, Self { app: app.clone(), which, told: None, change: None }))
    }

    pub(super) fn open(app: &App, InboxQuery { all }: InboxQuery) -> Result<FeedStream<Self>, Problem> {
        Self::follow(app, if all { Which::All } else { Which::Open })
    }
}

impl FeedProjection for LiveInbox {
    type Head = u64;

    fn pace(seen: u64, head: u64) -> Option<Duration> {
        (head > seen).then_some(FRAME)
    }

    async fn update(&mut self, out: &mut VecDeque<Frame>) -> Option<()> {
        let (listed, change) = self.app.attention.list(self.which).await;
        self.change = change.map(|at| {
            let left = at.millis().saturating_sub(now().millis()).max(1);
            // Somebody may set the clock; within an hour it is looked at again.
            Instant::now() + Duration::from_millis(u64::try_from(left).unwrap_or_default()).min(Duration::from_hours(1))
        });
        let inbox = json!(listed).to_string();
        if self.told.as_ref() != Some(&inbox) {
            self.told = Some(inbox.clone());
            out.push_back(Frame::named("inbox", None, inbox));
        }
        Some(())
    }

    fn due(&self) -> Option<Instant> {
        self.change
    }

    fn heartbeat(&self) -> Frame {
        Frame::Heartbeat { head: self.app.sessions.log().feed().head().position.0 }
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let detail = error.to_string();
        match error {
            Error::ItemNotFound(_) => Self::new(StatusCode::NOT_FOUND, "inbox_item_not_found", detail),
            Error::DeviceNotFound(_) => Self::new(StatusCode::NOT_FOUND, "device_not_found", detail),
            Error::Invalid(_) => Self::invalid(detail),
            Error::TooManyDevices => Self::new(StatusCode::TOO_MANY_REQUESTS, "too_many_devices", detail),
            Error::Target(outgoing::Error::Private(_)) => {
                Self::new(StatusCode::UNPROCESSABLE_ENTITY, "private_target", detail)
            }
            Error::Target(_) => Self::invalid(detail),
            Error::Secrets(error) => error.into(),
            Error::Log(error) => error.into(),
            Error::ShuttingDown => Self::new(StatusCode::SERVICE_UNAVAILABLE, "shutting_down", detail),
        }
    }
}
