//! The shapes of what Codex says, with what is used of them. Everything else is left alone, and almost everything may be missing.
//! Items are read in both ways they are written: `commandExecution` by the app-server, `command_execution` by `codex exec`.

use serde::Deserialize;
use serde_json::{Map, Value};

/// Declares shapes of parameters and results: camel case, all of it optional unless it has no default.
macro_rules! shapes {
    ($($(#[$attribute:meta])* $name:ident { $($(#[$field_attribute:meta])* $field:ident: $type:ty),* $(,)? })*) => {$(
        $(#[$attribute])*
        #[derive(Debug, Clone, Default, Deserialize)]
        #[serde(rename_all = "camelCase", default)]
        pub(super) struct $name { $($(#[$field_attribute])* pub(super) $field: $type),* }
    )*};
}

shapes! {
    Initialized { user_agent: String }
    ConfigRead { config: Map<String, Value> }
    /// Of every notification: whom it is about.
    TargetIds { thread_id: Option<String>, turn_id: Option<String> }
    ThreadOpened { thread: Thread, model: Option<String>, cwd: Option<String>, sandbox: Value }
    Thread {
        id: String,
        /// The file in which it is kept.
        path: Option<String>,
        parent_thread_id: Option<String>,
        forked_from_id: Option<String>,
        agent_nickname: Option<String>,
        name: Option<String>,
        preview: Option<String>,
        cwd: Option<String>,
        model: Option<String>,
        created_at: Option<i64>,
        updated_at: Option<i64>,
        turns: Vec<Turn>,
        status: ThreadStatus,
    }
    ThreadResponse { thread: Thread }
    Turn { id: String, status: String, error: Option<TurnError>, items: Vec<Value>, started_at: Option<i64>, completed_at: Option<i64> }
    TurnResponse { turn: Turn }
    TurnNotification { thread_id: String, turn: Turn }
    Page { data: Vec<Value>, next_cursor: Option<String> }
    Terminals { data: Vec<Terminal>, next_cursor: Option<String> }
    Terminal { item_id: String, process_id: String }
    ItemNotification { thread_id: String, turn_id: String, item: Value }
    /// Something as the model said or read it.
    RawItemNotification { thread_id: String, turn_id: String, item: Value }
    /// What whoever carries the lines has found in the file of a thread.
    RolloutRead { end: u64, items: Vec<Value> }
    /// A piece of text of an item.
    Piece { thread_id: String, item_id: String, delta: String, summary_index: u64, content_index: u64 }
    Interaction { thread_id: String, item_id: String, stdin: String }
    ProgressNotification { thread_id: String, item_id: String, message: String }
    DiffNotification { thread_id: String, diff: String }
    PlanNotification { thread_id: String, explanation: Option<String>, plan: Vec<PlanStep> }
    PlanStep { step: String, status: String }
    UsageNotification { thread_id: String, turn_id: String, token_usage: TokenUsage }
    TokenUsage { total: Tokens, last: Tokens, model_context_window: Option<u64> }
    ErrorNotification { thread_id: String, turn_id: String, error: TurnError, will_retry: bool }
    TurnError { message: String, codex_error_info: Value, additional_details: Option<String> }
    StatusNotification { thread_id: String, status: ThreadStatus }
    ThreadStatus { #[serde(rename = "type")] kind: String }
    NameNotification { thread_id: String, thread_name: Option<String> }
    SettingsNotification { thread_id: String, thread_settings: ThreadSettings }
    ThreadSettings { model: Option<String> }
    Rerouted { thread_id: String, to_model: String }
    UnreadableNotification { error: String, raw: String, size: u64, sha256: Option<String> }
    WarningNotification { thread_id: Option<String>, message: String }
    ServerNotification { thread_id: Option<String>, name: String, status: String, error: Option<String>, failure_reason: Option<String> }
    ReviewNotification { thread_id: String, review_id: String, target_item_id: Option<String>, review: Review, action: ReviewAction }
    Review { status: String, risk_level: Option<String>, rationale: Option<String> }
    ReviewAction { #[serde(rename = "type")] kind: String, command: Option<String> }
    Resolved { thread_id: String, request_id: Value }
    Hooks { data: Vec<HookList> }
    HookList { hooks: Vec<ListedHook> }
    ListedHook { command: Option<String>, event_name: String, enabled: bool, trust_status: String }
    HookNotification { thread_id: String, run: HookRun }
    HookRun { event_name: String, source: String, status: String, entries: Vec<HookEntry> }
    HookEntry { text: String }
    /// Of this host's own making: the hook of a call does not wait any more.
    ProposalGone { proposal: Value }
    Models { data: Vec<Model> }
    Model { id: String, display_name: Option<String>, description: Option<String>, hidden: bool }

    // ---- what the server asks ----

    CommandAsk {
        kind: String,
        thread_id: String,
        item_id: Option<String>,
        command: Option<String>,
        cwd: Option<String>,
        reason: Option<String>,
        network_approval_context: Option<Value>,
    }
    ChangeAsk { thread_id: String, item_id: Option<String>, reason: Option<String>, grant_root: Option<String> }
    GrantAsk { thread_id: String, item_id: Option<String>, reason: Option<String>, cwd: Option<String>, permissions: Map<String, Value> }
    InputAsk { thread_id: String, item_id: Option<String>, questions: Vec<AskedQuestion> }
    AskedQuestion { id: String, header: Option<String>, question: String, is_other: bool, options: Option<Vec<AskedOption>> }
    AskedOption { label: String, description: Option<String> }
    ToolAsk { thread_id: String, call_id: Option<String>, tool: String, arguments: Value }
    Elicitation {
        thread_id: String,
        server_name: String,
        mode: String,
        message: String,
        requested_schema: Value,
        url: Option<String>,
        #[serde(rename = "_meta")] meta: Value,
    }
}

impl TargetIds {
    /// Whom parameters are about. Whatever they are, they may be about nobody.
    pub(super) fn of(params: &str) -> Self {
        serde_json::from_str(params).unwrap_or_default()
    }
}

/// What a request or a thread has used so far. `codex exec` writes the same in its own way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct Tokens {
    #[serde(rename = "totalTokens")]
    pub(super) total: u64,
    #[serde(rename = "inputTokens", alias = "input_tokens")]
    pub(super) input: u64,
    #[serde(rename = "cachedInputTokens", alias = "cached_input_tokens")]
    pub(super) cached: u64,
    #[serde(rename = "outputTokens", alias = "output_tokens")]
    pub(super) output: u64,
    #[serde(rename = "reasoningOutputTokens", alias = "reasoning_output_tokens")]
    pub(super) reasoning: u64,
}

/// One thing that happens in a turn.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(super) enum Item {
    #[serde(alias = "user_message")]
    UserMessage {
        #[serde(default, alias = "client_id")]
        client_id: Option<String>,
        #[serde(default)]
        content: Vec<Value>,
    },
    #[serde(alias = "agent_message")]
    AgentMessage {
        id: String,
        #[serde(default)]
        text: String,
        #[serde(default)]
        phase: Option<String>,
    },
    Reasoning {
        id: String,
        #[serde(default)]
        summary: Vec<String>,
        #[serde(default)]
        content: Vec<String>,
        /// Only of `codex exec`.
        #[serde(default)]
        text: Option<String>,
    },
    Plan {
        id: String,
        #[serde(default)]
        text: String,
    },
    #[serde(alias = "command_execution")]
    CommandExecution(Command),
    #[serde(alias = "file_change")]
    FileChange {
        id: String,
        #[serde(default)]
        changes: Vec<Change>,
        #[serde(default)]
        status: String,
    },
    #[serde(alias = "mcp_tool_call")]
    McpToolCall {
        id: String,
        #[serde(default)]
        server: String,
        #[serde(default)]
        tool: String,
        #[serde(default)]
        arguments: Value,
        #[serde(default)]
        status: String,
        #[serde(default)]
        result: Option<Value>,
        #[serde(default)]
        error: Option<Value>,
    },
    #[serde(alias = "dynamic_tool_call")]
    DynamicToolCall {
        id: String,
        #[serde(default)]
        namespace: Option<String>,
        #[serde(default)]
        tool: String,
        #[serde(default)]
        arguments: Value,
        #[serde(default)]
        status: String,
        #[serde(default)]
        content_items: Option<Vec<Value>>,
        #[serde(default)]
        success: Option<bool>,
    },
    #[serde(alias = "collab_agent_tool_call", alias = "collabToolCall", alias = "collab_tool_call")]
    CollabAgentToolCall(Collaboration),
    #[serde(alias = "sub_agent_activity")]
    SubAgentActivity {
        #[serde(default)]
        kind: String,
        #[serde(default)]
        agent_thread_id: String,
        #[serde(default)]
        agent_path: String,
    },
    #[serde(alias = "web_search")]
    WebSearch {
        id: String,
        #[serde(default)]
        query: String,
        #[serde(default)]
        action: Option<Value>,
        #[serde(default)]
        results: Option<Vec<Value>>,
    },
    #[serde(alias = "image_view")]
    ImageView {
        id: String,
        #[serde(default)]
        path: String,
    },
    Sleep {
        id: String,
        #[serde(default)]
        duration_ms: u64,
    },
    #[serde(alias = "image_generation")]
    ImageGeneration {
        id: String,
        #[serde(default)]
        status: String,
        #[serde(default)]
        revised_prompt: Option<String>,
        #[serde(default)]
        saved_path: Option<String>,
        #[serde(default)]
        failure: Option<Value>,
    },
    #[serde(alias = "function_call_output")]
    FunctionCallOutput {
        id: String,
        #[serde(default)]
        name: String,
        #[serde(default)]
        namespace: Option<String>,
        #[serde(default)]
        output: Value,
    },
    #[serde(alias = "context_compaction")]
    ContextCompaction {},
    #[serde(alias = "entered_review_mode")]
    EnteredReviewMode {
        #[serde(default)]
        review: String,
    },
    #[serde(alias = "exited_review_mode")]
    ExitedReviewMode {
        #[serde(default)]
        review: String,
    },
    #[serde(alias = "hook_prompt")]
    HookPrompt {},
    /// Only of `codex exec`: the plan.
    #[serde(alias = "todo_list")]
    TodoList {
        #[serde(default)]
        items: Vec<Todo>,
    },
    /// Only of `codex exec`.
    Error {
        #[serde(default)]
        message: String,
    },
}

#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct Todo {
    #[serde(default)]
    pub(super) text: String,
    #[serde(default)]
    pub(super) completed: bool,
}

/// A command, before it runs, while it does, and after.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Command {
    pub(super) id: String,
    #[serde(default)]
    #[serde(rename = "command")]
    pub(super) line: String,
    #[serde(default)]
    pub(super) cwd: Option<String>,
    /// Who runs it: the agent, or somebody at a shell of Codex's own.
    #[serde(default)]
    pub(super) source: String,
    #[serde(default)]
    pub(super) status: String,
    #[serde(default, alias = "aggregated_output")]
    pub(super) aggregated_output: Option<String>,
    #[serde(default, alias = "exit_code")]
    pub(super) exit_code: Option<i32>,
}

/// What one agent does with another.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Collaboration {
    pub(super) id: String,
    #[serde(default)]
    pub(super) tool: String,
    #[serde(default)]
    pub(super) status: String,
    #[serde(default)]
    pub(super) receiver_thread_ids: Vec<String>,
    #[serde(default)]
    pub(super) prompt: Option<String>,
    #[serde(default)]
    pub(super) agents_states: Map<String, Value>,
}

/// What happens to a file.
#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct Change {
    #[serde(default)]
    pub(super) path: String,
    #[serde(default)]
    pub(super) kind: ChangeKind,
    #[serde(default)]
    pub(super) diff: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(super) enum ChangeKind {
    Named(String),
    Typed {
        #[serde(rename = "type")]
        kind: String,
        #[serde(default)]
        move_path: Option<String>,
    },
}

impl Default for ChangeKind {
    fn default() -> Self {
        ChangeKind::Named(String::new())
    }
}

impl ChangeKind {
    pub(super) fn name(&self) -> &str {
        match self {
            ChangeKind::Named(name) => name,
            ChangeKind::Typed { kind, .. } => kind,
        }
    }
}

/// Whether an item is over, in the words of either writer.
pub(super) fn in_progress(status: &str) -> bool {
    matches!(status, "inProgress" | "in_progress")
}
