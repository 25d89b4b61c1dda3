//! Serves blobs: content that was too large for an event, whole or in part.

use std::time::Duration;

use axum::Json;
use axum::extract::{Extension, Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use schemars::JsonSchema;
use serde::Serialize;
use turnloom_core::blob::{BlobId, picture_type};

use super::App;
use super::dialect::history::Reading;
use super::pieces::{first_of_blob, rest_of_blob};
use super::problem::Problem;
use crate::log::{BlobOwner, BlobRange};
use crate::scoped_tokens::{Holder, Need};

pub(super) async fn blob(
    State(app): State<App>,
    Path(name): Path<String>,
    holder: Option<Extension<Holder>>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let unknown = || Problem::new(StatusCode::NOT_FOUND, "blob_not_found", format!("there is no blob {name:?}"));
    let id = BlobId::parse(&name).ok_or_else(unknown)?;
    if let Some(Extension(holder)) = holder.filter(|Extension(holder)| !holder.may(Need::Read(None))) {
        let owners = app.sessions.log().blob_owners(&id).await?;
        let may =
            |owner: &BlobOwner| holder.may(Need::Read(Some(owner.session.as_str()))) || holder.may_be(&owner.runtime);
        // Whether there is such a blob is not for somebody to know who may not read it.
        owners.iter().any(may).then_some(()).ok_or_else(unknown)?;
    }
    if wants_picture(&headers) {
        let reading = Reading::begin(&app).await;
        let slice = app.sessions.log().blob(&id, BlobRange::default()).await?.ok_or_else(unknown)?;
        if let Some((media_type, bytes)) = picture(&slice.bytes) {
            let common = common(&format!("{id}.picture"), media_type.to_owned());
            return Ok((StatusCode::OK, common, reading.body(bytes.into())).into_response());
        }
    }
    let asked = headers.get(header::RANGE).and_then(|value| value.to_str().ok()).and_then(Range::parse);
    let log = app.sessions.log();
    let range = match asked {
        None => BlobRange::default(),
        Some(Range::From { start, len }) => BlobRange { start, len },
        Some(Range::Last { len }) => {
            let size = log.blob(&id, BlobRange { start: 0, len: Some(0) }).await?.ok_or_else(unknown)?.size;
            BlobRange { start: size.saturating_sub(len), len: None }
        }
    };
    let first = first_of_blob(&app, &id, range).await?.ok_or_else(unknown)?;
    if asked.is_some() && first.bytes.is_empty() {
        let problem =
            Problem::new(StatusCode::RANGE_NOT_SATISFIABLE, "bad_range", format!("the blob has {} bytes", first.size));
        return Ok(([(header::CONTENT_RANGE, format!("bytes */{}", first.size))], problem).into_response());
    }
    let end = range.len.map_or(first.size, |len| first.start.saturating_add(len).min(first.size));
    let common = common(id.as_str(), safe(&first.media_type).to_owned());
    let length = [(header::CONTENT_LENGTH, (end - first.start).to_string())];
    let body = rest_of_blob(&app, id, &first, end);
    if asked.is_none() {
        return Ok((StatusCode::OK, common, length, body).into_response());
    }
    let part = [(header::CONTENT_RANGE, format!("bytes {}-{}/{}", first.start, end - 1, first.size))];
    Ok((StatusCode::PARTIAL_CONTENT, common, length, part, body).into_response())
}

/// How long an address works that needs no token.
const LINK_LIFETIME: Duration = Duration::from_mins(10);

/// A link that shows a blob to everybody who has the link.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct BlobLink {
    /// Relative to the daemon's address.
    path: String,
    /// After this many seconds it does not work any more.
    expires_in: u64,
}

pub(super) async fn link(State(app): State<App>, Path(name): Path<String>) -> Result<Json<BlobLink>, Problem> {
    let unknown = || Problem::new(StatusCode::NOT_FOUND, "blob_not_found", format!("there is no blob {name:?}"));
    let id = BlobId::parse(&name).ok_or_else(unknown)?;
    app.sessions.log().blob(&id, BlobRange { start: 0, len: Some(0) }).await?.ok_or_else(unknown)?;
    let path = app.access.sign(&format!("/api/blobs/{id}"), LINK_LIFETIME);
    Ok(Json(BlobLink { path, expires_in: LINK_LIFETIME.as_secs() }))
}

fn common(tag: &str, media_type: String) -> [(header::HeaderName, String); 7] {
    [
        (header::CONTENT_TYPE, media_type),
        (header::ACCEPT_RANGES, "bytes".to_owned()),
        // Named by its content, so it never changes.
        (header::CACHE_CONTROL, "private, max-age=31536000, immutable".to_owned()),
        (header::ETAG, format!("\"{tag}\"")),
        (header::VARY, "accept".to_owned()),
        // What an agent produced is never a page of ours.
        (header::CONTENT_SECURITY_POLICY, "sandbox; default-src 'none'".to_owned()),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff".to_owned()),
    ]
}

/// What a browser may take it for. Whatever could be run, or be a page, is only bytes.
fn safe(media_type: &str) -> &str {
    let essence = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match essence.as_str() {
        "text/plain" => "text/plain; charset=utf-8",
        "application/json" => "application/json",
        "image/png" => "image/png",
        "image/jpeg" => "image/jpeg",
        "image/gif" => "image/gif",
        "image/webp" => "image/webp",
        _ if essence.starts_with("text/") => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

/// Whether a page wants to show it: pictures come as base64 and are kept as they came, which no browser can draw.
fn wants_picture(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    accept.contains("image/") && !accept.contains("text/html")
}

/// The picture in a base64 text, if there is one, by its first bytes.
fn picture(text: &[u8]) -> Option<(&'static str, Vec<u8>)> {
    let bytes = BASE64_STANDARD.decode(text.trim_ascii()).ok()?;
    Some((picture_type(&bytes)?, bytes))
}

/// One range of bytes. Several at once are answered with all of it, as is what cannot be read: that is what HTTP asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Range {
    From { start: u64, len: Option<u64> },
    Last { len: u64 },
}

impl Range {
    fn parse(text: &str) -> Option<Self> {
        let (first, last) = text.strip_prefix("bytes=")?.split_once('-')?;
        match (first.trim(), last.trim()) {
            ("", last) => Some(Self::Last { len: last.parse().ok()? }),
            (first, "") => Some(Self::From { start: first.parse().ok()?, len: None }),
            (first, last) => {
                let (start, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
                Some(Self::From { start, len: Some(last.checked_sub(start)?.checked_add(1)?) })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Range;

    #[test]
    fn ranges_are_read_as_http_writes_them() {
        for (text, range) in [
            ("bytes=0-9", Some(Range::From { start: 0, len: Some(10) })),
            ("bytes=5-", Some(Range::From { start: 5, len: None })),
            ("bytes=-4", Some(Range::Last { len: 4 })),
            ("bytes=9-3", None),
            ("bytes=0-18446744073709551615", None),
            ("bytes=0-1,4-5", None),
            ("lines=1-2", None),
            ("bytes=-", None),
        ] {
            assert_eq!(Range::parse(text), range, "{text}");
        }
    }
}
