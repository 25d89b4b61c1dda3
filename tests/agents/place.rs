//! A place to test an agent in: a scripted model, a daemon with an environment of its own, a home and a working directory that are gone afterwards.

use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use turnloom_scripted::{Kind, Options, Script, Seen, Server};

use crate::support::{Client, Daemon, assert_lawful, eventually, eventually_or, of_kind, processes_of, processes_with};

/// Where the programs are.
pub(crate) fn agents() -> PathBuf {
    let given = std::env::var_os("TURNLOOM_AGENTS").map(PathBuf::from);
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    given.or_else(|| Some(cache.or(home)?.join("turnloom/agents"))).expect("TURNLOOM_AGENTS or HOME is set")
}

fn program(path: &str) -> PathBuf {
    let program = agents().join(path);
    assert!(program.is_file(), "{} is not there; run `cargo xtask agents` once", program.display());
    program
}

pub(crate) fn claude_program() -> PathBuf {
    program("claude/claude")
}

pub(crate) fn codex_program() -> PathBuf {
    program("codex/codex")
}

/// The oldest version that the daemon takes.
pub(crate) fn oldest_codex_program() -> PathBuf {
    program("codex-oldest/codex")
}

pub(crate) struct Model {
    runtime: Runtime,
    server: Option<Server>,
}

impl Model {
    pub(crate) fn start(script: &str) -> Self {
        let script = Script::parse(script).unwrap_or_else(|error| panic!("{error:?}"));
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let address = "127.0.0.1:0".parse().unwrap();
        let server = runtime.block_on(Server::start_with(script, address, Options::fresh())).unwrap();
        Self { runtime, server: Some(server) }
    }

    pub(crate) fn server(&self) -> &Server {
        self.server.as_ref().expect("it runs")
    }

    /// Waits until a stream stands at this gate.
    pub(crate) fn until_waiting(&self, gate: &str) {
        eventually(&format!("a stream waits for {gate}"), || (self.server().waiting(gate) > 0).then_some(()));
    }

    pub(crate) fn release(&self, gate: &str) {
        assert!(self.server().release(gate), "the script has a gate {gate}");
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            self.runtime.block_on(server.stop());
        }
    }
}

/// A machine that has much else to do must not make the daemon lose patience with its agents: these tests are not about that.
const SLOWLY: &str = "start_seconds = 200\ninterrupt_seconds = 60\nterminate_seconds = 60\n";

pub(crate) struct Place {
    pub(crate) daemon: Daemon,
    pub(crate) model: Model,
    pub(crate) work: TempDir,
    /// The folder above, in which nothing may matter.
    _above: TempDir,
    pub(crate) home: TempDir,
    sessions: Vec<String>,
}

impl Place {
    /// For Claude Code.
    pub(crate) fn claude(script: &str) -> Self {
        Self::claude_with(script, "", &[])
    }

    /// With more settings, and more in the environment.
    pub(crate) fn claude_with(script: &str, settings: &str, more: &[(&str, &str)]) -> Self {
        let model = Model::start(script);
        let url = model.server().url();
        let mut env = vec![
            ("ANTHROPIC_BASE_URL", url.as_str()),
            ("ANTHROPIC_API_KEY", "dummy"),
            ("CLAUDE_CODE_MAX_RETRIES", "1"),
        ];
        env.retain(|(name, _)| !more.iter().any(|(other, _)| other == name));
        env.extend(more.iter().filter(|(_, value)| !value.is_empty()));
        let config = format!("[claude]\nprogram = \"{}\"\n{settings}\n", claude_program().display());
        Self::with(&config, &env, model)
    }

    /// For Codex, with a home of its own.
    pub(crate) fn codex(script: &str) -> Self {
        Self::codex_with(script, "")
    }

    /// With more settings of its provider, and of everything after it.
    pub(crate) fn codex_with(script: &str, more: &str) -> Self {
        Self::codex_of(&codex_program(), script, more)
    }

    pub(crate) fn codex_of(program: &Path, script: &str, more: &str) -> Self {
        let model = Model::start(script);
        let url = model.server().url();
        let config = format!("[codex]\nprogram = \"{}\"\npass_env = [\"SCRIPTED_KEY\"]\n", program.display());
        // Codex does not want its home below the folder for temporary files, which is where the tests have it.
        let place = Self::with(&config, &[("SCRIPTED_KEY", "dummy"), ("TMPDIR", "/var/tmp")], model);
        place.configure_codex(&scripted_provider(&url, more));
        place
    }

