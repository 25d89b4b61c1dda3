//! Items as events: what begins and what ends in a thread. Sub-agents and messages of people are not here; they concern more than one thread.

use serde_json::{Value, json};

use super::changes;
use super::pictures::{picture_in, pictures_of};
use super::wire::{Change, Collaboration, Item, in_progress};
use super::work::{Compacting, ThreadWork, ToolKind};
use crate::event::{
    CompactionEnd, CompactionReason, CompactionStart, CompactionTrigger, EvidenceChanged, PlanStep, PlanUpdated,
    StepStatus, Thinking, ToolProgress, ToolResult, ToolStart,
};
use crate::host_tools::is_host_tool;
use crate::runtime::{Output, PICTURE_PLACE, TextKind, progress_line};

/// What stands between the parts of a thought.
pub(super) const PARAGRAPH: &str = "\n\n";

/// The raw thoughts of an item stand in a block of their own, beside their summary.
pub(super) fn raw(item_id: &str) -> String {
    format!("{item_id}.raw")
}

impl ThreadWork {
    pub(super) fn started(&mut self, item: &Item, out: &mut Output) {
        match item {
            // Its text comes in pieces; whole, it comes at the end.
            Item::AgentMessage { .. } | Item::Plan { .. } => self.close_waiting_block(out),
            Item::Reasoning { id, .. } => {
                let known = self.is_open(id) || self.is_waiting();
                let block_id = self.block(id, TextKind::Thinking, out);
                if !known {
                    self.say(Thinking { block_id, done: Some(false), ..Thinking::default() }, out);
                }
            }
            Item::CommandExecution(command) => self.command_started(command, out),
            Item::FileChange { id, changes, .. } => self.change_started(id, changes, out),
            Item::McpToolCall { id, server, tool, arguments, .. } => {
                let (name, arguments) = (format!("mcp__{server}__{tool}"), arguments.clone());
                let kind = ToolKind::Mcp { server: server.clone(), tool: tool.clone(), arguments: arguments.clone() };
                self.call_started(id, &name, arguments, kind, out);
            }
            Item::DynamicToolCall { id, namespace, tool, arguments, .. } => {
                // What has no namespace is served by this host: by the session, or by a client.
                if namespace.is_none() && !is_host_tool(tool) {
                    self.client_call_started(id, tool, arguments, out);
                } else {
                    let name = qualified(namespace.as_deref(), tool);
                    self.call_started(id, &name, arguments.clone(), ToolKind::Other, out);
                }
            }
            Item::CollabAgentToolCall(call) => self.collaboration_started(call, out),
            Item::WebSearch { id, query, action, .. } => match search_input(query, action.as_ref()) {
                // What it looks for is often known only at the end.
                Value::Null => self.close_waiting_block(out),
                input => self.call_started(id, "WebSearch", input, ToolKind::Other, out),
            },
            Item::ImageView { id, path } => self.image_viewed(id, path, out),
            Item::Sleep { id, duration_ms } => {
                self.call_started(id, "Sleep", json!({ "duration_ms": duration_ms }), ToolKind::Other, out);
            }
            Item::ImageGeneration { id, revised_prompt, .. } => {
                self.call_started(id, "ImageGeneration", json!({ "prompt": revised_prompt }), ToolKind::Other, out);
            }
            Item::FunctionCallOutput { id, name, namespace, .. } => {
                self.call_started(id, &qualified(namespace.as_deref(), name), Value::Null, ToolKind::Other, out);
            }
            Item::ContextCompaction {} => self.compaction_started(out),
            Item::TodoList { items } => {
                let step = |done| if done { StepStatus::Done } else { StepStatus::Pending };
                let steps = items.iter().map(|todo| PlanStep { text: todo.text.clone(), status: step(todo.completed) });
                let plan = PlanUpdated { steps: steps.collect(), explanation: None };
                if self.plan.as_ref() != Some(&plan) {
                    self.plan = Some(plan.clone());
                    self.say(plan, out);
                }
            }
            Item::EnteredReviewMode { review } => {
                let subject = review.clone();
                self.review_changed("running", subject, out);
            }
            Item::UserMessage { .. }
            | Item::SubAgentActivity { .. }
            | Item::ExitedReviewMode { .. }
            | Item::HookPrompt {}
            | Item::Error { .. } => {}
        }
    }

