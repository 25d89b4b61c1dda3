//! A request of the Messages API, as Claude Code sends it: what it adds to the user's words is not taken for the user's.

use serde_json::Value;

use crate::ids::caller;
use crate::request::{Api, Delivery, InputForm, Kind, Malformed, ModelRequest, Offered};

/// How Claude Code begins what it adds in the user's name.
const ADDED: &[&str] = &[
    "<system-reminder>",
    "<local-command-",
    "<command-name>",
    "<command-message>",
    "This session is being continued from a previous conversation",
];
/// What Claude Code puts in the conversation when a turn was stopped. What is before it was said earlier.
const INTERRUPTED: &str = "[Request interrupted by user";
/// How Claude Code tells what the user says while tools run: not as the user, and with an explanation behind it.
const STEERED: (&str, &str) = ("The user sent a new message while you were working:\n", "\n\nThis is how Claude Code");
/// How the directory is told: "Primary working directory: /x" today, "Working directory: /x" before.
const DIRECTORY: &str = "orking directory: ";
/// The beginning of what Claude Code says when it wants a summary instead of an answer.
const SUMMARY: &[&str] = &["your task is to create a detailed summary of", "respond with text only"];
/// How Claude Code begins its system prompt: with what it was started by, or with who it is.
const CLAUDE_CODE: &[&str] = &["x-anthropic-billing-header", "You are Claude Code", "You are a Claude agent"];

pub(crate) fn read(body: &[u8]) -> Result<ModelRequest, Malformed> {
    let body: Value = serde_json::from_slice(body)
        .map_err(|error| Malformed(format!("The request body is not valid JSON: {error}")))?;
    let model =
        body.get("model").and_then(Value::as_str).ok_or_else(|| Malformed("model: Field required".to_owned()))?;
    let messages = body
        .get("messages")
        .and_then(Value::as_array)
        .filter(|messages| !messages.is_empty())
        .ok_or_else(|| Malformed("messages: Field required".to_owned()))?;

    let mut system = texts(body.get("system")).join("\n");
    let is_claude_code = CLAUDE_CODE.iter().any(|beginning| system.starts_with(beginning));
    for message in messages.iter().filter(|message| role(message) == "system") {
        system.push('\n');
        system.push_str(&texts(message.get("content")).join("\n"));
    }
    let directory = directory(&system);
    // What the program adds to a message is from it, not from the user.
    let said = messages.iter().filter(|message| role(message) == "user").flat_map(|m| texts(m.get("content")));
    for added in said.filter(|text| is_added(text)) {
        system.push('\n');
        system.push_str(added);
    }
    let tools: Vec<Offered> =
        body.get("tools").and_then(Value::as_array).into_iter().flatten().filter_map(offered).collect();
    let user = user(messages);
    let results = results(messages);
    let kind = match &user {
        Some(text) if is_claude_code && is_summary(text) => Kind::Compact,
        _ if is_claude_code && tools.is_empty() => Kind::Side,
        _ => Kind::Turn,
    };
    Ok(ModelRequest {
        api: Api::Anthropic,
        kind,
        model: model.to_owned(),
        delivery: if body.get("stream") == Some(&Value::Bool(true)) { Delivery::Stream } else { Delivery::Whole },
        user,
        heard: heard(messages),
        tool_result: (!results.is_empty()).then(|| text_of(&results)),
        after: results.iter().filter_map(|result| caller(result.get("tool_use_id")?.as_str()?)).collect(),
        directory,
        system,
        effort: body.pointer("/output_config/effort").and_then(Value::as_str).map(str::to_owned),
        schema: body.pointer("/output_config/format/schema").map(Value::to_string),
        tools,
    })
}

fn offered(tool: &Value) -> Option<Offered> {
    let name = tool.get("name")?.as_str()?.to_owned();
    Some(Offered { name, namespace: None, input: InputForm::Object })
}

/// Everything the user said.
fn heard(messages: &[Value]) -> Vec<String> {
    let texts = messages.iter().filter(|message| role(message) == "user").flat_map(|m| texts(m.get("content")));
    texts.filter(|text| !is_added(text)).map(str::to_owned).collect()
}

/// What was said since the model spoke, latest first.
fn latest(messages: &[Value]) -> impl Iterator<Item = &Value> {
    messages.iter().rev().take_while(|message| role(message) != "assistant")
}

/// The last message that has words of the user.
fn user(messages: &[Value]) -> Option<String> {
    latest(messages).find_map(|message| {
        let texts = texts(message.get("content"));
        if role(message) != "user" {
            return texts.iter().rev().find_map(|text| steered(text)).map(str::to_owned);
        }
        let since = texts.iter().rposition(|text| text.starts_with(INTERRUPTED)).map_or(0, |index| index + 1);
        let words: Vec<&str> = texts.iter().skip(since).copied().filter(|text| !is_added(text)).collect();
        (!words.is_empty()).then(|| words.join("\n"))
    })
}

fn steered(text: &str) -> Option<&str> {
    let (before, after) = STEERED;
    let (_, said) = text.split_once(before)?;
    Some(said.split_once(after).map_or(said, |(said, _)| said))
}

fn is_added(text: &str) -> bool {
    ADDED.iter().any(|beginning| text.trim_start().starts_with(beginning))
}

/// The results of tools since the model spoke, in their order.
fn results(messages: &[Value]) -> Vec<&Value> {
    let mut heard: Vec<&Value> = latest(messages).collect();
    heard.reverse();
    let blocks = heard.into_iter().filter_map(|message| message.get("content")?.as_array()).flatten();
    blocks.filter(|block| block.get("type").and_then(Value::as_str) == Some("tool_result")).collect()
}

fn text_of(results: &[&Value]) -> String {
    results.iter().flat_map(|result| texts(result.get("content"))).collect::<Vec<_>>().join("\n")
}

fn role(message: &Value) -> &str {
    message.get("role").and_then(Value::as_str).unwrap_or_default()
}

/// Content is a text, or a list of blocks of which some are text.
fn texts(content: Option<&Value>) -> Vec<&str> {
    match content {
        Some(Value::String(text)) => vec![text],
        Some(Value::Array(blocks)) => {
            let text = |block: &'_ Value| block.get("type").and_then(Value::as_str) == Some("text");
            blocks.iter().filter(|block| text(block)).filter_map(|block| block.get("text")?.as_str()).collect()
        }
        _ => Vec::new(),
    }
}

fn is_summary(text: &str) -> bool {
    let text = text.to_lowercase();
    SUMMARY.iter().all(|part| text.contains(part))
}

fn directory(system: &str) -> Option<String> {
    let (_, rest) = system.rsplit_once(DIRECTORY)?;
    let path = rest.lines().next()?.trim();
    path.starts_with('/').then(|| path.to_owned())
}
