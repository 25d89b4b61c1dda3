//! The courier of one subscription: reads the feed, sends what is due, and writes down how far it is. The order and what must be written are the outbox's.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};
use turnloom_core::event::Record;
use turnloom_core::id::Seq;
use turnloom_core::webhook::payload::{About, KINDS, event_type, payload, webhook_id};
use turnloom_core::webhook::{Change, Item, ItemState, Outbox};

use super::{Attempt, Entry, KEPT, MAX_RECENT, POSITIONS, Stored, Webhooks, millis};
use crate::log::{self, Commit, DocumentChange, MAX_DOCUMENT_CHANGES, Position};
use crate::reader::Commits;
use crate::session::now;

/// Requests to one receiver that are on their way at once.
const IN_FLIGHT: usize = 16;

/// How long a position may be ahead of what is written down: that much is sent again after a crash.
const SAVE_EVERY: Duration = Duration::from_millis(500);

/// What a courier is asked.
#[derive(Debug)]
pub(super) enum Order {
    /// The settings have changed.
    Look,
    Redeliver {
        id: String,
        recent: Option<Item>,
        answer: oneshot::Sender<bool>,
    },
}

#[derive(Debug)]
pub(super) struct Courier {
    webhooks: Webhooks,
    entry: Arc<Entry>,
    outbox: Outbox,
    commits: Commits,
    orders: mpsc::Receiver<Order>,
    sending: JoinSet<Sent>,
    /// The position that is written down, and when it was.
    saved: (u64, Instant),
}

/// What became of one try.
struct Sent {
    item: Item,
    milliseconds: u64,
    result: Result,
}

enum Result {
    Delivered {
        status: u16,
    },
    /// Its session is gone, or the subscription does not want it.
    Unwanted,
    /// The receiver wants no more at all.
    Gone {
        status: u16,
    },
    Failed {
        status: Option<u16>,
        why: String,
        after_ms: Option<i64>,
    },
}

impl Courier {
    pub(super) fn new(
        webhooks: Webhooks,
        entry: Arc<Entry>,
        position: Position,
        kept: Vec<Item>,
        orders: mpsc::Receiver<Order>,
    ) -> Self {
        let commits = Commits::new(&webhooks.0.log, position, webhooks.0.closing.clone());
        let outbox = Outbox::restore(position.0, kept);
        let saved = (position.0, Instant::now());
        let courier = Self { webhooks, entry, outbox, commits, orders, sending: JoinSet::new(), saved };
        courier.show_kept();
        courier
    }

    pub(super) async fn run(mut self) {
        if let Err(error) = self.work().await {
            tracing::debug!(webhook = self.entry.id, %error, "a webhook stops");
        }
        self.sending.shutdown().await;
    }

    async fn work(&mut self) -> std::result::Result<(), log::Error> {
        let ended = self.entry.ended.clone();
        loop {
            let paused = self.entry.stored().subscription.paused;
            if !paused {
                let room = IN_FLIGHT.saturating_sub(self.outbox.in_flight());
                for item in self.outbox.due(now(), room) {
                    let (webhooks, entry) = (self.webhooks.clone(), Arc::clone(&self.entry));
                    self.sending.spawn(async move { webhooks.send(&entry, item).await });
                }
            }
            self.save_if_due().await?;
            self.show();
            let wait = self.wait(paused);
            tokio::select! {
                biased;
                () = ended.cancelled() => return Ok(()),
                Some(sent) = self.sending.join_next(), if !self.sending.is_empty() => {
                    if let Ok(sent) = sent {
                        self.landed(sent).await;
                    }
                }
                order = self.orders.recv() => match order {
                    Some(order) => self.obey(order),
                    None => return Ok(()),
                },
                commit = self.commits.next(), if !paused && self.outbox.has_room() => match commit? {
                    Some((commit, records)) => self.take(&commit, &records),
                    // The daemon ends. What is on its way is sent again by the next one.
                    None => return self.save().await,
                },
                () = self.webhooks.0.closing.cancelled() => return self.save().await,
                () = sleep_until(wait) => {}
            }
        }
    }

