//! Calls that wait for a person. What they wait for is an ask like any other; here is which call has its answer, and what an agent hears that comes
//! back for an answer later.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::components::{Complete, fits};
use super::{Outcome, Served, host_result, read};
use crate::command::Answer;
use crate::event::{Envelope, Event, Interrupt, Surface};
use crate::id::AskId;
use crate::runtime::{AskRequest, HostCall, Order};
use crate::session::State;
use crate::session::machine::{Machine, Output};
use crate::time::Timestamp;

/// What the model reads when somebody has closed its question.
const DISMISSED: &str = "The person did not answer.";

/// Waits that are remembered after their end, for agents that come back.
const MAX_WAITED: usize = 16;

#[derive(Debug, Default)]
pub(in crate::session) struct HostWaits(BTreeMap<AskId, HostWait>);

#[derive(Debug)]
struct HostWait {
    /// What the agent calls its call.
    key: String,
    /// What was asked, if it is a question.
    prompts: Option<Vec<String>>,
    /// Until when the call is held.
    until: Option<Timestamp>,
}

/// How a wait ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(in crate::session) struct Waited {
    ask_id: AskId,
    end: WaitEnd,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum WaitEnd {
    Answered {
        value: Value,
        by: String,
    },
    /// Nobody answered. It can be asked again.
    Lost(Box<Interrupt>),
}

#[derive(Debug, Deserialize)]
struct Wait {
    name: Option<String>,
    #[serde(default)]
    props: Map<String, Value>,
    surface: Option<Surface>,
    component_id: Option<String>,
    actions: Option<Vec<String>>,
    ask_id: Option<String>,
}

impl HostWaits {
    /// A question was asked.
    pub(super) fn asked(&mut self, ask_id: AskId, key: String, prompts: Vec<String>) {
        self.0.insert(ask_id, HostWait { key, prompts: Some(prompts), until: None });
    }

    fn waits(&mut self, ask_id: AskId, key: String, until: Option<Timestamp>) {
        self.0.insert(ask_id, HostWait { key, prompts: None, until });
    }

    pub(in crate::session) fn forget(&mut self, ask_id: &AskId) {
        self.0.remove(ask_id);
    }

    pub(in crate::session) fn clear(&mut self) {
        self.0.clear();
    }

    pub(in crate::session) fn next_deadline(&self) -> Option<Timestamp> {
        self.0.values().filter_map(|wait| wait.until).min()
    }

    pub(in crate::session) fn deadlines(&mut self) -> impl Iterator<Item = &mut Timestamp> {
        self.0.values_mut().filter_map(|wait| wait.until.as_mut())
    }
}

impl State {
    /// Before the ask is taken from what is open: there is what was asked.
    pub(in crate::session) fn apply_waited(&mut self, envelope: &Envelope) {
        let Event::InterruptResolved(resolved) = &envelope.event else { return };
        let asked = self.open.asks.get(&resolved.interrupt_id).map(|ask| &ask.pending.request);
        let Some(AskRequest::Interrupt(request)) = asked else { return };
        // What a client's tool gives, and what agents with a memory of their own wait for, nobody comes back for.
        if request.tool_use_id.is_some() || request.key.is_some() {
            return;
        }
        let end = match &resolved.value {
            Some(value) => WaitEnd::Answered { value: value.clone(), by: resolved.by.clone() },
            None => WaitEnd::Lost(Box::new(request.clone())),
        };
        if self.waited.len() >= MAX_WAITED {
            self.waited.pop_front();
        }
        self.waited.push_back(Waited { ask_id: resolved.interrupt_id.clone(), end });
    }
}

impl Machine {
    pub(super) fn wait_for_user(&mut self, call: &HostCall, at: Timestamp, out: &mut Output) -> Outcome {
        let wait: Wait = read(call, &["props", "actions"])?;
        if let Some(ask_id) = wait.ask_id {
            return self.wait_again(call, &AskId::trusted(ask_id), at, out);
        }
        let request = match (wait.component_id, wait.name) {
            (Some(component_id), _) => {
                let (component_name, surface) = self.shown_component(&component_id)?;
                let component_id = Some(component_id);
                Interrupt { component_name, surface, component_id, props: json!({}), ..Interrupt::default() }
            }
            (None, Some(name)) => {
                let entry = self.entry(&name)?;
                fits(&entry, &wait.props, Complete::Yes)?;
                let has_buttons =
                    wait.props.get("actions").and_then(Value::as_array).is_some_and(|actions| !actions.is_empty());
                if entry.resolves.is_none() && !has_buttons {
                    return Err(format!("nobody can answer with {name}: give its props `actions`"));
                }
                Interrupt {
                    surface: wait.surface.or(entry.surfaces.first().copied()).unwrap_or_default(),
                    title: title_of(&wait.props),
                    component_name: name,
                    props: Value::Object(wait.props),
                    ..Interrupt::default()
                }
            }
            (None, None) => {
                return Err("give `name` and `props`, or the `component_id` of one that is shown".to_owned());
            }
        };
        let request = Interrupt { actions: wait.actions, ..request };
        self.wait(call, request, at, out)
    }

