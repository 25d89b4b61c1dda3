//! Read queries on one connection. There is no thread and no queue here.

use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, OptionalExtension as _, Params, Row};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;
use turnloom_core::blob::BlobId;
use turnloom_core::event::Record;
use turnloom_core::id::{Seq, SessionId};
use turnloom_core::summary::{SessionStatus, Summary};
use turnloom_core::time::Timestamp;

use super::steps::HIDDEN;
use super::{int, uint};
use crate::log::{
    BlobOwner, BlobRange, BlobSlice, Change, Commit, Epoch, Error, PAGE_BYTES, PageEnd, Position, ReadRange,
    SessionPage, SessionQuery, SessionRow,
};

/// How much of the file a connection maps instead of copying; address space, not memory.
const MMAP_BYTES: i64 = 256 * 1024 * 1024;

/// How long a connection waits for a lock. Nobody of ours holds one that long; a person with the file open in a shell may.
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// More than the statements there are, so that each is compiled once.
pub(super) const STATEMENTS: usize = 64;

const SESSION: &str = "SELECT key, id, runtime, params, head, epoch, created_at, updated_at, summary, title, archived,
            agent FROM session";

/// A connection that is asked.
#[derive(Debug)]
pub(crate) struct Reader {
    pub(super) connection: Connection,
}

