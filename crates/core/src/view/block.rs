//! The blocks of a message, one type for each kind. How a block looks at first is in `begin`; what changes it later is the fold's.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with::skip_serializing_none;

use super::mask::mask;
use super::nodes::PlanStep;
use crate::blob::BlobRef;
use crate::component::Component;
use crate::event::{
    AskExpiry, CompactionReason, CompactionTrigger, DelegatedAsk, DelegationState, FileDiff, Image, Judged,
    PermissionOption, PermissionReply, PolicyEffect, Question, RuleScope, Surface, Unanswered, WorkStatus,
};
use crate::id::{AskId, SessionId, SubagentId, ToolUseId};
use crate::time::Timestamp;

/// Declares the kinds of blocks. Every block has a `kind`, an `id` and the time it began; the rest is what its kind needs.
macro_rules! blocks {
    ($($(#[$attribute:meta])* $variant:ident($name:ident) = $word:literal { $($body:tt)* })*) => {
        $(
            $(#[$attribute])*
            #[skip_serializing_none]
            #[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
            pub struct $name {
                pub kind: kind::$variant,
                pub id: String,
                pub started_at: Timestamp,
                pub ended_at: Option<Timestamp>,
                $($body)*
            }

            impl OfKind for $name {
                fn of(block: &Block) -> Option<&Self> {
                    if let Block::$variant(block) = block { Some(block) } else { None }
                }

                fn of_mut(block: &mut Block) -> Option<&mut Self> {
                    if let Block::$variant(block) = block { Some(block) } else { None }
                }
            }

            impl From<$name> for Block {
                fn from(block: $name) -> Self {
                    Self::$variant(Box::new(block))
                }
            }
        )*

        /// One thing in a message, in the order it happened. More kinds and fields may be added.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(untagged)]
        #[schemars(rename = "ViewBlock")]
        pub enum Block {
            $($variant(Box<$name>),)*
        }

        impl Block {
            pub fn id(&self) -> &str {
                match self {
                    $(Self::$variant(block) => &block.id,)*
                }
            }
        }

        /// The words for the kinds. Each is a type with one value, so that a block cannot have the word of another.
        pub mod kind {
            use schemars::JsonSchema;
            use serde::{Deserialize, Serialize};

            $(
                #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
                #[schemars(inline)]
                pub enum $variant {
                    #[default]
                    #[serde(rename = $word)]
                    Word,
                }
            )*
        }
    };
}

/// A block of a kind that is known when this is compiled.
pub(super) trait OfKind {
    fn of(block: &Block) -> Option<&Self>;
    fn of_mut(block: &mut Block) -> Option<&mut Self>;
}

/// Declares enums whose values are words on the wire.
macro_rules! words {
    ($($(#[$attribute:meta])* $name:ident { $($body:tt)* })*) => {$(
        $(#[$attribute])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum $name { $($body)* }
    )*};
}

words! {
    /// How far a tool's call is.
    ToolStatus { #[default] Running, Done, Failed, Denied, Interrupted, Background }
    /// What became of a permission. `withdrawn`: it ended without an answer, and `unanswered` says why.
    PermissionState { #[default] Pending, Allowed, Rejected, Withdrawn }
    /// What became of a question. `withdrawn`: it ended without an answer, and `unanswered` says why.
    QuestionState { #[default] Pending, Answered, Rejected, Withdrawn }
    /// What became of an interrupt. `failed`: a client could not run its tool.
    InterruptState { #[default] Pending, Answered, Failed, Withdrawn }
    /// How far a sub-agent is.
    SubagentStatus { #[default] Running, Completed, Failed, Interrupted }
    /// How far a compaction is.
    CompactionStatus { #[default] Running, Done, Failed }
    /// How much a note matters.
    NoteLevel { #[default] Info, Warning }
}

blocks! {
    Text(TextBlock) = "text" {
        pub text: String,
        pub done: bool,
        /// It was closed half written.
        pub interrupted: Option<bool>,
    }
    Thinking(ThinkingBlock) = "thinking" {
        pub text: String,
        pub done: bool,
        pub interrupted: Option<bool>,
    }
    Tool(ToolBlock) = "tool" {
        pub tool_use_id: ToolUseId,
        pub tool: String,
        pub status: ToolStatus,
        /// One line for a row that is folded away.
        pub summary: String,
        pub input: Option<Value>,
        /// The whole input, when what is in `input` had to be cut.
        pub input_blob: Option<BlobRef>,
        pub command: Option<String>,
        pub file_path: Option<String>,
        pub pattern: Option<String>,
        pub is_file_read: Option<bool>,
        pub subagent_name: Option<String>,
        /// A client runs it, not the agent.
        pub client_tool: Option<bool>,
        pub output: Option<String>,
        /// What a tool that runs has said so far.
        pub live: Option<String>,
        /// How much of it is done, from 0 to 1.
        pub fraction: Option<f64>,
        pub exit_code: Option<i32>,
        pub diff: Option<String>,
        /// The whole output, when what is in `output` had to be cut.
        pub blob: Option<BlobRef>,
        /// What the tool brought besides words.
        pub images: Option<Vec<Image>>,
        /// What the rules said about the call, before it ran.
        pub decision: Option<Decision>,
        /// The component that shows this call, so that the row need not.
        pub covered_by: Option<String>,
    }
    Permission(PermissionBlock) = "permission" {
        pub ask_id: AskId,
        pub tool_name: String,
        #[serde(default, skip_serializing_if = "Value::is_null")]
        pub tool_input: Value,
        pub tool_use_id: Option<ToolUseId>,
        pub title: String,
        pub options: Vec<PermissionOption>,
        pub state: PermissionState,
        pub by: Option<String>,
        pub reply: Option<PermissionReply>,
        pub reason: Option<String>,
        pub rule: Option<String>,
        pub unanswered: Option<Unanswered>,
        /// Which rule wants a person to decide, and what the call would do.
        pub judged: Option<Box<Judged>>,
        /// The call can be allowed or not, but not with another input.
        pub fixed_input: Option<bool>,
        /// When it ends by itself, and whether the call runs then.
        pub expiry: Option<AskExpiry>,
        /// The ask whose answer settled this one too.
        pub along_with: Option<AskId>,
    }
    Question(QuestionBlock) = "question" {
        pub ask_id: AskId,
        pub questions: Vec<Question>,
        pub title: Option<String>,
        pub state: QuestionState,
        /// One list per question.
        pub answers: Option<Vec<Vec<String>>>,
        pub by: Option<String>,
        pub reason: Option<String>,
        pub unanswered: Option<Unanswered>,
    }
    Interrupt(InterruptBlock) = "interrupt" {
        pub ask_id: AskId,
        pub component_name: String,
        #[serde(default, skip_serializing_if = "Value::is_null")]
        pub props: Value,
        pub surface: Surface,
        /// The call that waits, when a client has to run a tool.
        pub tool_use_id: Option<ToolUseId>,
        /// The component that waits, when it is shown already.
        pub component_id: Option<String>,
        /// Which of its actions end the wait; all, if absent.
        pub actions: Option<Vec<String>>,
        pub title: Option<String>,
        /// What a value must fit; without it, what the component says that it answers.
        pub value_schema: Option<Value>,
        pub state: InterruptState,
        pub value: Option<Value>,
        pub by: Option<String>,
        pub reason: Option<String>,
        pub unanswered: Option<Unanswered>,
    }
    /// A component in the conversation; one line without `props`, when `surface` says that it has moved elsewhere.
    Component(ComponentBlock) = "component" {
        #[serde(flatten)]
        pub component: Component,
    }
    /// A sub-agent, with what it does.
    Subagent(SubagentBlock) = "subagent" {
        pub subagent_id: SubagentId,
        pub name: String,
        pub status: SubagentStatus,
        pub background: Option<bool>,
        pub parent_tool_use_id: Option<ToolUseId>,
        pub tool_calls: u64,
        pub file_changes: u64,
        pub blocks: Vec<Block>,
    }
    /// Another session that works for this one.
    Delegation(DelegationBlock) = "delegation" {
        pub child_session_id: SessionId,
        pub runtime: String,
        pub title: String,
        pub cwd: Option<String>,
        pub state: DelegationState,
        /// What it does.
        pub activity: Option<String>,
        /// What it and those that work for it ask of a person. The answers go to the sessions that are named.
        pub asks: Vec<DelegatedAsk>,
        /// What its last turn came to, or the beginning of it.
        pub text: Option<String>,
        pub reason: Option<String>,
        pub tool_use_id: Option<ToolUseId>,
        /// That call waits for its end.
        pub waits: Option<bool>,
        /// Who made it, when it was not the agent.
        pub by: Option<String>,
    }
    Plan(PlanBlock) = "plan" {
        pub steps: Vec<PlanStep>,
        pub explanation: Option<String>,
    }
    Diff(DiffBlock) = "diff" {
        pub files: Vec<FileDiff>,
    }
    Artifact(ArtifactBlock) = "artifact" {
        pub artifact_id: Option<String>,
        pub title: String,
        pub media_type: String,
        pub path: Option<String>,
        pub content: Option<String>,
        pub blob: Option<BlobRef>,
        pub version: Option<u64>,
        /// What the version is called.
        pub label: Option<String>,
    }
    Image(ImageBlock) = "image" {
        pub media_type: String,
        /// Its bytes in base64, unless they are in `content` or in a blob.
        pub data: Option<String>,
        pub artifact_id: Option<String>,
        pub title: Option<String>,
        pub path: Option<String>,
        pub content: Option<String>,
        pub blob: Option<BlobRef>,
        pub version: Option<u64>,
        pub label: Option<String>,
    }
    Compaction(CompactionBlock) = "compaction" {
        pub status: CompactionStatus,
        pub trigger: CompactionTrigger,
        pub removed: Option<u64>,
        pub kept: Option<u64>,
        pub tokens_before: Option<u64>,
        pub tokens_after: Option<u64>,
        pub reason: Option<CompactionReason>,
        pub failed: Option<bool>,
    }
    Error(ErrorBlock) = "error" {
        pub message: String,
        pub code: String,
        pub retryable: bool,
        pub fix: Option<String>,
    }
    /// Something worth a line that is neither the agent's words nor its work.
    Note(NoteBlock) = "status" {
        pub level: NoteLevel,
        pub label: String,
        /// Another session that it is about.
        pub session_id: Option<SessionId>,
    }
    /// An event of a type that this version does not know.
    Unknown(UnknownBlock) = "unknown" {
        #[serde(rename = "type")]
        pub event_type: String,
        #[serde(default, skip_serializing_if = "Value::is_null")]
        pub data: Value,
    }
}

/// What the rules said about a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ViewDecision")]
pub struct Decision {
    pub effect: PolicyEffect,
    /// The rule that decided: where it stands, and its name there.
    pub rule: String,
    /// How far that rule reaches.
    pub scope: RuleScope,
    pub reason: String,
}

impl From<&Judged> for Decision {
    fn from(judged: &Judged) -> Self {
        let Judged { effect, rule, scope, reason, .. } = judged;
        Self { effect: *effect, rule: rule.clone(), scope: *scope, reason: mask(reason) }
    }
}

impl From<WorkStatus> for SubagentStatus {
    fn from(status: WorkStatus) -> Self {
        match status {
            WorkStatus::Completed => Self::Completed,
            WorkStatus::Failed => Self::Failed,
            WorkStatus::Interrupted => Self::Interrupted,
        }
    }
}

impl From<WorkStatus> for ToolStatus {
    fn from(status: WorkStatus) -> Self {
        match status {
            WorkStatus::Completed => Self::Done,
            WorkStatus::Failed => Self::Failed,
            WorkStatus::Interrupted => Self::Interrupted,
        }
    }
}

impl Block {
    /// The text of a block in which the agent or a person speaks.
    pub(super) fn spoken_text(&self) -> Option<&str> {
        TextBlock::of(self).map(|block| block.text.as_str())
    }
}
