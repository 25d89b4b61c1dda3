//! A connection that follows a view: a snapshot, and then what changed since, as often as people can see it.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};
use turnloom_core::id::Seq;
use turnloom_core::view::{OpsFrame, Window};

use super::super::{Frame, FrameStream, PAGE, Source, SourceEvent};
use super::{SharedView, Update};

/// Changes that come within this time go out together: people do not see faster.
const FRAME_INTERVAL: Duration = Duration::from_millis(30);

#[derive(Debug)]
pub struct LiveView {
    shared: Arc<SharedView>,
    /// Only to be woken, and to bring the view forward.
    source: Source,
    window: Window,
    cursor: Option<Seq>,
    next_frame: Instant,
    /// Nothing was sent yet, or a snapshot that others had been sent before: what changed since comes next.
    may_be_behind: bool,
}

impl LiveView {
    /// `source` stands where the view is. `cursor` is the position of the view that the client holds.
    pub fn new(shared: Arc<SharedView>, source: Source, cursor: Option<Seq>, window: Window) -> Self {
        Self { shared, source, window, cursor, next_frame: Instant::now(), may_be_behind: true }
    }

    /// The frame that brings the reader to where the view is.
    fn update(&mut self) -> Option<Frame> {
        match self.shared.since(self.cursor, &self.window) {
            Update::Nothing => None,
            Update::Ops { seq, ops } => {
                self.cursor = Some(seq);
                let is_empty = ops.is_empty();
                // Views have string keys and no custom values, so they always encode.
                let data = serde_json::to_string(&OpsFrame { seq, ops }).unwrap_or_default();
                (!is_empty).then(|| Frame::named("ops", Some(seq.0), data))
            }
            Update::Snapshot { seq, json } => {
                self.cursor = Some(seq);
                self.may_be_behind = true;
                Some(Frame::Shared { name: "snapshot", position: seq.0, json })
            }
        }
    }
}

impl FrameStream for LiveView {
    async fn next(&mut self) -> Option<Frame> {
        self.source.reset_heartbeat();
        if std::mem::take(&mut self.may_be_behind)
            && let Some(frame) = self.update()
        {
            return Some(frame);
        }
        loop {
            match self.source.next(PAGE, None).await {
                SourceEvent::Records(records) => {
                    self.shared.take(&records);
                    // What is not folded yet lies between the view and us, when nobody else has looked for a while.
                    self.shared.catch_up(self.source.cursor()).await.ok()?;
                }
                SourceEvent::Heartbeat => return Some(Frame::Heartbeat { head: self.source.head().0 }),
                SourceEvent::Closing | SourceEvent::Ended(_) => return None,
                SourceEvent::Due => {}
            }
            sleep_until(self.next_frame).await;
            if let Some(frame) = self.update() {
                self.next_frame = Instant::now() + FRAME_INTERVAL;
                return Some(frame);
            }
        }
    }
}
