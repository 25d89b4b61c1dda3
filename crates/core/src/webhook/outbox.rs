//! How far a subscription is: what was read from the feed and is not delivered, in which order it may go, and which position is safe to go on from after a
//! crash.
//!
//! Every session is a lane: one event after the other. What fails is *kept*, with everything behind it in its lane: from then on documents remember
//! it, and the position goes on without it. So a session whose events nobody takes holds up no other session, and what was read is either delivered,
//! kept, or after the position. Not here: what is sent, and the clock.

use std::collections::{BTreeMap, VecDeque};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::EventType;
use super::backoff::pause_ms;
use crate::id::{Seq, SessionId};
use crate::time::Timestamp;

/// What is read and not delivered; the feed waits when there is more.
pub const MAX_WAITING: usize = 1_024;

/// What nobody took and is kept for people to look at; the oldest go.
pub const MAX_DEAD: usize = 1_000;

/// One event for one receiver.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "WebhookDelivery")]
pub struct Item {
    /// The header `webhook-id`: the same event has the same one, however often it is sent.
    pub id: String,
    #[serde(rename = "type")]
    pub event: EventType,
    pub session_id: SessionId,
    pub seq: Seq,
    /// Its commit in the feed.
    pub position: u64,
    pub state: ItemState,
    /// How often it was tried.
    pub attempts: u32,
    /// When it is tried again.
    pub next_at: Option<Timestamp>,
    pub last_error: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "WebhookDeliveryState")]
pub enum ItemState {
    Waiting,
    Delivered,
    /// It was tried for days; nobody tries it any more unless somebody asks for it.
    Dead,
}

/// What of a subscription must be written down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    Keep(Item),
    Forget { id: String },
}

#[derive(Debug, Default)]
pub struct Outbox {
    lanes: BTreeMap<SessionId, Lane>,
    dead: VecDeque<Item>,
    waiting: usize,
    in_flight: usize,
    /// Everything up to here was read.
    read_to: u64,
    changes: Vec<Change>,
}

#[derive(Debug, Default)]
struct Lane {
    entries: VecDeque<Entry>,
    in_flight: bool,
}

#[derive(Debug)]
struct Entry {
    item: Item,
    /// A document remembers it.
    kept: bool,
}

impl Outbox {
    /// As it was when it was last written down.
    pub fn restore(position: u64, mut kept: Vec<Item>) -> Self {
        let mut outbox = Self { read_to: position, ..Self::default() };
        kept.sort_by_key(|item| (item.position, item.seq));
        for item in kept {
            match item.state {
                ItemState::Dead => outbox.dead.push_back(item),
                ItemState::Waiting | ItemState::Delivered => {
                    outbox.waiting += 1;
                    let lane = outbox.lanes.entry(item.session_id.clone()).or_default();
                    lane.entries.push_back(Entry { item, kept: true });
                }
            }
        }
        outbox
    }

    pub fn has_room(&self) -> bool {
        self.waiting < MAX_WAITING
    }

    pub fn waiting(&self) -> usize {
        self.waiting
    }

    pub fn in_flight(&self) -> usize {
        self.in_flight
    }

    pub fn dead(&self) -> impl DoubleEndedIterator<Item = &Item> {
        self.dead.iter()
    }

    /// What failed and is tried again, or stands behind such.
    pub fn kept(&self) -> impl Iterator<Item = &Item> {
        let entries = self.lanes.values().flat_map(|lane| &lane.entries);
        entries.filter(|entry| entry.kept).map(|entry| &entry.item)
    }

    /// Takes an event from the feed. One that is kept already is not taken again.
    pub fn push(&mut self, item: Item) {
        let lane = self.lanes.entry(item.session_id.clone()).or_default();
        let is_known = lane.entries.iter().any(|entry| entry.item.id == item.id);
        if is_known || self.dead.iter().any(|dead| dead.id == item.id) {
            return;
        }
        let kept = lane.entries.back().is_some_and(|last| last.kept);
        if kept {
            self.changes.push(Change::Keep(item.clone()));
        }
        lane.entries.push_back(Entry { item, kept });
        self.waiting += 1;
    }

    /// Everything up to a position was pushed.
    pub fn read(&mut self, position: u64) {
        self.read_to = self.read_to.max(position);
    }

    /// Where to go on after a crash, once the changes are written down.
    pub fn position(&self) -> u64 {
        let entries = self.lanes.values().flat_map(|lane| &lane.entries);
        let first = entries.filter(|entry| !entry.kept).map(|entry| entry.item.position).min();
        first.map_or(self.read_to, |first| first.saturating_sub(1).min(self.read_to))
    }

    pub fn has_changes(&self) -> bool {
        !self.changes.is_empty()
    }

