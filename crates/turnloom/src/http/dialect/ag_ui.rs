//! AG-UI: the route that `HttpAgent` posts its runs to, and the four that a `CopilotKit` front end wants of its runtime. A run that cannot begin is
//! answered with a problem document, which these clients show; one that has begun ends with an event that says why.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use turnloom_core::command::{ClientCommand, Command, Refusal};
use turnloom_core::dialect::ag_ui::{AgUi, Reader, RunInput, StateCopy, StateVersions};
use turnloom_core::dialect::{Frames, Projection as _};
use turnloom_core::shared::SharedState;

use super::super::App;
use super::super::extract::{Client, Query};
use super::super::problem::Problem;
use super::history::Reading;
use super::{
    DEFAULT_RUNTIME, New, answer, find, find_or_create, follow, json_body, offer, say, session_named, stop,
    stop_on_disconnect,
};
use crate::log::SessionRow;
use crate::reader::{self, Frame, Ids, Place};
use crate::runtime::Runtime;
use crate::session;

/// The agent that a `CopilotKit` front end asks for when it asks for none.
const DEFAULT_AGENT: &str = "default";

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct RunQuery {
    /// The runtime of a session that is not there yet.
    runtime: Option<String>,
    /// What to do with a message while a turn is running: `queue` it and answer when its turn comes, or `reject` it.
    #[serde(default)]
    busy: super::Busy,
    /// Whether closing the connection stops the turn: these clients know no other way.
    #[serde(default)]
    cancel_on_disconnect: bool,
}

/// What a client posts. It is read by hand, because versions differ in what they add.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "RunAgentInput")]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct RunBody {
    thread_id: String,
    run_id: String,
    /// The client's history; its end says what is wanted.
    #[schemars(default)]
    messages: Vec<Value>,
    /// The client's copy of the shared state: what it changed is taken.
    #[schemars(default)]
    state: Value,
    /// Tools that the client runs, until the next run.
    #[schemars(default)]
    tools: Vec<Value>,
    #[schemars(default)]
    context: Vec<Value>,
    #[schemars(default)]
    forwarded_props: Value,
    /// Answers to interrupts.
    #[schemars(default)]
    resume: Vec<Value>,
    protocol_version: Option<String>,
}

type Posted = Result<Bytes, axum::extract::rejection::BytesRejection>;

#[derive(Debug, Deserialize)]
pub(in super::super) struct SessionPath {
    session: String,
}

pub(in super::super) async fn run(
    State(app): State<App>,
    Path(path): Path<SessionPath>,
    Query(query): Query<RunQuery>,
    Client(by): Client,
    body: Posted,
) -> Result<Response, Problem> {
    let input = RunInput::read(&json_body(body)?).map_err(Problem::invalid)?;
    let new = New { runtime: query.runtime, params: Map::new() };
    begin(&app, &path.session, input, new, (Purpose::Run(query.busy), query.cancel_on_disconnect), &by).await
}

pub(in super::super) async fn messages(
    State(app): State<App>,
    Path(path): Path<SessionPath>,
) -> Result<Response, Problem> {
    let id = session_named(&path.session);
    let Some(row) = find(&app, &id).await? else { return Ok(Json(json!([])).into_response()) };
    let reading = Reading::begin(&app).await;
    let messages = app.reader.folds().ask(&row, AgUi::history).await?;
    Ok(reading.answer(&messages))
}

/// What a request is for.
#[derive(Debug, Clone, Copy)]
enum Purpose {
    /// Send what was said, or answer what was asked.
    Run(super::Busy),
    /// Only be there.
    Connect,
}