    /// For both of them, with one model and these settings.
    pub(crate) fn both(script: &str, settings: &str) -> Self {
        let model = Model::start(script);
        let url = model.server().url();
        let config = format!(
            "{settings}\n[claude]\nprogram = \"{}\"\n[codex]\nprogram = \"{}\"\npass_env = [\"SCRIPTED_KEY\"]\n",
            claude_program().display(),
            codex_program().display()
        );
        let env = [
            ("ANTHROPIC_BASE_URL", url.as_str()),
            ("ANTHROPIC_API_KEY", "dummy"),
            ("CLAUDE_CODE_MAX_RETRIES", "1"),
            ("SCRIPTED_KEY", "dummy"),
            ("TMPDIR", "/var/tmp"),
        ];
        let place = Self::with(&config, &env, model);
        place.configure_codex(&scripted_provider(&url, ""));
        place
    }

    /// Writes Codex's own settings.
    pub(crate) fn configure_codex(&self, settings: &str) {
        let home = self.home.path().join(".codex");
        std::fs::create_dir_all(&home).unwrap();
        std::fs::write(home.join("config.toml"), settings).unwrap();
    }

    /// What `turnloom doctor` says.
    pub(crate) fn doctor(&self) -> String {
        let mut doctor = Command::new(env!("CARGO_BIN_EXE_turnloom"));
        let ran = doctor.args(["doctor", "--data"]).arg(&self.daemon.data).env_clear().output().unwrap();
        String::from_utf8(ran.stdout).unwrap()
    }

    /// What the daemon says of a runtime.
    pub(crate) fn agent_info(&self, runtime: &str) -> Value {
        let agents = self.client().get("/api/agents").json();
        agents["agents"].as_array().unwrap().iter().find(|agent| agent["id"] == runtime).unwrap().clone()
    }

    /// Every turn that the model was asked for. Agents ask it for other things as well, at any time.
    pub(crate) fn asked_turns(&self) -> Vec<Seen> {
        self.model.server().requests().into_iter().filter(|seen| seen.kind == Some(Kind::Turn)).collect()
    }

    /// What people and the agent had said when the model was last asked for a turn, as one text.
    pub(crate) fn last_conversation(&self) -> String {
        self.asked_turns().last().unwrap().heard.join("\n")
    }

    /// What the model was told about the agent's work when it was last asked for a turn.
    pub(crate) fn last_instructions(&self) -> String {
        let seen = self.model.server().requests();
        seen.iter().rev().find(|seen| seen.kind == Some(Kind::Turn)).unwrap().system.clone()
    }

    /// Stops the turn that runs.
    pub(crate) fn stop(&self, id: &str) {
        let stopped = self.client().post(&format!("/api/sessions/{id}/stop"), &json!({}));
        assert_eq!(stopped.json(), json!({ "stopped": true }), "{}", stopped.body);
    }

    /// Every process that was started for this place, the daemon and whatever has its name from elsewhere not among them.
    pub(crate) fn agents(&self) -> Vec<u32> {
        let mut found = processes_with(&format!("HOME={}", self.home.path().display()));
        found.retain(|pid| environ(*pid).contains("TURNLOOM_SESSION="));
        found
    }

    /// SIGKILL to all of them, and they are gone.
    pub(crate) fn kill_agents(&self) {
        let agents = self.agents();
        assert!(!agents.is_empty(), "an agent runs");
        for pid in &agents {
            let pid = Pid::from_raw(i32::try_from(*pid).unwrap()).unwrap();
            let _ = kill_process(pid, Signal::KILL);
        }
        eventually("they are gone", || agents.iter().all(|pid| environ(*pid).is_empty()).then_some(()));
    }

    pub(crate) fn with(config: &str, env: &[(&str, &str)], model: Model) -> Self {
        let (above, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        // As a sandbox of Codex leaves it where Codex is run by hand.
        std::fs::create_dir(above.path().join(".git")).unwrap();
        let work = tempfile::tempdir_in(above.path()).unwrap();
        make_project(work.path());
        let path = std::env::var("PATH").unwrap_or_else(|_| "/usr/bin:/bin".to_owned());
        let base = [("PATH", path.as_str()), ("HOME", home.path().to_str().unwrap()), ("LANG", "C.UTF-8")];
        let env = base.iter().chain(env).map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let config = format!("{SLOWLY}{config}");
        Self { daemon: Daemon::start_in(&config, env), model, work, _above: above, home, sessions: Vec::new() }
    }

    pub(crate) fn client(&self) -> &Client {
        &self.daemon.client
    }

    pub(crate) fn dir(&self) -> &Path {
        self.work.path()
    }

    pub(crate) fn file(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.work.path().join(name)).ok()
    }

