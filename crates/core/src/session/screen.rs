//! What people did on the screen, for agents that hear of it by messages: presses in components, and changes of the shared state by others. The facts
//! come first; what of them was told is a fold, because the id of each such message names the positions that it is about. So everything is told once,
//! whenever a daemon ends.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::machine::{Machine, Output};
use super::queue::Place;
use super::state::Queued;
use crate::event::{ComponentCallback, Envelope, Event, Origin, Part, QueueState, SteerState};
use crate::id::{MessageId, Seq};
use crate::runtime::Hearing;
use crate::shared;
use crate::time::Timestamp;

/// What is done so soon after each other is told together.
const BATCH_MS: i64 = 800;

/// What wakes the agent is told at once when there is so much of it.
const MAX_BATCH: usize = 20;

/// So much waits for the next message. Then it is told without one.
const MAX_QUIET: usize = 100;

/// With this the agent has not been able to hear for long: nothing more is taken.
pub(super) const MAX_UNTOLD: usize = 200;

/// Changes of the state that are told as they are. Of more the agent hears that there were some.
const MAX_OPERATIONS: usize = 256;
const MAX_PATCH_BYTES: usize = 32 * 1024;

/// How the ids of these messages begin.
const PREFIX: &str = "ui-";

/// What the agent has not heard, as the log tells it.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Untold {
    /// The positions that a message about all of it would name.
    range: Option<(Seq, Seq)>,
    pressed: Vec<Pressed>,
    changes: Changes,
}

/// Something that was done in a component.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Pressed {
    seq: Seq,
    component_id: String,
    name: String,
    action: String,
    payload: Value,
    wakes: bool,
}

/// Changes of the shared state, joined.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Changes {
    last: Option<Seq>,
    patch: Vec<Value>,
    bytes: usize,
    /// There were more than are kept.
    is_cut: bool,
    wakes: bool,
}

impl Untold {
    pub(super) fn apply(&mut self, envelope: &Envelope) {
        match &envelope.event {
            Event::ComponentCallback(callback) if callback.settles.is_none() => {
                if let Some(wakes) = callback.wakes {
                    self.note(envelope.seq);
                    self.press(envelope.seq, callback, wakes);
                }
            }
            Event::StateDelta(delta) => {
                if let Some(wakes) = delta.wakes {
                    self.note(envelope.seq);
                    self.changes.add(envelope.seq, &delta.patch, wakes);
                }
            }
            Event::UserMessage(message) => self.told(&message.message_id, message.origin),
            Event::Steer(steer) if steer.state == SteerState::Accepted => {
                self.told(&steer.message_id, steer.origin.unwrap_or_default());
            }
            Event::QueueChanged(changed) => {
                changed.added.iter().for_each(|added| self.told(&added.message_id, added.origin));
            }
            // What waited there does not wait here.
            Event::Forked(_) => *self = Self::default(),
            _ => {}
        }
    }

    fn note(&mut self, seq: Seq) {
        let first = self.range.map_or(seq, |(first, _)| first);
        self.range = Some((first, seq));
    }

    fn press(&mut self, seq: Seq, callback: &ComponentCallback, wakes: bool) {
        let ComponentCallback { component_id, action, payload, name, .. } = callback.clone();
        let mut wakes = wakes;
        if is_superseded(&action) {
            // Only how it stands in the end is news.
            let same = |known: &Pressed| known.component_id == component_id && known.action == action;
            wakes |= self.pressed.iter().any(|known| same(known) && known.wakes);
            self.pressed.retain(|known| !same(known));
        }
        if self.pressed.len() < MAX_UNTOLD {
            let name = name.unwrap_or_default();
            self.pressed.push(Pressed { seq, component_id, name, action, payload, wakes });
        }
    }

    fn told(&mut self, message_id: &MessageId, origin: Origin) {
        let Some((_, told)) = range_of(message_id).filter(|_| origin == Origin::Component) else { return };
        self.pressed.retain(|pressed| pressed.seq.0 > told);
        if self.changes.last.is_some_and(|last| last.0 <= told) {
            self.changes = Changes::default();
        }
        self.range = self.range.filter(|(_, last)| last.0 > told).map(|(first, last)| (first.max(Seq(told + 1)), last));
    }

    pub(super) fn len(&self) -> usize {
        self.pressed.len()
    }

    fn waking(&self) -> usize {
        self.pressed.iter().filter(|pressed| pressed.wakes).count() + usize::from(self.changes.wakes)
    }

    /// A message about all of it.
    fn message(&self) -> Option<Queued> {
        let (first, last) = self.range?;
        let mut text = "The person used the screen:".to_owned();
        for Pressed { component_id, name, action, payload, .. } in &self.pressed {
            let _ = write!(text, "\n- {} \"{component_id}\": {}", word(name), word(action));
            if !payload.is_null() {
                let _ = write!(text, " {payload}");
            }
        }
        match &self.changes {
            Changes { is_cut: true, .. } => text.push_str("\n- state: changed in many places; read it with get_state"),
            Changes { patch, last: Some(_), .. } => {
                let _ = write!(text, "\n- state: {}", Value::Array(patch.clone()));
            }
            Changes { last: None, .. } => {}
        }
        Some(Queued {
            message_id: MessageId::trusted(format!("{PREFIX}{first}-{last}")),
            content: vec![Part::Text { text }],
            origin: Origin::Component,
            source: None,
            state: QueueState::Waiting,
            held: None,
        })
    }
}

