//! How things get on the page: lines, marks, margins, and the blank line between what is different.

use turnloom_core::id::SubagentId;

use super::style::{Ink, Look, Medium};
use super::text::{cut, one_line};
use super::{Channel, MARGIN, Piece, Renderer, Section};

impl Renderer {
    pub(super) fn look(&self, channel: Channel) -> Look {
        match channel {
            Channel::Answer => self.answer,
            Channel::Activity => self.activity,
        }
    }

    pub(super) fn print(&mut self, channel: Channel, text: &str) {
        if text.is_empty() {
            return;
        }
        match self.pieces.last_mut() {
            Some(last) if last.channel == channel => last.text.push_str(text),
            _ => self.pieces.push(Piece { channel, text: text.to_owned() }),
        }
    }

    /// Ends the line of the open block.
    pub(super) fn close(&mut self) {
        if let Some(mut open) = self.open.take() {
            let rest = open.prose.end();
            self.print(open.channel, &rest);
        }
    }

    /// Begins something: ends what is open, and leaves a blank line before what is different.
    pub(super) fn section(&mut self, section: Section) {
        self.close();
        let together = self.last == Section::Lines && section == Section::Lines;
        if self.last != Section::Nothing && !together {
            // A file with the answer alone has its paragraphs apart as well.
            let channel = if section == Section::Text && self.answered { Channel::Answer } else { Channel::Activity };
            self.print(channel, "\n");
        }
        self.last = section;
    }

    /// One line under its mark.
    pub(super) fn note(&mut self, by: Option<&SubagentId>, ink: Ink, mark: &str, text: &str) {
        self.section(Section::Lines);
        let room = self.room(by).saturating_sub(2);
        let text = cut(text, room);
        let text = if ink == Ink::Dim { self.activity.paint(Ink::Dim, &text) } else { text };
        let line = format!("{}{} {text}\n", self.margin(by), self.activity.paint(ink, mark));
        self.print(Channel::Activity, &line);
    }

    /// A line that belongs to the one above it.
    pub(super) fn line(&mut self, by: Option<&SubagentId>, text: &str, ink: Ink) {
        let text = cut(text, self.room(by));
        let line = format!("{}{}\n", self.margin(by), self.activity.paint(ink, &text));
        self.print(Channel::Activity, &line);
    }

    pub(super) fn detail(&mut self, by: Option<&SubagentId>, name: &str, what: &str) {
        let text = format!("{name}  {}", one_line(what));
        self.note(by, Ink::Dim, "▪", &text);
    }

    pub(super) fn named(&self, id: &str) -> String {
        self.names.get(id).cloned().unwrap_or_else(|| one_line(id))
    }

    /// What stands before a line: more of it for a sub-agent's.
    pub(super) fn margin(&self, by: Option<&SubagentId>) -> String {
        let bar = self.activity.paint(Ink::Dim, "│ ");
        format!("{MARGIN}{}", bar.repeat(self.depth(by)))
    }

    pub(super) fn margin_width(&self, by: Option<&SubagentId>) -> usize {
        MARGIN.len() + 2 * self.depth(by)
    }

    pub(super) fn room(&self, by: Option<&SubagentId>) -> usize {
        match self.activity.medium {
            Medium::Screen => self.activity.width.saturating_sub(self.margin_width(by) + 1),
            // A pipe has no edge, but nobody reads a line of a megabyte.
            Medium::Pipe => PIPE_LINE,
        }
    }
}

/// The longest line that goes into a pipe.
const PIPE_LINE: usize = 400;
