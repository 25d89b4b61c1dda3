//! Many conversations share one app-server. Each client speaks as if the server were its own. The router gives every call a unique id, returns
//! answers to the caller, and sends each notification to the client that owns its thread. A thread that no client asked for is a sub-agent; it
//! belongs to the client of its parent. Pure: lines in, lines out. The router does not know what the lines mean for a session.

mod disconnect;
mod gate;
mod responses;
#[cfg(test)]
mod tests;
mod threads;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::Deserialize;
use serde_json::{Value, json};

pub(super) use self::gate::{PROPOSAL_GONE, PROPOSE};
use self::responses::OnResponse;
use self::threads::Owner;
use crate::runtime::Line;
use crate::runtime::jsonrpc::{Error, Id, Incoming, read};

/// How much of a line that cannot be read is passed on.
const UNREADABLE_BYTES: usize = 2 * 1024;

/// Our own method, not Codex's: tells a client that the server wrote a line that cannot be parsed.
pub(super) const UNREADABLE: &str = "host/unreadable";

/// One of the clients that share the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(u64);

impl ClientId {
    /// The first is 1.
    const NOBODY: Self = Self(0);
}

/// What the router wants to write, and to whom.
#[derive(Debug, Default)]
pub struct Routed {
    /// Whole lines for the server's input.
    pub to_server: Vec<u8>,
    /// Whole lines, each for one client.
    pub to_clients: Vec<(ClientId, Vec<u8>)>,
    /// Clients that have left, or whose server is gone: nothing more comes for them.
    pub left: Vec<ClientId>,
    /// Lines of the server that could not be read, and why.
    pub unreadable: Vec<String>,
    /// Directories in which a thread will work.
    pub entered_dirs: Vec<String>,
    /// Directories in which a command was killed and no thread works any more.
    pub idle_dirs: Vec<String>,
    /// What hooks are told about the calls that they proposed, by number.
    pub verdicts: Vec<(u64, Value)>,
}

#[derive(Debug, Default)]
pub struct Router {
    clients: BTreeSet<ClientId>,
    next_client: u64,
    next_id: i64,
    calls: BTreeMap<i64, Call>,
    handshake: Handshake,
    threads: BTreeMap<String, Thread>,
    /// What the server asked and waits for.
    asked: BTreeMap<Id, Asked>,
    /// Calls that were proposed and have no verdict.
    proposals: BTreeSet<u64>,
    unclaimed: BTreeMap<String, UnclaimedThread>,
    held: usize,
    /// Children that their parent has announced: child id to parent id.
    announced: BTreeMap<String, String>,
    /// Threads of clients that have disconnected, each with its parent.
    forgotten: VecDeque<(String, Option<String>)>,
    /// Names that clients have set on threads, until the server reports them.
    named: BTreeSet<(String, String)>,
}

#[derive(Debug)]
struct Thread {
    owner: ClientId,
    parent: Option<String>,
    /// The turn that runs in it.
    turn: Option<String>,
    /// Its last turn was cut off.
    interrupted: bool,
    /// How many of its commands were running when they were last listed, without those that were ended since.
    commands: usize,
    cwd: Option<String>,
}

/// A thread whose owner is not known yet.
#[derive(Debug, Default)]
struct UnclaimedThread {
    /// Its lines, held until the owner is known.
    lines: Vec<Vec<u8>>,
    /// Its parent, which is unclaimed as well.
    parent: Option<String>,
    /// How often the server refused to read this thread.
    refused: usize,
    /// The server has refused; the router asks again later.
    retry_later: bool,
}

#[derive(Debug)]
struct Asked {
    client: ClientId,
    thread_id: Option<String>,
}

/// Who waits for the answer to a call that was sent to the server.
#[derive(Debug)]
enum Call {
    Handshake,
    Client {
        client: ClientId,
        id: Id,
        on_response: OnResponse,
    },
    /// A turn is about to begin in this thread, but its client has disconnected.
    OrphanedTurn {
        thread_id: String,
        cwd: Option<String>,
    },
    /// The router itself asks for the parent of this thread.
    ReadParent {
        thread_id: String,
    },
    /// The commands of a thread are being ended, in this directory.
    EndCommands {
        cwd: Option<String>,
    },
    Ignore,
}