    /// When there is something to do although nothing has happened.
    fn wait(&self, paused: bool) -> Instant {
        let far = Instant::now() + Duration::from_hours(1);
        let due = self.outbox.next_due().filter(|_| !paused && self.outbox.in_flight() < IN_FLIGHT);
        let due = due.map_or(far, |at| {
            let left = at.millis().saturating_sub(now().millis());
            Instant::now() + Duration::from_millis(u64::try_from(left).unwrap_or(0).max(1))
        });
        let unsaved = self.outbox.position() != self.saved.0;
        if unsaved { due.min(self.saved.1 + SAVE_EVERY) } else { due }
    }

    /// Takes what of a commit is told.
    fn take(&mut self, commit: &Commit, records: &[Record]) {
        let stored = self.entry.stored();
        // What a session begins with was not said now: it is a copy, or comes from a file.
        let is_new = matches!(commit.change, log::Change::Appended { after: Seq::ZERO, .. });
        let records = if is_new { &[] } else { records };
        for record in records.iter().filter(|record| KINDS.contains(&record.kind())) {
            let Ok(envelope) = record.decode() else { continue };
            let Some(event) = event_type(&envelope.event) else { continue };
            if !stored.subscription.may_want(event, commit.session.as_str()) {
                continue;
            }
            self.outbox.push(Item {
                id: webhook_id(&commit.session, record.seq, event),
                event,
                session_id: commit.session.clone(),
                seq: record.seq,
                position: commit.position.0,
                state: ItemState::Waiting,
                attempts: 0,
                next_at: None,
                last_error: None,
            });
        }
        self.outbox.read(commit.position.0);
    }

    async fn landed(&mut self, sent: Sent) {
        let Sent { item, milliseconds, result } = sent;
        let mut tried = Item { attempts: item.attempts.saturating_add(1), next_at: None, ..item.clone() };
        let (status, word) = match result {
            Result::Unwanted => return self.outbox.delivered(&item),
            Result::Delivered { status } => {
                self.outbox.delivered(&item);
                tried.state = ItemState::Delivered;
                tried.last_error = None;
                (Some(status), "delivered")
            }
            Result::Gone { status } => {
                self.outbox.failed(&item, now(), format!("status {status}"), None);
                self.disable(status).await;
                tried.last_error = Some(format!("status {status}"));
                (Some(status), "failed")
            }
            Result::Failed { status, why, after_ms } => {
                tried.last_error = Some(why.clone());
                self.outbox.failed(&item, now(), why, after_ms);
                (status, "failed")
            }
        };
        self.webhooks.0.metrics.webhook_delivery(&self.entry.id, word);
        let mut progress = self.entry.progress.lock();
        match word {
            "delivered" => progress.delivered += 1,
            _ => progress.failed += 1,
        }
        progress.recent.push_back(Attempt { delivery: tried, at: now(), status, milliseconds });
        if progress.recent.len() > MAX_RECENT {
            progress.recent.pop_front();
        }
        drop(progress);
        self.webhooks.noted();
    }

    /// The receiver said that it wants no more. Somebody may let it go on.
    async fn disable(&self, status: u16) {
        let (stored, revision) = self.entry.stored.lock().clone();
        let mut next = Stored { disabled: Some(format!("the receiver said {status}: gone")), ..(*stored).clone() };
        next.subscription.paused = true;
        if let Err(error) = self.webhooks.replace(&self.entry, next, revision).await {
            tracing::debug!(webhook = self.entry.id, %error, "a webhook could not be paused");
        }
    }

