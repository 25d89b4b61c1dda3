//! Plain text on the native routes: `Accept: text/plain`.

use axum::http::{HeaderMap, header};
use axum::response::Response;
use turnloom_core::dialect::text::{PlainText, Scope};

use super::super::App;
use super::super::problem::Problem;
use super::{Telling, Wire};
use crate::log::SessionRow;

/// Whether text is what the client asks for.
pub(in super::super) fn is_wanted(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    accept.split(',').next().is_some_and(|first| first.trim().starts_with("text/plain"))
}

pub(in super::super) fn respond(app: &App, row: &SessionRow, scope: Scope) -> Result<Response, Problem> {
    Ok(Telling::of(app, row, PlainText::new(scope), Wire::Plain)?.response(&[]))
}
