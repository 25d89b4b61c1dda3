//! Sub-agents, and calls that outlive their turn. The program calls both tasks. They may begin in the foreground and be moved to the background
//! later, by the program itself.

use std::collections::HashMap;

use serde_json::Value;

use super::output::{is_picture_path, saved_output_file};
use super::tools::Tools;
use super::wire::{Message, System};
use crate::event::{
    BackgroundEnded, BackgroundKind, BackgroundStarted, SubagentEnded, SubagentStarted, SubagentUpdated, ToolProgress,
    WorkStatus,
};
use crate::id::{BackgroundId, SubagentId, ToolUseId};
use crate::runtime::{EntryOutput, Output, OutputEntry, OutputFile, PICTURE_PLACE, Report, progress_line};

/// How many pictures of one call are kept.
const MAX_PICTURES: usize = 64;

#[derive(Debug, Default)]
pub(super) struct Tasks {
    running: HashMap<String, Task>,
    /// The call that started each sub-agent.
    by_call: HashMap<String, SubagentId>,
    /// The folder in whose folders the program keeps its conversations.
    conversations: String,
}

#[derive(Debug)]
struct Task {
    kind: Kind,
    call: Option<String>,
    label: String,
    background: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Agent,
    Command,
    /// A call of an MCP server.
    Mcp,
    /// A call of another tool.
    Tool,
}

impl Tasks {
    pub(super) fn set_conversations_folder(&mut self, conversations: String) {
        self.conversations = conversations;
    }

    /// Whether a call goes on in the background.
    pub(super) fn is_in_background(&self, call: &str) -> bool {
        self.running.values().any(|task| task.background && task.call.as_deref() == Some(call))
    }

    /// The sub-agent that a line comes from. An older program names only the call that started it.
    pub(super) fn subagent_of(&self, line: &Message) -> Option<SubagentId> {
        let call = line.parent_tool_use_id.as_ref()?;
        let named = line.agent_id.as_ref().map(SubagentId::trusted);
        Some(named.or_else(|| self.by_call.get(call).cloned()).unwrap_or_else(|| SubagentId::trusted(call)))
    }

    pub(super) fn started(&mut self, task: &System, tools: &Tools, out: &mut Output) {
        let Some(id) = task.text("task_id") else { return };
        let call = task.text("tool_use_id");
        let told = task.rest.get("is_backgrounded").and_then(Value::as_bool);
        let description = task.text("description").unwrap_or_default();
        let (kind, background) = match task.text("task_type") {
            Some("local_agent") => (Kind::Agent, told == Some(true)),
            // One in the foreground is the tool call itself.
            Some("local_bash") => (Kind::Command, told == Some(true)),
            // Of the others only those are told that are in the background.
            Some("mcp_task") => (Kind::Mcp, told != Some(false)),
            _ => (Kind::Tool, told != Some(false)),
        };
        let label = description.to_owned();
        let known = Task { kind, call: call.map(str::to_owned), label, background: false };
        self.running.insert(id.to_owned(), known);
        if kind == Kind::Agent {
            let subagent_id = SubagentId::trusted(id);
            if let Some(call) = call {
                self.by_call.insert(call.to_owned(), subagent_id.clone());
            }
            let name = Some(description).filter(|text| !text.is_empty()).or(task.text("subagent_type"));
            let started = SubagentStarted {
                subagent_id,
                name: name.unwrap_or("sub-agent").to_owned(),
                background: background.then_some(true),
                parent_tool_use_id: call.map(ToolUseId::trusted),
                parent_subagent_id: call.and_then(|call| tools.owner(call)),
            };
            out.report(Report::Fact { subagent_id: None, event: started.into() });
            self.running.entry(id.to_owned()).and_modify(|task| task.background = background);
        } else if background {
            self.moved_to_background(id, out);
        }
    }

    /// Something has changed of a task that runs.
    pub(super) fn updated(&mut self, update: &System, out: &mut Output) {
        let patch = update.rest.get("patch");
        if patch.and_then(|patch| patch.get("is_backgrounded")).and_then(Value::as_bool) == Some(true)
            && let Some(id) = update.text("task_id")
        {
            self.moved_to_background(id, out);
        }
    }

