//! Lanes: what has the same key is done one after the other, what has another key meanwhile.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

/// What waits, by key. A lane is there as long as somebody works in it.
#[derive(Debug)]
pub(super) struct Lanes<K, T>(HashMap<K, VecDeque<T>>);

impl<K, T> Default for Lanes<K, T> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

/// Whether somebody works in a lane already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lane {
    /// Nobody yet: whoever added something begins.
    New,
    Busy,
}

impl<K: Eq + Hash + Clone, T> Lanes<K, T> {
    pub(super) fn push(&mut self, key: &K, item: T) -> Lane {
        if let Some(waiting) = self.0.get_mut(key) {
            waiting.push_back(item);
            return Lane::Busy;
        }
        self.0.insert(key.clone(), VecDeque::from([item]));
        Lane::New
    }

    /// The next in a lane. Nothing ends the lane: the worker leaves.
    pub(super) fn next(&mut self, key: &K) -> Option<T> {
        let next = self.0.get_mut(key)?.pop_front();
        if next.is_none() {
            self.0.remove(key);
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lane_has_one_worker_and_an_order() {
        let mut lanes = Lanes::default();
        assert_eq!(lanes.push(&"a", 1), Lane::New);
        assert_eq!(lanes.push(&"a", 2), Lane::Busy);
        assert_eq!(lanes.push(&"b", 3), Lane::New);
        assert_eq!((lanes.next(&"a"), lanes.next(&"a")), (Some(1), Some(2)));
        assert_eq!(lanes.push(&"a", 4), Lane::Busy, "the worker has not left yet");
        assert_eq!((lanes.next(&"a"), lanes.next(&"a")), (Some(4), None));
        assert_eq!(lanes.push(&"a", 5), Lane::New);
    }
}
