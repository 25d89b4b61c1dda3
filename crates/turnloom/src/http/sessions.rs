//! Sessions: create, list, show, change, stop, resume, fork, roll back, compact, archive.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use serde_with::skip_serializing_none;
use turnloom_core::command::{ClientCommand, Command, Files, Reply};
use turnloom_core::event::AfterStop;
use turnloom_core::id::{self, Seq, SessionId, TurnId};
use turnloom_core::runtime::Capabilities;
use turnloom_core::summary::{self, SessionStatus};
use turnloom_core::time::Timestamp;

use super::App;
use super::events;
use super::extract::{Body, Client, Query, Session};
use super::lists::LiveSessions;
use super::problem::Problem;
use super::usage::SessionBudget;
use crate::log::{Created, SessionPage, SessionQuery, SessionRow};
use crate::process::Containment;
use crate::reader::{self, FeedStream};
use crate::runtime::{AgentInfo, Runtime};
use crate::session::{self, NewSession};

/// Sessions on a page, unless asked for another number.
const PAGE: usize = 50;
const MAX_PAGE: usize = 500;

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Agents {
    agents: Vec<AgentInfo>,
    /// What keeps hold of what agents start.
    containment: Containment,
}

pub(super) async fn agents(State(app): State<App>) -> Result<Json<Agents>, Problem> {
    let asking = app.sessions.runtimes().all().map(|runtime| runtime.info(app.sessions.launch_context()));
    let mut agents = futures_util::future::join_all(asking).await;
    for agent in &mut agents {
        if let Some(runtime) = app.sessions.runtimes().get(&agent.id) {
            let modes = app.sessions.modes_of(runtime);
            if !modes.is_empty() {
                agent.modes = modes;
            }
        }
        agent.commands = Some(app.sessions.slash_commands(&agent.id).await?).filter(|commands| !commands.is_empty());
    }
    Ok(Json(Agents { agents, containment: app.spawner.containment().clone() }))
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
    /// How many of these wait for somebody to let them go on.
    held: usize,
    /// What was asked and could not be answered any more, because the daemon or the agent ended; until the next turn.
    lost_ask: Option<summary::LostAsk>,
    /// What went wrong since the last turn began.
    problem: Option<summary::Problem>,
    /// The session that it works for.
    parent_session_id: Option<SessionId>,
    /// How many asks of sessions that work for it wait for a person, if any.
    delegated_asks: Option<usize>,
    /// What it has spent and what it may, if it has or something limits it.
    budget: Option<SessionBudget>,
    /// How full the agent's context is, if it says so.
    context: Option<summary::ContextUse>,
    capabilities: Capabilities,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl SessionView {
    pub(super) fn of(app: &App, row: SessionRow) -> Self {
        let runtime = app.sessions.runtimes().get(&row.runtime);
        let capabilities = runtime.map(Runtime::capabilities).unwrap_or_default();
        let damage = app.sessions.damage(&row);
        let budget = SessionBudget::of(app, &row);
        let mut summary = row.summary;
        if let Some(message) = damage {
            let fix =
                Some("read what is there, export or copy what you need, then remove it with ?purge=true".to_owned());
            summary.status = SessionStatus::Damaged;
            summary.problem = Some(summary::Problem { code: "session_damaged".to_owned(), message, fix });
        }
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
            held: summary.held,
            lost_ask: summary.lost_ask,
            problem: summary.problem,
            parent_session_id: summary.parent_session_id,
            delegated_asks: Some(summary.delegated_asks.len()).filter(|count| *count > 0),
            budget,
            context: summary.context,
            capabilities,
            created_at: row.created_at,
            updated_at: row.updated_at,
        }
    }

    pub(super) fn page(app: &App, page: SessionPage) -> SessionList {
        let sessions = page.sessions.into_iter().map(|row| Self::of(app, row)).collect();
        SessionList { sessions, next_cursor: page.next }
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
    /// `cwd`, `system_prompt`, `model`, `mode`, `permission_mode`, `env`, `mcp_servers`, `title`, `client_tools`, `budget`, `budget_group`, and what the runtime adds.
    #[serde(default)]
    params: Map<String, Value>,
    /// A conversation that the agent has stored: the session begins with what was said in it.
    adopt: Option<String>,
    /// The session that it works for: it is shown below that one, spends from the same budget, and may not be in a looser mode.
    parent_session_id: Option<String>,
}

pub(super) async fn create(
    State(app): State<App>,
    Client(by): Client,
    Body(create): Body<Create>,
) -> Result<Response, Problem> {
    let id = parse_new_id(create.session_id.as_deref())?;
    let parent = create.parent_session_id.as_deref().map(SessionId::parse).transpose();
    let parent = parent.map_err(|error| Problem::invalid(format!("`parent_session_id`: {error}")))?;
    let new = NewSession { id, runtime: create.runtime, params: create.params };
    let (row, created) = match (&create.adopt, &parent) {
        (Some(_), Some(_)) => {
            return Err(Problem::invalid("`adopt` and `parent_session_id` do not go together"));
        }
        (Some(conversation), None) => app.sessions.adopt(new, conversation).await?,
        (None, Some(parent)) => app.sessions.create_for(parent, new, by).await?,
        (None, None) => app.sessions.create(new).await?,
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
    /// Only sessions of this runtime.
    runtime: Option<String>,
    /// Part of a title or an id; not for a stream.
    q: Option<String>,
    /// Sessions in a page.
    limit: Option<usize>,
    /// The `next_cursor` of the page before; not for a stream.
    cursor: Option<String>,
    /// For a stream: the last position the client has; also `Last-Event-ID`.
    after: Option<u64>,
}

#[skip_serializing_none]
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct SessionList {
    sessions: Vec<SessionView>,
    next_cursor: Option<String>,
}

/// Which sessions a list that is followed has.
#[derive(Debug, Clone)]
pub(super) struct Listed {
    archived: bool,
    runtime: Option<String>,
    limit: usize,
}

impl Listed {
    pub(super) fn query(&self) -> SessionQuery {
        let Self { archived, runtime, limit } = self.clone();
        SessionQuery { archived, runtime, limit, q: None, cursor: None }
    }

    pub(super) fn includes(&self, row: &SessionRow) -> bool {
        row.summary.archived == self.archived && self.runtime.as_ref().is_none_or(|runtime| *runtime == row.runtime)
    }
}

/// A page of sessions, or, if the client accepts a stream, the first page and then its changes.
pub(super) async fn list(
    State(app): State<App>,
    Query(query): Query<ListQuery>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    if events::is_stream_wanted(&headers) {
        let after = events::cursor(query.after, &headers)?.map(|position| position.0);
        return Ok(reader::sse(follow(&app, ListQuery { after, ..query })?, reader::GREETING, ""));
    }
    if query.after.is_some() {
        return Err(Problem::invalid("`after` is for a stream; ask with `Accept: text/event-stream`"));
    }
    let ListQuery { archived, runtime, q, limit, cursor, after: _ } = query;
    let limit = page_size(limit, PAGE, MAX_PAGE)?;
    let page = app.sessions.log().sessions(SessionQuery { archived, runtime, q, limit, cursor }).await?;
    Ok(Json(SessionView::page(&app, page)).into_response())
}

/// The list as it is now, and then what changes in it.
pub(super) fn follow(app: &App, query: ListQuery) -> Result<FeedStream<LiveSessions>, Problem> {
    let ListQuery { archived, runtime, q, limit, cursor, after } = query;
    if q.is_some() || cursor.is_some() {
        return Err(Problem::invalid("a list that is followed takes neither `q` nor `cursor`; ask for older pages"));
    }
    LiveSessions::follow(app, Listed { archived, runtime, limit: page_size(limit, PAGE, MAX_PAGE)? }, after)
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
    /// Parameters that may change after creation: `client_tools`, `budget`, `budget_group`, and those of the runtime.
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
    app.sessions.execute(&id, ClientCommand { by, command: Command::Update(update) }).await?;
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
        app.reader.forget(&id);
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    app.sessions.execute(&id, ClientCommand { by, command: Command::Archive }).await?;
    Ok(view(&app, &id).await?.into_response())
}

pub(super) async fn unarchive(
    State(app): State<App>,
    Session(id): Session,
    Client(by): Client,
) -> Result<Json<SessionView>, Problem> {
    app.sessions.execute(&id, ClientCommand { by, command: Command::Unarchive }).await?;
    view(&app, &id).await
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Stop {
    /// Stop only this turn, and nothing if it has ended.
    turn_id: Option<TurnId>,
    /// Whether the messages that wait go on by themselves, or wait until somebody lets them.
    #[serde(default)]
    then: AfterStop,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Stopped {
    stopped: bool,
    /// How many things still run in the background, if any: a stop ends the turn and leaves them.
    #[serde(skip_serializing_if = "Option::is_none")]
    background: Option<usize>,
}

pub(super) async fn stop(
    State(app): State<App>,
    Session(id): Session,
    Client(by): Client,
    Body(Stop { turn_id, then }): Body<Stop>,
) -> Result<Json<Stopped>, Problem> {
    let reply = app.sessions.execute(&id, ClientCommand { by, command: Command::Stop { turn_id, then } }).await?;
    let (stopped, background) =
        if let Reply::Stopped { stopped, background } = reply { (stopped, background) } else { (false, 0) };
    Ok(Json(Stopped { stopped, background: Some(background).filter(|count| *count > 0) }))
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
    app.sessions.execute(&id, ClientCommand { by, command: Command::Resume { provider_session_id } }).await?;
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
    app.sessions.execute(&id, ClientCommand { by, command: Command::Rollback { turns, files } }).await?;
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
    app.sessions.execute(&id, ClientCommand { by, command: Command::Compact }).await?;
    Ok((StatusCode::ACCEPTED, Json(Accepted { accepted: true })).into_response())
}
