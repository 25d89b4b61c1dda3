//! Settings: defaults, then a file, then the environment and the command line (which `cli` lays on top). Every setting has a name, a default that
//! works and a place in `docs/configuration.md`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;
use turnloom_core::blob;
use turnloom_core::component::{self, StateRule, ToolRule};
use turnloom_core::session::Limits;

pub use self::agents::{AgentConfig, AgentConfigKind, is_free_agent_name};
pub use self::budgets::BudgetsConfig;
pub use self::delegation::DelegationConfig;
use crate::component_folders::{ViewsConfig, is_domain};
use crate::log::CrashSafety;
use crate::process::{ControlGroups, DEFAULT_LINE_LIMIT};
use crate::roles::RolesConfig;
use crate::runtime::program::ProgramConfig;

mod agents;
mod budgets;
mod delegation;

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
    /// Which components show which calls, and which parts of the shared state.
    pub components: ComponentsConfig,
    /// Agents that others write, by name.
    pub agents: BTreeMap<String, AgentConfig>,
    /// Pages that are drawn in frames.
    pub views: ViewsConfig,
    /// Seconds without a word after which a turn that does not wait for a person is taken for dead.
    pub zombie_seconds: u32,
    /// What may be spent.
    pub budgets: BudgetsConfig,
    /// Whether agents may have other agents work for them, and how far that goes.
    pub delegation: DelegationConfig,
    /// Whether webhooks and answers of channels may be sent to this machine and its own network.
    pub allow_private_targets: bool,
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
            components: ComponentsConfig::default(),
            agents: BTreeMap::new(),
            views: ViewsConfig::default(),
            zombie_seconds: 30 * 60,
            budgets: BudgetsConfig::default(),
            delegation: DelegationConfig::default(),
            allow_private_targets: false,
        }
    }
}

/// What agents show that is more than text.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ComponentsConfig {
    /// Which component shows the calls of a tool; the first that fits. Those of a session come before these.
    pub tools: Vec<ToolRule>,
    /// Which component shows a part of the shared state.
    pub state: Vec<StateRule>,
    /// Other folders of folders with components, besides `components` in the data directory; those in a relative place are in the data directory too.
    pub dirs: Vec<PathBuf>,
    /// Seconds a call of `wait_for_user` is held before the agent hears that nobody has answered yet; 0 holds it for ever.
    pub wait_seconds: u32,
}

impl ComponentsConfig {
    /// What a session needs of this.
    pub fn rules(&self) -> component::Rules {
        component::Rules { tools: self.tools.clone(), state: self.state.clone(), ..component::Rules::default() }
    }

