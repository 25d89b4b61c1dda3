//! The envelope of an event. Ids are left out where there is none, never null and never empty; the words are those of the standard's schema.

use serde::Serialize;
use serde_json::Value;
use serde_with::skip_serializing_none;

use crate::time::Timestamp;

#[skip_serializing_none]
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Wire<'a> {
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    pub(super) sequence: u64,
    pub(super) timestamp: Timestamp,
    pub(super) session_id: &'a str,
    pub(super) thread_id: &'a str,
    pub(super) run_id: Option<&'a str>,
    pub(super) turn_id: Option<&'a str>,
    pub(super) message_id: Option<&'a str>,
    pub(super) part_id: Option<&'a str>,
    pub(super) task_id: Option<&'a str>,
    pub(super) agent_id: Option<&'a str>,
    pub(super) subagent_id: Option<&'a str>,
    pub(super) agent_name: Option<&'a str>,
    pub(super) tool_call_id: Option<&'a str>,
    pub(super) action_id: Option<&'a str>,
    pub(super) artifact_id: Option<&'a str>,
    pub(super) artifact_kind: Option<&'static str>,
    pub(super) artifact_status: Option<&'static str>,
    pub(super) artifact_version_id: Option<String>,
    pub(super) artifact_read_ref: Option<String>,
    pub(super) evidence_id: Option<&'a str>,
    pub(super) worker_notification_id: Option<&'a str>,
    pub(super) diagnostic_id: Option<String>,
    pub(super) metric_name: Option<&'static str>,
    pub(super) owner: &'static str,
    pub(super) scope: &'static str,
    pub(super) phase: &'static str,
    pub(super) surface: &'static str,
    pub(super) persistence: Option<&'static str>,
    pub(super) control: Option<&'static str>,
    pub(super) runtime_entity: &'static str,
    pub(super) runtime_status: Option<&'static str>,
    pub(super) latest_turn_status: Option<&'static str>,
    pub(super) queued_turn_count: Option<usize>,
    pub(super) payload: Option<Payload<'a>>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Payload<'a> {
    Delta { delta: &'a str },
    Other(Value),
}

/// Where an event belongs: whose it is, what it is about, how far that is, where it is shown.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place(
    pub(super) &'static str,
    pub(super) &'static str,
    pub(super) &'static str,
    pub(super) &'static str,
);
