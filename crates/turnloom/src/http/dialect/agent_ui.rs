//! Agent UI events: the stream, and the standard's layers of reads, each of which answers one thing. Writes are the native API: an event's `control`
//! names the one that fits.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use turnloom_core::dialect::agent_ui::{AgentUi, PREVIEW_BYTES, artifact_address};
use turnloom_core::dialect::{Dialect as _, Frames};
use turnloom_core::event::Event;
use turnloom_core::id::{Seq, SessionId};
use turnloom_core::summary::SessionStatus;
use turnloom_core::view::Window;

use super::super::App;
use super::super::events::cursor;
use super::super::extract::{Query, Session};
use super::super::problem::Problem;
use super::super::sessions::page_size;
use super::super::table::{Route, get};
use super::{Telling, Wire};
use crate::log::{BlobRange, ReadRange, SessionQuery, SessionRow};

/// How much of a log is read at a time.
const PAGE: usize = 4_096;

/// Facts in a page of the timeline, messages in a window, sessions in a list, unless asked for another number.
const TIMELINE: usize = 200;
const WINDOW: usize = 30;
const LIST: usize = 50;
const MAX: usize = 500;

pub(in super::super) fn routes() -> Vec<Route> {
    const JSON: &str = "application/json";
    vec![
        get("/agent-ui/sessions", "Sessions in brief: the standard's listSummary (Agent UI)", list)
            .query::<ListQuery>()
            .answers_as(200, "A page of them", JSON),
        get("/agent-ui/sessions/{id}", "One session in brief: sessionSnapshot (Agent UI)", snapshot).answers_as(
            200,
            "It, with what waits for a person",
            JSON,
        ),
        get("/agent-ui/sessions/{id}/events", "Follow a session as Agent UI events", events)
            .query::<FollowQuery>()
            .answers_as(200, "Every event after a position, and then whatever comes", "text/event-stream"),
        get(
            "/agent-ui/sessions/{id}/window",
            "The newest messages, or those before one: windowDetail (Agent UI)",
            window,
        )
        .query::<WindowQuery>()
        .answers_as(200, "`messages.snapshot` with its bounds", JSON),
        get("/agent-ui/sessions/{id}/timeline", "A page of events: timelinePage (Agent UI)", timeline)
            .query::<TimelineQuery>()
            .answers_as(200, "Events, and where the next page begins", JSON),
        get(
            "/agent-ui/sessions/{id}/artifacts/{artifact_id}",
            "What an artifact is: artifactPreview (Agent UI)",
            artifact,
        )
        .answers_as(200, "Its facts and its beginning", JSON),
        get(
            "/agent-ui/sessions/{id}/artifacts/{artifact_id}/content",
            "An artifact: artifactContent (Agent UI)",
            content,
        )
        .answers_as(200, "All of it", "application/octet-stream"),
        get("/agent-ui/sessions/{id}/evidence", "What was found: evidenceJob (Agent UI)", evidence).answers_as(
            200,
            "The newest state of each piece",
            JSON,
        ),
        get(
            "/agent-ui/sessions/{id}/diagnostics",
            "What went wrong, and what was used: diagnostics (Agent UI)",
            diagnostics,
        )
        .answers_as(200, "Diagnostics and metrics", JSON),
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "AgentUiFollowQuery")]
struct FollowQuery {
    /// The last `sequence` the client has; also `Last-Event-ID`.
    after: Option<u64>,
}

async fn events(
    State(app): State<App>,
    Session(id): Session,
    Query(query): Query<FollowQuery>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let row = app.sessions.row(&id).await?;
    let after = cursor(query.after, &headers)?.unwrap_or_default();
    if after > row.head {
        let detail = format!("the cursor {after} is after the head {}; read again from what you have", row.head);
        return Err(Problem::new(StatusCode::BAD_REQUEST, "bad_cursor", detail));
    }
    Ok(Telling::of(&app, &row, AgentUi::new(after), Wire::SseWithIds)?.response(&[]))
}

// ---- reads ----

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "AgentUiListQuery")]
struct ListQuery {
    limit: Option<usize>,
    cursor: Option<String>,
}

/// What is known of a session without its log. Words that the standard has none for are left out.
fn brief(row: &SessionRow) -> Value {
    let summary = &row.summary;
    let status = match summary.status {
        SessionStatus::Idle => "idle",
        SessionStatus::Running | SessionStatus::Stopping => "running",
        SessionStatus::Waiting => "needs_input",
        SessionStatus::Archived => "closed",
        SessionStatus::Failed => "failed",
    };
    json!({
        "sessionId": row.id, "threadId": row.id, "title": summary.title, "runtimeStatus": status, "runId": summary.turn,
        "pendingActionCount": summary.asks.len(), "queuedTurnCount": summary.queued, "lastActivityAt": row.updated_at,
        "createdAt": row.created_at, "cursor": row.head, "archived": summary.archived, "runtime": row.runtime,
    })
}

