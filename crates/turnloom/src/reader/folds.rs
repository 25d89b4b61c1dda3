//! Folds that do not depend on who reads: kept once per session, shared, and brought forward instead of begun again.
//!
//! A fold is kept at the newest position that was needed, before the latest turns (a client that reconnects wants a turn from its beginning), and at
//! positions that paging readers have reached. If none fits, the log is folded from its beginning: all of this is only a cache and may be dropped at
//! any time.

use std::any::{Any, TypeId};
use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::Arc;

use tokio::sync::Semaphore;
use turnloom_core::event::{Event, Record};
use turnloom_core::id::{Seq, SessionId, TurnId};
use turnloom_core::projection::{Muted as _, Projection};
use turnloom_core::time::Timestamp;

use crate::log::{self, Log, SessionRow};
use crate::sync::Locked;

/// How much all folds together may take. The ones that were not used for longest go first.
const MAX_BYTES: usize = 64 << 20;

/// How many there may be, however small they are.
const MAX_FOLDS: usize = 1_024;

/// Turns before which a fold is kept.
const MAX_TURN_PLACES: usize = 2;

/// Places of readers who page.
const MAX_PAGING_PLACES: usize = 4;

/// Folds that may be far behind and brought forward at once, and how far that is.
const LONG_AT_ONCE: usize = 4;
const LONG_EVENTS: u64 = 4_096;

/// A projection that can be shared: it is the same for everybody up to where a reader begins.
pub trait Shared: Projection + Clone + Default + Sync + 'static {}

impl<P: Projection + Clone + Default + Sync + 'static> Shared for P {}

/// A fold, and where in the log it stands.
#[derive(Debug, Clone, Default)]
pub struct Place<P> {
    pub seq: Seq,
    /// The turn that the next event begins, if it begins one.
    pub before: Option<TurnId>,
    pub fold: P,
}

/// All of them. Cloning shares them.
#[derive(Debug, Clone)]
pub struct Folds(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    log: Log,
    /// The one that was used last stands last.
    entries: Locked<VecDeque<Entry>>,
    /// Permits for reading a long part of a log.
    long: Semaphore,
}

#[derive(Debug)]
struct Entry {
    key: Key,
    bytes: usize,
    /// A `SharedFold` of the key's type.
    fold: Arc<dyn Any + Send + Sync>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Key {
    session: SessionId,
    /// A session that took the name of a deleted one is another.
    created_at: Timestamp,
    kind: TypeId,
}

#[derive(Debug)]
struct SharedFold<P> {
    places: Locked<Places<P>>,
    /// Whose turn it is to read what is new; the others wait and find it done.
    reading: Semaphore,
}

#[derive(Debug, Default)]
struct Places<P> {
    newest: Place<P>,
    turn: Option<TurnId>,
    turns: VecDeque<Place<P>>,
    kept: VecDeque<Place<P>>,
}

impl Folds {
    pub(super) fn new(log: Log) -> Self {
        Self(Arc::new(Inner { log, entries: Locked::default(), long: Semaphore::new(LONG_AT_ONCE) }))
    }

    /// The furthest place that fits, of those up to a position at least; the beginning, where none does.
    pub async fn place<P: Shared>(
        &self,
        row: &SessionRow,
        upto: Seq,
        fits: impl Fn(&Place<P>) -> bool,
    ) -> Result<Place<P>, log::Error> {
        let shared = self.bring_forward::<P>(row, upto.min(row.head)).await?;
        let places = shared.places.lock();
        let all = places.turns.iter().chain(&places.kept).chain(std::iter::once(&places.newest));
        Ok(all.filter(|place| fits(place)).max_by_key(|place| place.seq).cloned().unwrap_or_default())
    }

    /// Asks a fold of the whole log, up to the head of this row at least.
    pub async fn ask<P: Shared, T>(&self, row: &SessionRow, question: impl FnOnce(&P) -> T) -> Result<T, log::Error> {
        let shared = self.bring_forward::<P>(row, row.head).await?;
        let places = shared.places.lock();
        Ok(question(&places.newest.fold))
    }

