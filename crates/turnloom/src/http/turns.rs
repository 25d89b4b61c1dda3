//! Sends a message and streams its turn in one response: first `accepted`, then the events until `done`. If there will be no `done`, the last frame
//! is a `problem` that says why.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use turnloom_core::awaited::NoTurnReason;
use turnloom_core::command::Refusal;
use turnloom_core::dialect::text::Scope;
use turnloom_core::id::SessionId;

use super::App;
use super::dialect::text;
use super::extract::{Body, Client, Session};
use super::messages::{Send, accept};
use super::problem::Problem;
use crate::reader::{self, FollowedTurn, Frame, Unfinished};

pub(super) async fn send_and_follow(
    State(app): State<App>,
    Session(id): Session,
    Client(by): Client,
    headers: HeaderMap,
    Body(send): Body<Send>,
) -> Result<Response, Problem> {
    if text::is_wanted(&headers) {
        let before = app.sessions.row(&id).await?.head;
        let receipt = accept(&app, &id, by, send).await?;
        let row = app.sessions.row(&id).await?;
        let start = app.reader.start_of(&id, before, &receipt.message_id).await?;
        return text::respond(&app, &row, Scope::Answer(receipt.message_id), start).await;
    }
    Ok(reader::sse(follow(&app, &id, by, send).await?, reader::GREETING, ""))
}

/// Hands a message to its session, and follows what comes of it.
pub(super) async fn follow(app: &App, id: &SessionId, by: String, send: Send) -> Result<FollowedTurn, Problem> {
    let following = app.reader.admit()?;
    let before = app.sessions.row(id).await?.head;
    let receipt = accept(app, id, by, send).await?;
    let start = app.reader.start_of(id, before, &receipt.message_id).await?;
    let accepted = Frame::named("accepted", None, serde_json::to_string(&receipt).unwrap_or_default());
    let source = app.reader.source(id, start, following);
    Ok(FollowedTurn::new(source, (receipt.message_id, receipt.turn_id), accepted, problem))
}

/// The last frame of a turn that is not told to its end.
fn problem(why: Unfinished) -> Frame {
    let problem: Problem = match why {
        Unfinished::Lost(loss) => loss.into(),
        Unfinished::Closing => Refusal::ShuttingDown.into(),
        Unfinished::Gone(error) => error.into(),
    };
    Frame::named("problem", None, serde_json::to_string(&problem).unwrap_or_default())
}

impl From<NoTurnReason> for Problem {
    fn from(loss: NoTurnReason) -> Self {
        Self::new(StatusCode::CONFLICT, loss.code(), loss.to_string())
    }
}
