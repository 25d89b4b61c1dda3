//! What a client changed in its copy of the shared state.
//!
//! A run brings the whole copy and does not say which version it was made from, so a copy that differs may be changed, or only old. The messages
//! that the client has tell what it has seen at least: a copy that is like some version since then is an old one and changes nothing, and any
//! other is compared with the version that it is most like. Only that difference is the client's, so what the agent wrote meanwhile stays.

use std::collections::HashSet;

use serde_json::Value;

use super::{RunInput, text_id};
use crate::dialect::name;
use crate::event::{Envelope, Event};
use crate::shared;

/// Versions that are compared with; a client that missed more has its copy compared with the newest of them.
const MAX_VERSIONS: usize = 64;

/// A fold of the log for one run.
#[derive(Debug)]
pub struct StateCopy {
    copy: Value,
    /// Messages that the client has and that have not come by.
    ahead: HashSet<String>,
    /// What the client may have, oldest first; never empty.
    versions: Vec<Value>,
}

impl StateCopy {
    /// The types of event that matter here.
    pub const KINDS: &'static [&'static str] =
        &["user_message", "delta", "thinking", "tool_start", "state_snapshot", "state_delta"];

    /// Nothing, when the run brings no state.
    pub fn of(run: &RunInput) -> Option<Self> {
        let copy = run.state.clone()?;
        Some(Self { copy, ahead: run.known.clone(), versions: vec![shared::document(&Value::Null)] })
    }

    /// Whether the copy is the same as this.
    pub fn is(&self, state: &Value) -> bool {
        self.copy == *state
    }

    pub fn step(&mut self, envelope: &Envelope) {
        let seen = match &envelope.event {
            Event::UserMessage(message) => self.ahead.remove(name(message.message_id.as_str())),
            Event::Delta(delta) => self.ahead.remove(&text_id(envelope, delta.block_id.as_str())),
            Event::Thinking(thinking) => self.ahead.remove(&text_id(envelope, thinking.block_id.as_str())),
            Event::ToolStart(start) => {
                let id = name(start.tool_use_id.as_str());
                self.ahead.remove(id) || self.ahead.remove(&text_id(envelope, id))
            }
            Event::StateSnapshot(snapshot) => {
                self.became(snapshot.state.clone());
                false
            }
            Event::StateDelta(delta) => {
                // A patch that does not fit changes nothing.
                if let Some(Ok(state)) = self.versions.last().map(|state| shared::patched(state, &delta.patch)) {
                    self.became(state);
                }
                false
            }
            _ => false,
        };
        if seen {
            // It was there, so it has at least what was the newest then.
            self.versions.drain(..self.versions.len() - 1);
        }
    }

    fn became(&mut self, state: Value) {
        if self.versions.len() == MAX_VERSIONS {
            self.versions.remove(0);
        }
        self.versions.push(state);
    }

    /// The patch that the client means, if it means one.
    pub fn change(self) -> Option<Value> {
        if self.versions.contains(&self.copy) {
            return None;
        }
        let differences = self.versions.iter().map(|version| shared::difference(version, &self.copy));
        differences.min_by_key(|patch| patch.to_string().len())
    }
}
