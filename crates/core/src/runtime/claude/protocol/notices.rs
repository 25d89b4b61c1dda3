//! What the program says about itself: which model, mode and servers it has, that it compacts, waits or tries again.

use serde_json::{Value, json};

use super::ClaudeProtocol;
use crate::event::{
    Activity, CompactionEnd, CompactionReason, CompactionStart, CompactionTrigger, EvidenceChanged, ModeChanged,
    ModelChanged, SessionUpdated, Status,
};
use crate::runtime::claude::host_tools;
use crate::runtime::claude::wire::{RateLimit, System, texts};
use crate::runtime::{Line, Output, Report, unparsed};

/// What is read and says nothing that a session should remember.
const IGNORED_SUBTYPES: &[&str] = &[
    "thinking_tokens", // an estimate while the thinking itself streams
    "session_state_changed",
    "informational",
    "hook_started",
    "hook_progress",
    "hook_response",
    "post_turn_summary",
    "files_persisted",
    "local_command_output",
    "model_refusal_fallback", // the model that it goes on with is told at the next turn
    "model_fallback",
    "instruction_size_warning",
    "commands_changed",
    "memory_saved",
    "memory_recall",
    "per_turn_effort_changed",
    "turn_duration",
    "stop_hook_summary",
    "away_summary",
    "scheduled_task_fire", // the program says when it begins with it
    "task_summary",
];

impl ClaudeProtocol {
    pub(super) fn rate_limit(&mut self, limit: RateLimit, out: &mut Output) {
        if limit.status != "allowed" && self.turn.is_open() {
            let window = limit.kind.as_deref().unwrap_or("usage").replace('_', " ");
            let label = match limit.utilization {
                Some(used) => format!("{:.0} % of the {window} limit is used", used * 100.0),
                None => format!("The {window} limit is reached"),
            };
            let detail = Some(json!({ "rate_limit": limit.status, "resets_at": limit.resets_at }));
            out.report(Status { state: Activity::Thinking, label: Some(label), attempt: None, detail });
        }
        self.turn.limited(limit);
    }

    pub(super) fn system(&mut self, system: &System, line: Line<'_>, out: &mut Output) {
        match system.subtype.as_str() {
            "init" => self.init(system, out),
            "status" => self.status(system, out),
            "api_retry" => {
                let error = system.text("error").unwrap_or("unknown").replace('_', " ");
                let attempt = system.number("attempt").and_then(|n| u32::try_from(n).ok());
                let label = attempt.map(|n| format!("Retrying, attempt {n} ({error})"));
                let detail = ["error_status", "max_retries", "retry_delay_ms"]
                    .map(|name| (name.to_owned(), system.rest.get(name).cloned().unwrap_or_default()));
                let detail = Some(Value::Object(detail.into_iter().collect()));
                out.report(Status { state: Activity::Retrying, label, attempt, detail });
            }
            "compact_boundary" => self.compacted(system, out),
            "task_started" => self.background.tasks.started(system, &self.tools, out),
            "task_updated" => self.background.tasks.updated(system, out),
            "task_progress" => self.background.tasks.progress(system, out),
            "task_notification" => self.background.tasks.ended(system, &self.conversation, out),
            "background_tasks_changed" => self.background.tasks.sync_background(system, out),
            "model_refusal_no_fallback" => self.turn.refused(),
            "notification" => {
                let text = |name: &str| system.text(name).unwrap_or_default().to_owned();
                out.report(EvidenceChanged {
                    evidence_id: format!("notice:{}", text("key")),
                    kind: "notice".to_owned(),
                    title: text("text"),
                    status: text("priority"),
                    detail: None,
                    ..EvidenceChanged::default()
                });
            }
            "permission_denied" => {
                system.text("tool_use_id").into_iter().for_each(|id| self.tools.denied(id));
            }
            "session_title_changed" => {
                if let Some(title) = system.text("title") {
                    let title = Some(title.to_owned());
                    out.report(SessionUpdated { title, by: "agent".to_owned(), ..SessionUpdated::default() });
                }
            }
            subtype if IGNORED_SUBTYPES.contains(&subtype) => {}
            subtype => out.report(unparsed(&format!("claude/system/{subtype}"), &"an unknown kind of notice", line)),
        }
    }

