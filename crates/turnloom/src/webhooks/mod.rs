//! Webhooks: what happens in sessions, sent to whoever subscribed. Each subscription is a task of its own with its own place in the feed, so a receiver that
//! is slow or gone delays nobody else. What is told, its signature and its order are decided in `turnloom_core::webhook`. Not here: routes.

mod courier;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use turnloom_core::time::Timestamp;
use turnloom_core::webhook::payload::test_payload;
use turnloom_core::webhook::{Item, Subscription, sign};

use self::courier::{Courier, Order};
use crate::automation::{Changes, Part};
use crate::log::{
    self, Document, DocumentChange, DocumentQuery, ExpectedRevision, MAX_DOCUMENT_CHANGES, Position, Revision,
};
use crate::metrics::Metrics;
use crate::outgoing::{self, Sender};
use crate::reader::Reader;
use crate::secrets::{self, NewSecret, SecretSource, Secrets};
use crate::session::now;
use crate::sync::Locked;

/// Subscriptions of a daemon.
pub const MAX_WEBHOOKS: usize = 100;

/// Tries that are listed.
const MAX_RECENT: usize = 100;

/// What waits for a courier: people ask it things, so this is plenty.
const MAX_ORDERS: usize = 16;

/// The documents: subscriptions by id, how far each is, and what each has to try again, by its id and that of the event.
const WEBHOOKS: &str = "webhook";
const POSITIONS: &str = "webhook_position";
const KEPT: &str = "webhook_delivery";

const PAGE: usize = 256;

/// Why something could not be done with a subscription.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("there is no webhook {0:?}; `turnloom webhook list` lists them")]
    NotFound(String),
    #[error("there is no delivery {0:?} of this webhook any more")]
    DeliveryNotFound(String),
    #[error("{0}")]
    Invalid(String),
    #[error(transparent)]
    Target(#[from] outgoing::Error),
    #[error("there are {MAX_WEBHOOKS} webhooks already; remove one first")]
    TooMany,
    #[error(transparent)]
    Secrets(#[from] secrets::Error),
    #[error(transparent)]
    Log(#[from] log::Error),
    #[error("the daemon is shutting down")]
    ShuttingDown,
}

/// A subscription as it is written down.
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Stored {
    subscription: Subscription,
    secret: SecretSource,
    created_at: Timestamp,
    updated_at: Timestamp,
    /// Why it was paused, if nobody did it.
    disabled: Option<String>,
}

/// One try.
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "WebhookAttempt")]
pub struct Attempt {
    #[serde(flatten)]
    pub delivery: Item,
    pub at: Timestamp,
    /// What the receiver answered.
    pub status: Option<u16>,
    pub milliseconds: u64,
}

/// What became of a try by hand.
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "WebhookTested")]
pub struct Tested {
    /// Whether the receiver took it.
    pub delivered: bool,
    pub status: Option<u16>,
    pub error: Option<String>,
    pub milliseconds: u64,
}

/// How far a subscription is.
#[derive(Debug, Clone, Default)]
pub struct Progress {
    pub position: u64,
    pub waiting: usize,
    pub delivered: u64,
    pub failed: u64,
    recent: VecDeque<Attempt>,
    kept: Vec<Item>,
    dead: Vec<Item>,
}

/// A subscription as people see it.
#[derive(Debug, Clone)]
pub struct Shown {
    pub id: String,
    pub subscription: Subscription,
    pub secret: SecretSource,
    pub disabled: Option<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub progress: Progress,
}

/// What was sent, what waits and what nobody took.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "WebhookDeliveries")]
pub struct Deliveries {
    /// The last tries, newest first.
    recent: Vec<Attempt>,
    /// What failed and is tried again, and what stands behind it.
    waiting: Vec<Item>,
    /// What was tried for days; newest first.
    dead: Vec<Item>,
}

/// All subscriptions. Cloning shares them.
#[derive(Debug, Clone)]
pub struct Webhooks(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    log: log::Log,
    reader: Reader,
    secrets: Secrets,
    sender: Sender,
    metrics: Arc<Metrics>,
    changes: Changes,
    known: Locked<BTreeMap<String, Arc<Entry>>>,
    tracker: TaskTracker,
    closing: CancellationToken,
}

