//! Facts that somebody beside the agent adds: a tool that reports how far it is, a script that shows a component. All of a call are written, or none.

use super::machine::{Agent, Machine, Output};
use super::state::State;
use crate::command::{Emit, Outcome as Verdict, Refusal, Reply};
use crate::event::{Envelope, Event};
use crate::id::Seq;
use crate::shared;
use crate::time::Timestamp;

/// How many calls are remembered, so that each counts once.
const MAX_REMEMBERED: usize = 256;
const MAX_ID_BYTES: usize = 128;

/// Who alone says that runs were missed: the daemon's own schedules. No client and no token has this name.
pub const SCHEDULES: &str = "schedules of the daemon";

impl Machine {
    pub(super) fn emit_from_outside(&mut self, emit: Emit, by: &str, at: Timestamp, out: &mut Output) -> Verdict {
        let Emit { id, turn_id, mut events } = emit;
        if id.as_ref().is_some_and(|id| id.is_empty() || id.len() > MAX_ID_BYTES) {
            return Err(Refusal::Invalid(format!("`id` has 1 to {MAX_ID_BYTES} bytes")));
        }
        if events.is_empty() {
            return Err(Refusal::Invalid("`events` must hold something".to_owned()));
        }
        if let Some(first) = id.as_ref().and_then(|id| self.state.emitted_at(id)) {
            let last = first.0 + (events.len() as u64).saturating_sub(1);
            return Ok(Reply::Noted { seq: Seq(last) });
        }
        self.require_open()?;
        if let Some(turn_id) = turn_id.filter(|turn_id| self.state.turn.as_ref() != Some(turn_id)) {
            return Err(Refusal::TurnOver(turn_id));
        }
        self.check_emitted(&mut events, by)?;
        if let Some(first) = events.first_mut() {
            *emit_id(first).ok_or_else(|| Refusal::Invalid("`events`".to_owned()))? = id;
        }
        let changes_state = events.iter().any(|event| matches!(event, Event::StateDelta(_)));
        let mut seq = self.state.head;
        for event in events {
            seq = self.emit(at, out, event);
        }
        if changes_state {
            self.noted_on_screen(self.state_wakes(), at, out);
        }
        if changes_state && matches!(self.agent, Agent::Ready { .. }) {
            self.send_shared_state(None, out);
        }
        Ok(Reply::Noted { seq })
    }

    /// Whether all of them may stand here; who adds them is written into each that says so.
    fn check_emitted(&self, events: &mut [Event], name: &str) -> Result<(), Refusal> {
        let mut state = shared::document(&self.state.shared);
        for (number, event) in (1..).zip(events) {
            let kind = event.kind().to_owned();
            let wrong = |why: &str| Refusal::NotForEmit(format!("event {number}, `{kind}`: {why}"));
            match event {
                Event::ComponentUpdate(update) => {
                    update.by = Some(name.to_owned());
                    // As if the agent had said it. What comes before it in the same call does not count yet.
                    *event = self.prepared(event.clone()).map_err(|refused| wrong(&refused.1))?;
                }
                Event::ComponentRemove(removed) => removed.by = Some(name.to_owned()),
                Event::StateDelta(delta) => {
                    name.clone_into(&mut delta.by);
                    delta.wakes = self.state_wakes();
                    state = shared::patched(&state, &delta.patch).map_err(Refusal::Patch)?;
                }
                Event::ToolProgress(progress) => {
                    if !self.state.open.tools.contains_key(&progress.tool_use_id) {
                        return Err(wrong("no such call is open"));
                    }
                }
                Event::ArtifactCreated(_)
                | Event::ArtifactUpdated(_)
                | Event::ArtifactVersion(_)
                | Event::ArtifactRemoved(_)
                | Event::EvidenceChanged(_) => {}
                Event::ScheduleMissed(_) if name == SCHEDULES => {}
                Event::Unknown(_) => return Err(wrong("this is no event, or its data is not right")),
                _ => return Err(wrong("this is not for others than the agent and the session to say")),
            }
        }
        Ok(())
    }
}

/// Where an event carries the id of the call that added it.
fn emit_id(event: &mut Event) -> Option<&mut Option<String>> {
    match event {
        Event::ComponentUpdate(data) => Some(&mut data.emit_id),
        Event::ComponentRemove(data) => Some(&mut data.emit_id),
        Event::StateDelta(data) => Some(&mut data.emit_id),
        Event::ToolProgress(data) => Some(&mut data.emit_id),
        Event::ArtifactCreated(data) => Some(&mut data.emit_id),
        Event::ArtifactUpdated(data) => Some(&mut data.emit_id),
        Event::ArtifactVersion(data) => Some(&mut data.emit_id),
        Event::ArtifactRemoved(data) => Some(&mut data.emit_id),
        Event::EvidenceChanged(data) => Some(&mut data.emit_id),
        Event::ScheduleMissed(data) => Some(&mut data.emit_id),
        _ => None,
    }
}

fn emitted(event: &Event) -> Option<&String> {
    match event {
        Event::ComponentUpdate(data) => data.emit_id.as_ref(),
        Event::ComponentRemove(data) => data.emit_id.as_ref(),
        Event::StateDelta(data) => data.emit_id.as_ref(),
        Event::ToolProgress(data) => data.emit_id.as_ref(),
        Event::ArtifactCreated(data) => data.emit_id.as_ref(),
        Event::ArtifactUpdated(data) => data.emit_id.as_ref(),
        Event::ArtifactVersion(data) => data.emit_id.as_ref(),
        Event::ArtifactRemoved(data) => data.emit_id.as_ref(),
        Event::EvidenceChanged(data) => data.emit_id.as_ref(),
        Event::ScheduleMissed(data) => data.emit_id.as_ref(),
        _ => None,
    }
}

impl State {
    fn emitted_at(&self, id: &str) -> Option<Seq> {
        self.emitted.iter().find(|(known, _)| known == id).map(|(_, seq)| *seq)
    }

    pub(super) fn apply_emitted(&mut self, envelope: &Envelope) {
        let Some(id) = emitted(&envelope.event) else { return };
        if self.emitted.len() >= MAX_REMEMBERED {
            self.emitted.pop_front();
        }
        self.emitted.push_back((id.clone(), envelope.seq));
    }
}
