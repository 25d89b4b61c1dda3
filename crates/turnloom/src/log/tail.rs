//! The end of each log that somebody looks at: its head, to wait for, and its last records, to take without asking the store.
//!
//! Not here: reading what the ring does not hold. A tail exists while a follower or a live session holds it and is forgotten with the last
//! of them, so a session at rest costs nothing.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Weak};

use tokio::sync::watch;
use turnloom_core::event::Record;
use turnloom_core::id::{Seq, SessionId};

use super::{Change, Commit, Feed, Position};
use crate::sync::Locked;

/// How many records a ring keeps: some pages, so that a reader that looks away for a moment still finds its place.
const RING_RECORDS: usize = 1024;

/// How many bytes a ring keeps, so that a thousand live sessions with large events stay within a gigabyte.
const RING_BYTES: usize = 1024 * 1024;

/// The tails of one store, shared by the store that publishes to them and the followers that wait on them.
#[derive(Debug, Clone, Default)]
pub struct Tails {
    held: Arc<Locked<HashMap<SessionId, Weak<Shared>>>>,
    /// For those who follow all sessions.
    feed: Feed,
}

impl Tails {
    /// Holds a session's tail. What is committed from now on reaches it; what was committed before is in the store already.
    pub fn hold(&self, id: &SessionId) -> Tail {
        let mut tails = self.held.lock();
        if let Some(shared) = tails.get(id).and_then(Weak::upgrade) {
            return Tail(shared);
        }
        let shared = Arc::new(Shared {
            id: id.clone(),
            home: Arc::downgrade(&self.held),
            ring: Locked::default(),
            head: watch::Sender::new(Head::Unknown),
        });
        tails.insert(id.clone(), Arc::downgrade(&shared));
        Tail(shared)
    }

    /// Shows committed records to those who wait. The store calls this after the commit and before it answers, in the order of commits.
    pub(super) fn publish(&self, position: Position, id: &SessionId, after: Seq, records: &[Record]) {
        let head = records.last().map_or(after, |last| last.seq);
        let tail = self.held.lock().get(id).and_then(Weak::upgrade);
        if let Some(tail) = tail.map(Tail).filter(|_| head > after) {
            tail.0.ring.lock().push(records);
            tail.raise_head(head);
        }
        let (session, change) = (id.clone(), Change::Appended { after, head });
        self.feed.publish(Commit { position, session, change, records: Some(records.into()) });
    }

    /// Ends the followers of a session that was deleted. A session of the same name that comes later gets a tail of its own.
    pub(super) fn end(&self, position: Position, id: &SessionId) {
        let tail = self.held.lock().remove(id).and_then(|tail| tail.upgrade());
        if let Some(tail) = tail {
            tail.head.send_replace(Head::Gone);
        }
        self.feed.publish(Commit { position, session: id.clone(), change: Change::Removed, records: None });
    }

    pub(super) fn feed(&self) -> &Feed {
        &self.feed
    }
}

/// A hold on one session's tail.
#[derive(Debug, Clone)]
pub struct Tail(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    id: SessionId,
    home: Weak<Locked<HashMap<SessionId, Weak<Shared>>>>,
    ring: Locked<Ring>,
    head: watch::Sender<Head>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Head {
    /// Nothing was committed since the tail is held; the store knows.
    Unknown,
    At(Seq),
    /// The session was deleted.
    Gone,
}

impl Tail {
    /// Takes over a head that was read from the store. It may be older or newer than what was published meanwhile: a head only moves up.
    pub(super) fn raise_head(&self, seq: Seq) {
        self.0.head.send_if_modified(|head| {
            let is_new = match *head {
                Head::Unknown => true,
                Head::At(known) => seq > known,
                Head::Gone => false,
            };
            if is_new {
                *head = Head::At(seq);
            }
            is_new
        });
    }

    pub(super) fn watch(&self) -> watch::Receiver<Head> {
        self.0.head.subscribe()
    }

    /// Up to `limit` records after a position, if the ring reaches back that far.
    pub(super) fn after(&self, after: Seq, limit: usize) -> Option<Vec<Record>> {
        self.0.ring.lock().after(after, limit)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let Some(home) = self.home.upgrade() else { return };
        let mut tails = home.lock();
        // Somebody may have come between the last hold's end and this line, and made a tail anew: that one stays.
        if tails.get(&self.id).is_some_and(|tail| tail.strong_count() == 0) {
            tails.remove(&self.id);
        }
    }
}

/// The last records of a log, without a gap.
#[derive(Debug, Default)]
struct Ring {
    records: VecDeque<Record>,
    bytes: usize,
}

impl Ring {
    fn push(&mut self, records: &[Record]) {
        for record in records {
            if self.records.back().is_some_and(|last| last.seq.next() != record.seq) {
                self.records.clear();
                self.bytes = 0;
            }
            self.bytes += record.json.len();
            self.records.push_back(record.clone());
        }
        while self.records.len() > RING_RECORDS || self.bytes > RING_BYTES {
            let Some(oldest) = self.records.pop_front() else { return };
            self.bytes -= oldest.json.len();
        }
    }

    fn after(&self, after: Seq, limit: usize) -> Option<Vec<Record>> {
        let first = self.records.front()?.seq;
        let skip = usize::try_from(after.next().0.checked_sub(first.0)?).ok()?;
        (skip < self.records.len()).then(|| self.records.iter().skip(skip).take(limit).cloned().collect())
    }
}

#[cfg(test)]
mod tests;
