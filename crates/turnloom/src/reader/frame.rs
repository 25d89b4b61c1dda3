//! The frames of a stream, before they are written in the format of a sink.

use std::borrow::Cow;

use bytes::Bytes;
use turnloom_core::event::Record;
use turnloom_core::projection::Frames;

/// What a stream tells at once.
#[derive(Debug)]
pub enum Frame {
    /// Facts of the log, as they are stored.
    Events(Vec<Record>),
    /// What a projection made of facts.
    Projected(Frames),
    /// Something that is made of facts.
    Named { name: Cow<'static, str>, position: Option<u64>, data: String },
    /// The same, of bytes that others are sent as well.
    Shared { name: &'static str, position: u64, json: Bytes },
    /// The same in a protocol whose frames have no names.
    Plain { position: Option<u64>, data: String },
    /// Nothing happened for a while; this is how far everything is.
    Heartbeat { head: u64 },
    /// Nothing happened for a while, in a protocol that has no word for it.
    Alive,
}

impl Frame {
    pub fn named(name: &'static str, position: Option<u64>, data: String) -> Self {
        Self::Named { name: Cow::Borrowed(name), position, data }
    }
}

/// Waits for the next frame; `None` is the end. A reader pulls frames, so a slow one costs nobody else anything.
pub trait FrameStream: Send + 'static {
    fn next(&mut self) -> impl Future<Output = Option<Frame>> + Send;
}

/// All that there is to tell, at once.
impl FrameStream for Option<Frame> {
    async fn next(&mut self) -> Option<Frame> {
        self.take()
    }
}
