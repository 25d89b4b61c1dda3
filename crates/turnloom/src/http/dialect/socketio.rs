//! The Socket.IO gateway for the snapshot protocol's own client. It routes messages between a device and the one hub that is here; calls and streams
//! are those of `snapshot`. Such a client cannot send headers, so it authenticates with the token in its first call.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::extract::Query;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use socketioxide::extract::{AckSender, Data, SocketRef};
use socketioxide::layer::SocketIoLayer;
use socketioxide::{SendError, SocketError, SocketIo};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use turnloom_core::command::When;
use turnloom_core::dialect::snapshot::AGENT_ID;
use turnloom_core::event::Part;
use turnloom_core::id::{Seq, SessionId};

use super::super::App;
use super::super::connections::{KnownSession, Place, RegisteredConnection};
use super::super::sign_ins::SignedIn;
use super::snapshot::{self, CallAnswer, CallError, Request, conversation, perform};
use super::{find, send};
use crate::log::{SessionQuery, SessionRow};
use crate::reader::{Frame, FrameStream, Ids, until};
use crate::sync::Locked;

/// Where these clients connect to.
pub(in super::super) const PATH: &str = "/ws";

const PING_EVERY: Duration = Duration::from_secs(25);
const PING_TIMEOUT: Duration = Duration::from_secs(20);

/// Messages of one device that wait. More than this at once is a client gone wrong, and it is told so.
const MAX_WAITING: usize = 64;

/// How many packets may wait for one device. Each may hold a whole message, so the number is small; a sender waits for room.
const MAX_UNREAD: usize = 16;

/// How long a connection may take to become one of a device.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a device may be connected before it has shown its token.
const VERIFY_TIMEOUT: Duration = Duration::from_mins(1);

/// Why a call is refused before that.
const UNVERIFIED: &str = "call `verify` with the daemon's token first";

/// Conversations that one device follows.
const MAX_FOLLOWED: usize = 64;

/// How long a reader that does not read is left alone before it is tried again.
const RETRY_DELAY: Duration = Duration::from_millis(20);

/// The layer that takes the gateway's requests and leaves the others alone.
pub(in super::super) fn layer(app: &App) -> SocketIoLayer {
    let builder = SocketIo::builder().req_path(PATH).connect_timeout(CONNECT_TIMEOUT);
    let builder = builder.ping_interval(PING_EVERY).ping_timeout(PING_TIMEOUT).max_buffer_size(MAX_UNREAD);
    let (layer, io) = builder.build_layer();
    let gateway = Gateway { app: app.clone(), devices: Arc::default() };
    io.ns("/", move |socket: SocketRef| {
        let gateway = gateway.clone();
        async move { gateway.serve(socket).await }
    });
    layer
}

#[derive(Clone)]
struct Gateway {
    app: App,
    /// Devices that have verified the token. Others take no space here.
    devices: Arc<Locked<HashSet<Device>>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Device {
    device_id: String,
    device_type: String,
}

/// What goes between devices.
#[derive(Debug, Deserialize)]
struct Routed {
    #[serde(default)]
    id: String,
    from: String,
    to: String,
    action: String,
    #[serde(default)]
    payload: Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SendRequest {
    conversation_id: String,
    content: String,
}

impl Gateway {
    async fn serve(self, socket: SocketRef) {
        let device = Query::<Device>::try_from_uri(&socket.req_parts().uri).map(|query| query.0);
        let Ok(device) = device else { return leave(&socket) };
        let admitted = Arc::new(AtomicBool::new(false));
        let asked = socket.req_parts();
        let by_header = self.app.access.admits(&asked.method, &asked.headers);
        let signed_in = asked.extensions.get::<SignedIn>().filter(|_| by_header);
        let signed_out = signed_in.map_or_else(CancellationToken::new, |signed_in| signed_in.ended.clone());
        let free = if by_header { self.enter(&device) } else { !self.has(&device.device_id) };
        if device.device_id.is_empty() || !free {
            let refused = json!({ "success": false, "deviceId": device.device_id, "error": CONNECTED_ALREADY });
            drop(socket.emit("registered", &refused));
            return leave(&socket);
        }
        admitted.store(by_header, Ordering::Relaxed);
        let (messages, incoming) = mpsc::channel(MAX_WAITING);
        self.listen(&socket, &device, messages, &admitted);
        drop(socket.emit("registered", &json!({ "success": true, "deviceId": device.device_id })));
        let connection = Connection {
            app: self.app.clone(),
            gateway: self.clone(),
            socket: socket.clone(),
            device: device.device_id.clone(),
            identity: device.clone(),
            admitted: Arc::clone(&admitted),
            signed_out,
            known_session: by_header.then(|| mark_session_known(&socket)).flatten(),
            follows: HashMap::new(),
            tasks: JoinSet::new(),
        };
        connection.run(incoming).await;
        if admitted.load(Ordering::Relaxed) {
            self.lock().remove(&device);
        }
        leave(&socket);
    }

