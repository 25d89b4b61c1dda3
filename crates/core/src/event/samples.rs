//! One sample of every event, for the documentation and for people who write a client without an agent at hand.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::Event;

/// The data of a sample.
#[expect(clippy::too_many_lines, reason = "a table")]
fn data(kind: &str) -> Option<Value> {
    let blob = json!({ "id": "0".repeat(64), "size": 120_000, "media_type": "text/plain", "head": "line 1", "tail": "line 9000" });
    let text = json!({ "type": "text", "text": "Tidy up, please." });
    let picture = json!({ "type": "image", "media_type": "image/png", "data": "iVBORw0KGgo=" });
    Some(match kind {
        "session_ready" => json!({
            "session_id": "s-1", "runtime": "claude", "provider_session_id": "5f0c", "resumed": false, "cwd": "/home/user/loom",
            "model": "sonnet", "mode": "default", "version": "2.1.0", "commands": [{ "name": "compact", "description": "Make room" }],
        }),
        "session_updated" => json!({ "title": "The build", "by": "workbench" }),
        "mode_changed" => json!({ "mode": "plan", "by": "workbench" }),
        "model_changed" => json!({ "model": "opus", "by": "workbench" }),
        "session_ended" => json!({ "reason": "terminated", "terminated_by": "api" }),
        "user_message" => json!({ "message_id": "m-1", "content": [text, picture], "origin": "user" }),
        "turn_started" => json!({ "message_ids": ["m-1"], "origin": "user" }),
        "status" => json!({ "state": "retrying", "label": "The model is busy", "attempt": 2 }),
        "steer" => json!({ "message_id": "m-2", "state": "accepted", "content": [text], "origin": "user" }),
        "result" => json!({ "text": "The build folder is gone." }),
        "done" => json!({ "outcome": "completed", "anchor": "a-1" }),
        "error" => {
            json!({ "message": "The key is not valid.", "code": "unauthorized", "retryable": false, "fix": "Sign in again." })
        }
        "usage" => json!({
            "input_tokens": 1200, "output_tokens": 80, "cached_tokens": 1000, "cost_usd": 0.004, "context_used": 1280, "context_window": 200_000,
        }),
        "budget" => json!({
            "state": "paused", "scope": "session", "measure": "usd", "limit": 4.0, "spent": 4.12, "how": "call", "ask_id": "ask-1", "added": 2.12,
            "reason": "$4.12 of $4.00 in this session",
        }),
        "schedule_missed" => json!({
            "schedule_id": "nightly", "first": "2026-11-16T02:00:00.000Z", "last": "2026-11-17T02:00:00.000Z", "count": 2,
            "run_id": "nightly.20261117T020000.000Z",
        }),
        "delta" => json!({ "block_id": "b-1", "text": "I will look " }),
        "thinking" => json!({ "block_id": "b-0", "text": "Where is it built?", "done": true }),
        "retracted" => json!({ "block_id": "b-1", "reason": "the connection broke" }),
        "tool_start" => json!({
            "tool_use_id": "t-1", "tool": "get_weather", "input": { "city": "Ghent" },
            "component": { "component_id": "get_weather-t-1", "name": "weather", "surface": "chat", "result": "merge" },
        }),
        "tool_progress" => json!({ "tool_use_id": "t-1", "text": "3 of 12\n", "fraction": 0.25 }),
        "tool_result" => json!({
            "tool_use_id": "t-1", "output": "line 1\n…\nline 9000", "is_error": false, "exit_code": 0, "blob": blob,
            "structured": { "temperature": 11, "condition": "rain" },
        }),
        "permission_request" => json!({
            "ask_id": "ask-1", "tool_name": "Bash", "tool_input": { "command": "rm -rf build" }, "tool_use_id": "t-1", "title": "Run rm -rf build",
            "options": [
                { "reply": "once", "label": "Allow once" }, { "reply": "always", "label": "Always allow rm", "rule": "Bash(rm:*)" },
                { "reply": "reject", "label": "Reject" },
            ],
        }),
        "permission_resolved" => {
            json!({ "ask_id": "ask-1", "tool_name": "Bash", "allowed": true, "reply": "once", "by": "workbench" })
        }
        "question_request" => json!({
            "ask_id": "ask-2",
            "questions": [{
                "prompt": "Which thread?", "header": "Thread", "options": [{ "label": "Silk", "description": "Smooth" }, { "label": "Wool" }],
                "multiple": false, "free_text": true,
            }],
        }),
        "tool_decided" => json!({
            "tool_use_id": "t-1",
            "tool": "Bash",
            "judged": {
                "effect": "deny",
                "rule": "plan/only-reads",
                "scope": "mode",
                "mode": "plan",
                "reason": "plan mode only reads and searches: `rm notes.txt` removes /code/app/notes.txt",
                "input_sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
                "parts": [{
                    "command": "rm notes.txt",
                    "acts": [{ "does": "delete", "text": "removes /code/app/notes.txt", "path": "/code/app/notes.txt", "outside": false, "decides": true }],
                }],
            },
        }),
        "question_resolved" => json!({ "ask_id": "ask-2", "answers": [["Silk"]], "by": "workbench" }),
        "interrupt" => json!({
            "interrupt_id": "ask-3", "component_name": "approval", "props": { "action": "Publish the report" }, "surface": "overlay",
            "title": "Publish the report?", "key": "publish",
        }),
        "interrupt_resolved" => {
            json!({ "interrupt_id": "ask-3", "value": { "choice": "approve", "approved": true }, "by": "workbench" })
        }
        "subagent_started" => json!({ "subagent_id": "sub-1", "name": "reviewer", "parent_tool_use_id": "t-2" }),
        "subagent_updated" => json!({ "subagent_id": "sub-1", "background": true }),
        "subagent_ended" => {
            json!({ "subagent_id": "sub-1", "status": "completed", "tool_calls": 4, "file_changes": 0 })
        }
        "background_started" => {
            json!({ "background_id": "bg-1", "kind": "command", "tool_use_id": "t-3", "label": "cargo watch" })
        }
        "background_ended" => {
            json!({ "background_id": "bg-1", "status": "completed", "output": "watched", "exit_code": 0 })
        }
        "delegated" => json!({
            "parent_session_id": "s-0", "ancestors": ["s-0"], "tasks": ["5f0c66e1"], "tool_use_id": "t-4",
        }),
        "delegation_started" => json!({
            "child_session_id": "s-2", "runtime": "codex", "title": "Build what the plan says", "cwd": "/home/user/loom",
            "message_id": "m-4", "tool_use_id": "t-4", "waits": true,
        }),
        "delegation_updated" => json!({
            "child_session_id": "s-2", "state": "completed", "turn_id": "turn-7", "text": "It is built.", "told": ["t-4"], "child_seq": 41,
        }),
        _ => return product(kind),
    })
}

