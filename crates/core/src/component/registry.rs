//! Which components there are: those of the program, of the configuration and of a session. All of it is data; what ships is in `builtin.jsonl`.

use std::sync::{Arc, LazyLock};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use serde_with::skip_serializing_none;

use crate::blob::BlobId;
use crate::event::Surface;

/// What ships, one entry per line.
const BUILTIN: &str = include_str!("builtin.jsonl");

/// The longest name.
const MAX_NAME_BYTES: usize = 64;

/// The longest `title` among the props.
const MAX_TITLE: usize = 200;

/// Where an entry comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "ComponentSource")]
pub enum Source {
    #[default]
    Builtin,
    Config,
    Session,
    Mcp,
}

/// One component that can be shown.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ComponentEntry")]
pub struct Entry {
    pub name: String,
    #[serde(default)]
    pub title: String,
    /// For models and lists.
    #[serde(default)]
    pub description: String,
    #[serde(default)]
    pub source: Source,
    /// Where it may stand, best first.
    #[serde(default = "chat")]
    pub surfaces: Vec<Surface>,
    /// It draws a skeleton while its status is `loading`.
    #[serde(default)]
    pub has_loading_state: bool,
    /// JSON Schema 2020-12 of an object.
    #[serde(default = "any_object")]
    pub props: Value,
    /// What it can send.
    #[serde(default)]
    pub callbacks: Vec<CallbackEntry>,
    /// What it answers when somebody waits for it; without it, the action and its payload.
    pub resolves: Option<Value>,
    /// The tools whose calls it shows without another rule.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// It is a page of its own.
    pub view: Option<EntryView>,
}

/// Something that a component can send.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ComponentCallbackEntry")]
pub struct CallbackEntry {
    pub name: String,
    /// The agent hears of it at once, not with the next message.
    #[serde(default = "yes")]
    pub wakes: bool,
    /// JSON Schema of what goes with it.
    pub payload: Option<Value>,
}

/// The page that draws a component.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ComponentPage")]
pub struct EntryView {
    pub url: String,
    pub prefers_border: Option<bool>,
    /// It may read and change the shared state.
    pub state: Option<bool>,
}

fn chat() -> Vec<Surface> {
    vec![Surface::Chat]
}

fn any_object() -> Value {
    json!({ "type": "object" })
}

fn yes() -> bool {
    true
}

impl Entry {
    /// Why it cannot be an entry of a session or a configuration.
    pub(super) fn problem(&self) -> Option<String> {
        let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-.".contains(c);
        let name = &self.name;
        match () {
            () if name.is_empty() || name.len() > MAX_NAME_BYTES || !name.chars().all(is_word) => Some(format!(
                "`name` has 1 to {MAX_NAME_BYTES} lower-case letters, digits, '_', '-' and '.', unlike {name:?}"
            )),
            () if !self.props.is_object() => Some(format!("`props` of {name} must be a JSON Schema of an object")),
            () if self.surfaces.is_empty() => Some(format!("`surfaces` of {name} must name at least one")),
            () if self.view.is_some() => Some(format!("{name}: a component of a session has no `view`")),
            () => None,
        }
    }

    /// As it is served: with the props that every component takes.
    #[must_use]
    pub fn served(&self) -> Self {
        let mut entry = self.clone();
        if let Some(schema) = entry.props.as_object_mut() {
            let properties = schema.entry("properties").or_insert_with(|| Value::Object(Map::new()));
            if let Some(properties) = properties.as_object_mut() {
                for (name, common) in common_props() {
                    properties.entry(name).or_insert(common);
                }
            }
        }
        entry
    }
}

/// What every component takes: a title, a description, and buttons that send a callback.
fn common_props() -> Map<String, Value> {
    let action = json!({
        "type": "object",
        "properties": {
            "action": { "type": "string" }, "label": { "type": "string" },
            "style": { "enum": ["primary", "danger", "plain"] }, "payload": {},
        },
        "required": ["action", "label"],
    });
    Map::from_iter([
        ("title".to_owned(), json!({ "type": "string", "maxLength": MAX_TITLE })),
        ("description".to_owned(), json!({ "type": "string" })),
        ("actions".to_owned(), json!({ "type": "array", "items": action })),
    ])
}

/// The entries that somebody can choose from; of two with one name, the first counts.
#[derive(Debug, Clone, Default)]
pub struct Registry {
    entries: Vec<Arc<Entry>>,
}

static BUILTIN_REGISTRY: LazyLock<Registry> = LazyLock::new(|| {
    // What ships is read by the tests, so nothing is left out.
    let read = |line| serde_json::from_str::<Entry>(line).ok().map(Arc::new);
    Registry { entries: BUILTIN.lines().filter_map(read).collect() }
});

impl Registry {
    /// What ships.
    pub fn builtin() -> Self {
        BUILTIN_REGISTRY.clone()
    }

    /// These entries before all others.
    #[must_use]
    pub fn with(&self, entries: Vec<Entry>, source: Source) -> Self {
        let mut all: Vec<Arc<Entry>> = entries.into_iter().map(|entry| Arc::new(Entry { source, ..entry })).collect();
        let others = self.entries.iter().filter(|known| all.iter().all(|entry| entry.name != known.name));
        let others: Vec<Arc<Entry>> = others.cloned().collect();
        all.extend(others);
        Self { entries: all }
    }

    pub fn get(&self, name: &str) -> Option<&Entry> {
        self.entries().find(|entry| entry.name == name)
    }

    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().map(Arc::as_ref)
    }

    /// Changes with what is in it.
    pub fn version(&self) -> String {
        let all: Vec<&Entry> = self.entries().collect();
        // Entries have string keys and no serializers of their own, so they always encode.
        BlobId::of(&serde_json::to_vec(&all).unwrap_or_default()).as_str().chars().take(16).collect()
    }
}
