//! Events without an item: a patch that does not fit, a script that fails, a tool that does not exist, an answer that is refused. Codex does not
//! report these to its clients. A thread that was started with `experimentalRawEvents` also passes on the raw messages of the model, and they are
//! found there. A resumed thread has no such option, nor has `codex exec`; what these keep in a file is read instead (see `rollout`). An answer that is
//! refused does not stand there.

use serde_json::{Value, json};

use super::items::content_of;
use super::protocol::CodexProtocol;
use super::wire::RawItemNotification;
use super::work::{ThreadWork, ToolKind};
use crate::runtime::Output;

/// A call that the model made.
#[derive(Debug)]
pub(super) struct Unlisted {
    tool: String,
    input: Value,
}

/// What Codex says of a script that did not come to its end.
const SCRIPT_FAILED: &str = "Script failed";
const NO_SUCH_TOOL: &str = "unsupported call";
/// Of a patch that does not fit.
const PATCH_FAILED: &str = "apply_patch verification failed";

impl CodexProtocol {
    pub(super) fn raw_item(&mut self, notice: &RawItemNotification, out: &mut Output) {
        let text = |name: &str| notice.item.get(name).and_then(Value::as_str).unwrap_or_default();
        if text("type") == "message" {
            if self.is_main(&notice.thread_id)
                && let Some(refusal) = refusal_in(&notice.item)
            {
                self.refused = Some(refusal);
            }
            return;
        }
        let Some(work) = self.work(&notice.thread_id).filter(|work| work.turn.as_ref() == Some(&notice.turn_id)) else {
            return;
        };
        work.raw_call(&notice.item, Items::NamedByCall, out);
    }
}

/// How the items of a thread are called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Items {
    /// As the model calls them, so it is known which of its calls have one.
    NamedByCall,
    /// They are counted. Only what Codex says of a call tells whether it has one.
    Counted,
}

impl ThreadWork {
    /// A call of the model, or what came of one.
    pub(super) fn raw_call(&mut self, item: &Value, items: Items, out: &mut Output) {
        let text = |name: &str| item.get(name).and_then(Value::as_str).unwrap_or_default();
        match text("type") {
            "custom_tool_call" | "function_call" => {
                let input = item.get("input").or(item.get("arguments")).cloned().unwrap_or_default();
                let call = Unlisted { tool: text("name").to_owned(), input };
                self.unlisted.insert(text("call_id").to_owned(), call);
            }
            "custom_tool_call_output" | "function_call_output" => {
                let output = content_of(item.get("output").unwrap_or(&Value::Null));
                self.unlisted_call_answered(text("call_id"), output, items, out);
            }
            _ => {}
        }
    }

    fn unlisted_call_answered(&mut self, call_id: &str, output: String, items: Items, out: &mut Output) {
        let Some(Unlisted { tool, input }) = self.unlisted.remove(call_id).filter(|_| !self.has_item(call_id)) else {
            return;
        };
        let is_known = items == Items::NamedByCall;
        let (name, input) = match tool.as_str() {
            "apply_patch" if is_known || output.starts_with(PATCH_FAILED) => ("Edit", json!({ "patch": input })),
            "exec_command" | "shell_command" | "shell" if is_known => ("Bash", arguments(&input)),
            "exec" if output.starts_with(SCRIPT_FAILED) => ("Script", json!({ "script": input })),
            name if output.starts_with(NO_SUCH_TOOL) => (name, arguments(&input)),
            // The others have an event of their own, or change nothing.
            _ => return,
        };
        self.call_started(call_id, name, input, ToolKind::Other, out);
        self.call_completed(call_id, output, true, false, out);
        // An item of this name that still comes is about the same call.
        self.item_ended(call_id);
    }
}

/// The arguments of a function are JSON in a text.
fn arguments(input: &Value) -> Value {
    input.as_str().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_else(|| input.clone())
}

/// What the model said instead of an answer.
fn refusal_in(message: &Value) -> Option<String> {
    let parts = message.get("content").and_then(Value::as_array)?;
    let refusals = parts.iter().filter_map(|part| part.get("refusal").and_then(Value::as_str));
    let said = refusals.collect::<Vec<_>>().join("\n");
    (!said.is_empty()).then_some(said)
}
