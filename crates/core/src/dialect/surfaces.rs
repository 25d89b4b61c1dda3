//! Things that are shown beside the text and replaced in place: plans, diffs, components, artifacts, decisions, shared state. Several dialects show them in
//! their own ways; this module only keeps their current values.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use crate::component::{Component, Shown};
use crate::event::{Envelope, Event};
use crate::id::Seq;
use crate::shared;
use crate::view::Decision;

/// All of them, as the log has made them so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Surfaces {
    state: Value,
    /// The last patch fitted.
    patched: bool,
    components: Shown,
    artifacts: HashMap<String, Map<String, Value>>,
    background: HashMap<String, Map<String, Value>>,
    steers: HashMap<String, Value>,
    compaction: Option<Seq>,
}

/// What a fact changed.
#[derive(Debug, Default)]
pub(super) struct Changed {
    pub(super) surface: Option<Surface>,
    /// The components that are different now: a fact may change several.
    pub(super) components: Vec<Surface>,
}

/// One of them after a change.
#[derive(Debug)]
pub(super) struct Surface {
    pub(super) kind: &'static str,
    /// Stable, and unique within its kind.
    pub(super) id: String,
    pub(super) data: Value,
}

impl Surfaces {
    /// The shared state; an empty object as long as nobody has said anything.
    pub(super) fn state(&self) -> Value {
        shared::document(&self.state)
    }

    pub(super) fn patched(&self) -> bool {
        self.patched
    }

    /// Takes a fact, and says what it changed. The shared state is not among it: every dialect has a way of its own for that.
    pub(super) fn step(&mut self, envelope: &Envelope) -> Changed {
        let touched = self.components.touched_by(&envelope.event).into_iter();
        let before: HashMap<String, Option<Component>> =
            touched.map(|id| (id.to_owned(), self.components.get(id, &self.state))).collect();
        let surface = self.take(envelope);
        let ids = self.components.step(envelope);
        // What was made in turns that are taken back goes with them.
        let ids = if matches!(envelope.event, Event::Rollback(_)) { Vec::new() } else { ids };
        let components = ids.into_iter().filter_map(|id| {
            let now = self.components.get(&id, &self.state);
            let is_same = before.get(&id).map_or(now.is_none(), |before| *before == now);
            (!is_same || matches!(envelope.event, Event::ComponentRemove(_))).then(|| component(&id, now))
        });
        Changed { surface, components: components.collect() }
    }

    fn take(&mut self, envelope: &Envelope) -> Option<Surface> {
        let surface = |kind, id: &str, data: Value| Some(Surface { kind, id: super::name(id).to_owned(), data });
        match &envelope.event {
            Event::PlanUpdated(plan) => surface("plan", "plan", json!(plan)),
            Event::DiffUpdated(diff) => surface("diff", "diff", json!(diff)),
            Event::EvidenceChanged(evidence) => surface("evidence", &evidence.evidence_id, json!(evidence)),
            Event::StateSnapshot(snapshot) => {
                self.state = snapshot.state.clone();
                None
            }
            Event::StateDelta(delta) => {
                // A patch that does not fit changes nothing; the log keeps it.
                let patched = shared::patched(&self.state, &delta.patch);
                self.patched = patched.is_ok();
                self.state = patched.unwrap_or_else(|_| self.state.take());
                None
            }
            Event::ArtifactCreated(created) => {
                self.artifacts.remove(&created.artifact_id);
                surface("artifact", &created.artifact_id, self.artifact(&created.artifact_id, json!(created)))
            }
            Event::ArtifactUpdated(updated) => {
                surface("artifact", &updated.artifact_id, self.artifact(&updated.artifact_id, json!(updated)))
            }
            Event::ArtifactVersion(version) => {
                surface("artifact", &version.artifact_id, self.artifact(&version.artifact_id, json!(version)))
            }
            Event::ArtifactRemoved(removed) => {
                self.artifacts.remove(&removed.artifact_id);
                surface("artifact", &removed.artifact_id, json!({ "removed": true }))
            }
            Event::BackgroundStarted(started) => {
                let known = object(json!(started));
                let data = self.background.entry(started.background_id.to_string()).or_default();
                *data = known;
                data.insert("status".to_owned(), json!("running"));
                surface("background", started.background_id.as_str(), json!(data))
            }
            Event::BackgroundEnded(ended) => {
                let mut data = self.background.remove(ended.background_id.as_str()).unwrap_or_default();
                data.extend(object(json!(ended)));
                surface("background", ended.background_id.as_str(), Value::Object(data))
            }
            Event::CompactionStart(_) => {
                self.compaction = Some(envelope.seq);
                surface("compaction", &envelope.seq.to_string(), json!({ "status": "running" }))
            }
            Event::CompactionEnd(end) => {
                let id = self.compaction.take().unwrap_or(envelope.seq).to_string();
                let mut data = object(json!(end));
                data.insert("status".to_owned(), json!(if end.failed == Some(true) { "failed" } else { "done" }));
                surface("compaction", &id, Value::Object(data))
            }
            Event::Steer(steer) => {
                let known = self.steers.entry(steer.message_id.to_string()).or_default();
                if let Some(content) = &steer.content {
                    *known = json!(content);
                }
                let data = json!({ "state": steer.state, "content": known });
                surface("steer", steer.message_id.as_str(), data)
            }
            Event::Retracted(retracted) => {
                surface("retracted", retracted.block_id.as_str(), json!({ "block_id": retracted.block_id }))
            }
            // What the rules said about a call belongs to the call.
            Event::ToolDecided(decided) => {
                surface("decision", decided.tool_use_id.as_str(), json!(Decision::from(&decided.judged)))
            }
            Event::Failure(failure) => surface("error", &envelope.seq.to_string(), json!(failure)),
            _ => None,
        }
    }

    fn artifact(&mut self, id: &str, data: Value) -> Value {
        let known = self.artifacts.entry(id.to_owned()).or_default();
        known.extend(object(data));
        json!(known)
    }
}

/// A component as it is now; one that is not shown any more is removed.
fn component(id: &str, now: Option<Component>) -> Surface {
    let mut data = object(now.map_or_else(|| json!({ "removed": true }), |now| json!(now)));
    data.remove("component_id");
    Surface { kind: "component", id: super::name(id).to_owned(), data: Value::Object(data) }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        other => Map::from_iter([("value".to_owned(), other)]),
    }
}
