//! Mirrors changes of a session to the conversation that its agent has stored, where the agent has a list of its own: renamed, archived, unarchived.
//! The session is authoritative, so nobody waits for the agent to follow, except a new agent process of the same session. Failures are only reported
//! in the daemon's log.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, MutexGuard};
use std::time::Duration;

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use turnloom_core::command::Command;
use turnloom_core::id::SessionId;
use turnloom_core::session::needs_consent;

use super::{Error, Sessions};
use crate::runtime::MirrorUpdate;
use crate::sync::Locked;

/// How long to wait for one update to reach the agent.
const PUSH_TIMEOUT: Duration = Duration::from_secs(20);

impl MirrorUpdate {
    pub(super) fn of(command: &Command) -> Option<Self> {
        match command {
            Command::Archive => Some(MirrorUpdate::Archived),
            Command::Unarchive => Some(MirrorUpdate::Unarchived),
            Command::Update(update) => update.title.clone().map(MirrorUpdate::Renamed),
            _ => None,
        }
    }
}

/// What agents were not told yet.
#[derive(Debug, Default)]
pub(super) struct Mirrors(Locked<HashMap<SessionId, PendingUpdates>>);

/// Of one session, in the order in which it happened. It is there as long as somebody is telling it.
#[derive(Debug, Default)]
struct PendingUpdates {
    updates: VecDeque<MirrorUpdate>,
    more: Arc<Notify>,
    all_pushed: CancellationToken,
}

impl Mirrors {
    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, PendingUpdates>> {
        self.0.lock()
    }

    /// True, if nobody is telling this session's agent anything yet.
    fn add(&self, id: &SessionId, update: MirrorUpdate) -> bool {
        let mut mirrors = self.lock();
        let is_new = !mirrors.contains_key(id);
        let pending = mirrors.entry(id.clone()).or_default();
        // Only the newest name, and whether it is archived in the end, matter.
        let names = |update: &MirrorUpdate| matches!(update, MirrorUpdate::Renamed(_));
        pending.updates.retain(|older| names(older) != names(&update));
        pending.updates.push_back(update);
        pending.more.notify_waiters();
        is_new
    }

    /// What has to be told next. After the last, everybody who waits for that goes on.
    fn next(&self, id: &SessionId) -> Option<MirrorUpdate> {
        let mut mirrors = self.lock();
        let next = mirrors.get_mut(id)?.updates.pop_front();
        if next.is_none()
            && let Some(pending) = mirrors.remove(id)
        {
            pending.all_pushed.cancel();
        }
        next
    }

    /// Comes back when the session is taken out again.
    async fn unarchived(&self, id: &SessionId) {
        loop {
            let Some(more) = self.lock().get(id).map(|pending| pending.more.clone()) else { return };
            let more = more.notified();
            tokio::pin!(more);
            more.as_mut().enable();
            if self.lock().get(id).is_none_or(|pending| pending.updates.contains(&MirrorUpdate::Unarchived)) {
                return;
            }
            more.await;
        }
    }

    async fn all_pushed(&self, id: &SessionId) {
        let all_pushed = self.lock().get(id).map(|pending| pending.all_pushed.clone());
        if let Some(all_pushed) = all_pushed {
            all_pushed.cancelled().await;
        }
    }
}

impl Sessions {
    pub(super) fn mirror(&self, id: &SessionId, update: MirrorUpdate) {
        if !self.0.mirrors.add(id, update) {
            return;
        }
        let (sessions, id) = (self.clone(), id.clone());
        self.0.tracker.spawn(async move {
            while let Some(update) = sessions.0.mirrors.next(&id) {
                match tokio::time::timeout(PUSH_TIMEOUT, sessions.push_to_agent(&id, &update)).await {
                    Ok(Ok(())) => {}
                    Ok(Err(error)) => tracing::debug!(session = %id, ?update, %error, "the agent was not told"),
                    Err(_) => tracing::debug!(session = %id, ?update, "the agent was not told in time"),
                }
            }
        });
    }

    /// Comes back when the agent knows, so that it finds the conversation where it should be.
    pub(super) async fn wait_for_mirror(&self, id: &SessionId) {
        drop(tokio::time::timeout(PUSH_TIMEOUT, self.0.mirrors.all_pushed(id)).await);
    }

    async fn push_to_agent(&self, id: &SessionId, update: &MirrorUpdate) -> Result<(), Error> {
        let row = self.row(id).await?;
        let runtime = self.runtime(&row.runtime)?;
        let Some(conversation) = row.summary.provider_session_id.as_deref().filter(|_| runtime.mirrors()) else {
            return Ok(());
        };
        if needs_consent(&row.params, row.summary.agreed_at) {
            // The conversation is what a file says, and to tell its agent would be to run it.
            return Ok(());
        }
        let actor = self.lock().get(id).cloned();
        if let (MirrorUpdate::Archived, Some(actor)) = (update, actor) {
            // What is open cannot be put away. An archived session leaves as soon as its agent has ended.
            tokio::select! {
                () = actor.closed() => {}
                () = self.0.mirrors.unarchived(id) => return Ok(()),
            }
        }
        Ok(runtime.push(conversation, &row.params, update, self.launch_context()).await?)
    }
}
