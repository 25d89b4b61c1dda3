//! Everything over one WebSocket: follow any number of sessions and lists, send, stop, answer. Each op carries a `ref` of the client's choice, and its
//! answer repeats it. What can be followed and how stands in `websocket/subscription.rs`.

pub(super) mod channel;
mod op;
mod outgoing;
pub(super) mod shapes;
mod subscription;
mod upgrade;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Extension, State};
use axum::http::StatusCode;
use axum::response::Response;
use futures_util::stream::SplitStream;
use futures_util::{SinkExt as _, StreamExt as _};
use prometheus_client::metrics::gauge::Gauge;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::{AbortHandle, JoinSet};
use tokio_tungstenite::tungstenite::Message;
use turnloom_core::command::{ClientCommand, Command, Reply};
use turnloom_core::id::SessionId;

use self::op::{Op, Stop, Subscribe, Taken, Unsubscribe};
use self::outgoing::Outgoing;
use self::subscription::{FrameSender, Window};
pub(super) use self::upgrade::{Socket, Upgrade};
use super::App;
use super::access::Ends;
use super::extract::{Client, Query};
use super::messages::accept;
use super::problem::Problem;
use crate::scoped_tokens::Holder;

/// Frames on their way to a socket. One page is being written while the next is being read.
const FRAMES_AHEAD: usize = 2;

/// Streams one socket may follow. Several pages may share it.
const MAX_SUBSCRIPTIONS: usize = 256;

/// How many stops and answers of one socket may be pending. The socket is not read further until one of them is done.
const MAX_PENDING_OPS: usize = 64;

/// How long a goodbye may take to leave.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SocketQuery {
    /// Who asks, for those who cannot set the header `Turnloom-Client`.
    client: Option<String>,
}

pub(super) async fn upgrade(
    State(app): State<App>,
    Client(by): Client,
    Query(SocketQuery { client }): Query<SocketQuery>,
    holder: Option<Extension<Holder>>,
    ends: Ends,
    upgrade: Upgrade,
) -> Result<Response, Problem> {
    let holder = holder.map(|Extension(holder)| holder);
    let Client(by) = if client.is_some() && holder.is_none() { Client::named(client.as_deref())? } else { Client(by) };
    let tasks = app.workers.clone();
    Ok(upgrade.then(&tasks, async move |socket| {
        tokio::select! {
            () = serve(app, by, holder, socket) => {}
            // A socket is closed when the sign-in or the token ends that it was opened with.
            () = ends.ended() => {}
        }
    }))
}

/// Reads and writes side by side: an op that takes long does not hold up what is told, nor the other way round.
async fn serve(app: App, by: String, holder: Option<Holder>, socket: Socket) {
    let (closing, _open) = (app.closing.clone(), OpenSocket::new(&app));
    let (mut sink, mut stream) = socket.split();
    let (frames, mut outgoing) = mpsc::channel::<Outgoing>(FRAMES_AHEAD);
    let mut connection = Connection::new(app, by, holder, frames);
    let writing = async {
        while let Some(text) = outgoing.recv().await {
            for frame in text.frames() {
                if sink.send(Message::Frame(frame)).await.is_err() {
                    return;
                }
            }
        }
    };
    tokio::select! {
        () = closing.cancelled() => {}
        () = writing => {}
        () = connection.run_ops(&mut stream) => {}
    }
    drop(tokio::time::timeout(CLOSE_TIMEOUT, sink.send(Message::Close(None))).await);
}

/// Counts a socket for as long as it is open.
struct OpenSocket(Gauge);

impl OpenSocket {
    fn new(app: &App) -> Self {
        app.metrics.sockets.inc();
        Self(app.metrics.sockets.clone())
    }
}

impl Drop for OpenSocket {
    fn drop(&mut self) {
        self.0.dec();
    }
}

struct Connection {
    app: App,
    by: String,
    /// Whose scopes every op is held to.
    holder: Option<Holder>,
    frames: mpsc::Sender<Outgoing>,
    tasks: JoinSet<()>,
    underway: Arc<Semaphore>,
    subscriptions: HashMap<String, Running>,
}

/// A subscription that goes on by itself.
struct Running {
    task: AbortHandle,
    window: Option<Window>,
}

impl Connection {
    fn new(app: App, by: String, holder: Option<Holder>, frames: mpsc::Sender<Outgoing>) -> Self {
        let underway = Arc::new(Semaphore::new(MAX_PENDING_OPS));
        Self { app, by, holder, frames, tasks: JoinSet::new(), underway, subscriptions: HashMap::new() }
    }

    /// Until the client leaves.
    async fn run_ops(&mut self, stream: &mut SplitStream<Socket>) {
        loop {
            let message = tokio::select! {
                Some(_) = self.tasks.join_next() => continue,
                message = stream.next() => message,
            };
            let answer = match message {
                Some(Ok(Message::Text(text))) => match Op::read(text.as_str()) {
                    (reference, Ok(op)) => self.run_op(reference, op).await,
                    (reference, Err(problem)) => Some(refuse(reference, &problem)),
                },
                Some(Ok(Message::Binary(_))) => Some(refuse(None, &Problem::invalid("ops are text, not binary"))),
                Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => None,
                // The answer to a goodbye is ready by now; it leaves when the socket is used once more.
                Some(Ok(Message::Close(_))) => return drop(tokio::time::timeout(CLOSE_TIMEOUT, stream.next()).await),
                Some(Err(_)) | None => return,
            };
            if let Some(answer) = answer
                && self.frames.send(answer.to_string().into()).await.is_err()
            {
                return;
            }
        }
    }

