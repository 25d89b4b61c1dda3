//! What the agent does, and what it asks before it does it.

use serde_json::{Value, json};

use super::{Fields, Fold, Key, Op, block, fields, is};
use crate::event::{Envelope, Event, ToolResult, ToolStart};

impl Fold {
    pub(super) fn tool_start(&mut self, envelope: &Envelope, start: &ToolStart) {
        let id = start.tool_use_id.to_string();
        let path = self.insert_as(envelope, Key::Tool(id.clone()), |block_id| block::tool(block_id, envelope, start));
        self.calls.insert(id.clone(), start.clone());
        if let Some(subagent_id) = &envelope.subagent_id {
            let key = Key::Subagent(subagent_id.to_string());
            let calls = self
                .places
                .get(&key)
                .and_then(|path| self.root.find(path))
                .and_then(|node| node.fields.get("tool_calls")?.as_u64());
            self.set(&key, fields! { "tool_calls": calls.unwrap_or(0) + 1 });
        }
        if let Some((envelope, result)) = self.early.remove(&id) {
            let fields = block::tool_result(start, &result, &envelope);
            self.change(Op::Set { path, fields });
            self.calls.remove(&id);
        }
    }

    pub(super) fn tool_result(&mut self, envelope: &Envelope, result: &ToolResult) {
        let id = result.tool_use_id.to_string();
        let key = Key::Tool(id.clone());
        let Some(path) = self.places.get(&key).cloned() else {
            // Its call may still come.
            self.early.insert(id, (envelope.clone(), result.clone()));
            return;
        };
        let start = self.calls.remove(&id).unwrap_or_default();
        let fields = block::tool_result(&start, result, envelope);
        self.change(Op::Set { path, fields });
        if let Some(subagent_id) = envelope.subagent_id.as_ref().filter(|_| result.diff.is_some()) {
            let key = Key::Subagent(subagent_id.to_string());
            let changes = self
                .places
                .get(&key)
                .and_then(|path| self.root.find(path))
                .and_then(|node| node.fields.get("file_changes")?.as_u64());
            self.set(&key, fields! { "file_changes": changes.unwrap_or(0) + 1 });
        }
    }

    pub(super) fn ask(&mut self, envelope: &Envelope) {
        let data = envelope.event.data();
        let id = data
            .get("ask_id")
            .or_else(|| data.get("interrupt_id"))
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        let key = Key::Ask(id.clone());
        let (kind, settled) = match &envelope.event {
            Event::PermissionRequest(request) => {
                self.insert_as(envelope, key.clone(), |block_id| block::permission(block_id, envelope, request));
                ("permission", None)
            }
            Event::QuestionRequest(request) => {
                self.insert_as(envelope, key.clone(), |block_id| block::question(block_id, envelope, request));
                ("question", None)
            }
            Event::Interrupt(request) => {
                self.insert_as(envelope, key.clone(), |block_id| block::interrupt(block_id, envelope, request));
                ("interrupt", None)
            }
            Event::PermissionResolved(resolved) => {
                let state = if resolved.allowed { "allowed" } else { "rejected" };
                (
                    "",
                    Some(
                        fields! { "state": state, "reply": resolved.reply, "by": resolved.by, "reason": resolved.reason, "rule": resolved.rule },
                    ),
                )
            }
            Event::QuestionResolved(resolved) => {
                let state = if resolved.answers.is_some() { "answered" } else { "rejected" };
                (
                    "",
                    Some(
                        fields! { "state": state, "answers": resolved.answers, "by": resolved.by, "reason": resolved.reason },
                    ),
                )
            }
            Event::InterruptResolved(resolved) => {
                let state = match (&resolved.value, resolved.is_error) {
                    (None, _) => "withdrawn",
                    (Some(_), Some(true)) => "failed",
                    (Some(_), _) => "answered",
                };
                (
                    "",
                    Some(
                        fields! { "state": state, "value": resolved.value, "by": resolved.by, "reason": resolved.reason },
                    ),
                )
            }
            _ => return,
        };
        if let Some(settled) = settled {
            self.set(&key, settled);
            self.set(&key, fields! { "ended_at": envelope.ts });
            self.set_list("asks", |list| list.retain(|ask| !is(ask, "ask_id", &id)));
        } else {
            let path = self.places.get(&key).cloned().unwrap_or_default();
            let ask = json!({ "ask_id": id, "kind": kind, "path": path, "asked_at": envelope.ts });
            self.set_list("asks", |list| list.push(ask));
        }
    }

    pub(super) fn work(&mut self, envelope: &Envelope) {
        match &envelope.event {
            Event::SubagentStarted(started) => {
                let parent = started.parent_subagent_id.as_ref().map(|id| Key::Subagent(id.to_string()));
                let inside = parent.and_then(|key| self.places.get(&key).cloned());
                let inside = inside.unwrap_or_else(|| vec![self.agent_message(envelope)]);
                let path = self.insert_in(inside, envelope, |id| block::subagent(id, envelope, started));
                self.places.insert(Key::Subagent(started.subagent_id.to_string()), path);
            }
            Event::SubagentEnded(ended) => {
                let fields = fields! {
                    "status": ended.status, "tool_calls": ended.tool_calls, "file_changes": ended.file_changes, "ended_at": envelope.ts,
                };
                self.set(&Key::Subagent(ended.subagent_id.to_string()), fields);
            }
            Event::BackgroundStarted(started) => {
                let mut background = Fields::of(started);
                background.insert("started_at", json!(envelope.ts));
                self.set_list("background", |list| list.push(json!(background)));
                if let Some(tool_use_id) = &started.tool_use_id {
                    self.set(&Key::Tool(tool_use_id.to_string()), fields! { "status": "background" });
                }
            }
            Event::BackgroundEnded(ended) => {
                let known = self.root.fields.get("background").and_then(Value::as_array).and_then(|list| {
                    list.iter().find(|known| is(known, "background_id", ended.background_id.as_str())).cloned()
                });
                self.set_list("background", |list| {
                    list.retain(|known| !is(known, "background_id", ended.background_id.as_str()));
                });
                if let Some(tool_use_id) = known.as_ref().and_then(|known| known.get("tool_use_id")?.as_str()) {
                    let status = match ended.status {
                        crate::event::WorkStatus::Completed => "done",
                        crate::event::WorkStatus::Failed => "failed",
                        crate::event::WorkStatus::Interrupted => "interrupted",
                    };
                    let fields = fields! {
                        "status": status, "output": ended.output, "exit_code": ended.exit_code, "blob": ended.blob, "ended_at": envelope.ts,
                    };
                    self.set(&Key::Tool(tool_use_id.to_owned()), fields);
                }
            }
            _ => {}
        }
    }
}
