//! What clients write besides messages and answers: the shared state, actions in components, and results of the tools they run. Each is first a fact
//! in the log; the agent is told where it supports that.

use serde_json::{Map, Value};

use super::machine::{Agent, Machine, Output};
use super::open::{OpenAsk, Owner, unanswered};
use crate::client_tools;
use crate::command::{Answer, Callback, Outcome as Verdict, Refusal, Reply};
use crate::event::{ComponentCallback, Event, StateDelta, Unanswered};
use crate::id::{AskId, ToolUseId};
use crate::runtime::Order;
use crate::shared;
use crate::time::Timestamp;

#[cfg(test)]
mod tests;

/// How long the name of what was pressed may be.
const MAX_ACTION_BYTES: usize = 256;

/// How much may be done in components while the agent is on its way.
const MAX_PENDING_CALLBACKS: usize = 100;

impl Machine {
    /// A patch that leaves everything as it is writes nothing.
    pub(super) fn patch_state(&mut self, patch: Value, by: String, at: Timestamp, out: &mut Output) -> Verdict {
        let before = shared::document(&self.state.shared);
        let after = shared::patched(&before, &patch).map_err(Refusal::Patch)?;
        if after != before {
            if self.state.archived {
                return Err(Refusal::Archived);
            }
            self.emit(at, out, StateDelta { patch, by });
            if matches!(self.agent, Agent::Ready { .. }) {
                self.send_shared_state(out);
            }
        }
        Ok(Reply::State { state: after, seq: self.state.shared_at })
    }

    pub(super) fn call_back(&mut self, callback: Callback, by: String, at: Timestamp, out: &mut Output) -> Verdict {
        self.require_open()?;
        self.require_consent()?;
        let Callback { component_id, action, payload } = callback.clone();
        if !self.state.components.contains(&component_id) {
            return Err(Refusal::ComponentNotFound(component_id));
        }
        if !self.setup.capabilities.components {
            return Err(Refusal::Unsupported { what: "hear what is done in a component" });
        }
        if action.is_empty() || action.len() > MAX_ACTION_BYTES {
            return Err(Refusal::Invalid(format!("`action` has 1 to {MAX_ACTION_BYTES} bytes")));
        }
        if self.pending_callbacks.len() >= MAX_PENDING_CALLBACKS {
            return Err(Refusal::Invalid(format!(
                "the agent has {MAX_PENDING_CALLBACKS} callbacks to hear; wait until it is there"
            )));
        }
        let seq = self.emit(at, out, ComponentCallback { component_id, action, payload, by });
        match self.agent {
            Agent::Ready { .. } => out.order(Order::Callback(callback)),
            Agent::Starting { .. } | Agent::Closing { .. } => self.pending_callbacks.push(callback),
            Agent::Absent => {
                self.pending_callbacks.push(callback);
                self.start_agent(at, out);
            }
        }
        Ok(Reply::Noted { seq })
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
        self.answer(&ask_id, answer, by, at, out)
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

    /// Refuses tools that are not right, or that this runtime cannot serve.
    pub(super) fn check_tools(&self, settings: &Map<String, Value>) -> Result<(), Refusal> {
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
            self.send_shared_state(out);
        }
        self.pending_callbacks.drain(..).for_each(|callback| out.order(Order::Callback(callback)));
    }

    fn send_shared_state(&self, out: &mut Output) {
        if self.setup.capabilities.state {
            out.order(Order::State { state: self.state.shared.clone() });
        }
    }
}