    fn obey(&mut self, order: Order) {
        match order {
            Order::Look => {}
            Order::Redeliver { id, recent, answer } => {
                let found = self.outbox.revive(&id)
                    || recent.is_some_and(|item| {
                        self.outbox.send_again(item);
                        true
                    });
                // Who asked may be gone.
                let _ = answer.send(found);
            }
        }
    }

    async fn save_if_due(&mut self) -> std::result::Result<(), log::Error> {
        let is_due = self.outbox.position() != self.saved.0 && self.saved.1.elapsed() >= SAVE_EVERY;
        if is_due || self.outbox.has_changes() { self.save().await } else { Ok(()) }
    }

    /// Writes down what must be, then how far it is: in this order, so that nothing falls between.
    async fn save(&mut self) -> std::result::Result<(), log::Error> {
        let (id, position) = (&self.entry.id, self.outbox.position());
        let has_changes = self.outbox.has_changes();
        let mut changes: Vec<DocumentChange> = Vec::new();
        for change in self.outbox.take_changes() {
            let change = match change {
                Change::Keep(item) => DocumentChange::put(KEPT, format!("{id}/{}", item.id), &item).ok(),
                Change::Forget { id: event } => Some(DocumentChange::remove(KEPT, format!("{id}/{event}"))),
            };
            let Some(change) = change else { continue };
            // The last word on a document is the one that counts.
            changes.retain(|before| before.key != change.key);
            changes.push(change);
        }
        changes.extend(DocumentChange::put(POSITIONS, id, &position).ok());
        for some in changes.chunks(MAX_DOCUMENT_CHANGES) {
            self.webhooks.0.log.write_documents(some.to_vec()).await?;
        }
        if std::mem::replace(&mut self.saved, (position, Instant::now())).0 != position {
            self.webhooks.noted();
        }
        if has_changes {
            self.show_kept();
        }
        Ok(())
    }

    /// What people see of it.
    fn show(&self) {
        let waiting = self.outbox.waiting();
        let mut progress = self.entry.progress.lock();
        progress.position = self.outbox.position();
        if std::mem::replace(&mut progress.waiting, waiting) != waiting {
            drop(progress);
            self.webhooks.noted();
        }
    }

    fn show_kept(&self) {
        let mut progress = self.entry.progress.lock();
        progress.kept = self.outbox.kept().take(MAX_RECENT).cloned().collect();
        progress.dead = self.outbox.dead().cloned().collect();
        drop(progress);
        self.webhooks.noted();
    }
}

impl Webhooks {
    /// Makes the body of an event and sends it.
    async fn send(&self, entry: &Entry, item: Item) -> Sent {
        let started = std::time::Instant::now();
        let result = self.try_to_send(entry, &item).await;
        Sent { item, milliseconds: millis(started.elapsed()), result }
    }

    async fn try_to_send(&self, entry: &Entry, item: &Item) -> Result {
        let failed = |why: String| Result::Failed { status: None, why, after_ms: None };
        let fact = match self.0.reader.fact(&item.session_id, item.seq).await {
            Ok(Some(fact)) => fact,
            Ok(None) => return Result::Unwanted,
            Err(error) => return failed(error.to_string()),
        };
        let stored = entry.stored();
        if !stored.subscription.wants(&fact.session.runtime, fact.turn.origin) {
            return Result::Unwanted;
        }
        let about = About { runtime: &fact.session.runtime, title: &fact.session.summary.title };
        let body = payload(item.event, &fact.envelope, about, &fact.turn);
        match self.post(entry, &item.id, body.to_string().into_bytes()).await {
            Ok(answer) => match answer.status {
                status @ 200..=299 => Result::Delivered { status },
                status @ 410 => Result::Gone { status },
                status => {
                    let after_ms = answer.retry_after.map(|seconds| i64::try_from(seconds).unwrap_or(0) * 1000);
                    Result::Failed { status: Some(status), why: format!("status {status}"), after_ms }
                }
            },
            Err(why) => failed(why),
        }
    }
}
