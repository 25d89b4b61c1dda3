//! The laws of a log, checked from the outside: this module reads only the events and shares no code with the machine that wrote them.

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

/// How deep sub-agents may be nested. A deeper sub-agent belongs to its turn.
const MAX_SUBAGENT_DEPTH: usize = 64;

/// How many of what is still open a violation names.
const MAX_NAMED: usize = 8;

/// Something that was opened.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Opened {
    Tool(ToolUseId),
    Block(BlockId),
    Ask(AskId),
    Subagent(SubagentId),
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
    /// Calls that wait for a client, by their asks, and how many asks there are for each.
    client_calls: BTreeMap<AskId, ToolUseId>,
    asks_of_call: BTreeMap<ToolUseId, usize>,
    subagents: BTreeMap<SubagentId, (bool, Option<SubagentId>)>,
    background: BTreeSet<BackgroundId>,
    /// What was opened since the last turn ended. The rest was looked at then: a log is read once, however much stays open in the background.
    opened: BTreeSet<Opened>,
    compacting: bool,
    messages: BTreeSet<MessageId>,
    steers: BTreeSet<MessageId>,
    /// Messages that wait for somebody to let them go on.
    held: BTreeSet<MessageId>,
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
                let held = self.held.contains(&message.message_id);
                self.require(!held, || format!("message {} was held and has a turn", message.message_id));
            }
            Event::QueueChanged(changed) => {
                for item in &changed.queue {
                    if item.held.is_some() {
                        self.held.insert(item.message_id.clone());
                    } else {
                        self.held.remove(&item.message_id);
                    }
                }
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
        let opened = std::mem::take(&mut self.opened);
        let left = self.left_open(opened.iter());
        self.require(left.is_empty(), || format!("done with {} still open", named(&left)));
        let no_steers = self.steers.is_empty();
        self.require(no_steers, || "done with an undelivered steer".to_owned());
    }

    /// Which of these are open and not in the background.
    fn left_open<'a>(&self, opened: impl Iterator<Item = &'a Opened>) -> Vec<String> {
        let left = opened.filter_map(|opened| {
            let (owner, name) = match opened {
                Opened::Tool(id) => (self.tools.get(id)?.as_ref(), format!("tool {id}")),
                Opened::Block(id) => (self.blocks.get(id)?.as_ref(), format!("block {id}")),
                Opened::Ask(id) => (self.asks.get(id)?.as_ref(), format!("ask {id}")),
                Opened::Subagent(id) => {
                    (self.subagents.contains_key(id).then_some(Some(id))?, format!("sub-agent {id}"))
                }
            };
            (!self.in_background(owner)).then_some(name)
        });
        left.chain(self.compacting.then(|| "a compaction".to_owned())).collect()
    }

    fn in_background(&self, owner: Option<&SubagentId>) -> bool {
        let parent = |id: &&SubagentId| self.subagents.get(*id).and_then(|(_, parent)| parent.as_ref());
        let mut lineage = std::iter::successors(owner, parent).take(MAX_SUBAGENT_DEPTH);
        lineage.any(|id| self.subagents.get(id).is_some_and(|(background, _)| *background))
    }

    fn work(&mut self, envelope: &Envelope) {
        let owner = envelope.subagent_id.clone();
        match &envelope.event {
            Event::ToolStart(start) => {
                self.opened.insert(Opened::Tool(start.tool_use_id.clone()));
                let new = self.tools.insert(start.tool_use_id.clone(), owner).is_none();
                self.require(new, || format!("tool {} started twice", start.tool_use_id));
            }
            Event::ToolResult(result) => {
                self.tools.remove(&result.tool_use_id);
                let waits = self.asks_of_call.contains_key(&result.tool_use_id);
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
                    self.call_settled(&request.interrupt_id);
                    self.client_calls.insert(request.interrupt_id.clone(), call.clone());
                    *self.asks_of_call.entry(call.clone()).or_default() += 1;
                }
            }
            Event::PermissionResolved(resolved) => self.resolved(&resolved.ask_id),
            Event::QuestionResolved(resolved) => self.resolved(&resolved.ask_id),
            Event::InterruptResolved(resolved) => {
                self.resolved(&resolved.interrupt_id);
                self.call_settled(&resolved.interrupt_id);
            }
            Event::SubagentStarted(started) => {
                self.opened.insert(Opened::Subagent(started.subagent_id.clone()));
                let subagent = (started.background == Some(true), started.parent_subagent_id.clone());
                let new = self.subagents.insert(started.subagent_id.clone(), subagent).is_none();
                self.require(new, || format!("sub-agent {} started twice", started.subagent_id));
            }
            Event::SubagentUpdated(updated) => {
                self.opened.insert(Opened::Subagent(updated.subagent_id.clone()));
                let known = self.subagents.get_mut(&updated.subagent_id).map(|(background, _)| {
                    *background = updated.background.unwrap_or(*background);
                });
                self.require(known.is_some(), || {
                    format!("sub-agent {} changes but never started", updated.subagent_id)
                });
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
            self.opened.insert(Opened::Block(block_id.clone()));
            self.blocks.insert(block_id.clone(), envelope.subagent_id.clone());
        }
    }

    fn asked(&mut self, ask_id: &AskId, owner: Option<SubagentId>) {
        self.opened.insert(Opened::Ask(ask_id.clone()));
        let new = !self.settled.contains(ask_id) && self.asks.insert(ask_id.clone(), owner).is_none();
        self.require(new, || format!("ask {ask_id} was asked twice"));
    }

    fn resolved(&mut self, ask_id: &AskId) {
        let was_open = self.asks.remove(ask_id).is_some();
        let first = self.settled.insert(ask_id.clone());
        self.require(was_open && first, || format!("ask {ask_id} was resolved but was not open"));
    }

    /// This ask is not about a call any more.
    fn call_settled(&mut self, ask_id: &AskId) {
        let Some(call) = self.client_calls.remove(ask_id) else { return };
        if let Some(asks) = self.asks_of_call.get_mut(&call) {
            *asks -= 1;
            if *asks == 0 {
                self.asks_of_call.remove(&call);
            }
        }
    }

    fn must_be_at_rest(&mut self) {
        let tools = self.tools.keys().cloned().map(Opened::Tool);
        let blocks = self.blocks.keys().cloned().map(Opened::Block);
        let open: Vec<Opened> = tools.chain(blocks).chain(self.asks.keys().cloned().map(Opened::Ask)).collect();
        let mut left = self.left_open(open.iter());
        left.extend(self.turn.iter().map(|id| format!("turn {id}")));
        left.extend(self.subagents.keys().map(|id| format!("sub-agent {id}")));
        left.extend(self.background.iter().map(|id| format!("background {id}")));
        self.require(left.is_empty(), || format!("at rest with {} still open", named(&left)));
    }
}

