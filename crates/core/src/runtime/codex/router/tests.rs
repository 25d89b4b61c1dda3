use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{ClientId, Routed, Router};
use crate::runtime::Line;

mod children;
mod commands;

/// A server as it appears from outside: it names threads, runs turns, asks.
#[derive(Default)]
struct Server {
    threads: u64,
    /// Child to parent.
    children: BTreeMap<String, String>,
    greeted: u64,
    /// How many commands run.
    commands: usize,
}

impl Server {
    fn hears(&mut self, line: &Value) -> Vec<Value> {
        let (Some(id), Some(method)) = (line.get("id"), line["method"].as_str()) else { return Vec::new() };
        let thread = &line["params"]["threadId"];
        let result = match method {
            "initialize" => {
                self.greeted += 1;
                json!({ "userAgent": "codex/1.0" })
            }
            "thread/start" => {
                self.threads += 1;
                json!({ "thread": { "id": format!("t{}", self.threads), "turns": [] }, "cwd": line["params"]["cwd"] })
            }
            "thread/resume" => json!({ "thread": { "id": thread } }),
            "thread/read" => {
                let parent = thread.as_str().and_then(|child| self.children.get(child));
                json!({ "thread": { "id": thread, "parentThreadId": parent } })
            }
            "thread/backgroundTerminals/list" => json!({ "data": vec![json!({}); self.commands] }),
            _ => json!({ "echo": method }),
        };
        vec![json!({ "id": id, "result": result })]
    }
}

struct World {
    router: Router,
    server: Server,
    heard: BTreeMap<ClientId, Vec<Value>>,
    left: Vec<ClientId>,
    idle_dirs: Vec<String>,
    /// Everything that was written to the server.
    written: Vec<Value>,
}

impl World {
    fn new() -> Self {
        let (router, server) = (Router::default(), Server::default());
        Self { router, server, heard: BTreeMap::new(), left: Vec::new(), idle_dirs: Vec::new(), written: Vec::new() }
    }

    fn client(&mut self) -> ClientId {
        let client = self.router.connect();
        self.says(client, &json!({ "method": "initialize", "id": 1, "params": {} }));
        client
    }

    fn says(&mut self, client: ClientId, line: &Value) {
        let mut out = Routed::default();
        self.router.from_client(client, line.to_string().as_bytes(), &mut out);
        self.settle(out);
    }

    fn server_says(&mut self, line: &Value) {
        let mut out = Routed::default();
        self.router.from_server(Line::Text(line.to_string().as_bytes()), &mut out);
        self.settle(out);
    }

    /// Lets the server answer until it has nothing more to say.
    fn settle(&mut self, mut out: Routed) {
        loop {
            self.left.append(&mut out.left);
            self.idle_dirs.append(&mut out.idle_dirs);
            assert_eq!(out.unreadable, [""; 0]);
            for (client, line) in std::mem::take(&mut out.to_clients) {
                assert_eq!(line.last(), Some(&b'\n'));
                self.heard.entry(client).or_default().push(serde_json::from_slice(&line).unwrap());
            }
            let said = std::mem::take(&mut out.to_server);
            if said.is_empty() {
                return;
            }
            for line in said.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                let line: Value = serde_json::from_slice(line).unwrap();
                self.written.push(line.clone());
                for answer in self.server.hears(&line) {
                    self.router.from_server(Line::Text(answer.to_string().as_bytes()), &mut out);
                }
            }
        }
    }

    fn take(&mut self, client: ClientId) -> Vec<Value> {
        self.heard.remove(&client).unwrap_or_default()
    }

    fn wrote(&self, method: &str) -> usize {
        self.written.iter().filter(|line| line["method"] == method).count()
    }
}

