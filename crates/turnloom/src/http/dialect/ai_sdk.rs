//! The AI SDK: the routes its clients call. A client shows the body of a failed request as it is, so errors are texts.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use turnloom_core::blob::BlobId;
use turnloom_core::command::{Command, Files, Wish};
use turnloom_core::dialect::ai_sdk::{AiSdk, Chat, History, Profile, Said, Subject, answers, says_the_same, shows};
use turnloom_core::event::{Event, Part};
use turnloom_core::id::{MessageId, Seq, SessionId, TurnId};

use super::super::App;
use super::super::extract::{Client, Query};
use super::super::problem::Problem;
use super::{
    Busy, New, PAGE, Telling, WhenLeft, Wire, answer, as_text, find, find_or_create, json_body, offer, pending, say,
    session_named, stop,
};
use crate::log::{BlobRange, ReadRange, SessionRow};

const HEADERS: &[(&str, &str)] = &[("x-vercel-ai-ui-message-stream", "v1")];
const WIRE: Wire = Wire::Sse { last: "data: [DONE]\n\n" };

/// How much of pictures a history has in itself.
const INLINE_BYTES: usize = 16 << 20;

/// The types of what somebody has to answer.
const ASKS: &[&str] = &["permission_request", "question_request", "interrupt"];

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct ChatQuery {
    /// The major version of the client: 5, 6 (also right for 7) or 7.
    v: Option<String>,
    /// The runtime of a session that is not there yet.
    runtime: Option<String>,
    /// What to do with a message while a turn is running: `queue` it and answer when its turn comes, or `reject` it.
    #[serde(default)]
    busy: Busy,
    /// Whether closing the connection stops the turn, for applications that know no other way.
    #[serde(default)]
    cancel_on_disconnect: bool,
}

/// What a client posts. It is read by hand, because applications add members of their own.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "AiSdkChat")]
pub(in super::super) struct ChatBody {
    /// The session, unless the path names it. Created when it is not there.
    id: Option<String>,
    /// The client's history; its end says what is wanted.
    messages: Vec<Value>,
    /// Its last message alone, instead of `messages`.
    message: Option<Value>,
    /// `submit-message` or `regenerate-message`.
    trigger: Option<String>,
    #[serde(rename = "messageId")]
    message_id: Option<String>,
    /// The runtime of a session that is not there yet.
    runtime: Option<String>,
    /// The tools that the client runs, until the next request that has some: by name, each a JSON Schema or `{description, parameters}`.
    tools: Option<Map<String, Value>>,
    /// Its parameters.
    params: Map<String, Value>,
}

#[derive(Debug, Deserialize)]
pub(in super::super) struct ChatPath {
    session: Option<String>,
    id: Option<String>,
}

impl ChatPath {
    fn name(&self) -> Option<&str> {
        self.session.as_deref().or(self.id.as_deref())
    }
}

fn profile(v: Option<&str>) -> Result<Profile, Problem> {
    match v {
        None | Some("6") => Ok(Profile::V6),
        Some("5") => Ok(Profile::V5),
        Some("7") => Ok(Profile::V7),
        Some(other) => Err(Problem::invalid(format!("`v` is 5, 6 or 7, not {other:?}"))),
    }
}

type Asked = Result<Query<ChatQuery>, Problem>;
type Posted = Result<Bytes, axum::extract::rejection::BytesRejection>;

pub(in super::super) async fn chat(
    State(app): State<App>,
    Path(path): Path<ChatPath>,
    query: Asked,
    client: Result<Client, Problem>,
    body: Posted,
) -> Response {
    let done = async {
        let Query(query) = query?;
        let by = client?.0;
        let profile = profile(query.v.as_deref())?;
        let chat = Chat::read(&json_body(body)?).map_err(Problem::invalid)?;
        let name = path.name().or(chat.id.as_deref()).filter(|name| !name.is_empty());
        let id = session_named(name.ok_or_else(|| Problem::invalid("the body has no `id`"))?);
        let when_left = WhenLeft::of(query.cancel_on_disconnect, &by);
        let (row, subject) = hear(&app, &id, chat, query, &by).await?;
        let dialect = AiSdk::new(profile, subject, pending(&row));
        Ok::<_, Problem>(Telling::of(&app, &row, dialect, WIRE)?.when_left(when_left).response(HEADERS))
    };
    done.await.unwrap_or_else(|problem| as_text(&problem))
}

