//! Commands: what they read, what they print, and those that outlive their turn.

use serde_json::json;

use super::wire::Command;
use super::work::{ThreadWork, ToolKind};
use crate::event::{BackgroundEnded, ToolProgress, ToolResult, ToolStart, WorkStatus};
use crate::policy::{self, ReadAction};
use crate::runtime::Output;

const TOOL: &str = "Bash";

impl ThreadWork {
    pub(super) fn command_started(&mut self, command: &Command, out: &mut Output) {
        if self.tools.contains_key(&command.id) {
            return;
        }
        self.close_waiting_block(out);
        let script = policy::without_shell(&command.line);
        let kind = ToolKind::Command { script: script.clone() };
        let tool_use_id = self.open_tool(&command.id, kind);
        let reading = policy::reading(&script);
        let mut start = ToolStart {
            tool_use_id,
            tool: TOOL.to_owned(),
            input: Some(match &command.cwd {
                Some(cwd) => json!({ "command": script, "cwd": cwd }),
                None => json!({ "command": script }),
            }),
            command: Some(script),
            ..ToolStart::default()
        };
        if let Some(reading) = reading {
            reading.annotate(&mut start);
        }
        self.say(start, out);
    }

    /// Streamed output. It may lack its beginning; the end of the command says all of it.
    pub(super) fn printed(&mut self, item_id: &str, text: String, out: &mut Output) {
        self.mark_running(item_id);
        // Of a command in the background, only the end is told.
        if let Some(tool_use_id) = self.tool_id(item_id) {
            self.say(ToolProgress { tool_use_id, text: Some(text), fraction: None, ..ToolProgress::default() }, out);
        }
    }

    pub(super) fn command_completed(&mut self, command: &Command, turn_id: &str, out: &mut Output) {
        let failed = command.status == "failed" || command.exit_code.is_some_and(|code| code != 0);
        if let Some(ended) = self.background_ended(&(turn_id.to_owned(), command.id.clone()), failed) {
            // For one that was ended by force, Codex makes a code up.
            let exit_code = command.exit_code.filter(|_| ended.status != WorkStatus::Interrupted);
            return self.say(BackgroundEnded { output: command.aggregated_output.clone(), exit_code, ..ended }, out);
        }
        self.command_started(command, out);
        let Some(tool) = self.tools.remove(&command.id) else { return };
        let denied = command.status == "declined";
        let script = match &tool.kind {
            ToolKind::Command { script } => script.as_str(),
            ToolKind::Change { .. } | ToolKind::Mcp { .. } | ToolKind::Other => "",
        };
        let read = policy::reading(script).and_then(ReadAction::file);
        let output = command.aggregated_output.clone().unwrap_or_default();
        let result = ToolResult {
            tool_use_id: tool.id,
            output: match command.exit_code {
                None if denied && output.is_empty() => "not allowed".to_owned(),
                None if failed && output.is_empty() => "it did not run".to_owned(),
                _ => output,
            },
            is_error: failed || denied,
            exit_code: command.exit_code,
            is_file_read: read.as_ref().map(|_| true),
            file_path: read,
            denied: denied.then_some(true),
            ..ToolResult::default()
        };
        self.say(result, out);
    }
}
