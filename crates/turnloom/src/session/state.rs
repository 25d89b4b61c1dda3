//! A session's state: taken from what is kept beside its log, brought up to date with the events since, and saved there again. The log decides: what
//! is kept is a shortcut, and whatever is odd about it is reason enough to do without.

use turnloom_core::id::{Seq, SessionId};
use turnloom_core::session::State;

use super::create::{check_end, fold};
use super::{Error, Sessions};
use crate::log::{Log, Snapshot};

/// What a session's state is called among what is kept beside its log.
pub const STATE: &str = "state";

/// A session that goes to rest saves its state after this many events; to fold fewer takes less than a millisecond.
const EVENTS_AT_REST: u64 = 256;

/// A session that goes on saves its state after this many, so that one whose daemon was killed has few more than these to fold.
const EVENTS_AWAKE: u64 = 4_096;

/// For so many bytes of the last one it waits for one event more, which is about as large: saving never writes much more than the log itself.
const BYTES_PER_EVENT: u64 = 256;

/// What is kept of a session's state; by default nothing.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Saved {
    seq: Seq,
    bytes: u64,
}

impl Saved {
    /// Whether a session with this head, which goes on, should save its state.
    pub(super) fn is_due(self, head: Seq) -> bool {
        self.since(head) >= EVENTS_AWAKE + self.bytes / BYTES_PER_EVENT
    }

    /// Whether one that goes to rest should.
    pub(super) fn is_due_at_rest(self, head: Seq) -> bool {
        self.since(head) >= EVENTS_AT_REST
    }

    fn since(self, head: Seq) -> u64 {
        head.0.saturating_sub(self.seq.0)
    }
}

impl Sessions {
    /// What the log of a session with this head says of it.
    pub(super) async fn load_state(&self, id: &SessionId, head: Seq) -> Result<(State, Saved), Error> {
        let (mut state, saved) = self.saved_state(id).await.unwrap_or_default();
        fold_to(self.log(), &mut state, id, head).await?;
        check_end(&state, id, head)?;
        if cfg!(debug_assertions) && saved.seq > Seq::ZERO {
            let mut whole = State::default();
            let folded = fold_to(self.log(), &mut whole, id, head).await;
            debug_assert!(folded.is_err() || whole == state, "the state saved of {id} is not what its log says");
        }
        Ok((state, saved))
    }

    /// The state that is kept, if there is one that can be used.
    async fn saved_state(&self, id: &SessionId) -> Option<(State, Saved)> {
        let kept = self.log().snapshot(id, STATE, 0).await.unwrap_or_else(|error| {
            tracing::warn!(session = %id, %error, "what is kept beside a log cannot be read");
            None
        });
        let kept = kept.filter(|kept| kept.version == State::VERSION)?;
        let state = State::load(&kept.bytes).ok().filter(|state| state.head == kept.seq)?;
        Some((state, Saved { seq: kept.seq, bytes: kept.bytes.len() as u64 }))
    }

    /// Keeps a state beside its log, which must have all of its events. Nobody needs it, so it is no failure if that cannot be.
    pub(super) fn save_state(&self, id: &SessionId, state: &State) -> (Saved, impl Future<Output = ()> + Send + use<>) {
        let stored = state.store();
        let bytes = stored.as_ref().map_or(0, Vec::len);
        let (log, id, seq) = (self.log().clone(), id.clone(), state.head);
        let saving = async move {
            let Ok(bytes) = stored.map(Into::into) else { return };
            let snapshot =
                Snapshot { session: id.clone(), kind: STATE.to_owned(), part: 0, version: State::VERSION, seq, bytes };
            if let Err(error) = log.save(vec![snapshot]).await {
                tracing::debug!(session = %id, %error, "a state was not saved");
            }
        };
        (Saved { seq, bytes: bytes as u64 }, saving)
    }

    /// Saves the state of a session that was made with a past.
    pub(super) async fn save_first_state(&self, id: &SessionId, state: &State) {
        if Saved::default().is_due_at_rest(state.head) {
            self.save_state(id, state).1.await;
        }
    }
}

/// Folds what a log has after a state, up to a position.
async fn fold_to(log: &Log, state: &mut State, id: &SessionId, head: Seq) -> Result<(), Error> {
    log.fold(id, state.head, head, |records| fold(state, id, records)).await
}
