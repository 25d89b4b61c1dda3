//! The state that an agent and its clients share: one JSON document per session, changed by JSON Patches (RFC 6902). Everything that folds a log
//! changes the document here, so that one patch means one thing everywhere. Who may change it is the session's business.

use json_patch::{Patch, PatchErrorKind, PatchOperation};
use serde_json::{Value, json};

#[cfg(test)]
mod tests;

/// The largest document, as JSON. It is sent whole to everybody who comes, and a few `copy` operations could double it without end.
pub const MAX_BYTES: usize = 1024 * 1024;

/// Why a patch changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("operation {at} of the patch: what is there is not what `test` says")]
    TestFailed { at: usize },
    #[error("operation {at} of the patch does not fit: {why}")]
    DoesNotFit { at: usize, why: String },
    #[error("this is not a JSON Patch: {0}")]
    Malformed(String),
    #[error("the state would be larger than {MAX_BYTES} bytes")]
    TooLarge,
}

/// The document as clients see it: as long as nobody has said anything, it is empty.
pub fn document(state: &Value) -> Value {
    if state.is_null() { json!({}) } else { state.clone() }
}

/// The document after a patch: all of the patch, or an error and none of it.
pub fn patched(state: &Value, patch: &Value) -> Result<Value, Error> {
    let Patch(operations) =
        serde_json::from_value(patch.clone()).map_err(|error| Error::Malformed(error.to_string()))?;
    let mut document = document(state);
    for (at, operation) in (1..).zip(&operations) {
        json_patch::patch(&mut document, std::slice::from_ref(operation)).map_err(|error| match &error.kind {
            PatchErrorKind::TestFailed => Error::TestFailed { at },
            // What is not there is not what it should be.
            _ if matches!(operation, PatchOperation::Test(_)) => Error::TestFailed { at },
            kind => Error::DoesNotFit { at, why: kind.to_string() },
        })?;
        // Only these make more of what is there; the others are as large as the patch itself.
        if matches!(operation, PatchOperation::Copy(_)) {
            check_size(&document)?;
        }
    }
    check_size(&document)?;
    Ok(document)
}

/// What changes one document into another.
pub fn difference(from: &Value, to: &Value) -> Value {
    json!(json_patch::diff(&document(from), &document(to)))
}

fn check_size(document: &Value) -> Result<(), Error> {
    if size(document) > MAX_BYTES { Err(Error::TooLarge) } else { Ok(()) }
}

/// How long the JSON is, without making it.
fn size(value: &Value) -> usize {
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
