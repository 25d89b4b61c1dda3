//! The tree and the changes to it. This is all that a client has to implement.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::fields::Fields;

/// From the session down: a message, a block in it, a block in that. Empty is the session itself.
pub type Path = Vec<String>;

/// The session, a message or a block: fields, and what is inside it in the order it happened.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Node {
    pub id: String,
    pub fields: Fields,
    pub children: Vec<Node>,
}

/// The smallest change that brings a view forward.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Op {
    /// More text at the end of a field.
    Append { path: Path, field: String, text: String },
    /// Other values for some fields; `null` removes one.
    Set { path: Path, fields: Fields },
    /// One more message or block, after the others there.
    Insert { path: Path, node: Node },
    /// A message or block that is not shown any more.
    Remove { path: Path },
}

/// A part of a view: the newest messages, or those before one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Window {
    pub messages: usize,
    /// The id of the message that the window ends before.
    pub before: Option<String>,
}

impl Node {
    pub(super) fn new(id: impl Into<String>, fields: Fields) -> Self {
        Self { id: id.into(), fields, children: Vec::new() }
    }

    /// A node that may hold others.
    pub fn find(&self, path: &[String]) -> Option<&Node> {
        path.iter().try_fold(self, |node, id| node.children.iter().rev().find(|child| child.id == *id))
    }

    fn find_mut(&mut self, path: &[String]) -> Option<&mut Node> {
        // What changes is nearly always the newest, so the search begins there.
        path.iter().try_fold(self, |node, id| node.children.iter_mut().rev().find(|child| child.id == *id))
    }

    pub fn text(&self, field: &str) -> &str {
        self.fields.get(field).and_then(Value::as_str).unwrap_or_default()
    }

    /// Applies a change. One to something that is not here is for somebody who holds more.
    pub fn apply(&mut self, op: Op) {
        match op {
            Op::Append { path, field, text } => {
                let Some(node) = self.find_mut(&path) else { return };
                match node.fields.get_mut(&field) {
                    Some(Value::String(known)) => known.push_str(&text),
                    _ => node.fields.insert(field, Value::from(text)),
                }
            }
            Op::Set { path, fields } => {
                if let Some(node) = self.find_mut(&path) {
                    node.fields.set(fields);
                }
            }
            Op::Insert { path, node } => {
                if let Some(parent) = self.find_mut(&path) {
                    parent.children.push(node);
                }
            }
            Op::Remove { path } => {
                if let Some((id, parents)) = path.split_last()
                    && let Some(parent) = self.find_mut(parents)
                {
                    parent.children.retain(|child| child.id != *id);
                }
            }
        }
    }

    /// As messages and blocks are sent: fields, `id`, and `blocks` where there may be some.
    pub fn to_json(&self) -> Value {
        let mut json = Map::from(&self.fields);
        json.insert("id".to_owned(), Value::from(self.id.as_str()));
        if self.holds_blocks() {
            json.insert("blocks".to_owned(), self.children.iter().map(Node::to_json).collect());
        }
        Value::Object(json)
    }

    fn holds_blocks(&self) -> bool {
        self.fields.contains("role") || self.text("kind") == "subagent"
    }

    pub fn from_json(json: Value) -> Self {
        let Value::Object(mut fields) = json else { return Self::default() };
        let id = match fields.remove("id") {
            Some(Value::String(id)) => id,
            _ => String::new(),
        };
        let children = match fields.remove("blocks") {
            Some(Value::Array(blocks)) => blocks.into_iter().map(Node::from_json).collect(),
            _ => Vec::new(),
        };
        Self { id, fields: fields.into(), children }
    }

    /// As the whole view is sent: the session's fields and a window of its messages. `before` is there when older ones are.
    pub fn snapshot(&self, window: &Window) -> Value {
        let end = match &window.before {
            None => self.children.len(),
            Some(id) => self.children.iter().position(|message| message.id == *id).unwrap_or(0),
        };
        let start = end.saturating_sub(window.messages);
        let messages = self.children.get(start..end).unwrap_or_default();
        let mut json = Map::from(&self.fields);
        json.insert("messages".to_owned(), messages.iter().map(Node::to_json).collect());
        if let Some(first) = messages.first().filter(|_| start > 0) {
            json.insert("before".to_owned(), Value::from(first.id.as_str()));
        }
        Value::Object(json)
    }
}

impl Serialize for Node {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_json().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(Node::from_json)
    }
}

/// Joins what can be joined: text for one field, and fields of one node, as long as nothing stands between. The result of applying them is the same.
pub fn merge(ops: Vec<Op>) -> Vec<Op> {
    let mut merged: Vec<Op> = Vec::with_capacity(ops.len());
    for op in ops {
        match (merged.last_mut(), op) {
            (Some(Op::Append { path, field, text }), Op::Append { path: path2, field: field2, text: more })
                if *path == path2 && *field == field2 =>
            {
                text.push_str(&more);
            }
            (Some(Op::Set { path, fields }), Op::Set { path: path2, fields: more }) if *path == path2 => {
                fields.extend(more);
            }
            (_, op) => merged.push(op),
        }
    }
    merged
}
