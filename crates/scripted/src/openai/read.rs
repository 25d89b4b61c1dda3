//! A request of the Responses API, as Codex sends it: what it adds in the user's name is not taken for the user's.

use serde_json::Value;

use crate::ids::caller;
use crate::request::{Api, Delivery, InputForm, Kind, Malformed, ModelRequest, Offered};

/// In this header Codex says what a request is for.
pub(crate) const METADATA: &str = "x-codex-turn-metadata";

/// An item that offers tools.
const ADDED_TOOLS: &str = "additional_tools";

/// How Codex begins what it says in the user's name.
const ADDED: &[&str] = &[
    "<environment_context>",
    "<user_instructions>",
    "<turn_aborted>",
    "<skill>",
    "<subagent_notification>",
    "<user_shell_command>",
    "# AGENTS.md instructions",
    "Another language model started to solve this problem",
];

pub(crate) fn read(body: &[u8], metadata: Option<&[u8]>) -> Result<ModelRequest, Malformed> {
    let body: Value = serde_json::from_slice(body)
        .map_err(|error| Malformed(format!("We could not parse the JSON body of your request: {error}")))?;
    let missing = |name: &str| Malformed(format!("Missing required parameter: '{name}'."));
    let model = body.get("model").and_then(Value::as_str).ok_or_else(|| missing("model"))?;
    let said;
    let items: &[Value] = match body.get("input") {
        Some(Value::Array(items)) if !items.is_empty() => items,
        Some(Value::String(text)) => {
            said = [serde_json::json!({"type": "message", "role": "user", "content": text})];
            &said
        }
        _ => return Err(missing("input")),
    };
    let mut system = vec![body.get("instructions").and_then(Value::as_str).unwrap_or_default().to_owned()];
    system.extend(items.iter().filter(|item| matches!(role(item), "developer" | "system")).map(text));
    system.extend(items.iter().filter(|item| role(item) == "user").map(text).filter(|text| !is_said(text)));
    let results = results(items);
    Ok(ModelRequest {
        api: Api::Openai,
        kind: kind(metadata),
        model: model.to_owned(),
        delivery: if body.get("stream") == Some(&Value::Bool(true)) { Delivery::Stream } else { Delivery::Whole },
        user: user(items),
        heard: items.iter().filter(|item| role(item) == "user").map(text).filter(|text| is_said(text)).collect(),
        tool_result: (!results.is_empty()).then(|| text_of(&results)),
        after: results.iter().filter_map(|result| caller(result.get("call_id")?.as_str()?)).collect(),
        system: system.join("\n"),
        effort: body.pointer("/reasoning/effort").and_then(Value::as_str).map(str::to_owned),
        schema: body.pointer("/text/format/schema").map(Value::to_string),
        tools: tools(&body, items),
        directory: directory(items),
    })
}

fn kind(metadata: Option<&[u8]>) -> Kind {
    let metadata: Option<Value> = metadata.and_then(|bytes| serde_json::from_slice(bytes).ok());
    match metadata.as_ref().and_then(|metadata| metadata.get("request_kind")?.as_str()) {
        None | Some("turn") => Kind::Turn,
        Some(kind) if kind.contains("compact") => Kind::Compact,
        Some(_) => Kind::Side,
    }
}

/// In the request, or for some models in the conversation.
fn tools(body: &Value, items: &[Value]) -> Vec<Offered> {
    let added = items.iter().filter(|item| item_type(item) == ADDED_TOOLS);
    let lists = [body].into_iter().chain(added).filter_map(|holder| holder.get("tools")?.as_array());
    lists.flatten().flat_map(offered).collect()
}

/// A tool, or the tools of a namespace.
fn offered(tool: &Value) -> Vec<Offered> {
    let name = |tool: &Value| tool.get("name").and_then(Value::as_str).map(str::to_owned);
    let input = |tool: &Value| if item_type(tool) == "custom" { InputForm::Text } else { InputForm::Object };
    let inner = tool.get("tools").and_then(Value::as_array);
    match inner {
        Some(inner) => {
            // This one is where tools are that have none.
            let namespace = name(tool).filter(|name| name != "functions");
            let of =
                |tool: &Value| Some(Offered { name: name(tool)?, namespace: namespace.clone(), input: input(tool) });
            inner.iter().filter_map(of).collect()
        }
        None => name(tool).map(|name| Offered { name, namespace: None, input: input(tool) }).into_iter().collect(),
    }
}

/// What was said since the model spoke, latest first.
fn latest(items: &[Value]) -> impl Iterator<Item = &Value> {
    let heard = |item: &&Value| match item_type(item) {
        "message" | "" => role(item) != "assistant",
        ADDED_TOOLS => true,
        other => other.ends_with("_output"),
    };
    items.iter().rev().take_while(heard)
}

fn user(items: &[Value]) -> Option<String> {
    latest(items).filter(|item| role(item) == "user").map(text).find(|text| is_said(text))
}

fn is_said(text: &str) -> bool {
    !text.is_empty() && !ADDED.iter().any(|added| text.trim_start().starts_with(added))
}

/// The results of tools since the model spoke, in their order.
fn results(items: &[Value]) -> Vec<&Value> {
    let mut results: Vec<&Value> = latest(items).filter(|item| item.get("output").is_some()).collect();
    results.reverse();
    results
}

fn text_of(results: &[&Value]) -> String {
    results.iter().filter_map(|result| result.get("output")).flat_map(plain).collect::<Vec<_>>().join("\n")
}

fn role(item: &Value) -> &str {
    item.get("role").and_then(Value::as_str).unwrap_or_default()
}

fn item_type(item: &Value) -> &str {
    item.get("type").and_then(Value::as_str).unwrap_or_default()
}

fn text(item: &Value) -> String {
    item.get("content").map(plain).unwrap_or_default().join("\n")
}

/// A text, or a list of parts of which some are text.
fn plain(content: &Value) -> Vec<&str> {
    match content {
        Value::String(text) => vec![text],
        Value::Array(parts) => parts.iter().filter_map(|part| part.get("text")?.as_str()).collect(),
        _ => Vec::new(),
    }
}

fn directory(items: &[Value]) -> Option<String> {
    items.iter().rev().find_map(|item| {
        let text = text(item);
        let (_, rest) = text.split_once("<cwd>")?;
        rest.split_once("</cwd>").map(|(path, _)| path.to_owned())
    })
}