async fn list(State(app): State<App>, Query(query): Query<ListQuery>) -> Result<Json<Value>, Problem> {
    let limit = page_size(query.limit, LIST, MAX)?;
    let query = SessionQuery { limit, cursor: query.cursor, ..SessionQuery::default() };
    let page = app.sessions.log().sessions(query).await?;
    let sessions: Vec<Value> = page.sessions.iter().map(brief).collect();
    Ok(Json(json!({ "sessions": sessions, "nextCursor": page.next, "truncated": page.next.is_some() })))
}

async fn snapshot(State(app): State<App>, Session(id): Session) -> Result<Json<Value>, Problem> {
    let row = app.sessions.row(&id).await?;
    let mut session = brief(&row);
    let action = |ask: &turnloom_core::summary::PendingAsk| {
        json!({
            "actionId": ask.ask_id, "kind": ask.kind, "title": ask.title, "runId": ask.turn_id, "sequence": ask.seq,
            "askedAt": ask.asked_at, "request": ask.request,
        })
    };
    let actions: Vec<Value> = row.summary.asks.iter().map(action).collect();
    if let Some(session) = session.as_object_mut() {
        session.insert("type".to_owned(), json!("session.hydrated"));
        session.insert("pendingActions".to_owned(), json!(actions));
        session.insert("messages".to_owned(), json!("deferred"));
        session.insert("timeline".to_owned(), json!("deferred"));
    }
    Ok(Json(session))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "AgentUiWindowQuery")]
struct WindowQuery {
    limit: Option<usize>,
    /// The id of the oldest message the client has.
    before: Option<String>,
}

async fn window(
    State(app): State<App>,
    Session(id): Session,
    Query(query): Query<WindowQuery>,
) -> Result<Json<Value>, Problem> {
    let row = app.sessions.row(&id).await?;
    let limit = page_size(query.limit, WINDOW, MAX)?;
    let view = app.views.of(&id);
    view.catch_up(row.head).await?;
    if let Some(before) = query.before.as_deref().filter(|before| !view.has_message(before)) {
        return Err(Problem::invalid(format!("there is no message {before:?} in session {id}")));
    }
    let mut shown = view.snapshot(&Window { messages: limit, before: query.before });
    let messages = shown.get_mut("messages").map(Value::take).unwrap_or_default();
    let older = shown.get("before").cloned().unwrap_or_default();
    let count = messages.as_array().map_or(0, Vec::len);
    Ok(Json(json!({
        "type": "messages.snapshot", "sessionId": id, "sequence": shown.get("seq"), "messages": messages, "olderCursor": older,
        "truncated": !older.is_null(), "counts": { "messages": count }, "timeline": "deferred", "artifacts": "deferred",
    })))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "AgentUiTimelineQuery")]
struct TimelineQuery {
    /// Where the page before ended.
    cursor: Option<u64>,
    /// Facts of the log in a page; a fact may give several events.
    limit: Option<usize>,
}

async fn timeline(
    State(app): State<App>,
    Session(id): Session,
    Query(query): Query<TimelineQuery>,
) -> Result<Json<Value>, Problem> {
    let limit = page_size(query.limit, TIMELINE, MAX)?;
    let after = query.cursor.unwrap_or(0);
    let upto = Seq(after.saturating_add(u64::try_from(limit).unwrap_or(u64::MAX)));
    let (events, head) = told(&app, &id, Seq(after), upto, |_| true).await?;
    let next = (head > upto).then_some(upto);
    Ok(Json(json!({ "sessionId": id, "events": events, "nextCursor": next, "truncated": next.is_some() })))
}

async fn evidence(State(app): State<App>, Session(id): Session) -> Result<Json<Value>, Problem> {
    let (events, head) = told(&app, &id, Seq::ZERO, Seq(u64::MAX), |kind| kind == "evidence.changed").await?;
    Ok(Json(json!({ "sessionId": id, "status": "ready", "sequence": head, "evidence": newest(events, "evidenceId") })))
}

async fn diagnostics(State(app): State<App>, Session(id): Session) -> Result<Json<Value>, Problem> {
    let wanted = |kind: &str| matches!(kind, "diagnostic.changed" | "metric.changed" | "context.changed");
    let (mut events, head) = told(&app, &id, Seq::ZERO, Seq(u64::MAX), wanted).await?;
    let all = events.len();
    events.drain(..all.saturating_sub(MAX));
    Ok(Json(json!({ "sessionId": id, "sequence": head, "events": events, "truncated": all > MAX })))
}

