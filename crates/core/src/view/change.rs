//! The operations that update a view. There are four kinds; a client has to implement only these.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::block::Block;
use super::nodes::{Component, Message};
use crate::id::Seq;
use crate::projection::Muted;

/// From the session down: a message, a block in it, a block in that. Empty is the session itself. [`COMPONENTS`] in the place of a message leads to
/// `components`, by their ids.
pub type Path = Vec<String>;

/// What a path begins with that leads to the components beside the conversation. No id can hold an `@` followed by letters.
pub const COMPONENTS: &str = "@components";

/// One change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "op", rename_all = "snake_case")]
#[schemars(rename = "ViewOp")]
pub enum Op {
    /// More text at the end of a field.
    Append { path: Path, field: TextField, text: String },
    /// Other values for some fields; `null` removes one.
    Set { path: Path, fields: Fields },
    /// One more message, block or component, after the others there.
    Insert { path: Path, node: Node },
    /// A message, block or component that is not shown any more.
    Remove { path: Path },
}

/// A field that grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "ViewTextField")]
pub enum TextField {
    /// What the agent says or thinks.
    Text,
    /// What a tool that runs has said so far.
    Live,
}

/// What can be inserted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "ViewNode")]
pub enum Node {
    Message(Box<Message>),
    Block(Block),
    Component(Box<Component>),
}

/// Some fields of a view, a message or a block, by name: those that are different now.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fields(pub Map<String, Value>);

impl JsonSchema for Fields {
    fn schema_name() -> Cow<'static, str> {
        "ViewFields".into()
    }

    fn json_schema(_generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "description": "Some fields of a view, a message or a block, by name: those that are different now. `null` removes one.",
            "additionalProperties": {},
        })
    }
}

impl Fields {
    /// The fields of a node, without what is inside it.
    pub(super) fn of(node: &impl Serialize) -> Self {
        match serde_json::to_value(node) {
            Ok(Value::Object(fields)) => Self(fields),
            // Nodes are objects with string keys, so they always encode as such.
            Ok(_) | Err(_) => Self::default(),
        }
    }

    /// What makes these fields out of others.
    pub(super) fn since(mut self, mut before: Self) -> Self {
        self.0.retain(|name, value| before.0.remove(name).as_ref() != Some(value));
        self.0.extend(before.0.into_iter().map(|(name, _)| (name, Value::Null)));
        self
    }
}

/// Changes as they are sent: those that lead to a position.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ViewOps")]
pub struct OpsFrame {
    pub seq: Seq,
    pub ops: Vec<Op>,
}

/// Where a fold writes its changes, unless nobody wants to know.
#[derive(Debug, Default)]
pub struct Ops {
    list: Vec<Op>,
    muted: bool,
}

impl Muted for Ops {
    fn muted() -> Self {
        Self { muted: true, ..Self::default() }
    }
}

impl Ops {
    pub(super) fn is_muted(&self) -> bool {
        self.muted
    }

    pub(super) fn push(&mut self, op: impl FnOnce() -> Op) {
        if !self.muted {
            self.list.push(op());
        }
    }

    /// One field of a node has another value; `null` if it has none any more.
    pub(super) fn set(&mut self, path: &[String], name: &str, value: &impl Serialize) {
        self.push(|| {
            // What stands in a view always encodes.
            let value = serde_json::to_value(value).unwrap_or_default();
            Op::Set { path: path.to_vec(), fields: Fields(Map::from_iter([(name.to_owned(), value)])) }
        });
    }

    /// What was written since the last time.
    pub fn take(&mut self) -> Vec<Op> {
        std::mem::take(&mut self.list)
    }
}

/// How far back a piece of text looks for the one that it goes on from: as many as may talk at once.
const LOOK_BACK: usize = 8;

/// Joins what can be joined: text for one field, with only other text between, and fields of one node. The result of applying them is the same.
pub fn merge(ops: Vec<Op>) -> Vec<Op> {
    let mut merged: Vec<Op> = Vec::with_capacity(ops.len());
    for op in ops {
        let rest = match op {
            Op::Append { path, field, text } => match same_text(&mut merged, &path, field) {
                Some(known) => {
                    known.push_str(&text);
                    None
                }
                None => Some(Op::Append { path, field, text }),
            },
            Op::Set { path, fields } => match same_node(&mut merged, &path) {
                Some(before) => {
                    before.0.extend(fields.0);
                    None
                }
                None => Some(Op::Set { path, fields }),
            },
            op @ (Op::Insert { .. } | Op::Remove { .. }) => Some(op),
        };
        merged.extend(rest);
    }
    merged
}

/// The last change of this node, if nothing came after it that is about the same: for a component, that may be some changes ago.
fn same_node<'a>(merged: &'a mut [Op], wanted: &Path) -> Option<&'a mut Fields> {
    let is_component = |path: &Path| path.first().is_some_and(|first| first == COMPONENTS);
    let look_back = if is_component(wanted) { usize::MAX } else { 1 };
    let other = merged.iter_mut().rev().take(look_back).find(|op| match op {
        Op::Set { path, .. } => path == wanted || path.is_empty(),
        Op::Insert { path, .. } | Op::Remove { path } => is_component(path),
        Op::Append { .. } => false,
    });
    match other {
        Some(Op::Set { path, fields }) if path == wanted => Some(fields),
        _ => None,
    }
}

fn same_text<'a>(merged: &'a mut [Op], wanted: &Path, wanted_field: TextField) -> Option<&'a mut String> {
    let texts = merged.iter_mut().rev().take(LOOK_BACK).map_while(|op| match op {
        Op::Append { path, field, text } => Some((path == wanted && *field == wanted_field, text)),
        Op::Set { .. } | Op::Insert { .. } | Op::Remove { .. } => None,
    });
    texts.into_iter().find_map(|(is_same, text)| is_same.then_some(text))
}
