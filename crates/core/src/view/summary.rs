//! The one-line summary of a tool in a collapsed row: what it works on while it runs, and its result when it is done.

use serde_json::Value;

use super::mask::mask;
use crate::event::{ToolResult, ToolStart};

/// The longest line.
const MAX_CHARS: usize = 100;

/// Output this short is its own summary.
const SHORT_OUTPUT: usize = 60;

/// Programs that read: what they read says more than their name.
const READERS: &[&str] = &[
    "cat", "head", "tail", "less", "more", "bat", "nl", "wc", "ls", "find", "tree", "rg", "grep", "sed", "awk", "stat",
    "file", "du",
];

/// What a tool is doing.
pub(super) fn running(start: &ToolStart) -> String {
    line(&object(start))
}

/// What a tool did.
pub(super) fn finished(start: &ToolStart, result: &ToolResult) -> String {
    let output = result.output.trim();
    let count = output.lines().filter(|line| !line.trim().is_empty()).count();
    let input = |name: &str| start.input.as_ref().and_then(|input| input.get(name)).and_then(Value::as_str);
    let pattern = start.pattern.as_deref().or_else(|| input("pattern"));
    let text = match (start.tool.as_str(), pattern) {
        _ if result.denied == Some(true) => format!("{} · not allowed", object(start)),
        ("Glob", Some(pattern)) if !result.is_error => format!("{} {pattern}", counted(count, "file", "files")),
        ("Grep", Some(pattern)) if !result.is_error => format!("{} {pattern:?}", counted(count, "match", "matches")),
        ("Read" | "Write" | "Edit" | "MultiEdit" | "NotebookEdit", _) => object(start),
        _ if start.is_file_read == Some(true) || reads(start) => object(start),
        _ if !output.is_empty() && output.chars().count() <= SHORT_OUTPUT && count == 1 => output.to_owned(),
        _ => object(start),
    };
    line(&text)
}

/// What a call is about: a path, a pattern, a command, or else the tool itself.
fn object(start: &ToolStart) -> String {
    let input = |name: &str| start.input.as_ref().and_then(|input| input.get(name)).and_then(Value::as_str);
    let path = start.file_path.as_deref().or_else(|| input("file_path")).or_else(|| input("path"));
    let command = start.command.as_deref().or_else(|| input("command"));
    let pattern = start.pattern.as_deref().or_else(|| input("pattern"));
    let named = start.subagent_name.as_deref().or_else(|| input("description"));
    let asked = input("query").or_else(|| input("url")).or_else(|| input("prompt"));
    match (command, path, pattern) {
        (Some(_), Some(path), _) if reads(start) => path.to_owned(),
        (Some(command), _, _) => command.to_owned(),
        (None, _, Some(pattern)) => pattern.to_owned(),
        (None, Some(path), None) => path.to_owned(),
        (None, None, None) => named.or(asked).unwrap_or(&start.tool).to_owned(),
    }
}

fn reads(start: &ToolStart) -> bool {
    let program = start.command.as_deref().and_then(|command| command.split_whitespace().next()).unwrap_or_default();
    let name = program.rsplit('/').next().unwrap_or(program);
    READERS.contains(&name)
}

fn counted(count: usize, one: &str, many: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {many}") }
}

fn line(text: &str) -> String {
    let first = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let masked = mask(&plain(first));
    if masked.chars().count() <= MAX_CHARS {
        return masked;
    }
    masked.chars().take(MAX_CHARS - 1).chain(['…']).collect()
}

/// Without colours and other orders to a terminal: a summary is not shown in one.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        if c == '\u{1b}' {
            // `ESC [ ... letter`, or one character that says less.
            if rest.clone().next() == Some('[') {
                rest.next();
                rest.by_ref().find(|c| ('@'..='~').contains(c));
            } else {
                rest.next();
            }
        } else if !c.is_control() {
            plain.push(c);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{finished, running};
    use crate::event::{ToolResult, ToolStart};

    fn call(tool: &str, input: serde_json::Value) -> ToolStart {
        let text = |name: &str| input.get(name).and_then(|value| value.as_str()).map(str::to_owned);
        let (command, pattern) = (text("command"), text("pattern"));
        ToolStart {
            tool: tool.into(),
            file_path: text("file_path"),
            command,
            pattern,
            input: Some(input),
            ..ToolStart::default()
        }
    }

    fn output(text: &str) -> ToolResult {
        ToolResult { output: text.into(), ..ToolResult::default() }
    }

    #[test]
    fn a_folded_tool_says_what_matters() {
        let bash = |command: &str| call("Bash", json!({ "command": command }));
        for (start, result, while_running, when_done) in [
            (call("Read", json!({ "file_path": "src/a.rs" })), "fn main", "src/a.rs", "src/a.rs"),
            (call("Edit", json!({ "file_path": "src/a.rs" })), "ok", "src/a.rs", "src/a.rs"),
            (call("Glob", json!({ "pattern": "**/*.ts" })), "a.ts\nb.ts\nc.ts\n", "**/*.ts", "3 files **/*.ts"),
            (call("Glob", json!({ "pattern": "**/*.ts" })), "a.ts\n", "**/*.ts", "1 file **/*.ts"),
            (call("Grep", json!({ "pattern": "className" })), "x\ny\n", "className", "2 matches \"className\""),
            (bash("cat notes.md"), "line\nline\n", "cat notes.md", "cat notes.md"),
            (bash("ls -la"), "total 0", "ls -la", "ls -la"),
            (bash("cargo test"), "3 passed\n", "cargo test", "3 passed"),
            (bash("cargo test"), "\u{1b}[1;32mok\u{1b}[0m 3 passed\n", "cargo test", "ok 3 passed"),
            (bash("cargo test"), "a\nb\n", "cargo test", "cargo test"),
            (bash("deploy --token abc"), "", "deploy --token ••••", "deploy --token ••••"),
            (call("WebSearch", json!({ "query": "looms" })), "many\nthings", "looms", "looms"),
            (call("Unheard", json!({})), "", "Unheard", "Unheard"),
        ] {
            assert_eq!(
                (running(&start).as_str(), finished(&start, &output(result)).as_str()),
                (while_running, when_done)
            );
        }
    }

    #[test]
    fn a_long_line_is_cut() {
        let start = call("Bash", json!({ "command": "x".repeat(500) }));
        assert_eq!(running(&start).chars().count(), 100);
    }
}
