//! Views that are being looked at: one fold per session, shared by everybody who looks, brought forward by whoever comes first. What a view is stands in
//! `turnloom_core::view`; here is only who holds one and for how long. A connection that follows one is in `live`; what is kept beside the log, so that
//! nobody has to fold a long one from its beginning, is in `stored`, and who sees to that in `saver`.

mod live;
mod saver;
mod stored;

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, MutexGuard, Weak};

use bytes::Bytes;
use tokio::sync::Semaphore;
use turnloom_core::changes::{ChangedFile, Changes};
use turnloom_core::event::Record;
use turnloom_core::id::{Seq, SessionId};
use turnloom_core::projection::{Muted as _, Projection as _};
use turnloom_core::view::{Fold, Op, Ops, Part, Window};

pub use self::live::LiveView;
pub use self::saver::save_views;
use self::stored::StoredView;
pub use self::stored::VIEW;
use crate::log::{self, Log};
use crate::sync::Locked;

/// How many changes are kept for readers that fall behind or reconnect. A reader that is further behind gets a snapshot.
const KEPT_STEPS: usize = 8_192;

/// When a whole log is folded, only the changes of its last events are kept: hardly anybody stood further back, and they cost as much as the view.
const KEPT_FROM_LOG: u64 = 256;

/// Views kept after the last reader has gone, so that going back and forth between sessions is quick.
const KEPT_VIEWS: usize = 8;

/// From this size on a snapshot that somebody else is still being sent is good enough, with the changes since: large ones are not made for each.
const LARGE_SNAPSHOT: usize = 256 * 1024;

/// How many windows of one view may have large snapshots at once. A reader of another window gets the most similar one.
const LARGE_WINDOWS: usize = 4;

/// All views. Cloning shares them.
#[derive(Debug, Clone)]
pub struct Views(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    log: Log,
    open: Locked<HashMap<SessionId, Weak<SharedView>>>,
    recent: Locked<VecDeque<Arc<SharedView>>>,
}

/// One session's view.
#[derive(Debug)]
pub struct SharedView {
    id: SessionId,
    log: Log,
    state: Locked<State>,
    /// Whose turn it is to read what is new; the others wait and find it done.
    reading: Semaphore,
}

#[derive(Debug, Default)]
struct State {
    fold: Fold,
    /// What is kept beside the log, as far as is known here.
    kept: StoredView,
    /// The latest changes, one entry per event.
    steps: VecDeque<(Seq, Vec<Op>)>,
    /// The newest snapshot of each window, as long as anybody is being sent it.
    made: Vec<Made>,
}

#[derive(Debug)]
struct Made {
    seq: Seq,
    window: Window,
    json: Weak<Vec<u8>>,
}

/// Bytes that are shared by all who are sent them.
struct Shared(Arc<Vec<u8>>);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// What a reader needs to be where the view is.
#[derive(Debug)]
pub enum Update {
    Nothing,
    Ops {
        seq: Seq,
        ops: Vec<Op>,
    },
    /// Perhaps not the newest: changes may follow at once.
    Snapshot {
        seq: Seq,
        json: Bytes,
    },
}

impl Views {
    pub fn new(log: Log) -> Self {
        Self(Arc::new(Inner { log, open: Locked::default(), recent: Locked::default() }))
    }

    pub fn of(&self, id: &SessionId) -> Arc<SharedView> {
        let view = {
            let mut open = self.0.open.lock();
            open.retain(|_, view| view.strong_count() > 0);
            let known = open.get(id).and_then(Weak::upgrade);
            known.unwrap_or_else(|| {
                let view = Arc::new(SharedView::new(id.clone(), self.0.log.clone()));
                open.insert(id.clone(), Arc::downgrade(&view));
                view
            })
        };
        let mut recent = self.0.recent.lock();
        recent.retain(|kept| !Arc::ptr_eq(kept, &view));
        recent.push_back(Arc::clone(&view));
        if recent.len() > KEPT_VIEWS {
            recent.pop_front();
        }
        view
    }

