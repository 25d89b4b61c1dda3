//! Blocks as they first appear. Every block has a `kind` and the time it began; the rest is what its kind needs.

use serde_json::{Value, json};

use super::fields::{Fields, fields};
use super::mask::mask;
use super::summary;
use super::tree::Node;
use crate::event::{
    Envelope, Failure, Interrupt, Part, PermissionRequest, QuestionRequest, SubagentStarted, ToolResult, ToolStart,
};

pub(super) fn block(id: &str, kind: &str, envelope: &Envelope, fields: Fields) -> Node {
    let mut fields = fields.known();
    fields.insert("kind", Value::from(kind));
    fields.insert("started_at", json!(envelope.ts));
    Node::new(id, fields)
}

/// The parts of a person's message.
pub(super) fn part(id: &str, envelope: &Envelope, part: &Part) -> Node {
    match part {
        Part::Text { text } => block(id, "text", envelope, fields! { "text": text, "done": true }),
        Part::Image { media_type, data, blob } => {
            block(id, "image", envelope, fields! { "media_type": media_type, "data": data, "blob": blob })
        }
        Part::File { path } => {
            block(id, "artifact", envelope, fields! { "title": path, "path": path, "media_type": "text/plain" })
        }
    }
}

pub(super) fn tool(id: &str, envelope: &Envelope, start: &ToolStart) -> Node {
    let fields = fields! {
        "tool_use_id": start.tool_use_id,
        "tool": start.tool,
        "input": start.input,
        "input_blob": start.blob,
        "command": start.command,
        "file_path": start.file_path,
        "pattern": start.pattern,
        "is_file_read": start.is_file_read,
        "subagent_name": start.subagent_name,
        "client_tool": start.client_tool,
        "status": "running",
        "summary": summary::running(start),
    };
    block(id, "tool", envelope, fields)
}

/// What a result changes in its tool.
pub(super) fn tool_result(start: &ToolStart, result: &ToolResult, envelope: &Envelope) -> Fields {
    let status = match result {
        result if result.denied == Some(true) => "denied",
        result if result.interrupted == Some(true) => "interrupted",
        result if result.is_error => "failed",
        _ => "done",
    };
    fields! {
        "status": status,
        "summary": summary::finished(start, result),
        "output": result.output,
        "exit_code": result.exit_code,
        "diff": result.diff,
        "blob": result.blob,
        "live": Value::Null,
        "fraction": Value::Null,
        "ended_at": envelope.ts,
    }
}

pub(super) fn permission(id: &str, envelope: &Envelope, request: &PermissionRequest) -> Node {
    let title = request.title.clone().unwrap_or_else(|| format!("Allow {}", request.tool_name));
    let fields = fields! {
        "ask_id": request.ask_id,
        "tool_name": request.tool_name,
        "tool_input": request.tool_input,
        "tool_use_id": request.tool_use_id,
        "title": mask(&title),
        "options": request.options,
        "state": "pending",
    };
    block(id, "permission", envelope, fields)
}

pub(super) fn question(id: &str, envelope: &Envelope, request: &QuestionRequest) -> Node {
    let fields = fields! { "ask_id": request.ask_id, "questions": request.questions, "title": request.title, "state": "pending" };
    block(id, "question", envelope, fields)
}

pub(super) fn interrupt(id: &str, envelope: &Envelope, request: &Interrupt) -> Node {
    let fields = fields! {
        "ask_id": request.interrupt_id,
        "component_name": request.component_name,
        "tool_use_id": request.tool_use_id,
        "props": request.props,
        "surface": request.surface,
        "state": "pending",
    };
    block(id, "interrupt", envelope, fields)
}

pub(super) fn subagent(id: &str, envelope: &Envelope, started: &SubagentStarted) -> Node {
    let fields = fields! {
        "subagent_id": started.subagent_id,
        "name": started.name,
        "background": started.background,
        "parent_tool_use_id": started.parent_tool_use_id,
        "status": "running",
        "tool_calls": 0,
        "file_changes": 0,
    };
    block(id, "subagent", envelope, fields)
}

pub(super) fn error(id: &str, envelope: &Envelope, failure: &Failure) -> Node {
    let fields = fields! { "message": failure.message, "code": failure.code, "retryable": failure.retryable, "fix": failure.fix };
    block(id, "error", envelope, fields)
}