impl Reader {
    /// Opens a database that `Db::open` has brought to the newest schema.
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        Self::connect(path).map_err(|cause| Error::open(path, cause))
    }

    fn connect(path: &Path) -> rusqlite::Result<Self> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        connection.pragma_update(None, "query_only", "ON")?;
        connection.pragma_update(None, "mmap_size", MMAP_BYTES)?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        Ok(Self { connection })
    }

    pub(crate) fn read(&self, id: &SessionId, range: ReadRange) -> Result<Vec<Record>, Error> {
        let records = self.records(id, range).map_err(|cause| Error::failed("read events", cause))?;
        if records.is_empty() && self.session(id)?.is_none() {
            return Err(Error::NotFound(id.clone()));
        }
        Ok(records)
    }

    // One statement sees one state of the database: a session that is deleted meanwhile cannot lend its key to another halfway, and an event that is
    // moved is not missed.
    fn records(&self, id: &SessionId, range: ReadRange) -> rusqlite::Result<Vec<Record>> {
        let (sql, bound, limit) = match range {
            ReadRange::After { after, limit } => (
                "SELECT seq, body FROM event WHERE session = (SELECT key FROM session WHERE id = ?1) AND seq > ?2
                 UNION ALL
                 SELECT seq, body FROM journal WHERE session = (SELECT key FROM session WHERE id = ?1) AND seq > ?2
                 ORDER BY seq LIMIT ?3",
                after,
                limit,
            ),
            ReadRange::Before { before, limit } => (
                "SELECT seq, body FROM event WHERE session = (SELECT key FROM session WHERE id = ?1) AND seq < ?2
                 UNION ALL
                 SELECT seq, body FROM journal WHERE session = (SELECT key FROM session WHERE id = ?1) AND seq < ?2
                 ORDER BY seq DESC LIMIT ?3",
                before,
                limit,
            ),
        };
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query((id.as_str(), int(bound.0), int(limit as u64)))?;
        let (mut records, mut bytes) = (Vec::new(), 0);
        while bytes < PAGE_BYTES
            && let Some(row) = rows.next()?
        {
            let (seq, body) = (Seq(uint(row.get(0)?)), row.get_ref(1)?.as_bytes()?);
            bytes += body.len();
            records.push(match serde_json::from_slice::<IgnoredAny>(body) {
                Ok(_) => Record::new(seq, Bytes::copy_from_slice(body)),
                // One bad row is one bad event: it is shown as what it is, and the others as they are.
                Err(error) => Record::unreadable(seq, id, &error.to_string(), body),
            });
        }
        if let ReadRange::Before { .. } = range {
            records.reverse();
        }
        Ok(records)
    }

    /// Where the feed ends.
    pub(crate) fn newest_position(&self) -> Result<Position, Error> {
        self.connection
            .query_row("SELECT coalesce(max(position), 0) FROM feed", (), |row| Ok(Position(uint(row.get(0)?))))
            .map_err(|cause| Error::failed("read the feed", cause))
    }

    pub(crate) fn commits(&self, after: Position, limit: usize) -> Result<Vec<Commit>, Error> {
        self.feed(after, limit).map_err(|cause| Error::failed("read the feed", cause))
    }

    fn feed(&self, after: Position, limit: usize) -> rusqlite::Result<Vec<Commit>> {
        let sql = "SELECT position, after, feed.head, removed, coalesce(removed, id) FROM feed
                   LEFT JOIN session ON session.key = feed.session AND session.archived < ?3
                   WHERE position > ?1 AND coalesce(removed, id) IS NOT NULL ORDER BY position LIMIT ?2";
        self.rows(sql, (int(after.0), int(limit as u64), HIDDEN), |row| {
            let (after, head) = (Seq(uint(row.get(1)?)), Seq(uint(row.get(2)?)));
            let is_removed = row.get_ref(3)? != ValueRef::Null;
            let change = if is_removed { Change::Removed } else { Change::Appended { after, head } };
            let session = SessionId::trusted(text(row, 4)?);
            Ok(Commit { position: Position(uint(row.get(0)?)), session, change, records: None })
        })
    }

    pub(crate) fn session(&self, id: &SessionId) -> Result<Option<SessionRow>, Error> {
        self.find(id).map_err(|cause| Error::failed("read a session", cause))
    }

    fn find(&self, id: &SessionId) -> rusqlite::Result<Option<SessionRow>> {
        session_by_id(&self.connection, id)
    }

    pub(crate) fn sessions(&self, query: &SessionQuery) -> Result<SessionPage, Error> {
        let end = PageEnd::parse(query.cursor.as_deref())?;
        let sql = format!(
            "{SESSION} WHERE archived = ?1 AND (updated_at, key) < (?2, ?3) AND (?4 IS NULL OR runtime = ?4)
               AND (?5 IS NULL OR instr(lower(title), ?5) > 0 OR instr(lower(id), ?5) > 0)
             ORDER BY updated_at DESC, key DESC LIMIT ?6"
        );
        let q = query.q.as_ref().map(|q| q.to_ascii_lowercase());
        // One more than asked for, to know whether there is another page.
        let limit = int(query.limit as u64).saturating_add(1);
        let params = (query.archived, end.updated_at, end.key, query.runtime.as_deref(), q, limit);
        let mut rows = self
            .rows(&sql, params, |row| {
                let session = session_row(row)?;
                Ok((PageEnd { updated_at: session.updated_at.millis(), key: row.get(0)? }, session))
            })
            .map_err(|cause| Error::failed("list sessions", cause))?;
        let more = rows.len() > query.limit;
        rows.truncate(query.limit);
        let next = rows.last().filter(|_| more).map(|(end, _)| end.cursor());
        Ok(SessionPage { sessions: rows.into_iter().map(|(_, session)| session).collect(), next })
    }

    pub(crate) fn unsettled(&self) -> Result<Vec<SessionId>, Error> {
        let sql = "SELECT id FROM session WHERE at_rest = 0 ORDER BY key";
        self.rows(sql, (), |row| text(row, 0).map(SessionId::trusted))
            .map_err(|cause| Error::failed("list unsettled sessions", cause))
    }

    pub(crate) fn waiting(&self) -> Result<Vec<SessionRow>, Error> {
        let sql = format!("{SESSION} WHERE asks > 0 ORDER BY updated_at DESC, key DESC");
        self.rows(&sql, (), session_row).map_err(|cause| Error::failed("list waiting sessions", cause))
    }

    pub(crate) fn blob(&self, id: &BlobId, range: BlobRange) -> Result<Option<BlobSlice>, Error> {
        self.slice(id, range).map_err(|cause| Error::failed("read a blob", cause))
    }

    pub(crate) fn blob_owners(&self, id: &BlobId) -> Result<Vec<BlobOwner>, Error> {
        let sql = "SELECT session.id, session.runtime FROM blob JOIN blob_ref ON blob_ref.blob = blob.key
                   JOIN session ON session.key = blob_ref.session WHERE blob.id = ?1 AND session.archived < ?2 ORDER BY session.key";
        self.rows(sql, (id.as_str(), HIDDEN), |row| {
            Ok(BlobOwner { session: SessionId::trusted(text(row, 0)?), runtime: text(row, 1)? })
        })
        .map_err(|cause| Error::failed("read whose a blob is", cause))
    }

    fn slice(&self, id: &BlobId, range: BlobRange) -> rusqlite::Result<Option<BlobSlice>> {
        // The key is found and opened in one state of the database, for the reason given at `records`.
        let transaction = self.connection.unchecked_transaction()?;
        let found = transaction
            .prepare_cached("SELECT key, media_type FROM blob WHERE id = ?1")?
            .query_row([id.as_str()], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?)))
            .optional()?;
        let Some((key, media_type)) = found else { return Ok(None) };
        let blob = transaction.blob_open("main", "blob", "content", key, true)?;
        let size = blob.len() as u64;
        let (start, len) = range.within(size);
        // Both are at most the blob's length, which is a usize.
        let mut bytes = vec![0; usize::try_from(len).unwrap_or_default()];
        blob.read_at_exact(&mut bytes, usize::try_from(start).unwrap_or_default())?;
        Ok(Some(BlobSlice { size, media_type, start, bytes: bytes.into() }))
    }

    pub(super) fn one<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<Option<T>> {
        self.connection.prepare_cached(sql)?.query_row(params, read).optional()
    }

    pub(super) fn rows<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<Vec<T>> {
        self.connection.prepare_cached(sql)?.query_map(params, read)?.collect()
    }
}

