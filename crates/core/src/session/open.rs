//! What is open in a session: tools, blocks, asks, sub-agents, background work. The end of a turn closes what the turn opened; this module knows what
//! that is and which facts close it.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::event::{
    BackgroundEnded, BackgroundKind, CompactionEnd, DAEMON, Delta, Envelope, Event, InterruptResolved, Outcome,
    PermissionReply, PermissionResolved, QuestionResolved, SubagentEnded, Thinking, ToolResult, Unanswered, WorkStatus,
};
use crate::id::{AskId, BackgroundId, BlockId, SubagentId, ToolUseId};
use crate::summary::{AskKind, AskRequest, PendingAsk};

/// How deep sub-agents may be nested. An agent may name anything as a parent, even itself. A deeper sub-agent belongs to the turn.
const MAX_SUBAGENT_DEPTH: usize = 64;

/// The owner of something open: the agent itself, or one of its sub-agents.
pub(super) type Owner = Option<SubagentId>;

#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OpenWork {
    pub(super) tools: BTreeMap<ToolUseId, Owner>,
    blocks: BTreeMap<BlockId, (BlockKind, Owner)>,
    pub(super) asks: BTreeMap<AskId, OpenAsk>,
    subagents: BTreeMap<SubagentId, OpenSubagent>,
    background: BTreeMap<BackgroundId, OpenBackground>,
    compacting: bool,
    /// Of this turn; what is closed must not be opened again.
    closed_tools: BTreeSet<ToolUseId>,
    /// Of this turn, and (true) of what is done in the background, which knows no turns.
    closed_blocks: BTreeMap<BlockId, bool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum BlockKind {
    Text,
    Thinking,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct OpenAsk {
    pub(super) pending: PendingAsk,
    pub(super) tool_name: String,
    pub(super) owner: Owner,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct OpenBackground {
    kind: BackgroundKind,
    /// The call that it was, as far as it was one.
    call: Option<ToolUseId>,
}

#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct OpenSubagent {
    name: String,
    background: bool,
    parent: Owner,
    tool_calls: u64,
    file_changes: u64,
}

impl OpenAsk {
    /// What the agent calls it, where that is written down.
    pub(super) fn key(&self) -> Option<&str> {
        match &self.pending.request {
            AskRequest::Permission(request) => request.key.as_deref(),
            AskRequest::Question(request) => request.key.as_deref(),
            AskRequest::Interrupt(request) => request.key.as_deref(),
        }
    }
}

/// What is being closed.
#[derive(Debug, Clone, Copy)]
pub(super) enum Scope<'a> {
    /// All that the turn opened and did not hand over to the background.
    Turn,
    /// All that this sub-agent opened, but not itself.
    Inside(&'a SubagentId),
    /// Everything.
    All,
}

impl OpenWork {
    /// Whether nothing is open at all.
    pub(super) fn is_empty(&self) -> bool {
        self.tools.is_empty()
            && self.blocks.is_empty()
            && self.asks.is_empty()
            && self.subagents.is_empty()
            && self.background.is_empty()
            && !self.compacting
    }

    /// Whether something runs that may speak between turns.
    pub(super) fn has_background(&self) -> bool {
        !self.background.is_empty() || self.subagents.values().any(|subagent| subagent.background)
    }

    /// Whether this is a sub-agent that runs.
    pub(super) fn is_subagent(&self, id: &SubagentId) -> bool {
        self.subagents.contains_key(id)
    }

    /// How many things run that may speak between turns.
    pub(super) fn background_count(&self) -> usize {
        self.background.len() + self.subagents.values().filter(|subagent| subagent.background).count()
    }

    /// What it is that has this name in the background: a task, or a sub-agent. Nothing, if there is no such thing.
    pub(super) fn kind_in_background(&self, id: &str) -> Option<BackgroundKind> {
        let subagent = || self.subagents.get(id).filter(|subagent| subagent.background);
        self.background.get(id).map(|task| task.kind).or_else(|| subagent().map(|_| BackgroundKind::Agent))
    }

    /// Whether this call goes on in the background.
    pub(super) fn is_background_call(&self, tool_use_id: &ToolUseId) -> bool {
        self.background.values().any(|task| task.call.as_ref() == Some(tool_use_id))
    }

    /// Whether this is done by a sub-agent that outlives its turn.
    pub(super) fn in_background(&self, owner: Option<&SubagentId>) -> bool {
        self.lineage(owner).any(|id| self.subagents.get(id).is_some_and(|subagent| subagent.background))
    }

    /// A sub-agent, the one that started it, and so on up.
    fn lineage<'a>(&'a self, owner: Option<&'a SubagentId>) -> impl Iterator<Item = &'a SubagentId> {
        let parent = |id: &&SubagentId| self.subagents.get(*id).and_then(|subagent| subagent.parent.as_ref());
        std::iter::successors(owner, parent).take(MAX_SUBAGENT_DEPTH)
    }

    /// What this sub-agent did so far: tool calls and file changes.
    pub(super) fn counts(&self, id: &SubagentId) -> (u64, u64) {
        self.subagents.get(id).map_or((0, 0), |subagent| (subagent.tool_calls, subagent.file_changes))
    }

    /// Why a fact would break a law, if it would.
    pub(super) fn law_violation(&self, event: &Event, actor: Option<&SubagentId>) -> Option<&'static str> {
        let foreign = |id: &BlockId| self.blocks.get(id).is_some_and(|(_, owner)| owner.as_ref() != actor);
        match event {
            Event::Delta(delta) if foreign(&delta.block_id) => Some("this block belongs to another agent"),
            Event::Thinking(thinking) if foreign(&thinking.block_id) => Some("this block belongs to another agent"),
            Event::ToolStart(start) if self.tools.contains_key(&start.tool_use_id) => {
                Some("this tool call has already started")
            }
            Event::ToolStart(start) if self.closed_tools.contains(&start.tool_use_id) => {
                Some("this tool call has already ended")
            }
            Event::ToolResult(result) if self.closed_tools.contains(&result.tool_use_id) => {
                Some("this tool call already has a result")
            }
            Event::Delta(delta) if self.closed_blocks.contains_key(&delta.block_id) => {
                Some("this block is already closed")
            }
            Event::Thinking(thinking) if self.closed_blocks.contains_key(&thinking.block_id) => {
                Some("this block is already closed")
            }
            Event::SubagentStarted(started) if self.subagents.contains_key(&started.subagent_id) => {
                Some("this sub-agent has already started")
            }
            Event::SubagentEnded(ended) if !self.subagents.contains_key(&ended.subagent_id) => {
                Some("no such sub-agent is running")
            }
            Event::SubagentUpdated(updated) if !self.subagents.contains_key(&updated.subagent_id) => {
                Some("no such sub-agent is running")
            }
            Event::BackgroundStarted(started) if self.background.contains_key(&started.background_id) => {
                Some("this background task has already started")
            }
            Event::BackgroundEnded(ended) if !self.background.contains_key(&ended.background_id) => {
                Some("no such background task is running")
            }
            Event::CompactionStart(_) if self.compacting => Some("a compaction is already running"),
            Event::CompactionEnd(_) if !self.compacting => Some("no compaction is running"),
            _ => None,
        }
    }

    pub(super) fn apply(&mut self, envelope: &Envelope) {
        let owner = &envelope.subagent_id;
        match &envelope.event {
            Event::ToolStart(start) => {
                if let Some(subagent) = owner.as_ref().and_then(|id| self.subagents.get_mut(id)) {
                    subagent.tool_calls += 1;
                }
                if !self.closed_tools.contains(&start.tool_use_id) {
                    self.tools.insert(start.tool_use_id.clone(), owner.clone());
                }
            }
            Event::ToolResult(result) => {
                if let Some(subagent) = owner.as_ref().and_then(|id| self.subagents.get_mut(id)) {
                    subagent.file_changes += u64::from(result.diff.is_some());
                }
                self.tools.remove(&result.tool_use_id);
                self.closed_tools.insert(result.tool_use_id.clone());
            }
            Event::Delta(delta) => self.block(&delta.block_id, BlockKind::Text, delta.done, owner),
            Event::Thinking(thinking) => {
                self.block(&thinking.block_id, BlockKind::Thinking, thinking.done == Some(true), owner);
            }
            Event::Retracted(retracted) => self.close_block(&retracted.block_id, owner),
            Event::SubagentStarted(started) => {
                let subagent = OpenSubagent {
                    name: started.name.clone(),
                    background: started.background == Some(true),
                    parent: started.parent_subagent_id.clone(),
                    ..OpenSubagent::default()
                };
                self.subagents.insert(started.subagent_id.clone(), subagent);
            }
            Event::SubagentUpdated(updated) => {
                if let Some(subagent) = self.subagents.get_mut(&updated.subagent_id) {
                    subagent.background = updated.background.unwrap_or(subagent.background);
                }
            }
            Event::SubagentEnded(ended) => {
                self.subagents.remove(&ended.subagent_id);
            }
            Event::BackgroundStarted(started) => {
                let task = OpenBackground { kind: started.kind, call: started.tool_use_id.clone() };
                self.background.insert(started.background_id.clone(), task);
                // Handed over: from here on its end is the background task's.
                if let Some(tool_use_id) = &started.tool_use_id {
                    self.tools.remove(tool_use_id);
                }
            }
            Event::BackgroundEnded(ended) => {
                self.background.remove(&ended.background_id);
            }
            Event::CompactionStart(_) => self.compacting = true,
            Event::CompactionEnd(_) => self.compacting = false,
            Event::Done(_) => {
                self.closed_tools.clear();
                self.closed_blocks.retain(|_, in_background| *in_background);
            }
            _ => self.apply_ask(envelope),
        }
    }

    fn apply_ask(&mut self, envelope: &Envelope) {
        let (ask_id, kind, tool_name, title, asked) = match &envelope.event {
            Event::PermissionRequest(request) => {
                let title = request.title.clone().unwrap_or_else(|| format!("Allow {}?", request.tool_name));
                let asked = AskRequest::Permission(request.clone());
                (&request.ask_id, AskKind::Permission, request.tool_name.clone(), title, asked)
            }
            Event::QuestionRequest(request) => {
                let prompt = request.questions.first().map(|question| question.prompt.clone());
                let title = request.title.clone().or(prompt).unwrap_or_default();
                (&request.ask_id, AskKind::Question, String::new(), title, AskRequest::Question(request.clone()))
            }
            Event::Interrupt(request) => {
                let asked = AskRequest::Interrupt(request.clone());
                (&request.interrupt_id, AskKind::Interrupt, String::new(), request.component_name.clone(), asked)
            }
            Event::PermissionResolved(resolved) => return drop(self.asks.remove(&resolved.ask_id)),
            Event::QuestionResolved(resolved) => return drop(self.asks.remove(&resolved.ask_id)),
            Event::InterruptResolved(resolved) => return drop(self.asks.remove(&resolved.interrupt_id)),
            _ => return,
        };
        let pending = PendingAsk {
            ask_id: ask_id.clone(),
            kind,
            turn_id: envelope.turn_id.clone(),
            seq: envelope.seq,
            asked_at: envelope.ts,
            title,
            request: asked,
            subagent_id: envelope.subagent_id.clone(),
            subagent_name: envelope.subagent_id.as_ref().and_then(|id| Some(self.subagents.get(id)?.name.clone())),
        };
        self.asks.insert(ask_id.clone(), OpenAsk { pending, tool_name, owner: envelope.subagent_id.clone() });
    }

    fn block(&mut self, id: &BlockId, kind: BlockKind, done: bool, owner: &Owner) {
        if done {
            self.close_block(id, owner);
        } else if !self.blocks.contains_key(id) {
            self.blocks.insert(id.clone(), (kind, owner.clone()));
        }
    }

    fn close_block(&mut self, id: &BlockId, owner: &Owner) {
        self.blocks.remove(id);
        self.closed_blocks.insert(id.clone(), self.in_background(owner.as_ref()));
    }

    fn covers(&self, scope: Scope<'_>, owner: Option<&SubagentId>) -> bool {
        match scope {
            Scope::All => true,
            Scope::Turn => !self.in_background(owner),
            Scope::Inside(id) => self.lineage(owner).any(|ancestor| ancestor == id),
        }
    }

    /// The facts that close what is open, each with who had opened it.
    pub(super) fn closing_events(&self, scope: Scope<'_>, outcome: Outcome, reason: &str) -> Vec<(Owner, Event)> {
        let mut facts: Vec<(Owner, Event)> = Vec::new();
        for ask in self.asks.values().filter(|ask| self.covers(scope, ask.owner.as_ref())) {
            facts.push((ask.owner.clone(), unanswered(ask, unanswered_reason(outcome), reason)));
        }
        let interrupted = outcome != Outcome::Completed;
        for (id, (kind, owner)) in self.blocks.iter().filter(|(_, (_, owner))| self.covers(scope, owner.as_ref())) {
            let (block_id, text) = (id.clone(), String::new());
            let event = match kind {
                BlockKind::Text => Delta { block_id, text, done: true, interrupted }.into(),
                BlockKind::Thinking => Thinking { block_id, text, done: Some(true), interrupted }.into(),
            };
            facts.push((owner.clone(), event));
        }
        for (id, owner) in self.tools.iter().filter(|(_, owner)| self.covers(scope, owner.as_ref())) {
            let result = ToolResult {
                tool_use_id: id.clone(),
                output: reason.to_owned(),
                is_error: true,
                interrupted: Some(true),
                ..ToolResult::default()
            };
            facts.push((owner.clone(), result.into()));
        }
        let status = if interrupted { WorkStatus::Interrupted } else { WorkStatus::Completed };
        for (id, subagent) in &self.subagents {
            let itself = matches!(scope, Scope::Inside(outer) if outer == id);
            if !itself && self.covers(scope, Some(id)) {
                let OpenSubagent { tool_calls, file_changes, .. } = *subagent;
                facts.push((None, SubagentEnded { subagent_id: id.clone(), status, tool_calls, file_changes }.into()));
            }
        }
        if matches!(scope, Scope::All) {
            for id in self.background.keys() {
                let ended = BackgroundEnded {
                    background_id: id.clone(),
                    status: WorkStatus::Interrupted,
                    reason: Some(reason.to_owned()),
                    ..Default::default()
                };
                facts.push((None, ended.into()));
            }
        }
        if self.compacting && !matches!(scope, Scope::Inside(_)) {
            facts.push((None, CompactionEnd { failed: Some(true), ..CompactionEnd::default() }.into()));
        }
        facts
    }
}