/// The handshake happens once; everybody gets the same answer.
#[derive(Debug, Default)]
enum Handshake {
    #[default]
    NotStarted,
    Pending {
        waiting: Vec<(ClientId, Id)>,
    },
    Done(String),
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Params<'a> {
    #[serde(borrow)]
    thread_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    thread: Option<ThreadInfo<'a>>,
    #[serde(borrow)]
    turn: Option<TurnInfo<'a>>,
    #[serde(borrow)]
    cwd: Option<Cow<'a, str>>,
    #[serde(borrow, alias = "threadName")]
    name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    cursor: Option<Cow<'a, str>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ThreadInfo<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
    #[serde(borrow)]
    parent_thread_id: Option<Cow<'a, str>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct TurnInfo<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
    #[serde(borrow)]
    status: Cow<'a, str>,
}

impl Router {
    /// Adds a client.
    pub fn connect(&mut self) -> ClientId {
        self.next_client += 1;
        let client = ClientId(self.next_client);
        self.clients.insert(client);
        client
    }

    pub fn is_empty(&self) -> bool {
        self.clients.is_empty()
    }

    /// Whether all cleanup is done. A server that exits before that leaves things behind, such as a command's sandbox in the workspace.
    pub fn is_settled(&self) -> bool {
        !self.calls.values().any(|call| matches!(call, Call::EndCommands { .. } | Call::OrphanedTurn { .. }))
    }

    /// Whether a client waits for its handshake or its thread. The server answers these at once, whatever else it does.
    pub fn has_pending_handshake(&self) -> bool {
        let is_pending =
            |call: &Call| matches!(call, Call::Handshake | Call::Client { on_response: OnResponse::Thread { .. }, .. });
        self.calls.values().any(is_pending)
    }

    // ---- from the clients ----

    pub fn from_client(&mut self, client: ClientId, line: &[u8], out: &mut Routed) {
        if !self.clients.contains(&client) {
            return;
        }
        match read(Line::Text(line)) {
            Ok(None) => {}
            Ok(Some(Incoming::Request { id, method, params })) => self.request(client, id, &method, params, out),
            Ok(Some(Incoming::Notification { method, .. })) => match &*method {
                "exit" => {
                    self.disconnect(client, out);
                    out.left.push(client);
                }
                // The server has heard it already.
                "initialized" => {}
                _ => write(&mut out.to_server, line),
            },
            Ok(Some(Incoming::Response { id, result })) => {
                let mine = |asked: &Asked| asked.client == client;
                let Some(id) = id.filter(|id| self.asked.get(id).is_some_and(mine)) else { return };
                self.asked.remove(&id);
                let verdict = || {
                    let said = result.ok().and_then(|result| serde_json::from_str(result).ok());
                    said.unwrap_or_else(|| super::gate::denial("nobody could judge it"))
                };
                if !self.decide(&id, verdict, out) {
                    write(&mut out.to_server, line);
                }
            }
            Err(error) => out.unreadable.push(error),
        }
    }

    fn request(&mut self, client: ClientId, id: Id, method: &str, params: &str, out: &mut Routed) {
        if method == "initialize" {
            return self.handshake(client, id, params, out);
        }
        let about: Params<'_> = serde_json::from_str(params).unwrap_or_default();
        let Some(on_response) = self.on_response(client, method, &about) else {
            let thread_id = about.thread_id.unwrap_or_default();
            let error = Error::new(-32_600, format!("thread {thread_id} already has an active writer"));
            return out.to_clients.push((client, encoded(&json!({ "id": id, "error": error }))));
        };
        let params: Value = serde_json::from_str(params).unwrap_or_default();
        self.call(Call::Client { client, id, on_response }, method, &params, out);
    }

    fn handshake(&mut self, client: ClientId, id: Id, params: &str, out: &mut Routed) {
        match &mut self.handshake {
            Handshake::NotStarted => {
                self.handshake = Handshake::Pending { waiting: vec![(client, id)] };
                let params: Value = serde_json::from_str(params).unwrap_or_default();
                self.call(Call::Handshake, "initialize", &params, out);
            }
            Handshake::Pending { waiting } => waiting.push((client, id)),
            Handshake::Done(result) => out.to_clients.push((client, answer(&id, result))),
        }
    }

