//! Ids as payloads have them before the session gives them one.

use crate::id::{AskId, BackgroundId, BlockId, MessageId, RunId, ScheduleId, SessionId, SubagentId, ToolUseId, TurnId};

macro_rules! empty_ids {
    ($($id:ident)*) => {$(
        /// Only so that payloads can be written with `..Default::default()`; never stored.
        impl Default for $id {
            fn default() -> Self {
                $id::trusted("")
            }
        }
    )*};
}

empty_ids! { SessionId TurnId MessageId AskId BlockId ToolUseId SubagentId BackgroundId ScheduleId RunId }