    fn listen(&self, socket: &SocketRef, device: &Device, messages: mpsc::Sender<Value>, admitted: &Arc<AtomicBool>) {
        socket.on("send", {
            let messages = messages.clone();
            move |socket: SocketRef, Data::<Value>(message)| {
                let full = messages.try_send(message).err();
                async move {
                    if let Some(mpsc::error::TrySendError::Full(message)) = full {
                        drop(
                            socket.emit("send_error", &send_error(&message, "OVERLOADED", "too many messages at once")),
                        );
                    }
                }
            }
        });
        // These clients read what they want out of an object.
        let known = Arc::clone(admitted);
        socket.on("ping", move |Data::<Value>(what), ack: AckSender| {
            let is_known = known.load(Ordering::Relaxed);
            let what = what.as_str().unwrap_or("pong");
            let answer =
                if is_known { json!({ "event": "pong", "data": what }) } else { json!({ "error": UNVERIFIED }) };
            async move { drop(ack.send(&answer)) }
        });
        let (devices, known) = (Arc::clone(&self.devices), Arc::clone(admitted));
        socket.on("list-devices", move |ack: AckSender| {
            let answer = if known.load(Ordering::Relaxed) {
                json!({ "devices": listed(&devices) })
            } else {
                json!({ "devices": [], "error": UNVERIFIED })
            };
            async move { drop(ack.send(&answer)) }
        });
        // The queue ends with the connection, and the loop with the queue.
        let (id, messages) = (device.device_id.clone(), messages);
        socket.on_disconnect(move || {
            let gone = json!({ "gone": id });
            async move { drop(messages.send(gone).await) }
        });
    }

    /// Takes the name of a device, unless another has it.
    fn enter(&self, device: &Device) -> bool {
        let mut devices = self.lock();
        !devices.iter().any(|known| known.device_id == device.device_id) && devices.insert(device.clone())
    }

    fn has(&self, id: &str) -> bool {
        self.lock().iter().any(|known| known.device_id == id)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashSet<Device>> {
        self.devices.lock()
    }
}

const CONNECTED_ALREADY: &str = "this device is connected already";

/// The hub, and the devices that are connected.
fn listed(devices: &Locked<HashSet<Device>>) -> Vec<Value> {
    let known = devices.lock();
    let devices = known.iter().map(|device| json!({ "deviceId": device.device_id, "deviceType": device.device_type }));
    std::iter::once(json!({ "deviceId": AGENT_ID, "deviceType": "hub" })).chain(devices).collect()
}

/// A device that has shown the token is no stranger any more, on none of its connections.
fn mark_session_known(socket: &SocketRef) -> Option<KnownSession> {
    let asked = &socket.req_parts().extensions;
    if let Some(place) = asked.get::<Place>() {
        place.leave();
    }
    asked.get::<RegisteredConnection>().map(|registered| registered.mark_session_known(socket.id.as_str()))
}

fn leave(socket: &SocketRef) {
    drop(socket.clone().disconnect());
}

fn send_error(message: &Value, code: &str, error: &str) -> Value {
    json!({ "messageId": message.get("id"), "code": code, "error": error })
}

/// One device that is connected.
struct Connection {
    app: App,
    gateway: Gateway,
    socket: SocketRef,
    device: String,
    identity: Device,
    /// It may do what the token allows.
    admitted: Arc<AtomicBool>,
    /// A connection that was opened with a sign-in is closed when the sign-in ends.
    signed_out: CancellationToken,
    /// All of its connections are known, once it is.
    known_session: Option<KnownSession>,
    follows: HashMap<SessionId, tokio::task::AbortHandle>,
    tasks: JoinSet<()>,
}

impl Connection {
    async fn run(mut self, mut incoming: mpsc::Receiver<Value>) {
        let patience = Instant::now() + VERIFY_TIMEOUT;
        loop {
            let deadline = (!self.admitted.load(Ordering::Relaxed)).then_some(patience);
            tokio::select! {
                () = self.app.closing.cancelled() => return,
                () = self.signed_out.cancelled() => return,
                () = until(deadline) => return,
                Some(_) = self.tasks.join_next() => {}
                message = incoming.recv() => match message {
                    Some(message) if message.get("gone").is_none() => self.take(message).await,
                    Some(_) | None => return,
                },
            }
            if !self.socket.connected() {
                return;
            }
        }
    }

