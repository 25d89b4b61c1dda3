//! The processes of one agent that are connected, and which sessions each has. Everything here happens under one lock and waits for nothing; who waits
//! is a seat (a session's end) or a socket (a process's end).

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::sync::{mpsc, watch};
use turnloom_core::id::SessionId;
use turnloom_core::runtime::Capabilities;
use turnloom_core::runtime::external::{Control, PROTOCOL, capabilities};

use super::seat::{Seat, ToSession, Waiting};
use crate::sync::Locked;

/// The largest message, either way.
pub const MAX_MESSAGE_BYTES: usize = 16 * 1024 * 1024;

/// What of one session may be on its way to the log. Twice as much ends the connection.
const WINDOW_MESSAGES: usize = 1_024;
const WINDOW_BYTES: usize = 4 * 1024 * 1024;

/// What may wait for a process that does not read. Its orders are in the log; it can come back for them.
const MAX_OUTGOING_BYTES: usize = 32 * 1024 * 1024;

/// Sessions that one process may have, whatever it says.
const MAX_SESSIONS: usize = 10_000;

/// How often a process is asked whether it is there.
const HEARTBEAT_MS: u64 = 15_000;

/// The first words of a process.
#[derive(Debug, Clone, Deserialize)]
pub struct Hello {
    pub protocol: u64,
    pub agent: String,
    pub instance: String,
    pub version: Option<String>,
    pub title: Option<String>,
    #[serde(default)]
    pub capabilities: Map<String, Value>,
    #[serde(default)]
    pub modes: Vec<String>,
    pub max_sessions: Option<usize>,
    #[serde(default)]
    pub sessions: Vec<Listed>,
}

/// A session that a process has, as it says.
#[derive(Debug, Clone, Deserialize)]
pub struct Listed {
    pub session_id: SessionId,
    pub epoch: u64,
    /// The last order that it heard.
    #[serde(default)]
    pub heard: u64,
}

impl Hello {
    /// What is wrong with it, if something is.
    pub fn check(&self) -> Result<(), String> {
        if self.protocol != PROTOCOL {
            return Err(format!("`protocol` must be {PROTOCOL}"));
        }
        if self.instance.is_empty() || self.instance.len() > 128 || self.instance.chars().any(char::is_control) {
            return Err("`instance` has 1 to 128 characters".to_owned());
        }
        if self.sessions.len() > MAX_SESSIONS {
            return Err(format!("a process has at most {MAX_SESSIONS} sessions"));
        }
        Ok(())
    }
}

/// What the process that came last said of itself.
#[derive(Debug, Clone, Default)]
pub(super) struct Claims {
    pub(super) capabilities: Option<Capabilities>,
    pub(super) version: Option<String>,
    pub(super) title: Option<String>,
    pub(super) modes: Vec<String>,
}

/// Why a connection is ended: a code of WebSocket, and a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Close {
    pub code: u16,
    pub reason: &'static str,
}

impl Close {
    pub const LEAVING: Self = Self { code: 1001, reason: "the daemon leaves; come back" };
    pub const UNAUTHORIZED: Self = Self { code: 1008, reason: "unauthorized" };
    pub const BAD_HELLO: Self = Self { code: 1008, reason: "bad_hello" };
    pub const TOO_LARGE: Self = Self { code: 1009, reason: "too large" };
    pub const SILENT: Self = Self { code: 4002, reason: "silent" };
    pub const BAD_MESSAGE: Self = Self { code: 1008, reason: "bad_message" };
    const GAP: Self = Self { code: 1008, reason: "gap" };

    const WINDOW: Self = Self { code: 1008, reason: "window" };
    const LATER: Self = Self { code: 1013, reason: "come back" };
    const REPLACED: Self = Self { code: 4001, reason: "the same instance has connected again" };
}

/// What is to be sent to a process, and whether its connection has to end.
#[derive(Debug)]
pub struct Outgoing {
    pub lines: mpsc::UnboundedReceiver<String>,
    pub close: watch::Receiver<Option<Close>>,
    waiting: Arc<AtomicUsize>,
}

impl Outgoing {
    /// The next line.
    pub async fn next(&mut self) -> Option<String> {
        let line = self.lines.recv().await?;
        self.waiting.fetch_sub(line.len(), Ordering::Relaxed);
        Some(line)
    }
}

