//! The gate: the program's hook proposes every call here before it runs, in every mode and in sub-agents, and waits for a verdict. There is no
//! answer that is an error: older programs would run the call.

use std::collections::{HashMap, HashSet};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::id::{SubagentId, ToolUseId};
use crate::runtime::{Output, ProposedCall, Report, Verdict};

/// Seconds that the program waits for a verdict, or for a person behind it. Then it does not run the call.
const VERDICT_TIMEOUT_SECONDS: u32 = 86_400;

/// Calls whose verdicts are remembered, so that one that ran without any is noticed.
const MAX_SEEN: usize = 4096;

/// Tools that are a question to a person themselves.
const QUESTIONS: &[&str] = &["AskUserQuestion", "ExitPlanMode"];

#[derive(Debug, Default)]
pub(super) struct Gate {
    waiting: HashMap<String, Waiting>,
    /// Calls that were proposed and have no result yet.
    seen: HashSet<String>,
}

#[derive(Debug)]
struct Waiting {
    call: String,
    /// The program's own mode at the time.
    mode: String,
}

#[derive(Debug, Deserialize)]
struct Hook {
    #[serde(default)]
    cwd: Option<String>,
    #[serde(default)]
    permission_mode: String,
    tool_name: String,
    #[serde(default)]
    tool_input: Value,
    tool_use_id: String,
    agent_id: Option<String>,
}

/// What the handshake asks for.
pub(super) fn hooks() -> Value {
    json!({ "PreToolUse": [{ "hookCallbackIds": ["gate"], "onFailure": "block", "timeout": VERDICT_TIMEOUT_SECONDS }] })
}

impl Gate {
    /// Takes a proposal. What is answered at once comes back.
    pub(super) fn proposed(
        &mut self,
        key: String,
        request: &Value,
        is_served: impl Fn(&str) -> bool,
        out: &mut Output,
    ) -> Option<Value> {
        let hook = match request.get("input").map(Hook::deserialize) {
            Some(Ok(hook)) => hook,
            Some(Err(error)) => return Some(deny(&format!("the call could not be read: {error}"))),
            None => return Some(deny("the call could not be read")),
        };
        if self.seen.len() >= MAX_SEEN {
            self.seen.clear();
        }
        self.seen.insert(hook.tool_use_id.clone());
        // These ask a person, or whoever runs the tool, by themselves; or they only show something. What of this machine they read is judged there.
        if QUESTIONS.contains(&hook.tool_name.as_str()) || is_served(&hook.tool_name) {
            return Some(json!({}));
        }
        self.waiting.insert(key.clone(), Waiting { call: hook.tool_use_id.clone(), mode: hook.permission_mode });
        let call = ProposedCall {
            tool_use_id: ToolUseId::trusted(hook.tool_use_id),
            tool: hook.tool_name,
            input: hook.tool_input,
            directory: hook.cwd,
        };
        out.report(Report::Propose { key, subagent_id: hook.agent_id.map(SubagentId::trusted), call });
        None
    }

    /// What to send back for a verdict, and the call if it will not run. Nothing, when the program no longer waits.
    pub(super) fn answer(&mut self, key: &str, verdict: &Verdict) -> Option<(Value, Option<String>)> {
        let Waiting { call, mode } = self.waiting.remove(key)?;
        Some(match verdict {
            // There an outside judge has the last word, unless a person is asked; and we answer for the person.
            Verdict::Allow if mode == "plan" => (hook_decision("ask", "a rule allows it"), None),
            Verdict::Allow => (hook_decision("allow", "a rule allows it"), None),
            Verdict::Ask { reason } => (hook_decision("ask", reason), None),
            Verdict::Deny { reason } => (deny(reason), Some(call)),
            Verdict::UpToAgent => (json!({}), None),
        })
    }

    pub(super) fn withdrawn(&mut self, key: &str) {
        self.waiting.remove(key);
    }

    /// Whether a call that has a result went through the gate.
    pub(super) fn let_through(&mut self, call: &str) -> bool {
        self.seen.remove(call)
    }
}

fn deny(reason: &str) -> Value {
    hook_decision("deny", reason)
}

fn hook_decision(decision: &str, reason: &str) -> Value {
    let output = json!({
        "hookEventName": "PreToolUse",
        "permissionDecision": decision,
        "permissionDecisionReason": reason,
    });
    json!({ "hookSpecificOutput": output })
}