    /// A call came back at once because it goes on in the background. An older program says nothing else of it.
    pub(super) fn left_in_background(&mut self, id: &str, call: &str, label: &str, out: &mut Output) {
        self.running.entry(id.to_owned()).or_insert_with(|| Task {
            kind: Kind::Command,
            call: Some(call.to_owned()),
            label: label.to_owned(),
            background: false,
        });
        self.moved_to_background(id, out);
    }

    /// From here on it does not belong to the turn any more.
    fn moved_to_background(&mut self, id: &str, out: &mut Output) {
        let Some(task) = self.running.get_mut(id).filter(|task| !task.background) else { return };
        task.background = true;
        let kind = match task.kind {
            Kind::Agent => {
                let subagent_id = SubagentId::trusted(id);
                return out.report(SubagentUpdated { subagent_id, background: Some(true) });
            }
            Kind::Command => BackgroundKind::Command,
            Kind::Mcp | Kind::Tool => BackgroundKind::Tool,
        };
        out.report(BackgroundStarted {
            background_id: BackgroundId::trusted(id),
            kind,
            tool_use_id: task.call.as_deref().map(ToolUseId::trusted),
            label: task.label.clone(),
        });
    }

    /// How far a call is, where its server says so: `40% · step 2`.
    pub(super) fn progress(&self, progress: &System, out: &mut Output) {
        let task = progress.text("task_id").and_then(|id| self.running.get(id));
        let Some(Task { kind: Kind::Mcp | Kind::Tool, call: Some(call), .. }) = task else { return };
        let Some(text) = progress.text("summary") else { return };
        let percent = text.split_once('%').and_then(|(percent, _)| percent.trim().parse::<f64>().ok());
        let fraction = percent.map(|percent| percent / 100.0).filter(|fraction| (0.0..=1.0).contains(fraction));
        let words = text.split_once('·').map_or(text, |(_, words)| words.trim());
        let text = Some(words).filter(|words| !words.is_empty()).map(progress_line);
        out.report(ToolProgress { tool_use_id: ToolUseId::trusted(call), text, fraction, ..ToolProgress::default() });
    }

    pub(super) fn ended(&mut self, task: &System, conversation: &str, out: &mut Output) {
        let Some(id) = task.text("task_id") else { return };
        let status = match task.text("status") {
            Some("completed") => WorkStatus::Completed,
            Some("failed") => WorkStatus::Failed,
            _ => WorkStatus::Interrupted,
        };
        let Some(known) = self.running.remove(id) else { return };
        if known.kind == Kind::Agent {
            let tool_calls = task.rest.get("usage").and_then(|usage| usage.get("tool_uses"));
            return out.report(SubagentEnded {
                subagent_id: SubagentId::trusted(id),
                status,
                tool_calls: tool_calls.and_then(Value::as_u64).unwrap_or(0),
                file_changes: 0,
            });
        }
        if !known.background {
            return;
        }
        let summary = task.text("summary").unwrap_or_default();
        let ended = BackgroundEnded {
            background_id: BackgroundId::trusted(id),
            status,
            // Of another call the program says only again what it is.
            output: Some(summary.to_owned()).filter(|text| !text.is_empty() && *text != known.label),
            exit_code: exit_code(summary),
            reason: (status == WorkStatus::Interrupted).then(|| "it was stopped".to_owned()),
            ..BackgroundEnded::default()
        };
        let mark = ended.exit_code.map(|code| format!("\n[exited with code {code}]\n"));
        let file = if known.kind == Kind::Mcp {
            // The file that it names is never there. The result stands only in what it tells the model.
            let told = status != WorkStatus::Interrupted && !self.conversations.is_empty() && is_name(conversation);
            told.then(|| {
                let (below, file) = (self.conversations.clone(), format!("{conversation}.jsonl"));
                OutputFile::Entry(OutputEntry { below, file, task: id.to_owned(), read: read_notice })
            })
        } else {
            let path = task.text("output_file").filter(|path| is_own_file(path, conversation));
            path.map(|path| OutputFile::Whole { path: path.to_owned(), mark })
        };
        out.report(match file.map(Box::new) {
            Some(file) => Report::FactWithOutputFile { file, subagent_id: None, event: ended.into() },
            None => ended.into(),
        });
    }

