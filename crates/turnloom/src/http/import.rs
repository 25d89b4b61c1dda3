//! A session from a file: checked, then stored as it came. It is not woken; whoever talks to it does that.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use http_body_util::{BodyExt as _, Limited};
use schemars::JsonSchema;
use serde::Deserialize;
use turnloom_core::event::{Record, readdress};
use turnloom_core::id::SessionId;

use super::App;
use super::extract::Query;
use super::problem::Problem;
use super::sessions::SessionView;
use crate::archive::{self, Archive};
use crate::log::{Created, NewSession};
use crate::session;

/// The largest file. A session with its blobs is often larger than any other body may be.
const MAX_FILE_BYTES: usize = 512 * 1024 * 1024;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ImportQuery {
    /// Another id than the one in the file.
    session_id: Option<String>,
}

pub(super) async fn import(
    State(app): State<App>,
    Query(query): Query<ImportQuery>,
    body: axum::body::Body,
) -> Result<Response, Problem> {
    let too_large = |_| Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", "the file is over the limit");
    let file = Limited::new(body, MAX_FILE_BYTES).collect().await.map_err(too_large)?.to_bytes();
    let archive = Archive::read(&file).map_err(|error| broken(&error))?;
    let id = query.session_id.as_deref().unwrap_or(archive.header.session_id.as_str());
    let id = SessionId::parse(id).map_err(|error| Problem::invalid(format!("`session_id`: {error}")))?;
    let renamed = |record: &Record| readdress(record, &id);
    // Under its own name every byte stays as it is.
    let records = if id == archive.header.session_id {
        archive.records
    } else {
        let records = archive.records.iter().map(renamed).collect::<Result<_, _>>();
        records.map_err(|error| Problem::invalid(error.to_string()))?
    };
    let new = NewSession {
        id: id.clone(),
        runtime: archive.header.runtime,
        params: archive.header.params,
        created_at: archive.header.created_at,
        records,
        blobs: archive.blobs,
        summary: archive.state.summary(),
        share_blobs_of: None,
    };
    match app.sessions.log().create(new).await? {
        Created::New => {
            let row = app.sessions.row(&id).await?;
            Ok((StatusCode::CREATED, Json(SessionView::of(&app, row))).into_response())
        }
        Created::Exists(_) => Err(session::Error::Conflict(id).into()),
    }
}

fn broken(error: &archive::Error) -> Problem {
    Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "broken_file", error.to_string())
}