#[derive(Debug)]
struct Entry {
    id: String,
    stored: Locked<(Arc<Stored>, Revision)>,
    progress: Locked<Progress>,
    /// To the courier; nobody listens before the daemon is up.
    orders: Locked<Option<mpsc::Sender<Order>>>,
    ended: CancellationToken,
}

impl Entry {
    fn stored(&self) -> Arc<Stored> {
        Arc::clone(&self.stored.lock().0)
    }
}

impl Webhooks {
    /// The subscriptions that are written down. Their couriers begin with [`Webhooks::resume`].
    pub async fn open(
        (log, reader): (log::Log, Reader),
        (secrets, sender): (Secrets, Sender),
        (metrics, changes): (Arc<Metrics>, Changes),
        (tracker, closing): (TaskTracker, CancellationToken),
    ) -> Result<Self, log::Error> {
        let known = Locked::default();
        let webhooks =
            Self(Arc::new(Inner { log, reader, secrets, sender, metrics, changes, known, tracker, closing }));
        for document in webhooks.documents(WEBHOOKS, "").await? {
            match document.parse::<Stored>() {
                Ok(stored) => webhooks.add(document.key, stored, document.revision),
                Err(error) => {
                    tracing::error!(webhook = document.key, %error, "a webhook cannot be read and is left out");
                }
            }
        }
        Ok(webhooks)
    }

    /// Goes on from where an earlier daemon was.
    pub async fn resume(&self) -> Result<(), log::Error> {
        let known: Vec<Arc<Entry>> = self.0.known.lock().values().cloned().collect();
        for entry in known {
            let position = self.0.log.document(POSITIONS, &entry.id).await?;
            let position = position.and_then(|document| document.parse::<u64>().ok());
            let kept = self.documents(KEPT, &format!("{}/", entry.id)).await?;
            let kept = kept.iter().filter_map(|document| document.parse().ok()).collect();
            let head = self.0.log.feed().head().position;
            self.start(&entry, position.map_or(head, Position), kept);
        }
        Ok(())
    }

    fn add(&self, id: String, stored: Stored, revision: Revision) {
        let entry = Entry {
            id: id.clone(),
            stored: Locked::new((Arc::new(stored), revision)),
            progress: Locked::default(),
            orders: Locked::default(),
            ended: CancellationToken::new(),
        };
        self.0.known.lock().insert(id, Arc::new(entry));
    }

    fn start(&self, entry: &Arc<Entry>, position: Position, kept: Vec<Item>) {
        let (sender, orders) = mpsc::channel(MAX_ORDERS);
        *entry.orders.lock() = Some(sender);
        let courier = Courier::new(self.clone(), Arc::clone(entry), position, kept, orders);
        self.0.tracker.spawn(courier.run());
    }

    async fn documents(&self, kind: &'static str, prefix: &str) -> Result<Vec<Document>, log::Error> {
        let mut all: Vec<Document> = Vec::new();
        loop {
            let cursor = all.last().map(|last| last.key.clone());
            let query = DocumentQuery { prefix: prefix.to_owned(), cursor, ..DocumentQuery::all(PAGE) };
            let page = self.0.log.documents(kind, query).await?;
            if page.is_empty() {
                return Ok(all);
            }
            all.extend(page);
        }
    }

    pub fn list(&self) -> Vec<Shown> {
        let known: Vec<Arc<Entry>> = self.0.known.lock().values().cloned().collect();
        let mut shown: Vec<Shown> = known.iter().map(|entry| show(entry)).collect();
        shown.sort_by(|left, right| (left.created_at, &left.id).cmp(&(right.created_at, &right.id)));
        shown
    }

    pub fn show(&self, id: &str) -> Result<Shown, Error> {
        self.entry(id).map(|entry| show(&entry))
    }

    fn entry(&self, id: &str) -> Result<Arc<Entry>, Error> {
        let found = self.0.known.lock().get(id).cloned();
        found.ok_or_else(|| Error::NotFound(id.to_owned()))
    }

