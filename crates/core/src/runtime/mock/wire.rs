//! The mock's language: one JSON object per line, in both directions.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with::skip_serializing_none;

use crate::event::{EndReason, Failure, Interrupt, Outcome, PermissionReply, PermissionRequest, QuestionRequest};
use crate::id::{BlockId, MessageId, SubagentId, TurnId};

/// What the host tells the agent.
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub(super) enum HostCommand {
    Open {
        session: String,
        resume: Option<String>,
        fork: Option<String>,
        pace_ms: Option<u64>,
        greet: Option<bool>,
        /// The tools that clients run.
        #[serde(default)]
        tools: Vec<String>,
    },
    Prompt {
        turn: TurnId,
        text: String,
    },
    Steer {
        message: MessageId,
        text: String,
    },
    Interrupt {},
    Answer {
        key: String,
        answer: AskAnswer,
    },
    /// What the rules say about a call that it wants to make.
    Verdict {
        key: String,
        verdict: AskAnswer,
    },
    /// What came of a call of a tool that the host serves.
    HostResult {
        key: String,
        result: AskAnswer,
    },
    SetModel {
        model: String,
    },
    SetMode {
        mode: String,
    },
    Compact {},
    StopBackground {
        id: String,
    },
    Rollback {
        turns: usize,
    },
    /// What has changed: the tools that clients run, how fast to speak.
    Configure {
        tools: Option<Vec<String>>,
        pace_ms: Option<u64>,
    },
    /// The shared state, as a client left it.
    State {
        state: Value,
    },
    Callback {
        component: String,
        action: String,
        payload: Value,
    },
    Close {},
}

/// A person's answer, or a rule's.
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum AskAnswer {
    Permission {
        reply: PermissionReply,
        updated_input: Option<Value>,
        message: Option<String>,
    },
    Question {
        answers: Option<Vec<Vec<String>>>,
    },
    Interrupt {
        value: Value,
    },
    ToolFailed {
        output: Value,
    },
    Served {
        output: String,
        is_error: bool,
    },
    Allowed {},
    Denied {
        reason: String,
    },
    /// A person shall be asked.
    MustAsk {
        reason: String,
    },
}

/// What the agent says.
#[expect(clippy::large_enum_variant, reason = "each is a line, written or read, and gone")]
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "say", rename_all = "snake_case")]
pub(super) enum AgentMessage {
    Ready {
        conversation: String,
        resumed: bool,
        reason: Option<String>,
    },
    /// A piece of text; the whole comes with `TextEnd`.
    Text {
        block: BlockId,
        text: String,
    },
    TextEnd {
        block: BlockId,
        text: String,
    },
    /// Any fact, in the shape of the event model.
    Event {
        #[serde(rename = "type")]
        kind: String,
        data: Value,
        by: Option<SubagentId>,
    },
    Ask {
        key: String,
        by: Option<SubagentId>,
        request: AskPayload,
    },
    /// A call that it makes only after a verdict.
    Propose {
        key: String,
        by: Option<SubagentId>,
        tool: String,
        input: Value,
    },
    /// A call of a tool that the host serves.
    HostCall {
        key: String,
        by: Option<SubagentId>,
        tool: String,
        input: Value,
    },
    Steered {
        message: MessageId,
    },
    RolledBack {},
    TurnStart {},
    TurnEnd {
        outcome: Outcome,
        reason: Option<String>,
        error: Option<Failure>,
    },
    SessionEnd {
        reason: EndReason,
    },
}

/// What the agent wants of a person.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum AskPayload {
    Permission(PermissionRequest),
    Question(QuestionRequest),
    Interrupt(Interrupt),
}