#[test]
fn hands_are_shaken_once_and_calls_keep_their_names() {
    let mut world = World::new();
    let (one, two) = (world.client(), world.client());
    assert_eq!((world.server.greeted, world.wrote("initialized")), (1, 1));
    assert_eq!(world.take(two), [json!({ "id": 1, "result": { "userAgent": "codex/1.0" } })]);
    world.take(one);
    world.says(one, &json!({ "method": "initialized" }));
    world.says(one, &json!({ "method": "thread/start", "id": 2, "params": {} }));
    world.says(two, &json!({ "method": "thread/start", "id": 2, "params": {} }));
    assert_eq!(world.take(one)[0]["result"]["thread"]["id"], "t1");
    assert_eq!(
        world.take(two)[0],
        json!({ "id": 2, "result": { "thread": { "id": "t2", "turns": [] }, "cwd": null } })
    );
    let ids: BTreeSet<String> =
        world.written.iter().filter(|line| line.get("id").is_some()).map(|line| line["id"].to_string()).collect();
    assert_eq!(ids.len(), 3, "every call has a name of its own");
}

#[test]
fn what_is_said_goes_to_whom_it_concerns() {
    let mut world = World::new();
    let (one, two) = (world.client(), world.client());
    world.says(one, &json!({ "method": "thread/start", "id": 2, "params": {} }));
    world.says(two, &json!({ "method": "thread/start", "id": 2, "params": {} }));
    world.take(one);
    world.take(two);
    let delta = json!({ "method": "item/agentMessage/delta", "params": { "threadId": "t2", "delta": "x" } });
    world.server_says(&delta);
    world.server_says(&json!({ "method": "configWarning", "params": {} }));
    assert_eq!(world.take(one).len(), 1, "what is about the server is for everybody");
    assert_eq!(world.take(two)[0], delta);
    // A request of the server, and only its client may answer.
    world.server_says(&json!({ "method": "item/tool/call", "id": 0, "params": { "threadId": "t1" } }));
    assert_eq!(world.take(one)[0]["id"], 0);
    let before = world.written.len();
    world.says(two, &json!({ "id": 0, "result": "stolen" }));
    assert_eq!(world.written.len(), before);
    world.says(one, &json!({ "id": 0, "result": "mine" }));
    world.says(one, &json!({ "id": 0, "result": "again" }));
    assert_eq!(world.written.len(), before + 1);
    assert_eq!(world.written.last().unwrap()["result"], "mine");
}

#[test]
fn children_belong_to_the_client_of_their_parent() {
    let mut world = World::new();
    let (one, two) = (world.client(), world.client());
    world.says(one, &json!({ "method": "thread/start", "id": 2, "params": {} }));
    world.says(two, &json!({ "method": "thread/start", "id": 2, "params": {} }));
    world.take(one);
    world.take(two);
    world.server.children.insert("c1".into(), "t2".into());
    world.server.children.insert("c2".into(), "c1".into());
    for child in ["c1", "c2"] {
        let line = json!({ "method": "thread/status/changed", "params": { "threadId": child } });
        world.server_says(&line);
        assert_eq!(world.take(two), [line], "{child}");
    }
    assert_eq!(world.take(one), [] as [Value; 0]);
    // A thread that is nobody's is not asked about for ever.
    let stray = json!({ "method": "turn/started", "params": { "threadId": "stray", "turn": { "id": "x" } } });
    world.server_says(&stray);
    world.server_says(&stray);
    assert_eq!(world.written.iter().filter(|line| line["params"]["threadId"] == "stray").count(), 1);
    world.server_says(&json!({ "method": "item/tool/call", "id": 5, "params": { "threadId": "stray" } }));
    assert!(world.written.last().unwrap().get("error").is_some(), "or the server would wait for ever");
}

