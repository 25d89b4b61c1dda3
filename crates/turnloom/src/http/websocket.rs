//! Everything over one WebSocket: follow any number of sessions, send, stop, answer. Each op carries a `ref` of the client's choice, and its answer
//! repeats it.

use std::collections::HashMap;

use axum::extract::State;
use axum::extract::ws::{Message, Utf8Bytes, WebSocket, WebSocketUpgrade};
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};
use turnloom_core::command::{Answer, Command, Reply, Wish};
use turnloom_core::event::Record;
use turnloom_core::id::{AskId, Seq, SessionId, TurnId};

use super::App;
use super::asks::Permission;
use super::dialect::snapshot::Pump;
use super::events::{FRAME_RECORDS, Following, HEARTBEAT, admit, unknown_dialect};
use super::extract::Client;
use super::messages::{self, accept};
use super::problem::Problem;

/// The largest op; a message may carry an image.
const MAX_OP_BYTES: usize = 20 * 1024 * 1024;

/// Frames on their way to a socket. One page is being written while the next is being read.
const FRAMES_AHEAD: usize = 2;

/// Sessions one socket may follow.
const MAX_SUBSCRIPTIONS: usize = 256;

#[derive(Deserialize)]
struct Envelope {
    #[serde(rename = "ref")]
    reference: Option<Value>,
    #[serde(flatten)]
    op: Op,
}

#[derive(Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
enum Op {
    Subscribe {
        session_id: SessionId,
        #[serde(default)]
        after: Seq,
        /// `native`, or `snapshot`.
        dialect: Option<String>,
    },
    Unsubscribe {
        session_id: SessionId,
    },
    Send {
        session_id: SessionId,
        #[serde(flatten)]
        send: messages::Send,
    },
    Stop {
        session_id: SessionId,
        turn_id: Option<TurnId>,
    },
    Answer {
        session_id: SessionId,
        ask_id: AskId,
        #[serde(flatten)]
        answer: AnswerOp,
    },
    Ping {},
}

/// The three kinds of answer, told apart by what is in them.
#[derive(Deserialize)]
#[serde(untagged)]
enum AnswerOp {
    Permission(Permission),
    Question { answers: Option<Vec<Vec<String>>> },
    Interrupt { value: Value },
}

pub(super) async fn upgrade(State(app): State<App>, Client(by): Client, upgrade: WebSocketUpgrade) -> Response {
    upgrade.max_message_size(MAX_OP_BYTES).on_upgrade(move |socket| Connection::new(app, by).run(socket))
}

struct Connection {
    app: App,
    by: String,
    frames: mpsc::Sender<String>,
    outgoing: mpsc::Receiver<String>,
    tasks: JoinSet<()>,
    subscriptions: HashMap<SessionId, AbortHandle>,
}

impl Connection {
    fn new(app: App, by: String) -> Self {
        let (frames, outgoing) = mpsc::channel(FRAMES_AHEAD);
        Self { app, by, frames, outgoing, tasks: JoinSet::new(), subscriptions: HashMap::new() }
    }

    async fn run(mut self, mut socket: WebSocket) {
        loop {
            tokio::select! {
                () = self.app.closing.cancelled() => break,
                Some(frame) = self.outgoing.recv() => {
                    if socket.send(Message::Text(frame.into())).await.is_err() {
                        return;
                    }
                }
                Some(_) = self.tasks.join_next() => {}
                message = socket.recv() => match message {
                    Some(Ok(Message::Text(text))) => {
                        if let Some(answer) = self.obey(&text).await
                            && socket.send(Message::Text(answer.to_string().into())).await.is_err()
                        {
                            return;
                        }
                    }
                    Some(Ok(Message::Binary(_))) => {
                        let problem = refuse(None, &Problem::invalid("ops are text, not binary"));
                        if socket.send(Message::Text(problem.to_string().into())).await.is_err() {
                            return;
                        }
                    }
                    Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                    Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                },
            }
        }
        drop(socket.send(Message::Close(None)).await);
    }

    /// Does one op. What takes long is answered later, by a task of this connection.
    async fn obey(&mut self, text: &Utf8Bytes) -> Option<Value> {
        let Envelope { reference, op } = match serde_json::from_str(text.as_str()) {
            Ok(envelope) => envelope,
            Err(error) => {
                let reference = serde_json::from_str::<Value>(text.as_str()).ok().and_then(|op| op.get("ref").cloned());
                return Some(refuse(reference, &Problem::invalid(format!("this is not an op: {error}"))));
            }
        };
        let answer = match op {
            Op::Ping {} => Ok(json!({ "op": "pong" })),
            Op::Subscribe { session_id, after, dialect } => {
                let snapshots = match dialect.as_deref() {
                    None | Some("native") => Ok(false),
                    Some("snapshot") => Ok(true),
                    Some(other) => Err(unknown_dialect(other)),
                };
                match snapshots {
                    Ok(snapshots) => self.subscribe(session_id, after, snapshots, reference.as_ref()).await,
                    Err(problem) => Err(problem),
                }
            }
            Op::Unsubscribe { session_id } => {
                let was_there = self.subscriptions.remove(&session_id).map(|task| task.abort()).is_some();
                Ok(json!({ "op": "unsubscribed", "session_id": session_id, "was_subscribed": was_there }))
            }
            Op::Send { session_id, send } => {
                let receipt = accept(&self.app, &session_id, self.by.clone(), send).await;
                receipt.map(|receipt| json!({ "op": "accepted", "session_id": session_id, "receipt": receipt }))
            }
            Op::Stop { session_id, turn_id } => {
                self.later(session_id, Wish::Stop { turn_id }, reference);
                return None;
            }
            Op::Answer { session_id, ask_id, answer } => {
                let answer = match answer {
                    AnswerOp::Permission(permission) => permission.into(),
                    AnswerOp::Question { answers } => Answer::Question { answers },
                    AnswerOp::Interrupt { value } => Answer::Interrupt { value },
                };
                self.later(session_id, Wish::Answer { ask_id, answer }, reference);
                return None;
            }
        };
        Some(match answer {
            Ok(answer) => with_reference(answer, reference),
            Err(problem) => refuse(reference, &problem),
        })
    }

