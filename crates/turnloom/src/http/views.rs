//! The chat fold on the wire: the newest messages, older ones by page, and the changes as they come.

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use turnloom_core::changes::ChangedFile;
use turnloom_core::id::{Seq, SessionId};
use turnloom_core::view::Window;

use super::App;
use super::events::cursor;
use super::extract::{Query, Session};
use super::problem::Problem;
use super::sessions::page_size;
use crate::reader::{self, LiveView};

/// Messages in a window, unless asked for another number.
const WINDOW: usize = 30;
const MAX_WINDOW: usize = 500;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ViewQuery {
    /// How many messages.
    messages: Option<usize>,
    /// The `before` of a newer window: the messages before that one.
    before: Option<String>,
}

pub(super) async fn view(
    State(app): State<App>,
    Session(id): Session,
    Query(query): Query<ViewQuery>,
) -> Result<Response, Problem> {
    let head = app.sessions.row(&id).await?.head;
    let messages = page_size(query.messages, WINDOW, MAX_WINDOW)?;
    let view = app.reader.views().of(&id);
    if let Some(before) = &query.before
        && !view.has_message(head, before).await?
    {
        let detail = format!("there is no message {before:?} in this view; start again without `before`");
        return Err(Problem::new(StatusCode::BAD_REQUEST, "bad_cursor", detail));
    }
    let window = Window { messages, before: query.before, content: true };
    let json = view.snapshot(head, &window).await?;
    Ok(([(header::CONTENT_TYPE, "application/json")], json).into_response())
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct FilesQuery {
    /// Only this one.
    path: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Files {
    /// The newest change first; without those that are as they were.
    files: Vec<ChangedFile>,
}

pub(super) async fn files(
    State(app): State<App>,
    Session(id): Session,
    Query(query): Query<FilesQuery>,
) -> Result<Json<Files>, Problem> {
    let head = app.sessions.row(&id).await?.head;
    let view = app.reader.views().of(&id);
    Ok(Json(Files { files: view.files(head, query.path.as_deref()).await? }))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct StreamQuery {
    /// The position of the view the client holds.
    after: Option<u64>,
    /// How many messages a snapshot has.
    messages: Option<usize>,
}

pub(super) async fn follow(
    State(app): State<App>,
    Session(id): Session,
    Query(query): Query<StreamQuery>,
    headers: axum::http::HeaderMap,
) -> Result<Response, Problem> {
    let after = cursor(query.after, &headers)?.map(|position| position.0);
    Ok(reader::sse(live(&app, &id, StreamQuery { after, ..query }).await?, reader::GREETING, ""))
}

/// A stream of a view, from where the client is.
pub(super) async fn live(app: &App, id: &SessionId, query: StreamQuery) -> Result<LiveView, Problem> {
    let head = app.sessions.row(id).await?.head;
    let cursor = query.after.map(Seq);
    if cursor.is_some_and(|cursor| cursor > head) {
        let detail = format!("the cursor is after the head {head}; start again without `after`");
        return Err(Problem::new(StatusCode::BAD_REQUEST, "bad_cursor", detail));
    }
    let window = Window { messages: page_size(query.messages, WINDOW, MAX_WINDOW)?, ..Window::default() };
    let following = app.reader.admit()?;
    let view = app.reader.views().of(id);
    view.prepare(head, &window).await?;
    Ok(LiveView::new(view, app.reader.source(id, head, following), cursor, window))
}