#[test]
fn who_leaves_leaves_nothing_running() {
    let mut world = World::new();
    let one = world.client();
    world.says(one, &json!({ "method": "thread/start", "id": 2, "params": {} }));
    world.server_says(&json!({ "method": "turn/started", "params": { "threadId": "t1", "turn": { "id": "u1" } } }));
    world.server_says(&json!({ "method": "item/tool/call", "id": 0, "params": { "threadId": "t1" } }));
    world.take(one);
    world.says(one, &json!({ "method": "exit" }));
    assert_eq!(world.left, [one]);
    assert_eq!((world.wrote("turn/interrupt"), world.wrote("thread/unsubscribe")), (1, 1));
    assert!(world.written.iter().any(|line| line["id"] == 0 && line.get("error").is_some()));
    world.server_says(&json!({ "method": "turn/completed", "params": { "threadId": "t1", "turn": { "id": "u1" } } }));
    assert_eq!(world.take(one), [] as [Value; 0]);
    // Somebody else may go on with the thread.
    let two = world.client();
    world.says(two, &json!({ "method": "thread/resume", "id": 2, "params": { "threadId": "t1" } }));
    world.take(two);
    world.server_says(&json!({ "method": "turn/started", "params": { "threadId": "t1", "turn": { "id": "u2" } } }));
    assert_eq!(world.take(two).len(), 1);
    let three = world.client();
    world.take(three);
    world.says(three, &json!({ "method": "thread/resume", "id": 2, "params": { "threadId": "t1" } }));
    assert!(world.take(three)[0]["error"]["message"].as_str().unwrap().contains("active writer"));
}