    /// The view of a session that somebody looks at, or did a moment ago.
    fn known(&self, id: &SessionId) -> Option<Arc<SharedView>> {
        self.0.open.lock().get(id).and_then(Weak::upgrade)
    }

    /// The session is gone; one with the same name would be another.
    pub fn forget(&self, id: &SessionId) {
        self.0.open.lock().remove(id);
        self.0.recent.lock().retain(|view| view.id != *id);
    }
}

impl SharedView {
    fn new(id: SessionId, log: Log) -> Self {
        Self { id, log, state: Locked::default(), reading: Semaphore::new(1) }
    }

    /// Brings the view to this position at least.
    pub async fn catch_up(&self, head: Seq) -> Result<(), log::Error> {
        if self.state().fold.seq() >= head {
            return Ok(());
        }
        // Never closed, so there is always a turn.
        let _turn = self.reading.acquire().await;
        self.begin(head).await;
        let skip_until = Seq(head.0.saturating_sub(KEPT_FROM_LOG));
        // It ends before where the log has lost its end.
        while self.state().fold.seq() < head && self.read_on(head, skip_until).await? {}
        self.check(head).await;
        Ok(())
    }

    /// Folds what the log has up to a position, or until something that is only stored is needed for that. Says whether there was anything.
    async fn read_on(&self, head: Seq, skip_until: Seq) -> Result<bool, log::Error> {
        let mut pages = self.log.pages(&self.id, self.state().fold.seq(), head);
        let mut page = pages.next().await?;
        let any = page.is_some();
        while let Some(records) = page {
            // The next page is read while this one is folded.
            let (next, folded) = tokio::join!(pages.next(), async { self.fold(&records, skip_until) });
            if let Err(part) = folded {
                self.restore(part).await;
                break;
            }
            page = next?;
        }
        Ok(any)
    }

    /// Folds records that follow what is known. Where something lies between, it has to be read first.
    pub fn take(&self, records: &[Record]) {
        let next = self.state().fold.seq().next();
        if records.first().is_some_and(|first| first.seq <= next) {
            // What needs something that is only stored is left to `catch_up`.
            let _rest = self.fold(records, Seq::ZERO);
        }
    }

    /// Folds what is new of these records, which follow what is known; what changes up to `skip_until` is not kept. Stops where a part is needed.
    fn fold(&self, records: &[Record], skip_until: Seq) -> Result<(), Part> {
        let mut state = self.state();
        for record in records {
            let next = state.fold.seq().next();
            if record.seq < next {
                continue; // Somebody else has folded it meanwhile.
            }
            if record.seq > next {
                // The log has lost what was here; the rest can still be read. Steps must not have a gap.
                state.fold.miss(Seq(record.seq.0 - 1));
                state.steps.clear();
            }
            let Ok(envelope) = record.decode() else {
                state.fold.miss(record.seq);
                state.steps.push_back((record.seq, Vec::new()));
                continue;
            };
            if let Some(part) = state.fold.missing_for(&envelope) {
                return Err(part);
            }
            if record.seq <= skip_until {
                // Steps must not have a gap.
                state.steps.clear();
                state.fold.apply(&envelope, &mut Ops::muted());
                continue;
            }
            let mut ops = Ops::default();
            state.fold.apply(&envelope, &mut ops);
            state.steps.push_back((record.seq, ops.take()));
            if state.steps.len() > KEPT_STEPS {
                state.steps.pop_front();
            }
        }
        Ok(())
    }

    /// Reads what is stored until nothing is missing.
    async fn complete(&self, head: Seq, missing: impl Fn(&Fold) -> Option<Part>) -> Result<(), log::Error> {
        loop {
            self.catch_up(head).await?;
            let Some(part) = missing(&self.state().fold) else { return Ok(()) };
            let _turn = self.reading.acquire().await;
            // Somebody else may have read it meanwhile.
            let part = missing(&self.state().fold).filter(|again| *again == part);
            if let Some(part) = part {
                self.restore(part).await;
            }
        }
    }

    /// Brings the view to this position at least, with what a window needs.
    pub async fn prepare(&self, head: Seq, window: &Window) -> Result<(), log::Error> {
        self.complete(head, |fold| fold.missing_in(window)).await
    }

