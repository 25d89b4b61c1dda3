//! Components: which there are, and what people do in those that an agent shows.

use axum::Json;
use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use turnloom_core::command::{self, ClientCommand, Command, Reply};
use turnloom_core::component::Entry;
use turnloom_core::event::Surface;
use turnloom_core::id::{Seq, SessionId};

use super::App;
use super::extract::{Body, Client, Query, Session, path};
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
#[expect(clippy::struct_field_names, reason = "as the contract names it")]
pub(super) struct Callback {
    /// What was pressed, in the component's own words.
    action: String,
    /// What goes with it.
    #[serde(default)]
    payload: Value,
    /// The caller's name for this; the same one again is taken once.
    #[serde(default)]
    callback_id: Option<String>,
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
    Body(Callback { action, payload, callback_id }): Body<Callback>,
) -> Result<Json<Noted>, Problem> {
    let callback = command::Callback { component_id, action, payload, callback_id };
    let reply = app.sessions.execute(&id, ClientCommand { by, command: Command::CallBack(callback) }).await?;
    let Reply::Noted { seq } = reply else { return Err(Problem::unexpected("a callback")) };
    Ok(Json(Noted { accepted: true, seq }))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ListQuery {
    /// Only those that may stand there.
    surface: Option<Surface>,
    /// With those that this session brings.
    session: Option<SessionId>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct EntryQuery {
    /// With those that this session brings.
    session: Option<SessionId>,
}

/// The components there are.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Components")]
pub(super) struct List {
    components: Vec<Entry>,
    /// Changes with what is in the list.
    version: String,
}

pub(super) async fn list(
    State(app): State<App>,
    headers: HeaderMap,
    Query(ListQuery { surface, session }): Query<ListQuery>,
) -> Result<Response, Problem> {
    let registry = app.sessions.components(session.as_ref()).await?;
    let version = registry.version();
    let tag = format!("\"{version}\"");
    let known = headers.get(header::IF_NONE_MATCH).and_then(|known| known.to_str().ok()).unwrap_or_default();
    if known.split(',').any(|known| known.trim().trim_start_matches("W/") == tag) {
        return Ok((StatusCode::NOT_MODIFIED, [(header::ETAG, tag)]).into_response());
    }
    let is_wanted = |entry: &&Entry| surface.is_none_or(|surface| entry.surfaces.contains(&surface));
    let components = registry.entries().filter(is_wanted).map(Entry::served).collect();
    Ok(([(header::ETAG, tag)], Json(List { components, version })).into_response())
}

/// The entry a path names.
pub(super) struct Name(String);

#[derive(Deserialize)]
struct NamePath {
    name: String,
}

impl<S: Send + Sync> FromRequestParts<S> for Name {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let axum::extract::Path(NamePath { name }) = path(parts, state).await?;
        Ok(Name(name))
    }
}

pub(super) async fn show(
    State(app): State<App>,
    Name(name): Name,
    Query(EntryQuery { session }): Query<EntryQuery>,
) -> Result<Json<Entry>, Problem> {
    let registry = app.sessions.components(session.as_ref()).await?;
    let unknown =
        || Problem::new(StatusCode::NOT_FOUND, "component_unknown", format!("there is no component called {name:?}"));
    registry.get(&name).map(|entry| Json(entry.served())).ok_or_else(unknown)
}
