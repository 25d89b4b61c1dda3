//! Components: rules are applied here, when a fact is made, and what people do is taken here. What components hold is a fold and not known here.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Value, json};

use super::machine::{Agent, Machine, Output};
use super::screen::MAX_UNTOLD;
use crate::command::{Answer, Callback, Outcome as Verdict, Refusal, Reply};
use crate::component::{
    self, MAX_ACTION_BYTES, MAX_PAYLOAD_BYTES, MAX_PROPS_BYTES, MAX_PROPS_DEPTH, Registry, SESSION_COMPONENTS,
    SESSION_RULES, Source, ToolRule,
};
use crate::event::{
    ComponentCallback, ComponentUpdate, Event, Interrupt, MergeMode, ToolMapping, ToolResult, ToolStart, Unknown,
};
use crate::nesting;
use crate::runtime::{CallbackOrder, Order};
use crate::shared;
use crate::time::Timestamp;

#[cfg(test)]
mod tests;

/// How much may be done in components while the agent is on its way.
const MAX_PENDING_CALLBACKS: usize = 100;

/// A fact that breaks a bound, and which.
type Refused = Box<(Event, String)>;

impl Machine {
    /// Makes what an agent says of components and calls a fact: with what it left out, and what the rules say. Over a bound it is none.
    pub(super) fn prepared(&self, event: Event) -> Result<Event, Refused> {
        match event {
            Event::Unknown(unknown) if unknown.kind == "component_update" => match self.completed(&unknown) {
                Some(update) => self.prepared_update(update),
                None => Ok(Event::Unknown(unknown)),
            },
            Event::ComponentUpdate(update) => self.prepared_update(update),
            Event::ToolStart(mut start) => {
                start.component = self.component_of(&start);
                Ok(start.into())
            }
            // Whether somebody hears of a change is not for those to say who make it.
            Event::StateDelta(mut delta) => {
                delta.wakes = None;
                Ok(delta.into())
            }
            Event::ToolResult(mut result) => {
                self.keep_result(&mut result);
                Ok(result.into())
            }
            other => Ok(other),
        }
    }

    /// An update that leaves out what stands.
    fn completed(&self, unknown: &Unknown) -> Option<ComponentUpdate> {
        let Ok(Value::Object(mut data)) = serde_json::from_str(unknown.data.get()) else { return None };
        let id = data.get("component_id")?.as_str()?;
        let known = self.state.components.name_and_surface(id);
        let (name, surface) = known.map(|(name, surface)| (name.to_owned(), surface)).unzip();
        data.entry("name").or_insert_with(|| json!(name.unwrap_or_default()));
        data.entry("surface").or_insert_with(|| json!(surface.unwrap_or_default()));
        data.entry("props").or_insert_with(|| json!({}));
        data.entry("merge").or_insert(Value::Bool(false));
        serde_json::from_value(Value::Object(data)).ok()
    }

    pub(super) fn prepared_update(&self, mut update: ComponentUpdate) -> Result<Event, Refused> {
        let components = &self.state.components;
        if let (true, Some((name, _))) = (update.name.is_empty(), components.name_and_surface(&update.component_id)) {
            name.clone_into(&mut update.name);
        }
        if update.props.is_null() {
            update.props = json!({});
        }
        if let Some(mode) = update.mode {
            update.merge = mode != MergeMode::Replace;
        }
        let problem = match () {
            () if !component::is_id(&update.component_id) => Some("this cannot be the id of a component".to_owned()),
            () if update.name.is_empty() => Some("a component needs a `name`".to_owned()),
            () if !components.contains(&update.component_id) && components.is_full() => {
                Some(format!("a session shows at most {} components", component::MAX_SHOWN))
            }
            () => components.check(&update).err().map(|error| error.to_string()),
        };
        match problem {
            Some(problem) => Err(Box::new((update.into(), problem))),
            None => Ok(update.into()),
        }
    }

    /// What an interrupt says of a component that is shown already.
    pub(super) fn prepared_interrupt(&self, mut request: Interrupt) -> Interrupt {
        let known = request.component_id.as_ref().and_then(|id| self.state.components.name_and_surface(id));
        if let Some((name, surface)) = known {
            if request.component_name.is_empty() {
                name.clone_into(&mut request.component_name);
            }
            request.surface = surface;
        }
        request
    }

