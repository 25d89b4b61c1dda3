//! Big things. A payload over the limit leaves its event and becomes a blob, named by its content; the event keeps both ends of it and its
//! name. Where blobs are kept is not known here.

use std::fmt::{self, Write as _};

use bytes::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::event::{Event, Part};

/// What an event may carry itself, unless configured otherwise.
pub const DEFAULT_LIMIT: usize = 16 * 1024;

/// How much of each end an event keeps of what left it.
const END_BYTES: usize = 2 * 1024;

/// The SHA-256 of the content, in hex.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct BlobId(String);

impl BlobId {
    pub fn of(content: &[u8]) -> Self {
        Self(hex(&Sha256::digest(content)))
    }

    /// Accepts a name from outside.
    pub fn parse(text: &str) -> Option<Self> {
        let hex = text.len() == 64 && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        hex.then(|| Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for BlobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Bytes in lower-case hex.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// Content on its way to the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blob {
    pub id: BlobId,
    pub media_type: String,
    pub content: Bytes,
}

/// What an event says of content that is elsewhere.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct BlobRef {
    pub id: BlobId,
    /// In bytes.
    pub size: u64,
    pub media_type: String,
    /// How it begins; empty when it is not text.
    pub head: String,
    /// How it ends; empty when it is not text.
    pub tail: String,
}

/// Moves what is over the limit out of an event, and returns it.
pub fn spill(event: &mut Event, limit: usize) -> Vec<Blob> {
    let mut blobs = Vec::new();
    match event {
        Event::ToolResult(result) => spill_text(&mut result.output, &mut result.blob, limit, &mut blobs),
        Event::BackgroundEnded(ended) => {
            if let Some(output) = &mut ended.output {
                spill_text(output, &mut ended.blob, limit, &mut blobs);
            }
        }
        Event::ArtifactCreated(artifact) => {
            if let Some(content) = &mut artifact.content {
                spill_text(content, &mut artifact.blob, limit, &mut blobs);
            }
        }
        Event::ArtifactUpdated(artifact) => {
            if let Some(content) = &mut artifact.content {
                spill_text(content, &mut artifact.blob, limit, &mut blobs);
            }
        }
        Event::ToolStart(start) => {
            if let Some(input) = &mut start.input {
                let whole = input.to_string();
                if whole.len() > limit {
                    shorten(input, limit / 4);
                    start.blob = Some(store(whole.into_bytes(), "application/json", &mut blobs));
                }
            }
        }
        Event::UserMessage(message) => spill_parts(&mut message.content, limit, &mut blobs),
        Event::Steer(steer) => steer.content.iter_mut().for_each(|content| spill_parts(content, limit, &mut blobs)),
        Event::QueueChanged(queue) => {
            queue.added.iter_mut().for_each(|added| spill_parts(&mut added.content, limit, &mut blobs));
        }
        _ => {}
    }
    blobs
}

/// Both ends of a text with a note between them that says how much is missing.
pub fn both_ends(text: &str, end_bytes: usize) -> String {
    let (head, tail) = ends(text, end_bytes);
    let missing = text.len() - head.len() - tail.len();
    format!("{head}\n[{missing} bytes left out]\n{tail}")
}

fn spill_text(text: &mut String, reference: &mut Option<BlobRef>, limit: usize, blobs: &mut Vec<Blob>) {
    if text.len() <= limit {
        return;
    }
    let preview = both_ends(text, END_BYTES.min(limit / 4));
    let whole = std::mem::replace(text, preview);
    *reference = Some(store(whole.into_bytes(), "text/plain; charset=utf-8", blobs));
}

fn spill_parts(parts: &mut [Part], limit: usize, blobs: &mut Vec<Blob>) {
    for part in parts {
        if let Part::Image { media_type: _, data, blob } = part
            && data.as_ref().is_some_and(|data| data.len() > limit)
        {
            // Kept as the base64 text that came, so that it goes to an agent again unchanged.
            *blob = data.take().map(|data| store(data.into_bytes(), "application/base64", blobs));
        }
    }
}

fn store(content: Vec<u8>, media_type: &str, blobs: &mut Vec<Blob>) -> BlobRef {
    let text = std::str::from_utf8(&content).unwrap_or_default();
    let (head, tail) = ends(text, END_BYTES);
    let id = BlobId::of(&content);
    let reference = BlobRef {
        id: id.clone(),
        size: content.len() as u64,
        media_type: media_type.to_owned(),
        head: head.to_owned(),
        tail: tail.to_owned(),
    };
    blobs.push(Blob { id, media_type: media_type.to_owned(), content: content.into() });
    reference
}

/// Cuts long texts inside a JSON value and leaves its shape.
fn shorten(value: &mut Value, limit: usize) {
    match value {
        Value::String(text) if text.len() > limit => *text = both_ends(text, limit / 4),
        Value::Array(items) => items.iter_mut().for_each(|item| shorten(item, limit)),
        Value::Object(members) => members.values_mut().for_each(|member| shorten(member, limit)),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn ends(text: &str, bytes: usize) -> (&str, &str) {
    let head_end = text.floor_char_boundary(bytes.min(text.len()));
    let tail_start = text.ceil_char_boundary(text.len().saturating_sub(bytes)).max(head_end);
    (text.get(..head_end).unwrap_or_default(), text.get(tail_start..).unwrap_or_default())
}
