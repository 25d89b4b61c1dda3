//! Calls of the tools that the session serves to its agent: carried out, or refused with a reason that a model can act on. The facts come first; the
//! agent has its result when they are durable. Which tools there are is in [`crate::host_tools`], how a call travels is the protocol's business.

mod artifacts;
mod components;
mod waiting;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

pub(super) use self::artifacts::{delegates, reading_path, ruled};
pub(super) use self::waiting::{HostWaits, Waited};
use super::machine::{Machine, Output};
use crate::delegation;
use crate::event::{AGENT, Event, Question, QuestionOption, QuestionRequest};
use crate::host_tools::{
    self, ASK_USER, DELEGATE, DELEGATE_MESSAGE, DELEGATE_STATUS, DELEGATE_STOP, GET_STATE, HostTool, NAMES,
    PATCH_STATE, PUBLISH_ARTIFACT, REMOVE_COMPONENT, RENDER_COMPONENT, UPDATE_COMPONENT, WAIT_FOR_USER,
};
use crate::id::{Seq, SubagentId};
use crate::runtime::{AskRequest, HostCall, Order};
use crate::shared;
use crate::time::Timestamp;

/// What a result may carry. An agent that wants more asks for a part.
const MAX_RESULT_BYTES: usize = 64 * 1024;

/// What a call comes to at once.
pub(super) enum Served {
    Now(Value),
    /// Somebody has to do something first.
    Later,
}

/// What came of a call: a result, or why there is none, for the model.
pub(super) type Outcome = Result<Served, String>;

impl Machine {
    /// The tools that the agent is offered.
    pub(super) fn host_tools(&self) -> Vec<HostTool> {
        host_tools::offered(&self.params_of_tools(), &self.registry())
    }

    /// What says which tools are offered. Whether delegating is among them depends on more than the session's parameters.
    fn params_of_tools(&self) -> Value {
        let mut params = self.state.params(&self.setup.params);
        if let Some(params) = params.as_object_mut() {
            params.insert(delegation::ALLOWED.to_owned(), self.may_delegate().into());
        }
        params
    }

    pub(super) fn host_call(&mut self, call: HostCall, at: Timestamp, out: &mut Output) {
        match self.serve(&call, at, out) {
            Ok(Served::Now(result)) => out.order(host_result(call.key, result.to_string())),
            Ok(Served::Later) => {}
            Err(reason) => refuse_host_call(call.key, reason, out),
        }
    }

    fn serve(&mut self, call: &HostCall, at: Timestamp, out: &mut Output) -> Outcome {
        let params = self.params_of_tools();
        if !host_tools::is_offered(&params, &call.name) {
            let offered: Vec<&str> = NAMES.into_iter().filter(|name| host_tools::is_offered(&params, name)).collect();
            let offered = if offered.is_empty() { "nothing".to_owned() } else { offered.join(", ") };
            return Err(format!("this session does not offer {}; it offers {offered}", call.name));
        }
        if !self.agent_in_turn() && !self.state.open.in_background(call.subagent_id.as_ref()) {
            return Err("no turn is running".to_owned());
        }
        if self.stop.is_some() {
            return Err("the turn is being stopped".to_owned());
        }
        match call.name.as_str() {
            RENDER_COMPONENT => self.render(call, at, out),
            UPDATE_COMPONENT => self.change_component(call, at, out),
            REMOVE_COMPONENT => self.remove_component(call, at, out),
            ASK_USER => self.ask_user(call, at, out),
            WAIT_FOR_USER => self.wait_for_user(call, at, out),
            GET_STATE => self.get_state(call),
            PATCH_STATE => self.patch_state_for_agent(call, at, out),
            PUBLISH_ARTIFACT => self.publish(call, at, out),
            DELEGATE => self.delegate(call, at, out),
            DELEGATE_STATUS => self.delegate_status(call, at),
            DELEGATE_MESSAGE => self.delegate_message(call, at, out),
            DELEGATE_STOP => self.delegate_stop(call, at, out),
            other => Err(format!("there is no tool {other}")),
        }
    }

    /// Writes a fact that a call has led to.
    pub(super) fn emit_for(
        &mut self,
        call: &HostCall,
        event: impl Into<Event>,
        at: Timestamp,
        out: &mut Output,
    ) -> Seq {
        let owner = self.owner_of(call);
        let turn_id = self.turn_of(owner.as_ref());
        self.emit_as(at, out, owner, turn_id, event.into())
    }

    fn owner_of(&self, call: &HostCall) -> Option<SubagentId> {
        call.subagent_id.clone().filter(|id| self.state.open.is_subagent(id))
    }

