//! Components that an agent shows, changes and removes by calling tools. Props are checked: no agent checks a call against its schema.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Outcome, Served, read};
use crate::component::{self, Entry, MAX_PROPS_BYTES, MAX_SHOWN};
use crate::event::{Bind, ComponentRemove, ComponentStatus, ComponentUpdate, MergeMode, Surface};
use crate::runtime::HostCall;
use crate::session::machine::{Machine, Output};
use crate::time::Timestamp;

/// The longest schema that a refusal quotes.
const MAX_SCHEMA_BYTES: usize = 8 * 1024;

#[derive(Debug, Deserialize)]
struct Render {
    name: String,
    component_id: Option<String>,
    surface: Option<Surface>,
    #[serde(default)]
    props: Map<String, Value>,
    status: Option<ComponentStatus>,
    bind: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Change {
    component_id: String,
    props: Option<Map<String, Value>>,
    mode: Option<MergeMode>,
    patch: Option<Value>,
    surface: Option<Surface>,
    status: Option<ComponentStatus>,
    error: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Remove {
    component_id: String,
}

/// Whether props have all that a component needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Complete {
    Yes,
    /// The rest is still to come, or is in the shared state.
    NotYet,
}

impl Machine {
    pub(super) fn render(&mut self, call: &HostCall, at: Timestamp, out: &mut Output) -> Outcome {
        let render: Render = read(call, &["props"])?;
        let entry = self.entry(&render.name)?;
        if render.status == Some(ComponentStatus::Error) {
            return Err("`status` is loading or ready".to_owned());
        }
        let status = render.status.unwrap_or_default();
        let complete = match (&render.bind, status) {
            (None, ComponentStatus::Ready) => Complete::Yes,
            _ => Complete::NotYet,
        };
        fits(&entry, &render.props, complete)?;
        let bind = render.bind.map(|pointer| bind(&entry, pointer)).transpose()?;
        let component_id = match render.component_id {
            Some(id) if !component::is_id(&id) => {
                return Err(format!("{id:?} cannot be a component_id: it has 1 to 128 letters, digits, `-_.:`"));
            }
            Some(id) => id,
            None => self.free_id(&entry.name),
        };
        let surface = render.surface.or(entry.surfaces.first().copied()).unwrap_or_default();
        let update = ComponentUpdate {
            component_id: component_id.clone(),
            name: entry.name,
            surface,
            props: Value::Object(render.props),
            mode: Some(MergeMode::Replace),
            status: Some(status),
            tool_use_id: call.tool_use_id.clone(),
            bind: bind.map(Box::new),
            ..ComponentUpdate::default()
        };
        let shows_state = self.state.components.bind(&component_id).is_some();
        let becomes_plain = shows_state && update.bind.is_none();
        let update = self.prepared_update(update).map_err(|refused| refused.1)?;
        if becomes_plain {
            // What shows the state goes on doing so; this is another one.
            let removed = ComponentRemove { component_id: component_id.clone(), ..ComponentRemove::default() };
            self.emit_for(call, removed, at, out);
        }
        self.emit_for(call, update, at, out);
        Ok(Served::Now(json!({ "component_id": component_id, "surface": surface })))
    }

    pub(super) fn change_component(&mut self, call: &HostCall, at: Timestamp, out: &mut Output) -> Outcome {
        let change: Change = read(call, &["props", "patch"])?;
        let (name, shown_at) = self.shown_component(&change.component_id)?;
        let surface = change.surface.unwrap_or(shown_at);
        let is_nothing = change.props.is_none() && change.patch.is_none();
        if is_nothing && change.surface.is_none() && change.status.is_none() && change.error.is_none() {
            return Err("say what to change: props, patch, surface, status or error".to_owned());
        }
        if change.patch.is_some() && change.props.is_some() {
            return Err("give props or patch, not both".to_owned());
        }
        let mode = match (&change.patch, change.mode) {
            (Some(_), _) => MergeMode::Patch,
            (None, Some(MergeMode::Patch)) => return Err("the mode patch needs a patch".to_owned()),
            (None, mode) => mode.unwrap_or(MergeMode::Shallow),
        };
        // Where nothing is said of the props, they stay.
        let mode = if is_nothing { MergeMode::Shallow } else { mode };
        let update = ComponentUpdate {
            component_id: change.component_id.clone(),
            name,
            surface,
            props: Value::Object(change.props.unwrap_or_default()),
            mode: Some(mode),
            patch: change.patch,
            status: change.status,
            error: change.error,
            ..ComponentUpdate::default()
        };
        let components = &self.state.components;
        let props = components.props_after(&update).map_err(|error| error.to_string())?;
        let status = update.status.or(components.status(&update.component_id)).unwrap_or_default();
        let is_complete = status == ComponentStatus::Ready && components.bind(&update.component_id).is_none();
        // A component that somebody else has put there may be one that nobody knows.
        if let Ok(entry) = self.entry(&update.name) {
            fits(&entry, &props, if is_complete { Complete::Yes } else { Complete::NotYet })?;
        }
        let update = self.prepared_update(update).map_err(|refused| refused.1)?;
        self.emit_for(call, update, at, out);
        Ok(Served::Now(json!({ "component_id": change.component_id, "surface": surface })))
    }

