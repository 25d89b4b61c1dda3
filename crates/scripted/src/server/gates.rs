//! Gates: named places at which a stream waits for a release. A release that comes before the stream is kept, so there is no race.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Semaphore;

#[derive(Debug)]
pub(super) struct Gates(BTreeMap<String, Gate>);

#[derive(Debug)]
struct Gate {
    passes: Semaphore,
    waiting: AtomicUsize,
}

impl Gates {
    pub(super) fn new<'a>(names: impl Iterator<Item = &'a str>) -> Self {
        let gate = || Gate { passes: Semaphore::new(0), waiting: AtomicUsize::new(0) };
        Self(names.map(|name| (name.to_owned(), gate())).collect())
    }

    /// One more may pass.
    pub(super) fn release(&self, name: &str) -> bool {
        let Some(gate) = self.0.get(name) else { return false };
        if gate.passes.available_permits() < Semaphore::MAX_PERMITS {
            gate.passes.add_permits(1);
        }
        true
    }

    pub(super) fn waiting(&self, name: &str) -> usize {
        self.0.get(name).map_or(0, |gate| gate.waiting.load(Ordering::SeqCst))
    }

    pub(super) fn list(&self) -> BTreeMap<&str, usize> {
        self.0.iter().map(|(name, gate)| (name.as_str(), gate.waiting.load(Ordering::SeqCst))).collect()
    }

    /// Waits for a pass. A connection that goes away while it waits takes none.
    pub(super) async fn pass(&self, name: &str) {
        let Some(gate) = self.0.get(name) else { return };
        let _counted = Counted::new(&gate.waiting);
        if let Ok(pass) = gate.passes.acquire().await {
            pass.forget();
        }
    }
}

/// Counts a waiting stream until it is dropped, even if its client has disconnected.
struct Counted<'a>(&'a AtomicUsize);

impl<'a> Counted<'a> {
    fn new(counter: &'a AtomicUsize) -> Self {
        counter.fetch_add(1, Ordering::SeqCst);
        Self(counter)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}
