//! Threads that Codex has stored: which there are, and what was said in them as events. Asking for them is the `turnloom` crate's work.

use serde_json::Value;

use super::wire::{Item, Page, Thread, Turn};
use super::work::Work;
use crate::event::{Event, Outcome, Part, TurnResult};
use crate::runtime::{Output, Report};

/// A thread that can become a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredThread {
    pub id: String,
    pub title: Option<String>,
    pub cwd: Option<String>,
    pub model: Option<String>,
    /// Seconds since 1970.
    pub updated_at: Option<i64>,
}

/// One turn of a stored thread.
#[derive(Debug, Clone)]
pub struct StoredTurn {
    /// What the person said first.
    pub content: Vec<Part>,
    /// What the agent did, in order.
    pub events: Vec<Event>,
    pub outcome: Outcome,
    /// What Codex calls the turn.
    pub anchor: String,
}

/// The threads in an answer to `thread/list`, and where the next page begins.
pub fn stored_threads(result: &str) -> Result<(Vec<StoredThread>, Option<String>), String> {
    let page: Page = serde_json::from_str(result).map_err(|error| error.to_string())?;
    let thread = |value: Value| {
        let thread: Thread = serde_json::from_value(value).ok()?;
        // A sub-agent's thread is part of its parent's.
        let own = !thread.id.is_empty() && thread.parent_thread_id.is_none();
        own.then(|| StoredThread {
            id: thread.id,
            title: thread.name.or(thread.preview).filter(|title| !title.is_empty()),
            cwd: thread.cwd,
            model: thread.model,
            updated_at: thread.updated_at.or(thread.created_at),
        })
    };
    Ok((page.data.into_iter().filter_map(thread).collect(), page.next_cursor))
}

/// The turns in an answer to `thread/turns/list` with all their items, in the order of the answer, and where the next page begins.
pub fn stored_turns(result: &str) -> Result<(Vec<StoredTurn>, Option<String>), String> {
    let page: Page = serde_json::from_str(result).map_err(|error| error.to_string())?;
    let turns = page.data.into_iter().filter_map(|turn| serde_json::from_value::<Turn>(turn).ok());
    Ok((turns.map(stored_turn).collect(), page.next_cursor))
}

fn stored_turn(turn: Turn) -> StoredTurn {
    let mut work = Work::default();
    work.turn = Some(turn.id.clone());
    let mut out = Output::default();
    let mut content = Vec::new();
    for item in turn.items.into_iter().filter_map(|item| serde_json::from_value::<Item>(item).ok()) {
        match &item {
            Item::UserMessage { content: said, .. } if content.is_empty() => content = said.iter().map(part).collect(),
            item => work.completed(item, &turn.id, &mut out),
        }
    }
    if let Some((_, text)) = work.answer.take() {
        out.report(TurnResult { text });
    }
    let event = |report: Report| match report {
        Report::Fact { event, .. } => Some(event),
        _ => None,
    };
    let outcome = match turn.status.as_str() {
        "completed" => Outcome::Completed,
        "failed" => Outcome::Failed,
        _ => Outcome::Interrupted,
    };
    StoredTurn { content, events: out.reports.into_iter().filter_map(event).collect(), outcome, anchor: turn.id }
}

/// What a person said, as a part of a message.
pub(super) fn part(value: &Value) -> Part {
    let text = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default();
    match text("type") {
        "image" => {
            // `data:image/png;base64,...`
            let inside = text("url").strip_prefix("data:").and_then(|url| url.split_once(";base64,"));
            let (media_type, data) = inside.unwrap_or(("image/*", ""));
            let data = Some(data.to_owned()).filter(|data| !data.is_empty());
            Part::Image { media_type: media_type.to_owned(), data, blob: None }
        }
        "localImage" | "mention" | "skill" => Part::File { path: text("path").to_owned() },
        _ => Part::Text { text: text("text").to_owned() },
    }
}
