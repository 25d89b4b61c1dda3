//! What goes on in one thread: its open blocks and tools, and the names they have in the log. Which thread it is, and when its turns begin and end,
//! is decided elsewhere.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::gate::Passage;
use super::terminals::{Background, Key};
use super::turn::UsageMeter;
use super::unlisted::Unlisted;
use super::wire::Change;
use crate::event::{Event, PlanUpdated, Retracted, Thinking, ToolResult};
use crate::id::{BlockId, SubagentId, ToolUseId};
use crate::runtime::{Output, Report, StreamedText, TextKind};

/// How many ended items are remembered, so that what still comes of them is not taken for something new.
const MAX_SETTLED: usize = 1_024;

/// An id of fewer letters is not random enough to be the only one of its name.
const UNIQUE: usize = 20;

#[derive(Debug, Default)]
pub(super) struct ThreadWork {
    /// Nothing for the conversation's own thread.
    pub(super) owner: Option<SubagentId>,
    /// Items of different threads may have the same ids; in the log they may not.
    prefix: String,
    pub(super) turn: Option<String>,
    pub(super) text: StreamedText,
    blocks: BTreeMap<String, (BlockId, TextKind)>,
    pub(super) tools: BTreeMap<String, Tool>,
    /// Items of this turn that have ended. What is said of them again is said twice.
    finished: BTreeSet<String>,
    /// Calls of this turn that may have no item.
    pub(super) unlisted: BTreeMap<String, Unlisted>,
    /// Calls of this turn that were proposed before they ran.
    pub(super) passages: BTreeMap<String, Passage>,
    /// Names that were given in this turn; of a sub-agent, ever.
    used: BTreeSet<String>,
    /// Which part of which raw thoughts came last.
    part: Option<(String, u64)>,
    /// An empty thought that shows life until something is said or done.
    waiting: Option<BlockId>,
    pub(super) background: BTreeMap<Key, Background>,
    settled: BTreeSet<Key>,
    /// The last message, and whether it was said to be the final one.
    pub(super) answer: Option<(bool, String)>,
    pub(super) diff: String,
    /// What is being reviewed.
    pub(super) review: Option<String>,
    /// The last plan, which is often said again.
    pub(super) plan: Option<PlanUpdated>,
    pub(super) usage_meter: UsageMeter,
    pub(super) compacting: Option<Compacting>,
    /// A person asked for this turn's compaction.
    pub(super) compaction_wanted: bool,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Compacting {
    pub(super) tokens_before: Option<u64>,
}

/// An open tool call.
#[derive(Debug)]
pub(super) struct Tool {
    pub(super) id: ToolUseId,
    pub(super) kind: ToolKind,
    /// A person was asked about it and has not allowed it.
    pub(super) held: bool,
    /// While it was held, another call was rejected: if both are of one script, it is never run.
    pub(super) may_never_run: bool,
}

#[derive(Debug)]
pub(super) enum ToolKind {
    Command { script: String },
    Change { changes: Vec<Change> },
    Mcp { server: String, tool: String, arguments: Value },
    Other,
}

impl ThreadWork {
    /// The work of a sub-agent's thread.
    pub(super) fn of_subagent(thread_id: &str) -> Self {
        let short = thread_id.rsplit('-').next().unwrap_or(thread_id);
        Self { owner: Some(SubagentId::trusted(thread_id)), prefix: format!("{short}:"), ..Self::default() }
    }

    pub(super) fn say(&self, event: impl Into<Event>, out: &mut Output) {
        out.report(Report::Fact { subagent_id: self.owner.clone(), event: event.into() });
    }

    pub(super) fn begin_turn(&mut self, turn_id: &str, out: &mut Output) {
        if self.turn.as_deref() == Some(turn_id) {
            return;
        }
        self.forget_turn();
        self.turn = Some(turn_id.to_owned());
        if self.owner.is_none() {
            self.used.clear();
        }
        if self.compaction_wanted {
            return; // It has nothing to think about, and says itself that it lives.
        }
        let block_id = BlockId::trusted(format!("{}start.{turn_id}", self.prefix));
        self.say(Thinking { block_id: block_id.clone(), done: Some(false), ..Thinking::default() }, out);
        self.waiting = Some(block_id);
    }

    pub(super) fn end_turn(&mut self, status: &str, out: &mut Output) {
        let turn_id = self.turn.clone().unwrap_or_default();
        if status == "completed" {
            // What was streamed and never finished is not part of the conversation.
            self.retract_open("Codex dropped this message", Some(TextKind::Text), out);
        }
        self.close_waiting_block(out);
        for (item_id, tool) in std::mem::take(&mut self.tools) {
            let key = (turn_id.clone(), item_id.clone());
            if tool.held {
                let (tool_use_id, output) = (tool.id, "nobody allowed it".to_owned());
                let denied = Some(true);
                self.say(ToolResult { tool_use_id, output, is_error: true, denied, ..ToolResult::default() }, out);
                self.settle(key);
                continue;
            }
            match tool.kind {
                // One that a person allowed has no process yet when it is told of.
                ToolKind::Command { ref script } if status != "interrupted" => {
                    let label = script.clone();
                    self.leave_running(key, tool, label, out);
                }
                ToolKind::Command { .. } | ToolKind::Change { .. } | ToolKind::Mcp { .. } | ToolKind::Other => {
                    self.settle(key);
                }
            }
        }
        self.forget_turn();
    }

    fn forget_turn(&mut self) {
        self.text.clear();
        self.blocks.clear();
        self.tools.clear();
        self.finished.clear();
        self.unlisted.clear();
        self.passages.clear();
        self.diff.clear();
        (self.turn, self.waiting, self.answer, self.compacting) = (None, None, None, None);
        (self.plan, self.review) = (None, None);
    }

