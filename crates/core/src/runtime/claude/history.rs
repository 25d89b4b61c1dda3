//! Conversations the program has stored: a file of entries that form a tree. The branch that ends last is the conversation; the rest was
//! rewound. Where the files are is not known here.

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::Value;

use super::blocks::Blocks;
use super::output::text_of;
use super::tools::{BackgroundState, CallContext, ResultLine, Tools};
use super::wire::{ApiMessage, Block, Message};
use crate::event::{Event, Part};
use crate::id::MessageId;
use crate::runtime::{ImportedTurn, Output, Report, TextKind};
use crate::time::Timestamp;

/// What the program writes into a conversation as if a person had said it.
const NOT_FROM_USER: &[&str] =
    &["<local-command", "<command-", "[Request interrupted", "<task-notification", "Caveat:"];

/// One line of a stored conversation.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    #[serde(rename = "type")]
    kind: String,
    uuid: Option<String>,
    parent_uuid: Option<String>,
    #[serde(default)]
    is_sidechain: bool,
    #[serde(default)]
    is_meta: bool,
    #[serde(default)]
    is_compact_summary: bool,
    timestamp: Option<Timestamp>,
    message: Option<Value>,
    tool_use_result: Option<Value>,
    cwd: Option<String>,
    title: Option<String>,
    custom_title: Option<String>,
    summary: Option<String>,
}

/// What a list of conversations shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outline {
    pub title: String,
    pub cwd: Option<String>,
    pub updated_at: Option<Timestamp>,
}

/// Reads a stored conversation. What cannot be read in it is left out; there is no better use for half a line.
pub fn read_stored(text: &str) -> (Outline, Vec<ImportedTurn>) {
    let entries: Vec<Entry> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let branch = branch(&entries);
    let mut reader = Reader::default();
    for entry in &branch {
        reader.read(entry);
    }
    let named = |name: fn(&Entry) -> Option<&String>| entries.iter().rev().find_map(name).cloned();
    let title = named(|entry| entry.custom_title.as_ref())
        .or_else(|| named(|entry| entry.title.as_ref()))
        .or_else(|| named(|entry| entry.summary.as_ref()))
        .or_else(|| reader.turns.iter().find_map(|turn| turn.content.iter().find_map(first_line)));
    let outline = Outline {
        title: title.unwrap_or_default(),
        cwd: branch.iter().find_map(|entry| entry.cwd.clone()),
        updated_at: branch.iter().rev().find_map(|entry| entry.timestamp),
    };
    (outline, reader.turns)
}

fn first_line(part: &Part) -> Option<String> {
    match part {
        Part::Text { text } => text.lines().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned),
        Part::Image { .. } | Part::File { .. } => None,
    }
}

/// The entries from the first to the last of the branch that was written last.
fn branch(entries: &[Entry]) -> Vec<&Entry> {
    let by_uuid: HashMap<&str, &Entry> =
        entries.iter().filter_map(|entry| Some((entry.uuid.as_deref()?, entry))).collect();
    let spoken = |entry: &&Entry| !entry.is_sidechain && matches!(entry.kind.as_str(), "user" | "assistant");
    let mut branch = Vec::new();
    let mut at = entries.iter().rev().find(spoken);
    while let Some(entry) = at {
        branch.push(entry);
        if branch.len() > entries.len() {
            break; // a circle
        }
        at = entry.parent_uuid.as_deref().and_then(|uuid| by_uuid.get(uuid).copied());
    }
    branch.reverse();
    branch
}

#[derive(Default)]
struct Reader {
    turns: Vec<ImportedTurn>,
    blocks: Blocks,
    tools: Tools,
}

impl Reader {
    fn read(&mut self, entry: &Entry) {
        let Some(message) = entry.message.as_ref().and_then(|message| ApiMessage::deserialize(message).ok()) else {
            return;
        };
        let at = entry.timestamp.unwrap_or_default();
        let blocks = message.blocks();
        let has_result = blocks.iter().any(|block| matches!(block, Block::ToolResult { .. }));
        if entry.kind == "user" && !has_result {
            return self.user_message(entry, &message, at);
        }
        let mut out = Output::default();
        let name = message.id.clone().unwrap_or_default();
        let line = Message::stored(message, entry.tool_use_result.clone());
        for block in blocks {
            match block {
                Block::Text { text } => self.blocks.finish_block(&name, TextKind::Text, &text, false, &mut out),
                Block::Thinking { thinking } => {
                    self.blocks.finish_block(&name, TextKind::Thinking, &thinking, false, &mut out);
                }
                Block::ToolUse { id, name, input } => self.tools.called(&id, &name, input, None, &mut out),
                Block::ToolResult { tool_use_id: id, content, is_error } => {
                    let context = CallContext { refused: false, interrupting: false, conversation: "" };
                    // What it had in the background then is not there any more.
                    let mut background = BackgroundState::default();
                    let returned = ResultLine { id, content, is_error };
                    self.tools.returned(&returned, &line, context, None, &mut background, &mut out);
                }
                Block::Other => {}
            }
        }
        let Some(turn) = self.turns.last_mut() else { return };
        turn.anchor.clone_from(&entry.uuid);
        turn.ended_at = at;
        let events = out.reports.into_iter().filter_map(|report| match report {
            Report::Fact { event: Event::BackgroundStarted(_), .. } => None,
            Report::Fact { event, .. } | Report::FactWithOutputFile { event, .. } => Some((at, event)),
            _ => None,
        });
        turn.events.extend(events);
    }

    /// What a person said begins a turn.
    fn user_message(&mut self, entry: &Entry, message: &ApiMessage, at: Timestamp) {
        let text = text_of(&message.content);
        let is_said = !entry.is_meta
            && !entry.is_compact_summary
            && !NOT_FROM_USER.iter().any(|beginning| text.trim_start().starts_with(beginning));
        if !is_said {
            return;
        }
        let id = entry.uuid.clone().unwrap_or_else(|| format!("imported-{}", self.turns.len() + 1));
        self.turns.push(ImportedTurn {
            message_id: MessageId::trusted(id.clone()),
            content: super::recorded::parts(&message.content),
            started_at: at,
            events: Vec::<(Timestamp, Event)>::new(),
            ended_at: at,
            anchor: Some(id),
        });
    }
}
