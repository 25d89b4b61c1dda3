//! Judges recorded calls again: what other rules would change, and which rules would answer what people keep answering.
//!
//! Not here: where the records come from. Nothing is looked up on the machine, because the files of then are gone.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with::skip_serializing_none;

use super::call::{Call, Caller, Mode, Origin, Plain};
use super::decide::{Decision, Scope, decide};
use super::layers::Policy;
use super::offers::offers;
use super::rules::Effect;
use crate::event::{
    Envelope, Event, Origin as TurnOrigin, PermissionReply, PermissionRequest, PermissionResolved, Record,
};
use crate::id::{AskId, Seq, SessionId, ToolUseId};
use crate::time::Timestamp;

/// Calls that are listed; all are counted.
const MAX_LISTED: usize = 1_000;

/// Judgements that are remembered, so that equal calls are judged once.
const MAX_REMEMBERED: usize = 1 << 16;

/// Characters of a call that are told.
const MAX_CHARS: usize = 200;

/// The types of events that say something about calls.
const KINDS: &[&str] =
    &["session_ready", "mode_changed", "turn_started", "tool_start", "permission_request", "permission_resolved"];

/// What would become of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WouldBe {
    Allow,
    Ask,
    Deny,
    /// No rule is about it, and the mode is the agent's own.
    Agent,
}

impl WouldBe {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
            Self::Agent => "agent",
        }
    }

    fn of(decision: &Decision) -> Self {
        match decision.effect {
            _ if decision.up_to_agent => Self::Agent,
            Effect::Allow => Self::Allow,
            Effect::Ask => Self::Ask,
            Effect::Deny => Self::Deny,
        }
    }
}

/// What a back-test has found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "BackTestReport")]
pub struct Report {
    /// Calls that were judged.
    pub calls: u64,
    /// Calls whose input was too large for the log, so that they could not be judged.
    pub not_judged: u64,
    /// How many calls would change, and how.
    pub counts: Vec<ChangeCount>,
    /// The first of them.
    pub changed: Vec<ChangedCall>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangeCount {
    pub old: WouldBe,
    pub new: WouldBe,
    pub calls: u64,
}

/// A call about which the proposed rules say something else.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChangedCall {
    pub session_id: SessionId,
    pub seq: Seq,
    pub tool_use_id: ToolUseId,
    pub at: Timestamp,
    pub tool: String,
    /// The command, the path, or the input, cut.
    pub what: String,
    /// The session's mode then.
    pub mode: Option<String>,
    /// What the rules say now.
    pub old: WouldBe,
    pub old_rule: String,
    /// What they would say.
    pub new: WouldBe,
    pub new_rule: String,
    pub reason: String,
}

/// What of a session decides about its calls, as its log tells it.
#[derive(Debug, Clone, Default)]
pub struct Setting {
    session: String,
    runtime: String,
    directory: String,
    mode: String,
    origin: Origin,
}

impl Setting {
    pub fn new(session: &SessionId, runtime: &str, directory: &str) -> Self {
        let (session, runtime, directory) = (session.to_string(), runtime.to_owned(), directory.to_owned());
        Self { session, runtime, directory, ..Self::default() }
    }

    fn apply(&mut self, event: &Event) {
        match event {
            Event::SessionReady(ready) => {
                self.directory = ready.cwd.clone().unwrap_or_else(|| std::mem::take(&mut self.directory));
                self.mode = ready.mode.clone().unwrap_or_else(|| std::mem::take(&mut self.mode));
            }
            Event::ModeChanged(changed) => self.mode.clone_from(&changed.mode),
            Event::TurnStarted(started) => self.origin = started.origin.into(),
            _ => {}
        }
    }

    fn call<'a>(&'a self, policy: &Policy, tool: &'a str, input: &'a Value, caller: Caller) -> Call<'a> {
        let mode = self.mode.as_str();
        Call {
            tool,
            input,
            runtime: &self.runtime,
            mode: if policy.has_mode(mode) { Mode::Rules(mode) } else { Mode::Agent(mode) },
            directory: &self.directory,
            workspace: &self.directory,
            caller,
            origin: self.origin,
            session: &self.session,
        }
    }
}

impl From<TurnOrigin> for Origin {
    fn from(origin: TurnOrigin) -> Self {
        match origin {
            TurnOrigin::User | TurnOrigin::Component | TurnOrigin::Api | TurnOrigin::Import => Self::User,
            TurnOrigin::Schedule => Self::Scheduled,
            TurnOrigin::Webhook | TurnOrigin::Delegation => Self::Delegated,
            TurnOrigin::Agent => Self::Agent,
        }
    }
}

fn caller_of(envelope: &Envelope) -> Caller {
    if envelope.subagent_id.is_some() { Caller::SubAgent } else { Caller::Main }
}

/// An event that may say something about a call, if the record is one.
fn read(record: &Record) -> Option<Arc<Envelope>> {
    KINDS.contains(&record.kind()).then(|| record.decode().ok()).flatten()
}

