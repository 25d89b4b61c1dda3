//! The laws of a log, checked from the outside: this reads events as a stranger would and shares no code with the machine that wrote them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::event::{Envelope, Event, SteerState};
use crate::id::{AskId, BackgroundId, BlockId, MessageId, Seq, SubagentId, ToolUseId, TurnId};

/// One law broken at one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    pub seq: Seq,
    pub law: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "seq {}: {}", self.seq, self.law)
    }
}

/// Whether the log is that of a session that still works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// A turn may be open at the end.
    Live,
    /// Everything must be closed.
    AtRest,
}

/// Reads a whole log and says what is wrong with it.
pub fn check<'a>(log: impl IntoIterator<Item = &'a Envelope>, ending: Ending) -> Vec<Violation> {
    let mut reader = Reader::default();
    for envelope in log {
        reader.read(envelope);
    }
    if ending == Ending::AtRest {
        reader.must_be_at_rest();
    }
    reader.violations
}

#[derive(Default)]
struct Reader {
    seq: Seq,
    turn: Option<TurnId>,
    turns: BTreeSet<TurnId>,
    tools: BTreeMap<ToolUseId, Option<SubagentId>>,
    blocks: BTreeMap<BlockId, Option<SubagentId>>,
    closed_blocks: BTreeSet<(Option<TurnId>, BlockId)>,
    asks: BTreeMap<AskId, Option<SubagentId>>,
    settled: BTreeSet<AskId>,
    /// Calls that wait for a client, and their asks.
    client_calls: BTreeMap<AskId, ToolUseId>,
    subagents: BTreeMap<SubagentId, (bool, Option<SubagentId>)>,
    background: BTreeSet<BackgroundId>,
    compacting: bool,
    messages: BTreeSet<MessageId>,
    steers: BTreeSet<MessageId>,
    violations: Vec<Violation>,
}

impl Reader {
    fn broken(&mut self, law: impl Into<String>) {
        self.violations.push(Violation { seq: self.seq, law: law.into() });
    }

    fn require(&mut self, holds: bool, law: impl FnOnce() -> String) {
        if !holds {
            self.broken(law());
        }
    }

    fn read(&mut self, envelope: &Envelope) {
        let expected = self.seq.next();
        self.seq = envelope.seq;
        self.require(envelope.seq == expected, || format!("the sequence must be dense: {expected} was due"));
        if let Some(turn_id) = &envelope.turn_id
            && !matches!(envelope.event, Event::UserMessage(_) | Event::TurnStarted(_))
        {
            let inside = self.turn.as_ref() == Some(turn_id);
            self.require(inside, || format!("{} names {turn_id}, which is not running", envelope.event.kind()));
        }
        match &envelope.event {
            Event::TurnStarted(_) => self.turn_started(envelope.turn_id.clone()),
            Event::Done(_) => self.done(),
            Event::UserMessage(message) => {
                let new = self.messages.insert(message.message_id.clone());
                self.require(new, || format!("message {} was sent twice", message.message_id));
            }
            Event::Steer(steer) => {
                let in_order = match steer.state {
                    SteerState::Accepted => self.steers.insert(steer.message_id.clone()),
                    SteerState::Delivered | SteerState::Rejected | SteerState::Returned => {
                        self.steers.remove(&steer.message_id)
                    }
                };
                self.require(in_order, || format!("steer {} is {:?} out of order", steer.message_id, steer.state));
            }
            _ => self.work(envelope),
        }
    }

    fn turn_started(&mut self, turn_id: Option<TurnId>) {
        self.require(self.turn.is_none(), || "a turn starts inside another".to_owned());
        let Some(turn_id) = turn_id else { return self.broken("a turn starts without a turn_id") };
        let new = self.turns.insert(turn_id.clone());
        self.require(new, || format!("{turn_id} starts twice"));
        self.turn = Some(turn_id);
    }

    fn done(&mut self) {
        let was_running = self.turn.take().is_some();
        self.require(was_running, || "done without a turn".to_owned());
        let left: Vec<String> = self.left_open_by_the_turn();
        self.require(left.is_empty(), || format!("done with {} still open", left.join(", ")));
        let no_steers = self.steers.is_empty();
        self.require(no_steers, || "done with an undelivered steer".to_owned());
    }

    fn left_open_by_the_turn(&self) -> Vec<String> {
        let foreground = |owner: &Option<SubagentId>| !self.in_background(owner.as_ref());
        let tools = self.tools.iter().filter(|(_, owner)| foreground(owner)).map(|(id, _)| format!("tool {id}"));
        let blocks = self.blocks.iter().filter(|(_, owner)| foreground(owner)).map(|(id, _)| format!("block {id}"));
        let asks = self.asks.iter().filter(|(_, owner)| foreground(owner)).map(|(id, _)| format!("ask {id}"));
        let subagents =
            self.subagents.keys().filter(|id| !self.in_background(Some(id))).map(|id| format!("sub-agent {id}"));
        let compaction = self.compacting.then(|| "a compaction".to_owned());
        tools.chain(blocks).chain(asks).chain(subagents).chain(compaction).collect()
    }

