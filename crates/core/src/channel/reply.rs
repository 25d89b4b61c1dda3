//! How an answer goes back: the requests that post it, piece by piece as the service takes it, and what the service's answers mean.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use serde_with::skip_serializing_none;

use super::incoming::MARK;
use super::split::{MIN_LIMIT, Measure, Piece, split};
use super::template::{Scope, Template};
use super::{Kind, REPLY_NAMES};

/// How much each service takes in one message.
const GITHUB_CHARACTERS: usize = 65_536;
const SLACK_CHARACTERS: usize = 4_000;
const TELEGRAM_UNITS: usize = 4_096;
const POST_CHARACTERS: usize = 100_000;

/// Messages that one answer becomes at most; the last says that it was cut.
const MAX_PARTS: usize = 20;
const CUT: &str = "\n\n[the answer goes on; read it in its session]";

/// Where the answers of a channel go.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ChannelReply")]
pub struct Reply {
    pub to: ReplyService,
    /// Another address of the service, such as that of a GitHub Enterprise server.
    pub base_url: Option<String>,
    /// Where `post` sends to: `https://...`, or a template such as `{/reply_url}`.
    pub url: Option<Template>,
    /// The hosts that `url` may lead to, if a payload says where.
    #[serde(default)]
    pub hosts: Vec<String>,
    /// What is said; `{answer}`, if not given.
    pub text: Option<Template>,
    /// How many characters one message may have, if fewer than the service takes.
    pub limit: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "ChannelReplyService")]
pub enum ReplyService {
    /// A comment on the issue or the pull request.
    Github,
    /// `chat.postMessage`, in the thread.
    Slack,
    /// `sendMessage`, in the chat.
    Telegram,
    /// A JSON body to an address.
    Post,
}

/// To whom one answer goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "to", rename_all = "snake_case")]
pub enum ReplyAddress {
    Github { repository: String, number: u64 },
    Slack { channel: String, thread: String },
    Telegram { chat: i64, thread: Option<i64>, message: Option<i64> },
    Post { url: String },
}

/// A request to send.
#[derive(Clone, PartialEq, Eq)]
pub struct Outgoing {
    /// May hold a secret.
    pub url: String,
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
}

/// Addresses and headers hold secrets.
impl std::fmt::Debug for Outgoing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Outgoing").field("bytes", &self.body.len()).finish_non_exhaustive()
    }
}

/// What an answer to a request means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Taken,
    /// Try again, and not before this many seconds.
    Again {
        why: String,
        after_seconds: Option<u64>,
    },
    /// It will never be taken.
    Never {
        why: String,
    },
}

impl ReplyService {
    fn base_url(self) -> &'static str {
        match self {
            Self::Github => "https://api.github.com",
            Self::Slack => "https://slack.com/api",
            Self::Telegram => "https://api.telegram.org",
            Self::Post => "",
        }
    }

    /// Whether it takes nothing without a token.
    pub fn needs_token(self) -> bool {
        match self {
            Self::Github | Self::Slack | Self::Telegram => true,
            Self::Post => false,
        }
    }

    fn limit(self) -> (usize, Measure) {
        match self {
            // The mark is in each of them.
            Self::Github => (GITHUB_CHARACTERS - MARK.len() - 2, Measure::Characters),
            Self::Slack => (SLACK_CHARACTERS, Measure::Escaped),
            Self::Telegram => (TELEGRAM_UNITS, Measure::Utf16),
            Self::Post => (POST_CHARACTERS, Measure::Characters),
        }
    }
}

impl Reply {
    /// Where `post` sends to, if it is always the same.
    pub fn fixed_url(&self) -> Option<&str> {
        self.url.as_ref().filter(|url| url.is_fixed()).map(Template::as_str)
    }

