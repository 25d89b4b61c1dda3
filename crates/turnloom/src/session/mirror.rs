//! What happens to a session also happens to the conversation that its agent has stored, where the agent has a list of its own: a new name, being put
//! away, being taken out again. The session is the truth; whether the agent follows is told in the daemon's log only.

use std::time::Duration;

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

impl Sessions {
    /// Comes back when the agent knows, so that what is wished next finds the conversation where it should be.
    pub(super) async fn mirror(&self, id: &SessionId, news: News) {
        match tokio::time::timeout(PATIENCE, self.tell(id, &news)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::debug!(session = %id, ?news, %error, "the agent was not told"),
            Err(_) => tracing::debug!(session = %id, ?news, "the agent was not told in time"),
        }
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
            actor.closed().await;
        }
        Ok(runtime.tell(conversation, &row.params, news, self.workshop()).await?)
    }
}