/// How a call was judged by both.
#[derive(Debug)]
struct Compared {
    old: WouldBe,
    old_rule: String,
    new: WouldBe,
    new_rule: String,
    reason: String,
}

/// Two sets of rules, and the calls that they disagree about.
#[derive(Debug)]
pub struct BackTest {
    world: Plain,
    old: Arc<Policy>,
    new: Arc<Policy>,
    by_session: bool,
    setting: Setting,
    since: Option<Timestamp>,
    known: HashMap<Vec<u8>, Arc<Compared>>,
    key: Vec<u8>,
    counts: BTreeMap<(WouldBe, WouldBe), u64>,
    report: Report,
}

impl BackTest {
    /// Calls before `since` do not count.
    pub fn new(world: Plain, since: Option<Timestamp>) -> Self {
        let shipped = Arc::new(Policy::shipped());
        Self {
            world,
            old: Arc::clone(&shipped),
            new: shipped,
            by_session: false,
            setting: Setting::default(),
            since,
            known: HashMap::new(),
            key: Vec::new(),
            counts: BTreeMap::new(),
            report: Report::default(),
        }
    }

    /// The next records are those of this session, where these rules count and those would.
    pub fn begin(&mut self, setting: Setting, old: Arc<Policy>, new: Arc<Policy>) {
        if !Arc::ptr_eq(&self.old, &old) || !Arc::ptr_eq(&self.new, &new) {
            self.known.clear();
            self.by_session = old.names_sessions() || new.names_sessions();
            (self.old, self.new) = (old, new);
        }
        self.setting = setting;
    }

    pub fn take(&mut self, record: &Record) {
        // What is asked does not matter here.
        if record.kind().starts_with("permission") {
            return;
        }
        let Some(envelope) = read(record) else { return };
        let Event::ToolStart(start) = &envelope.event else { return self.setting.apply(&envelope.event) };
        if start.client_tool == Some(true) || self.since.is_some_and(|since| envelope.ts < since) {
            return;
        }
        if start.blob.is_some() {
            self.report.not_judged += 1;
            return;
        }
        self.report.calls += 1;
        let input = start.input.as_ref().unwrap_or(&Value::Null);
        let compared = self.compare(&start.tool, input, caller_of(&envelope));
        if compared.old == compared.new {
            return;
        }
        *self.counts.entry((compared.old, compared.new)).or_default() += 1;
        if self.report.changed.len() < MAX_LISTED {
            self.report.changed.push(ChangedCall {
                session_id: envelope.session_id.clone(),
                seq: envelope.seq,
                tool_use_id: start.tool_use_id.clone(),
                at: envelope.ts,
                tool: start.tool.clone(),
                what: what(input),
                mode: Some(self.setting.mode.clone()).filter(|mode| !mode.is_empty()),
                old: compared.old,
                old_rule: compared.old_rule.clone(),
                new: compared.new,
                new_rule: compared.new_rule.clone(),
                reason: compared.reason.clone(),
            });
        }
    }

    pub fn finish(mut self) -> Report {
        self.report.counts =
            self.counts.into_iter().map(|((old, new), calls)| ChangeCount { old, new, calls }).collect();
        self.report
    }

    fn compare(&mut self, tool: &str, input: &Value, caller: Caller) -> Arc<Compared> {
        let setting = &self.setting;
        self.key.clear();
        let session = if self.by_session { setting.session.as_str() } else { "" };
        for part in [tool, &setting.mode, &setting.directory, &setting.runtime, session] {
            self.key.extend(part.as_bytes());
            self.key.push(0);
        }
        self.key.extend([caller as u8, setting.origin as u8]);
        // Writing to memory does not fail.
        drop(serde_json::to_writer(&mut self.key, input));
        if let Some(known) = self.known.get(self.key.as_slice()) {
            return Arc::clone(known);
        }
        let old = decide(&self.old, &setting.call(&self.old, tool, input, caller), &self.world);
        let new = decide(&self.new, &setting.call(&self.new, tool, input, caller), &self.world);
        let compared = Arc::new(Compared {
            old: WouldBe::of(&old),
            old_rule: old.rule.to_string(),
            new: WouldBe::of(&new),
            new_rule: new.rule.to_string(),
            reason: new.reason,
        });
        if self.known.len() >= MAX_REMEMBERED {
            self.known.clear();
        }
        self.known.insert(self.key.clone(), Arc::clone(&compared));
        compared
    }
}

/// A rule that would answer what people keep answering.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Suggestion {
    /// In TOML, without an id.
    pub rule: String,
    pub scope: Scope,
    /// What it is about, for people.
    pub label: String,
    /// The calls that it would have covered.
    pub calls: Vec<CoveredCall>,
}

#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CoveredCall {
    pub session_id: SessionId,
    /// Where it was asked about.
    pub seq: Seq,
    pub tool_use_id: Option<ToolUseId>,
    pub what: String,
}

