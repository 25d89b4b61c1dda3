//! What a genuine delivery says: to which session it belongs, what the agent is told, and where the answer goes. Each kind of channel knows where its
//! service says these things; the channel's templates say it otherwise.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with::skip_serializing_none;
use sha2::{Digest, Sha256};

use super::reply::{ReplyAddress, address};
use super::template::{Nowhere, Scope, Template};
use super::{Channel, Headers, Kind, Refusal};
use crate::blob::hex;
use crate::id::{MessageId, SessionId};
use crate::nesting::{MAX_DEPTH, text_fits};

/// What stands in our own comments, so that they are not taken for somebody's.
pub const MARK: &str = "<!-- turnloom -->";

/// The longest id of a delivery that is kept as it is; of a longer one, its hash.
pub const MAX_DELIVERY_ID_BYTES: usize = 128;

/// The longest name of a sender, an event or a conversation, and title that is kept.
const MAX_WORD_CHARACTERS: usize = 200;

/// What a delivery is.
#[derive(Debug, Clone, PartialEq)]
pub enum Incoming {
    /// The service asks whether we are there, and wants this back.
    Challenge(String),
    /// Nothing for an agent.
    Ignored(Ignored),
    Message(Box<Delivery>),
}

/// Why a delivery is nothing for an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ignored {
    /// The service tries the channel.
    Ping,
    /// The channel does not want such events, such senders, or what a rule is about.
    Filtered,
    /// A bot wrote it, perhaps we ourselves.
    Bot,
}

impl Ignored {
    pub fn code(self) -> &'static str {
        match self {
            Self::Ping => "ping",
            Self::Filtered => "filtered",
            Self::Bot => "bot",
        }
    }
}

/// A message for an agent.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Delivery {
    pub delivery_id: String,
    pub event: Option<String>,
    pub sender: Option<String>,
    /// What the session goes by.
    pub conversation: String,
    /// Follows from the channel and the conversation.
    pub session_id: SessionId,
    /// Follows from the channel and the delivery, so that taking it twice is taking it once.
    pub message_id: MessageId,
    pub title: Option<String>,
    pub text: String,
    pub reply_to: Option<ReplyAddress>,
}

/// Where a kind of service says what.
struct Preset {
    event: &'static str,
    sender: &'static str,
    conversation: &'static str,
    delivery: &'static str,
    title: &'static str,
    message: &'static str,
}

const GENERIC: Preset = Preset {
    event: "{header.x-event|/event|/type?}",
    sender: "{/sender?}",
    conversation: "{/conversation?}",
    delivery: "{header.webhook-id|header.x-delivery-id|header.idempotency-key|/delivery_id?}",
    title: "{/title?}",
    message: "{/message|/text}",
};

fn preset(kind: Kind) -> Preset {
    match kind {
        Kind::Hmac | Kind::Bearer | Kind::Standard => GENERIC,
        Kind::Github => Preset {
            event: "{header.x-github-event}",
            sender: "{/sender/login?}",
            conversation: "{/repository/full_name?}#{/issue/number|/pull_request/number?}",
            delivery: "{header.x-github-delivery}",
            title: "{/repository/full_name?}#{/issue/number|/pull_request/number?} {/issue/title|/pull_request/title?}",
            message: "{/sender/login} wrote in {/repository/full_name}#{/issue/number|/pull_request/number} \
                      ({/issue/title|/pull_request/title}):\n\n{/comment/body|/review/body|/issue/body|/pull_request/body?}",
        },
        Kind::Slack => Preset {
            event: "{/event/type}",
            sender: "{/event/user?}",
            conversation: "{/team_id?}:{/event/channel}:{/event/thread_ts|/event/ts}",
            // A mention may come as two events; the message is one.
            delivery: "{/event/client_msg_id|/event_id}",
            title: "{/event/text?}",
            message: "{/event/text}",
        },
        Kind::Telegram => Preset {
            event: "",
            sender: "{/message/from/username|/message/from/id?}",
            conversation: "{/message/chat/id|/edited_message/chat/id}:{/message/message_thread_id?}",
            delivery: "{/update_id}",
            title: "{/message/text?}",
            message: "{/message/text|/message/caption}",
        },
    }
}

