//! Agents and sessions as this protocol names them.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use futures_util::future::join_all;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use serde_with::skip_serializing_none;
use turnloom_core::dialect::universal::About;
use turnloom_core::runtime::Capabilities as Ours;

use super::super::super::App;
use super::problem::Refused;
use super::{id_of, name_of};
use crate::log::{Created, SessionQuery, SessionRow};
use crate::runtime::{AgentInfo, Runtime};
use crate::session::{self, NewSession};

/// Sessions that a list has at most.
const MAX_LISTED: usize = 500;

const PERMISSION_MODES: &[&str] = &["default", "plan", "bypass", "acceptEdits"];

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "UniversalHealth")]
pub(in crate::http) struct Health {
    status: &'static str,
}

pub(in crate::http) async fn health() -> Json<Health> {
    Json(Health { status: "ok" })
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "UniversalAgents")]
pub(in crate::http) struct Agents {
    agents: Vec<Agent>,
}

#[skip_serializing_none]
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "UniversalAgent")]
struct Agent {
    id: String,
    installed: bool,
    credentials_available: bool,
    version: Option<String>,
    capabilities: Capabilities,
}

/// What an agent can show, in this protocol's eighteen words.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "UniversalCapabilities")]
struct Capabilities {
    plan_mode: bool,
    permissions: bool,
    questions: bool,
    tool_calls: bool,
    tool_results: bool,
    text_messages: bool,
    images: bool,
    file_attachments: bool,
    session_lifecycle: bool,
    error_events: bool,
    reasoning: bool,
    status: bool,
    command_execution: bool,
    file_changes: bool,
    mcp_tools: bool,
    streaming_deltas: bool,
    item_started: bool,
    shared_process: bool,
}

impl From<Ours> for Capabilities {
    fn from(ours: Ours) -> Self {
        Self {
            plan_mode: ours.set_mode,
            permissions: ours.permissions,
            questions: ours.questions,
            tool_calls: true,
            tool_results: true,
            text_messages: true,
            images: ours.images,
            file_attachments: ours.files,
            session_lifecycle: true,
            error_events: true,
            reasoning: ours.thinking,
            status: true,
            command_execution: true,
            file_changes: true,
            mcp_tools: true,
            streaming_deltas: true,
            item_started: true,
            shared_process: false,
        }
    }
}

pub(in crate::http) async fn agents(State(app): State<App>) -> Json<Agents> {
    let asking = app.sessions.runtimes().all().map(|runtime| runtime.info(app.sessions.launch_context()));
    let is_shared = |id: &str| id == "codex";
    let of = |info: AgentInfo| Agent {
        installed: info.installed,
        credentials_available: info.installed && info.problem.is_none(),
        version: info.version,
        // One server for all of its sessions.
        capabilities: Capabilities { shared_process: is_shared(&info.id), ..info.capabilities.into() },
        id: info.id,
    };
    Json(Agents { agents: join_all(asking).await.into_iter().map(of).collect() })
}

fn known<'a>(app: &'a App, agent: &str) -> Result<&'a dyn Runtime, Refused> {
    app.sessions.runtimes().get(agent).ok_or_else(|| Refused::agent(agent))
}

/// Programs are installed by people; what is there is there.
pub(in crate::http) async fn install(State(app): State<App>, Path(agent): Path<String>) -> Result<StatusCode, Refused> {
    if known(&app, &agent)?.info(app.sessions.launch_context()).await.installed {
        Ok(StatusCode::NO_CONTENT)
    } else {
        Err(Refused::not_installed(&agent))
    }
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "UniversalModes")]
pub(in crate::http) struct Modes {
    modes: Vec<Mode>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "UniversalMode")]
struct Mode {
    id: &'static str,
    name: &'static str,
    description: &'static str,
}

const BUILD: Mode = Mode { id: "build", name: "Build", description: "The agent's own way of working" };
const PLAN: Mode = Mode { id: "plan", name: "Plan", description: "Plans, and changes nothing" };

fn modes_of(runtime: &dyn Runtime) -> Vec<Mode> {
    if runtime.capabilities().set_mode { vec![BUILD, PLAN] } else { vec![BUILD] }
}

pub(in crate::http) async fn modes(State(app): State<App>, Path(agent): Path<String>) -> Result<Json<Modes>, Refused> {
    Ok(Json(Modes { modes: modes_of(known(&app, &agent)?) }))
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "UniversalModels")]
pub(in crate::http) struct Models {
    models: Vec<Model>,
    default_model: String,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "UniversalModel")]
struct Model {
    id: String,
    name: String,
}

/// Which models there are is the agents' own knowledge; what is always there is the one they choose themselves.
pub(in crate::http) async fn models(
    State(app): State<App>,
    Path(agent): Path<String>,
) -> Result<Json<Models>, Refused> {
    let info = known(&app, &agent)?.info(app.sessions.launch_context()).await;
    let id = default_model(&agent);
    Ok(Json(Models { models: vec![Model { id: id.clone(), name: info.name }], default_model: id }))
}

fn default_model(agent: &str) -> String {
    if agent == "mock" { agent.to_owned() } else { format!("{agent}-default") }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "UniversalCreateSession")]
pub(in crate::http) struct Create {
    agent: String,
    agent_mode: Option<String>,
    permission_mode: Option<String>,
    model: Option<String>,
    directory: Option<String>,
    title: Option<String>,
    mcp: Option<Map<String, Value>>,
}