    pub(super) fn completed(&mut self, item: &Item, turn_id: &str, out: &mut Output) {
        match item {
            Item::AgentMessage { id, text, phase } => {
                self.whole(id, TextKind::Text, text, out);
                let is_final = phase.as_deref() == Some("final_answer");
                if is_final || !self.answer.as_ref().is_some_and(|(known, _)| *known) {
                    self.answer = Some((is_final, text.clone()));
                }
            }
            Item::Plan { id, text } => self.whole(id, TextKind::Text, text, out),
            Item::Reasoning { id, summary, content, text } => {
                let whole = text.clone().unwrap_or_else(|| summary.join(PARAGRAPH));
                let thoughts = content.join(PARAGRAPH);
                if self.is_open(&raw(id)) || !thoughts.is_empty() {
                    self.whole(&raw(id), TextKind::Thinking, &thoughts, out);
                }
                self.whole(id, TextKind::Thinking, &whole, out);
            }
            Item::CommandExecution(command) => self.command_completed(command, turn_id, out),
            Item::FileChange { id, changes, status } => self.change_completed(id, changes, status, out),
            Item::McpToolCall { id, status, result, error, .. } => {
                self.started(item, out);
                let output = match (result, error) {
                    (_, Some(error)) if !error.is_null() => {
                        error.get("message").and_then(Value::as_str).map_or_else(|| error.to_string(), str::to_owned)
                    }
                    (Some(result), _) => content_of(result.get("content").unwrap_or(result)),
                    (None, _) => String::new(),
                };
                let denied = output.contains("user rejected MCP tool call").then_some(true);
                let images = result.as_ref().and_then(|result| pictures_of(result.get("content")?));
                let is_error = status == "failed";
                self.call_ended(id, ToolResult { output, is_error, denied, images, ..ToolResult::default() }, out);
            }
            Item::DynamicToolCall { id, status, content_items, success, .. } => {
                self.started(item, out);
                let content = Value::from(content_items.clone().unwrap_or_default());
                let (output, images) = (content_of(&content), pictures_of(&content));
                let is_error = status == "failed" || *success == Some(false);
                self.call_ended(id, ToolResult { output, is_error, images, ..ToolResult::default() }, out);
            }
            Item::CollabAgentToolCall(call) => self.collaboration_completed(call, out),
            Item::WebSearch { id, query, action, results } => {
                self.call_started(id, "WebSearch", search_input(query, action.as_ref()), ToolKind::Other, out);
                self.call_completed(id, found(results.as_deref().unwrap_or_default()), false, false, out);
            }
            Item::ImageView { id, path } => {
                self.started(item, out);
                self.picture_brought(id, path, out);
            }
            Item::Sleep { id, duration_ms } => {
                self.started(item, out);
                self.call_completed(id, format!("{duration_ms} ms"), false, false, out);
            }
            Item::ImageGeneration { id, saved_path, failure, status, .. } => {
                self.started(item, out);
                let failed = failure.as_ref().is_some_and(|failure| !failure.is_null()) || status == "failed";
                match saved_path {
                    Some(path) if !failed => self.picture_brought(id, path, out),
                    path => self.call_completed(id, path.clone().unwrap_or_default(), failed, false, out),
                }
            }
            Item::FunctionCallOutput { id, output, .. } => {
                self.started(item, out);
                self.call_completed(id, content_of(output), false, false, out);
            }
            Item::ContextCompaction {} => self.compaction_completed(out),
            Item::ExitedReviewMode { review } => {
                // A message that says the same follows.
                self.answer = Some((true, review.clone()));
                let subject = self.review.take().unwrap_or_else(|| "changes".to_owned());
                self.review_changed("done", subject, out);
            }
            Item::TodoList { .. } => self.started(item, out),
            Item::UserMessage { .. }
            | Item::SubAgentActivity { .. }
            | Item::EnteredReviewMode { .. }
            | Item::HookPrompt {}
            | Item::Error { .. } => {}
        }
    }

