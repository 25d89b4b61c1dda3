//! Orders to lines.

use serde_json::{Value, json};

use super::{ExternalProtocol, Framing};
use crate::client_tools::ClientTools;
use crate::command::{Answer, Files};
use crate::runtime::{Answered, Beginning, CloseReason, Opening, Order, Output, Prompt, RollbackOrder};

/// The first thing an agent hears of a session.
pub(super) fn open(opening: &Opening, framing: Framing) -> Value {
    let beginning = match &opening.beginning {
        Beginning::Fresh => json!({ "kind": "fresh" }),
        Beginning::Resume { provider_session_id, wanted } => {
            json!({ "kind": "resume", "provider_session_id": provider_session_id, "wanted": wanted })
        }
        Beginning::Fork { provider_session_id, at } => {
            present(json!({ "kind": "fork", "provider_session_id": provider_session_id, "at": at }))
        }
    };
    let mut client_tools = ClientTools::default();
    if let Some(params) = opening.params.as_object() {
        client_tools.configure(params);
    }
    let told = present(json!({
        "cwd": opening.cwd,
        "model": opening.model,
        "mode": opening.mode,
        "system_prompt": opening.system_prompt,
        "beginning": beginning,
        "params": opening.params,
        "client_tools": client_tools.iter().collect::<Vec<_>>(),
    }));
    let epoch = (framing == Framing::Numbered).then_some(opening.epoch);
    let state = (!opening.state.is_null()).then_some(&opening.state);
    present(json!({ "epoch": epoch, "opening": told, "state": state }))
}

impl ExternalProtocol {
    pub(super) fn tell(&mut self, number: Option<u64>, order: &Order, out: &mut Output) {
        let (kind, mut message) = match order {
            Order::Prompt { turn_id, messages } => {
                self.turn = Some(turn_id.clone());
                ("prompt", json!({ "turn_id": turn_id, "messages": messages.iter().map(prompt).collect::<Vec<_>>() }))
            }
            Order::Steer { turn_id, message } => ("steer", json!({ "turn_id": turn_id, "message": prompt(message) })),
            Order::Interrupt { turn_id } => ("interrupt", json!({ "turn_id": turn_id, "reason": "stopped" })),
            Order::Answer { key, answer, about } => ("answer", answered(key, answer, about.as_deref())),
            Order::Callback(callback) => (
                "callback",
                present(json!({
                    "component_id": callback.component_id,
                    "name": callback.name,
                    "action": callback.action,
                    "payload": callback.payload,
                    "by": callback.by,
                })),
            ),
            Order::State { state, patch, by } => {
                // `state` is there even when it is null.
                let mut message = present(json!({ "patch": patch, "by": by }));
                if let Some(fields) = message.as_object_mut() {
                    fields.insert("state".to_owned(), state.clone());
                }
                ("state", message)
            }
            Order::SetModel { model } => ("set_model", json!({ "model": model })),
            Order::SetMode { mode } => ("set_mode", json!({ "mode": mode })),
            Order::Configure { settings } => ("configure", json!({ "settings": settings })),
            Order::Compact { turn_id } => {
                self.turn = Some(turn_id.clone());
                ("compact", json!({ "turn_id": turn_id }))
            }
            Order::Rollback(order) => ("rollback", rollback(order)),
            Order::Close { reason } => ("close", json!({ "reason": close_reason(*reason) })),
            // Nothing of this is in the capabilities of such an agent.
            Order::Verdict { .. } | Order::StopBackground { .. } | Order::HostResult { .. } | Order::HostTools(_) => {
                return;
            }
        };
        if let (Some(number), Some(fields)) = (number, message.as_object_mut()) {
            fields.insert("o".to_owned(), json!(number));
        }
        self.write(out, kind, message);
    }
}

fn prompt(message: &Prompt) -> Value {
    let Prompt { message_id, content, origin } = message;
    json!({ "message_id": message_id, "content": content, "origin": origin })
}

fn answered(key: &str, answer: &Answer, about: Option<&Answered>) -> Value {
    let is_tool = about.is_some_and(|about| about.is_tool);
    let (kind, given) = match answer {
        Answer::Permission { reply, updated_input, message, rule, .. } => (
            "permission",
            present(json!({ "reply": reply, "updated_input": updated_input, "message": message, "rule": rule })),
        ),
        Answer::Question { answers } => ("question", json!({ "answers": answers })),
        Answer::Interrupt { value } if is_tool => ("tool", json!({ "output": value, "is_error": false })),
        Answer::Interrupt { value } => ("interrupt", json!({ "value": value })),
        Answer::ToolFailed { output } => ("tool", json!({ "output": output, "is_error": true })),
    };
    let (ask_id, by) = (about.map(|about| &about.ask_id), about.map(|about| &about.by));
    let mut message = present(json!({ "key": key, "ask_id": ask_id, "by": by }));
    if let Some(fields) = message.as_object_mut() {
        fields.insert(kind.to_owned(), given);
    }
    message
}

fn rollback(order: &RollbackOrder) -> Value {
    let RollbackOrder { turn_ids, kept, to, first_message, files } = order;
    present(json!({
        "turn_ids": turn_ids,
        "kept": kept,
        "to": to,
        "first_message": first_message,
        "restore_files": *files == Files::Restore,
    }))
}

fn close_reason(reason: CloseReason) -> &'static str {
    match reason {
        CloseReason::Idle => "idle",
        CloseReason::Archived => "archived",
        CloseReason::Ended => "ended",
        CloseReason::Shutdown => "shutdown",
    }
}

/// Without the members that are null.
fn present(mut value: Value) -> Value {
    if let Some(fields) = value.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    value
}
