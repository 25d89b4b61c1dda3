//! What `component.json` says: an entry of the registry of components, and what is only for its page.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use turnloom_core::event::Surface;

use super::policy::Domains;

/// What every folder has to have.
pub(super) const MANIFEST: &str = "component.json";

const MAX_NAME_BYTES: usize = 64;

/// A component that has a page of its own, as the registry tells of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "PageComponent")]
pub struct PageEntry {
    pub name: String,
    #[serde(default)]
    pub title: String,
    /// For models and lists.
    #[serde(default)]
    pub description: String,
    /// Always `config`.
    #[serde(default, skip_deserializing)]
    pub source: PageSource,
    /// Where it may stand, best first.
    #[serde(default = "chat")]
    pub surfaces: Vec<Surface>,
    #[serde(default)]
    pub has_loading_state: bool,
    /// JSON Schema of an object.
    #[serde(default = "any_object")]
    pub props: Map<String, Value>,
    /// What it can send.
    #[serde(default)]
    pub callbacks: Vec<Map<String, Value>>,
    /// What it answers when somebody waits for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolves: Option<Value>,
    /// The tools whose calls it shows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// Its page.
    #[serde(default, skip_deserializing)]
    pub view: PageView,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PageSource {
    #[default]
    Config,
}

/// Where the page is, and what it wants.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PageView {
    pub url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefers_border: Option<bool>,
    /// It may read and change the shared state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<bool>,
}

fn chat() -> Vec<Surface> {
    vec![Surface::Chat]
}

fn any_object() -> Map<String, Value> {
    Map::from_iter([("type".to_owned(), Value::from("object"))])
}

/// What is only for the page. All else is the entry.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ViewFields {
    prefers_border: Option<bool>,
}

/// The entry of the folder with this name, and where its page may load from.
pub(super) fn read(name: &str, text: &[u8]) -> Result<(PageEntry, Domains), String> {
    let wrong = |error: serde_json::Error| format!("{MANIFEST} is not right: {error}");
    let mut fields: Map<String, Value> = serde_json::from_slice(text).map_err(wrong)?;
    let mut take = |field: &str| fields.remove(field).unwrap_or(Value::Null);
    let domains: Option<Domains> = serde_json::from_value(take("csp")).map_err(wrong)?;
    let state: Option<bool> = serde_json::from_value(take("state")).map_err(wrong)?;
    let view: Option<ViewFields> = serde_json::from_value(take("view")).map_err(wrong)?;
    fields.entry("name").or_insert_with(|| name.into());
    let mut entry: PageEntry = serde_json::from_value(Value::Object(fields)).map_err(wrong)?;
    entry.view.prefers_border = view.unwrap_or_default().prefers_border;
    entry.view.state = state;
    let domains = domains.unwrap_or_default();
    check(name, &entry, &domains)?;
    Ok((entry, domains))
}

fn check(folder: &str, entry: &PageEntry, domains: &Domains) -> Result<(), String> {
    let PageEntry { name, .. } = entry;
    let is_part = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-.".contains(&byte);
    let has_name = |callback: &Map<String, Value>| callback.get("name").is_some_and(Value::is_string);
    if name != folder {
        return Err(format!("the folder is called {folder:?}, and {MANIFEST} says {name:?}"));
    }
    if name.len() > MAX_NAME_BYTES || !name.bytes().all(is_part) {
        return Err(format!("a name has at most {MAX_NAME_BYTES} lower-case letters, digits, '_', '-' and '.'"));
    }
    if entry.surfaces.is_empty() {
        return Err("`surfaces` must name at least one".to_owned());
    }
    if !entry.callbacks.iter().all(has_name) {
        return Err("every one of `callbacks` needs a `name`".to_owned());
    }
    match domains.bad() {
        Some(bad) => Err(format!("{bad:?} in `csp` is not a domain; name each as https://api.example")),
        None => Ok(()),
    }
}
