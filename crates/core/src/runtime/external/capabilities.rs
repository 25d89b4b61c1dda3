//! What an agent says that it can do, and what of it is believed.

use serde_json::{Map, Value, json};

use crate::runtime::Capabilities;

/// What an agent that others write may claim. The rest needs words that its language does not have.
pub const CAPABILITY_NAMES: &[&str] = &[
    "steer",
    "resume",
    "fork",
    "rollback",
    "compact",
    "set_model",
    "set_mode",
    "permissions",
    "edit_input",
    "questions",
    "images",
    "files",
    "thinking",
    "plan",
    "subagents",
    "background",
    "components",
    "state",
    "usage",
    "client_tools",
    "restore_files",
];

/// What a `hello` claims: `{"steer": true, …}`. Other words and other values count for nothing.
pub fn capabilities(claimed: &Map<String, Value>) -> Capabilities {
    of_names(|name| claimed.get(name) == Some(&json!(true)))
}

/// Of what is claimed, what the settings allow.
pub fn limited(claimed: Capabilities, allowed: &[String]) -> Capabilities {
    let claimed = json!(claimed);
    of_names(|name| allowed.iter().any(|allowed| allowed == name) && claimed.get(name) == Some(&json!(true)))
}

fn of_names(has: impl Fn(&str) -> bool) -> Capabilities {
    let mut all = json!(Capabilities::default());
    if let Some(all) = all.as_object_mut() {
        for name in CAPABILITY_NAMES.iter().filter(|name| has(name)) {
            all.insert((*name).to_owned(), json!(true));
        }
    }
    // It is the same type with other truths in it.
    serde_json::from_value(all).unwrap_or_default()
}
