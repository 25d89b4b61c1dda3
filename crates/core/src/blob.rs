//! Large payloads. A payload over the limit is moved out of its event and becomes a blob, named by the hash of its content. The event keeps the
//! blob's name and both ends of the content. Not here: where blobs are stored.

use std::fmt;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::event::{Event, Image, Large, Part};

/// What an event may carry itself, unless configured otherwise.
pub const DEFAULT_LIMIT: usize = 16 * 1024;

/// The longest media type; real ones have some dozen characters.
const MAX_TYPE_BYTES: usize = 255;

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
    data_encoding::HEXLOWER.encode(bytes)
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

/// Whether this says what kind of content something is, in a form that every header and every reader takes.
pub fn is_media_type(text: &str) -> bool {
    let is_token = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$&^_.+-*".contains(&byte))
    };
    let essence = text.split(';').next().unwrap_or_default().trim();
    let plain = text.len() <= MAX_TYPE_BYTES && text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
    plain && essence.split_once('/').is_some_and(|(kind, subtype)| is_token(kind) && is_token(subtype))
}

/// Moves what is over the limit out of an event, and returns it. What agents call things that are no text is made a media type if it is none.
pub fn spill(event: &mut Event, limit: usize) -> Vec<Blob> {
    let mut blobs = Vec::new();
    if let Event::ArtifactCreated(artifact) = event {
        fix_media_type(&mut artifact.media_type);
    }
    event.each_large(&mut |part| match part {
        Large::Text(text, reference) => spill_text(text, reference, limit, &mut blobs),
        Large::Json(value, reference) => spill_json(value, reference, limit, &mut blobs),
        Large::Image(image) => spill_image(image, &mut blobs),
        Large::Part(part) => spill_part(part, limit, &mut blobs),
    });
    blobs
}

/// Keeps bytes in the store, and says where they are.
pub(crate) fn keep(content: Vec<u8>, media_type: &str, blobs: &mut Vec<Blob>) -> BlobRef {
    store(content, media_type, blobs)
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

fn spill_json(value: &mut Value, reference: &mut Option<BlobRef>, limit: usize, blobs: &mut Vec<Blob>) {
    let whole = value.to_string();
    if whole.len() > limit {
        shorten(value, limit / 4);
        *reference = Some(store(whole.into_bytes(), "application/json", blobs));
    }
}

fn spill_part(part: &mut Part, limit: usize, blobs: &mut Vec<Blob>) {
    let Part::Image { media_type, data, blob } = part else { return };
    fix_media_type(media_type);
    if data.as_ref().is_some_and(|data| data.len() > limit) {
        // Kept as the base64 text that came, so that it goes to an agent again unchanged.
        *blob = data.take().map(|data| store(data.into_bytes(), "application/base64", blobs));
    }
}

/// A picture is nothing to read in a log, so it always leaves its event: as the bytes that a browser draws.
fn spill_image(image: &mut Image, blobs: &mut Vec<Blob>) {
    fix_media_type(&mut image.media_type);
    let Some(data) = image.data.take() else { return };
    match BASE64_STANDARD.decode(data.trim()) {
        Ok(bytes) => {
            if let Some(media_type) = picture_type(&bytes) {
                media_type.clone_into(&mut image.media_type);
            }
            // What it is called comes from outside; only a picture's name is taken over to the store.
            let media_type = if image.media_type.starts_with("image/") { image.media_type.as_str() } else { UNKNOWN };
            image.blob = Some(store(bytes, media_type, blobs));
        }
        Err(_) => image.blob = Some(store(data.into_bytes(), UNKNOWN, blobs)),
    }
}

const UNKNOWN: &str = "application/octet-stream";

fn fix_media_type(media_type: &mut String) {
    if !is_media_type(media_type) {
        UNKNOWN.clone_into(media_type);
    }
}

/// What kind of picture this is, by its first bytes.
pub fn picture_type(bytes: &[u8]) -> Option<&'static str> {
    let kinds: [(&str, &[u8]); 4] =
        [("image/png", b"\x89PNG"), ("image/jpeg", b"\xff\xd8\xff"), ("image/gif", b"GIF8"), ("image/webp", b"RIFF")];
    kinds.into_iter().find(|(_, first)| bytes.starts_with(first)).map(|(media_type, _)| media_type)
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

#[cfg(test)]
mod tests;
