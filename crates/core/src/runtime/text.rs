//! Text that is streamed first and then repeated as a whole. The whole text is authoritative; the log must hold it once.

use std::collections::HashMap;

use crate::event::{Delta, Event, Retracted, Thinking};
use crate::id::BlockId;

/// What a block holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextKind {
    /// What is meant for the person.
    Text,
    Thinking,
}

/// What was streamed in each open block, so that the final text can be reconciled with it instead of repeating it.
#[derive(Debug, Default)]
pub struct StreamedText {
    open: HashMap<BlockId, String>,
    retracted: u64,
}

impl StreamedText {
    /// A piece of a block.
    pub fn delta(&mut self, block_id: &BlockId, text: String) -> Event {
        self.piece(TextKind::Text, block_id, text)
    }

    /// A piece of a block of either kind.
    pub fn piece(&mut self, kind: TextKind, block_id: &BlockId, text: String) -> Event {
        self.open.entry(block_id.clone()).or_default().push_str(&text);
        text_event(kind, block_id.clone(), text, false)
    }

    /// The whole of a block: says what is missing and closes it, or, when the agent changed its words, takes the block back and says it anew.
    pub fn finish(&mut self, block_id: &BlockId, whole: &str) -> Vec<Event> {
        self.finish_as(TextKind::Text, block_id, whole)
    }

    pub fn finish_as(&mut self, kind: TextKind, block_id: &BlockId, whole: &str) -> Vec<Event> {
        let streamed = self.open.remove(block_id).unwrap_or_default();
        if let Some(rest) = whole.strip_prefix(&streamed) {
            return vec![text_event(kind, block_id.clone(), rest.to_owned(), true)];
        }
        self.retracted += 1;
        let anew = BlockId::trusted(format!("{block_id}.{}", self.retracted));
        let reason = Some("the final text differs from what was streamed".to_owned());
        vec![Retracted { block_id: block_id.clone(), reason }.into(), text_event(kind, anew, whole.to_owned(), true)]
    }

    /// The agent takes back what it streamed. Nothing, if it had not streamed anything.
    pub fn retract(&mut self, block_id: &BlockId, reason: &str) -> Option<Event> {
        self.open.remove(block_id)?;
        Some(Retracted { block_id: block_id.clone(), reason: Some(reason.to_owned()) }.into())
    }

    /// Forgets what is open: the turn is over.
    pub fn clear(&mut self) {
        self.open.clear();
    }
}

fn text_event(kind: TextKind, block_id: BlockId, text: String, done: bool) -> Event {
    match kind {
        TextKind::Text => Delta { block_id, text, done, interrupted: false }.into(),
        TextKind::Thinking => Thinking { block_id, text, done: Some(done), interrupted: false }.into(),
    }
}
