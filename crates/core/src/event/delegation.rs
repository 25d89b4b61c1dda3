//! The payloads about sessions that work for another one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::id::{MessageId, Seq, SessionId, ToolUseId, TurnId};
use crate::summary::PendingAsk;

/// How far a session is that works for another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DelegationState {
    /// It is being made.
    #[default]
    Starting,
    Running,
    /// A person has to answer something.
    Waiting,
    /// It was told to stop.
    Stopping,
    /// It was made, and has nothing to do; or its last turn was not for the one that it works for.
    Idle,
    Completed,
    Stopped,
    /// The daemon or its agent ended.
    Interrupted,
    Failed,
    /// It is not there any more.
    Removed,
}

impl DelegationState {
    /// Whether something is still to come.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Starting | Self::Running | Self::Waiting | Self::Stopping)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Stopping => "stopping",
            Self::Idle => "idle",
            Self::Completed => "completed",
            Self::Stopped => "stopped",
            Self::Interrupted => "interrupted",
            Self::Failed => "failed",
            Self::Removed => "removed",
        }
    }
}

/// In a session that works for another one: for which.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Delegated {
    /// Absent: it does not any more, because it came from a file.
    pub parent_session_id: Option<SessionId>,
    /// From the first of all to the parent.
    #[serde(default)]
    pub ancestors: Vec<SessionId>,
    /// What each of them was given to do that works for another, and this one: fingerprints.
    #[serde(default)]
    pub tasks: Vec<String>,
    /// The parent's call.
    pub tool_use_id: Option<ToolUseId>,
}

/// Another session works for this one.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct DelegationStarted {
    pub child_session_id: SessionId,
    pub runtime: String,
    /// What it is to do, in one line.
    pub title: String,
    pub cwd: Option<String>,
    /// The message that it is told.
    pub message_id: Option<MessageId>,
    /// The call that began it.
    pub tool_use_id: Option<ToolUseId>,
    /// That call waits for its end.
    pub waits: Option<bool>,
    /// Who made it, when it was not the agent.
    pub by: Option<String>,
}

/// What has become of a session that works for this one. What is absent is nothing now, but for `text`, `turn_id` and `reason`: these are of its last end.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct DelegationUpdated {
    pub child_session_id: SessionId,
    pub state: DelegationState,
    /// What it does.
    pub activity: Option<String>,
    /// What it and those that work for it ask of a person. The answers go to the sessions that are named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asks: Vec<DelegatedAsk>,
    /// Another message that it is told.
    pub message_id: Option<MessageId>,
    /// The call that waits for its end.
    pub tool_use_id: Option<ToolUseId>,
    /// The turn that has ended.
    pub turn_id: Option<TurnId>,
    /// What that turn came to, or the beginning of it.
    pub text: Option<String>,
    /// Why it ended so.
    pub reason: Option<String>,
    /// The calls that are told so. All others hear it by a message.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub told: Vec<ToolUseId>,
    /// The position in its log that this is about.
    pub child_seq: Option<Seq>,
}

/// An ask of a session that works for another one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DelegatedAsk {
    /// Whose it is.
    pub session_id: SessionId,
    #[serde(flatten)]
    pub ask: PendingAsk,
}
