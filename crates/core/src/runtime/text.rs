//! Text that is streamed first and then said again whole. The whole is the authority; the log must hold it once.

use std::collections::HashMap;

use crate::event::{Delta, Event, Retracted};
use crate::id::BlockId;

/// What was streamed in each open block, so that the final text can be reconciled with it instead of repeating it.
#[derive(Debug, Default)]
pub struct StreamedText {
    open: HashMap<BlockId, String>,
    retracted: u64,
}

impl StreamedText {
    /// A piece of a block.
    pub fn delta(&mut self, block_id: &BlockId, text: String) -> Event {
        self.open.entry(block_id.clone()).or_default().push_str(&text);
        Delta { block_id: block_id.clone(), text, ..Delta::default() }.into()
    }

    /// The whole of a block: says what is missing and closes it, or, when the agent changed its words, takes the block back and says it anew.
    pub fn finish(&mut self, block_id: &BlockId, whole: &str) -> Vec<Event> {
        let streamed = self.open.remove(block_id).unwrap_or_default();
        let closing =
            |block_id: BlockId, text: &str| Delta { block_id, text: text.to_owned(), done: true, interrupted: false };
        if let Some(rest) = whole.strip_prefix(&streamed) {
            return vec![closing(block_id.clone(), rest).into()];
        }
        self.retracted += 1;
        let anew = BlockId::trusted(format!("{block_id}.{}", self.retracted));
        let reason = Some("the final text differs from what was streamed".to_owned());
        vec![Retracted { block_id: block_id.clone(), reason }.into(), closing(anew, whole).into()]
    }

    /// Forgets what is open: the turn is over.
    pub fn clear(&mut self) {
        self.open.clear();
    }
}
