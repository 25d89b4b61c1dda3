//! Settings: defaults, then a file, then the environment and the command line (which `cli` lays on top). Every setting has a name, a default that
//! works and a place in `docs/configuration.md`.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;
use turnloom_core::blob;
use turnloom_core::session::Limits;

use crate::process::DEFAULT_LINE_LIMIT;
use crate::roles::RolesConfig;
use crate::runtime::program::ProgramConfig;

/// The port of the documentation.
pub const DEFAULT_PORT: u16 = 7171;

/// Everything that can be set in `config.toml`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The address to listen on.
    pub host: String,
    pub port: u16,
    /// Other origins whose pages may call the daemon, such as `https://app.example`.
    pub origins: Vec<String>,
    /// Other host names the daemon is reached by, such as `loom.example:443`.
    pub hosts: Vec<String>,
    pub durability: Durability,
    /// The largest request body, in bytes.
    pub max_body_bytes: usize,
    /// What an event may carry itself before it becomes a blob, in bytes.
    pub inline_bytes: usize,
    /// The longest line of an agent that is kept whole, in bytes.
    pub max_line_bytes: usize,
    /// How many connections may follow events at once.
    pub max_followers: usize,
    /// Messages that may wait in one session.
    pub max_queue: usize,
    /// Seconds an agent may take to start.
    pub start_seconds: u32,
    /// Seconds an agent may take to stop by itself before its process is asked to end.
    pub interrupt_seconds: u32,
    /// Seconds a process may take to end before it is killed.
    pub terminate_seconds: u32,
    /// Seconds a session without work stays in memory.
    pub linger_seconds: u32,
    /// Claude Code.
    pub claude: ProgramConfig,
    /// Role files for sub-agents.
    pub roles: RolesConfig,
    /// Codex, both ways to drive it.
    pub codex: ProgramConfig,
    /// Seconds without a word after which a turn that does not wait for a person is taken for dead.
    pub zombie_seconds: u32,
}

/// When an append counts as done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// Synced before it is visible: survives a power cut.
    Power,
    /// Survives the end of the daemon; synced at the end of each turn and for each ask.
    Process,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            host: "127.0.0.1".to_owned(),
            port: DEFAULT_PORT,
            origins: Vec::new(),
            hosts: Vec::new(),
            durability: Durability::Power,
            max_body_bytes: 20 * 1024 * 1024,
            inline_bytes: blob::DEFAULT_LIMIT,
            max_line_bytes: DEFAULT_LINE_LIMIT,
            max_followers: 4096,
            max_queue: 100,
            start_seconds: 60,
            interrupt_seconds: 5,
            terminate_seconds: 5,
            linger_seconds: 5,
            claude: ProgramConfig::default(),
            roles: RolesConfig::default(),
            codex: ProgramConfig::default(),
            zombie_seconds: 30 * 60,
        }
    }
}

/// Why settings could not be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot read {}: {cause}", path.display())]
    Read { path: PathBuf, cause: std::io::Error },
    #[error("{} is not right: {cause}", path.display())]
    Parse { path: PathBuf, cause: Box<toml::de::Error> },
}

impl Config {
    /// Reads the file, if it is there. A file that was named must be.
    pub fn read(named: Option<&Path>, data: &Path) -> Result<Self, Error> {
        let path = named.map_or_else(|| data.join("config.toml"), Path::to_path_buf);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && named.is_none() => return Ok(Self::default()),
            Err(cause) => return Err(Error::Read { path, cause }),
        };
        toml::from_str(&text).map_err(|cause| Error::Parse { path, cause: Box::new(cause) })
    }

    /// What the turn machine needs of this, for a runtime whose agents stay warm so long.
    pub fn limits(&self, idle_ms: i64) -> Limits {
        Limits {
            start_ms: i64::from(self.start_seconds) * 1000,
            interrupt_ms: i64::from(self.interrupt_seconds) * 1000,
            terminate_ms: i64::from(self.terminate_seconds) * 1000,
            idle_ms,
            inline_bytes: self.inline_bytes,
            queue: self.max_queue,
        }
    }
}

/// Where Turnloom keeps its data unless told otherwise.
pub fn default_data() -> PathBuf {
    let var = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    var("XDG_DATA_HOME")
        .or_else(|| var("HOME").map(|home| home.join(".local/share")))
        .unwrap_or_else(std::env::temp_dir)
        .join("turnloom")
}
