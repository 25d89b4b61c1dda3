//! Plain text on the native routes: `Accept: text/plain`.

use axum::http::{HeaderMap, header};
use axum::response::Response;
use turnloom_core::dialect::text::{PlainText, Scope};
use turnloom_core::id::Seq;

use super::super::App;
use super::super::problem::Problem;
use super::follow_after;
use crate::log::SessionRow;
use crate::reader::{self, Ids};

/// Whether text is what the client asks for.
pub(in super::super) fn is_wanted(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    accept.split(',').next().is_some_and(|first| first.trim().starts_with("text/plain"))
}

/// What is wanted stands after a position.
pub(in super::super) async fn respond(
    app: &App,
    row: &SessionRow,
    scope: Scope,
    after: Seq,
) -> Result<Response, Problem> {
    Ok(reader::text(follow_after::<PlainText>(app, row, scope, Ids::None, after).await?))
}