/// The events of these classes in a stretch of the log, and where the log ends.
async fn told(
    app: &App,
    id: &SessionId,
    after: Seq,
    upto: Seq,
    wanted: impl Fn(&str) -> bool,
) -> Result<(Vec<Value>, Seq), Problem> {
    let head = app.sessions.row(id).await?.head;
    let mut dialect = AgentUi::new(after);
    let (mut frames, mut events) = (Frames::default(), Vec::new());
    let mut seq = Seq::ZERO;
    while seq < head.min(upto) {
        let page = app.sessions.log().read(id, ReadRange::After { after: seq, limit: PAGE }).await?;
        let Some(last) = page.last() else { break };
        seq = last.seq;
        for record in page.iter().take_while(|record| record.seq <= upto) {
            let Ok(envelope) = record.decode() else { continue };
            dialect.step(&envelope, &mut frames);
        }
        let read = frames.iter().filter_map(|frame| serde_json::from_slice::<Value>(frame.body).ok());
        events.extend(read.filter(|event| event.get("type").and_then(Value::as_str).is_some_and(&wanted)));
        frames.clear();
    }
    Ok((events, head))
}

/// The newest event of each id, in order.
fn newest(events: Vec<Value>, id: &str) -> Vec<Value> {
    let mut kept: Vec<Value> = Vec::new();
    for event in events {
        kept.retain(|known| known.get(id) != event.get(id));
        kept.push(event);
    }
    kept
}

// ---- artifacts ----

#[derive(Debug, Deserialize)]
struct ArtifactPath {
    id: String,
    artifact_id: String,
}

#[derive(Debug, Default)]
struct Artifact {
    title: String,
    media_type: String,
    version: Option<u64>,
    content: Option<String>,
    blob: Option<turnloom_core::blob::BlobRef>,
    seq: Seq,
}

async fn find_artifact(app: &App, path: &ArtifactPath) -> Result<(SessionRow, Artifact), Problem> {
    let unknown =
        |what: &str, id: &str| Problem::new(StatusCode::NOT_FOUND, "not_found", format!("there is no {what} {id:?}"));
    let id = SessionId::parse(&path.id).map_err(|_| unknown("session", &path.id))?;
    let row = app.sessions.row(&id).await?;
    let mut found: Option<Artifact> = None;
    let mut after = Seq::ZERO;
    while after < row.head {
        let page = app.sessions.log().read(&id, ReadRange::After { after, limit: PAGE }).await?;
        let Some(last) = page.last() else { break };
        after = last.seq;
        for record in page.iter().filter(|record| record.kind().starts_with("artifact_")) {
            let Ok(envelope) = record.decode() else { continue };
            match envelope.event {
                Event::ArtifactCreated(created) if created.artifact_id == path.artifact_id => {
                    let (title, media_type) = (created.title, created.media_type);
                    let (content, blob) = (created.content, created.blob);
                    found = Some(Artifact { title, media_type, version: None, content, blob, seq: envelope.seq });
                }
                Event::ArtifactUpdated(updated) if updated.artifact_id == path.artifact_id => {
                    if let Some(known) = &mut found {
                        known.title = updated.title.unwrap_or_else(|| std::mem::take(&mut known.title));
                        if updated.content.is_some() || updated.blob.is_some() {
                            (known.content, known.blob, known.seq) = (updated.content, updated.blob, envelope.seq);
                        }
                    }
                }
                Event::ArtifactVersion(version) if version.artifact_id == path.artifact_id => {
                    if let Some(known) = &mut found {
                        known.version = Some(version.version);
                    }
                }
                Event::ArtifactRemoved(removed) if removed.artifact_id == path.artifact_id => found = None,
                _ => {}
            }
        }
    }
    found.map(|found| (row, found)).ok_or_else(|| unknown("artifact", &path.artifact_id))
}

async fn artifact(State(app): State<App>, Path(path): Path<ArtifactPath>) -> Result<Json<Value>, Problem> {
    let (row, found) = find_artifact(&app, &path).await?;
    let text = found.content.as_deref().filter(|_| !found.media_type.starts_with("image/"));
    let preview: Option<String> = text.map(|text| text.chars().take(PREVIEW_BYTES).collect());
    Ok(Json(json!({
        "sessionId": row.id, "artifactId": path.artifact_id, "title": found.title, "mediaType": found.media_type,
        "version": found.version, "artifactStatus": "ready", "sequence": found.seq, "preview": preview,
        "artifactReadRef": artifact_address(&row.id, &path.artifact_id),
    })))
}

async fn content(State(app): State<App>, Path(path): Path<ArtifactPath>) -> Result<Response, Problem> {
    let (_, found) = find_artifact(&app, &path).await?;
    let bytes = match (&found.blob, found.content) {
        (Some(blob), _) => {
            let stored = app.sessions.log().blob(&blob.id, BlobRange::default()).await?;
            stored.map(|slice| slice.bytes.to_vec())
        }
        (None, Some(content)) if found.media_type.starts_with("image/") => BASE64_STANDARD.decode(content).ok(),
        (None, content) => content.map(String::into_bytes),
    };
    let gone = || Problem::new(StatusCode::NOT_FOUND, "not_found", "this artifact has no content of its own");
    // What an agent made is never run: a browser must not take it for a page.
    let headers = [
        (header::CONTENT_TYPE, "application/octet-stream"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CONTENT_SECURITY_POLICY, "sandbox"),
    ];
    Ok((headers, bytes.ok_or_else(gone)?).into_response())
}
