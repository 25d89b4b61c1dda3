//! The tools that this host serves to the agent: an MCP server without a transport of its own, inside the control channel. The session's own tools
//! are carried out by the session, those of clients by whoever answers the ask.

use serde_json::{Value, json};

use super::asks::{Asks, ClientCall};
use super::tools::Tools;
use crate::client_tools::{ClientTool, ClientTools};
use crate::host_tools::{HostTool, is_host_tool};
use crate::id::ToolUseId;
use crate::runtime::{HostCall, Output};

/// What a message may be about.
#[derive(Debug)]
pub(super) struct Host<'a> {
    pub(super) tools: &'a ClientTools,
    pub(super) own: &'a [HostTool],
    pub(super) asks: &'a mut Asks,
    pub(super) calls: &'a Tools,
}

/// The server's name; the agent sees its tools as `mcp__turnloom__...`.
pub(super) const SERVER: &str = "turnloom";

/// What this host calls a tool that the agent calls so, if it is one of this host's.
fn of_host(tool: &str) -> Option<&str> {
    tool.strip_prefix("mcp__")?.strip_prefix(SERVER)?.strip_prefix("__")
}

/// The client's name for a tool that the agent calls so, if it is one that a client runs.
pub(super) fn client_tool(tool: &str) -> Option<&str> {
    of_host(tool).filter(|name| !is_host_tool(name))
}

/// Whether the session itself carries out what the agent calls so.
pub(super) fn is_own(tool: &str) -> bool {
    of_host(tool).is_some_and(is_host_tool)
}

/// Whether this host serves what the agent calls so. Another server might have the same name, so the prefix alone does not say it.
pub(super) fn is_served(tool: &str, of_clients: &ClientTools) -> bool {
    of_host(tool).is_some_and(|name| is_host_tool(name) || of_clients.contains(name))
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
        "tools/list" => respond(("result", tools(host.own, host.tools))),
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
            if !is_host_tool(name) {
                return refuse(-32602, format!("there is no tool {name:?} here"));
            }
            let call = HostCall {
                key,
                name: name.to_owned(),
                input: input.clone(),
                tool_use_id: tool_use_id.map(ToolUseId::trusted),
                subagent_id: owner,
                file: None,
            };
            host.asks.host_tool(id.unwrap_or_default(), call, out);
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
pub(super) fn manifest(own: &[HostTool], of_clients: &ClientTools) -> Value {
    json!({ "initializeResult": handshake(None), "toolsListResult": tools(own, of_clients) })
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

fn tools(own: &[HostTool], of_clients: &ClientTools) -> Value {
    let of_session = |tool: &HostTool| {
        let HostTool { name, description, input_schema, annotations } = tool;
        json!({
            "name": name, "description": description, "inputSchema": input_schema, "annotations": annotations,
            "_meta": always_loaded(),
        })
    };
    let of_client = |tool: &ClientTool| {
        let ClientTool { name, description, input_schema } = tool;
        json!({ "name": name, "description": description, "inputSchema": input_schema, "_meta": always_loaded() })
    };
    json!({ "tools": own.iter().map(of_session).chain(of_clients.iter().map(of_client)).collect::<Vec<_>>() })
}

/// Without it the model would have to search for the tool before it could call it.
fn always_loaded() -> Value {
    json!({ "anthropic/alwaysLoad": true })
}