    /// Folds a copy on from its place, up to a position or until somebody has enough. What it tells is in `out`.
    pub async fn fold_on<P: Projection>(
        &self,
        row: &SessionRow,
        place: &mut Place<P>,
        upto: Seq,
        out: &mut P::Output,
        mut is_enough: impl FnMut(&mut P::Output) -> bool,
    ) -> Result<(), log::Error> {
        let (after, Place { seq, fold, .. }) = (place.seq, place);
        let apply = |record: Record| {
            *seq = record.seq;
            if let Ok(envelope) = record.decode() {
                fold.apply(&envelope, out);
            }
            if is_enough(out) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        self.0.log.scan(&row.id, after, upto.min(row.head), apply).await
    }

    /// Keeps the place that a reader has come to, for when it comes back.
    pub fn keep<P: Shared>(&self, row: &SessionRow, place: Place<P>) {
        let shared = self.entry::<P>(row);
        let mut places = shared.places.lock();
        if places.kept.len() >= MAX_PAGING_PLACES {
            places.kept.pop_front();
        }
        places.kept.push_back(place);
    }

    /// The session is gone.
    pub(super) fn forget(&self, id: &SessionId) {
        self.0.entries.lock().retain(|entry| entry.key.session != *id);
    }

    async fn bring_forward<P: Shared>(&self, row: &SessionRow, upto: Seq) -> Result<Arc<SharedFold<P>>, log::Error> {
        let shared = self.entry::<P>(row);
        if shared.places.lock().newest.seq >= upto {
            return Ok(shared);
        }
        // Never closed, so there is always a turn.
        let turn = shared.reading.acquire().await;
        let after = shared.places.lock().newest.seq;
        let is_long = upto.0.saturating_sub(after.0) > LONG_EVENTS;
        let _room = if is_long { self.0.long.acquire().await.ok() } else { None };
        let take = |records: &[Record]| {
            let mut places = shared.places.lock();
            for record in records {
                places.take(record);
            }
            Ok::<_, log::Error>(())
        };
        self.0.log.fold(&row.id, after, upto, take).await?;
        let bytes = shared.places.lock().bytes();
        self.set_size(row, TypeId::of::<P>(), bytes);
        drop(turn);
        Ok(shared)
    }

    /// The one that everybody shares, made if need be, and now the one that was used last.
    fn entry<P: Shared>(&self, row: &SessionRow) -> Arc<SharedFold<P>> {
        let key = Key { session: row.id.clone(), created_at: row.created_at, kind: TypeId::of::<P>() };
        let mut entries = self.0.entries.lock();
        let known = entries.iter().position(|entry| entry.key == key).and_then(|at| entries.remove(at));
        let known = known.and_then(|entry| Some((entry.bytes, entry.fold.downcast::<SharedFold<P>>().ok()?)));
        let (bytes, shared) = known.unwrap_or_else(|| (0, Arc::new(SharedFold::default())));
        entries.push_back(Entry { key, bytes, fold: Arc::clone(&shared) as _ });
        if entries.len() > MAX_FOLDS {
            entries.pop_front();
        }
        shared
    }

    /// Notes how much a fold takes, and lets go of others where that is too much. One that alone is too large is still used, and not kept.
    fn set_size(&self, row: &SessionRow, kind: TypeId, bytes: usize) {
        let mut entries = self.0.entries.lock();
        if let Some(entry) = entries.iter_mut().find(|entry| entry.key.session == row.id && entry.key.kind == kind) {
            entry.bytes = bytes;
        }
        let mut all: usize = entries.iter().map(|entry| entry.bytes).sum();
        while all > MAX_BYTES
            && let Some(oldest) = entries.pop_front()
        {
            all -= oldest.bytes;
        }
    }
}

impl<P: Shared> Default for SharedFold<P> {
    fn default() -> Self {
        let places = Places { newest: Place::default(), turn: None, turns: VecDeque::new(), kept: VecDeque::new() };
        Self { places: Locked::new(places), reading: Semaphore::new(1) }
    }
}

impl<P: Shared> Places<P> {
    fn take(&mut self, record: &Record) {
        // What cannot be read was written by a newer version.
        if let Ok(envelope) = record.decode() {
            // What is late of an older turn does not begin it.
            let may_begin =
                P::IS_READ_BY_TURN && matches!(envelope.event, Event::UserMessage(_) | Event::TurnStarted(_));
            if may_begin && envelope.turn_id.is_some() && envelope.turn_id != self.turn {
                self.turn.clone_from(&envelope.turn_id);
                if self.turns.len() >= MAX_TURN_PLACES {
                    self.turns.pop_front();
                }
                self.turns.push_back(Place { before: envelope.turn_id.clone(), ..self.newest.clone() });
            }
            self.newest.fold.apply(&envelope, &mut P::Output::muted());
        }
        self.newest.seq = record.seq;
    }

    fn bytes(&self) -> usize {
        let all = self.turns.iter().chain(&self.kept).chain(std::iter::once(&self.newest));
        all.map(|place| place.fold.weight()).sum()
    }
}