/// Reads a delivery that is genuine.
pub fn read(channel: &Channel, headers: &Headers, body: &[u8]) -> Result<Incoming, Refusal> {
    let payload = parse(channel.kind, headers, body)?;
    if let Some(at_once) = answered_at_once(channel.kind, headers, &payload) {
        return Ok(at_once);
    }
    let scope = Scope { payload: &payload, headers, names: &[] };
    let preset = preset(channel.kind);
    let word = |given: &Option<Template>, own: &str| -> Result<Option<String>, Nowhere> {
        let text = match given {
            Some(template) => template.render(scope)?,
            None => render(own, scope)?,
        };
        let text: String = text.trim().chars().take(MAX_WORD_CHARACTERS).collect();
        Ok(Some(text).filter(|text| !text.is_empty()))
    };
    let event = event(channel.kind, &payload, word(&None, preset.event)?);
    let sender = word(&None, preset.sender)?;
    if let Some(ignored) = ignored(channel, headers, &payload, event.as_deref(), sender.as_deref()) {
        return Ok(Incoming::Ignored(ignored));
    }
    let delivery_id = match word(&channel.delivery, preset.delivery)? {
        Some(id) if is_id(&id) => id,
        Some(id) => short_hash(&[id.as_bytes()]),
        // A service that gives no id means the same by the same body.
        None => short_hash(&[body]),
    };
    let named = word(&channel.conversation, preset.conversation)?.filter(|name| *name != "#");
    let conversation = named.unwrap_or_else(|| delivery_id.clone());
    let text = match &channel.message {
        Some(template) => template.render(scope)?,
        None => render(preset.message, scope)?,
    };
    if text.trim().is_empty() {
        return Err(Refusal::Malformed("it says nothing to the agent".to_owned()));
    }
    Ok(Incoming::Message(Box::new(Delivery {
        session_id: session_id(&channel.name, &conversation),
        message_id: message_id(&channel.name, &delivery_id),
        title: word(&channel.title, preset.title)?,
        reply_to: channel.reply.as_ref().and_then(|reply| address(reply, scope)),
        delivery_id,
        event,
        sender,
        conversation,
        text,
    })))
}

/// The session of a conversation.
fn session_id(channel: &str, conversation: &str) -> SessionId {
    SessionId::trusted(format!("{channel}-{}", short_hash(&[channel.as_bytes(), conversation.as_bytes()])))
}

fn message_id(channel: &str, delivery: &str) -> MessageId {
    MessageId::trusted(format!("hook-{}", short_hash(&[channel.as_bytes(), delivery.as_bytes()])))
}

/// 128 bits are more than enough to tell conversations apart. Lengths go in, so that no two lists have the same bytes.
fn short_hash(parts: &[&[u8]]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    let hash: [u8; 32] = hash.finalize().into();
    hex(&hash).chars().take(32).collect()
}

/// Documents are kept by it, and people see it.
fn is_id(text: &str) -> bool {
    text.len() <= MAX_DELIVERY_ID_BYTES
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte))
}

/// Templates of ours are right.
fn render(template: &str, scope: Scope<'_>) -> Result<String, Nowhere> {
    Template::parse(template).map_err(|_| Nowhere(template.to_owned()))?.render(scope)
}

fn parse(kind: Kind, headers: &Headers, body: &[u8]) -> Result<Value, Refusal> {
    let content_type = headers.get("content-type").unwrap_or_default();
    let is_form = content_type.trim_start().to_ascii_lowercase().starts_with("application/x-www-form-urlencoded");
    let decoded;
    let json = if is_form && kind == Kind::Github {
        let wrong = || Refusal::Malformed("the form has no `payload`".to_owned());
        let pairs = body.split(|byte| *byte == b'&');
        let payload = pairs.into_iter().find_map(|pair| pair.strip_prefix(b"payload=")).ok_or_else(wrong)?;
        decoded = decode_form(payload);
        decoded.as_slice()
    } else {
        body
    };
    if !text_fits(json, MAX_DEPTH) {
        return Err(Refusal::Malformed(format!("it is nested deeper than {MAX_DEPTH} levels")));
    }
    let payload: Value = serde_json::from_slice(json).map_err(|error| Refusal::Malformed(error.to_string()))?;
    if payload.is_object() { Ok(payload) } else { Err(Refusal::Malformed("it is no JSON object".to_owned())) }
}

