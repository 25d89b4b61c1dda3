//! One file of rules: read when it changes, kept as it was when it was last right.

use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use turnloom_core::policy::{Error, Policy};

/// The largest file of rules. A person wrote it.
pub(super) const MAX_BYTES: u64 = 4 << 20;

/// What tells that a file has changed: when it was written, how large it is, which file it is.
type Stamp = (i64, i64, u64, u64);

#[derive(Debug)]
pub(super) struct Source {
    path: PathBuf,
    stamp: Option<Stamp>,
    /// Raised with every change that was seen.
    version: u64,
    /// What is in the file now; an error, if it cannot be read.
    text: Result<Option<String>, String>,
    /// What was in it when it was last right.
    good: Option<String>,
    problem: Option<Error>,
}

impl Source {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, stamp: None, version: 0, text: Ok(None), good: None, problem: None }
    }

    /// Reads the file if it has changed. The version tells whether it has.
    pub(super) fn look(&mut self) -> u64 {
        let found = std::fs::metadata(&self.path).ok();
        let stamp = found.map(|found| (found.mtime(), found.mtime_nsec(), found.size(), found.ino()));
        if stamp == self.stamp && self.version > 0 {
            return self.version;
        }
        self.stamp = stamp;
        self.version += 1;
        self.text = match stamp {
            None => Ok(None),
            Some((_, _, size, _)) if size > MAX_BYTES => Err(format!("it is larger than {MAX_BYTES} bytes")),
            Some(_) => match std::fs::read_to_string(&self.path) {
                Ok(text) => Ok(Some(text)),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
                Err(error) => Err(error.to_string()),
            },
        };
        self.version
    }

    pub(super) fn problem(&self) -> Option<&Error> {
        self.problem.as_ref()
    }

    /// The file does not count here, whatever is in it.
    pub(super) fn is_ignored(&mut self) {
        self.problem = None;
    }

    /// Adds the file to rules. If it is wrong now it is taken as it was; if it never was right, that is an error.
    pub(super) fn take(&mut self, add: impl Fn(&str, &str) -> Result<Policy, Error>) -> Result<Option<Policy>, Error> {
        let name = self.path.display().to_string();
        let error = match &self.text {
            Ok(None) => {
                (self.good, self.problem) = (None, None);
                return Ok(None);
            }
            Ok(Some(text)) => match add(&name, text) {
                Ok(policy) => {
                    (self.good, self.problem) = (Some(text.clone()), None);
                    return Ok(Some(policy));
                }
                Err(error) => error,
            },
            Err(error) => Error { file: name.clone(), line: 1, what: format!("it cannot be read: {error}") },
        };
        if self.problem.as_ref() != Some(&error) {
            let kept =
                if self.good.is_some() { "it counts as it was before" } else { "every call asks until it is mended" };
            tracing::warn!(%error, kept, "a file of rules is wrong");
        }
        self.problem = Some(error.clone());
        match &self.good {
            Some(text) => add(&name, text).map(Some),
            None => Err(error),
        }
    }
}
