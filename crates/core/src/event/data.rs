//! The payloads, in the order of the event table. Field names are a contract with every client: they are added to, never changed.

use std::ops::Not;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use serde_with::skip_serializing_none;

use crate::blob::BlobRef;
use crate::id::{AskId, BackgroundId, BlockId, MessageId, Seq, SessionId, SubagentId, ToolUseId, TurnId};

/// Declares payloads: every one is cloned, compared, stored and described in the same way, and leaves out what is absent.
macro_rules! payloads {
    ($($(#[$attribute:meta])* $name:ident { $($body:tt)* })*) => {$(
        $(#[$attribute])*
        #[skip_serializing_none]
        #[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
        pub struct $name { $($body)* }
    )*};
}

/// Declares enums whose values are words on the wire.
macro_rules! words {
    ($($(#[$attribute:meta])* $name:ident { $($body:tt)* })*) => {$(
        $(#[$attribute])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum $name { $($body)* }
    )*};
}

words! {
    /// What made a turn or a message.
    Origin { #[default] User, Schedule, Webhook, Delegation, Api, Agent, Import }
    /// How a turn ended.
    Outcome { #[default] Completed, Stopped, Interrupted, Failed }
    /// What a session is doing for the person who waits.
    Activity { #[default] Accepted, Starting, Thinking, Responding, Tool, Waiting, Retrying, Compacting, Stopping }
    /// What became of a message meant for the running turn.
    SteerState { #[default] Accepted, Delivered, Rejected, Returned }
    /// Why a session ended.
    EndReason { #[default] Completed, Error, Terminated }
    /// A person's answer to a permission request.
    PermissionReply { #[default] Once, Always, Reject }
    /// What the rules say about a call.
    PolicyEffect { #[default] Allow, Ask, Deny }
    /// How far a rule reaches.
    RuleScope {
        /// Everywhere and in every mode; no rule can allow it.
        Absolute,
        /// In one mode.
        #[default]
        Mode,
        /// For this user, wherever an agent works.
        User,
        /// In one working directory.
        Project,
        /// In one session.
        Session,
    }
    /// How a sub-agent or a background task ended.
    WorkStatus { #[default] Completed, Failed, Interrupted }
    /// What runs in the background.
    BackgroundKind {
        #[default]
        Command,
        Agent,
        /// Another tool, whose call goes on.
        Tool,
        /// Nothing runs yet: the agent wakes itself at a time it has set.
        Schedule,
    }
    /// Where a component may appear.
    Surface { #[default] Chat, Sidebar, Panel, Overlay, Canvas }
    /// How far a step of the plan is.
    StepStatus { #[default] Pending, Running, Done }
    /// What happened to a file.
    FileChange { Added, #[default] Modified, Deleted, Renamed }
    /// Why history was compacted.
    CompactionReason { Tokens, Count, Summary, #[default] Manual }
    /// Who asked for a compaction.
    CompactionTrigger { #[default] Manual, Auto }
    /// Where a message in the queue stands.
    QueueState { #[default] Waiting, Returned }
    /// What becomes of the queue when a turn is stopped.
    AfterStop { #[default] Continue, Hold }
    /// Why a message in the queue waits for somebody to say that it may go on.
    Hold { #[default] Stopped, Restarted, NotStarted, Archived, Ended }
    /// Why an ask ended without an answer: the agent took it back, the turn was stopped, or whoever asked is gone.
    Unanswered { #[default] Withdrawn, Stopped, Interrupted }
}

/// One piece of a message.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Part {
    Text {
        text: String,
    },
    /// An image: its bytes in base64, or a blob that holds them.
    Image {
        media_type: String,
        data: Option<String>,
        blob: Option<BlobRef>,
    },
    /// A file the agent can read by itself.
    File {
        path: String,
    },
}

impl Part {
    /// The blob that it names.
    pub fn blob(&self) -> Option<&BlobRef> {
        match self {
            Self::Image { blob, .. } => blob.as_ref(),
            Self::Text { .. } | Self::File { .. } => None,
        }
    }
}

payloads! {
    // ---- session ----

    /// The session can take messages: at its creation, and each time its agent has started.
    SessionReady {
        pub session_id: Option<SessionId>,
        pub runtime: String,
        /// The agent's own name for the conversation, stored the moment it is known.
        pub provider_session_id: Option<String>,
        /// Whether the agent remembers the conversation; absent on the first start.
        pub resumed: Option<bool>,
        pub reason: Option<String>,
        pub title: Option<String>,
        pub cwd: Option<String>,
        pub model: Option<String>,
        pub mode: Option<String>,
        /// The version of the agent's program.
        pub version: Option<String>,
        /// What a message that begins with a slash may call.
        pub commands: Option<Vec<SlashCommand>>,
        /// What the session's model may be changed to.
        pub models: Option<Vec<ModelChoice>>,
    }
    SlashCommand { pub name: String, pub description: Option<String>, pub hint: Option<String> }
    ModelChoice { pub id: String, pub name: Option<String>, pub description: Option<String> }
    SessionUpdated {
        pub title: Option<String>,
        pub archived: Option<bool>,
        /// Parameters of the runtime that were changed after creation.
        pub settings: Option<Map<String, Value>>,
        pub by: String,
    }
    ModeChanged { pub mode: String, pub by: Option<String> }
    ModelChanged { pub model: String, pub by: Option<String> }
    SessionEnded { pub reason: EndReason, pub terminated_by: String, pub message: Option<String> }

    // ---- turn ----

    UserMessage { pub message_id: MessageId, pub content: Vec<Part>, pub origin: Origin }
    TurnStarted { pub message_ids: Vec<MessageId>, pub origin: Origin }
    Status {
        pub state: Activity,
        pub label: Option<String>,
        pub attempt: Option<u32>,
        pub detail: Option<Value>,
    }
    /// A message for the running turn: accepted with its content, then delivered, rejected, or returned to the queue.
    Steer {
        pub message_id: MessageId,
        pub state: SteerState,
        pub content: Option<Vec<Part>>,
        pub origin: Option<Origin>,
        pub reason: Option<String>,
    }
    TurnResult {
        pub text: String,
        /// What the session's `output_schema` asked for.
        pub structured_output: Option<Value>,
    }
    Done {
        pub outcome: Outcome,
        #[serde(default, skip_serializing_if = "Not::not")]
        pub stopped: bool,
        pub exit_code: Option<i32>,
        pub reason: Option<String>,
        /// Where the agent's own conversation stood then, in the agent's words: what a fork or a rollback goes back to.
        pub anchor: Option<String>,
        /// `hold` if the person who stopped the turn also held the queue; absent if the queue continues.
        pub then: Option<AfterStop>,
    }
    /// Something went wrong, with what to do about it.
    Failure { pub message: String, pub code: String, pub retryable: bool, pub fix: Option<String> }
    /// What this turn used.
    Usage {
        pub input_tokens: u64,
        pub output_tokens: u64,
        pub cached_tokens: Option<u64>,
        pub reasoning_tokens: Option<u64>,
        pub cost_usd: Option<f64>,
        pub context_used: Option<u64>,
        pub context_window: Option<u64>,
    }

    // ---- text ----

    Delta {
        pub block_id: BlockId,
        pub text: String,
        /// Nothing more will come in this block.
        #[serde(default, skip_serializing_if = "Not::not")]
        pub done: bool,
        /// The block was closed half written.
        #[serde(default, skip_serializing_if = "Not::not")]
        pub interrupted: bool,
    }
    Thinking {
        pub block_id: BlockId,
        pub text: String,
        pub done: Option<bool>,
        #[serde(default, skip_serializing_if = "Not::not")]
        pub interrupted: bool,
    }
    /// The agent took back what it streamed in this block.
    Retracted { pub block_id: BlockId, pub reason: Option<String> }

    // ---- tools ----

    ToolStart {
        pub tool_use_id: ToolUseId,
        pub tool: String,
        pub input: Option<Value>,
        pub command: Option<String>,
        pub file_path: Option<String>,
        pub pattern: Option<String>,
        pub search_path: Option<String>,
        pub is_file_read: Option<bool>,
        pub subagent_spawn: Option<bool>,
        pub subagent_name: Option<String>,
        /// A client runs it, not the agent: an interrupt with the same `tool_use_id` follows.
        pub client_tool: Option<bool>,
        /// The whole input, when what is in `input` had to be cut.
        pub blob: Option<BlobRef>,
    }
    ToolProgress { pub tool_use_id: ToolUseId, pub text: Option<String>, pub fraction: Option<f64> }
    ToolResult {
        pub tool_use_id: ToolUseId,
        pub output: String,
        pub is_error: bool,
        pub exit_code: Option<i32>,
        pub file_path: Option<String>,
        pub is_file_read: Option<bool>,
        /// The tool did not run: a person or a rule said no.
        pub denied: Option<bool>,
        /// The turn ended before the tool did.
        pub interrupted: Option<bool>,
        pub diff: Option<String>,
        /// The whole output, when what is in `output` had to be cut.
        pub blob: Option<BlobRef>,
        /// The pictures that the tool brought, in their order; `output` has `[image]` where each stood.
        pub images: Option<Vec<Image>>,
    }
    /// A picture that a tool brought. An agent says its bytes in base64; in the log they are a blob, decoded, whatever their size.
    Image { pub media_type: String, pub data: Option<String>, pub blob: Option<BlobRef> }

    /// The rules have decided about a call, before it runs.
    ToolDecided {
        pub tool_use_id: ToolUseId,
        pub tool: String,
        pub judged: Judged,
    }
    /// What was decided about a call, and why.
    Judged {
        pub effect: PolicyEffect,
        /// The rule that decided: where it stands, and its name there.
        pub rule: String,
        pub scope: RuleScope,
        /// The session's mode then.
        pub mode: Option<String>,
        /// For the agent and for people.
        pub reason: String,
        /// Only the running of it would tell what it does.
        #[serde(default, skip_serializing_if = "Not::not")]
        pub opaque: bool,
        /// The SHA-256 of the input, as compact JSON.
        pub input_sha256: String,
        /// What the call consists of: each simple command of a script, or the call itself.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub parts: Vec<CallPart>,
    }
    /// One simple command of a script, or the whole call of another tool.
    CallPart {
        /// The command, after the shell's expansions as far as they are known.
        pub command: Option<String>,
        /// What brought it about: `sh -c`, `xargs`.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub inside: Vec<String>,
        pub acts: Vec<CallAct>,
    }
    /// One thing that a call would do.
    CallAct {
        /// The sort of act, as rules name it.
        pub does: String,
        /// The same for people.
        pub text: String,
        pub path: Option<String>,
        /// The path is not, or not surely, in the working directory.
        pub outside: Option<bool>,
        pub host: Option<String>,
        /// This act decided about the call.
        pub decides: Option<bool>,
    }

    // ---- asks ----

    PermissionRequest {
        pub ask_id: AskId,
        pub tool_name: String,
        pub tool_input: Value,
        pub tool_use_id: Option<ToolUseId>,
        pub title: Option<String>,
        pub options: Vec<PermissionOption>,
        /// Which rule wants a person to decide, and what the call would do.
        pub judged: Option<Box<Judged>>,
    }
    /// One answer that may be given.
    PermissionOption {
        pub reply: PermissionReply,
        pub label: String,
        /// The rule that `always` would store.
        pub rule: Option<String>,
        /// How far that rule would reach.
        pub scope: Option<RuleScope>,
    }
    PermissionResolved {
        pub ask_id: AskId,
        pub tool_name: String,
        pub allowed: bool,
        pub reply: PermissionReply,
        pub by: String,
        pub reason: Option<String>,
        pub rule: Option<String>,
        pub updated_input: Option<Value>,
        /// Nobody said no: it ended without an answer.
        pub unanswered: Option<Unanswered>,
    }
    QuestionRequest { pub ask_id: AskId, pub questions: Vec<Question>, pub tool_use_id: Option<ToolUseId>, pub title: Option<String> }
    Question {
        pub prompt: String,
        pub header: Option<String>,
        pub options: Vec<QuestionOption>,
        pub multiple: bool,
        pub free_text: bool,
    }
    QuestionOption { pub label: String, pub description: Option<String> }
    QuestionResolved {
        pub ask_id: AskId,
        /// One list per question.
        pub answers: Option<Vec<Vec<String>>>,
        pub rejected: Option<bool>,
        pub by: String,
        pub reason: Option<String>,
        /// Nobody refused to answer: it ended without one.
        pub unanswered: Option<Unanswered>,
    }
    /// A component waits for a value from a person, or a call of a client's tool for its result.
    Interrupt {
        pub interrupt_id: AskId,
        /// Of a tool: its name.
        pub component_name: String,
        /// Of a tool: its input.
        pub props: Value,
        pub surface: Surface,
        /// The call that waits, when a client has to run a tool.
        pub tool_use_id: Option<ToolUseId>,
    }
    InterruptResolved {
        pub interrupt_id: AskId,
        pub value: Option<Value>,
        /// The client could not run its tool; `value` says why.
        pub is_error: Option<bool>,
        pub by: String,
        pub reason: Option<String>,
        /// Why there is no value.
        pub unanswered: Option<Unanswered>,
    }

    // ---- sub-agents and background ----

    SubagentStarted {
        pub subagent_id: SubagentId,
        pub name: String,
        pub background: Option<bool>,
        pub parent_tool_use_id: Option<ToolUseId>,
        pub parent_subagent_id: Option<SubagentId>,
    }
    /// What has changed of a sub-agent that runs: it goes on in the background, say.
    SubagentUpdated { pub subagent_id: SubagentId, pub background: Option<bool> }
    SubagentEnded { pub subagent_id: SubagentId, pub status: WorkStatus, pub tool_calls: u64, pub file_changes: u64 }
    BackgroundStarted {
        pub background_id: BackgroundId,
        pub kind: BackgroundKind,
        pub tool_use_id: Option<ToolUseId>,
        pub label: String,
    }
    BackgroundEnded {
        pub background_id: BackgroundId,
        pub status: WorkStatus,
        pub output: Option<String>,
        pub exit_code: Option<i32>,
        pub blob: Option<BlobRef>,
        /// Why it ended, when it did not end by itself.
        pub reason: Option<String>,
    }

    // ---- components and shared state ----

    ComponentUpdate {
        pub component_id: String,
        pub name: String,
        pub surface: Surface,
        pub props: Value,
        /// `props` is merged into what is there, instead of replacing it.
        pub merge: bool,
    }
    ComponentRemove { pub component_id: String }
    ComponentCallback { pub component_id: String, pub action: String, pub payload: Value, pub by: String }
    StateSnapshot { pub state: Value }
    /// RFC 6902 JSON Patch.
    StateDelta { pub patch: Value, pub by: String }

    // ---- work products ----

    PlanUpdated { pub steps: Vec<PlanStep>, pub explanation: Option<String> }
    PlanStep { pub text: String, pub status: StepStatus }
    DiffUpdated { pub files: Vec<FileDiff> }
    FileDiff { pub path: String, pub kind: FileChange, pub diff: String }
    ArtifactCreated {
        pub artifact_id: String,
        pub title: String,
        pub media_type: String,
        pub path: Option<String>,
        pub content: Option<String>,
        pub blob: Option<BlobRef>,
    }
    ArtifactUpdated { pub artifact_id: String, pub title: Option<String>, pub content: Option<String>, pub blob: Option<BlobRef> }
    ArtifactVersion { pub artifact_id: String, pub version: u64, pub label: Option<String> }
    ArtifactRemoved { pub artifact_id: String }
    EvidenceChanged { pub evidence_id: String, pub kind: String, pub title: String, pub status: String, pub detail: Option<Value> }

    // ---- history and queue ----

    CompactionStart { pub trigger: CompactionTrigger }
    CompactionEnd {
        pub removed: Option<u64>,
        pub kept: Option<u64>,
        pub tokens_before: Option<u64>,
        pub tokens_after: Option<u64>,
        pub reason: CompactionReason,
        /// Compaction did not finish; the conversation goes on as it was.
        pub failed: Option<bool>,
    }
    Rollback {
        pub turn_ids: Vec<TurnId>,
        pub files_restored: bool,
        pub by: Option<String>,
        /// The agent cannot go back by itself; it goes on from a copy of its conversation that ends before these turns.
        pub branched: Option<bool>,
    }
    Forked {
        pub from_session: SessionId,
        /// What that one was called then.
        pub from_title: Option<String>,
        pub at_seq: Seq,
    }
    /// The queue as it is now. A message's content stands in `added` when it enters, and again when it is edited.
    QueueChanged { pub queue: Vec<QueueItem>, pub added: Option<QueueAdded> }
    QueueItem {
        pub message_id: MessageId,
        pub preview: String,
        pub state: QueueState,
        /// It does not go on by itself, and this is why.
        pub held: Option<Hold>,
    }
    QueueAdded { pub message_id: MessageId, pub content: Vec<Part>, pub origin: Origin, pub position: u64 }

    // ---- escape ----

    /// Something an agent said that its adapter could not read: kept and counted, never fatal, never silent.
    AgentUnparsed {
        pub location: String,
        pub error: String,
        /// The beginning of what it said.
        pub raw: String,
        pub size: Option<u64>,
        pub sha256: Option<String>,
    }
}

macro_rules! empty_ids {
    ($($id:ident)*) => {$(
        /// Only so that payloads can be written with `..Default::default()`; never stored.
        impl Default for $id {
            fn default() -> Self {
                $id::trusted("")
            }
        }
    )*};
}

empty_ids! { SessionId TurnId MessageId AskId BlockId ToolUseId SubagentId BackgroundId }
