//! Hears from the feed what happens in sessions that work for others, and tells those. What is not told when the daemon ends, the next one finds in
//! the logs.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use turnloom_core::delegation::{Heard, KINDS, News, TurnFold, activity_of};
use turnloom_core::event::{Event, Origin, Record};
use turnloom_core::id::{Seq, SessionId};

use crate::log::{self, Change, Commit};
use crate::reader::Commits;
use crate::session::{Sessions, changed};

/// What a session does is told so often at most. What it asks and how it ends is told at once.
const PACE: Duration = Duration::from_secs(2);

/// Facts after which it is looked at how the session stands.
const TELLING: &[&str] = &[
    "turn_started",
    "permission_request",
    "permission_resolved",
    "question_request",
    "question_resolved",
    "interrupt",
    "interrupt_resolved",
    "delegation_updated",
    "done",
];

/// Facts that say what the session does.
const DOING: &[&str] = &["status", "tool_start"];

/// A session that works for another one.
#[derive(Debug, Default)]
struct Followed {
    fold: TurnFold,
    activity: Option<String>,
    seq: Seq,
    /// When it is told what it does; nothing, if that was told.
    due: Option<Instant>,
    told_at: Option<Instant>,
}

struct Watcher {
    sessions: Sessions,
    commits: Commits,
    followed: HashMap<SessionId, Followed>,
}

pub(crate) fn start(sessions: &Sessions, tracker: &TaskTracker, closing: CancellationToken) {
    let log = sessions.log().clone();
    let commits = Commits::new(&log, log.feed().head().position, closing.clone());
    let watcher = Watcher { sessions: sessions.clone(), commits, followed: HashMap::new() };
    tracker.spawn(async move {
        if let Err(error) = watcher.run().await
            && !closing.is_cancelled()
        {
            tracing::error!(%error, "sessions do not hear of those that work for them until the daemon is started again");
        }
    });
}

impl Watcher {
    async fn run(mut self) -> Result<(), log::Error> {
        loop {
            let due = self.followed.values().filter_map(|followed| followed.due).min();
            let sessions = &self.sessions;
            tokio::select! {
                commit = self.commits.next_of(|session| sessions.works_for_another(session)) => {
                    let Some((commit, records)) = commit? else { return Ok(()) };
                    self.take(&commit, &records).await?;
                }
                () = until(due) => self.tell_due().await?,
            }
        }
    }

    async fn take(&mut self, commit: &Commit, records: &Arc<[Record]>) -> Result<(), log::Error> {
        let id = &commit.session;
        let Some(parent) = self.sessions.parent_of(id) else { return Ok(()) };
        if commit.change == Change::Removed {
            self.followed.remove(id);
            self.sessions.forget_child(id);
            self.sessions.tell_parent(&parent, id.clone(), News::Removed, Heard::AsItHappens).await;
            return Ok(());
        }
        let mut followed = self.followed.remove(id).unwrap_or_default();
        let (mut looks, mut has_ended, mut ends) = (false, false, Vec::new());
        for record in records.iter() {
            followed.seq = record.seq;
            let kind = record.kind();
            looks |= TELLING.contains(&kind);
            if !KINDS.contains(&kind) && !DOING.contains(&kind) {
                continue;
            }
            let Ok(envelope) = record.decode() else { continue };
            if matches!(envelope.event, Event::Done(_)) {
                has_ended = true;
                if !followed.fold.knows(envelope.turn_id.as_ref()) {
                    // It began before this daemon did.
                    followed.fold = self.sessions.turn_before(id, record.seq).await.unwrap_or_default();
                }
            }
            ends.extend(followed.fold.step(&envelope).filter(|end| end.origin == Origin::Delegation));
            if let Some(activity) = activity_of(&envelope.event)
                && followed.activity.as_ref() != Some(&activity)
            {
                followed.activity = Some(activity);
                let paced = followed.told_at.map_or_else(Instant::now, |told| told + PACE);
                followed.due = followed.due.or(Some(paced));
            }
        }
        let is_told = !ends.is_empty();
        for end in ends {
            self.sessions.tell_parent(&parent, id.clone(), News::Ended(Box::new(end)), Heard::AsItHappens).await;
        }
        if has_ended {
            (followed.activity, followed.due) = (None, None);
        }
        if looks || followed.due.is_some_and(|due| due <= Instant::now()) {
            self.tell(id, &parent, &mut followed, has_ended && !is_told).await?;
        }
        // Between turns there is nothing to remember.
        if !has_ended || followed.fold.knows_any() {
            self.followed.insert(id.clone(), followed);
        }
        Ok(())
    }

    /// Says how a session stands. Between turns that is how its last one ended, which is said already, unless that one was nobody's here.
    async fn tell(
        &self,
        id: &SessionId,
        parent: &SessionId,
        followed: &mut Followed,
        is_idle: bool,
    ) -> Result<(), log::Error> {
        let Some(row) = self.sessions.log().session(id).await? else { return Ok(()) };
        let is_in_turn = row.summary.turn.is_some();
        if is_in_turn || is_idle {
            let news = changed(&row, is_in_turn, followed.activity.clone(), followed.seq);
            self.sessions.tell_parent(parent, id.clone(), news, Heard::AsItHappens).await;
        }
        (followed.due, followed.told_at) = (None, Some(Instant::now()));
        Ok(())
    }

    async fn tell_due(&mut self) -> Result<(), log::Error> {
        let now = Instant::now();
        let due = self.followed.iter().filter(|(_, followed)| followed.due.is_some_and(|due| due <= now));
        for id in due.map(|(id, _)| id.clone()).collect::<Vec<_>>() {
            let Some(mut followed) = self.followed.remove(&id) else { continue };
            if let Some(parent) = self.sessions.parent_of(&id) {
                self.tell(&id, &parent, &mut followed, false).await?;
                followed.due = None;
                self.followed.insert(id, followed);
            }
        }
        Ok(())
    }
}

async fn until(due: Option<Instant>) {
    match due {
        Some(due) => sleep_until(due).await,
        None => std::future::pending().await,
    }
}
