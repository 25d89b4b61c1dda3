//! Threads that Codex has stored: which there are, and what was said in them as events. Asking for them is the `turnloom` crate's work.

use serde_json::Value;

use super::wire::{Item, Page, Thread, Turn};
use super::work::ThreadWork;
use crate::event::{Event, Part, TurnResult};
use crate::id::MessageId;
use crate::runtime::{ImportedTurn, Output, Report};
use crate::time::Timestamp;

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
pub fn stored_turns(result: &str) -> Result<(Vec<ImportedTurn>, Option<String>), String> {
    let page: Page = serde_json::from_str(result).map_err(|error| error.to_string())?;
    let turns = page.data.into_iter().filter_map(|turn| serde_json::from_value::<Turn>(turn).ok());
    Ok((turns.map(stored_turn).collect(), page.next_cursor))
}

fn stored_turn(turn: Turn) -> ImportedTurn {
    let seconds = |seconds: Option<i64>| seconds.map(|seconds| Timestamp::from_millis(seconds.saturating_mul(1000)));
    let started_at = seconds(turn.started_at).unwrap_or_default();
    let mut work = ThreadWork::default();
    work.turn = Some(turn.id.clone());
    let mut imported = ImportedTurn {
        message_id: MessageId::trusted(&turn.id),
        content: Vec::new(),
        started_at,
        events: Vec::new(),
        ended_at: seconds(turn.completed_at).unwrap_or(started_at),
        anchor: Some(turn.id.clone()),
    };
    let mut at = started_at;
    for value in turn.items {
        at = value.get("completedAtMs").and_then(Value::as_i64).map_or(at, Timestamp::from_millis).max(at);
        let Ok(item) = serde_json::from_value::<Item>(value) else { continue };
        match &item {
            Item::UserMessage { content, client_id } if imported.content.is_empty() => {
                imported.content = content.iter().map(part).collect();
                imported.message_id = client_id.as_ref().map_or(imported.message_id, MessageId::trusted);
            }
            item => {
                let mut out = Output::default();
                work.completed(item, &turn.id, &mut out);
                imported.events.extend(events(out).map(|event| (at, event)));
            }
        }
    }
    imported.ended_at = imported.ended_at.max(at);
    if let Some((_, text)) = work.answer.take() {
        imported.events.push((at, TurnResult { text, structured_output: None }.into()));
    }
    imported
}

fn events(out: Output) -> impl Iterator<Item = Event> {
    out.reports.into_iter().filter_map(|report| match report {
        Report::Fact { event, .. } => Some(event),
        _ => None,
    })
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{stored_threads, stored_turns};
    use crate::event::Part;

    #[test]
    fn stored_turns_become_facts() {
        let page = json!({ "data": [{
            "id": "u1", "status": "completed", "startedAt": 10, "completedAt": 12,
            "items": [
                { "type": "userMessage", "id": "a", "clientId": "mine", "content": [{ "type": "text", "text": "list" }] },
                { "type": "commandExecution", "id": "c", "command": "ls", "status": "completed", "exitCode": 0,
                  "aggregatedOutput": "x\n", "completedAtMs": 11000 },
                { "type": "agentMessage", "id": "m", "text": "One file.", "completedAtMs": 11500 },
            ],
        }], "nextCursor": null });
        let (turns, next) = stored_turns(&page.to_string()).unwrap();
        assert_eq!((turns.len(), next), (1, None));
        assert_eq!(turns[0].content, [Part::Text { text: "list".into() }]);
        assert_eq!((turns[0].message_id.as_str(), turns[0].anchor.as_deref()), ("mine", Some("u1")));
        let kinds: Vec<_> = turns[0].events.iter().map(|(at, event)| (at.millis(), event.kind())).collect();
        assert_eq!(kinds, [(11000, "tool_start"), (11000, "tool_result"), (11500, "delta"), (11500, "result")]);
        assert_eq!(turns[0].ended_at.millis(), 12000);
    }

    #[test]
    fn threads_of_sub_agents_are_not_listed() {
        let page = json!({ "data": [
            { "id": "t", "name": null, "preview": "hello", "cwd": "/w", "updatedAt": 5 },
            { "id": "c", "parentThreadId": "t" },
        ], "nextCursor": "more" });
        let (threads, next) = stored_threads(&page.to_string()).unwrap();
        assert_eq!((threads.len(), next.as_deref()), (1, Some("more")));
        assert_eq!((threads[0].title.as_deref(), threads[0].updated_at), (Some("hello"), Some(5)));
        assert!(stored_threads("17").is_err());
    }
}
