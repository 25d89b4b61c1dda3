//! Many conversations over one app-server. Each client speaks as if the server were its own; this gives every call a name of its own, brings
//! answers back, and sends what the server says to the client whose thread it is about. Threads that nobody asked for are sub-agents: they belong
//! to the client of their parent. Pure: lines in, lines out. What the lines mean for a session is not known here.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::runtime::Line;
use crate::runtime::jsonrpc::{Error, Id, Incoming, read};

/// How much is held of threads whose parent is not known yet, all together.
const MAX_HELD_LINES: usize = 4_096;
/// How many threads are remembered that nobody listens to any more.
const MAX_FORGOTTEN: usize = 4_096;

/// One of those who share the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(u64);

/// What is to be written where.
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
    /// Directories in which a thread is going to work.
    pub entered: Vec<String>,
    /// Directories in which a command was ended by force, while nobody else is at work there.
    pub deserted: Vec<String>,
}

#[derive(Debug, Default)]
pub struct Router {
    clients: BTreeSet<ClientId>,
    next_client: u64,
    next_id: i64,
    calls: BTreeMap<i64, Call>,
    hello: Hello,
    threads: BTreeMap<String, Thread>,
    /// What the server asked and waits for.
    asked: BTreeMap<Id, Asked>,
    strangers: BTreeMap<String, Vec<Vec<u8>>>,
    held: usize,
    /// Threads of clients that have left.
    forgotten: VecDeque<String>,
}

#[derive(Debug)]
struct Thread {
    owner: ClientId,
    /// The turn that runs in it.
    turn: Option<String>,
    cwd: Option<String>,
}

#[derive(Debug)]
struct Asked {
    client: ClientId,
    thread_id: Option<String>,
}

/// Who waits for an answer.
#[derive(Debug)]
enum Call {
    Hello,
    Client {
        client: ClientId,
        id: Id,
        /// It will bring a thread.
        opens: bool,
        /// It tells the end of commands by force, in this directory.
        deserts: Option<String>,
    },
    /// The router itself wants to know whose child this is.
    Parent {
        thread_id: String,
    },
    /// What a thread had running is being ended, in this directory.
    Cleaning {
        cwd: Option<String>,
    },
    Nobody,
}

/// The handshake happens once; everybody gets the same answer.
#[derive(Debug, Default)]
enum Hello {
    #[default]
    NotSaid,
    Said {
        waiting: Vec<(ClientId, Id)>,
    },
    Answered(String),
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct About<'a> {
    #[serde(borrow)]
    thread_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    thread: Option<Named<'a>>,
    #[serde(borrow)]
    turn: Option<Named<'a>>,
    #[serde(borrow)]
    cwd: Option<Cow<'a, str>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Named<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
    #[serde(borrow)]
    parent_thread_id: Option<Cow<'a, str>>,
}

impl Router {
    /// Somebody new.
    pub fn connect(&mut self) -> ClientId {
        self.next_client += 1;
        let client = ClientId(self.next_client);
        self.clients.insert(client);
        client
    }

    pub fn is_empty(&self) -> bool {
        self.clients.is_empty()
    }

