//! The log on the wire: a page of it, or the whole of it and then whatever comes, from any position.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::{BufMut as _, Bytes, BytesMut};
use futures_util::stream;
use prometheus_client::metrics::gauge::Gauge;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, Interval, MissedTickBehavior};
use turnloom_core::dialect::text::Scope;
use turnloom_core::event::Record;
use turnloom_core::id::Seq;

use super::App;
use super::dialect::text;
use super::extract::{Query, Session};
use super::problem::Problem;
use super::sessions::page_size;
use crate::log::{Follower, ReadRange};

/// How often a stream says that it is alive, and where the head is.
pub(super) const HEARTBEAT: Duration = Duration::from_secs(15);

/// Records that go into one write. A slow reader costs this much memory and no more.
pub(super) const FRAME_RECORDS: usize = 256;

/// Events on a page, unless asked for another number.
const PAGE: usize = 500;
const MAX_PAGE: usize = 10_000;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct EventsQuery {
    /// The last position the client has; also `Last-Event-ID`.
    after: Option<u64>,
    limit: Option<usize>,
    /// Only these types, with commas between them.
    types: Option<String>,
    /// Another form of the log: `native`, or `snapshot` (a stream only).
    dialect: Option<String>,
}

/// What the JSON form answers. It is written by hand, because its events are already JSON.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct EventPage {
    events: Vec<serde_json::Value>,
    head: Seq,
    has_more: bool,
}

pub(super) async fn events(
    State(app): State<App>,
    Session(id): Session,
    Query(query): Query<EventsQuery>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let dialect = query.dialect.as_deref().unwrap_or("native");
    if !matches!(dialect, "native" | "snapshot") {
        return Err(unknown_dialect(dialect));
    }
    let row = app.sessions.row(&id).await?;
    let after = cursor(query.after, &headers)?.unwrap_or_default();
    if after > row.head {
        let detail = format!("the cursor {after} is after the head {}; read again from what you have", row.head);
        return Err(Problem::new(StatusCode::BAD_REQUEST, "bad_cursor", detail));
    }
    if text::is_wanted(&headers) {
        return text::respond(&app, &row, Scope::After(after));
    }
    let types = Types::parse(query.types.as_deref());
    if dialect == "snapshot" {
        return super::dialect::snapshot::stream(&app, &row, after);
    }
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if !accept.contains("text/event-stream") {
        let limit = page_size(query.limit, PAGE, MAX_PAGE)?;
        return page(&app, &id, after, limit, &types).await;
    }
    let permit = admit(&app)?;
    Ok(event_stream(Live::new(&app, app.sessions.log().follow(&id, after), types, permit).frames()))
}

pub(super) fn unknown_dialect(dialect: &str) -> Problem {
    let detail =
        format!("there is no dialect {dialect:?} here; there are native and snapshot, others have routes of their own");
    Problem::new(StatusCode::BAD_REQUEST, "unknown_dialect", detail)
}

/// Room for one more follower, if there is.
pub(super) fn admit(app: &App) -> Result<OwnedSemaphorePermit, Problem> {
    Arc::clone(&app.followers).try_acquire_owned().map_err(|_| {
        Problem::new(
            StatusCode::TOO_MANY_REQUESTS,
            "too_many_followers",
            "too many connections follow events; see max_followers",
        )
    })
}

/// Where a client is. A browser that reconnects by itself repeats the address it began with and adds how far it came, so the later one counts.
pub(super) fn cursor(after: Option<u64>, headers: &HeaderMap) -> Result<Option<Seq>, Problem> {
    let bad = || Problem::new(StatusCode::BAD_REQUEST, "bad_cursor", "Last-Event-ID must be a position in the log");
    let last = headers
        .get("last-event-id")
        .map(|last| last.to_str().ok().and_then(|text| text.trim().parse().ok()).ok_or_else(bad));
    Ok(after.max(last.transpose()?).map(Seq))
}