#[skip_serializing_none]
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "UniversalCreated")]
pub(in crate::http) struct Healthy {
    healthy: bool,
    native_session_id: Option<String>,
}

pub(in crate::http) async fn create(
    State(app): State<App>,
    Path(name): Path<String>,
    Json(create): Json<Create>,
) -> Result<Json<Healthy>, Refused> {
    let runtime = known(&app, &create.agent)?;
    let mut params = Map::new();
    let mut put = |name: &str, value: Option<Value>| drop(value.map(|value| params.insert(name.to_owned(), value)));
    let mode = create.agent_mode.as_deref().unwrap_or(BUILD.id);
    if !modes_of(runtime).iter().any(|known| known.id == mode) {
        return Err(Refused::mode(&create.agent, mode));
    }
    put("mode", (mode != BUILD.id).then(|| json!(mode)));
    let permissions = create.permission_mode.as_deref().unwrap_or("default");
    if !PERMISSION_MODES.contains(&permissions) {
        return Err(Refused::invalid(format_args!("invalid permission mode: {permissions}")));
    }
    let plain = permissions == "default" || (permissions == "acceptEdits" && create.agent == "mock");
    put("permission_mode", (!plain).then(|| json!(permissions)));
    put("model", create.model.map(Value::String));
    put("cwd", create.directory.map(Value::String));
    put("title", create.title.map(Value::String));
    put(
        "mcp_servers",
        create.mcp.map(|servers| servers.into_iter().map(|(name, server)| (name, mcp(server))).collect()),
    );
    let new = NewSession { id: Some(id_of(&name)), runtime: create.agent, params };
    match app.sessions.create(new).await {
        Ok((row, Created::New)) => {
            Ok(Json(Healthy { healthy: true, native_session_id: row.summary.provider_session_id }))
        }
        Ok((_, Created::Exists(_))) | Err(session::Error::Conflict(_)) => Err(Refused::exists(&name)),
        Err(error) => Err(error.into()),
    }
}

/// A server as agents are told of it: a command with arguments and environment, or an address with headers.
fn mcp(server: Value) -> Value {
    let Value::Object(mut server) = server else { return server };
    if let Some(env) = server.remove("environment") {
        server.entry("env").or_insert(env);
    }
    if let Some(Value::Array(mut words)) = server.get("command").cloned() {
        let program = if words.is_empty() { Value::Null } else { words.remove(0) };
        server.insert("command".to_owned(), program);
        let more = server.remove("args").and_then(|args| args.as_array().cloned()).unwrap_or_default();
        server.insert("args".to_owned(), words.into_iter().chain(more).collect());
    }
    let kind = match server.get("type").and_then(Value::as_str) {
        Some("local") => Some("stdio"),
        Some("remote") => server.get("transport").and_then(Value::as_str).map_or(Some("http"), |_| None),
        _ => None,
    };
    if let Some(kind) = kind {
        server.insert("type".to_owned(), json!(kind));
    }
    Value::Object(server)
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "UniversalSessions")]
pub(in crate::http) struct Sessions {
    sessions: Vec<SessionInfo>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "UniversalSession")]
struct SessionInfo {
    session_id: String,
    agent: String,
    agent_mode: String,
    permission_mode: String,
    model: Option<String>,
    variant: Option<String>,
    native_session_id: Option<String>,
    ended: bool,
    /// How many facts its log has; events are more.
    event_count: u64,
    created_at: i64,
    updated_at: i64,
    directory: Option<String>,
    title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mcp: Option<Value>,
}

impl SessionInfo {
    fn of(row: SessionRow) -> Self {
        let about = about(&row);
        let summary = row.summary;
        Self {
            session_id: about.session_id,
            agent: about.agent,
            agent_mode: summary.mode.unwrap_or(about.agent_mode),
            permission_mode: about.permission_mode,
            model: summary.model.or(about.model),
            variant: None,
            native_session_id: summary.provider_session_id,
            ended: summary.archived,
            event_count: row.head.0,
            created_at: row.created_at.millis(),
            updated_at: row.updated_at.millis(),
            directory: summary.cwd,
            title: Some(summary.title).filter(|title| !title.is_empty()),
            mcp: row.params.get("mcp_servers").cloned(),
        }
    }
}

pub(in crate::http) async fn list(State(app): State<App>) -> Result<Json<Sessions>, Refused> {
    let mut sessions = Vec::new();
    for archived in [false, true] {
        let query = SessionQuery { archived, limit: MAX_LISTED, ..SessionQuery::default() };
        sessions.extend(app.sessions.log().sessions(query).await?.sessions.into_iter().map(SessionInfo::of));
    }
    sessions.sort_by_key(|session| std::cmp::Reverse(session.created_at));
    Ok(Json(Sessions { sessions }))
}

/// What the events say of this session. It must not change while the session lives.
pub(super) fn about(row: &SessionRow) -> About {
    let param = |name: &str| row.params.get(name).and_then(Value::as_str).map(str::to_owned);
    About {
        session_id: name_of(&row.id),
        agent: row.runtime.clone(),
        agent_mode: param("mode").unwrap_or_else(|| BUILD.id.to_owned()),
        permission_mode: param("permission_mode").unwrap_or_else(|| "default".to_owned()),
        model: Some(param("model").unwrap_or_else(|| default_model(&row.runtime))),
    }
}
