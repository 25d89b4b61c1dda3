//! The log on the wire: a page of events, or a stream of all events from any position, including new ones.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::{BufMut as _, BytesMut};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use turnloom_core::dialect::text::Scope;
use turnloom_core::id::Seq;

use super::App;
use super::dialect::history::{PIECE, Reading};
use super::dialect::text;
use super::extract::{Query, Session};
use super::problem::Problem;
use super::sessions::page_size;
use crate::log::SessionRow;
use crate::reader::{self, Live, Types};

/// Events on a page, unless asked for another number.
const PAGE: usize = 500;
const MAX_PAGE: usize = 10_000;

/// How large a page becomes before it ends: an answer that nobody reads costs this much.
const MAX_PAGE_BYTES: usize = 4 * 1024 * 1024;

/// How many events are looked at for one page, and how many at a time: what somebody who looks for something rare costs in one request.
const MAX_SCANNED: usize = 50_000;
const SCAN: usize = 4_096;
const FIRST: usize = 16;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct EventsQuery {
    /// The last position the client has; also `Last-Event-ID`.
    pub(super) after: Option<u64>,
    /// Events in a page.
    limit: Option<usize>,
    /// Only these types, with commas between them.
    pub(super) types: Option<String>,
    /// Another form of the log: `native`, or `snapshot` (a stream only).
    pub(super) dialect: Option<String>,
}

/// What the JSON form answers. It is written by hand, because its events are already JSON.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct EventPage {
    /// Fewer than asked for where they are large, or where many had to be looked at to find them; perhaps none.
    #[schemars(with = "Vec<super::shapes::Event>")]
    events: Vec<serde_json::Value>,
    /// The position of the newest event of the log.
    head: Seq,
    /// The `after` of the next page.
    next: Seq,
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
    let after = within(cursor(query.after, &headers)?, row.head)?;
    if text::is_wanted(&headers) {
        return text::respond(&app, &row, Scope::After(after), after).await;
    }
    let types = Types::parse(query.types.as_deref());
    if dialect == "snapshot" {
        return super::dialect::snapshot::stream(&app, &row, after).await;
    }
    if !is_stream_wanted(&headers) {
        let limit = page_size(query.limit, PAGE, MAX_PAGE)?;
        return page(&app, &row, after, limit, &types).await;
    }
    let source = app.reader.source(&id, after, app.reader.admit()?);
    Ok(reader::sse(Live::new(source, types), reader::GREETING, ""))
}

/// Where a client goes on, which cannot be after the end.
pub(super) fn within(after: Option<Seq>, head: Seq) -> Result<Seq, Problem> {
    let after = after.unwrap_or_default();
    if after > head {
        let detail = format!("the cursor {after} is after the head {head}; read again from what you have");
        return Err(Problem::new(StatusCode::BAD_REQUEST, "bad_cursor", detail));
    }
    Ok(after)
}

/// Whether a client wants to follow, instead of one answer.
pub(super) fn is_stream_wanted(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    accept.contains("text/event-stream")
}

pub(super) fn unknown_dialect(dialect: &str) -> Problem {
    let detail =
        format!("there is no dialect {dialect:?} here; there are native and snapshot, others have routes of their own");
    Problem::new(StatusCode::BAD_REQUEST, "unknown_dialect", detail)
}

/// Where a client is. A browser that reconnects by itself repeats the address it began with and adds how far it came, so the later one counts.
pub(super) fn cursor(after: Option<u64>, headers: &HeaderMap) -> Result<Option<Seq>, Problem> {
    let bad = || Problem::new(StatusCode::BAD_REQUEST, "bad_cursor", "Last-Event-ID must be a position in the log");
    let last = headers
        .get("last-event-id")
        .map(|last| last.to_str().ok().and_then(|text| text.trim().parse().ok()).ok_or_else(bad));
    Ok(after.max(last.transpose()?).map(Seq))
}

async fn page(app: &App, row: &SessionRow, after: Seq, limit: usize, types: &Types) -> Result<Response, Problem> {
    let mut body = BytesMut::from(&br#"{"events":["#[..]);
    let (mut cursor, mut taken, mut scanned) = (after, 0, 0);
    let is_full = |taken: usize, body: &BytesMut| taken == limit || body.len() >= MAX_PAGE_BYTES;
    let mut reading = None;
    let mut pages = app.sessions.log().pages(&row.id, after, Seq(u64::MAX));
    while !is_full(taken, &body) && scanned < MAX_SCANNED {
        // With a filter, many may have to be looked at to find one.
        let wanted = if types.is_filter() { SCAN } else { limit - taken };
        // The first few tell whether it will be large; such a page waits its turn.
        let wanted = if scanned == 0 { wanted.min(FIRST) } else { wanted };
        if reading.is_none() && body.len() > PIECE {
            reading = Some(Reading::page(app).await);
        }
        let Some(records) = pages.next_of(wanted).await? else {
            // A log that ends before its head has lost something, and nobody is to look for it again and again.
            cursor = cursor.max(row.head);
            break;
        };
        for record in records {
            if is_full(taken, &body) {
                break;
            }
            cursor = record.seq;
            scanned += 1;
            if types.includes(&record) {
                if taken > 0 {
                    body.put_u8(b',');
                }
                body.extend_from_slice(&record.json);
                taken += 1;
            }
        }
    }
    let head = app.sessions.row(&row.id).await?.head;
    body.extend_from_slice(format!(r#"],"head":{head},"next":{cursor},"has_more":{}}}"#, cursor < head).as_bytes());
    if reading.is_none() && body.len() > PIECE {
        reading = Some(Reading::page(app).await);
    }
    let body = body.freeze();
    let body = reading.map_or_else(|| body.clone().into(), |reading| reading.body(body.clone()));
    Ok(([(header::CONTENT_TYPE, "application/json")], body).into_response())
}
