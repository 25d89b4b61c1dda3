//! The state that a session's agent and clients share: read whole, changed by patches.

use axum::Json;
use axum::extract::State as Extract;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use turnloom_core::command::{Command, Reply, Wish};
use turnloom_core::id::{Seq, SessionId};

use super::App;
use super::extract::{Body, Client, Session};
use super::problem::Problem;

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SharedState")]
pub(super) struct State {
    /// Any JSON; an empty object as long as nobody has set it.
    state: Value,
    /// Where the log last changed it.
    seq: Seq,
}

/// A JSON Patch (RFC 6902).
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(transparent)]
pub(super) struct StatePatch(#[schemars(with = "Vec<Map<String, Value>>")] Value);

/// The state comes from the session itself: a patch that changes nothing.
pub(super) async fn read(
    Extract(app): Extract<App>,
    Session(id): Session,
    Client(by): Client,
) -> Result<Json<State>, Problem> {
    apply(&app, &id, Value::Array(Vec::new()), by).await
}

pub(super) async fn patch(
    Extract(app): Extract<App>,
    Session(id): Session,
    Client(by): Client,
    Body(StatePatch(patch)): Body<StatePatch>,
) -> Result<Json<State>, Problem> {
    apply(&app, &id, patch, by).await
}

async fn apply(app: &App, id: &SessionId, patch: Value, by: String) -> Result<Json<State>, Problem> {
    let reply = app.sessions.wish(id, Command { by, wish: Wish::PatchState { patch } }).await?;
    let Reply::State { state, seq } = reply else { return Err(Problem::unexpected("a patch")) };
    Ok(Json(State { state, seq }))
}
