//! What the black-box tests share: the real program with a data directory of its own, and a client that sends exactly what it is told to.

#![allow(dead_code, unused_imports, unreachable_pub, reason = "each test program uses a part of this")]

pub mod client;
pub mod closed;
pub mod contract;
mod eventually;
pub mod receiver;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

pub use self::client::{Answer, Client, Sse};
pub(crate) use self::eventually::{PATIENCE, eventually, eventually_or};
pub use self::receiver::{Act, Received, Receiver};

/// A daemon in a process of its own, ended with the test.
pub struct Daemon {
    child: Option<Child>,
    pub data: PathBuf,
    pub client: Client,
    owned: Option<TempDir>,
    surroundings: Surroundings,
}

/// The environment of a daemon.
#[derive(Debug, Clone, Default)]
pub enum Surroundings {
    /// That of the test.
    #[default]
    Inherited,
    /// These variables and no others.
    Only(Vec<(String, String)>),
}

impl Daemon {
    /// A daemon on a fresh data directory.
    pub fn start() -> Self {
        Self::start_with("", &[])
    }

    /// With these settings in its configuration file and these arguments.
    pub fn start_with(config: &str, args: &[&str]) -> Self {
        let data = tempfile::tempdir().expect("a temporary directory");
        std::fs::write(data.path().join("config.toml"), config).expect("a configuration file");
        let mut daemon = Self::on(data.path(), args);
        daemon.owned = Some(data);
        daemon
    }

    /// With these settings, and an environment of nothing but this.
    pub fn start_in(config: &str, env: Vec<(String, String)>) -> Self {
        let data = tempfile::tempdir().expect("a temporary directory");
        std::fs::write(data.path().join("config.toml"), config).expect("a configuration file");
        let mut daemon = Self::launch(data.path(), &[], Surroundings::Only(env));
        daemon.owned = Some(data);
        daemon
    }

    /// A daemon on a data directory that is there already.
    pub fn on(data: &Path, args: &[&str]) -> Self {
        Self::launch(data, args, Surroundings::Inherited)
    }

    fn launch(data: &Path, args: &[&str], surroundings: Surroundings) -> Self {
        drop(std::fs::remove_file(data.join("daemon.json")));
        let mut command = Command::new(env!("CARGO_BIN_EXE_turnloom"));
        command.args(["up", "--port", "0", "--no-open", "--no-sample", "--data"]).arg(data).args(args);
        if let Surroundings::Only(env) = &surroundings {
            command.env_clear().envs(env.iter().cloned());
        }
        command.env_remove("TURNLOOM_DATA").env_remove("TURNLOOM_TOKEN").env("TURNLOOM_LOG", "warn");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::inherit());
        let mut child = command.spawn().expect("turnloom starts");
        let found = eventually("the daemon listens", || {
            assert!(child.try_wait().expect("its state").is_none(), "the daemon ended before it listened");
            let found: Value = serde_json::from_slice(&std::fs::read(data.join("daemon.json")).ok()?).ok()?;
            found["url"].as_str().map(str::to_owned)
        });
        let token = std::fs::read_to_string(data.join("token")).ok();
        let client = Client::new(found.strip_prefix("http://").expect("an address"), token.as_deref());
        Self { child: Some(child), data: data.to_owned(), client, owned: None, surroundings }
    }

    pub fn pid(&self) -> u32 {
        self.child.as_ref().expect("it runs").id()
    }

    /// SIGKILL: no goodbye.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().expect("it can be killed");
            child.wait().expect("it ends");
        }
    }

    /// SIGTERM, and the exit code.
    pub fn terminate(&mut self) -> Option<i32> {
        let pid = rustix::process::Pid::from_child(self.child.as_ref()?);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("it can be signalled");
        self.exit_code()
    }

    /// The exit code of one that ends by itself.
    pub fn exit_code(&mut self) -> Option<i32> {
        let mut child = self.child.take()?;
        let status = eventually("the daemon ends", || child.try_wait().expect("its state"));
        status.code()
    }

    /// The next daemon on the same data.
    pub fn again(&mut self) {
        assert!(self.child.is_none(), "end the first one first");
        let next = Self::launch(&self.data, &[], self.surroundings.clone());
        self.client = next.client.clone();
        let mut next = std::mem::ManuallyDrop::new(next);
        self.child = next.child.take();
    }

    /// Processes that the last daemon on this data started for a session. Other daemons have sessions of the same name.
    pub fn processes_of(&self, session: &str) -> Vec<u32> {
        let instance =
            std::fs::read_to_string(self.data.join("instance")).expect("the daemon wrote down which run it is");
        processes_with_all(&[&format!("TURNLOOM_SESSION={session}"), &format!("TURNLOOM_DAEMON={}", instance.trim())])
    }

    /// Resident memory of the daemon, in bytes.
    pub fn memory(&self) -> usize {
        self.status("RssAnon:")
    }

    /// The most it ever had, with what it has of its files.
    pub fn peak_memory(&self) -> usize {
        self.status("VmHWM:")
    }

    fn status(&self, name: &str) -> usize {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).expect("its status");
        let line = status.lines().find(|line| line.starts_with(name)).expect("its memory");
        let kib: usize = line.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).expect("a number");
        kib * 1024
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A library that a program can be made to load before all others, from a source beside this file.
pub fn preload(source: &str, folder: &Path) -> PathBuf {
    let library = folder.join(source).with_extension("so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/support").join(source);
    let made = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(source).status();
    assert!(made.expect("a C compiler, as for the program itself").success());
    library
}