    /// Does one op. What takes long is answered later, by a task of this connection.
    async fn run_op(&mut self, reference: Option<Value>, op: Op) -> Option<Value> {
        if let Some(holder) = self.holder.as_ref().filter(|holder| !holder.may(op.need())) {
            let detail = format!("{} may not do this; see the scopes in `turnloom tokens`", holder.name());
            return Some(refuse(reference, &Problem::new(StatusCode::FORBIDDEN, "forbidden", detail)));
        }
        let answer = match op {
            Op::Ping => Ok(json!({ "op": "pong" })),
            Op::Subscribe(subscribe) => match self.subscribe(subscribe, reference.clone()) {
                Ok(()) => return None,
                Err(problem) => Err(problem),
            },
            Op::Unsubscribe(unsubscribe) => self.unsubscribe(&unsubscribe),
            Op::Taken(Taken { subscription, frames }) => {
                // One that has ended meanwhile needs no more room.
                let running = self.subscriptions.get(&subscription.to_string());
                if let Some(window) = running.and_then(|running| running.window.as_ref()) {
                    window.give(frames);
                }
                return None;
            }
            Op::Send { session_id, send } => {
                let receipt = accept(&self.app, &session_id, self.by.clone(), send).await;
                receipt.map(|receipt| json!({ "op": "accepted", "session_id": session_id, "receipt": receipt }))
            }
            Op::Stop(Stop { session_id, turn_id, then }) => {
                self.later(session_id, Command::Stop { turn_id, then }, reference).await;
                return None;
            }
            Op::Answer { session_id, ask_id, answer } => {
                self.later(session_id, Command::Answer { ask_id, answer }, reference).await;
                return None;
            }
        };
        Some(match answer {
            Ok(answer) => with_reference(answer, reference),
            Err(problem) => refuse(reference, &problem),
        })
    }

    /// Sends a command whose answer may take a while; meanwhile the connection goes on.
    async fn later(&mut self, session_id: SessionId, command: Command, reference: Option<Value>) {
        let (app, by, frames) = (self.app.clone(), self.by.clone(), self.frames.clone());
        // It is never closed.
        let turn = Arc::clone(&self.underway).acquire_owned().await.ok();
        self.tasks.spawn(async move {
            let _turn = turn;
            let answer = match app.sessions.execute(&session_id, ClientCommand { by, command }).await {
                Ok(Reply::Stopped { stopped, background }) => {
                    json!({ "op": "stopped", "session_id": session_id, "stopped": stopped, "background": background })
                }
                Ok(Reply::Resolved { seq }) => {
                    json!({ "op": "resolved", "session_id": session_id, "resolved": true, "seq": seq })
                }
                Ok(
                    Reply::Accepted { .. }
                    | Reply::Done
                    | Reply::Queue(_)
                    | Reply::Queued(_)
                    | Reply::State { .. }
                    | Reply::Inherited(_)
                    | Reply::Noted { .. },
                ) => refuse(None, &Problem::unexpected("an op")),
                Err(error) => return drop(frames.send(refuse(reference, &error.into()).to_string().into()).await),
            };
            drop(frames.send(with_reference(answer, reference).to_string().into()).await);
        });
    }

    /// Starts a subscription, which answers by itself. A second one of the same name replaces the first.
    fn subscribe(&mut self, subscribe: Subscribe, reference: Option<Value>) -> Result<(), Problem> {
        let key = subscribe.key();
        self.end(&key);
        if self.subscriptions.len() >= MAX_SUBSCRIPTIONS {
            self.subscriptions.retain(|_, running| !running.task.is_finished());
        }
        if self.subscriptions.len() >= MAX_SUBSCRIPTIONS {
            let detail = format!("one socket follows at most {MAX_SUBSCRIPTIONS} streams; open another");
            return Err(Problem::invalid(detail));
        }
        let window = subscribe.window.map(Window::new);
        let sender = FrameSender::new(self.frames.clone(), window.clone(), reference, &subscribe);
        let running = subscription::run(self.app.clone(), self.by.clone(), subscribe.stream, sender);
        let task = self.tasks.spawn(running);
        self.subscriptions.insert(key, Running { task, window });
        Ok(())
    }

    fn unsubscribe(&mut self, unsubscribe: &Unsubscribe) -> Result<Value, Problem> {
        let (key, named) = match unsubscribe {
            Unsubscribe { subscription: Some(name), session_id: None } => {
                (name.to_string(), json!({ "subscription": name }))
            }
            Unsubscribe { subscription: None, session_id: Some(id) } => {
                (op::key_of_session(id), json!({ "session_id": id }))
            }
            _ => return Err(Problem::invalid("`unsubscribe` names a `subscription` or a `session_id`")),
        };
        let mut answer = json!({ "op": "unsubscribed", "was_subscribed": self.end(&key) });
        if let (Some(answer), Value::Object(named)) = (answer.as_object_mut(), named) {
            answer.extend(named);
        }
        Ok(answer)
    }

    /// Ends a subscription; false if it was not there, or had ended.
    fn end(&mut self, key: &str) -> bool {
        let Some(Running { task, .. }) = self.subscriptions.remove(key) else { return false };
        let went_on = !task.is_finished();
        task.abort();
        went_on
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
