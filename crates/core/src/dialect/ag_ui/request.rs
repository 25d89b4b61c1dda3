//! Reads what a client's run asks for. Clients send their whole history each time; the request is in its last messages and in `resume`.

use std::collections::HashSet;

use serde_json::Value;

use crate::client_tools::{ClientTool, servable};
use crate::command::{AfterAnswer, Answer};
use crate::dialect::{approved, lists, own_id};
use crate::event::{Part, PermissionReply};
use crate::id::{AskId, MessageId};
use crate::summary::{AskKind, PendingAsk};

/// A `RunAgentInput`.
#[derive(Debug, Clone, Default)]
pub struct RunInput {
    pub thread_id: String,
    pub run_id: String,
    /// What the client calls its version; older ones say nothing.
    pub protocol_version: Option<String>,
    /// The names of the tools that the client runs.
    pub tools: HashSet<String>,
    /// Those of them that agents can be told of; nothing, when the run says nothing of tools.
    pub offered: Option<Vec<ClientTool>>,
    /// The client's copy of the shared state.
    pub state: Option<Value>,
    /// The messages that the client has.
    pub known: HashSet<String>,
    /// The same in its order.
    pub(super) order: Vec<String>,
    /// The last message, if it is a person's.
    last: Option<Value>,
    resume: Vec<Value>,
    results: Vec<(String, Value)>,
}

impl RunInput {
    /// Reads a body; the error is for a person.
    pub fn read(body: &Value) -> Result<RunInput, String> {
        let body = body.as_object().ok_or("the body must be a JSON object")?;
        let text = |key: &str| {
            let text = body.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
            text.map(str::to_owned).ok_or_else(|| format!("`{key}` must be a text that is not empty"))
        };
        let list = |key: &str| match body.get(key) {
            None | Some(Value::Null) => Ok(&[][..]),
            Some(Value::Array(list)) => Ok(list.as_slice()),
            Some(_) => Err(format!("`{key}` must be a list")),
        };
        let messages = list("messages")?;
        let (mut known, mut order) = (HashSet::new(), Vec::new());
        let mut results = Vec::new();
        for message in messages {
            let member = |key: &str| message.get(key).and_then(Value::as_str);
            let id = member("id").filter(|id| !id.is_empty()).ok_or("a message has no `id`")?;
            if known.insert(id.to_owned()) {
                order.push(id.to_owned());
            }
            if let (Some("tool"), Some(call)) = (member("role"), member("toolCallId")) {
                results.push((call.to_owned(), message.clone()));
            }
        }
        let newest = messages.last().filter(|message| message.get("role").is_some_and(|role| role == "user"));
        let tools = list("tools")?;
        let offered =
            body.get("tools").filter(|tools| tools.is_array()).map(|_| servable(tools.iter().filter_map(offer)));
        let names = tools.iter().filter_map(|tool| tool.get("name").and_then(Value::as_str));
        Ok(RunInput {
            thread_id: text("threadId")?,
            run_id: text("runId")?,
            protocol_version: body.get("protocolVersion").and_then(Value::as_str).map(str::to_owned),
            tools: names.map(str::to_owned).collect(),
            offered,
            state: body.get("state").filter(|state| !state.is_null()).cloned(),
            known,
            order,
            last: newest.cloned(),
            resume: list("resume")?.to_vec(),
            results,
        })
    }

    /// What a person said last, if nothing came after it. The error is for a person.
    pub fn last_user_message(&self) -> Result<Option<(MessageId, Vec<Part>)>, String> {
        self.last.as_ref().map(user_message_in).transpose()
    }

    /// Whether the client comes back with answers.
    pub(super) fn answers_something(&self) -> bool {
        !self.resume.is_empty()
    }

    /// The answers to what waits. What does not wait any more, or never did, is left out. The error is for a person.
    pub fn answers(&self, pending: &[PendingAsk]) -> Result<Vec<(AskId, Answer)>, String> {
        let answer = |ask: &PendingAsk| {
            let id = ask.ask_id.as_str();
            let resumed = self.resume.iter().find(|entry| entry.get("interruptId").is_some_and(|named| named == id));
            let resumed = resumed.map(|entry| resumed_with(ask, entry));
            let result = || {
                let (_, message) = self.results.iter().find(|(call, _)| call == id || is_client_call(ask, call))?;
                Some(of_result(ask, message))
            };
            resumed.or_else(result).map(|answer| Ok((ask.ask_id.clone(), answer?)))
        };
        pending.iter().filter_map(answer).collect()
    }
}

fn resumed_with(ask: &PendingAsk, entry: &Value) -> Result<Answer, String> {
    let payload = entry.get("payload").filter(|payload| !payload.is_null());
    match entry.get("status").map(|status| status.as_str().unwrap_or_default()) {
        Some("cancelled") => resolve(ask, None),
        None | Some("resolved") if payload.is_none() && ask.kind == AskKind::Permission => {
            Err(format!("`resume` says neither yes nor no to {}: its `payload` is missing", ask.ask_id))
        }
        None | Some("resolved") => resolve(ask, payload),
        Some(_) => Err("the `status` in `resume` must be `resolved` or `cancelled`".to_owned()),
    }
}

