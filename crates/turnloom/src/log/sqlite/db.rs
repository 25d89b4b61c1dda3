//! Writes in groups; each group is one transaction. There is no thread, no queue and no clock here, and nobody is notified, so the same code runs in
//! a simulation on `:memory:` and on disk.

use std::path::Path;

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, OpenFlags, OptionalExtension as _, ToSql, Transaction, TransactionBehavior};
use turnloom_core::blob::Blob;
use turnloom_core::event::Record;
use turnloom_core::id::{Seq, SessionId};
use turnloom_core::summary::Summary;

use super::journal::Placement;
use super::reader::{BUSY_TIMEOUT, Reader, STATEMENTS, session_by_id};
use super::steps::{self, BackgroundJob, Progress};
use super::{int, schema, uint};
use crate::log::{
    Append, Claim, CrashSafety, Created, Durability, Epoch, Error, NewSession, Position, SessionRow, new_head,
};

/// Pages kept in memory, in KiB when negative. A session writes to one page at a time, so this is room for several hundred that write at once;
/// more would only keep what nobody writes to any more.
const CACHE_KIB: i64 = -4 * 1024;

/// What is removed with the session itself, so that a small one is gone at once.
const STEPS_AT_ONCE: usize = 3;

/// What became of a session that is to be removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Removal {
    Unknown,
    Done(Position),
    /// It is out of sight; what it had, under this key, is still there.
    Begun(Position, i64),
}

/// What became of a session that is to be made.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum CreateResult {
    New(Position),
    Exists(Box<SessionRow>),
}

impl From<CreateResult> for Created {
    fn from(made: CreateResult) -> Self {
        match made {
            CreateResult::New(_) => Self::New,
            CreateResult::Exists(row) => Self::Exists(row),
        }
    }
}

/// Where an append stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Appended {
    pub head: Seq,
    pub position: Position,
}

/// The only connection that writes.
#[derive(Debug)]
pub(crate) struct Db {
    reader: Reader,
    safety: CrashSafety,
    /// What the connection is set to.
    sync: SyncMode,
}

/// When `SQLite` syncs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SyncMode {
    EachCommit,
    /// With the next commit that does, or the next checkpoint.
    Later,
}

