//! Where agents connect. One socket carries all sessions of a process; what is said on it is not read here, only who may speak and how a connection ends.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::extract::{Extension, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::json;
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::{Error as SocketError, Message};

use super::App;
use super::access::Ends;
use super::problem::Problem;
use super::websocket::{Socket, Upgrade};
use crate::runtime::external::{Close, Connection, External, Hello, MAX_MESSAGE_BYTES, Outgoing};
use crate::scoped_tokens::Holder;
use crate::sync::Locked;

/// How long a process may take to say who it is.
const HELLO_TIMEOUT: Duration = Duration::from_secs(5);

/// How often it is asked whether it is there, and after how long without a word it is taken for gone.
const HEARTBEAT: Duration = Duration::from_secs(15);
const SILENCE: Duration = Duration::from_secs(45);

/// How long a goodbye may take to leave.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

pub(super) async fn connect(
    State(app): State<App>,
    headers: HeaderMap,
    holder: Option<Extension<Holder>>,
    ends: Ends,
    upgrade: Upgrade,
) -> Result<Response, Problem> {
    if headers.contains_key(header::ORIGIN) {
        let detail = "agents are programs, not pages; connect without an `Origin`";
        return Err(Problem::new(StatusCode::FORBIDDEN, "foreign_origin", detail));
    }
    let holder = holder.map(|Extension(holder)| holder);
    let tasks = app.workers.clone();
    Ok(upgrade.with_largest(MAX_MESSAGE_BYTES).then(&tasks, async move |mut socket| {
        let closing = app.closing.clone();
        let close = tokio::select! {
            biased;
            () = closing.cancelled() => Close::LEAVING,
            () = ends.ended() => Close::UNAUTHORIZED,
            close = serve(&app, holder, &mut socket) => match close {
                Some(close) => close,
                None => return,
            },
        };
        let frame = CloseFrame { code: close.code.into(), reason: close.reason.into() };
        drop(tokio::time::timeout(CLOSE_TIMEOUT, socket.send(Message::Close(Some(frame)))).await);
        // The other side may want to answer before the socket is gone.
        drop(tokio::time::timeout(CLOSE_TIMEOUT, socket.next()).await);
    }))
}

/// Until the connection ends, and why; nothing if the other side has ended it.
async fn serve(app: &App, holder: Option<Holder>, socket: &mut Socket) -> Option<Close> {
    let hello = match tokio::time::timeout(HELLO_TIMEOUT, first_words(socket)).await {
        Ok(Ok(hello)) => hello,
        Ok(Err(close)) => return close,
        Err(_) => return Some(Close::BAD_HELLO),
    };
    if holder.is_some_and(|holder| !holder.may_be(&hello.agent)) {
        return Some(Close::UNAUTHORIZED);
    }
    let Some(agent) = app.sessions.runtimes().connecting(&hello.agent) else { return Some(Close::BAD_HELLO) };
    let mut turns = BTreeMap::new();
    for listed in &hello.sessions {
        let waking = app.sessions.wake_for_agent(&listed.session_id, &hello.agent, &hello.instance, listed.epoch);
        turns.insert(listed.session_id.clone(), waking.await.map(|turn| turn.to_string()));
    }
    carry(agent, &hello, &turns, socket).await
}

async fn first_words(socket: &mut Socket) -> Result<Hello, Option<Close>> {
    loop {
        match socket.next().await {
            Some(Ok(Message::Text(text))) => {
                let is_hello = |value: &serde_json::Value| value.get("type") == Some(&json!("hello"));
                let value = serde_json::from_str(text.as_str()).ok().filter(is_hello);
                let hello: Option<Hello> = value.and_then(|value| serde_json::from_value(value).ok());
                let hello = hello.filter(|hello| match hello.check() {
                    Ok(()) => true,
                    Err(error) => {
                        tracing::info!(agent = hello.agent, %error, "an agent was not let in");
                        false
                    }
                });
                return hello.ok_or(Some(Close::BAD_HELLO));
            }
            Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {}
            Some(Ok(Message::Binary(_))) => return Err(Some(Close::BAD_HELLO)),
            Some(Err(SocketError::Capacity(_))) => return Err(Some(Close::TOO_LARGE)),
            Some(Ok(Message::Close(_)) | Err(_)) | None => return Err(None),
        }
    }
}

/// Moves messages both ways.
async fn carry(
    agent: &'static External,
    hello: &Hello,
    turns: &BTreeMap<turnloom_core::id::SessionId, Option<String>>,
    socket: &mut Socket,
) -> Option<Close> {
    let (connection, outgoing) = agent.connect(hello, turns);
    let mut close = outgoing.close.clone();
    let heard_at = Locked::new(Instant::now());
    let (mut sink, mut stream) = socket.split();
    let writing = write(&mut sink, outgoing);
    let reading = read(&mut stream, &connection, &heard_at);
    let silence = async {
        loop {
            let until = *heard_at.lock() + SILENCE;
            if Instant::now() >= until {
                break;
            }
            tokio::time::sleep_until(until).await;
        }
    };
    tokio::select! {
        biased;
        ended = close.wait_for(Option::is_some) => ended.ok().and_then(|close| *close),
        close = reading => close,
        () = writing => None,
        () = silence => Some(Close::SILENT),
    }
}

async fn read(
    stream: &mut (impl futures_util::Stream<Item = Result<Message, SocketError>> + Unpin),
    connection: &Connection,
    heard_at: &Locked<Instant>,
) -> Option<Close> {
    loop {
        match stream.next().await {
            Some(Ok(Message::Text(text))) => {
                *heard_at.lock() = Instant::now();
                if let Err(close) = connection.receive(text.as_str()) {
                    return Some(close);
                }
            }
            // Libraries answer these even where the program hangs.
            Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {}
            Some(Ok(Message::Binary(_))) => return Some(Close::BAD_MESSAGE),
            Some(Err(SocketError::Capacity(_))) => return Some(Close::TOO_LARGE),
            Some(Ok(Message::Close(_)) | Err(_)) | None => return None,
        }
    }
}

async fn write(sink: &mut (impl futures_util::Sink<Message, Error = SocketError> + Unpin), mut outgoing: Outgoing) {
    let begun = Instant::now();
    let mut heartbeat = tokio::time::interval_at(begun + HEARTBEAT, HEARTBEAT);
    loop {
        let line = tokio::select! {
            line = outgoing.next() => line,
            _ = heartbeat.tick() => Some(json!({ "type": "ping", "t": begun.elapsed().as_secs() }).to_string()),
        };
        let Some(line) = line else { return };
        if sink.send(Message::text(line)).await.is_err() {
            return;
        }
    }
}
