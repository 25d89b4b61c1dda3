//! A script as it is after reading: replies, when they answer, and what they say. Every value here has been checked, so nothing that plays a
//! script can fail on it. Not here: the TOML (`read`), and which reply answers what (`choose`).

mod error;
mod read;
#[cfg(test)]
mod tests;

use serde_json::Value;

pub use self::error::ScriptError;
use crate::request::{Api, Kind};

/// An ordered list of replies.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    pub(crate) replies: Vec<Reply>,
}

impl Script {
    /// Reads a script. The error names the line.
    pub fn parse(text: &str) -> Result<Self, ScriptError> {
        read::script(text)
    }

    /// Every name a stream of this script may wait for.
    pub(crate) fn gates(&self) -> impl Iterator<Item = &str> {
        self.replies.iter().flat_map(|reply| &reply.steps).filter_map(|step| match step {
            Step::WaitFor(name) => Some(name.as_str()),
            _ => None,
        })
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Reply {
    /// From 1, in the order of the file.
    pub(crate) number: usize,
    pub(crate) name: String,
    pub(crate) when: When,
    /// How often it may answer; `None` is for ever.
    pub(crate) uses: Option<u64>,
    pub(crate) steps: Vec<Step>,
    pub(crate) usage: Usage,
    pub(crate) stop: Stop,
}

/// What a request must be like; whatever is not said does not matter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct When {
    pub(crate) user: Option<String>,
    pub(crate) tool_result: Option<String>,
    /// The number of the reply whose calls have been answered.
    pub(crate) after: Option<usize>,
    pub(crate) system: Option<String>,
    pub(crate) tool: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) api: Option<Api>,
    pub(crate) kind: Kind,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Step {
    Say { voice: TextKind, text: String, pace: Pace },
    Call { tool: Tool, pace: Pace },
    WaitMs(u64),
    WaitFor(String),
    Refuse(Refusal),
    StreamError(StreamError),
    Cut,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextKind {
    Text,
    Thinking,
    /// What some models call their raw reasoning; the Messages API has only one kind.
    RawThinking,
}

/// In how many pieces, and how long from one to the next.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Pace {
    pub(crate) pieces: Option<usize>,
    pub(crate) every_ms: u64,
}

/// A call, by what it is for: each agent has another tool for it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Tool {
    Run { command: String },
    Read { path: String },
    Write { path: String, text: String },
    Edit { path: String, old: String, new: String },
    Ask(Question),
    Plan(Vec<PlanItem>),
    Named { anthropic: Option<NamedCall>, openai: Option<NamedCall> },
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NamedCall {
    pub(crate) name: String,
    /// An object for most tools, a text for those that take free text.
    pub(crate) input: Value,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Question {
    pub(crate) header: String,
    pub(crate) text: String,
    pub(crate) options: Vec<String>,
    pub(crate) several: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PlanItem {
    pub(crate) text: String,
    pub(crate) state: PlanState,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PlanState {
    #[default]
    Pending,
    InProgress,
    Completed,
}

impl PlanState {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
        }
    }
}

/// An answer that is an error from the start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    pub(crate) message: String,
    /// Instead of the one that goes with the status.
    pub(crate) code: Option<String>,
    pub(crate) retry_after: Option<u64>,
}

/// An error in the middle of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StreamError {
    pub(crate) message: String,
    pub(crate) code: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) input: u64,
    pub(crate) cached: u64,
    /// `None` is a guess from the length of what was said.
    pub(crate) output: Option<u64>,
}

impl Default for Usage {
    /// The same each time: a number that follows the prompt would change with every version of an agent.
    fn default() -> Self {
        Self { input: 100, cached: 0, output: None }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Stop {
    /// By itself: the end, or a call.
    #[default]
    Natural,
    MaxTokens,
    /// The model will not answer, or is not let.
    Refusal,
    /// The conversation has filled the model's window.
    ContextWindow,
}
