//! Rules: which component shows a call, and which shows a part of the shared state. The session applies them when it makes a fact.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::registry::{Entry, Registry};
use super::{MAX_PROPS_BYTES, MAX_PROPS_DEPTH, SESSION_COMPONENTS, SESSION_RULES};
use crate::blob::BlobId;
use crate::event::{Bind, Surface, ToolComponent, ToolMapping, ToolStart};
use crate::id::MAX_ID_BYTES;
use crate::nesting;
use crate::shared;

/// Rules, or entries, that one session brings.
const MAX_OF_SESSION: usize = 64;

/// One component for each call, or one for all calls of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "ComponentRuleId")]
pub enum ComponentId {
    /// `TOOL-TOOL_USE_ID`.
    #[default]
    Call,
    /// `TOOL`; later calls change it.
    Tool,
}

/// Which component shows the calls of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ComponentToolRule")]
pub struct ToolRule {
    /// `*` stands for anything; compared with the whole name and, for `mcp__SERVER__NAME`, with NAME.
    pub tool: String,
    /// Only for this runtime.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<String>,
    pub component: String,
    /// The component's first, if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub surface: Option<Surface>,
    #[serde(default)]
    pub result: ToolMapping,
    /// The key for a result that is no object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub into: Option<String>,
    #[serde(default)]
    pub id: ComponentId,
}

/// Which component shows a part of the shared state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ComponentStateRule")]
pub struct StateRule {
    /// JSON Pointer.
    pub pointer: String,
    pub component: String,
    /// The component's first, if not given.
    #[serde(default)]
    pub surface: Option<Surface>,
    /// `state` and the pointer with `.` for `/`, if not given.
    #[serde(default)]
    pub id: Option<String>,
    /// The key for a value that is no object; `items` for lists, else `value`.
    #[serde(default, rename = "as")]
    pub as_key: Option<String>,
    /// People's edits change the state.
    #[serde(default)]
    pub edits: bool,
}

/// What the configuration says of components.
#[derive(Debug, Clone)]
pub struct Rules {
    pub registry: Registry,
    pub tools: Vec<ToolRule>,
    pub state: Vec<StateRule>,
}

impl Default for Rules {
    /// Without a configuration: what ships, and no rules.
    fn default() -> Self {
        Self { registry: Registry::builtin(), tools: Vec::new(), state: Vec::new() }
    }
}

impl Rules {
    /// The component that shows this call, if a rule says so: those of the session come first, then those of the configuration, then what the agent
    /// says itself, then the tools of the registry.
    pub fn for_call(
        &self,
        start: &ToolStart,
        runtime: &str,
        of_session: &[ToolRule],
        registry: &Registry,
    ) -> Option<ToolComponent> {
        let fits = |rule: &&ToolRule| {
            rule.runtime.as_deref().is_none_or(|wanted| wanted == runtime) && matches_tool(&rule.tool, &start.tool)
        };
        if let Some(rule) = of_session.iter().chain(&self.tools).find(fits) {
            return Some(ToolComponent {
                component_id: id_of_call(start, rule.id),
                name: rule.component.clone(),
                surface: surface_of(registry, &rule.component, rule.surface),
                result: rule.result,
                into: rule.into.clone(),
                props: None,
            });
        }
        if let Some(said) = start.component.as_deref().filter(|said| is_id(&said.component_id) && !said.name.is_empty())
        {
            return Some(ToolComponent { props: None, ..said.clone() });
        }
        let covers = |entry: &&Entry| entry.tools.iter().any(|tool| matches_tool(tool, &start.tool));
        let entry = registry.entries().find(covers)?;
        Some(ToolComponent {
            component_id: id_of_call(start, ComponentId::Call),
            name: entry.name.clone(),
            surface: surface_of(registry, &entry.name, None),
            ..ToolComponent::default()
        })
    }
}

impl StateRule {
    pub fn component_id(&self) -> String {
        let made = || format!("state{}", self.pointer.replace('/', "."));
        fitting_id(self.id.clone().unwrap_or_else(made))
    }

