//! Live lists: the sessions, and what waits for a person. The current list comes first, then its changes.

use std::collections::{HashSet, VecDeque};
use std::time::Duration;

use serde_json::json;
use turnloom_core::id::SessionId;

use super::App;
use super::asks;
use super::problem::Problem;
use super::sessions::{Listed, SessionView};
use crate::log::{FeedHead, Position, SessionRow};
use crate::reader::{FeedProjection, FeedStream, Frame};

/// News that come within this time go out together.
const FRAME: Duration = Duration::from_millis(50);

/// A reader that missed more commits than this reads the list again, which costs about the same.
const MAX_MISSED: usize = 4_096;

/// A session that only talks on moves up in the list this often.
const STREAMING_PACE: Duration = Duration::from_secs(1);

/// How long after the last look a list is looked at again.
fn pace(seen: FeedHead, head: FeedHead) -> Option<Duration> {
    (head.notable > seen.notable).then_some(FRAME)
}

/// A connection that follows the list of sessions.
pub(super) struct LiveSessions {
    app: App,
    listed: Listed,
    cursor: Option<Position>,
}

impl LiveSessions {
    pub(super) fn follow(app: &App, listed: Listed, after: Option<u64>) -> Result<FeedStream<Self>, Problem> {
        let source = app.reader.feed_source(app.reader.admit()?);
        Ok(FeedStream::new(source, Self { app: app.clone(), listed, cursor: after.map(Position) }))
    }

    /// The sessions that changed since the reader was told, each once, and where that brings the reader; nothing if those are too many to name.
    async fn changed(&self, head: Position) -> Result<Option<(Vec<SessionId>, Position)>, Problem> {
        let Some(cursor) = self.cursor.filter(|cursor| *cursor <= head) else { return Ok(None) };
        let commits = self.app.sessions.log().commits(cursor, MAX_MISSED + 1).await?;
        if commits.len() > MAX_MISSED {
            return Ok(None);
        }
        let position = commits.last().map_or(head, |last| last.position.max(head));
        let mut seen = HashSet::new();
        let newest_first = commits.into_iter().rev().map(|commit| commit.session).filter(|id| seen.insert(id.clone()));
        let mut ids: Vec<SessionId> = newest_first.collect();
        ids.reverse();
        Ok(Some((ids, position)))
    }

    /// The frame that brings the reader to where the list is; nothing when it is there. Fails when the log cannot be read any more.
    async fn frame(&mut self) -> Result<Option<Frame>, Problem> {
        let app = &self.app;
        // Known before anything is read: what changes meanwhile is told once more, and never left out.
        let head = app.sessions.log().feed().head().position;
        let Some((ids, position)) = self.changed(head).await? else {
            let position = head;
            let page = app.sessions.log().sessions(self.listed.query()).await?;
            let list = SessionView::page(app, page);
            self.cursor = Some(position);
            return Ok(Some(Frame::named("snapshot", Some(position.0), json!(list).to_string())));
        };
        self.cursor = Some(position);
        let (mut sessions, mut removed): (Vec<SessionView>, Vec<SessionId>) = (Vec::new(), Vec::new());
        for id in ids {
            match app.sessions.log().session(&id).await?.filter(|row: &SessionRow| self.listed.includes(row)) {
                Some(row) => sessions.push(SessionView::of(app, row)),
                None => removed.push(id),
            }
        }
        if sessions.is_empty() && removed.is_empty() {
            return Ok(None);
        }
        let data = json!({ "sessions": sessions, "removed": removed });
        Ok(Some(Frame::named("changes", Some(position.0), data.to_string())))
    }
}

impl FeedProjection for LiveSessions {
    type Head = FeedHead;

    fn pace(seen: FeedHead, head: FeedHead) -> Option<Duration> {
        pace(seen, head).or_else(|| (head.position > seen.position).then_some(STREAMING_PACE))
    }

    async fn update(&mut self, out: &mut VecDeque<Frame>) -> Option<()> {
        out.extend(self.frame().await.ok()?);
        Some(())
    }

    fn heartbeat(&self) -> Frame {
        Frame::Heartbeat { head: self.cursor.unwrap_or_default().0 }
    }
}

/// A connection that follows what waits for a person: all of it, each time it has changed.
pub(super) struct LiveAsks {
    app: App,
    told: Option<String>,
}

impl LiveAsks {
    pub(super) fn follow(app: &App) -> Result<FeedStream<Self>, Problem> {
        let source = app.reader.feed_source(app.reader.admit()?);
        Ok(FeedStream::new(source, Self { app: app.clone(), told: None }))
    }
}

impl FeedProjection for LiveAsks {
    type Head = FeedHead;

    /// That a session talks on changes nothing here.
    fn pace(seen: FeedHead, head: FeedHead) -> Option<Duration> {
        pace(seen, head)
    }

    async fn update(&mut self, out: &mut VecDeque<Frame>) -> Option<()> {
        let asks = json!(asks::pending(&self.app).await.ok()?).to_string();
        if self.told.as_ref() != Some(&asks) {
            self.told = Some(asks.clone());
            out.push_back(Frame::named("asks", None, asks));
        }
        Some(())
    }

    fn heartbeat(&self) -> Frame {
        Frame::Heartbeat { head: self.app.sessions.log().feed().head().position.0 }
    }
}
