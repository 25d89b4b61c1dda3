//! Schemas as generators of clients like them: none that is only `true`, no formats that nobody knows, and what is never `null` does not say that it
//! might be.

use schemars::SchemaGenerator;
use serde_json::{Map, Value, json};

const COMPONENTS_PREFIX: &str = "#/components/schemas/";

/// The schemas of both sides under one roof, and the names that are read otherwise than they are written: what is read has `Input` behind such a name.
pub(super) fn joined(mut answers: SchemaGenerator, mut requests: SchemaGenerator) -> (Map<String, Value>, Vec<String>) {
    let (mut answers, mut requests) = (answers.take_definitions(true), requests.take_definitions(true));
    for schema in answers.values_mut() {
        absent_is_not_null(schema);
        plain(schema);
    }
    requests.values_mut().for_each(plain);
    // What refers to something that differs differs too.
    let mut differing: Vec<String> = Vec::new();
    loop {
        let before = differing.len();
        for (name, schema) in &requests {
            let leads_to = |schema: &Value, other: &String| {
                schema.to_string().contains(&format!("\"{COMPONENTS_PREFIX}{other}\""))
            };
            let known = answers.get(name);
            let differs =
                known.is_some_and(|known| known != schema || differing.iter().any(|other| leads_to(schema, other)));
            if differs && !differing.contains(name) {
                differing.push(name.clone());
            }
        }
        if differing.len() == before {
            break;
        }
    }
    let mut joined = answers;
    for (name, mut schema) in requests {
        rename(&mut schema, &differing);
        let name = if differing.contains(&name) { format!("{name}Input") } else { name };
        joined.entry(name).or_insert(schema);
    }
    (joined, differing)
}

/// Gives what is read the names that it has in [`joined`].
pub(in crate::http) fn rename(value: &mut Value, names: &[String]) {
    each(value, &mut |members| {
        let referred =
            members.get("$ref").and_then(Value::as_str).and_then(|path| path.strip_prefix(COMPONENTS_PREFIX));
        if let Some(name) = referred.filter(|name| names.iter().any(|known| known == name)) {
            let path = format!("{COMPONENTS_PREFIX}{name}Input");
            members.insert("$ref".to_owned(), json!(path));
        }
    });
}

/// Any value is `{}` and not `true`, numbers have no formats of one language, and defaults are told in words.
pub(in crate::http) fn plain(value: &mut Value) {
    each(value, &mut |members| {
        describe_default(members);
        for name in ["items", "additionalProperties"] {
            if members.get(name) == Some(&json!(true)) {
                members.insert(name.to_owned(), json!({}));
            }
        }
        let properties = members.get_mut("properties").and_then(Value::as_object_mut);
        for property in properties.into_iter().flat_map(|properties| properties.values_mut()) {
            if *property == json!(true) {
                *property = json!({});
            }
        }
        let of_rust = |format: &str| format.starts_with("uint") || matches!(format, "int8" | "int16");
        if members.get("format").and_then(Value::as_str).is_some_and(of_rust) {
            members.remove("format");
        }
    });
}

/// Says in words what holds when something is left out: generators take a field with a `default` for one that is always there.
fn describe_default(schema: &mut Map<String, Value>) {
    // An object with members here is the schema of a property that is called so.
    if schema.get("default").is_none_or(|default| default.as_object().is_some_and(|members| !members.is_empty())) {
        return;
    }
    let default =
        schema.remove("default").filter(|value| value.is_boolean() || value.is_string() && *value != json!(""));
    if let Some(default) = default {
        let known = schema.get("description").and_then(Value::as_str).unwrap_or_default();
        let description = format!("{known} If it is left out: `{}`.", default.to_string().trim_matches('"'));
        schema.insert("description".to_owned(), json!(description.trim_start()));
    }
}

/// What an answer leaves out when there is nothing is never `null` in it.
pub(in crate::http) fn absent_is_not_null(schema: &mut Value) {
    each(schema, &mut |members| {
        let required = members.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
        let properties = members.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten();
        properties.filter(|(name, _)| !required.contains(&json!(name))).for_each(|(_, schema)| never_null(schema));
    });
}

/// The schema without `null`.
pub(super) fn never_null(schema: &mut Value) {
    let Some(members) = schema.as_object_mut() else { return };
    if let Some(Value::Array(types)) = members.get_mut("type") {
        types.retain(|name| name != "null");
        if let [one] = types.as_slice() {
            let one = one.clone();
            members.insert("type".to_owned(), one);
        }
    }
    let Some(Value::Array(mut forms)) = members.remove("anyOf") else { return };
    forms.retain(|form| *form != json!({ "type": "null" }));
    match forms.as_slice() {
        [Value::Object(one)] => {
            for (name, value) in one.clone() {
                members.entry(name).or_insert(value);
            }
        }
        _ => drop(members.insert("anyOf".to_owned(), Value::Array(forms))),
    }
}

/// Every object in a value, the outer before the inner.
fn each(value: &mut Value, visit: &mut impl FnMut(&mut Map<String, Value>)) {
    match value {
        Value::Object(members) => {
            visit(members);
            members.values_mut().for_each(|member| each(member, visit));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| each(item, visit)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

pub(super) fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (name, value) in from {
                match into.get_mut(&name) {
                    Some(existing) => merge(existing, value),
                    None => drop(into.insert(name, value)),
                }
            }
        }
        (into, from) => *into = from,
    }
}
