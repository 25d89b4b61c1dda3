//! The session logs: append, read, follow. Whatever else the daemon shows is a fold of what is kept here.
//!
//! Not here: what an event means (bodies are bytes, stored and served as they came), who may append (the session that claimed the log
//! decides what to say; here only its epoch is checked), and what a foreign wire protocol makes of a log.

mod document;
mod error;
mod feed;
mod follow;
#[cfg(test)]
mod memory;
mod pages;
mod snapshot;
mod sqlite;
mod stats;
mod tail;

#[cfg(test)]
mod conformance;

use std::fmt;
use std::pin::Pin;

use bytes::Bytes;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use turnloom_core::blob::{Blob, BlobId};
pub use turnloom_core::event::Durability;
use turnloom_core::event::Record;
use turnloom_core::id::{Seq, SessionId};
use turnloom_core::runtime::external::Cursor;
use turnloom_core::summary::Summary;
use turnloom_core::time::Timestamp;

pub use document::{
    Document, DocumentChange, DocumentQuery, ExpectedRevision, KeyOrder, MAX_DOCUMENT_BYTES, MAX_DOCUMENT_CHANGES,
    MAX_DOCUMENT_KEY_BYTES, MAX_DOCUMENT_KIND_BYTES, MAX_DOCUMENT_WRITE_BYTES, Revision,
};
pub use error::Error;
pub use feed::{Change, Commit, Feed, FeedFollower, FeedHead, Position};
pub use follow::{Follower, Log};
pub use pages::Pages;
pub use snapshot::{MAX_SNAPSHOT_BYTES, Snapshot, SnapshotName};
pub use stats::Stats;
pub use tail::{Tail, Tails};

/// What a store promises: boxed, so that a store can be chosen when the daemon starts.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'a>>;

/// How large a page of records becomes before it is cut: what a slow reader costs, and what a fold holds at a time.
pub const PAGE_BYTES: usize = 1024 * 1024;

/// What a home of the log must do.
///
/// A write is durable when it is answered, and published to the `Tails` the store was opened with just before that. A caller may leave
/// without waiting: a write that was taken is carried out all the same.
pub trait Store: fmt::Debug + Send + Sync + 'static {
    /// The row, the first records and their blobs, or nothing. Writes nothing if the session is there already.
    fn create(&self, new: NewSession) -> Answer<'_, Created>;

    /// Makes the caller the only writer; an earlier writer is fenced from now on.
    fn claim(&self, id: &SessionId) -> Answer<'_, Claim>;

    /// Adds records after `expected_head` and answers the new head. A refused append leaves no trace.
    fn append(&self, append: Append) -> Answer<'_, Seq>;

    /// Records in ascending order: fewer than the limit where the log has no more, or where they are as large as a page may be. Nothing only at the
    /// end of the log.
    fn read(&self, id: &SessionId, range: ReadRange) -> Answer<'_, Vec<Record>>;

    fn session(&self, id: &SessionId) -> Answer<'_, Option<SessionRow>>;

    /// A page of sessions, the latest activity first.
    fn sessions(&self, query: SessionQuery) -> Answer<'_, SessionPage>;

    /// The sessions that a crash would have left with something open.
    fn unsettled(&self) -> Answer<'_, Vec<SessionId>>;

    /// The sessions that wait for a person, the latest activity first.
    fn waiting(&self) -> Answer<'_, Vec<SessionRow>>;

    /// Removes a session, its facts, and the blobs that no other session refers to. False if it was not there.
    fn delete(&self, id: &SessionId) -> Answer<'_, bool>;

    fn blob(&self, id: &BlobId, range: BlobRange) -> Answer<'_, Option<BlobSlice>>;

    /// The sessions that name a blob.
    fn blob_owners(&self, id: &BlobId) -> Answer<'_, Vec<BlobOwner>>;

    /// Keeps snapshots beside their logs, all of them or none. This is no append: nobody is told of it, and what was saved may be gone after a power
    /// cut. What is too large is left out, and what is older than what is kept, and what is not of a log that is there.
    fn save(&self, snapshots: Vec<Snapshot>) -> Answer<'_, ()>;

    /// Nothing if there is none, or if it is damaged.
    fn snapshot(&self, id: &SessionId, kind: &str, part: u32) -> Answer<'_, Option<Snapshot>>;

    /// The names of all that is kept beside a log, damaged or not.
    fn snapshots(&self, id: &SessionId) -> Answer<'_, Vec<SnapshotName>>;

    /// Removes every part of what one fold made.
    fn forget(&self, id: &SessionId, kind: &str) -> Answer<'_, ()>;

    /// Commits of all sessions after a position, in the order of commits. Those of sessions that are gone are left out; that they went is not.
    fn commits(&self, after: Position, limit: usize) -> Answer<'_, Vec<Commit>>;

    /// Changes documents, all of them or none, and answers the revision that they have now. A change that counts on another revision refuses the whole
    /// write, and so does one that is too large.
    fn write_documents(&self, changes: Vec<DocumentChange>) -> Answer<'_, Revision>;

    fn document(&self, kind: &'static str, key: &str) -> Answer<'_, Option<Document>>;

    /// The documents of a kind in the order of their keys: fewer than the limit where there are no more, or where they are as large as a page may be.
    /// Nothing only where there are no more.
    fn documents(&self, kind: &'static str, query: DocumentQuery) -> Answer<'_, Vec<Document>>;

    /// Waits until the log can no longer be written, and says why: the daemon must end then. `Error::Closed` after an ordinary close.
    fn failed(&self) -> Pin<Box<dyn Future<Output = Error> + Send + '_>>;

    fn stats(&self) -> &Stats;

    /// How many writes wait.
    fn pending(&self) -> usize;

    /// Carries out what was taken, tidies up and ends. Every later call is answered with `Error::Closed`.
    fn close(&self) -> Answer<'_, ()>;
}

/// What an answered write survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CrashSafety {
    /// A power cut: synced before it is visible.
    #[default]
    Power,
    /// The end of the daemon; synced at the end of each turn and for each ask.
    Process,
}

