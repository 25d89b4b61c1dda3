//! Components in a few words, for models: every request carries them, so they are short. Whoever gets props wrong is told the whole schema.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use crate::component::{Entry, Registry, Source};

/// Props that are named of each.
const MAX_PROPS: usize = 6;

/// How much of the words about a component that others brought.
const MAX_WORDS: usize = 120;

/// All components together, in bytes. What comes after is left out.
const MAX_BYTES: usize = 8 * 1024;

/// `chart(type: bar|line, data, x?, …); table(rows, …)`.
pub(super) fn components(registry: &Registry) -> String {
    let mut text = String::new();
    let mut left_out = 0;
    for entry in registry.entries() {
        let described = component(entry);
        if text.len() + described.len() > MAX_BYTES {
            left_out += 1;
            continue;
        }
        if !text.is_empty() {
            text.push_str("; ");
        }
        text.push_str(&described);
    }
    if left_out > 0 {
        let _ = write!(text, "; and {left_out} more");
    }
    text
}

fn component(entry: &Entry) -> String {
    let none = Map::new();
    let properties = entry.props.get("properties").and_then(Value::as_object).unwrap_or(&none);
    let required: Vec<&str> =
        entry.props.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    let needed = required.iter().map(|name| match properties.get(*name).and_then(choices) {
        Some(choices) => format!("{name}: {choices}"),
        None => (*name).to_owned(),
    });
    let optional = properties.keys().filter(|name| !required.contains(&name.as_str())).map(|name| format!("{name}?"));
    let mut names: Vec<String> = needed.chain(optional.take(MAX_PROPS.saturating_sub(required.len()))).collect();
    if names.len() < properties.len() {
        names.push("…".to_owned());
    }
    let mut text = format!("{}({})", entry.name, names.join(", "));
    // Models know what a chart is; what somebody has brought they do not.
    if entry.source != Source::Builtin && !entry.description.is_empty() {
        let words: String = entry.description.chars().take(MAX_WORDS).collect();
        let _ = write!(text, ": {}", words.replace('\n', " "));
    }
    text
}

fn choices(schema: &Value) -> Option<String> {
    let words: Option<Vec<&str>> = schema.get("enum")?.as_array()?.iter().map(Value::as_str).collect();
    words.map(|words| words.join("|"))
}

pub(super) fn plain(schema: &Value) -> Value {
    match schema {
        Value::Bool(true) => json!({}),
        Value::Object(members) => {
            let mut members: Map<String, Value> =
                members.iter().map(|(keyword, value)| (keyword.clone(), inside(keyword, value))).collect();
            let is_list = members.get("type").is_some_and(|kind| kind == "array");
            if is_list && !members.contains_key("items") && !members.contains_key("prefixItems") {
                members.insert("items".to_owned(), json!({}));
            }
            Value::Object(members)
        }
        other => other.clone(),
    }
}

/// What of a schema is schemas again.
fn inside(keyword: &str, value: &Value) -> Value {
    match (keyword, value) {
        ("properties" | "$defs" | "patternProperties", Value::Object(named)) => {
            Value::Object(named.iter().map(|(name, schema)| (name.clone(), plain(schema))).collect())
        }
        ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(list)) => list.iter().map(plain).collect(),
        ("items", schema) => plain(schema),
        ("additionalProperties", Value::Object(_)) => plain(value),
        _ => value.clone(),
    }
}