async fn page(
    app: &App,
    id: &turnloom_core::id::SessionId,
    after: Seq,
    limit: usize,
    types: &Types,
) -> Result<Response, Problem> {
    let mut body = BytesMut::from(&br#"{"events":["#[..]);
    let (mut cursor, mut taken, mut exhausted) = (after, 0, false);
    // With a filter, one read may hold less than a page.
    while taken < limit && !exhausted {
        let records = app.sessions.log().read(id, ReadRange::After { after: cursor, limit }).await?;
        exhausted = records.len() < limit;
        for record in records {
            if taken == limit {
                break;
            }
            cursor = record.seq;
            if types.includes(&record) {
                if taken > 0 {
                    body.put_u8(b',');
                }
                body.extend_from_slice(&record.json);
                taken += 1;
            }
        }
    }
    let head = app.sessions.row(id).await?.head;
    body.extend_from_slice(format!(r#"],"head":{head},"has_more":{}}}"#, cursor < head).as_bytes());
    Ok(([(header::CONTENT_TYPE, "application/json")], body.freeze()).into_response())
}

/// Which types a client wants.
#[derive(Debug, Default)]
pub(super) struct Types(Option<HashSet<String>>);

impl Types {
    pub(super) fn parse(list: Option<&str>) -> Self {
        let names =
            |list: &str| list.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect();
        Self(list.map(names))
    }

    fn includes(&self, record: &Record) -> bool {
        self.0.as_ref().is_none_or(|types| types.contains(record.kind()))
    }
}

/// A response that streams frames.
pub(super) fn event_stream(
    frames: impl stream::Stream<Item = Result<Bytes, std::io::Error>> + Send + 'static,
) -> Response {
    let headers = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-store")];
    (headers, Body::from_stream(frames)).into_response()
}

/// One record as a frame.
pub(super) fn write_frame(frame: &mut BytesMut, record: &Record) {
    frame.extend_from_slice(b"id: ");
    frame.extend_from_slice(record.seq.0.to_string().as_bytes());
    frame.extend_from_slice(b"\nevent: ");
    frame.extend_from_slice(record.kind().as_bytes());
    frame.extend_from_slice(b"\ndata: ");
    frame.extend_from_slice(&record.json);
    frame.extend_from_slice(b"\n\n");
}

/// A connection that follows one session: it pulls from its own cursor and is written to as fast as it reads.
pub(super) struct Live {
    app: App,
    follower: Follower,
    types: Types,
    heartbeat: Interval,
    greeted: bool,
    _following: Following,
}

impl Live {
    pub(super) fn new(app: &App, follower: Follower, types: Types, permit: OwnedSemaphorePermit) -> Self {
        let mut heartbeat = tokio::time::interval_at(Instant::now() + HEARTBEAT, HEARTBEAT);
        heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self { app: app.clone(), follower, types, heartbeat, greeted: false, _following: Following::new(app, permit) }
    }

    pub(super) fn frames(self) -> impl stream::Stream<Item = Result<Bytes, std::io::Error>> {
        stream::unfold(self, |mut live| async move {
            let frame = live.next().await?;
            Some((Ok(frame), live))
        })
    }

    async fn next(&mut self) -> Option<Bytes> {
        if !std::mem::replace(&mut self.greeted, true) {
            return Some(Bytes::from_static(b": connected\n\n"));
        }
        loop {
            tokio::select! {
                biased;
                () = self.app.closing.cancelled() => return None,
                records = self.follower.next(FRAME_RECORDS) => {
                    // A session that was deleted has no more events, and that is the end.
                    let records = records.ok()?;
                    let behind = self.follower.head().0.saturating_sub(self.follower.cursor().0);
                    self.app.metrics.follower_lag.observe(f64::from(u32::try_from(behind).unwrap_or(u32::MAX)));
                    let size = records.iter().map(|record| record.json.len() + 64).sum();
                    let mut frame = BytesMut::with_capacity(size);
                    records.iter().filter(|record| self.types.includes(record)).for_each(|record| write_frame(&mut frame, record));
                    if !frame.is_empty() {
                        return Some(frame.freeze());
                    }
                }
                _ = self.heartbeat.tick() => {
                    return Some(format!("event: heartbeat\ndata: {{\"head\":{}}}\n\n", self.follower.head()).into());
                }
            }
        }
    }
}

/// Counts a follower for as long as it is there.
pub(super) struct Following {
    followers: Gauge,
    _permit: OwnedSemaphorePermit,
}

impl Following {
    pub(super) fn new(app: &App, permit: OwnedSemaphorePermit) -> Self {
        app.metrics.followers.inc();
        Self { followers: app.metrics.followers.clone(), _permit: permit }
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        self.followers.dec();
    }
}
