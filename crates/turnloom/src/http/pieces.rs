//! Sends large content in pieces. A piece is read only when the one before it was sent, so an answer costs one piece of memory, however slow the
//! client is.

use std::io;
use std::path::Path;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use futures_util::stream;
use tokio::fs::File;
use tokio::io::AsyncReadExt as _;
use turnloom_core::blob::BlobId;

use super::App;
use crate::log::{BlobRange, BlobSlice};
use crate::{log, regular_file};

/// What is read at a time.
pub(super) const PIECE: u64 = 256 * 1024;

/// The first piece of a part of a blob; the rest is asked for with [`rest_of_blob`].
pub(super) async fn first_of_blob(app: &App, id: &BlobId, range: BlobRange) -> Result<Option<BlobSlice>, log::Error> {
    let len = range.len.map_or(PIECE, |len| len.min(PIECE));
    app.sessions.log().blob(id, BlobRange { start: range.start, len: Some(len) }).await
}

/// A part of a blob that begins with this piece and ends before a place.
pub(super) fn rest_of_blob(app: &App, id: BlobId, first: &BlobSlice, end: u64) -> Body {
    let after = first.start + first.bytes.len() as u64;
    if after >= end {
        return first.bytes.clone().into();
    }
    let log = app.sessions.log().clone();
    let pieces = stream::try_unfold((after, Some(first.bytes.clone())), move |(at, begun)| {
        let (log, id) = (log.clone(), id.clone());
        async move {
            if let Some(first) = begun {
                return Ok(Some((first, (at, None))));
            }
            if at >= end {
                return Ok(None);
            }
            let range = BlobRange { start: at, len: Some(PIECE.min(end - at)) };
            let gone = || io::Error::new(io::ErrorKind::UnexpectedEof, "the blob is gone");
            let slice = log.blob(&id, range).await.map_err(io::Error::other)?.ok_or_else(gone)?;
            if slice.bytes.is_empty() {
                return Err(gone());
            }
            let at = at + slice.bytes.len() as u64;
            Ok(Some((slice.bytes, (at, None))))
        }
    });
    Body::from_stream(pieces)
}

/// All of a file, as large as it is now, and its size. What is not a file is refused, and nobody waits for it.
pub(super) async fn file(path: &Path) -> io::Result<(Body, u64)> {
    let path = path.to_owned();
    let opening = tokio::task::spawn_blocking(move || regular_file::open(&path));
    let file = opening.await.map_err(io::Error::other)??;
    let size = file.metadata()?.len();
    let pieces = stream::try_unfold((File::from_std(file), size), |(mut file, left)| async move {
        if left == 0 {
            return Ok(None);
        }
        let mut piece = BytesMut::with_capacity(usize::try_from(left.min(PIECE)).unwrap_or_default());
        let read = (&mut file).take(left.min(PIECE)).read_buf(&mut piece).await?;
        if read == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file was cut"));
        }
        Ok(Some((Bytes::from(piece), (file, left - read as u64))))
    });
    Ok((Body::from_stream(pieces), size))
}
