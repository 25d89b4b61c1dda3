//! The runtimes on this machine: which program each needs, whether it is there, how it is started. What an agent says is read in
//! `turnloom_core::runtime`.

pub mod claude;
pub mod codex;
pub mod command;
pub mod external;
mod instructions;
pub mod mock;
pub mod program;

use std::collections::BTreeMap;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use turnloom_core::event::SlashCommand;
use turnloom_core::id::SessionId;
use turnloom_core::runtime::external::Cursor;
use turnloom_core::runtime::{Capabilities, Hearing, ImportedTurn, Opening, Protocol, Setting, StartFailure, Takes};
use turnloom_core::time::Timestamp;

use self::external::{External, ExternalAgents};
use crate::process::{self, Spawner};
use crate::scoped_tokens::{Loan, Reach, Scope, ScopedTokens};

/// An agent that runs, and the language it speaks.
pub struct Running {
    pub agent: process::Agent,
    pub protocol: Box<dyn Protocol>,
    /// What must be kept as long as the agent runs.
    pub held: Option<Box<dyn std::any::Any + Send>>,
}

impl std::fmt::Debug for Running {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Running").field("agent", &self.agent).finish_non_exhaustive()
    }
}

pub type RuntimeFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
pub type StartFuture<'a> = RuntimeFuture<'a, Result<Running, StartFailure>>;

/// What agents are started with.
#[derive(Debug, Clone)]
pub struct LaunchContext {
    pub spawner: Spawner,
    pub tracker: TaskTracker,
    pub max_line_bytes: usize,
    /// The sessions are gone; what they shared has to end.
    pub closing: CancellationToken,
    /// Where the daemon is reached from this machine.
    pub url: String,
    /// What programs get to call it.
    pub tokens: ScopedTokens,
}

impl LaunchContext {
    /// What a program needs to add facts to a session, for as long as the loan is kept.
    pub fn emit_env(&self, name: &str, session: &SessionId) -> (Vec<(String, String)>, Loan) {
        let (token, loan) = self.tokens.lend(name, vec![Scope::Emit(Reach::One(session.clone()))]);
        let variables =
            [("TURNLOOM_URL", self.url.clone()), ("TURNLOOM_SESSION", session.to_string()), ("TURNLOOM_TOKEN", token)];
        (variables.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(), loan)
    }
}

/// One kind of agent.
pub trait Runtime: Send + Sync + std::fmt::Debug {
    fn id(&self) -> &'static str;

    fn info<'a>(&'a self, context: &'a LaunchContext) -> RuntimeFuture<'a, AgentInfo>;

    fn capabilities(&self) -> Capabilities;

    /// The modes that a session may have; any word, if there are none here.
    fn modes(&self) -> &'static [&'static str] {
        &[]
    }

    /// Parameters of a session that only this runtime understands.
    fn own_params(&self) -> &'static [&'static str] {
        &[]
    }

    /// Those of them of which it is known what they take.
    fn params(&self) -> &'static [Setting] {
        self.settings()
    }

    /// Whether what this runtime makes of parameters is no deeper than a value may be (`turnloom_core::nesting`).
    fn params_fit(&self, _params: &serde_json::Map<String, serde_json::Value>) -> bool {
        true
    }

    /// Says why a session with these parameters may not have a mode that others may have.
    fn may_have_mode(&self, _mode: &str, _params: &serde_json::Value) -> Result<(), String> {
        Ok(())
    }

    /// Which of them may be changed later.
    fn settings(&self) -> &'static [Setting] {
        &[]
    }

    /// How long an agent without work is kept.
    fn idle_ms(&self) -> i64;

    /// Whether parameters that are not known go to the agent as they are.
    fn takes_any_params(&self) -> bool {
        false
    }

    /// How long a turn waits for an agent that has lost its connection; nothing, if it cannot lose one.
    fn grace_ms(&self) -> Option<i64> {
        None
    }

    /// How its agents hear what people do on the screen.
    fn hearing(&self) -> Hearing {
        Hearing::Orders
    }

    /// How long a session waits for somebody to be its agent, before one can start.
    fn wait_ms(&self) -> i64 {
        0
    }

    /// Goes on with an agent that has the session already and may come back.
    fn attach(&self, _session: &SessionId, _cursor: &Cursor, _context: &LaunchContext) -> Option<Running> {
        None
    }

    fn start<'a>(&'a self, opening: &'a Opening, context: &'a LaunchContext) -> StartFuture<'a>;

    /// The conversations the agent has stored for a directory, newest first.
    fn conversations<'a>(
        &'a self,
        _cwd: &'a Path,
        _context: &'a LaunchContext,
    ) -> RuntimeFuture<'a, Result<Vec<Conversation>, AdoptError>> {
        Box::pin(async { Err(AdoptError::Unsupported) })
    }

    /// What was said in one of them.
    fn history<'a>(
        &'a self,
        _id: &'a str,
        _context: &'a LaunchContext,
    ) -> RuntimeFuture<'a, Result<History, AdoptError>> {
        Box::pin(async { Err(AdoptError::Unsupported) })
    }

    /// Whether the agent has names and a place for old ones in its own list, and wants to be [told](Self::push).
    fn mirrors(&self) -> bool {
        false
    }

    /// Tells the agent what has become of a session with one of its conversations.
    fn push<'a>(
        &'a self,
        _id: &'a str,
        _params: &'a serde_json::Value,
        _update: &'a MirrorUpdate,
        _context: &'a LaunchContext,
    ) -> RuntimeFuture<'a, Result<(), AdoptError>> {
        Box::pin(async { Err(AdoptError::Unsupported) })
    }
}