    pub(super) fn check(&self, kind: Kind) -> Result<(), String> {
        let its_kind = match self.to {
            ReplyService::Github => Some(Kind::Github),
            ReplyService::Slack => Some(Kind::Slack),
            ReplyService::Telegram => Some(Kind::Telegram),
            ReplyService::Post => None,
        };
        if its_kind.is_some_and(|its| its != kind) {
            return Err("only what came from a service can be answered there; use `post`".to_owned());
        }
        match (&self.url, self.to) {
            (None, ReplyService::Post) => return Err("`post` needs a `url`".to_owned()),
            (Some(_), ReplyService::Github | ReplyService::Slack | ReplyService::Telegram) => {
                return Err("`url` is for `post`; a service has a `base_url`".to_owned());
            }
            (Some(url), ReplyService::Post) => {
                url.check_names(&[]).map_err(|error| format!("`url`: {error}"))?;
                if url.is_fixed() && host(url.as_str()).is_none() {
                    return Err("`url` must begin with http:// or https://".to_owned());
                }
                if !url.is_fixed() && self.hosts.is_empty() {
                    return Err("a `url` that a payload fills needs `hosts`: where it may lead".to_owned());
                }
            }
            (None, ReplyService::Github | ReplyService::Slack | ReplyService::Telegram) => {}
        }
        if self.base_url.as_ref().is_some_and(|url| host(url).is_none()) {
            return Err("`base_url` must begin with http:// or https://".to_owned());
        }
        if self.limit.is_some_and(|limit| limit < MIN_LIMIT) {
            return Err(format!("`limit` must be at least {MIN_LIMIT}"));
        }
        let text = self.text.as_ref().map_or(Ok(()), |text| text.check_names(REPLY_NAMES));
        text.map_err(|error| format!("`text`: {error}"))
    }
}

/// Where the answer to a payload goes; nowhere, if the payload does not say.
pub(super) fn address(reply: &Reply, scope: Scope<'_>) -> Option<ReplyAddress> {
    let text = |pointer: &str| scope.payload.pointer(pointer).and_then(Value::as_str);
    let number = |pointer: &str| scope.payload.pointer(pointer).and_then(Value::as_i64);
    match reply.to {
        ReplyService::Github => {
            let repository = text("/repository/full_name").filter(|name| is_repository(name))?.to_owned();
            let number = number("/issue/number").or_else(|| number("/pull_request/number"))?;
            Some(ReplyAddress::Github { repository, number: u64::try_from(number).ok()? })
        }
        ReplyService::Slack => {
            let (channel, thread) = (text("/event/channel")?, text("/event/thread_ts").or_else(|| text("/event/ts"))?);
            Some(ReplyAddress::Slack { channel: channel.to_owned(), thread: thread.to_owned() })
        }
        ReplyService::Telegram => Some(ReplyAddress::Telegram {
            chat: number("/message/chat/id")?,
            thread: number("/message/message_thread_id"),
            message: number("/message/message_id"),
        }),
        ReplyService::Post => {
            let template = reply.url.as_ref()?;
            let url = template.render(scope).ok()?;
            let may = template.is_fixed() || host(&url).is_some_and(|host| reply.hosts.contains(&host));
            may.then_some(ReplyAddress::Post { url })
        }
    }
}

/// `owner/name`, which becomes a part of an address.
fn is_repository(name: &str) -> bool {
    let is_part = |part: &str| {
        !part.is_empty()
            && !matches!(part, "." | "..")
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
    };
    name.split_once('/').is_some_and(|(owner, name)| is_part(owner) && is_part(name))
}

/// The host of an address, with its port if it has one. One with a user in it has none: it is read differently by different programs.
fn host(url: &str) -> Option<String> {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"))?;
    let host = rest.split(['/', '?', '#', '\\']).next()?;
    let is_host =
        !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._:[]".contains(&byte));
    is_host.then(|| host.to_ascii_lowercase())
}

/// An answer as the messages that it becomes.
pub fn parts(reply: &Reply, names: &[(&str, &str)]) -> Vec<String> {
    let nothing = Value::Null;
    let scope = Scope { payload: &nothing, headers: &super::Headers::default(), names };
    let answer = names.iter().find(|(name, _)| *name == "answer").map_or("", |(_, answer)| *answer);
    // Names are all there is in it, and they are checked.
    let text = reply.text.as_ref().and_then(|text| text.render(scope).ok()).unwrap_or_else(|| answer.to_owned());
    let (most, measure) = reply.to.limit();
    let limit = reply.limit.map_or(most, |limit| limit.min(most));
    let pieces = split(text.trim(), limit, measure);
    if pieces.len() <= MAX_PARTS {
        return pieces.iter().map(Piece::render).collect();
    }
    let mut parts: Vec<String> = pieces.iter().take(MAX_PARTS).map(Piece::render).collect();
    parts.push(CUT.trim_start().to_owned());
    parts
}

