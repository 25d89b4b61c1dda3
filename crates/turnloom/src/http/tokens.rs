//! Scoped tokens over HTTP: made, listed, revoked. What they open is decided in `access` and `scoped_tokens`.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use turnloom_core::time::Timestamp;

use super::App;
use super::extract::Body;
use super::problem::Problem;
use crate::scoped_tokens::{Error, Listed, NewToken};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NewToken")]
pub(super) struct New {
    /// What the log calls whoever has it.
    name: String,
    /// `agent:NAME`, `emit:SESSION`, `read:SESSION`, `use:SESSION` (or `*` for all sessions), `full`.
    scopes: Vec<String>,
    expires_at: Option<Timestamp>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "MadeToken")]
pub(super) struct Made {
    #[serde(flatten)]
    listed: Listed,
    /// The secret; it is stored nowhere.
    token: String,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Tokens")]
pub(super) struct List {
    tokens: Vec<Listed>,
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let detail = error.to_string();
        match error {
            Error::Scope(_) | Error::Name | Error::Scopes | Error::Expired => Self::invalid(detail),
            Error::TooMany => Self::new(StatusCode::TOO_MANY_REQUESTS, "too_many_tokens", detail),
            Error::Write(_) => Self::new(StatusCode::INTERNAL_SERVER_ERROR, "tokens_not_written", detail),
        }
    }
}

pub(super) async fn make(State(app): State<App>, Body(new): Body<New>) -> Result<(StatusCode, Json<Made>), Problem> {
    let New { name, scopes, expires_at } = new;
    let (listed, token) = app.access.scoped_tokens().make(NewToken { name, scopes, expires_at })?;
    Ok((StatusCode::CREATED, Json(Made { listed, token })))
}

pub(super) async fn list(State(app): State<App>) -> Json<List> {
    Json(List { tokens: app.access.scoped_tokens().list() })
}

pub(super) async fn revoke(State(app): State<App>, Path(id): Path<String>) -> Result<StatusCode, Problem> {
    if app.access.scoped_tokens().revoke(&id)? {
        return Ok(StatusCode::NO_CONTENT);
    }
    let detail = format!("there is no token {id:?}; GET /api/tokens lists them");
    Err(Problem::new(StatusCode::NOT_FOUND, "token_not_found", detail))
}
