//! Messages to the program, and their names.

use serde_json::{Value, json};

use crate::event::Part;
use crate::runtime::{Output, Prompt};

pub(super) fn write_message(uuid: &str, content: &Value, out: &mut Output) {
    let message = json!({ "role": "user", "content": content });
    out.write_line(&json!({
        "type": "user", "message": message, "parent_tool_use_id": null, "session_id": "", "uuid": uuid
    }));
}

/// Messages as the program takes them: a text alone as a text, everything else in blocks.
pub(super) fn content_of(messages: &[Prompt]) -> Value {
    let parts: Vec<&Part> = messages.iter().flat_map(|message| &message.content).collect();
    if let [Part::Text { text }] = parts.as_slice() {
        return text.as_str().into();
    }
    let block = |part: &Part| match part {
        Part::Text { text } => json!({ "type": "text", "text": text }),
        Part::Image { media_type, data, .. } => {
            let data = data.as_deref().unwrap_or_default();
            json!({ "type": "image", "source": { "type": "base64", "media_type": media_type, "data": data } })
        }
        // The program reads a file that is mentioned so.
        Part::File { path } if path.contains(' ') => json!({ "type": "text", "text": format!("@\"{path}\"") }),
        Part::File { path } => json!({ "type": "text", "text": format!("@{path}") }),
    };
    parts.into_iter().map(block).collect()
}

/// A message with something before it that its sender did not write.
pub(super) fn with_note(note: &str, content: Value) -> Value {
    let note = json!({ "type": "text", "text": format!("<system-reminder>{note}</system-reminder>") });
    let rest = match content {
        Value::Array(blocks) => blocks,
        text => vec![json!({ "type": "text", "text": text })],
    };
    std::iter::once(note).chain(rest).collect()
}

/// Whether what a person typed is a command of the program.
pub(super) fn is_command(messages: &[Prompt]) -> bool {
    let first = messages.first().and_then(|message| message.content.first());
    matches!(first, Some(Part::Text { text }) if text.starts_with('/'))
}

/// Whether what a person typed is the program's command to compact.
pub(super) fn is_compact_command(messages: &[Prompt]) -> bool {
    let first = messages.first().and_then(|message| message.content.first());
    matches!(first, Some(Part::Text { text }) if text.split_whitespace().next() == Some("/compact"))
}

pub(super) fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}
