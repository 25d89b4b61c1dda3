//! The queued messages: their order, their content, and whether they are held.

use axum::Json;
use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use turnloom_core::command::{ClientCommand, Command, Refusal, Reply};
use turnloom_core::event::{Part, QueueItem};
use turnloom_core::id::{MessageId, SessionId};

use super::App;
use super::extract::{Body, Client, Session, path};
use super::messages::Content;
use super::problem::Problem;

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Queue {
    queue: Vec<QueueItem>,
}

/// The queue comes from the session itself: an order that changes nothing.
pub(super) async fn list(
    State(app): State<App>,
    Session(id): Session,
    Client(by): Client,
) -> Result<Json<Queue>, Problem> {
    change(&app, &id, by, Command::Reorder { order: Vec::new() }).await
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Reorder {
    /// Message ids, first to be sent first. Those not named stay behind, in the order they have.
    order: Vec<MessageId>,
}

pub(super) async fn reorder(
    State(app): State<App>,
    Session(id): Session,
    Client(by): Client,
    Body(Reorder { order }): Body<Reorder>,
) -> Result<Json<Queue>, Problem> {
    change(&app, &id, by, Command::Reorder { order }).await
}

pub(super) async fn go_on(
    State(app): State<App>,
    Session(id): Session,
    Client(by): Client,
) -> Result<Json<Queue>, Problem> {
    change(&app, &id, by, Command::Continue).await
}

/// The message a path names.
pub(super) struct Message(MessageId);

#[derive(Deserialize)]
struct MessagePath {
    message_id: String,
}

impl<S: Send + Sync> FromRequestParts<S> for Message {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let path: axum::extract::Path<MessagePath> = path(parts, state).await?;
        let unknown = |_| Problem::from(Refusal::NotQueued(MessageId::trusted(path.message_id.clone())));
        MessageId::parse(&path.message_id).map(Message).map_err(unknown)
    }
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct QueuedMessage {
    message_id: MessageId,
    content: Vec<Part>,
}

/// The list has only the first line of each.
pub(super) async fn read(
    State(app): State<App>,
    Session(id): Session,
    Message(message_id): Message,
    Client(by): Client,
) -> Result<Json<QueuedMessage>, Problem> {
    let command = Command::ReadQueued { message_id: message_id.clone() };
    let Reply::Queued(content) = app.sessions.execute(&id, ClientCommand { by, command }).await? else {
        return Err(Problem::unexpected("a queued message"));
    };
    Ok(Json(QueuedMessage { message_id, content }))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Edit {
    /// A text replaces the words and leaves pictures and files; parts replace everything.
    message: Content,
}

pub(super) async fn edit(
    State(app): State<App>,
    Session(id): Session,
    Message(message_id): Message,
    Client(by): Client,
    Body(Edit { message }): Body<Edit>,
) -> Result<Json<Queue>, Problem> {
    let row = app.sessions.row(&id).await?;
    let edit = message.into_edit(&app, &row.runtime)?;
    change(&app, &id, by, Command::EditQueued { message_id, edit }).await
}

pub(super) async fn remove(
    State(app): State<App>,
    Session(id): Session,
    Message(message_id): Message,
    Client(by): Client,
) -> Result<Json<Queue>, Problem> {
    change(&app, &id, by, Command::Unqueue { message_id }).await
}

async fn change(app: &App, id: &SessionId, by: String, command: Command) -> Result<Json<Queue>, Problem> {
    let Reply::Queue(queue) = app.sessions.execute(id, ClientCommand { by, command }).await? else {
        return Err(Problem::unexpected("the queue"));
    };
    Ok(Json(Queue { queue }))
}