    fn review_changed(&mut self, status: &str, subject: String, out: &mut Output) {
        let evidence = EvidenceChanged {
            evidence_id: format!("review.{}", self.turn.as_deref().unwrap_or_default()),
            kind: "review".to_owned(),
            title: format!("Review of {subject}"),
            status: status.to_owned(),
            detail: None,
            ..EvidenceChanged::default()
        };
        self.review = Some(subject);
        self.say(evidence, out);
    }

    /// A word about a tool that runs.
    pub(super) fn progressed(&mut self, item_id: &str, text: &str, out: &mut Output) {
        if let Some(tool_use_id) = self.tool_id(item_id) {
            self.say(
                ToolProgress {
                    tool_use_id,
                    text: Some(progress_line(text)),
                    fraction: None,
                    ..ToolProgress::default()
                },
                out,
            );
        }
    }

    pub(super) fn call_started(&mut self, item_id: &str, tool: &str, input: Value, kind: ToolKind, out: &mut Output) {
        if !self.tools.contains_key(item_id) {
            self.close_waiting_block(out);
            let tool_use_id = self.open_tool(item_id, kind);
            let input = Some(input).filter(|input| !input.is_null());
            self.say(ToolStart { tool_use_id, tool: tool.to_owned(), input, ..ToolStart::default() }, out);
        }
    }

    fn client_call_started(&mut self, item_id: &str, tool: &str, input: &Value, out: &mut Output) {
        if !self.tools.contains_key(item_id) {
            self.close_waiting_block(out);
            let start = ToolStart {
                tool_use_id: self.open_tool(item_id, ToolKind::Other),
                tool: tool.to_owned(),
                input: Some(input.clone()).filter(|input| !input.is_null()),
                client_tool: Some(true),
                ..ToolStart::default()
            };
            self.say(start, out);
        }
    }

    pub(super) fn call_completed(
        &mut self,
        item_id: &str,
        output: String,
        is_error: bool,
        denied: bool,
        out: &mut Output,
    ) {
        let denied = denied.then_some(true);
        self.call_ended(item_id, ToolResult { output, is_error, denied, ..ToolResult::default() }, out);
    }

    /// A call that is open has this result.
    pub(super) fn call_ended(&mut self, item_id: &str, result: ToolResult, out: &mut Output) {
        if let Some(tool) = self.tools.remove(item_id) {
            self.say(ToolResult { tool_use_id: tool.id, ..result }, out);
        }
    }

    fn image_viewed(&mut self, item_id: &str, path: &str, out: &mut Output) {
        if !self.tools.contains_key(item_id) {
            self.close_waiting_block(out);
            let start = ToolStart {
                tool_use_id: self.open_tool(item_id, ToolKind::Other),
                tool: "ViewImage".to_owned(),
                file_path: Some(path.to_owned()),
                is_file_read: Some(true),
                ..ToolStart::default()
            };
            self.say(start, out);
        }
    }

    /// A change begins, when it is asked about or made.
    fn change_started(&mut self, item_id: &str, changes: &[Change], out: &mut Output) {
        if self.tools.contains_key(item_id) {
            return;
        }
        self.close_waiting_block(out);
        let start = ToolStart {
            tool_use_id: self.open_tool(item_id, ToolKind::Change { changes: changes.to_vec() }),
            tool: "Edit".to_owned(),
            input: Some(json!({ "changes": changes::described(changes) })),
            file_path: changes.first().map(|change| change.path.clone()),
            ..ToolStart::default()
        };
        self.say(start, out);
    }

    fn change_completed(&mut self, item_id: &str, changes: &[Change], status: &str, out: &mut Output) {
        self.change_started(item_id, changes, out);
        let Some(tool) = self.tools.remove(item_id) else { return };
        let done = !matches!(status, "failed" | "declined");
        let result = ToolResult {
            tool_use_id: tool.id,
            output: if done { changes::listed(changes) } else { format!("not changed: {status}") },
            is_error: !done,
            denied: (status == "declined").then_some(true),
            file_path: changes.first().map(|change| change.path.clone()),
            diff: changes::diff_of(changes).filter(|_| done),
            ..ToolResult::default()
        };
        self.say(result, out);
    }

