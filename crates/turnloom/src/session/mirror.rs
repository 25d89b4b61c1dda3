//! What happens to a session also happens to the conversation that its agent has stored, where the agent has a list of its own: a new name, being put
//! away, being taken out again. The session is the truth, so nobody waits for the agent to follow, except the agent itself when it is started
//! again; whether it has followed is told in the daemon's log only.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use turnloom_core::command::Wish;
use turnloom_core::id::SessionId;

use super::{Error, Sessions};
use crate::runtime::News;

/// How long it is waited for an agent that is still working, and for one that is told.
const PATIENCE: Duration = Duration::from_secs(20);

impl News {
    pub(super) fn of(wish: &Wish) -> Option<Self> {
        match wish {
            Wish::Archive => Some(News::Archived),
            Wish::Unarchive => Some(News::Unarchived),
            Wish::Update(update) => update.title.clone().map(News::Renamed),
            _ => None,
        }
    }
}

/// What agents were not told yet.
#[derive(Debug, Default)]
pub(super) struct Mirrors(Mutex<HashMap<SessionId, Untold>>);

/// Of one session, in the order in which it happened. It is there as long as somebody is telling it.
#[derive(Debug, Default)]
struct Untold {
    news: VecDeque<News>,
    more: Arc<Notify>,
    told: CancellationToken,
}

impl Mirrors {
    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, Untold>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True, if nobody is telling this session's agent anything yet.
    fn add(&self, id: &SessionId, news: News) -> bool {
        let mut mirrors = self.lock();
        let is_new = !mirrors.contains_key(id);
        let untold = mirrors.entry(id.clone()).or_default();
        // Only the newest name, and where it is in the end, is news.
        let names = |news: &News| matches!(news, News::Renamed(_));
        untold.news.retain(|older| names(older) != names(&news));
        untold.news.push_back(news);
        untold.more.notify_waiters();
        is_new
    }

    /// What has to be told next. After the last, everybody who waits for that goes on.
    fn next(&self, id: &SessionId) -> Option<News> {
        let mut mirrors = self.lock();
        let next = mirrors.get_mut(id)?.news.pop_front();
        if next.is_none()
            && let Some(untold) = mirrors.remove(id)
        {
            untold.told.cancel();
        }
        next
    }

    /// Comes back when the session is taken out again.
    async fn unarchived(&self, id: &SessionId) {
        loop {
            let Some(more) = self.lock().get(id).map(|untold| untold.more.clone()) else { return };
            let more = more.notified();
            tokio::pin!(more);
            more.as_mut().enable();
            if self.lock().get(id).is_none_or(|untold| untold.news.contains(&News::Unarchived)) {
                return;
            }
            more.await;
        }
    }

    async fn told(&self, id: &SessionId) {
        let told = self.lock().get(id).map(|untold| untold.told.clone());
        if let Some(told) = told {
            told.cancelled().await;
        }
    }
}

impl Sessions {
    pub(super) fn mirror(&self, id: &SessionId, news: News) {
        if !self.0.mirrors.add(id, news) {
            return;
        }
        let (sessions, id) = (self.clone(), id.clone());
        self.0.tracker.spawn(async move {
            while let Some(news) = sessions.0.mirrors.next(&id) {
                match tokio::time::timeout(PATIENCE, sessions.tell(&id, &news)).await {
                    Ok(Ok(())) => {}
                    Ok(Err(error)) => tracing::debug!(session = %id, ?news, %error, "the agent was not told"),
                    Err(_) => tracing::debug!(session = %id, ?news, "the agent was not told in time"),
                }
            }
        });
    }

    /// Comes back when the agent knows, so that it finds the conversation where it should be.
    pub(super) async fn mirrored(&self, id: &SessionId) {
        drop(tokio::time::timeout(PATIENCE, self.0.mirrors.told(id)).await);
    }

    async fn tell(&self, id: &SessionId, news: &News) -> Result<(), Error> {
        let row = self.row(id).await?;
        let runtime = self.runtime(&row.runtime)?;
        let Some(conversation) = row.summary.provider_session_id.as_deref().filter(|_| runtime.mirrors()) else {
            return Ok(());
        };
        let actor = self.lock().get(id).cloned();
        if let (News::Archived, Some(actor)) = (news, actor) {
            // What is open cannot be put away. An archived session leaves as soon as its agent has ended.
            tokio::select! {
                () = actor.closed() => {}
                () = self.0.mirrors.unarchived(id) => return Ok(()),
            }
        }
        Ok(runtime.tell(conversation, &row.params, news, self.workshop()).await?)
    }
}
