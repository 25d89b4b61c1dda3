//! Settings of agents that others write.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use turnloom_core::runtime::external::{CAPABILITY_NAMES, is_agent_name};

use super::{BadValue, YEAR};

/// An agent that others write.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentConfig {
    /// `external`: it connects. `command`: the daemon starts it.
    pub kind: AgentConfigKind,
    /// What people read.
    pub title: Option<String>,
    /// What it may claim at most; of a command, what it can do.
    pub capabilities: Option<Vec<String>>,
    /// Seconds a message for an agent that is not connected waits.
    #[serde(default = "default_wait")]
    pub wait_seconds: u32,
    /// Seconds a turn waits whose agent has lost its connection.
    #[serde(default = "default_wait")]
    pub grace_seconds: u32,
    /// Seconds an agent without work keeps a session.
    #[serde(default = "default_idle")]
    pub idle_seconds: u32,
    /// The program of a command and its arguments.
    #[serde(default)]
    pub command: Vec<String>,
    /// Environment of a command.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Names of variables of the daemon that a command gets too.
    #[serde(default)]
    pub pass_env: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AgentConfigKind {
    External,
    Command,
}

fn default_wait() -> u32 {
    60
}

fn default_idle() -> u32 {
    300
}

impl Default for AgentConfig {
    /// What counts for an agent that only has a token.
    fn default() -> Self {
        Self {
            kind: AgentConfigKind::External,
            title: None,
            capabilities: None,
            wait_seconds: default_wait(),
            grace_seconds: default_wait(),
            idle_seconds: default_idle(),
            command: Vec::new(),
            env: BTreeMap::new(),
            pass_env: Vec::new(),
        }
    }
}

/// Names of agents that are something else.
const TAKEN_NAMES: &[&str] = &["mock", "claude", "codex", "codex-exec", "external", "command", "acp", "connect"];

impl AgentConfig {
    pub(super) fn check(&self, name: &str) -> Result<(), BadValue> {
        let wrong = |why: String| Err(BadValue::Agent { name: name.to_owned(), why });
        if !is_free_agent_name(name) {
            return wrong(
                "a name has 1 to 48 letters, digits, `_` and `-`, and is not that of another agent".to_owned(),
            );
        }
        let mut named = self.capabilities.iter().flatten();
        if let Some(other) = named.find(|named| !CAPABILITY_NAMES.contains(&named.as_str())) {
            return wrong(format!("{other:?} is not a capability; there are {}", CAPABILITY_NAMES.join(", ")));
        }
        for (setting, seconds, least) in [
            ("wait_seconds", self.wait_seconds, 0),
            ("grace_seconds", self.grace_seconds, 0),
            ("idle_seconds", self.idle_seconds, 1),
        ] {
            if !(least..=YEAR).contains(&u64::from(seconds)) {
                return wrong(format!("`{setting}` must be between {least} and {YEAR}, and {seconds} is not"));
            }
        }
        let has_program = !self.command.is_empty() || !self.env.is_empty() || !self.pass_env.is_empty();
        match self.kind {
            AgentConfigKind::Command if self.command.first().is_none_or(String::is_empty) => {
                wrong("a command needs `command = [\"program\", …]`".to_owned())
            }
            AgentConfigKind::External if has_program => {
                wrong("one that connects is not started here; leave out `command`, `env` and `pass_env`".to_owned())
            }
            AgentConfigKind::Command | AgentConfigKind::External => Ok(()),
        }
    }
}

/// Whether an agent that others write may have this name.
pub fn is_free_agent_name(name: &str) -> bool {
    is_agent_name(name) && !TAKEN_NAMES.contains(&name)
}

#[cfg(test)]
mod tests {
    use crate::config::Config;

    #[test]
    fn agents_are_checked_by_name() {
        let read = |text: &str| {
            let config: Config = toml::from_str(text).map_err(|error| error.to_string())?;
            config.check().map_err(|error| error.to_string())
        };
        for text in [
            "[agents.research]\nkind = \"external\"\ncapabilities = [\"steer\"]\nwait_seconds = 0",
            "[agents.digest]\nkind = \"command\"\ncommand = [\"python3\", \"-m\", \"digest\"]\nenv = { A = \"b\" }\npass_env = [\"D_*\"]",
        ] {
            assert_eq!(read(text), Ok(()), "{text}");
        }
        for (text, named) in [
            ("[agents.claude]\nkind = \"external\"", "claude"),
            ("[agents.\"a b\"]\nkind = \"external\"", "a b"),
            ("[agents.a]\nkind = \"command\"", "needs `command"),
            ("[agents.a]\nkind = \"external\"\ncommand = [\"x\"]", "leave out"),
            ("[agents.a]\nkind = \"external\"\ncapabilities = [\"fly\"]", "fly"),
            ("[agents.a]\nkind = \"external\"\nidle_seconds = 0", "idle_seconds"),
            ("[agents.a]\nkind = \"robot\"", "robot"),
            ("[agents.a]\nkind = \"external\"\nspeed = 1", "speed"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(named), "{text}: {error}");
        }
    }
}
