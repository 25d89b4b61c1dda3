//! The events of AG-UI, those that we send. Absent members are left out: a `null` is fatal in the clients.

use serde::Serialize;
use serde_json::Value;

use super::messages::{Outcome, Snapshot};

/// Who did it, where it was a sub-agent.
pub(super) type By<'a> = Option<&'a str>;

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "SCREAMING_SNAKE_CASE", rename_all_fields = "camelCase")]
pub(super) enum Frame<'a> {
    RunStarted {
        thread_id: &'a str,
        run_id: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        protocol_version: Option<&'a str>,
    },
    RunFinished {
        thread_id: &'a str,
        run_id: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        outcome: Option<Value>,
        #[serde(skip_serializing_if = "Option::is_none")]
        usage: Option<&'a Value>,
    },
    RunError {
        message: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        code: Option<&'a str>,
    },
    StateSnapshot {
        snapshot: &'a Value,
    },
    StateDelta {
        delta: &'a Value,
    },
    MessagesSnapshot {
        messages: Snapshot<'a>,
    },
    TextMessageStart {
        message_id: &'a str,
        role: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        subagent_run_id: By<'a>,
    },
    TextMessageContent {
        message_id: &'a str,
        delta: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        subagent_run_id: By<'a>,
    },
    TextMessageEnd {
        message_id: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        subagent_run_id: By<'a>,
    },
    ReasoningStart {
        message_id: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        subagent_run_id: By<'a>,
    },
    ReasoningMessageStart {
        message_id: &'a str,
        role: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        subagent_run_id: By<'a>,
    },
    ReasoningMessageContent {
        message_id: &'a str,
        delta: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        subagent_run_id: By<'a>,
    },
    ReasoningMessageEnd {
        message_id: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        subagent_run_id: By<'a>,
    },
    ReasoningEnd {
        message_id: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        subagent_run_id: By<'a>,
    },
    ToolCallStart {
        tool_call_id: &'a str,
        tool_call_name: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        subagent_run_id: By<'a>,
    },
    ToolCallArgs {
        tool_call_id: &'a str,
        delta: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        subagent_run_id: By<'a>,
    },
    ToolCallEnd {
        tool_call_id: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        subagent_run_id: By<'a>,
    },
    ToolCallResult {
        message_id: &'a str,
        tool_call_id: &'a str,
        content: &'a str,
        role: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        metadata: Option<Value>,
        #[serde(skip_serializing_if = "Option::is_none")]
        subagent_run_id: By<'a>,
    },
    ActivitySnapshot {
        message_id: &'a str,
        activity_type: &'a str,
        content: &'a Value,
    },
    SubagentStarted {
        subagent_run_id: &'a str,
        name: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        parent_tool_call_id: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        parent_subagent_run_id: Option<&'a str>,
    },
    SubagentFinished {
        subagent_run_id: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        outcome: Option<Value>,
    },
    SubagentError {
        subagent_run_id: &'a str,
        message: &'a str,
    },
}

impl<'a> Frame<'a> {
    /// A call with its arguments.
    pub(super) fn call(tool_call_id: &'a str, tool_call_name: &'a str, arguments: &'a str, by: By<'a>) -> [Self; 3] {
        [
            Frame::ToolCallStart { tool_call_id, tool_call_name, subagent_run_id: by },
            Frame::ToolCallArgs { tool_call_id, delta: arguments, subagent_run_id: by },
            Frame::ToolCallEnd { tool_call_id, subagent_run_id: by },
        ]
    }

    /// The result of a call; `message_id` is the call's with `:result` behind it.
    pub(super) fn result(message_id: &'a str, tool_call_id: &'a str, outcome: &'a Outcome, by: By<'a>) -> Self {
        Frame::ToolCallResult {
            message_id,
            tool_call_id,
            content: &outcome.content,
            role: "tool",
            metadata: outcome.is_error.then(|| serde_json::json!({ "isError": true })),
            subagent_run_id: by,
        }
    }
}
