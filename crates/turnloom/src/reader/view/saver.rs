//! Saves the views of long sessions as snapshots, even if nobody looks at them: follows the feed, and brings a view forward and saves it when its
//! session has grown enough since the last time. One at a time; nobody waits for it.

use std::collections::HashMap;

use tokio_util::sync::CancellationToken;
use turnloom_core::id::{Seq, SessionId};
use turnloom_core::view::{Fold, Part};

use super::{SharedView, VIEW, Views};
use crate::log::{Change, Commit, Error, Log};

/// Commits that are taken at a time.
const PAGE: usize = 256;

/// A view is saved after this many events; to fold fewer takes some milliseconds.
const EVENTS: u64 = 4_096;

/// For so many bytes of the last time it waits for one event more, which is about as large: saving never writes much more than the log itself.
const BYTES_PER_EVENT: u64 = 256;

/// Sessions whose kept views are remembered. The others are asked for when they go on.
const REMEMBERED: usize = 1_024;

/// Follows all sessions until the daemon ends.
pub async fn save_views(views: Views, closing: CancellationToken) {
    let log = views.0.log.clone();
    let mut saver = ViewSaver { views, log, due: HashMap::new() };
    let failed = closing.run_until_cancelled(saver.follow());
    if let Some(Err::<(), Error>(error)) = failed.await {
        tracing::debug!(%error, "views are not kept any more");
    }
}

struct ViewSaver {
    views: Views,
    log: Log,
    /// The position at which each session's view is to be saved next.
    due: HashMap<SessionId, Seq>,
}

impl ViewSaver {
    async fn follow(&mut self) -> Result<(), Error> {
        let mut follower = self.log.follow_all(self.log.feed().head().position);
        loop {
            // Of several commits of a session the last one says how far it is.
            let newest: HashMap<SessionId, Commit> =
                follower.next(PAGE).await?.into_iter().map(|commit| (commit.session.clone(), commit)).collect();
            for (id, commit) in newest {
                match commit.change {
                    Change::Removed => drop(self.due.remove(&id)),
                    Change::Appended { head, .. } => self.session_grew(id, head).await?,
                }
            }
        }
    }

    async fn session_grew(&mut self, id: SessionId, head: Seq) -> Result<(), Error> {
        // A short session has nothing kept, and needs nothing.
        if head.0 < EVENTS {
            return Ok(());
        }
        let due = match self.due.get(&id) {
            Some(due) => *due,
            None => after(self.kept_at(&id).await?, EVENTS),
        };
        let next = if head >= due { self.save(&id, head).await } else { due };
        if self.due.len() >= REMEMBERED {
            self.due.clear();
        }
        self.due.insert(id, next);
        Ok(())
    }

    /// Where the view that is kept stands.
    async fn kept_at(&self, id: &SessionId) -> Result<Seq, Error> {
        let names = self.log.snapshots(id).await?;
        let is_head = |kind: &str, part: u32, version: u32| {
            kind == VIEW && part == Part::Head.number() && version == Fold::VERSION
        };
        let head = names.into_iter().find(|name| is_head(&name.kind, name.part, name.version));
        Ok(head.map(|name| name.seq).unwrap_or_default())
    }

    /// Saves a view, and says when it is due again. That it cannot be saved now is no failure: nobody needs it.
    async fn save(&self, id: &SessionId, head: Seq) -> Seq {
        // One that somebody looks at is there already; otherwise it is only made for this.
        let view = self.views.known(id).unwrap_or_else(|| SharedView::new(id.clone(), self.log.clone()).into());
        let saved = async {
            view.catch_up(head).await?;
            view.save().await
        };
        if let Err(error) = saved.await {
            tracing::debug!(session = %id, %error, "a view was not saved");
        }
        after(head, EVENTS + view.kept_bytes() / BYTES_PER_EVENT)
    }
}

fn after(seq: Seq, events: u64) -> Seq {
    Seq(seq.0.saturating_add(events))
}
