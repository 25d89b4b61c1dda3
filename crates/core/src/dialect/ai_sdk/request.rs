//! Reads what a client's request asks for. Clients send their whole history each time; the request is in its last messages.

use serde_json::{Map, Value};

use crate::client_tools::{ClientTool, servable};
use crate::command::{AfterAnswer, Answer};
use crate::dialect::{approved, lists, own_id};
use crate::event::{Envelope, Event, Part, PermissionReply};
use crate::id::{AskId, MessageId, Seq, TurnId};
use crate::summary::{AskKind, PendingAsk};

/// A request to the chat route.
#[derive(Debug)]
pub struct Chat {
    /// The client's name for the conversation.
    pub id: Option<String>,
    pub said: ChatAction,
    /// For a conversation that does not exist yet.
    pub runtime: Option<String>,
    pub params: Map<String, Value>,
    /// The tools that the client runs; nothing, when it says nothing of tools.
    pub offered: Option<Vec<ClientTool>>,
}

/// What its end says.
#[derive(Debug)]
pub enum ChatAction {
    /// A person said something.
    Message {
        id: MessageId,
        content: Vec<Part>,
        /// It takes the place of what was said under this id before.
        edits: bool,
    },
    /// The answer to this message is wanted anew.
    Regeneration {
        id: MessageId,
        /// What the client has under this id: applications let people edit it there.
        content: Option<Vec<Part>>,
    },
    /// The client comes back with answers, and wants what follows.
    Continuation {
        turn: TurnId,
        /// How much of it the client has.
        after: Option<Seq>,
        parts: Vec<Value>,
    },
}

impl Chat {
    /// Reads a body; the error is for a person.
    pub fn read(body: &Value) -> Result<Chat, String> {
        let body = body.as_object().ok_or("the body must be a JSON object")?;
        let text = |key: &str| body.get(key).and_then(Value::as_str);
        let messages = match (body.get("messages"), body.get("message")) {
            (Some(Value::Array(messages)), _) => messages.as_slice(),
            (Some(_), _) => return Err("`messages` must be a list".to_owned()),
            (None, Some(message)) => std::slice::from_ref(message),
            (None, None) => return Err("the body has neither `messages` nor `message`".to_owned()),
        };
        let last = messages.last().ok_or("`messages` is empty")?;
        let role = |message: &Value| message.get("role").and_then(Value::as_str).unwrap_or_default().to_owned();
        let again = text("trigger") == Some("regenerate-message");
        let said = match role(last).as_str() {
            "user" if again => {
                let id = MessageId::trusted(own_id(id_of(last)?));
                ChatAction::Regeneration { id, content: content_of(last).ok() }
            }
            "assistant" if again => {
                let asked = messages.iter().rev().find(|message| role(message) == "user");
                let asked = asked.ok_or("there is no message of a person to answer anew")?;
                ChatAction::Regeneration { id: MessageId::trusted(own_id(id_of(asked)?)), content: None }
            }
            "user" => {
                let id = id_of(last)?;
                let content = content_of(last)?;
                ChatAction::Message {
                    edits: text("messageId") == Some(id),
                    id: MessageId::trusted(own_id(id)),
                    content,
                }
            }
            "assistant" => ChatAction::Continuation {
                turn: TurnId::trusted(id_of(last)?),
                after: last.pointer("/metadata/cursor").and_then(Value::as_u64).map(Seq),
                parts: parts_of(last)?.to_vec(),
            },
            other => return Err(format!("the last message must be a person's or the assistant's, not {other:?}")),
        };
        let params = body.get("params").and_then(Value::as_object).cloned().unwrap_or_default();
        let offered = body.get("tools").and_then(Value::as_object).map(|tools| servable(tools.iter().map(offer)));
        let (id, runtime) = (text("id").map(str::to_owned), text("runtime").map(str::to_owned));
        Ok(Chat { id, said, runtime, params, offered })
    }
}

/// A tool as front ends describe it: its schema, or what it is and its schema.
fn offer((name, tool): (&String, &Value)) -> ClientTool {
    let described = tool.get("parameters").or_else(|| tool.get("inputSchema"));
    let description = tool.get("description").and_then(Value::as_str).unwrap_or_default();
    ClientTool::new(name, description, described.or(Some(tool)))
}

fn id_of(message: &Value) -> Result<&str, String> {
    let id = message.get("id").and_then(Value::as_str).filter(|id| !id.is_empty());
    id.ok_or_else(|| "a message has no `id`".to_owned())
}

fn parts_of(message: &Value) -> Result<&[Value], String> {
    let parts = message.get("parts").and_then(Value::as_array);
    parts.map(Vec::as_slice).ok_or_else(|| "a message has no `parts`".to_owned())
}