    /// The program's list of everything that runs in the background. What is not on it has ended without notice.
    pub(super) fn sync_background(&mut self, list: &System, out: &mut Output) {
        let Some(tasks) = list.rest.get("tasks").and_then(Value::as_array) else { return };
        let runs = |id: &str| tasks.iter().any(|task| task.get("task_id").and_then(Value::as_str) == Some(id));
        let gone = |(id, task): &(&String, &Task)| task.background && !runs(id);
        let mut ended: Vec<(String, Kind)> =
            self.running.iter().filter(gone).map(|(id, task)| (id.clone(), task.kind)).collect();
        ended.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        for (id, kind) in ended {
            self.running.remove(&id);
            let status = WorkStatus::Interrupted;
            if kind == Kind::Agent {
                out.report(SubagentEnded { subagent_id: SubagentId::trusted(&id), status, ..SubagentEnded::default() });
            } else {
                let reason = Some("the agent no longer runs it".to_owned());
                let background_id = BackgroundId::trusted(&id);
                out.report(BackgroundEnded { background_id, status, reason, ..BackgroundEnded::default() });
            }
        }
    }
}

/// `Background command "x" completed (exit code 0)`, `… failed with exit code 1`.
fn exit_code(summary: &str) -> Option<i32> {
    let (_, rest) = summary.rsplit_once("exit code ")?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// What a line of a stored conversation tells the model of the end of a task.
fn read_notice(entry: &OutputEntry, line: &str) -> Option<EntryOutput> {
    // Most lines are about something else, and some are large.
    if !line.contains(&entry.task) || !line.contains("<task-notification>") {
        return None;
    }
    let line: Value = serde_json::from_str(line).ok()?;
    let notice = [line.get("content"), line.pointer("/message/content"), line.pointer("/attachment/prompt")];
    let notice = notice.into_iter().flatten().find_map(Value::as_str)?;
    let (head, rest) = notice.split_once("<result>\n")?;
    if !head.contains(&format!("<task-id>{}</task-id>", entry.task)) {
        return None;
    }
    let (text, _) = rest.rsplit_once("\n</result>")?;
    let conversation = entry.file.strip_suffix(".jsonl").unwrap_or_default();
    let whole_in = saved_output_file(&Value::from(text), None, conversation);
    let mut pictures = Vec::new();
    let lines =
        text.lines().filter(|line| !is_picture_path(line)).map(|line| match saved_picture(line, conversation) {
            Some(path) if pictures.len() < MAX_PICTURES => {
                pictures.push(path.to_owned());
                PICTURE_PLACE
            }
            _ => line,
        });
    let text = lines.collect::<Vec<_>>().join("\n");
    Some(EntryOutput { text, whole_in, pictures })
}

/// `[image result] Binary content (image/png, 70 bytes) saved to /…/tool-results/x.png`: the file, if it is the program's own.
fn saved_picture<'a>(line: &'a str, conversation: &str) -> Option<&'a str> {
    let (_, path) = line.strip_prefix("[image result] Binary content (image/")?.split_once(") saved to ")?;
    is_own_file(path, conversation).then_some(path)
}

/// Whether this names one file, and not a way to another.
fn is_name(conversation: &str) -> bool {
    !conversation.is_empty() && conversation.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// Whether a file is one that the program made for this conversation. Texts that name files may come from anywhere; what is read for the log must
/// not be somebody else's.
pub(super) fn is_own_file(path: &str, conversation: &str) -> bool {
    let mut parts = path.split('/');
    path.starts_with('/')
        && !conversation.is_empty()
        && path.split('/').all(|part| part != "..")
        && parts.any(|part| part == conversation)
        && matches!(parts.next(), Some("tasks" | "tool-results"))
}
