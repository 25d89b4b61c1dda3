//! Agent UI events: the stream, and the standard's layers of reads, each of which answers one thing. Writes are the native API: an event's `control`
//! names the one that fits.

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use turnloom_core::dialect::agent_ui::{AgentUi, Artifact, Artifacts, Findings, PREVIEW_BYTES, artifact_address};
use turnloom_core::dialect::{Dialect as _, Frames};
use turnloom_core::id::{Seq, SessionId};
use turnloom_core::summary::SessionStatus;
use turnloom_core::view::Window;

use super::super::App;
use super::super::events::cursor;
use super::super::extract::{Query, Session};
use super::super::pieces::{first_of_blob, rest_of_blob};
use super::super::problem::Problem;
use super::super::sessions::page_size;
use super::super::shapes::dialects as shapes;
use super::super::table::{Route, get};
use super::follow_after;
use super::history::Reading;
use crate::log::{BlobRange, SessionQuery, SessionRow};
use crate::reader::{self, Ids};

/// Facts in a page of the timeline, messages in a window, sessions in a list, unless asked for another number.
const TIMELINE: usize = 200;
const WINDOW: usize = 30;
const LIST: usize = 50;
const MAX: usize = 500;

pub(in super::super) fn routes() -> Vec<Route> {
    vec![
        get("/agent-ui/sessions", "List sessions: the standard's listSummary (Agent UI)", list)
            .query::<ListQuery>()
            .answers::<shapes::AgentUiSessions>(200, "One page of sessions"),
        get("/agent-ui/sessions/{id}", "Get a session: sessionSnapshot (Agent UI)", snapshot)
            .answers::<shapes::AgentUiSnapshot>(200, "The session, with what waits for a person"),
        get("/agent-ui/sessions/{id}/events", "Stream a session as Agent UI events", events)
            .query::<FollowQuery>()
            .answers_as(200, "Every event after a position, then new events as they happen", "text/event-stream"),
        get(
            "/agent-ui/sessions/{id}/window",
            "Get the newest messages, or those before a given one: windowDetail (Agent UI)",
            window,
        )
        .query::<WindowQuery>()
        .answers::<shapes::AgentUiWindow>(200, "`messages.snapshot` with its bounds"),
        get("/agent-ui/sessions/{id}/timeline", "Get a page of events: timelinePage (Agent UI)", timeline)
            .query::<TimelineQuery>()
            .answers::<shapes::AgentUiTimeline>(200, "Events, and where the next page begins"),
        get(
            "/agent-ui/sessions/{id}/artifacts/{artifact_id}",
            "Get a preview of an artifact: artifactPreview (Agent UI)",
            artifact,
        )
        .answers::<shapes::AgentUiArtifact>(200, "Its description and its first part"),
        get(
            "/agent-ui/sessions/{id}/artifacts/{artifact_id}/content",
            "Get the content of an artifact: artifactContent (Agent UI)",
            content,
        )
        .answers_bytes(200, "All of it", "application/octet-stream"),
        get("/agent-ui/sessions/{id}/evidence", "List the evidence: evidenceJob (Agent UI)", evidence)
            .answers::<shapes::AgentUiEvidence>(200, "The newest state of each piece"),
        get("/agent-ui/sessions/{id}/diagnostics", "List errors and usage: diagnostics (Agent UI)", diagnostics)
            .answers::<shapes::AgentUiDiagnostics>(200, "Diagnostics and metrics"),
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
    let stream = follow_after::<AgentUi>(&app, &row, after, Ids::Positions, after).await?;
    Ok(reader::sse(stream, "", ""))
}

// ---- reads ----

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "AgentUiListQuery")]
struct ListQuery {
    /// Sessions in a page.
    limit: Option<usize>,
    /// The `nextCursor` of the page before.
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
        SessionStatus::Failed | SessionStatus::Damaged => "failed",
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
    /// How many messages.
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
    let view = app.reader.views().of(&id);
    if let Some(before) = query.before.as_deref()
        && !view.has_message(row.head, before).await?
    {
        return Err(Problem::invalid(format!("there is no message {before:?} in session {id}")));
    }
    let window = Window { messages: limit, before: query.before, content: true };
    // What the view itself has written is JSON.
    let mut shown: Value = serde_json::from_slice(&view.snapshot(row.head, &window).await?).unwrap_or_default();
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
) -> Result<Response, Problem> {
    let limit = page_size(query.limit, TIMELINE, MAX)?;
    let after = query.cursor.unwrap_or(0);
    let upto = Seq(after.saturating_add(u64::try_from(limit).unwrap_or(u64::MAX)));
    let reading = Reading::begin(&app).await;
    let (events, head) = events_between(&app, &id, Seq(after), upto).await?;
    let next = (head > upto).then_some(upto);
    let page = json!({ "sessionId": id, "events": events, "nextCursor": next, "truncated": next.is_some() });
    Ok(reading.answer(&page))
}

