//! The task that owns the inbox. It follows the feed: when a session has changed, what is stored beside its log says what of it is for a person. Whatever
//! people say goes through here too, so that it is written in the order in which it is said.

use std::collections::{HashMap, HashSet};

use tokio::sync::{mpsc, oneshot};
use turnloom_core::attention::{Item, Mark, Session, Settings, items_of};
use turnloom_core::event::Record;
use turnloom_core::id::{Seq, SessionId};

use super::{Attention, Device, Error, MAX_DEVICES, devices, documents};
use crate::log::{self, Change, Commit, SessionQuery, SessionRow};
use crate::reader::Commits;
use crate::session::now;

/// What comes often, and changes nothing that a person waits for.
const NOISE: &[&str] =
    &["delta", "thinking", "tool_start", "tool_progress", "tool_result", "tool_decided", "status", "usage"];

/// Sessions whose last word is older are not looked at when the daemon starts, unless they ask something.
const RECENT_MS: i64 = 30 * 24 * 3600 * 1000;
const MAX_RECENT: usize = 5_000;
const PAGE: usize = 500;

pub(super) type MarkChange = Box<dyn Fn(Mark) -> Mark + Send + Sync>;
type Answer<T> = oneshot::Sender<Result<T, Error>>;

/// What is asked of the keeper.
pub(super) enum Order {
    Mark { item: String, change: MarkChange, answer: Answer<()> },
    ReadNews { session: Option<SessionId>, seq: Option<Seq>, answer: Answer<usize> },
    Settings { settings: Settings, answer: Answer<()> },
    AddDevice { device: Box<Device>, answer: Answer<Device> },
    RemoveDevice { id: String, answer: Answer<()> },
}

pub(super) struct Keeper {
    attention: Attention,
    orders: mpsc::Receiver<Order>,
    /// Sessions that have changed since they were looked at.
    changed: HashSet<SessionId>,
}

impl Keeper {
    pub(super) fn new(attention: Attention, orders: mpsc::Receiver<Order>) -> Self {
        Self { attention, orders, changed: HashSet::new() }
    }

    pub(super) async fn run(mut self) {
        if let Err(error) = self.work().await {
            tracing::debug!(%error, "the inbox is not followed any more");
        }
    }

    async fn work(&mut self) -> Result<(), log::Error> {
        let log = self.attention.0.log.clone();
        // Known before anything is read: what changes meanwhile is looked at once more.
        let position = log.feed().head().position;
        let mut commits = Commits::new(&log, position, self.attention.0.closing.clone());
        self.load().await?;
        self.attention.0.position.send_replace(Some(position));
        self.attention.changed();
        loop {
            tokio::select! {
                commit = commits.next() => {
                    let Some((commit, records)) = commit? else { return Ok(()) };
                    self.take(&commit, &records);
                    if let Some(reached) = commits.reached() {
                        self.look().await?;
                        self.attention.0.position.send_replace(Some(reached));
                    }
                }
                Some(order) = self.orders.recv() => self.carry_out(order).await,
            }
        }
    }

    /// What there is when the daemon starts.
    async fn load(&mut self) -> Result<(), log::Error> {
        let log = &self.attention.0.log;
        let (settings, devices) = (documents::settings(log).await?, documents::devices(log).await?);
        let mut marks = documents::marks(log).await?;
        let mut rows = log.waiting().await?;
        let oldest = now().plus_millis(-RECENT_MS);
        let mut query = SessionQuery { limit: PAGE, ..SessionQuery::default() };
        while rows.len() < MAX_RECENT {
            let page = log.sessions(query.clone()).await?;
            let is_last = page.sessions.last().is_none_or(|row| row.updated_at < oldest);
            rows.extend(page.sessions);
            match page.next {
                Some(next) if !is_last => query.cursor = Some(next),
                _ => break,
            }
        }
        let sessions: HashMap<SessionId, Vec<Item>> =
            rows.iter().map(|row| (row.id.clone(), items(row))).filter(|(_, items)| !items.is_empty()).collect();
        // What was said of something that is gone.
        let known: HashSet<&str> = sessions.values().flatten().map(|item| item.item_id.as_str()).collect();
        let gone: Vec<String> = marks.keys().filter(|item| !known.contains(item.as_str())).cloned().collect();
        self.forget(&gone).await?;
        marks.retain(|item, _| known.contains(item.as_str()));
        let mut state = self.attention.0.state.lock();
        (state.sessions, state.marks, state.settings, state.devices) = (sessions, marks, settings, devices);
        Ok(())
    }

    fn take(&mut self, commit: &Commit, records: &[Record]) {
        let is_noise = |record: &Record| NOISE.contains(&record.kind());
        if commit.change == Change::Removed || records.is_empty() || !records.iter().all(is_noise) {
            self.changed.insert(commit.session.clone());
        }
    }

