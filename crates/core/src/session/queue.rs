//! The queued messages: their order, their content, and which of them are held. When the next one gets its turn is decided in `turn`.

use super::machine::{Machine, Output};
use super::state::Queued;
use crate::command::{Edit, Outcome as Verdict, Refusal, Reply, check_pictures};
use crate::event::{Hold, Part, QueueAdded, QueueChanged, QueueItem};
use crate::id::MessageId;
use crate::time::Timestamp;

/// Where in the queue a message goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Before everything but what was refused before it: what was said into a turn keeps its order.
    First,
    /// After everything that goes on by itself.
    Last,
}

impl Machine {
    pub(super) fn enqueue(&mut self, at: Timestamp, out: &mut Output, message: Queued, place: Place) {
        let mut queue = self.state.queue_items();
        // What is held does not stand before what is not.
        let first_held = queue.iter().position(|item| item.held.is_some()).unwrap_or(queue.len());
        let position = match place {
            Place::First if message.held.is_some() => (first_held + self.refused).min(queue.len()),
            Place::First => self.refused.min(queue.len()),
            Place::Last => first_held,
        };
        queue.insert(position, message.item());
        self.change_queue(at, out, queue, Some((message, position)));
    }

    /// From here on nothing that waits now goes on by itself.
    pub(super) fn hold(&mut self, at: Timestamp, out: &mut Output, why: Hold) {
        let mut queue = self.state.queue_items();
        for item in &mut queue {
            item.held = item.held.or(Some(why));
        }
        self.replace_queue(queue, at, out);
    }

    /// A client that sends a message again still waits for it, so the message is released, unless somebody stopped the session.
    pub(super) fn sent_again(&mut self, message_id: &MessageId, at: Timestamp, out: &mut Output) {
        let mut queue = self.state.queue_items();
        let found = queue.iter_mut().find(|item| item.message_id == *message_id);
        if let Some(item) = found.filter(|item| item.held.is_some_and(|why| why != Hold::Stopped))
            && self.require_open().is_ok()
        {
            item.held = None;
            self.replace_queue(queue, at, out);
            self.proceed(at, out);
        }
    }

    pub(super) fn go_on(&mut self, at: Timestamp, out: &mut Output) -> Verdict {
        self.require_open()?;
        let mut queue = self.state.queue_items();
        for item in &mut queue {
            item.held = None;
        }
        self.replace_queue(queue, at, out);
        self.proceed(at, out);
        Ok(Reply::Queue(self.state.queue_items()))
    }

    pub(super) fn unqueue(&mut self, message_id: &MessageId, at: Timestamp, out: &mut Output) -> Verdict {
        let mut queue = self.state.queue_items();
        let position = self.place_of(message_id)?;
        queue.remove(position);
        Ok(self.replace_queue(queue, at, out))
    }

    pub(super) fn reorder(&mut self, order: &[MessageId], at: Timestamp, out: &mut Output) -> Verdict {
        let mut rest = self.state.queue_items();
        let mut queue = Vec::with_capacity(rest.len());
        for message_id in order {
            let found = rest.iter().position(|item| item.message_id == *message_id);
            queue.push(rest.remove(found.ok_or_else(|| Refusal::NotQueued(message_id.clone()))?));
        }
        // What came in meanwhile, and the caller does not know, stays behind.
        queue.extend(rest);
        Ok(self.replace_queue(queue, at, out))
    }

    pub(super) fn edit_queued(
        &mut self,
        message_id: &MessageId,
        edit: Edit,
        at: Timestamp,
        out: &mut Output,
    ) -> Verdict {
        let position = self.place_of(message_id)?;
        let Some(before) = self.state.queue.get(position).cloned() else { return self.read_queued(message_id) };
        let content = match edit {
            Edit::All(content) => content,
            Edit::Words(text) => {
                let others = before.content.iter().filter(|part| !matches!(part, Part::Text { .. })).cloned();
                let words = (!text.trim().is_empty()).then_some(Part::Text { text });
                words.into_iter().chain(others).collect()
            }
        };
        check_pictures(&content)?;
        if content.is_empty() {
            return Err(Refusal::Invalid("`message` must say something; to take it out, remove it".to_owned()));
        }
        if content != before.content {
            let edited = Queued { content, ..before };
            let mut queue = self.state.queue_items();
            queue.splice(position..=position, [edited.item()]);
            self.change_queue(at, out, queue, Some((edited, position)));
        }
        Ok(Reply::Queue(self.state.queue_items()))
    }

    pub(super) fn read_queued(&self, message_id: &MessageId) -> Verdict {
        let queued = self.state.queue.get(self.place_of(message_id)?);
        Ok(Reply::Queued(queued.map(|queued| queued.content.clone()).unwrap_or_default()))
    }

    fn place_of(&self, message_id: &MessageId) -> Result<usize, Refusal> {
        let found = self.state.queue.iter().position(|queued| queued.message_id == *message_id);
        found.ok_or_else(|| Refusal::NotQueued(message_id.clone()))
    }

    fn replace_queue(&mut self, queue: Vec<QueueItem>, at: Timestamp, out: &mut Output) -> Reply {
        if queue != self.state.queue_items() {
            self.change_queue(at, out, queue, None);
        }
        Reply::Queue(self.state.queue_items())
    }

    /// The queue as it is now, and what one of its messages says that is new or says something else.
    pub(super) fn change_queue(
        &mut self,
        at: Timestamp,
        out: &mut Output,
        queue: Vec<QueueItem>,
        said: Option<(Queued, usize)>,
    ) {
        let added = said.map(|(Queued { message_id, content, origin, source, .. }, position)| QueueAdded {
            message_id,
            content,
            origin,
            source,
            position: position as u64 + 1,
        });
        self.emit_as(at, out, None, None, QueueChanged { queue, added }.into());
    }
}
