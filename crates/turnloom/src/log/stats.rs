//! Counters of the writer. Another module turns them into metrics.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Group sizes up to 1, 2, 4 and so on up to the queue's bound, 1,024.
const SIZES: usize = 11;

#[derive(Debug, Default)]
pub struct Stats {
    commits: AtomicU64,
    events: AtomicU64,
    writes: AtomicU64,
    sizes: [AtomicU64; SIZES],
}

impl Stats {
    pub(in crate::log) fn count(&self, writes: usize, events: u64) {
        self.commits.fetch_add(1, Relaxed);
        self.events.fetch_add(events, Relaxed);
        self.writes.fetch_add(writes as u64, Relaxed);
        let size = writes.next_power_of_two().trailing_zeros() as usize;
        if let Some(size) = self.sizes.get(size.min(SIZES - 1)) {
            size.fetch_add(1, Relaxed);
        }
    }

    pub fn commits(&self) -> u64 {
        self.commits.load(Relaxed)
    }

    pub fn events(&self) -> u64 {
        self.events.load(Relaxed)
    }

    /// How many writes all groups held: the sum to the histogram below.
    pub fn writes(&self) -> u64 {
        self.writes.load(Relaxed)
    }

    /// How many groups had at most so many writes and more than the size before: `(1, 2, 4, ... 1024)`.
    pub fn group_sizes(&self) -> impl Iterator<Item = (u64, u64)> {
        (0..).map(|power| 1 << power).zip(self.sizes.iter().map(|size| size.load(Relaxed)))
    }
}