#[test]
fn the_end_of_the_server_is_told_to_everybody() {
    let mut router = Router::default();
    let (one, two) = (router.connect(), router.connect());
    let mut out = Routed::default();
    router.from_client(one, br#"{"method":"initialize","id":1,"params":{}}"#, &mut out);
    router.from_client(two, br#"{"method":"thread/read","id":7,"params":{}}"#, &mut out);
    let mut out = Routed::default();
    router.server_closed("it crashed", &mut out);
    assert_eq!(out.left, [one, two]);
    let told: Vec<_> = out.to_clients.iter().map(|(client, line)| (*client, String::from_utf8_lossy(line))).collect();
    assert_eq!(told.len(), 2);
    assert!(told.iter().all(|(_, line)| line.contains("it crashed")));
    assert!(router.is_empty());
}

/// A router whose server says only what the test says, when the test says it.
#[derive(Default)]
struct Slow {
    router: Router,
    out: Routed,
}

impl Slow {
    fn client(&mut self) -> ClientId {
        self.router.connect()
    }

    fn says(&mut self, client: ClientId, line: &Value) {
        self.router.from_client(client, line.to_string().as_bytes(), &mut self.out);
    }

    fn server_says(&mut self, line: &Value) {
        self.router.from_server(Line::Text(line.to_string().as_bytes()), &mut self.out);
    }

    /// What was last asked of the server with this method, about this thread.
    fn asked(&mut self, method: &str, thread: &str) -> Option<Value> {
        let lines = self.out.to_server.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let mut lines = lines.map(|line| serde_json::from_slice::<Value>(line).unwrap());
        lines.rfind(|line| line["method"] == method && line["params"]["threadId"] == thread)
    }

    fn answers(&mut self, call: &Value, result: &Value) {
        self.server_says(&json!({ "id": call["id"], "result": result }));
    }

    fn refuses(&mut self, call: &Value) {
        self.server_says(&json!({ "id": call["id"], "error": { "code": -32600, "message": "no" } }));
    }

    /// What a client has heard since it was last asked.
    fn heard(&mut self, client: ClientId) -> Vec<Value> {
        let (theirs, others) = std::mem::take(&mut self.out.to_clients).into_iter().partition(|(to, _)| *to == client);
        self.out.to_clients = others;
        theirs.iter().map(|(_, line)| serde_json::from_slice(line).unwrap()).collect()
    }

    /// A thread of this client.
    fn thread(&mut self, client: ClientId, id: &str) {
        self.says(client, &json!({ "method": "thread/resume", "id": 1, "params": { "threadId": id } }));
        let call = self.asked("thread/resume", id).unwrap();
        self.answers(&call, &json!({ "thread": { "id": id }, "cwd": "/w" }));
        self.heard(client);
    }
}

#[test]
fn a_grandchild_may_be_known_before_its_parent() {
    let mut slow = Slow::default();
    let client = slow.client();
    slow.thread(client, "t");
    for thread in ["child", "grandchild"] {
        slow.server_says(&json!({ "method": "turn/started", "params": { "threadId": thread, "turn": { "id": "u" } } }));
    }
    let (child, grandchild) =
        (slow.asked("thread/read", "child").unwrap(), slow.asked("thread/read", "grandchild").unwrap());
    slow.answers(&grandchild, &json!({ "thread": { "id": "grandchild", "parentThreadId": "child" } }));
    assert_eq!(slow.heard(client), [] as [Value; 0], "it is not known yet whose child its parent is");
    slow.answers(&child, &json!({ "thread": { "id": "child", "parentThreadId": "t" } }));
    let threads: Vec<_> = slow.heard(client).iter().map(|line| line["params"]["threadId"].clone()).collect();
    assert_eq!(threads, ["child", "grandchild"]);
    // A server that is busy is asked again.
    let started = json!({ "method": "turn/started", "params": { "threadId": "busy", "turn": { "id": "u" } } });
    slow.server_says(&started);
    let refused = slow.asked("thread/read", "busy").unwrap();
    slow.refuses(&refused);
    let again = slow.asked("thread/read", "busy").unwrap();
    assert_ne!(again, refused);
    slow.answers(&again, &json!({ "thread": { "id": "busy", "parentThreadId": "t" } }));
    assert_eq!(slow.heard(client), [started]);
    // One whose parent has never said a word: the parent's parent is asked for.
    let ask = json!({ "method": "item/tool/call", "id": 9, "params": { "threadId": "late" } });
    slow.server_says(&ask);
    let late = slow.asked("thread/read", "late").unwrap();
    slow.answers(&late, &json!({ "thread": { "id": "late", "parentThreadId": "silent" } }));
    let silent = slow.asked("thread/read", "silent").expect("it is asked for");
    slow.answers(&silent, &json!({ "thread": { "id": "silent", "parentThreadId": "t" } }));
    assert_eq!(slow.heard(client), [ask]);
}

#[test]
fn whoever_goes_on_with_a_thread_hears_its_children_too() {
    let mut slow = Slow::default();
    let one = slow.client();
    slow.thread(one, "t");
    let started = json!({ "method": "turn/started", "params": { "threadId": "child", "turn": { "id": "u" } } });
    slow.server_says(&started);
    let read = slow.asked("thread/read", "child").unwrap();
    let child = json!({ "thread": { "id": "child", "parentThreadId": "t" } });
    slow.answers(&read, &child);
    slow.says(one, &json!({ "method": "exit" }));
    slow.server_says(&started);
    let two = slow.client();
    slow.thread(two, "t");
    slow.server_says(&started);
    let again = slow.asked("thread/read", "child").unwrap();
    assert_ne!(again, read, "it is nobody's, and it is asked whose it is");
    slow.answers(&again, &child);
    assert_eq!(slow.heard(two), [started]);
}

#[test]
fn a_turn_that_begins_after_its_client_has_left_is_stopped() {
    let mut slow = Slow::default();
    let client = slow.client();
    slow.thread(client, "t");
    slow.says(client, &json!({ "method": "turn/start", "id": 2, "params": { "threadId": "t", "input": [] } }));
    let start = slow.asked("turn/start", "t").unwrap();
    slow.says(client, &json!({ "method": "exit" }));
    assert_eq!(slow.asked("turn/interrupt", "t"), None, "it has no name yet");
    let clean = slow.asked("thread/backgroundTerminals/clean", "t").unwrap();
    slow.answers(&clean, &json!({}));
    assert!(!slow.router.is_settled(), "it may still begin");
    slow.answers(&start, &json!({ "turn": { "id": "u1" } }));
    assert_eq!(slow.asked("turn/interrupt", "t").expect("nobody wants it")["params"]["turnId"], "u1");
    let again = slow.asked("thread/backgroundTerminals/clean", "t").unwrap();
    assert_ne!(again, clean, "what it has begun to run is ended");
    slow.answers(&again, &json!({}));
    assert!(slow.router.is_settled());
}

#[test]
fn a_child_that_is_known_after_its_client_has_left_is_stopped() {
    let mut slow = Slow::default();
    let one = slow.client();
    slow.thread(one, "t");
    for thread in ["child", "grandchild"] {
        slow.server_says(&json!({ "method": "turn/started", "params": { "threadId": thread, "turn": { "id": "u" } } }));
    }
    let (child, grandchild) =
        (slow.asked("thread/read", "child").unwrap(), slow.asked("thread/read", "grandchild").unwrap());
    slow.answers(&grandchild, &json!({ "thread": { "id": "grandchild", "parentThreadId": "child" } }));
    slow.says(one, &json!({ "method": "exit" }));
    // Nor does it belong to somebody who could not have its parent.
    let two = slow.client();
    slow.says(two, &json!({ "method": "thread/resume", "id": 2, "params": { "threadId": "t" } }));
    let resume = slow.asked("thread/resume", "t").unwrap();
    slow.refuses(&resume);
    slow.heard(two);
    slow.answers(&child, &json!({ "thread": { "id": "child", "parentThreadId": "t" } }));
    for thread in ["child", "grandchild"] {
        assert!(slow.asked("turn/interrupt", thread).is_some(), "{thread}");
        assert!(slow.asked("thread/backgroundTerminals/clean", thread).is_some(), "{thread}");
        assert!(slow.asked("thread/unsubscribe", thread).is_some(), "{thread}");
    }
    assert_eq!(slow.heard(two), [] as [Value; 0]);
}

#[test]
fn a_thread_that_comes_after_its_client_has_left_is_let_go() {
    let mut slow = Slow::default();
    let client = slow.client();
    slow.says(client, &json!({ "method": "thread/fork", "id": 1, "params": { "threadId": "t" } }));
    let fork = slow.asked("thread/fork", "t").unwrap();
    slow.says(client, &json!({ "method": "exit" }));
    slow.answers(&fork, &json!({ "thread": { "id": "copy" } }));
    assert!(slow.asked("thread/unsubscribe", "copy").is_some());
}

#[test]
fn so_are_the_children_that_it_had_by_then() {
    let mut slow = Slow::default();
    let client = slow.client();
    slow.says(client, &json!({ "method": "thread/fork", "id": 1, "params": { "threadId": "t" } }));
    let fork = slow.asked("thread/fork", "t").unwrap();
    slow.says(client, &json!({ "method": "exit" }));
    for thread in ["copy", "child"] {
        slow.server_says(&json!({ "method": "turn/started", "params": { "threadId": thread, "turn": { "id": "u" } } }));
    }
    let (copy, child) = (slow.asked("thread/read", "copy").unwrap(), slow.asked("thread/read", "child").unwrap());
    slow.answers(&child, &json!({ "thread": { "id": "child", "parentThreadId": "copy" } }));
    slow.answers(&fork, &json!({ "thread": { "id": "copy" } }));
    slow.answers(&copy, &json!({ "thread": { "id": "copy" } }));
    for thread in ["copy", "child"] {
        assert!(slow.asked("thread/backgroundTerminals/clean", thread).is_some(), "{thread}");
        assert!(slow.asked("thread/unsubscribe", thread).is_some(), "{thread}");
    }
}

#[test]
fn a_thread_that_could_not_be_resumed_belongs_to_nobody() {
    let mut slow = Slow::default();
    let (one, two) = (slow.client(), slow.client());
    let resume = json!({ "method": "thread/resume", "id": 1, "params": { "threadId": "t" } });
    slow.says(one, &resume);
    let call = slow.asked("thread/resume", "t").unwrap();
    slow.refuses(&call);
    slow.says(two, &resume);
    assert_eq!(slow.heard(two), [] as [Value; 0], "nobody is in the way");
    assert_ne!(slow.asked("thread/resume", "t").unwrap(), call);
}

#[test]
fn whoever_goes_on_with_a_thread_keeps_it_when_an_earlier_answer_comes_late() {
    let mut slow = Slow::default();
    let one = slow.client();
    let resume = json!({ "method": "thread/resume", "id": 1, "params": { "threadId": "t" } });
    slow.says(one, &resume);
    let first = slow.asked("thread/resume", "t").unwrap();
    slow.says(one, &json!({ "method": "exit" }));
    let left = slow.asked("thread/unsubscribe", "t").unwrap();
    let two = slow.client();
    slow.says(two, &resume);
    let second = slow.asked("thread/resume", "t").unwrap();
    for call in [&first, &second] {
        slow.answers(call, &json!({ "thread": { "id": "t" }, "cwd": "/w" }));
    }
    assert_eq!(slow.asked("thread/unsubscribe", "t").unwrap(), left, "it is not let go again");
    slow.heard(two);
    let started = json!({ "method": "turn/started", "params": { "threadId": "t", "turn": { "id": "u" } } });
    slow.server_says(&started);
    assert_eq!(slow.heard(two), [started]);
}

#[test]
fn what_cannot_be_read_is_told_to_everybody_and_ends_a_call() {
    let mut slow = Slow::default();
    let (one, two) = (slow.client(), slow.client());
    slow.router.from_server(Line::Text(b"not JSON"), &mut slow.out);
    for client in [one, two] {
        let told = slow.heard(client);
        assert_eq!((told.len(), &told[0]["params"]["raw"]), (1, &json!("not JSON")));
    }
    slow.says(one, &json!({ "method": "thread/read", "id": 7, "params": { "threadId": "t" } }));
    let call = slow.asked("thread/read", "t").unwrap();
    let head = format!("{{\"id\":{},\"result\":{{\"thread\":", call["id"]);
    let line = Line::TooLong { size: 99, sha256: "abc", head: head.as_bytes() };
    slow.router.from_server(line, &mut slow.out);
    let told = slow.heard(one);
    assert_eq!((told.len(), &told[0]["id"]), (1, &json!(7)), "{told:?}");
    assert!(told[0]["error"]["message"].as_str().unwrap().contains("99 bytes"));
    assert_eq!(slow.heard(two), [] as [Value; 0], "it was not for this one");
}

#[test]
fn the_echo_of_a_name_that_was_given_here_is_no_news() {
    let mut slow = Slow::default();
    let (owner, other) = (slow.client(), slow.client());
    slow.thread(owner, "t");
    let name =
        |name: &str| json!({ "method": "thread/name/set", "id": 5, "params": { "threadId": "t", "name": name } });
    let updated =
        |name: &str| json!({ "method": "thread/name/updated", "params": { "threadId": "t", "threadName": name } });
    slow.says(other, &name("one"));
    slow.says(other, &name("two"));
    slow.server_says(&updated("one"));
    slow.server_says(&updated("two"));
    assert_eq!(
        slow.heard(owner),
        [] as [Value; 0],
        "the session has these names from elsewhere, and may have a third one"
    );
    slow.server_says(&updated("two"));
    assert_eq!(slow.heard(owner), [updated("two")], "this one is from another program");
}

#[derive(Debug, Clone)]
enum Step {
    Connect,
    Leave(usize),
    Start(usize),
    Call(usize),
    Child(usize),
    Notify(usize),
    Ask(usize),
    Garbage(Vec<u8>),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        Just(Step::Connect),
        (0usize..4).prop_map(Step::Leave),
        (0usize..6).prop_map(Step::Start),
        (0usize..6).prop_map(Step::Call),
        (0usize..8).prop_map(Step::Child),
        (0usize..12).prop_map(Step::Notify),
        (0usize..12).prop_map(Step::Ask),
        prop::collection::vec(any::<u8>(), 0..40).prop_map(Step::Garbage),
    ]
}

proptest! {
    /// Whatever happens in whatever order: every call is answered once and to its caller, and what a thread says reaches its owner and nobody else.
    #[test]
    fn nobody_hears_what_is_for_another(steps in prop::collection::vec(step(), 0..60)) {
        let mut world = World::new();
        let mut clients: Vec<ClientId> = Vec::new();
        let mut owners: BTreeMap<String, ClientId> = BTreeMap::new();
        let mut sent: BTreeMap<ClientId, i64> = BTreeMap::new();
        let pick = |list: &[ClientId], at: usize| (!list.is_empty()).then(|| list[at % list.len()]);
        let mut children = 0;
        for step in steps {
            let threads: Vec<String> = owners.keys().cloned().collect();
            match step {
                Step::Connect => {
                    let client = world.client();
                    prop_assert_eq!(world.take(client).len(), 1);
                    clients.push(client);
                    sent.insert(client, 1);
                }
                Step::Leave(at) => if let Some(client) = pick(&clients, at) {
                    world.says(client, &json!({ "method": "exit" }));
                    clients.retain(|known| *known != client);
                    owners.retain(|_, owner| *owner != client);
                },
                Step::Start(at) | Step::Call(at) => if let Some(client) = pick(&clients, at) {
                    let id = sent.get_mut(&client).unwrap();
                    *id += 1;
                    let id = *id;
                    let method = if matches!(step, Step::Start(_)) { "thread/start" } else { "model/list" };
                    world.says(client, &json!({ "method": method, "id": id, "params": {} }));
                    let heard = world.take(client);
                    prop_assert_eq!(heard.len(), 1);
                    prop_assert_eq!(&heard[0]["id"], &json!(id));
                    if let Some(thread) = heard[0]["result"]["thread"]["id"].as_str() {
                        owners.insert(thread.to_owned(), client);
                    }
                },
                Step::Child(at) => if !threads.is_empty() {
                    children += 1;
                    let (parent, child) = (&threads[at % threads.len()], format!("child{children}"));
                    world.server.children.insert(child.clone(), parent.clone());
                    world.server_says(&json!({ "method": "thread/status/changed", "params": { "threadId": child } }));
                    let owner = owners[parent];
                    prop_assert_eq!(world.take(owner).len(), 1);
                    owners.insert(child, owner);
                },
                Step::Notify(at) => if !threads.is_empty() {
                    let thread = &threads[at % threads.len()];
                    let turn = json!({ "id": format!("turn of {thread}") });
                    world.server_says(&json!({ "method": "turn/started", "params": { "threadId": thread, "turn": turn } }));
                    prop_assert_eq!(world.take(owners[thread]).len(), 1);
                },
                Step::Ask(at) => if !threads.is_empty() {
                    let thread = &threads[at % threads.len()];
                    world.server_says(&json!({ "method": "ask", "id": at, "params": { "threadId": thread } }));
                    prop_assert_eq!(world.take(owners[thread]).len(), 1);
                },
                Step::Garbage(bytes) => {
                    let mut out = Routed::default();
                    world.router.from_server(Line::Text(&bytes), &mut out);
                    if let Some(client) = clients.first() {
                        world.router.from_client(*client, &bytes, &mut out);
                    }
                    out.unreadable.clear();
                    world.settle(out);
                    for client in &clients {
                        world.take(*client);
                    }
                }
            }
            prop_assert!(world.heard.is_empty(), "{:?}", world.heard);
            prop_assert!(world.server.greeted <= 1);
        }
    }
}
