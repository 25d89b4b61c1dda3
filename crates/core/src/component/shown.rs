//! The components of a session as its log tells them: a total fold. It follows from the facts alone, so it is the same live and by replay.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use serde_with::skip_serializing_none;

use super::merge::{self, Unmergeable};
use super::{MAX_SHOWN, tool};
use crate::event::{
    Bind, ComponentStatus, ComponentUpdate, ComponentView, Done, Envelope, Event, Interrupt, Outcome, Surface,
    ToolComponent, ToolResult, ToolStart,
};
use crate::id::{AskId, Seq, ToolUseId, TurnId};

/// Something that an agent shows, as people see it now.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ViewComponent")]
pub struct Component {
    pub component_id: String,
    pub name: String,
    pub surface: Surface,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub props: Value,
    pub status: ComponentStatus,
    /// What went wrong.
    pub error: Option<String>,
    /// The call that it shows.
    pub tool_use_id: Option<ToolUseId>,
    /// Where in the shared state it finds what it shows.
    pub bind: Option<Box<Bind>>,
    /// The page that draws it.
    pub view: Option<Box<ComponentView>>,
    /// The interrupt that waits for it.
    pub waiting: Option<AskId>,
    /// Who changed it last.
    pub by: Option<String>,
}

/// How many callbacks are remembered by the ids of their callers: a retry comes soon.
const MAX_CALLBACKS: usize = 256;

/// All components of a session, in the order of their first facts.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Shown {
    kept: Vec<Kept>,
    /// Calls without a result that a component shows.
    calls: BTreeMap<ToolUseId, ToolComponent>,
    /// Interrupts that wait for a component.
    waits: BTreeMap<AskId, Waits>,
    /// Those that showed a part of the state and were taken away: no rule brings them back.
    dismissed: BTreeSet<String>,
    /// What callers called their latest callbacks, and where each is in the log.
    callbacks: VecDeque<(String, Seq)>,
}

/// What the facts say of one.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
struct Kept {
    id: String,
    name: String,
    surface: Surface,
    /// Its own, without what it shows of the state.
    props: Map<String, Value>,
    status: ComponentStatus,
    error: Option<String>,
    tool_use_id: Option<ToolUseId>,
    bind: Option<Box<Bind>>,
    view: Option<Box<ComponentView>>,
    by: Option<String>,
    /// The turn that made it.
    made_in: Option<TurnId>,
    /// Where it covers the row of its call: as long as it is there.
    covers_at: Option<Surface>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Waits {
    component_id: String,
    actions: Option<Vec<String>>,
    /// The component is only there to wait.
    made_for_it: bool,
}

impl Shown {
    /// Takes a fact, and says which components may be different then.
    pub fn step(&mut self, envelope: &Envelope) -> Vec<String> {
        match &envelope.event {
            Event::ComponentUpdate(update) => {
                // One that does not fit changes nothing; the log keeps it.
                let is_taken = self.update(update, envelope.turn_id.as_ref()).is_ok();
                if is_taken { vec![update.component_id.clone()] } else { Vec::new() }
            }
            Event::ComponentRemove(removed) => {
                if self.bind(&removed.component_id).is_some() && self.dismissed.len() < MAX_SHOWN {
                    self.dismissed.insert(removed.component_id.clone());
                }
                self.remove(&removed.component_id)
            }
            Event::ComponentCallback(callback) => {
                if let Some(callback_id) = &callback.callback_id {
                    self.callbacks.push_back((callback_id.clone(), envelope.seq));
                    let surplus = self.callbacks.len().saturating_sub(MAX_CALLBACKS);
                    self.callbacks.drain(..surplus);
                }
                Vec::new()
            }
            Event::ToolStart(start) => self.call(start, envelope.turn_id.as_ref()),
            Event::ToolResult(result) => self.result(result),
            Event::Interrupt(request) => self.wait(request, envelope.turn_id.as_ref()),
            Event::InterruptResolved(resolved) => self.waited(&resolved.interrupt_id),
            Event::StateSnapshot(_) | Event::StateDelta(_) => self.bound().map(str::to_owned).collect(),
            Event::Done(done) => self.settle(done),
            Event::Rollback(rollback) => {
                let ids = self.kept.iter().map(|kept| kept.id.clone()).collect();
                let is_gone = |turn: &TurnId| rollback.turn_ids.contains(turn);
                self.kept.retain(|kept| !kept.made_in.as_ref().is_some_and(is_gone));
                self.forget();
                ids
            }
            _ => Vec::new(),
        }
    }

