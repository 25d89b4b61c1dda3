//! Sessions: create, list, show, change, stop, resume, fork, roll back, compact, archive, queue.

use axum::Json;
use axum::extract::{FromRequestParts, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use serde_with::skip_serializing_none;
use turnloom_core::command::{Command, Files, Refusal, Reply, Wish};
use turnloom_core::event::QueueItem;
use turnloom_core::id::{self, MessageId, Seq, SessionId, TurnId};
use turnloom_core::runtime::Capabilities;
use turnloom_core::summary::{self, SessionStatus};
use turnloom_core::time::Timestamp;

use super::App;
use super::extract::{Body, Client, Query, Session, path};
use super::problem::Problem;
use crate::log::{Created, SessionQuery, SessionRow};
use crate::runtime::{AgentInfo, Runtime};
use crate::session::{self, NewSession};

/// Sessions on a page, unless asked for another number.
const PAGE: usize = 50;
const MAX_PAGE: usize = 500;

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Agents {
    agents: Vec<AgentInfo>,
}

pub(super) async fn agents(State(app): State<App>) -> Json<Agents> {
    let asking = app.sessions.runtimes().all().map(|runtime| runtime.info(app.sessions.workshop()));
    Json(Agents { agents: futures_util::future::join_all(asking).await })
}

/// A session as clients see it.
#[skip_serializing_none]
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct SessionView {
    session_id: SessionId,
    runtime: String,
    status: SessionStatus,
    head: Seq,
    /// The turn that runs.
    turn: Option<TurnId>,
    title: String,
    archived: bool,
    cwd: Option<String>,
    model: Option<String>,
    mode: Option<String>,
    /// What the runtime's own settings were set to, as far as they were.
    #[serde(skip_serializing_if = "Map::is_empty")]
    settings: Map<String, Value>,
    provider_session_id: Option<String>,
    /// How many asks wait for a person.
    asks: usize,
    /// How many messages wait for their turn.
    queued: usize,
    /// What went wrong since the last turn began.
    problem: Option<summary::Problem>,
    capabilities: Capabilities,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl SessionView {
    pub(super) fn of(app: &App, row: SessionRow) -> Self {
        let runtime = app.sessions.runtimes().get(&row.runtime);
        let capabilities = runtime.map(Runtime::capabilities).unwrap_or_default();
        let summary = row.summary;
        let given = runtime.map(Runtime::settings).unwrap_or_default().iter().filter_map(|setting| {
            let value = row.params.get(setting.name)?;
            Some((setting.name.to_owned(), value.clone()))
        });
        let settings = given.chain(summary.settings).collect();
        Self {
            session_id: row.id,
            runtime: row.runtime,
            status: summary.status,
            head: row.head,
            turn: summary.turn,
            title: summary.title,
            archived: summary.archived,
            cwd: summary.cwd,
            model: summary.model,
            mode: summary.mode,
            settings,
            provider_session_id: summary.provider_session_id,
            asks: summary.asks.len(),
            queued: summary.queued,
            problem: summary.problem,
            capabilities,
            created_at: row.created_at,
            updated_at: row.updated_at,
        }
    }
}

async fn view(app: &App, id: &SessionId) -> Result<Json<SessionView>, Problem> {
    Ok(Json(SessionView::of(app, app.sessions.row(id).await?)))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Create {
    /// Chosen by the client, so that a retry is safe; made by the daemon if absent.
    session_id: Option<String>,
    runtime: String,
    /// `cwd`, `system_prompt`, `model`, `mode`, `permission_mode`, `env`, `mcp_servers`, `title`, `client_tools`, and what the runtime adds.
    #[serde(default)]
    params: Map<String, Value>,
    /// A conversation that the agent has stored: the session begins with what was said in it.
    adopt: Option<String>,
}

pub(super) async fn create(State(app): State<App>, Body(create): Body<Create>) -> Result<Response, Problem> {
    let id = parse_new_id(create.session_id.as_deref())?;
    let new = NewSession { id, runtime: create.runtime, params: create.params };
    let (row, created) = match &create.adopt {
        Some(conversation) => app.sessions.adopt(new, conversation).await?,
        None => app.sessions.create(new).await?,
    };
    let status = match created {
        Created::New => StatusCode::CREATED,
        Created::Exists(_) => StatusCode::OK,
    };
    Ok((status, Json(SessionView::of(&app, row))).into_response())
}

fn parse_new_id(text: Option<&str>) -> Result<Option<SessionId>, Problem> {
    let parse =
        |text| SessionId::parse(text).map_err(|error: id::Error| Problem::invalid(format!("`session_id`: {error}")));
    text.map(parse).transpose()
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ListQuery {
    /// Only archived sessions, instead of only the others.
    #[serde(default)]
    archived: bool,
    runtime: Option<String>,
    /// Part of a title or an id.
    q: Option<String>,
    limit: Option<usize>,
    cursor: Option<String>,
}

#[skip_serializing_none]
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct SessionList {
    sessions: Vec<SessionView>,
    next_cursor: Option<String>,
}

pub(super) async fn list(State(app): State<App>, Query(query): Query<ListQuery>) -> Result<Json<SessionList>, Problem> {
    let ListQuery { archived, runtime, q, limit, cursor } = query;
    let limit = page_size(limit, PAGE, MAX_PAGE)?;
    let page = app.sessions.log().sessions(SessionQuery { archived, runtime, q, limit, cursor }).await?;
    let sessions = page.sessions.into_iter().map(|row| SessionView::of(&app, row)).collect();
    Ok(Json(SessionList { sessions, next_cursor: page.next }))
}

/// A page of a size that is asked for, within bounds that are said.
pub(super) fn page_size(asked: Option<usize>, default: usize, max: usize) -> Result<usize, Problem> {
    match asked.unwrap_or(default) {
        0 => Err(Problem::invalid("`limit` must be at least 1")),
        limit => Ok(limit.min(max)),
    }
}

pub(super) async fn show(State(app): State<App>, Session(id): Session) -> Result<Json<SessionView>, Problem> {
    view(&app, &id).await
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Update {
    title: Option<String>,
    model: Option<String>,
    mode: Option<String>,
    /// Parameters that may change after creation: `client_tools`, and those of the runtime.
    #[serde(default)]
    settings: serde_json::Map<String, serde_json::Value>,
}

pub(super) async fn update(
    State(app): State<App>,
    Session(id): Session,
    Client(by): Client,
    Body(Update { title, model, mode, settings }): Body<Update>,
) -> Result<Json<SessionView>, Problem> {
    app.sessions.check_changes(&id, mode.as_deref(), &settings).await?;
    let update = turnloom_core::command::Update { title, model, mode, settings };
    app.sessions.wish(&id, Command { by, wish: Wish::Update(update) }).await?;
    view(&app, &id).await
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RemoveQuery {
    /// Remove its facts and blobs as well.
    #[serde(default)]
    purge: bool,
}

pub(super) async fn remove(
    State(app): State<App>,
    Session(id): Session,
    Client(by): Client,
    Query(RemoveQuery { purge }): Query<RemoveQuery>,
) -> Result<Response, Problem> {
    if purge {
        app.sessions.purge(&id, by).await?;
        app.views.forget(&id);
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    app.sessions.wish(&id, Command { by, wish: Wish::Archive }).await?;
    Ok(view(&app, &id).await?.into_response())
}

pub(super) async fn unarchive(
    State(app): State<App>,
    Session(id): Session,
    Client(by): Client,
) -> Result<Json<SessionView>, Problem> {
    app.sessions.wish(&id, Command { by, wish: Wish::Unarchive }).await?;
    view(&app, &id).await
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Stop {
    /// Stop only this turn, and nothing if it has ended.
    turn_id: Option<TurnId>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Stopped {
    stopped: bool,
}

pub(super) async fn stop(
    State(app): State<App>,
    Session(id): Session,
    Client(by): Client,
    Body(Stop { turn_id }): Body<Stop>,
) -> Result<Json<Stopped>, Problem> {
    let reply = app.sessions.wish(&id, Command { by, wish: Wish::Stop { turn_id } }).await?;
    Ok(Json(Stopped { stopped: reply == Reply::Stopped { stopped: true } }))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Resume {
    /// Another conversation of the agent than the one it had.
    provider_session_id: Option<String>,
}

pub(super) async fn resume(
    State(app): State<App>,
    Session(id): Session,
    Client(by): Client,
    Body(Resume { provider_session_id }): Body<Resume>,
) -> Result<Json<SessionView>, Problem> {
    app.sessions.wish(&id, Command { by, wish: Wish::Resume { provider_session_id } }).await?;
    view(&app, &id).await
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Fork {
    session_id: Option<String>,
    /// The last turn to keep; the last one that ended, if absent.
    at_turn: Option<TurnId>,
}

pub(super) async fn fork(
    State(app): State<App>,
    Session(id): Session,
    Body(Fork { session_id, at_turn }): Body<Fork>,
) -> Result<Response, Problem> {
    let fork = session::Fork { id: parse_new_id(session_id.as_deref())?, at_turn };
    let row = app.sessions.fork(&id, fork).await?;
    Ok((StatusCode::CREATED, Json(SessionView::of(&app, row))).into_response())
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Rollback {
    /// How many turns to take back.
    turns: usize,
    /// Put the files that the agent changed back as well.
    #[serde(default)]
    restore_files: bool,
}

pub(super) async fn rollback(
    State(app): State<App>,
    Session(id): Session,
    Client(by): Client,
    Body(Rollback { turns, restore_files }): Body<Rollback>,
) -> Result<Json<SessionView>, Problem> {
    let files = if restore_files { Files::Restore } else { Files::Keep };
    app.sessions.wish(&id, Command { by, wish: Wish::Rollback { turns, files } }).await?;
    view(&app, &id).await
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Accepted {
    accepted: bool,
}

pub(super) async fn compact(
    State(app): State<App>,
    Session(id): Session,
    Client(by): Client,
) -> Result<Response, Problem> {
    app.sessions.wish(&id, Command { by, wish: Wish::Compact }).await?;
    Ok((StatusCode::ACCEPTED, Json(Accepted { accepted: true })).into_response())
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Queue {
    queue: Vec<QueueItem>,
}

/// The queue comes from the session itself: an order that changes nothing.
pub(super) async fn queue(
    State(app): State<App>,
    Session(id): Session,
    Client(by): Client,
) -> Result<Json<Queue>, Problem> {
    change_queue(&app, &id, by, Wish::Reorder { order: Vec::new() }).await
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Reorder {
    /// Message ids, first to be sent first. Those not named stay behind, in the order they have.
    order: Vec<MessageId>,
}

pub(super) async fn reorder(
    State(app): State<App>,
    Session(id): Session,
    Client(by): Client,
    Body(Reorder { order }): Body<Reorder>,
) -> Result<Json<Queue>, Problem> {
    change_queue(&app, &id, by, Wish::Reorder { order }).await
}

/// The message a path names.
pub(super) struct Message(MessageId);

#[derive(Deserialize)]
struct MessagePath {
    message_id: String,
}

impl<S: Send + Sync> FromRequestParts<S> for Message {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let path: axum::extract::Path<MessagePath> = path(parts, state).await?;
        let unknown = |_| Problem::from(Refusal::NotQueued(MessageId::trusted(path.message_id.clone())));
        MessageId::parse(&path.message_id).map(Message).map_err(unknown)
    }
}

pub(super) async fn unqueue(
    State(app): State<App>,
    Session(id): Session,
    Message(message_id): Message,
    Client(by): Client,
) -> Result<Json<Queue>, Problem> {
    change_queue(&app, &id, by, Wish::Unqueue { message_id }).await
}

async fn change_queue(app: &App, id: &SessionId, by: String, wish: Wish) -> Result<Json<Queue>, Problem> {
    match app.sessions.wish(id, Command { by, wish }).await? {
        Reply::Queue(queue) => Ok(Json(Queue { queue })),
        Reply::Accepted { .. }
        | Reply::Stopped { .. }
        | Reply::Resolved { .. }
        | Reply::Done
        | Reply::State { .. }
        | Reply::Noted { .. } => Ok(Json(Queue { queue: Vec::new() })),
    }
}