/// The request that posts one message.
pub fn request(reply: &Reply, address: &ReplyAddress, text: &str, token: Option<&str>, about: &Value) -> Outgoing {
    let base = reply.base_url.as_deref().unwrap_or(reply.to.base_url()).trim_end_matches('/');
    let bearer = token.map(|token| ("authorization", format!("Bearer {token}")));
    let mut headers = vec![("content-type", "application/json; charset=utf-8".to_owned())];
    let (url, body) = match address {
        ReplyAddress::Github { repository, number } => {
            headers.extend(bearer);
            headers.push(("accept", "application/vnd.github+json".to_owned()));
            headers.push(("x-github-api-version", "2022-11-28".to_owned()));
            (
                format!("{base}/repos/{repository}/issues/{number}/comments"),
                json!({ "body": format!("{text}\n\n{MARK}") }),
            )
        }
        ReplyAddress::Slack { channel, thread } => {
            headers.extend(bearer);
            let body = json!({ "channel": channel, "thread_ts": thread, "text": escape(text), "unfurl_links": false });
            (format!("{base}/chat.postMessage"), body)
        }
        ReplyAddress::Telegram { chat, thread, message } => {
            let mut body = json!({ "chat_id": chat, "text": text });
            if let Some(thread) = thread {
                set(&mut body, "message_thread_id", json!(thread));
            }
            if let Some(message) = message {
                set(
                    &mut body,
                    "reply_parameters",
                    json!({ "message_id": message, "allow_sending_without_reply": true }),
                );
            }
            (format!("{base}/bot{}/sendMessage", token.unwrap_or_default()), body)
        }
        ReplyAddress::Post { url } => {
            headers.extend(bearer);
            let mut body = json!({ "text": text });
            if let Value::Object(about) = about {
                for (name, value) in about {
                    set(&mut body, name, value.clone());
                }
            }
            (url.clone(), body)
        }
    };
    Outgoing { url, headers, body: body.to_string().into_bytes() }
}

fn set(body: &mut Value, name: &str, value: Value) {
    if let Value::Object(members) = body {
        members.insert(name.to_owned(), value);
    }
}

/// Slack reads these three characters.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// What a service's answer means. Some say in the body what others say in the status.
pub fn judge(to: ReplyService, status: u16, retry_after: Option<u64>, body: &[u8]) -> Verdict {
    let said = serde_json::from_slice::<Value>(body).unwrap_or_default();
    let error = |name: &str| -> String {
        said.get(name).and_then(Value::as_str).unwrap_or("no reason given").chars().take(200).collect()
    };
    match (status, to) {
        (200..=299, ReplyService::Slack) if said.get("ok") != Some(&Value::Bool(true)) => {
            let why = error("error");
            match why.as_str() {
                "ratelimited"
                | "rate_limited"
                | "internal_error"
                | "fatal_error"
                | "service_unavailable"
                | "request_timeout"
                | "not_authed"
                | "invalid_auth"
                | "token_expired"
                | "no reason given" => Verdict::Again { why, after_seconds: retry_after },
                _ => Verdict::Never { why },
            }
        }
        (200..=299, _) => Verdict::Taken,
        // Somebody may set a new token, or wait until the service lets us.
        (300..=399 | 401 | 403 | 408 | 409 | 425 | 429 | 500.., _) => {
            let said_wait = said.pointer("/parameters/retry_after").and_then(Value::as_u64);
            Verdict::Again { why: format!("status {status}"), after_seconds: retry_after.or(said_wait) }
        }
        (_, ReplyService::Telegram) => Verdict::Never { why: format!("status {status}: {}", error("description")) },
        (_, ReplyService::Github) => Verdict::Never { why: format!("status {status}: {}", error("message")) },
        (_, ReplyService::Slack | ReplyService::Post) => Verdict::Never { why: format!("status {status}") },
    }
}

#[cfg(test)]
mod tests;
