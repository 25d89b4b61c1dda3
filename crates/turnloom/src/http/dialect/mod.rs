//! Other people's protocols on the wire: a response that follows a session's log through a dialect. What each of them makes of a fact is in
//! `turnloom_core::dialect`; here are the routes, one file for each protocol, and what their responses have in common.

pub(super) mod ag_ui;
pub(super) mod agent_ui;
pub(super) mod ai_sdk;
pub(super) mod history;
pub(super) mod snapshot;
#[cfg(feature = "socketio")]
pub(super) mod socketio;
pub(super) mod tasks;
pub(super) mod text;
pub(super) mod universal;

use std::collections::HashSet;

use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use turnloom_core::client_tools::{self, ClientTool};
use turnloom_core::command::{
    AfterAnswer, Answer, ClientCommand, Command, Message, Receipt, Refusal, Reply, Update, When,
};
use turnloom_core::dialect::{Dialect, own_id};
use turnloom_core::event::{AfterStop, Origin, Part, PermissionReply};
use turnloom_core::id::{AskId, MessageId, Seq, SessionId, TurnId};
use turnloom_core::summary::{AskKind, PendingAsk};

use super::App;
use super::problem::Problem;
use crate::log::{self, SessionRow};
use crate::reader::{DialectStream, Ids, OnDisconnect, Place};
use crate::session::{self, NewSession};

/// The runtime of a session that a client makes by naming it, unless the request says another.
const DEFAULT_RUNTIME: &str = "mock";

/// A session's log in a dialect, for one reader. What came before is a fold that all readers share: the furthest of those up to `upto` that fits.
async fn follow<D: Dialect>(
    app: &App,
    row: &SessionRow,
    reader: D::Reader,
    ids: Ids,
    upto: Seq,
    fits: impl Fn(&Place<D>) -> bool,
) -> Result<DialectStream<D>, Problem> {
    let following = app.reader.admit()?;
    let Place { seq, mut fold, .. } = app.reader.folds().place(row, upto, fits).await?;
    fold.start_reader(reader);
    Ok(DialectStream::new(app.reader.source(&row.id, seq, following), fold, row.head, ids))
}

/// The same for a reader who has everything up to a position, or wants nothing of it.
async fn follow_after<D: Dialect>(
    app: &App,
    row: &SessionRow,
    reader: D::Reader,
    ids: Ids,
    after: Seq,
) -> Result<DialectStream<D>, Problem> {
    follow(app, row, reader, ids, after, |place| place.seq <= after).await
}

/// The same for a reader who wants a turn from its beginning.
async fn follow_turn<D: Dialect>(
    app: &App,
    row: &SessionRow,
    reader: D::Reader,
    turn: &TurnId,
) -> Result<DialectStream<D>, Problem> {
    follow(app, row, reader, Ids::None, row.head, |place| place.before.as_ref() == Some(turn)).await
}

/// What becomes of the turn when the client closes the connection: nothing, unless it asked for it to be stopped.
fn stop_on_disconnect(app: &App, row: &SessionRow, cancels: bool, by: &str) -> Option<OnDisconnect> {
    let (app, session, by) = (app.clone(), row.id.clone(), by.to_owned());
    cancels.then(|| -> OnDisconnect {
        Box::new(move |turn| {
            let command = Command::Stop { turn_id: Some(turn), then: AfterStop::Continue };
            app.sessions.execute_unattended(session, ClientCommand { by, command });
        })
    })
}

/// A response with the headers of its protocol.
fn with_headers(mut response: Response, headers: &[(&'static str, &'static str)]) -> Response {
    for (name, value) in headers {
        response.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    response
}

// ---- what the routes share ----

/// What happens to a message that comes while a turn is running.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Busy {
    #[default]
    Queue,
    Reject,
}

/// A body that must be JSON.
fn json_body(body: Result<Bytes, axum::extract::rejection::BytesRejection>) -> Result<Value, Problem> {
    let bytes = body.map_err(|rejection| Problem::new(rejection.status(), "body", rejection.body_text()))?;
    serde_json::from_slice(&bytes).map_err(|error| Problem::invalid(format!("the body is not JSON: {error}")))
}

/// A problem as a text, for clients that show whatever the body is.
fn as_text(problem: &Problem) -> Response {
    let text = [(header::CONTENT_TYPE, "text/plain; charset=utf-8")];
    (problem.status(), text, problem.detail().to_owned()).into_response()
}

/// What is refused before any route is reached, in the way that the clients of this path understand.
pub(super) fn refuse(path: &str, problem: Problem) -> Response {
    let speaks = |prefix: &str| path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    if speaks("/ai-sdk") || speaks("/universal") { as_text(&problem) } else { problem.into_response() }
}

/// The session that a client calls this.
fn session_named(name: &str) -> SessionId {
    SessionId::trusted(own_id(name))
}