    /// The first rule that makes no sense, and why.
    fn problem(&self) -> Option<BadValue> {
        let tool = self.tools.iter().find(|rule| rule.tool.is_empty() || rule.component.is_empty());
        if tool.is_some() {
            return Some(BadValue::Component {
                why: "a rule of `components.tools` has an empty `tool` or `component`",
            });
        }
        self.state.iter().find_map(|rule| {
            let why = match rule {
                rule if rule.component.is_empty() => "a rule of `components.state` has an empty `component`",
                rule if !rule.pointer.is_empty() && !rule.pointer.starts_with('/') => {
                    "`pointer` in `components.state` must be a JSON Pointer, such as /plan"
                }
                rule if rule.id.as_ref().is_some_and(|id| !component::is_id(id)) => {
                    "`id` in `components.state` may hold letters, digits, '-', '_', '.' and ':'"
                }
                _ => return None,
            };
            Some(BadValue::Component { why })
        })
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
    #[error("`[agents.{name}]`: {why}")]
    Agent { name: String, why: String },
    #[error("{value:?} in `hosts` is not a host; name each as in an address: loom.example, or loom.example:8443")]
    Host { value: String },
    #[error("{value:?} in `views.allow_domains` is not a domain; name each with its scheme: https://api.example")]
    Domain { value: String },
    #[error("{why}")]
    Component { why: &'static str },
    #[error("`budgets.{setting}`: {why}")]
    Budget { setting: String, why: String },
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
            ("components.wait_seconds", long(self.components.wait_seconds), 0, YEAR),
            ("delegation.max_depth", size(self.delegation.max_depth), 0, 16),
            ("delegation.max_at_once", size(self.delegation.max_at_once), 1, 64),
            ("delegation.max_total", size(self.delegation.max_total), 1, 1000),
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
        if let Some(value) = self.views.allow_domains.iter().find(|domain| !is_domain(domain)) {
            return Err(BadValue::Domain { value: value.clone() });
        }
        self.components.problem().map_or(Ok(()), Err)?;
        self.budgets.problem().map_or(Ok(()), Err)?;
        self.agents.iter().try_for_each(|(name, agent)| agent.check(name))
    }

    /// Whether others than programs of this machine may reach a daemon with these settings: directly, or by a proxy that needs a name for it.
    pub fn is_exposed(&self) -> bool {
        let is_loopback = self.host.parse::<std::net::IpAddr>().map_or(self.host == "localhost", |ip| ip.is_loopback());
        !is_loopback || !self.hosts.is_empty()
    }

    /// What the turn machine needs of this, for a runtime whose agents stay warm so long and may take so long to be there.
    pub fn limits(&self, idle_ms: i64, wait_ms: i64) -> Limits {
        Limits {
            start_ms: wait_ms + i64::from(self.start_seconds) * 1000,
            interrupt_ms: i64::from(self.interrupt_seconds) * 1000,
            terminate_ms: i64::from(self.terminate_seconds) * 1000,
            idle_ms,
            inline_bytes: self.inline_bytes,
            queue: self.max_queue,
            hold_ms: Some(i64::from(self.components.wait_seconds) * 1000).filter(|ms| *ms > 0),
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
            ("views.allow_domains = [\"api.example\"]", "\"api.example\" in `views.allow_domains`"),
            ("views.allow_domains = [\"https://a; script-src *\"]", "in `views.allow_domains`"),
            ("max_followers = 9223372036854775807", "`max_followers` must be between 1 and 1000000"),
            ("max_followers = 0", "`max_followers`"),
            ("max_queue = 4000000000", "`max_queue`"),
            ("inline_bytes = 0", "`inline_bytes`"),
            ("start_seconds = 4294967295", "`start_seconds`"),
            ("[[components.tools]]\ntool = \"\"\ncomponent = \"chart\"", "`components.tools`"),
            ("[[components.state]]\npointer = \"plan\"\ncomponent = \"plan_editor\"", "JSON Pointer"),
            ("[[components.state]]\npointer = \"/a\"\ncomponent = \"json\"\nid = \"@\"", "`id` in `components.state`"),
            ("budgets.day.usd = 0", "`budgets.day`: `usd` must be a number above 0"),
            ("budgets.turn.turns = 3", "`budgets.turn`"),
            ("budgets.zone = \"Nowhere/At_All\"", "`budgets.zone`"),
            ("budgets.warn_percent = 0", "`budgets.warn_percent`"),
            ("[budgets.prices.x]\ninput = -1\noutput = 1", "`budgets.prices.x`"),
            ("[[components.tools]]\ntool = \"x\"\ncomponent = \"chart\"\ncolour = 1", "unknown field `colour`"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(named), "{text}: {error}");
        }
        for text in [
            "",
            "origins = [\"https://app.example\", \"http://localhost:5173\", \"tauri://localhost\", \"http://[::1]:8080\"]",
            "hosts = [\"loom.example\", \"loom.example:8443\", \"[::1]:80\"]",
            "views.allow_domains = [\"https://api.example\", \"wss://api.example:8443\", \"https://*.example\"]\ncomponents.dirs = [\"/srv/components\"]",
            "[[components.tools]]\ntool = \"get_*\"\ncomponent = \"weather\"\nresult = \"output\"\nid = \"tool\"",
            "[[components.state]]\npointer = \"/plan\"\ncomponent = \"plan_editor\"\nsurface = \"sidebar\"\nas = \"steps\"\nedits = true",
        ] {
            assert_eq!(read(text), Ok(()), "{text}");
        }
    }
}
