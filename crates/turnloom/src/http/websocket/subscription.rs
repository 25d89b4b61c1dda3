//! One subscription of a socket: a source, and its frames as text. A task of its own, so that a slow one keeps nobody else waiting. What a source tells
//! stands with its route.

use std::num::NonZeroU16;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Map, Value, json};
use tokio::sync::{Semaphore, mpsc};
use turnloom_core::event::Record;
use turnloom_core::id::{Seq, SessionId};

use super::op::{Stream, Subscribe};
use super::outgoing::Outgoing;
use super::refuse;
use crate::http::App;
use crate::http::automation::LiveAutomation;
use crate::http::dialect::{snapshot, tasks};
use crate::http::events::{EventsQuery, unknown_dialect, within};
use crate::http::inbox::LiveInbox;
use crate::http::lists::LiveAsks;
use crate::http::problem::Problem;
use crate::http::sessions;
use crate::http::turns;
use crate::http::views;
use crate::reader::{Frame, FrameStream, Ids, Live, Types};

/// How many frames may be on their way to a client that says which it has read. A page that does not look keeps its own subscription waiting, not the
/// others on its socket, and the daemon keeps nothing for it: what it missed is read when it asks for more.
#[derive(Debug, Clone)]
pub(super) struct Window {
    room: Arc<Semaphore>,
    size: usize,
}

impl Window {
    pub(super) fn new(size: NonZeroU16) -> Self {
        let size = usize::from(size.get());
        Self { room: Arc::new(Semaphore::new(size)), size }
    }

    async fn take(&self) {
        if let Ok(room) = self.room.acquire().await {
            room.forget();
        }
    }

    /// Never more than there was: a client that counts wrong gets no larger window.
    pub(super) fn give(&self, frames: u16) {
        let missing = self.size.saturating_sub(self.room.available_permits());
        self.room.add_permits(usize::from(frames).min(missing));
    }
}

/// Where the frames of one subscription go.
pub(super) struct FrameSender {
    pub(super) frames: mpsc::Sender<Outgoing>,
    pub(super) window: Option<Window>,
    /// What every frame repeats: the `ref` and the name that the client gave, and the session.
    tag: Map<String, Value>,
    /// The same as text, for frames whose content is text already.
    prefix: String,
}

/// The socket is gone.
struct Gone;

