//! A marker file beside the database: it says that a database exists and whether it is open. `SQLite` takes an empty file for a new database and a
//! missing write-ahead log for an empty one; the marker reveals that something was lost.

use std::fs;
use std::path::{Path, PathBuf};

use crate::log::Error;
use crate::private;

/// Whether anything may be in the write-ahead log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// A daemon has it open, or died with it.
    Open,
    /// Everything is in the database.
    Closed,
}

#[derive(Debug)]
pub(super) struct DatabaseMark {
    path: PathBuf,
}

impl DatabaseMark {
    /// Takes the mark of a database, and refuses to go on where something is missing that was there.
    pub(super) fn check(database: &Path) -> Result<Self, Error> {
        let mark = Self { path: beside(database, "-mark") };
        let size = |path: &Path| fs::metadata(path).map_or(0, |found| found.len());
        let Some(state) = mark.read() else { return Ok(mark) };
        let lost = |path: PathBuf| Error::Lost { path, mark: mark.path.clone() };
        if size(database) == 0 {
            return Err(lost(database.to_owned()));
        }
        let wal = beside(database, "-wal");
        if state == State::Open && size(&wal) == 0 {
            return Err(lost(wal));
        }
        Ok(mark)
    }

    pub(super) fn set(&self, state: State) -> Result<(), Error> {
        let word = match state {
            State::Open => "open\n",
            State::Closed => "closed\n",
        };
        private::replace_durably(&self.path, word.as_bytes()).map_err(|cause| Error::io("write", &self.path, cause))
    }

    fn read(&self) -> Option<State> {
        match fs::read_to_string(&self.path).ok()?.trim() {
            "open" => Some(State::Open),
            "closed" => Some(State::Closed),
            _ => None,
        }
    }
}

/// A file that stands beside the database under its name.
pub(super) fn beside(database: &Path, suffix: &str) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
