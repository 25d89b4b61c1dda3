//! Tool calls and their results. A call is told once its input is whole; a result is told with its structure: diffs, exit codes, whether it ran.

use std::collections::{BTreeSet, HashMap};

use serde_json::Value;

use super::host_tools;
use super::output::{diff_of, exit_code, images_of, output_of, output_so_far, saved_output_file};
use super::schedule::Schedule;
use super::tasks::Tasks;
use super::wire::{Message, ToolResultMeta};
use crate::event::{PlanStep, PlanUpdated, StepStatus, ToolProgress, ToolResult, ToolStart};
use crate::id::{SubagentId, ToolUseId};
use crate::policy;
use crate::runtime::{Output, OutputFile, Report, progress_line};

#[derive(Debug, Default)]
pub(super) struct Tools {
    calls: HashMap<String, Call>,
    /// Calls that a rule or a mode denied, as an older program says it.
    denied: BTreeSet<String>,
    /// The to-do list, where the agent keeps it with tools of its own.
    todo: Vec<(String, PlanStep)>,
}

#[derive(Debug)]
struct Call {
    tool: String,
    input: Value,
    owner: Option<SubagentId>,
}

/// A result as it stands in a line.
#[derive(Debug)]
pub(super) struct ResultLine {
    pub(super) id: String,
    pub(super) content: Value,
    pub(super) is_error: Option<bool>,
}

/// What is known of a call besides what its result says.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallContext<'a> {
    /// It was never allowed.
    pub(super) refused: bool,
    /// The turn is being interrupted.
    pub(super) interrupting: bool,
    /// The conversation whose files are its own.
    pub(super) conversation: &'a str,
}

/// What may outlive the turn of a call: tasks in the background and scheduled wake-ups.
#[derive(Debug, Default)]
pub(super) struct BackgroundState {
    pub(super) tasks: Tasks,
    pub(super) schedule: Schedule,
}

/// The tools that start a sub-agent.
pub(super) fn starts_subagent(tool: &str) -> bool {
    matches!(tool, "Agent" | "Task")
}

impl Tools {
    pub(super) fn called(&mut self, id: &str, tool: &str, input: Value, owner: Option<SubagentId>, out: &mut Output) {
        let text = |name: &str| input.get(name).and_then(Value::as_str).map(str::to_owned);
        let command = text("command");
        let reading = command.as_deref().filter(|_| tool == "Bash").and_then(policy::reading);
        let of_client = host_tools::client_tool(tool);
        let mut start = ToolStart {
            tool_use_id: ToolUseId::trusted(id),
            tool: of_client.unwrap_or(tool).to_owned(),
            client_tool: of_client.map(|_| true),
            file_path: text("file_path").or_else(|| text("notebook_path")),
            pattern: text("pattern"),
            search_path: text("path").filter(|_| matches!(tool, "Glob" | "Grep" | "LS")),
            is_file_read: matches!(tool, "Read" | "Glob" | "Grep" | "LS").then_some(true),
            subagent_spawn: starts_subagent(tool).then_some(true),
            subagent_name: text("subagent_type").filter(|_| starts_subagent(tool)),
            command,
            input: Some(input.clone()),
            ..ToolStart::default()
        };
        if let Some(reading) = reading {
            reading.annotate(&mut start);
        }
        out.report(Report::Fact { subagent_id: owner.clone(), event: start.into() });
        self.calls.insert(id.to_owned(), Call { tool: tool.to_owned(), input, owner });
    }

    /// The sub-agent that made this call; `None` if it is not known.
    pub(super) fn owner(&self, id: &str) -> Option<SubagentId> {
        self.calls.get(id).and_then(|call| call.owner.clone())
    }

    /// The sub-agent that waits for a tool of this server; `None` if several do.
    pub(super) fn owner_at_server(&self, server: &str) -> Option<SubagentId> {
        let prefix = format!("mcp__{server}__");
        let mut waiting = self.calls.values().filter(|call| call.tool.starts_with(&prefix));
        waiting.next().filter(|_| waiting.next().is_none()).and_then(|call| call.owner.clone())
    }

    pub(super) fn denied(&mut self, id: &str) {
        self.denied.insert(id.to_owned());
    }

    pub(super) fn progress(&self, id: &str, seconds: Option<f64>, out: &mut Output) {
        if self.calls.contains_key(id) {
            let text = seconds.map(|seconds| progress_line(&format!("running for {seconds:.0} s")));
            let progress =
                ToolProgress { tool_use_id: ToolUseId::trusted(id), text, fraction: None, ..ToolProgress::default() };
            out.report(Report::Fact { subagent_id: self.owner(id), event: progress.into() });
        }
    }