async fn evidence(State(app): State<App>, Session(id): Session) -> Result<Response, Problem> {
    let reading = Reading::begin(&app).await;
    let row = app.sessions.row(&id).await?;
    let read = |found: &Findings| (found.evidence(), found.seq());
    let (evidence, seq) = app.reader.folds().ask(&row, read).await?;
    let sequence = seq.max(row.head);
    Ok(reading.answer(&json!({ "sessionId": id, "status": "ready", "sequence": sequence, "evidence": evidence })))
}

async fn diagnostics(State(app): State<App>, Session(id): Session) -> Result<Response, Problem> {
    let reading = Reading::begin(&app).await;
    let row = app.sessions.row(&id).await?;
    let read = |found: &Findings| (found.diagnostics(), found.seq());
    let ((events, truncated), seq) = app.reader.folds().ask(&row, read).await?;
    let sequence = seq.max(row.head);
    Ok(reading.answer(&json!({ "sessionId": id, "sequence": sequence, "events": events, "truncated": truncated })))
}

/// The events in a stretch of the log, and where the log ends.
async fn events_between(app: &App, id: &SessionId, after: Seq, upto: Seq) -> Result<(Vec<Value>, Seq), Problem> {
    let row = app.sessions.row(id).await?;
    let folds = app.reader.folds();
    let mut place = folds.place::<AgentUi>(&row, after, |place| place.seq <= after).await?;
    place.fold.start_reader(after);
    let mut frames = Frames::default();
    folds.fold_on(&row, &mut place, upto, &mut frames, |_| false).await?;
    let events = frames.iter().filter_map(|frame| serde_json::from_slice(frame.body).ok());
    Ok((events.collect(), row.head))
}

// ---- artifacts ----

#[derive(Debug, Deserialize)]
struct ArtifactPath {
    id: String,
    artifact_id: String,
}

async fn find_artifact(app: &App, path: &ArtifactPath) -> Result<(SessionRow, Artifact), Problem> {
    let unknown =
        |what: &str, id: &str| Problem::new(StatusCode::NOT_FOUND, "not_found", format!("there is no {what} {id:?}"));
    let id = SessionId::parse(&path.id).map_err(|_| unknown("session", &path.id))?;
    let row = app.sessions.row(&id).await?;
    let found = app.reader.folds().ask(&row, |known: &Artifacts| known.get(&path.artifact_id).cloned()).await?;
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
    let body = match (found.blob, found.content) {
        (Some(blob), _) => {
            let first = first_of_blob(&app, &blob.id, BlobRange::default()).await?;
            first.map(|first| rest_of_blob(&app, blob.id, &first, first.size))
        }
        (None, Some(content)) if found.media_type.starts_with("image/") => {
            BASE64_STANDARD.decode(content).ok().map(Body::from)
        }
        (None, content) => content.map(Body::from),
    };
    let gone = || Problem::new(StatusCode::NOT_FOUND, "not_found", "this artifact has no content of its own");
    // What an agent made is never run: a browser must not take it for a page.
    let headers = [
        (header::CONTENT_TYPE, "application/octet-stream"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CONTENT_SECURITY_POLICY, "sandbox"),
    ];
    Ok((headers, body.ok_or_else(gone)?).into_response())
}