    /// Makes a subscription: what happens from now on is told. The secret is made if none is given, and told once.
    pub async fn create(
        &self,
        subscription: Subscription,
        secret: Option<NewSecret>,
    ) -> Result<(Shown, Option<String>), Error> {
        self.check(&subscription)?;
        if self.0.known.lock().len() >= MAX_WEBHOOKS {
            return Err(Error::TooMany);
        }
        let id =
            format!("wh_{}", BASE64_URL_SAFE_NO_PAD.encode(uuid::Uuid::new_v4().as_bytes()).replace(['-', '_'], "x"));
        let (secret, made) = if let Some(given) = secret {
            (given, None)
        } else {
            let random = [uuid::Uuid::new_v4(), uuid::Uuid::new_v4()].map(uuid::Uuid::into_bytes).concat();
            let made = sign::secret(&random);
            (NewSecret { value: Some(made.clone()), ..NewSecret::default() }, Some(made))
        };
        let secret = self.keep_secret(&id, secret)?;
        let at = now();
        let stored = Stored { subscription, secret, created_at: at, updated_at: at, disabled: None };
        let position = self.0.log.feed().head().position;
        let changes = [
            DocumentChange::put(WEBHOOKS, &id, &stored).map(|change| change.expecting(ExpectedRevision::None)),
            DocumentChange::put(POSITIONS, &id, &position.0),
        ];
        let changes = changes.into_iter().collect::<Result<_, _>>().map_err(invalid)?;
        let revision = self.0.log.write_documents(changes).await?;
        self.add(id.clone(), stored, revision);
        let entry = self.entry(&id)?;
        self.start(&entry, position, Vec::new());
        self.noted();
        Ok((show(&entry), made))
    }

    /// Changes what is given; `null` takes back what was set.
    pub async fn change(
        &self,
        id: &str,
        changes: serde_json::Map<String, serde_json::Value>,
        secret: Option<NewSecret>,
    ) -> Result<Shown, Error> {
        let entry = self.entry(id)?;
        let (stored, revision) = entry.stored.lock().clone();
        let mut settings = serde_json::to_value(&stored.subscription).map_err(invalid)?;
        if let Some(members) = settings.as_object_mut() {
            for (member, value) in changes {
                if value.is_null() {
                    members.remove(&member);
                } else {
                    members.insert(member, value);
                }
            }
        }
        let subscription: Subscription = serde_json::from_value(settings).map_err(invalid)?;
        self.check(&subscription)?;
        let disabled = stored.disabled.clone().filter(|_| subscription.paused);
        let mut next = Stored { subscription, updated_at: now(), disabled, ..(*stored).clone() };
        if let Some(secret) = secret {
            next.secret = self.keep_secret(id, secret)?;
        }
        self.replace(&entry, next, revision).await?;
        self.tell(&entry, Order::Look).await?;
        Ok(show(&entry))
    }

    async fn replace(&self, entry: &Entry, next: Stored, revision: Revision) -> Result<(), Error> {
        let change = DocumentChange::put(WEBHOOKS, &entry.id, &next).map_err(invalid)?;
        let written = self.0.log.write_documents(vec![change.expecting(ExpectedRevision::At(revision))]).await?;
        *entry.stored.lock() = (Arc::new(next), written);
        self.noted();
        Ok(())
    }

    /// Tells who looks that something is different.
    fn noted(&self) {
        self.0.changes.note(Part::Webhooks);
    }

    /// Removes a subscription and everything that it had to tell.
    pub async fn remove(&self, id: &str) -> Result<(), Error> {
        let entry = self.entry(id)?;
        // The courier writes down nothing more.
        entry.ended.cancel();
        let orders = entry.orders.lock().take();
        if let Some(orders) = orders {
            orders.closed().await;
        }
        let gone = vec![DocumentChange::remove(WEBHOOKS, id), DocumentChange::remove(POSITIONS, id)];
        self.0.log.write_documents(gone).await?;
        self.0.known.lock().remove(id);
        self.noted();
        let kept = self.documents(KEPT, &format!("{id}/")).await?;
        let kept: Vec<DocumentChange> =
            kept.into_iter().map(|document| DocumentChange::remove(KEPT, document.key)).collect();
        for some in kept.chunks(MAX_DOCUMENT_CHANGES) {
            self.0.log.write_documents(some.to_vec()).await?;
        }
        self.0.secrets.forget(&secret_name(id))?;
        Ok(())
    }