/// Collects what people answered, and finds rules in it.
#[derive(Debug)]
pub struct Suggester {
    world: Plain,
    policy: Arc<Policy>,
    setting: Setting,
    since: Option<Timestamp>,
    /// What is asked in the session, and who asks.
    asked: HashMap<AskId, (Seq, Caller, Box<PermissionRequest>)>,
    /// By rule: its place among all, what it is about, and what people said to the calls that it covers.
    candidates: BTreeMap<String, Candidate>,
}

#[derive(Debug)]
struct Candidate {
    order: usize,
    scope: Scope,
    label: String,
    allowed: Vec<CoveredCall>,
    rejected: Vec<CoveredCall>,
}

impl Suggester {
    pub fn new(world: Plain, since: Option<Timestamp>) -> Self {
        let (policy, setting) = (Arc::new(Policy::shipped()), Setting::default());
        Self { world, policy, setting, since, asked: HashMap::new(), candidates: BTreeMap::new() }
    }

    /// The next records are those of this session, where these rules count.
    pub fn begin(&mut self, setting: Setting, policy: Arc<Policy>) {
        (self.setting, self.policy) = (setting, policy);
        self.asked.clear();
    }

    pub fn take(&mut self, record: &Record) {
        if record.kind() == "tool_start" {
            return;
        }
        let Some(envelope) = read(record) else { return };
        match &envelope.event {
            Event::PermissionRequest(request) => {
                let asked = (envelope.seq, caller_of(&envelope), Box::new(request.clone()));
                self.asked.insert(request.ask_id.clone(), asked);
            }
            Event::PermissionResolved(resolved) => {
                let Some(asked) = self.asked.remove(&resolved.ask_id) else { return };
                if self.since.is_none_or(|since| envelope.ts >= since) {
                    self.answered(&envelope.session_id, asked, resolved);
                }
            }
            event => self.setting.apply(event),
        }
    }

    fn answered(
        &mut self,
        session: &SessionId,
        (seq, caller, request): (Seq, Caller, Box<PermissionRequest>),
        resolved: &PermissionResolved,
    ) {
        let own_choices =
            request.options.iter().any(|option| option.reply == PermissionReply::Always && option.scope.is_none());
        // An answer to other input, or none at all, says nothing about this call.
        if own_choices || resolved.why_unanswered().is_some() || resolved.updated_input.is_some() {
            return;
        }
        let call = self.setting.call(&self.policy, &request.tool_name, &request.tool_input, caller);
        let decision = decide(&self.policy, &call, &self.world);
        let offered = offers(&self.policy, &call, &self.world, &decision);
        let covered = CoveredCall {
            session_id: session.clone(),
            seq,
            tool_use_id: request.tool_use_id.clone(),
            what: what(&request.tool_input),
        };
        for offer in offered.into_iter().filter(|offer| offer.scope != Scope::Session) {
            let order = self.candidates.len();
            let candidate = self.candidates.entry(offer.rule).or_insert_with(|| Candidate {
                order,
                scope: offer.scope,
                label: offer.label,
                allowed: Vec::new(),
                rejected: Vec::new(),
            });
            let list = if resolved.allowed { &mut candidate.allowed } else { &mut candidate.rejected };
            list.push(covered.clone());
        }
    }

    /// Rules that at least so many equal answers speak for, and none against. Those that cover most come first; of those that cover the same calls the
    /// narrowest is named.
    pub fn finish(self, at_least: usize) -> Vec<Suggestion> {
        let mut candidates: Vec<(String, Candidate)> = self.candidates.into_iter().collect();
        candidates.sort_by_key(|(_, candidate)| candidate.order);
        let mut suggestions: Vec<Suggestion> = Vec::new();
        for (rule, Candidate { scope, label, allowed, rejected, .. }) in candidates {
            let (rule, calls) = match (allowed.len(), rejected.len()) {
                (allows, 0) if allows >= at_least => (rule, allowed),
                (0, rejects) if rejects >= at_least => (denying(&rule), rejected),
                _ => continue,
            };
            if !suggestions.iter().any(|known| known.calls == calls) {
                suggestions.push(Suggestion { rule, scope, label, calls });
            }
        }
        suggestions.sort_by_key(|suggestion| std::cmp::Reverse(suggestion.calls.len()));
        suggestions
    }
}

/// The same rule with the other effect. One that denies beats others by itself.
fn denying(rule: &str) -> String {
    let lines = rule.lines().filter(|line| !line.starts_with("beats = "));
    let lines = lines.map(|line| if line.starts_with("effect = ") { "effect = \"deny\"" } else { line });
    lines.collect::<Vec<_>>().join("\n")
}

/// A call in one line.
fn what(input: &Value) -> String {
    let text = |name: &str| input.get(name).and_then(Value::as_str).map(str::to_owned);
    let told = ["command", "file_path", "path", "url", "pattern"].into_iter().find_map(text);
    let told = crate::view::mask(&told.unwrap_or_else(|| input.to_string()));
    match told.char_indices().nth(MAX_CHARS) {
        Some((at, _)) => format!("{}…", told.get(..at).unwrap_or_default()),
        None => told,
    }
}
