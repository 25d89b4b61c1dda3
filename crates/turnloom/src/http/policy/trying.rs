//! What other rules would have changed, and which rules people keep asking for by their answers. Nothing is changed here.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use turnloom_core::policy::{Report, Suggestion};
use turnloom_core::time::Timestamp;

use crate::http::App;
use crate::http::extract::{Body, Query};
use crate::http::problem::Problem;
use crate::policy::{HistoryError, Stretch};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct Proposed {
    /// Rules in TOML that would take the place of the user's own.
    rules: String,
    /// Only calls since then.
    since: Option<Timestamp>,
    /// Only so many sessions in this answer; `next_cursor` leads to the others. All, if not given.
    #[schemars(range(min = 1))]
    sessions: Option<usize>,
    /// The `next_cursor` of the answer before, with the same rules.
    cursor: Option<String>,
}

/// What proposed rules would have changed.
#[skip_serializing_none]
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::http) struct Tried {
    #[serde(flatten)]
    report: Report,
    /// Sessions that were looked at for this answer.
    sessions: usize,
    /// Where the next answer begins, if not all sessions were looked at.
    next_cursor: Option<String>,
}

pub(in crate::http) async fn test(
    State(app): State<App>,
    Body(Proposed { rules, since, sessions, cursor }): Body<Proposed>,
) -> Result<Json<Tried>, Problem> {
    if sessions == Some(0) {
        return Err(Problem::invalid("`sessions` must be at least 1"));
    }
    let stretch = Stretch { since, after: cursor, sessions };
    let read = app.sessions.rules().test(app.sessions.log(), ("rules", &rules), stretch).await?;
    Ok(Json(Tried { report: read.found, sessions: read.sessions, next_cursor: read.next }))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct SuggestionsQuery {
    /// Only answers since then.
    since: Option<Timestamp>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::http) struct Suggestions {
    suggestions: Vec<Suggestion>,
}

/// Rules for what people keep answering.
pub(in crate::http) async fn suggest(
    State(app): State<App>,
    Query(SuggestionsQuery { since }): Query<SuggestionsQuery>,
) -> Result<Json<Suggestions>, Problem> {
    let sessions = &app.sessions;
    Ok(Json(Suggestions { suggestions: sessions.rules().suggest(sessions.log(), since).await? }))
}

impl From<HistoryError> for Problem {
    fn from(error: HistoryError) -> Self {
        match error {
            HistoryError::Rules(error) => super::own::broken(&error),
            HistoryError::Log(error) => error.into(),
            HistoryError::Ended(error) => Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", error.to_string()),
        }
    }
}
