//! The gate: a hook in which Codex proposes every call before it runs, in every mode and in sub-agents, and waits. The hook is a program of this host
//! that fails closed; Codex itself would run the call. How the hook's words come here is the router's and the hub's work, what rules say is the session's.
//!
//! A person is asked here and not in the approval request that may follow: whether one follows is not known (the user's own rules for Codex may allow
//! the call), and only here a reason reaches the model and an edited input the call. The approval request is answered by what was said here.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::asks::{Kind, Open, REQUEST_PERMISSIONS, WITHDRAWN, options};
use super::config::put;
use super::protocol::{Call, CodexProtocol};
use super::wire::{Change, ChangeKind, Command, HookNotification, Hooks};
use super::work::{ThreadWork, ToolKind};
use crate::command::Answer;
use crate::event::{Failure, PermissionReply, PermissionRequest};
use crate::host_tools::is_host_tool;
use crate::id::ToolUseId;
use crate::policy;
use crate::runtime::jsonrpc::{self, Id};
use crate::runtime::{AskRequest, Output, ProposedCall, Report, StartFailure, Verdict};

/// Seconds that Codex waits for the hook. After that it would run the call.
const HOOK_SECONDS: u64 = 86_400;

/// Seconds that the hook waits for a verdict, or for a person behind it. Then it says no, long before Codex would go on without it.
pub const PATIENCE_SECONDS: u64 = HOOK_SECONDS - 600;

/// The first version of which it is known that its list of hooks has those of threads.
const LISTS_HOOKS_OF_THREADS: (Option<u32>, Option<u32>) = (Some(0), Some(166));

/// Calls that are remembered, until their turn ends. Of more the oldest names are forgotten.
const MAX_PASSAGES: usize = 4_096;

/// Tools that are a question to a person themselves.
const QUESTIONS: &[&str] = &["request_user_input", REQUEST_PERMISSIONS];

/// What Codex calls the settings that come with a thread.
const SESSION_SETTINGS: &str = "/<session-flags>/config.toml";

/// What the model reads where a person has said no, and not why.
const REJECTED: &str = "a person did not allow it";

/// What stands in a failure whose cause is the gate.
pub(super) const NOT_IN_FORCE: &str = "gate_not_in_force";

/// Whether Codex has the hook.
#[derive(Debug, Default)]
pub(super) enum Gate {
    /// This host has given none: a recording is played.
    #[default]
    None,
    /// The command line of the hook, which Codex has not confirmed yet.
    Unconfirmed(String),
    InForce,
    /// Why it is not.
    Refused(String),
}

/// A call that was proposed, until its turn ends.
#[derive(Debug)]
pub(super) struct Passage {
    /// What it will be called in the log, until it is in the log.
    name: Option<ToolUseId>,
    tool: String,
    input: Value,
    directory: Option<String>,
    /// The rules or a person have allowed this very input.
    cleared: bool,
}

