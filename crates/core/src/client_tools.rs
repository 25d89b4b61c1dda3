//! Tools that a session's clients run: their names, their inputs, and which of them exist. A call of one is an ask that waits for its result. Asks
//! belong to the session; each protocol knows how to announce a tool to its agent.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::host_tools;

#[cfg(test)]
mod tests;

/// The parameter that holds those of the session: given at its creation, changed as a setting.
pub const SESSION_TOOLS: &str = "client_tools";

/// The setting that holds those of the newest run: front ends bring theirs with each request.
pub const RUN_TOOLS: &str = "run_tools";

/// Models take names of 64 bytes, and agents put the name of a server before ours.
const MAX_NAME_BYTES: usize = 48;
const MAX_DESCRIPTION_BYTES: usize = 4 * 1024;
const MAX_SCHEMA_BYTES: usize = 32 * 1024;

/// All of them are in every request to a model.
const MAX_TOOLS: usize = 64;

/// One tool that a client runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClientTool {
    /// Letters, digits, `_` and `-`.
    pub name: String,
    /// For the model: what it does and when to use it.
    #[serde(default)]
    pub description: String,
    /// A JSON Schema of an object.
    #[serde(default = "anything")]
    pub input_schema: Map<String, Value>,
}

fn anything() -> Map<String, Value> {
    Map::from_iter([("type".to_owned(), json!("object")), ("properties".to_owned(), json!({}))])
}

impl ClientTool {
    /// One whose schema may be missing, or not be one.
    pub fn new(name: &str, description: &str, schema: Option<&Value>) -> Self {
        let input_schema = schema.and_then(Value::as_object).cloned().unwrap_or_else(anything);
        Self { name: name.to_owned(), description: description.to_owned(), input_schema }
    }

    /// What is wrong with it, for a person.
    fn check(&self) -> Result<(), String> {
        let name = &self.name;
        let spelled = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        if name.is_empty() || name.len() > MAX_NAME_BYTES || !name.bytes().all(spelled) {
            return Err(format!("the name {name:?} must be 1 to {MAX_NAME_BYTES} letters, digits, `_` or `-`"));
        }
        if host_tools::is_host_tool(name) {
            return Err(format!("the name {name:?} is taken by a tool of the daemon"));
        }
        if self.description.len() > MAX_DESCRIPTION_BYTES {
            return Err(format!("the description of {name:?} has more than {MAX_DESCRIPTION_BYTES} bytes"));
        }
        if self.input_schema.get("type").is_some_and(|kind| kind != "object") {
            return Err(format!("the input of {name:?} must be an object"));
        }
        if json!(self.input_schema).to_string().len() > MAX_SCHEMA_BYTES {
            return Err(format!("the schema of {name:?} has more than {MAX_SCHEMA_BYTES} bytes"));
        }
        Ok(())
    }
}

/// Reads a list of tools; the error is for a person.
pub fn read(list: &Value) -> Result<Vec<ClientTool>, String> {
    let tools: Vec<ClientTool> = serde_json::from_value(list.clone()).map_err(|error| error.to_string())?;
    if tools.len() > MAX_TOOLS {
        return Err(format!("there are at most {MAX_TOOLS} tools, not {}", tools.len()));
    }
    let mut names = HashSet::new();
    for tool in &tools {
        tool.check()?;
        if !names.insert(&tool.name) {
            return Err(format!("the name {:?} is given twice", tool.name));
        }
    }
    Ok(tools)
}

/// Those of a list that can be served. What a front end brings with a run is an offer, so the rest is left out without a word.
pub fn servable(offered: impl IntoIterator<Item = ClientTool>) -> Vec<ClientTool> {
    let mut names = HashSet::new();
    offered.into_iter().filter(|tool| tool.check().is_ok() && names.insert(tool.name.clone())).take(MAX_TOOLS).collect()
}

/// The tools that an agent is told of.
#[derive(Debug, Default)]
pub struct ClientTools {
    session_tools: Vec<ClientTool>,
    run_tools: Vec<ClientTool>,
}

impl ClientTools {
    /// Takes parameters or changed settings, and says whether the tools are others now.
    pub fn configure(&mut self, settings: &Map<String, Value>) -> bool {
        let mut changed = false;
        for (name, tools) in [(SESSION_TOOLS, &mut self.session_tools), (RUN_TOOLS, &mut self.run_tools)] {
            let Some(new) = settings.get(name).and_then(|list| read(list).ok()) else { continue };
            changed |= *tools != new;
            *tools = new;
        }
        changed
    }

    /// Those of the session, and those of the run that have other names.
    pub fn iter(&self) -> impl Iterator<Item = &ClientTool> {
        let shadowed = |tool: &&ClientTool| self.session_tools.iter().any(|known| known.name == tool.name);
        self.session_tools.iter().chain(self.run_tools.iter().filter(move |tool| !shadowed(tool)))
    }

    pub fn contains(&self, name: &str) -> bool {
        self.iter().any(|tool| tool.name == name)
    }
}

/// What a client gave as a result, as the text that a model reads.
pub fn text_of(output: &Value) -> String {
    output.as_str().map_or_else(|| output.to_string(), str::to_owned)
}
