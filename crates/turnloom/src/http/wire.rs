//! Streams what a session and its agent write to each other, one JSON object per line: a live recording.

use axum::extract::State;
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::App;
use super::extract::{Query, Session};
use super::problem::Problem;
use crate::reader::{Following, streamed};
use crate::session;

/// The media type of one JSON object per line.
pub(super) const NDJSON: &str = "application/x-ndjson";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WireQuery {
    /// When the stream ends by itself; if absent, it does not.
    until: Option<Until>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Until {
    /// A turn has ended, and nothing waits.
    Idle,
}

pub(super) async fn wire(
    State(app): State<App>,
    Session(id): Session,
    Query(WireQuery { until }): Query<WireQuery>,
) -> Result<Response, Problem> {
    let until = match until {
        Some(Until::Idle) => session::Until::Idle,
        None => session::Until::Left,
    };
    let following = app.reader.admit()?;
    let wire = app.sessions.wire(&id, until).await?;
    let tap = Tap { _following: following, app, wire, ended: false };
    Ok(streamed(NDJSON, tap.pieces()))
}

struct Tap {
    app: App,
    wire: session::Wire,
    ended: bool,
    _following: Following,
}

impl Tap {
    fn pieces(self) -> impl stream::Stream<Item = Result<Bytes, std::io::Error>> {
        stream::unfold(self, |mut tap| async move {
            let piece = tap.next().await?;
            Some((Ok(piece), tap))
        })
    }

    async fn next(&mut self) -> Option<Bytes> {
        if self.ended {
            return None;
        }
        let piece = tokio::select! {
            biased;
            piece = self.wire.next() => piece,
            () = self.app.closing.cancelled() => return None,
        };
        match piece {
            Ok(piece) => piece,
            // The answer has begun long ago, so the last line says what is wrong with it.
            Err(error) => {
                self.ended = true;
                let line = json!({ "error": { "code": "fell_behind", "detail": error.to_string() } });
                Some(format!("{line}\n").into())
            }
        }
    }
}
