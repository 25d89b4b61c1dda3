//! Errors on the wire: RFC 9457 problem documents with a stable `code`.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};
use turnloom_core::command::Refusal;
use turnloom_core::shared;

use crate::reader::TooManyFollowers;
use crate::{log, session};

/// Something that was refused or failed.
#[derive(Debug, Clone)]
pub struct Problem {
    status: StatusCode,
    /// A stable word.
    code: String,
    detail: String,
    more: Vec<(&'static str, Value)>,
}

/// What a client reads of it.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Problem")]
pub(super) struct Document<'a> {
    /// A URI reference for the kind of problem.
    #[serde(rename = "type")]
    kind: String,
    title: &'a str,
    status: u16,
    detail: &'a str,
    /// A stable word.
    code: &'a str,
    #[serde(flatten)]
    more: Map<String, Value>,
}

impl Serialize for Problem {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let document = Document {
            kind: format!("/api/docs#{}", self.code),
            title: self.status.canonical_reason().unwrap_or("Error"),
            status: self.status.as_u16(),
            detail: &self.detail,
            code: &self.code,
            more: self.more.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect(),
        };
        document.serialize(serializer)
    }
}

impl Problem {
    pub fn new(status: StatusCode, code: &str, detail: impl Into<String>) -> Self {
        Self { status, code: code.to_owned(), detail: detail.into(), more: Vec::new() }
    }

    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// The stable word for it.
    pub fn code(&self) -> &str {
        &self.code
    }

    pub fn detail(&self) -> &str {
        &self.detail
    }

    pub fn invalid(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_request", detail)
    }

    /// A session answered a command with what answers another; nothing a client could do anything about.
    pub fn unexpected(command: &str) -> Self {
        let detail = format!("{command} was answered with something else");
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", detail)
    }

    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.more.push((name, value.into()));
        self
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = self.status;
        let body = serde_json::to_vec(&self).unwrap_or_default();
        let mut response = (status, [(header::CONTENT_TYPE, "application/problem+json")], body).into_response();
        if status == StatusCode::SERVICE_UNAVAILABLE || status == StatusCode::TOO_MANY_REQUESTS {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}

impl From<TooManyFollowers> for Problem {
    fn from(error: TooManyFollowers) -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, "too_many_followers", error.to_string())
    }
}

impl From<session::Error> for Problem {
    fn from(error: session::Error) -> Self {
        let detail = error.to_string();
        match error {
            session::Error::Refused(refusal) => refusal.into(),
            session::Error::Log(error) => error.into(),
            session::Error::UnknownRuntime { .. } => Self::new(StatusCode::BAD_REQUEST, "unknown_runtime", detail),
            session::Error::Damaged { .. } => Self::new(StatusCode::CONFLICT, "session_damaged", detail),
            session::Error::BrokenFile(_) => Self::new(StatusCode::UNPROCESSABLE_ENTITY, "broken_file", detail),
            session::Error::Conflict(_) => Self::new(StatusCode::CONFLICT, "session_exists", detail),
            session::Error::ConversationNotFound(_) => {
                Self::new(StatusCode::NOT_FOUND, "conversation_not_found", detail)
            }
            session::Error::ConversationUnreadable(_) => {
                Self::new(StatusCode::INTERNAL_SERVER_ERROR, "conversation_unreadable", detail)
            }
            session::Error::Invalid(_) => Self::invalid(detail),
            session::Error::Overloaded => Self::new(StatusCode::SERVICE_UNAVAILABLE, "overloaded", detail),
            session::Error::ShuttingDown => Self::new(StatusCode::SERVICE_UNAVAILABLE, "shutting_down", detail),
        }
    }
}

impl From<log::Error> for Problem {
    fn from(error: log::Error) -> Self {
        let detail = error.to_string();
        match error {
            log::Error::NotFound(_) => Self::new(StatusCode::NOT_FOUND, "session_not_found", detail),
            log::Error::BadCursor => Self::new(StatusCode::BAD_REQUEST, "bad_cursor", detail),
            log::Error::Closed => Self::new(StatusCode::SERVICE_UNAVAILABLE, "shutting_down", detail),
            // A part of the daemon that knows what its clients changed says so itself.
            log::Error::DocumentMoved { .. } => Self::new(StatusCode::CONFLICT, "changed_meanwhile", detail),
            log::Error::BadDocuments(_)
            | log::Error::Fenced { .. }
            | log::Error::HeadMoved { .. }
            | log::Error::Gap { .. }
            | log::Error::NewerSchema { .. }
            | log::Error::Locked { .. }
            | log::Error::Lost { .. }
            | log::Error::Io { .. }
            | log::Error::Open { .. }
            | log::Error::Failed { .. } => Self::new(StatusCode::INTERNAL_SERVER_ERROR, "log_failed", detail),
        }
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        let status = match &refusal {
            Refusal::Busy
            | Refusal::AlreadyResolved { .. }
            | Refusal::Archived
            | Refusal::Ended
            | Refusal::NotAgreed
            | Refusal::NotQueued(_) => StatusCode::CONFLICT,
            Refusal::TurnOver(_) => StatusCode::CONFLICT,
            Refusal::NotForEmit(_) => StatusCode::UNPROCESSABLE_ENTITY,
            Refusal::Unsupported { .. } => StatusCode::UNPROCESSABLE_ENTITY,
            Refusal::AskNotFound(_)
            | Refusal::ComponentNotFound(_)
            | Refusal::CallNotFound(_)
            | Refusal::BackgroundNotFound(_) => StatusCode::NOT_FOUND,
            Refusal::Patch(shared::Error::TestFailed { .. }) => StatusCode::CONFLICT,
            Refusal::Patch(shared::Error::DoesNotFit { .. } | shared::Error::Malformed(_)) => {
                StatusCode::UNPROCESSABLE_ENTITY
            }
            Refusal::InvalidValue(_) | Refusal::DeniedByRule(_) => StatusCode::UNPROCESSABLE_ENTITY,
            Refusal::PayloadTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Refusal::Patch(shared::Error::TooLarge | shared::Error::TooMuch) => StatusCode::PAYLOAD_TOO_LARGE,
            Refusal::Patch(shared::Error::TooDeep) | Refusal::TooDeep => StatusCode::UNPROCESSABLE_ENTITY,
            Refusal::Invalid(_) => StatusCode::BAD_REQUEST,
            Refusal::AgentFailed { .. } => StatusCode::BAD_GATEWAY,
            Refusal::ShuttingDown => StatusCode::SERVICE_UNAVAILABLE,
            Refusal::QueueFull(_) | Refusal::DelegationLimit(_) => StatusCode::TOO_MANY_REQUESTS,
            Refusal::DelegationCycle(_) => StatusCode::CONFLICT,
        };
        let problem = Self::new(status, refusal.code(), refusal.to_string());
        match refusal {
            Refusal::AlreadyResolved { by, how, seq } => {
                problem.with("by", by).with("how", how).with("seq", json!(seq))
            }
            Refusal::AgentFailed { fix: Some(fix), .. } => problem.with("fix", fix),
            _ => problem,
        }
    }
}