/// Why nobody answers what was asked in work that ended so.
fn unanswered_reason(outcome: Outcome) -> Unanswered {
    match outcome {
        Outcome::Completed => Unanswered::Withdrawn,
        Outcome::Stopped => Unanswered::Stopped,
        Outcome::Interrupted | Outcome::Failed => Unanswered::Interrupted,
    }
}

/// The fact that an ask ended without a person.
pub(super) fn unanswered(ask: &OpenAsk, why: Unanswered, reason: &str) -> Event {
    let (by, reason, unanswered) = (DAEMON.to_owned(), Some(reason.to_owned()), Some(why));
    let ask_id = ask.pending.ask_id.clone();
    match ask.pending.kind {
        AskKind::Permission => PermissionResolved {
            ask_id,
            tool_name: ask.tool_name.clone(),
            allowed: false,
            reply: PermissionReply::Reject,
            by,
            reason,
            rule: None,
            updated_input: None,
            unanswered,
            along_with: None,
        }
        .into(),
        AskKind::Question => {
            QuestionResolved { ask_id, answers: None, rejected: Some(true), by, reason, unanswered }.into()
        }
        AskKind::Interrupt => {
            InterruptResolved { interrupt_id: ask_id, value: None, is_error: None, by, reason, unanswered }.into()
        }
    }
}
