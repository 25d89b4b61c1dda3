//! What can go wrong. One failed commit answers many waiters, so errors can be cloned.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use turnloom_core::id::{Seq, SessionId};

use super::Epoch;

#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    #[error("there is no session {0}")]
    NotFound(SessionId),
    #[error("session {session} has another writer: epoch {held} was replaced by {current}; claim it again to go on")]
    Fenced { session: SessionId, held: Epoch, current: Epoch },
    #[error("session {session} is at {actual}, not at {expected}; read what is new, then append after it")]
    HeadMoved { session: SessionId, expected: Seq, actual: Seq },
    #[error("the next record of session {session} must have position {expected}, not {found}")]
    Gap { session: SessionId, expected: Seq, found: Seq },
    #[error("this is not a cursor from a page of sessions; start again without one")]
    BadCursor,
    #[error(
        "{} was written by a newer turnloom (schema {found}, this one knows {known}); use a newer turnloom, or another --data",
        path.display()
    )]
    NewerSchema { found: u64, known: u64, path: PathBuf },
    #[error("{} is in use by another turnloom{}; stop it first, or use another --data", path.display(), by(*pid))]
    Locked { path: PathBuf, pid: Option<u32> },
    #[error("the log is closed; start turnloom again")]
    Closed,
    #[error("cannot {doing} {}: {cause}; check that the path of --data exists and may be written", path.display())]
    Io { doing: &'static str, path: PathBuf, cause: Arc<io::Error> },
    #[error("cannot open the log {}: {cause}; if the file is damaged, restore it, or use another --data", path.display())]
    Open { path: PathBuf, cause: Arc<rusqlite::Error> },
    #[error("the log cannot {doing}: {cause}; check the disk of the data directory, then start turnloom again")]
    Sqlite { doing: &'static str, cause: Arc<rusqlite::Error> },
}

impl Error {
    pub(super) fn io(doing: &'static str, path: &Path, cause: io::Error) -> Self {
        Self::Io { doing, path: path.to_owned(), cause: Arc::new(cause) }
    }

    pub(super) fn open(path: &Path, cause: rusqlite::Error) -> Self {
        Self::Open { path: path.to_owned(), cause: Arc::new(cause) }
    }

    pub(super) fn sqlite(doing: &'static str, cause: rusqlite::Error) -> Self {
        Self::Sqlite { doing, cause: Arc::new(cause) }
    }
}

fn by(pid: Option<u32>) -> String {
    pid.map(|pid| format!(" (process {pid})")).unwrap_or_default()
}