/// What has become of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MirrorUpdate {
    Renamed(String),
    Archived,
    Unarchived,
}

/// A conversation that an agent has stored by itself.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Conversation {
    /// The agent's name for it.
    pub id: String,
    pub title: String,
    pub cwd: Option<String>,
    pub updated_at: Timestamp,
}

/// A stored conversation, as facts.
#[derive(Debug)]
pub struct History {
    pub conversation: Conversation,
    pub turns: Vec<ImportedTurn>,
}

/// Why a stored conversation cannot become a session.
#[derive(Debug, thiserror::Error)]
pub enum AdoptError {
    #[error("this runtime has no conversations that could become sessions")]
    Unsupported,
    #[error("there is no conversation {0}")]
    NotFound(String),
    #[error("cannot read what the agent has stored: {0}")]
    Unreadable(String),
}

/// What a client may know of a runtime.
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct AgentInfo {
    pub id: String,
    pub name: String,
    pub installed: bool,
    pub version: Option<String>,
    pub kind: AgentKind,
    /// How many processes are connected, of an agent that connects.
    pub connected: Option<usize>,
    pub capabilities: Capabilities,
    /// The modes that a session may have; any word, if they are not listed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Option<Vec<String>>")]
    pub modes: Vec<String>,
    /// What may be changed while a session lives, besides its model and mode.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    #[schemars(with = "Option<Vec<Setting>>")]
    pub settings: &'static [Setting],
    /// What a session may be created with, besides its folder, title, model and mode, and the tools that clients run.
    pub params: Vec<Setting>,
    /// What a message that begins with a slash may call, as an agent of this runtime told it last.
    pub commands: Option<Vec<SlashCommand>>,
    /// What keeps it from working.
    pub problem: Option<String>,
    /// What to do about it.
    pub fix: Option<String>,
}

/// Where an agent comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AgentKind {
    #[default]
    Builtin,
    /// It connects to the daemon.
    External,
    /// A program that the daemon starts.
    Command,
}

/// Parameters that every runtime takes, and what they take.
pub const SHARED_PARAMS: &[Setting] = &[
    Setting { name: "system_prompt", takes: Takes::Text, choices: &[] },
    Setting { name: "env", takes: Takes::Object, choices: &[] },
    Setting { name: "mcp_servers", takes: Takes::Object, choices: &[] },
];

/// What clients are told that a session of a runtime may be created with: its own parameters first.
fn listed_params(runtime: &dyn Runtime) -> Vec<Setting> {
    let modes = runtime.modes();
    let takes = if modes.is_empty() { Takes::Text } else { Takes::Choice };
    let permission_mode = Setting { name: "permission_mode", takes, choices: modes };
    runtime.params().iter().chain(SHARED_PARAMS).copied().chain([permission_mode]).collect()
}

/// All of them.
#[derive(Debug, Clone)]
pub struct Runtimes {
    known: Arc<BTreeMap<&'static str, Box<dyn Runtime>>>,
    /// Those that connect, of which there may be more at any time.
    external: ExternalAgents,
}

impl Runtimes {
    pub fn new(runtimes: Vec<Box<dyn Runtime>>, external: ExternalAgents) -> Self {
        Self { known: Arc::new(runtimes.into_iter().map(|runtime| (runtime.id(), runtime)).collect()), external }
    }

    pub fn get(&self, id: &str) -> Option<&dyn Runtime> {
        let known = self.known.get(id).map(AsRef::as_ref);
        known.or_else(|| self.external.get(id).map(|external| external as &dyn Runtime))
    }

    pub fn all(&self) -> impl Iterator<Item = &dyn Runtime> {
        let external = self.external.all().into_iter().map(|external| external as &dyn Runtime);
        self.known.values().map(AsRef::as_ref).chain(external)
    }

    /// The agent of this name that connects; nothing, if the name is that of another one, or of none that can be.
    pub fn connecting(&self, name: &str) -> Option<&'static External> {
        if self.known.contains_key(name) { None } else { self.external.connecting(name) }
    }
}

/// The failure to start a program, in the words of the log.
pub fn start_failure(runtime: &str, error: &process::Error) -> StartFailure {
    let code = match error {
        process::Error::ProgramNotFound { .. } => "agent_not_found",
        process::Error::NotExecutable { .. } => "agent_not_executable",
        process::Error::WorkingDirectory { .. } => "cwd_unusable",
        process::Error::SpawnerEnded => "shutting_down",
        process::Error::Spawn { .. }
        | process::Error::Guard { .. }
        | process::Error::InputClosed
        | process::Error::InputBroken { .. }
        | process::Error::InputFull { .. } => "agent_start_failed",
    };
    StartFailure {
        message: format!("{runtime} could not be started: {error}"),
        code: code.to_owned(),
        fix: Some("run `turnloom doctor`".to_owned()),
    }
}

/// How an agent ended, in words.
pub fn describe(exit: &process::Exit) -> String {
    let how = match (exit.code, exit.signal) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "it was gone".to_owned(),
    };
    match exit.stderr_tail.trim() {
        "" => how,
        stderr => format!("{how}; it said: {stderr}"),
    }
}