pub(super) fn session_by_id(connection: &Connection, id: &SessionId) -> rusqlite::Result<Option<SessionRow>> {
    connection.prepare_cached(&format!("{SESSION} WHERE id = ?1"))?.query_row([id.as_str()], session_row).optional()
}

fn session_row(row: &Row<'_>) -> rusqlite::Result<SessionRow> {
    let (params, summary) = (json::<Value>(row, 3)?, json::<Summary>(row, 8)?);
    let wrong = |what: &str, error: &serde_json::Error| format!("its stored {what} cannot be read: {error}");
    let damaged = match (&params, &summary) {
        (Err(error), _) => Some(wrong("parameters", error)),
        (_, Err(error)) => Some(wrong("summary", error)),
        (Ok(_), Ok(_)) => None,
    };
    // What lists filter on has columns of its own.
    let known = Summary {
        title: text(row, 9)?,
        archived: row.get::<_, i64>(10)? == 1,
        status: SessionStatus::Damaged,
        at_rest: true,
        ..Summary::default()
    };
    Ok(SessionRow {
        id: SessionId::trusted(text(row, 1)?),
        runtime: text(row, 2)?,
        params: params.unwrap_or_default(),
        head: Seq(uint(row.get(4)?)),
        epoch: Epoch(uint(row.get(5)?)),
        created_at: Timestamp::from_millis(row.get(6)?),
        updated_at: Timestamp::from_millis(row.get(7)?),
        summary: if damaged.is_some() { known } else { summary.unwrap_or_default() },
        // One that cannot be read is none: the agent is asked to begin anew.
        agent: row.get_ref(11)?.as_bytes_or_null()?.and_then(|json| serde_json::from_slice(json).ok()),
        damaged,
    })
}

fn json<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<serde_json::Result<T>> {
    Ok(serde_json::from_slice(row.get_ref(column)?.as_bytes()?))
}

/// Text, even where some of it is not.
fn text(row: &Row<'_>, column: usize) -> rusqlite::Result<String> {
    Ok(String::from_utf8_lossy(row.get_ref(column)?.as_bytes()?).into_owned())
}
