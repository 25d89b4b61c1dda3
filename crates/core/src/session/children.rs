//! The sessions that work for this one, and the one that it works for, as the log tells it. What is done about them is in `delegating`.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::event::{Delegated, DelegatedAsk, DelegationState, DelegationUpdated, Envelope, Event, ToolResult};
use crate::id::{MessageId, Seq, SessionId, ToolUseId, TurnId};

#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Children {
    /// For whom this session works.
    pub(super) delegated: Delegated,
    /// How many there were, also of those that are not there any more.
    pub(super) total: usize,
    pub(super) all: BTreeMap<SessionId, Child>,
}

#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Child {
    pub(super) runtime: String,
    pub(super) title: String,
    pub(super) state: DelegationState,
    pub(super) activity: Option<String>,
    pub(super) asks: Vec<DelegatedAsk>,
    /// How far in its log is known.
    pub(super) seq: Seq,
    /// Messages whose turns have not ended.
    pub(super) expected: BTreeSet<MessageId>,
    /// The calls that wait for its end.
    pub(super) calls: BTreeSet<ToolUseId>,
    /// How its last turn ended.
    pub(super) end: Option<End>,
    /// The calls that were told, and have not said so.
    pub(super) told: BTreeSet<ToolUseId>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct End {
    pub(super) turn_id: Option<TurnId>,
    pub(super) text: Option<String>,
    pub(super) reason: Option<String>,
}

impl Children {
    pub(super) fn apply(&mut self, envelope: &Envelope) {
        match &envelope.event {
            Event::Delegated(delegated) => self.delegated = delegated.clone(),
            // Those of the session that it was copied from are not its own, and it works for nobody.
            Event::Forked(_) => *self = Self::default(),
            Event::DelegationStarted(started) => {
                let is_new = !self.all.contains_key(&started.child_session_id);
                self.total += usize::from(is_new);
                let waits = started.waits == Some(true);
                let child = Child {
                    runtime: started.runtime.clone(),
                    title: started.title.clone(),
                    expected: started.message_id.iter().cloned().collect(),
                    calls: started.tool_use_id.iter().filter(|_| waits).cloned().collect(),
                    ..Child::default()
                };
                self.all.insert(started.child_session_id.clone(), child);
            }
            Event::DelegationUpdated(updated) => {
                if let Some(child) = self.all.get_mut(&updated.child_session_id) {
                    child.update(updated);
                }
            }
            Event::ToolResult(result) => self.called(result),
            _ => {}
        }
    }

    /// A call has its result. Whether the agent has read it is not known of one that was cut off.
    fn called(&mut self, result: &ToolResult) {
        for child in self.all.values_mut() {
            child.calls.remove(&result.tool_use_id);
            if result.interrupted != Some(true) {
                child.told.remove(&result.tool_use_id);
            }
        }
    }

    pub(super) fn parent(&self) -> Option<&SessionId> {
        self.delegated.parent_session_id.as_ref()
    }

    /// How many sessions stand above this one.
    pub(super) fn depth(&self) -> usize {
        self.delegated.ancestors.len()
    }

    pub(super) fn open(&self) -> impl Iterator<Item = (&SessionId, &Child)> {
        self.all.iter().filter(|(_, child)| child.state.is_open())
    }

    /// What they ask of people.
    pub(super) fn asks(&self) -> impl Iterator<Item = &DelegatedAsk> {
        self.all.values().flat_map(|child| &child.asks)
    }
}

impl Child {
    fn update(&mut self, updated: &DelegationUpdated) {
        let DelegationUpdated { state, activity, asks, message_id, tool_use_id, turn_id, text, reason, .. } = updated;
        (self.state, self.activity, self.asks) = (*state, activity.clone(), asks.clone());
        self.seq = updated.child_seq.map_or(self.seq, |seq| seq.max(self.seq));
        self.expected.extend(message_id.clone());
        self.calls.extend(tool_use_id.clone());
        let has_ended = turn_id.is_some() || text.is_some() || reason.is_some();
        if !state.is_open() && has_ended {
            self.end = Some(End { turn_id: turn_id.clone(), text: text.clone(), reason: reason.clone() });
            self.told = updated.told.iter().cloned().collect();
        }
        if !state.is_open() {
            self.expected.clear();
        }
    }
}
