//! Other people's protocols on the wire: a response that follows a session's log through a dialect. What each of them makes of a fact is in
//! `turnloom_core::dialect`; here are the routes, one file for each protocol, and what their responses have in common.

pub(super) mod ag_ui;
pub(super) mod agent_ui;
pub(super) mod ai_sdk;
pub(super) mod snapshot;
#[cfg(feature = "socketio")]
pub(super) mod socketio;
pub(super) mod tasks;
pub(super) mod text;
pub(super) mod universal;

use std::collections::HashSet;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use bytes::{BufMut as _, Bytes, BytesMut};
use futures_util::stream;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;
use turnloom_core::client_tools::{self, ClientTool};
use turnloom_core::command::{AfterAnswer, Answer, Command, Message, Receipt, Refusal, Reply, Update, When, Wish};
use turnloom_core::dialect::{Dialect, Ending, Frames, own_id};
use turnloom_core::event::{Origin, Part, PermissionReply};
use turnloom_core::id::{AskId, MessageId, Seq, SessionId};
use turnloom_core::summary::{AskKind, PendingAsk};

use super::App;
use super::events::{FRAME_RECORDS, Following, HEARTBEAT, admit};
use super::problem::Problem;
use crate::log::{self, Follower, SessionRow};
use crate::session::{self, NewSession};

/// The runtime of a session that a client makes by naming it, unless the request says another.
const DEFAULT_RUNTIME: &str = "mock";

/// How much of a log is read at a time.
const PAGE: usize = 4_096;

/// How long a response stays open after an ask, so that asks that come together are told together.
const SETTLE: Duration = Duration::from_millis(50);

/// How much time passes between two tellings of what is told whole each time.
const PACE: Duration = Duration::from_millis(100);

/// Records that are folded at a time, as long as the reader is not where the log is.
const PREFIX_RECORDS: usize = 2_048;

/// How frames are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wire {
    /// One event per frame; `last` stands after the last of them.
    Sse { last: &'static str },
    /// The same, and the last frame of each fact has its position as `id`, so that no reader comes back in the middle of one.
    SseWithIds,
    /// The same, and each frame has its own number as `id`.
    SseNumbered,
    /// The frames as they are.
    Plain,
}

impl Wire {
    /// When a silent response says that it is alive. A text cannot say so: everything in it is the answer.
    fn beats(self, at: Instant) -> Option<Instant> {
        (self != Wire::Plain).then_some(at)
    }

    fn write(self, frames: &Frames, seq: Seq, out: &mut BytesMut) {
        for (at, frame) in frames.iter().enumerate() {
            if self == Wire::Plain {
                out.extend_from_slice(frame.body);
                continue;
            }
            if self == Wire::SseWithIds && at + 1 == frames.len() {
                out.extend_from_slice(format!("id: {seq}\n").as_bytes());
            }
            if let Some(number) = frame.number.filter(|_| self == Wire::SseNumbered) {
                out.extend_from_slice(format!("id: {number}\n").as_bytes());
            }
            if let Some(name) = frame.name {
                out.extend_from_slice(b"event: ");
                out.extend_from_slice(name.as_bytes());
                out.put_u8(b'\n');
            }
            out.extend_from_slice(b"data: ");
            out.extend_from_slice(frame.body);
            out.extend_from_slice(b"\n\n");
        }
    }
}

/// When a reader was last told what a dialect holds back.
#[derive(Debug, Default)]
struct Pace(Option<Instant>);

impl Pace {
    /// When there is something to tell, and it may be told.
    fn due(&self, dialect: &impl Dialect) -> Option<Instant> {
        dialect.holds_back().then(|| self.0.map_or_else(Instant::now, |last| last + PACE))
    }

    fn is_due(&self, dialect: &impl Dialect) -> bool {
        self.due(dialect).is_some_and(|due| due <= Instant::now())
    }

    fn rest(&mut self, dialect: &mut impl Dialect, frames: &mut Frames) {
        self.0 = Some(Instant::now());
        dialect.rest(frames);
    }
}

/// Waits until then; for ever, when there is no such moment.
async fn reached(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// What becomes of the turn when the client closes the connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum WhenLeft {
    GoesOn,
    /// It is stopped, in the name of this client.
    Stops {
        by: String,
    },
}

impl WhenLeft {
    fn of(cancel_on_disconnect: bool, by: &str) -> Self {
        if cancel_on_disconnect { Self::Stops { by: by.to_owned() } } else { Self::GoesOn }
    }
}