    pub fn surface(&self, registry: &Registry) -> Surface {
        surface_of(registry, &self.component, self.surface)
    }

    pub fn bind(&self) -> Bind {
        Bind { pointer: self.pointer.clone(), as_key: self.as_key.clone(), edits: self.edits.then_some(true) }
    }
}

fn surface_of(registry: &Registry, name: &str, wanted: Option<Surface>) -> Surface {
    let first = || registry.get(name).and_then(|entry| entry.surfaces.first().copied()).unwrap_or_default();
    wanted.unwrap_or_else(first)
}

/// Whether a rule's word fits the name of a tool, or the last part of one from an MCP server.
fn matches_tool(pattern: &str, tool: &str) -> bool {
    let short = tool.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")).map(|(_, name)| name);
    glob(pattern, tool) || short.is_some_and(|short| glob(pattern, short))
}

/// `*` stands for anything. Each piece is taken at its first place, so this is linear but for the search.
fn glob(pattern: &str, text: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(first) else { return false };
    let mut pieces: Vec<&str> = rest.split('*').collect();
    let last = pieces.pop().unwrap_or_default();
    for piece in pieces {
        let Some((_, after)) = text.split_once(piece) else { return false };
        text = after;
    }
    text.ends_with(last)
}

fn id_of_call(start: &ToolStart, id: ComponentId) -> String {
    fitting_id(match id {
        ComponentId::Call => format!("{}-{}", start.tool, start.tool_use_id),
        ComponentId::Tool => start.tool.clone(),
    })
}

/// Whether a text can be the id of a component.
pub fn is_id(text: &str) -> bool {
    crate::id::SubagentId::parse(text).is_ok()
}

/// Agents call things as they like; an id may not. One that had to be changed ends with a hash of what it was, so that two stay two.
fn fitting_id(text: String) -> String {
    if is_id(&text) {
        return text;
    }
    let hash: String = BlobId::of(text.as_bytes()).as_str().chars().take(12).collect();
    let plain = text.chars().map(|c| if c.is_ascii_alphanumeric() || "-_.:".contains(c) { c } else { '_' });
    let plain: String = plain.take(MAX_ID_BYTES - hash.len() - 1).collect();
    format!("{plain}-{hash}")
}

/// Refuses parameters of a session that bring components or rules and are not right: which, and why.
pub fn check_params(params: &Map<String, Value>) -> Result<(), (&'static str, String)> {
    let check = |name: &'static str, read: &dyn Fn(&Value) -> Result<(), String>| {
        params.get(name).map_or(Ok(()), |value| read(value).map_err(|why| (name, why)))
    };
    check(SESSION_COMPONENTS, &|value| read_entries(value).map(drop))?;
    check(SESSION_RULES, &|value| read_rules(value).map(drop))
}

/// Reads the rules of a session.
pub fn read_rules(value: &Value) -> Result<Vec<ToolRule>, String> {
    let rules: Vec<ToolRule> = read(value)?;
    if let Some(rule) = rules.iter().find(|rule| rule.tool.is_empty() || rule.component.is_empty()) {
        return Err(format!("`tool` and `component` must not be empty: {rule:?}"));
    }
    Ok(rules)
}

/// Reads the components that a session brings.
pub fn read_entries(value: &Value) -> Result<Vec<Entry>, String> {
    let entries: Vec<Entry> = read(value)?;
    match entries.iter().find_map(Entry::problem) {
        Some(problem) => Err(problem),
        None => Ok(entries),
    }
}

fn read<T: for<'de> Deserialize<'de>>(value: &Value) -> Result<Vec<T>, String> {
    if !nesting::fits(value, MAX_PROPS_DEPTH) || shared::size(value) > MAX_PROPS_BYTES {
        return Err(format!("this is more than {MAX_PROPS_BYTES} bytes or deeper than {MAX_PROPS_DEPTH} levels"));
    }
    let list = Vec::<T>::deserialize(value).map_err(|error| error.to_string())?;
    if list.len() > MAX_OF_SESSION {
        Err(format!("there may be {MAX_OF_SESSION}, not {}", list.len()))
    } else {
        Ok(list)
    }
}
