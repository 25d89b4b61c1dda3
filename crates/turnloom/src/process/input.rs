//! What the daemon writes to an agent.

use std::fmt;

use bytes::BytesMut;
use tokio::io::{AsyncWrite, AsyncWriteExt as _};

use super::Error;

/// How much may wait for an agent that does not read. A message with images is some megabytes; an agent that leaves several of them
/// unread hangs.
const MAX_WAITING_BYTES: usize = 32 * 1024 * 1024;

/// An agent's stdin.
///
/// An agent may stop reading until its own output has been read. So a task that does both queues what it has to say, and flushes while it
/// reads.
pub struct Input {
    writer: Option<Box<dyn AsyncWrite + Send + Unpin>>,
    waiting: BytesMut,
}

impl Input {
    pub(super) fn new(writer: impl AsyncWrite + Send + Unpin + 'static) -> Self {
        Self { writer: Some(Box::new(writer)), waiting: BytesMut::new() }
    }

    /// Queues bytes for [`flush`](Self::flush).
    pub fn queue(&mut self, bytes: &[u8]) -> Result<(), Error> {
        if self.writer.is_none() {
            return Err(Error::InputClosed);
        }
        // What comes first is taken whatever its size; the bound is for what piles up behind it.
        if !self.waiting.is_empty() && self.waiting.len().saturating_add(bytes.len()) > MAX_WAITING_BYTES {
            return Err(Error::InputFull { waiting: self.waiting.len() });
        }
        self.waiting.extend_from_slice(bytes);
        Ok(())
    }

    /// Whether something is queued.
    pub fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Writes what is queued. Cancel safe: what was not written stays queued, in order.
    pub async fn flush(&mut self) -> Result<(), Error> {
        let Some(writer) = &mut self.writer else { return Err(Error::InputClosed) };
        while !self.waiting.is_empty() {
            let written = writer.write_buf(&mut self.waiting).await.map_err(|source| Error::InputBroken { source })?;
            if written == 0 {
                return Err(Error::InputBroken { source: std::io::ErrorKind::WriteZero.into() });
            }
        }
        // One large message must not be paid for until the agent ends.
        self.waiting = BytesMut::new();
        writer.flush().await.map_err(|source| Error::InputBroken { source })
    }

    /// Queues and flushes. If it is cancelled, the bytes are queued and the next flush writes the rest of them.
    pub async fn write_all(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.queue(bytes)?;
        self.flush().await
    }

    /// Ends the input: the agent reads an end of file. What is still queued is dropped.
    pub fn close(&mut self) {
        self.writer = None;
        self.waiting = BytesMut::new();
    }
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Input")
            .field("open", &self.writer.is_some())
            .field("waiting", &self.waiting.len())
            .finish_non_exhaustive()
    }
}