impl Db {
    /// Opens a database, and makes or migrates it if need be.
    pub(crate) fn open(path: &Path, safety: CrashSafety) -> Result<Self, Error> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags).map_err(|cause| Error::open(path, cause))?;
        let db = Self::prepare(connection, path, safety)?;
        // From here on something is in the write-ahead log, so that it is missed when it is gone.
        schema::touch(&db.reader.connection).map_err(|cause| Error::open(path, cause))?;
        Ok(db)
    }

    /// A database that ends with this value.
    #[cfg(test)]
    pub(crate) fn memory() -> Result<Self, Error> {
        let path = Path::new(":memory:");
        let connection = Connection::open_in_memory().map_err(|cause| Error::open(path, cause))?;
        Self::prepare(connection, path, CrashSafety::Process)
    }

    fn prepare(mut connection: Connection, path: &Path, safety: CrashSafety) -> Result<Self, Error> {
        connection.busy_timeout(BUSY_TIMEOUT).map_err(|cause| Error::open(path, cause))?;
        schema::migrate(&mut connection, path)?;
        tune(&connection).map_err(|cause| Error::open(path, cause))?;
        Ok(Self { reader: Reader { connection }, safety, sync: SyncMode::EachCommit })
    }

    /// What a daemon that is gone did not finish.
    pub(super) fn unfinished(&self) -> Result<Vec<BackgroundJob>, Error> {
        let keys = steps::left_hidden(&self.reader.connection)
            .map_err(|cause| Error::failed("list hidden sessions", cause))?;
        let has_stale_feed: bool = self
            .reader
            .connection
            .query_row("SELECT EXISTS (SELECT 1 FROM feed WHERE removed IS NOT NULL)", (), |row| row.get(0))
            .map_err(|cause| Error::failed("read the feed", cause))?;
        let tidy = has_stale_feed.then_some(BackgroundJob::TidyFeed { after: 0 });
        Ok(keys.into_iter().map(BackgroundJob::Remove).chain(tidy).collect())
    }

    /// Questions to the same connection; it sees what was committed.
    pub(crate) fn reader(&self) -> &Reader {
        &self.reader
    }

    /// Starts a group. If that fails, every write of the group and its commit say why.
    pub(crate) fn begin(&mut self, durability: Durability) -> Group<'_> {
        let sync = match (self.safety, durability) {
            (CrashSafety::Power, _) | (CrashSafety::Process, Durability::Synced) => SyncMode::EachCommit,
            (CrashSafety::Process, Durability::Grouped) => SyncMode::Later,
        };
        self.begin_with(sync)
    }

    /// Starts a group that a power cut may take back, with nothing that came before it.
    pub(crate) fn begin_unsynced(&mut self) -> Group<'_> {
        self.begin_with(SyncMode::Later)
    }

    fn begin_with(&mut self, sync: SyncMode) -> Group<'_> {
        let transaction = self
            .set_sync(sync)
            .and_then(|()| Transaction::new(&mut self.reader.connection, TransactionBehavior::Immediate));
        let open = transaction.map_err(|cause| Error::failed("begin", cause));
        Group { open, events: 0, placement: Placement::BySession }
    }

    /// `SQLite` takes this setting between transactions only.
    fn set_sync(&mut self, wanted: SyncMode) -> rusqlite::Result<()> {
        let level = match wanted {
            SyncMode::EachCommit => "FULL",
            SyncMode::Later => "NORMAL",
        };
        if wanted != self.sync {
            self.reader.connection.pragma_update(None, "synchronous", level)?;
            self.sync = wanted;
        }
        Ok(())
    }

    /// Moves everything into the main file and empties the write-ahead log.
    pub(crate) fn checkpoint(&self) -> Result<(), Error> {
        self.reader
            .connection
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), |_| Ok(()))
            .map_err(|cause| Error::failed("checkpoint", cause))
    }
}

fn tune(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", "ON")?;
    connection.pragma_update(None, "cache_size", CACHE_KIB)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(())
}

/// Writes that are committed together. A refused write leaves no trace and the others go on; one that the database itself could not do
/// takes the whole group with it.
#[derive(Debug)]
pub(crate) struct Group<'a> {
    open: Result<Transaction<'a>, Error>,
    pub(super) events: u64,
    placement: Placement,
}

