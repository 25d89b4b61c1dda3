//! The user's own rules, read and changed as a file.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use turnloom_core::policy;

use crate::http::App;
use crate::http::extract::{Body, Client};
use crate::http::problem::Problem;
use crate::policy::ChangeError;
use crate::session::now;

/// The user's own rules.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::http) struct OwnRules {
    file: String,
    /// In TOML; empty, if there is no file.
    text: String,
    /// Names this text: the `was` of a change.
    sha256: String,
    is_there: bool,
}

pub(in crate::http) async fn show(State(app): State<App>) -> Result<Json<OwnRules>, Problem> {
    let own = app.sessions.rules().own();
    let found = own.read().map_err(ChangeError::from)?;
    let (text, sha256, is_there) = (found.text, found.sha256, found.is_there);
    Ok(Json(OwnRules { file: own.path().display().to_string(), text, sha256, is_there }))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct Replacement {
    /// All rules, in TOML.
    text: String,
    /// The `sha256` of the text that they are to replace.
    was: String,
}

/// Puts other rules in the place of the user's own.
pub(in crate::http) async fn replace(
    State(app): State<App>,
    Body(Replacement { text, was }): Body<Replacement>,
) -> Result<Json<OwnRules>, Problem> {
    app.sessions.rules().own().replace(&text, &was)?;
    show(State(app)).await
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct NewRule {
    /// One rule in TOML, without `[[rule]]`. Without an `id` it gets one.
    rule: String,
}

/// A rule that stands in the user's file.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::http) struct AddedRule {
    /// As decisions name it.
    name: String,
    id: String,
    file: String,
    /// From 1.
    line: usize,
}

/// Adds a rule to the user's own.
pub(in crate::http) async fn add(
    State(app): State<App>,
    Client(by): Client,
    Body(NewRule { rule }): Body<NewRule>,
) -> Result<(StatusCode, Json<AddedRule>), Problem> {
    let own = app.sessions.rules().own();
    let added = own.add(&rule, &format!("added by {by}, {}", now()))?;
    let (id, line) = (added.id, added.line);
    let file = own.path().display().to_string();
    Ok((StatusCode::CREATED, Json(AddedRule { name: format!("user/{id}"), id, file, line })))
}

/// Rules that cannot be read, with the line that says why.
pub(super) fn broken(error: &policy::Error) -> Problem {
    Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "rules_broken", error.to_string()).with("line", error.line)
}

impl From<ChangeError> for Problem {
    fn from(error: ChangeError) -> Self {
        let detail = error.to_string();
        match error {
            ChangeError::Rules(error) => broken(&error),
            ChangeError::NotOneRule => Self::invalid(detail),
            ChangeError::Changed => Self::new(StatusCode::CONFLICT, "rules_changed", detail),
            ChangeError::Io(_) => Self::new(StatusCode::INTERNAL_SERVER_ERROR, "rules_failed", detail),
        }
    }
}
