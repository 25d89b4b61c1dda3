//! The snapshot protocol on the wire: a stream that any connection can send, and the calls that read history and answer asks. The content is made in
//! `turnloom_core::dialect::snapshot`; the gateway for this protocol's own client is in `socketio`.

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use bytes::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use serde_with::skip_serializing_none;
use turnloom_core::blob::BlobId;
use turnloom_core::command::{AfterAnswer, Answer, ClientCommand, Command, Refusal, Reply};
use turnloom_core::dialect::snapshot::{AGENT_ID, History, Snapshot};
use turnloom_core::event::{AfterStop, PermissionReply};
use turnloom_core::id::{AskId, Seq, SessionId};

use super::super::App;
use super::super::extract::Client;
use super::super::problem::Problem;
use super::super::table::{Route, post};
use super::{DEFAULT_RUNTIME, find, follow_after, json_body};
use crate::log::{BlobRange, Created, SessionQuery, SessionRow};
use crate::reader::{self, DialectStream, Ids};
use crate::session::{self, NewSession};

/// Messages in a page of history, unless asked for another number.
const HISTORY: usize = 200;
const MAX_HISTORY: usize = 2_000;

/// How much of pictures a page of history has in itself.
const INLINE_BYTES: usize = 16 << 20;

/// Conversations in a list.
const CONVERSATIONS: usize = 500;

pub(in super::super) fn routes() -> Vec<Route> {
    vec![
        post("/snapshot/rpc", "Call a method of the snapshot protocol: history, conversations, approvals", call)
            .body::<Request>()
            .example(json!({ "requestId": "r-1", "method": "listConversations" }))
            .answers::<CallAnswer>(200, "The result of the call, or its error"),
    ]
}

/// A session's log as snapshots, after a position.
pub(in super::super) async fn follow(
    app: &App,
    row: &SessionRow,
    after: Seq,
    ids: Ids,
) -> Result<DialectStream<Snapshot>, Problem> {
    follow_after(app, row, after, ids, after).await
}

/// The same as server-sent events.
pub(in super::super) async fn stream(app: &App, row: &SessionRow, after: Seq) -> Result<Response, Problem> {
    Ok(reader::sse(follow(app, row, after, Ids::Positions).await?, "", ""))
}

// ---- calls ----

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SnapshotRequest")]
pub(in super::super) struct Request {
    #[serde(default, rename = "requestId")]
    pub(super) id: String,
    pub(super) method: String,
    #[serde(default)]
    pub(super) params: Option<Map<String, Value>>,
}

#[skip_serializing_none]
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SnapshotResponse")]
pub(in super::super) struct CallAnswer {
    request_id: String,
    ok: bool,
    payload: Option<Value>,
    error: Option<CallError>,
}

/// Why a call did not do what it should.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SnapshotError")]
pub(super) struct CallError {
    pub(super) code: &'static str,
    pub(super) message: String,
}

impl CallError {
    pub(super) fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    pub(super) fn params(message: impl Into<String>) -> Self {
        Self::new("INVALID_PARAMS", message)
    }
}

impl From<Problem> for CallError {
    fn from(problem: Problem) -> Self {
        let code = match problem.code() {
            "session_not_found" | "ask_not_found" | "already_resolved" => "NOT_FOUND",
            "invalid_request" | "unknown_runtime" => "INVALID_PARAMS",
            _ => "RPC_ERROR",
        };
        Self::new(code, problem.detail())
    }
}

impl From<session::Error> for CallError {
    fn from(error: session::Error) -> Self {
        Problem::from(error).into()
    }
}

impl From<crate::log::Error> for CallError {
    fn from(error: crate::log::Error) -> Self {
        Problem::from(error).into()
    }
}

impl CallAnswer {
    pub(super) fn of(request_id: String, outcome: Result<Value, CallError>) -> Self {
        match outcome {
            Ok(payload) => Self { request_id, ok: true, payload: Some(payload), error: None },
            Err(error) => Self { request_id, ok: false, payload: None, error: Some(error) },
        }
    }
}

type Posted = Result<Bytes, axum::extract::rejection::BytesRejection>;

/// One call over HTTP. What is not a call is a problem; a call that fails says so in its own way.
async fn call(State(app): State<App>, Client(by): Client, body: Posted) -> Result<Json<CallAnswer>, Problem> {
    let request: Request = serde_json::from_value(json_body(body)?)
        .map_err(|error| Problem::invalid(format!("this is not a call: {error}")))?;
    let outcome = perform(&app, &by, &request.method, &request.params.unwrap_or_default()).await;
    Ok(Json(CallAnswer::of(request.id, outcome)))
}

fn text<'a>(params: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    params.get(name).and_then(Value::as_str)
}

/// The session that a call names.
pub(super) async fn conversation(app: &App, params: &Map<String, Value>) -> Result<SessionRow, CallError> {
    let name = text(params, "conversationId").or_else(|| text(params, "id"));
    let name = name.ok_or_else(|| CallError::params("`conversationId` is missing"))?;
    let unknown = || CallError::new("NOT_FOUND", format!("there is no conversation {name:?}"));
    let id = SessionId::parse(name).map_err(|_| unknown())?;
    find(app, &id).await?.ok_or_else(unknown)
}