    /// Looks at what has changed.
    async fn look(&mut self) -> Result<(), log::Error> {
        let mut gone = Vec::new();
        for id in std::mem::take(&mut self.changed) {
            let found = self.attention.0.log.session(&id).await?.as_ref().map(items).unwrap_or_default();
            let mut state = self.attention.0.state.lock();
            let before = state.sessions.get(&id).map(Vec::as_slice).unwrap_or_default();
            if before == found {
                continue;
            }
            let left = before.iter().filter(|item| !found.iter().any(|other| other.item_id == item.item_id));
            let left: Vec<String> = left.map(|item| item.item_id.clone()).collect();
            gone.extend(left.into_iter().filter(|item| state.marks.remove(item).is_some()));
            if found.is_empty() {
                state.sessions.remove(&id);
            } else {
                state.sessions.insert(id, found);
            }
            drop(state);
            self.attention.changed();
        }
        self.forget(&gone).await
    }

    /// Nobody asks for the marks of what is gone.
    async fn forget(&self, gone: &[String]) -> Result<(), log::Error> {
        let marks: Vec<(String, Mark)> = gone.iter().map(|item| (item.clone(), Mark::default())).collect();
        documents::keep_marks(&self.attention.0.log, &marks).await
    }

    async fn carry_out(&mut self, order: Order) {
        // Who asked may have left.
        match order {
            Order::Mark { item, change, answer } => drop(answer.send(self.mark(item, &change).await)),
            Order::ReadNews { session, seq, answer } => drop(answer.send(self.read_news(session, seq).await)),
            Order::Settings { settings, answer } => drop(answer.send(self.set(settings).await)),
            Order::AddDevice { device, answer } => drop(answer.send(self.add(*device).await)),
            Order::RemoveDevice { id, answer } => drop(answer.send(self.remove(&id).await)),
        }
    }

    async fn mark(&self, item: String, change: &MarkChange) -> Result<(), Error> {
        let mark = {
            let state = self.attention.0.state.lock();
            if state.find(&item).is_none() {
                return Err(Error::ItemNotFound(item));
            }
            change(state.mark(&item))
        };
        self.keep(vec![(item, mark)]).await
    }

    async fn read_news(&self, session: Option<SessionId>, seq: Option<Seq>) -> Result<usize, Error> {
        let at = now();
        let marks: Vec<(String, Mark)> = {
            let state = self.attention.0.state.lock();
            let is_meant = |item: &&Item| {
                session.as_ref().is_none_or(|session| *session == item.session_id)
                    && seq.is_none_or(|seq| item.seq <= seq)
                    && state.mark(&item.item_id).read_at.is_none()
                    // Somebody who looks at a session has also seen what it asks; for all at once that is too much to say.
                    && (session.is_some() || !item.kind.needs_you())
            };
            let meant = state.sessions.values().flatten().filter(is_meant);
            meant.map(|item| (item.item_id.clone(), Mark { read_at: Some(at), ..state.mark(&item.item_id) })).collect()
        };
        let count = marks.len();
        self.keep(marks).await?;
        Ok(count)
    }

    async fn keep(&self, marks: Vec<(String, Mark)>) -> Result<(), Error> {
        if marks.is_empty() {
            return Ok(());
        }
        documents::keep_marks(&self.attention.0.log, &marks).await?;
        self.attention.0.state.lock().marks.extend(marks);
        self.attention.changed();
        Ok(())
    }

    async fn set(&self, settings: Settings) -> Result<(), Error> {
        documents::keep_settings(&self.attention.0.log, &settings).await?;
        self.attention.0.state.lock().settings = settings;
        self.attention.changed();
        Ok(())
    }

    async fn add(&self, device: Device) -> Result<Device, Error> {
        let id = device.device_id.clone();
        let (known, count) = {
            let state = self.attention.0.state.lock();
            (state.devices.get(&id).map(|known| known.created_at), state.devices.len())
        };
        if known.is_none() && count >= MAX_DEVICES {
            return Err(Error::TooManyDevices);
        }
        let device = Device { created_at: known.unwrap_or(device.created_at), ..device };
        documents::keep_device(&self.attention.0.log, &device).await?;
        self.attention.0.state.lock().devices.insert(id, device.clone());
        self.attention.changed();
        Ok(device)
    }

    async fn remove(&self, id: &str) -> Result<(), Error> {
        let device = self.attention.device(id)?;
        documents::forget_device(&self.attention.0.log, id).await?;
        devices::forget_secret(&self.attention.0.secrets, &device)?;
        self.attention.0.state.lock().devices.remove(id);
        self.attention.changed();
        Ok(())
    }
}

fn items(row: &SessionRow) -> Vec<Item> {
    items_of(Session { id: &row.id, runtime: &row.runtime, created_at: row.created_at, summary: &row.summary })
}
