//! The shapes on the wire. Names inside an event are snake case; a member that is `null` must be there, one that is optional must not.

use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::time::Timestamp;

/// One event with its envelope.
#[derive(Debug, Serialize)]
pub(super) struct Wire<'a, T> {
    pub(super) event_id: EventId,
    pub(super) sequence: u64,
    pub(super) time: Timestamp,
    pub(super) session_id: &'a str,
    pub(super) native_session_id: Option<&'a str>,
    pub(super) synthetic: bool,
    pub(super) source: &'static str,
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    pub(super) data: &'a T,
    pub(super) raw: Option<&'a Value>,
}

/// The name of an event: its sequence number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EventId(pub(super) u64);

impl Serialize for EventId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("evt_{}", self.0))
    }
}

/// The name of an item: a number that is given in the order of the log, so that every reader sees the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ItemId(pub(super) u64);

impl Serialize for ItemId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("itm_{}", self.0))
    }
}

#[derive(Debug, Serialize)]
pub(super) struct ItemData<'a> {
    pub(super) item: Item<'a>,
}

#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Item<'a> {
    #[serde(rename = "item_id")]
    pub(super) id: ItemId,
    pub(super) native_item_id: &'a str,
    pub(super) parent_id: Option<ItemId>,
    pub(super) kind: Kind,
    pub(super) role: Role,
    pub(super) content: &'a [Content<'a>],
    pub(super) status: Status,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    Message,
    ToolCall,
    ToolResult,
    Status,
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Role {
    User,
    Assistant,
    Tool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Status {
    InProgress,
    Completed,
    Failed,
}

#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Content<'a> {
    Text { text: &'a str },
    Json { json: Value },
    ToolCall { name: &'a str, arguments: &'a str, call_id: &'a str },
    ToolResult { call_id: &'a str, output: &'a str },
    FileRef { path: &'a str, action: Action, diff: Option<&'a str> },
    Reasoning { text: &'a str, visibility: &'static str },
    Image { path: String, mime: Option<&'a str> },
    Status { label: &'a str, detail: Option<&'a str> },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Action {
    Read,
    Write,
    Patch,
}

#[derive(Debug, Serialize)]
pub(super) struct DeltaData<'a> {
    pub(super) item_id: ItemId,
    pub(super) native_item_id: &'a str,
    pub(super) delta: &'a str,
}

#[derive(Debug, Serialize)]
pub(super) struct TurnData<'a> {
    pub(super) phase: &'static str,
    pub(super) turn_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) metadata: Option<Value>,
}

#[derive(Debug, Serialize)]
pub(super) struct EndedData<'a> {
    pub(super) reason: &'static str,
    pub(super) terminated_by: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) message: Option<&'a str>,
}

#[derive(Debug, Serialize)]
pub(super) struct PermissionData<'a> {
    pub(super) permission_id: &'a str,
    pub(super) action: &'a str,
    pub(super) status: &'static str,
    pub(super) metadata: &'a Value,
}

#[derive(Debug, Serialize)]
pub(super) struct QuestionData<'a> {
    pub(super) question_id: &'a str,
    pub(super) prompt: &'a str,
    pub(super) options: &'a [String],
    pub(super) response: Option<&'a str>,
    pub(super) status: &'static str,
}

#[derive(Debug, Serialize)]
pub(super) struct ErrorData<'a> {
    pub(super) message: &'a str,
    pub(super) code: Option<&'a str>,
    pub(super) details: Option<Value>,
}

#[derive(Debug, Serialize)]
pub(super) struct UnparsedData<'a> {
    pub(super) error: &'a str,
    pub(super) location: &'a str,
    pub(super) raw_hash: Option<&'a str>,
}
