//! A message and its turn on one response: first that it was accepted, then what happened, until `done`. When there will be no `done`, the last frame
//! is a `problem` that says why.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use bytes::{Bytes, BytesMut};
use futures_util::stream;
use tokio::time::{Instant, Interval, MissedTickBehavior};
use turnloom_core::awaited::{Awaited, Loss};
use turnloom_core::command::{Receipt, Refusal};
use turnloom_core::dialect::text::Scope;
use turnloom_core::event::{Envelope, Event, Record};
use turnloom_core::id::{MessageId, Seq, TurnId};

use super::App;
use super::dialect::text;
use super::events::{FRAME_RECORDS, Following, HEARTBEAT, admit, event_stream, write_frame};
use super::extract::{Body, Client, Session};
use super::messages::{Send, accept};
use super::problem::Problem;
use crate::log::{Follower, ReadRange};

pub(super) async fn send_and_follow(
    State(app): State<App>,
    Session(id): Session,
    Client(by): Client,
    headers: HeaderMap,
    Body(send): Body<Send>,
) -> Result<Response, Problem> {
    if text::is_wanted(&headers) {
        let receipt = accept(&app, &id, by, send).await?;
        let row = app.sessions.row(&id).await?;
        return text::respond(&app, &row, Scope::Answer(receipt.message_id));
    }
    let permit = admit(&app)?;
    let before = app.sessions.row(&id).await?.head;
    let receipt = accept(&app, &id, by, send).await?;
    // What the message led to stands after `before`, unless it was sent before; then its turn is somewhere further back.
    let since = app.sessions.log().read(&id, ReadRange::After { after: before, limit: FRAME_RECORDS }).await?;
    let is_new =
        since.iter().filter_map(|record| record.decode().ok()).any(|envelope| names(&envelope, &receipt.message_id));
    let follower = app.sessions.log().follow(&id, if is_new { before } else { Seq::ZERO });
    let mut heartbeat = tokio::time::interval_at(Instant::now() + HEARTBEAT, HEARTBEAT);
    heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let turn = FollowedTurn {
        app: app.clone(),
        follower,
        awaited: Awaited::new(receipt.message_id.clone()),
        turn_id: receipt.turn_id.clone(),
        phase: Phase::Accepted(receipt),
        heartbeat,
        _following: Following::new(&app, permit),
    };
    Ok(event_stream(turn.frames()))
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

struct FollowedTurn {
    app: App,
    follower: Follower,
    awaited: Awaited,
    /// Not known while the message waits in the queue.
    turn_id: Option<TurnId>,
    phase: Phase,
    heartbeat: Interval,
    _following: Following,
}

enum Phase {
    Accepted(Receipt),
    Running,
    Over,
}

impl FollowedTurn {
    fn frames(self) -> impl stream::Stream<Item = Result<Bytes, std::io::Error>> {
        stream::unfold(self, |mut turn| async move {
            let frame = turn.next().await?;
            Some((Ok(frame), turn))
        })
    }

    async fn next(&mut self) -> Option<Bytes> {
        match std::mem::replace(&mut self.phase, Phase::Running) {
            Phase::Accepted(receipt) => {
                let receipt = serde_json::to_string(&receipt).unwrap_or_default();
                return Some(format!("event: accepted\ndata: {receipt}\n\n").into());
            }
            Phase::Running => {}
            Phase::Over => return None,
        }
        loop {
            tokio::select! {
                biased;
                () = self.app.closing.cancelled() => return Some(self.end(Refusal::ShuttingDown)),
                records = self.follower.next(FRAME_RECORDS) => match records {
                    Ok(records) => {
                        let frame = self.frame(&records);
                        if !frame.is_empty() {
                            return Some(frame);
                        }
                        if let Some(loss) = self.loss() {
                            return Some(self.end(loss));
                        }
                    }
                    // The session was removed.
                    Err(error) => return Some(self.end(error)),
                },
                _ = self.heartbeat.tick() => {
                    return Some(format!("event: heartbeat\ndata: {{\"head\":{}}}\n\n", self.follower.head()).into());
                }
            }
        }
    }

    /// What of these records belongs to the turn.
    fn frame(&mut self, records: &[Record]) -> Bytes {
        let mut frame = BytesMut::new();
        for record in records {
            let Ok(envelope) = record.decode() else { continue };
            let waited = !self.awaited.is_in_turn();
            self.awaited.step(&envelope);
            if waited && self.awaited.is_in_turn() {
                self.turn_id.clone_from(&envelope.turn_id);
            }
            if self.turn_id.is_some() && envelope.turn_id == self.turn_id {
                write_frame(&mut frame, record);
                if matches!(envelope.event, Event::Done(_)) {
                    self.phase = Phase::Over;
                    break;
                }
            }
        }
        frame.freeze()
    }

    /// Why no turn comes, where that is certain: an append is published whole, so at the head nothing of it is missing.
    fn loss(&self) -> Option<Loss> {
        let is_at_head = self.follower.cursor() >= self.follower.head();
        self.awaited.loss().filter(|_| is_at_head && self.turn_id.is_none())
    }

    /// The last frame of a response whose turn is not told to its end.
    fn end(&mut self, why: impl Into<Problem>) -> Bytes {
        self.phase = Phase::Over;
        let problem = serde_json::to_string(&why.into()).unwrap_or_default();
        format!("event: problem\ndata: {problem}\n\n").into()
    }
}

impl From<Loss> for Problem {
    fn from(loss: Loss) -> Self {
        Self::new(StatusCode::CONFLICT, loss.code(), loss.to_string())
    }
}
