//! What a session changes of Codex's own settings, as one tree. What the settings mean is not known here.

use serde_json::{Map, Value};

use crate::nesting;
use crate::runtime::Opening;

/// Whether a session's `config` is no deeper than any other value. Each part of a name with dots is a level.
pub fn config_fits(config: &Value) -> bool {
    config.as_object().into_iter().flatten().all(|(path, value)| fits(path, value))
}

/// The session's profile, what its parameters stand for, and above all what it says itself. What is too deep is left out.
pub(super) fn config_of(opening: &Opening, profile: &Map<String, Value>) -> Map<String, Value> {
    let param = |name: &str| opening.params.get(name);
    let is_set = |name: &str, value: bool| param(name).and_then(Value::as_bool) == Some(value);
    let mut config = profile.clone();
    let mut set = |path: &[&str], value: Value| put(&mut config, path, value);
    for (name, server) in param("mcp_servers").and_then(Value::as_object).into_iter().flatten() {
        // Not a mixture of two servers.
        set(&["mcp_servers", name], Value::Null);
        set(&["mcp_servers", name], server.clone());
    }
    if let Some(env @ Value::Object(_)) = param("env") {
        // The server has it too, but what it passes on to commands it chooses by name.
        set(&["shell_environment_policy", "set"], env.clone());
    }
    if is_set("project_instructions", false) {
        set(&["project_doc_max_bytes"], 0.into());
    }
    if let Some(cwd) = opening.cwd.as_deref().filter(|_| is_set("trust_project", true)) {
        set(&["projects", cwd, "trust_level"], "trusted".into());
    }
    let said = param("config").and_then(Value::as_object).into_iter().flatten();
    for (path, value) in said.filter(|(path, value)| fits(path, value)) {
        set(&path.split('.').collect::<Vec<_>>(), value.clone());
    }
    config
}

/// Puts a value into a tree of settings. Tables are merged, everything else is replaced. It goes as deep as the value does, but not as the path.
pub(super) fn put(config: &mut Map<String, Value>, path: &[&str], value: Value) {
    let Some((name, tables)) = path.split_last() else { return };
    let mut table = config;
    for name in tables {
        let Some(inner) = table_in(table, name) else { return };
        table = inner;
    }
    match value {
        Value::Object(fields) => {
            let Some(table) = table_in(table, name) else { return };
            for (field, value) in fields {
                put(table, &[&field], value);
            }
        }
        value => drop(table.insert((*name).to_owned(), value)),
    }
}

/// The table of this name, made if there is none.
fn table_in<'a>(table: &'a mut Map<String, Value>, name: &str) -> Option<&'a mut Map<String, Value>> {
    let entry = table.entry(name).or_insert(Value::Null);
    if !entry.is_object() {
        *entry = Value::Object(Map::new());
    }
    entry.as_object_mut()
}

fn fits(path: &str, value: &Value) -> bool {
    // Of a path that is too long no more is looked at.
    let parts = path.split('.').take(nesting::MAX_DEPTH + 1).count();
    nesting::MAX_DEPTH.checked_sub(parts).is_some_and(|levels| nesting::fits(value, levels))
}
