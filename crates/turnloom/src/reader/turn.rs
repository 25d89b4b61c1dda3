//! One turn as a stream: follows a message until its turn ends or it is certain that none comes.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use turnloom_core::awaited::{Awaited, NoTurnReason};
use turnloom_core::event::{Envelope, Event, Record};
use turnloom_core::id::{MessageId, Seq, SessionId, TurnId};

use super::{Frame, FrameStream, PAGE, Reader, Source, SourceEvent};
use crate::log;

/// How far behind a message its own facts are looked for.
const MESSAGE_SEARCH_EVENTS: u64 = 256;

/// Why a turn is not told to its end.
#[derive(Debug)]
pub enum Unfinished {
    /// The message gets no turn.
    Lost(NoTurnReason),
    /// The daemon is shutting down.
    Closing,
    /// The session was removed, or its log cannot be read.
    Gone(log::Error),
}

impl Reader {
    /// The position that a message was accepted after: that of the log before it came, unless it had been sent before. Then its turn is somewhere
    /// further back.
    pub async fn start_of(&self, id: &SessionId, before: Seq, message_id: &MessageId) -> Result<Seq, log::Error> {
        let mut start = Seq::ZERO;
        let find = |record: Record| {
            if record.decode().is_ok_and(|envelope| names(&envelope, message_id)) {
                start = before;
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        };
        self.0.log.scan(id, before, Seq(before.0.saturating_add(MESSAGE_SEARCH_EVENTS)), find).await?;
        Ok(start)
    }
}

/// Whether a fact is about a message.
fn names(envelope: &Envelope, message_id: &MessageId) -> bool {
    match &envelope.event {
        Event::UserMessage(message) => message.message_id == *message_id,
        Event::Steer(steer) => steer.message_id == *message_id,
        Event::QueueChanged(changed) => changed.added.as_ref().is_some_and(|added| added.message_id == *message_id),
        _ => false,
    }
}

/// A connection that follows one turn.
#[derive(Debug)]
pub struct FollowedTurn {
    source: Source,
    awaited: Awaited,
    /// Not known while the message waits in the queue.
    turn_id: Option<TurnId>,
    /// Frames that are not told yet.
    ready: VecDeque<Frame>,
    is_over: bool,
    /// Makes the last frame, when the turn is not told to its end.
    explain: fn(Unfinished) -> Frame,
}

impl FollowedTurn {
    /// Follows what comes of a message from a position before it; `accepted` is told first.
    pub fn new(
        source: Source,
        (message_id, turn_id): (MessageId, Option<TurnId>),
        accepted: Frame,
        explain: fn(Unfinished) -> Frame,
    ) -> Self {
        let (awaited, ready) = (Awaited::new(message_id), VecDeque::from([accepted]));
        Self { source, awaited, turn_id, ready, is_over: false, explain }
    }

    /// Takes what of these records belongs to the turn.
    fn take(&mut self, records: Vec<Record>) {
        let mut told = Vec::new();
        for record in records {
            let Ok(envelope) = record.decode() else { continue };
            let waited = !self.awaited.is_in_turn();
            self.awaited.step(&envelope);
            if waited && self.awaited.is_in_turn() {
                self.turn_id.clone_from(&envelope.turn_id);
            }
            if self.turn_id.is_some() && envelope.turn_id == self.turn_id {
                told.push(record);
                if matches!(envelope.event, Event::Done(_)) {
                    self.is_over = true;
                    break;
                }
            }
        }
        if !told.is_empty() {
            self.ready.push_back(Frame::Events(told));
        } else if let Some(loss) = self.no_turn_reason() {
            self.end(Unfinished::Lost(loss));
        }
    }

    /// Why no turn comes, where that is certain: an append is published whole, so at the head nothing of it is missing.
    fn no_turn_reason(&self) -> Option<NoTurnReason> {
        let is_at_head = self.source.cursor() >= self.source.head();
        self.awaited.no_turn_reason().filter(|_| is_at_head && self.turn_id.is_none())
    }

    /// Says last why the turn is not told to its end.
    fn end(&mut self, why: Unfinished) {
        self.is_over = true;
        self.ready.push_back((self.explain)(why));
    }
}

impl FrameStream for FollowedTurn {
    async fn next(&mut self) -> Option<Frame> {
        self.source.reset_heartbeat();
        loop {
            if let Some(frame) = self.ready.pop_front() {
                return Some(frame);
            }
            if self.is_over {
                return None;
            }
            match self.source.next(PAGE, None).await {
                SourceEvent::Records(records) => self.take(records),
                SourceEvent::Heartbeat => return Some(Frame::Heartbeat { head: self.source.head().0 }),
                SourceEvent::Closing => self.end(Unfinished::Closing),
                SourceEvent::Ended(error) => self.end(Unfinished::Gone(error)),
                SourceEvent::Due => {}
            }
        }
    }
}
