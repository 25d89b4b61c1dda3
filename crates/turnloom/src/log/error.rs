//! The errors of the log. One failed commit answers many waiting callers, so errors can be cloned.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use turnloom_core::id::{Seq, SessionId};

use super::{Epoch, ExpectedRevision, Revision};

/// What the home of the log said.
pub(crate) type Cause = Arc<dyn std::error::Error + Send + Sync>;

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
    #[error("{kind} {key:?} was changed by somebody else: {}; read it again, then change it", moved(*expected, *actual))]
    DocumentMoved { kind: &'static str, key: String, expected: ExpectedRevision, actual: Option<Revision> },
    #[error("these documents cannot be kept: {0}")]
    BadDocuments(String),
    #[error(
        "{} was written by a newer turnloom (schema {found}, this one knows {known}); use a newer turnloom, or another --data",
        path.display()
    )]
    NewerSchema { found: u64, known: u64, path: PathBuf },
    #[error("{} is in use by another turnloom{}; stop it first, or use another --data", path.display(), by(*pid))]
    Locked { path: PathBuf, pid: Option<u32> },
    #[error(
        "{} is missing or empty, though a log was here: put it back from where it went or from a backup; to go on with what there is, remove {}",
        path.display(), mark.display()
    )]
    Lost { path: PathBuf, mark: PathBuf },
    #[error("the log is closed; start turnloom again")]
    Closed,
    #[error("cannot {doing} {}: {cause}; check that the path of --data exists and may be written", path.display())]
    Io { doing: &'static str, path: PathBuf, cause: Arc<io::Error> },
    #[error("cannot open the log {}: {cause}; if the file is damaged, restore it, or use another --data", path.display())]
    Open { path: PathBuf, cause: Cause },
    #[error("the log cannot {doing}: {cause}; check the disk of the data directory, then start turnloom again")]
    Failed { doing: &'static str, cause: Cause },
}

impl Error {
    pub(crate) fn io(doing: &'static str, path: &Path, cause: io::Error) -> Self {
        Self::Io { doing, path: path.to_owned(), cause: Arc::new(cause) }
    }

    pub(super) fn open(path: &Path, cause: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::Open { path: path.to_owned(), cause: Arc::new(cause) }
    }

    pub(super) fn failed(doing: &'static str, cause: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::Failed { doing, cause: Arc::new(cause) }
    }
}

fn moved(expected: ExpectedRevision, actual: Option<Revision>) -> String {
    let found = actual.map_or_else(|| "it is not there".to_owned(), |actual| format!("it is at revision {actual}"));
    match expected {
        ExpectedRevision::Any => found,
        ExpectedRevision::None => format!("{found}, and should not be there"),
        ExpectedRevision::At(expected) => format!("{found}, not at revision {expected}"),
    }
}

fn by(pid: Option<u32>) -> String {
    pid.map(|pid| format!(" (process {pid})")).unwrap_or_default()
}
