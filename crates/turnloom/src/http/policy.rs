//! Rules: which count where, what people always allow, and what other rules would have changed.

use axum::Json;
use axum::extract::{FromRequestParts, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use turnloom_core::event::{PolicyEffect, RuleScope};
use turnloom_core::id::SessionId;
use turnloom_core::policy::{self, Layer, Report, Rule, Suggestion, World as _};
use turnloom_core::time::Timestamp;

use super::App;
use super::extract::{Body, Query, path};
use super::problem::Problem;
use crate::policy::{HistoryError, StoredRule, ThisMachine};
use crate::runtime::program::default_directory;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PolicyQuery {
    /// A session, whose working directory counts.
    session: Option<SessionId>,
    /// A working directory; absolute.
    cwd: Option<String>,
}

/// All rules that count in a working directory.
#[skip_serializing_none]
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Policy")]
pub(super) struct PolicyView {
    cwd: String,
    /// The mode of the session that was asked about. One that is not among `modes` is the agent's own.
    mode: Option<String>,
    modes: Vec<ModeView>,
    /// The rules outside modes.
    rules: Vec<RuleView>,
    /// What people always allow.
    always: Vec<StoredRule>,
    /// The user trusts this project, so its own rules count.
    is_trusted: bool,
    /// What is wrong with files of rules. Each counts as it was when it was last right; while one never was, everything asks.
    problems: Vec<FileProblem>,
}

/// A mode with rules.
#[skip_serializing_none]
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PolicyMode")]
struct ModeView {
    name: String,
    /// What it is for, in a sentence.
    about: Option<String>,
    /// What becomes of what no rule is about.
    default: PolicyEffect,
    /// Its rules and those of the modes that it extends.
    rules: Vec<RuleView>,
}

#[skip_serializing_none]
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PolicyRule")]
struct RuleView {
    /// As decisions name it.
    name: String,
    layer: Layer,
    scope: RuleScope,
    effect: PolicyEffect,
    reason: Option<String>,
    /// All of it, in TOML.
    rule: String,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PolicyProblem")]
struct FileProblem {
    file: String,
    /// From 1.
    line: usize,
    message: String,
}

impl RuleView {
    fn of(layer: Layer, place: &str, rule: &Rule) -> Self {
        Self {
            name: format!("{place}/{}", rule.id),
            layer,
            scope: layer.scope(rule),
            effect: rule.effect.into(),
            reason: rule.reason.clone(),
            rule: rule.to_toml(),
        }
    }
}

/// The rules of a session or of a directory.
pub(super) async fn show(
    State(app): State<App>,
    Query(PolicyQuery { session, cwd }): Query<PolicyQuery>,
) -> Result<Json<PolicyView>, Problem> {
    let (cwd, mode) = match (session, cwd) {
        (Some(_), Some(_)) => return Err(Problem::invalid("give `session` or `cwd`, not both")),
        (Some(id), None) => {
            let summary = app.sessions.row(&id).await?.summary;
            (summary.cwd, summary.mode)
        }
        (None, cwd) => (cwd, None),
    };
    let cwd = cwd.unwrap_or_else(|| default_directory().display().to_string());
    if !cwd.starts_with('/') {
        return Err(Problem::invalid("`cwd` must be an absolute path"));
    }
    let cwd = ThisMachine.resolve(&cwd).unwrap_or(cwd);
    let files = app.sessions.rules();
    let rules = files.of(&cwd);
    let modes = rules.modes().map(|name| ModeView {
        name: name.to_owned(),
        about: rules.about(name).map(str::to_owned),
        default: rules.default_of(name).unwrap_or(policy::Effect::Ask).into(),
        rules: rules.rules_of(name).map(|(place, rule)| RuleView::of(Layer::Mode, place, rule)).collect(),
    });
    let listed = rules.rules().map(|(layer, rule)| {
        let place = match layer {
            Layer::Absolute => "absolute",
            Layer::Mode => "mode",
            Layer::User => "user",
            Layer::Always => "always",
            Layer::Project => "project",
            Layer::Session => "session",
        };
        RuleView::of(layer, place, rule)
    });
    let problem = |error: policy::Error| FileProblem { file: error.file, line: error.line, message: error.what };
    Ok(Json(PolicyView {
        mode,
        modes: modes.collect(),
        rules: listed.collect(),
        // One that cannot be read is among the problems.
        always: files.always().list().unwrap_or_default(),
        is_trusted: rules.trusts(&cwd, ThisMachine.home().as_deref()),
        problems: files.problems_in(&cwd).into_iter().map(problem).collect(),
        cwd,
    }))
}

/// What people always allow.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct StoredRules {
    rules: Vec<StoredRule>,
}

pub(super) async fn list(State(app): State<App>) -> Result<Json<StoredRules>, Problem> {
    let listed = app.sessions.rules().always().list();
    let broken = |error: policy::Error| Problem::new(StatusCode::CONFLICT, "rules_broken", error.to_string());
    Ok(Json(StoredRules { rules: listed.map_err(broken)? }))
}

/// The rule a path names.
pub(super) struct RuleId(String);

#[derive(Deserialize)]
struct RulePath {
    id: String,
}

impl<S: Send + Sync> FromRequestParts<S> for RuleId {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let axum::extract::Path(RulePath { id }) = path(parts, state).await?;
        Ok(Self(id))
    }
}

pub(super) async fn remove(State(app): State<App>, RuleId(id): RuleId) -> Result<StatusCode, Problem> {
    let failed = |error: std::io::Error| {
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "rules_failed", format!("the rules cannot be written: {error}"))
    };
    if app.sessions.rules().always().remove(&id).map_err(failed)? {
        return Ok(StatusCode::NO_CONTENT);
    }
    let detail = format!("there is no rule {id:?}; it may have been removed already");
    Err(Problem::new(StatusCode::NOT_FOUND, "rule_not_found", detail))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Proposed {
    /// Rules in TOML that would take the place of the user's own.
    rules: String,
    /// Only calls since then.
    since: Option<Timestamp>,
}

/// What proposed rules would have changed.
pub(super) async fn test(
    State(app): State<App>,
    Body(Proposed { rules, since }): Body<Proposed>,
) -> Result<Json<Report>, Problem> {
    let sessions = &app.sessions;
    Ok(Json(sessions.rules().test(sessions.log(), ("rules", &rules), since).await?))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SuggestionsQuery {
    /// Only answers since then.
    since: Option<Timestamp>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Suggestions {
    suggestions: Vec<Suggestion>,
}

/// Rules for what people keep answering.
pub(super) async fn suggest(
    State(app): State<App>,
    Query(SuggestionsQuery { since }): Query<SuggestionsQuery>,
) -> Result<Json<Suggestions>, Problem> {
    let sessions = &app.sessions;
    Ok(Json(Suggestions { suggestions: sessions.rules().suggest(sessions.log(), since).await? }))
}

impl From<HistoryError> for Problem {
    fn from(error: HistoryError) -> Self {
        match error {
            HistoryError::Rules(error) => {
                Self::new(StatusCode::UNPROCESSABLE_ENTITY, "rules_broken", error.to_string()).with("line", error.line)
            }
            HistoryError::Log(error) => error.into(),
            HistoryError::Ended(error) => Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", error.to_string()),
        }
    }
}
