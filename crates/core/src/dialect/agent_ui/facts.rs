//! Events that are neither text nor tools: asks, sub-agents, artifacts, the queue, shared state, metrics. None of them becomes answer text.

use serde_json::{Value, json};

use super::wire::{Place, Wire};
use super::{AgentUi, DIAGNOSTIC, text_of};
use crate::dialect::{Frames, name};
use crate::event::{
    ArtifactCreated, Envelope, Event, PermissionReply, PermissionRequest, PermissionResolved, QuestionRequest,
    SteerState, WorkStatus,
};
use crate::id::SessionId;

const ASK: Place = Place("action", "action_request", "waiting", "hitl");
const SETTLED: Place = Place("action", "action_request", "accepted", "hitl");
const HELPER: Place = Place("agent", "agent", "acting", "team_roster");
const PRODUCT: Place = Place("artifact", "artifact", "producing", "artifact_workspace");
const STATE: Place = Place("session", "session", "unknown", "custom");

impl AgentUi {
    pub(super) fn fact(&mut self, envelope: &Envelope, out: &mut Frames) {
        match &envelope.event {
            Event::PermissionRequest(ask) => Self::permission(envelope, ask, out),
            Event::QuestionRequest(ask) => Self::question(envelope, ask, out),
            Event::Interrupt(ask) => {
                let mut wire = Self::ask(envelope, ask.interrupt_id.as_str(), ASK);
                wire.control = Some("answer");
                let payload = json!({
                    "actionType": "structured_input", "type": "elicitation", "title": ask.component_name,
                    "component": ask.component_name, "props": ask.props,
                });
                Self::with(wire, payload, out);
            }
            Event::PermissionResolved(settled) => Self::decided(envelope, settled, out),
            Event::QuestionResolved(settled) => {
                let answer = settled.answers.as_ref().and_then(|answers| answers.iter().flatten().next());
                let decision = if settled.answers.is_some() { "answered" } else { "rejected" };
                let payload = json!({
                    "decision": decision, "answer": answer, "answers": settled.answers, "by": settled.by, "reason": settled.reason,
                });
                Self::settled(envelope, settled.ask_id.as_str(), payload, out);
            }
            Event::InterruptResolved(settled) => {
                let decision = if settled.value.is_some() { "answered" } else { "rejected" };
                let payload = json!({ "decision": decision, "answer": settled.value, "by": settled.by, "reason": settled.reason });
                Self::settled(envelope, settled.interrupt_id.as_str(), payload, out);
            }
            Event::QueueChanged(changed) => {
                self.queue.clone_from(&changed.queue);
                self.queue_changed(envelope, None, out);
            }
            Event::Steer(steer) => {
                let id = name(steer.message_id.as_str());
                if let Some(content) = &steer.content {
                    self.steers.insert(id.to_owned(), text_of(content));
                }
                let text = self.steers.get(id).cloned();
                if steer.state != SteerState::Accepted {
                    self.steers.remove(id);
                }
                // A steer that was not taken is not lost: its sender can send it in another way.
                let payload = json!({ "id": id, "state": steer.state, "text": text, "reason": steer.reason });
                self.queue_changed(envelope, Some(payload), out);
            }
            Event::SubagentStarted(started) => {
                let id = name(started.subagent_id.as_str());
                self.names.insert(id.to_owned(), started.name.clone());
                let mut wire = Self::wire("agent.spawned", envelope, HELPER);
                (wire.agent_id, wire.subagent_id) = (Some(id), Some(id));
                wire.agent_name = Some(name(&started.name));
                wire.tool_call_id = started.parent_tool_use_id.as_ref().map(|id| name(id.as_str()));
                let payload = json!({ "status": "running", "background": started.background, "parent": started.parent_subagent_id });
                Self::with(wire, payload, out);
            }
            Event::SubagentEnded(ended) => {
                let id = name(ended.subagent_id.as_str());
                let known = self.names.remove(id);
                let payload =
                    json!({ "status": ended.status, "toolCalls": ended.tool_calls, "fileChanges": ended.file_changes });
                for kind in ["agent.completed", "worker.notification"] {
                    let place = Place(
                        "agent",
                        "agent",
                        phase(ended.status),
                        if kind == "agent.completed" { "team_roster" } else { "worker_notifications" },
                    );
                    let mut wire = Self::wire(kind, envelope, place);
                    (wire.agent_id, wire.subagent_id) = (Some(id), Some(id));
                    wire.agent_name = known.as_deref().map(name);
                    wire.worker_notification_id = (kind == "worker.notification").then_some(id);
                    Self::with(wire, payload.clone(), out);
                }
            }
            Event::BackgroundStarted(started) => {
                let mut wire = Self::wire("task.changed", envelope, Place("task", "task", "acting", "task_capsule"));
                wire.task_id = Some(name(started.background_id.as_str()));
                wire.tool_call_id = started.tool_use_id.as_ref().map(|id| name(id.as_str()));
                Self::with(wire, json!({ "status": "running", "label": started.label, "kind": started.kind }), out);
            }
            Event::BackgroundEnded(ended) => {
                let place = Place("task", "task", phase(ended.status), "task_capsule");
                let mut wire = Self::wire("task.changed", envelope, place);
                wire.task_id = Some(name(ended.background_id.as_str()));
                Self::with(wire, json!({ "status": ended.status, "exitCode": ended.exit_code }), out);
            }
            _ => Self::work(envelope, out),
        }
    }

