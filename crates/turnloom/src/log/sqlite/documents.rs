//! Writes and reads documents. A write is checked whole before the first of its changes is made, so that a refused one leaves no trace in its group.

use bytes::Bytes;
use rusqlite::{Connection, OptionalExtension as _, Row};

use super::db::{Group, Stop, Utf8};
use super::reader::Reader;
use super::{int, uint};
use crate::log::document::{check, expect};
use crate::log::{Document, DocumentChange, DocumentQuery, Error, KeyOrder, PAGE_BYTES, Revision};

impl Group<'_> {
    pub(crate) fn write_documents(&mut self, changes: &[DocumentChange]) -> Result<Revision, Error> {
        self.write("write a document", |db| write(db, changes))
    }
}

fn write(db: &Connection, changes: &[DocumentChange]) -> Result<Revision, Stop> {
    check(changes)?;
    for change in changes {
        expect(change, revision_of(db, change)?)?;
    }
    let revision: i64 = db
        .prepare_cached("UPDATE last_revision SET revision = revision + 1 RETURNING revision")?
        .query_row((), |row| row.get(0))?;
    for DocumentChange { kind, key, json, .. } in changes {
        match json {
            Some(json) => db
                .prepare_cached(
                    "INSERT INTO document (kind, key, revision, body) VALUES (?1, ?2, ?3, ?4)
                     ON CONFLICT (kind, key) DO UPDATE SET revision = excluded.revision, body = excluded.body",
                )?
                .execute((kind, key, revision, Utf8(json)))?,
            None => db.prepare_cached("DELETE FROM document WHERE kind = ?1 AND key = ?2")?.execute((kind, key))?,
        };
    }
    Ok(Revision(uint(revision)))
}

fn revision_of(db: &Connection, change: &DocumentChange) -> rusqlite::Result<Option<Revision>> {
    db.prepare_cached("SELECT revision FROM document WHERE kind = ?1 AND key = ?2")?
        .query_row((change.kind, &change.key), |row| row.get(0))
        .optional()
        .map(|found| found.map(|revision: i64| Revision(uint(revision))))
}

impl Reader {
    pub(crate) fn document(&self, kind: &str, key: &str) -> Result<Option<Document>, Error> {
        self.one("SELECT key, revision, body FROM document WHERE kind = ?1 AND key = ?2", (kind, key), document)
            .map_err(|cause| Error::failed("read a document", cause))
    }

    pub(crate) fn documents(&self, kind: &str, query: &DocumentQuery) -> Result<Vec<Document>, Error> {
        self.page(kind, query).map_err(|cause| Error::failed("list documents", cause))
    }

    fn page(&self, kind: &str, query: &DocumentQuery) -> rusqlite::Result<Vec<Document>> {
        let sql = match query.order {
            KeyOrder::Ascending => {
                "SELECT key, revision, body FROM document
                 WHERE kind = ?1 AND key >= ?2 AND key < ?3 AND (?4 IS NULL OR key > ?4) ORDER BY key LIMIT ?5"
            }
            KeyOrder::Descending => {
                "SELECT key, revision, body FROM document
                 WHERE kind = ?1 AND key >= ?2 AND key < ?3 AND (?4 IS NULL OR key < ?4) ORDER BY key DESC LIMIT ?5"
            }
        };
        let (first, end) = query.bounds();
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query((kind, first, end, &query.cursor, int(query.limit as u64)))?;
        let (mut documents, mut bytes) = (Vec::new(), 0);
        while bytes < PAGE_BYTES
            && let Some(row) = rows.next()?
        {
            let document = document(row)?;
            bytes += document.json.len();
            documents.push(document);
        }
        Ok(documents)
    }
}

fn document(row: &Row<'_>) -> rusqlite::Result<Document> {
    Ok(Document {
        key: row.get(0)?,
        revision: Revision(uint(row.get(1)?)),
        json: Bytes::copy_from_slice(row.get_ref(2)?.as_bytes()?),
    })
}

#[cfg(test)]
mod tests;