    /// A session in the working directory. Names are unlike those of other tests, because processes are found by them.
    pub(crate) fn session(&mut self, runtime: &str, params: Value) -> String {
        let id = format!("{runtime}-{}", uuid::Uuid::now_v7());
        let mut params = params;
        params["cwd"] = self.dir().to_str().unwrap().into();
        let answer =
            self.client().post("/api/sessions", &json!({ "session_id": id, "runtime": runtime, "params": params }));
        assert_eq!(answer.status, 201, "{}", answer.body);
        self.sessions.push(id.clone());
        id
    }

    /// A session that was removed is not looked after any more.
    pub(crate) fn forget(&mut self, id: &str) {
        self.sessions.retain(|known| known != id);
    }

    /// Takes a session that was made in another way into care.
    pub(crate) fn adopt(&mut self, id: &str) {
        self.sessions.push(id.to_owned());
    }

    /// Sends a message and waits for the end of its turn, answering nothing.
    pub(crate) fn turn(&self, id: &str, text: &str) -> Turn {
        Turn(self.client().turn(id, text))
    }

    /// Sends a message and does not wait.
    pub(crate) fn say(&self, id: &str, text: &str) {
        self.client().say(id, text);
    }

    pub(crate) fn until_idle(&self, id: &str) -> Turn {
        self.client().until_idle(id);
        self.last_turn(id)
    }

    pub(crate) fn last_turn(&self, id: &str) -> Turn {
        let log = self.client().log(id);
        let turn = log.iter().rev().find_map(|event| event["turn_id"].as_str()).unwrap_or_default().to_owned();
        Turn(log.into_iter().filter(|event| event["turn_id"] == turn.as_str()).collect())
    }

    /// Waits for an ask, and what was asked.
    pub(crate) fn ask(&self, id: &str) -> Value {
        eventually("an ask", || {
            let asks = self.client().get("/api/asks").json();
            asks["asks"].as_array()?.iter().find(|ask| ask["session_id"] == id).cloned()
        })
    }

    pub(crate) fn permit(&self, id: &str, ask: &Value, answer: &Value) {
        let path = format!("/api/sessions/{id}/permissions/{}", ask["ask_id"].as_str().unwrap());
        let given = self.client().post(&path, answer);
        assert_eq!(given.status, 200, "{}", given.body);
    }

    pub(crate) fn answer(&self, id: &str, ask: &Value, answers: &Value) {
        let path = format!("/api/sessions/{id}/questions/{}", ask["ask_id"].as_str().unwrap());
        let given = self.client().post(&path, &json!({ "answers": answers }));
        assert_eq!(given.status, 200, "{}", given.body);
    }

    /// Waits until an event like this is in the log.
    pub(crate) fn until(&self, id: &str, what: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        let found = || self.client().log(id).into_iter().find(&is_it);
        eventually_or(what, found, || {
            let seen = self.model.server().requests();
            let seen: Vec<_> =
                seen.iter().map(|seen| (seen.number, &seen.user, &seen.tool_result, &seen.reply)).collect();
            format!("the log: {:?}\nthe model was asked: {seen:#?}", Turn(self.client().log(id)))
        })
    }

    /// A log without an open turn. An agent may begin one by itself at any time: when something in the background has ended.
    fn log_at_rest(&self, id: &str) -> Vec<Value> {
        eventually("a log at rest", || {
            self.client().until_idle(id);
            let log = self.client().log(id);
            (of_kind(&log, "turn_started").len() == of_kind(&log, "done").len()).then_some(log)
        })
    }

