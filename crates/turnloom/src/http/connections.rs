//! Connections that have not authenticated yet. Their number is limited: when one more comes, the oldest is closed, so that unknown connections
//! compete only with each other. A session of the gateway may have several connections; all of them are known, or none is.

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, MutexGuard};

use crate::sync::Locked;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

/// The longest name of a session that is kept; names of the gateway are shorter.
const MAX_NAME: usize = 64;

/// Everybody who is connected. Cloning shares it.
#[derive(Debug, Clone)]
pub(super) struct ConnectionRegistry(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    limit: usize,
    /// Ends everybody.
    cut: CancellationToken,
    numbers: AtomicU64,
    present: Locked<Present>,
    /// Sessions of the gateway that may be open before they have shown a token.
    places: Arc<Semaphore>,
    has_told: AtomicBool,
}

#[derive(Debug, Default)]
struct Present {
    /// In the order they came.
    strangers: BTreeMap<u64, UnknownConnection>,
    /// Sessions of the gateway that have shown a token.
    known: HashSet<String>,
}

#[derive(Debug)]
struct UnknownConnection {
    end: CancellationToken,
    /// The session of the gateway that it speaks for.
    session: Option<String>,
}

/// One connection, for as long as any of its parts lives.
#[derive(Debug, Clone)]
pub(super) struct RegisteredConnection(Arc<Connected>);

#[derive(Debug)]
struct Connected {
    connections: ConnectionRegistry,
    number: u64,
    end: CancellationToken,
    has_requested: AtomicBool,
    is_known: AtomicBool,
}

impl ConnectionRegistry {
    pub(super) fn new(limit: usize, cut: CancellationToken) -> Self {
        Self(Arc::new(Shared {
            limit,
            cut,
            numbers: AtomicU64::new(0),
            present: Locked::default(),
            places: Arc::new(Semaphore::new(limit)),
            has_told: AtomicBool::new(false),
        }))
    }

    /// Somebody who is a stranger until they show that they are not.
    pub(super) fn enter(&self) -> RegisteredConnection {
        let (number, end) = (self.0.numbers.fetch_add(1, Ordering::Relaxed), self.0.cut.child_token());
        let is_full = {
            let strangers = &mut self.lock().strangers;
            strangers.insert(number, UnknownConnection { end: end.clone(), session: None });
            strangers.len() > self.0.limit
        };
        if is_full {
            self.end_oldest_unknown();
            if !self.0.has_told.swap(true, Ordering::Relaxed) {
                let limit = self.0.limit;
                tracing::warn!(limit, "many connections come without a token; the oldest of them are closed");
            }
        }
        let (has_requested, is_known) = (AtomicBool::new(false), AtomicBool::new(false));
        RegisteredConnection(Arc::new(Connected { connections: self.clone(), number, end, has_requested, is_known }))
    }

    pub(super) fn end_oldest_unknown(&self) {
        let oldest = self.lock().strangers.pop_first();
        if let Some((_, oldest)) = oldest {
            oldest.end.cancel();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Present> {
        self.0.present.lock()
    }
}

impl RegisteredConnection {
    /// It has shown that it may call.
    pub(super) fn mark_known(&self) {
        if !self.0.is_known.swap(true, Ordering::Relaxed) {
            self.0.connections.lock().strangers.remove(&self.0.number);
        }
    }

    /// It is one of the connections of a session of the gateway.
    pub(super) fn join_session(&self, session: &str) {
        let mut present = self.0.connections.lock();
        if present.known.contains(session) {
            present.strangers.remove(&self.0.number);
        } else if let Some(stranger) = present.strangers.get_mut(&self.0.number) {
            stranger.session = Some(session.chars().take(MAX_NAME).collect());
        }
    }

    /// A gateway session on this connection has authenticated: all connections of that session are known until it ends.
    #[cfg(feature = "socketio")]
    pub(super) fn mark_session_known(&self, session: &str) -> KnownSession {
        self.mark_known();
        let (connections, session) = (self.0.connections.clone(), session.to_owned());
        let mut present = connections.lock();
        present.strangers.retain(|_, stranger| stranger.session.as_ref() != Some(&session));
        present.known.insert(session.clone());
        drop(present);
        KnownSession { connections, session }
    }

    /// A place for a session of the gateway that has not shown a token; nothing when there is none left.
    pub(super) fn take_place(&self) -> Option<Place> {
        let permit = Arc::clone(&self.0.connections.0.places).try_acquire_owned().ok()?;
        Some(Place(Arc::new(Locked::new(Some(permit)))))
    }

    /// The head of a request is here.
    pub(super) fn request_received(&self) {
        self.0.has_requested.store(true, Ordering::Relaxed);
    }

    pub(super) fn has_requested(&self) -> bool {
        self.0.has_requested.load(Ordering::Relaxed)
    }

    pub(super) async fn ended(&self) {
        self.0.end.cancelled().await;
    }

    pub(super) fn end_token(&self) -> CancellationToken {
        self.0.end.clone()
    }
}

impl Drop for Connected {
    fn drop(&mut self) {
        self.connections.lock().strangers.remove(&self.number);
    }
}

/// A session of the gateway is known for as long as this lives.
#[cfg(feature = "socketio")]
#[derive(Debug)]
pub(super) struct KnownSession {
    connections: ConnectionRegistry,
    session: String,
}

#[cfg(feature = "socketio")]
impl Drop for KnownSession {
    fn drop(&mut self) {
        self.connections.lock().known.remove(&self.session);
    }
}

/// The place of a session that has not shown a token, until it does or is gone. It travels with the request that began the session.
#[derive(Debug, Clone)]
pub(super) struct Place(Arc<Locked<Option<OwnedSemaphorePermit>>>);

impl Place {
    #[cfg(feature = "socketio")]
    pub(super) fn leave(&self) {
        drop(self.0.lock().take());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_stranger_goes_and_nobody_who_is_known() {
        let connections = ConnectionRegistry::new(2, CancellationToken::new());
        let known = connections.enter();
        known.mark_known();
        let (first, second) = (connections.enter(), connections.enter());
        assert!(!first.0.end.is_cancelled());
        let third = connections.enter();
        let ended = [&known, &first, &second, &third].map(|registered| registered.0.end.is_cancelled());
        assert_eq!(ended, [false, true, false, false]);
        drop(second);
        let fourth = connections.enter();
        assert_eq!([&third, &fourth].map(|registered| registered.0.end.is_cancelled()), [false, false]);
    }

    #[cfg(feature = "socketio")]
    #[test]
    fn a_session_is_known_on_all_of_its_connections() {
        let connections = ConnectionRegistry::new(3, CancellationToken::new());
        let (first, second, stranger) = (connections.enter(), connections.enter(), connections.enter());
        second.join_session("session");
        stranger.join_session("another");
        let known_session = first.mark_session_known("session");
        let third = connections.enter();
        third.join_session("session");
        let count = |connections: &ConnectionRegistry| connections.lock().strangers.len();
        assert_eq!(count(&connections), 1, "only the stranger");
        drop(known_session);
        let late = connections.enter();
        late.join_session("session");
        assert_eq!(count(&connections), 2, "a session that is over speaks for nobody");
        drop((first, second, third, late, stranger));
        assert_eq!(count(&connections), 0);
    }

    #[test]
    fn a_place_is_free_again_when_it_is_left_or_gone() {
        let connections = ConnectionRegistry::new(1, CancellationToken::new());
        let registered = connections.enter();
        let place = registered.take_place().unwrap();
        assert!(registered.take_place().is_none());
        drop(place);
        assert!(registered.take_place().is_some());
    }
}