    /// Which components a fact may change, before it is taken.
    pub fn touched_by(&self, event: &Event) -> Vec<&str> {
        let known = |id: &str| self.find(id).map(|kept| kept.id.as_str());
        let of_call = |id: &ToolUseId| self.calls.get(id).map(|call| call.component_id.as_str());
        match event {
            Event::ComponentUpdate(update) => known(&update.component_id).into_iter().collect(),
            Event::ComponentRemove(removed) => known(&removed.component_id).into_iter().collect(),
            Event::ToolStart(start) => {
                start.component.iter().filter_map(|component| known(&component.component_id)).collect()
            }
            Event::ToolResult(result) => of_call(&result.tool_use_id).into_iter().collect(),
            Event::Interrupt(request) => {
                let named = request.component_id.as_ref().and_then(|id| known(id));
                named.or_else(|| request.tool_use_id.as_ref().and_then(of_call)).into_iter().collect()
            }
            Event::InterruptResolved(resolved) => {
                self.waits.get(&resolved.interrupt_id).map(|waits| waits.component_id.as_str()).into_iter().collect()
            }
            Event::StateSnapshot(_) | Event::StateDelta(_) => self.bound().collect(),
            Event::Done(_) => {
                let is_loading = |kept: &&Kept| kept.status == ComponentStatus::Loading;
                self.kept.iter().filter(is_loading).map(|kept| kept.id.as_str()).collect()
            }
            _ => Vec::new(),
        }
    }

    /// A component as it is shown with this shared state; nothing if there is none, or nothing where it looks.
    pub fn get(&self, id: &str, state: &Value) -> Option<Component> {
        self.find(id)?.shown(state, self.waiting(id))
    }

    /// Whether there is such a component, shown or not.
    pub fn contains(&self, id: &str) -> bool {
        self.find(id).is_some()
    }

    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// Their ids, in the order of their first facts.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.kept.iter().map(|kept| kept.id.as_str())
    }

    /// What it is called, and where it stands.
    pub fn name_and_surface(&self, id: &str) -> Option<(&str, Surface)> {
        self.find(id).map(|kept| (kept.name.as_str(), kept.surface))
    }

    pub fn bind(&self, id: &str) -> Option<&Bind> {
        self.find(id)?.bind.as_deref()
    }

    /// The call whose row this component covers.
    pub fn covers(&self, id: &str, state: &Value) -> Option<&ToolUseId> {
        let kept = self.find(id)?;
        let is_there = kept.covers_at == Some(kept.surface) && kept.is_visible(state);
        kept.tool_use_id.as_ref().filter(|_| is_there && kept.status != ComponentStatus::Error)
    }

    /// The component that shows a call without a result.
    pub fn call_component(&self, tool_use_id: &ToolUseId) -> Option<&ToolComponent> {
        self.calls.get(tool_use_id)
    }

    /// The interrupt that this action in a component settles.
    pub fn settled_by(&self, id: &str, action: &str) -> Option<&AskId> {
        let ends = |waits: &Waits| waits.actions.as_ref().is_none_or(|actions| actions.iter().any(|a| a == action));
        self.waits.iter().find(|(_, waits)| waits.component_id == id && ends(waits)).map(|(ask_id, _)| ask_id)
    }

    /// Whether somebody took this away for good.
    pub fn was_dismissed(&self, id: &str) -> bool {
        self.dismissed.contains(id)
    }

    /// Where the log has a callback that its caller called so.
    pub fn callback(&self, callback_id: &str) -> Option<Seq> {
        self.callbacks.iter().rev().find(|(known, _)| known == callback_id).map(|(_, seq)| *seq)
    }

    /// The interrupt that waits for a component.
    fn waiting(&self, id: &str) -> Option<&AskId> {
        self.waits.iter().find(|(_, waits)| waits.component_id == id).map(|(ask_id, _)| ask_id)
    }

    /// Why an update would change nothing.
    pub fn check(&self, update: &ComponentUpdate) -> Result<(), Unmergeable> {
        self.props_after(update).map(drop)
    }

    /// The props of a component's own after an update.
    pub fn props_after(&self, update: &ComponentUpdate) -> Result<Map<String, Value>, Unmergeable> {
        let none = Map::new();
        merge::merged(self.find(&update.component_id).map_or(&none, |kept| &kept.props), update)
    }

    pub fn status(&self, id: &str) -> Option<ComponentStatus> {
        self.find(id).map(|kept| kept.status)
    }

