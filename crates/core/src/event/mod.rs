//! One fact: what is written to a session's log, once, and never changed.
//!
//! `data` holds the payload of every type. Here is the envelope around them and its JSON, which is both what is stored and what is sent.
//! Nothing here knows what a fact means for a turn or for a view.

mod data;
mod encoding;
#[cfg(test)]
mod tests;

use serde_json::value::RawValue;

pub use self::data::*;
pub use self::encoding::{Record, readdress, schema};
use crate::id::{Seq, SessionId, SubagentId, TurnId};
use crate::time::Timestamp;

/// A fact with its place in the log.
#[derive(Debug, Clone)]
pub struct Envelope {
    pub seq: Seq,
    pub ts: Timestamp,
    pub session_id: SessionId,
    pub turn_id: Option<TurnId>,
    /// Who did it, when it was a sub-agent. Written inside `data`.
    pub subagent_id: Option<SubagentId>,
    pub event: Event,
}

/// A type this version does not know, or knows with another shape: kept as it came.
#[derive(Debug, Clone)]
pub struct Unknown {
    pub kind: String,
    pub data: Box<RawValue>,
}

/// Why bytes from a log are not an event.
#[derive(Debug, thiserror::Error)]
#[error("not an event: {0}")]
pub struct Error(#[from] serde_json::Error);

/// Names every type once: the variant, its name in JSON, and through both its payload, its decoding and its schema.
macro_rules! events {
    ($($variant:ident $kind:literal)*) => {
        /// What happened. The payload of each variant has the variant's name.
        #[derive(Debug, Clone)]
        pub enum Event {
            $($variant($variant),)*
            Unknown(Unknown),
        }

        impl Event {
            /// Every type this version writes.
            pub const KINDS: &'static [&'static str] = &[$($kind),*];

            /// The name of the type in JSON.
            pub fn kind(&self) -> &str {
                match self {
                    $(Event::$variant(_) => $kind,)*
                    Event::Unknown(unknown) => &unknown.kind,
                }
            }

            fn write_data(&self, out: &mut Vec<u8>, subagent_id: Option<&SubagentId>) -> serde_json::Result<()> {
                match self {
                    $(Event::$variant(data) => encoding::write_data(out, data, subagent_id),)*
                    Event::Unknown(unknown) => {
                        out.extend_from_slice(unknown.data.get().as_bytes());
                        Ok(())
                    }
                }
            }

            /// The payload as JSON.
            pub fn data(&self) -> serde_json::Value {
                let value = match self {
                    $(Event::$variant(data) => serde_json::to_value(data),)*
                    Event::Unknown(unknown) => serde_json::from_str(unknown.data.get()),
                };
                // Payloads have string keys and no custom serializers, so they always encode.
                value.unwrap_or_default()
            }

            /// Reads a payload. One of an unknown type or shape becomes `Unknown`: a newer log must stay readable.
            pub fn from_parts(kind: &str, data: &RawValue) -> Event {
                let known = match kind {
                    $($kind => serde_json::from_str(data.get()).map(Event::$variant).ok(),)*
                    _ => None,
                };
                known.unwrap_or_else(|| Event::Unknown(Unknown { kind: kind.to_owned(), data: data.to_owned() }))
            }
        }

        impl Event {
            /// As [`Event::from_parts`], from a value.
            pub fn from_value(kind: &str, data: &serde_json::Value) -> Event {
                let raw = serde_json::value::to_raw_value(data).unwrap_or_else(|_| RawValue::NULL.to_owned());
                Self::from_parts(kind, &raw)
            }
        }

        $(impl From<$variant> for Event {
            fn from(data: $variant) -> Event {
                Event::$variant(data)
            }
        })*

        fn payload_schemas(generator: &mut schemars::SchemaGenerator) -> Vec<(&'static str, schemars::Schema)> {
            vec![$(($kind, generator.subschema_for::<$variant>())),*]
        }
    };
}

events! {
    SessionReady "session_ready"
    SessionUpdated "session_updated"
    ModeChanged "mode_changed"
    ModelChanged "model_changed"
    SessionEnded "session_ended"
    UserMessage "user_message"
    TurnStarted "turn_started"
    Status "status"
    Steer "steer"
    TurnResult "result"
    Done "done"
    Failure "error"
    Usage "usage"
    Delta "delta"
    Thinking "thinking"
    Retracted "retracted"
    ToolStart "tool_start"
    ToolProgress "tool_progress"
    ToolResult "tool_result"
    PermissionRequest "permission_request"
    PermissionResolved "permission_resolved"
    QuestionRequest "question_request"
    QuestionResolved "question_resolved"
    Interrupt "interrupt"
    InterruptResolved "interrupt_resolved"
    SubagentStarted "subagent_started"
    SubagentEnded "subagent_ended"
    BackgroundStarted "background_started"
    BackgroundEnded "background_ended"
    ComponentUpdate "component_update"
    ComponentRemove "component_remove"
    ComponentCallback "component_callback"
    StateSnapshot "state_snapshot"
    StateDelta "state_delta"
    PlanUpdated "plan_updated"
    DiffUpdated "diff_updated"
    ArtifactCreated "artifact_created"
    ArtifactUpdated "artifact_updated"
    ArtifactVersion "artifact_version"
    ArtifactRemoved "artifact_removed"
    EvidenceChanged "evidence_changed"
    CompactionStart "compaction_start"
    CompactionEnd "compaction_end"
    Rollback "rollback"
    Forked "forked"
    QueueChanged "queue_changed"
    AgentUnparsed "agent_unparsed"
}
