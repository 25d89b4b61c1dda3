//! Asks: what waits for a person, and the answers.

use axum::Json;
use axum::extract::{FromRequestParts, State};
use axum::http::HeaderMap;
use axum::http::request::Parts;
use axum::response::{IntoResponse as _, Response};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use turnloom_core::command::{AfterAnswer, Answer, ClientCommand, Command, Refusal, Reply};
use turnloom_core::event::{AfterStop, PermissionReply};
use turnloom_core::id::{AskId, Seq, SessionId, ToolUseId};
use turnloom_core::summary::PendingAsk;

use super::App;
use super::events;
use super::extract::{Body, Client, Session, path};
use super::lists::LiveAsks;
use super::problem::Problem;
use crate::reader;
use crate::session::SettledAlong;

#[derive(Debug, Serialize, JsonSchema)]

pub(super) struct Asks {
    asks: Vec<SessionAsk>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct SessionAsk {
    session_id: SessionId,
    session_title: String,
    #[serde(flatten)]
    ask: PendingAsk,
}

/// What waits for a person, or, if the client accepts a stream, the whole list each time it changes.
pub(super) async fn list(State(app): State<App>, headers: HeaderMap) -> Result<Response, Problem> {
    if events::is_stream_wanted(&headers) {
        return Ok(reader::sse(LiveAsks::follow(&app)?, reader::GREETING, ""));
    }
    Ok(Json(pending(&app).await?).into_response())
}

pub(super) async fn pending(app: &App) -> Result<Asks, Problem> {
    let rows = app.sessions.log().waiting().await?;
    let of_row = |row: crate::log::SessionRow| {
        let (session_id, session_title) = (row.id, row.summary.title);
        row.summary.asks.into_iter().map(move |ask| SessionAsk {
            session_id: session_id.clone(),
            session_title: session_title.clone(),
            ask,
        })
    };
    let mut asks: Vec<SessionAsk> = rows.into_iter().flat_map(of_row).collect();
    asks.sort_by_key(|asked| (asked.ask.asked_at, asked.ask.seq));
    Ok(Asks { asks })
}

/// The ask a path names.
pub(super) struct Ask(AskId);

#[derive(Deserialize)]
struct AskPath {
    #[serde(alias = "interrupt_id")]
    ask_id: String,
}

impl<S: Send + Sync> FromRequestParts<S> for Ask {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let path: axum::extract::Path<AskPath> = path(parts, state).await?;
        let unknown = |_| Problem::from(Refusal::AskNotFound(AskId::trusted(path.ask_id.clone())));
        AskId::parse(&path.ask_id).map(Ask).map_err(unknown)
    }
}

#[derive(Debug, Serialize, JsonSchema)]
#[expect(clippy::struct_field_names, reason = "it is the word on the wire")]
pub(super) struct Resolved {
    resolved: bool,
    /// Where the log says so.
    seq: Seq,
    /// What else was settled by it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    also: Vec<SettledAlong>,
}

/// Which other asks an answer settles.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Also {
    /// Those that wait for the same tool with the same input, in all sessions.
    Equal,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Permission {
    reply: PermissionReply,
    /// Run the tool with this input instead.
    updated_input: Option<serde_json::Value>,
    /// Why, for the agent to read.
    message: Option<String>,
    /// Which of the offered rules `always` stores; the first, if absent.
    rule: Option<String>,
    /// End the turn as well.
    #[serde(default)]
    stop: bool,
    /// With `stop`: whether the messages that wait go on by themselves.
    #[serde(default)]
    then: AfterStop,
    /// Answer other asks in the same way. Each is settled once, and says which one it was answered along with.
    also: Option<Also>,
}

impl Permission {
    pub(super) fn into_answer(self) -> Result<Answer, Problem> {
        let Permission { reply, updated_input, message, rule, stop, then, also } = self;
        if also.is_some() {
            return Err(Problem::invalid("`also` is taken where an answer is posted: .../permissions/{ask_id}"));
        }
        if updated_input.is_some() && reply == PermissionReply::Reject {
            return Err(Problem::invalid("`updated_input` goes with a permission, not with a rejection"));
        }
        let and_then = if stop { AfterAnswer::Stop(then) } else { AfterAnswer::GoOn };
        Ok(Answer::Permission { reply, updated_input, message, rule, and_then })
    }
}

