//! The log in one `SQLite` file: a writer thread that commits in groups, reader threads that answer questions, and the queues between them
//! and the rest of the daemon.
//!
//! Not here: the statements (`db`, `reader`), which know of no thread, and followers, which know of no `SQLite`.

mod db;
mod lock;
mod reader;
mod schema;
mod stats;
mod writer;

#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;

use std::fmt;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use tokio::sync::{mpsc, oneshot, watch};
use turnloom_core::blob::BlobId;
use turnloom_core::event::Record;
use turnloom_core::id::{Seq, SessionId};

pub use db::{Db, Group};
pub use reader::Reader;
pub use stats::Stats;

use self::lock::DataLock;
use self::writer::Write;
use super::{
    Answer, Append, BlobRange, BlobSlice, Claim, Created, Error, NewSession, ReadRange, SessionPage, SessionQuery,
    SessionRow, Store, Sync, Tails,
};

/// The database in the data directory.
const FILE: &str = "turnloom.db";

/// How many writes may wait, and so how large a group may be: from here on a group's own work, not the sync, is what takes time.
const WRITE_QUEUE: usize = 1024;

/// How many questions may wait. Each belongs to a caller that waits for it, so this only keeps a crowd from piling up.
const READ_QUEUE: usize = 256;

/// How many questions are answered at once: enough that one large page does not hold up a list.
const READERS: usize = 4;

/// What an answered write survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// A power cut.
    #[default]
    Power,
    /// The end of the daemon, however it ends; a power cut only where an append asks for it.
    Process,
}

/// The log in one `SQLite` file.
#[derive(Debug)]
pub struct Sqlite {
    // The queues stand before the threads: they are dropped first, which is what ends the threads.
    writes: Queue<Write>,
    reads: Queue<Query>,
    stats: Arc<Stats>,
    failed: watch::Receiver<Option<Error>>,
    _threads: Threads,
}

type Query = Box<dyn FnOnce(&Reader) + Send>;

impl Sqlite {
    /// Opens the log of a data directory, and makes either if need be. Publishes to the given tails.
    pub fn open(data: &Path, durability: Durability, tails: Tails) -> Result<Self, Error> {
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(data)
            .map_err(|cause| Error::io("make the data directory", data, cause))?;
        let lock = DataLock::take(data)?;
        let path = data.join(FILE);
        let db = Db::open(&path, durability)?;
        let readers = (0..READERS).map(|_| Reader::open(&path)).collect::<Result<Vec<_>, _>>()?;

        // Before the queues, for the same reason as in `Sqlite`: should a thread not start, the others end.
        let mut threads = Threads::default();
        let stats = Arc::new(Stats::default());
        let (fail, failed) = watch::channel(None);
        let (writes, write_queue, writer_alive) = Queue::new(WRITE_QUEUE);
        let (reads, read_queue, readers_alive) = Queue::new(READ_QUEUE);
        let counters = Arc::clone(&stats);
        threads.start("log-writer", data, move || {
            writer::run(db, write_queue, &tails, &counters, &fail);
            // The directory is free only when the database is closed, and only then is this thread taken for ended.
            drop(lock);
            drop(writer_alive);
        })?;
        let read_queue = Arc::new(Mutex::new(read_queue));
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

    pub fn stats(&self) -> &Arc<Stats> {
        &self.stats
    }

    /// How many writes wait for the next group.
    pub fn pending(&self) -> usize {
        self.writes.sender.max_capacity() - self.writes.sender.capacity()
    }

    /// Waits until the log can no longer be written, and says why: the daemon must end then. `Error::Closed` after an ordinary close.
    pub async fn failed(&self) -> Error {
        let mut failed = self.failed.clone();
        let error = failed.wait_for(Option::is_some).await.ok().and_then(|error| error.clone());
        error.unwrap_or(Error::Closed)
    }

    fn write<W: Send + 'static, T: Send + 'static>(
        &self,
        sync: Sync,
        work: W,
        apply: fn(&mut Group<'_>, &W) -> Result<T, Error>,
        publish: fn(&Tails, &W, &T),
    ) -> Answer<'_, T> {
        Box::pin(async move {
            let (write, wait) = Write::new(sync, work, apply, publish);
            self.writes.send(write).await?;
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
        self.write(
            Sync::Lazy,
            new,
            |group, new| group.create(new),
            |tails, new, created| {
                if *created == Created::New {
                    tails.publish(&new.id, &new.records);
                }
            },
        )
    }

    fn claim(&self, id: &SessionId) -> Answer<'_, Claim> {
        self.write(Sync::Lazy, id.clone(), |group, id| group.claim(id), |_, _, _| {})
    }

    fn append(&self, append: Append) -> Answer<'_, Seq> {
        self.write(
            append.sync,
            append,
            |group, append| group.append(append),
            |tails, append, _| {
                tails.publish(&append.session, &append.records);
            },
        )
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
        self.write(Sync::Lazy, id.clone(), |group, id| group.delete(id), |tails, id, _| tails.end(id))
    }

    fn blob(&self, id: &BlobId, range: BlobRange) -> Answer<'_, Option<BlobSlice>> {
        let id = id.clone();
        self.query(move |reader| reader.blob(&id, range))
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
fn answer_queries(reader: &Reader, queue: &Mutex<mpsc::Receiver<Message<Query>>>) {
    let take = || {
        let mut queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
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

fn int(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn uint(value: i64) -> u64 {
    value.max(0).unsigned_abs()
}
