//! One reader's place in a session's log. This is the only code that waits on a follower.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use turnloom_core::event::Record;
use turnloom_core::id::Seq;

use super::Following;
use crate::log::{Error, Follower};
use crate::metrics::Metrics;

/// How often a stream says that it is alive.
pub const HEARTBEAT: Duration = Duration::from_secs(15);

/// Records that a reader takes at once. A slow one costs this much memory and no more.
pub const PAGE: usize = 256;

/// A follower, and what ends or interrupts waiting for it.
#[derive(Debug)]
pub struct Source {
    follower: Follower,
    metrics: Arc<Metrics>,
    closing: CancellationToken,
    /// When the next heartbeat is due if nothing else is sent.
    heartbeat_at: Instant,
    _following: Following,
}

/// What a reader has waited for.
#[derive(Debug)]
pub enum SourceEvent {
    /// What comes next in the log.
    Records(Vec<Record>),
    /// The moment that the reader named has come.
    Due,
    /// Nothing was told for a while.
    Heartbeat,
    /// The daemon is shutting down.
    Closing,
    /// The log cannot be read on; most often the session was removed.
    Ended(Error),
}

impl Source {
    pub(super) fn new(
        follower: Follower,
        metrics: Arc<Metrics>,
        closing: CancellationToken,
        following: Following,
    ) -> Self {
        Self { follower, metrics, closing, heartbeat_at: Instant::now() + HEARTBEAT, _following: following }
    }

    /// Something was sent to the reader; the heartbeat is counted from here. Records that the reader does not get do not delay its heartbeat.
    pub fn reset_heartbeat(&mut self) {
        self.heartbeat_at = Instant::now() + HEARTBEAT;
    }

    /// Waits for the next records, or until `due`.
    ///
    /// Cancel-safe: records are handed over or still to come.
    pub async fn next(&mut self, limit: usize, due: Option<Instant>) -> SourceEvent {
        tokio::select! {
            biased;
            () = self.closing.cancelled() => SourceEvent::Closing,
            () = until(due) => SourceEvent::Due,
            records = self.follower.next(limit) => match records {
                Ok(records) => {
                    let behind = self.follower.head().0.saturating_sub(self.follower.cursor().0);
                    self.metrics.follower_lag.observe(f64::from(u32::try_from(behind).unwrap_or(u32::MAX)));
                    SourceEvent::Records(records)
                }
                Err(error) => SourceEvent::Ended(error),
            },
            () = sleep_until(self.heartbeat_at) => {
                self.reset_heartbeat();
                SourceEvent::Heartbeat
            }
        }
    }

    /// The last position handed over.
    pub fn cursor(&self) -> Seq {
        self.follower.cursor()
    }

    /// The last position committed, as far as is known.
    pub fn head(&self) -> Seq {
        self.follower.head()
    }
}

/// Waits until then; for ever, when there is no such moment.
pub async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}
