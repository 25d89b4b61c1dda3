//! A session as a file, page by page: what it is, its events as they are stored, then the blobs they name. The form stands in `archive`.

use std::collections::BTreeMap;

use axum::extract::State;
use axum::response::Response;
use bytes::{BufMut as _, Bytes, BytesMut};
use futures_util::stream;
use turnloom_core::blob::{Blob, BlobId};
use turnloom_core::id::{Seq, SessionId};
use turnloom_core::summary::Summary;

use super::App;
use super::extract::Session;
use super::problem::Problem;
use super::wire::NDJSON;
use crate::archive::{FORMAT, Header, Params, blob_line, blobs_of};
use crate::log::{self, BlobRange, Pages};
use crate::reader::streamed;

/// Events that are read at a time.
const PAGE: usize = 1_024;

pub(super) async fn export(State(app): State<App>, Session(id): Session) -> Result<Response, Problem> {
    let row = app.sessions.row(&id).await?;
    let header = Header {
        turnloom_session: FORMAT,
        session_id: row.id,
        runtime: row.runtime,
        params: params(&row.summary),
        created_at: row.created_at,
        head: row.head,
    };
    let pages = app.sessions.log().pages(&id, Seq::ZERO, row.head);
    let file = File { app, id, pages, after: Seq::ZERO, head: row.head, blobs: BTreeMap::new() };
    let first = format!("{}\n", serde_json::to_string(&header).unwrap_or_default());
    let rest = stream::try_unfold(file, |mut file| async move {
        let piece = file.next().await.map_err(std::io::Error::other)?;
        Ok::<_, std::io::Error>(piece.map(|piece| (piece, file)))
    });
    let first = stream::once(async { Ok(Bytes::from(first)) });
    Ok(streamed(NDJSON, futures_util::StreamExt::chain(first, rest)))
}

/// What of a session's settings is shown, and so may leave the daemon: never its environment.
fn params(summary: &Summary) -> Params {
    let said = |text: Option<&String>| text.filter(|text| !text.is_empty()).cloned();
    Params {
        title: said(Some(&summary.title)),
        cwd: said(summary.cwd.as_ref()),
        model: said(summary.model.as_ref()),
        mode: said(summary.mode.as_ref()),
    }
}

/// What of a file is not written yet.
struct File {
    app: App,
    id: SessionId,
    pages: Pages,
    after: Seq,
    /// Where the file ends, whatever happens meanwhile.
    head: Seq,
    blobs: BTreeMap<BlobId, String>,
}

impl File {
    async fn next(&mut self) -> Result<Option<Bytes>, log::Error> {
        if self.after < self.head { self.events().await.map(Some) } else { self.blob().await }
    }

    async fn events(&mut self) -> Result<Bytes, log::Error> {
        // A session that was removed meanwhile has no more, and a file that ends in the middle is refused by its reader.
        let records = self.pages.next_of(PAGE).await?.ok_or_else(|| log::Error::NotFound(self.id.clone()))?;
        let mut piece = BytesMut::new();
        for record in records {
            if let Ok(envelope) = record.decode() {
                let named = blobs_of(&envelope.event).into_iter();
                self.blobs.extend(named.map(|blob| (blob.id.clone(), blob.media_type.clone())));
            }
            self.after = record.seq;
            piece.extend_from_slice(&record.json);
            piece.put_u8(b'\n');
        }
        Ok(piece.freeze())
    }

    async fn blob(&mut self) -> Result<Option<Bytes>, log::Error> {
        let Some((id, media_type)) = self.blobs.pop_first() else { return Ok(None) };
        let slice = self.app.sessions.log().blob(&id, BlobRange::default()).await?;
        let Some(slice) = slice else { return Err(log::Error::NotFound(self.id.clone())) };
        let line = blob_line(&Blob { id, media_type, content: slice.bytes });
        Ok(Some(format!("{line}\n").into()))
    }
}