fn content_of(message: &Value) -> Result<Vec<Part>, String> {
    let mut content = Vec::new();
    for part in parts_of(message)? {
        let text = |key: &str| part.get(key).and_then(Value::as_str);
        match text("type") {
            Some("text") => {
                let text = text("text").ok_or("a text part has no `text`")?;
                content.push(Part::Text { text: text.to_owned() });
            }
            Some("file") => {
                let url = text("url").ok_or("a file part has no `url`")?;
                let media_type = text("mediaType").unwrap_or("application/octet-stream");
                let data = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
                content.push(match data {
                    Some((_, data)) if media_type.starts_with("image/") => {
                        Part::Image { media_type: media_type.to_owned(), data: Some(data.to_owned()), blob: None }
                    }
                    Some(_) => return Err(format!("a file of type {media_type} cannot be sent, only images")),
                    None => Part::Text { text: format!("[file]({url})") },
                });
            }
            // What an application adds for itself.
            Some(_) => {}
            None => return Err("a part has no `type`".to_owned()),
        }
    }
    let says_something = content.iter().any(|part| !matches!(part, Part::Text { text } if text.trim().is_empty()));
    if says_something { Ok(content) } else { Err("the message says nothing".to_owned()) }
}

/// Whether two messages say the same. Only words are compared: a file may have another address here than there.
pub fn says_the_same(one: &[Part], other: &[Part]) -> bool {
    let words = |part: &'_ Part| match part {
        Part::Text { text } if !text.starts_with("[file](") => Some(text.clone()),
        _ => None,
    };
    one.iter().filter_map(words).eq(other.iter().filter_map(words))
}

/// The answers in a message's parts to what waits. What does not wait any more, or never did, is left out: the stream tells how it ended. The
/// error is for a person.
pub fn answers(parts: &[Value], pending: &[PendingAsk]) -> Result<Vec<(AskId, Answer)>, String> {
    let answer = |ask: &PendingAsk| {
        let found = parts.iter().find_map(|part| answer_in(part, ask).transpose());
        found.map(|answer| Ok((ask.ask_id.clone(), answer?)))
    };
    pending.iter().filter_map(answer).collect()
}

/// Whether a client's parts show what a fact asks.
pub(super) fn shows(parts: &[Value], envelope: &Envelope) -> bool {
    let (ask, call) = match &envelope.event {
        Event::PermissionRequest(ask) => (&ask.ask_id, None),
        Event::QuestionRequest(ask) => (&ask.ask_id, None),
        Event::Interrupt(ask) => (&ask.interrupt_id, ask.tool_use_id.as_ref()),
        _ => return false,
    };
    let call = call.map_or(ask.as_str(), |call| call.as_str());
    parts.iter().any(|part| {
        let is = |pointer: &str, id: &str| part.pointer(pointer).and_then(Value::as_str) == Some(id);
        is("/approval/id", ask.as_str()) || is("/toolCallId", call)
    })
}

fn answer_in(part: &Value, ask: &PendingAsk) -> Result<Option<Answer>, String> {
    let text = |key: &str| part.get(key).and_then(Value::as_str);
    let given = |pointer: &str| part.pointer(pointer).filter(|value| !value.is_null());
    let id = ask.ask_id.as_str();
    if ask.kind == AskKind::Permission && given("/approval/id").and_then(Value::as_str) == Some(id) {
        let reason = given("/approval/reason").and_then(Value::as_str);
        let verdict = given("/approval/approved").map(approved).transpose()?;
        return Ok(verdict.map(|approved| permission(approved, reason)));
    }
    if text("toolCallId") != Some(ask.client_call().unwrap_or(id)) {
        return Ok(None);
    }
    let output = given("/output");
    Ok(match (text("state"), ask.kind) {
        (Some("output-available"), AskKind::Permission) => {
            let reason = output.and_then(|output| output.get("reason")).and_then(Value::as_str);
            output.map(approved).transpose()?.map(|approved| permission(approved, reason))
        }
        (Some("output-available"), AskKind::Question) => {
            output.map(lists).transpose()?.map(|answers| Answer::Question { answers: Some(answers) })
        }
        (Some("output-available"), AskKind::Interrupt) => {
            Some(Answer::Interrupt { value: output.cloned().unwrap_or_default() })
        }
        (Some("output-error"), AskKind::Permission) => Some(permission(false, text("errorText"))),
        (Some("output-error"), AskKind::Question) => Some(Answer::Question { answers: None }),
        (Some("output-error"), AskKind::Interrupt) if ask.client_call().is_some() => {
            Some(Answer::ToolFailed { output: text("errorText").unwrap_or("it failed").into() })
        }
        (Some("output-error"), AskKind::Interrupt) => {
            Some(Answer::Interrupt { value: serde_json::json!({ "error": text("errorText") }) })
        }
        _ => None,
    })
}

fn permission(approved: bool, reason: Option<&str>) -> Answer {
    Answer::Permission {
        reply: if approved { PermissionReply::Once } else { PermissionReply::Reject },
        updated_input: None,
        message: reason.map(str::to_owned),
        rule: None,
        and_then: AfterAnswer::GoOn,
    }
}