fn decode_form(text: &[u8]) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut bytes = text.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'+' => decoded.push(b' '),
            b'%' => {
                let digits = bytes.as_slice().get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
                match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
                    Some(value) => {
                        decoded.push(value);
                        bytes.nth(1);
                    }
                    None => decoded.push(b'%'),
                }
            }
            byte => decoded.push(*byte),
        }
    }
    decoded
}

/// What a service asks of the channel itself.
fn answered_at_once(kind: Kind, headers: &Headers, payload: &Value) -> Option<Incoming> {
    match kind {
        Kind::Slack if payload.get("type").and_then(Value::as_str) == Some("url_verification") => {
            let challenge = payload.get("challenge").and_then(Value::as_str)?;
            Some(Incoming::Challenge(challenge.to_owned()))
        }
        Kind::Slack if payload.get("event").is_none() => Some(Incoming::Ignored(Ignored::Filtered)),
        Kind::Github if headers.get("x-github-event") == Some("ping") => Some(Incoming::Ignored(Ignored::Ping)),
        Kind::Hmac | Kind::Github | Kind::Slack | Kind::Telegram | Kind::Bearer | Kind::Standard => None,
    }
}

/// `issues` and what happened to it, `issues.opened`.
fn event(kind: Kind, payload: &Value, named: Option<String>) -> Option<String> {
    match kind {
        Kind::Github => {
            let action = payload.get("action").and_then(Value::as_str);
            named.map(|event| action.map_or_else(|| event.clone(), |action| format!("{event}.{action}")))
        }
        // An update has a number and one other member, which is what it is.
        Kind::Telegram => payload.as_object()?.keys().find(|key| *key != "update_id").cloned(),
        Kind::Hmac | Kind::Slack | Kind::Bearer | Kind::Standard => named,
    }
}

fn ignored(
    channel: &Channel,
    headers: &Headers,
    payload: &Value,
    event: Option<&str>,
    sender: Option<&str>,
) -> Option<Ignored> {
    if is_bot(channel.kind, payload) {
        return Some(Ignored::Bot);
    }
    let is_event = |wanted: &String| {
        event.is_some_and(|event| {
            event == wanted || event.strip_prefix(wanted.as_str()).is_some_and(|rest| rest.starts_with('.'))
        })
    };
    // Without a list, what every kind of service is about: that somebody says something.
    let wanted = if channel.events.is_empty() {
        match channel.kind {
            Kind::Telegram => event == Some("message"),
            Kind::Slack => {
                matches!(event, Some("message" | "app_mention")) && payload.pointer("/event/subtype").is_none()
            }
            Kind::Github => matches!(event, Some("issues.opened" | "issue_comment.created")),
            Kind::Hmac | Kind::Bearer | Kind::Standard => true,
        }
    } else {
        channel.events.iter().any(is_event)
    };
    let may_send =
        channel.senders.is_empty() || sender.is_some_and(|sender| channel.senders.iter().any(|one| one == sender));
    let holds = channel.only.iter().all(|rule| rule.holds(payload, headers));
    (!(wanted && may_send && holds)).then_some(Ignored::Filtered)
}

/// What bots write is not answered: two of them would never stop.
fn is_bot(kind: Kind, payload: &Value) -> bool {
    let text = |pointer: &str| payload.pointer(pointer).and_then(Value::as_str);
    match kind {
        Kind::Github => {
            text("/sender/type") == Some("Bot") || text("/comment/body").is_some_and(|body| body.contains(MARK))
        }
        Kind::Slack => {
            payload.pointer("/event/bot_id").is_some_and(|id| !id.is_null())
                || text("/event/subtype") == Some("bot_message")
        }
        Kind::Telegram => payload.pointer("/message/from/is_bot") == Some(&Value::Bool(true)),
        Kind::Hmac | Kind::Bearer | Kind::Standard => false,
    }
}

#[cfg(test)]
mod tests;
