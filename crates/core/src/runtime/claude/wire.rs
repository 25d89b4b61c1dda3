//! The shapes of what is read. Everything is optional that may be: an older or a newer program leaves out or adds fields, and neither must stop
//! the reading. What is not named here is not looked at.

use serde::Deserialize;
use serde_json::{Map, Value};

/// One line of the program.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum OutputLine {
    System(Box<System>),
    StreamEvent {
        event: StreamEvent,
        parent_tool_use_id: Option<String>,
        abandoned_blocks: Option<Abandoned>,
    },
    Assistant(Box<Message>),
    User(Box<Message>),
    Result(Box<TurnResult>),
    ControlRequest {
        request_id: String,
        request: Value,
    },
    ControlResponse {
        response: ControlResponse,
    },
    ControlCancelRequest {
        request_id: String,
    },
    CommandLifecycle {
        command_uuid: String,
        state: String,
        /// What begins is something that the agent has set itself.
        wakeup_source: Option<String>,
        scheduled_for: Option<u64>,
    },
    ToolProgress {
        tool_use_id: String,
        parent_tool_use_id: Option<String>,
        elapsed_time_seconds: Option<f64>,
    },
    RateLimitEvent {
        #[serde(default)]
        rate_limit_info: RateLimit,
    },
    ConversationReset {},
    KeepAlive {},
    #[serde(other)]
    Unknown,
}

#[derive(Debug, Deserialize)]
pub(super) struct System {
    pub(super) subtype: String,
    #[serde(flatten)]
    pub(super) rest: Map<String, Value>,
}

