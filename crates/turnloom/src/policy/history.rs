//! Recorded calls of all sessions, judged again. The logs are only read.

use std::collections::HashMap;
use std::sync::Arc;

use turnloom_core::event::Record;
use turnloom_core::id::Seq;
use turnloom_core::policy::{BackTest, Error, Plain, Policy, Report, Setting, Suggester, Suggestion, World as _};
use turnloom_core::time::Timestamp;

use super::{Rules, ThisMachine};
use crate::log::{self, Log, SessionQuery, SessionRow};
use crate::runtime::program::default_directory;

/// How many sessions are listed at a time.
const PAGE: usize = 256;

/// Answers that must speak for a rule before it is suggested.
const AT_LEAST: usize = 3;

#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    #[error(transparent)]
    Rules(#[from] Error),
    #[error(transparent)]
    Log(#[from] log::Error),
    #[error("the judging of recorded calls ended early: {0}")]
    Ended(#[from] tokio::task::JoinError),
}

/// Which sessions are read: some after others, so that whoever waits sees how far it is, and may leave.
#[derive(Debug, Clone, Default)]
pub struct Stretch {
    /// Only what happened since then.
    pub since: Option<Timestamp>,
    /// Where the stretch before ended.
    pub after: Option<String>,
    /// Sessions to read; all, if not given.
    pub sessions: Option<usize>,
}

/// What a stretch gave, how many sessions were in it, and where the next one begins, if there is one.
#[derive(Debug)]
pub struct Read<T> {
    pub found: T,
    pub sessions: usize,
    pub next: Option<String>,
}

impl Rules {
    /// What would change if these were the user's own rules. The name is what errors call the file.
    pub async fn test(
        &self,
        log: &Log,
        (name, toml): (&str, &str),
        stretch: Stretch,
    ) -> Result<Read<Report>, HistoryError> {
        // What is wrong with it is said before anything is read.
        drop(Policy::shipped().with_user(name, toml)?);
        let mut proposed: HashMap<String, (Arc<Policy>, Arc<Policy>)> = HashMap::new();
        let begin = |test: &mut BackTest, row: &SessionRow| -> Result<(), Error> {
            let directory = directory_of(row);
            let known = proposed.get(&directory).map(|(old, new)| (Arc::clone(old), Arc::clone(new)));
            let (old, new) = if let Some(known) = known {
                known
            } else {
                let old = self.of(&directory);
                let new = Arc::new(Policy::clone(&old).with_user(name, toml)?);
                proposed.insert(directory, (Arc::clone(&old), Arc::clone(&new)));
                (old, new)
            };
            test.begin(setting_of(row), old, new);
            Ok(())
        };
        let test = BackTest::new(world(), stretch.since);
        let Read { found, sessions, next } = read(log, stretch, test, begin, BackTest::take).await?;
        Ok(Read { found: found.finish(), sessions, next })
    }

    /// Rules for what people keep answering.
    pub async fn suggest(&self, log: &Log, since: Option<Timestamp>) -> Result<Vec<Suggestion>, HistoryError> {
        let begin = |suggester: &mut Suggester, row: &SessionRow| -> Result<(), Error> {
            suggester.begin(setting_of(row), self.of(&directory_of(row)));
            Ok(())
        };
        let suggester = Suggester::new(world(), since);
        let all = Stretch { since, ..Stretch::default() };
        Ok(read(log, all, suggester, begin, Suggester::take).await?.found.finish(AT_LEAST))
    }
}

/// Hands over sessions and their records, page by page: those that are not archived first. Judging is work, so it is done beside the threads that serve.
async fn read<T: Send + 'static>(
    log: &Log,
    Stretch { since, after, sessions: limit }: Stretch,
    mut fold: T,
    mut begin: impl FnMut(&mut T, &SessionRow) -> Result<(), Error>,
    take: impl Fn(&mut T, &Record) + Copy + Send + 'static,
) -> Result<Read<T>, HistoryError> {
    let mut place = Some(Place::parse(after.as_deref())?);
    let mut sessions = 0;
    while let Some(Place { archived, cursor }) = place.take() {
        let left = limit.map_or(PAGE, |limit| limit.saturating_sub(sessions).min(PAGE));
        if left == 0 {
            return Ok(Read { found: fold, sessions, next: Some(Place { archived, cursor }.to_string()) });
        }
        let query = SessionQuery { archived, limit: left, cursor, ..SessionQuery::default() };
        let listed = log.sessions(query).await?;
        sessions += listed.sessions.len();
        for row in &listed.sessions {
            if since.is_some_and(|since| row.updated_at < since) {
                continue;
            }
            begin(&mut fold, row)?;
            let mut pages = log.pages(&row.id, Seq::ZERO, row.head);
            while let Some(page) = pages.next().await? {
                let judging = tokio::task::spawn_blocking(move || {
                    for record in &page {
                        take(&mut fold, record);
                    }
                    fold
                });
                fold = judging.await?;
            }
        }
        place = match listed.next {
            Some(cursor) => Some(Place { archived, cursor: Some(cursor) }),
            None if !archived => Some(Place { archived: true, cursor: None }),
            None => None,
        };
    }
    Ok(Read { found: fold, sessions, next: None })
}

/// A place between two sessions, in the order in which they are read.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    archived: bool,
    cursor: Option<String>,
}

const ACTIVE: &str = "active";
const ARCHIVED: &str = "archived";

impl Place {
    fn parse(text: Option<&str>) -> Result<Self, log::Error> {
        let Some(text) = text else { return Ok(Self { archived: false, cursor: None }) };
        let (list, cursor) = text.split_once(':').ok_or(log::Error::BadCursor)?;
        let archived = match list {
            ACTIVE => false,
            ARCHIVED => true,
            _ => return Err(log::Error::BadCursor),
        };
        Ok(Self { archived, cursor: Some(cursor).filter(|cursor| !cursor.is_empty()).map(str::to_owned) })
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let list = if self.archived { ARCHIVED } else { ACTIVE };
        write!(f, "{list}:{}", self.cursor.as_deref().unwrap_or_default())
    }
}

fn setting_of(row: &SessionRow) -> Setting {
    Setting::new(&row.id, &row.runtime, &directory_of(row))
}

/// Where a session works. Its folder may be gone.
fn directory_of(row: &SessionRow) -> String {
    let directory = row.summary.cwd.clone().unwrap_or_else(|| default_directory().display().to_string());
    ThisMachine.resolve(&directory).unwrap_or(directory)
}

/// Links of then are not known, so paths are taken by their names.
fn world() -> Plain {
    Plain { home: ThisMachine.home() }
}