/// Does what a call asks for.
pub(super) async fn perform(
    app: &App,
    by: &str,
    method: &str,
    params: &Map<String, Value>,
) -> Result<Value, CallError> {
    let command = |command| ClientCommand { by: by.to_owned(), command };
    match method {
        "getAgentMessages" => history(app, params).await,
        "getHubInfo" => {
            let sessions = conversations(app).await?.len();
            Ok(json!({ "hubId": AGENT_ID, "url": "", "connectionState": "registered", "agentCount": sessions }))
        }
        "listConversations" | "listAgents" => Ok(json!({ "conversations": conversations(app).await? })),
        "createConversation" => {
            let id = text(params, "id").map(SessionId::parse).transpose();
            let id = id.map_err(|error| CallError::params(format!("`id`: {error}")))?;
            let named = text(params, "agentId").filter(|agent| app.sessions.runtimes().get(agent).is_some());
            let runtime = named.unwrap_or(DEFAULT_RUNTIME).to_owned();
            let (row, made) = app.sessions.create(NewSession { id, runtime, params: Map::new() }).await?;
            Ok(json!({ "id": row.id, "created": made == Created::New }))
        }
        "deleteConversation" => {
            let row = conversation(app, params).await?;
            app.sessions.execute(&row.id, command(Command::Archive)).await?;
            Ok(json!({ "ok": true }))
        }
        "interrupt" => {
            let row = conversation(app, params).await?;
            let reply = app
                .sessions
                .execute(&row.id, command(Command::Stop { turn_id: None, then: AfterStop::Continue }))
                .await?;
            Ok(json!({ "ok": matches!(reply, Reply::Stopped { stopped: true, .. }) }))
        }
        "resolveExecApproval" => resolve(app, by, params).await,
        other => Err(CallError::new("METHOD_NOT_FOUND", format!("there is no method {other:?}"))),
    }
}

async fn conversations(app: &App) -> Result<Vec<Value>, CallError> {
    let query = SessionQuery { limit: CONVERSATIONS, ..SessionQuery::default() };
    let page = app.sessions.log().sessions(query).await?;
    let of = |row: &SessionRow| json!({ "id": row.id, "closed": row.summary.archived, "title": row.summary.title });
    Ok(page.sessions.iter().map(of).collect())
}

async fn history(app: &App, params: &Map<String, Value>) -> Result<Value, CallError> {
    let row = conversation(app, params).await?;
    let number = |name: &str| match params.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => {
            let number = value.as_u64().and_then(|number| usize::try_from(number).ok());
            number.map(Some).ok_or_else(|| CallError::params(format!("`{name}` is not a number of messages")))
        }
    };
    let limit = number("limit")?.unwrap_or(HISTORY).clamp(1, MAX_HISTORY);
    let from = number("offset")?;
    let read = |history: &History| {
        let total = history.len();
        // The newest, unless a place is named.
        let offset = from.unwrap_or_else(|| total.saturating_sub(limit)).min(total);
        (total, offset, history.messages(offset, limit), history.seq())
    };
    let (total, offset, mut page, after) = app.reader.folds().ask(&row, read).await?;
    inline(app, &mut page).await?;
    Ok(json!({
        "messages": page, "total": total, "offset": offset, "limit": limit, "conversationId": row.id,
        // Where a stream goes on seamlessly.
        "after": after,
    }))
}

/// Puts a person's pictures into the messages again, the newest first and as far as there is room: these clients read no address.
async fn inline(app: &App, messages: &mut [Value]) -> Result<(), CallError> {
    let mut room = INLINE_BYTES;
    for message in messages.iter_mut().rev() {
        let blocks = message.get_mut("content").and_then(Value::as_array_mut);
        for block in blocks.into_iter().flatten() {
            if let Some(source) = block.get_mut("source") {
                inline_source(app, source, &mut room).await?;
            }
        }
    }
    Ok(())
}

async fn inline_source(app: &App, source: &mut Value, room: &mut usize) -> Result<(), CallError> {
    let id = source.get("url").and_then(Value::as_str).and_then(|url| url.strip_prefix("/api/blobs/"));
    let Some(id) = id.and_then(BlobId::parse) else { return Ok(()) };
    let Some(slice) = app.sessions.log().blob(&id, BlobRange::default()).await? else { return Ok(()) };
    // It is kept as the base64 text that came.
    let (Ok(data), Some(left)) = (std::str::from_utf8(&slice.bytes), room.checked_sub(slice.bytes.len())) else {
        return Ok(());
    };
    *room = left;
    *source = json!({ "type": "base64", "media_type": source.get("media_type"), "data": data });
    Ok(())
}

/// Answers a permission, in whichever session it waits.
async fn resolve(app: &App, by: &str, params: &Map<String, Value>) -> Result<Value, CallError> {
    let id = text(params, "approvalId").ok_or_else(|| CallError::params("`approvalId` is missing"))?;
    let reply = match text(params, "decision") {
        Some("allow-once") => PermissionReply::Once,
        Some("allow-always") => PermissionReply::Always,
        Some("deny") => PermissionReply::Reject,
        _ => return Err(CallError::params("`decision` is allow-once, allow-always or deny")),
    };
    let unknown = || CallError::new("NOT_FOUND", format!("no approval {id:?} waits"));
    let rows = app.sessions.log().waiting().await?;
    let row = rows.iter().find(|row| row.summary.asks.iter().any(|ask| ask.ask_id.as_str() == id));
    let row = row.ok_or_else(unknown)?;
    let answer =
        Answer::Permission { reply, updated_input: None, message: None, rule: None, and_then: AfterAnswer::GoOn };
    let command = Command::Answer { ask_id: AskId::trusted(id), answer };
    match app.sessions.execute(&row.id, ClientCommand { by: by.to_owned(), command }).await {
        Ok(_) => Ok(json!({ "ok": true })),
        Err(session::Error::Refused(Refusal::AlreadyResolved { .. } | Refusal::AskNotFound(_))) => Err(unknown()),
        Err(error) => Err(error.into()),
    }
}
