//! The AI SDK: the routes its clients call. A client shows the body of a failed request as it is, so errors are texts.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use turnloom_core::blob::BlobId;
use turnloom_core::command::{ClientCommand, Command, Files};
use turnloom_core::dialect::ai_sdk::{
    AiSdk, Chat, ChatAction, HistoryOf, Profile, Reader, Regeneration, Subject, Turns, answers, says_the_same,
};
use turnloom_core::id::{MessageId, Seq, SessionId};

use super::super::App;
use super::super::extract::{Client, Query};
use super::super::problem::Problem;
use super::history::Reading;
use super::{
    Busy, New, answer, as_text, find, find_or_create, follow_after, follow_turn, json_body, offer, pending, say,
    session_named, stop, stop_on_disconnect, with_headers,
};
use crate::log::{BlobRange, SessionRow};
use crate::reader::{self, DialectStream, Ids};

const HEADERS: &[(&str, &str)] = &[("x-vercel-ai-ui-message-stream", "v1")];

/// How much of pictures a history has in itself.
const INLINE_BYTES: usize = 16 << 20;

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
    #[schemars(default)]
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
    #[schemars(default)]
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
        let cancels = query.cancel_on_disconnect;
        let (row, subject, before) = handle_chat(&app, &id, chat, query, &by).await?;
        let stream = follow_subject(&app, &row, profile, subject, before).await?;
        Ok(respond(stream.on_disconnect(stop_on_disconnect(&app, &row, cancels, &by))))
    };
    done.await.unwrap_or_else(|problem| as_text(&problem))
}

/// The response: its protocol has a word for the end.
fn respond(stream: DialectStream<AiSdk>) -> Response {
    with_headers(reader::sse(stream, "", "data: [DONE]\n\n"), HEADERS)
}

/// A stream about a turn, from where it begins: after a position that is known, or where the turn itself does.
async fn follow_subject(
    app: &App,
    row: &SessionRow,
    profile: Profile,
    subject: Subject,
    before: Seq,
) -> Result<DialectStream<AiSdk>, Problem> {
    let turn = match &subject {
        Subject::Turn(turn) | Subject::Rest { turn, .. } => Some(turn.clone()),
        Subject::Message(_) | Subject::Everything | Subject::Nothing => None,
    };
    let reader = Reader { profile, subject, pending: pending(row) };
    match turn {
        Some(turn) => follow_turn(app, row, reader, &turn).await,
        None => follow_after(app, row, reader, Ids::None, before).await,
    }
}

/// Does what the request wants, and says what its response is about, and after which position that stands.
async fn handle_chat(
    app: &App,
    id: &SessionId,
    chat: Chat,
    query: ChatQuery,
    by: &str,
) -> Result<(SessionRow, Subject, Seq), Problem> {
    match chat.said {
        ChatAction::Message { id: message_id, content, edits } => {
            let new = New { runtime: query.runtime.or(chat.runtime), params: chat.params };
            let row = find_or_create(app, id, new).await?;
            offer(app, &row, chat.offered.as_deref(), by).await?;
            let known = if edits { take_back(app, &row, &message_id, by).await? } else { None };
            let message_id = known.map_or(message_id, |known| known.id);
            let said = say(app, &row, (message_id, content), query.busy, by).await?;
            Ok((said.row, Subject::Message(said.receipt.message_id), said.before))
        }
        ChatAction::Regeneration { id: message_id, content: edited } => {
            let row = existing(app, id).await?;
            let known = take_back(app, &row, &message_id, by).await?;
            let Regeneration { id: next, content, .. } = known.ok_or_else(|| {
                Problem::invalid(format!("message {message_id} is not in session {id}, so it cannot be answered anew"))
            })?;
            let content = edited.filter(|edited| !says_the_same(edited, &content)).unwrap_or(content);
            let said = say(app, &row, (next, content), query.busy, by).await?;
            Ok((said.row, Subject::Message(said.receipt.message_id), said.before))
        }
        ChatAction::Continuation { turn, after, parts } => {
            let row = existing(app, id).await?;
            let answers = answers(&parts, &row.summary.asks).map_err(Problem::invalid)?;
            let after = if let Some(after) = after {
                after.min(row.head)
            } else {
                // It lost its place with its connection, and has at least the last ask that it shows.
                let shown = app.reader.folds().ask(&row, |turns: &Turns| turns.last_shown(&parts)).await?;
                shown.unwrap_or(row.head)
            };
            answer(app, id, answers, by).await?;
            let row = existing(app, id).await?;
            Ok((row, Subject::Rest { turn, after }, after))
        }
    }
}

async fn existing(app: &App, id: &SessionId) -> Result<SessionRow, Problem> {
    Ok(app.sessions.row(id).await?)
}

/// Takes back the turn that answered a message and all that followed, so that it can be said again. Nothing if the message is not known.
async fn take_back(
    app: &App,
    row: &SessionRow,
    message_id: &MessageId,
    by: &str,
) -> Result<Option<Regeneration>, Problem> {
    let row = existing(app, &row.id).await?;
    let Some(regeneration) = app.reader.folds().ask(&row, |turns: &Turns| turns.regenerate(message_id)).await? else {
        return Ok(None);
    };
    let capabilities = app.sessions.runtimes().get(&row.runtime).map(crate::runtime::Runtime::capabilities);
    if !capabilities.unwrap_or_default().rollback {
        return Err(Problem::invalid(format!(
            "{} cannot take back what was said; fork the session, or send a new message",
            row.runtime
        )));
    }
    let command = Command::Rollback { turns: regeneration.turns, files: Files::Keep };
    app.sessions.execute(&row.id, ClientCommand { by: by.to_owned(), command }).await?;
    Ok(Some(regeneration))
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
        Ok::<_, Problem>(respond(follow_subject(&app, &row, profile, Subject::Turn(turn), Seq::ZERO).await?))
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
        let reading = Reading::begin(&app).await;
        let limit = limit.unwrap_or(usize::MAX);
        let mut messages = match profile {
            Profile::V5 => history::<5>(&app, &row, limit).await?,
            Profile::V6 => history::<6>(&app, &row, limit).await?,
            Profile::V7 => history::<7>(&app, &row, limit).await?,
        };
        inline(&app, &mut messages).await?;
        Ok::<_, Problem>(reading.answer(&messages))
    };
    done.await.unwrap_or_else(|problem| as_text(&problem))
}

/// The newest messages of a session. What stands before the first ask that waits is the same for everybody.
async fn history<const V: u8>(app: &App, row: &SessionRow, limit: usize) -> Result<Vec<Value>, Problem> {
    let read = |history: &HistoryOf<V>| history.messages(limit).iter().map(|message| json!(message)).collect();
    let folds = app.reader.folds();
    let Some(first) = row.summary.asks.iter().map(|ask| ask.seq).min() else { return Ok(folds.ask(row, read).await?) };
    let before = Seq(first.0.saturating_sub(1));
    let mut place = folds.place::<HistoryOf<V>>(row, before, |place| place.seq <= before).await?;
    place.fold.start_reader(pending(row));
    folds.fold_on(row, &mut place, row.head, &mut (), |()| false).await?;
    Ok(read(&place.fold))
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
