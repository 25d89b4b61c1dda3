//! Reading a log as it grows. Attaching live, resuming after a break and replaying an old session are one loop with another first cursor.
//!
//! Not here: who commits and publishes (the store does), and what a reader makes of the records.

use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

use tokio::sync::watch;
use turnloom_core::event::Record;
use turnloom_core::id::{Seq, SessionId};

use super::sqlite::Sqlite;
use super::tail::Head;
use super::{CrashSafety, Error, Feed, ReadRange, Store, Tail, Tails};

/// The log: a store, and the tails it publishes to. Cloning shares both.
#[derive(Debug, Clone)]
pub struct Log {
    store: Arc<dyn Store>,
    tails: Tails,
}

impl Log {
    /// Opens the log of a data directory, and makes either if need be.
    pub fn open(data: &Path, safety: CrashSafety) -> Result<Self, Error> {
        let tails = Tails::default();
        let store = Sqlite::open(data, safety, tails.clone())?;
        Ok(Self::new(Arc::new(store), tails))
    }

    /// Whether a data directory has a log.
    pub fn exists(data: &Path) -> bool {
        Sqlite::exists(data)
    }

    /// Takes a store and the very tails it was opened with.
    pub(super) fn new(store: Arc<dyn Store>, tails: Tails) -> Self {
        Self { store, tails }
    }

    /// Follows a session's log from a position. Whether the session exists is found out by the first `next`.
    pub fn follow(&self, id: &SessionId, after: Seq) -> Follower {
        let tail = self.tails.hold(id);
        Follower { store: Arc::clone(&self.store), head: tail.watch(), tail, id: id.clone(), cursor: after }
    }

    /// The commits of all sessions.
    pub fn feed(&self) -> &Feed {
        self.tails.feed()
    }

    /// Keeps the ring of a live session warm between its readers.
    pub fn hold(&self, id: &SessionId) -> Tail {
        self.tails.hold(id)
    }
}

impl Deref for Log {
    type Target = dyn Store;

    fn deref(&self) -> &Self::Target {
        self.store.as_ref()
    }
}

/// A cursor in one log that can wait for more. It holds no records: a slow one blocks nobody and loses nothing.
#[derive(Debug)]
pub struct Follower {
    store: Arc<dyn Store>,
    tail: Tail,
    head: watch::Receiver<Head>,
    id: SessionId,
    cursor: Seq,
}

impl Follower {
    /// Waits until there are records after the cursor, takes up to `limit` of them and moves the cursor behind them.
    ///
    /// Cancel-safe: the cursor moves only when the records are handed over.
    ///
    /// Why nothing is lost: the tail was held *before* the store is asked for the head, and the store publishes *after* it commits. A
    /// commit that was published too early for this tail had been in the store before the question.
    pub async fn next(&mut self, limit: usize) -> Result<Vec<Record>, Error> {
        let limit = limit.max(1);
        loop {
            let head = *self.head.borrow_and_update();
            match head {
                Head::Gone => return Err(Error::NotFound(self.id.clone())),
                Head::Unknown => {
                    let row = self.store.session(&self.id).await?;
                    self.tail.raise_head(row.ok_or_else(|| Error::NotFound(self.id.clone()))?.head);
                    continue;
                }
                Head::At(head) if head > self.cursor => {
                    let records = match self.tail.after(self.cursor, limit) {
                        Some(records) => records,
                        None => self.store.read(&self.id, ReadRange::After { after: self.cursor, limit }).await?,
                    };
                    if let Some(last) = records.last() {
                        self.cursor = last.seq;
                        return Ok(records);
                    }
                    // Another session has taken the name of a deleted one, and word of the end is on its way.
                }
                Head::At(_) => {}
            }
            self.head.changed().await.map_err(|_| Error::Closed)?;
        }
    }

    /// The last position handed over.
    pub fn cursor(&self) -> Seq {
        self.cursor
    }

    /// The last position committed; the cursor, as long as nothing is known of it: before the first `next`.
    pub fn head(&self) -> Seq {
        match *self.head.borrow() {
            Head::At(head) => head,
            Head::Unknown | Head::Gone => self.cursor,
        }
    }
}
