//! The inbox over all sessions, and the devices that are told of it. What is in an inbox, in which order, and who is told what is decided in
//! `turnloom_core::attention`; here it is kept, followed and sent.
//!
//! - `keeper` is the task that owns it: it follows the feed, and writes what people say of items, devices and settings as documents.
//! - `courier` is the task that tells devices; `push` and `service` are the ways to them.
//!
//! Not here: answers to asks, which go to the session as every answer does.

mod courier;
mod devices;
mod documents;
mod keeper;
mod push;
mod service;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use serde_with::skip_serializing_none;
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use turnloom_core::attention::{DoneChoice, Item, Mark, Settings, Telling, is_listed, next_change, sort, telling};
use turnloom_core::id::{Seq, SessionId};
use turnloom_core::time::Timestamp;

pub use self::devices::{Device, NewDevice, Preset, PushKeys, Reached, Subscription, Way, Webhook};
use self::keeper::{Keeper, Order};
use crate::log::{self, Log, Position};
use crate::outgoing::{self, Sender};
use crate::secrets::{self, Secrets};
use crate::session::now;
use crate::sync::Locked;

/// Requests that wait for the keeper; who sends more waits.
const MAX_ORDERS: usize = 64;

/// Devices that are told.
pub const MAX_DEVICES: usize = 50;

/// How far ahead something may be snoozed.
const MAX_SNOOZE_MS: i64 = 366 * 24 * 3600 * 1000;

