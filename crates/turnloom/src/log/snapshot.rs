//! What is kept beside a log so that it need not be folded from its beginning.
//!
//! Not here: what the bytes mean, and when they are saved. A snapshot is a shortcut: every reader can do without it, and a damaged one counts as
//! missing.

use bytes::Bytes;
use turnloom_core::id::{Seq, SessionId};

/// How large a part of a snapshot may be. What is larger is not kept.
pub const MAX_SNAPSHOT_BYTES: usize = 32 * 1024 * 1024;

/// What a fold made of the first `seq` events of a log, or a part of that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    pub session: SessionId,
    /// Which fold.
    pub kind: String,
    pub part: u32,
    /// Of the fold and of the form of its bytes.
    pub version: u32,
    pub seq: Seq,
    pub bytes: Bytes,
}

/// What is known of a snapshot without reading it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotName {
    pub kind: String,
    pub part: u32,
    pub version: u32,
    pub seq: Seq,
}

impl Snapshot {
    pub(super) fn fits(&self) -> bool {
        self.bytes.len() <= MAX_SNAPSHOT_BYTES
    }
}
