//! The Socket.IO gateway: what the snapshot protocol's own client connects to. It routes messages between a device and the one hub that is here; calls
//! and streams are those of `snapshot`. Such a client cannot send headers, so it is let in by the token in its first call.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::Query;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use socketioxide::extract::{AckSender, Data, SocketRef};
use socketioxide::layer::SocketIoLayer;
use socketioxide::{SendError, SocketError, SocketIo};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use turnloom_core::command::When;
use turnloom_core::dialect::snapshot::AGENT_ID;
use turnloom_core::event::Part;
use turnloom_core::id::{Seq, SessionId};

use super::super::App;
use super::snapshot::{CallAnswer, CallError, Pump, Request, conversation, perform};
use super::{find, send};
use crate::log::{SessionQuery, SessionRow};

/// Where these clients connect to.
pub(in super::super) const PATH: &str = "/ws";

const PING_EVERY: Duration = Duration::from_secs(25);
const PING_PATIENCE: Duration = Duration::from_secs(20);

/// Messages of one device that wait. More than this at once is a client gone wrong, and it is told so.
const MAX_WAITING: usize = 64;

/// Conversations that one device follows.
const MAX_FOLLOWED: usize = 64;

/// How long a reader that does not read is left alone before it is tried again.
const FULL: Duration = Duration::from_millis(20);

