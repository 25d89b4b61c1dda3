//! Every commit of every session, in commit order. A position in this feed is durable: a follower that comes back with one, even to another daemon
//! process, continues there and misses nothing.
//!
//! The store keeps the commits. Here are the newest of them, with their records, as long as somebody follows.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use tokio::sync::watch;
use turnloom_core::event::Record;
use turnloom_core::id::{Seq, SessionId};

use super::{Error, Log, ReadRange, Store};
use crate::sync::Locked;

/// How many commits are kept in memory for followers that fall behind for a moment. A follower that is further behind reads the store.
const RING_COMMITS: usize = 128;
const RING_BYTES: usize = 256 * 1024;

/// What comes many times a second and changes nothing but that the session was active.
const STREAMING_KINDS: [&str; 3] = ["delta", "thinking", "tool_progress"];

/// A place in the feed. Zero is before everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Position(pub u64);

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// One commit of one session.
#[derive(Debug, Clone, PartialEq)]
pub struct Commit {
    pub position: Position,
    pub session: SessionId,
    pub change: Change,
    /// What was appended, where it is at hand; `Log::records_of` finds it in any case.
    pub records: Option<Arc<[Record]>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Everything after one position up to another; perhaps nothing.
    Appended {
        after: Seq,
        head: Seq,
    },
    Removed,
}

/// How far the feed is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FeedHead {
    pub position: Position,
    /// The newest commit that was more than somebody talking on.
    pub notable: Position,
}

/// The end of the feed. Cloning shares it.
#[derive(Debug, Clone)]
pub struct Feed(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    ring: Locked<Ring>,
    head: watch::Sender<FeedHead>,
}

#[derive(Debug, Default)]
struct Ring {
    commits: VecDeque<Commit>,
    bytes: usize,
}

impl Default for Feed {
    fn default() -> Self {
        Self(Arc::new(Shared { ring: Locked::default(), head: watch::Sender::default() }))
    }
}

impl Feed {
    /// Where the store's feed ends when it is opened.
    pub(super) fn begin_at(&self, position: Position) {
        self.0.head.send_replace(FeedHead { position, notable: position });
    }

    /// Shows a commit to those who wait. The store calls this after the commit and before it answers, in the order of commits.
    pub(super) fn publish(&self, commit: Commit) {
        let position = commit.position;
        let talk = |record: &Record| STREAMING_KINDS.contains(&record.kind());
        let is_talk = commit.records.as_ref().is_some_and(|records| !records.is_empty() && records.iter().all(talk));
        let mut ring = self.0.ring.lock();
        if self.0.head.receiver_count() > 0 {
            ring.push(commit);
        } else {
            *ring = Ring::default();
        }
        drop(ring);
        self.0.head.send_modify(|head| {
            *head = FeedHead { position, notable: if is_talk { head.notable } else { position } };
        });
    }

    pub fn head(&self) -> FeedHead {
        *self.0.head.borrow()
    }

    /// To wait for commits.
    pub fn watch(&self) -> watch::Receiver<FeedHead> {
        self.0.head.subscribe()
    }

    fn after(&self, after: Position, limit: usize) -> Option<Vec<Commit>> {
        self.0.ring.lock().after(after, limit)
    }
}

impl Ring {
    fn push(&mut self, commit: Commit) {
        self.bytes += size(&commit);
        self.commits.push_back(commit);
        while self.commits.len() > RING_COMMITS || self.bytes > RING_BYTES {
            let Some(oldest) = self.commits.pop_front() else { return };
            self.bytes -= size(&oldest);
        }
    }

    fn after(&self, after: Position, limit: usize) -> Option<Vec<Commit>> {
        let first = self.commits.front()?.position;
        (first.0 <= after.0.saturating_add(1)).then(|| {
            let skip = self.commits.partition_point(|commit| commit.position <= after);
            self.commits.iter().skip(skip).take(limit).cloned().collect()
        })
    }
}

fn size(commit: &Commit) -> usize {
    commit.records.iter().flat_map(|records| records.iter()).map(|record| record.json.len()).sum()
}

/// A cursor in the feed that can wait for more.
#[derive(Debug)]
pub struct FeedFollower {
    log: Log,
    head: watch::Receiver<FeedHead>,
    cursor: Position,
}

impl FeedFollower {
    pub(super) fn new(log: Log, after: Position) -> Self {
        let head = log.feed().watch();
        Self { log, head, cursor: after }
    }

    /// Waits until there are commits after the cursor, takes up to `limit` of them and moves the cursor behind them.
    ///
    /// Cancel-safe: the cursor moves only when the commits are handed over.
    pub async fn next(&mut self, limit: usize) -> Result<Vec<Commit>, Error> {
        loop {
            let head = self.head.borrow_and_update().position;
            if head > self.cursor {
                let commits = self.log.commits(self.cursor, limit).await?;
                // The commits of a session that was removed are gone; its removal stands further on.
                if let Some(last) = commits.last() {
                    self.cursor = last.position;
                    return Ok(commits);
                }
            }
            self.head.changed().await.map_err(|_| Error::Closed)?;
        }
    }

    /// The last position handed over.
    pub fn cursor(&self) -> Position {
        self.cursor
    }
}

impl Log {
    /// Follows all sessions from a position.
    pub fn follow_all(&self, after: Position) -> FeedFollower {
        FeedFollower::new(self.clone(), after)
    }

    /// Up to `limit` commits after a position: the newest from memory, older ones from the store.
    pub async fn commits(&self, after: Position, limit: usize) -> Result<Vec<Commit>, Error> {
        match self.feed().after(after, limit.max(1)) {
            Some(commits) => Ok(commits),
            None => Store::commits(&**self, after, limit.max(1)).await,
        }
    }

    /// What a commit appended. Nothing if its session is gone by now.
    pub async fn records_of(&self, commit: &Commit) -> Result<Arc<[Record]>, Error> {
        if let Some(records) = &commit.records {
            return Ok(Arc::clone(records));
        }
        let Change::Appended { mut after, head } = commit.change else { return Ok(Arc::default()) };
        let mut records = Vec::new();
        while after < head {
            let limit = usize::try_from(head.0 - after.0).unwrap_or(usize::MAX);
            let page = match self.read(&commit.session, ReadRange::After { after, limit }).await {
                Err(Error::NotFound(_)) => break,
                page => page?,
            };
            let Some(last) = page.last() else { break };
            after = last.seq;
            records.extend(page);
        }
        Ok(records.into())
    }
}

#[cfg(test)]
mod tests;
