//! What clients write besides messages and answers: the shared state, and results of the tools they run. What people do in components is in
//! `components`. Each is first a fact
//! in the log; the agent is told where it supports that.

use serde_json::{Map, Value};

use super::machine::{Agent, Machine, Output};
use super::open::{OpenAsk, Owner, unanswered};
use crate::budget;
use crate::client_tools;
use crate::command::{Answer, Outcome as Verdict, Refusal, Reply};
use crate::component;
use crate::event::{AGENT, Event, StateDelta, Unanswered};
use crate::id::{AskId, ToolUseId};
use crate::runtime::Order;
use crate::shared;
use crate::time::Timestamp;

#[cfg(test)]
pub(super) mod tests;

impl Machine {
    /// A patch that leaves everything as it is writes nothing.
    pub(super) fn patch_state(&mut self, patch: Value, by: String, at: Timestamp, out: &mut Output) -> Verdict {
        let before = shared::document(&self.state.shared);
        let after = shared::patched(&before, &patch).map_err(Refusal::Patch)?;
        if after != before {
            if self.state.archived {
                return Err(Refusal::Archived);
            }
            let wakes = self.state_wakes().filter(|_| by != AGENT);
            self.emit(at, out, StateDelta { patch: patch.clone(), by: by.clone(), wakes, ..StateDelta::default() });
            self.noted_on_screen(wakes, at, out);
            if matches!(self.agent, Agent::Ready { .. }) {
                self.send_shared_state(Some((patch, by)), out);
            }
        }
        Ok(Reply::State { state: after, seq: self.state.shared_at })
    }

    /// Answers the ask that a call of a client's tool waits with.
    pub(super) fn tool_result(
        &mut self,
        tool_use_id: &ToolUseId,
        answer: Answer,
        by: &str,
        at: Timestamp,
        out: &mut Output,
    ) -> Verdict {
        let ask_id = self.state.client_calls.get(tool_use_id).cloned();
        let ask_id = ask_id.ok_or_else(|| Refusal::CallNotFound(tool_use_id.clone()))?;
        self.answer(&ask_id, answer, None, by, at, out)
    }

    /// An agent that has a result waits for no other.
    pub(super) fn settle_call(&mut self, tool_use_id: &ToolUseId, at: Timestamp, out: &mut Output) {
        let waits = |ask: &&OpenAsk| ask.pending.client_call() == Some(tool_use_id.as_str());
        let settled: Vec<(Owner, AskId, Event)> = self
            .state
            .open
            .asks
            .values()
            .filter(waits)
            .map(|ask| {
                let event = unanswered(ask, Unanswered::Withdrawn, "the agent has a result");
                (ask.owner.clone(), ask.pending.ask_id.clone(), event)
            })
            .collect();
        for (owner, ask_id, event) in settled {
            let turn_id = self.turn_of(owner.as_ref());
            self.emit_as(at, out, owner, turn_id, event);
            self.ask_keys.remove(&ask_id);
        }
    }

    /// Refuses tools and components that are not right, and tools that this runtime cannot serve.
    pub(super) fn check_tools(&self, settings: &Map<String, Value>) -> Result<(), Refusal> {
        component::check_params(settings)
            .map_err(|(name, why)| Refusal::Invalid(format!("`settings.{name}`: {why}")))?;
        budget::check_params(settings).map_err(|(name, why)| Refusal::Invalid(format!("`settings.{name}`: {why}")))?;
        for name in [client_tools::SESSION_TOOLS, client_tools::RUN_TOOLS] {
            let Some(tools) = settings.get(name) else { continue };
            if !self.setup.capabilities.client_tools {
                return Err(Refusal::Unsupported { what: "call tools that clients run" });
            }
            client_tools::read(tools).map_err(|error| Refusal::Invalid(format!("`{name}`: {error}")))?;
        }
        Ok(())
    }

    /// Sends a new agent what it must know before its first turn.
    pub(super) fn send_pending_updates(&mut self, out: &mut Output) {
        if !self.state.shared.is_null() {
            self.send_shared_state(None, out);
        }
        self.pending_callbacks.drain(..).for_each(|callback| out.order(Order::Callback(callback)));
    }

    pub(super) fn send_shared_state(&self, change: Option<(Value, String)>, out: &mut Output) {
        if self.setup.capabilities.state && !self.hears_by_messages() {
            let (patch, by) = change.unzip();
            out.order(Order::State { state: self.state.shared.clone(), patch, by });
        }
    }
}