    /// A parameter, as it is now.
    pub(super) fn param(&self, name: &str) -> Option<&Value> {
        self.state.settings.get(name).or_else(|| self.setup.params.get(name))
    }

    /// The components there are, for this session.
    pub(super) fn registry(&self) -> Cow<'_, Registry> {
        let known = &self.setup.components.registry;
        // Both were checked when they were given.
        match self.param(SESSION_COMPONENTS).and_then(|entries| component::read_entries(entries).ok()) {
            Some(entries) => Cow::Owned(known.with(entries, Source::Session)),
            None => Cow::Borrowed(known),
        }
    }

    fn component_of(&self, start: &ToolStart) -> Option<Box<crate::event::ToolComponent>> {
        let of_session: Vec<ToolRule> =
            self.param(SESSION_RULES).and_then(|rules| component::read_rules(rules).ok()).unwrap_or_default();
        let rules = &self.setup.components;
        let mut found = rules.for_call(start, &self.setup.runtime, &of_session, &self.registry())?;
        let components = &self.state.components;
        if !components.contains(&found.component_id) && components.is_full() {
            return None;
        }
        let input = start.input.as_ref().map_or(0, shared::size);
        if input > self.setup.limits.inline_bytes {
            // What is in the event will be cut.
            found.props = component::start_props(start);
        }
        Some(Box::new(found))
    }

    /// Keeps what a component needs of a result before the event is cut, and the rest within bounds.
    fn keep_result(&self, result: &mut ToolResult) {
        let is_large = |value: &Value| !nesting::fits(value, MAX_PROPS_DEPTH) || shared::size(value) > MAX_PROPS_BYTES;
        let too_large = result.structured.as_ref().is_some_and(is_large);
        let leaves = too_large || (result.structured.is_none() && result.output.len() > self.setup.limits.inline_bytes);
        result.props = None;
        let call = self.state.components.call_component(&result.tool_use_id);
        if let Some(call) = call.filter(|call| leaves && call.result != ToolMapping::Input) {
            let props = component::result_props(result, call.into.as_deref());
            let tool_use_id = result.tool_use_id.clone();
            let alone = ToolResult { tool_use_id, props, ..ToolResult::default() };
            if alone.props.is_some() && self.state.components.takes(&alone) {
                result.props = alone.props;
            }
        }
        if too_large
            && let Some(structured) = result.structured.take()
            && result.output.is_empty()
        {
            result.output = structured.to_string();
        }
        result.meta.take_if(|meta| is_large(meta));
    }

    /// Shows what the rules want to see of the state, once it is there.
    pub(super) fn show_state(&mut self, at: Timestamp, out: &mut Output) {
        let rules = Arc::clone(&self.setup.components);
        for rule in &rules.state {
            let component_id = rule.component_id();
            let components = &self.state.components;
            let is_settled = components.contains(&component_id) || components.was_dismissed(&component_id);
            let is_there = self.state.shared.pointer(&rule.pointer).is_some_and(|value| !value.is_null());
            if is_there && !is_settled && !components.is_full() {
                let (name, surface) = (rule.component.clone(), rule.surface(&self.registry()));
                let (props, bind) = (json!({}), Some(Box::new(rule.bind())));
                let update = ComponentUpdate { component_id, name, surface, props, bind, ..ComponentUpdate::default() };
                self.emit(at, out, update);
            }
        }
    }

    /// Refuses a value that is not what an interrupt waits for. What a client's tool gives is its own affair.
    pub(super) fn check_value(&self, request: &Interrupt, value: &Value) -> Result<(), Refusal> {
        let registry = self.registry();
        let resolves = || registry.get(&request.component_name).and_then(|entry| entry.resolves.as_ref());
        let schema = match &request.value_schema {
            Some(schema) => Some(schema),
            None if request.tool_use_id.is_some() => None,
            None => resolves(),
        };
        schema.map_or(Ok(()), |schema| component::check(schema, value)).map_err(Refusal::InvalidValue)
    }

    /// What somebody did in a component: an edit of the state, the answer that an interrupt waits for, or something for the agent to hear.
    pub(super) fn call_back(&mut self, callback: Callback, by: String, at: Timestamp, out: &mut Output) -> Verdict {
        self.require_open()?;
        self.require_consent()?;
        if let Some(seq) = callback.callback_id.as_ref().and_then(|id| self.state.components.callback(id)) {
            return Ok(Reply::Noted { seq });
        }
        let value = json!({ "action": callback.action, "payload": callback.payload });
        let Callback { component_id, action, payload, callback_id } = callback;
        let Some((name, _)) = self.state.components.name_and_surface(&component_id) else {
            return Err(Refusal::ComponentNotFound(component_id));
        };
        if action.is_empty() || action.len() > MAX_ACTION_BYTES {
            return Err(Refusal::Invalid(format!("`action` has 1 to {MAX_ACTION_BYTES} bytes")));
        }
        if callback_id.as_ref().is_some_and(|id| !component::is_id(id)) {
            return Err(Refusal::Invalid("`callback_id` is no id".to_owned()));
        }
        if shared::size(&payload) > MAX_PAYLOAD_BYTES {
            return Err(Refusal::PayloadTooLarge);
        }
        let (name, wakes) = (Some(name.to_owned()), self.wakes(name, &action));
        let bind = self.state.components.bind(&component_id);
        let edit = bind.and_then(|bind| component::edited(bind, &self.state.shared, &action, &payload));
        if let Some(edit) = edit {
            let outdated = |component::Outdated| Refusal::Patch(shared::Error::TestFailed { at: 1 });
            return match self.patch_state(edit.map_err(outdated)?, by, at, out)? {
                Reply::State { seq, .. } => Ok(Reply::Noted { seq }),
                other => Ok(other),
            };
        }
        let waiting = self.state.components.settled_by(&component_id, &action).cloned();
        let waiting = waiting.filter(|ask_id| self.state.open.asks.contains_key(ask_id));
        if waiting.is_none() {
            self.require_hearing()?;
        }
        let is_there = matches!(self.agent, Agent::Ready { .. } | Agent::Away { .. });
        let waits = (waiting.is_none() && self.is_told_by_log() && !is_there).then_some(true);
        let settles = waiting.clone();
        let wakes = wakes.filter(|_| waiting.is_none());
        let by_whom = by.clone();
        let fact =
            ComponentCallback { component_id, action, payload, by: by_whom, name, callback_id, waits, settles, wakes };
        let told = CallbackOrder::of(&fact);
        let seq = self.emit(at, out, fact);
        match waiting {
            // Whoever waits for it hears it as the answer, and not again.
            Some(ask_id) => {
                self.settle(&ask_id, Answer::Interrupt { value }, None, &by, at, out)?;
            }
            None if wakes.is_some() => self.noted_on_screen(wakes, at, out),
            None => self.tell_callback(told, at, out),
        }
        Ok(Reply::Noted { seq })
    }

    fn require_hearing(&self) -> Result<(), Refusal> {
        if !self.setup.capabilities.components {
            return Err(Refusal::Unsupported { what: "hear what is done in a component" });
        }
        if self.state.untold.len() >= MAX_UNTOLD {
            return Err(Refusal::Invalid(format!("the agent has {MAX_UNTOLD} callbacks to hear; send it a message")));
        }
        let waiting = self.pending_callbacks.len().max(self.state.outbox.callbacks.len());
        if waiting >= MAX_PENDING_CALLBACKS {
            return Err(Refusal::Invalid(format!(
                "the agent has {MAX_PENDING_CALLBACKS} callbacks to hear; wait until it is there"
            )));
        }
        Ok(())
    }

    fn tell_callback(&mut self, callback: CallbackOrder, at: Timestamp, out: &mut Output) {
        match self.agent {
            Agent::Ready { .. } => out.order(Order::Callback(callback)),
            Agent::Away { .. } => {}
            Agent::Starting { .. } | Agent::Closing { .. } => self.pending_callbacks.push(callback),
            Agent::Absent => {
                self.pending_callbacks.push(callback);
                self.start_agent(at, out);
            }
        }
    }
}