    /// Makes a wish whose answer may take a while; meanwhile the connection goes on.
    fn later(&mut self, session_id: SessionId, wish: Wish, reference: Option<Value>) {
        let (app, by, frames) = (self.app.clone(), self.by.clone(), self.frames.clone());
        self.tasks.spawn(async move {
            let answer = match app.sessions.wish(&session_id, Command { by, wish }).await {
                Ok(Reply::Stopped { stopped }) => {
                    json!({ "op": "stopped", "session_id": session_id, "stopped": stopped })
                }
                Ok(Reply::Resolved { seq }) => {
                    json!({ "op": "resolved", "session_id": session_id, "resolved": true, "seq": seq })
                }
                Ok(
                    Reply::Accepted { .. } | Reply::Done | Reply::Queue(_) | Reply::State { .. } | Reply::Noted { .. },
                ) => {
                    json!({ "op": "done", "session_id": session_id })
                }
                Err(error) => return drop(frames.send(refuse(reference, &error.into()).to_string()).await),
            };
            drop(frames.send(with_reference(answer, reference).to_string()).await);
        });
    }

    async fn subscribe(
        &mut self,
        session_id: SessionId,
        after: Seq,
        snapshots: bool,
        reference: Option<&Value>,
    ) -> Result<Value, Problem> {
        let row = self.app.sessions.row(&session_id).await?;
        let head = row.head;
        if after > head {
            return Err(Problem::new(
                axum::http::StatusCode::BAD_REQUEST,
                "bad_cursor",
                format!("the cursor {after} is after the head {head}; read again from what you have"),
            ));
        }
        if self.subscriptions.len() >= MAX_SUBSCRIPTIONS && !self.subscriptions.contains_key(&session_id) {
            return Err(Problem::invalid(format!(
                "one socket follows at most {MAX_SUBSCRIPTIONS} sessions; open another"
            )));
        }
        if snapshots {
            let pump = Pump::new(&self.app, &row, after)?;
            let task =
                self.tasks.spawn(tell_snapshots(pump, self.frames.clone(), reference.map(Value::to_string), row.id));
            return Ok(self.subscribed(&session_id, head, task));
        }
        let following = Following::new(&self.app, admit(&self.app)?);
        let mut follower = self.app.sessions.log().follow(&session_id, after);
        let (frames, reference_text) = (self.frames.clone(), reference.map(Value::to_string));
        let id = session_id.clone();
        let task = self.tasks.spawn(async move {
            let _following = following;
            loop {
                let frame = tokio::select! {
                    records = follower.next(FRAME_RECORDS) => match records {
                        Ok(records) => records,
                        Err(_) => return drop(frames.send(json!({ "op": "ended", "session_id": id }).to_string()).await),
                    },
                    () = tokio::time::sleep(HEARTBEAT) => {
                        let beat = json!({ "op": "heartbeat", "session_id": id, "head": follower.head() });
                        if frames.send(beat.to_string()).await.is_err() {
                            return;
                        }
                        continue;
                    }
                };
                for record in &frame {
                    if frames.send(event_frame(record, reference_text.as_deref())).await.is_err() {
                        return;
                    }
                }
            }
        });
        Ok(self.subscribed(&session_id, head, task))
    }

    fn subscribed(&mut self, session_id: &SessionId, head: Seq, task: AbortHandle) -> Value {
        // A second subscription to the same session replaces the first.
        if let Some(previous) = self.subscriptions.insert(session_id.clone(), task) {
            previous.abort();
        }
        json!({ "op": "subscribed", "session_id": session_id, "head": head })
    }
}

/// The frames of another form of the log, each with its name and where the log was.
async fn tell_snapshots(mut pump: Pump, frames: mpsc::Sender<String>, reference: Option<String>, id: SessionId) {
    let reference = reference.map_or_else(String::new, |reference| format!(r#""ref":{reference},"#));
    loop {
        let told: Vec<String> = match pump.next().await {
            Some(told) => told
                .iter()
                .map(|frame| {
                    let body = std::str::from_utf8(frame.body).unwrap_or("null");
                    let name = frame.name.unwrap_or_default();
                    format!(r#"{{"op":"frame",{reference}"session_id":"{id}","name":"{name}","data":{body}}}"#)
                })
                .collect(),
            None => return drop(frames.send(json!({ "op": "ended", "session_id": id }).to_string()).await),
        };
        for frame in told {
            if frames.send(frame).await.is_err() {
                return;
            }
        }
    }
}

/// The stored bytes, with only their frame around them.
fn event_frame(record: &Record, reference: Option<&str>) -> String {
    let event = std::str::from_utf8(&record.json).unwrap_or("null");
    match reference {
        Some(reference) => format!(r#"{{"op":"event","ref":{reference},"event":{event}}}"#),
        None => format!(r#"{{"op":"event","event":{event}}}"#),
    }
}

fn with_reference(mut answer: Value, reference: Option<Value>) -> Value {
    if let (Some(reference), Some(answer)) = (reference, answer.as_object_mut()) {
        answer.insert("ref".to_owned(), reference);
    }
    answer
}

fn refuse(reference: Option<Value>, problem: &Problem) -> Value {
    with_reference(json!({ "op": "error", "problem": problem }), reference)
}
