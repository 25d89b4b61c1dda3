//! What was too large for an event, whole or in part.

use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use turnloom_core::blob::BlobId;

use super::App;
use super::problem::Problem;
use crate::log::BlobRange;

pub(super) async fn blob(
    State(app): State<App>,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let unknown = || Problem::new(StatusCode::NOT_FOUND, "blob_not_found", format!("there is no blob {name:?}"));
    let id = BlobId::parse(&name).ok_or_else(unknown)?;
    if wants_picture(&headers) {
        let slice = app.sessions.log().blob(&id, BlobRange::default()).await?.ok_or_else(unknown)?;
        if let Some((media_type, bytes)) = picture(&slice.bytes) {
            let common = common(&format!("{id}.picture"), media_type.to_owned());
            return Ok((StatusCode::OK, common, bytes).into_response());
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
    let slice = log.blob(&id, range).await?.ok_or_else(unknown)?;
    let common = common(id.as_str(), slice.media_type);
    if asked.is_none() {
        return Ok((StatusCode::OK, common, slice.bytes).into_response());
    }
    if slice.bytes.is_empty() {
        let problem =
            Problem::new(StatusCode::RANGE_NOT_SATISFIABLE, "bad_range", format!("the blob has {} bytes", slice.size));
        return Ok(([(header::CONTENT_RANGE, format!("bytes */{}", slice.size))], problem).into_response());
    }
    let last = slice.start + slice.bytes.len() as u64 - 1;
    let part = [(header::CONTENT_RANGE, format!("bytes {}-{last}/{}", slice.start, slice.size))];
    Ok((StatusCode::PARTIAL_CONTENT, common, part, slice.bytes).into_response())
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

/// Whether a page wants to show it: pictures come as base64 and are kept as they came, which no browser can draw.
fn wants_picture(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    accept.contains("image/") && !accept.contains("text/html")
}

/// The picture in a base64 text, if there is one, by its first bytes.
fn picture(text: &[u8]) -> Option<(&'static str, Vec<u8>)> {
    let bytes = BASE64_STANDARD.decode(text.trim_ascii()).ok()?;
    let kinds: [(&str, &[u8]); 4] =
        [("image/png", b"\x89PNG"), ("image/jpeg", b"\xff\xd8\xff"), ("image/gif", b"GIF8"), ("image/webp", b"RIFF")];
    let (media_type, _) = kinds.into_iter().find(|(_, first)| bytes.starts_with(first))?;
    Some((media_type, bytes))
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