async fn find(app: &App, id: &SessionId) -> Result<Option<SessionRow>, Problem> {
    match app.sessions.row(id).await {
        Ok(row) => Ok(Some(row)),
        Err(session::Error::Log(log::Error::NotFound(_))) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The session, made if it is not there.
async fn find_or_create(app: &App, id: &SessionId, new: New) -> Result<SessionRow, Problem> {
    if let Some(row) = find(app, id).await? {
        return Ok(row);
    }
    let runtime = new.runtime.unwrap_or_else(|| DEFAULT_RUNTIME.to_owned());
    let made = app.sessions.create(NewSession { id: Some(id.clone()), runtime, params: new.params }).await;
    match made {
        Ok((row, _)) => Ok(row),
        // Somebody else was quicker.
        Err(session::Error::Conflict(_)) => Ok(app.sessions.row(id).await?),
        Err(error) => Err(error.into()),
    }
}

/// How a session is made that a client names for the first time.
struct New {
    runtime: Option<String>,
    params: serde_json::Map<String, Value>,
}

fn pending(row: &SessionRow) -> HashSet<AskId> {
    row.summary.asks.iter().map(|ask| ask.ask_id.clone()).collect()
}

/// Tells the session which tools the client of this request runs. An offer: a runtime that cannot call them is not bothered with it.
async fn offer(app: &App, row: &SessionRow, tools: Option<&[ClientTool]>, by: &str) -> Result<(), Problem> {
    let capabilities = app.sessions.runtimes().get(&row.runtime).map(crate::runtime::Runtime::capabilities);
    // Most bring none, and are spared the way to the session.
    let is_news = |tools: &&[ClientTool]| !tools.is_empty() || row.summary.has_run_tools;
    let Some(tools) = tools.filter(is_news).filter(|_| capabilities.unwrap_or_default().client_tools) else {
        return Ok(());
    };
    let settings = serde_json::Map::from_iter([(client_tools::RUN_TOOLS.to_owned(), json!(tools))]);
    let update = Update { settings, ..Update::default() };
    app.sessions.execute(&row.id, ClientCommand { by: by.to_owned(), command: Command::Update(update) }).await?;
    Ok(())
}

/// Sends a message. Also says whether it is new.
async fn send(
    app: &App,
    row: &SessionRow,
    message: (Option<MessageId>, Vec<Part>),
    when: When,
    by: &str,
) -> Result<(Receipt, bool), Problem> {
    let (message_id, content) = message;
    let capabilities = app.sessions.runtimes().get(&row.runtime).map(crate::runtime::Runtime::capabilities);
    let has_image = content.iter().any(|part| matches!(part, Part::Image { .. }));
    if has_image && !capabilities.unwrap_or_default().images {
        return Err(Refusal::Unsupported { what: "take images" }.into());
    }
    let message = Message { id: message_id, content, origin: Origin::User, source: None };
    let command = ClientCommand { by: by.to_owned(), command: Command::Send { message, when } };
    match app.sessions.execute(&row.id, command).await? {
        Reply::Accepted { receipt, is_new } => Ok((receipt, is_new)),
        Reply::Stopped { .. }
        | Reply::Resolved { .. }
        | Reply::Done
        | Reply::Queue(_)
        | Reply::Queued(_)
        | Reply::State { .. }
        | Reply::Inherited(_)
        | Reply::Noted { .. } => Err(Problem::unexpected("a message")),
    }
}

/// What was said and is accepted.
struct Accepted {
    receipt: Receipt,
    /// The session as it is now.
    row: SessionRow,
    /// Everything that the message led to stands after it.
    before: Seq,
}

/// Sends a person's message. A new message instead of an answer counts as a refusal of what was asked.
async fn say(
    app: &App,
    row: &SessionRow,
    message: (MessageId, Vec<Part>),
    busy: Busy,
    by: &str,
) -> Result<Accepted, Problem> {
    let (id, content) = message;
    let when = if busy == Busy::Reject { When::Reject } else { When::Queue };
    let (receipt, is_new) = send(app, row, (Some(id), content), when, by).await?;
    if busy == Busy::Queue && is_new {
        dismiss(app, row, by).await?;
    }
    // What was sent before led to something long ago.
    let before = if is_new { row.head } else { Seq::ZERO };
    Ok(Accepted { receipt, row: app.sessions.row(&row.id).await?, before })
}

/// Gives answers. One that comes too late is not an error: the stream tells how the ask ended.
async fn answer(app: &App, id: &SessionId, answers: Vec<(AskId, Answer)>, by: &str) -> Result<(), Problem> {
    for (ask_id, answer) in answers {
        let command = ClientCommand { by: by.to_owned(), command: Command::Answer { ask_id, answer } };
        match app.sessions.execute(id, command).await {
            Ok(_) | Err(session::Error::Refused(Refusal::AlreadyResolved { .. } | Refusal::AskNotFound(_))) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Why somebody who said something new did not answer, for the agent to read.
const NEW_MESSAGE_REASON: &str = "the person said something else instead";

/// Answers all that is asked with no.
async fn dismiss(app: &App, row: &SessionRow, by: &str) -> Result<(), Problem> {
    let no = |ask: &PendingAsk| match ask.kind {
        AskKind::Permission => Answer::Permission {
            reply: PermissionReply::Reject,
            updated_input: None,
            message: Some(NEW_MESSAGE_REASON.to_owned()),
            rule: None,
            and_then: AfterAnswer::GoOn,
        },
        AskKind::Question => Answer::Question { answers: None },
        AskKind::Interrupt if ask.client_call().is_some() => Answer::ToolFailed { output: NEW_MESSAGE_REASON.into() },
        AskKind::Interrupt => Answer::Interrupt { value: Value::Null },
    };
    let answers = row.summary.asks.iter().map(|ask| (ask.ask_id.clone(), no(ask))).collect();
    answer(app, &row.id, answers, by).await
}

/// Stops the turn; false if there is none.
async fn stop(app: &App, id: &SessionId, by: &str) -> Result<bool, Problem> {
    if find(app, id).await?.is_none() {
        return Ok(false);
    }
    let command =
        ClientCommand { by: by.to_owned(), command: Command::Stop { turn_id: None, then: AfterStop::Continue } };
    Ok(matches!(app.sessions.execute(id, command).await?, Reply::Stopped { stopped: true, .. }))
}
