//! A window of a view, as it is sent: the current state of the session and some of its messages.

use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};

use super::nodes::{Message, View};

/// A part of a view: the newest messages, or those before one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Window {
    pub messages: usize,
    /// The id of the message that the window ends before.
    pub before: Option<String>,
    /// With each message's `content`, for clients that hold no view.
    pub content: bool,
}

/// A window of a view, without copying it.
#[derive(Debug)]
pub struct Snapshot<'a> {
    pub(super) view: &'a View,
    pub(super) window: &'a Window,
    /// Whether there are messages before those of the view.
    pub(super) has_older: bool,
}

impl Serialize for Snapshot<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let view = self.view;
        let end = match &self.window.before {
            None => view.messages.len(),
            Some(id) => view.messages.iter().position(|message| message.id == *id).unwrap_or(0),
        };
        let start = end.saturating_sub(self.window.messages);
        let messages = view.messages.get(start..end).unwrap_or_default();
        let mut json = serializer.serialize_map(None)?;
        json.serialize_entry("seq", &view.seq)?;
        json.serialize_entry("session", &view.session)?;
        json.serialize_entry("messages", &Messages { messages, content: self.window.content })?;
        json.serialize_entry("asks", &view.asks)?;
        json.serialize_entry("queue", &view.queue)?;
        json.serialize_entry("steers", &view.steers)?;
        json.serialize_entry("components", &view.components)?;
        json.serialize_entry("background", &view.background)?;
        json.serialize_entry("files", &view.files)?;
        if let Some(state) = &view.state {
            json.serialize_entry("state", state)?;
        }
        if let Some(plan) = &view.plan {
            json.serialize_entry("plan", plan)?;
        }
        if let Some(activity) = &view.activity {
            json.serialize_entry("activity", activity)?;
        }
        if let Some(usage) = &view.usage {
            json.serialize_entry("usage", usage)?;
        }
        if let Some(first) = messages.first().filter(|_| start > 0 || self.has_older) {
            json.serialize_entry("before", &first.id)?;
        }
        json.end()
    }
}

struct Messages<'a> {
    messages: &'a [Message],
    content: bool,
}

impl Serialize for Messages<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.content {
            serializer
                .collect_seq(self.messages.iter().map(|message| WithContent { message, content: content(message) }))
        } else {
            serializer.collect_seq(self.messages)
        }
    }
}

#[derive(Serialize)]
struct WithContent<'a> {
    #[serde(flatten)]
    message: &'a Message,
    content: String,
}

/// What a message says: its text blocks, with a blank line where something else stood between them.
pub fn content(message: &Message) -> String {
    let mut content = String::new();
    let mut follows_text = false;
    for block in &message.blocks {
        let text = block.spoken_text();
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            if !content.is_empty() && !follows_text && !content.ends_with('\n') {
                content.push_str("\n\n");
            }
            content.push_str(text);
        }
        follows_text = text.is_some();
    }
    content
}