    /// An item begins. The model may use a name again.
    pub(super) fn item_started(&mut self, item_id: &str) {
        self.finished.remove(item_id);
    }

    /// An item ends; false if it has already.
    pub(super) fn item_ended(&mut self, item_id: &str) -> bool {
        item_id.is_empty() || self.finished.insert(item_id.to_owned())
    }

    pub(super) fn has_finished(&self, item_id: &str) -> bool {
        self.finished.contains(item_id)
    }

    /// Whether Codex has told of an item in this turn.
    pub(super) fn has_item(&self, item_id: &str) -> bool {
        self.tools.contains_key(item_id) || self.finished.contains(item_id)
    }

    pub(super) fn settle(&mut self, key: Key) {
        if self.settled.len() >= MAX_SETTLED {
            self.settled.pop_first();
        }
        self.settled.insert(key);
    }

    /// Whether this is the late end of something that its turn's end has already closed.
    pub(super) fn was_settled(&mut self, turn_id: &str, item_id: &str) -> bool {
        self.settled.remove(&(turn_id.to_owned(), item_id.to_owned()))
    }

    // ---- names ----

    /// A name for an item in the log, not used before. Ids that are merely counted begin anew with every process or every answer of a model; the turn
    /// makes them ones of their own.
    pub(super) fn fresh_name(&mut self, item_id: &str) -> String {
        let turn = self.turn.as_deref().filter(|_| item_id.len() < UNIQUE);
        let name = match turn.map(|turn| turn.rsplit('-').next().unwrap_or(turn)) {
            Some(turn) => format!("{}{turn}:{item_id}", self.prefix),
            None => format!("{}{item_id}", self.prefix),
        };
        let mut free = name.clone();
        let mut number = 1_u64;
        while self.used.contains(&free) {
            number += 1;
            free = format!("{name}.{number}");
        }
        self.used.insert(free.clone());
        free
    }

    pub(super) fn tool_id(&self, item_id: &str) -> Option<ToolUseId> {
        self.tools.get(item_id).map(|tool| tool.id.clone())
    }

    /// Remembers a tool call under a name of its own.
    pub(super) fn open_tool(&mut self, item_id: &str, kind: ToolKind) -> ToolUseId {
        let reserved = self.reserved_name(item_id);
        let id = reserved.unwrap_or_else(|| ToolUseId::trusted(self.fresh_name(item_id)));
        self.tools.insert(item_id.to_owned(), Tool { id: id.clone(), kind, held: false, may_never_run: false });
        id
    }

    // ---- text ----

    /// Something begins, so the empty thought that showed life is closed.
    pub(super) fn close_waiting_block(&mut self, out: &mut Output) {
        if let Some(block_id) = self.waiting.take() {
            self.say(Thinking { block_id, done: Some(true), ..Thinking::default() }, out);
        }
    }

    /// The block of an item. The first thought takes the place of the empty one.
    pub(super) fn block(&mut self, item_id: &str, kind: TextKind, out: &mut Output) -> BlockId {
        if let Some((block_id, _)) = self.blocks.get(item_id) {
            return block_id.clone();
        }
        let waiting = if kind == TextKind::Thinking { self.waiting.take() } else { None };
        let block_id = waiting.unwrap_or_else(|| {
            self.close_waiting_block(out);
            BlockId::trusted(self.fresh_name(item_id))
        });
        self.blocks.insert(item_id.to_owned(), (block_id.clone(), kind));
        block_id
    }

    pub(super) fn piece(&mut self, item_id: &str, kind: TextKind, text: String, out: &mut Output) {
        let block_id = self.block(item_id, kind, out);
        let event = self.text.piece(kind, &block_id, text);
        self.say(event, out);
    }

    /// Whether a piece belongs to another part of an item than the piece before it.
    pub(super) fn next_part(&mut self, item_id: &str, part: u64) -> bool {
        let before = self.part.replace((item_id.to_owned(), part));
        before.is_some_and(|(id, before)| id == item_id && before != part)
    }

    pub(super) fn is_waiting(&self) -> bool {
        self.waiting.is_some()
    }

    pub(super) fn is_open(&self, item_id: &str) -> bool {
        self.blocks.contains_key(item_id)
    }

    /// The whole text of an item: what is missing of it is said, and the block is closed.
    pub(super) fn whole(&mut self, item_id: &str, kind: TextKind, whole: &str, out: &mut Output) {
        if whole.is_empty() && !self.is_open(item_id) {
            return;
        }
        let block_id = self.block(item_id, kind, out);
        self.blocks.remove(item_id);
        for event in self.text.finish_as(kind, &block_id, whole) {
            if let Some(name) = name_of(&event) {
                self.used.insert(name);
            }
            self.say(event, out);
        }
    }

    /// Retracts the open blocks, of one kind or of both.
    pub(super) fn retract_open(&mut self, reason: &str, only: Option<TextKind>, out: &mut Output) {
        let open = std::mem::take(&mut self.blocks);
        for (item_id, (block_id, kind)) in open {
            if only.is_some_and(|only| only != kind) {
                self.blocks.insert(item_id, (block_id, kind));
                continue;
            }
            // A thought that was opened without a word is open all the same.
            let event = self.text.retract(&block_id, reason);
            let opened = kind == TextKind::Thinking;
            let empty = opened.then(|| Retracted { block_id, reason: Some(reason.to_owned()) }.into());
            if let Some(event) = event.or(empty) {
                self.say(event, out);
            }
        }
    }
}

fn name_of(event: &Event) -> Option<String> {
    match event {
        Event::Delta(delta) => Some(delta.block_id.to_string()),
        Event::Thinking(thinking) => Some(thinking.block_id.to_string()),
        _ => None,
    }
}
