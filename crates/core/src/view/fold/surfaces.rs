//! What stands beside the conversation: the session itself, components, artifacts, plans, notes.

use serde_json::{Value, json};

use super::{Fields, Fold, Key, Op, block, fields, is};
use crate::event::{ComponentUpdate, Envelope, Event, SteerState, Surface};
use crate::id::TurnId;
use crate::view::tree::Node;

impl Fold {
    pub(super) fn session_fact(&mut self, envelope: &Envelope) {
        match &envelope.event {
            Event::SessionReady(ready) => {
                // All that it says of the session; why it was not resumed is said once, below.
                for (name, value) in Fields::of(ready).known().into_iter().filter(|(name, _)| name != "reason") {
                    self.set_session(&name, value);
                }
                self.set_session("ended", Value::Null);
                if ready.resumed == Some(false) {
                    let reason = ready.reason.as_deref().unwrap_or("it did not say why");
                    self.note(envelope, "warning", &format!("The agent does not remember this conversation: {reason}"));
                }
            }
            Event::SessionUpdated(updated) => {
                if let Some(title) = &updated.title {
                    self.set_session("title", json!(title));
                }
                if let Some(archived) = updated.archived {
                    self.set_session("archived", json!(archived));
                }
            }
            Event::ModeChanged(changed) => self.set_session("mode", json!(changed.mode)),
            Event::ModelChanged(changed) => self.set_session("model", json!(changed.model)),
            Event::SessionEnded(ended) => {
                self.set_session("ended", json!(ended));
                self.note(envelope, "info", "The session has ended");
            }
            Event::Forked(forked) => self.note(envelope, "info", &format!("Forked from {}", forked.from_session)),
            Event::Rollback(rollback) => self.rollback(&rollback.turn_ids),
            Event::QueueChanged(changed) => self.set_root("queue", json!(changed.queue)),
            Event::Steer(steer) if steer.state == SteerState::Accepted => {
                self.name_after(steer.content.as_deref().unwrap_or_default());
                let steer = json!({ "message_id": steer.message_id, "content": steer.content });
                self.set_list("steers", |list| list.push(steer));
            }
            Event::Steer(steer) => {
                self.set_list("steers", |list| {
                    list.retain(|known| !is(known, "message_id", steer.message_id.as_str()));
                });
            }
            Event::EvidenceChanged(evidence) => {
                self.note(envelope, "info", &format!("{}: {}", evidence.title, evidence.status));
            }
            Event::AgentUnparsed(unparsed) => {
                self.note(envelope, "warning", &format!("The agent said something unreadable: {}", unparsed.error));
            }
            Event::Unknown(unknown) => {
                let data = serde_json::from_str::<Value>(unknown.data.get()).ok();
                let fields = fields! { "type": unknown.kind, "data": data };
                self.insert(envelope, |id| block::block(id, "unknown", envelope, fields));
            }
            _ => {}
        }
    }

    pub(super) fn rollback(&mut self, turn_ids: &[TurnId]) {
        let of_turn = |node: &&Node| turn_ids.iter().any(|turn_id| node.text("turn_id") == turn_id.as_str());
        let gone: Vec<String> = self.root.children.iter().filter(of_turn).map(|node| node.id.clone()).collect();
        for id in gone {
            self.change(Op::Remove { path: vec![id] });
        }
    }

    pub(super) fn component(&mut self, envelope: &Envelope, update: &ComponentUpdate) {
        let key = Key::Component(update.component_id.clone());
        let listed = self.root.fields.get("components").and_then(Value::as_array);
        let known =
            listed.and_then(|list| list.iter().find(|known| is(known, "component_id", &update.component_id))).cloned();
        let mut props = update.props.clone();
        if let (true, Some(Value::Object(known)), Value::Object(new)) =
            (update.merge, known.as_ref().map(|known| known.get("props").cloned().unwrap_or_default()), &update.props)
        {
            let mut merged = known;
            merged.extend(new.clone());
            props = Value::Object(merged);
        }
        let component = json!({ "component_id": update.component_id, "name": update.name, "surface": update.surface, "props": props });
        if self.places.contains_key(&key) {
            self.set(&key, fields! { "name": update.name, "props": props });
        } else if update.surface == Surface::Chat {
            let fields = Fields::of(&component);
            self.insert_as(envelope, key, |id| block::block(id, "component", envelope, fields));
        }
        self.set_list("components", |list| {
            match list.iter_mut().find(|known| is(known, "component_id", &update.component_id)) {
                Some(known) => *known = component,
                None => list.push(component),
            }
        });
    }

    pub(super) fn artifact(&mut self, envelope: &Envelope) {
        match &envelope.event {
            Event::ArtifactCreated(created) => {
                let kind = if created.media_type.starts_with("image/") { "image" } else { "artifact" };
                let mut fields = Fields::of(created);
                fields.insert("version", json!(1));
                self.insert_as(envelope, Key::Artifact(created.artifact_id.clone()), |id| {
                    block::block(id, kind, envelope, fields)
                });
            }
            Event::ArtifactUpdated(updated) => {
                self.set(&Key::Artifact(updated.artifact_id.clone()), Fields::of(updated).known());
            }
            Event::ArtifactVersion(version) => {
                self.set(&Key::Artifact(version.artifact_id.clone()), Fields::of(version));
            }
            Event::ArtifactRemoved(removed) => self.remove(&Key::Artifact(removed.artifact_id.clone())),
            _ => {}
        }
    }

    pub(super) fn status(&mut self, envelope: &Envelope) {
        let Event::Status(status) = &envelope.event else { return };
        let mut activity = Fields::of(status);
        activity.insert("since", json!(envelope.ts));
        self.set_root("activity", json!(activity));
    }

    /// Something worth a line, that is neither the agent's words nor its work.
    pub(super) fn note(&mut self, envelope: &Envelope, level: &str, label: &str) {
        let fields = fields! { "level": level, "label": label };
        self.insert(envelope, |id| block::block(id, "status", envelope, fields));
    }

    /// A block of which a message has one, that later ones replace.
    pub(super) fn one_per_message(&mut self, envelope: &Envelope, kind: &'static str, fields: Fields) {
        let message = self.agent_message(envelope);
        let key = Key::Only(message.clone(), kind);
        if self.places.contains_key(&key) {
            return self.set(&key, fields);
        }
        let path = self.insert_in(vec![message], envelope, |id| block::block(id, kind, envelope, fields));
        self.places.insert(key, path);
    }
}
