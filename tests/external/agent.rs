//! An agent that connects, as an SDK would write it: it keeps what is not acknowledged, drops what it has heard, and comes back.

use std::collections::{BTreeMap, VecDeque};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::stream::MaybeTlsStream;
use tokio_tungstenite::tungstenite::{Error, Message, WebSocket, connect};

use crate::support::{Client, PATIENCE};

pub(crate) type Socket = WebSocket<MaybeTlsStream<TcpStream>>;

/// How long one look for a message takes.
const LOOK: Duration = Duration::from_millis(20);

/// What it knows of a session.
#[derive(Debug, Default)]
pub(crate) struct Held {
    pub(crate) epoch: u64,
    pub(crate) heard: u64,
    pub(crate) said: u64,
    pub(crate) unacknowledged: VecDeque<(u64, Value)>,
}

pub(crate) struct TestAgent {
    pub(crate) name: String,
    pub(crate) instance: String,
    token: String,
    pub(crate) socket: Option<Socket>,
    pub(crate) held: BTreeMap<String, Held>,
    /// Every order with a number, once: what is heard twice fails the test, and so does a gap.
    pub(crate) orders: Vec<Value>,
}

pub(crate) fn make_token(client: &Client, name: &str, scopes: &[&str]) -> (String, String) {
    let answer = client.post("/api/tokens", &json!({ "name": name, "scopes": scopes }));
    assert_eq!(answer.status, 201, "{}", answer.body);
    let made = answer.json();
    (made["token_id"].as_str().unwrap().to_owned(), made["token"].as_str().unwrap().to_owned())
}

