//! Saves and reads snapshots. A save is a background job: it is added to the next group, after the writes that somebody waits for, and has no sync of
//! its own.

use bytes::Bytes;
use rusqlite::{Connection, Row};
use tokio::sync::oneshot;
use turnloom_core::id::{Seq, SessionId};

use super::db::Group;
use super::reader::Reader;
use super::{int, uint};
use crate::log::{Error, Snapshot, SnapshotName};

/// Snapshots on their way.
pub(super) struct SnapshotSave {
    snapshots: Vec<Snapshot>,
    answer: oneshot::Sender<Result<(), Error>>,
    outcome: Result<(), Error>,
}

impl SnapshotSave {
    pub(super) fn new(snapshots: Vec<Snapshot>) -> (Box<Self>, oneshot::Receiver<Result<(), Error>>) {
        let (answer, wait) = oneshot::channel();
        (Box::new(Self { snapshots, answer, outcome: Ok(()) }), wait)
    }

    pub(super) fn step(&mut self, group: &mut Group<'_>) {
        self.outcome = group.save(&self.snapshots);
    }

    pub(super) fn settle(self, committed: &Result<u64, Error>) {
        let outcome = committed.clone().and(self.outcome);
        // A caller that left is not told.
        drop(self.answer.send(outcome));
    }
}

impl Group<'_> {
    pub(crate) fn save(&mut self, snapshots: &[Snapshot]) -> Result<(), Error> {
        self.write("save a snapshot", |db| {
            let fitting = snapshots.iter().filter(|snapshot| snapshot.fits());
            Ok(fitting.into_iter().try_for_each(|snapshot| save(db, snapshot))?)
        })
    }

    pub(crate) fn forget(&mut self, id: &SessionId, kind: &str) -> Result<(), Error> {
        self.write("remove a snapshot", |db| {
            db.prepare_cached(
                "DELETE FROM snapshot WHERE session = (SELECT key FROM session WHERE id = ?1) AND kind = ?2",
            )?
            .execute((id.as_str(), kind))?;
            Ok(())
        })
    }
}

fn save(db: &Connection, snapshot: &Snapshot) -> rusqlite::Result<()> {
    let Snapshot { session, kind, part, version, seq, bytes } = snapshot;
    // One that nobody can use, because of its version or because its log is shorter, is in nobody's way.
    db.prepare_cached(
        "INSERT INTO snapshot (session, kind, part, version, seq, checksum, bytes)
         SELECT key, ?2, ?3, ?4, ?5, ?6, ?7 FROM session WHERE id = ?1 AND head >= ?5
         ON CONFLICT (session, kind, part) DO UPDATE
           SET version = excluded.version, seq = excluded.seq, checksum = excluded.checksum, bytes = excluded.bytes
           WHERE excluded.version <> version OR excluded.seq >= seq
              OR seq > (SELECT head FROM session WHERE session.key = excluded.session)",
    )?
    .execute((session.as_str(), kind, part, version, int(seq.0), checksum(bytes), bytes.as_ref()))?;
    Ok(())
}

/// Removes some of the snapshots of a session that is hidden. Whether there were any.
pub(super) fn remove_some(db: &Connection, session: i64) -> rusqlite::Result<bool> {
    let removed = db
        .prepare_cached("DELETE FROM snapshot WHERE rowid IN (SELECT rowid FROM snapshot WHERE session = ?1 LIMIT 16)")?
        .execute([session])?;
    Ok(removed > 0)
}

impl Reader {
    pub(crate) fn snapshot(&self, id: &SessionId, kind: &str, part: u32) -> Result<Option<Snapshot>, Error> {
        let sql = "SELECT version, seq, checksum, bytes FROM snapshot JOIN session ON key = session
                   WHERE id = ?1 AND kind = ?2 AND part = ?3 AND seq <= head";
        let found = self.one(sql, (id.as_str(), kind, part), |row| {
            let bytes = row.get_ref(3)?.as_blob()?;
            let is_whole = row.get::<_, u32>(2)? == checksum(bytes);
            let snapshot = Snapshot {
                session: id.clone(),
                kind: kind.to_owned(),
                part,
                version: row.get(0)?,
                seq: Seq(uint(row.get(1)?)),
                bytes: Bytes::copy_from_slice(bytes),
            };
            Ok(is_whole.then_some(snapshot))
        });
        found.map(Option::flatten).map_err(|cause| Error::failed("read a snapshot", cause))
    }

    pub(crate) fn snapshots(&self, id: &SessionId) -> Result<Vec<SnapshotName>, Error> {
        let sql = "SELECT kind, part, version, seq FROM snapshot JOIN session ON key = session
                   WHERE id = ?1 ORDER BY kind, part";
        let name = |row: &Row<'_>| {
            Ok(SnapshotName { kind: row.get(0)?, part: row.get(1)?, version: row.get(2)?, seq: Seq(uint(row.get(3)?)) })
        };
        self.rows(sql, [id.as_str()], name).map_err(|cause| Error::failed("list snapshots", cause))
    }
}

fn checksum(bytes: &[u8]) -> u32 {
    crc32fast::hash(bytes)
}

#[cfg(test)]
mod tests;