/// Why a write did not happen.
pub(super) enum Stop {
    /// It must not; nothing of it was written.
    Refused(Error),
    /// It could not; half of it may have been written.
    Broken(rusqlite::Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

impl From<rusqlite::Error> for Stop {
    fn from(error: rusqlite::Error) -> Self {
        Self::Broken(error)
    }
}

impl Group<'_> {
    /// A group that commits nothing, for this reason.
    pub(crate) fn broken(error: Error) -> Self {
        Self { open: Err(error), events: 0, placement: Placement::BySession }
    }

    /// Where what is appended from now on goes.
    pub(super) fn place(&mut self, placement: Placement) {
        self.placement = placement;
    }

    pub(crate) fn create(&mut self, new: &NewSession) -> Result<CreateResult, Error> {
        let made = self.write("create a session", |db| create(db, new))?;
        if let CreateResult::New(_) = made {
            self.events += new.records.len() as u64;
        }
        Ok(made)
    }

    pub(crate) fn claim(&mut self, id: &SessionId) -> Result<Claim, Error> {
        self.write("claim a session", |db| claim(db, id))
    }

    pub(crate) fn append(&mut self, append: &Append) -> Result<Appended, Error> {
        let placement = self.placement;
        let appended = self.write("append", |db| add(db, append, placement))?;
        self.events += append.records.len() as u64;
        Ok(appended)
    }

    /// Removes a session. What is left to remove afterwards, in steps, is in the answer.
    pub(crate) fn delete(&mut self, id: &SessionId) -> Result<Removal, Error> {
        let Some((key, position)) = self.hide(id)? else { return Ok(Removal::Unknown) };
        for _ in 0..STEPS_AT_ONCE {
            if self.remove_part(key)? == Progress::Done {
                return Ok(Removal::Done(position));
            }
        }
        Ok(Removal::Begun(position, key))
    }

    /// Makes the group durable, as a whole or not at all, and says how many events it added.
    pub(crate) fn commit(self) -> Result<u64, Error> {
        self.open?.commit().map_err(|cause| Error::failed("commit", cause))?;
        Ok(self.events)
    }

    #[cfg(test)]
    pub(super) fn connection(&self) -> &Connection {
        self.open.as_ref().unwrap()
    }

    pub(super) fn write<T>(
        &mut self,
        doing: &'static str,
        write: impl FnOnce(&Connection) -> Result<T, Stop>,
    ) -> Result<T, Error> {
        let transaction = self.open.as_ref().map_err(Clone::clone)?;
        write(transaction).map_err(|stop| match stop {
            Stop::Refused(error) => error,
            Stop::Broken(cause) => {
                let error = Error::failed(doing, cause);
                self.open = Err(error.clone());
                error
            }
        })
    }
}

fn create(db: &Connection, new: &NewSession) -> Result<CreateResult, Stop> {
    let head = new_head(&new.id, Seq::ZERO, &new.records)?;
    if let Some(row) = session_by_id(db, &new.id)? {
        return Ok(CreateResult::Exists(Box::new(row)));
    }
    let parent = new.share_blobs_of.as_ref().map(|parent| key_of(db, parent)).transpose()?;
    let key = insert_session(db, new)?;
    insert_events(db, key, &new.records, Placement::BySession)?;
    insert_blobs(db, key, &new.blobs)?;
    parent.map_or(Ok(()), |parent| share_blobs(db, key, parent))?;
    Ok(CreateResult::New(note(db, key, Seq::ZERO, head)?))
}

/// Adds a commit to the feed.
pub(super) fn note(db: &Connection, key: i64, after: Seq, head: Seq) -> rusqlite::Result<Position> {
    db.prepare_cached("INSERT INTO feed (session, after, head) VALUES (?1, ?2, ?3)")?
        .insert((key, int(after.0), int(head.0)))
        .map(|position| Position(uint(position)))
}

/// The row alone.
pub(super) fn insert_session(db: &Connection, new: &NewSession) -> rusqlite::Result<i64> {
    let summary = &new.summary;
    let head = new.records.last().map_or(Seq::ZERO, |last| last.seq);
    let key: i64 =
        db.prepare_cached("UPDATE last_key SET key = key + 1 RETURNING key")?.query_row((), |row| row.get(0))?;
    db.prepare_cached(
        "INSERT INTO session (key, id, runtime, params, created_at, updated_at, epoch, head,
                              status, title, archived, at_rest, asks, summary)
         VALUES (?12, ?1, ?2, ?3, ?4, ?4, 0, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
    )?
    .insert((
        new.id.as_str(),
        &new.runtime,
        new.params.to_string(),
        new.created_at.millis(),
        int(head.0),
        summary.status.as_str(),
        &summary.title,
        summary.archived,
        summary.at_rest,
        int(summary.asks.len() as u64),
        summary_json(summary)?,
        key,
    ))
}

pub(super) fn share_blobs(db: &Connection, key: i64, parent: i64) -> rusqlite::Result<()> {
    db.prepare_cached(
        "INSERT OR IGNORE INTO blob_ref (session, blob) SELECT ?1, blob FROM blob_ref WHERE session = ?2",
    )?
    .execute([key, parent])?;
    Ok(())
}

fn claim(db: &Connection, id: &SessionId) -> Result<Claim, Stop> {
    db.prepare_cached("UPDATE session SET epoch = epoch + 1 WHERE id = ?1 RETURNING epoch, head")?
        .query_row([id.as_str()], |row| Ok(Claim { epoch: Epoch(uint(row.get(0)?)), head: Seq(uint(row.get(1)?)) }))
        .optional()?
        .ok_or_else(|| Error::NotFound(id.clone()).into())
}

fn add(db: &Connection, append: &Append, placement: Placement) -> Result<Appended, Stop> {
    let head = new_head(&append.session, append.expected_head, &append.records)?;
    let summary = &append.summary;
    let key = db
        .prepare_cached(
            "UPDATE session SET head = ?4, updated_at = ?5, status = ?6, title = ?7, archived = ?8, at_rest = ?9,
                                asks = ?10, summary = ?11, agent = coalesce(?12, agent)
             WHERE id = ?1 AND epoch = ?2 AND head = ?3 RETURNING key",
        )?
        .query_row(
            (
                append.session.as_str(),
                int(append.epoch.0),
                int(append.expected_head.0),
                int(head.0),
                append.at.millis(),
                summary.status.as_str(),
                &summary.title,
                summary.archived,
                summary.at_rest,
                int(summary.asks.len() as u64),
                summary_json(summary)?,
                append.agent.as_ref().map(json).transpose()?,
            ),
            |row| row.get(0),
        )
        .optional()?;
    let Some(key) = key else { return Err(refusal(db, append)?.into()) };
    insert_events(db, key, &append.records, placement)?;
    insert_blobs(db, key, &append.blobs)?;
    Ok(Appended { head, position: note(db, key, append.expected_head, head)? })
}

/// Why an append did not match its session.
fn refusal(db: &Connection, append: &Append) -> rusqlite::Result<Error> {
    let session = append.session.clone();
    Ok(match session_by_id(db, &session)? {
        None => Error::NotFound(session),
        Some(row) if row.epoch != append.epoch => Error::Fenced { session, held: append.epoch, current: row.epoch },
        Some(row) => Error::HeadMoved { session, expected: append.expected_head, actual: row.head },
    })
}

pub(super) fn key_of(db: &Connection, id: &SessionId) -> Result<i64, Stop> {
    db.prepare_cached("SELECT key FROM session WHERE id = ?1")?
        .query_row([id.as_str()], |row| row.get(0))
        .optional()?
        .ok_or_else(|| Error::NotFound(id.clone()).into())
}

pub(super) fn insert_events(
    db: &Connection,
    session: i64,
    records: &[Record],
    placement: Placement,
) -> rusqlite::Result<()> {
    let mut insert = db.prepare_cached(placement.insert_statement(records))?;
    for record in records {
        insert.execute((session, int(record.seq.0), Utf8(&record.json)))?;
    }
    Ok(())
}

pub(super) fn insert_blobs(db: &Connection, session: i64, blobs: &[Blob]) -> rusqlite::Result<()> {
    for blob in blobs {
        db.prepare_cached(
            "INSERT INTO blob (id, media_type, content) VALUES (?1, ?2, ?3) ON CONFLICT (id) DO NOTHING",
        )?
        .execute((blob.id.as_str(), &blob.media_type, blob.content.as_ref()))?;
        db.prepare_cached("INSERT OR IGNORE INTO blob_ref (session, blob) SELECT ?1, key FROM blob WHERE id = ?2")?
            .execute((session, blob.id.as_str()))?;
    }
    Ok(())
}

fn summary_json(summary: &Summary) -> rusqlite::Result<String> {
    json(summary)
}

fn json(value: &impl serde::Serialize) -> rusqlite::Result<String> {
    serde_json::to_string(value).map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))
}

/// JSON, bound as text without looking at it again: an encoder wrote it, or it was checked.
pub(super) struct Utf8<'a>(pub(super) &'a [u8]);

impl ToSql for Utf8<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(ValueRef::Text(self.0)))
    }
}