    pub(super) fn remove_component(&mut self, call: &HostCall, at: Timestamp, out: &mut Output) -> Outcome {
        let Remove { component_id } = read(call, &[])?;
        let removed = self.state.components.contains(&component_id);
        if removed {
            self.emit_for(call, ComponentRemove { component_id, ..ComponentRemove::default() }, at, out);
        }
        Ok(Served::Now(json!({ "removed": removed })))
    }

    /// The component of this name.
    pub(super) fn entry(&self, name: &str) -> Result<Entry, String> {
        let registry = self.registry();
        registry.get(name).cloned().ok_or_else(|| {
            let names: Vec<&str> = registry.entries().map(|entry| entry.name.as_str()).collect();
            format!("there is no component {name:?}; there are {}", names.join(", "))
        })
    }

    /// What a component that is shown is, and where it stands.
    pub(super) fn shown_component(&self, id: &str) -> Result<(String, Surface), String> {
        let components = &self.state.components;
        let found = components.name_and_surface(id).map(|(name, surface)| (name.to_owned(), surface));
        found.ok_or_else(|| {
            let named =
                components.ids().filter_map(|id| Some(format!("{id} ({})", components.name_and_surface(id)?.0)));
            let shown: Vec<String> = named.collect();
            let shown = if shown.is_empty() { "none".to_owned() } else { shown.join(", ") };
            format!("there is no component {id:?}; shown are: {shown}")
        })
    }

    /// A name that no component has: `chart-1`.
    fn free_id(&self, name: &str) -> String {
        let is_free = |id: &String| !self.state.components.contains(id);
        let numbers = 1..=MAX_SHOWN + 1;
        numbers.map(|number| format!("{name}-{number}")).find(is_free).unwrap_or_else(|| name.to_owned())
    }
}

/// Refuses props that are not what a component takes, with what it does take.
pub(super) fn fits(entry: &Entry, props: &Map<String, Value>, complete: Complete) -> Result<(), String> {
    let mut schema = entry.served().props;
    if let (Complete::NotYet, Some(schema)) = (complete, schema.as_object_mut()) {
        schema.remove("required");
    }
    let props = Value::Object(props.clone());
    component::check(&schema, &props).map_err(|misfit| {
        let schema = entry.props.to_string();
        let schema = if schema.len() > MAX_SCHEMA_BYTES { String::new() } else { format!("; the schema is {schema}") };
        let what = if crate::shared::size(&props) > MAX_PROPS_BYTES { "these props" } else { "props" };
        format!("{what} do not fit {}: {misfit}{schema}", entry.name)
    })
}

/// What a component shows of the state. A list is what it needs a list for; people's edits change the state, as everybody sees it.
fn bind(entry: &Entry, pointer: String) -> Result<Bind, String> {
    if !pointer.is_empty() && !pointer.starts_with('/') {
        return Err(format!("{pointer:?} is no JSON Pointer: it begins with `/`"));
    }
    let required =
        entry.props.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let is_list =
        |name: &&str| entry.props.pointer(&format!("/properties/{name}/type")).is_some_and(|kind| kind == "array");
    let as_key = required.into_iter().find(is_list).map(str::to_owned);
    Ok(Bind { pointer, as_key, edits: Some(true) })
}
