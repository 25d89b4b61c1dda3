//! Work that is too large for one group: a session with a million events is created and deleted in steps, one per group, and other writes go between
//! them. Such a session is hidden until it is complete, and from the moment it is deleted. Sessions that a crashed daemon left hidden are deleted by
//! the next one.

use rusqlite::Connection;
use tokio::sync::oneshot;
use turnloom_core::event::Record;
use turnloom_core::id::{Seq, SessionId};

use super::db::{CreateResult, Group, Stop, insert_blobs, insert_events, insert_session, key_of, note, share_blobs};
use super::journal::{self, JournalPlace, Placement};
use super::reader::session_by_id;
use super::snapshots::{self, SnapshotSave};
use super::{int, uint};
use crate::log::{Created, Error, NewSession, Position, SessionRow, Tails, new_head};

/// What one step writes or removes. Together with its sync this takes some ten milliseconds.
const STEP_EVENTS: usize = 1_000;
const STEP_BYTES: usize = 1024 * 1024;
const FEED_ROWS: i64 = 20_000;

/// In the column that says in which list a session stands: in none.
pub(super) const HIDDEN: i64 = 2;

type Answer = oneshot::Sender<Result<Created, Error>>;

/// Something that is done in steps.
pub(super) enum BackgroundJob {
    Make(Box<SessionCreation>),
    /// In one step, which nobody's write waits for.
    Save(Box<SnapshotSave>),
    /// The session with this key, which is hidden.
    Remove(i64),
    /// What the feed says of sessions that are gone.
    TidyFeed {
        after: i64,
    },
    /// Events, from the journal to their sessions.
    MoveFromJournal {
        after: JournalPlace,
    },
}

/// Whether a chore is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    More,
    Done,
}

/// A session that is being made.
pub(super) struct SessionCreation {
    new: NewSession,
    answer: Answer,
    key: Option<i64>,
    records: usize,
    blobs: usize,
    outcome: Option<Result<CreateResult, Error>>,
}

impl BackgroundJob {
    /// Whether somebody waits for it.
    pub(super) fn is_awaited(&self) -> bool {
        matches!(self, BackgroundJob::Make(_) | BackgroundJob::Save(_))
    }

    /// Whether it can simply be done again if it was lost.
    pub(super) fn needs_no_sync(&self) -> bool {
        matches!(self, BackgroundJob::Save(_) | BackgroundJob::MoveFromJournal { .. })
    }

    /// Whether it moves events out of the journal.
    pub(super) fn is_move(&self) -> bool {
        matches!(self, BackgroundJob::MoveFromJournal { .. })
    }

    pub(super) fn step(&mut self, group: &mut Group<'_>) -> Progress {
        match self {
            BackgroundJob::Make(making) => {
                let stepped = making.step(group);
                if let Some(outcome) = stepped.transpose() {
                    making.outcome = Some(outcome);
                    return Progress::Done;
                }
                Progress::More
            }
            BackgroundJob::Save(saving) => {
                saving.step(group);
                Progress::Done
            }
            // Should the group break, the daemon ends, and the next one goes on.
            BackgroundJob::Remove(key) => group.remove_part(*key).unwrap_or(Progress::Done),
            BackgroundJob::TidyFeed { after } => group.tidy_feed(after).unwrap_or(Progress::Done),
            BackgroundJob::MoveFromJournal { after } => group.move_from_journal(after).unwrap_or(Progress::Done),
        }
    }

    /// Tells who waits, once the last step is committed or the group has failed; what is left to do then is another chore.
    pub(super) fn settle(self, committed: &Result<u64, Error>, tails: &Tails) -> Option<BackgroundJob> {
        let making = match self {
            BackgroundJob::Make(making) => making,
            BackgroundJob::Save(saving) => {
                saving.settle(committed);
                return None;
            }
            BackgroundJob::Remove(_) | BackgroundJob::TidyFeed { .. } | BackgroundJob::MoveFromJournal { .. } => {
                return None;
            }
        };
        let SessionCreation { new, answer, key, outcome, .. } = *making;
        let outcome = match committed {
            Err(error) => Err(error.clone()),
            Ok(_) => outcome.unwrap_or(Err(Error::Closed)),
        };
        let is_made = matches!(outcome, Ok(CreateResult::New(_)));
        if let Ok(CreateResult::New(position)) = outcome {
            tails.publish(position, &new.id, Seq::ZERO, &new.records);
        }
        // A caller that left is not told.
        drop(answer.send(outcome.map(Created::from)));
        key.filter(|_| !is_made).map(BackgroundJob::Remove)
    }
}

