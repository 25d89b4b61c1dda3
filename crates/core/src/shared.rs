//! The state that an agent and its clients share: one JSON document per session, changed by JSON Patches (RFC 6902). Everything that folds a log
//! changes the document here, so that one patch means one thing everywhere. Who may change it is the session's business.

use json_patch::{Patch, PatchErrorKind, PatchOperation};
use serde::Deserialize as _;
use serde_json::{Value, json};

use crate::event::{Envelope, Event};
use crate::id::Seq;
use crate::nesting::{self, MAX_DEPTH};
use crate::projection::Projection;

#[cfg(test)]
mod tests;

/// The largest document, as JSON. It is sent whole to everybody who comes, and a few `copy` operations could double it without end.
pub const MAX_BYTES: usize = 1024 * 1024;

/// Operations in one patch. Each may move everything there is.
pub const MAX_OPERATIONS: usize = 4_096;

/// What one patch may copy and move in all, as JSON: more is not a change any more, it is work for its own sake.
const MAX_WORK: usize = 4 * MAX_BYTES;

/// Why a patch changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("operation {at} of the patch failed: the value is not the one that `test` expects")]
    TestFailed { at: usize },
    #[error("operation {at} of the patch does not fit: {why}")]
    DoesNotFit { at: usize, why: String },
    #[error("this is not a JSON Patch: {0}")]
    Malformed(String),
    #[error("the state would be larger than {MAX_BYTES} bytes")]
    TooLarge,
    #[error("the state would be nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
    #[error(
        "the patch is too much work: it has more than {MAX_OPERATIONS} operations, or copies and moves more than {MAX_WORK} bytes; send the state whole, or in parts"
    )]
    TooMuch,
}

/// A fold of the log: the state as it is, and where it was last changed.
#[derive(Debug, Clone, Default)]
pub struct SharedState {
    state: Value,
    seq: Seq,
}

impl SharedState {
    /// The state as clients see it.
    pub fn document(&self) -> Value {
        document(&self.state)
    }

    pub fn seq(&self) -> Seq {
        self.seq
    }
}

impl Projection for SharedState {
    type Output = ();

    fn apply(&mut self, envelope: &Envelope, (): &mut ()) {
        let state = match &envelope.event {
            Event::StateSnapshot(snapshot) => Some(snapshot.state.clone()),
            // A patch that does not fit changes nothing; the log keeps it.
            Event::StateDelta(delta) => patched(&self.state, &delta.patch).ok(),
            _ => None,
        };
        if let Some(state) = state {
            (self.state, self.seq) = (state, envelope.seq);
        }
    }

    fn weight(&self) -> usize {
        // Enough for most, and states are bounded.
        64 * 1024
    }
}

/// The document as clients see it: as long as nobody has said anything, it is empty.
pub fn document(state: &Value) -> Value {
    if state.is_null() { json!({}) } else { state.clone() }
}

/// The document after a patch: all of the patch, or an error and none of it.
pub fn patched(state: &Value, patch: &Value) -> Result<Value, Error> {
    let Patch(operations) = Patch::deserialize(patch).map_err(|error| Error::Malformed(error.to_string()))?;
    if operations.len() > MAX_OPERATIONS {
        return Err(Error::TooMuch);
    }
    let mut document = document(state);
    let mut work = 0;
    for (at, operation) in (1..).zip(&operations) {
        // Before it is done: a few copies would make more than can be undone.
        work += check(&document, operation)?;
        if work > MAX_WORK {
            return Err(Error::TooMuch);
        }
        json_patch::patch(&mut document, std::slice::from_ref(operation)).map_err(|error| match &error.kind {
            PatchErrorKind::TestFailed => Error::TestFailed { at },
            // What is not there is not what it should be.
            _ if matches!(operation, PatchOperation::Test(_)) => Error::TestFailed { at },
            kind => Error::DoesNotFit { at, why: kind.to_string() },
        })?;
    }
    if size(&document) > MAX_BYTES { Err(Error::TooLarge) } else { Ok(document) }
}

/// Refuses an operation that would nest the document too deep, and says how much it copies or moves, in bytes.
fn check(document: &Value, operation: &PatchOperation) -> Result<usize, Error> {
    let there = |from: &str| document.pointer(from);
    let (value, moved) = match operation {
        PatchOperation::Add(add) => (Some(&add.value), 0),
        PatchOperation::Replace(replace) => (Some(&replace.value), 0),
        PatchOperation::Move(from) => (there(from.from.as_str()), there(from.from.as_str()).map_or(0, size)),
        PatchOperation::Copy(from) => (there(from.from.as_str()), there(from.from.as_str()).map_or(0, size)),
        PatchOperation::Remove(_) | PatchOperation::Test(_) => (None, 0),
    };
    let above = operation.path().count();
    let fits = |value: &Value| above <= MAX_DEPTH && nesting::fits(value, MAX_DEPTH - above);
    if value.is_none_or(fits) { Ok(moved) } else { Err(Error::TooDeep) }
}

/// What changes one document into another.
pub fn difference(from: &Value, to: &Value) -> Value {
    let patch = json_patch::diff(&document(from), &document(to));
    if patch.0.len() > MAX_OPERATIONS {
        return json!([{ "op": "replace", "path": "", "value": document(to) }]);
    }
    json!(patch)
}

/// How long the JSON is, without making it.
pub(crate) fn size(value: &Value) -> usize {
    struct Count(usize);
    impl std::io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // A `Value` always encodes, and counting cannot fail.
    drop(serde_json::to_writer(&mut count, value));
    count.0
}
