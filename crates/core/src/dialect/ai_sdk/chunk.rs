//! The chunks of a UI message stream, those that we send. Absent members are left out: a `null` is fatal in the clients.

use serde::Serialize;
use serde_json::Value;

/// Whether something is so; left out where it is not.
pub(super) type Flag = Option<bool>;

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub(super) enum Chunk<'a> {
    Start {
        message_id: &'a str,
    },
    StartStep,
    FinishStep,
    TextStart {
        id: &'a str,
    },
    TextDelta {
        id: &'a str,
        delta: &'a str,
    },
    TextEnd {
        id: &'a str,
    },
    ReasoningStart {
        id: &'a str,
    },
    ReasoningDelta {
        id: &'a str,
        delta: &'a str,
    },
    ReasoningEnd {
        id: &'a str,
    },
    ToolInputStart {
        tool_call_id: &'a str,
        tool_name: &'a str,
    },
    ToolInputDelta {
        tool_call_id: &'a str,
        input_text_delta: &'a str,
    },
    ToolInputAvailable {
        tool_call_id: &'a str,
        tool_name: &'a str,
        input: &'a Value,
        #[serde(skip_serializing_if = "Option::is_none")]
        dynamic: Flag,
        #[serde(skip_serializing_if = "Option::is_none")]
        provider_executed: Flag,
    },
    ToolOutputAvailable {
        tool_call_id: &'a str,
        output: &'a Value,
        #[serde(skip_serializing_if = "Option::is_none")]
        preliminary: Flag,
        #[serde(skip_serializing_if = "Option::is_none")]
        dynamic: Flag,
        #[serde(skip_serializing_if = "Option::is_none")]
        provider_executed: Flag,
    },
    ToolOutputError {
        tool_call_id: &'a str,
        error_text: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        dynamic: Flag,
        #[serde(skip_serializing_if = "Option::is_none")]
        provider_executed: Flag,
    },
    ToolApprovalRequest {
        approval_id: &'a str,
        tool_call_id: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<&'a str>,
    },
    ToolApprovalResponse {
        approval_id: &'a str,
        approved: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<&'a str>,
    },
    ToolOutputDenied {
        tool_call_id: &'a str,
    },
    SteeringMessage {
        id: &'a str,
        parts: Vec<Value>,
    },
    SourceUrl {
        source_id: &'a str,
        url: &'a str,
        title: &'a str,
    },
    File {
        url: &'a str,
        media_type: &'a str,
    },
    MessageMetadata {
        message_metadata: Value,
    },
    Finish {
        finish_reason: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        message_metadata: Option<Value>,
    },
    Abort {
        reason: &'a str,
    },
    Error {
        error_text: &'a str,
    },
}

/// A part that the application draws: its type is its name.
#[derive(Debug, Serialize)]
pub(super) struct DataPart<'a> {
    #[serde(rename = "type")]
    pub(super) kind: PartName<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<&'a str>,
    pub(super) data: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) transient: Flag,
}

#[derive(Debug)]
pub(super) struct PartName<'a>(pub(super) &'a str);

impl Serialize for PartName<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("data-{}", self.0))
    }
}
