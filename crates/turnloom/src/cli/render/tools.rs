//! Tools: one line each, when they have ended; what they are doing, until then.

use std::fmt::Write as _;
use turnloom_core::event::{ToolProgress, ToolResult, ToolStart};
use turnloom_core::id::SubagentId;
use turnloom_core::time::Timestamp;

use super::style::Ink;
use super::text::{clean, count, cut, duration, one_line, width};
use super::{Renderer, Section, whole_seconds};

/// How much of a failed tool's output is shown.
const FAILED_LINES: usize = 5;

/// A tool that runs.
#[derive(Debug)]
pub(super) struct Tool {
    by: Option<SubagentId>,
    verb: String,
    object: String,
    kind: Kind,
    started: Timestamp,
    progress: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Command,
    Read,
    Search,
    Delegation,
    Other,
}

impl Tool {
    fn new(by: Option<&SubagentId>, start: &ToolStart, started: Timestamp) -> Self {
        let text = |value: &Option<String>| value.as_deref().map(one_line);
        let (kind, verb, object) = if let Some(command) = text(&start.command) {
            (Kind::Command, "Run".to_owned(), command)
        } else if start.subagent_spawn == Some(true) {
            (Kind::Delegation, "Delegate to".to_owned(), text(&start.subagent_name).unwrap_or_default())
        } else if let Some(pattern) = text(&start.pattern) {
            let place = text(&start.search_path).map(|path| format!(" in {path}"));
            (Kind::Search, "Search".to_owned(), format!("{pattern}{}", place.unwrap_or_default()))
        } else if let Some(path) = text(&start.file_path) {
            match start.is_file_read {
                Some(true) => (Kind::Read, "Read".to_owned(), path),
                _ => (Kind::Other, one_line(&start.tool), path),
            }
        } else {
            let input = start.input.as_ref().map(ToString::to_string).unwrap_or_default();
            (Kind::Other, one_line(&start.tool), one_line(&input))
        };
        Self { by: by.cloned(), verb, object, kind, started, progress: None }
    }

    /// What is shown while it runs.
    pub(super) fn waiting(&self, now: Timestamp, others: usize, room: usize) -> String {
        let mut line = format!("{} {}", self.verb, self.object);
        if let Some(progress) = &self.progress {
            let _ = write!(line, "  {progress}");
        }
        if others > 0 {
            let _ = write!(line, "  and {} more", count(others, "tool"));
        }
        let _ = write!(line, "  {}", whole_seconds(now.millis() - self.started.millis()));
        cut(line.trim_end(), room)
    }
}

impl Renderer {
    pub(super) fn tool_started(&mut self, by: Option<&SubagentId>, start: &ToolStart, at: Timestamp) {
        self.close();
        self.tools.insert(start.tool_use_id.clone(), Tool::new(by, start, at));
        self.tool_order.push(start.tool_use_id.clone());
    }

    pub(super) fn tool_progressed(&mut self, progress: &ToolProgress) {
        if let Some(tool) = self.tools.get_mut(&progress.tool_use_id) {
            let percent = progress.fraction.map(|fraction| format!("{:.0} %", fraction * 100.0));
            tool.progress = progress.text.as_deref().and_then(last_line).or(percent);
        }
    }

    pub(super) fn tool_ended(&mut self, result: &ToolResult, at: Timestamp) {
        self.tool_order.retain(|id| *id != result.tool_use_id);
        let Some(tool) = self.tools.remove(&result.tool_use_id) else { return };
        if self.delegated.remove(&result.tool_use_id) && !result.is_error {
            return;
        }
        let by = tool.by.as_ref();
        let (ink, mark) = match () {
            () if result.denied == Some(true) => (Ink::Yellow, "⊘"),
            () if result.interrupted == Some(true) => (Ink::Yellow, "⊘"),
            () if result.is_error => (Ink::Red, "✗"),
            () => (Ink::Green, "✓"),
        };
        let summary = summary(&tool, result);
        let time = duration(at.millis() - tool.started.millis());
        self.section(Section::Lines);
        // The object gives way first, then the summary; what happened and how long it time are always there.
        let room = self.room(by).saturating_sub(2 + width(&tool.verb) + 1 + 2 + width(&time));
        let object = cut(&tool.object, room.saturating_sub((width(&summary) + 2).min(room / 2)));
        let summary = cut(&summary, room.saturating_sub(width(&object) + 2));
        let separate = if summary.is_empty() { "" } else { "  " };
        let look = self.activity;
        let line = format!(
            "{}{} {} {object}{}  {}\n",
            self.margin(by),
            look.paint(ink, mark),
            look.paint(Ink::Bold, &tool.verb),
            look.paint(if result.is_error { ink } else { Ink::Dim }, &format!("{separate}{summary}")),
            look.paint(Ink::Dim, &time),
        );
        self.print(super::Channel::Activity, &line);
        if result.is_error && result.denied != Some(true) {
            let output = clean(&result.output);
            let lines: Vec<&str> = output.lines().filter(|line| !line.trim().is_empty()).collect();
            let skipped = lines.len().saturating_sub(FAILED_LINES);
            if skipped > 0 {
                self.line(by, &format!("  … {} before", count(skipped, "line")), Ink::Dim);
            }
            lines.iter().skip(skipped).for_each(|line| self.line(by, &format!("  {}", line.trim_end()), Ink::Dim));
        }
        if let Some(diff) = &result.diff {
            self.diff_lines(by, diff);
        }
    }
}

fn summary(tool: &Tool, result: &ToolResult) -> String {
    if result.denied == Some(true) {
        return "not allowed".to_owned();
    }
    if result.interrupted == Some(true) {
        return "interrupted".to_owned();
    }
    if result.is_error {
        return result.exit_code.map_or_else(|| "failed".to_owned(), |code| format!("exit {code}"));
    }
    if let Some(diff) = &result.diff {
        return super::work::diff_size(diff);
    }
    let size = result.blob.as_ref().map(|blob| super::text::bytes(blob.size));
    let lines = || result.output.lines().count();
    match tool.kind {
        Kind::Read => size.unwrap_or_else(|| count(lines(), "line")),
        Kind::Search => size.unwrap_or_else(|| match lines() {
            1 => "1 match".to_owned(),
            n => format!("{n} matches"),
        }),
        Kind::Command | Kind::Delegation | Kind::Other => {
            let last = last_line(&result.output).unwrap_or_default();
            let code = result.exit_code.filter(|code| *code != 0).map(|code| format!("exit {code}"));
            let parts = [code, size, Some(last).filter(|last| !last.is_empty())];
            parts.into_iter().flatten().collect::<Vec<_>>().join("  ")
        }
    }
}

fn last_line(text: &str) -> Option<String> {
    clean(text).lines().rev().map(one_line).find(|line| !line.is_empty())
}