pub(super) async fn permission(
    State(app): State<App>,
    Session(id): Session,
    Ask(ask_id): Ask,
    Client(by): Client,
    Body(mut permission): Body<Permission>,
) -> Result<Json<Resolved>, Problem> {
    let also = permission.also.take();
    if also.is_some() && permission.updated_input.is_some() {
        return Err(Problem::invalid("`updated_input` is for one call, so it does not go with `also`"));
    }
    let given = permission.into_answer()?;
    let id = app.sessions.session_of_ask(&id, &ask_id).await?;
    match also {
        None => answer(&app, &id, ask_id, given, by).await,
        Some(Also::Equal) => {
            let (seq, also) = app.sessions.answer_equal(&id, ask_id, given, by).await?;
            Ok(Json(Resolved { resolved: true, seq, also }))
        }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Answers {
    /// One list per question.
    answers: Vec<Vec<String>>,
}

pub(super) async fn question(
    State(app): State<App>,
    Session(id): Session,
    Ask(ask_id): Ask,
    Client(by): Client,
    Body(Answers { answers }): Body<Answers>,
) -> Result<Json<Resolved>, Problem> {
    answer(&app, &id, ask_id, Answer::Question { answers: Some(answers) }, by).await
}

pub(super) async fn reject_question(
    State(app): State<App>,
    Session(id): Session,
    Ask(ask_id): Ask,
    Client(by): Client,
) -> Result<Json<Resolved>, Problem> {
    answer(&app, &id, ask_id, Answer::Question { answers: None }, by).await
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Value {
    pub(super) value: serde_json::Value,
}

pub(super) async fn interrupt(
    State(app): State<App>,
    Session(id): Session,
    Ask(ask_id): Ask,
    Client(by): Client,
    Body(Value { value }): Body<Value>,
) -> Result<Json<Resolved>, Problem> {
    answer(&app, &id, ask_id, Answer::Interrupt { value }, by).await
}

/// The call a path names.
pub(super) struct Call(ToolUseId);

#[derive(Deserialize)]
struct CallPath {
    tool_use_id: String,
}

impl<S: Send + Sync> FromRequestParts<S> for Call {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        // Agents choose these names, so any text may be one.
        let axum::extract::Path(CallPath { tool_use_id }) = path(parts, state).await?;
        Ok(Call(ToolUseId::trusted(tool_use_id)))
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ToolResult {
    /// What the tool gave: any JSON.
    output: serde_json::Value,
    /// The tool failed, or will not be run; `output` says why.
    #[serde(default)]
    is_error: bool,
}

pub(super) async fn tool_result(
    State(app): State<App>,
    Session(id): Session,
    Call(tool_use_id): Call,
    Client(by): Client,
    Body(ToolResult { output, is_error }): Body<ToolResult>,
) -> Result<Json<Resolved>, Problem> {
    let answer = if is_error { Answer::ToolFailed { output } } else { Answer::Interrupt { value: output } };
    let reply =
        app.sessions.execute(&id, ClientCommand { by, command: Command::ToolResult { tool_use_id, answer } }).await?;
    let Reply::Resolved { seq } = reply else { return Err(Problem::unexpected("a result")) };
    Ok(Json(Resolved { resolved: true, seq, also: Vec::new() }))
}

pub(super) async fn answer(
    app: &App,
    id: &SessionId,
    ask_id: AskId,
    answer: Answer,
    by: String,
) -> Result<Json<Resolved>, Problem> {
    let id = app.sessions.session_of_ask(id, &ask_id).await?;
    let reply = app.sessions.execute(&id, ClientCommand { by, command: Command::Answer { ask_id, answer } }).await?;
    let Reply::Resolved { seq } = reply else { return Err(Problem::unexpected("an answer")) };
    Ok(Json(Resolved { resolved: true, seq, also: Vec::new() }))
}
