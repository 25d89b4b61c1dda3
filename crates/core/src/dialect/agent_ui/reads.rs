//! The answers to the standard's read requests: artifacts, and the events of a few classes. These are folds of the whole log, shared by all readers.

use std::collections::{BTreeMap, HashMap, VecDeque};

use serde_json::Value;

use super::AgentUi;
use crate::blob::BlobRef;
use crate::dialect::{Frames, Projection};
use crate::event::{Envelope, Event};
use crate::id::Seq;

/// Diagnostics that are kept: the newest.
const DIAGNOSTICS: usize = 500;

/// About what an artifact or an event takes in memory besides its text.
const ENTRY_BYTES: usize = 512;

/// An artifact as it is now.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Artifact {
    pub title: String,
    pub media_type: String,
    pub version: Option<u64>,
    pub content: Option<String>,
    pub blob: Option<BlobRef>,
    /// Where its content stands in the log.
    pub seq: Seq,
}

/// The artifacts of a session, by id.
#[derive(Debug, Clone, Default)]
pub struct Artifacts(HashMap<String, Artifact>);

impl Artifacts {
    pub fn get(&self, id: &str) -> Option<&Artifact> {
        self.0.get(id)
    }
}

impl Projection for Artifacts {
    type Output = ();

    fn apply(&mut self, envelope: &Envelope, (): &mut ()) {
        match &envelope.event {
            Event::ArtifactCreated(created) => {
                let (title, media_type) = (created.title.clone(), created.media_type.clone());
                let (content, blob) = (created.content.clone(), created.blob.clone());
                let artifact = Artifact { title, media_type, version: None, content, blob, seq: envelope.seq };
                self.0.insert(created.artifact_id.clone(), artifact);
            }
            Event::ArtifactUpdated(updated) => {
                let Some(known) = self.0.get_mut(&updated.artifact_id) else { return };
                known.title = updated.title.clone().unwrap_or_else(|| std::mem::take(&mut known.title));
                if updated.content.is_some() || updated.blob.is_some() {
                    (known.content, known.blob, known.seq) =
                        (updated.content.clone(), updated.blob.clone(), envelope.seq);
                }
            }
            Event::ArtifactVersion(version) => {
                if let Some(known) = self.0.get_mut(&version.artifact_id) {
                    known.version = Some(version.version);
                }
            }
            Event::ArtifactRemoved(removed) => drop(self.0.remove(&removed.artifact_id)),
            _ => {}
        }
    }

    fn weight(&self) -> usize {
        let text = |artifact: &Artifact| artifact.content.as_ref().map_or(0, String::len);
        self.0.values().map(|artifact| ENTRY_BYTES + text(artifact)).sum()
    }
}

/// What was found, what went wrong and what was used.
#[derive(Debug, Clone, Default)]
pub struct Findings {
    dialect: AgentUi,
    seq: Seq,
    /// The newest event of each piece of evidence, in order, and where each stands in that order.
    evidence: BTreeMap<u64, Value>,
    places: HashMap<Option<String>, u64>,
    next: u64,
    /// The newest.
    diagnostics: VecDeque<Value>,
    /// How many there were.
    all_diagnostics: usize,
    bytes: usize,
}

impl Findings {
    /// How much of the log this is.
    pub fn seq(&self) -> Seq {
        self.seq
    }

    pub fn evidence(&self) -> Vec<Value> {
        self.evidence.values().cloned().collect()
    }

    /// The newest diagnostics, and whether there were more.
    pub fn diagnostics(&self) -> (Vec<Value>, bool) {
        (self.diagnostics.iter().cloned().collect(), self.all_diagnostics > self.diagnostics.len())
    }

    fn found(&mut self, event: Value) {
        let id = event.get("evidenceId").map(Value::to_string);
        if let Some(older) = self.places.insert(id, self.next) {
            self.evidence.remove(&older);
        }
        self.evidence.insert(self.next, event);
        self.next += 1;
    }

    fn diagnosed(&mut self, event: Value) {
        if self.diagnostics.len() == DIAGNOSTICS {
            self.diagnostics.pop_front();
        }
        self.diagnostics.push_back(event);
        self.all_diagnostics += 1;
    }
}

impl Projection for Findings {
    type Output = ();

    fn apply(&mut self, envelope: &Envelope, (): &mut ()) {
        self.seq = envelope.seq;
        let mut frames = Frames::default();
        self.dialect.apply(envelope, &mut frames);
        for frame in frames.iter() {
            let Ok(event) = serde_json::from_slice::<Value>(frame.body) else { continue };
            match event.get("type").and_then(Value::as_str) {
                Some("evidence.changed") => self.found(event),
                Some("diagnostic.changed" | "metric.changed" | "context.changed") => self.diagnosed(event),
                _ => continue,
            }
            self.bytes += frame.body.len();
        }
    }

    fn weight(&self) -> usize {
        // What was replaced is counted too, so it is rather less.
        (self.evidence.len() + self.diagnostics.len()) * ENTRY_BYTES + self.bytes * 2
    }
}
