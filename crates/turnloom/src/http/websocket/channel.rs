//! A socket for those whom no WebSocket reaches: what is told is one stream of server-sent events, and ops are posted to it. So all streams of a
//! browser take one of the few connections that it has. What ops do stands in `websocket`.

use std::collections::HashMap;
use std::time::Duration;

use axum::extract::{Extension, Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use futures_util::stream;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use super::op::Op;
use super::outgoing::Outgoing;
use super::{Connection, FRAMES_AHEAD, OpenSocket, refuse};
use crate::http::App;
use crate::http::access::{Ends, random_token};
use crate::http::extract::{Body, Client};
use crate::http::problem::Problem;
use crate::reader::{HEARTBEAT, sse_texts};
use crate::scoped_tokens::Holder;
use crate::sync::Locked;

/// Channels that may be open: one for each browser, and room for those that were left a moment ago.
const MAX_CHANNELS: usize = 1_024;

/// Ops of one channel that wait. Whoever posts more waits too.
const OPS_AHEAD: usize = 64;

/// The channels that are open, by names that nobody can guess, and the way to each.
#[derive(Debug, Default)]
pub(in crate::http) struct Channels(Locked<HashMap<String, mpsc::Sender<Map<String, Value>>>>);

/// One that is open, until this is dropped.
struct Open {
    app: App,
    name: String,
}

impl Open {
    fn new(app: App, ops: mpsc::Sender<Map<String, Value>>) -> Result<Self, Problem> {
        let name = random_token();
        let mut channels = app.socket_channels.0.lock();
        if channels.len() >= MAX_CHANNELS {
            let detail = format!("{MAX_CHANNELS} channels are open; close some, and try again");
            return Err(Problem::new(StatusCode::TOO_MANY_REQUESTS, "too_many_channels", detail));
        }
        channels.insert(name.clone(), ops);
        drop(channels);
        Ok(Self { app, name })
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.app.socket_channels.0.lock().remove(&self.name);
    }
}

pub(in crate::http) async fn open(
    State(app): State<App>,
    Client(by): Client,
    holder: Option<Extension<Holder>>,
    ends: Ends,
) -> Result<Response, Problem> {
    let (ops, mut posted) = mpsc::channel(OPS_AHEAD);
    let (frames, outgoing) = mpsc::channel(FRAMES_AHEAD);
    let open = Open::new(app.clone(), ops)?;
    let first = json!({ "op": "opened", "channel": open.name }).to_string();
    let holder = holder.map(|Extension(holder)| holder);
    let (closing, workers, counted) = (app.closing.clone(), app.workers.clone(), OpenSocket::new(&app));
    workers.spawn(async move {
        let (_open, _counted) = (open, counted);
        let mut connection = Connection::new(app, by, holder, frames.clone());
        tokio::select! {
            () = closing.cancelled() => {}
            () = ends.ended() => {}
            // Nobody reads it any more.
            () = frames.closed() => {}
            () = connection.run_posted(&mut posted) => {}
        }
    });
    let texts = stream::unfold((Some(first), outgoing), |(first, mut outgoing)| async move {
        let text = match first {
            Some(first) => Some(Outgoing::from(first)),
            None => match tokio::time::timeout(ALIVE, outgoing.recv()).await {
                Ok(text) => Some(text?),
                Err(_) => None,
            },
        };
        Some((text.map_or_else(Vec::new, Outgoing::into_pieces), (None, outgoing)))
    });
    Ok(sse_texts(texts))
}

/// Something is said at least so often, for whoever stands between and ends what is silent.
const ALIVE: Duration = HEARTBEAT;

/// The channel a path names.
#[derive(Debug, Deserialize)]
pub(in crate::http) struct ChannelPath {
    channel: String,
}

/// What the `AsyncAPI` document calls ops, in the order in which they are to be done.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(transparent)]
pub(in crate::http) struct Ops(Vec<Map<String, Value>>);

pub(in crate::http) async fn post(
    State(app): State<App>,
    Path(ChannelPath { channel }): Path<ChannelPath>,
    Body(Ops(ops)): Body<Ops>,
) -> Result<StatusCode, Problem> {
    let gone = || Problem::new(StatusCode::NOT_FOUND, "channel_not_found", "there is no such channel; open another");
    let way = app.socket_channels.0.lock().get(&channel).cloned().ok_or_else(gone)?;
    for op in ops {
        way.send(op).await.map_err(|_| gone())?;
    }
    Ok(StatusCode::NO_CONTENT)
}

impl Connection {
    /// Until the channel ends.
    async fn run_posted(&mut self, posted: &mut mpsc::Receiver<Map<String, Value>>) {
        loop {
            let fields = tokio::select! {
                Some(_) = self.tasks.join_next() => continue,
                fields = posted.recv() => fields,
            };
            let Some(fields) = fields else { return };
            let (reference, op) = Op::of_fields(fields);
            let answer = match op {
                Ok(op) => self.run_op(reference, op).await,
                Err(problem) => Some(refuse(reference, &problem)),
            };
            if let Some(answer) = answer
                && self.frames.send(answer.to_string().into()).await.is_err()
            {
                return;
            }
        }
    }
}