/// A tool as front ends describe it.
fn offer(tool: &Value) -> Option<ClientTool> {
    let text = |key: &str| tool.get(key).and_then(Value::as_str);
    Some(ClientTool::new(text("name")?, text("description").unwrap_or_default(), tool.get("parameters")))
}

/// Whether this is what the call that waits is called here; see `show_call`.
fn is_client_call(ask: &PendingAsk, call: &str) -> bool {
    let Some(id) = ask.client_call() else { return false };
    let in_turn = ask.turn_id.as_ref().and_then(|turn| call.strip_prefix(turn.as_str())?.strip_prefix(':'));
    call == id || in_turn == Some(id)
}

fn user_message_in(message: &Value) -> Result<(MessageId, Vec<Part>), String> {
    let id = message.get("id").and_then(Value::as_str).unwrap_or_default();
    let content = match message.get("content") {
        Some(Value::String(text)) => vec![Part::Text { text: text.clone() }],
        Some(Value::Array(parts)) => parts.iter().map(part).collect::<Result<_, _>>()?,
        _ => return Err("the content of a message must be a text or a list of parts".to_owned()),
    };
    let says_something = content.iter().any(|part| !matches!(part, Part::Text { text } if text.trim().is_empty()));
    if !says_something {
        return Err("the message says nothing".to_owned());
    }
    Ok((MessageId::trusted(own_id(id)), content))
}

fn part(part: &Value) -> Result<Part, String> {
    let text = |pointer: &str| part.pointer(pointer).and_then(Value::as_str);
    match text("/type") {
        Some("text") => Ok(Part::Text { text: text("/text").unwrap_or_default().to_owned() }),
        Some("image") => {
            let (value, media_type) = (text("/source/value"), text("/source/mimeType"));
            match (text("/source/type"), value) {
                (Some("data"), Some(data)) => {
                    let media_type = media_type.unwrap_or("image/png").to_owned();
                    Ok(Part::Image { media_type, data: Some(data.to_owned()), blob: None })
                }
                (_, Some(url)) => Ok(Part::Text { text: format!("[image]({url})") }),
                (_, None) => Err("an image has no `source`".to_owned()),
            }
        }
        // A file of any type, in the versions 0.0.x.
        Some("binary") => {
            let media_type = text("/mimeType").unwrap_or("application/octet-stream");
            let url = text("/url");
            let data =
                text("/data").or_else(|| url?.strip_prefix("data:")?.split_once(";base64,").map(|(_, data)| data));
            match (data, url) {
                (Some(data), _) if media_type.starts_with("image/") => {
                    Ok(Part::Image { media_type: media_type.to_owned(), data: Some(data.to_owned()), blob: None })
                }
                (None, Some(url)) => {
                    Ok(Part::Text { text: format!("[{}]({url})", text("/filename").unwrap_or(media_type)) })
                }
                (Some(_), _) => Err(format!("a file of type {media_type} cannot be sent, only images")),
                (None, None) => Err("a `binary` part has neither `data` nor `url`".to_owned()),
            }
        }
        Some(other) => match text("/source/value") {
            Some(url) if text("/source/type") == Some("url") => Ok(Part::Text { text: format!("[{other}]({url})") }),
            _ => Err(format!("a part of type {other:?} cannot be sent")),
        },
        None => Err("a part has no `type`".to_owned()),
    }
}

/// An answer from a payload; none means that the person will not answer.
fn resolve(ask: &PendingAsk, payload: Option<&Value>) -> Result<Answer, String> {
    Ok(match ask.kind {
        AskKind::Permission => {
            let approved = payload.map_or(Ok(false), approved)?;
            let reason = payload.and_then(|payload| payload.get("reason")).and_then(Value::as_str);
            let given = payload.and_then(|payload| payload.get("updatedInput")).filter(|_| approved);
            Answer::Permission {
                reply: if approved { PermissionReply::Once } else { PermissionReply::Reject },
                updated_input: given.cloned(),
                message: reason.map(str::to_owned),
                rule: None,
                and_then: AfterAnswer::GoOn,
            }
        }
        AskKind::Question => Answer::Question { answers: payload.map(lists).transpose()? },
        AskKind::Interrupt if ask.client_call().is_some() && payload.is_none() => {
            Answer::ToolFailed { output: "cancelled".into() }
        }
        AskKind::Interrupt => Answer::Interrupt { value: payload.cloned().unwrap_or_default() },
    })
}

/// An answer from the message that a client's tool gave.
fn of_result(ask: &PendingAsk, message: &Value) -> Result<Answer, String> {
    let content = message.get("content").cloned().unwrap_or_default();
    if ask.client_call().is_some() {
        return Ok(match message.get("error").and_then(Value::as_str) {
            Some(error) => Answer::ToolFailed { output: error.into() },
            None => Answer::Interrupt { value: content },
        });
    }
    let value = match &content {
        Value::String(text) => serde_json::from_str(text).unwrap_or(content),
        _ => content,
    };
    resolve(ask, Some(&value))
}
