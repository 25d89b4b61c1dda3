//! The tools that a session serves to its agent, the same for every runtime: which there are, which of them are offered, and how a model hears of
//! them. All of that is data (`tools.jsonl`). What a call does is the session's business; how it travels is the protocol's.

mod described;
mod place;
#[cfg(test)]
mod tests;

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::place::{MAX_FILE_BYTES, media_type_of, place_in};
use crate::component::Registry;
use crate::delegation;
use crate::runtime::{Setting, Takes, texts_of};

/// The parameter, and setting, that says which are offered: `all`, `ask`, `none`, or their names.
pub const HOST_TOOLS: &str = "host_tools";

/// The parameter, and setting, that lets changes of the shared state wake the agent.
pub const STATE_WAKES: &str = "state_wakes";

pub const RENDER_COMPONENT: &str = "render_component";
pub const UPDATE_COMPONENT: &str = "update_component";
pub const REMOVE_COMPONENT: &str = "remove_component";
pub const ASK_USER: &str = "ask_user";
pub const WAIT_FOR_USER: &str = "wait_for_user";
pub const GET_STATE: &str = "get_state";
pub const PATCH_STATE: &str = "patch_state";
pub const PUBLISH_ARTIFACT: &str = "publish_artifact";

pub const DELEGATE: &str = "delegate";
pub const DELEGATE_STATUS: &str = "delegate_status";
pub const DELEGATE_MESSAGE: &str = "delegate_message";
pub const DELEGATE_STOP: &str = "delegate_stop";

/// Those that are offered only where delegating is allowed.
pub const DELEGATION_NAMES: [&str; 4] = [DELEGATE, DELEGATE_STATUS, DELEGATE_MESSAGE, DELEGATE_STOP];

/// All of them.
pub const NAMES: [&str; 12] = [
    RENDER_COMPONENT,
    UPDATE_COMPONENT,
    REMOVE_COMPONENT,
    ASK_USER,
    WAIT_FOR_USER,
    GET_STATE,
    PATCH_STATE,
    PUBLISH_ARTIFACT,
    DELEGATE,
    DELEGATE_STATUS,
    DELEGATE_MESSAGE,
    DELEGATE_STOP,
];

const TOOLS: &str = include_str!("tools.jsonl");

/// What stands in a description where the components are listed.
const COMPONENTS: &str = "{COMPONENTS}";

/// Which are offered.
pub const HOST_TOOLS_SETTING: Setting = Setting {
    name: HOST_TOOLS,
    takes: Takes::Choices,
    choices: &[
        "all",
        "ask",
        "none",
        RENDER_COMPONENT,
        UPDATE_COMPONENT,
        REMOVE_COMPONENT,
        ASK_USER,
        WAIT_FOR_USER,
        GET_STATE,
        PATCH_STATE,
        PUBLISH_ARTIFACT,
        DELEGATE,
        DELEGATE_STATUS,
        DELEGATE_MESSAGE,
        DELEGATE_STOP,
    ],
};

pub const STATE_WAKES_SETTING: Setting = Setting { name: STATE_WAKES, takes: Takes::Flag, choices: &[] };

/// A tool as a model hears of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HostTool {
    pub name: String,
    pub description: String,
    /// JSON Schema of an object.
    pub input_schema: Value,
    /// Hints of the Model Context Protocol.
    pub annotations: Value,
}

static ALL: LazyLock<Vec<HostTool>> = LazyLock::new(|| {
    // What ships is read by the tests, so nothing is left out.
    TOOLS.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
});

/// Whether the session serves a tool of this name to some agents.
pub fn is_host_tool(name: &str) -> bool {
    NAMES.contains(&name)
}

/// Whether a session with these parameters offers this one.
pub fn is_offered(params: &Value, name: &str) -> bool {
    // Before there were others, `ask_user` had a flag of its own.
    if name == ASK_USER && params.get(ASK_USER).and_then(Value::as_bool) == Some(false) {
        return false;
    }
    let may_delegate = params.get(delegation::ALLOWED).and_then(Value::as_bool) == Some(true);
    if DELEGATION_NAMES.contains(&name) && !may_delegate {
        return false;
    }
    let Some(wanted) = params.get(HOST_TOOLS) else { return is_host_tool(name) };
    texts_of(Some(wanted)).iter().any(|word| match word.as_str() {
        "all" => is_host_tool(name),
        "ask" => name == ASK_USER,
        word => word == name,
    })
}

/// What a session with these parameters offers, with the components that it can show.
pub fn offered(params: &Value, registry: &Registry) -> Vec<HostTool> {
    let tools = ALL.iter().filter(|tool| is_offered(params, &tool.name));
    tools
        .map(|tool| {
            let mut tool = tool.clone();
            if tool.description.contains(COMPONENTS) {
                tool.description = tool.description.replace(COMPONENTS, &described::components(registry));
            }
            tool
        })
        .collect()
}

/// A schema that says nothing of a value as a model's host must say it: some hosts make a text of `true`, and of a list without `items` a list of
/// texts.
#[must_use]
pub fn with_plain_schemas(schema: &Value) -> Value {
    described::plain(schema)
}