    pub(super) fn returned(
        &mut self,
        returned: &ResultLine,
        line: &Message,
        context: CallContext<'_>,
        subagent_id: Option<SubagentId>,
        background: &mut BackgroundState,
        out: &mut Output,
    ) {
        let ResultLine { id, content, is_error } = returned;
        let call = self.calls.remove(id);
        let tool = call.as_ref().map_or("", |call| call.tool.as_str());
        let is_error = is_error.unwrap_or(false);
        let structure = line.tool_use_result.as_ref().filter(|value| value.is_object());
        if let (Some(call), Some(task)) = (&call, structure.and_then(|s| s.get("backgroundTaskId")?.as_str())) {
            let text = |name: &str| call.input.get(name).and_then(Value::as_str);
            background.tasks.left_in_background(task, id, text("description").or(text("command")).unwrap_or(tool), out);
        }
        let output = if background.tasks.is_in_background(id) && !is_error && !starts_subagent(tool) {
            output_so_far(structure)
        } else {
            output_of(tool, content, structure)
        };
        let path = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
        let file_path = structure
            .and_then(|structure| path(structure, "filePath"))
            .or_else(|| call.as_ref().and_then(|call| path(&call.input, "file_path")));
        let command = call.as_ref().filter(|call| call.tool == "Bash").and_then(|call| call.input.get("command"));
        let read = command.and_then(Value::as_str).and_then(policy::reading).and_then(policy::ReadAction::file);
        let reads = tool == "Read" || read.is_some();
        let file_path = file_path.or(read);
        // A call that ran when the turn was interrupted comes back as one that a person rejected.
        let denied = context.refused
            || self.denied.remove(id)
            || (!context.interrupting && did_not_run(id, &line.tool_result_meta));
        let cut_off = structure.and_then(|s| s.get("interrupted")).and_then(Value::as_bool) == Some(true);
        let result = ToolResult {
            tool_use_id: ToolUseId::trusted(id),
            is_error,
            exit_code: (tool == "Bash").then(|| exit_code(&output, is_error, structure)).flatten(),
            is_file_read: (reads && !is_error).then_some(true),
            denied: denied.then_some(true),
            interrupted: (cut_off || (context.interrupting && is_error && !denied)).then_some(true),
            diff: structure.and_then(|structure| diff_of(structure, file_path.as_deref())),
            file_path,
            output,
            images: Some(images_of(content)).filter(|images| !images.is_empty()),
            ..ToolResult::default()
        };
        let failed = result.is_error || denied;
        out.report(match saved_output_file(content, structure, context.conversation) {
            Some(path) => {
                let file = Box::new(OutputFile::Whole { path, mark: None });
                Report::FactWithOutputFile { file, subagent_id, event: result.into() }
            }
            None => Report::Fact { subagent_id, event: result.into() },
        });
        // What was not done changes neither the plan nor what is set for later.
        let Some(call) = call.filter(|_| !failed) else { return };
        if let Some(steps) = todo_list(&call.tool, &call.input) {
            out.report(PlanUpdated { steps, explanation: None });
        }
        if let Some(structure) = structure {
            background.schedule.changed(&call.tool, &call.input, structure, out);
            if self.update_todo_list(&call, structure) {
                let steps = self.todo.iter().map(|(_, step)| step.clone()).collect();
                out.report(PlanUpdated { steps, explanation: None });
            }
        }
    }

    /// Whether the call changed the list that is kept with `TaskCreate` and its kin.
    fn update_todo_list(&mut self, call: &Call, result: &Value) -> bool {
        match call.tool.as_str() {
            "TaskCreate" => {
                let text = |name: &str| result.pointer(name).and_then(Value::as_str).map(str::to_owned);
                let (Some(id), Some(subject)) = (text("/task/id"), text("/task/subject")) else { return false };
                self.todo.push((id, PlanStep { text: subject, status: StepStatus::Pending }));
                true
            }
            "TaskUpdate" => {
                let text = |name: &str| call.input.get(name).and_then(Value::as_str);
                let refused = result.get("success").and_then(Value::as_bool) == Some(false);
                let Some(id) = text("taskId").filter(|_| !refused) else { return false };
                if text("status") == Some("deleted") {
                    let before = self.todo.len();
                    self.todo.retain(|(known, _)| known != id);
                    return self.todo.len() != before;
                }
                let Some((_, step)) = self.todo.iter_mut().find(|(known, _)| known == id) else { return false };
                step.status = text("status").map_or(step.status, step_status);
                if let Some(subject) = text("subject") {
                    subject.clone_into(&mut step.text);
                }
                true
            }
            _ => false,
        }
    }
}

fn todo_list(tool: &str, input: &Value) -> Option<Vec<PlanStep>> {
    let todos = (tool == "TodoWrite").then(|| input.get("todos"))??.as_array()?;
    let step = |todo: &Value| PlanStep {
        text: todo.get("content").and_then(Value::as_str).unwrap_or_default().to_owned(),
        status: step_status(todo.get("status").and_then(Value::as_str).unwrap_or_default()),
    };
    Some(todos.iter().map(step).collect())
}

fn step_status(status: &str) -> StepStatus {
    match status {
        "in_progress" => StepStatus::Running,
        "completed" => StepStatus::Done,
        _ => StepStatus::Pending,
    }
}

fn did_not_run(id: &str, meta: &[ToolResultMeta]) -> bool {
    meta.iter().any(|meta| meta.id == id && meta.non_execution_kind.is_some())
}
