//! The order of an inbox: by how long something blocks how much. What blocks nothing comes after, the newest first.

use std::cmp::Ordering;

use super::{Item, Kind};
use crate::time::Timestamp;

/// Sorts what there is now.
pub fn sort(items: &mut [Item], now: Timestamp) {
    items.sort_by(|left, right| compare(left, right, now));
}

/// The next moment at which these, sorted as of now, would be in another order.
pub fn next_change(sorted: &[Item], now: Timestamp) -> Option<Timestamp> {
    // Whatever changes first, changes between two neighbours.
    let pairs = sorted.iter().zip(sorted.iter().skip(1));
    pairs.filter_map(|(above, below)| overtakes(above, below, now)).min()
}

fn compare(left: &Item, right: &Item, now: Timestamp) -> Ordering {
    let group = |item: &Item| match item.kind {
        kind if kind.needs_you() => 0,
        Kind::Failed => 1,
        _ => 2,
    };
    let by_group = group(left).cmp(&group(right));
    let within = if left.kind.needs_you() {
        // The weightiest first; of equal ones the one that waits longer.
        weight(right, now).cmp(&weight(left, now)).then(left.since.cmp(&right.since))
    } else {
        right.since.cmp(&left.since)
    };
    by_group.then(within).then_with(|| left.item_id.cmp(&right.item_id))
}

/// Milliseconds, times what waits.
fn weight(item: &Item, now: Timestamp) -> i128 {
    let waited = i128::from(now.millis()) - i128::from(item.since.millis());
    waited.max(0) * i128::from(item.blocks.max(1))
}

/// When the one below will stand above.
fn overtakes(above: &Item, below: &Item, now: Timestamp) -> Option<Timestamp> {
    let (slow, fast) = (i128::from(above.blocks.max(1)), i128::from(below.blocks.max(1)));
    if !above.kind.needs_you() || !below.kind.needs_you() || fast <= slow {
        return None;
    }
    let meet = (fast * i128::from(below.since.millis()) - slow * i128::from(above.since.millis())) / (fast - slow);
    let now_ms = i128::from(now.millis());
    // Where they meet, give or take what the division left, and never in the past. Either may begin in the future.
    [now_ms + 1, meet - 1, meet, meet + 1, meet + 2]
        .into_iter()
        .filter(|at| *at > now_ms)
        .filter_map(|at| i64::try_from(at).ok().map(Timestamp::from_millis))
        .filter(|at| compare(below, above, *at).is_lt())
        .min()
}