#[derive(Debug)]
struct Connected {
    instance: String,
    max_sessions: usize,
    lines: mpsc::UnboundedSender<String>,
    waiting: Arc<AtomicUsize>,
    close: watch::Sender<Option<Close>>,
}

impl Connected {
    fn send(&self, line: String) {
        let waiting = self.waiting.fetch_add(line.len(), Ordering::Relaxed);
        if waiting > MAX_OUTGOING_BYTES {
            self.close.send_replace(Some(Close::LATER));
        }
        // Who is gone is told nothing.
        drop(self.lines.send(line));
    }
}

/// A session's place.
#[derive(Debug)]
struct Place {
    /// Which seat it is, of all that this session ever had.
    seat: u64,
    to_session: mpsc::UnboundedSender<ToSession>,
    epoch: u64,
    instance: Option<String>,
    connection: Option<u64>,
    /// It has said that it is ready.
    opened: bool,
    /// What the session says goes to the connection. Not before the session has said again what was missed.
    live: bool,
    /// The last number that was taken, and the last that is durable.
    received: u64,
    committed: u64,
    unacknowledged: VecDeque<(u64, usize)>,
    unacknowledged_bytes: usize,
}

impl Place {
    fn tell(&self, control: &Control) {
        drop(self.to_session.send(ToSession::Line(control.line())));
    }

    fn end(&self, code: i32) {
        drop(self.to_session.send(ToSession::End(code)));
    }

    fn acknowledge(&mut self, said: u64) {
        self.committed = self.committed.max(said);
        while let Some((_, bytes)) = self.unacknowledged.pop_front_if(|(n, _)| *n <= said) {
            self.unacknowledged_bytes -= bytes;
        }
    }

    /// Whether there is still room for a message of this size, in twice the window.
    fn take(&mut self, n: u64, bytes: usize) -> bool {
        let has_room = self.unacknowledged.len() < 2 * WINDOW_MESSAGES
            && (self.unacknowledged.is_empty() || self.unacknowledged_bytes + bytes <= 2 * WINDOW_BYTES);
        if has_room {
            self.received = n;
            self.unacknowledged.push_back((n, bytes));
            self.unacknowledged_bytes += bytes;
        }
        has_room
    }
}

#[derive(Debug, Default)]
struct State {
    connections: BTreeMap<u64, Connected>,
    places: HashMap<SessionId, Place>,
    numbers: u64,
    claims: Claims,
}

/// The hub of one agent.
#[derive(Debug, Default, Clone)]
pub(super) struct Hub(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: Locked<State>,
    /// Somebody came, or has room again.
    changed: watch::Sender<()>,
}

/// What must be known of any message to pass it on.
#[derive(Deserialize)]
struct Head<'a> {
    #[serde(rename = "type", borrow)]
    kind: std::borrow::Cow<'a, str>,
    session_id: Option<SessionId>,
    n: Option<u64>,
}

impl Hub {
    pub(super) fn connected(&self) -> usize {
        self.0.state.lock().connections.len()
    }

    pub(super) fn claims(&self) -> Claims {
        self.0.state.lock().claims.clone()
    }

    pub(super) fn changes(&self) -> watch::Receiver<()> {
        self.0.changed.subscribe()
    }

    /// A place for a session. One that it had before is gone: a session has one agent at a time.
    #[expect(clippy::disallowed_methods, reason = "bounded by the window: who says more is disconnected")]
    pub(super) fn seat(&self, session: SessionId, waiting: Waiting) -> Seat {
        let (to_session, inbox) = mpsc::unbounded_channel();
        let mut state = self.0.state.lock();
        state.numbers += 1;
        let number = state.numbers;
        let (epoch, instance, said) = match &waiting {
            Waiting::ForSomebody { epoch, .. } => (*epoch, None, 0),
            Waiting::ForItsOwner(cursor) => (cursor.epoch, Some(cursor.instance.clone()), cursor.said),
        };
        if let Some(instance) = &instance {
            // It believes that it still has it, and nobody would tell it otherwise. It comes back, and is asked.
            state.connections.values().filter(|known| known.instance == *instance).for_each(|known| {
                known.close.send_replace(Some(Close::LATER));
            });
        }
        let place = Place {
            seat: number,
            to_session,
            epoch,
            opened: instance.is_some(),
            instance,
            connection: None,
            live: false,
            received: said,
            committed: said,
            unacknowledged: VecDeque::new(),
            unacknowledged_bytes: 0,
        };
        if let Some(before) = state.places.insert(session.clone(), place) {
            before.end(1);
        }
        Seat { hub: self.clone(), session, number, inbox, waiting }
    }