    pub fn is_full(&self) -> bool {
        self.kept.len() >= MAX_SHOWN
    }

    /// Whether what a result brings can be shown with what is there.
    pub fn takes(&self, result: &ToolResult) -> bool {
        let call = self.calls.get(&result.tool_use_id);
        let kept = call.and_then(|call| self.find(&call.component_id));
        matches!((call, kept), (Some(call), Some(kept)) if tool::finished(&kept.props, call, result).is_some())
    }

    fn find(&self, id: &str) -> Option<&Kept> {
        self.kept.iter().find(|kept| kept.id == id)
    }

    /// Those that show a part of the state.
    fn bound(&self) -> impl Iterator<Item = &str> {
        self.kept.iter().filter(|kept| kept.bind.is_some()).map(|kept| kept.id.as_str())
    }

    /// The component of this name, made if there is none; nothing if there are too many.
    fn entry(&mut self, id: &str, made_in: Option<&TurnId>) -> Option<&mut Kept> {
        let at = self.kept.iter().position(|kept| kept.id == id);
        let at = match at {
            Some(at) => at,
            None if self.is_full() => return None,
            None => {
                self.kept.push(Kept { id: id.to_owned(), made_in: made_in.cloned(), ..Kept::default() });
                self.kept.len() - 1
            }
        };
        self.kept.get_mut(at)
    }

    fn update(&mut self, update: &ComponentUpdate, turn_id: Option<&TurnId>) -> Result<(), Unmergeable> {
        let props = self.props_after(update)?;
        let kept = self.entry(&update.component_id, turn_id).ok_or(Unmergeable::TooLarge)?;
        kept.props = props;
        kept.name.clone_from(&update.name);
        kept.surface = update.surface;
        kept.by.clone_from(&update.by);
        let failed = update.error.is_some().then_some(ComponentStatus::Error);
        if let Some(status) = update.status.or(failed) {
            kept.status = status;
            kept.error = update.error.clone().filter(|_| status == ComponentStatus::Error);
        }
        if update.bind.is_some() {
            kept.bind.clone_from(&update.bind);
        }
        if update.view.is_some() {
            kept.view.clone_from(&update.view);
        }
        if update.tool_use_id.is_some() {
            kept.tool_use_id.clone_from(&update.tool_use_id);
            kept.covers_at = Some(update.surface);
        }
        self.dismissed.remove(&update.component_id);
        Ok(())
    }

    fn remove(&mut self, id: &str) -> Vec<String> {
        self.kept.retain(|kept| kept.id != id);
        self.forget();
        vec![id.to_owned()]
    }

    /// What was about components that are gone is not about later ones of the same name; but what waits for one by name does.
    fn forget(&mut self) {
        let ids: BTreeSet<&str> = self.kept.iter().map(|kept| kept.id.as_str()).collect();
        self.calls.retain(|_, call| ids.contains(call.component_id.as_str()));
        self.waits.retain(|_, waits| !waits.made_for_it || ids.contains(waits.component_id.as_str()));
    }

    fn call(&mut self, start: &ToolStart, turn_id: Option<&TurnId>) -> Vec<String> {
        let Some(component) = start.component.as_deref() else { return Vec::new() };
        let props = component.props.clone().or_else(|| tool::start_props(start)).unwrap_or_default();
        let Some(kept) = self.entry(&component.component_id, turn_id) else { return Vec::new() };
        kept.props = props;
        kept.name.clone_from(&component.name);
        kept.surface = component.surface;
        (kept.status, kept.error, kept.by) = (ComponentStatus::Loading, None, None);
        kept.tool_use_id = Some(start.tool_use_id.clone());
        kept.covers_at = Some(component.surface);
        // What it shows of the input is in the props now.
        let call = ToolComponent { props: None, ..component.clone() };
        // Results of older calls change nothing.
        self.calls.retain(|_, known| known.component_id != call.component_id);
        self.calls.insert(start.tool_use_id.clone(), call);
        vec![component.component_id.clone()]
    }

    fn result(&mut self, result: &ToolResult) -> Vec<String> {
        let Some(call) = self.calls.remove(&result.tool_use_id) else { return Vec::new() };
        let Some(kept) = self.kept.iter_mut().find(|kept| kept.id == call.component_id) else { return Vec::new() };
        let failed = result.is_error || result.denied == Some(true) || result.interrupted == Some(true);
        if failed {
            (kept.status, kept.error) = (ComponentStatus::Error, Some(failure_of(result)));
        } else if let Some(props) = tool::finished(&kept.props, &call, result) {
            kept.props = props;
            (kept.status, kept.error) = (ComponentStatus::Ready, None);
        } else {
            (kept.status, kept.error) = (ComponentStatus::Error, Some(tool::TOO_LARGE.to_owned()));
        }
        vec![call.component_id]
    }

