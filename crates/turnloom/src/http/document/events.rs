//! Events in the document: the same as `events.schema.json`, with a name for each type, so that generators make a type of each.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

/// `Event`, one `…Event` for each type, and a `…Data` for everything in them.
pub(super) fn components() -> Map<String, Value> {
    let schema = turnloom_core::event::schema();
    let mut components = Map::new();
    let (mut names, mut payloads) = (Vec::new(), HashSet::new());
    for branch in schema.get("oneOf").and_then(Value::as_array).into_iter().flatten() {
        let Some(kind) = branch.get("title").and_then(Value::as_str) else { continue };
        let mut members = schema.get("properties").cloned().unwrap_or_default();
        let data = branch.pointer("/properties/data").cloned().unwrap_or_default();
        payloads.extend(data.get("$ref").and_then(Value::as_str).map(str::to_owned));
        if let Some(members) = members.as_object_mut() {
            members.insert("type".to_owned(), json!({ "type": "string", "const": kind }));
            members.insert("data".to_owned(), data);
        }
        let name = format!("{}Event", camel(kind));
        let mut event =
            json!({ "type": "object", "title": name, "properties": members, "required": schema.get("required") });
        if let (Some(examples), Some(event)) = (branch.get("examples"), event.as_object_mut()) {
            event.insert("examples".to_owned(), examples.clone());
        }
        components.insert(name.clone(), event);
        names.push((kind.to_owned(), name));
    }
    for (name, definition) in schema.get("$defs").and_then(Value::as_object).into_iter().flatten() {
        let mut definition = definition.clone();
        let is_payload = payloads.contains(&format!("#/$defs/{name}"));
        if let Some(members) = definition.get_mut("properties").and_then(Value::as_object_mut).filter(|_| is_payload) {
            let by = json!({ "type": "string", "description": "Who did it, when it was a sub-agent." });
            members.entry("subagent_id").or_insert(by);
        }
        if let Some(definition) = definition.as_object_mut() {
            definition.insert("title".to_owned(), json!(format!("{name}Data")));
        }
        components.insert(format!("{name}Data"), definition);
    }
    let path = |name: &String| format!("#/components/schemas/{name}");
    let forms: Vec<Value> = names.iter().map(|(_, name)| json!({ "$ref": path(name) })).collect();
    let mapping: Map<String, Value> = names.iter().map(|(kind, name)| (kind.clone(), json!(path(name)))).collect();
    let event = json!({
        "title": "Event",
        "description": "One fact of a session's log; the same as in /api/events.schema.json. There is no form for a type that is not in the mapping, which a log \
            from a later version may hold: look at `type` first, and pass over what is not known.",
        "oneOf": forms,
        "discriminator": { "propertyName": "type", "mapping": mapping },
    });
    components.insert("Event".to_owned(), event);
    let mut all = Value::Object(components);
    readdress(&mut all);
    super::schemas::absent_is_not_null(&mut all);
    super::schemas::plain(&mut all);
    if let Value::Object(all) = all { all } else { Map::new() }
}

/// `turn_started` becomes `TurnStarted`.
fn camel(kind: &str) -> String {
    let word = |word: &str| {
        let mut letters = word.chars();
        letters.next().map(|first| first.to_uppercase().chain(letters).collect::<String>())
    };
    kind.split('_').filter_map(word).collect()
}

/// What was beside the schema of events is a component here.
fn readdress(value: &mut Value) {
    match value {
        Value::Object(members) => {
            let referred = members.get("$ref").and_then(Value::as_str).and_then(|path| path.strip_prefix("#/$defs/"));
            if let Some(name) = referred {
                let path = format!("#/components/schemas/{name}Data");
                members.insert("$ref".to_owned(), json!(path));
            }
            members.values_mut().for_each(readdress);
        }
        Value::Array(items) => items.iter_mut().for_each(readdress),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