impl SessionCreation {
    pub(super) fn new(new: NewSession) -> (Box<Self>, oneshot::Receiver<Result<Created, Error>>) {
        let (answer, wait) = oneshot::channel();
        (Box::new(Self { new, answer, key: None, records: 0, blobs: 0, outcome: None }), wait)
    }

    /// Whether this is more than belongs into one group.
    pub(super) fn is_large(new: &NewSession) -> bool {
        let bytes =
            new.records.iter().map(|record| record.json.len()).chain(new.blobs.iter().map(|blob| blob.content.len()));
        new.records.len() > STEP_EVENTS || bytes.sum::<usize>() > STEP_BYTES
    }

    fn step(&mut self, group: &mut Group<'_>) -> Result<Option<CreateResult>, Error> {
        let Some(key) = self.key else {
            return match group.begin_making(&self.new)? {
                CreationStart::Hidden(key) => {
                    self.key = Some(key);
                    Ok(None)
                }
                CreationStart::Exists(row) => Ok(Some(CreateResult::Exists(row))),
            };
        };
        let records = step_of(self.new.records.get(self.records..).unwrap_or_default(), |record| record.json.len());
        if !records.is_empty() {
            self.records += records.len();
            return group.add_events(key, records).map(|()| None);
        }
        let blobs = step_of(self.new.blobs.get(self.blobs..).unwrap_or_default(), |blob| blob.content.len());
        if !blobs.is_empty() {
            self.blobs += blobs.len();
            return group.write("create a session", |db| Ok(insert_blobs(db, key, blobs)?)).map(|()| None);
        }
        group.finish_making(key, &self.new).map(Some)
    }
}

/// The beginning of a list that belongs into one step: at least one.
fn step_of<T>(list: &[T], size: impl Fn(&T) -> usize) -> &[T] {
    let mut bytes = 0;
    let fits = list.iter().take(STEP_EVENTS).take_while(|item| {
        let fits = bytes < STEP_BYTES;
        bytes += size(item);
        fits
    });
    list.get(..fits.count()).unwrap_or_default()
}

/// How the making of a session begins.
enum CreationStart {
    Hidden(i64),
    Exists(Box<SessionRow>),
}

