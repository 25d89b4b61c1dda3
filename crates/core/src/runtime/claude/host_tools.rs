//! The tools that this host serves to the agent: an MCP server without a transport of its own, inside the control channel. What a call needs of a
//! person goes through the session's asks.

use serde_json::{Value, json};

use super::asks::{Asks, ClientCall};
use super::tools::Tools;
use crate::client_tools::{ClientTool, ClientTools};
use crate::event::{Question, QuestionOption};
use crate::runtime::Output;

/// What a message may be about.
#[derive(Debug)]
pub(super) struct Host<'a> {
    pub(super) tools: &'a ClientTools,
    pub(super) asks: &'a mut Asks,
    pub(super) calls: &'a Tools,
}

/// The server's name; the agent sees its tools as `mcp__turnloom__...`.
pub(super) const SERVER: &str = "turnloom";
pub(super) const ASK_USER: &str = "ask_user";

/// The client's name for a tool that the agent calls so, if it is one that a client runs.
pub(super) fn client_tool(tool: &str) -> Option<&str> {
    tool.strip_prefix("mcp__")?.strip_prefix(SERVER)?.strip_prefix("__").filter(|name| *name != ASK_USER)
}

/// What the program sends as `mcp_message`: the answer, or nothing yet when somebody has to give it.
pub(super) fn message(
    key: String,
    server: &str,
    message: &Value,
    host: &mut Host<'_>,
    out: &mut Output,
) -> Option<Value> {
    let id = message.get("id").cloned();
    let respond = |body: (&str, Value)| {
        let mut response = json!({ "jsonrpc": "2.0", "id": id.clone().unwrap_or(0.into()) });
        if let Some(fields) = response.as_object_mut() {
            fields.insert(body.0.to_owned(), body.1);
        }
        Some(json!({ "mcp_response": response }))
    };
    let refuse = |code: i32, text: String| respond(("error", json!({ "code": code, "message": text })));
    if server != SERVER {
        return refuse(-32601, format!("there is no server {server:?} here"));
    }
    match message.get("method").and_then(Value::as_str).unwrap_or_default() {
        "initialize" => respond(("result", handshake(message.pointer("/params/protocolVersion")))),
        "tools/list" => respond(("result", tools(host.tools))),
        "tools/call" => {
            let name = message.pointer("/params/name").and_then(Value::as_str).unwrap_or_default();
            let tool_use_id = message.pointer("/params/_meta/claudecode~1toolUseId").and_then(Value::as_str);
            let input = message.pointer("/params/arguments").unwrap_or(&Value::Null);
            let owner = tool_use_id.and_then(|id| host.calls.owner(id));
            if host.tools.contains(name) {
                let call = ClientCall { tool: name, input, tool_use_id, owner };
                host.asks.client_tool(key, id.unwrap_or_default(), call, out);
                return None;
            }
            if name != ASK_USER {
                return refuse(-32602, format!("there is no tool {name:?} here"));
            }
            let questions = questions(input);
            if questions.is_empty() {
                return refuse(-32602, "ask_user needs a question".to_owned());
            }
            host.asks.host_tool(key, id.unwrap_or_default(), questions, tool_use_id, owner, out);
            None
        }
        "notifications/cancelled" => {
            if let Some(request) = message.pointer("/params/requestId") {
                host.asks.call_withdrawn(request, out);
            }
            respond(("result", json!({})))
        }
        method if method.starts_with("notifications/") || method == "ping" => respond(("result", json!({}))),
        method => refuse(-32601, format!("{method} is not served here")),
    }
}

/// The answers to the handshake, which a newer program takes in advance.
pub(super) fn manifest(tools: &ClientTools) -> Value {
    json!({ "initializeResult": handshake(None), "toolsListResult": self::tools(tools) })
}

/// What tells the program to ask for the list again.
pub(super) fn list_changed() -> Value {
    let message = json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" });
    json!({ "subtype": "mcp_message", "server_name": SERVER, "message": message })
}

fn handshake(version: Option<&Value>) -> Value {
    let version = version.cloned().unwrap_or_else(|| "2025-11-25".into());
    json!({
        "protocolVersion": version,
        "capabilities": { "tools": { "listChanged": true } },
        "serverInfo": { "name": SERVER, "version": env!("CARGO_PKG_VERSION") },
    })
}

fn tools(of_clients: &ClientTools) -> Value {
    let of_client = |tool: &ClientTool| {
        let ClientTool { name, description, input_schema } = tool;
        json!({ "name": name, "description": description, "inputSchema": input_schema, "_meta": always_loaded() })
    };
    json!({ "tools": std::iter::once(ask_user()).chain(of_clients.iter().map(of_client)).collect::<Vec<_>>() })
}

/// Without it the model would have to search for the tool before it could call it.
fn always_loaded() -> Value {
    json!({ "anthropic/alwaysLoad": true })
}

fn ask_user() -> Value {
    json!({
        "name": ASK_USER,
        "description": "Ask the person you work for a question and wait for the answer. Use it when you cannot go on without a decision.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "question": { "type": "string", "description": "The question, in one or two sentences." },
                "options": {
                    "type": "array", "items": { "type": "string" },
                    "description": "Answers to choose from; leave out for a free answer."
                },
                "multiple": { "type": "boolean", "description": "Several options may be chosen." }
            },
            "required": ["question"]
        },
        "_meta": always_loaded()
    })
}

fn questions(arguments: &Value) -> Vec<Question> {
    let Some(prompt) = arguments.get("question").and_then(Value::as_str).filter(|text| !text.is_empty()) else {
        return Vec::new();
    };
    let labels = super::wire::texts(arguments.get("options"));
    vec![Question {
        prompt: prompt.to_owned(),
        header: None,
        options: labels.into_iter().map(|label| QuestionOption { label, description: None }).collect(),
        multiple: arguments.get("multiple").and_then(Value::as_bool).unwrap_or(false),
        free_text: true,
    }]
}
