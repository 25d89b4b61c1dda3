//! The shapes on the wire: one message whole, one tool, one compaction.

use serde::Serialize;
use serde_json::Value;
use serde_with::skip_serializing_none;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StreamPayload<'a> {
    pub(super) stream_id: &'a str,
    pub(super) agent_id: &'a str,
    pub(super) conversation_id: &'a str,
    pub(super) event: StreamEvent<'a>,
}

#[skip_serializing_none]
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub(super) enum StreamEvent<'a> {
    MessageStart {
        message: Message<'a>,
    },
    MessageUpdate {
        message: Message<'a>,
    },
    MessageEnd {
        message: Message<'a>,
        stop_reason: &'static str,
    },
    ToolExecutionStart {
        tool_call_id: &'a str,
        tool_name: &'a str,
        args: &'a Value,
    },
    ToolExecutionUpdate {
        tool_call_id: &'a str,
        tool_name: &'a str,
        args: &'a Value,
        partial_result: &'a Value,
    },
    ToolExecutionEnd {
        tool_call_id: &'a str,
        tool_name: &'a str,
        result: &'a str,
        is_error: bool,
    },
    CompactionStart {},
    CompactionEnd {
        removed: u64,
        kept: u64,
        tokens_removed: Option<u64>,
        tokens_kept: Option<u64>,
        reason: &'static str,
    },
    AgentError {
        message: &'a str,
    },
}

#[skip_serializing_none]
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Message<'a> {
    pub(super) role: &'static str,
    pub(super) content: &'a [Block],
    pub(super) stop_reason: Option<&'static str>,
}

impl<'a> Message<'a> {
    pub(super) fn assistant(content: &'a [Block]) -> Self {
        Self { role: "assistant", content, stop_reason: None }
    }
}

/// A piece of a message.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub(super) enum Block {
    Text {
        #[serde(skip)]
        block: String,
        text: String,
    },
    Thinking {
        #[serde(skip)]
        block: String,
        thinking: String,
    },
    ToolCall {
        id: String,
        name: String,
        arguments: Value,
    },
}

impl Block {
    pub(super) fn text(block: &str) -> Self {
        Self::Text { block: block.to_owned(), text: String::new() }
    }

    pub(super) fn thinking(block: &str) -> Self {
        Self::Thinking { block: block.to_owned(), thinking: String::new() }
    }

    pub(super) fn call(id: &str, name: &str, arguments: Value) -> Self {
        Self::ToolCall { id: id.to_owned(), name: name.to_owned(), arguments }
    }

    /// Whether it is the text of this name.
    pub(super) fn is_text(&self, wanted: &str) -> bool {
        matches!(self, Self::Text { block, .. } if block == wanted)
    }

    /// Whether it is the same stretch. An agent may give a thought and a text the same name.
    pub(super) fn same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Text { block, .. }, Self::Text { block: other, .. })
            | (Self::Thinking { block, .. }, Self::Thinking { block: other, .. }) => block == other,
            _ => false,
        }
    }

    pub(super) fn push(&mut self, more: &str) {
        match self {
            Self::Text { text, .. } => text.push_str(more),
            Self::Thinking { thinking, .. } => thinking.push_str(more),
            Self::ToolCall { .. } => {}
        }
    }
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Approval<'a> {
    #[serde(rename = "approvalId")]
    pub(super) id: &'a str,
    pub(super) agent_id: &'a str,
    pub(super) conversation_id: &'a str,
    pub(super) command: &'a str,
    pub(super) risk_level: &'static str,
    pub(super) risk_reasons: Vec<&'a str>,
    pub(super) expires_at_ms: i64,
}