/// What the hook says of a call.
#[derive(Debug, Deserialize)]
struct Hook {
    #[serde(default)]
    cwd: Option<String>,
    tool_name: String,
    #[serde(default)]
    tool_input: Value,
    tool_use_id: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Proposal {
    thread_id: String,
    #[serde(default)]
    turn_id: Option<String>,
    hook: Hook,
}

impl Gate {
    /// The command line of the hook, for the settings of a thread.
    pub(super) fn command(&self) -> Option<&str> {
        match self {
            Self::Unconfirmed(command) => Some(command),
            Self::None | Self::InForce | Self::Refused(_) => None,
        }
    }
}

/// Puts the hook into the settings of a thread, behind the session's own ones. Codex runs only hooks whose hash somebody has trusted.
pub(super) fn add_hook(config: &mut Map<String, Value>, command: &str) {
    let own = config.get("hooks").and_then(|hooks| hooks.get("PreToolUse")).and_then(Value::as_array);
    let mut groups = own.cloned().unwrap_or_default();
    let state = json!({ "enabled": true, "trusted_hash": trusted_hash(command) });
    put(config, &["hooks", "state", &hook_key(groups.len())], state);
    groups.push(json!({ "hooks": [{ "type": "command", "command": command, "timeout": HOOK_SECONDS }] }));
    put(config, &["hooks", "PreToolUse"], groups.into());
    // What a project or the user has switched off is on here.
    put(config, &["features", "hooks"], true.into());
}

fn hook_key(group: usize) -> String {
    format!("{SESSION_SETTINGS}:pre_tool_use:{group}:0")
}

/// As Codex makes it: of the compact JSON with its keys in order.
fn trusted_hash(command: &str) -> String {
    let handler = json!({ "async": false, "command": command, "timeout": HOOK_SECONDS, "type": "command" });
    let identity = json!({ "event_name": "pre_tool_use", "hooks": [handler] });
    format!("sha256:{}", crate::blob::hex(&Sha256::digest(identity.to_string())))
}

/// What the hook prints so that a call does not run.
pub(super) fn denial(reason: &str) -> Value {
    // Codex takes a denial without a reason for none.
    let reason = if reason.trim().is_empty() { REJECTED } else { reason };
    decision(&json!({ "permissionDecision": "deny", "permissionDecisionReason": reason }))
}

fn decision(said: &Value) -> Value {
    let mut output = Map::from_iter([("hookEventName".to_owned(), json!("PreToolUse"))]);
    output.extend(said.as_object().cloned().unwrap_or_default());
    json!({ "hookSpecificOutput": output })
}

impl Passage {
    /// Whether this is the command that was allowed.
    pub(super) fn clears_command(&self, script: &str, directory: Option<&str>) -> bool {
        let same_place = directory.is_none() || self.directory.is_none() || self.directory.as_deref() == directory;
        self.cleared && self.script() == Some(script.trim()) && same_place
    }

    /// Whether these are the files of the patch that was allowed.
    pub(super) fn clears_changes(&self, changes: &[Change]) -> bool {
        let directory = self.directory.as_deref().unwrap_or_default();
        let place = |path: &str| {
            let inside = format!("{directory}/{path}");
            policy::normal(if path.starts_with('/') { path } else { &inside })
        };
        let patch = self.input.get("command").and_then(Value::as_str).unwrap_or_default();
        let allowed: BTreeSet<String> = policy::patched_files(patch).map(place).collect();
        let wanted: BTreeSet<String> = changes.iter().flat_map(files_of).map(place).collect();
        self.cleared && !wanted.is_empty() && wanted.is_subset(&allowed)
    }

    /// Whether this is the call that was allowed.
    pub(super) fn clears_call(&self, tool: &str, input: &Value) -> bool {
        self.cleared && self.tool == tool && self.input == *input
    }

    fn script(&self) -> Option<&str> {
        self.input.get("command").and_then(Value::as_str).map(str::trim)
    }
}

fn files_of(change: &Change) -> impl Iterator<Item = &str> {
    let to = match &change.kind {
        ChangeKind::Typed { move_path, .. } => move_path.as_deref(),
        ChangeKind::Named(_) => None,
    };
    std::iter::once(change.path.as_str()).chain(to)
}

impl ThreadWork {
    /// The name that a call will have in the log.
    fn reserve(&mut self, hook: &Hook) -> ToolUseId {
        if self.passages.len() >= MAX_PASSAGES {
            self.passages.pop_first();
        }
        let name = ToolUseId::trusted(self.fresh_name(&hook.tool_use_id));
        let passage = Passage {
            name: Some(name.clone()),
            tool: hook.tool_name.clone(),
            input: hook.tool_input.clone(),
            directory: hook.cwd.clone(),
            cleared: false,
        };
        self.passages.insert(hook.tool_use_id.clone(), passage);
        name
    }

    /// The name that was kept for a call.
    pub(super) fn reserved_name(&mut self, item_id: &str) -> Option<ToolUseId> {
        self.passages.get_mut(item_id)?.name.take()
    }

    pub(super) fn has_passage(&self, item_id: &str) -> bool {
        self.passages.contains_key(item_id)
    }

    fn clear(&mut self, item_id: &str, edited: Option<Value>) {
        if let Some(passage) = self.passages.get_mut(item_id) {
            passage.cleared = true;
            if let Some(edited) = edited {
                passage.input = edited;
            }
        }
    }

