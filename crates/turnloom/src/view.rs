//! Views that are being looked at: one fold per session, shared by everybody who looks, brought forward by whoever comes first. What a view is stands in
//! `turnloom_core::view`; here is only who holds one and for how long.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use serde_json::Value;
use turnloom_core::event::Record;
use turnloom_core::id::{Seq, SessionId};
use turnloom_core::view::{Fold, Op, Window};

use crate::log::{self, Log, ReadRange};

/// How much of a log is folded at a time.
const PAGE: usize = 4_096;

/// Changes kept for whoever falls behind or comes back. Who is further behind gets a snapshot.
const KEPT_STEPS: usize = 8_192;

/// When a whole log is folded, only the changes of its last events are kept: hardly anybody stood further back, and they cost as much as the view.
const KEPT_FROM_LOG: u64 = 256;

/// Views kept after the last reader has gone, so that going back and forth between sessions is quick.
const KEPT_VIEWS: usize = 8;

/// All views. Cloning shares them.
#[derive(Debug, Clone)]
pub struct Views(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    log: Log,
    open: Mutex<HashMap<SessionId, Weak<SharedView>>>,
    recent: Mutex<VecDeque<Arc<SharedView>>>,
}

/// One session's view.
#[derive(Debug)]
pub struct SharedView {
    id: SessionId,
    log: Log,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    fold: Fold,
    /// The latest changes, one entry per event.
    steps: VecDeque<(Seq, Vec<Op>)>,
}

/// What a reader needs to be where the view is.
#[derive(Debug)]
pub enum Update {
    Nothing,
    Ops { seq: Seq, ops: Vec<Op> },
    Snapshot { seq: Seq, snapshot: Value },
}

impl Views {
    pub fn new(log: Log) -> Self {
        Self(Arc::new(Inner { log, open: Mutex::default(), recent: Mutex::default() }))
    }

    pub fn of(&self, id: &SessionId) -> Arc<SharedView> {
        let view = {
            let mut open = lock(&self.0.open);
            open.retain(|_, view| view.strong_count() > 0);
            let known = open.get(id).and_then(Weak::upgrade);
            known.unwrap_or_else(|| {
                let (id, log) = (id.clone(), self.0.log.clone());
                let view = Arc::new(SharedView { id: id.clone(), log, state: Mutex::default() });
                open.insert(id, Arc::downgrade(&view));
                view
            })
        };
        let mut recent = lock(&self.0.recent);
        recent.retain(|kept| !Arc::ptr_eq(kept, &view));
        recent.push_back(Arc::clone(&view));
        if recent.len() > KEPT_VIEWS {
            recent.pop_front();
        }
        view
    }

    /// The session is gone; one with the same name would be another.
    pub fn forget(&self, id: &SessionId) {
        lock(&self.0.open).remove(id);
        lock(&self.0.recent).retain(|view| view.id != *id);
    }
}

impl SharedView {
    /// Brings the view to this position at least.
    pub async fn catch_up(&self, head: Seq) -> Result<(), log::Error> {
        let unheard = Seq(head.0.saturating_sub(KEPT_FROM_LOG));
        let mut page = Vec::new();
        loop {
            // The next page is read while this one is folded.
            let known = self.state().fold.seq();
            let after = page.last().map_or(known, |record: &Record| record.seq.max(known));
            let next = async {
                if after >= head {
                    return Ok(Vec::new());
                }
                self.log.read(&self.id, ReadRange::After { after, limit: PAGE }).await
            };
            let (next, ()) = tokio::join!(next, async { self.fold(&page, unheard) });
            page = next?;
            if page.is_empty() {
                return Ok(());
            }
        }
    }

    /// Folds records that follow what is known; others were folded by somebody else meanwhile.
    pub fn take(&self, records: &[Record]) {
        self.fold(records, Seq::ZERO);
    }

    /// Folds records; what changes up to `unheard` is not kept.
    fn fold(&self, records: &[Record], unheard: Seq) {
        let mut state = self.state();
        for record in records {
            if record.seq != state.fold.seq().next() {
                continue;
            }
            let Ok(envelope) = record.decode() else {
                state.fold.miss(record.seq);
                state.steps.push_back((record.seq, Vec::new()));
                continue;
            };
            if record.seq <= unheard {
                // Steps must not have a gap.
                state.steps.clear();
                state.fold.skip(&envelope);
                continue;
            }
            let ops = state.fold.step(&envelope);
            state.steps.push_back((record.seq, ops));
            if state.steps.len() > KEPT_STEPS {
                state.steps.pop_front();
            }
        }
    }

    pub fn snapshot(&self, window: &Window) -> Value {
        self.state().fold.snapshot(window)
    }

    pub fn has_message(&self, id: &str) -> bool {
        self.state().fold.root().children.iter().any(|message| message.id == id)
    }

    /// What somebody at this position has to be told.
    pub fn since(&self, cursor: Option<Seq>, window: &Window) -> Update {
        let state = self.state();
        let seq = state.fold.seq();
        let reaches_back = |cursor: Seq| state.steps.front().is_some_and(|(first, _)| *first <= cursor.next());
        match cursor {
            Some(cursor) if cursor == seq => Update::Nothing,
            Some(cursor) if cursor < seq && reaches_back(cursor) => {
                let new = state.steps.iter().skip_while(|(at, _)| *at <= cursor);
                let ops = new.flat_map(|(_, ops)| ops.iter().cloned()).collect();
                Update::Ops { seq, ops: turnloom_core::view::merge(ops) }
            }
            Some(_) | None => Update::Snapshot { seq, snapshot: state.fold.snapshot(window) },
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

/// Nothing here is left half changed by a panic.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