/// Processes that carry a session's cookie, whoever started them: for sessions whose names nobody else has.
pub fn processes_of(session: &str) -> Vec<u32> {
    processes_with(&format!("TURNLOOM_SESSION={session}"))
}

/// Processes with this variable in their environment.
pub fn processes_with(wanted: &str) -> Vec<u32> {
    processes_with_all(&[wanted])
}

fn processes_with_all(wanted: &[&str]) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").expect("/proc").flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| {
            let environ = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            wanted.iter().all(|wanted| environ.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes()))
        })
        .collect()
}

/// The steps every test begins with.
impl Client {
    /// A mock session that talks as fast as it can.
    pub fn mock(&self, id: &str) {
        let body = json!({ "session_id": id, "runtime": "mock", "params": { "pace_ms": 0 } });
        assert_eq!(self.post("/api/sessions", &body).status, 201);
    }

    pub fn say(&self, id: &str, text: &str) -> Value {
        let answer = self.post(&format!("/api/sessions/{id}/message"), &json!({ "message": text }));
        assert_eq!(answer.status, 202, "{}", answer.body);
        answer.json()
    }

    pub fn session(&self, id: &str) -> Value {
        self.get(&format!("/api/sessions/{id}")).json()
    }

    /// The whole log, as the JSON route gives it.
    pub fn log(&self, id: &str) -> Vec<Value> {
        let mut events = Vec::new();
        loop {
            let after = events.last().map_or(0, |event: &Value| event["seq"].as_u64().expect("a seq"));
            let page = self.get(&format!("/api/sessions/{id}/events?after={after}&limit=5000")).json();
            events.extend(page["events"].as_array().expect("events").iter().cloned());
            if page["has_more"] != true {
                return events;
            }
        }
    }

    /// Waits until a session is at rest.
    pub fn until_idle(&self, id: &str) -> Value {
        eventually("the session is idle", || {
            let session = self.session(id);
            let idle = session["turn"].is_null() && session["queued"] == 0;
            idle.then_some(session)
        })
    }

    /// Waits until the agent has been told of the last turn.
    pub fn until_thinking(&self, id: &str) {
        eventually("the agent thinks", || {
            let log = self.log(id);
            let statuses = log.iter().rev().take_while(|event| event["type"] != "done");
            statuses.into_iter().any(|event| event["data"]["state"] == "thinking").then_some(())
        });
    }

    /// Sends a message and waits for the end of its turn.
    pub fn turn(&self, id: &str, text: &str) -> Vec<Value> {
        let mut stream = Sse::post(self, &format!("/api/sessions/{id}/turn"), &json!({ "message": text }));
        let mut events = Vec::new();
        while let Some(event) = stream.next_event() {
            if event.kind != "accepted" && event.kind != "heartbeat" {
                events.push(serde_json::from_str(&event.data).expect("an event"));
            }
        }
        events
    }

    /// The first ask that waits in a session.
    pub fn ask(&self, id: &str) -> String {
        eventually("an ask", || {
            let asks = self.get("/api/asks").json();
            let ask = asks["asks"].as_array()?.iter().find(|ask| ask["session_id"] == id)?;
            ask["ask_id"].as_str().map(str::to_owned)
        })
    }
}

pub fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().expect("a type")).collect()
}

pub fn of_kind<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["type"] == kind).collect()
}

/// Every law, checked on what the API gave.
pub fn assert_lawful(events: &[Value]) {
    use turnloom_core::event::Envelope;
    let decode = |event: &Value| Envelope::decode(event.to_string().as_bytes()).expect("an event");
    let log: Vec<Envelope> = events.iter().map(decode).collect();
    let broken = turnloom_core::laws::check(&log, turnloom_core::laws::Ending::AtRest);
    assert!(broken.is_empty(), "{broken:?}");
}
