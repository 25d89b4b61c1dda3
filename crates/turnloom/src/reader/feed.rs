//! Followers of the feed of all sessions. The loops that wait for commits are here and in `view/saver`.
//!
//! A [`FeedSource`] is one reader's place: it waits until the feed, or a fold of it, has moved. A [`FeedStream`] tells what a [`FeedProjection`] makes of
//! that. [`Commits`] hands over every commit with its records, for a fold that everybody shares.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use turnloom_core::event::Record;
use turnloom_core::id::SessionId;

use super::{Following, Frame, FrameStream, HEARTBEAT, until};
use crate::log::{Commit, Error, FeedFollower, Log, Position};

/// Commits that are taken at a time.
const PAGE: usize = 256;

/// Something that moves with the feed, and what ends or interrupts waiting for it.
#[derive(Debug)]
pub struct FeedSource<H> {
    head: watch::Receiver<H>,
    /// Where it was when the reader last looked, and when that was.
    seen: H,
    looked_at: Instant,
    /// When the next heartbeat is due if nothing else is sent.
    heartbeat_at: Instant,
    closing: CancellationToken,
    _following: Following,
}

/// What a reader of the feed has waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FeedEvent {
    /// There may be something to tell.
    Due,
    /// Nothing was told for a while.
    Heartbeat,
    /// The daemon is shutting down.
    Closing,
}

impl<H: Copy> FeedSource<H> {
    pub(super) fn new(mut head: watch::Receiver<H>, closing: CancellationToken, following: Following) -> Self {
        let (seen, now) = (*head.borrow_and_update(), Instant::now());
        Self { head, seen, looked_at: now, heartbeat_at: now + HEARTBEAT, closing, _following: following }
    }

    /// Something was sent to the reader; the heartbeat is counted from here.
    fn reset_heartbeat(&mut self) {
        self.heartbeat_at = Instant::now() + HEARTBEAT;
    }

    /// Waits until `due`, or until the head has moved by something that matters. `pace` says so: how long after the last look it is looked at.
    async fn next(&mut self, pace: impl Fn(H, H) -> Option<Duration>, due: Option<Instant>) -> FeedEvent {
        loop {
            let head = *self.head.borrow_and_update();
            let look_at = pace(self.seen, head).map(|pause| self.looked_at + pause);
            let due = [look_at, due].into_iter().flatten().min();
            if due.is_some_and(|due| due <= Instant::now()) {
                (self.seen, self.looked_at) = (head, Instant::now());
                return FeedEvent::Due;
            }
            tokio::select! {
                biased;
                () = self.closing.cancelled() => return FeedEvent::Closing,
                moved = self.head.changed() => if moved.is_err() {
                    return FeedEvent::Closing;
                },
                () = until(due) => {}
                () = sleep_until(self.heartbeat_at) => {
                    self.reset_heartbeat();
                    return FeedEvent::Heartbeat;
                }
            }
        }
    }
}

/// What somebody is told who follows all sessions.
pub trait FeedProjection: Send + 'static {
    /// What moves: the feed's head, or that of a fold of it.
    type Head: Copy + Send + Sync + 'static;

    /// How long after the last look a head that has moved is looked at. Nothing, if what has moved does not matter.
    fn pace(seen: Self::Head, head: Self::Head) -> Option<Duration>;

    /// Makes the frames that bring the reader to where everything is. The first time it comes at once. Nothing ends the stream: the log cannot be
    /// read any more.
    fn update(&mut self, out: &mut VecDeque<Frame>) -> impl Future<Output = Option<()>> + Send;

    /// When there is something to tell although nothing has moved.
    fn due(&self) -> Option<Instant> {
        None
    }

    /// Says that the stream is alive.
    fn heartbeat(&self) -> Frame;
}

/// A connection that follows all sessions.
#[derive(Debug)]
pub struct FeedStream<P: FeedProjection> {
    source: FeedSource<P::Head>,
    projection: P,
    has_begun: bool,
    ready: VecDeque<Frame>,
}

impl<P: FeedProjection> FeedStream<P> {
    pub fn new(source: FeedSource<P::Head>, projection: P) -> Self {
        Self { source, projection, has_begun: false, ready: VecDeque::new() }
    }
}

impl<P: FeedProjection> FrameStream for FeedStream<P> {
    async fn next(&mut self) -> Option<Frame> {
        self.source.reset_heartbeat();
        loop {
            if let Some(frame) = self.ready.pop_front() {
                return Some(frame);
            }
            if std::mem::replace(&mut self.has_begun, true) {
                match self.source.next(P::pace, self.projection.due()).await {
                    FeedEvent::Due => {}
                    FeedEvent::Heartbeat => return Some(self.projection.heartbeat()),
                    FeedEvent::Closing => return None,
                }
            }
            self.projection.update(&mut self.ready).await?;
        }
    }
}

/// Every commit of all sessions from a position on.
#[derive(Debug)]
pub struct Commits {
    log: Log,
    follower: FeedFollower,
    /// Those that were taken from the feed and not handed over.
    page: VecDeque<Commit>,
    closing: CancellationToken,
}

impl Commits {
    pub fn new(log: &Log, after: Position, closing: CancellationToken) -> Self {
        Self { log: log.clone(), follower: log.follow_all(after), page: VecDeque::new(), closing }
    }

    /// Waits for the next commit; nothing when the daemon ends.
    ///
    /// Cancel-safe: a commit is handed over or still to come.
    pub async fn next(&mut self) -> Result<Option<(Commit, Arc<[Record]>)>, Error> {
        let closing = self.closing.clone();
        let next = async {
            loop {
                if let Some(commit) = self.page.front() {
                    let records = self.log.records_of(commit).await?;
                    if let Some(commit) = self.page.pop_front() {
                        return Ok((commit, records));
                    }
                }
                self.page.extend(self.follower.next(PAGE).await?);
            }
        };
        closing.run_until_cancelled(next).await.transpose()
    }

    /// Waits for the next commit of a session that somebody wants to hear of; those of others are passed over without reading them. Nothing when the
    /// daemon ends.
    ///
    /// Cancel-safe: a commit is taken when it is handed over.
    pub async fn next_of(
        &mut self,
        is_wanted: impl Fn(&SessionId) -> bool,
    ) -> Result<Option<(Commit, Arc<[Record]>)>, Error> {
        let closing = self.closing.clone();
        let next = async {
            loop {
                let Some(commit) = self.page.front() else {
                    self.page.extend(self.follower.next(PAGE).await?);
                    continue;
                };
                let records = if is_wanted(&commit.session) { Some(self.log.records_of(commit).await?) } else { None };
                let commit = self.page.pop_front();
                if let (Some(commit), Some(records)) = (commit, records) {
                    return Ok((commit, records));
                }
            }
        };
        closing.run_until_cancelled(next).await.transpose()
    }

    /// The position up to which everything was handed over; nothing in the middle of what was taken at once.
    pub fn reached(&self) -> Option<Position> {
        self.page.is_empty().then(|| self.follower.cursor())
    }
}
