//! Universal events: the routes that the protocol's own client calls. What is told is in `turnloom_core::dialect::universal`; here are requests, pages
//! and errors. Agents and sessions are in `sessions`, files in `files`.

pub(in crate::http) mod files;
mod names;
pub(in crate::http) mod problem;
mod routes;
pub(in crate::http) mod sessions;
mod tar;

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use bytes::{BufMut as _, BytesMut};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use turnloom_core::command::{AfterAnswer, Answer, Command, Refusal, When, Wish};
use turnloom_core::dialect::universal::{Raw, Universal, Wanted};
use turnloom_core::dialect::{Dialect as _, Frames};
use turnloom_core::event::{Part, PermissionReply};
use turnloom_core::id::{Seq, SessionId};
use turnloom_core::summary::{AskKind, PendingAsk};
use turnloom_core::time::Timestamp;

use self::names::{id_of, name_of};
use self::problem::Refused;
pub(in crate::http) use self::routes::routes;
use self::sessions::about;
use super::super::App;
use super::super::events::cursor;
use super::{Telling, Wire, find, send};
use crate::log::{ReadRange, SessionRow};
use crate::session;

/// How much of a log is read at a time.
const PAGE: usize = 4_096;

/// Clients that poll, whose place in the fold is kept.
const MAX_PLACES: usize = 32;

/// What the log says of who did something.
const BY: &str = "universal";

/// Folds that stand where a client that polls has come to, so that its next page does not begin with the first fact. Only a help: whoever finds none
/// begins at the beginning.
#[derive(Debug, Default)]
pub(in crate::http) struct Places(Mutex<VecDeque<Place>>);

#[derive(Debug)]
struct Place {
    session: SessionId,
    created_at: Timestamp,
    raw: Raw,
    seq: Seq,
    fold: Universal,
}

impl Places {
    /// The place that is furthest on and not too far.
    fn take(&self, row: &SessionRow, raw: Raw, offset: u64) -> Option<Place> {
        let mut places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |place: &Place| {
            place.session == row.id
                && place.created_at == row.created_at
                && place.raw == raw
                && place.fold.sequence() <= offset
        };
        let at = places.iter().position(fits)?;
        places.remove(at)
    }

    fn put(&self, place: Place) {
        let mut places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if places.len() >= MAX_PLACES {
            places.pop_front();
        }
        places.push_back(place);
    }
}

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
    let raw = query.raw();
    let place = app.universal.take(&row, raw, offset);
    let (mut seq, mut fold) = place.map_or_else(
        || (Seq::ZERO, Universal::new(about(&row), Wanted::After(offset), raw)),
        |place| (place.seq, place.fold),
    );
    fold.move_on(offset);
    let mut frames = Frames::default();
    'log: while seq < row.head {
        let page = app.sessions.log().read(&row.id, ReadRange::After { after: seq, limit: PAGE }).await?;
        if page.is_empty() {
            break;
        }
        for record in page {
            seq = record.seq;
            if let Ok(envelope) = record.decode() {
                fold.step(&envelope, &mut frames);
            }
            if frames.len() > limit {
                break 'log;
            }
        }
    }
    let has_more = frames.len() > limit;
    let mut body = BytesMut::from(&br#"{"events":["#[..]);
    for (at, frame) in frames.iter().take(limit).enumerate() {
        if at > 0 {
            body.put_u8(b',');
        }
        body.extend_from_slice(frame.body);
    }
    body.extend_from_slice(format!(r#"],"hasMore":{has_more}}}"#).as_bytes());
    if !has_more {
        app.universal.put(Place { session: row.id, created_at: row.created_at, raw, seq, fold });
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
    let dialect = Universal::new(about(&row), Wanted::After(offset), query.raw());
    Ok(Telling::of(&app, &row, dialect, Wire::SseNumbered)?.response(&[]))
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
) -> Result<(turnloom_core::command::Receipt, SessionRow), Refused> {
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
    Ok((receipt, app.sessions.row(&row.id).await?))
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
    let (receipt, row) = accept(&app, &name, message).await?;
    let dialect = Universal::new(about(&row), Wanted::TurnOf(receipt.message_id), query.raw());
    Ok(Telling::of(&app, &row, dialect, Wire::SseNumbered)?.response(&[]))
}

pub(in crate::http) async fn terminate(
    State(app): State<App>,
    Path(name): Path<String>,
) -> Result<StatusCode, Refused> {
    let row = session(&app, &name).await?;
    app.sessions.wish(&row.id, Command { by: BY.to_owned(), wish: Wish::Archive }).await?;
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
        let wanted = ask.request.get("questions").and_then(Value::as_array).map_or(1, Vec::len);
        answers.resize(wanted, Vec::new());
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
    let wish = Wish::Answer { ask_id: ask.ask_id.clone(), answer };
    match app.sessions.wish(&row.id, Command { by: BY.to_owned(), wish }).await {
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
