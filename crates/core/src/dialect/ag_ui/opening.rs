//! How a run begins: a snapshot of what is settled, then what is still being written, from its start.
//!
//! Front ends keep a message that streams apart from those that a snapshot brings, so one that came half by each would lose its first half. A message
//! that is open is left out of the snapshot, and so is what stands behind it, because a client puts what comes later at its end.

use std::collections::HashSet;
use std::sync::Arc;

use super::frame::Frame;
use super::messages::{Body, Message, Messages, Snapshot};
use super::{AgUi, Lane, OpenText, RunInput};
use crate::dialect::Frames;

/// How much of a text is told at once: these clients refuse a frame over 10 MB.
const PIECE_BYTES: usize = 1 << 20;

/// What is told in the snapshot, and what behind it.
struct Opening<'a> {
    snapshot: Snapshot<'a>,
    behind: Vec<&'a Message>,
}

impl AgUi {
    pub(super) fn begin(&mut self, out: &mut Frames) {
        self.begun = true;
        let protocol_version = self.is_current().then_some("1.0");
        out.push(&Frame::RunStarted { thread_id: &self.run.thread_id, run_id: &self.run.run_id, protocol_version });
        out.push(&Frame::StateSnapshot { snapshot: &self.surfaces.state() });
        let open: HashSet<usize> = self.open.iter().map(|open| open.place).collect();
        let Opening { snapshot, behind } = opening(&self.messages, &open, &self.run);
        let mut late = snapshot.late_for(&self.run.known);
        let mut snapshot = snapshot.without_results(&late);
        if !snapshot.keeps_order(&self.run.order) {
            // Others spoke before the client did, and it would show them behind it: it begins anew.
            out.push(&Frame::MessagesSnapshot { messages: snapshot.blank().snapshot() });
            snapshot = snapshot.without_results(&[]);
            late.clear();
        }
        out.push(&Frame::MessagesSnapshot { messages: snapshot });
        for message in late {
            message.write_result(out);
        }
        let told_behind = |lane: &&Lane| behind.iter().any(|message| lane.call.as_deref() == Some(message.id()));
        self.lanes.iter().filter(|(_, lane)| !told_behind(lane)).for_each(|(id, lane)| lane.begin(id, out));
        for message in &behind {
            match self.open.iter().find(|open| open.id == message.id()) {
                Some(open) => open.write(message, out),
                None => message.write(out),
            }
            let of_call = self.lanes.iter().filter(|(_, lane)| lane.call.as_deref() == Some(message.id()));
            of_call.for_each(|(id, lane)| lane.begin(id, out));
        }
        if self.turn.is_none() && self.asks.is_empty() {
            self.finish(self.is_current().then(|| serde_json::json!({ "type": "success" })), None, out);
        }
    }
}

fn opening<'a>(messages: &'a Messages, open: &HashSet<usize>, run: &RunInput) -> Opening<'a> {
    let newest = messages.newest();
    let start = messages.all().len() - newest.len();
    let first = open.iter().min().copied().unwrap_or(messages.all().len());
    let settled = newest.get(..first.saturating_sub(start)).unwrap_or(newest);
    let from_first = || (first..).zip(messages.all().iter().skip(first)).filter(|(_, message)| !message.is_gone());
    // Those that are open are told even where they are older than what fits.
    let rest = from_first().filter(|(place, _)| *place >= start || open.contains(place));
    let rest: Vec<&Message> = rest.map(|(_, message)| message.as_ref()).collect();
    if can_follow(settled, &rest, run) {
        return Opening { snapshot: Snapshot::of(settled), behind: rest };
    }
    // They keep their places, as messages that say nothing yet.
    let behind = from_first().filter(|(place, _)| open.contains(place)).map(|(_, message)| message.as_ref());
    let behind: Vec<&Message> = behind.collect();
    let snapshot = Snapshot::of(newest).emptied(behind.iter().map(|message| message.id()).collect());
    Opening { snapshot, behind }
}

/// Whether these can be told one by one behind a snapshot of the others, so that a client then has what it would have had of one snapshot.
fn can_follow(settled: &[Arc<Message>], rest: &[&Message], run: &RunInput) -> bool {
    let has = |kind: fn(&Body) -> bool| settled.iter().any(|message| !message.is_gone() && kind(&message.body));
    // A client keeps the thoughts and the activities that it has where a snapshot has none at all; what is told then would be added to them.
    rest.iter().all(|message| match &message.body {
        Body::Text(_) | Body::Call { .. } => true,
        Body::Reasoning(_) => !run.known.contains(message.id()) || has(|body| matches!(body, Body::Reasoning(_))),
        // Clients do not say which activities they have.
        Body::Activity { .. } => has(|body| matches!(body, Body::Activity { .. })),
        // Its own message is not a client's to lose, and pictures cannot be told like this.
        Body::User(_) => false,
    })
}

impl OpenText {
    /// All that was said in it, and it goes on.
    fn write(&self, message: &Message, out: &mut Frames) {
        self.begin(out);
        message.write_content(out);
    }
}

impl Message {
    /// The message as it is told when it happens.
    fn write(&self, out: &mut Frames) {
        let (message_id, subagent_run_id) = (self.id(), self.by.as_deref());
        match &self.body {
            Body::User(_) => {}
            Body::Text(_) => {
                out.push(&Frame::TextMessageStart { message_id, role: "assistant", subagent_run_id });
                self.write_content(out);
                out.push(&Frame::TextMessageEnd { message_id, subagent_run_id });
            }
            Body::Reasoning(_) => {
                out.push(&Frame::ReasoningStart { message_id, subagent_run_id });
                out.push(&Frame::ReasoningMessageStart { message_id, role: "reasoning", subagent_run_id });
                self.write_content(out);
                out.push(&Frame::ReasoningMessageEnd { message_id, subagent_run_id });
                out.push(&Frame::ReasoningEnd { message_id, subagent_run_id });
            }
            Body::Call { name, arguments, .. } => {
                for frame in &Frame::call(message_id, name, arguments, subagent_run_id) {
                    out.push(frame);
                }
                self.write_result(out);
            }
            Body::Activity { kind, content } => {
                out.push(&Frame::ActivitySnapshot { message_id, activity_type: kind, content });
            }
        }
    }

    fn write_content(&self, out: &mut Frames) {
        let (message_id, subagent_run_id) = (self.id(), self.by.as_deref());
        let (Body::Text(content) | Body::Reasoning(content)) = &self.body else { return };
        for delta in pieces(content) {
            out.push(&match &self.body {
                Body::Reasoning(_) => Frame::ReasoningMessageContent { message_id, delta, subagent_run_id },
                _ => Frame::TextMessageContent { message_id, delta, subagent_run_id },
            });
        }
    }

    fn write_result(&self, out: &mut Frames) {
        if let Body::Call { result: Some(outcome), .. } = &self.body {
            out.push(&Frame::result(&format!("{}:result", self.id()), self.id(), outcome, self.by.as_deref()));
        }
    }
}

fn pieces(mut text: &str) -> impl Iterator<Item = &str> {
    std::iter::from_fn(move || {
        let (piece, rest) = text.split_at_checked(text.floor_char_boundary(PIECE_BYTES))?;
        text = rest;
        (!piece.is_empty()).then_some(piece)
    })
}
