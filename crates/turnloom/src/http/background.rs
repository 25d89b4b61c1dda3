//! Stops background work of a session. The list of it is in the log and in the view.

use axum::Json;
use axum::extract::{Path, State};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use turnloom_core::command::{ClientCommand, Command};

use super::App;
use super::extract::{Client, Session};
use super::problem::Problem;

/// The task a path names.
#[derive(Debug, Deserialize)]
pub(super) struct Task {
    background_id: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Stopping {
    /// The agent was told; the log says when it has ended.
    stopping: bool,
}

/// Ends a task or a sub-agent of the background. The turn that runs, if one does, goes on.
pub(super) async fn stop(
    State(app): State<App>,
    Session(id): Session,
    Path(Task { background_id }): Path<Task>,
    Client(by): Client,
) -> Result<Json<Stopping>, Problem> {
    app.sessions.execute(&id, ClientCommand { by, command: Command::StopBackground { id: background_id } }).await?;
    Ok(Json(Stopping { stopping: true }))
}
