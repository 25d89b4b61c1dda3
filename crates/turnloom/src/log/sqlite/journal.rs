//! Where the events of an append go, and how they get to where they stay. Events stand by session, which makes a log quick to read, but a hundred sessions
//! that write at once then change a hundred pages. Small appends of such a group go into a journal first and are moved in steps, many of a session at a time.
//!
//! Not here: reading, which knows that an event may be in either place.

#[cfg(test)]
mod tests;

use rusqlite::Connection;
use turnloom_core::event::Record;

use super::db::Group;
use super::int;
use super::steps::Progress;
use crate::log::Error;

/// When the journal is used.
#[derive(Debug, Clone, Copy)]
pub(super) struct JournalLimits {
    /// From how many writes in a group on its small appends go into the journal. Below, a page for each costs less than writing the events twice.
    pub(super) group: usize,
    /// How many events gather before they are moved.
    pub(super) full: i64,
}

impl Default for JournalLimits {
    /// Of a hundred sessions each then has about eighty events to be moved, which are four pages.
    fn default() -> Self {
        Self { group: 16, full: 8 * 1024 }
    }
}

/// An append with more than this fills pages of its own wherever it is written.
const APPEND_EVENTS: usize = 16;
const APPEND_BYTES: usize = 8 * 1024;

/// How many are moved in one step; with their sync this takes a few milliseconds.
const STEP: i64 = 512;

/// Where the appends of a group go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Placement {
    BySession,
    /// The small ones.
    Journal,
}

impl Placement {
    pub(super) fn of_group(writes: usize, limits: JournalLimits) -> Self {
        if writes < limits.group { Self::BySession } else { Self::Journal }
    }

    fn is_journal_for(self, records: &[Record]) -> bool {
        self == Self::Journal
            && records.len() <= APPEND_EVENTS
            && records.iter().map(|record| record.json.len()).sum::<usize>() <= APPEND_BYTES
    }

    pub(super) fn insert_statement(self, records: &[Record]) -> &'static str {
        if self.is_journal_for(records) {
            "INSERT INTO journal (session, seq, body) VALUES (?1, ?2, ?3)"
        } else {
            "INSERT INTO event (session, seq, body) VALUES (?1, ?2, ?3)"
        }
    }
}

/// A place in the journal, in the order in which it is moved.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct JournalPlace {
    session: i64,
    seq: i64,
}

impl Group<'_> {
    /// Whether it is time to move what has gathered.
    pub(super) fn is_journal_full(&mut self, limits: JournalLimits) -> Result<bool, Error> {
        self.write("look into the journal", |db| {
            let span = "SELECT (SELECT max(position) FROM journal) - (SELECT min(position) FROM journal) + 1";
            let events: Option<i64> = db.prepare_cached(span)?.query_row((), |row| row.get(0))?;
            Ok(events.is_some_and(|events| events >= limits.full))
        })
    }

    /// Moves the next events to their sessions.
    pub(super) fn move_from_journal(&mut self, after: &mut JournalPlace) -> Result<Progress, Error> {
        self.write("move events from the journal", |db| {
            let Some(end) = last_of_step(db, *after)? else { return Ok(Progress::Done) };
            let range = (after.session, after.seq, end.session, end.seq);
            db.prepare_cached(
                "INSERT INTO event (session, seq, body) SELECT session, seq, body FROM journal
                 WHERE (session, seq) > (?1, ?2) AND (session, seq) <= (?3, ?4) ORDER BY session, seq",
            )?
            .execute(range)?;
            db.prepare_cached("DELETE FROM journal WHERE (session, seq) > (?1, ?2) AND (session, seq) <= (?3, ?4)")?
                .execute(range)?;
            *after = end;
            Ok(Progress::More)
        })
    }
}

fn last_of_step(db: &Connection, after: JournalPlace) -> rusqlite::Result<Option<JournalPlace>> {
    let sql = "SELECT session, seq FROM (SELECT session, seq FROM journal WHERE (session, seq) > (?1, ?2) ORDER BY session, seq LIMIT ?3)
               ORDER BY session DESC, seq DESC LIMIT 1";
    let mut statement = db.prepare_cached(sql)?;
    let mut rows = statement.query((after.session, after.seq, STEP))?;
    rows.next()?.map(|row| Ok(JournalPlace { session: row.get(0)?, seq: row.get(1)? })).transpose()
}

/// Removes some of a session's events from the journal, and says whether there were any.
pub(super) fn remove_some(db: &Connection, session: i64, limit: usize) -> rusqlite::Result<bool> {
    let sql = "DELETE FROM journal WHERE position IN (SELECT position FROM journal WHERE session = ?1 LIMIT ?2)";
    Ok(db.prepare_cached(sql)?.execute((session, int(limit as u64)))? > 0)
}
