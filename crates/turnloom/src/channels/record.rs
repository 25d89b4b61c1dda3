//! A delivery as it is written down, and as people see it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use turnloom_core::channel::Delivery;
use turnloom_core::event::Outcome;
use turnloom_core::id::{MessageId, Seq, SessionId, TurnId};
use turnloom_core::time::Timestamp;

/// How far a delivery is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "ChannelDeliveryState")]
pub enum DeliveryState {
    /// It is written down; its session has not heard of it.
    Accepted,
    /// It is on its way to its session, or its turn runs.
    Running,
    /// The turn has ended; the answer is on its way.
    Answered,
    Done,
    /// It could not become a turn, or nobody takes the answer.
    Failed,
}

impl DeliveryState {
    pub fn is_over(self) -> bool {
        match self {
            Self::Accepted | Self::Running | Self::Answered => false,
            Self::Done | Self::Failed => true,
        }
    }
}

/// Everything that is written down of a delivery. What the agent answered is in its session's log.
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Record {
    /// The order in which they came.
    pub(super) order: u64,
    pub(super) received_at: Timestamp,
    pub(super) state: DeliveryState,
    pub(super) delivery: Delivery,
    /// Where the session's log ended before it got the message.
    pub(super) after: Option<Seq>,
    pub(super) turn_id: Option<TurnId>,
    pub(super) outcome: Option<Outcome>,
    /// Messages of the answer that the service took.
    pub(super) sent: usize,
    pub(super) attempts: u32,
    pub(super) next_at: Option<Timestamp>,
    pub(super) error: Option<String>,
}

/// A delivery as people see it.
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "ChannelDelivery")]
pub struct DeliveryView {
    pub delivery_id: String,
    pub state: DeliveryState,
    pub event: Option<String>,
    pub sender: Option<String>,
    pub conversation: String,
    pub session_id: SessionId,
    pub message_id: MessageId,
    pub turn_id: Option<TurnId>,
    pub outcome: Option<Outcome>,
    pub received_at: Timestamp,
    /// How often the answer was sent in vain.
    pub attempts: u32,
    pub next_at: Option<Timestamp>,
    pub error: Option<String>,
}

impl From<&Record> for DeliveryView {
    fn from(record: &Record) -> Self {
        let Delivery { delivery_id, event, sender, conversation, session_id, message_id, .. } = record.delivery.clone();
        Self {
            delivery_id,
            state: record.state,
            event,
            sender,
            conversation,
            session_id,
            message_id,
            turn_id: record.turn_id.clone(),
            outcome: record.outcome,
            received_at: record.received_at,
            attempts: record.attempts,
            next_at: record.next_at,
            error: record.error.clone(),
        }
    }
}
