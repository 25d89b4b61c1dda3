//! The log in one `SQLite` file: a writer thread that commits in groups, reader threads that answer questions, and the queues between them
//! and the rest of the daemon.
//!
//! Not here: the statements (`db`, `reader`), which know of no thread, and followers, which know of no `SQLite`.

mod db;
mod documents;
mod journal;
mod lock;
mod mark;
mod reader;
mod schema;
mod snapshots;
mod steps;
mod writer;

#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;

use std::fmt;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::thread::JoinHandle;

use tokio::sync::{mpsc, oneshot, watch};
use turnloom_core::blob::BlobId;
use turnloom_core::event::Record;
use turnloom_core::id::{Seq, SessionId};

pub(crate) use db::{CreateResult, Db, Group, Removal};
pub(crate) use reader::Reader;

use self::journal::JournalLimits;
use self::lock::DataLock;
use self::mark::{DatabaseMark, State, beside};
use self::snapshots::SnapshotSave;
use self::steps::{BackgroundJob, SessionCreation};
use self::writer::{Job, Write};
use super::{
    Answer, Append, BlobOwner, BlobRange, BlobSlice, Claim, Commit, CrashSafety, Created, Document, DocumentChange,
    DocumentQuery, Durability, Error, NewSession, Position, ReadRange, Revision, SessionPage, SessionQuery, SessionRow,
    Snapshot, SnapshotName, Stats, Store, Tails,
};
use crate::private;
use crate::sync::Locked;

/// The database in the data directory.
const FILE: &str = "turnloom.db";

/// How many writes may wait, and so how large a group may be: from here on a group's own work, not the sync, is what takes time.
const WRITE_QUEUE: usize = 1024;

/// How many questions may wait. Each belongs to a caller that waits for it, so this only keeps a crowd from piling up.
const READ_QUEUE: usize = 256;

/// How many questions are answered at once: enough that one large page does not hold up a list.
const READERS: usize = 4;

/// The log in one `SQLite` file.
#[derive(Debug)]
pub(crate) struct Sqlite {
    // The queues stand before the threads: they are dropped first, which is what ends the threads.
    writes: Queue<Job>,
    reads: Queue<Query>,
    stats: Arc<Stats>,
    failed: watch::Receiver<Option<Error>>,
    _threads: Threads,
}

type Query = Box<dyn FnOnce(&Reader) + Send>;

impl Sqlite {
    pub(crate) fn exists(data: &Path) -> bool {
        data.join(FILE).exists()
    }

    /// Opens the log of a data directory, and makes either if need be. Publishes to the given tails.
    pub(crate) fn open(data: &Path, safety: CrashSafety, tails: Tails) -> Result<Self, Error> {
        Self::open_with(data, safety, tails, JournalLimits::default())
    }

    /// The same with every small append in the journal, which is moved often.
    #[cfg(test)]
    pub(crate) fn open_journaling(data: &Path, safety: CrashSafety, tails: Tails) -> Result<Self, Error> {
        Self::open_with(data, safety, tails, JournalLimits { group: 1, full: 20 })
    }

    fn open_with(data: &Path, safety: CrashSafety, tails: Tails, limits: JournalLimits) -> Result<Self, Error> {
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(data)
            .map_err(|cause| Error::io("make the data directory", data, cause))?;
        let lock = DataLock::take(data)?;
        let path = data.join(FILE);
        let mark = DatabaseMark::check(&path)?;
        restrict_permissions(&path)?;
        let db = Db::open(&path, safety)?;
        mark.set(State::Open)?;
        tails.feed().begin_at(db.reader().newest_position()?);
        let readers = (0..READERS).map(|_| Reader::open(&path)).collect::<Result<Vec<_>, _>>()?;

        // Before the queues, for the same reason as in `Sqlite`: should a thread not start, the others end.
        let mut threads = Threads::default();
        let stats = Arc::new(Stats::default());
        let (fail, failed) = watch::channel(None);
        let (writes, write_queue, writer_alive) = Queue::new(WRITE_QUEUE);
        let (reads, read_queue, readers_alive) = Queue::new(READ_QUEUE);
        let counters = Arc::clone(&stats);
        threads.start("log-writer", data, move || {
            writer::run(db, write_queue, &tails, &counters, &fail, &mark, limits);
            // The directory is free only when the database is closed, and only then is this thread taken for ended.
            drop(lock);
            drop(writer_alive);
        })?;
        let read_queue = Arc::new(Locked::new(read_queue));
        for reader in readers {
            let (queue, alive) = (Arc::clone(&read_queue), readers_alive.clone());
            threads.start("log-reader", data, move || {
                answer_queries(&reader, &queue);
                drop(reader);
                drop(alive);
            })?;
        }
        Ok(Self { writes, reads, stats, failed, _threads: threads })
    }

