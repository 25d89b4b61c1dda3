//! A session's events from a position on, as they happen. It keeps its position so that it can continue there. The caller decides whether and where
//! to reconnect, because a restarted daemon may have another address.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::Method;
use hyper::body::Incoming;
use turnloom_core::id::{Seq, SessionId};

use super::sse::{Frame, Parser};
use super::{Client, Error, escape};

/// The daemon says every 15 seconds that it is there. Three times silence is a connection that died without a word.
const SILENCE: Duration = Duration::from_secs(45);

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    pub seq: Seq,
    pub kind: String,
    /// The bytes the log holds.
    pub json: Bytes,
}

/// An open stream of events.
#[derive(Debug)]
pub struct Events {
    client: Client,
    body: Incoming,
    parser: Parser,
    ready: VecDeque<Frame>,
    after: Seq,
}

impl Events {
    /// Follows a session from right after a position. `types` is a list with commas; all of them, if it is not given.
    pub async fn open(client: &Client, session: &SessionId, after: Seq, types: Option<&str>) -> Result<Self, Error> {
        let types = types.map(|types| format!("&types={}", escape(types))).unwrap_or_default();
        let path = format!("/api/sessions/{}/events?after={after}{types}", escape(session.as_str()));
        let response = client.send(Method::GET, &path, "text/event-stream", Bytes::new()).await?;
        Ok(Self {
            client: client.clone(),
            body: response.into_body(),
            parser: Parser::default(),
            ready: VecDeque::new(),
            after,
        })
    }

    /// The last position that was handed over: where to begin again.
    pub fn after(&self) -> Seq {
        self.after
    }

    /// The next event; nothing when the daemon ended the stream. Cancel-safe.
    pub async fn next(&mut self) -> Result<Option<Received>, Error> {
        loop {
            while let Some(frame) = self.ready.pop_front() {
                // A heartbeat has no position.
                let Some(seq) = frame.id.as_deref().and_then(|id| id.parse().ok()).map(Seq) else { continue };
                self.after = self.after.max(seq);
                return Ok(Some(Received { seq, kind: frame.event, json: frame.data }));
            }
            let piece = tokio::time::timeout(SILENCE, self.body.frame()).await;
            let Some(piece) = piece.map_err(|_| self.client.unreachable("nothing was heard of it for long"))? else {
                return Ok(None);
            };
            let piece = piece.map_err(|cause| self.client.unreachable(cause))?;
            if let Some(bytes) = piece.data_ref() {
                let mut frames = Vec::new();
                self.parser.push(bytes, &mut frames).map_err(|cause| self.client.not_ours(cause))?;
                self.ready.extend(frames);
            }
        }
    }
}

/// How long to wait before the next try, longer each time.
#[derive(Debug, Clone, Copy)]
pub struct Backoff(Duration);

impl Backoff {
    const FIRST: Duration = Duration::from_millis(50);
    const LONGEST: Duration = Duration::from_secs(2);

    pub async fn wait(&mut self) {
        tokio::time::sleep(self.0).await;
        self.0 = (self.0 * 2).min(Self::LONGEST);
    }
}

impl Default for Backoff {
    fn default() -> Self {
        Self(Self::FIRST)
    }
}