    /// Whatever a test did: the laws hold, nothing was unreadable, and nothing is left running.
    pub(crate) fn end(mut self) {
        let logs: Vec<Vec<Value>> = self.sessions.iter().map(|id| self.log_at_rest(id)).collect();
        assert_eq!(self.daemon.terminate(), Some(0));
        for (id, log) in self.sessions.iter().zip(logs) {
            let unparsed = of_kind(&log, "agent_unparsed");
            assert!(unparsed.is_empty(), "{unparsed:#?}");
            assert_lawful(&log);
            assert!(processes_of(id).is_empty(), "nothing of {id} is left");
        }
        assert!(self.agents().is_empty(), "nothing at all is left");
        let own = std::fs::read_to_string(self.home.path().join(".codex/config.toml")).unwrap_or_default();
        assert!(!own.contains("trust_level"), "nobody has told Codex to trust a project: {own}");
        // What a sandbox puts into a workspace has to go again: empty folders that make it look like something else.
        for entry in std::fs::read_dir(self.dir()).unwrap().map(Result::unwrap) {
            let stray = std::fs::read_dir(entry.path()).is_ok_and(|mut inside| inside.next().is_none());
            // Claude Code keeps a lock of its schedule there, and leaves the folder behind when it goes.
            let stray = stray && entry.file_name() != ".claude";
            assert!(!stray, "{} was left in the workspace", entry.path().display());
        }
    }
}

/// Codex's settings for a model at this address, and more of its provider and of everything after it.
fn scripted_provider(url: &str, more: &str) -> String {
    format!(
        r#"
        model = "gpt-5.5"
        model_provider = "scripted"
        [model_providers.scripted]
        name = "Scripted"
        base_url = "{url}/v1"
        wire_api = "responses"
        requires_openai_auth = false
        env_key = "SCRIPTED_KEY"
        request_max_retries = 0
        {more}
        "#
    )
}

/// Makes a folder a project of its own: a repository in which nothing was ever committed. Agents look for one in all folders above, and whatever is
/// there must not matter.
fn make_project(folder: &Path) {
    let git = folder.join(".git");
    for inside in ["objects", "refs/heads"] {
        std::fs::create_dir_all(git.join(inside)).unwrap();
    }
    std::fs::write(git.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    std::fs::write(git.join("config"), "[core]\n\trepositoryformatversion = 0\n\tbare = false\n").unwrap();
}

fn environ(pid: u32) -> String {
    String::from_utf8_lossy(&std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default()).into_owned()
}

/// What happened in one turn.
pub(crate) struct Turn(pub(crate) Vec<Value>);

/// A line for each event.
impl std::fmt::Debug for Turn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|event| write!(f, "\n{:>4} {} {}", event["seq"], event["type"], event["data"]))
    }
}

impl Turn {
    pub(crate) fn of_kind(&self, kind: &str) -> Vec<&Value> {
        of_kind(&self.0, kind)
    }

    /// What the agent itself said, block by block, without what it took back.
    pub(crate) fn text(&self) -> String {
        let gone: Vec<&Value> = self.of_kind("retracted").iter().map(|event| &event["data"]["block_id"]).collect();
        let deltas = self.of_kind("delta").into_iter().filter(|event| event["data"]["subagent_id"].is_null());
        let kept = deltas.filter(|event| !gone.contains(&&event["data"]["block_id"]));
        kept.map(|event| event["data"]["text"].as_str().unwrap()).collect()
    }

    pub(crate) fn thinking(&self) -> String {
        self.of_kind("thinking").iter().map(|event| event["data"]["text"].as_str().unwrap()).collect()
    }

    pub(crate) fn outcome(&self) -> &str {
        let done = self.of_kind("done");
        done.first().and_then(|event| event["data"]["outcome"].as_str()).unwrap_or("not done")
    }

    pub(crate) fn tools(&self) -> Vec<&str> {
        self.of_kind("tool_start").iter().map(|event| event["data"]["tool"].as_str().unwrap()).collect()
    }

    /// The data of the only event of this kind.
    #[track_caller]
    pub(crate) fn only(&self, kind: &str) -> &Value {
        let found = self.of_kind(kind);
        assert_eq!(found.len(), 1, "one {kind}: {self:?}");
        &found[0]["data"]
    }

    #[track_caller]
    pub(crate) fn completed(self) -> Self {
        assert_eq!(self.outcome(), "completed", "{self:?}");
        self
    }

    #[track_caller]
    pub(crate) fn failed(self, code: &str) -> Self {
        assert_eq!(self.outcome(), "failed", "{self:?}");
        let error = self.only("error");
        assert_eq!(error["code"], code, "{error}");
        assert!(error["fix"].as_str().is_some_and(|fix| !fix.is_empty()), "{error}");
        self
    }
}
