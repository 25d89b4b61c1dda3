//! What the agent says and thinks.

use super::{Key, Step};
use crate::event::{Delta, Thinking};
use crate::view::block::{TextBlock, ThinkingBlock};
use crate::view::change::TextField;
use crate::view::nodes::{Message, Role};

impl Step<'_> {
    pub(super) fn delta(&mut self, delta: &Delta) {
        let key = Key::Text(self.envelope.turn_id.clone(), delta.block_id.to_string());
        let interrupted = delta.interrupted.then_some(true);
        let Some(path) = self.place(&key) else {
            self.insert_as(key.clone(), |birth| {
                let (text, done) = (delta.text.clone(), delta.done);
                TextBlock { id: birth.id, started_at: birth.at, text, done, interrupted, ..TextBlock::default() }.into()
            });
            if delta.done {
                self.closed(&key);
            }
            return;
        };
        if !delta.text.is_empty() {
            self.append(&path, TextField::Text, &delta.text, |block: &mut TextBlock| &mut block.text);
        }
        if delta.done {
            self.set_at(&path, "done", true, |block: &mut TextBlock, done| block.done = done);
        }
        if interrupted.is_some() {
            self.set_at(&path, "interrupted", interrupted, |block: &mut TextBlock, cut| block.interrupted = cut);
        }
        if delta.done {
            self.closed(&key);
        }
    }

    pub(super) fn thinking(&mut self, thinking: &Thinking) {
        let key = Key::Text(self.envelope.turn_id.clone(), thinking.block_id.to_string());
        let done = thinking.done == Some(true);
        let ended_at = done.then_some(self.envelope.ts);
        let interrupted = (done && thinking.interrupted).then_some(true);
        let Some(path) = self.place(&key) else {
            if !(done && thinking.text.is_empty()) {
                self.insert_as(key.clone(), |birth| {
                    let (id, started_at, text) = (birth.id, birth.at, thinking.text.clone());
                    let block = ThinkingBlock::default();
                    ThinkingBlock { id, started_at, ended_at, text, done, interrupted, ..block }.into()
                });
                if done {
                    self.closed(&key);
                }
            }
            return;
        };
        if !thinking.text.is_empty() {
            self.append(&path, TextField::Text, &thinking.text, |block: &mut ThinkingBlock| &mut block.text);
        }
        if !done {
            return;
        }
        // That something is thought is worth showing while it lasts; afterwards only what was thought is.
        if self.block_of(&key).is_some_and(|block: &ThinkingBlock| block.text.is_empty()) {
            return self.remove(&key);
        }
        self.edit_at(&path, |block: &mut ThinkingBlock| {
            block.done = true;
            block.ended_at = ended_at;
            block.interrupted = interrupted;
        });
        self.closed(&key);
    }

    pub(super) fn retracted(&mut self, block_id: &str) {
        self.remove(&Key::Text(self.envelope.turn_id.clone(), block_id.to_owned()));
    }

    /// Text that was said only at the end. What was streamed is not said again.
    pub(super) fn final_text(&mut self, text: &str) {
        let id = self.agent_message();
        let turn = self.fold.open.turn.as_ref();
        // What belongs to the turn stands at the end, with notes in between that belong to none.
        let of_turn = |message: &&Message| message.turn_id.as_ref() == turn || message.role == Role::System;
        let speaks = |message: &Message| {
            let mut texts = message.blocks.iter().filter_map(|block| block.spoken_text());
            message.turn_id.as_ref() == turn && message.role == Role::Agent && texts.any(|text| !text.is_empty())
        };
        let said = self.fold.view.messages.iter().rev().take_while(of_turn).any(speaks);
        if !said && !text.is_empty() {
            self.insert_in(vec![id], |birth| {
                let text = text.to_owned();
                TextBlock { id: birth.id, started_at: birth.at, text, done: true, ..TextBlock::default() }.into()
            });
        }
    }
}