    fn write<W: Send + 'static, T: Send + 'static>(
        &self,
        durability: Durability,
        work: W,
        apply: fn(&mut Group<'_>, &W) -> Result<T, Error>,
        publish: fn(&Tails, &W, &T) -> Option<BackgroundJob>,
    ) -> Answer<'_, T> {
        Box::pin(async move {
            let (write, wait) = Write::new(durability, work, apply, publish);
            self.writes.send(Job::Write(write)).await?;
            wait.await.map_err(|_| Error::Closed)?
        })
    }

    fn query<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&Reader) -> Result<T, Error> + Send + 'static,
    ) -> Answer<'_, T> {
        Box::pin(async move {
            let (answer, wait) = oneshot::channel();
            let query = move |reader: &Reader| {
                if !answer.is_closed() {
                    drop(answer.send(ask(reader)));
                }
            };
            self.reads.send(Box::new(query)).await?;
            wait.await.map_err(|_| Error::Closed)?
        })
    }
}

#[expect(
    clippy::redundant_closure_for_method_calls,
    reason = "a method of `Group<'a>` is tied to one 'a, a closure takes them all"
)]
impl Store for Sqlite {
    fn create(&self, new: NewSession) -> Answer<'_, Created> {
        if SessionCreation::is_large(&new) {
            return Box::pin(async move {
                let (making, wait) = SessionCreation::new(new);
                self.writes.send(Job::Background(BackgroundJob::Make(making))).await?;
                wait.await.map_err(|_| Error::Closed)?
            });
        }
        let made = self.write(
            Durability::Grouped,
            new,
            |group, new| group.create(new),
            |tails, new, made| {
                if let CreateResult::New(position) = made {
                    tails.publish(*position, &new.id, Seq::ZERO, &new.records);
                }
                None
            },
        );
        Box::pin(async move { made.await.map(Created::from) })
    }

    fn claim(&self, id: &SessionId) -> Answer<'_, Claim> {
        self.write(Durability::Grouped, id.clone(), |group, id| group.claim(id), |_, _, _| None)
    }

    fn append(&self, append: Append) -> Answer<'_, Seq> {
        let appended = self.write(
            append.durability,
            append,
            |group, append| group.append(append),
            |tails, append, appended| {
                tails.publish(appended.position, &append.session, append.expected_head, &append.records);
                None
            },
        );
        Box::pin(async move { Ok(appended.await?.head) })
    }

    fn read(&self, id: &SessionId, range: ReadRange) -> Answer<'_, Vec<Record>> {
        let id = id.clone();
        self.query(move |reader| reader.read(&id, range))
    }

    fn session(&self, id: &SessionId) -> Answer<'_, Option<SessionRow>> {
        let id = id.clone();
        self.query(move |reader| reader.session(&id))
    }

    fn sessions(&self, query: SessionQuery) -> Answer<'_, SessionPage> {
        self.query(move |reader| reader.sessions(&query))
    }

    fn unsettled(&self) -> Answer<'_, Vec<SessionId>> {
        self.query(Reader::unsettled)
    }

    fn waiting(&self) -> Answer<'_, Vec<SessionRow>> {
        self.query(Reader::waiting)
    }

    fn delete(&self, id: &SessionId) -> Answer<'_, bool> {
        let deleted = self.write(
            Durability::Grouped,
            id.clone(),
            |group, id| group.delete(id),
            |tails, id, removal| match *removal {
                Removal::Unknown => None,
                Removal::Done(position) => {
                    tails.end(position, id);
                    None
                }
                Removal::Begun(position, key) => {
                    tails.end(position, id);
                    Some(BackgroundJob::Remove(key))
                }
            },
        );
        Box::pin(async move { Ok(deleted.await? != Removal::Unknown) })
    }

    fn blob(&self, id: &BlobId, range: BlobRange) -> Answer<'_, Option<BlobSlice>> {
        let id = id.clone();
        self.query(move |reader| reader.blob(&id, range))
    }

    fn blob_owners(&self, id: &BlobId) -> Answer<'_, Vec<BlobOwner>> {
        let id = id.clone();
        self.query(move |reader| reader.blob_owners(&id))
    }

    fn save(&self, snapshots: Vec<Snapshot>) -> Answer<'_, ()> {
        Box::pin(async move {
            let (saving, wait) = SnapshotSave::new(snapshots);
            self.writes.send(Job::Background(BackgroundJob::Save(saving))).await?;
            wait.await.map_err(|_| Error::Closed)?
        })
    }

    fn snapshot(&self, id: &SessionId, kind: &str, part: u32) -> Answer<'_, Option<Snapshot>> {
        let (id, kind) = (id.clone(), kind.to_owned());
        self.query(move |reader| reader.snapshot(&id, &kind, part))
    }

    fn snapshots(&self, id: &SessionId) -> Answer<'_, Vec<SnapshotName>> {
        let id = id.clone();
        self.query(move |reader| reader.snapshots(&id))
    }

    fn forget(&self, id: &SessionId, kind: &str) -> Answer<'_, ()> {
        let work = (id.clone(), kind.to_owned());
        self.write(Durability::Grouped, work, |group, (id, kind)| group.forget(id, kind), |_, _, ()| None)
    }

    fn commits(&self, after: Position, limit: usize) -> Answer<'_, Vec<Commit>> {
        self.query(move |reader| reader.commits(after, limit))
    }

    fn write_documents(&self, changes: Vec<DocumentChange>) -> Answer<'_, Revision> {
        self.write(Durability::Synced, changes, |group, changes| group.write_documents(changes), |_, _, _| None)
    }

    fn document(&self, kind: &'static str, key: &str) -> Answer<'_, Option<Document>> {
        let key = key.to_owned();
        self.query(move |reader| reader.document(kind, &key))
    }

    fn documents(&self, kind: &'static str, query: DocumentQuery) -> Answer<'_, Vec<Document>> {
        self.query(move |reader| reader.documents(kind, &query))
    }

    fn failed(&self) -> Pin<Box<dyn Future<Output = Error> + Send + '_>> {
        let mut failed = self.failed.clone();
        Box::pin(async move {
            let error = failed.wait_for(Option::is_some).await.ok().and_then(|error| error.clone());
            error.unwrap_or(Error::Closed)
        })
    }

    fn stats(&self) -> &Stats {
        &self.stats
    }

    fn pending(&self) -> usize {
        self.writes.sender.max_capacity() - self.writes.sender.capacity()
    }

    fn close(&self) -> Answer<'_, ()> {
        Box::pin(async move {
            // Readers first: a checkpoint cannot empty the write-ahead log under them.
            self.reads.close().await;
            self.writes.close().await;
            self.failed.borrow().clone().map_or(Ok(()), Err)
        })
    }
}