    /// Gives a session to the process that has the fewest, and sends it there. Nothing if there is none with room.
    pub(super) fn open(&self, session: &SessionId, seat: u64, line: &str) -> Option<String> {
        let mut state = self.0.state.lock();
        let State { connections, places, .. } = &mut *state;
        let count = |id: u64| places.values().filter(|place| place.connection == Some(id)).count();
        let free = connections.iter().map(|(id, known)| (count(*id), *id, known));
        let (_, id, chosen) =
            free.filter(|(count, _, known)| *count < known.max_sessions).min_by_key(|(count, id, _)| (*count, *id))?;
        let (instance, place) = (chosen.instance.clone(), places.get_mut(session).filter(|place| place.seat == seat)?);
        place.instance = Some(instance.clone());
        (place.connection, place.live) = (Some(id), true);
        chosen.send(line.to_owned());
        Some(instance)
    }

    /// A line of a session: for the hub, or for its agent.
    pub(super) fn take_from_session(&self, session: &SessionId, seat: u64, line: &[u8]) {
        let mut state = self.0.state.lock();
        let State { connections, places, .. } = &mut *state;
        let Some(place) = places.get_mut(session).filter(|place| place.seat == seat) else { return };
        match Control::parse(line) {
            Some(Control::Live { connection }) => {
                place.live = place.connection == Some(connection);
                return;
            }
            Some(Control::Disconnect) => {
                if let Some(known) = place.connection.and_then(|id| connections.get(&id)) {
                    known.close.send_replace(Some(Close::LATER));
                }
                return;
            }
            Some(_) => return,
            None => {}
        }
        let Ok(text) = std::str::from_utf8(line) else { return };
        if let Ok(Head { kind, n: Some(n), .. }) = serde_json::from_str(text)
            && kind == "ack"
        {
            place.acknowledge(n);
        }
        if let Some(known) = place.connection.filter(|_| place.live).and_then(|id| connections.get(&id)) {
            known.send(text.to_owned());
        }
    }

    /// A session has left its place: whoever has it hears so.
    pub(super) fn leave(&self, session: &SessionId, seat: u64) {
        let mut state = self.0.state.lock();
        if state.places.get(session).is_none_or(|place| place.seat != seat) {
            return;
        }
        let place = state.places.remove(session);
        if let Some(known) = place.and_then(|place| place.connection).and_then(|id| state.connections.get(&id)) {
            let close = json!({ "type": "close", "session_id": session, "reason": "ended" });
            known.send(close.to_string());
        }
        drop(state);
        self.0.changed.send_replace(());
    }