    /// A window of the newest view, as it is sent.
    pub async fn snapshot(&self, head: Seq, window: &Window) -> Result<Bytes, log::Error> {
        self.prepare(head, window).await?;
        let mut state = self.state();
        let newest = state.fold.seq();
        Ok(state.snapshot(window, |seq| seq == newest).1)
    }

    /// Whether the view has this message.
    pub async fn has_message(&self, head: Seq, id: &str) -> Result<bool, log::Error> {
        let before = Window { before: Some(id.to_owned()), ..Window::default() };
        self.complete(head, |fold| fold.missing_in(&before)).await?;
        Ok(self.state().fold.has_message(id))
    }

    /// The files that are different now: all of them, or the one that is called so.
    pub async fn files(&self, head: Seq, path: Option<&str>) -> Result<Vec<ChangedFile>, log::Error> {
        self.complete(head, Fold::missing_files).await?;
        let state = self.state();
        let of = |changes: &Changes| match path {
            Some(path) => changes.file(path).into_iter().collect(),
            None => changes.files(),
        };
        Ok(state.fold.changes().map(of).unwrap_or_default())
    }

    /// What somebody at this position has to be told.
    pub fn since(&self, cursor: Option<Seq>, window: &Window) -> Update {
        let mut state = self.state();
        let seq = state.fold.seq();
        let first = state.steps.front().map(|(first, _)| *first);
        let reaches_back = |cursor: Seq| cursor <= seq && first.is_some_and(|first| first <= cursor.next());
        match cursor {
            Some(cursor) if cursor == seq => Update::Nothing,
            Some(cursor) if reaches_back(cursor) => {
                let new = state.steps.iter().skip_while(|(at, _)| *at <= cursor);
                let ops = new.flat_map(|(_, ops)| ops.iter().cloned()).collect();
                Update::Ops { seq, ops: turnloom_core::view::merge(ops) }
            }
            Some(_) | None => {
                let (seq, json) = state.snapshot(window, |made| made == seq || reaches_back(made));
                Update::Snapshot { seq, json }
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

impl State {
    /// A snapshot: the one that others are being sent, if it will do, or a new one.
    fn snapshot(&mut self, window: &Window, will_do: impl Fn(Seq) -> bool) -> (Seq, Bytes) {
        let (seq, json) = self.made_already(window, will_do).unwrap_or_else(|| {
            let seq = self.fold.seq();
            // Views have string keys and no custom values, so they always encode.
            let json = Arc::new(serde_json::to_vec(&self.fold.snapshot(window)).unwrap_or_default());
            self.made.retain(|made| made.window != *window);
            self.made.push(Made { seq, window: window.clone(), json: Arc::downgrade(&json) });
            (seq, json)
        });
        (seq, Bytes::from_owner(Shared(json)))
    }

    fn made_already(&mut self, window: &Window, will_do: impl Fn(Seq) -> bool) -> Option<(Seq, Arc<Vec<u8>>)> {
        let newest = self.fold.seq();
        self.made.retain(|made| made.json.strong_count() > 0);
        let good = |made: &Made| {
            let json = made.json.upgrade().filter(|_| will_do(made.seq))?;
            (made.seq == newest || json.len() >= LARGE_SNAPSHOT).then_some((made.seq, json))
        };
        if let Some(same) = self.made.iter().find(|made| made.window == *window) {
            return good(same);
        }
        let is_like = |made: &&Made| made.window.before == window.before && made.window.content == window.content;
        let large = self.made.iter().filter(is_like).filter_map(|made| Some((made, good(made)?)));
        let large: Vec<_> = large.filter(|(_, (_, json))| json.len() >= LARGE_SNAPSHOT).collect();
        if large.len() < LARGE_WINDOWS {
            return None;
        }
        let nearest = large.into_iter().min_by_key(|(made, _)| made.window.messages.abs_diff(window.messages));
        nearest.map(|(_, found)| found)
    }
}

#[cfg(test)]
mod tests;
