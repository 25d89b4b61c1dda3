//! The input of a decision: one call of one tool, and the questions that the policy may ask about the machine.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What began the turn in which a call is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// A person wrote.
    #[default]
    User,
    /// A schedule fired.
    Scheduled,
    /// Another agent or program gave the work.
    Delegated,
    /// The agent went on by itself: something in the background ended.
    Agent,
}

/// Who makes a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Caller {
    #[default]
    Main,
    SubAgent,
}

/// In which mode a call is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode<'a> {
    /// A mode with rules. One that is not known asks about everything.
    Rules(&'a str),
    /// A mode of the agent's own. What no rule is about is up to the agent.
    Agent(&'a str),
}

impl<'a> Mode<'a> {
    pub fn name(self) -> &'a str {
        match self {
            Self::Rules(name) | Self::Agent(name) => name,
        }
    }
}

/// One call of one tool.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// As the agent names it: `Bash`, `Edit`, `mcp__server__tool`.
    pub tool: &'a str,
    pub input: &'a Value,
    /// `claude`, `codex`, `mock`.
    pub runtime: &'a str,
    pub mode: Mode<'a>,
    /// Where the call runs. Absolute.
    pub directory: &'a str,
    /// What counts as inside: the session's working directory. Mostly the same.
    pub workspace: &'a str,
    pub caller: Caller,
    pub origin: Origin,
    /// For rules that hold in one session only.
    pub session: &'a str,
}

impl<'a> Call<'a> {
    /// A call of the main agent in a turn that a person began.
    pub fn new(tool: &'a str, input: &'a Value, mode: &'a str, directory: &'a str) -> Self {
        Self {
            tool,
            input,
            runtime: "",
            mode: Mode::Rules(mode),
            directory,
            workspace: directory,
            caller: Caller::Main,
            origin: Origin::User,
            session: "",
        }
    }
}

/// What the judge may ask of the world. It answers at once and changes nothing.
pub trait World {
    /// The home of whoever runs the command. Absolute, and without links.
    fn home(&self) -> Option<String>;
    /// A variable of the environment that the command gets.
    fn variable(&self, name: &str) -> Option<String>;
    /// An absolute path, which may hold `..`, with every link followed as far as files exist. Nothing where that cannot be told.
    fn resolve(&self, path: &str) -> Option<String>;
}

/// A world without links, for tests and for calls that were recorded elsewhere.
#[derive(Debug, Clone, Default)]
pub struct Plain {
    pub home: Option<String>,
}

impl World for Plain {
    fn home(&self) -> Option<String> {
        self.home.clone()
    }

    fn variable(&self, _: &str) -> Option<String> {
        None
    }

    fn resolve(&self, path: &str) -> Option<String> {
        Some(super::paths::normal(path))
    }
}