    /// What a turn is made of beside its answer.
    fn work(envelope: &Envelope, out: &mut Frames) {
        match &envelope.event {
            Event::PlanUpdated(plan) => {
                let mut wire = Self::wire("plan.final", envelope, Place("model", "run", "planning", "inline_process"));
                wire.part_id = Some("plan");
                Self::with(wire, json!(plan), out);
            }
            Event::CompactionStart(start) => {
                let place = Place("context", "run", "preparing", "inline_process");
                Self::with(Self::wire("context.compaction.started", envelope, place), json!(start), out);
            }
            Event::CompactionEnd(end) => {
                let place = Place("context", "run", "preparing", "inline_process");
                let payload = json!({
                    "removed": end.removed, "kept": end.kept, "tokensBefore": end.tokens_before, "tokensAfter": end.tokens_after,
                    "reason": end.reason, "failed": end.failed,
                });
                Self::with(Self::wire("context.compaction.completed", envelope, place), payload, out);
            }
            Event::Usage(usage) => {
                let place = Place("diagnostics", "run", "completed", "diagnostics");
                let wire = Wire { metric_name: Some("usage.tokens"), ..Self::wire("metric.changed", envelope, place) };
                let payload = json!({
                    "input": usage.input_tokens, "output": usage.output_tokens, "cached": usage.cached_tokens,
                    "reasoning": usage.reasoning_tokens, "costUsd": usage.cost_usd,
                });
                Self::with(wire, payload, out);
                if let (Some(used), Some(window)) = (usage.context_used, usage.context_window) {
                    let place = Place("context", "session", "unknown", "composer");
                    let wire = Self::wire("context.changed", envelope, place);
                    Self::with(wire, json!({ "used": used, "window": window }), out);
                }
            }
            Event::StateSnapshot(snapshot) => {
                Self::with(Self::wire("state.snapshot", envelope, STATE), json!({ "state": snapshot.state }), out);
            }
            Event::StateDelta(delta) => {
                let payload = json!({ "patch": delta.patch, "by": delta.by });
                Self::with(Self::wire("state.delta", envelope, STATE), payload, out);
            }
            // What they come to is told for every fact that changes one.
            Event::ComponentUpdate(_) | Event::ComponentRemove(_) => {}
            Event::ComponentCallback(_) => {
                let payload =
                    json!({ "component": { "change": envelope.event.kind(), "data": envelope.event.data() } });
                Self::with(Self::wire("state.delta", envelope, STATE), payload, out);
            }
            _ => Self::found(envelope, out),
        }
    }