    async fn take(&mut self, message: Value) {
        let routed: Routed = match serde_json::from_value(message.clone()) {
            Ok(routed) => routed,
            Err(error) => {
                return self.refuse(&message, "INVALID_MESSAGE", &format!("this is not a message: {error}")).await;
            }
        };
        if routed.from != self.device {
            return self.refuse(&message, "INVALID_MESSAGE", "a message is from the device that sends it").await;
        }
        if routed.to != AGENT_ID {
            return self.refuse(&message, "DEVICE_NOT_FOUND", "there is no such device here").await;
        }
        match routed.action.as_str() {
            "request" => {
                let request: Request = match serde_json::from_value(routed.payload) {
                    Ok(request) => request,
                    Err(error) => {
                        let why = format!("this is not a call: {error}");
                        return self.refuse(&message, "INVALID_MESSAGE", &why).await;
                    }
                };
                let outcome = self.call(&request.method, &request.params.unwrap_or_default()).await;
                self.receive("response", &json!(CallAnswer::of(request.id, outcome))).await;
            }
            "message" => {
                let outcome = self.say(routed.payload.clone()).await;
                if let Err(CallError { code, message }) = outcome {
                    let conversation = routed.payload.get("conversationId");
                    let error = json!({ "code": code, "message": message, "messageId": routed.id, "conversationId": conversation });
                    self.receive("error", &error).await;
                }
            }
            other => self.refuse(&message, "INVALID_MESSAGE", &format!("there is no action {other:?}")).await,
        }
    }

    async fn refuse(&self, message: &Value, code: &str, error: &str) {
        emit(&self.socket, "send_error", &send_error(message, code, error)).await;
    }

    async fn receive(&self, action: &str, payload: &Value) {
        emit(&self.socket, "receive", &envelope(&self.device, action, payload)).await;
    }

    async fn call(&mut self, method: &str, params: &Map<String, Value>) -> Result<Value, CallError> {
        if method == "verify" {
            return self.verify(params).await;
        }
        self.check()?;
        let by = format!("gateway:{}", self.device);
        let payload = perform(&self.app, &by, method, params).await?;
        // A client that reads a conversation follows it from that position, so that it misses nothing.
        let named = |name: &str| payload.get(name).and_then(Value::as_str).map(SessionId::trusted);
        match method {
            "getAgentMessages" => {
                let after = payload.get("after").and_then(Value::as_u64).map_or(Seq::ZERO, Seq);
                self.follow(named("conversationId"), after).await?;
            }
            "createConversation" => self.follow(named("id"), Seq::ZERO).await?,
            _ => {}
        }
        Ok(payload)
    }

    fn check(&self) -> Result<(), CallError> {
        let admitted = self.admitted.load(Ordering::Relaxed);
        if admitted { Ok(()) } else { Err(CallError::new("UNAUTHORIZED", UNVERIFIED)) }
    }

