//! Text and thinking. The main conversation streams raw events and then says each block whole, in an `assistant` line, before the block ends: that
//! line is the authority. Sub-agents never stream.

use std::collections::BTreeMap;

use super::wire::{Abandoned, BlockDelta};
use crate::event::{Delta, Event, Thinking};
use crate::id::{BlockId, SubagentId};
use crate::runtime::{Output, Report, StreamedText, TextKind};

const ABANDONED: &str = "the answer broke off and was begun anew";

#[derive(Debug, Default)]
pub(super) struct Blocks {
    text: StreamedText,
    /// The message that streams, and those of its blocks that have not been said whole.
    message: Option<String>,
    streaming: BTreeMap<u64, TextKind>,
    /// Blocks that came whole, for names of their own.
    whole: u64,
}

impl Blocks {
    pub(super) fn message_started(&mut self, message: String, out: &mut Output) {
        // An older program does not say that it abandoned blocks; it only begins a new message.
        self.retract_from(0, out);
        self.message = Some(message);
    }

    pub(super) fn block_started(&mut self, index: u64, kind: TextKind) {
        self.streaming.insert(index, kind);
    }

    pub(super) fn piece(&mut self, index: u64, delta: BlockDelta, out: &mut Output) {
        let (kind, text) = match delta {
            BlockDelta::TextDelta { text } => (TextKind::Text, text),
            BlockDelta::ThinkingDelta { thinking } => (TextKind::Thinking, thinking),
            BlockDelta::Other => return,
        };
        if self.streaming.contains_key(&index) && !text.is_empty() {
            let block_id = self.block_id(index);
            out.report(self.text.piece(kind, &block_id, text));
        }
    }

    /// A block of the main conversation, whole.
    pub(super) fn finish_block(&mut self, message: &str, kind: TextKind, whole: &str, aborted: bool, out: &mut Output) {
        let streamed = self.streaming.iter().find(|(_, known)| **known == kind).map(|(index, _)| *index);
        let block_id = match streamed.filter(|_| self.message.as_deref() == Some(message)) {
            Some(index) => {
                self.streaming.remove(&index);
                self.block_id(index)
            }
            None if whole.is_empty() => return,
            None => self.whole_block_id(message),
        };
        for event in self.text.finish_as(kind, &block_id, whole) {
            out.report(if aborted { cut_off(event) } else { event });
        }
    }

    /// A block of a sub-agent.
    pub(super) fn finish_subagent_block(
        &mut self,
        subagent: &SubagentId,
        message: &str,
        kind: TextKind,
        whole: &str,
        out: &mut Output,
    ) {
        let block_id = self.whole_block_id(message);
        for event in self.text.finish_as(kind, &block_id, whole) {
            out.report(Report::Fact { subagent_id: Some(subagent.clone()), event });
        }
    }

    pub(super) fn abandoned(&mut self, abandoned: &Abandoned, out: &mut Output) {
        if self.message.as_ref() == Some(&abandoned.api_message_id) {
            self.retract_from(abandoned.from_block_index, out);
        }
    }

    /// The turn is over. What was cut off by an interrupt stays, half written; otherwise what was never said whole is taken back.
    pub(super) fn turn_ended(&mut self, interrupted: bool, out: &mut Output) {
        if !interrupted {
            self.retract_from(0, out);
        }
        *self = Self { whole: self.whole, ..Self::default() };
    }

    fn retract_from(&mut self, first: u64, out: &mut Output) {
        for (index, _) in self.streaming.split_off(&first) {
            let block_id = self.block_id(index);
            if let Some(event) = self.text.retract(&block_id, ABANDONED) {
                out.report(event);
            }
        }
    }

    fn block_id(&self, index: u64) -> BlockId {
        BlockId::trusted(format!("{}:{index}", self.message.as_deref().unwrap_or_default()))
    }

    fn whole_block_id(&mut self, message: &str) -> BlockId {
        self.whole += 1;
        BlockId::trusted(format!("{message}:whole-{}", self.whole))
    }
}

fn cut_off(event: Event) -> Event {
    match event {
        Event::Delta(delta) if delta.done => Delta { interrupted: true, ..delta }.into(),
        Event::Thinking(thinking) if thinking.done == Some(true) => Thinking { interrupted: true, ..thinking }.into(),
        event => event,
    }
}