/// The same for what is drawn, made and kept.
fn product(kind: &str) -> Option<Value> {
    Some(match kind {
        "component_update" => json!({
            "component_id": "plan", "name": "plan_editor", "surface": "sidebar", "props": { "steps": ["Publish"] },
            "merge": true, "mode": "append", "status": "ready", "bind": { "pointer": "/plan", "as": "steps", "edits": true },
        }),
        "component_remove" => json!({ "component_id": "plan", "by": "agent" }),
        "component_callback" => json!({
            "component_id": "plan", "name": "plan_editor", "action": "approve_step", "payload": { "step_index": 0 }, "by": "workbench",
            "callback_id": "press-1",
        }),
        "state_snapshot" => json!({ "state": { "rows": 1 } }),
        "state_delta" => json!({ "patch": [{ "op": "replace", "path": "/rows", "value": 2 }], "by": "agent" }),
        "plan_updated" => {
            json!({ "steps": [{ "text": "Look", "status": "done" }, { "text": "Tidy up", "status": "running" }] })
        }
        "diff_updated" => {
            json!({ "files": [{ "path": "src/loom.rs", "kind": "modified", "diff": "@@ -1 +1 @@\n-slowly\n+quickly\n" }] })
        }
        "artifact_created" => {
            json!({ "artifact_id": "report", "title": "Report", "media_type": "text/markdown", "content": "# Report" })
        }
        "artifact_updated" => json!({ "artifact_id": "report", "content": "# Report\n\nAll is well." }),
        "artifact_version" => json!({ "artifact_id": "report", "version": 2, "label": "after review" }),
        "artifact_removed" => json!({ "artifact_id": "report" }),
        "evidence_changed" => {
            json!({ "evidence_id": "e-1", "kind": "source", "title": "The manual", "status": "found", "detail": { "url": "https://example.com/manual" } })
        }
        "compaction_start" => json!({ "trigger": "auto" }),
        "compaction_end" => json!({ "tokens_before": 180_000, "tokens_after": 20_000, "reason": "tokens" }),
        "rollback" => json!({ "turn_ids": ["turn-2"], "files_restored": false, "by": "workbench" }),
        "forked" => json!({ "from_session": "s-0", "at_seq": 41 }),
        "queue_changed" => json!({
            "queue": [{ "message_id": "m-3", "preview": "And then?", "state": "waiting" }],
            "added": { "message_id": "m-3", "content": [{ "type": "text", "text": "And then?" }], "origin": "user", "position": 1 },
        }),
        "agent_unparsed" => json!({ "location": "stdout", "error": "not JSON", "raw": "?!" }),
        _ => return None,
    })
}

/// What happens to the session, and not in a turn of it.
const BETWEEN_TURNS: &[&str] = &[
    "session_ready",
    "session_updated",
    "mode_changed",
    "model_changed",
    "session_ended",
    "rollback",
    "forked",
    "delegated",
];

/// Every event, once: the envelope as it is stored and sent.
pub fn samples() -> Vec<Value> {
    let sample = |(seq, kind): (u64, &&str)| {
        let mut event = json!({ "seq": seq, "ts": "2026-11-15T12:00:00.123Z", "type": kind, "session_id": "s-1" });
        if let Some(event) = event.as_object_mut() {
            if !BETWEEN_TURNS.contains(kind) {
                event.insert("turn_id".to_owned(), json!("turn-1"));
            }
            event.insert("data".to_owned(), data(kind)?);
        }
        Some(event)
    };
    (1..).zip(Event::KINDS).filter_map(sample).collect()
}

/// The samples as a page to read.
pub fn samples_page() -> String {
    let mut page = String::from(
        "# Every event, by example\n\n\
         One sample of each type, as it is stored and sent. What each member means, and which may be absent, is in \
         [events.schema.json](events.schema.json), which a daemon also serves at `/api/events.schema.json`. Made by `cargo xtask gen`.\n",
    );
    for event in samples() {
        let kind = event.get("type").and_then(Value::as_str).unwrap_or_default();
        // Writing to a text cannot fail.
        let _ = write!(page, "\n## `{kind}`\n\n```json\n{event:#}\n```\n");
    }
    page
}