    /// Whether nothing is being ended any more. A server that goes before that leaves things behind: a command's sandbox in the workspace.
    pub fn is_settled(&self) -> bool {
        !self.calls.values().any(|call| matches!(call, Call::Cleaning { .. }))
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
            Ok(Some(Incoming::Response { id, .. })) => {
                let mine = |asked: &Asked| asked.client == client;
                if let Some(id) = id.filter(|id| self.asked.get(id).is_some_and(mine)) {
                    self.asked.remove(&id);
                    write(&mut out.to_server, line);
                }
            }
            Err(error) => out.unreadable.push(error),
        }
    }

    fn request(&mut self, client: ClientId, id: Id, method: &str, params: &str, out: &mut Routed) {
        if method == "initialize" {
            return self.greet(client, id, params, out);
        }
        let about: About<'_> = serde_json::from_str(params).unwrap_or_default();
        let opens = matches!(method, "thread/start" | "thread/resume" | "thread/fork");
        if method == "thread/resume"
            && let Some(thread_id) = about.thread_id.as_deref()
        {
            match self.threads.get(thread_id) {
                Some(thread) if thread.owner != client => {
                    let error = Error::new(-32_600, format!("thread {thread_id} already has an active writer"));
                    return out.to_clients.push((client, encoded(&json!({ "id": id, "error": error }))));
                }
                Some(_) => {}
                // It speaks before it is answered.
                None => self.own(thread_id, client, None),
            }
        }
        // They are listed when a turn was interrupted, which may already have ended them.
        let ends = matches!(method, "thread/backgroundTerminals/list" | "thread/backgroundTerminals/terminate");
        let deserts = about.thread_id.filter(|_| ends).and_then(|thread_id| self.threads.get(&*thread_id)?.cwd.clone());
        let params: Value = serde_json::from_str(params).unwrap_or_default();
        self.call(Call::Client { client, id, opens, deserts }, method, &params, out);
    }

    fn greet(&mut self, client: ClientId, id: Id, params: &str, out: &mut Routed) {
        match &mut self.hello {
            Hello::NotSaid => {
                self.hello = Hello::Said { waiting: vec![(client, id)] };
                let params: Value = serde_json::from_str(params).unwrap_or_default();
                self.call(Call::Hello, "initialize", &params, out);
            }
            Hello::Said { waiting } => waiting.push((client, id)),
            Hello::Answered(result) => out.to_clients.push((client, answer(&id, result))),
        }
    }

    fn call(&mut self, call: Call, method: &str, params: &Value, out: &mut Routed) {
        self.next_id += 1;
        self.calls.insert(self.next_id, call);
        let line = encoded(&json!({ "method": method, "id": self.next_id, "params": params }));
        out.to_server.extend(line);
    }

    /// A client is gone. What it had running is stopped; what still comes for it is dropped.
    pub fn disconnect(&mut self, client: ClientId, out: &mut Routed) {
        if !self.clients.remove(&client) {
            return;
        }
        for call in self.calls.values_mut() {
            // A thread that is still on its way is let go when it comes.
            if matches!(call, Call::Client { client: waiting, opens: false, .. } if *waiting == client) {
                *call = Call::Nobody;
            }
        }
        if let Hello::Said { waiting } = &mut self.hello {
            waiting.retain(|(waiting, _)| *waiting != client);
        }
        let asked: Vec<Id> =
            self.asked.iter().filter(|(_, asked)| asked.client == client).map(|(id, _)| id.clone()).collect();
        for id in &asked {
            self.refuse(id, out);
        }
        let theirs = |(id, thread): (&String, &Thread)| (thread.owner == client).then(|| id.clone());
        let threads: Vec<String> = self.threads.iter().filter_map(theirs).collect();
        for thread_id in &threads {
            self.let_go(thread_id, out);
        }
    }

    fn let_go(&mut self, thread_id: &str, out: &mut Routed) {
        let (turn, cwd) = self.threads.remove(thread_id).map(|thread| (thread.turn, thread.cwd)).unwrap_or_default();
        if let Some(turn) = turn {
            let params = json!({ "threadId": thread_id, "turnId": turn });
            self.call(Call::Nobody, "turn/interrupt", &params, out);
        }
        let params = json!({ "threadId": thread_id });
        self.call(Call::Cleaning { cwd }, "thread/backgroundTerminals/clean", &params, out);
        self.call(Call::Nobody, "thread/unsubscribe", &params, out);
        if self.forgotten.len() >= MAX_FORGOTTEN {
            self.forgotten.pop_front();
        }
        self.forgotten.push_back(thread_id.to_owned());
    }

    fn refuse(&mut self, id: &Id, out: &mut Routed) {
        self.asked.remove(id);
        let error = Error::new(Error::GONE, "nobody is there to answer");
        out.to_server.extend(encoded(&json!({ "id": id, "error": error })));
    }

    // ---- from the server ----

    pub fn from_server(&mut self, line: Line<'_>, out: &mut Routed) {
        let Line::Text(bytes) = line else {
            return out.unreadable.push("a line is over the limit".to_owned());
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
            Ok(Some(Incoming::Request { id, params, .. })) => {
                let about: About<'_> = serde_json::from_str(params).unwrap_or_default();
                let thread_id = about.thread_id.map(Cow::into_owned);
                match thread_id.as_deref().map(|thread_id| self.whose(thread_id)) {
                    Some(Whose::Of(client)) => {
                        self.asked.insert(id, Asked { client, thread_id });
                        out.to_clients.push((client, with_end(bytes)));
                    }
                    Some(Whose::Unknown) => self.hold(thread_id.as_deref().unwrap_or_default(), bytes, out),
                    Some(Whose::Forgotten) | None => self.refuse(&id, out),
                }
            }
            Ok(Some(Incoming::Notification { method, params })) => self.notification(&method, params, bytes, out),
            Err(error) => out.unreadable.push(error),
        }
    }

    fn notification(&mut self, method: &str, params: &str, bytes: &[u8], out: &mut Routed) {
        let about: About<'_> = serde_json::from_str(params).unwrap_or_default();
        let of_thread = about.thread.as_ref().map(|thread| &*thread.id);
        let Some(thread_id) = about.thread_id.as_deref().or(of_thread) else {
            // About the server itself, so for everybody.
            return self.clients.iter().for_each(|client| out.to_clients.push((*client, with_end(bytes))));
        };
        match self.whose(thread_id) {
            Whose::Of(client) => {
                let turn = about.turn.map(|turn| turn.id.into_owned());
                self.follow(method, thread_id, turn);
                out.to_clients.push((client, with_end(bytes)));
            }
            Whose::Unknown => self.hold(thread_id, bytes, out),
            Whose::Forgotten => {}
        }
    }

    /// Remembers what runs, so that it can be stopped when its client leaves.
    fn follow(&mut self, method: &str, thread_id: &str, turn: Option<String>) {
        match (method, self.threads.get_mut(thread_id)) {
            ("turn/started", Some(thread)) => thread.turn = turn,
            ("turn/completed", Some(thread)) => {
                thread.turn = None;
                self.asked.retain(|_, asked| asked.thread_id.as_deref() != Some(thread_id));
            }
            _ => {}
        }
    }

    fn answered(&mut self, call: Call, result: Result<&str, Error>, out: &mut Routed) {
        match call {
            Call::Hello => {
                let Hello::Said { waiting } = std::mem::take(&mut self.hello) else { return };
                match result {
                    Ok(result) => {
                        out.to_server.extend(encoded(&json!({ "method": "initialized" })));
                        for (client, id) in &waiting {
                            out.to_clients.push((*client, answer(id, result)));
                        }
                        self.hello = Hello::Answered(result.to_owned());
                    }
                    Err(error) => {
                        for (client, id) in waiting {
                            out.to_clients.push((client, encoded(&json!({ "id": id, "error": error }))));
                        }
                    }
                }
            }
            Call::Client { client, id, opens, deserts } => {
                let opened = result.as_ref().ok().filter(|_| opens).and_then(|result| opened(result));
                let here = self.clients.contains(&client);
                if here {
                    let line = match result {
                        Ok(result) => answer(&id, result),
                        Err(error) => encoded(&json!({ "id": id, "error": error })),
                    };
                    out.to_clients.push((client, line));
                }
                if let Some((thread_id, cwd)) = opened {
                    out.entered.extend(cwd.clone());
                    self.own(&thread_id, client, cwd);
                    if here {
                        self.let_in(&thread_id, out);
                    } else {
                        self.let_go(&thread_id, out);
                    }
                }
                self.settle_strangers(out);
                self.desert(deserts, out);
            }
            Call::Parent { thread_id } => {
                let parent = result.ok().and_then(parent_of);
                self.parent_known(&thread_id, parent.as_deref(), out);
            }
            Call::Cleaning { cwd } => self.desert(cwd, out),
            Call::Nobody => {}
        }
    }

    // ---- threads ----

    fn own(&mut self, thread_id: &str, client: ClientId, cwd: Option<String>) {
        self.forgotten.retain(|known| known != thread_id);
        let thread =
            self.threads.entry(thread_id.to_owned()).or_insert(Thread { owner: client, turn: None, cwd: None });
        thread.owner = client;
        thread.cwd = cwd.or(thread.cwd.take());
    }

    /// Whether a thread works in this directory, or may begin to.
    pub fn works_in(&self, cwd: &str) -> bool {
        self.threads.values().any(|thread| thread.cwd.as_deref() == Some(cwd))
    }

    /// Whether any turn runs.
    pub fn is_working(&self) -> bool {
        self.threads.values().any(|thread| thread.turn.is_some())
    }

    fn desert(&self, cwd: Option<String>, out: &mut Routed) {
        let busy = |cwd: &String| {
            self.threads.values().any(|thread| thread.turn.is_some() && thread.cwd.as_ref() == Some(cwd))
        };
        out.deserted.extend(cwd.filter(|cwd| !busy(cwd)));
    }

    fn whose(&self, thread_id: &str) -> Whose {
        match self.threads.get(thread_id) {
            Some(thread) => Whose::Of(thread.owner),
            None if self.forgotten.iter().any(|known| known == thread_id) => Whose::Forgotten,
            None => Whose::Unknown,
        }
    }

    /// Keeps what a thread says until it is known whose it is.
    fn hold(&mut self, thread_id: &str, line: &[u8], out: &mut Routed) {
        if self.held >= MAX_HELD_LINES {
            // Whoever it is, it has had its time.
            let strangers: Vec<String> = self.strangers.keys().cloned().collect();
            for stranger in &strangers {
                self.forget(stranger, out);
            }
        }
        self.held += 1;
        let is_new = !self.strangers.contains_key(thread_id);
        self.strangers.entry(thread_id.to_owned()).or_default().push(line.to_vec());
        if is_new {
            let thread_id = thread_id.to_owned();
            let params = json!({ "threadId": thread_id });
            self.call(Call::Parent { thread_id }, "thread/read", &params, out);
        }
    }

    fn parent_known(&mut self, thread_id: &str, parent: Option<&str>, out: &mut Routed) {
        if !self.strangers.contains_key(thread_id) {
            return;
        }
        match parent.map(|parent| (parent, self.whose(parent))) {
            Some((parent, Whose::Of(client))) => {
                let cwd = self.threads.get(parent).and_then(|parent| parent.cwd.clone());
                self.own(thread_id, client, cwd);
                self.let_in(thread_id, out);
            }
            Some((_, Whose::Forgotten)) => self.forget(thread_id, out),
            // A child of a child that is not known either, or the thread of a client that still waits for the answer.
            Some((_, Whose::Unknown)) | None => self.settle_strangers(out),
        }
    }

    /// When nothing is on its way that could tell whose they are, nobody will.
    fn settle_strangers(&mut self, out: &mut Routed) {
        let open = |call: &Call| matches!(call, Call::Client { opens: true, .. } | Call::Parent { .. });
        if self.calls.values().any(open) {
            return;
        }
        let strangers: Vec<String> = self.strangers.keys().cloned().collect();
        for stranger in &strangers {
            self.forget(stranger, out);
        }
    }

    /// Hears again what was held.
    fn let_in(&mut self, thread_id: &str, out: &mut Routed) {
        let lines = self.strangers.remove(thread_id).unwrap_or_default();
        self.held = self.held.saturating_sub(lines.len());
        for line in lines {
            self.from_server(Line::Text(&line), out);
        }
    }

    fn forget(&mut self, thread_id: &str, out: &mut Routed) {
        self.forgotten.push_back(thread_id.to_owned());
        if self.forgotten.len() > MAX_FORGOTTEN {
            self.forgotten.pop_front();
        }
        self.let_in(thread_id, out);
    }

    /// The server is gone: whoever waits is told, and everybody has to come again.
    pub fn server_gone(&mut self, reason: &str, out: &mut Routed) {
        let error = Error::new(Error::GONE, reason);
        let refused = |id: &Id| encoded(&json!({ "id": id, "error": error }));
        if let Hello::Said { waiting } = std::mem::take(&mut self.hello) {
            out.to_clients.extend(waiting.iter().map(|(client, id)| (*client, refused(id))));
        }
        for call in std::mem::take(&mut self.calls).into_values() {
            if let Call::Client { client, id, .. } = call
                && self.clients.contains(&client)
            {
                out.to_clients.push((client, refused(&id)));
            }
        }
        out.left.extend(std::mem::take(&mut self.clients));
        out.deserted.extend(std::mem::take(&mut self.threads).into_values().filter_map(|thread| thread.cwd));
        self.asked.clear();
        self.strangers.clear();
        self.forgotten.clear();
        self.held = 0;
    }
}

/// Who listens to a thread.
enum Whose {
    Of(ClientId),
    Forgotten,
    Unknown,
}

/// The thread that an answer brings, and where it works.
fn opened(result: &str) -> Option<(String, Option<String>)> {
    let about: About<'_> = serde_json::from_str(result).ok()?;
    let id = about.thread.map(|thread| thread.id.into_owned()).filter(|id| !id.is_empty())?;
    Some((id, about.cwd.map(Cow::into_owned)))
}

fn parent_of(result: &str) -> Option<String> {
    let about: About<'_> = serde_json::from_str(result).ok()?;
    about.thread.and_then(|thread| thread.parent_thread_id).map(Cow::into_owned)
}

fn answer(id: &Id, result: &str) -> Vec<u8> {
    format!("{{\"id\":{id},\"result\":{result}}}\n").into_bytes()
}

fn encoded(line: &Value) -> Vec<u8> {
    format!("{line}\n").into_bytes()
}

fn with_end(line: &[u8]) -> Vec<u8> {
    let mut whole = line.to_vec();
    whole.push(b'\n');
    whole
}

fn write(to: &mut Vec<u8>, line: &[u8]) {
    to.extend_from_slice(line);
    to.push(b'\n');
}
