//! The writer thread: takes what is queued, commits it as one group, publishes, answers. No timers: while one group is on its way to the
//! disk the next one gathers, so groups grow exactly when the disk is slow. What is too much for one group goes along in steps.

use std::collections::VecDeque;
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot, watch};

use super::db::{Db, Group};
use super::journal::{JournalLimits, JournalPlace, Placement};
use super::mark::{DatabaseMark, State};
use super::steps::{BackgroundJob, Progress};
use super::{Message, WRITE_QUEUE};
use crate::log::{Durability, Error, Stats, Tails};

/// What comes to the writer.
pub(super) enum Job {
    Write(Write),
    Background(BackgroundJob),
}

/// One write on its way. Running it inside a group says how to settle it once the fate of the group is known.
pub(super) struct Write {
    durability: Durability,
    run: Box<dyn FnOnce(&mut Group<'_>) -> Settle + Send>,
}

/// What is left to do after a write is a chore.
type Settle = Box<dyn FnOnce(&Result<u64, Error>, &Tails) -> Option<BackgroundJob>>;

impl Write {
    /// A write, what it does to the tails once it is committed, and where its answer will be.
    pub(super) fn new<W: Send + 'static, T: Send + 'static>(
        durability: Durability,
        work: W,
        apply: fn(&mut Group<'_>, &W) -> Result<T, Error>,
        publish: fn(&Tails, &W, &T) -> Option<BackgroundJob>,
    ) -> (Self, oneshot::Receiver<Result<T, Error>>) {
        let (answer, wait) = oneshot::channel();
        let run = move |group: &mut Group<'_>| -> Settle {
            let outcome = apply(group, &work);
            Box::new(move |committed, tails| {
                let outcome = match committed {
                    Ok(_) => outcome,
                    Err(error) => Err(error.clone()),
                };
                let left = outcome.as_ref().ok().and_then(|value| publish(tails, &work, value));
                // A caller that left is not told.
                drop(answer.send(outcome));
                left
            })
        };
        (Self { durability, run: Box::new(run) }, wait)
    }
}

/// Runs until the queue is closed and empty. The first group that cannot be committed is the last that is tried: what came after it would
/// build on facts that are not there.
pub(super) fn run(
    mut db: Db,
    mut queue: mpsc::Receiver<Message<Job>>,
    tails: &Tails,
    stats: &Arc<Stats>,
    failed: &watch::Sender<Option<Error>>,
    mark: &DatabaseMark,
    limits: JournalLimits,
) {
    let mut background_jobs = VecDeque::from(db.unfinished().unwrap_or_default());
    let mut failure: Option<Error> = None;
    while let Some(jobs) = take(&mut queue, &background_jobs) {
        let mut writes = Vec::with_capacity(jobs.len());
        for job in jobs {
            match job {
                Job::Write(write) => writes.push(write),
                Job::Background(background_job) => background_jobs.push_back(background_job),
            }
        }
        let background_job = background_jobs.pop_front();
        if writes.is_empty() && background_job.is_none() {
            continue;
        }
        let size = writes.len() + usize::from(background_job.is_some());
        let group = match &failure {
            None if writes.is_empty() && background_job.as_ref().is_some_and(BackgroundJob::needs_no_sync) => {
                db.begin_unsynced()
            }
            None => db.begin(strictest(&writes)),
            Some(error) => Group::broken(error.clone()),
        };
        let committed = commit(group, writes, background_job, &mut background_jobs, tails, limits);
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
    // The mark first: between the two the write-ahead log is empty, and nothing is missing.
    if failure.is_none()
        && let Err(error) = mark.set(State::Closed).and_then(|()| db.checkpoint())
    {
        // Nothing is lost: the next start finds it all in the write-ahead log.
        tracing::warn!(%error, "the log was closed without a checkpoint");
    }
}

/// What is queued. Nobody is waited for as long as there are chores. Nothing when the queue is closed and whatever somebody waits for is done;
/// what is left to remove then is removed by the next daemon.
fn take(queue: &mut mpsc::Receiver<Message<Job>>, background_jobs: &VecDeque<BackgroundJob>) -> Option<Vec<Job>> {
    let mut jobs = Vec::new();
    let first = if background_jobs.is_empty() { Some(queue.blocking_recv()?) } else { None };
    let more = std::iter::from_fn(|| queue.try_recv().ok()).take(WRITE_QUEUE);
    let mut close = false;
    for message in first.into_iter().chain(more) {
        match message {
            Message::Job(job) => jobs.push(job),
            Message::Close => close = true,
        }
    }
    if close {
        queue.close();
    }
    let is_over = jobs.is_empty()
        && queue.is_closed()
        && queue.is_empty()
        && !background_jobs.iter().any(BackgroundJob::is_awaited);
    (!is_over).then_some(jobs)
}

fn commit(
    mut group: Group<'_>,
    writes: Vec<Write>,
    background_job: Option<BackgroundJob>,
    background_jobs: &mut VecDeque<BackgroundJob>,
    tails: &Tails,
    limits: JournalLimits,
) -> Result<u64, Error> {
    let placement = Placement::of_group(writes.len(), limits);
    group.place(placement);
    let settles: Vec<Settle> = writes.into_iter().map(|write| (write.run)(&mut group)).collect();
    // Should the group break, this is the last one.
    let is_journal_full = placement == Placement::Journal && group.is_journal_full(limits).unwrap_or_default();
    let stepped = background_job.map(|mut background_job| (background_job.step(&mut group), background_job));
    let committed = group.commit();
    for settle in settles {
        background_jobs.extend(settle(&committed, tails));
    }
    match stepped {
        Some((Progress::More, background_job)) if committed.is_ok() => background_jobs.push_back(background_job),
        Some((_, background_job)) => background_jobs.extend(background_job.settle(&committed, tails)),
        None => {}
    }
    if is_journal_full && !background_jobs.iter().any(BackgroundJob::is_move) {
        background_jobs.push_back(BackgroundJob::MoveFromJournal { after: JournalPlace::default() });
    }
    committed
}

/// One that must be on disk takes the whole group there.
fn strictest(writes: &[Write]) -> Durability {
    writes.iter().map(|write| write.durability).max().unwrap_or(Durability::Grouped)
}
