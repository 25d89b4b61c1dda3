//! Sub-agents, and commands that outlive their turn. The program calls both tasks.

use std::collections::HashMap;

use serde_json::Value;

use super::tools::Tools;
use super::wire::{Message, System};
use crate::event::{BackgroundEnded, BackgroundKind, BackgroundStarted, SubagentEnded, SubagentStarted, WorkStatus};
use crate::id::{BackgroundId, SubagentId, ToolUseId};
use crate::runtime::{Output, Report};

#[derive(Debug, Default)]
pub(super) struct Tasks {
    running: HashMap<String, Kind>,
    /// The call that started each sub-agent.
    by_call: HashMap<String, SubagentId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Agent,
    Command,
}

impl Tasks {
    /// The sub-agent that a line comes from. An older program names only the call that started it.
    pub(super) fn speaker(&self, line: &Message) -> Option<SubagentId> {
        let call = line.parent_tool_use_id.as_ref()?;
        let named = line.agent_id.as_ref().map(SubagentId::trusted);
        Some(named.or_else(|| self.by_call.get(call).cloned()).unwrap_or_else(|| SubagentId::trusted(call)))
    }

    pub(super) fn started(&mut self, task: &System, tools: &Tools, out: &mut Output) {
        let Some(id) = task.text("task_id") else { return };
        let call = task.text("tool_use_id");
        let in_background = task.rest.get("is_backgrounded").and_then(Value::as_bool) == Some(true);
        let description = task.text("description").unwrap_or_default();
        match task.text("task_type") {
            Some("local_agent") => {
                let subagent_id = SubagentId::trusted(id);
                self.running.insert(id.to_owned(), Kind::Agent);
                if let Some(call) = call {
                    self.by_call.insert(call.to_owned(), subagent_id.clone());
                }
                let name = Some(description).filter(|text| !text.is_empty()).or(task.text("subagent_type"));
                let started = SubagentStarted {
                    subagent_id,
                    name: name.unwrap_or("sub-agent").to_owned(),
                    background: in_background.then_some(true),
                    parent_tool_use_id: call.map(ToolUseId::trusted),
                    parent_subagent_id: call.and_then(|call| tools.owner(call)),
                };
                out.report(started_by(started));
            }
            // One in the foreground is the tool call itself.
            _ if in_background => {
                self.running.insert(id.to_owned(), Kind::Command);
                out.report(BackgroundStarted {
                    background_id: BackgroundId::trusted(id),
                    kind: BackgroundKind::Command,
                    tool_use_id: call.map(ToolUseId::trusted),
                    label: description.to_owned(),
                });
            }
            _ => {}
        }
    }

    pub(super) fn ended(&mut self, task: &System, out: &mut Output) {
        let Some(id) = task.text("task_id") else { return };
        let status = match task.text("status") {
            Some("completed") => WorkStatus::Completed,
            Some("failed") => WorkStatus::Failed,
            _ => WorkStatus::Interrupted,
        };
        match self.running.remove(id) {
            Some(Kind::Agent) => {
                let tool_calls = task.rest.get("usage").and_then(|usage| usage.get("tool_uses"));
                out.report(SubagentEnded {
                    subagent_id: SubagentId::trusted(id),
                    status,
                    tool_calls: tool_calls.and_then(Value::as_u64).unwrap_or(0),
                    file_changes: 0,
                });
            }
            Some(Kind::Command) => out.report(BackgroundEnded {
                background_id: BackgroundId::trusted(id),
                status,
                output: task.text("summary").map(str::to_owned),
                ..BackgroundEnded::default()
            }),
            None => {}
        }
    }
}

fn started_by(started: SubagentStarted) -> Report {
    Report::Fact { subagent_id: None, event: started.into() }
}
