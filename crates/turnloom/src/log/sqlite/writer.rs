//! The writer thread: takes what is queued, commits it as one group, publishes, answers. No timers: while one group is on its way to the
//! disk the next one gathers, so groups grow exactly when the disk is slow.

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot, watch};

use super::db::{Db, Group};
use super::{Message, Stats, WRITE_QUEUE};
use crate::log::{Error, Sync, Tails};

/// One write on its way. Running it inside a group says how to settle it once the fate of the group is known.
pub(super) struct Write {
    sync: Sync,
    run: Box<dyn FnOnce(&mut Group<'_>) -> Settle + Send>,
}

type Settle = Box<dyn FnOnce(&Result<u64, Error>, &Tails)>;

impl Write {
    /// A write, what it does to the tails once it is committed, and where its answer will be.
    pub(super) fn new<W: Send + 'static, T: Send + 'static>(
        sync: Sync,
        work: W,
        apply: fn(&mut Group<'_>, &W) -> Result<T, Error>,
        publish: fn(&Tails, &W, &T),
    ) -> (Self, oneshot::Receiver<Result<T, Error>>) {
        let (answer, wait) = oneshot::channel();
        let run = move |group: &mut Group<'_>| -> Settle {
            let outcome = apply(group, &work);
            Box::new(move |committed, tails| {
                let outcome = match committed {
                    Ok(_) => outcome,
                    Err(error) => Err(error.clone()),
                };
                if let Ok(value) = &outcome {
                    publish(tails, &work, value);
                }
                // A caller that left is not told.
                drop(answer.send(outcome));
            })
        };
        (Self { sync, run: Box::new(run) }, wait)
    }
}

/// Runs until the queue is closed and empty. The first group that cannot be committed is the last that is tried: what came after it would
/// build on facts that are not there.
pub(super) fn run(
    mut db: Db,
    mut queue: mpsc::Receiver<Message<Write>>,
    tails: &Tails,
    stats: &Arc<Stats>,
    failed: &watch::Sender<Option<Error>>,
) {
    let mut messages = Vec::with_capacity(WRITE_QUEUE);
    let mut failure: Option<Error> = None;
    while queue.blocking_recv_many(&mut messages, WRITE_QUEUE) > 0 {
        let mut writes = Vec::with_capacity(messages.len());
        for message in messages.drain(..) {
            match message {
                Message::Job(write) => writes.push(write),
                Message::Close => queue.close(),
            }
        }
        if writes.is_empty() {
            continue;
        }
        let size = writes.len();
        let group = match &failure {
            None => db.begin(sync_of(&writes)),
            Some(error) => Group::broken(error.clone()),
        };
        let committed = commit(group, writes, tails);
        match committed {
            Ok(events) => stats.count(size, events),
            Err(error) if failure.is_none() => {
                tracing::error!(%error, "the log has stopped");
                failed.send_replace(Some(error.clone()));
                failure = Some(error);
            }
            Err(_) => {}
        }
    }
    if failure.is_none()
        && let Err(error) = db.checkpoint()
    {
        // Nothing is lost: the next start finds it all in the write-ahead log.
        tracing::warn!(%error, "the log was closed without a checkpoint");
    }
}

fn commit(mut group: Group<'_>, writes: Vec<Write>, tails: &Tails) -> Result<u64, Error> {
    let settles: Vec<Settle> = writes.into_iter().map(|write| (write.run)(&mut group)).collect();
    let committed = group.commit();
    for settle in settles {
        settle(&committed, tails);
    }
    committed
}

/// One that must be on disk takes the whole group there.
fn sync_of(writes: &[Write]) -> Sync {
    if writes.iter().any(|write| write.sync == Sync::Now) { Sync::Now } else { Sync::Lazy }
}