/// Does what the request wants, and says what its response is about.
async fn hear(
    app: &App,
    id: &SessionId,
    chat: Chat,
    query: ChatQuery,
    by: &str,
) -> Result<(SessionRow, Subject), Problem> {
    match chat.said {
        Said::Message { id: message_id, content, edits } => {
            let new = New { runtime: query.runtime.or(chat.runtime), params: chat.params };
            let row = find_or_create(app, id, new).await?;
            offer(app, &row, chat.offered.as_deref(), by).await?;
            let known = if edits { take_back(app, &row, &message_id, by).await? } else { None };
            let message_id = known.map_or(message_id, |(next, _)| next);
            let (receipt, row) = say(app, &row, (message_id, content), query.busy, by).await?;
            Ok((row, Subject::Message(receipt.message_id)))
        }
        Said::Again { id: message_id, content: edited } => {
            let row = existing(app, id).await?;
            let known = take_back(app, &row, &message_id, by).await?;
            let (next, content) = known.ok_or_else(|| {
                Problem::invalid(format!("message {message_id} is not in session {id}, so it cannot be answered anew"))
            })?;
            let content = edited.filter(|edited| !says_the_same(edited, &content)).unwrap_or(content);
            let (receipt, row) = say(app, &row, (next, content), query.busy, by).await?;
            Ok((row, Subject::Message(receipt.message_id)))
        }
        Said::Continuation { turn, after, parts } => {
            let row = existing(app, id).await?;
            let answers = answers(&parts, &row.summary.asks);
            let after = match after {
                Some(after) => after.min(row.head),
                None => last_seen(app, &row, &parts).await?,
            };
            answer(app, id, answers, by).await?;
            let row = existing(app, id).await?;
            Ok((row, Subject::Rest { turn, after }))
        }
    }
}

async fn existing(app: &App, id: &SessionId) -> Result<SessionRow, Problem> {
    Ok(app.sessions.row(id).await?)
}

/// How far a client has come that lost its place with its connection: it has at least the last ask that it shows.
async fn last_seen(app: &App, row: &SessionRow, parts: &[Value]) -> Result<Seq, Problem> {
    let mut seen = None;
    let mut after = Seq::ZERO;
    while after < row.head {
        let page = app.sessions.log().read(&row.id, ReadRange::After { after, limit: PAGE }).await?;
        let Some(last) = page.last() else { break };
        after = last.seq;
        let asks = page.iter().filter(|record| ASKS.contains(&record.kind()));
        let shown = asks.filter_map(|record| record.decode().ok()).filter(|envelope| shows(parts, envelope));
        seen = shown.last().map(|envelope| envelope.seq).or(seen);
    }
    Ok(seen.unwrap_or(row.head))
}

/// A message under its id.
type SaidBefore = (MessageId, Vec<Part>);

/// Takes back the turn that answered a message and all that followed, so that it can be said again. Returns the id under which that happens, and what
/// was said; nothing if the message is not known.
async fn take_back(
    app: &App,
    row: &SessionRow,
    message_id: &MessageId,
    by: &str,
) -> Result<Option<SaidBefore>, Problem> {
    let mut turns: Vec<(TurnId, Option<SaidBefore>)> = Vec::new();
    let mut versions = 0_usize;
    let mut after = Seq::ZERO;
    loop {
        let page = app.sessions.log().read(&row.id, ReadRange::After { after, limit: PAGE }).await?;
        let Some(last) = page.last() else { break };
        after = last.seq;
        for record in page.iter().filter(|record| matches!(record.kind(), "user_message" | "turn_started" | "rollback"))
        {
            let Ok(envelope) = record.decode() else { continue };
            match (&envelope.event, envelope.turn_id) {
                (Event::UserMessage(message), Some(turn)) => {
                    if is_version_of(&message.message_id, message_id) {
                        versions += 1;
                        turns.push((turn, Some((message.message_id.clone(), message.content.clone()))));
                    } else {
                        turns.push((turn, None));
                    }
                }
                (Event::TurnStarted(_), Some(turn)) => turns.push((turn, None)),
                (Event::Rollback(rollback), _) => turns.retain(|(turn, _)| !rollback.turn_ids.contains(turn)),
                _ => {}
            }
        }
    }
    let Some(at) = turns.iter().rposition(|(_, said)| said.is_some()) else { return Ok(None) };
    let Some((_, content)) = turns.get(at).and_then(|(_, said)| said.clone()) else { return Ok(None) };
    let capabilities = app.sessions.runtimes().get(&row.runtime).map(crate::runtime::Runtime::capabilities);
    if !capabilities.unwrap_or_default().rollback {
        return Err(Problem::invalid(format!(
            "{} cannot take back what was said; fork the session, or send a new message",
            row.runtime
        )));
    }
    let mut taken: Vec<&TurnId> = turns.iter().skip(at).map(|(turn, _)| turn).collect();
    taken.dedup();
    let command = Command { by: by.to_owned(), wish: Wish::Rollback { turns: taken.len(), files: Files::Keep } };
    app.sessions.wish(&row.id, command).await?;
    // The same id again would be the same message.
    Ok(Some((MessageId::trusted(format!("{message_id}.{}", versions + 1)), content)))
}