/// The layer that takes the gateway's requests and leaves the others alone.
pub(in super::super) fn layer(app: &App) -> SocketIoLayer {
    let builder = SocketIo::builder().req_path(PATH).ping_interval(PING_EVERY).ping_timeout(PING_PATIENCE);
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
    devices: Arc<Mutex<HashSet<Device>>>,
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
struct Said {
    conversation_id: String,
    content: String,
}

impl Gateway {
    async fn serve(self, socket: SocketRef) {
        let device = Query::<Device>::try_from_uri(&socket.req_parts().uri).map(|query| query.0);
        let Ok(device) = device else { return leave(&socket) };
        if device.device_id.is_empty() || !self.enter(&device) {
            let refused =
                json!({ "success": false, "deviceId": device.device_id, "error": "this device is connected already" });
            drop(socket.emit("registered", &refused));
            return leave(&socket);
        }
        let (messages, incoming) = mpsc::channel(MAX_WAITING);
        self.listen(&socket, &device, messages);
        drop(socket.emit("registered", &json!({ "success": true, "deviceId": device.device_id })));
        let admitted = self.app.access.admits(&socket.req_parts().headers);
        let connection = Connection {
            app: self.app.clone(),
            socket: socket.clone(),
            device: device.device_id.clone(),
            admitted,
            follows: HashMap::new(),
            tasks: JoinSet::new(),
        };
        connection.run(incoming).await;
        self.lock().remove(&device);
        leave(&socket);
    }

    fn listen(&self, socket: &SocketRef, device: &Device, messages: mpsc::Sender<Value>) {
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
        socket.on("ping", async |Data::<Value>(what), ack: AckSender| drop(ack.send(&what)));
        let devices = Arc::clone(&self.devices);
        socket.on("list-devices", move |ack: AckSender| {
            let mut listed = vec![json!({ "deviceId": AGENT_ID, "deviceType": "hub" })];
            let known = devices.lock().unwrap_or_else(PoisonError::into_inner);
            listed.extend(
                known.iter().map(|device| json!({ "deviceId": device.device_id, "deviceType": device.device_type })),
            );
            drop(known);
            async move { drop(ack.send(&listed)) }
        });
        // The queue ends with the connection, and the loop with the queue.
        let (id, messages) = (device.device_id.clone(), messages);
        socket.on_disconnect(move || {
            let gone = json!({ "gone": id });
            async move { drop(messages.send(gone).await) }
        });
    }

    fn enter(&self, device: &Device) -> bool {
        let mut devices = self.lock();
        !devices.iter().any(|known| known.device_id == device.device_id) && devices.insert(device.clone())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashSet<Device>> {
        self.devices.lock().unwrap_or_else(PoisonError::into_inner)
    }
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
    socket: SocketRef,
    device: String,
    /// It may do what the token allows.
    admitted: bool,
    follows: HashMap<SessionId, tokio::task::AbortHandle>,
    tasks: JoinSet<()>,
}

impl Connection {
    async fn run(mut self, mut incoming: mpsc::Receiver<Value>) {
        loop {
            tokio::select! {
                () = self.app.closing.cancelled() => return,
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
            Err(error) => return self.refuse(&message, "INVALID_MESSAGE", &format!("this is not a message: {error}")),
        };
        if routed.from != self.device {
            return self.refuse(&message, "INVALID_MESSAGE", "a message is from the device that sends it");
        }
        if routed.to != AGENT_ID {
            return self.refuse(&message, "DEVICE_NOT_FOUND", "there is no such device here");
        }
        match routed.action.as_str() {
            "request" => {
                let request: Request = match serde_json::from_value(routed.payload) {
                    Ok(request) => request,
                    Err(error) => {
                        return self.refuse(&message, "INVALID_MESSAGE", &format!("this is not a call: {error}"));
                    }
                };
                let outcome = self.call(&request.method, &request.params.unwrap_or_default()).await;
                self.receive("response", &json!(CallAnswer::of(request.id, outcome)));
            }
            "message" => {
                let outcome = self.say(routed.payload.clone()).await;
                if let Err(CallError { code, message }) = outcome {
                    let conversation = routed.payload.get("conversationId");
                    let error = json!({ "code": code, "message": message, "messageId": routed.id, "conversationId": conversation });
                    self.receive("error", &error);
                }
            }
            other => self.refuse(&message, "INVALID_MESSAGE", &format!("there is no action {other:?}")),
        }
    }

    fn refuse(&self, message: &Value, code: &str, error: &str) {
        drop(self.socket.emit("send_error", &send_error(message, code, error)));
    }

    fn receive(&self, action: &str, payload: &Value) {
        drop(self.socket.emit("receive", &envelope(&self.device, action, payload)));
    }

    async fn call(&mut self, method: &str, params: &Map<String, Value>) -> Result<Value, CallError> {
        if method == "verify" {
            return self.verify(params).await;
        }
        self.check()?;
        let by = format!("gateway:{}", self.device);
        let payload = perform(&self.app, &by, method, params).await?;
        // Whoever reads a conversation follows it from there, so that nothing falls between.
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
        let message = "call `verify` with the daemon's token first";
        if self.admitted { Ok(()) } else { Err(CallError::new("UNAUTHORIZED", message)) }
    }

    async fn verify(&mut self, params: &Map<String, Value>) -> Result<Value, CallError> {
        let token = params.get("token").and_then(Value::as_str);
        self.admitted |= token.is_some_and(|token| self.app.access.knows(token));
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
        let said: Said = serde_json::from_value(payload).map_err(|error| CallError::params(error.to_string()))?;
        let params = Map::from_iter([("conversationId".to_owned(), json!(said.conversation_id))]);
        let row = conversation(&self.app, &params).await?;
        if !self.follows.contains_key(&row.id) {
            self.follow_row(&row, row.head)?;
        }
        let content = vec![Part::Text { text: said.content }];
        let by = format!("gateway:{}", self.device);
        send(&self.app, &row, (None, content), When::Queue, &by).await?;
        Ok(())
    }

    async fn follow(&mut self, id: Option<SessionId>, after: Seq) -> Result<(), CallError> {
        let Some(id) = id else { return Ok(()) };
        match find(&self.app, &id).await? {
            Some(row) => self.follow_row(&row, after),
            None => Ok(()),
        }
    }

    fn follow_row(&mut self, row: &SessionRow, after: Seq) -> Result<(), CallError> {
        if self.follows.len() >= MAX_FOLLOWED && !self.follows.contains_key(&row.id) {
            let message = format!("one device follows at most {MAX_FOLLOWED} conversations");
            return Err(CallError::new("RPC_ERROR", message));
        }
        let pump = Pump::new(&self.app, row, after)?;
        let task = self.tasks.spawn(tell(pump, self.socket.clone(), self.device.clone()));
        // What was followed before is followed from a newer place now.
        if let Some(previous) = self.follows.insert(row.id.clone(), task) {
            previous.abort();
        }
        Ok(())
    }
}

fn envelope(device: &str, action: &str, payload: &Value) -> Value {
    let id = uuid::Uuid::now_v7().to_string();
    json!({ "id": id, "uid": null, "from": AGENT_ID, "to": device, "action": action, "payload": payload })
}

/// Sends what a conversation tells, as fast as the device reads it.
async fn tell(mut pump: Pump, socket: SocketRef, device: String) {
    while let Some(frames) = pump.next().await {
        let told: Vec<Value> = frames
            .iter()
            .filter_map(|frame| {
                let payload = serde_json::from_slice(frame.body).ok()?;
                Some(envelope(&device, frame.name.unwrap_or_default(), &payload))
            })
            .collect();
        for message in told {
            loop {
                match socket.emit("receive", &message) {
                    Ok(()) => break,
                    Err(SendError::Socket(SocketError::InternalChannelFull)) => tokio::time::sleep(FULL).await,
                    Err(_) => return,
                }
            }
        }
    }
}