/// What travels in a queue. A close waits its turn like everything else.
enum Message<J> {
    Job(J),
    Close,
}

/// The way to a thread, and to know of its end.
struct Queue<J> {
    sender: mpsc::Sender<Message<J>>,
    /// Each thread holds a receiver of this as long as it lives.
    alive: watch::Sender<()>,
}

impl<J> fmt::Debug for Queue<J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue").field("free", &self.sender.capacity()).finish_non_exhaustive()
    }
}

impl<J> Queue<J> {
    fn new(bound: usize) -> (Self, mpsc::Receiver<Message<J>>, watch::Receiver<()>) {
        let (sender, receiver) = mpsc::channel(bound);
        let (alive, token) = watch::channel(());
        (Self { sender, alive }, receiver, token)
    }

    async fn send(&self, job: J) -> Result<(), Error> {
        self.sender.send(Message::Job(job)).await.map_err(|_| Error::Closed)
    }

    async fn close(&self) {
        // It may be closed already; its threads may still be at work.
        drop(self.sender.send(Message::Close).await);
        self.alive.closed().await;
    }
}

/// Whichever reader is free takes the next question.
fn answer_queries(reader: &Reader, queue: &Locked<mpsc::Receiver<Message<Query>>>) {
    let take = || {
        let mut queue = queue.lock();
        let message = queue.blocking_recv();
        if let Some(Message::Close) = message {
            queue.close();
        }
        message
    };
    while let Some(message) = take() {
        if let Message::Job(query) = message {
            query(reader);
        }
    }
}

/// The threads of one log. Dropping it waits for them, so that a log that is gone has let go of its directory.
#[derive(Debug, Default)]
struct Threads(Vec<JoinHandle<()>>);

impl Threads {
    fn start(&mut self, name: &str, data: &Path, run: impl FnOnce() + Send + 'static) -> Result<(), Error> {
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(run);
        self.0.push(thread.map_err(|cause| Error::io("start a thread for", data, cause))?);
        Ok(())
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        for thread in self.0.drain(..) {
            // A thread that panicked has said so itself.
            drop(thread.join());
        }
    }
}

/// Whatever the directory is open to: what is said in sessions is nobody else's.
fn restrict_permissions(path: &Path) -> Result<(), Error> {
    private::ensure(path).map_err(|cause| Error::io("make", path, cause))?;
    for file in ["-wal", "-shm"].map(|suffix| beside(path, suffix)) {
        private::restrict(&file).map_err(|cause| Error::io("close to others", &file, cause))?;
    }
    Ok(())
}

fn int(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn uint(value: i64) -> u64 {
    value.max(0).unsigned_abs()
}
