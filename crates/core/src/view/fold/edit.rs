//! All edits of a view go through here, so that every edit is also emitted as an operation.

use serde::Serialize;

use super::{Key, Step};
use crate::view::begin::NewBlock;
use crate::view::block::{Block, OfKind, SubagentBlock};
use crate::view::change::{Fields, Node, Op, Path};
use crate::view::nodes::{Message, View};

impl View {
    fn message_at(&self, id: &str) -> Option<usize> {
        // What changes is nearly always the newest, so the search begins there.
        self.messages.iter().rposition(|message| message.id == id)
    }

    pub(super) fn message(&self, id: &str) -> Option<&Message> {
        self.messages.iter().rev().find(|message| message.id == id)
    }

    pub(super) fn block(&self, path: &[String]) -> Option<&Block> {
        let (message, blocks) = path.split_first()?;
        let (last, subagents) = blocks.split_last()?;
        let children = subagents.iter().try_fold(&self.message(message)?.blocks, |children, id| {
            Some(&SubagentBlock::of(find(children, id)?)?.blocks)
        })?;
        find(children, last)
    }

    fn block_mut(&mut self, path: &[String]) -> Option<&mut Block> {
        let (last, parents) = path.split_last()?;
        self.blocks_mut(parents)?.iter_mut().rev().find(|block| block.id() == last)
    }

    /// What is inside a message or a sub-agent.
    fn blocks_mut(&mut self, path: &[String]) -> Option<&mut Vec<Block>> {
        let (message, subagents) = path.split_first()?;
        let message = self.messages.iter_mut().rev().find(|known| known.id == *message)?;
        subagents.iter().try_fold(&mut message.blocks, |children, id| {
            let block = children.iter_mut().rev().find(|block| block.id() == id)?;
            Some(&mut SubagentBlock::of_mut(block)?.blocks)
        })
    }
}

fn find<'a>(blocks: &'a [Block], id: &str) -> Option<&'a Block> {
    blocks.iter().rev().find(|block| block.id() == id)
}