    fn wait(&mut self, call: &HostCall, request: Interrupt, at: Timestamp, out: &mut Output) -> Outcome {
        let request = AskRequest::Interrupt(Interrupt { covers: call.tool_use_id.clone(), ..request });
        let owner = self.owner_of(call);
        let ask_id = self.ask(call.key.clone(), owner, request, at, out).ok_or("nobody can be asked now")?;
        self.host_waits.waits(ask_id, call.key.clone(), self.held_until(at));
        Ok(Served::Later)
    }

    fn held_until(&self, at: Timestamp) -> Option<Timestamp> {
        self.setup.limits.hold_ms.map(|ms| at.plus_millis(ms))
    }

    /// Goes on waiting, also when whoever asked before is gone.
    fn wait_again(&mut self, call: &HostCall, ask_id: &AskId, at: Timestamp, out: &mut Output) -> Outcome {
        if let Some(ask) = self.state.open.asks.get(ask_id) {
            let is_wait =
                matches!(&ask.pending.request, AskRequest::Interrupt(request) if request.tool_use_id.is_none());
            if !is_wait {
                return Err(format!("{ask_id} is not a wait of wait_for_user"));
            }
            if self.host_waits.0.contains_key(ask_id) {
                return Err(format!("another call waits for {ask_id} already"));
            }
            self.ask_keys.insert(ask_id.clone(), call.key.clone());
            self.host_waits.waits(ask_id.clone(), call.key.clone(), self.held_until(at));
            return Ok(Served::Later);
        }
        let ended = self.state.waited.iter().rev().find(|waited| waited.ask_id == *ask_id);
        match ended.map(|waited| waited.end.clone()) {
            Some(WaitEnd::Answered { value, by }) => Ok(Served::Now(answered(&value, &by))),
            Some(WaitEnd::Lost(request)) => {
                if let Some(component_id) = &request.component_id {
                    self.shown_component(component_id)?;
                }
                self.wait(call, *request, at, out)
            }
            None => Err(format!("there is no ask {ask_id}; wait for the component again")),
        }
    }

    /// Hands an answer to the call that waits for it; false if none does.
    pub(in crate::session) fn host_answered(
        &mut self,
        ask_id: &AskId,
        answer: &Answer,
        by: &str,
        out: &mut Output,
    ) -> bool {
        let Some(HostWait { key, prompts, .. }) = self.host_waits.0.remove(ask_id) else { return false };
        let order = match (answer, prompts) {
            (Answer::Question { answers: Some(answers) }, Some(prompts)) => host_result(key, said(&prompts, answers)),
            (Answer::Interrupt { value }, None) => host_result(key, answered(value, by).to_string()),
            _ => Order::HostResult { key, output: DISMISSED.to_owned(), is_error: true },
        };
        out.order(order);
        true
    }

    /// Calls whose asks have ended without an answer hear so.
    pub(in crate::session) fn release_host_waits(&mut self, reason: &str, out: &mut Output) {
        let open = &self.state.open.asks;
        let ended: Vec<AskId> =
            self.host_waits.0.keys().filter(|ask_id| !open.contains_key(*ask_id)).cloned().collect();
        for ask_id in ended {
            let Some(HostWait { key, prompts, .. }) = self.host_waits.0.remove(&ask_id) else { continue };
            out.order(match prompts {
                Some(_) => Order::HostResult { key, output: format!("no answer: {reason}"), is_error: true },
                None => host_result(key, json!({ "status": "withdrawn", "reason": reason }).to_string()),
            });
        }
    }

    /// A call that was held for long enough ends; what it waits for does not.
    pub(in crate::session) fn tick_host_waits(&mut self, at: Timestamp, out: &mut Output) {
        let is_due = |wait: &HostWait| wait.until.is_some_and(|until| until <= at);
        let due: Vec<AskId> =
            self.host_waits.0.iter().filter(|(_, wait)| is_due(wait)).map(|(ask_id, _)| ask_id.clone()).collect();
        for ask_id in due {
            let Some(HostWait { key, .. }) = self.host_waits.0.remove(&ask_id) else { continue };
            self.ask_keys.remove(&ask_id);
            out.order(host_result(key, json!({ "status": "pending", "ask_id": ask_id }).to_string()));
        }
    }
}

fn answered(value: &Value, by: &str) -> Value {
    json!({ "status": "answered", "value": value, "by": by })
}

/// The answer; with several questions, each with its own.
fn said(prompts: &[String], answers: &[Vec<String>]) -> String {
    if let ([_], [answer]) = (prompts, answers) {
        return answer.join(", ");
    }
    let lines = prompts.iter().zip(answers).map(|(prompt, answer)| format!("{prompt}: {}", answer.join(", ")));
    lines.collect::<Vec<_>>().join("\n")
}

/// What it is about, for lists of what waits.
fn title_of(props: &Map<String, Value>) -> Option<String> {
    let text = |name: &str| props.get(name).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned);
    text("title").or_else(|| text("action"))
}
