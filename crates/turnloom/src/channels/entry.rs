//! One channel in memory: its settings, its counts, and what is known of its deliveries.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use tokio::sync::{Semaphore, oneshot};
use tokio_util::sync::CancellationToken;
use turnloom_core::channel::{Channel, Kind, Secret};
use turnloom_core::id::SessionId;
use turnloom_core::time::Timestamp;

use super::lanes::Lanes;
use super::record::{DeliveryView, Record};
use crate::log::Revision;
use crate::secrets::{SecretSource, Secrets};
use crate::sync::Locked;

/// Deliveries that are accepted and not done with, of one channel; the next is told to come back.
pub const MAX_WAITING: usize = 1_000;

/// Deliveries that are done with and still listed.
pub const MAX_LISTED: usize = 200;

/// A channel as it is written down.
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Stored {
    pub(super) channel: Channel,
    pub(super) secret: StoredSecret,
    pub(super) reply_token: Option<SecretSource>,
    pub(super) created_at: Timestamp,
    pub(super) updated_at: Timestamp,
}

/// Where a channel's secret is. One that is only compared is known by its digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum StoredSecret {
    Digest { sha256: [u8; 32] },
    Source(SecretSource),
}

impl StoredSecret {
    pub(super) fn find(&self, channel: &str, secrets: &Secrets) -> Option<Secret> {
        match self {
            Self::Digest { sha256 } => Some(Secret::Digest(*sha256)),
            Self::Source(source) => secrets.find(&secret_name(channel), source).map(Secret::Text),
        }
    }

    pub(super) fn source(&self) -> SecretSource {
        match self {
            Self::Digest { .. } => SecretSource::Stored {},
            Self::Source(source) => source.clone(),
        }
    }
}

/// Whether a kind of channel only compares its secret.
pub(super) fn is_compared(kind: Kind) -> bool {
    match kind {
        Kind::Telegram | Kind::Bearer => true,
        Kind::Hmac | Kind::Github | Kind::Slack | Kind::Standard => false,
    }
}

pub(super) fn secret_name(channel: &str) -> String {
    format!("channel/{channel}/secret")
}

pub(super) fn token_name(channel: &str) -> String {
    format!("channel/{channel}/reply_token")
}

/// What became of a channel's deliveries since the daemon started.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "ChannelCounts")]
pub struct Counts {
    pub accepted: u64,
    /// They had been accepted before.
    pub duplicates: u64,
    /// Genuine, and nothing for an agent: by reason.
    pub ignored: BTreeMap<String, u64>,
    /// By the code of the refusal.
    pub refused: BTreeMap<String, u64>,
    /// Answers that went back.
    pub replied: u64,
    /// Answers that nobody took.
    pub reply_failed: u64,
}

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) stored: Locked<(Arc<Stored>, Revision)>,
    pub(super) counts: Locked<Counts>,
    pub(super) work: Locked<Work>,
    /// Turns that may run at once.
    pub(super) running: Locked<Arc<Semaphore>>,
    /// The channel is removed.
    pub(super) ended: CancellationToken,
}

/// What is known of deliveries. The whole of each is in its document.
#[derive(Debug, Default)]
pub(super) struct Work {
    by_order: BTreeMap<u64, DeliveryView>,
    order_of: HashMap<String, u64>,
    /// Those that are not over, and those that are being written down.
    pub(super) waiting: usize,
    next_order: u64,
    pub(super) turns: Lanes<SessionId, String>,
    pub(super) replies: Lanes<SessionId, String>,
    /// Requests that wait for an answer.
    pub(super) waiters: HashMap<String, oneshot::Sender<String>>,
}

impl Entry {
    pub(super) fn new(stored: Stored, revision: Revision) -> Self {
        let running = Arc::new(Semaphore::new(stored.channel.max_running as usize));
        Self {
            stored: Locked::new((Arc::new(stored), revision)),
            counts: Locked::default(),
            work: Locked::default(),
            running: Locked::new(running),
            ended: CancellationToken::new(),
        }
    }

    pub(super) fn stored(&self) -> Arc<Stored> {
        Arc::clone(&self.stored.lock().0)
    }

    /// Other settings count from now on.
    pub(super) fn replace(&self, stored: Stored, revision: Revision) {
        let most = stored.channel.max_running as usize;
        let before = std::mem::replace(&mut *self.stored.lock(), (Arc::new(stored), revision));
        if before.0.channel.max_running as usize != most {
            *self.running.lock() = Arc::new(Semaphore::new(most));
        }
    }
}

impl Work {
    /// Room for one more delivery and its place in the order, if there is.
    pub(super) fn reserve(&mut self) -> Option<u64> {
        if self.waiting >= MAX_WAITING {
            return None;
        }
        self.waiting += 1;
        self.next_order += 1;
        Some(self.next_order)
    }

    pub(super) fn release(&mut self) {
        self.waiting = self.waiting.saturating_sub(1);
    }

    pub(super) fn find(&self, delivery: &str) -> Option<&DeliveryView> {
        self.by_order.get(self.order_of.get(delivery)?)
    }

    /// A delivery as it is now. One that is over makes room, and those over that are too many go: their ids are answered.
    pub(super) fn note(&mut self, record: &Record) -> Vec<String> {
        let view = DeliveryView::from(record);
        let was_over = self.by_order.get(&record.order).is_some_and(|before| before.state.is_over());
        let is_over = view.state.is_over();
        self.order_of.insert(view.delivery_id.clone(), record.order);
        self.by_order.insert(record.order, view);
        match (was_over, is_over) {
            (false, true) => self.release(),
            (true, false) => self.waiting += 1,
            (true, true) | (false, false) => {}
        }
        self.forget_old()
    }

    /// One that an earlier daemon wrote down.
    pub(super) fn restore(&mut self, record: &Record) {
        let view = DeliveryView::from(record);
        self.waiting += usize::from(!view.state.is_over());
        self.next_order = self.next_order.max(record.order);
        self.order_of.insert(view.delivery_id.clone(), record.order);
        self.by_order.insert(record.order, view);
    }

    fn forget_old(&mut self) -> Vec<String> {
        let over = self.by_order.values().filter(|view| view.state.is_over()).count();
        if over <= MAX_LISTED + MAX_LISTED / 4 {
            return Vec::new();
        }
        let old = self.by_order.iter().filter(|(_, view)| view.state.is_over()).take(over - MAX_LISTED);
        let old: Vec<u64> = old.map(|(order, _)| *order).collect();
        let gone: Vec<String> =
            old.iter().filter_map(|order| self.by_order.remove(order)).map(|view| view.delivery_id).collect();
        for delivery in &gone {
            self.order_of.remove(delivery);
        }
        gone
    }

    /// The newest first.
    pub(super) fn list(&self, limit: usize) -> Vec<DeliveryView> {
        self.by_order.values().rev().take(limit).cloned().collect()
    }
}
