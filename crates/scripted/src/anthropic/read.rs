//! A request of the Messages API, as Claude Code sends it: what it adds to the user's words is not taken for the user's.

use serde_json::Value;

use crate::request::{Api, Asked, Delivery, InputForm, Kind, Malformed, Offered};

/// Claude Code wraps what it adds to a message.
const ADDED: &str = "<system-reminder>";
/// What Claude Code puts in the conversation when a turn was stopped. What is before it was said earlier.
const INTERRUPTED: &str = "[Request interrupted by user";
/// How the directory is told: "Primary working directory: /x" today, "Working directory: /x" before.
const DIRECTORY: &str = "orking directory: ";
/// The beginning of what Claude Code says when it wants a summary instead of an answer.
const SUMMARY: &[&str] = &["your task is to create a detailed summary of", "respond with text only"];
/// How Claude Code begins its system prompt: with what it was started by, or with who it is.
const CLAUDE_CODE: &[&str] = &["x-anthropic-billing-header", "You are Claude Code", "You are a Claude agent"];

pub(crate) fn read(body: &[u8]) -> Result<Asked, Malformed> {
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
    let tools: Vec<Offered> =
        body.get("tools").and_then(Value::as_array).into_iter().flatten().filter_map(offered).collect();
    let user = user(messages);
    let kind = match &user {
        Some(text) if is_claude_code && is_summary(text) => Kind::Compact,
        _ if is_claude_code && tools.is_empty() => Kind::Side,
        _ => Kind::Turn,
    };
    Ok(Asked {
        api: Api::Anthropic,
        kind,
        model: model.to_owned(),
        delivery: if body.get("stream") == Some(&Value::Bool(true)) { Delivery::Stream } else { Delivery::Whole },
        user,
        tool_result: tool_result(messages),
        directory: directory(&system),
        system,
        tools,
    })
}

fn offered(tool: &Value) -> Option<Offered> {
    let name = tool.get("name")?.as_str()?.to_owned();
    Some(Offered { name, namespace: None, input: InputForm::Object })
}

/// What was said since the model spoke, latest first.
fn latest(messages: &[Value]) -> impl Iterator<Item = &Value> {
    let heard = |message: &&Value| role(message) != "assistant";
    messages.iter().rev().take_while(heard).filter(|message| role(message) == "user")
}

/// The last message that has words of the user.
fn user(messages: &[Value]) -> Option<String> {
    latest(messages).find_map(|message| {
        let texts = texts(message.get("content"));
        let since = texts.iter().rposition(|text| text.starts_with(INTERRUPTED)).map_or(0, |index| index + 1);
        let words: Vec<&str> =
            texts.iter().skip(since).filter(|text| !text.trim_start().starts_with(ADDED)).copied().collect();
        (!words.is_empty()).then(|| words.join("\n"))
    })
}

fn tool_result(messages: &[Value]) -> Option<String> {
    let mut results: Vec<String> = Vec::new();
    for message in latest(messages) {
        let blocks = message.get("content").and_then(Value::as_array).into_iter().flatten();
        let of_message = blocks
            .filter(|block| block.get("type").and_then(Value::as_str) == Some("tool_result"))
            .map(|block| texts(block.get("content")).join("\n"));
        results.splice(0..0, of_message);
    }
    (!results.is_empty()).then(|| results.join("\n"))
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
