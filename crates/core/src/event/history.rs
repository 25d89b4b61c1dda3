//! The payloads about a session's past, and about the messages that wait.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::data::payloads;
use super::part::Part;
use super::source::MessageSource;
use super::words::{CompactionReason, CompactionTrigger, Hold, Origin, QueueState};
use crate::id::{MessageId, Seq, SessionId, TurnId};

payloads! {
    CompactionStart { pub trigger: CompactionTrigger }
    CompactionEnd {
        pub removed: Option<u64>,
        pub kept: Option<u64>,
        pub tokens_before: Option<u64>,
        pub tokens_after: Option<u64>,
        pub reason: CompactionReason,
        /// Compaction did not finish; the conversation goes on as it was.
        pub failed: Option<bool>,
    }
    Rollback {
        pub turn_ids: Vec<TurnId>,
        pub files_restored: bool,
        pub by: Option<String>,
        /// The agent cannot go back by itself; it goes on from a copy of its conversation that ends before these turns.
        pub branched: Option<bool>,
    }
    Forked {
        pub from_session: SessionId,
        /// What that one was called then.
        pub from_title: Option<String>,
        pub at_seq: Seq,
    }
    /// The queue as it is now. A message's content stands in `added` when it enters, and again when it is edited.
    QueueChanged { pub queue: Vec<QueueItem>, pub added: Option<QueueAdded> }
    QueueItem {
        pub message_id: MessageId,
        pub preview: String,
        pub state: QueueState,
        /// It does not go on by itself, and this is why.
        pub held: Option<Hold>,
    }
    QueueAdded { pub message_id: MessageId, pub content: Vec<Part>, pub origin: Origin, pub source: Option<MessageSource>, pub position: u64 }
}
