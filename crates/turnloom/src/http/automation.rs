//! Whether schedules, channels and webhooks have changed, for pages that show them.

use std::collections::VecDeque;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{IntoResponse as _, Response};
use serde_json::json;

use super::App;
use super::events;
use super::problem::Problem;
use crate::automation::Versions;
use crate::reader::{self, FeedProjection, FeedStream, Frame};

/// Changes that come within this time are told together: whoever hears of them reads a list.
const FRAME: Duration = Duration::from_millis(200);

/// The numbers as they are, or, if the client accepts a stream, whenever one of them is another.
pub(super) async fn show(State(app): State<App>, headers: HeaderMap) -> Result<Response, Problem> {
    if events::is_stream_wanted(&headers) {
        return Ok(reader::sse(LiveAutomation::follow(&app)?, reader::GREETING, ""));
    }
    Ok(Json(app.automation.versions()).into_response())
}

/// A connection that hears whether something has changed.
pub(super) struct LiveAutomation {
    app: App,
}

impl LiveAutomation {
    pub(super) fn follow(app: &App) -> Result<FeedStream<Self>, Problem> {
        let source = app.reader.feed_fold_source(app.automation.watch(), app.reader.admit()?);
        Ok(FeedStream::new(source, Self { app: app.clone() }))
    }
}

impl FeedProjection for LiveAutomation {
    type Head = Versions;

    fn pace(seen: Versions, head: Versions) -> Option<Duration> {
        (seen != head).then_some(FRAME)
    }

    async fn update(&mut self, out: &mut VecDeque<Frame>) -> Option<()> {
        let versions = json!(self.app.automation.versions()).to_string();
        out.push_back(Frame::named("automation", None, versions));
        Some(())
    }

    fn heartbeat(&self) -> Frame {
        Frame::Heartbeat { head: self.app.sessions.log().feed().head().position.0 }
    }
}
