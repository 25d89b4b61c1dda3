//! Channels: how other services talk to agents. A delivery of a service becomes a message of a session, and the answer goes back.
//!
//! Here is what a channel is and everything that is decided about a delivery: whether it is genuine (`verify`), whether it is wanted and what it says
//! (`incoming`, `filter`, `template`), what of the turn is the answer (`answer`), and how it is written for the service (`reply`, `split`). Not here: sockets, the
//! clock, where secrets and deliveries are kept, and the sessions.

pub mod answer;
mod filter;
mod incoming;
mod reply;
pub mod split;
mod template;
mod verify;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use serde_with::skip_serializing_none;

use crate::budget::{self, Group, Limits};

pub use self::filter::Rule;
pub use self::incoming::{Delivery, Ignored, Incoming, MARK, MAX_DELIVERY_ID_BYTES, read};
pub use self::reply::{Outgoing, Reply, ReplyAddress, ReplyService, Verdict, judge, parts, request};
pub use self::template::{MAX_TEXT_BYTES, Nowhere, Scope, Template};
pub use self::verify::{Encoding, HmacHeader, MAX_AGE_SECONDS, Request, Secret, digest, hmac_sha256, verify};

/// The longest name of a channel: it is a part of its sessions' ids.
pub const MAX_NAME_BYTES: usize = 40;

/// Turns of one channel that may run at once, unless it says otherwise, and at most.
const DEFAULT_RUNNING: u32 = 4;
const MAX_RUNNING: u32 = 64;

/// How long a service may be kept waiting for its answer.
const MAX_RESPOND_SECONDS: u32 = 60;

const MAX_RULES: usize = 64;

/// What a reply may name.
pub const REPLY_NAMES: &[&str] = &["answer", "outcome", "session_id", "turn_id", "delivery_id"];

/// How deliveries are verified and read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "ChannelKind")]
pub enum Kind {
    /// HMAC-SHA256 over the body.
    Hmac,
    /// GitHub: `X-Hub-Signature-256`.
    Github,
    /// Slack's Events API.
    Slack,
    /// A Telegram bot.
    Telegram,
    /// `Authorization: Bearer SECRET`.
    Bearer,
    /// Standard Webhooks: `webhook-signature`.
    Standard,
}

/// What a channel is, without its secrets.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ChannelSettings")]
pub struct Channel {
    /// In the address: `/hooks/NAME`.
    pub name: String,
    pub kind: Kind,
    /// The runtime of its sessions.
    pub runtime: String,
    /// What its sessions are created with: `cwd`, `mode`, `model`, ...
    #[serde(default)]
    pub params: Map<String, Value>,
    /// What all its sessions may spend together. It counts for sessions that are created from then on.
    pub budget: Option<Limits>,
    /// What the agent is told; the kind has one of its own.
    pub message: Option<Template>,
    /// Deliveries for which this is the same go on in one session. Each has its own, where it is empty.
    pub conversation: Option<Template>,
    /// What names a delivery; the same one again is not taken twice.
    pub delivery: Option<Template>,
    /// What a session is called.
    pub title: Option<Template>,
    /// Only these events, such as `issues.opened` or `issues`; all, if there are none.
    #[serde(default)]
    pub events: Vec<String>,
    /// Only of these senders.
    #[serde(default)]
    pub senders: Vec<String>,
    /// Only where all of these hold.
    #[serde(default)]
    pub only: Vec<Rule>,
    /// Where a plain HMAC stands; for the kind `hmac`.
    pub hmac: Option<HmacHeader>,
    /// Where the answer goes; nowhere, if not given.
    pub reply: Option<Reply>,
    /// Wait so many seconds for the answer and send it as the response; what takes longer is answered with 202.
    #[serde(default)]
    pub respond_seconds: u32,
    /// Turns that may run at once.
    #[serde(default = "default_running")]
    pub max_running: u32,
    /// Refuses deliveries while it is paused.
    #[serde(default)]
    pub paused: bool,
}

fn default_running() -> u32 {
    DEFAULT_RUNNING
}

