//! Frames as responses: server-sent events, and plain text.

use axum::body::Body;
use axum::http::{HeaderName, header};
use axum::response::{IntoResponse as _, Response};
use bytes::{BufMut as _, Bytes, BytesMut};
use futures_util::{Stream, StreamExt as _, stream};

use super::{Frame, FrameStream};

/// The header by which a stream asks proxies not to collect it first.
pub const UNBUFFERED: &str = "x-accel-buffering";

/// What opens a stream: it is there before anything happens.
pub const GREETING: &str = ": connected\n\n";

/// What a stream says that has nothing to tell.
const ALIVE: &[u8] = b": still here\n\n";

/// A response of server-sent events. `first` and `last` stand around the frames.
pub fn sse(frames: impl FrameStream, first: &'static str, last: &'static str) -> Response {
    let once = |text: &'static str| stream::iter((!text.is_empty()).then(|| Ok(Bytes::from_static(text.as_bytes()))));
    let pieces = stream::unfold(frames, |mut frames| async move {
        let frame = frames.next().await?;
        Some((stream::iter(frame.sse().into_iter().map(Ok)), frames))
    });
    streamed("text/event-stream", once(first).chain(pieces.flatten()).chain(once(last)))
}

/// A response of server-sent events without names. Each is a text in pieces that are not copied; one without pieces only says that the stream lives.
pub fn sse_texts(texts: impl Stream<Item = Vec<Bytes>> + Send + 'static) -> Response {
    let pieces = texts.flat_map(|text| {
        let (before, after): (&[u8], &[u8]) = if text.is_empty() { (ALIVE, b"") } else { (b"data: ", b"\n\n") };
        let around = |bytes: &'static [u8]| stream::iter((!bytes.is_empty()).then(|| Bytes::from_static(bytes)));
        around(before).chain(stream::iter(text)).chain(around(after)).map(Ok)
    });
    streamed("text/event-stream", pieces)
}

/// A response of the frames' bodies and nothing else. A text cannot say that it is alive: everything in it is the answer.
pub fn text(frames: impl FrameStream) -> Response {
    let pieces = stream::unfold(frames, |mut frames| async move {
        loop {
            let Frame::Projected(told) = frames.next().await? else { continue };
            // An empty piece would end the response.
            if told.size() > 0 {
                return Some((Ok(Bytes::copy_from_slice(told.bytes())), frames));
            }
        }
    });
    streamed("text/plain; charset=utf-8", pieces)
}

/// A response that leaves as it is written, also through a proxy that would rather collect it first.
pub fn streamed(
    media_type: &'static str,
    pieces: impl Stream<Item = Result<Bytes, std::io::Error>> + Send + 'static,
) -> Response {
    let headers = [
        (header::CONTENT_TYPE, media_type),
        (header::CACHE_CONTROL, "no-store"),
        (HeaderName::from_static(UNBUFFERED), "no"),
    ];
    (headers, Body::from_stream(pieces)).into_response()
}

impl Frame {
    /// The pieces of it, in order.
    fn sse(self) -> Vec<Bytes> {
        let mut out = BytesMut::new();
        match self {
            Self::Shared { name, position, json } => {
                let first = format!("id: {position}\nevent: {name}\ndata: ");
                return vec![first.into(), json, Bytes::from_static(b"\n\n")];
            }
            Self::Events(records) => {
                out.reserve(records.iter().map(|record| record.json.len() + 64).sum());
                for record in &records {
                    write(&mut out, Some(record.seq.0), Some(record.kind()), &record.json);
                }
            }
            Self::Projected(frames) => {
                out.reserve(frames.size() + 32 * frames.len());
                for frame in frames.iter() {
                    write(&mut out, frame.id, frame.name, frame.body);
                }
            }
            Self::Named { name, position, data } => write(&mut out, position, Some(&name), data.as_bytes()),
            Self::Plain { position, data } => write(&mut out, position, None, data.as_bytes()),
            Self::Heartbeat { head } => {
                write(&mut out, None, Some("heartbeat"), format!("{{\"head\":{head}}}").as_bytes());
            }
            Self::Alive => return vec![Bytes::from_static(ALIVE)],
        }
        vec![out.freeze()]
    }
}

/// One server-sent event.
fn write(out: &mut BytesMut, id: Option<u64>, name: Option<&str>, data: &[u8]) {
    if let Some(id) = id {
        out.extend_from_slice(b"id: ");
        out.extend_from_slice(id.to_string().as_bytes());
        out.put_u8(b'\n');
    }
    if let Some(name) = name {
        out.extend_from_slice(b"event: ");
        out.extend_from_slice(name.as_bytes());
        out.put_u8(b'\n');
    }
    out.extend_from_slice(b"data: ");
    out.extend_from_slice(data);
    out.extend_from_slice(b"\n\n");
}
