//! The payloads, in the order of the event table. Field names are a contract with every client: they are added to, never changed.

use std::ops::Not;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use serde_with::skip_serializing_none;

use super::part::Part;
use super::source::MessageSource;
#[allow(clippy::wildcard_imports, reason = "payloads have all of them")]
use super::words::*;
use crate::blob::BlobRef;
use crate::id::{AskId, BackgroundId, BlockId, MessageId, RunId, ScheduleId, SessionId, SubagentId, ToolUseId, TurnId};
use crate::time::Timestamp;

/// Declares payloads: every one is cloned, compared, stored and described in the same way, and leaves out what is absent.
macro_rules! payloads {
    ($($(#[$attribute:meta])* $name:ident { $($body:tt)* })*) => {$(
        $(#[$attribute])*
        #[skip_serializing_none]
        #[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
        pub struct $name { $($body)* }
    )*};
}

pub(super) use payloads;

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
        /// How often an agent that others write has taken the session, with this time; of all others nothing.
        pub epoch: Option<u64>,
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

    UserMessage {
        pub message_id: MessageId,
        pub content: Vec<Part>,
        pub origin: Origin,
        /// Which delivery of which channel it came with.
        pub source: Option<MessageSource>,
    }
    TurnStarted {
        pub message_ids: Vec<MessageId>,
        pub origin: Origin,
        /// The turn that was interrupted for its budget and goes on with this one.
        pub continues: Option<TurnId>,
        /// The agent does not hear of it before a person has said that it may go over a budget.
        pub waits: Option<bool>,
        /// Whose budget it spends, besides its own.
        pub budget_group: Option<String>,
    }
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
        /// Milliseconds that the agent worked, without those in which a person was waited for.
        pub worked_ms: Option<u64>,
    }
    /// Something went wrong, with what to do about it.
    Failure { pub message: String, pub code: String, pub retryable: bool, pub fix: Option<String> }
    /// What this turn used, all of it so far: a later one takes the place of an earlier one.
    Usage {
        /// With those that were read from a cache, and written to one.
        pub input_tokens: u64,
        pub output_tokens: u64,
        pub cached_tokens: Option<u64>,
        pub cache_write_tokens: Option<u64>,
        pub reasoning_tokens: Option<u64>,
        pub cost_usd: Option<f64>,
        pub context_used: Option<u64>,
        pub context_window: Option<u64>,
        /// The agent does not say what it costs: `cost_usd` is by the prices of the configuration.
        pub estimated: Option<bool>,
        /// Milliseconds that the agent worked in this turn so far, without those in which a person was waited for.
        pub worked_ms: Option<u64>,
    }
    /// A limit is near or reached, or somebody has said how it goes on. Amounts are in tokens, dollars, turns, minutes, calls.
    Budget {
        pub state: BudgetState,
        pub scope: BudgetScope,
        /// The name of the group, or the day.
        pub id: Option<String>,
        pub measure: BudgetMeasure,
        pub limit: f64,
        pub spent: f64,
        /// What is held.
        pub how: Option<BudgetHold>,
        /// The permission that is asked for, or was.
        pub ask_id: Option<AskId>,
        /// By how much the limit would be raised, or was.
        pub added: Option<f64>,
        pub by: Option<String>,
        /// One line for people.
        pub reason: Option<String>,
    }
    /// Runs of a schedule were due while the daemon was off, or asleep. It stands in the session of the run that comes after them.
    ScheduleMissed {
        pub schedule_id: ScheduleId,
        /// The first and the last time that was missed, and how many they were.
        pub first: Timestamp,
        pub last: Timestamp,
        pub count: u32,
        /// There are more than were counted.
        #[serde(default, skip_serializing_if = "Not::not")]
        pub and_more: bool,
        /// The run in whose session it stands.
        pub run_id: RunId,
        pub emit_id: Option<String>,
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
        /// The component that shows this call, as the rules said when it began.
        pub component: Option<Box<ToolComponent>>,
        /// The view that the tool's server has for it.
        pub ui: Option<Box<ToolUi>>,
    }
    /// The component that shows a call.
    ToolComponent {
        pub component_id: String,
        pub name: String,
        pub surface: Surface,
        pub result: ToolMapping,
        /// The key for a result that is no object.
        pub into: Option<String>,
        /// What it shows of the input, when what is in `input` had to be cut.
        pub props: Option<Map<String, Value>>,
    }
    /// A view that an MCP server has for one of its tools.
    ToolUi { pub server: String, pub tool: String, pub resource_uri: String }
    ToolProgress {
        pub tool_use_id: ToolUseId,
        pub text: Option<String>,
        pub fraction: Option<f64>,
        /// What whoever added this from outside calls what it added.
        pub emit_id: Option<String>,
    }
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
        /// The result as data (`structuredContent` of MCP).
        pub structured: Option<Value>,
        /// What goes with the result and is not for the model (`_meta` of MCP).
        pub meta: Option<Value>,
        /// What the result brings to the component that covers the call, when what is in `output` had to be cut.
        pub props: Option<Map<String, Value>>,
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
        /// The call can be allowed or not, but not with another input.
        pub fixed_input: Option<bool>,
        /// Which rule wants a person to decide, and what the call would do.
        pub judged: Option<Box<Judged>>,
        /// The rule does not wait for ever.
        pub expiry: Option<AskExpiry>,
        /// What the agent calls it.
        pub key: Option<String>,
    }
    /// When an ask ends by itself, and whether the call runs then.
    AskExpiry { pub at: Timestamp, pub allowed: bool }
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
        /// It was settled by the answer to another ask: an equal one, or one whose rule allows this too.
        pub along_with: Option<AskId>,
    }
    QuestionRequest {
        pub ask_id: AskId,
        pub questions: Vec<Question>,
        pub tool_use_id: Option<ToolUseId>,
        pub title: Option<String>,
        /// What the agent calls it.
        pub key: Option<String>,
        /// The call whose row it stands for.
        pub covers: Option<ToolUseId>,
    }
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
        /// The component that waits, when it is shown already.
        pub component_id: Option<String>,
        /// Which of its actions end the wait; all, if absent.
        pub actions: Option<Vec<String>>,
        pub title: Option<String>,
        /// What a value must fit; without it, what the component says that it answers.
        pub value_schema: Option<Value>,
        /// What the agent calls it.
        pub key: Option<String>,
        /// The call whose row it stands for, when an agent waits in one.
        pub covers: Option<ToolUseId>,
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
        /// The pictures that it brought, as in `tool_result`.
        pub images: Option<Vec<Image>>,
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
        /// How; without it, `shallow` if `merge`, else `replace`.
        pub mode: Option<MergeMode>,
        /// RFC 6902 JSON Patch of the props, with the mode `patch`.
        pub patch: Option<Value>,
        pub status: Option<ComponentStatus>,
        /// What went wrong, for people.
        pub error: Option<String>,
        /// The call that it belongs to.
        pub tool_use_id: Option<ToolUseId>,
        /// What it shows of the shared state.
        pub bind: Option<Box<Bind>>,
        /// The page that draws it.
        pub view: Option<Box<ComponentView>>,
        pub by: Option<String>,
        /// What whoever added this from outside calls what it added.
        pub emit_id: Option<String>,
    }
    /// Where in the shared state a component finds what it shows.
    Bind {
        /// JSON Pointer.
        pub pointer: String,
        /// The key for a value that is no object; without it `items` for lists, else `value`.
        #[serde(rename = "as")]
        pub as_key: Option<String>,
        /// People's edits change the state.
        pub edits: Option<bool>,
    }
    /// A page that draws a component, as an MCP server gave it.
    ComponentView {
        pub blob: Option<BlobRef>,
        pub csp: Option<Value>,
        pub permissions: Option<Value>,
        pub prefers_border: Option<bool>,
        pub server: Option<String>,
        pub resource_uri: Option<String>,
    }
    ComponentRemove {
        pub component_id: String,
        pub by: Option<String>,
        /// What whoever added this from outside calls what it added.
        pub emit_id: Option<String>,
    }
    ComponentCallback {
        pub component_id: String,
        pub action: String,
        pub payload: Value,
        pub by: String,
        /// What the component was called then.
        pub name: Option<String>,
        /// The caller's; the same one again is taken once.
        pub callback_id: Option<String>,
        /// No agent was there; the next one hears of it.
        pub waits: Option<bool>,
        /// The ask that it answered. The agent hears of it as the answer.
        pub settles: Option<AskId>,
        /// The agent hears of it by a message: at once, or (`false`) with the next one.
        pub wakes: Option<bool>,
    }
    StateSnapshot { pub state: Value }
    /// RFC 6902 JSON Patch.
    StateDelta {
        pub patch: Value,
        pub by: String,
        /// The agent hears of it by a message: at once, or (`false`) with the next one.
        pub wakes: Option<bool>,
        /// What whoever added this from outside calls what it added.
        pub emit_id: Option<String>,
    }

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
        /// What whoever added this from outside calls what it added.
        pub emit_id: Option<String>,
    }
    ArtifactUpdated {
        pub artifact_id: String,
        pub title: Option<String>,
        pub content: Option<String>,
        pub blob: Option<BlobRef>,
        /// What whoever added this from outside calls what it added.
        pub emit_id: Option<String>,
    }
    ArtifactVersion {
        pub artifact_id: String,
        pub version: u64,
        pub label: Option<String>,
        /// What whoever added this from outside calls what it added.
        pub emit_id: Option<String>,
    }
    ArtifactRemoved {
        pub artifact_id: String,
        /// What whoever added this from outside calls what it added.
        pub emit_id: Option<String>,
    }
    EvidenceChanged {
        pub evidence_id: String,
        pub kind: String,
        pub title: String,
        pub status: String,
        pub detail: Option<Value>,
        /// What whoever added this from outside calls what it added.
        pub emit_id: Option<String>,
    }

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