    fn call(&mut self, call: Call, method: &str, params: &Value, out: &mut Routed) {
        self.next_id += 1;
        self.calls.insert(self.next_id, call);
        let line = encoded(&json!({ "method": method, "id": self.next_id, "params": params }));
        out.to_server.extend(line);
    }

    // ---- from the server ----

    pub fn from_server(&mut self, line: Line<'_>, out: &mut Routed) {
        let bytes = match line {
            Line::Text(bytes) => bytes,
            Line::TooLong { size, head, .. } => {
                let error = format!("a line of {size} bytes is over the limit");
                return match response_id_in(head).and_then(|id| self.calls.remove(&id)) {
                    Some(call) => self.answered(call, Err(Error::new(0, error)), out),
                    None => self.unreadable(error, line, out),
                };
            }
        };
        match read(line) {
            Ok(None) => {}
            Ok(Some(Incoming::Response { id, result })) => {
                let call = match id {
                    Some(Id::Number(id)) => self.calls.remove(&id),
                    Some(Id::Text(_)) | None => None,
                };
                if let Some(call) = call {
                    self.answered(call, result, out);
                }
            }
            Ok(Some(Incoming::Request { id, .. })) if self.is_stale(&id) => {}
            Ok(Some(Incoming::Request { id, params, .. })) => {
                let about: Params<'_> = serde_json::from_str(params).unwrap_or_default();
                let thread_id = about.thread_id.map(Cow::into_owned);
                match thread_id.as_deref().map(|thread_id| self.owner_of(thread_id)) {
                    Some(Owner::Client(client)) => {
                        self.asked.insert(id, Asked { client, thread_id });
                        out.to_clients.push((client, with_newline(bytes)));
                    }
                    Some(Owner::Unknown) => self.hold(thread_id.as_deref().unwrap_or_default(), bytes, out),
                    Some(Owner::Forgotten) | None => self.refuse(&id, out),
                }
            }
            Ok(Some(Incoming::Notification { method, params })) => self.notification(&method, params, bytes, out),
            Err(error) => self.unreadable(error, line, out),
        }
    }

    /// The owner of the line is not known, so every client is told that something was lost.
    fn unreadable(&mut self, error: String, line: Line<'_>, out: &mut Routed) {
        let (raw, size, sha256) = match line {
            Line::Text(bytes) => (bytes, bytes.len() as u64, None),
            Line::TooLong { size, sha256, head } => (head, size, Some(sha256)),
        };
        let raw = String::from_utf8_lossy(raw.get(..UNREADABLE_BYTES).unwrap_or(raw));
        let params = json!({ "error": error, "raw": raw, "size": size, "sha256": sha256 });
        let notice = encoded(&json!({ "method": UNREADABLE, "params": params }));
        out.to_clients.extend(self.clients.iter().map(|client| (*client, notice.clone())));
        out.unreadable.push(error);
    }

    fn notification(&mut self, method: &str, params: &str, bytes: &[u8], out: &mut Routed) {
        let about: Params<'_> = serde_json::from_str(params).unwrap_or_default();
        let of_thread = about.thread.as_ref().map(|thread| &*thread.id);
        let Some(thread_id) = about.thread_id.as_deref().or(of_thread) else {
            // About the server itself, so for everybody.
            return self.clients.iter().for_each(|client| out.to_clients.push((*client, with_newline(bytes))));
        };
        if method == "thread/name/updated"
            && self.named.remove(&(thread_id.to_owned(), about.name.as_deref().unwrap_or_default().to_owned()))
        {
            return; // The client that set this name already knows it.
        }
        match self.owner_of(thread_id) {
            Owner::Client(client) => {
                self.track_turn(method, thread_id, about.turn.as_ref(), out);
                if method.starts_with("item/") {
                    self.note_children(thread_id, client, params);
                }
                out.to_clients.push((client, with_newline(bytes)));
            }
            Owner::Unknown => self.hold(thread_id, bytes, out),
            Owner::Forgotten => {}
        }
    }

