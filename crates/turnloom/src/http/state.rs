//! The state that a session's agent and clients share: read whole, changed by patches.

use axum::Json;
use axum::extract::State as Extract;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use turnloom_core::command::{ClientCommand, Command, Reply};
use turnloom_core::id::Seq;
use turnloom_core::shared::SharedState;

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

pub(super) async fn read(Extract(app): Extract<App>, Session(id): Session) -> Result<Json<State>, Problem> {
    let row = app.sessions.row(&id).await?;
    let read = |shared: &SharedState| State { state: shared.document(), seq: shared.seq() };
    Ok(Json(app.reader.folds().ask(&row, read).await?))
}

pub(super) async fn patch(
    Extract(app): Extract<App>,
    Session(id): Session,
    Client(by): Client,
    Body(StatePatch(patch)): Body<StatePatch>,
) -> Result<Json<State>, Problem> {
    let reply = app.sessions.execute(&id, ClientCommand { by, command: Command::PatchState { patch } }).await?;
    let Reply::State { state, seq } = reply else { return Err(Problem::unexpected("a patch")) };
    Ok(Json(State { state, seq }))
}