/// Does what a run wants, and tells it.
async fn begin(
    app: &App,
    session: &str,
    input: RunInput,
    new: New,
    (purpose, cancels): (Purpose, bool),
    by: &str,
) -> Result<Response, Problem> {
    let id = session_named(session);
    let said = match purpose {
        Purpose::Run(busy) => input.last_user_message().map_err(Problem::invalid)?.map(|message| (message, busy)),
        Purpose::Connect => None,
    };
    let mut row = match find(app, &id).await? {
        Some(row) => row,
        None if said.is_some() => find_or_create(app, &id, new).await?,
        // A client that only connects creates no session.
        None => {
            let runtime = new.runtime.as_deref().unwrap_or(DEFAULT_RUNTIME);
            if app.sessions.runtimes().get(runtime).is_none() {
                let detail = format!("there is no runtime {runtime:?}; `GET /api/agents` lists what there is");
                return Err(Problem::new(StatusCode::BAD_REQUEST, "unknown_runtime", detail));
            }
            let (mut run, mut frames) = (AgUi::new(input, None), Frames::default());
            run.caught_up(&mut frames);
            return Ok(reader::sse(Some(Frame::Projected(frames)), "", ""));
        }
    };
    if let Purpose::Run(_) = purpose {
        // First of all, so that nothing is done of a run that is wrong.
        let answers = input.answers(&row.summary.asks).map_err(Problem::invalid)?;
        offer(app, &row, input.offered.as_deref(), by).await?;
        take_state(app, &row, &input, by).await?;
        answer(app, &id, answers, by).await?;
        row = app.sessions.row(&id).await?;
    }
    let (mut wanted, mut before) = (None, row.head);
    if let Some((message, busy)) = said {
        let accepted = say(app, &row, message, busy, by).await?;
        (wanted, before, row) = (Some(accepted.receipt.message_id), accepted.before, accepted.row);
    }
    let reader = Reader { run: input.clone(), wanted };
    let fits = |place: &Place<AgUi>| place.seq <= before && place.fold.is_past_of(&input);
    let stream = follow(app, &row, reader, Ids::None, before, fits).await?;
    // Frames end with a blank line and nothing else; a marker at the end would be an error in these clients.
    Ok(reader::sse(stream.on_disconnect(stop_on_disconnect(app, &row, cancels, by)), "", ""))
}