/// A response that tells a session's log in a dialect.
pub(super) struct Telling<D: Dialect + 'static> {
    app: App,
    follower: Follower,
    dialect: D,
    frames: Frames,
    wire: Wire,
    session: SessionId,
    when_left: WhenLeft,
    /// Where the log was when the reader came.
    head: Seq,
    arrived: bool,
    /// When a response that waits for somebody ends, whatever else happens meanwhile.
    settles: Option<Instant>,
    pace: Pace,
    ended: bool,
    _following: Following,
}

impl<D: Dialect + 'static> Telling<D> {
    /// `row` is the session at the moment the dialect was made for.
    pub(super) fn of(app: &App, row: &SessionRow, dialect: D, wire: Wire) -> Result<Self, Problem> {
        let permit = admit(app)?;
        Ok(Self {
            app: app.clone(),
            follower: app.sessions.log().follow(&row.id, Seq::ZERO),
            dialect,
            frames: Frames::default(),
            wire,
            session: row.id.clone(),
            when_left: WhenLeft::GoesOn,
            head: row.head,
            arrived: false,
            settles: None,
            pace: Pace::default(),
            ended: false,
            _following: Following::new(app, permit),
        })
    }

    pub(super) fn when_left(mut self, when_left: WhenLeft) -> Self {
        self.when_left = when_left;
        self
    }

    pub(super) fn response(self, headers: &[(&'static str, &'static str)]) -> Response {
        let content_type = match self.wire {
            Wire::Sse { .. } | Wire::SseWithIds | Wire::SseNumbered => "text/event-stream",
            Wire::Plain => "text/plain; charset=utf-8",
        };
        let frames = stream::unfold(self, |mut telling| async move {
            let bytes = telling.next().await?;
            Some((Ok::<_, std::io::Error>(bytes), telling))
        });
        let mut response = Body::from_stream(frames).into_response();
        let fixed = [("content-type", content_type), ("cache-control", "no-cache"), ("x-accel-buffering", "no")];
        for (name, value) in fixed.iter().chain(headers) {
            response.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        response
    }

    async fn next(&mut self) -> Option<Bytes> {
        let mut out = BytesMut::new();
        // Not put off by what is of no concern to this reader.
        let heartbeat = Instant::now() + HEARTBEAT;
        loop {
            if !self.arrived && self.follower.cursor() >= self.head {
                self.arrived = true;
                self.dialect.arrive(&mut self.frames);
                self.flush(self.follower.cursor(), &mut out);
            }
            if self.dialect.is_over() {
                if std::mem::replace(&mut self.ended, true) {
                    return None;
                }
                if let Wire::Sse { last } = self.wire {
                    out.extend_from_slice(last.as_bytes());
                }
                // An empty chunk would end the response, and so would nothing.
                return (!out.is_empty()).then(|| out.freeze());
            }
            if !out.is_empty() {
                return Some(out.freeze());
            }
            let page = if self.arrived { FRAME_RECORDS } else { PREFIX_RECORDS };
            // Counted from the first ask, so that a helper who talks on does not keep anybody from answering.
            let waits = self.arrived && self.dialect.waits();
            self.settles = waits.then(|| self.settles.unwrap_or_else(|| Instant::now() + SETTLE));
            let rests = self.pace.due(&self.dialect);
            let deadline = [self.settles.or_else(|| self.wire.beats(heartbeat)), rests].into_iter().flatten().min();
            tokio::select! {
                biased;
                () = self.app.closing.cancelled() => self.close(Ending::Gone, &mut out),
                () = reached(deadline) => {
                    if rests.is_some() && rests == deadline {
                        self.pace.rest(&mut self.dialect, &mut self.frames);
                        self.flush(self.follower.cursor(), &mut out);
                    } else if waits {
                        self.close(Ending::Waiting, &mut out);
                    } else {
                        return Some(Bytes::from_static(b": still here\n\n"));
                    }
                }
                records = self.follower.next(page) => match records {
                    Ok(records) => {
                        for record in records {
                            // What cannot be read was written by a newer version, or is not ours to tell.
                            if let Ok(envelope) = record.decode() {
                                self.dialect.step(&envelope, &mut self.frames);
                                self.flush(envelope.seq, &mut out);
                            }
                            if record.seq == self.head && !std::mem::replace(&mut self.arrived, true) {
                                self.dialect.arrive(&mut self.frames);
                                self.flush(record.seq, &mut out);
                            }
                            if self.dialect.is_over() {
                                break;
                            }
                        }
                        if self.pace.is_due(&self.dialect) {
                            self.pace.rest(&mut self.dialect, &mut self.frames);
                            self.flush(self.follower.cursor(), &mut out);
                        }
                    }
                    // The session was removed.
                    Err(_) => self.close(Ending::Gone, &mut out),
                },
            }
        }
    }

    fn close(&mut self, ending: Ending, out: &mut BytesMut) {
        self.dialect.rest(&mut self.frames);
        self.dialect.close(ending, &mut self.frames);
        self.flush(self.follower.cursor(), out);
        if !self.dialect.is_over() {
            // A dialect without a last word.
            self.ended = true;
        }
    }

    fn flush(&mut self, seq: Seq, out: &mut BytesMut) {
        self.wire.write(&self.frames, seq, out);
        self.frames.clear();
    }
}

