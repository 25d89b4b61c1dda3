//! What the agent says and thinks, and what a message says in all.

use super::{Fold, Key, Node, Op, Path, block, fields};
use crate::event::{Delta, Envelope, Thinking};

impl Fold {
    pub(super) fn delta(&mut self, envelope: &Envelope, delta: &Delta) {
        let key = Key::Text(envelope.turn_id.clone(), delta.block_id.to_string());
        let path = if let Some(path) = self.places.get(&key).cloned() {
            if !delta.text.is_empty() {
                self.change(Op::Append { path: path.clone(), field: "text".to_owned(), text: delta.text.clone() });
            }
            if delta.done {
                self.change(Op::Set { path: path.clone(), fields: fields! { "done": true } });
            }
            path
        } else {
            let fields = fields! { "text": delta.text, "done": delta.done };
            self.insert_as(envelope, key, |id| block::block(id, "text", envelope, fields))
        };
        if delta.interrupted {
            self.change(Op::Set { path: path.clone(), fields: fields! { "interrupted": true } });
        }
        if !delta.text.is_empty() {
            self.content_grew(&path, &delta.text);
        }
    }

    /// Keeps `content` what [`content_of`] says, with as little said as possible.
    pub(super) fn content_grew(&mut self, path: &Path, text: &str) {
        let [message_id, block_id] = path.as_slice() else { return };
        let Some(message) = self.root.find(std::slice::from_ref(message_id)) else { return };
        let with_text = |node: &&Node| node.text("kind") == "text" && !node.text("text").is_empty();
        let last = message.children.iter().rfind(with_text);
        let is_last = last.is_some_and(|node| node.id == *block_id);
        let before = message.text("content");
        let begins = last.is_some_and(|node| node.text("text") == text);
        let glue = if begins && !before.is_empty() { glue(message, block_id, before) } else { "" };
        let op = if is_last {
            Op::Append { path: vec![message_id.clone()], field: "content".to_owned(), text: format!("{glue}{text}") }
        } else {
            let content = content_of(message);
            Op::Set { path: vec![message_id.clone()], fields: fields! { "content": content } }
        };
        self.change(op);
    }

    pub(super) fn thinking(&mut self, envelope: &Envelope, thinking: &Thinking) {
        let key = Key::Text(envelope.turn_id.clone(), thinking.block_id.to_string());
        let done = thinking.done == Some(true);
        let Some(path) = self.places.get(&key).cloned() else {
            if done && thinking.text.is_empty() {
                return;
            }
            let fields = fields! { "text": thinking.text, "done": done, "ended_at": done.then_some(envelope.ts) };
            self.insert_as(envelope, key, |id| block::block(id, "thinking", envelope, fields));
            return;
        };
        if !thinking.text.is_empty() {
            self.change(Op::Append { path: path.clone(), field: "text".to_owned(), text: thinking.text.clone() });
        }
        // That something is thought is worth showing while it lasts; afterwards only what was thought is.
        if done && self.root.find(&path).is_some_and(|block| block.text("text").is_empty()) {
            return self.remove(&key);
        }
        if done {
            let mut fields = fields! { "done": true, "ended_at": envelope.ts };
            if thinking.interrupted {
                fields.insert("interrupted", true.into());
            }
            self.change(Op::Set { path, fields });
        }
    }

    pub(super) fn retracted(&mut self, envelope: &Envelope, block_id: &str) {
        let key = Key::Text(envelope.turn_id.clone(), block_id.to_owned());
        let Some(path) = self.places.get(&key).cloned() else { return };
        self.remove(&key);
        if let Some(message) = path.first().and_then(|id| self.root.find(std::slice::from_ref(id))) {
            let content = content_of(message);
            if content != message.text("content") {
                let path = vec![message.id.clone()];
                self.change(Op::Set { path, fields: fields! { "content": content } });
            }
        }
    }

    /// Text that was said only at the end. What was streamed is not said again.
    pub(super) fn final_text(&mut self, envelope: &Envelope, text: &str) {
        let id = self.agent_message(envelope);
        let turn_id = self.turn.clone().map(|turn_id| turn_id.to_string()).unwrap_or_default();
        // What belongs to the turn stands at the end, with notes in between that belong to none.
        let of_turn = |message: &&Node| message.text("turn_id") == turn_id || message.text("role") == "system";
        let said = self.root.children.iter().rev().take_while(of_turn).any(|message| {
            message.text("turn_id") == turn_id && message.text("role") == "agent" && !message.text("content").is_empty()
        });
        if !said && !text.is_empty() {
            let fields = fields! { "text": text, "done": true };
            let path = self.insert_in(vec![id], envelope, |id| block::block(id, "text", envelope, fields));
            self.content_grew(&path, text);
        }
    }
}

/// What a message says: its text blocks, with a blank line where something else stood between them.
pub(super) fn content_of(message: &Node) -> String {
    let mut content = String::new();
    for block in message.children.iter().filter(|block| block.text("kind") == "text" && !block.text("text").is_empty())
    {
        if !content.is_empty() {
            content.push_str(glue(message, &block.id, &content));
        }
        content.push_str(block.text("text"));
    }
    content
}

/// What stands between what was said before and a text block.
fn glue(message: &Node, block_id: &str, before: &str) -> &'static str {
    let at = message.children.iter().position(|block| block.id == block_id).unwrap_or(0);
    let follows_text = at > 0 && message.children.get(at - 1).is_some_and(|block| block.text("kind") == "text");
    if follows_text || before.ends_with('\n') { "" } else { "\n\n" }
}