    /// Codex has no item for a call that was denied. That the model made it is a fact all the same.
    fn call_denied(&mut self, item_id: &str, reason: String, out: &mut Output) {
        let Some(passage) = self.passages.get(item_id) else { return };
        let (tool, input) = (passage.tool.clone(), passage.input.clone());
        let script = passage.script().filter(|_| tool == "Bash").map(str::to_owned);
        match (tool.as_str(), script) {
            (_, Some(line)) => {
                let cwd = passage.directory.clone();
                self.command_started(&Command { id: item_id.to_owned(), line, cwd, ..Command::default() }, out);
            }
            ("apply_patch", None) => {
                let patch = input.get("command").cloned().unwrap_or(input);
                self.call_started(item_id, "Edit", json!({ "patch": patch }), ToolKind::Other, out);
            }
            (tool, None) => self.call_started(item_id, tool, input, ToolKind::Other, out),
        }
        self.call_completed(item_id, reason, true, true, out);
        // What the model reads of it is no other call; and should it run all the same, it was never proposed.
        self.item_ended(item_id);
        self.passages.remove(item_id);
    }
}

impl CodexProtocol {
    // ---- whether the hook is there ----

    /// Asks Codex whether it has the hook. The session is ready when that is known.
    pub(super) fn confirm_gate(&mut self, thread_id: &str, out: &mut Output) {
        if self.gate.command().is_some() {
            self.call("hooks/list", json!({ "threadId": thread_id }), Call::Hooks, out);
        }
    }

    /// Whether the answer to that is still to come.
    pub(super) fn awaits_gate(&self) -> bool {
        self.gate.command().is_some()
    }

    pub(super) fn hooks_listed(&mut self, result: Result<&str, jsonrpc::Error>, out: &mut Output) {
        let Some(command) = self.gate.command().map(str::to_owned) else { return };
        let listed = result.map_err(|error| error.message);
        let listed = listed.and_then(|text| serde_json::from_str::<Hooks>(text).map_err(|error| error.to_string()));
        let ours = listed.map(|listed| {
            let mut hooks = listed.data.into_iter().flat_map(|entry| entry.hooks);
            hooks.find(|hook| hook.command.as_deref() == Some(&command) && hook.event_name == "preToolUse")
        });
        self.gate = match ours {
            Ok(Some(hook)) if hook.enabled && hook.trust_status == "trusted" => Gate::InForce,
            Ok(Some(hook)) => Gate::Refused(format!("it is {} and enabled: {}", hook.trust_status, hook.enabled)),
            // Older versions list only what is in files. There, what runs without having been proposed tells.
            Ok(None) if !self.lists_hooks_of_threads() => Gate::InForce,
            Ok(None) => Gate::Refused("it is not in its list".to_owned()),
            Err(error) => Gate::Refused(error),
        };
        if let Some(why) = self.gate_refused() {
            if self.settings.is_ruled() {
                let Failure { message, code, fix, .. } = not_in_force(&why);
                return out.report(Report::StartFailed(StartFailure { message, code, fix }));
            }
            self.warn(
                format!("Codex does not run the hook that asks for rules, so rules hold only where it asks: {why}"),
                out,
            );
        }
        self.maybe_ready(out);
    }

    fn lists_hooks_of_threads(&self) -> bool {
        let mut numbers =
            self.version.as_deref().unwrap_or_default().split('.').map_while(|part| part.parse::<u32>().ok());
        (numbers.next(), numbers.next()) >= LISTS_HOOKS_OF_THREADS
    }

    /// Why the hook is not in force, if it should be.
    pub(super) fn gate_refused(&self) -> Option<String> {
        match &self.gate {
            Gate::Refused(why) => Some(why.clone()),
            Gate::None | Gate::Unconfirmed(_) | Gate::InForce => None,
        }
    }

    /// Codex says that a hook has ended. Ours never fails; where it did, something ran it that was not us.
    pub(super) fn hook_ended(&mut self, notice: &HookNotification, out: &mut Output) {
        let run = &notice.run;
        let is_ours =
            run.event_name == "preToolUse" && run.source == "sessionFlags" && matches!(self.gate, Gate::InForce);
        if is_ours && run.status == "failed" {
            let said: Vec<&str> = run.entries.iter().map(|entry| entry.text.as_str()).collect();
            self.gate_is_off(&format!("the hook before a call failed: {}", said.join("; ")), out);
        }
    }