    /// Every turn of the program begins with this.
    fn init(&mut self, init: &System, out: &mut Output) {
        self.turn.init(out);
        let can = texts(init.rest.get("capabilities"));
        self.background.schedule.turn_started(can.iter().any(|what| what == "lifecycle_wakeup_source_v1"));
        if let Some(id) = init.text("session_id").filter(|id| *id != self.conversation) {
            id.clone_into(&mut self.conversation);
            let reason = "the agent began a new conversation".to_owned();
            out.report(Report::Renamed { provider_session_id: id.to_owned(), reason });
        }
        if let Some(model) = init.text("model")
            && self.model.as_deref() != Some(model)
        {
            if !std::mem::take(&mut self.model_chosen) {
                out.report(ModelChanged { model: model.to_owned(), by: Some("agent".to_owned()) });
            }
            self.model = Some(model.to_owned());
        }
        self.mode_reported(init.text("permissionMode"), out);
        for server in init.rest.get("mcp_servers").and_then(Value::as_array).into_iter().flatten() {
            let text = |name: &str| server.get(name).and_then(Value::as_str).unwrap_or_default();
            let (name, status) = (text("name"), text("status"));
            if name != host_tools::SERVER && self.servers.get(name).map(String::as_str) != Some(status) {
                self.servers.insert(name.to_owned(), status.to_owned());
                out.report(EvidenceChanged {
                    evidence_id: format!("mcp:{name}"),
                    kind: "mcp_server".to_owned(),
                    title: name.to_owned(),
                    status: status.to_owned(),
                    detail: server.get("error").cloned(),
                    ..EvidenceChanged::default()
                });
            }
        }
    }

    pub(super) fn mode_reported(&mut self, mode: Option<&str>, out: &mut Output) {
        if let Some(mode) = mode.filter(|mode| *mode != self.mode) {
            mode.clone_into(&mut self.mode);
            out.report(ModeChanged { mode: mode.to_owned(), by: Some("agent".to_owned()) });
        }
    }

    fn status(&mut self, status: &System, out: &mut Output) {
        self.mode_reported(status.text("permissionMode"), out);
        if status.text("status") == Some("compacting") && self.compaction.is_none() {
            let by_hand = self.compacts_by_hand;
            let trigger = if by_hand { CompactionTrigger::Manual } else { CompactionTrigger::Auto };
            self.compaction = Some(trigger);
            out.report(CompactionStart { trigger });
        }
        if status.text("compact_result") == Some("failed")
            && let Some(trigger) = self.compaction.take()
        {
            let reason = match trigger {
                CompactionTrigger::Manual => CompactionReason::Manual,
                CompactionTrigger::Auto => CompactionReason::Tokens,
            };
            self.turn.compaction_failed(trigger, status.text("compact_error"));
            out.report(CompactionEnd { failed: Some(true), reason, ..CompactionEnd::default() });
        }
    }

    fn compacted(&mut self, boundary: &System, out: &mut Output) {
        let number =
            |name: &str| boundary.rest.get("compact_metadata").and_then(|m| m.get(name)).and_then(Value::as_u64);
        let manual = boundary.rest.get("compact_metadata").and_then(|m| m.get("trigger")) == Some(&json!("manual"));
        if self.compaction.take().is_none() {
            let trigger = if manual { CompactionTrigger::Manual } else { CompactionTrigger::Auto };
            out.report(CompactionStart { trigger });
        }
        out.report(CompactionEnd {
            tokens_before: number("pre_tokens"),
            tokens_after: number("post_tokens"),
            reason: if manual { CompactionReason::Manual } else { CompactionReason::Tokens },
            ..CompactionEnd::default()
        });
    }
}