impl System {
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.rest.get(name).and_then(Value::as_str)
    }

    pub(super) fn number(&self, name: &str) -> Option<u64> {
        self.rest.get(name).and_then(Value::as_u64)
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Abandoned {
    pub(super) api_message_id: String,
    pub(super) from_block_index: u64,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum StreamEvent {
    MessageStart {
        message: StreamMessage,
    },
    ContentBlockStart {
        index: u64,
        content_block: Value,
    },
    ContentBlockDelta {
        index: u64,
        delta: BlockDelta,
    },
    MessageDelta {
        usage: Option<ApiUsage>,
    },
    #[serde(other)]
    Other,
}

#[derive(Debug, Deserialize)]
pub(super) struct StreamMessage {
    pub(super) id: String,
    pub(super) usage: Option<ApiUsage>,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum BlockDelta {
    TextDelta {
        text: String,
    },
    ThinkingDelta {
        thinking: String,
    },
    #[serde(other)]
    Other,
}

/// An `assistant` or a `user` line.
#[derive(Debug, Deserialize)]
#[expect(clippy::struct_field_names, reason = "the names are the program's")]
pub(super) struct Message {
    pub(super) message: ApiMessage,
    pub(super) parent_tool_use_id: Option<String>,
    pub(super) agent_id: Option<String>,
    pub(super) uuid: Option<String>,
    /// When it was said, by the program's clock.
    pub(super) timestamp: Option<Value>,
    /// What went wrong, when this stands for an answer that did not come.
    pub(super) error: Option<String>,
    pub(super) api_error_status: Option<u16>,
    #[serde(default)]
    pub(super) aborted: bool,
    #[serde(default, rename = "isReplay")]
    pub(super) is_replay: bool,
    #[serde(default, rename = "isSynthetic")]
    pub(super) is_synthetic: bool,
    pub(super) tool_use_result: Option<Value>,
    #[serde(default)]
    pub(super) tool_result_meta: Vec<ToolResultMeta>,
}

impl Message {
    /// An entry of a stored conversation.
    pub(super) fn stored(message: ApiMessage, tool_use_result: Option<Value>) -> Self {
        Self {
            message,
            parent_tool_use_id: None,
            agent_id: None,
            uuid: None,
            timestamp: None,
            error: None,
            api_error_status: None,
            aborted: false,
            is_replay: false,
            is_synthetic: false,
            tool_use_result,
            tool_result_meta: Vec::new(),
        }
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct ToolResultMeta {
    pub(super) id: String,
    pub(super) non_execution_kind: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ApiMessage {
    pub(super) id: Option<String>,
    #[serde(default)]
    pub(super) content: Value,
    pub(super) usage: Option<ApiUsage>,
}

impl ApiMessage {
    pub(super) fn blocks(&self) -> Vec<Block> {
        match &self.content {
            Value::String(text) => vec![Block::Text { text: text.clone() }],
            Value::Array(blocks) => {
                blocks.iter().map(|block| Block::deserialize(block).unwrap_or(Block::Other)).collect()
            }
            _ => Vec::new(),
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Block {
    Text {
        text: String,
    },
    Thinking {
        thinking: String,
    },
    #[serde(alias = "server_tool_use")]
    ToolUse {
        id: String,
        name: String,
        #[serde(default)]
        input: Value,
    },
    ToolResult {
        tool_use_id: String,
        #[serde(default)]
        content: Value,
        #[serde(default)]
        is_error: Option<bool>,
    },
    #[serde(other)]
    Other,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
#[expect(clippy::struct_field_names, reason = "the names are the program's")]
pub(super) struct ApiUsage {
    pub(super) input_tokens: u64,
    pub(super) output_tokens: u64,
    pub(super) cache_creation_input_tokens: u64,
    pub(super) cache_read_input_tokens: u64,
}

impl ApiUsage {
    /// What the model had before it when it ended.
    pub(super) fn context(&self) -> u64 {
        self.input_tokens + self.cache_creation_input_tokens + self.cache_read_input_tokens + self.output_tokens
    }
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ModelUsage {
    pub(super) input_tokens: u64,
    pub(super) output_tokens: u64,
    pub(super) cache_read_input_tokens: u64,
    pub(super) cache_creation_input_tokens: u64,
    pub(super) thinking_tokens: u64,
    #[serde(rename = "costUSD")]
    pub(super) cost_usd: f64,
    pub(super) context_window: Option<u64>,
}

#[derive(Debug, Deserialize)]
pub(super) struct TurnResult {
    #[serde(default)]
    pub(super) is_error: bool,
    pub(super) terminal_reason: Option<String>,
    pub(super) result: Option<String>,
    #[serde(default)]
    pub(super) errors: Vec<Value>,
    pub(super) api_error_status: Option<u16>,
    /// The service's own word for what went wrong, also where there was no status because the answer had begun.
    pub(super) api_error_type: Option<String>,
    pub(super) stop_reason: Option<String>,
    /// Why it began, when nobody sent a message.
    pub(super) origin: Option<Value>,
    pub(super) structured_output: Option<Value>,
    pub(super) usage: Option<ApiUsage>,
    #[serde(default, rename = "modelUsage")]
    pub(super) model_usage: std::collections::BTreeMap<String, ModelUsage>,
    pub(super) model_usage_since_last_result: Option<std::collections::BTreeMap<String, ModelUsage>>,
    pub(super) total_cost_usd: Option<f64>,
}

impl TurnResult {
    /// The turn was cut off; whatever else the result says of success or failure is beside the point.
    pub(super) fn interrupted(&self) -> bool {
        self.terminal_reason.as_deref().is_some_and(|reason| reason.starts_with("aborted_"))
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct ControlResponse {
    pub(super) subtype: String,
    pub(super) request_id: String,
    #[serde(default)]
    pub(super) response: Value,
    pub(super) error: Option<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct RateLimit {
    pub(super) status: String,
    #[serde(rename = "resetsAt")]
    pub(super) resets_at: Option<i64>,
    #[serde(rename = "rateLimitType")]
    pub(super) kind: Option<String>,
    pub(super) utilization: Option<f64>,
}

/// A request of the program for leave to use a tool.
#[derive(Debug, Deserialize)]
pub(super) struct CanUseTool {
    pub(super) tool_name: String,
    #[serde(default)]
    pub(super) input: Value,
    pub(super) tool_use_id: Option<String>,
    pub(super) title: Option<String>,
    pub(super) description: Option<String>,
    pub(super) decision_reason: Option<String>,
    pub(super) agent_id: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Elicitation {
    pub(super) mcp_server_name: Option<String>,
    #[serde(default)]
    pub(super) message: String,
    #[serde(default)]
    pub(super) requested_schema: Value,
    #[serde(default)]
    pub(super) property_order: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Initialized {
    pub(super) claude_code_version: Option<String>,
    pub(super) current_permission_mode: Option<String>,
    pub(super) commands: Vec<CommandInfo>,
    pub(super) models: Vec<ModelInfo>,
}

#[derive(Debug, Deserialize)]
pub(super) struct CommandInfo {
    pub(super) name: String,
    pub(super) description: Option<String>,
    #[serde(rename = "argumentHint")]
    pub(super) argument_hint: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ModelInfo {
    pub(super) value: String,
    #[serde(rename = "displayName")]
    pub(super) display_name: Option<String>,
    pub(super) description: Option<String>,
}

pub(super) fn texts(value: Option<&Value>) -> Vec<String> {
    let texts = value.and_then(Value::as_array).into_iter().flatten();
    texts.filter_map(Value::as_str).map(str::to_owned).collect()
}
