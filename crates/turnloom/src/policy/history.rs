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

impl Rules {
    /// What would change if these were the user's own rules. The name is what errors call the file.
    pub async fn test(
        &self,
        log: &Log,
        (name, toml): (&str, &str),
        since: Option<Timestamp>,
    ) -> Result<Report, HistoryError> {
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
        let test = BackTest::new(world(), since);
        Ok(read_all(log, since, test, begin, BackTest::take).await?.finish())
    }

    /// Rules for what people keep answering.
    pub async fn suggest(&self, log: &Log, since: Option<Timestamp>) -> Result<Vec<Suggestion>, HistoryError> {
        let begin = |suggester: &mut Suggester, row: &SessionRow| -> Result<(), Error> {
            suggester.begin(setting_of(row), self.of(&directory_of(row)));
            Ok(())
        };
        let suggester = Suggester::new(world(), since);
        Ok(read_all(log, since, suggester, begin, Suggester::take).await?.finish(AT_LEAST))
    }
}

/// Hands over every session and its records, page by page. Judging is work, so it is done beside the threads that serve.
async fn read_all<T: Send + 'static>(
    log: &Log,
    since: Option<Timestamp>,
    mut fold: T,
    mut begin: impl FnMut(&mut T, &SessionRow) -> Result<(), Error>,
    take: impl Fn(&mut T, &Record) + Copy + Send + 'static,
) -> Result<T, HistoryError> {
    for archived in [false, true] {
        let mut cursor = None;
        loop {
            let query = SessionQuery { archived, limit: PAGE, cursor, ..SessionQuery::default() };
            let listed = log.sessions(query).await?;
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
            cursor = listed.next;
            if cursor.is_none() {
                break;
            }
        }
    }
    Ok(fold)
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