impl Group<'_> {
    fn begin_making(&mut self, new: &NewSession) -> Result<CreationStart, Error> {
        self.write("create a session", |db| {
            new_head(&new.id, Seq::ZERO, &new.records)?;
            if let Some(row) = session_by_id(db, &new.id)? {
                return Ok(CreationStart::Exists(Box::new(row)));
            }
            let parent = new.share_blobs_of.as_ref().map(|parent| key_of(db, parent)).transpose()?;
            let key = insert_session(db, new)?;
            hide(db, key)?;
            // Now, as long as the parent is there.
            parent.map_or(Ok(()), |parent| share_blobs(db, key, parent))?;
            Ok(CreationStart::Hidden(key))
        })
    }

    fn add_events(&mut self, key: i64, records: &[Record]) -> Result<(), Error> {
        self.write("create a session", |db| Ok(insert_events(db, key, records, Placement::BySession)?))?;
        self.events += records.len() as u64;
        Ok(())
    }

    fn finish_making(&mut self, key: i64, new: &NewSession) -> Result<CreateResult, Error> {
        self.write("create a session", |db| {
            if let Some(row) = session_by_id(db, &new.id)? {
                return Ok(CreateResult::Exists(Box::new(row)));
            }
            let summary = &new.summary;
            db.prepare_cached("UPDATE session SET id = ?2, archived = ?3, at_rest = ?4, asks = ?5 WHERE key = ?1")?
                .execute((key, new.id.as_str(), summary.archived, summary.at_rest, int(summary.asks.len() as u64)))?;
            let head = new.records.last().map_or(Seq::ZERO, |last| last.seq);
            Ok(CreateResult::New(note(db, key, Seq::ZERO, head)?))
        })
    }

    /// Takes a session out of everybody's sight. The answer is its key, and where the feed says so.
    pub(super) fn hide(&mut self, id: &SessionId) -> Result<Option<(i64, Position)>, Error> {
        self.write("delete a session", |db| {
            let key = match key_of(db, id) {
                Ok(key) => key,
                Err(Stop::Refused(_)) => return Ok(None),
                Err(broken) => return Err(broken),
            };
            hide(db, key)?;
            let position = db
                .prepare_cached("INSERT INTO feed (session, after, head, removed) VALUES (?1, 0, 0, ?2)")?
                .insert((key, id.as_str()))?;
            Ok(Some((key, Position(uint(position)))))
        })
    }

    /// Removes some of what a hidden session has, at last itself.
    pub(super) fn remove_part(&mut self, key: i64) -> Result<Progress, Error> {
        self.write("delete a session", |db| {
            let events = db
                .prepare_cached(
                    "DELETE FROM event WHERE session = ?1
                       AND seq < (SELECT min(seq) FROM event WHERE session = ?1) + ?2",
                )?
                .execute((key, int(STEP_EVENTS as u64)))?;
            // In this order in one step: what is moved meanwhile is found by the next one.
            if events > 0 || journal::remove_some(db, key, STEP_EVENTS)? {
                return Ok(Progress::More);
            }
            let blobs: Vec<i64> = db
                .prepare_cached("SELECT blob FROM blob_ref WHERE session = ?1 LIMIT 16")?
                .query_map([key], |row| row.get(0))?
                .collect::<rusqlite::Result<_>>()?;
            for blob in &blobs {
                db.prepare_cached("DELETE FROM blob_ref WHERE session = ?1 AND blob = ?2")?.execute([key, *blob])?;
                db.prepare_cached(
                    "DELETE FROM blob WHERE key = ?1 AND NOT EXISTS (SELECT 1 FROM blob_ref WHERE blob_ref.blob = ?1)",
                )?
                .execute([blob])?;
            }
            if !blobs.is_empty() {
                return Ok(Progress::More);
            }
            if snapshots::remove_some(db, key)? {
                return Ok(Progress::More);
            }
            db.prepare_cached("DELETE FROM session WHERE key = ?1")?.execute([key])?;
            Ok(Progress::Done)
        })
    }
}

impl Group<'_> {
    /// Removes what a part of the feed says of sessions that are gone.
    fn tidy_feed(&mut self, after: &mut i64) -> Result<Progress, Error> {
        self.write("tidy the feed", |db| {
            let end = *after + FEED_ROWS;
            db.prepare_cached(
                "DELETE FROM feed WHERE position > ?1 AND position <= ?2 AND removed IS NULL
                   AND NOT EXISTS (SELECT 1 FROM session WHERE session.key = feed.session)",
            )?
            .execute([*after, end])?;
            *after = end;
            let newest: i64 =
                db.prepare_cached("SELECT coalesce(max(position), 0) FROM feed")?.query_row((), |row| row.get(0))?;
            Ok(if end < newest { Progress::More } else { Progress::Done })
        })
    }
}

/// Under a name that nobody can ask for, in no list, with nothing to go on with.
fn hide(db: &Connection, key: i64) -> rusqlite::Result<()> {
    db.prepare_cached(
        "UPDATE session SET id = '/' || lower(hex(randomblob(16))), archived = ?2, at_rest = 1, asks = 0 WHERE key = ?1",
    )?
    .execute((key, HIDDEN))?;
    Ok(())
}

/// The sessions that a daemon which is gone left hidden.
pub(super) fn left_hidden(db: &Connection) -> rusqlite::Result<Vec<i64>> {
    db.prepare_cached("SELECT key FROM session WHERE archived = ?1 ORDER BY key")?
        .query_map([HIDDEN], |row| row.get(0))?
        .collect()
}