    /// A component as it is now.
    pub(super) fn component(envelope: &Envelope, id: &str, mut data: Value, out: &mut Frames) {
        let is_removed = data.get("removed").is_some();
        let change = if is_removed { "component_remove" } else { "component_update" };
        if let Some(data) = data.as_object_mut() {
            data.insert("component_id".to_owned(), json!(id));
        }
        let payload = json!({ "component": { "change": change, "data": data } });
        Self::with(Self::wire("state.delta", envelope, STATE), payload, out);
    }

    /// What came of it.
    fn found(envelope: &Envelope, out: &mut Frames) {
        match &envelope.event {
            Event::EvidenceChanged(evidence) => {
                let place = Place("evidence", "evidence", "unknown", "timeline_evidence");
                let mut wire = Self::wire("evidence.changed", envelope, place);
                wire.evidence_id = Some(name(&evidence.evidence_id));
                Self::with(wire, json!(evidence), out);
            }
            Event::DiffUpdated(diff) => {
                let id = format!("diff:{}", envelope.turn_id.as_ref().map_or("session", |turn| turn.as_str()));
                let mut wire = Self::wire("artifact.changed", envelope, PRODUCT);
                (wire.artifact_id, wire.artifact_kind) = (Some(id.as_str()), Some("diff"));
                wire.artifact_status = Some("ready");
                Self::with(wire, json!(diff), out);
            }
            Event::ArtifactCreated(created) => Self::artifact(envelope, created, out),
            Event::ArtifactUpdated(updated) => {
                let mut wire = Self::product("artifact.updated", envelope, &updated.artifact_id, "ready");
                wire.artifact_read_ref = Some(read_ref(envelope, &updated.artifact_id));
                Self::with(wire, json!({ "title": updated.title }), out);
            }
            Event::ArtifactVersion(version) => {
                let mut wire = Self::product("artifact.version.created", envelope, &version.artifact_id, "ready");
                wire.artifact_version_id = Some(version.version.to_string());
                Self::with(wire, json!({ "version": version.version, "label": version.label }), out);
            }
            Event::ArtifactRemoved(removed) => {
                out.push(&Self::product("artifact.deleted", envelope, &removed.artifact_id, "deleted"));
            }
            Event::AgentUnparsed(unparsed) => {
                // What the agent really said may hold anything, so it stays in the log.
                let payload = json!({ "location": unparsed.location, "error": unparsed.error, "size": unparsed.size });
                Self::diagnose(envelope, payload, out);
            }
            Event::Unknown(unknown) => {
                let wire = Self::wire("diagnostic.changed", envelope, DIAGNOSTIC);
                Self::with(wire, json!({ "unknownType": unknown.kind }), out);
            }
            _ => {}
        }
    }

    fn ask<'a>(envelope: &'a Envelope, id: &'a str, place: Place) -> Wire<'a> {
        let kind = if place.2 == "waiting" { "action.required" } else { "action.resolved" };
        let mut wire = Self::wire(kind, envelope, place);
        wire.action_id = Some(name(id));
        wire.runtime_status = (place.2 == "waiting").then_some("needs_input");
        wire
    }

    fn permission(envelope: &Envelope, ask: &PermissionRequest, out: &mut Frames) {
        let mut wire = Self::ask(envelope, ask.ask_id.as_str(), Place("policy", "action_request", "waiting", "hitl"));
        wire.control = Some("approve");
        wire.tool_call_id = ask.tool_use_id.as_ref().map(|id| name(id.as_str()));
        let response = |reply| match reply {
            PermissionReply::Once => "allow_once",
            PermissionReply::Always => "allow_always",
            PermissionReply::Reject => "deny",
        };
        let responses: Vec<&str> = if ask.options.is_empty() {
            vec!["allow_once", "allow_always", "deny"]
        } else {
            ask.options.iter().map(|option| response(option.reply)).collect()
        };
        let title = ask.title.as_deref().unwrap_or(&ask.tool_name);
        let payload = json!({
            "actionType": "tool_approval", "type": "approval", "title": title, "responses": responses,
            "toolName": ask.tool_name, "input": ask.tool_input,
        });
        Self::with(wire, payload, out);
    }