    fn in_background(&self, owner: Option<&SubagentId>) -> bool {
        let mut owner = owner;
        let mut steps = self.subagents.len() + 1;
        while let Some((background, parent)) = owner.and_then(|id| self.subagents.get(id)) {
            if *background {
                return true;
            }
            owner = parent.as_ref();
            steps -= 1;
            if steps == 0 {
                return false;
            }
        }
        false
    }

    fn work(&mut self, envelope: &Envelope) {
        let owner = envelope.subagent_id.clone();
        match &envelope.event {
            Event::ToolStart(start) => {
                let new = self.tools.insert(start.tool_use_id.clone(), owner).is_none();
                self.require(new, || format!("tool {} started twice", start.tool_use_id));
            }
            Event::ToolResult(result) => {
                self.tools.remove(&result.tool_use_id);
                let waits = self.client_calls.values().any(|call| *call == result.tool_use_id);
                self.require(!waits, || {
                    format!("tool {} has a result while a client is asked for it", result.tool_use_id)
                });
            }
            Event::Delta(delta) => self.block(envelope, &delta.block_id, delta.done),
            Event::Thinking(thinking) => self.block(envelope, &thinking.block_id, thinking.done == Some(true)),
            Event::Retracted(retracted) => {
                self.blocks.remove(&retracted.block_id);
                self.closed_blocks.insert((envelope.turn_id.clone(), retracted.block_id.clone()));
            }
            Event::PermissionRequest(request) => self.asked(&request.ask_id, owner),
            Event::QuestionRequest(request) => self.asked(&request.ask_id, owner),
            Event::Interrupt(request) => {
                self.asked(&request.interrupt_id, owner);
                if let Some(call) = &request.tool_use_id {
                    self.client_calls.insert(request.interrupt_id.clone(), call.clone());
                }
            }
            Event::PermissionResolved(resolved) => self.resolved(&resolved.ask_id),
            Event::QuestionResolved(resolved) => self.resolved(&resolved.ask_id),
            Event::InterruptResolved(resolved) => {
                self.resolved(&resolved.interrupt_id);
                self.client_calls.remove(&resolved.interrupt_id);
            }
            Event::SubagentStarted(started) => {
                let subagent = (started.background == Some(true), started.parent_subagent_id.clone());
                let new = self.subagents.insert(started.subagent_id.clone(), subagent).is_none();
                self.require(new, || format!("sub-agent {} started twice", started.subagent_id));
            }
            Event::SubagentEnded(ended) => {
                let was_open = self.subagents.remove(&ended.subagent_id).is_some();
                self.require(was_open, || format!("sub-agent {} ended but never started", ended.subagent_id));
            }
            Event::BackgroundStarted(started) => {
                started.tool_use_id.iter().for_each(|id| drop(self.tools.remove(id)));
                let new = self.background.insert(started.background_id.clone());
                self.require(new, || format!("background {} started twice", started.background_id));
            }
            Event::BackgroundEnded(ended) => {
                let was_open = self.background.remove(&ended.background_id);
                self.require(was_open, || format!("background {} ended but never started", ended.background_id));
            }
            Event::CompactionStart(_) => self.compacting = true,
            Event::CompactionEnd(_) => self.compacting = false,
            _ => {}
        }
    }

    fn block(&mut self, envelope: &Envelope, block_id: &BlockId, done: bool) {
        let key = (envelope.turn_id.clone(), block_id.clone());
        let open = !self.closed_blocks.contains(&key);
        self.require(open, || format!("block {block_id} goes on after its end"));
        if done {
            self.blocks.remove(block_id);
            self.closed_blocks.insert(key);
        } else {
            self.blocks.insert(block_id.clone(), envelope.subagent_id.clone());
        }
    }

    fn asked(&mut self, ask_id: &AskId, owner: Option<SubagentId>) {
        let new = !self.settled.contains(ask_id) && self.asks.insert(ask_id.clone(), owner).is_none();
        self.require(new, || format!("ask {ask_id} was asked twice"));
    }

    fn resolved(&mut self, ask_id: &AskId) {
        let was_open = self.asks.remove(ask_id).is_some();
        let first = self.settled.insert(ask_id.clone());
        self.require(was_open && first, || format!("ask {ask_id} was resolved but was not open"));
    }

    fn must_be_at_rest(&mut self) {
        let mut left = self.left_open_by_the_turn();
        left.extend(self.turn.iter().map(|id| format!("turn {id}")));
        left.extend(self.subagents.keys().map(|id| format!("sub-agent {id}")));
        left.extend(self.background.iter().map(|id| format!("background {id}")));
        self.require(left.is_empty(), || format!("at rest with {} still open", left.join(", ")));
    }
}