/// The first of many names.
fn named(names: &[String]) -> String {
    let first = names.get(..names.len().min(MAX_NAMED)).unwrap_or_default().join(", ");
    let more = names.len().saturating_sub(MAX_NAMED);
    if more > 0 { format!("{first} and {more} more") } else { first }
}

#[cfg(test)]
mod tests {
    use super::{Ending, MAX_SUBAGENT_DEPTH, check};
    use crate::event::{Done, Envelope, Event, SubagentStarted, TurnStarted};
    use crate::id::{Seq, SessionId, SubagentId, TurnId};
    use crate::time::Timestamp;

    /// A chain of sub-agents of which only the first is in the background, then many empty turns.
    fn chain(length: usize, turns: usize) -> Vec<Envelope> {
        let name = |n: usize| SubagentId::trusted(format!("a{n}"));
        let started = |n: usize| {
            Event::from(SubagentStarted {
                subagent_id: name(n),
                background: (n == 0).then_some(true),
                parent_subagent_id: (n > 0).then(|| name(n - 1)),
                ..SubagentStarted::default()
            })
        };
        let turn = |n: usize| {
            let id = TurnId::trusted(format!("t{n}"));
            [(Some(id.clone()), TurnStarted::default().into()), (Some(id), Done::default().into())]
        };
        let work = (0..length).map(|n| (None, started(n)));
        let facts = work.chain((0..turns).flat_map(turn));
        let envelope = |(seq, (turn_id, event))| Envelope {
            seq: Seq(seq),
            ts: Timestamp::from_millis(0),
            session_id: SessionId::trusted("s"),
            turn_id,
            subagent_id: None,
            event,
        };
        (1..).zip(facts).map(envelope).collect()
    }

    #[test]
    fn what_stays_in_the_background_costs_later_turns_nothing() {
        assert_eq!(check(&chain(MAX_SUBAGENT_DEPTH, 20_000), Ending::Live), []);
        let violations = check(&chain(20_000, 20_000), Ending::Live);
        let [deep] = violations.as_slice() else { panic!("{} violations", violations.len()) };
        assert!(deep.law.ends_with("more still open") && deep.law.len() < 400, "{deep}");
    }
}