    fn question(envelope: &Envelope, ask: &QuestionRequest, out: &mut Frames) {
        let mut wire = Self::ask(envelope, ask.ask_id.as_str(), ASK);
        wire.control = Some("answer");
        wire.tool_call_id = ask.tool_use_id.as_ref().map(|id| name(id.as_str()));
        let first = ask.questions.first();
        let title = ask.title.as_deref().or(first.map(|question| question.prompt.as_str()));
        let options: Vec<&str> = first
            .map(|question| question.options.iter().map(|option| option.label.as_str()).collect())
            .unwrap_or_default();
        let payload = json!({
            "actionType": "structured_input", "type": "elicitation", "title": title, "options": options, "questions": ask.questions,
        });
        Self::with(wire, payload, out);
    }

    fn decided(envelope: &Envelope, settled: &PermissionResolved, out: &mut Frames) {
        let decision = match (settled.allowed, settled.reply) {
            (true, PermissionReply::Always) => "allow_always",
            (true, _) => "allow_once",
            (false, _) => "deny",
        };
        let payload = json!({ "decision": decision, "by": settled.by, "reason": settled.reason, "rule": settled.rule });
        Self::settled(envelope, settled.ask_id.as_str(), payload, out);
    }

    fn settled(envelope: &Envelope, id: &str, payload: Value, out: &mut Frames) {
        Self::with(Self::ask(envelope, id, SETTLED), payload, out);
    }

    fn queue_changed(&self, envelope: &Envelope, steer: Option<Value>, out: &mut Frames) {
        let mut wire = Self::wire("queue.changed", envelope, Place("session", "session", "unknown", "task_capsule"));
        wire.queued_turn_count = Some(self.queue.len());
        let item = |(position, item): (usize, &crate::event::QueueItem)| json!({ "id": item.message_id, "position": position, "preview": item.preview, "mode": "queue", "state": item.state });
        let items: Vec<Value> = (1..).zip(&self.queue).map(item).collect();
        let mut payload = json!({ "items": items });
        if let (Some(steer), Some(payload)) = (steer, payload.as_object_mut()) {
            payload.insert("steer".to_owned(), steer);
        }
        Self::with(wire, payload, out);
    }

    fn product<'a>(kind: &'static str, envelope: &'a Envelope, id: &'a str, status: &'static str) -> Wire<'a> {
        let mut wire = Self::wire(kind, envelope, PRODUCT);
        wire.artifact_id = Some(name(id));
        wire.artifact_status = Some(status);
        wire.persistence = Some("artifact_store");
        wire
    }

    fn artifact(envelope: &Envelope, created: &ArtifactCreated, out: &mut Frames) {
        let mut wire = Self::product("artifact.created", envelope, &created.artifact_id, "ready");
        wire.artifact_kind = Some(kind_of(&created.media_type));
        wire.artifact_read_ref = Some(read_ref(envelope, &created.artifact_id));
        Self::with(wire, json!({ "title": created.title, "mediaType": created.media_type, "path": created.path }), out);
    }
}

fn phase(status: WorkStatus) -> &'static str {
    match status {
        WorkStatus::Completed => "completed",
        WorkStatus::Failed => "failed",
        WorkStatus::Interrupted => "interrupted",
    }
}

/// Where an artifact's content is read.
fn read_ref(envelope: &Envelope, id: &str) -> String {
    artifact_address(&envelope.session_id, name(id))
}

/// The address of an artifact's content. Agents like to name them like files, so what has a meaning in an address is escaped.
pub fn artifact_address(session: &SessionId, artifact: &str) -> String {
    let escape = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b':' => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    let artifact: String = artifact.bytes().map(escape).collect();
    format!("/agent-ui/sessions/{session}/artifacts/{artifact}/content")
}

/// The standard's word for a media type; one that tells nothing is not guessed at.
pub(super) fn kind_of(media_type: &str) -> &'static str {
    match media_type {
        "text/markdown" | "text/plain" | "application/pdf" => "document",
        "text/csv" => "table",
        "text/x-diff" | "text/x-patch" => "diff",
        "application/json" => "dataset",
        _ if media_type.starts_with("image/") => "image",
        _ if media_type.starts_with("text/x-") || media_type.contains("javascript") => "code",
        _ => "unknown",
    }
}