    fn collaboration_started(&mut self, call: &Collaboration, out: &mut Output) {
        if !self.tools.contains_key(&call.id) {
            self.close_waiting_block(out);
            let start = ToolStart {
                tool_use_id: self.open_tool(&call.id, ToolKind::Other),
                tool: call.tool.clone(),
                input: Some(match &call.prompt {
                    Some(prompt) => json!({ "prompt": prompt, "agents": call.receiver_thread_ids }),
                    None => json!({ "agents": call.receiver_thread_ids }),
                }),
                subagent_spawn: (call.tool == "spawnAgent").then_some(true),
                ..ToolStart::default()
            };
            self.say(start, out);
        }
    }

    fn collaboration_completed(&mut self, call: &Collaboration, out: &mut Output) {
        self.collaboration_started(call, out);
        if in_progress(&call.status) {
            return;
        }
        let said = |state: &Value| {
            let text = |name: &str| state.get(name).and_then(Value::as_str);
            text("message").or(text("status")).map(str::to_owned)
        };
        let output = call.agents_states.values().filter_map(said).collect::<Vec<_>>().join("\n");
        self.call_completed(&call.id, output, call.status == "failed", false, out);
    }

    fn compaction_started(&mut self, out: &mut Output) {
        // The log knows one compaction at a time, and that is the conversation's own.
        if self.owner.is_none() && self.compacting.is_none() {
            self.close_waiting_block(out);
            self.compacting = Some(Compacting { tokens_before: self.usage_meter.context() });
            let trigger = if self.compaction_wanted { CompactionTrigger::Manual } else { CompactionTrigger::Auto };
            self.say(CompactionStart { trigger }, out);
        }
    }

    fn compaction_completed(&mut self, out: &mut Output) {
        self.compaction_started(out);
        if let Some(Compacting { tokens_before }) = self.compacting.take() {
            let tokens_after = self.usage_meter.context();
            let reason = if self.compaction_wanted { CompactionReason::Manual } else { CompactionReason::Tokens };
            self.say(CompactionEnd { tokens_before, tokens_after, reason, ..CompactionEnd::default() }, out);
        }
    }
}

fn qualified(namespace: Option<&str>, tool: &str) -> String {
    namespace.map_or_else(|| tool.to_owned(), |namespace| format!("{namespace}.{tool}"))
}

/// What a search has found, where Codex says it: a line for each.
fn found(results: &[Value]) -> String {
    let line = |result: &Value| {
        let text = |name: &str| result.get(name).and_then(Value::as_str);
        let named = [text("title"), text("url")].into_iter().flatten().collect::<Vec<_>>().join(" ");
        if named.is_empty() { result.to_string() } else { named }
    };
    results.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// What a search looks for.
fn search_input(query: &str, action: Option<&Value>) -> Value {
    let of_action = |name: &str| action.and_then(|action| action.get(name)).and_then(Value::as_str);
    let many = action.and_then(|action| action.get("queries")).and_then(Value::as_array);
    let many: Vec<&str> = many.into_iter().flatten().filter_map(Value::as_str).collect();
    let many = many.join(", ");
    let query = [Some(query), of_action("query"), Some(&many), of_action("url"), of_action("pattern")];
    match query.into_iter().flatten().find(|text| !text.is_empty()) {
        Some(query) => json!({ "query": query }),
        None => Value::Null,
    }
}

/// The text in a list of contents.
pub(super) fn content_of(content: &Value) -> String {
    let one = |part: &Value| match part.get("text").and_then(Value::as_str) {
        Some(text) => text.to_owned(),
        None => match part.get("type").and_then(Value::as_str) {
            Some(_) if picture_in(part).is_some() => PICTURE_PLACE.to_owned(),
            Some(kind) => format!("[{kind}]"),
            None => part.to_string(),
        },
    };
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(one).collect::<Vec<_>>().join("\n"),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}
