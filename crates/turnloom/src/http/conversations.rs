//! Conversations that agents have stored by themselves. How one becomes a session is in `sessions`.

use axum::Json;
use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::App;
use super::extract::{Query, path};
use super::problem::Problem;
use crate::runtime::Conversation;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ConversationsQuery {
    /// Where they were held: an absolute path. Where the daemon was started, if absent.
    cwd: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Conversations {
    conversations: Vec<Conversation>,
}

/// The runtime a path names.
pub(super) struct RuntimeName(String);

#[derive(Deserialize)]
struct RuntimePath {
    runtime: String,
}

impl<S: Send + Sync> FromRequestParts<S> for RuntimeName {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let path: axum::extract::Path<RuntimePath> = path(parts, state).await?;
        Ok(Self(path.0.runtime))
    }
}

pub(super) async fn list(
    State(app): State<App>,
    RuntimeName(runtime): RuntimeName,
    Query(ConversationsQuery { cwd }): Query<ConversationsQuery>,
) -> Result<Json<Conversations>, Problem> {
    let cwd = cwd.map_or_else(crate::runtime::program::default_directory, Into::into);
    if !cwd.is_absolute() {
        return Err(Problem::invalid("`cwd` must be an absolute path"));
    }
    Ok(Json(Conversations { conversations: app.sessions.conversations(&runtime, &cwd).await? }))
}