/// `m.2` is what was said again under the name `m`.
fn is_version_of(known: &MessageId, wanted: &MessageId) -> bool {
    let is_number = |n: &str| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit());
    // One that knows it as `m.2` says it again as `m.2.2`.
    known.as_str().strip_prefix(wanted.as_str()).is_some_and(|rest| {
        rest.is_empty() || rest.strip_prefix('.').is_some_and(|rest| rest.split('.').all(is_number))
    })
}

pub(in super::super) async fn resume(State(app): State<App>, Path(path): Path<ChatPath>, query: Asked) -> Response {
    let done = async {
        let profile = profile(query?.0.v.as_deref())?;
        let id = session_named(path.name().unwrap_or_default());
        let row = find(&app, &id).await?;
        // Anything but 204 would be an error in the client, also for a chat that nobody has begun.
        let Some((row, turn)) = row.and_then(|row| row.summary.turn.clone().map(|turn| (row, turn))) else {
            return Ok(StatusCode::NO_CONTENT.into_response());
        };
        let dialect = AiSdk::new(profile, Subject::Turn(turn), pending(&row));
        Ok::<_, Problem>(Telling::of(&app, &row, dialect, WIRE)?.response(HEADERS))
    };
    done.await.unwrap_or_else(|problem| as_text(&problem))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct MessagesQuery {
    /// The major version of the client: 5, 6 or 7.
    v: Option<String>,
    /// Only this many of the newest.
    limit: Option<usize>,
}

pub(in super::super) async fn messages(
    State(app): State<App>,
    Path(path): Path<ChatPath>,
    query: Result<Query<MessagesQuery>, Problem>,
) -> Response {
    let done = async {
        let Query(MessagesQuery { v, limit }) = query?;
        let profile = profile(v.as_deref())?;
        let id = session_named(path.name().unwrap_or_default());
        let Some(row) = find(&app, &id).await? else { return Ok(Json(Value::Array(Vec::new())).into_response()) };
        let mut history = History::new(profile, pending(&row));
        let mut after = Seq::ZERO;
        while after < row.head {
            let page = app.sessions.log().read(&id, ReadRange::After { after, limit: PAGE }).await?;
            let Some(last) = page.last() else { break };
            after = last.seq;
            let known = page.iter().filter(|record| record.seq <= row.head);
            known.filter_map(|record| record.decode().ok()).for_each(|envelope| history.step(&envelope));
        }
        let messages = history.messages(limit.unwrap_or(usize::MAX));
        let mut messages: Vec<Value> = messages.into_iter().map(|message| serde_json::json!(message)).collect();
        inline(&app, &mut messages).await?;
        Ok::<_, Problem>(Json(messages).into_response())
    };
    done.await.unwrap_or_else(|problem| as_text(&problem))
}

/// Puts a person's pictures into the messages again, the newest first and as far as there is room: a page cannot send the token with the address of
/// a picture, and it had them like this when they were sent.
async fn inline(app: &App, messages: &mut [Value]) -> Result<(), Problem> {
    let mut room = INLINE_BYTES;
    for message in messages.iter_mut().rev() {
        let is_said = message.get("role").is_some_and(|role| role == "user");
        let parts = message.get_mut("parts").and_then(Value::as_array_mut).filter(|_| is_said);
        for part in parts.into_iter().flatten() {
            inline_part(app, part, &mut room).await?;
        }
    }
    Ok(())
}

async fn inline_part(app: &App, part: &mut Value, room: &mut usize) -> Result<(), Problem> {
    let id = part.get("url").and_then(Value::as_str).and_then(|url| url.strip_prefix("/api/blobs/"));
    let Some(id) = id.and_then(BlobId::parse) else { return Ok(()) };
    let Some(slice) = app.sessions.log().blob(&id, BlobRange::default()).await? else { return Ok(()) };
    let (Ok(data), Some(left)) = (std::str::from_utf8(&slice.bytes), room.checked_sub(slice.bytes.len())) else {
        return Ok(());
    };
    *room = left;
    let media_type = part.get("mediaType").and_then(Value::as_str).unwrap_or_default();
    let url = Value::from(format!("data:{media_type};base64,{data}"));
    if let Some(part) = part.as_object_mut() {
        part.insert("url".to_owned(), url);
    }
    Ok(())
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ChatStopped")]
pub(in super::super) struct Stopped {
    stopped: bool,
}

pub(in super::super) async fn stop_chat(
    State(app): State<App>,
    Path(path): Path<ChatPath>,
    client: Result<Client, Problem>,
) -> Response {
    let done = async {
        let id = session_named(path.name().unwrap_or_default());
        match stop(&app, &id, &client?.0).await {
            Ok(stopped) => Ok(Json(Stopped { stopped }).into_response()),
            Err(problem) => Err::<Response, Problem>(problem),
        }
    };
    done.await.unwrap_or_else(|problem| as_text(&problem))
}