/// Makes the client's changes to its copy of the shared state changes of the session's. One that does not fit any more is lost: the run begins with
/// the state as it is.
async fn take_state(app: &App, row: &SessionRow, input: &RunInput, by: &str) -> Result<(), Problem> {
    let (id, nothing) = (&row.id, json!({}));
    // Most have none, and are spared the way to the session.
    let copy = StateCopy::of(input).filter(|copy| row.summary.shares_state || !copy.is(&nothing));
    let Some(copy) = copy else { return Ok(()) };
    let patch = |patch: Value| ClientCommand { by: by.to_owned(), command: Command::PatchState { patch } };
    if app.reader.folds().ask(row, |shared: &SharedState| copy.is(&shared.document())).await? {
        return Ok(());
    }
    let newest = app.sessions.row(id).await?;
    let change = app.reader.folds().ask(&newest, |versions: &StateVersions| copy.change(versions)).await?;
    let Some(change) = change else { return Ok(()) };
    match app.sessions.execute(id, patch(change)).await {
        Ok(_) | Err(session::Error::Refused(Refusal::Patch(_) | Refusal::Archived)) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

// ---- CopilotKit ----

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct Info {
    version: &'static str,
    /// By name: every runtime, and `default`.
    agents: Map<String, Value>,
    audio_file_transcription_enabled: bool,
    mode: &'static str,
}

fn info_of(app: &App) -> Info {
    let describe = |runtime: &dyn Runtime, name: &str| {
        let description = format!("Sessions of the runtime {}", runtime.id());
        (name.to_owned(), json!({ "name": name, "className": "HttpAgent", "description": description }))
    };
    let runtimes = app.sessions.runtimes();
    let mut agents: Map<String, Value> = runtimes.all().map(|runtime| describe(runtime, runtime.id())).collect();
    agents.extend(runtimes.get(DEFAULT_RUNTIME).map(|runtime| describe(runtime, DEFAULT_AGENT)));
    Info { version: env!("CARGO_PKG_VERSION"), agents, audio_file_transcription_enabled: false, mode: "sse" }
}

pub(in super::super) async fn info(State(app): State<App>) -> Json<Info> {
    Json(info_of(&app))
}

#[derive(Debug, Deserialize)]
pub(in super::super) struct AgentPath {
    agent: String,
    #[serde(default)]
    thread: String,
}

pub(in super::super) async fn agent_run(
    State(app): State<App>,
    Path(path): Path<AgentPath>,
    Client(by): Client,
    body: Posted,
) -> Result<Response, Problem> {
    agent(&app, &path.agent, &json_body(body)?, Purpose::Run(super::Busy::Queue), &by).await
}

pub(in super::super) async fn agent_connect(
    State(app): State<App>,
    Path(path): Path<AgentPath>,
    Client(by): Client,
    body: Posted,
) -> Result<Response, Problem> {
    agent(&app, &path.agent, &json_body(body)?, Purpose::Connect, &by).await
}

async fn agent(app: &App, agent: &str, body: &Value, purpose: Purpose, by: &str) -> Result<Response, Problem> {
    let input = RunInput::read(body).map_err(Problem::invalid)?;
    let runtime = if agent == DEFAULT_AGENT { DEFAULT_RUNTIME } else { agent };
    if app.sessions.runtimes().get(runtime).is_none() {
        let detail = format!("there is no agent {agent:?}; `info` lists what there is");
        return Err(Problem::new(StatusCode::NOT_FOUND, "unknown_runtime", detail));
    }
    let new = New { runtime: Some(runtime.to_owned()), params: Map::new() };
    let thread = input.thread_id.clone();
    begin(app, &thread, input, new, (purpose, false), by).await
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "RunStopped")]
pub(in super::super) struct Stopped {
    stopped: bool,
}

pub(in super::super) async fn agent_stop(
    State(app): State<App>,
    Path(path): Path<AgentPath>,
    Client(by): Client,
) -> Result<Json<Stopped>, Problem> {
    Ok(Json(Stopped { stopped: stop(&app, &session_named(&path.thread), &by).await? }))
}

/// One address for all of the above.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[schemars(rename = "CopilotKitCall")]
pub(in super::super) struct Call {
    /// `info`, `agent/run`, `agent/connect` or `agent/stop`.
    method: String,
    #[serde(default)]
    params: CallParams,
    /// A run, for those that take one.
    #[serde(default)]
    body: Value,
}

#[derive(Debug, Default, Deserialize, Serialize, JsonSchema)]
#[schemars(rename = "CopilotKitParams")]
#[serde(rename_all = "camelCase")]
struct CallParams {
    agent_id: Option<String>,
    thread_id: Option<String>,
}

pub(in super::super) async fn single(
    State(app): State<App>,
    Client(by): Client,
    body: Posted,
) -> Result<Response, Problem> {
    let call: Call = serde_json::from_value(json_body(body)?)
        .map_err(|error| Problem::invalid(format!("the body is not right: {error}")))?;
    let name = call.params.agent_id.as_deref().unwrap_or(DEFAULT_AGENT);
    match call.method.as_str() {
        "info" => Ok(Json(info_of(&app)).into_response()),
        "agent/run" => agent(&app, name, &call.body, Purpose::Run(super::Busy::Queue), &by).await,
        "agent/connect" => agent(&app, name, &call.body, Purpose::Connect, &by).await,
        "agent/stop" => {
            let thread = call.params.thread_id.ok_or_else(|| Problem::invalid("`params.threadId` is missing"))?;
            Ok(Json(Stopped { stopped: stop(&app, &session_named(&thread), &by).await? }).into_response())
        }
        other => Err(Problem::invalid(format!("there is no method {other:?}"))),
    }
}