    /// Something of the agent's runs. If nobody was asked about it, rules do not hold here.
    pub(super) fn check_passage(&mut self, thread_id: &str, item_id: &str, what: &str, out: &mut Output) {
        let joined = self.turn.as_ref().is_some_and(|turn| turn.joined);
        let is_known = self.work(thread_id).is_none_or(|work| work.has_passage(item_id));
        if matches!(self.gate, Gate::InForce) && !joined && !is_known {
            self.gate_is_off(&format!("{what} was started and never proposed"), out);
        }
    }

    /// Rules do not hold: whatever runs is stopped, and the log says why.
    fn gate_is_off(&mut self, why: &str, out: &mut Output) {
        let message = format!("a call was not judged, so what ran is stopped: {why}");
        self.warn(message.clone(), out);
        if self.turn.is_some() {
            self.gate_failure = Some(Failure { code: "gate_failed".to_owned(), ..failure(message) });
            self.interrupt(out);
        } else {
            self.interrupt_helpers(out);
        }
    }

    // ---- calls ----

    pub(super) fn proposed(&mut self, id: &Id, proposal: Proposal, out: &mut Output) {
        let Proposal { thread_id, turn_id, hook } = proposal;
        let is_over = turn_id.as_deref().is_some_and(|name| self.is_main(&thread_id) && self.has_ended(name));
        if !is_over && let Some(name) = &turn_id {
            // The hook may be quicker than the word that its turn has begun.
            self.turn_started(&thread_id, name, out);
        }
        if is_over || !self.may_ask(&thread_id) {
            return self.respond(id, denial("the turn has ended"), out);
        }
        let Some(work) = self.start_work(&thread_id, out) else {
            return self.respond(id, denial("it is not known whose call this is"), out);
        };
        let (tool_use_id, subagent_id) = (work.reserve(&hook), work.owner.clone());
        // These ask a person, or whoever runs the tool, by themselves; or they only show something. What of this machine they read is judged there.
        let tool = hook.tool_name.as_str();
        if QUESTIONS.contains(&tool) || is_host_tool(tool) || self.client_tools.contains(tool) {
            return self.respond(id, json!({}), out);
        }
        let Hook { cwd, tool_name, tool_input, tool_use_id: item_id } = hook;
        let call = ProposedCall { tool_use_id, tool: tool_name, input: tool_input, directory: cwd };
        let key = id.to_string();
        let open = Open::new(id, &thread_id, Some(&item_id), Kind::Proposal { call: call.clone(), asked: false });
        self.asks.insert(key.clone(), open);
        out.report(Report::Propose { key, subagent_id, call });
    }

    pub(super) fn verdict(&mut self, key: &str, verdict: &Verdict, out: &mut Output) {
        match verdict {
            Verdict::Allow => self.let_pass(key, None, true, out),
            Verdict::UpToAgent => self.let_pass(key, None, false, out),
            Verdict::Deny { reason } => self.block(key, reason, out),
            Verdict::Ask { reason } => self.ask_about(key, reason, out),
        }
    }

    fn let_pass(&mut self, key: &str, edited: Option<Value>, cleared: bool, out: &mut Output) {
        let Some(open) = self.asks.take(key) else { return };
        if let (true, Some(item_id), Some(work)) = (cleared, &open.item_id, self.work(&open.thread_id)) {
            work.clear(item_id, edited.clone());
        }
        let said = match edited {
            Some(input) => decision(&json!({ "permissionDecision": "allow", "updatedInput": input })),
            // Codex takes a bare yes for an error. Nothing is: no objection.
            None => json!({}),
        };
        self.respond(&open.id, said, out);
    }

    fn block(&mut self, key: &str, reason: &str, out: &mut Output) {
        let Some(open) = self.asks.take(key) else { return };
        self.respond(&open.id, denial(reason), out);
        if let (Some(item_id), Some(work)) = (&open.item_id, self.work(&open.thread_id)) {
            work.rejected();
            work.call_denied(item_id, reason.to_owned(), out);
        }
    }

