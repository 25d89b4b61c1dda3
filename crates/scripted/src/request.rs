//! A request of either API, as far as a script may look at it. How each API says it is in `anthropic::read` and `openai::read`.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Api {
    /// The Messages API.
    Anthropic,
    /// The Responses API.
    Openai,
}

/// What a request is for. Agents ask models for more than turns, and a script must not answer those by accident.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    #[default]
    Turn,
    /// A summary of the conversation so far.
    Compact,
    /// Something small beside the conversation: a title, a topic.
    Side,
}

/// What was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ModelRequest {
    pub(crate) api: Api,
    pub(crate) kind: Kind,
    pub(crate) model: String,
    pub(crate) delivery: Delivery,
    /// What the user said, if the conversation ends with it.
    pub(crate) user: Option<String>,
    /// Everything the user said in the conversation, oldest first.
    pub(crate) heard: Vec<String>,
    /// What the tools said, if the conversation ends with it.
    pub(crate) tool_result: Option<String>,
    /// The replies that made the calls which those are the results of.
    pub(crate) after: Vec<usize>,
    pub(crate) system: String,
    /// How much the model shall think, in its API's words.
    pub(crate) effort: Option<String>,
    /// The shape that the answer is to have, as JSON.
    pub(crate) schema: Option<String>,
    pub(crate) tools: Vec<Offered>,
    /// Where the agent works, if it says so: some tools take absolute paths only.
    pub(crate) directory: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Delivery {
    Stream,
    Whole,
}

/// A tool the model may call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Offered {
    pub(crate) name: String,
    pub(crate) namespace: Option<String>,
    pub(crate) input: InputForm,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InputForm {
    Object,
    Text,
}

impl ModelRequest {
    pub(crate) fn offers(&self, name: &str) -> bool {
        self.tools.iter().any(|tool| tool.name == name)
    }
}

/// A request that the API it was sent to would refuse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Malformed(pub(crate) String);
