//! Imports a session from a file: the file is uploaded whole, then checked and stored. The session is not woken until somebody uses it.

use std::fs::File;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use http_body_util::BodyExt as _;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::io::AsyncWriteExt as _;
use turnloom_core::id::SessionId;

use super::App;
use super::extract::{Query, unread};
use super::problem::Problem;
use super::sessions::SessionView;
use crate::{log, private};

/// The largest file. A session with its blobs is often larger than any other body may be.
const MAX_FILE_BYTES: usize = 512 * 1024 * 1024;

/// How many files may be uploaded or wait for their import; each lies on the disk. Further requests are told to try again.
pub(super) const MAX_FILES: usize = 8;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ImportQuery {
    /// Another id than the one in the file.
    session_id: Option<String>,
}

pub(super) async fn import(
    State(app): State<App>,
    Query(query): Query<ImportQuery>,
    body: Body,
) -> Result<Response, Problem> {
    let parse = |id: &str| SessionId::parse(id).map_err(|error| Problem::invalid(format!("`session_id`: {error}")));
    let id = query.session_id.as_deref().map(parse).transpose()?;
    let Ok(_room) = app.imports.try_acquire() else {
        let detail = format!("{MAX_FILES} files are being imported; try again when one is done");
        return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "overloaded", detail));
    };
    let file = receive(&app, body).await?;
    let row = app.sessions.import(file, id).await?;
    Ok((StatusCode::CREATED, Json(SessionView::of(&app, row))).into_response())
}

/// Writes the uploaded file to the disk as it arrives. Only one file is read into memory at a time, and a slow upload delays nobody else.
async fn receive(app: &App, mut body: Body) -> Result<File, Problem> {
    let folder = app.data.as_path();
    let unkept = |cause| log::Error::io("keep a file in", folder, cause);
    let mut file = tokio::fs::File::from_std(private::unnamed(folder).map_err(unkept)?);
    let mut size = 0;
    while let Some(frame) = body.frame().await {
        let Ok(bytes) = frame.map_err(|error| unread(&error))?.into_data() else { continue };
        size += bytes.len();
        if size > MAX_FILE_BYTES {
            let detail = "the file is over the limit";
            return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", detail));
        }
        file.write_all(&bytes).await.map_err(unkept)?;
    }
    file.flush().await.map_err(unkept)?;
    Ok(file.into_std().await)
}