    fn wait(&mut self, request: &Interrupt, turn_id: Option<&TurnId>) -> Vec<String> {
        let of_call = request.tool_use_id.as_ref().and_then(|id| self.calls.get(id));
        let named = request.component_id.clone().filter(|id| self.contains(id));
        let known = named.or_else(|| of_call.map(|call| call.component_id.clone()));
        let made_for_it = known.is_none();
        if made_for_it && (request.surface == Surface::Chat || request.tool_use_id.is_some()) {
            // Its block in the conversation is enough.
            return Vec::new();
        }
        let component_id = known.unwrap_or_else(|| format!("interrupt-{}", request.interrupt_id));
        if made_for_it {
            let Some(kept) = self.entry(&component_id, turn_id) else { return Vec::new() };
            kept.name.clone_from(&request.component_name);
            kept.surface = request.surface;
            kept.props = request.props.as_object().cloned().unwrap_or_default();
        }
        let waits = Waits { component_id: component_id.clone(), actions: request.actions.clone(), made_for_it };
        self.waits.insert(request.interrupt_id.clone(), waits);
        vec![component_id]
    }

    fn waited(&mut self, ask_id: &AskId) -> Vec<String> {
        let Some(waits) = self.waits.remove(ask_id) else { return Vec::new() };
        if waits.made_for_it {
            return self.remove(&waits.component_id);
        }
        vec![waits.component_id]
    }

    /// A turn that ends leaves nothing loading, but for calls that go on.
    fn settle(&mut self, done: &Done) -> Vec<String> {
        let going_on: BTreeSet<&str> = self.calls.values().map(|call| call.component_id.as_str()).collect();
        let is_left =
            |kept: &&mut Kept| kept.status == ComponentStatus::Loading && !going_on.contains(kept.id.as_str());
        let mut ids = Vec::new();
        for kept in self.kept.iter_mut().filter(is_left) {
            let error = outcome_text(done);
            kept.status = if error.is_none() { ComponentStatus::Ready } else { ComponentStatus::Error };
            kept.error = error;
            ids.push(kept.id.clone());
        }
        ids
    }
}

impl Kept {
    fn value<'a>(&self, state: &'a Value) -> Option<&'a Value> {
        let bind = self.bind.as_ref()?;
        state.pointer(&bind.pointer).filter(|value| !value.is_null())
    }

    fn is_visible(&self, state: &Value) -> bool {
        self.bind.is_none() || self.value(state).is_some()
    }

    fn shown(&self, state: &Value, waiting: Option<&AskId>) -> Option<Component> {
        let mut props = self.props.clone();
        if let Some(bind) = &self.bind {
            let usual = |value: &Value| if value.is_array() { "items" } else { "value" };
            match self.value(state)? {
                Value::Object(members) => props.extend(members.clone()),
                value => {
                    let key = bind.as_key.clone().unwrap_or_else(|| usual(value).to_owned());
                    props.insert(key, value.clone());
                }
            }
        }
        Some(Component {
            component_id: self.id.clone(),
            name: self.name.clone(),
            surface: self.surface,
            props: Value::Object(props),
            status: self.status,
            error: self.error.clone(),
            tool_use_id: self.tool_use_id.clone(),
            bind: self.bind.clone(),
            view: self.view.clone(),
            waiting: waiting.cloned(),
            by: self.by.clone(),
        })
    }
}

/// How much of a failed call's words a component says.
const ERROR_CHARS: usize = 500;

fn failure_of(result: &ToolResult) -> String {
    let words = match result {
        result if !result.output.trim().is_empty() => result.output.trim(),
        result if result.denied == Some(true) => "the call was not allowed",
        result if result.interrupted == Some(true) => "the call was interrupted",
        _ => "the call failed",
    };
    words.chars().take(ERROR_CHARS).collect()
}

fn outcome_text(done: &Done) -> Option<String> {
    let outcome = match done.outcome {
        Outcome::Completed => return None,
        Outcome::Stopped => "the turn was stopped",
        Outcome::Interrupted => "the turn was interrupted",
        Outcome::Failed => "the turn failed",
    };
    Some(done.reason.as_ref().map_or_else(|| outcome.to_owned(), |reason| format!("{outcome}: {reason}")))
}
