//! A source through a dialect: the stream for one client of another protocol.

use std::fmt;
use std::time::Duration;

use tokio::time::Instant;
use turnloom_core::dialect::{Dialect, Ending, Frames};
use turnloom_core::event::Record;
use turnloom_core::id::{Seq, TurnId};

use super::{Frame, FrameStream, PAGE, Source, SourceEvent};

/// How long a response stays open after an ask, so that asks that come together are told together.
const ASK_GROUPING: Duration = Duration::from_millis(50);

/// How much time passes between two tellings of what is told whole each time.
const FLUSH_INTERVAL: Duration = Duration::from_millis(100);

/// Records that are folded at a time, as long as the reader is not where the log is.
const CATCH_UP_RECORDS: usize = 2_048;

/// Which frames say where they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ids {
    None,
    /// The last frame of each fact has its position, so that no reader comes back in the middle of one.
    Positions,
    /// Each frame has a number of its own, which the dialect gives it.
    Numbers,
}

/// What is done when a client leaves in the middle of the turn it is told of.
pub type OnDisconnect = Box<dyn FnOnce(TurnId) + Send>;

/// A session's log in a dialect.
pub struct DialectStream<D: Dialect> {
    source: Source,
    dialect: D,
    frames: Frames,
    ids: Ids,
    /// Where the log was when the reader came.
    head: Seq,
    is_caught_up: bool,
    /// When a response that waits for somebody ends, whatever else happens meanwhile.
    settle_at: Option<Instant>,
    last_flush: Option<Instant>,
    is_over: bool,
    on_disconnect: Option<OnDisconnect>,
}

impl<D: Dialect> DialectStream<D> {
    /// `dialect` is a fold of what stands before the source; `head` is where the log was when the reader was started.
    pub fn new(source: Source, dialect: D, head: Seq, ids: Ids) -> Self {
        Self {
            source,
            dialect,
            frames: Frames::default(),
            ids,
            head,
            is_caught_up: false,
            settle_at: None,
            last_flush: None,
            is_over: false,
            on_disconnect: None,
        }
    }

    #[must_use]
    pub fn on_disconnect(mut self, act: Option<OnDisconnect>) -> Self {
        self.on_disconnect = act;
        self
    }

    fn apply(&mut self, record: &Record) {
        // What cannot be read was written by a newer version, or is not ours to tell.
        if let Ok(envelope) = record.decode() {
            self.dialect.apply(&envelope, &mut self.frames);
            self.mark(record.seq);
        }
        self.catch_up(record.seq);
    }

    fn catch_up(&mut self, at: Seq) {
        if at >= self.head && !std::mem::replace(&mut self.is_caught_up, true) {
            self.dialect.caught_up(&mut self.frames);
            self.mark(at);
        }
    }

    fn mark(&mut self, at: Seq) {
        if self.ids == Ids::Positions {
            self.frames.mark(at.0);
        }
    }

    /// When there is something to flush, and it may be told.
    fn flush_at(&self) -> Option<Instant> {
        self.dialect.has_buffered().then(|| self.last_flush.map_or_else(Instant::now, |last| last + FLUSH_INTERVAL))
    }

    fn flush_if_due(&mut self) {
        if self.flush_at().is_some_and(|at| at <= Instant::now()) {
            self.last_flush = Some(Instant::now());
            self.dialect.flush(&mut self.frames);
            self.mark(self.source.cursor());
        }
    }

    fn close(&mut self, ending: Ending) {
        self.dialect.flush(&mut self.frames);
        self.dialect.close(ending, &mut self.frames);
        self.mark(self.source.cursor());
        self.is_over = true;
    }
}

impl<D: Dialect> FrameStream for DialectStream<D> {
    async fn next(&mut self) -> Option<Frame> {
        self.source.reset_heartbeat();
        loop {
            self.catch_up(self.source.cursor());
            if !self.frames.is_empty() {
                return Some(Frame::Projected(std::mem::take(&mut self.frames)));
            }
            if self.is_over || self.dialect.is_done() {
                self.is_over = true;
                return None;
            }
            let limit = if self.is_caught_up { PAGE } else { CATCH_UP_RECORDS };
            // Counted from the first ask, so that a helper who talks on does not keep anybody from answering.
            let waits = self.is_caught_up && self.dialect.needs_answer();
            self.settle_at = waits.then(|| self.settle_at.unwrap_or_else(|| Instant::now() + ASK_GROUPING));
            let due = [self.settle_at, self.flush_at()].into_iter().flatten().min();
            match self.source.next(limit, due).await {
                SourceEvent::Records(records) => {
                    for record in &records {
                        self.apply(record);
                        if self.dialect.is_done() {
                            break;
                        }
                    }
                    self.flush_if_due();
                }
                SourceEvent::Due => {
                    self.flush_if_due();
                    if self.settle_at.is_some_and(|at| at <= Instant::now()) {
                        self.close(Ending::Waiting);
                    }
                }
                SourceEvent::Heartbeat => return Some(Frame::Alive),
                SourceEvent::Closing | SourceEvent::Ended(_) => self.close(Ending::Gone),
            }
        }
    }
}

impl<D: Dialect + fmt::Debug> fmt::Debug for DialectStream<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DialectStream")
            .field("source", &self.source)
            .field("dialect", &self.dialect)
            .finish_non_exhaustive()
    }
}

impl<D: Dialect> Drop for DialectStream<D> {
    fn drop(&mut self) {
        let turn = self.dialect.turn().filter(|_| !self.is_over && !self.dialect.is_done()).cloned();
        if let (Some(act), Some(turn)) = (self.on_disconnect.take(), turn) {
            act(turn);
        }
    }
}
