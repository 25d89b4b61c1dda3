//! Settings: defaults, then a file, then the environment and the command line (which `cli` lays on top). Every setting has a name, a default that
//! works and a place in `docs/configuration.md`.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;
use turnloom_core::blob;
use turnloom_core::session::Limits;

use crate::log::CrashSafety;
use crate::process::{ControlGroups, DEFAULT_LINE_LIMIT};
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
    /// What an event that was seen survives.
    pub durability: CrashSafety,
    /// The largest request body, in bytes.
    pub max_body_bytes: usize,
    /// What an event may carry itself before it becomes a blob, in bytes.
    pub inline_bytes: usize,
    /// The longest line of an agent that is kept whole, in bytes.
    pub max_line_bytes: usize,
    /// Whether agents get control groups of their own, so that nothing they start gets away.
    pub control_groups: ControlGroups,
    /// How many connections may follow events at once.
    pub max_followers: usize,
    /// How many connections may be open that have not shown a token yet; when one more comes, the oldest of them goes.
    pub max_strangers: usize,
    /// Seconds a client may take to send the head of a request, or be silent in the middle of its body.
    pub request_seconds: u32,
    /// Hours after which a browser that was not used is signed out.
    pub sign_in_hours: u32,
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

impl Default for Config {
    fn default() -> Self {
        Self {
            host: "127.0.0.1".to_owned(),
            port: DEFAULT_PORT,
            origins: Vec::new(),
            hosts: Vec::new(),
            durability: CrashSafety::Power,
            max_body_bytes: 20 * 1024 * 1024,
            inline_bytes: blob::DEFAULT_LIMIT,
            max_line_bytes: DEFAULT_LINE_LIMIT,
            control_groups: ControlGroups::WherePossible,
            max_followers: 4096,
            max_strangers: 256,
            request_seconds: 30,
            sign_in_hours: 7 * 24,
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
    #[error("{} is not right: {cause}", path.display())]
    Value { path: PathBuf, cause: BadValue },
}

/// A setting that reads well and makes no sense.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadValue {
    #[error("`{setting}` must be between {least} and {most}, and {value} is not")]
    Number { setting: &'static str, value: u64, least: u64, most: u64 },
    #[error("{value:?} in `origins` is not an origin; name each as a browser does: https://app.example")]
    Origin { value: String },
    #[error("{value:?} in `hosts` is not a host; name each as in an address: loom.example, or loom.example:8443")]
    Host { value: String },
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
        match toml::from_str::<Self>(&text) {
            Ok(config) => match config.check() {
                Ok(()) => Ok(config),
                Err(cause) => Err(Error::Value { path, cause }),
            },
            Err(cause) => Err(Error::Parse { path, cause: Box::new(cause) }),
        }
    }

    /// Whether every setting makes sense.
    pub fn check(&self) -> Result<(), BadValue> {
        let long = |seconds: u32| u64::from(seconds);
        let size = |bytes: usize| u64::try_from(bytes).unwrap_or(u64::MAX);
        for (setting, value, least, most) in [
            ("max_body_bytes", size(self.max_body_bytes), 1024, GIB),
            ("inline_bytes", size(self.inline_bytes), 256, GIB),
            ("max_line_bytes", size(self.max_line_bytes), 1024, GIB),
            ("max_followers", size(self.max_followers), 1, MILLION),
            ("max_strangers", size(self.max_strangers), 1, MILLION),
            ("max_queue", size(self.max_queue), 1, MILLION),
            ("request_seconds", long(self.request_seconds), 1, YEAR),
            ("sign_in_hours", long(self.sign_in_hours), 1, YEAR / 3600),
            ("start_seconds", long(self.start_seconds), 1, YEAR),
            ("interrupt_seconds", long(self.interrupt_seconds), 0, YEAR),
            ("terminate_seconds", long(self.terminate_seconds), 0, YEAR),
            ("linger_seconds", long(self.linger_seconds), 0, YEAR),
            ("zombie_seconds", long(self.zombie_seconds), 1, YEAR),
        ] {
            if !(least..=most).contains(&value) {
                return Err(BadValue::Number { setting, value, least, most });
            }
        }
        if let Some(value) = self.origins.iter().find(|origin| !is_origin(origin)) {
            return Err(BadValue::Origin { value: value.clone() });
        }
        if let Some(value) = self.hosts.iter().find(|host| !is_host(host)) {
            return Err(BadValue::Host { value: value.clone() });
        }
        Ok(())
    }

    /// Whether others than programs of this machine may reach a daemon with these settings: directly, or by a proxy that needs a name for it.
    pub fn is_exposed(&self) -> bool {
        let is_loopback = self.host.parse::<std::net::IpAddr>().map_or(self.host == "localhost", |ip| ip.is_loopback());
        !is_loopback || !self.hosts.is_empty()
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

const MILLION: u64 = 1_000_000;
const GIB: u64 = 1024 * 1024 * 1024;
/// In seconds.
const YEAR: u64 = 365 * 24 * 3600;

/// `https://app.example`, with a port if it is not the usual one: what a browser sends, and nothing after it.
pub(crate) fn is_origin(text: &str) -> bool {
    text.split_once("://").is_some_and(|(scheme, host)| {
        !scheme.is_empty()
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
            && is_host(host)
    })
}

pub(crate) fn is_host(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._:[]".contains(&byte))
}

/// Where Turnloom keeps its data unless told otherwise.
pub fn default_data() -> PathBuf {
    let var = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    var("XDG_DATA_HOME")
        .or_else(|| var("HOME").map(|home| home.join(".local/share")))
        .unwrap_or_else(std::env::temp_dir)
        .join("turnloom")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_may_be_as_deep_as_it_likes_and_hurts_nobody() {
        let data = tempfile::tempdir().unwrap();
        let name = vec!["a"; 79].join(".");
        let deep = (0..70).fold("1".to_owned(), |text, _| format!("{{ {name} = {text} }}"));
        // Nothing in a file of ours takes any value, so nobody goes down into it.
        for setting in ["a", "port", "origins", "codex", "codex.env", "roles"] {
            std::fs::write(data.path().join("config.toml"), format!("{setting} = {deep}")).unwrap();
            assert!(matches!(Config::read(None, data.path()), Err(Error::Parse { .. })), "{setting}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        let data = tempfile::tempdir().unwrap();
        let read = |text: &str| {
            std::fs::write(data.path().join("config.toml"), text).unwrap();
            Config::read(None, data.path()).map(drop).map_err(|error| error.to_string())
        };
        for (text, named) in [
            ("origins = [\"*\"]", "\"*\" in `origins`"),
            ("origins = [\"app.example\"]", "app.example"),
            ("origins = [\"https://app.example/\"]", "https://app.example/"),
            ("hosts = [\"https://loom.example\"]", "https://loom.example"),
            ("hosts = [\"*\"]", "\"*\" in `hosts`"),
            ("max_followers = 9223372036854775807", "`max_followers` must be between 1 and 1000000"),
            ("max_followers = 0", "`max_followers`"),
            ("max_queue = 4000000000", "`max_queue`"),
            ("inline_bytes = 0", "`inline_bytes`"),
            ("start_seconds = 4294967295", "`start_seconds`"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(named), "{text}: {error}");
        }
        for text in [
            "",
            "origins = [\"https://app.example\", \"http://localhost:5173\", \"tauri://localhost\", \"http://[::1]:8080\"]",
            "hosts = [\"loom.example\", \"loom.example:8443\", \"[::1]:80\"]",
        ] {
            assert_eq!(read(text), Ok(()), "{text}");
        }
    }
}
