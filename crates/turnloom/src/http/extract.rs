//! Checked input of requests: a body, a query, an id. An error names the wrong field.

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tower_http::timeout::TimeoutError;
use turnloom_core::event::AGENT;
use turnloom_core::id::SessionId;

use super::problem::Problem;
use crate::scoped_tokens::Holder;

/// The longest name of a client.
const MAX_NAME: usize = 64;

/// A JSON body. An empty one counts as `{}` where nothing in it is required.
pub(super) struct Body<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let content_type = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let is_json = content_type.is_none_or(|value| {
            let essence = value.split(';').next().unwrap_or_default().trim();
            essence.eq_ignore_ascii_case("application/json") || essence.ends_with("+json")
        });
        let content_type = content_type.map(str::to_owned);
        let bytes = Bytes::from_request(request, state).await.map_err(|rejection| match rejection.status() {
            StatusCode::PAYLOAD_TOO_LARGE => Problem::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                "body_too_large",
                "the body is over the limit; see max_body_bytes",
            ),
            _ => unread(&rejection),
        })?;
        if !is_json && !bytes.is_empty() {
            let detail = format!("the body must be application/json, not {}", content_type.unwrap_or_default());
            return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", detail));
        }
        let bytes: &[u8] = if bytes.is_empty() { b"{}" } else { &bytes };
        let mut deserializer = serde_json::Deserializer::from_slice(bytes);
        let value = T::deserialize(&mut deserializer).and_then(|value| deserializer.end().map(|()| value));
        value.map(Body).map_err(|error| Problem::invalid(format!("the body is not right: {error}")))
    }
}

/// A body that did not come whole.
pub(super) fn unread(error: &(dyn std::error::Error + 'static)) -> Problem {
    if timed_out(error) {
        let detail = "the body did not come; see request_seconds";
        return Problem::new(StatusCode::REQUEST_TIMEOUT, "request_timeout", detail);
    }
    Problem::invalid(format!("the body could not be read: {error}"))
}

/// Whether the client fell silent in the middle of a body.
fn timed_out(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut causes = std::iter::successors(Some(error), |error| error.source());
    causes.any(<dyn std::error::Error>::is::<TimeoutError>)
}

/// The query of a request.
pub(super) struct Query<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let query = axum::extract::Query::from_request_parts(parts, state).await;
        query
            .map(|query| Query(query.0))
            .map_err(|rejection| Problem::invalid(format!("the query is not right: {}", rejection.body_text())))
    }
}

/// The session a path names.
pub(super) struct Session(pub(super) SessionId);

#[derive(Deserialize)]
struct SessionPath {
    id: String,
}

impl<S: Send + Sync> FromRequestParts<S> for Session {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Path(SessionPath { id }) = path(parts, state).await?;
        // What cannot be an id names nothing that exists.
        SessionId::parse(&id).map(Session).map_err(|_| {
            Problem::new(StatusCode::NOT_FOUND, "session_not_found", format!("there is no session {id:?}"))
        })
    }
}

/// Other members of a path.
pub(super) async fn path<T: DeserializeOwned + Send, S: Send + Sync>(
    parts: &mut Parts,
    state: &S,
) -> Result<Path<T>, Problem> {
    Path::from_request_parts(parts, state)
        .await
        .map_err(|rejection| Problem::new(StatusCode::NOT_FOUND, "not_found", rejection.body_text()))
}

/// Who asks, as it calls itself: what the log says of who did something.
pub(super) struct Client(pub(super) String);

impl<S: Send + Sync> FromRequestParts<S> for Client {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        if let Some(holder) = parts.extensions.get::<Holder>() {
            return Ok(Client(holder.name().to_owned()));
        }
        Self::named(parts.headers.get("turnloom-client").and_then(|name| name.to_str().ok()))
    }
}

impl Client {
    /// A client that does not give a name is called `api`.
    pub(super) fn named(name: Option<&str>) -> Result<Self, Problem> {
        match name.map(str::trim) {
            // What an agent did itself is not what somebody did to it.
            Some(AGENT) => Err(Problem::invalid(format!("the name {AGENT:?} is taken; a client needs another"))),
            None | Some("") => Ok(Client("api".to_owned())),
            Some(name) if name.len() <= MAX_NAME => Ok(Client(name.to_owned())),
            Some(_) => Err(Problem::invalid(format!("the name of a client has at most {MAX_NAME} characters"))),
        }
    }
}
