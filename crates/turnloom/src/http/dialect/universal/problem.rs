//! Errors as this protocol's clients read them: a problem object under a name of its own, as plain `application/json`.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use serde_with::skip_serializing_none;

use crate::http::problem::Problem;
use crate::{log, session};

/// Something that was refused or failed.
#[derive(Debug, Clone)]
pub(in crate::http) struct Refused(Box<Document>);

#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "UniversalProblem")]
pub(in crate::http) struct Document {
    #[serde(rename = "type")]
    kind: String,
    title: &'static str,
    status: u16,
    detail: String,
    agent: Option<String>,
    session_id: Option<String>,
    details: Option<Value>,
}

impl Refused {
    fn new(status: u16, code: &str, title: &'static str, detail: String) -> Self {
        let kind = format!("urn:sandbox-agent:error:{code}");
        Self(Box::new(Document { kind, title, status, detail, agent: None, session_id: None, details: None }))
    }

    pub(super) fn invalid(what: impl std::fmt::Display) -> Self {
        Self::new(400, "invalid_request", "Invalid Request", format!("invalid request: {what}"))
    }

    pub(super) fn denied(what: impl std::fmt::Display) -> Self {
        Self::new(403, "permission_denied", "Permission Denied", format!("permission denied: {what}"))
    }

    pub(super) fn agent(agent: &str) -> Self {
        let mut refused =
            Self::new(400, "unsupported_agent", "Unsupported Agent", format!("unsupported agent: {agent}"));
        refused.0.agent = Some(agent.to_owned());
        refused
    }

    pub(super) fn mode(agent: &str, mode: &str) -> Self {
        let detail = format!("mode not supported: {agent} {mode}");
        let mut refused = Self::new(400, "mode_not_supported", "Mode Not Supported", detail);
        refused.0.agent = Some(agent.to_owned());
        refused.0.details = Some(json!({ "mode": mode }));
        refused
    }

    pub(super) fn no_session(name: &str) -> Self {
        let mut refused =
            Self::new(404, "session_not_found", "Session Not Found", format!("session not found: {name}"));
        refused.0.session_id = Some(name.to_owned());
        refused
    }

    pub(super) fn exists(name: &str) -> Self {
        let detail = format!("session already exists: {name}");
        let mut refused = Self::new(409, "session_already_exists", "Session Already Exists", detail);
        refused.0.session_id = Some(name.to_owned());
        refused
    }

    pub(super) fn not_installed(agent: &str) -> Self {
        let detail = format!("agent not installed: {agent}");
        let mut refused = Self::new(404, "agent_not_installed", "Agent Not Installed", detail);
        refused.0.agent = Some(agent.to_owned());
        refused
    }

    pub(super) fn failed(message: &str) -> Self {
        let mut refused = Self::new(502, "stream_error", "Stream Error", format!("stream error: {message}"));
        refused.0.details = Some(json!({ "message": message }));
        refused
    }

    pub(in crate::http) fn token() -> Self {
        let message = "missing or invalid token";
        let mut refused = Self::new(401, "token_invalid", "Token Invalid", format!("token invalid: {message}"));
        refused.0.details = Some(json!({ "message": message }));
        refused
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.0.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        (status, Json(self.0)).into_response()
    }
}

impl From<Problem> for Refused {
    fn from(problem: Problem) -> Self {
        let (status, detail) = (problem.status(), problem.detail());
        match problem.code() {
            "archived" | "session_ended" => Self::invalid("session terminated"),
            _ if status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error() => Self::failed(detail),
            _ => Self::invalid(detail),
        }
    }
}

impl From<session::Error> for Refused {
    fn from(error: session::Error) -> Self {
        Problem::from(error).into()
    }
}

impl From<log::Error> for Refused {
    fn from(error: log::Error) -> Self {
        Problem::from(error).into()
    }
}
