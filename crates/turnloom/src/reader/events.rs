//! The log itself, as a stream: its records as they are stored.

use std::collections::HashSet;

use turnloom_core::event::Record;

use super::{Frame, FrameStream, PAGE, Source, SourceEvent};

/// Which types a client wants.
#[derive(Debug, Default)]
pub struct Types(Option<HashSet<String>>);

impl Types {
    pub fn parse(list: Option<&str>) -> Self {
        let names =
            |list: &str| list.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect();
        Self(list.map(names))
    }

    pub fn is_filter(&self) -> bool {
        self.0.is_some()
    }

    pub fn includes(&self, record: &Record) -> bool {
        self.0.as_ref().is_none_or(|types| types.contains(record.kind()))
    }
}

/// A connection that follows one session: it pulls from its own cursor and is written to as fast as it reads.
#[derive(Debug)]
pub struct Live {
    source: Source,
    types: Types,
}

impl Live {
    pub fn new(source: Source, types: Types) -> Self {
        Self { source, types }
    }
}

impl FrameStream for Live {
    async fn next(&mut self) -> Option<Frame> {
        self.source.reset_heartbeat();
        loop {
            match self.source.next(PAGE, None).await {
                SourceEvent::Records(mut records) => {
                    records.retain(|record| self.types.includes(record));
                    if !records.is_empty() {
                        return Some(Frame::Events(records));
                    }
                }
                SourceEvent::Heartbeat => return Some(Frame::Heartbeat { head: self.source.head().0 }),
                // A session that was deleted has no more events, and that is the end.
                SourceEvent::Ended(_) | SourceEvent::Closing => return None,
                SourceEvent::Due => {}
            }
        }
    }
}
