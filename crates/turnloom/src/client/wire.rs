//! A session's wire, line by line, as it comes.

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::Method;
use hyper::body::Incoming;
use serde::Deserialize;
use turnloom_core::id::SessionId;

use super::{Client, Error, Problem, escape};
use crate::session::Until;

/// An open stream of lines.
#[derive(Debug)]
pub struct Wire {
    client: Client,
    body: Incoming,
    /// What is not a whole line yet. The daemon bounds its lines, so this is bounded too.
    rest: Vec<u8>,
}

/// How the daemon ends a stream that it cannot go on with.
#[derive(Deserialize)]
struct Broken {
    error: Problem,
}

const BROKEN: &[u8] = b"{\"error\":";

impl Wire {
    /// Listens from now on. When this returns, no line is missed any more.
    pub async fn open(client: &Client, session: &SessionId, until: Until) -> Result<Self, Error> {
        let query = match until {
            Until::Idle => "?until=idle",
            Until::Left => "",
        };
        let path = format!("/api/sessions/{}/wire{query}", escape(session.as_str()));
        let response = client.send(Method::GET, &path, "application/x-ndjson", Bytes::new()).await?;
        Ok(Self { client: client.clone(), body: response.into_body(), rest: Vec::new() })
    }

    /// Whole lines with their ends; nothing when the daemon ended the stream. Cancel-safe.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, Error> {
        loop {
            if let Some(end) = self.rest.iter().rposition(|byte| *byte == b'\n') {
                let rest = self.rest.split_off(end + 1);
                let whole = std::mem::replace(&mut self.rest, rest);
                return self.check(whole).map(Some);
            }
            match self.body.frame().await {
                None => return Ok(None),
                Some(Err(cause)) => return Err(self.client.unreachable(cause)),
                Some(Ok(frame)) => self.rest.extend_from_slice(frame.data_ref().map_or(&[], |bytes| bytes)),
            }
        }
    }

    /// The last line may say that the recording is broken. What came before it is handed over first.
    fn check(&mut self, mut whole: Vec<u8>) -> Result<Vec<u8>, Error> {
        let text = whole.strip_suffix(b"\n").unwrap_or(&whole);
        let last = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        if !whole.get(last..).is_some_and(|line| line.starts_with(BROKEN)) {
            return Ok(whole);
        }
        if last == 0 {
            let broken = serde_json::from_slice::<Broken>(&whole).map_err(|cause| self.client.not_ours(cause))?;
            return Err(broken.error.into());
        }
        let broken = whole.split_off(last);
        self.rest.splice(..0, broken);
        Ok(whole)
    }
}
