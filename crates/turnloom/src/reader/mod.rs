//! The way out of a log: every stream and every history is a source, a projection and a sink.
//!
//! - A [`Source`] is one reader's place in a log: it waits for more, beats when nothing happens, and ends with the session or the daemon. A
//!   [`FeedSource`] is the same in the feed of all sessions.
//! - A projection (`turnloom_core::projection`) makes frames of events. What does not depend on who reads is folded once, in [`Folds`]; each reader gets
//!   a copy from where its part begins.
//! - A sink writes [`Frame`]s: [`sse`] and [`text`] are responses, a WebSocket and the Socket.IO gateway have theirs in `http`.
//!
//! Attaching live, resuming after a break and replaying an old session are this one loop with another first place. Whole logs are read page by page in
//! [`crate::log::Log::pages`], and nowhere else.
//!
//! Not here: what the frames of a protocol say (core), who may read, and which route leads here (`http`).

mod dialect;
mod events;
mod feed;
mod folds;
mod frame;
mod sink;
mod source;
mod told;
mod turn;
mod view;

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio_util::sync::CancellationToken;
use turnloom_core::id::{Seq, SessionId};

pub use self::dialect::{DialectStream, Ids, OnDisconnect};
pub use self::events::{Live, Types};
pub use self::feed::{Commits, FeedProjection, FeedSource, FeedStream};
pub use self::folds::{Folds, Place};
pub use self::frame::{Frame, FrameStream};
pub use self::sink::{GREETING, UNBUFFERED, sse, sse_texts, streamed, text};
pub use self::source::{HEARTBEAT, PAGE, Source, SourceEvent, until};
pub use self::told::ToldFact;
pub use self::turn::{FollowedTurn, Unfinished};
pub use self::view::{LiveView, Update, VIEW, Views, save_views};
use crate::log::{FeedHead, Log};
use crate::metrics::Metrics;

/// Everything that readers share. Cloning shares it.
#[derive(Debug, Clone)]
pub struct Reader(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    log: Log,
    folds: Folds,
    views: Views,
    /// One permit per connection that follows something.
    followers: Arc<Semaphore>,
    metrics: Arc<Metrics>,
    /// Ends every stream.
    closing: CancellationToken,
}

/// As many follow as may.
#[derive(Debug, thiserror::Error)]
#[error("too many connections follow events; see max_followers")]
pub struct TooManyFollowers;

impl Reader {
    pub fn new(log: Log, max_followers: usize, metrics: Arc<Metrics>, closing: CancellationToken) -> Self {
        let (folds, views) = (Folds::new(log.clone()), Views::new(log.clone()));
        let followers = Arc::new(Semaphore::new(max_followers));
        Self(Arc::new(Shared { log, folds, views, followers, metrics, closing }))
    }

    pub fn folds(&self) -> &Folds {
        &self.0.folds
    }

    pub fn views(&self) -> &Views {
        &self.0.views
    }

    /// Room for one more follower, if there is.
    pub fn admit(&self) -> Result<Following, TooManyFollowers> {
        let permit = Arc::clone(&self.0.followers).try_acquire_owned().map_err(|_| TooManyFollowers)?;
        Ok(Following::new(Arc::clone(&self.0.metrics), permit))
    }

    /// A place in a session's log, for one follower.
    pub fn source(&self, id: &SessionId, after: Seq, following: Following) -> Source {
        let follower = self.0.log.follow(id, after);
        Source::new(follower, Arc::clone(&self.0.metrics), self.0.closing.clone(), following)
    }

    /// A place in the feed of all sessions, for one follower.
    pub fn feed_source(&self, following: Following) -> FeedSource<FeedHead> {
        self.feed_fold_source(self.0.log.feed().watch(), following)
    }

    /// A place in something that is folded from the feed.
    pub fn feed_fold_source<H: Copy>(&self, head: watch::Receiver<H>, following: Following) -> FeedSource<H> {
        FeedSource::new(head, self.0.closing.clone(), following)
    }

    /// The session is gone; one with the same name would be another.
    pub fn forget(&self, id: &SessionId) {
        self.0.folds.forget(id);
        self.0.views.forget(id);
    }
}

/// Counts a follower for as long as it is there.
#[derive(Debug)]
pub struct Following {
    metrics: Arc<Metrics>,
    _permit: OwnedSemaphorePermit,
}

impl Following {
    fn new(metrics: Arc<Metrics>, permit: OwnedSemaphorePermit) -> Self {
        metrics.followers.inc();
        Self { metrics, _permit: permit }
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        self.metrics.followers.dec();
    }
}