    async fn verify(&mut self, params: &Map<String, Value>) -> Result<Value, CallError> {
        let token = params.get("token").and_then(Value::as_str);
        let knows = token.is_some_and(|token| self.app.access.knows(token));
        if knows && !self.admitted.load(Ordering::Relaxed) {
            if !self.gateway.enter(&self.identity) {
                return Err(CallError::new("REJECTED", CONNECTED_ALREADY));
            }
            self.admitted.store(true, Ordering::Relaxed);
            self.known_session = mark_session_known(&self.socket);
        }
        self.check()?;
        let query = SessionQuery { limit: 1, ..SessionQuery::default() };
        let newest = self.app.sessions.log().sessions(query).await?.sessions.into_iter().next();
        let id = if let Some(row) = newest {
            row.id.to_string()
        } else {
            let made = perform(&self.app, &self.device, "createConversation", &Map::new()).await?;
            made.get("id").and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        Ok(json!({ "hubId": AGENT_ID, "agentId": AGENT_ID, "conversationId": id, "isNewDevice": false }))
    }

    async fn say(&mut self, payload: Value) -> Result<(), CallError> {
        self.check()?;
        let said: SendRequest =
            serde_json::from_value(payload).map_err(|error| CallError::params(error.to_string()))?;
        let params = Map::from_iter([("conversationId".to_owned(), json!(said.conversation_id))]);
        let row = conversation(&self.app, &params).await?;
        if !self.follows.contains_key(&row.id) {
            self.follow_row(&row, row.head).await?;
        }
        let content = vec![Part::Text { text: said.content }];
        let by = format!("gateway:{}", self.device);
        send(&self.app, &row, (None, content), When::Queue, &by).await?;
        Ok(())
    }

    async fn follow(&mut self, id: Option<SessionId>, after: Seq) -> Result<(), CallError> {
        let Some(id) = id else { return Ok(()) };
        match find(&self.app, &id).await? {
            Some(row) => self.follow_row(&row, after).await,
            None => Ok(()),
        }
    }

    async fn follow_row(&mut self, row: &SessionRow, after: Seq) -> Result<(), CallError> {
        if self.follows.len() >= MAX_FOLLOWED && !self.follows.contains_key(&row.id) {
            let message = format!("one device follows at most {MAX_FOLLOWED} conversations");
            return Err(CallError::new("RPC_ERROR", message));
        }
        let frames = snapshot::follow(&self.app, row, after, Ids::None).await?;
        let task = self.tasks.spawn(forward_frames(frames, self.socket.clone(), self.device.clone()));
        // What was followed before is followed from a newer place now.
        if let Some(previous) = self.follows.insert(row.id.clone(), task) {
            previous.abort();
        }
        Ok(())
    }
}

fn envelope(device: &str, action: &str, payload: &Value) -> Value {
    let id = uuid::Uuid::new_v4().to_string();
    json!({ "id": id, "uid": null, "from": AGENT_ID, "to": device, "action": action, "payload": payload })
}

/// Sends what a conversation tells, as fast as the device reads it.
async fn forward_frames(mut frames: impl FrameStream, socket: SocketRef, device: String) {
    while let Some(frame) = frames.next().await {
        let Frame::Projected(told) = frame else { continue };
        for frame in told.iter() {
            let Ok(payload) = serde_json::from_slice(frame.body) else { continue };
            let message = envelope(&device, frame.name.unwrap_or_default(), &payload);
            if emit(&socket, "receive", &message).await == SendResult::Gone {
                return;
            }
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum SendResult {
    Yes,
    /// Nobody is connected any more.
    Gone,
}

/// Says something to a device, once it has read enough of what was said before.
async fn emit(socket: &SocketRef, event: &str, message: &Value) -> SendResult {
    loop {
        match socket.emit(event, message) {
            Ok(()) => return SendResult::Yes,
            Err(SendError::Socket(SocketError::InternalChannelFull)) => tokio::time::sleep(RETRY_DELAY).await,
            Err(_) => return SendResult::Gone,
        }
    }
}
