//! Universal events: the routes that the protocol's own client calls. What is told is in `turnloom_core::dialect::universal`; here are requests, pages
//! and errors. Agents and sessions are in `sessions`, files in `files`.

pub(in crate::http) mod files;
mod names;
pub(in crate::http) mod problem;
mod routes;
pub(in crate::http) mod sessions;
mod tarball;

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use bytes::{BufMut as _, BytesMut};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use turnloom_core::command::{AfterAnswer, Answer, ClientCommand, Command, Refusal, When};
use turnloom_core::dialect::universal::{Raw, Reader, Universal, Wanted};
use turnloom_core::dialect::{Dialect as _, Frames};
use turnloom_core::event::{Part, PermissionReply};
use turnloom_core::id::Seq;
use turnloom_core::summary::{AskKind, PendingAsk};

use self::names::{id_of, name_of};
use self::problem::Refused;
pub(in crate::http) use self::routes::routes;
use self::sessions::about;
use super::super::App;
use super::super::events::cursor;
use super::{find, follow_after, send};
use crate::log::SessionRow;
use crate::reader::{self, Ids, Place};
use crate::session;

/// How large a page becomes before it ends: an answer that nobody reads costs this much.
const MAX_PAGE_BYTES: usize = 4 * 1024 * 1024;

/// What the log says of who did something.
const BY: &str = "universal";

/// The session of this name.
pub(super) async fn session(app: &App, name: &str) -> Result<SessionRow, Refused> {
    let found = find(app, &id_of(name)).await?;
    found.ok_or_else(|| Refused::no_session(name))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "UniversalEventsQuery")]
pub(in crate::http) struct EventsQuery {
    /// The last sequence number the client has.
    offset: Option<u64>,
    /// Events in a page.
    limit: Option<usize>,
    /// With the agent's own words, where the log has them.
    #[serde(rename = "includeRaw", alias = "include_raw")]
    include_raw: Option<bool>,
}

impl EventsQuery {
    fn raw(&self) -> Raw {
        if self.include_raw == Some(true) { Raw::Included } else { Raw::LeftOut }
    }
}

