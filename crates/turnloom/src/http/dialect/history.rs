//! Answers that contain a whole session. Such an answer is as large as the session, so only some are built or sent at once, and a client that does
//! not read its answer loses it. Other large answers use the same permits. Their content is folded in `reader`.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use serde::Serialize;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::super::App;
use crate::sync::Locked;

/// Answers of whole logs that are in the making, or have not left.
pub(in super::super) const AT_ONCE: usize = 4;

/// Large pages of events that are in the making, or have not left.
pub(in super::super) const PAGES_AT_ONCE: usize = 8;

/// What is copied of an answer at a time; one that is not larger just leaves.
pub(in super::super) const PIECE: usize = 64 * 1024;

/// How long a client may take nothing of its answer.
const READ_TIMEOUT: Duration = Duration::from_secs(30);

/// The turn of one who makes a large answer, until it has left.
#[derive(Debug)]
pub(in super::super) struct Reading {
    app: App,
    turn: Option<OwnedSemaphorePermit>,
}

impl Reading {
    /// Waits until it is our turn to tell a whole log.
    pub(in super::super) async fn begin(app: &App) -> Self {
        Self::of(app, &app.histories).await
    }

    /// Waits until there is room for a page that is large.
    pub(in super::super) async fn page(app: &App) -> Self {
        Self::of(app, &app.pages).await
    }

    async fn of(app: &App, room: &Arc<Semaphore>) -> Self {
        // It is never closed.
        let turn = Arc::clone(room).acquire_owned().await.ok();
        Self { app: app.clone(), turn }
    }

    /// The answer. Our turn is over when it has left, or when nobody takes it.
    pub(super) fn answer(self, value: &impl Serialize) -> Response {
        // Values have string keys only, so they always encode.
        let body = serde_json::to_vec(value).unwrap_or_default();
        ([(header::CONTENT_TYPE, "application/json")], self.body(body.into())).into_response()
    }

    /// What is answered, in pieces. Our turn is over when the last has left, or when nobody takes them.
    pub(in super::super) fn body(self, body: Bytes) -> Body {
        if body.len() <= PIECE {
            return body.into();
        }
        let leaving = OutgoingAnswer(Arc::new(Locked::new(Some(Rest { body, at: 0, moved: true, _turn: self.turn }))));
        self.app.workers.spawn(leaving.clone().watch());
        let pieces = stream::unfold(leaving, |leaving| async move { Some((leaving.next()?, leaving)) });
        // The compression layer polls once more after the end, hence `fuse`.
        Body::from_stream(pieces.fuse())
    }
}

/// An answer on its way, and who watches it.
#[derive(Debug, Clone)]
struct OutgoingAnswer(Arc<Locked<Option<Rest>>>);

#[derive(Debug)]
struct Rest {
    body: Bytes,
    at: usize,
    /// Something of it was taken since somebody looked.
    moved: bool,
    _turn: Option<OwnedSemaphorePermit>,
}

impl OutgoingAnswer {
    fn next(&self) -> Option<Result<Bytes, std::io::Error>> {
        let mut held = self.0.lock();
        let Some(rest) = held.as_mut() else {
            return Some(Err(std::io::Error::new(std::io::ErrorKind::TimedOut, "nobody took this answer")));
        };
        // Copied, so that a piece that is stuck does not hold the whole.
        let piece = rest.body.get(rest.at..).map(|left| left.get(..PIECE).unwrap_or(left)).unwrap_or_default();
        let piece = Bytes::copy_from_slice(piece);
        (rest.at, rest.moved) = (rest.at + piece.len(), true);
        (!piece.is_empty()).then_some(Ok(piece))
    }

    /// Looks at an answer from time to time, until it has left or is given up.
    async fn watch(self) {
        let watched = Arc::downgrade(&self.0);
        drop(self);
        loop {
            tokio::time::sleep(READ_TIMEOUT).await;
            let Some(leaving) = watched.upgrade() else { return };
            if OutgoingAnswer(leaving).look() == Found::GivenUp {
                return;
            }
        }
    }

    /// Gives up an answer of which nothing was taken since the last look.
    fn look(&self) -> Found {
        let mut held = self.0.lock();
        if held.as_mut().is_some_and(|rest| std::mem::take(&mut rest.moved)) {
            return Found::Moving;
        }
        *held = None;
        Found::GivenUp
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Found {
    Moving,
    GivenUp,
}

/// Room for all who tell whole logs.
pub(in super::super) fn room() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(AT_ONCE))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaving(turn: OwnedSemaphorePermit) -> OutgoingAnswer {
        let rest = Rest { body: vec![b'x'; 3 * PIECE + 1].into(), at: 0, moved: true, _turn: Some(turn) };
        OutgoingAnswer(Arc::new(Locked::new(Some(rest))))
    }

    #[test]
    fn who_takes_nothing_loses_the_answer_and_its_turn() {
        let room = Arc::new(Semaphore::new(2));
        let [slow, stuck] = [(); 2].map(|()| leaving(room.clone().try_acquire_owned().unwrap()));
        assert_eq!((slow.look(), stuck.look()), (Found::Moving, Found::Moving), "they have only begun");
        assert!(matches!(slow.next(), Some(Ok(piece)) if piece.len() == PIECE));
        assert_eq!((slow.look(), stuck.look()), (Found::Moving, Found::GivenUp));
        assert_eq!(room.available_permits(), 1);
        assert!(matches!(stuck.next(), Some(Err(_))), "it does not look as if that were all");
        let rest: usize = std::iter::from_fn(|| slow.next()).map(|piece| piece.unwrap().len()).sum();
        assert_eq!(rest, 2 * PIECE + 1);
        drop(slow);
        assert_eq!(room.available_permits(), 2);
    }
}