    fn ask_about(&mut self, key: &str, reason: &str, out: &mut Output) {
        let own = self.settings.cwd.clone();
        let Some(Open { thread_id, kind: Kind::Proposal { call, asked }, .. }) = self.asks.get_mut(key) else { return };
        *asked = true;
        let (thread_id, call) = (thread_id.clone(), call.clone());
        let elsewhere = call.directory.filter(|directory| own.as_ref() != Some(directory));
        let title = elsewhere.map(|directory| format!("Allow {} in {directory}? {reason}", call.tool));
        let request = PermissionRequest {
            fixed_input: (!takes_edits(&call.tool)).then_some(true),
            tool_name: call.tool,
            tool_input: call.input,
            tool_use_id: Some(call.tool_use_id),
            title,
            options: options("Allow once"),
            ..PermissionRequest::default()
        };
        let subagent_id = self.work(&thread_id).and_then(|work| work.owner.clone());
        out.report(Report::Ask { key: key.to_owned(), subagent_id, request: AskRequest::Permission(request) });
    }

    /// A person has answered what was asked about a proposal.
    pub(super) fn proposal_answered(&mut self, key: &str, answer: &Answer, out: &mut Output) {
        match answer {
            Answer::Permission { reply: PermissionReply::Once | PermissionReply::Always, updated_input, .. } => {
                if updated_input.as_ref().is_some_and(|edited| !self.takes(key, edited)) {
                    // Codex would take it for an error of the hook, and run what nobody has allowed.
                    return self.block(key, "the edited input does not fit the tool", out);
                }
                self.let_pass(key, updated_input.clone(), true, out);
            }
            Answer::Permission { message, .. } => self.block(key, message.as_deref().unwrap_or(REJECTED), out),
            Answer::Question { .. } | Answer::Interrupt { .. } | Answer::ToolFailed { .. } => {
                self.block(key, REJECTED, out);
            }
        }
    }

    /// Whether an edited input is one that Codex takes.
    fn takes(&mut self, key: &str, edited: &Value) -> bool {
        let Some(Open { kind: Kind::Proposal { call, .. }, .. }) = self.asks.get_mut(key) else { return false };
        let command = edited.get("command").and_then(Value::as_str);
        edited.is_object() && (call.tool.starts_with("mcp__") || command.is_some_and(|text| !text.trim().is_empty()))
    }

    /// The hook is gone: its turn was stopped, or somebody ended it. Nobody waits for the answer.
    pub(super) fn proposal_gone(&mut self, id: &Id, out: &mut Output) {
        self.peer.withdraw(id);
        let key = id.to_string();
        if let Some(Open { kind: Kind::Proposal { asked: true, .. }, .. }) = self.asks.take(&key) {
            out.report(Report::AskWithdrawn { key, reason: WITHDRAWN.to_owned() });
        }
    }

    /// Accepts what Codex asks for approval of, where the gate has let the same call pass.
    pub(super) fn accept_if_cleared(
        &mut self,
        open: &Open,
        clears: impl FnOnce(&Passage) -> bool,
        out: &mut Output,
    ) -> bool {
        let Some(item_id) = &open.item_id else { return false };
        let Some(work) = self.work(&open.thread_id) else { return false };
        let is_cleared = work.passages.get(item_id).is_some_and(clears);
        if is_cleared {
            let accepted = open.kind.accepted();
            self.respond(&open.id, accepted, out);
        }
        is_cleared
    }
}

/// Whether Codex runs a call of this tool with another input.
fn takes_edits(tool: &str) -> bool {
    matches!(tool, "Bash" | "apply_patch") || tool.starts_with("mcp__")
}

/// What a message gets that must not run because rules would not hold.
pub(super) fn not_in_force(why: &str) -> Failure {
    Failure {
        code: NOT_IN_FORCE.to_owned(),
        fix: Some(
            "choose one of Codex's own modes, or let Codex run hooks of its sessions (requirements.toml)".to_owned(),
        ),
        ..failure(format!("rules cannot hold, because Codex does not run the hook that asks for them: {why}"))
    }
}

fn failure(message: String) -> Failure {
    let fix = Some("look at what ran, then run `turnloom doctor` and send the message again".to_owned());
    Failure { message, code: String::new(), retryable: false, fix }
}
