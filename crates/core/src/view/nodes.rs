//! What a view is made of: the session, its messages, and what stands beside them. The blocks inside messages are in `block`.
//!
//! Field names are a contract with every client: they are added to, never changed. What is absent is not written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with::skip_serializing_none;

use super::block::Block;
pub use crate::component::Component;
use crate::event::{
    Activity, BackgroundKind, FileChange, Origin, Outcome, Part, QueueItem, SessionEnded, SlashCommand, Usage,
};
use crate::id::{AskId, BackgroundId, MessageId, Seq, SessionId, ToolUseId, TurnId};
use crate::summary::AskKind;
use crate::time::Timestamp;

/// A conversation as people read it: the newest messages, and what is true now.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct View {
    /// The position in the log that this is the view of.
    pub seq: Seq,
    pub session: Session,
    pub messages: Vec<Message>,
    /// What waits for a person.
    pub asks: Vec<OpenAsk>,
    pub queue: Vec<QueueItem>,
    /// Messages for the running turn that have not reached the agent.
    pub steers: Vec<PendingSteer>,
    /// The components that are not in the conversation, in the order of their first facts.
    pub components: Vec<Component>,
    /// What goes on between turns.
    pub background: Vec<BackgroundWork>,
    /// The newest change first; their diffs are at `/files`.
    pub files: Vec<FileSummary>,
    /// What the agent and its clients share.
    pub state: Option<Value>,
    pub plan: Option<Plan>,
    /// What the session is doing for the person who waits.
    pub activity: Option<CurrentActivity>,
    pub usage: Option<Usage>,
    /// The id of the oldest message here, if there are older ones: what `before` takes.
    pub before: Option<String>,
}

/// What is known of the session itself.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ViewSession")]
pub struct Session {
    pub session_id: Option<SessionId>,
    pub runtime: Option<String>,
    pub title: Option<String>,
    pub cwd: Option<String>,
    pub model: Option<String>,
    pub mode: Option<String>,
    pub provider_session_id: Option<String>,
    pub resumed: Option<bool>,
    /// The version of the agent's program.
    pub version: Option<String>,
    /// The turn that runs.
    pub turn: Option<TurnId>,
    pub archived: Option<bool>,
    /// How the session ended.
    pub ended: Option<SessionEnded>,
    /// What the agent understands after a slash.
    pub commands: Option<Vec<SlashCommand>>,
    /// What the session's model may be changed to.
    pub models: Option<Vec<crate::event::ModelChoice>>,
    /// The session that it works for.
    pub parent_session_id: Option<SessionId>,
}

/// What somebody said, or what the agent did in a turn.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ViewMessage")]
pub struct Message {
    pub id: String,
    pub role: Role,
    pub turn_id: Option<TurnId>,
    pub done: bool,
    pub started_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    pub outcome: Option<Outcome>,
    pub reason: Option<String>,
    pub exit_code: Option<i32>,
    pub usage: Option<Usage>,
    pub origin: Option<Origin>,
    pub blocks: Vec<Block>,
    /// Its texts, joined. It says nothing that `blocks` does not, so streams leave it out.
    pub content: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "ViewRole")]
pub enum Role {
    User,
    Agent,
    #[default]
    System,
}

/// What waits for a person, and where its block is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ViewAsk")]
pub struct OpenAsk {
    pub ask_id: AskId,
    pub kind: AskKind,
    /// The ids of the message and the blocks that lead to it.
    pub path: Vec<String>,
    pub asked_at: Timestamp,
}

/// A message for the running turn that has not reached the agent.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ViewSteer")]
pub struct PendingSteer {
    pub message_id: MessageId,
    pub content: Option<Vec<Part>>,
}

/// Something that goes on between turns: a command, another tool's call, a sub-agent, or a time the agent has set itself.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ViewBackground")]
pub struct BackgroundWork {
    pub background_id: BackgroundId,
    pub kind: BackgroundKind,
    pub label: String,
    pub tool_use_id: Option<ToolUseId>,
    pub started_at: Timestamp,
}

/// A file that is different from how it was when the session began to change it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ViewFile")]
pub struct FileSummary {
    pub path: String,
    pub kind: FileChange,
    pub added: usize,
    pub removed: usize,
}

/// What the agent means to do, and how far it is.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ViewPlan")]
pub struct Plan {
    pub steps: Vec<PlanStep>,
    pub explanation: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ViewPlanStep")]
pub struct PlanStep {
    pub text: String,
    pub status: PlanStepStatus,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "ViewPlanStepStatus")]
pub enum PlanStepStatus {
    Pending,
    Running,
    /// It was begun, and the turn ended.
    Unfinished,
    Done,
}

/// What the session is doing for the person who waits, and since when.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ViewActivity")]
pub struct CurrentActivity {
    pub state: Activity,
    pub label: Option<String>,
    pub attempt: Option<u32>,
    pub detail: Option<Value>,
    pub since: Timestamp,
}
