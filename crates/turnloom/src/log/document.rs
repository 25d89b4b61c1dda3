//! Small durable records that are no session's facts: what the daemon itself must remember, such as schedules and how far somebody has read.
//!
//! Not here: what a document means. Each kind belongs to one part of the daemon, which alone reads and writes it. Nobody is told when one changes.

use std::collections::BTreeSet;
use std::fmt;

use bytes::Bytes;
use serde::Serialize;
use serde::de::{DeserializeOwned, IgnoredAny};

use super::Error;

/// How large a document may be. What is larger is content, and belongs into a log or a blob.
pub const MAX_DOCUMENT_BYTES: usize = 256 * 1024;

/// How much one write may change: it is one part of one group, and everybody's appends wait for the group.
pub const MAX_DOCUMENT_CHANGES: usize = 1024;
pub const MAX_DOCUMENT_WRITE_BYTES: usize = 4 * 1024 * 1024;

/// How long a kind and a key may be.
pub const MAX_DOCUMENT_KIND_BYTES: usize = 64;
pub const MAX_DOCUMENT_KEY_BYTES: usize = 512;

/// Which write made a document what it is. Each write has a number of its own over all documents, so one that was removed and made again never has
/// the revision it had before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Revision(pub u64);

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    pub key: String,
    pub revision: Revision,
    pub json: Bytes,
}

impl Document {
    pub fn parse<T: DeserializeOwned>(&self) -> serde_json::Result<T> {
        serde_json::from_slice(&self.json)
    }
}

/// One document of a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentChange {
    pub kind: &'static str,
    /// Visible ASCII characters, in whose order the documents of a kind are listed.
    pub key: String,
    pub expected: ExpectedRevision,
    /// Nothing removes it.
    pub json: Option<Bytes>,
}

/// What a change counts on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpectedRevision {
    Any,
    /// There must be none.
    None,
    At(Revision),
}

impl DocumentChange {
    pub fn put(kind: &'static str, key: impl Into<String>, value: &impl Serialize) -> serde_json::Result<Self> {
        let json = Some(serde_json::to_vec(value)?.into());
        Ok(Self { kind, key: key.into(), expected: ExpectedRevision::Any, json })
    }

    pub fn remove(kind: &'static str, key: impl Into<String>) -> Self {
        Self { kind, key: key.into(), expected: ExpectedRevision::Any, json: None }
    }

    #[must_use]
    pub fn expecting(self, expected: ExpectedRevision) -> Self {
        Self { expected, ..self }
    }
}

/// Which documents of a kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentQuery {
    /// Only keys that begin with this.
    pub prefix: String,
    /// The last key of the page before.
    pub cursor: Option<String>,
    pub order: KeyOrder,
    pub limit: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KeyOrder {
    #[default]
    Ascending,
    Descending,
}

impl DocumentQuery {
    pub fn all(limit: usize) -> Self {
        Self { prefix: String::new(), cursor: None, order: KeyOrder::Ascending, limit }
    }

    /// The first key that may be in the page, and one that is after the last: every key sorts before the character after `~`.
    pub(super) fn bounds(&self) -> (&str, String) {
        (&self.prefix, format!("{}\u{7f}", self.prefix))
    }
}

/// Refuses what no home may take, before any of it is written.
pub(super) fn check(changes: &[DocumentChange]) -> Result<(), Error> {
    if changes.len() > MAX_DOCUMENT_CHANGES {
        let why = format!("{} documents are more than {MAX_DOCUMENT_CHANGES}", changes.len());
        return Err(Error::BadDocuments(why));
    }
    let bytes: usize = changes.iter().filter_map(|change| change.json.as_ref()).map(Bytes::len).sum();
    if bytes > MAX_DOCUMENT_WRITE_BYTES {
        return Err(Error::BadDocuments(format!("{bytes} bytes are more than {MAX_DOCUMENT_WRITE_BYTES}")));
    }
    let mut named = BTreeSet::new();
    for change in changes {
        let wrong = problem(change)
            .or_else(|| (!named.insert((change.kind, &change.key))).then(|| "it is named twice".to_owned()));
        if let Some(why) = wrong {
            return Err(Error::BadDocuments(format!("{} {:?}: {why}", change.kind, change.key)));
        }
    }
    Ok(())
}

fn problem(change: &DocumentChange) -> Option<String> {
    let is_name = |name: &str, limit| (1..=limit).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_graphic());
    if !is_name(change.kind, MAX_DOCUMENT_KIND_BYTES) || !is_name(&change.key, MAX_DOCUMENT_KEY_BYTES) {
        return Some(format!("a key has 1 to {MAX_DOCUMENT_KEY_BYTES} visible ASCII characters"));
    }
    let json = change.json.as_ref()?;
    if json.len() > MAX_DOCUMENT_BYTES {
        return Some(format!("{} bytes are more than {MAX_DOCUMENT_BYTES}", json.len()));
    }
    serde_json::from_slice::<IgnoredAny>(json).err().map(|error| format!("it is not JSON: {error}"))
}

/// Refuses a change that counts on another revision.
pub(super) fn expect(change: &DocumentChange, actual: Option<Revision>) -> Result<(), Error> {
    let is_met = match change.expected {
        ExpectedRevision::Any => true,
        ExpectedRevision::None => actual.is_none(),
        ExpectedRevision::At(expected) => actual == Some(expected),
    };
    if is_met {
        return Ok(());
    }
    Err(Error::DocumentMoved { kind: change.kind, key: change.key.clone(), expected: change.expected, actual })
}