pub(crate) fn dial(client: &Client, headers: &[(&'static str, &str)]) -> Result<Socket, Error> {
    let mut request = format!("ws://{}/api/agents/connect", client.address).into_client_request()?;
    for (name, value) in headers {
        request.headers_mut().insert(*name, value.parse().unwrap());
    }
    let (socket, _) = connect(request)?;
    if let MaybeTlsStream::Plain(stream) = socket.get_ref() {
        stream.set_read_timeout(Some(LOOK)).unwrap();
    }
    Ok(socket)
}

/// The code with which the other side closes.
pub(crate) fn closed_with(socket: &mut Socket) -> u16 {
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until {
        match socket.read() {
            Ok(Message::Close(frame)) => return frame.map_or(1005, |frame| frame.code.into()),
            Ok(_) => {}
            Err(Error::Io(error)) if is_quiet(&error) => {}
            Err(error) => panic!("closed without a word: {error}"),
        }
    }
    panic!("it was not closed");
}

fn is_quiet(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut)
}

impl TestAgent {
    pub(crate) fn new(client: &Client, name: &str, instance: &str) -> Self {
        let (_, token) = make_token(client, name, &[&format!("agent:{name}")]);
        Self::with_token(name, instance, &token)
    }

    pub(crate) fn with_token(name: &str, instance: &str, token: &str) -> Self {
        Self {
            name: name.to_owned(),
            instance: instance.to_owned(),
            token: token.to_owned(),
            socket: None,
            held: BTreeMap::new(),
            orders: Vec::new(),
        }
    }

    /// Another process of the same agent.
    pub(crate) fn another(&self, instance: &str) -> Self {
        Self::with_token(&self.name, instance, &self.token)
    }

    /// Connects, says hello, and says again what was not acknowledged. The welcome comes back.
    pub(crate) fn connect(&mut self, client: &Client) -> Value {
        self.try_connect(client).expect("it is let in")
    }

    pub(crate) fn try_connect(&mut self, client: &Client) -> Option<Value> {
        let mut socket = dial(client, &[("authorization", &format!("Bearer {}", self.token))]).ok()?;
        let sessions: Vec<Value> = self
            .held
            .iter()
            .map(|(id, held)| json!({ "session_id": id, "epoch": held.epoch, "heard": held.heard, "said": held.said }))
            .collect();
        let capabilities =
            json!({ "steer": true, "resume": true, "components": true, "state": true, "questions": true });
        let hello = json!({
            "type": "hello", "protocol": 1, "agent": self.name, "instance": self.instance, "version": "1.0.0",
            "title": "Research", "capabilities": capabilities, "sessions": sessions,
        });
        socket.send(Message::text(hello.to_string())).ok()?;
        self.socket = Some(socket);
        let welcome = self.read(PATIENCE)?;
        assert_eq!(welcome["type"], "welcome", "{welcome}");
        for session in welcome["sessions"].as_array().unwrap() {
            let id = session["session_id"].as_str().unwrap();
            if session["state"] == "gone" {
                self.held.remove(id);
                continue;
            }
            let held = self.held.get_mut(id).unwrap();
            let said = session["said"].as_u64().unwrap();
            held.unacknowledged.retain(|(n, _)| *n > said);
            let again: Vec<Value> = held.unacknowledged.iter().map(|(_, message)| message.clone()).collect();
            for message in &again {
                self.send(message);
            }
        }
        Some(welcome)
    }

    /// The line breaks: no goodbye.
    pub(crate) fn cut(&mut self) {
        if let Some(socket) = self.socket.take()
            && let MaybeTlsStream::Plain(stream) = socket.get_ref()
        {
            drop(stream.shutdown(std::net::Shutdown::Both));
        }
    }

    pub(crate) fn send(&mut self, message: &Value) {
        let Some(socket) = &mut self.socket else { return };
        if socket.send(Message::text(message.to_string())).is_err() {
            self.socket = None;
        }
    }

    /// Says something of a session, with the next number.
    #[expect(clippy::needless_pass_by_value, reason = "written where it is said")]
    pub(crate) fn say(&mut self, session: &str, kind: &str, turn: Option<&str>, data: Value) {
        let held = self.held.get_mut(session).expect("it has the session");
        held.said += 1;
        let mut message = json!({ "type": kind, "session_id": session, "n": held.said, "data": data });
        if let Some(turn) = turn {
            message["turn_id"] = json!(turn);
        }
        held.unacknowledged.push_back((held.said, message.clone()));
        self.send(&message);
    }

    pub(crate) fn unacknowledged(&self, session: &str) -> usize {
        self.held.get(session).map_or(0, |held| held.unacknowledged.len())
    }

    fn read(&mut self, patience: Duration) -> Option<Value> {
        let until = Instant::now() + patience;
        loop {
            match self.socket.as_mut()?.read() {
                Ok(Message::Text(text)) => return Some(serde_json::from_str(&text).unwrap()),
                Ok(Message::Close(_)) => {
                    self.socket = None;
                    return None;
                }
                Ok(_) => {}
                Err(Error::Io(error)) if is_quiet(&error) => {
                    if Instant::now() >= until {
                        return None;
                    }
                }
                Err(_) => {
                    self.socket = None;
                    return None;
                }
            }
        }
    }

    /// The next order, if one comes; what is about the connection is dealt with here.
    pub(crate) fn look(&mut self) -> Option<Value> {
        self.look_for(LOOK)
    }

    pub(crate) fn look_for(&mut self, patience: Duration) -> Option<Value> {
        let until = Instant::now() + patience;
        while let Some(message) = self.read(until.saturating_duration_since(Instant::now())) {
            let session = message["session_id"].as_str().unwrap_or_default().to_owned();
            match message["type"].as_str().unwrap() {
                "ping" => self.send(&json!({ "type": "pong", "t": message["t"] })),
                "ack" => {
                    let said = message["n"].as_u64().unwrap();
                    if let Some(held) = self.held.get_mut(&session) {
                        held.unacknowledged.retain(|(n, _)| *n > said);
                    }
                }
                "open" => {
                    let epoch = message["epoch"].as_u64().unwrap();
                    self.held.insert(session, Held { epoch, ..Held::default() });
                    return Some(message);
                }
                "close" => {
                    self.held.remove(&session);
                    self.send(&json!({ "type": "closed", "session_id": session }));
                    return Some(message);
                }
                "refused" | "rollback" => return Some(message),
                _ => {
                    let number = message["o"].as_u64().expect("a number");
                    let held = self.held.get_mut(&session).expect("a session of its own");
                    if number <= held.heard {
                        continue;
                    }
                    assert_eq!(number, held.heard + 1, "a gap in what it is told: {message}");
                    held.heard = number;
                    self.orders.push(message.clone());
                    self.send(&json!({ "type": "heard", "session_id": session, "o": number }));
                    return Some(message);
                }
            }
        }
        None
    }

    /// Waits for an order of this type, and lets others pass.
    #[track_caller]
    pub(crate) fn until(&mut self, kind: &str) -> Value {
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            if let Some(order) = self.look_for(PATIENCE)
                && order["type"] == kind
            {
                return order;
            }
        }
        panic!("no {kind} came");
    }

    /// Takes the next session that it is given, and says that it is ready.
    #[track_caller]
    pub(crate) fn take_session(&mut self) -> String {
        let open = self.until("open");
        let session = open["session_id"].as_str().unwrap().to_owned();
        self.say(&session, "ready", None, json!({ "provider_session_id": "c1" }));
        session
    }

    /// Waits until everything that it said is durable.
    #[track_caller]
    pub(crate) fn until_committed(&mut self, session: &str) {
        let until = Instant::now() + PATIENCE;
        while self.unacknowledged(session) > 0 {
            assert!(Instant::now() < until, "not acknowledged");
            assert!(self.look().is_none(), "an order that nobody expected");
        }
    }
}

/// Creates a session of an agent and sends it a message.
pub(crate) fn begin(client: &Client, session: &str, agent: &str, text: &str) {
    let answer =
        client.post("/api/sessions", &json!({ "session_id": session, "runtime": agent, "params": { "depth": 3 } }));
    assert_eq!(answer.status, 201, "{}", answer.body);
    client.say(session, text);
}