    /// Takes a process in. What it has still, it goes on with; what it does not name, it has lost.
    #[expect(clippy::disallowed_methods, reason = "bounded in bytes: who does not read them is disconnected")]
    pub(super) fn connect(&self, hello: &Hello, turns: &BTreeMap<SessionId, Option<String>>) -> (Connection, Outgoing) {
        let (lines, outgoing) = mpsc::unbounded_channel();
        let (close, closing) = watch::channel(None);
        let waiting = Arc::new(AtomicUsize::new(0));
        let mut state = self.0.state.lock();
        state.numbers += 1;
        let id = state.numbers;
        let State { connections, places, claims, .. } = &mut *state;
        let before = connections.iter().find(|(_, known)| known.instance == hello.instance).map(|(id, _)| *id);
        if let Some(known) = before.and_then(|before| connections.remove(&before)) {
            known.close.send_replace(Some(Close::REPLACED));
        }
        let mut sessions = Vec::with_capacity(hello.sessions.len());
        let mut back = Vec::new();
        for Listed { session_id, epoch, heard } in &hello.sessions {
            let place = places.get_mut(session_id);
            let reason = match &place {
                None => Some("it is not open"),
                Some(place) if place.instance.as_ref() != Some(&hello.instance) => Some("another instance has it"),
                Some(place) if place.epoch != *epoch || !place.opened => Some("it was opened again"),
                Some(_) => None,
            };
            let Some(place) = place.filter(|_| reason.is_none()) else {
                sessions.push(json!({ "session_id": session_id, "state": "gone", "reason": reason }));
                continue;
            };
            (place.connection, place.live) = (Some(id), false);
            let mut yours = json!({ "session_id": session_id, "state": "yours", "said": place.committed });
            if let (Some(Some(turn)), Some(yours)) = (turns.get(session_id), yours.as_object_mut()) {
                yours.insert("turn_id".to_owned(), json!(turn));
            }
            sessions.push(yours);
            back.push((session_id.clone(), *heard));
        }
        for place in places.values_mut() {
            let was_its = place.instance.as_ref() == Some(&hello.instance) && place.connection != Some(id);
            if was_its {
                // It does not name it, so it does not have it.
                (place.connection, place.live) = (None, false);
                place.end(1);
            }
        }
        let welcome = json!({
            "type": "welcome",
            "protocol": PROTOCOL,
            "daemon": { "version": env!("CARGO_PKG_VERSION") },
            "heartbeat_ms": HEARTBEAT_MS,
            "window": { "messages": WINDOW_MESSAGES, "bytes": WINDOW_BYTES },
            "max_message_bytes": MAX_MESSAGE_BYTES,
            "sessions": sessions,
        });
        let known = Connected {
            instance: hello.instance.clone(),
            max_sessions: hello.max_sessions.unwrap_or(MAX_SESSIONS).min(MAX_SESSIONS),
            lines,
            waiting: Arc::clone(&waiting),
            close,
        };
        known.send(welcome.to_string());
        connections.insert(id, known);
        for (session, heard) in back {
            if let Some(place) = places.get(&session) {
                place.tell(&Control::Back { connection: id, heard });
            }
        }
        *claims = Claims {
            capabilities: Some(capabilities(&hello.capabilities)),
            version: hello.version.clone(),
            title: hello.title.clone(),
            modes: hello.modes.iter().take(64).cloned().collect(),
        };
        drop(state);
        self.0.changed.send_replace(());
        let outgoing = Outgoing { lines: outgoing, close: closing, waiting };
        (Connection { hub: self.clone(), id }, outgoing)
    }

    fn disconnected(&self, id: u64) {
        let mut state = self.0.state.lock();
        state.connections.remove(&id);
        for place in state.places.values_mut().filter(|place| place.connection == Some(id)) {
            (place.connection, place.live) = (None, false);
            if place.opened {
                place.tell(&Control::Away);
            } else {
                // It was never ready, so it never had it.
                place.end(1);
            }
        }
        drop(state);
        self.0.changed.send_replace(());
    }

    /// What a process says. An error ends its connection.
    fn receive(&self, id: u64, text: &str) -> Result<(), Close> {
        let head: Head<'_> = serde_json::from_str(text).map_err(|_| Close::BAD_MESSAGE)?;
        let mut state = self.0.state.lock();
        match &*head.kind {
            "pong" | "heard" | "ping" => return Ok(()),
            "hello" => return Err(Close::BAD_HELLO),
            _ => {}
        }
        // What it says of a session that is not its own is nobody's. It was told so.
        let place = head.session_id.and_then(|session| state.places.get_mut(&session));
        let Some(place) = place.filter(|place| place.connection == Some(id)) else { return Ok(()) };
        if head.kind == "closed" {
            place.end(0);
            return Ok(());
        }
        let Some(n) = head.n else { return Ok(()) };
        // Before it is ready, it may still speak of the time before it was opened again.
        if n <= place.received || (!place.opened && n != 1) {
            return Ok(());
        }
        if n != place.received + 1 {
            return Err(Close::GAP);
        }
        if !place.take(n, text.len()) {
            return Err(Close::WINDOW);
        }
        place.opened |= head.kind == "ready";
        let mut line = one_line(text).ok_or(Close::BAD_MESSAGE)?;
        line.push(b'\n');
        drop(place.to_session.send(ToSession::Line(line)));
        Ok(())
    }
}

/// A message in one line, however it was written.
fn one_line(text: &str) -> Option<Vec<u8>> {
    if !text.contains(['\n', '\r']) {
        return Some(text.as_bytes().to_vec());
    }
    let value: Value = serde_json::from_str(text).ok()?;
    serde_json::to_vec(&value).ok()
}

/// A process's end of the hub. When it is dropped, its sessions hear that it is away.
#[derive(Debug)]
pub struct Connection {
    hub: Hub,
    id: u64,
}

impl Connection {
    pub fn receive(&self, text: &str) -> Result<(), Close> {
        self.hub.receive(self.id, text)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.hub.disconnected(self.id);
    }
}