    /// Remembers what runs, so that it can be stopped when its client leaves.
    fn track_turn(&mut self, method: &str, thread_id: &str, turn: Option<&TurnInfo<'_>>, out: &mut Routed) {
        match (method, self.threads.get_mut(thread_id)) {
            ("turn/started", Some(thread)) => thread.turn = turn.map(|turn| turn.id.to_string()),
            ("turn/completed", Some(thread)) => {
                thread.turn = None;
                thread.interrupted = turn.is_some_and(|turn| turn.status == "interrupted");
                let over: Vec<Id> = self
                    .asked
                    .extract_if(.., |_, asked| asked.thread_id.as_deref() == Some(thread_id))
                    .map(|(id, _)| id)
                    .collect();
                for id in &over {
                    self.decide(id, || super::gate::denial("the turn has ended"), out);
                }
            }
            _ => {}
        }
    }

    fn answered(&mut self, call: Call, result: Result<&str, Error>, out: &mut Routed) {
        match call {
            Call::Handshake => {
                let Handshake::Pending { waiting } = std::mem::take(&mut self.handshake) else { return };
                match result {
                    Ok(result) => {
                        out.to_server.extend(encoded(&json!({ "method": "initialized" })));
                        for (client, id) in &waiting {
                            out.to_clients.push((*client, answer(id, result)));
                        }
                        self.handshake = Handshake::Done(result.to_owned());
                    }
                    Err(error) => {
                        for (client, id) in waiting {
                            out.to_clients.push((client, encoded(&json!({ "id": id, "error": error }))));
                        }
                    }
                }
            }
            Call::Client { client, id, on_response } => {
                if self.clients.contains(&client) {
                    let line = match &result {
                        Ok(result) => answer(&id, result),
                        Err(error) => encoded(&json!({ "id": id, "error": error })),
                    };
                    out.to_clients.push((client, line));
                }
                self.client_answered(client, on_response, result.ok(), out);
            }
            Call::OrphanedTurn { thread_id, cwd } => {
                let turn = result.ok().and_then(turn_in);
                // If somebody goes on with the thread, the turn is theirs.
                if turn.is_some() && !self.threads.contains_key(&thread_id) {
                    self.stop(&thread_id, turn.as_deref(), cwd, out);
                }
            }
            Call::ReadParent { thread_id } => match result {
                Ok(result) => self.parent_known(&thread_id, parent_of(result).as_deref(), out),
                Err(_) => self.parent_refused(&thread_id, out),
            },
            Call::EndCommands { cwd } => self.report_idle_dir(cwd, out),
            Call::Ignore => {}
        }
    }
}

fn turn_in(result: &str) -> Option<String> {
    let about: Params<'_> = serde_json::from_str(result).ok()?;
    about.turn.map(|turn| turn.id.into_owned()).filter(|id| !id.is_empty())
}

fn parent_of(result: &str) -> Option<String> {
    let about: Params<'_> = serde_json::from_str(result).ok()?;
    about.thread.and_then(|thread| thread.parent_thread_id).map(Cow::into_owned)
}

/// The id of the call that a line answers, read from the beginning of a line that was cut.
fn response_id_in(head: &[u8]) -> Option<i64> {
    let head = String::from_utf8_lossy(head);
    let id =
        head.trim_start().strip_prefix('{')?.trim_start().strip_prefix("\"id\"")?.trim_start().strip_prefix(':')?;
    let (id, rest) = id.split_once(',')?;
    rest.trim_start().starts_with("\"result\"").then(|| id.trim().parse().ok())?
}

fn answer(id: &Id, result: &str) -> Vec<u8> {
    format!("{{\"id\":{id},\"result\":{result}}}\n").into_bytes()
}

fn encoded(line: &Value) -> Vec<u8> {
    format!("{line}\n").into_bytes()
}

fn with_newline(line: &[u8]) -> Vec<u8> {
    let mut whole = line.to_vec();
    whole.push(b'\n');
    whole
}

fn write(to: &mut Vec<u8>, line: &[u8]) {
    to.extend_from_slice(line);
    to.push(b'\n');
}
