//! Channels: deliveries of other services become messages of sessions, and answers go back.
//!
//! A delivery is *accepted* when it is written down; from then on it is not lost. `entry` is a channel in memory, `record` what is written of a delivery,
//! `work` hands deliveries to sessions and answers to services. What a delivery says and what is sent is decided in `turnloom_core::channel`. Not here:
//! routes.

mod entry;
mod lanes;
mod record;
mod work;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{Semaphore, SemaphorePermit, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use turnloom_core::channel::{self, Channel, Headers, HmacHeader, Incoming, Refusal, Request, digest, read, verify};
use turnloom_core::webhook::sign;

pub use self::entry::{Counts, MAX_LISTED, MAX_WAITING};
use self::entry::{Entry, Stored, StoredSecret, is_compared, secret_name, token_name};
use self::record::Record;
pub use self::record::{DeliveryState, DeliveryView};
use crate::automation::{Changes, Part};
use crate::log::{
    self, DocumentChange, DocumentQuery, ExpectedRevision, Log, MAX_DOCUMENT_BYTES, MAX_DOCUMENT_CHANGES, Revision,
};
use crate::metrics::Metrics;
use crate::outgoing::Sender;
use crate::reader::Reader;
use crate::secrets::{self, NewSecret, SecretSource, Secrets};
use crate::session::{Sessions, now};
use crate::sync::Locked;

/// The largest delivery, and how many are read at once: whoever sends them has not shown yet who it is.
pub const MAX_BODY_BYTES: usize = 1024 * 1024;
const MAX_BODIES: usize = 64;

/// Channels of a daemon.
pub const MAX_CHANNELS: usize = 100;

/// The documents: channels by name, and deliveries by channel and id.
const CHANNELS: &str = "channel";
const DELIVERIES: &str = "channel_delivery";

/// Documents that are read at a time.
const PAGE: usize = 256;

/// Why something could not be done with a channel.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("there is no channel {0:?}; `turnloom channel list` lists them")]
    NotFound(String),
    #[error("there is no delivery {0:?} in this channel any more")]
    DeliveryNotFound(String),
    #[error("channel {0:?} exists; choose another name, or change it")]
    Exists(String),
    #[error(transparent)]
    Channel(#[from] channel::Error),
    #[error("{0}")]
    Invalid(String),
    #[error("a channel needs a secret: without one, everybody could talk to its agent; give `secret`")]
    NoSecret,
    #[error("there are {MAX_CHANNELS} channels already; remove one first")]
    TooMany,
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error(transparent)]
    Secrets(#[from] secrets::Error),
    #[error(transparent)]
    Log(#[from] log::Error),
}

/// What becomes of a genuine delivery.
#[derive(Debug)]
pub enum Taken {
    Challenge(String),
    Ignored(channel::Ignored),
    /// It is written down, or was before.
    Accepted {
        view: Box<DeliveryView>,
        is_new: bool,
        answer: Option<PendingAnswer>,
    },
}

/// An answer that a request waits for.
#[derive(Debug)]
pub struct PendingAnswer {
    receiver: oneshot::Receiver<String>,
    wait: Duration,
}

impl PendingAnswer {
    /// The answer, if it comes in time. Who does not wait any more is answered elsewhere.
    pub async fn wait(self) -> Option<String> {
        tokio::time::timeout(self.wait, self.receiver).await.ok()?.ok()
    }
}

/// A channel as people see it.
#[derive(Debug, Clone)]
pub struct Shown {
    pub channel: Channel,
    pub secret: SecretSource,
    pub reply_token: Option<SecretSource>,
    pub counts: Counts,
    pub waiting: usize,
    pub created_at: turnloom_core::time::Timestamp,
    pub updated_at: turnloom_core::time::Timestamp,
}

/// All channels. Cloning shares them.
#[derive(Debug, Clone)]
pub struct Channels(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    log: Log,
    sessions: Sessions,
    reader: Reader,
    secrets: Secrets,
    sender: Sender,
    metrics: Arc<Metrics>,
    changes: Changes,
    known: Locked<BTreeMap<String, Arc<Entry>>>,
    bodies: Semaphore,
    /// One at a time changes channels: secrets and settings belong together.
    changing: Semaphore,
    tracker: TaskTracker,
    closing: CancellationToken,
}

impl Channels {
    /// The channels that are written down. Their work goes on with [`Channels::resume`].
    pub async fn open(
        (sessions, reader): (Sessions, Reader),
        (secrets, sender): (Secrets, Sender),
        (metrics, changes): (Arc<Metrics>, Changes),
        (tracker, closing): (TaskTracker, CancellationToken),
    ) -> Result<Self, log::Error> {
        let log = sessions.log().clone();
        let known = Locked::default();
        let bodies = Semaphore::new(MAX_BODIES);
        let changing = Semaphore::new(1);
        let inner = Inner {
            log,
            sessions,
            reader,
            secrets,
            sender,
            metrics,
            changes,
            known,
            bodies,
            changing,
            tracker,
            closing,
        };
        let channels = Self(Arc::new(inner));
        for document in channels.documents(CHANNELS, "").await? {
            match document.parse::<Stored>() {
                Ok(stored) => {
                    let entry = Entry::new(stored, document.revision);
                    channels.0.known.lock().insert(document.key, Arc::new(entry));
                }
                Err(error) => {
                    tracing::error!(channel = document.key, %error, "a channel cannot be read and is left out");
                }
            }
        }
        Ok(channels)
    }

    /// Goes on with what an earlier daemon had accepted.
    pub async fn resume(&self) -> Result<(), log::Error> {
        let known: Vec<(String, Arc<Entry>)> =
            self.0.known.lock().iter().map(|(name, entry)| (name.clone(), Arc::clone(entry))).collect();
        for (name, entry) in known {
            let documents = self.documents(DELIVERIES, &format!("{name}/")).await?;
            let mut records: Vec<Record> = documents.iter().filter_map(|document| document.parse().ok()).collect();
            records.sort_by_key(|record| record.order);
            for record in &records {
                entry.work.lock().restore(record);
            }
            for record in records.into_iter().filter(|record| !record.state.is_over()) {
                self.begin(&entry, &record);
            }
        }
        Ok(())
    }

    async fn documents(&self, kind: &'static str, prefix: &str) -> Result<Vec<log::Document>, log::Error> {
        let mut all: Vec<log::Document> = Vec::new();
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
        known.iter().map(|entry| show(entry)).collect()
    }

    pub fn show(&self, name: &str) -> Result<Shown, Error> {
        self.entry(name).map(|entry| show(&entry))
    }

    fn entry(&self, name: &str) -> Result<Arc<Entry>, Error> {
        let found = self.0.known.lock().get(name).cloned();
        found.ok_or_else(|| Error::NotFound(name.to_owned()))
    }

    /// Makes a channel. Its secret is kept and not shown again.
    pub async fn create(
        &self,
        channel: Channel,
        secret: Option<NewSecret>,
        reply_token: Option<NewSecret>,
    ) -> Result<Shown, Error> {
        self.check(&channel, reply_token.is_some())?;
        let secret = secret.ok_or(Error::NoSecret)?;
        let _turn = self.0.changing.acquire().await;
        let name = channel.name.clone();
        {
            let known = self.0.known.lock();
            if known.contains_key(&name) {
                return Err(Error::Exists(name));
            }
            if known.len() >= MAX_CHANNELS {
                return Err(Error::TooMany);
            }
        }
        let secret = self.keep_secret(&channel, secret)?;
        let reply_token = reply_token.map(|token| self.0.secrets.keep(&token_name(&name), token)).transpose()?;
        let at = now();
        let stored = Stored { channel, secret, reply_token, created_at: at, updated_at: at };
        let revision = match self.write(&stored, ExpectedRevision::None).await {
            Err(Error::Log(log::Error::DocumentMoved { .. })) => return Err(Error::Exists(name)),
            written => written?,
        };
        let entry = Arc::new(Entry::new(stored, revision));
        self.0.known.lock().insert(name, Arc::clone(&entry));
        self.noted();
        Ok(show(&entry))
    }

    /// Changes what is given of a channel; `null` takes back what was set.
    pub async fn change(
        &self,
        name: &str,
        changes: serde_json::Map<String, serde_json::Value>,
        secret: Option<NewSecret>,
        reply_token: Option<NewSecret>,
    ) -> Result<Shown, Error> {
        let _turn = self.0.changing.acquire().await;
        let entry = self.entry(name)?;
        let (stored, revision) = entry.stored.lock().clone();
        let mut settings = serde_json::to_value(&stored.channel).map_err(|error| Error::Invalid(error.to_string()))?;
        for (member, value) in changes {
            if member == "name" && value.as_str() != Some(name) {
                return Err(Error::Invalid("a channel keeps its name; make another one".to_owned()));
            }
            match (&mut settings, value.is_null()) {
                (serde_json::Value::Object(members), true) => drop(members.remove(&member)),
                (serde_json::Value::Object(members), false) => drop(members.insert(member, value)),
                _ => {}
            }
        }
        let channel: Channel = serde_json::from_value(settings)
            .map_err(|error| Error::Invalid(format!("the channel is not right: {error}")))?;
        self.check(&channel, reply_token.is_some() || stored.reply_token.is_some())?;
        if is_compared(channel.kind) != is_compared(stored.channel.kind) && secret.is_none() {
            return Err(Error::Invalid("another `kind` needs its `secret` again".to_owned()));
        }
        let mut next = Stored { channel, updated_at: now(), ..(*stored).clone() };
        if let Some(secret) = secret {
            next.secret = self.keep_secret(&next.channel, secret)?;
        }
        if let Some(token) = reply_token {
            next.reply_token = Some(self.0.secrets.keep(&token_name(name), token)?);
        }
        let revision = self.write(&next, ExpectedRevision::At(revision)).await?;
        entry.replace(next, revision);
        self.noted();
        Ok(show(&entry))
    }

    /// Removes a channel, its deliveries and its secrets. Its sessions stay.
    pub async fn remove(&self, name: &str) -> Result<(), Error> {
        let _turn = self.0.changing.acquire().await;
        let entry = self.entry(name)?;
        entry.ended.cancel();
        self.0.log.write_documents(vec![DocumentChange::remove(CHANNELS, name)]).await?;
        self.0.known.lock().remove(name);
        self.noted();
        let deliveries = self.documents(DELIVERIES, &format!("{name}/")).await?;
        let removed: Vec<DocumentChange> =
            deliveries.into_iter().map(|document| DocumentChange::remove(DELIVERIES, document.key)).collect();
        for some in removed.chunks(MAX_DOCUMENT_CHANGES) {
            self.0.log.write_documents(some.to_vec()).await?;
        }
        self.0.secrets.forget(&secret_name(name))?;
        self.0.secrets.forget(&token_name(name))?;
        Ok(())
    }

    /// The newest deliveries of a channel first.
    pub fn deliveries(&self, name: &str, limit: usize) -> Result<Vec<DeliveryView>, Error> {
        Ok(self.entry(name)?.work.lock().list(limit))
    }

    /// Tries a delivery again that failed: its turn, if it had none, or its answer.
    pub async fn retry(&self, name: &str, delivery: &str) -> Result<DeliveryView, Error> {
        let entry = self.entry(name)?;
        let missing = || Error::DeliveryNotFound(delivery.to_owned());
        let is_failed = entry.work.lock().find(delivery).map(|view| view.state == DeliveryState::Failed);
        if !is_failed.ok_or_else(missing)? {
            return Err(Error::Invalid(format!("delivery {delivery:?} has not failed")));
        }
        let mut record = self.record(name, delivery).await?.ok_or_else(missing)?;
        record.state = if record.turn_id.is_some() { DeliveryState::Answered } else { DeliveryState::Accepted };
        (record.attempts, record.next_at, record.error) = (0, None, None);
        self.write_record(name, &entry, &record).await?;
        self.begin(&entry, &record);
        Ok(DeliveryView::from(&record))
    }

    fn check(&self, channel: &Channel, has_token: bool) -> Result<(), Error> {
        channel.check()?;
        let runs = self.0.sessions.check_params(&channel.runtime, &channel.params);
        runs.map_err(|error| Error::Invalid(error.to_string()))?;
        let Some(reply) = &channel.reply else { return Ok(()) };
        if reply.to.needs_token() && !has_token {
            return Err(Error::Invalid(
                "`reply_token` is missing: the service takes answers with a token only".to_owned(),
            ));
        }
        for url in reply.base_url.iter().map(String::as_str).chain(reply.fixed_url()) {
            self.0.sender.check(url).map_err(|error| Error::Invalid(format!("`reply`: {error}")))?;
        }
        Ok(())
    }

    fn keep_secret(&self, channel: &Channel, secret: NewSecret) -> Result<StoredSecret, Error> {
        if channel.kind == channel::Kind::Standard && secret.value.as_ref().is_some_and(|value| !sign::is_secret(value))
        {
            return Err(Error::Invalid("a secret of Standard Webhooks is written `whsec_BASE64`".to_owned()));
        }
        match secret {
            NewSecret { value: Some(value), env: None, file: None }
                if is_compared(channel.kind) && !value.trim().is_empty() =>
            {
                Ok(StoredSecret::Digest { sha256: digest(&value) })
            }
            secret => Ok(StoredSecret::Source(self.0.secrets.keep(&secret_name(&channel.name), secret)?)),
        }
    }

    async fn write(&self, stored: &Stored, expected: ExpectedRevision) -> Result<Revision, Error> {
        let change = DocumentChange::put(CHANNELS, &stored.channel.name, stored);
        let change = change.map_err(|error| Error::Invalid(error.to_string()))?.expecting(expected);
        Ok(self.0.log.write_documents(vec![change]).await?)
    }

    /// Room to read one more delivery, if there is.
    pub fn admit(&self) -> Option<SemaphorePermit<'_>> {
        self.0.bodies.try_acquire().ok()
    }

    /// Counts a delivery to no channel, or one that came not so far that a channel could look at it.
    pub fn count_refused(&self, name: &str, code: &'static str) {
        let found = self.0.known.lock().get(name).cloned();
        if let Some(entry) = &found {
            *entry.counts.lock().refused.entry(code.to_owned()).or_default() += 1;
            self.noted();
        }
        // Whoever guesses names does not make a number for each.
        self.0.metrics.channel_delivery(found.map_or("", |_| name), code);
    }

    /// Takes a delivery, or refuses it. When it is accepted it is durable.
    pub async fn take(&self, name: &str, headers: &Headers, body: &Bytes) -> Result<Taken, Error> {
        let entry = self.entry(name)?;
        let taken = self.take_for(name, &entry, headers, body).await;
        match &taken {
            Ok(Taken::Challenge(_)) => {}
            Ok(Taken::Ignored(why)) => {
                *entry.counts.lock().ignored.entry(why.code().to_owned()).or_default() += 1;
                self.0.metrics.channel_delivery(name, "ignored");
            }
            Ok(Taken::Accepted { is_new: true, .. }) => {
                entry.counts.lock().accepted += 1;
                self.0.metrics.channel_delivery(name, "accepted");
            }
            Ok(Taken::Accepted { is_new: false, .. }) => {
                entry.counts.lock().duplicates += 1;
                self.0.metrics.channel_delivery(name, "duplicate");
            }
            Err(Error::Refused(refusal)) => self.count_refused(name, refusal.code()),
            Err(_) => {}
        }
        self.noted();
        taken
    }

    /// Tells who looks that something is different.
    fn noted(&self) {
        self.0.changes.note(Part::Channels);
    }

    async fn take_for(&self, name: &str, entry: &Arc<Entry>, headers: &Headers, body: &Bytes) -> Result<Taken, Error> {
        let stored = entry.stored();
        let channel = &stored.channel;
        let secret = stored.secret.find(name, &self.0.secrets).ok_or(Refusal::SecretMissing)?;
        let default = HmacHeader::default();
        let hmac = channel.hmac.as_ref().unwrap_or(&default);
        let at = now();
        verify(channel.kind, hmac, &secret, Request { headers, body, now: at })?;
        if channel.paused {
            return Err(Refusal::Paused.into());
        }
        let delivery = match read(channel, headers, body)? {
            Incoming::Challenge(challenge) => return Ok(Taken::Challenge(challenge)),
            Incoming::Ignored(why) => return Ok(Taken::Ignored(why)),
            Incoming::Message(delivery) => *delivery,
        };
        let id = delivery.delivery_id.clone();
        let order = {
            let mut work = entry.work.lock();
            if let Some(view) = work.find(&id) {
                return Ok(Taken::Accepted { view: Box::new(view.clone()), is_new: false, answer: None });
            }
            work.reserve().ok_or(Refusal::Full)?
        };
        let record = Record {
            order,
            received_at: at,
            state: DeliveryState::Accepted,
            delivery,
            after: None,
            turn_id: None,
            outcome: None,
            sent: 0,
            attempts: 0,
            next_at: None,
            error: None,
        };
        // Whoever asks may leave; what was taken is taken all the same, so this goes on without it.
        let (channels, owned, name) = (self.clone(), Arc::clone(entry), name.to_owned());
        let wait = Duration::from_secs(channel.respond_seconds.into());
        let accepting = self.0.tracker.spawn(async move { channels.accept(&name, &owned, record, wait).await });
        accepting.await.map_err(|_| Error::Log(log::Error::Closed))?
    }

    async fn accept(&self, name: &str, entry: &Arc<Entry>, record: Record, wait: Duration) -> Result<Taken, Error> {
        let view = Box::new(DeliveryView::from(&record));
        let change = DocumentChange::put(DELIVERIES, key(name, &view.delivery_id), &record);
        let change = change.map_err(|error| Error::Invalid(error.to_string()))?.expecting(ExpectedRevision::None);
        let is_large = change.json.as_ref().is_some_and(|json| json.len() > MAX_DOCUMENT_BYTES);
        let written = if is_large {
            Err(Refusal::TooLarge.into())
        } else {
            self.0.log.write_documents(vec![change]).await.map_err(Error::Log)
        };
        match written {
            Ok(_) => {}
            Err(Error::Log(log::Error::DocumentMoved { .. })) => {
                entry.work.lock().release();
                return Ok(Taken::Accepted { view, is_new: false, answer: None });
            }
            Err(error) => {
                entry.work.lock().release();
                return Err(error);
            }
        }
        let answer = (!wait.is_zero()).then(|| {
            let (sender, receiver) = oneshot::channel();
            entry.work.lock().waiters.insert(view.delivery_id.clone(), sender);
            PendingAnswer { receiver, wait }
        });
        drop(entry.work.lock().note(&record));
        self.begin(entry, &record);
        Ok(Taken::Accepted { view, is_new: true, answer })
    }

    async fn record(&self, name: &str, delivery: &str) -> Result<Option<Record>, log::Error> {
        let document = self.0.log.document(DELIVERIES, &key(name, delivery)).await?;
        Ok(document.and_then(|document| document.parse().ok()))
    }

    /// Writes down how far a delivery is. Those that are listed no more are removed with it.
    async fn write_record(&self, name: &str, entry: &Entry, record: &Record) -> Result<(), Error> {
        let change = DocumentChange::put(DELIVERIES, key(name, &record.delivery.delivery_id), record);
        let mut changes = vec![change.map_err(|error| Error::Invalid(error.to_string()))?];
        let old = entry.work.lock().note(record);
        changes.extend(old.into_iter().map(|old| DocumentChange::remove(DELIVERIES, key(name, &old))));
        let written = self.0.log.write_documents(changes).await;
        self.noted();
        written?;
        Ok(())
    }
}

fn key(channel: &str, delivery: &str) -> String {
    format!("{channel}/{delivery}")
}

fn show(entry: &Entry) -> Shown {
    let stored = entry.stored();
    Shown {
        channel: stored.channel.clone(),
        secret: stored.secret.source(),
        reply_token: stored.reply_token.clone(),
        counts: entry.counts.lock().clone(),
        waiting: entry.work.lock().waiting,
        created_at: stored.created_at,
        updated_at: stored.updated_at,
    }
}