impl<D: Dialect + 'static> Drop for Telling<D> {
    fn drop(&mut self) {
        let turn = self.dialect.turn().filter(|_| !self.ended && !self.dialect.is_over());
        if let (WhenLeft::Stops { by }, Some(turn)) = (&self.when_left, turn) {
            let wish = Wish::Stop { turn_id: Some(turn.clone()) };
            self.app.sessions.wish_unheard(self.session.clone(), Command { by: by.clone(), wish });
        }
    }
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
    let document = serde_json::to_value(problem).unwrap_or_default();
    let status = document.get("status").and_then(Value::as_u64).and_then(|status| u16::try_from(status).ok());
    let status =
        status.and_then(|status| StatusCode::from_u16(status).ok()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let detail = document.get("detail").and_then(Value::as_str).unwrap_or("something went wrong").to_owned();
    (status, [(header::CONTENT_TYPE, "text/plain; charset=utf-8")], detail).into_response()
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
    let settings = serde_json::Map::from_iter([(client_tools::OF_RUN.to_owned(), json!(tools))]);
    let update = Update { settings, ..Update::default() };
    app.sessions.wish(&row.id, Command { by: by.to_owned(), wish: Wish::Update(update) }).await?;
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
    let message = Message { id: message_id, content, origin: Origin::User };
    let command = Command { by: by.to_owned(), wish: Wish::Send { message, when } };
    match app.sessions.wish(&row.id, command).await? {
        Reply::Accepted { receipt, is_new } => Ok((receipt, is_new)),
        Reply::Stopped { .. }
        | Reply::Resolved { .. }
        | Reply::Done
        | Reply::Queue(_)
        | Reply::State { .. }
        | Reply::Noted { .. } => Err(Problem::unexpected("a message")),
    }
}

/// Sends what a person said, and returns the session as it is then. Whoever says something new instead of answering has answered: no.
async fn say(
    app: &App,
    row: &SessionRow,
    message: (MessageId, Vec<Part>),
    busy: Busy,
    by: &str,
) -> Result<(Receipt, SessionRow), Problem> {
    let (id, content) = message;
    let when = if busy == Busy::Reject { When::Reject } else { When::Queue };
    let (receipt, is_new) = send(app, row, (Some(id), content), when, by).await?;
    if busy == Busy::Queue && is_new {
        dismiss(app, row, by).await?;
    }
    Ok((receipt, app.sessions.row(&row.id).await?))
}

/// Gives answers. One that comes too late is not an error: the stream tells how the ask ended.
async fn answer(app: &App, id: &SessionId, answers: Vec<(AskId, Answer)>, by: &str) -> Result<(), Problem> {
    for (ask_id, answer) in answers {
        let command = Command { by: by.to_owned(), wish: Wish::Answer { ask_id, answer } };
        match app.sessions.wish(id, command).await {
            Ok(_) | Err(session::Error::Refused(Refusal::AlreadyResolved { .. } | Refusal::AskNotFound(_))) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Why somebody who said something new did not answer, for the agent to read.
const INSTEAD: &str = "the person said something else instead";

/// Answers all that is asked with no.
async fn dismiss(app: &App, row: &SessionRow, by: &str) -> Result<(), Problem> {
    let no = |ask: &PendingAsk| match ask.kind {
        AskKind::Permission => Answer::Permission {
            reply: PermissionReply::Reject,
            updated_input: None,
            message: Some(INSTEAD.to_owned()),
            rule: None,
            and_then: AfterAnswer::GoOn,
        },
        AskKind::Question => Answer::Question { answers: None },
        AskKind::Interrupt if ask.client_call().is_some() => Answer::ToolFailed { output: INSTEAD.into() },
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
    let command = Command { by: by.to_owned(), wish: Wish::Stop { turn_id: None } };
    Ok(app.sessions.wish(id, command).await? == Reply::Stopped { stopped: true })
}

#[cfg(test)]
mod tests {
    use super::{Instant, Wire};

    #[test]
    fn a_text_has_no_heartbeat_to_wake_for() {
        let now = Instant::now();
        assert_eq!(Wire::Plain.beats(now), None);
        assert_eq!(Wire::Sse { last: "" }.beats(now), Some(now));
    }
}
