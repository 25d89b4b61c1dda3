//! Frames in time. A cut is an error of the body: the connection is closed without the end that HTTP has for it.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;

use super::Shared;
use crate::frame::Frame;

/// A body that plays these frames.
pub(super) fn body(frames: Vec<Frame>, shared: Arc<Shared>) -> Body {
    let frames = VecDeque::from(frames);
    Body::from_stream(stream::try_unfold((frames, shared), |(mut frames, shared)| async move {
        let sent = next(&mut frames, &shared).await?;
        Ok::<_, io::Error>(sent.map(|bytes| (bytes, (frames, shared))))
    }))
}

/// Waits for what must be waited for; an error if the server ends meanwhile.
pub(super) async fn wait(frames: Vec<Frame>, shared: &Shared) -> io::Result<()> {
    let mut frames = VecDeque::from(frames);
    while next(&mut frames, shared).await?.is_some() {}
    Ok(())
}

/// The next bytes, after the pauses before them.
async fn next(frames: &mut VecDeque<Frame>, shared: &Shared) -> io::Result<Option<Bytes>> {
    while let Some(frame) = frames.pop_front() {
        match frame {
            Frame::Send(text) => return Ok(Some(text.into())),
            Frame::Wait { ms } => unless_closing(shared, tokio::time::sleep(Duration::from_millis(ms))).await?,
            Frame::Gate { name } => unless_closing(shared, shared.gates.pass(&name)).await?,
            Frame::Cut => {
                // Whatever was said before leaves while nothing is ready; an error would throw it away.
                tokio::task::yield_now().await;
                return Err(cut());
            }
        }
    }
    Ok(None)
}

async fn unless_closing(shared: &Shared, pause: impl Future<Output = ()>) -> io::Result<()> {
    shared.closing.run_until_cancelled(pause).await.ok_or_else(cut)
}

fn cut() -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionAborted, "the script cuts the connection here")
}