pub(in crate::http) async fn events(
    State(app): State<App>,
    Path(name): Path<String>,
    Query(query): Query<EventsQuery>,
) -> Result<Response, Refused> {
    let row = session(&app, &name).await?;
    let (offset, limit) = (query.offset.unwrap_or(0), query.limit.unwrap_or(usize::MAX));
    // A client that pages comes back where it was, or near it.
    let upto = if offset == 0 { Seq::ZERO } else { row.head };
    let folds = app.reader.folds();
    let mut place = folds.place::<Universal>(&row, upto, |place| place.fold.sequence() <= offset).await?;
    place.fold.start_reader(Reader { about: about(&row), wanted: Wanted::After(offset), raw: query.raw() });
    let mut frames = Frames::default();
    let is_full = |frames: &mut Frames| frames.len() > limit || frames.size() >= MAX_PAGE_BYTES;
    folds.fold_on(&row, &mut place, row.head, &mut frames, is_full).await?;
    // A fact may give more events than there was room for; then the fold is already behind them.
    let is_cut = frames.len() > limit;
    let has_more = is_cut || place.seq < row.head;
    let mut body = BytesMut::from(&br#"{"events":["#[..]);
    for (at, frame) in frames.iter().take(limit).enumerate() {
        if at > 0 {
            body.put_u8(b',');
        }
        body.extend_from_slice(frame.body);
    }
    body.extend_from_slice(format!(r#"],"hasMore":{has_more}}}"#).as_bytes());
    if !is_cut {
        folds.keep(&row, Place { before: None, ..place });
    }
    Ok(([(header::CONTENT_TYPE, "application/json")], body.freeze()).into_response())
}

pub(in crate::http) async fn follow(
    State(app): State<App>,
    Path(name): Path<String>,
    Query(query): Query<EventsQuery>,
    headers: HeaderMap,
) -> Result<Response, Refused> {
    let row = session(&app, &name).await?;
    let offset = cursor(query.offset, &headers)?.map_or(0, |seq| seq.0);
    let upto = if offset == 0 { Seq::ZERO } else { row.head };
    let reader = Reader { about: about(&row), wanted: Wanted::After(offset), raw: query.raw() };
    let fits = |place: &Place<Universal>| place.fold.sequence() <= offset;
    Ok(reader::sse(super::follow(&app, &row, reader, Ids::Numbers, upto, fits).await?, "", ""))
}

/// A message. Unknown members are not an error here: the protocol's servers ignore them.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "UniversalMessage")]
pub(in crate::http) struct Message {
    message: String,
    #[serde(default)]
    attachments: Vec<Attachment>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "UniversalAttachment")]
struct Attachment {
    path: String,
}

async fn accept(
    app: &App,
    name: &str,
    message: Message,
) -> Result<(turnloom_core::command::Receipt, Seq, SessionRow), Refused> {
    let row = session(app, name).await?;
    let takes_files = app.sessions.runtimes().get(&row.runtime).is_some_and(|runtime| runtime.capabilities().files);
    let mut text = message.message;
    let mut files = Vec::new();
    if takes_files {
        files.extend(message.attachments.into_iter().map(|attachment| Part::File { path: attachment.path }));
    } else if !message.attachments.is_empty() {
        text.push_str("\n\nAttachments:");
        for attachment in &message.attachments {
            text.push_str("\n- ");
            text.push_str(&attachment.path);
        }
    }
    let mut content = vec![Part::Text { text }];
    content.extend(files);
    let (receipt, _) = send(app, &row, (None, content), When::Queue, BY).await?;
    // Each message is a new one here: what it leads to stands after this.
    Ok((receipt, row.head, app.sessions.row(&row.id).await?))
}

pub(in crate::http) async fn message(
    State(app): State<App>,
    Path(name): Path<String>,
    Json(message): Json<Message>,
) -> Result<StatusCode, Refused> {
    accept(&app, &name, message).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(in crate::http) async fn turn(
    State(app): State<App>,
    Path(name): Path<String>,
    Query(query): Query<EventsQuery>,
    Json(message): Json<Message>,
) -> Result<Response, Refused> {
    let (receipt, before, row) = accept(&app, &name, message).await?;
    let reader = Reader { about: about(&row), wanted: Wanted::TurnOf(receipt.message_id), raw: query.raw() };
    Ok(reader::sse(follow_after::<Universal>(&app, &row, reader, Ids::Numbers, before).await?, "", ""))
}

pub(in crate::http) async fn terminate(
    State(app): State<App>,
    Path(name): Path<String>,
) -> Result<StatusCode, Refused> {
    let row = session(&app, &name).await?;
    app.sessions.execute(&row.id, ClientCommand { by: BY.to_owned(), command: Command::Archive }).await?;
    Ok(StatusCode::NO_CONTENT)
}

// ---- asks ----

#[derive(Debug, Deserialize)]
pub(in crate::http) struct AskPath {
    id: String,
    ask_id: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "UniversalPermissionReply")]
pub(in crate::http) struct Reply {
    reply: PermissionReply,
}

pub(in crate::http) async fn reply(
    State(app): State<App>,
    Path(path): Path<AskPath>,
    Json(Reply { reply }): Json<Reply>,
) -> Result<StatusCode, Refused> {
    let (row, ask) = asked(&app, &path, "permission").await?;
    let answer =
        Answer::Permission { reply, updated_input: None, message: None, rule: None, and_then: AfterAnswer::GoOn };
    settle(&app, &row, &ask, answer, "permission").await
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "UniversalAnswers")]
pub(in crate::http) struct Answers {
    answers: Vec<Vec<String>>,
}

pub(in crate::http) async fn answer(
    State(app): State<App>,
    Path(path): Path<AskPath>,
    Json(Answers { mut answers }): Json<Answers>,
) -> Result<StatusCode, Refused> {
    let (row, ask) = asked(&app, &path, "question").await?;
    let answer = if ask.kind == AskKind::Interrupt {
        Answer::Interrupt { value: answers.into_iter().flatten().next().map_or(Value::Null, Value::String) }
    } else {
        // Clients show one question; what else was asked stays without an answer.
        answers.resize(ask.questions().len(), Vec::new());
        Answer::Question { answers: Some(answers) }
    };
    settle(&app, &row, &ask, answer, "question").await
}

pub(in crate::http) async fn reject(State(app): State<App>, Path(path): Path<AskPath>) -> Result<StatusCode, Refused> {
    let (row, ask) = asked(&app, &path, "question").await?;
    let answer = match ask.kind {
        AskKind::Interrupt if ask.client_call().is_some() => Answer::ToolFailed { output: "rejected".into() },
        AskKind::Interrupt => Answer::Interrupt { value: Value::Null },
        AskKind::Permission | AskKind::Question => Answer::Question { answers: None },
    };
    settle(&app, &row, &ask, answer, "question").await
}

/// The ask that is meant, if it still waits.
async fn asked(app: &App, path: &AskPath, what: &str) -> Result<(SessionRow, PendingAsk), Refused> {
    let row = session(app, &path.id).await?;
    let fits = |ask: &&PendingAsk| {
        ask.ask_id.as_str() == path.ask_id && (ask.kind == AskKind::Permission) == (what == "permission")
    };
    let ask = row.summary.asks.iter().find(fits).cloned();
    ask.map(|ask| (row, ask)).ok_or_else(|| unknown(what, &path.ask_id))
}

async fn settle(
    app: &App,
    row: &SessionRow,
    ask: &PendingAsk,
    answer: Answer,
    what: &str,
) -> Result<StatusCode, Refused> {
    let command = Command::Answer { ask_id: ask.ask_id.clone(), answer };
    match app.sessions.execute(&row.id, ClientCommand { by: BY.to_owned(), command }).await {
        Ok(_) => Ok(StatusCode::NO_CONTENT),
        Err(session::Error::Refused(Refusal::AlreadyResolved { .. } | Refusal::AskNotFound(_))) => {
            Err(unknown(what, ask.ask_id.as_str()))
        }
        Err(error) => Err(error.into()),
    }
}

fn unknown(what: &str, id: &str) -> Refused {
    Refused::invalid(format_args!("unknown {what} id: {id}"))
}