impl Changes {
    fn add(&mut self, seq: Seq, patch: &Value, wakes: bool) {
        self.last = Some(seq);
        self.wakes |= wakes;
        for operation in patch.as_array().into_iter().flatten() {
            // What was looked at before is no change.
            if operation.get("op").is_some_and(|op| op == "test") {
                continue;
            }
            self.bytes += shared::size(operation);
            if self.bytes > MAX_PATCH_BYTES || self.patch.len() >= MAX_OPERATIONS {
                self.is_cut = true;
                self.patch.clear();
            }
            if !self.is_cut {
                self.patch.push(operation.clone());
            }
        }
    }
}

/// The positions that a message of this id is about.
pub(super) fn range_of(message_id: &MessageId) -> Option<(u64, u64)> {
    let (first, last) = message_id.as_str().strip_prefix(PREFIX)?.split_once('-')?;
    let number = |text: &str| text.parse::<u64>().ok().filter(|number| number.to_string() == text);
    Some((number(first)?, number(last)?))
}

/// Whether only the last of several such actions says something.
fn is_superseded(action: &str) -> bool {
    matches!(action, "change" | "reorder_steps") || action.starts_with("select_")
}

/// A name as it is, if it cannot be taken for something else.
fn word(text: &str) -> String {
    let is_plain = !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "_-.:/".contains(c));
    if is_plain { text.to_owned() } else { Value::from(text).to_string() }
}

impl Machine {
    pub(super) fn hears_by_messages(&self) -> bool {
        self.hearing == Hearing::Messages
    }

    /// Whether an action wakes the agent, if it hears of it by a message.
    pub(super) fn wakes(&self, component: &str, action: &str) -> Option<bool> {
        let registry = self.registry();
        let known = registry.get(component).and_then(|entry| entry.callbacks.iter().find(|known| known.name == action));
        self.hears_by_messages().then(|| known.is_none_or(|known| known.wakes))
    }

    /// The same of a change of the state by others.
    pub(super) fn state_wakes(&self) -> Option<bool> {
        let wakes = self.param(crate::host_tools::STATE_WAKES).and_then(Value::as_bool) == Some(true);
        self.hears_by_messages().then_some(wakes)
    }

    /// Something was done that the agent has to hear of: soon, or with the next message.
    pub(super) fn noted_on_screen(&mut self, wakes: Option<bool>, at: Timestamp, out: &mut Output) {
        let untold = &self.state.untold;
        match wakes {
            None => {}
            Some(_) if untold.waking() >= MAX_BATCH || untold.len() >= MAX_QUIET => self.tell_screen(at, out),
            Some(true) => self.tell_at = Some(at.plus_millis(BATCH_MS)),
            Some(false) => {}
        }
    }

    pub(super) fn tick_screen(&mut self, at: Timestamp, out: &mut Output) {
        if self.tell_at.is_some_and(|tell_at| tell_at <= at) {
            self.tell_screen(at, out);
        }
    }

    /// Tells all of it, by a message of its own.
    fn tell_screen(&mut self, at: Timestamp, out: &mut Output) {
        self.tell_at = None;
        if self.require_open().is_err() {
            return;
        }
        let Some(message) = self.state.untold.message() else { return };
        match () {
            () if !self.busy() && self.state.next_queued().is_none() => {
                self.begin_turn(at, out, vec![message], Origin::Component, None);
            }
            () if self.state.turn.is_some() && self.stop.is_none() && self.setup.capabilities.steer => {
                // It can be steered, so this is not refused.
                drop(self.steer(message, at, out));
            }
            () if self.state.queue.len() < self.setup.limits.queue => {
                self.enqueue(at, out, message, Place::Last);
                self.proceed(at, out);
            }
            // There are messages that will take it along.
            () => {}
        }
    }

    /// What should have woken the agent waits in the queue, where everybody sees it.
    pub(super) fn queue_untold(&mut self, at: Timestamp, out: &mut Output) {
        self.tell_at = None;
        let has_room = self.state.queue.len() < self.setup.limits.queue;
        if self.hears_by_messages()
            && self.state.untold.waking() > 0
            && has_room
            && let Some(message) = self.state.untold.message()
        {
            self.enqueue(at, out, message, Place::Last);
        }
    }

    /// What the agent has to hear before this message, if there is something.
    pub(super) fn untold_before(&self, messages: &[Queued]) -> Option<Queued> {
        // Behind another text a command of the agent would be none.
        let is_command = |message: &Queued| matches!(message.content.as_slice(), [Part::Text { text }] if text.trim_start().starts_with('/'));
        if !self.hears_by_messages() || messages.is_empty() || messages.iter().any(is_command) {
            return None;
        }
        let message = self.state.untold.message()?;
        messages.iter().all(|known| known.message_id != message.message_id).then_some(message)
    }

    /// These messages, and before what people wrote what they did.
    pub(super) fn with_untold(&mut self, mut messages: Vec<Queued>) -> Vec<Queued> {
        if let Some(message) = self.untold_before(&messages) {
            self.tell_at = None;
            let written = messages.iter().position(|message| message.origin != Origin::Component);
            messages.insert(written.unwrap_or(messages.len()), message);
        }
        messages
    }
}

#[cfg(test)]
mod tests;