    fn ask_user(&mut self, call: &HostCall, at: Timestamp, out: &mut Output) -> Outcome {
        let questions = questions(&call.input);
        if questions.is_empty() {
            return Err("`question` must say something".to_owned());
        }
        let prompts = questions.iter().map(|question| question.prompt.clone()).collect();
        let (tool_use_id, covers) = (call.tool_use_id.clone(), call.tool_use_id.clone());
        let request = QuestionRequest { questions, tool_use_id, covers, ..QuestionRequest::default() };
        let owner = self.owner_of(call);
        let asked = self.ask(call.key.clone(), owner, AskRequest::Question(request), at, out);
        let ask_id = asked.ok_or("nobody can be asked now")?;
        self.host_waits.asked(ask_id, call.key.clone(), prompts);
        Ok(Served::Later)
    }

    fn get_state(&self, call: &HostCall) -> Outcome {
        let pointer = call.input.get("pointer").and_then(Value::as_str).unwrap_or_default();
        let document = shared::document(&self.state.shared);
        let Some(state) = document.pointer(pointer) else {
            return Err(format!("{pointer:?} leads nowhere in the state; {}", described(&document)));
        };
        let size = shared::size(state);
        if size > MAX_RESULT_BYTES {
            return Err(format!("that is {size} bytes; read a part of it with a longer pointer: {}", described(state)));
        }
        Ok(Served::Now(json!({ "state": state, "seq": self.state.shared_at })))
    }

    fn patch_state_for_agent(&mut self, call: &HostCall, at: Timestamp, out: &mut Output) -> Outcome {
        let patch = as_json(call.input.get("patch").cloned().unwrap_or_default());
        let owner = self.owner_of(call);
        let before = shared::document(&self.state.shared);
        let after = shared::patched(&before, &patch).map_err(|error| error.to_string())?;
        if after != before {
            let delta = crate::event::StateDelta { patch, by: AGENT.to_owned(), ..Default::default() };
            let turn_id = self.turn_of(owner.as_ref());
            self.emit_as(at, out, owner, turn_id, delta.into());
        }
        Ok(Served::Now(json!({ "seq": self.state.shared_at })))
    }
}

pub(super) fn refuse_host_call(key: String, reason: String, out: &mut Output) {
    out.order(Order::HostResult { key, output: reason, is_error: true });
}

fn host_result(key: String, output: String) -> Order {
    Order::HostResult { key, output, is_error: false }
}

/// What a model gave, as what a tool takes. Models that write JSON into a text are understood too.
pub(super) fn read<T: DeserializeOwned>(call: &HostCall, nested: &[&str]) -> Result<T, String> {
    let mut input = if call.input.is_null() { json!({}) } else { call.input.clone() };
    if let Some(fields) = input.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
        for name in nested {
            if let Some(value) = fields.get_mut(*name) {
                *value = as_json(value.take());
            }
        }
    }
    serde_json::from_value(input).map_err(|error| format!("the input does not fit {}: {error}", call.name))
}

fn as_json(value: Value) -> Value {
    match &value {
        Value::String(text) => serde_json::from_str(text).unwrap_or(value),
        _ => value,
    }
}

/// What is in a value, for somebody who looks for a part of it.
fn described(value: &Value) -> String {
    const NAMED: usize = 40;
    match value {
        Value::Object(members) if members.is_empty() => "it is empty".to_owned(),
        Value::Object(members) => {
            let names: Vec<&str> = members.keys().take(NAMED).map(String::as_str).collect();
            format!("it has {}", names.join(", "))
        }
        Value::Array(items) => format!("it is a list of {}", items.len()),
        _ => "it is a single value".to_owned(),
    }
}

/// One question, or several as an older version of the tool had them: Codex keeps the tools that a conversation began with.
fn questions(input: &Value) -> Vec<Question> {
    let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    let option = |value: &Value| match value {
        Value::String(label) => Some(QuestionOption { label: label.clone(), description: None }),
        value => Some(QuestionOption { label: text(value, "label")?, description: text(value, "description") }),
    };
    let question = |value: &Value| {
        let options = value.get("options").and_then(Value::as_array);
        Some(Question {
            prompt: text(value, "question").filter(|prompt| !prompt.trim().is_empty())?,
            header: text(value, "header"),
            options: options.into_iter().flatten().filter_map(option).collect(),
            multiple: value.get("multiple").and_then(Value::as_bool).unwrap_or_default(),
            free_text: true,
        })
    };
    match input.get("questions").and_then(Value::as_array) {
        Some(questions) => questions.iter().filter_map(question).collect(),
        None => question(input).into_iter().collect(),
    }
}

#[cfg(test)]
mod tests;
