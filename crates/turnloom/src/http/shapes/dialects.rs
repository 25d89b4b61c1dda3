//! The messages, sessions and events of foreign protocols, as far as they are answered as JSON.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};
use serde_with::skip_serializing_none;
use turnloom_core::dialect::tasks::Task;
use turnloom_core::id::{Seq, SessionId, TurnId};
use turnloom_core::summary::AskKind;
use turnloom_core::time::Timestamp;

use super::super::dialect::ag_ui::{Info, Stopped};

/// A `UIMessage` of the AI SDK.
#[skip_serializing_none]
#[derive(Serialize, JsonSchema)]
pub(in super::super) struct UiMessage {
    id: String,
    role: UiRole,
    parts: Vec<UiPart>,
    metadata: Option<Value>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum UiRole {
    User,
    Assistant,
    System,
}

/// A part of a `UIMessage`: `text`, `reasoning`, `file`, `dynamic-tool`, `data-…` and others, each with members of its own.
#[derive(Serialize, JsonSchema)]
struct UiPart {
    #[serde(rename = "type")]
    kind: String,
    #[serde(flatten)]
    more: Map<String, Value>,
}

/// A message of AG-UI.
#[skip_serializing_none]
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct AgUiMessage {
    id: String,
    role: AgUiRole,
    /// A text, a list of parts, or what an activity shows.
    content: Option<Value>,
    tool_calls: Option<Vec<AgUiCall>>,
    tool_call_id: Option<String>,
    activity_type: Option<String>,
    metadata: Option<Map<String, Value>>,
    /// The sub-agent that said or did it.
    subagent_run_id: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum AgUiRole {
    User,
    Assistant,
    Tool,
    Reasoning,
    Activity,
}

#[derive(Serialize, JsonSchema)]
struct AgUiCall {
    id: String,
    #[serde(rename = "type")]
    kind: String,
    function: AgUiFunction,
}

#[derive(Serialize, JsonSchema)]
struct AgUiFunction {
    name: String,
    /// JSON, as a text.
    arguments: String,
}

/// A page of universal events.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct UniversalEventPage {
    events: Vec<UniversalEvent>,
    has_more: bool,
}

#[derive(Serialize, JsonSchema)]
struct UniversalEvent {
    event_id: String,
    sequence: u64,
    time: Timestamp,
    session_id: String,
    native_session_id: Option<String>,
    /// Made by the daemon, not by the agent.
    synthetic: bool,
    source: String,
    #[serde(rename = "type")]
    kind: String,
    data: Map<String, Value>,
    /// What the agent wrote, with `include_raw`.
    raw: Value,
}

/// One event of the Agent UI standard.
#[derive(Serialize, JsonSchema)]
struct AgentUiEvent {
    #[serde(rename = "type")]
    kind: String,
    sequence: Seq,
    #[serde(flatten)]
    more: Map<String, Value>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct AgentUiSessions {
    sessions: Vec<AgentUiSession>,
    next_cursor: Option<String>,
    truncated: bool,
}

/// A session in brief.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct AgentUiSession {
    session_id: SessionId,
    thread_id: SessionId,
    title: String,
    /// `idle`, `running`, `needs_input`, `closed` or `failed`.
    runtime_status: String,
    /// The turn that runs.
    run_id: Option<TurnId>,
    pending_action_count: usize,
    queued_turn_count: usize,
    last_activity_at: Timestamp,
    created_at: Timestamp,
    cursor: Seq,
    archived: bool,
    runtime: String,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct AgentUiSnapshot {
    #[serde(flatten)]
    session: AgentUiSession,
    #[serde(rename = "type")]
    kind: String,
    pending_actions: Vec<AgentUiAction>,
    messages: String,
    timeline: String,
}

/// What waits for a person.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct AgentUiAction {
    action_id: String,
    kind: AskKind,
    title: Option<String>,
    run_id: Option<TurnId>,
    sequence: Seq,
    asked_at: Timestamp,
    request: Value,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct AgentUiWindow {
    #[serde(rename = "type")]
    kind: String,
    session_id: SessionId,
    sequence: Seq,
    messages: Vec<Map<String, Value>>,
    older_cursor: Option<String>,
    truncated: bool,
    counts: AgentUiCounts,
    timeline: String,
    artifacts: String,
}

#[derive(Serialize, JsonSchema)]
struct AgentUiCounts {
    messages: usize,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct AgentUiTimeline {
    session_id: SessionId,
    events: Vec<AgentUiEvent>,
    next_cursor: Option<Seq>,
    truncated: bool,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct AgentUiArtifact {
    session_id: SessionId,
    artifact_id: String,
    title: String,
    media_type: String,
    version: Option<u64>,
    artifact_status: String,
    sequence: Seq,
    preview: Option<String>,
    artifact_read_ref: String,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct AgentUiEvidence {
    session_id: SessionId,
    status: String,
    sequence: Seq,
    evidence: Vec<AgentUiEvent>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct AgentUiDiagnostics {
    session_id: SessionId,
    sequence: Seq,
    events: Vec<AgentUiEvent>,
    truncated: bool,
}

/// The turns that run, in all sessions.
#[derive(Serialize, JsonSchema)]
pub(in super::super) struct ActiveTasks {
    tasks: Vec<Task>,
    /// Where the stream of tasks goes on.
    position: u64,
    timestamp: Timestamp,
}

/// What the single address of `CopilotKit` answers.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub(in super::super) enum CopilotKitAnswer {
    Info(Info),
    Stopped(Stopped),
}