/// Why something is not done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("there is no {0} in the inbox; it may be settled")]
    ItemNotFound(String),
    #[error("there is no device {0}")]
    DeviceNotFound(String),
    #[error("{0}")]
    Invalid(String),
    #[error("at most {MAX_DEVICES} devices are told; remove one")]
    TooManyDevices,
    #[error(transparent)]
    Target(#[from] outgoing::Error),
    #[error(transparent)]
    Secrets(#[from] secrets::Error),
    #[error(transparent)]
    Log(#[from] log::Error),
    #[error("the daemon is shutting down")]
    ShuttingDown,
}

/// What is known now.
#[derive(Debug, Default)]
struct State {
    sessions: HashMap<SessionId, Vec<Item>>,
    marks: BTreeMap<String, Mark>,
    settings: Settings,
    devices: BTreeMap<String, Device>,
}

impl State {
    fn find(&self, item: &str) -> Option<&Item> {
        self.sessions.values().flatten().find(|known| known.item_id == item)
    }

    fn mark(&self, item: &str) -> Mark {
        self.marks.get(item).copied().unwrap_or_default()
    }
}

/// The inbox. Cloning shares it.
#[derive(Debug, Clone)]
pub struct Attention(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    log: Log,
    secrets: Secrets,
    sender: Sender,
    state: Locked<State>,
    /// Counts what has changed.
    revision: watch::Sender<u64>,
    /// How far in the feed it is; nothing before everything is known.
    position: watch::Sender<Option<Position>>,
    orders: mpsc::Sender<Order>,
    closing: CancellationToken,
}

/// An item as people see it.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "InboxItem")]
pub struct ListedItem {
    #[serde(flatten)]
    pub item: Item,
    /// It waits for a person; else it is news.
    pub needs_you: bool,
    pub read: bool,
    /// It is out of the way until then.
    pub snoozed_until: Option<Timestamp>,
    /// Devices are told of it: it is new enough, it is not quiet, and nobody has seen it.
    pub notifies: bool,
}

/// Everything that is for a person.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Inbox")]
pub struct Listed {
    /// By how long each blocks how much; then what failed and what is done, the newest first.
    pub items: Vec<ListedItem>,
    /// What comes back later, the next first.
    pub snoozed: Vec<ListedItem>,
    /// How many wait for a person.
    pub needs: usize,
    /// How many turns have ended that nobody has looked at.
    pub unread: usize,
}

/// Which items are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    Open,
    /// Also those that somebody has read.
    All,
}

impl Attention {
    /// Follows the feed until the daemon ends. Devices are told only if it says so.
    pub fn start(
        log: &Log,
        (secrets, sender): (Secrets, Sender),
        tells: Tells,
        (tracker, closing): (&TaskTracker, CancellationToken),
    ) -> Self {
        let (orders, queue) = mpsc::channel(MAX_ORDERS);
        let attention = Self(Arc::new(Inner {
            log: log.clone(),
            secrets,
            sender,
            state: Locked::default(),
            revision: watch::Sender::new(0),
            position: watch::Sender::new(None),
            orders,
            closing,
        }));
        tracker.spawn(Keeper::new(attention.clone(), queue).run());
        match tells {
            Tells::Devices => drop(tracker.spawn(courier::run(attention.clone()))),
            Tells::Nobody => {}
        }
        attention
    }

    /// What there is, once everything is known that was committed before. The second is when it will be different although nothing happens.
    pub async fn list(&self, which: Which) -> (Listed, Option<Timestamp>) {
        let head = self.0.log.feed().head().position;
        let mut reached = self.0.position.subscribe();
        let waits = reached.wait_for(|reached| reached.is_some_and(|reached| reached >= head));
        self.0.closing.run_until_cancelled(async { drop(waits.await) }).await;
        self.list_now(which, now())
    }

    fn list_now(&self, which: Which, now: Timestamp) -> (Listed, Option<Timestamp>) {
        let state = self.0.state.lock();
        let wanted = |item: &&Item| which == Which::All || is_listed(item, state.mark(&item.item_id));
        let mut all: Vec<Item> = state.sessions.values().flatten().filter(wanted).cloned().collect();
        sort(&mut all, now);
        let mut change = next_change(&all, now);
        let mut sooner = |at: Timestamp| change = Some(change.map_or(at, |known| known.min(at)));
        let (mut items, mut snoozed) = (Vec::new(), Vec::new());
        for item in all {
            let mark = state.mark(&item.item_id);
            let telling = telling(&item, mark, (&state.settings, state.settings.done), now);
            if let Telling::Later { at, .. } = telling {
                sooner(at);
            }
            let is_snoozed = mark.is_snoozed(now);
            if let Some(until) = mark.snoozed_until.filter(|_| is_snoozed) {
                sooner(until);
            }
            let listed = ListedItem {
                needs_you: item.kind.needs_you(),
                read: mark.read_at.is_some(),
                snoozed_until: mark.snoozed_until.filter(|_| is_snoozed),
                notifies: matches!(telling, Telling::Now(_)),
                item,
            };
            if is_snoozed { snoozed.push(listed) } else { items.push(listed) }
        }
        drop(state);
        snoozed.sort_by_key(|listed| listed.snoozed_until);
        let needs = items.iter().filter(|listed| listed.needs_you).count();
        let unread = items.iter().filter(|listed| !listed.needs_you && !listed.read).count();
        (Listed { items, snoozed, needs, unread }, change)
    }

    /// Waits until it is known what an earlier daemon knew.
    pub async fn known(&self) {
        let mut reached = self.0.position.subscribe();
        let waits = reached.wait_for(Option::is_some);
        self.0.closing.run_until_cancelled(async { drop(waits.await) }).await;
    }

    /// To wait until something changes.
    pub fn watch(&self) -> watch::Receiver<u64> {
        self.0.revision.subscribe()
    }

    pub async fn read(&self, item: &str) -> Result<(), Error> {
        self.set_mark(item, |mark| Mark { read_at: mark.read_at.or(Some(now())), ..mark }).await
    }

    pub async fn unread(&self, item: &str) -> Result<(), Error> {
        self.set_mark(item, |mark| Mark { read_at: None, ..mark }).await
    }

    /// Takes something out of the way until then. It is as good as unread when it comes back.
    pub async fn snooze(&self, item: &str, until: Timestamp) -> Result<(), Error> {
        let now = now();
        if until <= now || until > now.plus_millis(MAX_SNOOZE_MS) {
            return Err(Error::Invalid("something is snoozed until a time within a year from now".to_owned()));
        }
        self.set_mark(item, move |_| Mark { read_at: None, snoozed_until: Some(until) }).await
    }

    pub async fn unsnooze(&self, item: &str) -> Result<(), Error> {
        self.set_mark(item, |mark| Mark { snoozed_until: None, ..mark }).await
    }

    /// Marks what a session had to tell up to there as read, or what all had to tell.
    pub async fn read_news(&self, session: Option<SessionId>, seq: Option<Seq>) -> Result<usize, Error> {
        self.ask(|answer| Order::ReadNews { session, seq, answer }).await
    }

    async fn set_mark(&self, item: &str, change: impl Fn(Mark) -> Mark + Send + Sync + 'static) -> Result<(), Error> {
        self.ask(|answer| Order::Mark { item: item.to_owned(), change: Box::new(change), answer }).await
    }

    pub fn settings(&self) -> Settings {
        self.0.state.lock().settings.clone()
    }

    pub async fn change_settings(&self, settings: Settings) -> Result<(), Error> {
        settings.check().map_err(Error::Invalid)?;
        self.ask(|answer| Order::Settings { settings, answer }).await
    }

    pub fn devices(&self) -> Vec<Device> {
        self.0.state.lock().devices.values().cloned().collect()
    }

    /// Adds a device, or changes one that is there already: its id follows from where it is reached.
    pub async fn add_device(&self, new: NewDevice) -> Result<Device, Error> {
        let device = new.checked(self)?;
        self.ask(|answer| Order::AddDevice { device: Box::new(device), answer }).await
    }

    /// Changes which ended turns a device is told of.
    pub async fn choose(&self, id: &str, done: Option<DoneChoice>) -> Result<Device, Error> {
        let device = self.device(id)?;
        self.ask(|answer| Order::AddDevice { device: Box::new(Device { done, ..device }), answer }).await
    }

    pub async fn remove_device(&self, id: &str) -> Result<(), Error> {
        self.ask(|answer| Order::RemoveDevice { id: id.to_owned(), answer }).await
    }

    fn device(&self, id: &str) -> Result<Device, Error> {
        let found = self.0.state.lock().devices.get(id).cloned();
        found.ok_or_else(|| Error::DeviceNotFound(id.to_owned()))
    }

    /// Tells a device something that means nothing, at once.
    pub async fn test_device(&self, id: &str) -> Result<Reached, Error> {
        let device = self.device(id)?;
        Ok(courier::test(self, &device).await)
    }

    /// What browsers need to know to be reached.
    pub fn push_key(&self) -> Result<String, Error> {
        push::Vapid::open(&self.0.secrets).map(|vapid| vapid.public_key())
    }

    async fn ask<T>(&self, order: impl FnOnce(oneshot::Sender<Result<T, Error>>) -> Order) -> Result<T, Error> {
        let (answer, answered) = oneshot::channel();
        self.0.orders.send(order(answer)).await.map_err(|_| Error::ShuttingDown)?;
        answered.await.map_err(|_| Error::ShuttingDown)?
    }

    fn changed(&self) {
        self.0.revision.send_modify(|count| *count += 1);
    }
}

/// Whether devices are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tells {
    Devices,
    /// A daemon that lives for one command leaves that to the next one.
    Nobody,
}