    /// What must be written down, before or together with the position.
    pub fn take_changes(&mut self) -> Vec<Change> {
        std::mem::take(&mut self.changes)
    }

    /// Up to so many events to send now, one of each session at most.
    pub fn due(&mut self, now: Timestamp, at_most: usize) -> Vec<Item> {
        let mut ready: Vec<(Timestamp, u64, SessionId)> = Vec::new();
        for (session, lane) in &self.lanes {
            if let Some(first) = lane.entries.front()
                && !lane.in_flight
                && first.item.next_at.is_none_or(|at| at <= now)
            {
                ready.push((first.item.next_at.unwrap_or_default(), first.item.position, session.clone()));
            }
        }
        ready.sort();
        let mut due = Vec::new();
        for (_, _, session) in ready.into_iter().take(at_most) {
            let Some(lane) = self.lanes.get_mut(&session) else { continue };
            let Some(first) = lane.entries.front() else { continue };
            lane.in_flight = true;
            self.in_flight += 1;
            due.push(first.item.clone());
        }
        due
    }

    /// When the next event may be sent that failed before.
    pub fn next_due(&self) -> Option<Timestamp> {
        let idle = self.lanes.values().filter(|lane| !lane.in_flight);
        idle.filter_map(|lane| lane.entries.front()).map(|entry| entry.item.next_at.unwrap_or_default()).min()
    }

    /// It was taken, or is not wanted any more.
    pub fn delivered(&mut self, item: &Item) {
        if let Some(entry) = self.land(item) {
            self.forget(entry);
        }
    }

    /// It was not taken, and is tried again after a pause, at least so long if the receiver asks for that. After days it is dead.
    pub fn failed(&mut self, item: &Item, now: Timestamp, why: String, after_ms: Option<i64>) {
        let Some(mut entry) = self.land(item) else { return };
        entry.item.attempts = entry.item.attempts.saturating_add(1);
        entry.item.last_error = Some(why);
        let Some(pause) = pause_ms(&entry.item.id, entry.item.attempts) else {
            self.waiting -= 1;
            self.bury(entry.item);
            return;
        };
        entry.item.next_at = Some(now.plus_millis(pause.max(after_ms.unwrap_or_default())));
        entry.kept = true;
        self.changes.push(Change::Keep(entry.item.clone()));
        let lane = self.lanes.entry(item.session_id.clone()).or_default();
        for behind in lane.entries.iter_mut().filter(|behind| !behind.kept) {
            behind.kept = true;
            self.changes.push(Change::Keep(behind.item.clone()));
        }
        lane.entries.push_front(entry);
    }

    /// Tries a dead one again, from the beginning. False if there is none of that name.
    pub fn revive(&mut self, id: &str) -> bool {
        let Some(at) = self.dead.iter().position(|item| item.id == id) else { return false };
        let Some(item) = self.dead.remove(at) else { return false };
        self.send_again(item);
        true
    }

    /// Sends an event once more, after what waits in its session.
    pub fn send_again(&mut self, item: Item) {
        let item = Item { state: ItemState::Waiting, attempts: 0, next_at: None, ..item };
        let lane = self.lanes.entry(item.session_id.clone()).or_default();
        if lane.entries.iter().any(|entry| entry.item.id == item.id) {
            return;
        }
        self.changes.push(Change::Keep(item.clone()));
        for behind in lane.entries.iter_mut().filter(|behind| !behind.kept) {
            behind.kept = true;
            self.changes.push(Change::Keep(behind.item.clone()));
        }
        lane.entries.push_back(Entry { item, kept: true });
        self.waiting += 1;
    }

    /// Takes an event that is on its way from its lane.
    fn land(&mut self, item: &Item) -> Option<Entry> {
        let lane = self.lanes.get_mut(&item.session_id)?;
        if !lane.in_flight || lane.entries.front().is_none_or(|first| first.item.id != item.id) {
            return None;
        }
        lane.in_flight = false;
        self.in_flight -= 1;
        let entry = lane.entries.pop_front();
        if lane.entries.is_empty() {
            self.lanes.remove(&item.session_id);
        }
        entry
    }

    fn forget(&mut self, entry: Entry) {
        self.waiting -= 1;
        if entry.kept {
            self.changes.push(Change::Forget { id: entry.item.id });
        }
    }

    fn bury(&mut self, item: Item) {
        let item = Item { state: ItemState::Dead, next_at: None, ..item };
        self.changes.push(Change::Keep(item.clone()));
        self.dead.push_back(item);
        if self.dead.len() > MAX_DEAD
            && let Some(oldest) = self.dead.pop_front()
        {
            self.changes.push(Change::Forget { id: oldest.id });
        }
    }
}

#[cfg(test)]
mod tests;