/// What is wrong with a channel.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("`name` has 1 to {MAX_NAME_BYTES} characters: small letters, digits and '-', a letter or digit first")]
    Name,
    #[error("`{0}`: {1}")]
    Template(&'static str, template::Error),
    #[error("`{name}` must be between {least} and {most}")]
    Number { name: &'static str, least: u32, most: u32 },
    #[error("`budget`: {0}")]
    Budget(String),
    #[error("`only`: {0}")]
    Rule(String),
    #[error("`hmac`: {0}")]
    Hmac(String),
    #[error("`reply`: {0}")]
    Reply(String),
}

impl Channel {
    /// Whether it makes sense.
    pub fn check(&self) -> Result<(), Error> {
        let bytes = self.name.as_bytes();
        let is_name = (1..=MAX_NAME_BYTES).contains(&bytes.len())
            && bytes.iter().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-')
            && bytes.first() != Some(&b'-');
        if !is_name {
            return Err(Error::Name);
        }
        let templates = [
            ("message", &self.message),
            ("conversation", &self.conversation),
            ("delivery", &self.delivery),
            ("title", &self.title),
        ];
        for (name, template) in templates {
            template
                .as_ref()
                .map_or(Ok(()), |template| template.check_names(&[]))
                .map_err(|error| Error::Template(name, error))?;
        }
        if !(1..=MAX_RUNNING).contains(&self.max_running) {
            return Err(Error::Number { name: "max_running", least: 1, most: MAX_RUNNING });
        }
        if self.respond_seconds > MAX_RESPOND_SECONDS {
            return Err(Error::Number { name: "respond_seconds", least: 0, most: MAX_RESPOND_SECONDS });
        }
        if let Some(problem) = self.budget.and_then(|limits| limits.problem(false)) {
            return Err(Error::Budget(problem));
        }
        if self.only.len() + self.events.len() + self.senders.len() > MAX_RULES {
            return Err(Error::Rule(format!("there are at most {MAX_RULES} rules, events and senders")));
        }
        self.only.iter().try_for_each(|rule| rule.check().map_err(Error::Rule))?;
        match &self.hmac {
            Some(_) if self.kind != Kind::Hmac => return Err(Error::Hmac("only the kind `hmac` has it".to_owned())),
            Some(hmac) if hmac.header.is_empty() => return Err(Error::Hmac("`header` must name one".to_owned())),
            Some(_) | None => {}
        }
        self.reply.as_ref().map_or(Ok(()), |reply| reply.check(self.kind).map_err(Error::Reply))
    }

    /// What a session is created with: what people said, and the budget of this channel.
    pub fn session_params(&self) -> Map<String, Value> {
        let mut params = self.params.clone();
        let group = Group { id: format!("channel/{}", self.name), limits: self.budget.unwrap_or_default() };
        params.entry(budget::GROUP).or_insert_with(|| json!(group));
        params
    }
}

/// The headers of a request. Names are compared without case.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Headers(Vec<(String, String)>);

impl Headers {
    pub fn new<N: Into<String>, V: Into<String>>(headers: impl IntoIterator<Item = (N, V)>) -> Self {
        Self(headers.into_iter().map(|(name, value)| (name.into().to_ascii_lowercase(), value.into())).collect())
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }
}

/// Why a delivery is not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("the header `{0}` is missing; the service signs its deliveries with the channel's secret")]
    SignatureMissing(String),
    #[error("the signature is not right; the service must have the same secret as the channel")]
    SignatureWrong,
    #[error("the time of the delivery is missing, or more than {MAX_AGE_SECONDS} seconds from this machine's")]
    Late,
    #[error("the channel's secret is not there; set the variable or the file that it comes from, or a new one")]
    SecretMissing,
    #[error("the payload cannot be read: {0}")]
    Malformed(String),
    #[error("{0}; change the channel's templates, or let only those events in that have it")]
    Nowhere(#[from] Nowhere),
    #[error("the channel is paused")]
    Paused,
    #[error("too many deliveries wait in this channel; try again later")]
    Full,
    #[error("the payload is larger than a channel takes")]
    TooLarge,
}

impl Refusal {
    pub const CODES: [&str; 9] = [
        "signature_missing",
        "signature_wrong",
        "delivery_too_old",
        "channel_secret_missing",
        "payload_malformed",
        "template_leads_nowhere",
        "channel_paused",
        "channel_full",
        "body_too_large",
    ];

    /// The stable word for it.
    pub fn code(&self) -> &'static str {
        match self {
            Self::SignatureMissing(_) => "signature_missing",
            Self::SignatureWrong => "signature_wrong",
            Self::Late => "delivery_too_old",
            Self::SecretMissing => "channel_secret_missing",
            Self::Malformed(_) => "payload_malformed",
            Self::Nowhere(_) => "template_leads_nowhere",
            Self::Paused => "channel_paused",
            Self::Full => "channel_full",
            Self::TooLarge => "body_too_large",
        }
    }
}
