//! Takes reports of what people do in the components that an agent shows.

use axum::Json;
use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use turnloom_core::command::{self, ClientCommand, Command, Reply};
use turnloom_core::id::Seq;

use super::App;
use super::extract::{Body, Client, Session, path};
use super::problem::Problem;

/// The component a path names.
pub(super) struct Component(String);

#[derive(Deserialize)]
struct ComponentPath {
    component_id: String,
}

impl<S: Send + Sync> FromRequestParts<S> for Component {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let axum::extract::Path(ComponentPath { component_id }) = path(parts, state).await?;
        Ok(Component(component_id))
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ComponentAction")]
pub(super) struct Callback {
    /// What was pressed, in the component's own words.
    action: String,
    /// What goes with it.
    #[serde(default)]
    payload: Value,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Noted {
    accepted: bool,
    /// Where the log says so.
    seq: Seq,
}

pub(super) async fn call_back(
    State(app): State<App>,
    Session(id): Session,
    Component(component_id): Component,
    Client(by): Client,
    Body(Callback { action, payload }): Body<Callback>,
) -> Result<Json<Noted>, Problem> {
    let callback = command::Callback { component_id, action, payload };
    let reply = app.sessions.execute(&id, ClientCommand { by, command: Command::CallBack(callback) }).await?;
    let Reply::Noted { seq } = reply else { return Err(Problem::unexpected("a callback")) };
    Ok(Json(Noted { accepted: true, seq }))
}
