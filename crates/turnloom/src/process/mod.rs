//! Starting programs and making sure that they end: the only place that starts one.
//!
//! An agent is bytes in, lines out and an exit, and nothing more is known of it here: no protocol, no session state, no retry, no
//! deadline. What to write, what a line means, when to interrupt and when to start again is decided elsewhere. The shape is small on
//! purpose: a program of its own and an agent inside this process ([`Agent::in_process`]) look the same.
//!
//! # Nothing is left behind
//!
//! | what happens | what ends the rest |
//! |---|---|
//! | the agent exits, or is killed, or its [`Handle`] is dropped | SIGKILL to its process group and its control group, then the [`sweep`] for what left them |
//! | the daemon is killed | the kernel ends the agents (parent death signal), the [`guard`] ends their groups, sweeps up what they had started, and the folders that are [`WatchedFolders`] |
//! | the daemon and the guard are both killed | [`groups::end_previous`] and [`sweep::sweep_daemon`] when a daemon starts again |
//!
//! # Limits
//!
//! Where the daemon may divide its control group ([`Containment::ControlGroup`]), nothing an agent starts gets away. Elsewhere what left
//! the process group is found by the cookies in its environment: a process that leaves the group *and* clears or overwrites its environment
//! (some servers write their title there) is not found, and neither is one that changed its user, unless the daemon is root.
//! Linux 5.3 or later is needed, for pidfds.

mod agent;
mod cgroup;
pub mod groups;
pub mod guard;
mod in_process;
mod input;
mod lines;
mod spawn;
mod supervise;
pub mod sweep;
mod tail;

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use turnloom_core::id::SessionId;

pub use agent::{Agent, Exit, Handle};
pub use in_process::InProcess;
pub use input::Input;
pub use lines::{Line, Lines};
pub use spawn::{Spawner, WatchedFolders};

/// The longest line that is kept whole, unless configured otherwise.
pub const DEFAULT_LINE_LIMIT: usize = 16 * 1024 * 1024;

/// Which session a process works for.
const SESSION_COOKIE: &str = "TURNLOOM_SESSION";
/// Which run of a daemon it was started by.
const DAEMON_COOKIE: &str = "TURNLOOM_DAEMON";

/// What to start, and in which surroundings.
#[derive(Clone)]
pub struct Launch {
    /// A path, or a name that is looked up in the `PATH` of `env`.
    pub program: PathBuf,
    pub args: Vec<OsString>,
    pub cwd: PathBuf,
    /// All of the environment, but for the cookies that are added to it. Nothing of the daemon's own is passed on.
    pub env: Vec<(OsString, OsString)>,
    /// Whose agent this is. A session has one agent at a time: when it ends, whatever else runs for the session is ended too.
    pub session: SessionId,
    /// A longer line is counted and hashed instead of kept.
    pub line_limit: usize,
}

/// Without the values of the environment and the arguments: keys and prompts are among them, and logs are read by many.
impl fmt::Debug for Launch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Launch")
            .field("program", &self.program)
            .field("cwd", &self.cwd)
            .field("env", &self.env.iter().map(|(name, _)| name).collect::<Vec<_>>())
            .field("session", &self.session)
            .finish_non_exhaustive()
    }
}

/// Whether agents get control groups of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ControlGroups {
    /// Where the daemon may divide the one it is in.
    WherePossible,
    Never,
}

/// What keeps hold of what agents start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Containment {
    /// Each agent has a control group of its own below this one.
    ControlGroup { folder: PathBuf },
    /// Process groups, and cookies in the environment of what left them.
    ProcessGroup { why: String },
}

/// One run of a daemon. Random, so that what a run left behind is never mistaken for what another one just started.
#[derive(Clone, PartialEq, Eq)]
pub struct Instance(String);

impl Instance {
    pub fn random() -> Self {
        Self(uuid::Uuid::new_v4().to_string())
    }

    /// Takes a name that an earlier run wrote down.
    pub fn trusted(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

/// Why a program could not be started or written to.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{program} was not found; install it, or name it by its full path")]
    ProgramNotFound { program: PathBuf },
    #[error(
        "{program} is there but cannot be run; check that it is an executable file and that its interpreter is installed"
    )]
    NotExecutable { program: PathBuf, source: io::Error },
    #[error("the working directory {cwd} cannot be used; create it, or choose another")]
    WorkingDirectory { cwd: PathBuf, source: io::Error },
    #[error("{program} could not be started; check the limits on memory, processes and open files, then try again")]
    Spawn { program: PathBuf, source: io::Error },
    #[error(
        "the guard {program} could not be started, and no agent starts without it; check that the file is there and can be run"
    )]
    Guard { program: PathBuf, source: io::Error },
    #[error("no more programs can be started because the daemon is ending; start it again")]
    SpawnerEnded,
    #[error("the agent's input was closed; start the agent again to write to it")]
    InputClosed,
    #[error("the agent does not read its input any more; its exit says why")]
    InputBroken { source: io::Error },
    #[error("the agent does not read its input and {waiting} bytes wait for it; stop the turn, or end the agent")]
    InputFull { waiting: usize },
}