    pub fn deliveries(&self, id: &str) -> Result<Deliveries, Error> {
        let entry = self.entry(id)?;
        let progress = entry.progress.lock();
        Ok(Deliveries {
            recent: progress.recent.iter().rev().cloned().collect(),
            waiting: progress.kept.clone(),
            dead: progress.dead.iter().rev().cloned().collect(),
        })
    }

    /// Sends an event again that nobody took, or that was sent not long ago.
    pub async fn redeliver(&self, id: &str, delivery: &str) -> Result<(), Error> {
        let entry = self.entry(id)?;
        let recent = entry.progress.lock().recent.iter().rev().find(|try_| try_.delivery.id == delivery).cloned();
        let (answer, found) = oneshot::channel();
        let order = Order::Redeliver { id: delivery.to_owned(), recent: recent.map(|try_| try_.delivery), answer };
        self.tell(&entry, order).await?;
        match found.await {
            Ok(true) => Ok(()),
            Ok(false) => Err(Error::DeliveryNotFound(delivery.to_owned())),
            Err(_) => Err(Error::ShuttingDown),
        }
    }

    /// Sends something that means nothing, at once, and says what the receiver answered.
    pub async fn test(&self, id: &str) -> Result<Tested, Error> {
        let entry = self.entry(id)?;
        let at = now();
        let name = format!("msg_test_{}", uuid::Uuid::new_v4().simple());
        let started = std::time::Instant::now();
        let sent = self.post(&entry, &name, test_payload(at).to_string().into_bytes()).await;
        let milliseconds = millis(started.elapsed());
        Ok(match sent {
            Ok(answer) => Tested {
                delivered: (200..300).contains(&answer.status),
                status: Some(answer.status),
                error: None,
                milliseconds,
            },
            Err(error) => Tested { delivered: false, status: None, error: Some(error), milliseconds },
        })
    }

    async fn tell(&self, entry: &Entry, order: Order) -> Result<(), Error> {
        let orders = entry.orders.lock().clone().ok_or(Error::ShuttingDown)?;
        orders.send(order).await.map_err(|_| Error::ShuttingDown)
    }

    fn check(&self, subscription: &Subscription) -> Result<(), Error> {
        subscription.check().map_err(Error::Invalid)?;
        self.0.sender.check(&subscription.url)?;
        Ok(())
    }

    fn keep_secret(&self, id: &str, secret: NewSecret) -> Result<SecretSource, Error> {
        if secret.value.as_ref().is_some_and(|value| !sign::is_secret(value)) {
            let detail =
                "a webhook's secret is written `whsec_` and 24 to 64 bytes in base64; leave it out and one is made";
            return Err(Error::Invalid(detail.to_owned()));
        }
        Ok(self.0.secrets.keep(&secret_name(id), secret)?)
    }

    /// Sends one signed body.
    async fn post(&self, entry: &Entry, id: &str, body: Vec<u8>) -> Result<outgoing::Answer, String> {
        let stored = entry.stored();
        let secret = self.0.secrets.find(&secret_name(&entry.id), &stored.secret);
        let timestamp = (now().millis() / 1000).to_string();
        let signature = secret.and_then(|secret| sign::sign(&secret, id, &timestamp, &body));
        let signature = signature.ok_or("the webhook's secret is not there, or is none".to_owned())?;
        let headers = [
            ("content-type", "application/json".to_owned()),
            ("webhook-id", id.to_owned()),
            ("webhook-timestamp", timestamp),
            ("webhook-signature", signature),
        ];
        self.0.sender.post(&stored.subscription.url, &headers, body).await.map_err(|error| error.to_string())
    }
}

fn secret_name(id: &str) -> String {
    format!("webhook/{id}")
}

#[expect(clippy::needless_pass_by_value, reason = "`map_err` gives it")]
fn invalid(error: serde_json::Error) -> Error {
    Error::Invalid(format!("the webhook is not right: {error}"))
}

fn millis(elapsed: Duration) -> u64 {
    u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)
}

fn show(entry: &Entry) -> Shown {
    let stored = entry.stored();
    Shown {
        id: entry.id.clone(),
        subscription: stored.subscription.clone(),
        secret: stored.secret.clone(),
        disabled: stored.disabled.clone(),
        created_at: stored.created_at,
        updated_at: stored.updated_at,
        progress: entry.progress.lock().clone(),
    }
}
