//! What an agent writes, line by line.
//!
//! A line is bytes; whether they are text or JSON is not known here.

use std::fmt;
use std::mem;

use bytes::{Bytes, BytesMut};
use futures_util::FutureExt as _;
use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio_util::sync::CancellationToken;
use turnloom_core::blob::hex;

/// A batch becomes one append to the log; these are its bounds.
const BATCH_LINES: usize = 512;
const BATCH_BYTES: usize = 1024 * 1024;

/// How much one read asks for: little while an agent is quiet, because there may be thousands; a whole pipe when it floods.
const MIN_READ: usize = 4 * 1024;
const MAX_READ: usize = 64 * 1024;

/// What is kept of a line that is too long.
const HEAD_BYTES: usize = 1024;

/// One line, without its end (`\n` or `\r\n`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// As it came; it may be no text at all. Neighbouring lines share one allocation: copy what is kept for long.
    Text(Bytes),
    /// Longer than the limit: how long it was, the SHA-256 of all of it in hex, and how it began.
    TooLong { size: u64, sha256: String, head: Bytes },
}

/// An agent's stdout.
pub struct Lines {
    reader: Box<dyn AsyncRead + Send + Unpin>,
    framer: Framer,
    read_size: usize,
    /// Cancelled once the agent and everything it started is gone. An unrelated process that still holds the other end of the pipe is not waited for.
    gone: CancellationToken,
    ended: bool,
}

impl Lines {
    pub(super) fn new(reader: impl AsyncRead + Send + Unpin + 'static, limit: usize, gone: CancellationToken) -> Self {
        Self { reader: Box::new(reader), framer: Framer::new(limit), read_size: MIN_READ, gone, ended: false }
    }

    /// Waits for a line, then takes all that are there, up to the bounds of a batch. Returns how many were added; zero means that there
    /// are no more, ever. Cancel safe.
    pub async fn next_batch(&mut self, out: &mut Vec<Line>) -> usize {
        let before = out.len();
        let mut bytes = 0;
        loop {
            while out.len() - before < BATCH_LINES && bytes < BATCH_BYTES {
                let Some(line) = self.framer.next_line() else { break };
                bytes += line.kept_bytes();
                out.push(line);
            }
            let lines = out.len() - before;
            if lines >= BATCH_LINES || bytes >= BATCH_BYTES || self.ended {
                return lines;
            }
            let read = if lines == 0 { self.read().await } else { self.read().now_or_never().unwrap_or(Read::Nothing) };
            match read {
                Read::Some => {}
                Read::Nothing => return lines,
                Read::End => {
                    self.ended = true;
                    out.extend(self.framer.last_line());
                    return out.len() - before;
                }
            }
        }
    }

    /// Cancel safe, because reading into a buffer is.
    async fn read(&mut self) -> Read {
        let buffer = self.framer.space();
        if buffer.capacity() - buffer.len() < self.read_size {
            buffer.reserve(self.read_size);
        }
        let room = buffer.capacity() - buffer.len();
        let result = tokio::select! {
            biased;
            result = self.reader.read_buf(buffer) => result,
            () = self.gone.cancelled() => Ok(0),
        };
        match result {
            Ok(0) => Read::End,
            Ok(size) => {
                let wanted = if size >= room { self.read_size * 2 } else { self.read_size / 2 };
                self.read_size = wanted.clamp(MIN_READ, MAX_READ);
                Read::Some
            }
            Err(error) => {
                tracing::warn!(%error, "an agent's output cannot be read any further");
                Read::End
            }
        }
    }
}

impl fmt::Debug for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lines").field("ended", &self.ended).finish_non_exhaustive()
    }
}

impl Line {
    fn kept_bytes(&self) -> usize {
        match self {
            Line::Text(bytes) => bytes.len(),
            Line::TooLong { head, .. } => head.len(),
        }
    }
}

enum Read {
    Some,
    Nothing,
    End,
}

/// Cuts bytes into lines. How the bytes were split into reads makes no difference.
#[derive(Debug)]
struct Framer {
    limit: usize,
    buffer: BytesMut,
    /// How much of the buffer is known to hold no end of line.
    scanned: usize,
    /// The line that is being read, once it is over the limit.
    long: Option<LongLine>,
}

impl Framer {
    fn new(limit: usize) -> Self {
        Self { limit, buffer: BytesMut::new(), scanned: 0, long: None }
    }

    /// Where the bytes that come next go.
    fn space(&mut self) -> &mut BytesMut {
        &mut self.buffer
    }

    /// The next complete line. When there is none, the buffer holds less than the limit and one read.
    fn next_line(&mut self) -> Option<Line> {
        let unseen = self.buffer.get(self.scanned..).unwrap_or_default();
        let Some(end) = unseen.iter().position(|byte| *byte == b'\n') else {
            self.scanned = self.buffer.len();
            // One more than the limit may be the `\r` of an end of line.
            if self.long.is_some() || self.buffer.len() > self.limit.saturating_add(1) {
                let part = mem::take(&mut self.buffer);
                self.scanned = 0;
                self.long.get_or_insert_default().push(&part);
            }
            return None;
        };
        let end = mem::take(&mut self.scanned) + end;
        let mut line = self.buffer.split_to(end + 1);
        line.truncate(end);
        if let Some(mut long) = self.long.take() {
            long.push(&line);
            return Some(long.end_of_line());
        }
        let size = end - usize::from(line.ends_with(b"\r"));
        if size > self.limit {
            let mut long = LongLine::default();
            long.push(&line);
            return Some(long.end_of_line());
        }
        line.truncate(size);
        Some(Line::Text(line.freeze()))
    }

    /// What came after the last end of line, when nothing more will come.
    fn last_line(&mut self) -> Option<Line> {
        let rest = mem::take(&mut self.buffer);
        self.scanned = 0;
        if self.long.is_some() || rest.len() > self.limit {
            let mut long = self.long.take().unwrap_or_default();
            long.push(&rest);
            return Some(long.end_of_input());
        }
        (!rest.is_empty()).then(|| Line::Text(rest.freeze()))
    }
}

/// A line that is counted and hashed but not kept.
#[derive(Debug, Default)]
struct LongLine {
    size: u64,
    hash: Sha256,
    head: BytesMut,
    /// The last byte was a `\r`: the end of the line begins with it, or it belongs to the line. The next byte tells.
    held: bool,
}

impl LongLine {
    fn push(&mut self, part: &[u8]) {
        if part.is_empty() {
            return;
        }
        if mem::take(&mut self.held) {
            self.add(b"\r");
        }
        match part.strip_suffix(b"\r") {
            Some(part) => {
                self.held = true;
                self.add(part);
            }
            None => self.add(part),
        }
    }

    fn add(&mut self, part: &[u8]) {
        self.size += part.len() as u64;
        self.hash.update(part);
        let room = HEAD_BYTES.saturating_sub(self.head.len());
        self.head.extend_from_slice(part.get(..room).unwrap_or(part));
    }

    fn end_of_input(mut self) -> Line {
        if mem::take(&mut self.held) {
            self.add(b"\r");
        }
        self.end_of_line()
    }

    fn end_of_line(self) -> Line {
        let sha256 = hex(&self.hash.finalize());
        Line::TooLong { size: self.size, sha256, head: self.head.freeze() }
    }
}

#[cfg(test)]
mod tests;
