//! The stored parts of a view. The log is authoritative: a stored part is a shortcut, and if anything about it is wrong, the log is folded from its
//! beginning.

use std::collections::HashMap;

use turnloom_core::id::Seq;
use turnloom_core::projection::{Muted as _, Projection as _};
use turnloom_core::view::{Fold, NotUsable, Ops, Part};

use super::SharedView;
use crate::log::{self, Snapshot};

/// What a view is called among what is kept beside its log.
pub const VIEW: &str = "view";

/// What is known of it here.
#[derive(Debug, Default)]
pub(super) struct StoredView {
    /// Somebody has looked for it.
    is_known: bool,
    /// The position that each part is kept with.
    parts: HashMap<Part, Seq>,
    /// How large the parts were that were saved last.
    bytes: usize,
}

impl SharedView {
    /// Takes what is kept, if there is something that can be used.
    pub(super) async fn begin(&self, head: Seq) {
        if std::mem::replace(&mut self.state().kept.is_known, true) {
            return;
        }
        let Some(kept) = self.part(Part::Head).await.filter(|kept| kept.seq <= head) else { return };
        let fold = Fold::load(&kept.bytes).ok().filter(|fold| fold.seq() == kept.seq);
        let mut state = self.state();
        if let Some(fold) = fold.filter(|_| state.fold.seq() == Seq::ZERO) {
            state.kept.parts = fold.parts().into_iter().collect();
            state.kept.bytes = kept.bytes.len();
            state.fold = fold;
        }
    }

    /// Reads a part that is missing. If it cannot be used, the log is folded from its beginning.
    pub(super) async fn restore(&self, part: Part) {
        let kept = self.part(part).await.ok_or(NotUsable);
        let mut state = self.state();
        if kept.and_then(|kept| state.fold.restore(part, kept.seq, &kept.bytes)).is_err() {
            tracing::debug!(session = %self.id, ?part, "what is kept of a view cannot be used");
            state.fold = Fold::default();
            state.steps.clear();
            state.kept.parts.clear();
        }
    }

    async fn part(&self, part: Part) -> Option<Snapshot> {
        let kept = self.log.snapshot(&self.id, VIEW, part.number()).await.unwrap_or_else(|error| {
            tracing::warn!(session = %self.id, %error, "what is kept beside a log cannot be read");
            None
        });
        kept.filter(|kept| kept.version == Fold::VERSION)
    }

    /// How large what was saved last is.
    pub(super) fn kept_bytes(&self) -> u64 {
        self.state().kept.bytes as u64
    }

    /// Keeps the view beside its log: whatever is different from what is kept there.
    pub(super) async fn save(&self) -> Result<(), log::Error> {
        let changed: Vec<Snapshot> = {
            let mut state = self.state();
            let parts = state.fold.parts().into_iter();
            let changed: Vec<_> = parts.filter(|(part, seq)| state.kept.parts.get(part) != Some(seq)).collect();
            let stored = changed.into_iter().map(|(part, seq)| Some((part, seq, state.fold.store(part)?)));
            // What changed is always at hand, so all of it can be stored.
            let Some(stored) = stored.collect::<Option<Vec<_>>>() else { return Ok(()) };
            let snapshot = |(part, seq, bytes): (Part, Seq, Vec<u8>)| Snapshot {
                session: self.id.clone(),
                kind: VIEW.to_owned(),
                part: part.number(),
                version: Fold::VERSION,
                seq,
                bytes: bytes.into(),
            };
            stored.into_iter().map(snapshot).collect()
        };
        let kept: Vec<(Part, Seq)> = changed.iter().map(|saved| (Part::from_number(saved.part), saved.seq)).collect();
        let bytes = changed.iter().map(|saved| saved.bytes.len()).sum();
        self.log.save(changed).await?;
        let mut state = self.state();
        state.kept.parts.extend(kept);
        state.kept.bytes = bytes;
        Ok(())
    }

    /// In builds with debug assertions: folds the whole log as well, and compares.
    pub(super) async fn check(&self, head: Seq) {
        if !cfg!(debug_assertions) || self.state().kept.parts.is_empty() {
            return;
        }
        let mut whole = Fold::default();
        let folded = self.log.fold(&self.id, Seq::ZERO, head, |page| {
            for envelope in page.iter().filter_map(|record| record.decode().ok()) {
                whole.apply(&envelope, &mut Ops::muted());
            }
            Ok::<_, log::Error>(())
        });
        if folded.await.is_err() {
            return;
        }
        let mut state = self.state();
        // Others may have gone on meanwhile, and a log with holes is folded around them.
        if state.fold.seq() == whole.seq() {
            let (kept, folded) = (state.fold.store(Part::Head), whole.store(Part::Head));
            debug_assert!(kept == folded, "the view saved of {} is not what its log says", self.id);
        }
    }
}