impl FrameSender {
    pub(super) fn new(
        frames: mpsc::Sender<Outgoing>,
        window: Option<Window>,
        reference: Option<Value>,
        subscribe: &Subscribe,
    ) -> Self {
        let session = subscribe.session().map(|id| json!(id));
        let parts = [("ref", reference), ("subscription", subscribe.name.clone()), ("session_id", session)];
        let tag: Map<String, Value> =
            parts.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect();
        let parts: Vec<String> = tag.iter().map(|(name, value)| format!(r#""{name}":{value},"#)).collect();
        let prefix = parts.concat();
        Self { frames, window, tag, prefix }
    }

    fn tagged(&self, op: &str, more: Value) -> String {
        let mut frame = Map::from_iter([("op".to_owned(), json!(op))]);
        frame.extend(self.tag.clone());
        if let Value::Object(more) = more {
            frame.extend(more);
        }
        Value::Object(frame).to_string()
    }

    /// Nothing is written before there is room for it: however many subscriptions wait, they hold only what they share.
    async fn send(&self, write: impl FnOnce() -> Outgoing) -> Result<(), Gone> {
        let room = self.frames.reserve().await.map_err(|_| Gone)?;
        room.send(write());
        Ok(())
    }

    /// One that the client has to take before many more may come.
    async fn send_counted(&self, write: impl FnOnce() -> Outgoing) -> Result<(), Gone> {
        if let Some(window) = &self.window {
            window.take().await;
        }
        self.send(write).await
    }

    async fn send_any(&self, frame: Frame) -> Result<(), Gone> {
        let prefix = &self.prefix;
        match frame {
            Frame::Events(records) => {
                for record in records {
                    let before = || format!(r#"{{"op":"event",{prefix}"event":"#);
                    self.send_counted(|| Outgoing::ending_with(before(), stored(&record))).await?;
                }
                Ok(())
            }
            Frame::Projected(frames) => {
                for frame in frames.iter() {
                    self.send_frame(frame.name.unwrap_or_default(), frame.id, Bytes::copy_from_slice(frame.body))
                        .await?;
                }
                Ok(())
            }
            Frame::Named { name, position, data } => self.send_frame(&name, position, data.into()).await,
            Frame::Shared { name, position, json } => self.send_frame(name, Some(position), json).await,
            Frame::Plain { position, data } => {
                let before = || format!(r#"{{"op":"frame",{prefix}{}"data":"#, member(position));
                self.send_counted(|| Outgoing::ending_with(before(), data)).await
            }
            // The socket has a heartbeat of its own.
            Frame::Alive => Ok(()),
            Frame::Heartbeat { head } => {
                self.send(|| format!(r#"{{"op":"heartbeat",{prefix}"head":{head}}}"#).into()).await
            }
        }
    }

    async fn send_frame(&self, name: &str, position: Option<u64>, data: Bytes) -> Result<(), Gone> {
        let prefix = &self.prefix;
        let before = || format!(r#"{{"op":"frame",{prefix}"name":"{name}",{}"data":"#, member(position));
        self.send_counted(|| Outgoing::ending_with(before(), data)).await
    }

    /// Tells all that a source has to tell.
    async fn follow(&self, mut frames: impl FrameStream, told: Value) -> Result<(), Gone> {
        self.send(|| self.tagged("subscribed", told).into()).await?;
        while let Some(frame) = frames.next().await {
            self.send_any(frame).await?;
        }
        self.send(|| self.tagged("ended", Value::Null).into()).await
    }
}

fn member(position: Option<u64>) -> String {
    position.map_or_else(String::new, |position| format!(r#""position":{position},"#))
}

/// The bytes of an event as they are stored; what is no text would end the socket.
fn stored(record: &Record) -> Bytes {
    if std::str::from_utf8(&record.json).is_ok() { record.json.clone() } else { Bytes::from_static(b"null") }
}

/// Runs to the end of the stream, or of the socket.
pub(super) async fn run(app: App, by: String, stream: Stream, sender: FrameSender) {
    if let Err(problem) = open(app, by, stream, &sender).await {
        let reference = sender.tag.get("ref").cloned();
        let mut refused = refuse(reference, &problem);
        if let (Some(name), Some(refused)) = (sender.tag.get("subscription"), refused.as_object_mut()) {
            refused.insert("subscription".to_owned(), name.clone());
        }
        drop(sender.frames.send(refused.to_string().into()).await);
    }
}

async fn open(app: App, by: String, stream: Stream, sender: &FrameSender) -> Result<(), Problem> {
    // Boxed, because they are of very different sizes. A socket that is gone needs no answer.
    let done = match stream {
        Stream::Events { session_id, query } => Box::pin(events(&app, &session_id, query, sender)).await?,
        Stream::View { session_id, query } => {
            let head = app.sessions.row(&session_id).await?.head;
            let view = Box::pin(views::live(&app, &session_id, query)).await?;
            Box::pin(sender.follow(view, json!({ "head": head }))).await
        }
        Stream::Turn { session_id, send } => {
            let turn = Box::pin(turns::follow(&app, &session_id, by, send)).await?;
            Box::pin(sender.follow(turn, Value::Null)).await
        }
        Stream::Sessions(query) => Box::pin(sender.follow(sessions::follow(&app, query)?, Value::Null)).await,
        Stream::Tasks(query) => {
            let tasks = Box::pin(tasks::TaskStream::follow(&app, query)).await?;
            Box::pin(sender.follow(tasks, Value::Null)).await
        }
        Stream::Automation => Box::pin(sender.follow(LiveAutomation::follow(&app)?, Value::Null)).await,
        Stream::Inbox(query) => Box::pin(sender.follow(LiveInbox::open(&app, query)?, Value::Null)).await,
        Stream::Asks => Box::pin(sender.follow(LiveAsks::follow(&app)?, Value::Null)).await,
    };
    drop(done);
    Ok(())
}

async fn events(
    app: &App,
    session_id: &SessionId,
    query: EventsQuery,
    sender: &FrameSender,
) -> Result<Result<(), Gone>, Problem> {
    let row = app.sessions.row(session_id).await?;
    let after = within(query.after.map(Seq), row.head)?;
    let told = json!({ "head": row.head });
    match query.dialect.as_deref() {
        None | Some("native") => {
            let types = Types::parse(query.types.as_deref());
            let live = Live::new(app.reader.source(session_id, after, app.reader.admit()?), types);
            Ok(sender.follow(live, told).await)
        }
        Some("snapshot") => {
            let snapshots = snapshot::follow(app, &row, after, Ids::None).await?;
            Ok(sender.follow(snapshots, told).await)
        }
        Some(other) => Err(unknown_dialect(other)),
    }
}