/// How often a session changed its writer; a writer that holds an older one is fenced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Epoch(pub u64);

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[derive(Debug, Clone)]
pub struct NewSession {
    pub id: SessionId,
    pub runtime: String,
    /// What it was asked to be; kept so that a repeated request can be told from a different one.
    pub params: Value,
    pub created_at: Timestamp,
    /// From position 1: a fork begins with its parent's facts.
    pub records: Vec<Record>,
    pub blobs: Vec<Blob>,
    pub summary: Summary,
    /// The parent of a fork, whose blobs the copied facts name.
    pub share_blobs_of: Option<SessionId>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Created {
    New,
    /// Nothing was written; the caller tells a retry from a conflict.
    Exists(Box<SessionRow>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Claim {
    pub epoch: Epoch,
    pub head: Seq,
}

#[derive(Debug, Clone)]
pub struct Append {
    pub session: SessionId,
    pub epoch: Epoch,
    /// The records stand right after it, without a gap.
    pub expected_head: Seq,
    pub records: Vec<Record>,
    pub blobs: Vec<Blob>,
    pub summary: Summary,
    pub at: Timestamp,
    pub durability: Durability,
    /// How far an agent that is numbered has been heard: written with the facts that it said, or neither is. As it was, if not given.
    pub agent: Option<Cursor>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadRange {
    /// The first `limit` records after a position.
    After { after: Seq, limit: usize },
    /// The last `limit` records before a position.
    Before { before: Seq, limit: usize },
}

/// What is known of a session without its log.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionRow {
    pub id: SessionId,
    pub runtime: String,
    pub params: Value,
    pub head: Seq,
    pub epoch: Epoch,
    pub created_at: Timestamp,
    /// When it was last appended to.
    pub updated_at: Timestamp,
    pub summary: Summary,
    /// How far an agent that is numbered has been heard.
    pub agent: Option<Cursor>,
    /// What of it cannot be understood. The rest is as it was stored, or empty.
    pub damaged: Option<String>,
}

/// A session that names a blob.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlobOwner {
    pub session: SessionId,
    pub runtime: String,
}

#[derive(Debug, Clone, Default)]
pub struct SessionQuery {
    /// Only the archived ones, or only the others.
    pub archived: bool,
    pub runtime: Option<String>,
    /// Part of a title or an id. ASCII letters match in either case.
    pub q: Option<String>,
    pub limit: usize,
    /// Where the page before ended.
    pub cursor: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct SessionPage {
    pub sessions: Vec<SessionRow>,
    /// The cursor of the next page, if there is one.
    pub next: Option<String>,
}

/// A part of a blob; the default is all of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BlobRange {
    pub start: u64,
    /// To the end, if not given.
    pub len: Option<u64>,
}

impl BlobRange {
    /// The part that a blob of this size has: where it begins and its length.
    fn within(self, size: u64) -> (u64, u64) {
        let start = self.start.min(size);
        let rest = size - start;
        (start, self.len.map_or(rest, |len| len.min(rest)))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlobSlice {
    /// Of the whole blob.
    pub size: u64,
    pub media_type: String,
    /// Where the part begins; the size, if the range began after the end.
    pub start: u64,
    pub bytes: Bytes,
}

/// Where a page of sessions ended: the order is by activity, then by age, so this names one place in it even as sessions move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct PageEnd {
    updated_at: i64,
    key: i64,
}

impl PageEnd {
    /// Before the first page.
    const START: Self = Self { updated_at: i64::MAX, key: i64::MAX };

    fn parse(cursor: Option<&str>) -> Result<Self, Error> {
        let Some(cursor) = cursor else { return Ok(Self::START) };
        let parse = |text: &str| text.parse::<i64>().map_err(|_| Error::BadCursor);
        let (updated_at, key) = cursor.split_once('.').ok_or(Error::BadCursor)?;
        Ok(Self { updated_at: parse(updated_at)?, key: parse(key)? })
    }

    fn cursor(self) -> String {
        format!("{}.{}", self.updated_at, self.key)
    }
}

/// The head after these records, if they stand right after the given one.
fn new_head(session: &SessionId, head: Seq, records: &[Record]) -> Result<Seq, Error> {
    records.iter().try_fold(head, |head, record| {
        let expected = head.next();
        let gap = || Error::Gap { session: session.clone(), expected, found: record.seq };
        (record.seq == expected).then_some(expected).ok_or_else(gap)
    })
}