impl Step<'_> {
    pub(super) fn place(&self, key: &Key) -> Option<Path> {
        self.fold.open.places.get(key).cloned()
    }

    /// The block that later events call so.
    pub(super) fn block_of<B: OfKind>(&self, key: &Key) -> Option<&B> {
        self.fold.open.places.get(key).and_then(|path| self.fold.view.block(path)).and_then(B::of)
    }

    /// Changes a block, and tells which of its fields are different then.
    pub(super) fn edit<B: OfKind + Serialize>(&mut self, key: &Key, change: impl FnOnce(&mut B)) {
        if let Some(path) = self.place(key) {
            self.edit_at(&path, change);
        }
    }

    pub(super) fn edit_at<B: OfKind + Serialize>(&mut self, path: &[String], change: impl FnOnce(&mut B)) {
        let Some(block) = self.fold.view.block_mut(path).and_then(B::of_mut) else { return };
        if self.out.is_muted() {
            change(block);
        } else {
            let before = Fields::of(block);
            change(block);
            let fields = Fields::of(block).since(before);
            if !fields.0.is_empty() {
                self.out.push(|| Op::Set { path: path.to_vec(), fields });
            }
        }
        self.touch(path);
    }

    /// The same for a sub-agent, whose own blocks are not looked at.
    pub(super) fn edit_subagent(&mut self, key: &Key, change: impl FnOnce(&mut SubagentBlock)) {
        let Some(path) = self.place(key) else { return };
        let Some(block) = self.fold.view.block_mut(&path).and_then(SubagentBlock::of_mut) else { return };
        let blocks = std::mem::take(&mut block.blocks);
        self.edit_at(&path, change);
        if let Some(block) = self.fold.view.block_mut(&path).and_then(SubagentBlock::of_mut) {
            block.blocks = blocks;
        }
    }

    /// Changes a message, without what is inside it.
    pub(super) fn edit_message(&mut self, id: &str, change: impl FnOnce(&mut Message)) {
        let Some(message) = self.fold.view.messages.iter_mut().rev().find(|message| message.id == id) else { return };
        let blocks = std::mem::take(&mut message.blocks);
        let before = if self.out.is_muted() { Fields::default() } else { Fields::of(message) };
        change(message);
        if !self.out.is_muted() {
            let fields = Fields::of(message).since(before);
            if !fields.0.is_empty() {
                self.out.push(|| Op::Set { path: vec![id.to_owned()], fields });
            }
        }
        message.blocks = blocks;
        self.touch(&[id.to_owned()]);
    }

    /// Changes one field of a block, without looking at the others: text may be long.
    pub(super) fn set_at<B: OfKind, V: Serialize>(
        &mut self,
        path: &[String],
        name: &str,
        value: V,
        change: impl FnOnce(&mut B, V),
    ) {
        let Some(block) = self.fold.view.block_mut(path).and_then(B::of_mut) else { return };
        self.out.set(path, name, &value);
        change(block, value);
        self.touch(path);
    }

    /// Text that goes on.
    pub(super) fn append<B: OfKind>(
        &mut self,
        path: &[String],
        field: crate::view::change::TextField,
        text: &str,
        of: impl FnOnce(&mut B) -> &mut String,
    ) {
        let Some(block) = self.fold.view.block_mut(path).and_then(B::of_mut) else { return };
        of(block).push_str(text);
        self.out.push(|| Op::Append { path: path.to_vec(), field, text: text.to_owned() });
        self.touch(path);
    }

    pub(super) fn push_message(&mut self, message: Message) {
        self.out.push(|| Op::Insert { path: Path::new(), node: Node::Message(Box::new(message.clone())) });
        self.fold.view.messages.push(message);
    }

    pub(super) fn remove_message(&mut self, id: &str) {
        self.touch(&[id.to_owned()]);
        let Some(at) = self.fold.view.message_at(id) else { return };
        self.fold.view.messages.remove(at);
        self.fold.parts.removed(at);
        self.fold.open.places.retain(|_, path| path.first().is_none_or(|first| first != id));
        // What comes after it begins a message of its own.
        for written in [&mut self.fold.open.agent, &mut self.fold.open.system] {
            if written.as_deref() == Some(id) {
                *written = None;
            }
        }
        self.out.push(|| Op::Remove { path: vec![id.to_owned()] });
    }

    /// Where a new block goes: into the sub-agent who made it, or into the message.
    pub(super) fn inside(&mut self) -> Path {
        let subagent = self.envelope.subagent_id.as_ref().and_then(|id| self.place(&Key::Subagent(id.to_string())));
        let (turn, open) = (&self.envelope.turn_id, &self.fold.open.turn);
        match subagent {
            Some(path) => path,
            None if turn.is_some() && turn == open => vec![self.agent_message()],
            None => vec![self.system_message()],
        }
    }

    pub(super) fn insert(&mut self, make: impl FnOnce(NewBlock) -> Block) -> Path {
        let inside = self.inside();
        self.insert_in(inside, make)
    }

    pub(super) fn insert_as(&mut self, key: Key, make: impl FnOnce(NewBlock) -> Block) -> Path {
        let path = self.insert(make);
        self.fold.open.places.insert(key, path.clone());
        path
    }

    pub(super) fn insert_in(&mut self, inside: Path, make: impl FnOnce(NewBlock) -> Block) -> Path {
        let id = format!("b{}", self.envelope.seq);
        self.insert_named(inside, id, make)
    }

    pub(super) fn insert_named(&mut self, inside: Path, id: String, make: impl FnOnce(NewBlock) -> Block) -> Path {
        let block = make(NewBlock { id: id.clone(), at: self.envelope.ts });
        if let Some(blocks) = self.fold.view.blocks_mut(&inside) {
            self.out.push(|| Op::Insert { path: inside.clone(), node: Node::Block(block.clone()) });
            blocks.push(block);
            self.touch(&inside);
        }
        let mut path = inside;
        path.push(id);
        path
    }

    /// Takes away the block that later events call so.
    pub(super) fn remove(&mut self, key: &Key) {
        let Some(path) = self.fold.open.places.remove(key) else { return };
        let Some((id, parents)) = path.split_last() else { return };
        if let Some(blocks) = self.fold.view.blocks_mut(parents) {
            blocks.retain(|block| block.id() != id);
            self.touch(&path);
            self.out.push(|| Op::Remove { path });
        }
    }

    /// Nothing more comes of what later events call so. Among the newest messages that is noticed when the turn is over; an older one may be only stored by
    /// then, so it is let go at once.
    pub(super) fn closed(&mut self, key: &Key) {
        let message = self.fold.open.places.get(key).and_then(|path| path.first());
        let at = message.and_then(|id| self.fold.view.message_at(id));
        if at.is_none_or(|at| self.fold.parts.holds(at)) {
            self.fold.open.places.remove(key);
        }
    }

    /// Notes that what is stored of a message is not what it is any more.
    fn touch(&mut self, path: &[String]) {
        if self.fold.parts.are_loaded()
            && let Some(at) = path.first().and_then(|id| self.fold.view.message_at(id))
        {
            self.fold.parts.touched(at, self.envelope.seq);
        }
    }
}
