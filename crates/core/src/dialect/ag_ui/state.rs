//! Finds what a client changed in its copy of the shared state.
//!
//! A run brings the whole copy and does not say which version it was made from, so a copy that differs may be changed, or only old. The messages
//! that the client has tell what it has seen at least: a copy that is like some version since then is an old one and changes nothing, and any
//! other is compared with the version that it is most like. Only that difference is the client's, so what the agent wrote meanwhile stays.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use serde_json::Value;

use super::{RunInput, text_id};
use crate::dialect::name;
use crate::event::{Envelope, Event};
use crate::projection::Projection;
use crate::shared;

/// Versions that are compared with; a client that missed more has its copy compared with the newest of them.
const MAX_VERSIONS: usize = 64;

/// About what a name takes in memory.
const NAME_BYTES: usize = 128;

/// The versions of the shared state, and which of them was the newest when each message began. A fold for all runs.
#[derive(Debug, Clone)]
pub struct StateVersions {
    /// The last of them, oldest first; never empty.
    versions: VecDeque<Arc<Value>>,
    /// How many were let go.
    forgotten: usize,
    /// By the names that clients know messages and calls by, when each first came.
    seen: HashMap<String, usize>,
    bytes: usize,
}

impl Default for StateVersions {
    fn default() -> Self {
        let first = Arc::new(shared::document(&Value::Null));
        Self { versions: VecDeque::from([first]), forgotten: 0, seen: HashMap::new(), bytes: 0 }
    }
}

impl StateVersions {
    fn became(&mut self, state: Value) {
        if self.versions.len() == MAX_VERSIONS
            && let Some(oldest) = self.versions.pop_front()
        {
            self.forgotten += 1;
            self.bytes = self.bytes.saturating_sub(shared::size(&oldest));
        }
        self.bytes += shared::size(&state);
        self.versions.push_back(Arc::new(state));
    }

    fn came(&mut self, id: String) {
        let newest = self.forgotten + self.versions.len() - 1;
        self.seen.entry(id).or_insert(newest);
    }

    /// What a client may have that has these messages: it was there, so it has at least what was the newest when the last of them began.
    fn since(&self, known: &HashSet<String>) -> impl Iterator<Item = &Value> {
        let first = known.iter().filter_map(|id| self.seen.get(id)).max().copied().unwrap_or(0);
        self.versions.iter().skip(first.saturating_sub(self.forgotten)).map(|version| &**version)
    }
}

impl Projection for StateVersions {
    type Output = ();

    fn apply(&mut self, envelope: &Envelope, (): &mut ()) {
        match &envelope.event {
            Event::UserMessage(message) => self.came(name(message.message_id.as_str()).to_owned()),
            Event::Delta(delta) => self.came(text_id(envelope, delta.block_id.as_str())),
            Event::Thinking(thinking) => self.came(text_id(envelope, thinking.block_id.as_str())),
            Event::ToolStart(start) => {
                let id = name(start.tool_use_id.as_str());
                self.came(text_id(envelope, id));
                self.came(id.to_owned());
            }
            Event::StateSnapshot(snapshot) => self.became(snapshot.state.clone()),
            Event::StateDelta(delta) => {
                // A patch that does not fit changes nothing.
                if let Some(Ok(state)) = self.versions.back().map(|state| shared::patched(state, &delta.patch)) {
                    self.became(state);
                }
            }
            _ => {}
        }
    }

    fn weight(&self) -> usize {
        // As values they take more than as text.
        self.bytes * 2 + self.seen.len() * NAME_BYTES
    }
}

/// A run's copy of the state.
#[derive(Debug)]
pub struct StateCopy<'a> {
    copy: &'a Value,
    /// Messages that the client has.
    known: &'a HashSet<String>,
}

impl<'a> StateCopy<'a> {
    /// Nothing, when the run brings no state.
    pub fn of(run: &'a RunInput) -> Option<Self> {
        Some(Self { copy: run.state.as_ref()?, known: &run.known })
    }

    /// Whether the copy is the same as this.
    pub fn is(&self, state: &Value) -> bool {
        *self.copy == *state
    }

    /// The patch that the client means, if it means one.
    pub fn change(&self, versions: &StateVersions) -> Option<Value> {
        if versions.since(self.known).any(|version| self.is(version)) {
            return None;
        }
        let differences = versions.since(self.known).map(|version| shared::difference(version, self.copy));
        differences.min_by_key(|patch| patch.to_string().len())
    }
}
