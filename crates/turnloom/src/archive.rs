//! A session in a file: one JSON object per line. First what it is, then its events as they were stored, then the blobs they name.
//!
//! Here is the form and what makes a file whole. Reading a session out of a log and putting one in is done in `cli` and `http`.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with::skip_serializing_none;
use turnloom_core::blob::{Blob, BlobId, BlobRef, is_media_type};
use turnloom_core::event::{Envelope, Event, Large, Part, Record, UNREADABLE};
use turnloom_core::id::{Seq, SessionId};
use turnloom_core::laws::{self, Ending};
use turnloom_core::nesting::{self, MAX_EVENT_DEPTH};
use turnloom_core::session::State;
use turnloom_core::time::Timestamp;

/// The form this version writes, and the only one it reads.
pub const FORMAT: u32 = 1;

/// The first line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// The form of the file; its name tells what the file is.
    pub turnloom_session: u32,
    pub session_id: SessionId,
    pub runtime: String,
    /// What it was made with, as far as that means something elsewhere: never its environment, nor what it may run.
    #[serde(default)]
    pub params: Params,
    pub created_at: Timestamp,
    pub head: Seq,
}

/// The parameters in a file, all there are.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Params {
    pub title: Option<String>,
    pub cwd: Option<String>,
    pub model: Option<String>,
    pub mode: Option<String>,
}

/// A blob in a line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BlobLine {
    blob: BlobId,
    media_type: String,
    base64: String,
}

/// A session that was read from a file and is whole.
#[derive(Debug)]
pub struct Archive {
    pub header: Header,
    pub records: Vec<Record>,
    pub blobs: Vec<Blob>,
    pub state: State,
}

/// Why a file is not a session.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the file is empty; make one with `turnloom export`")]
    Empty,
    #[error("line 1 is not the beginning of an exported session: {0}; make one with `turnloom export`")]
    Header(serde_json::Error),
    #[error("the file has form {0}, and this turnloom reads form {FORMAT}; use a newer turnloom")]
    Format(u32),
    #[error("line {line}: {cause}; export the session again")]
    Line { line: usize, cause: String },
    #[error(
        "line {line}: a `{kind}` has `{member}`, which this turnloom does not know; use the version that wrote the file, or a newer one"
    )]
    Newer { line: usize, kind: String, member: String },
    #[error("the log is broken at {0}; export the session again")]
    Law(laws::Violation),
    #[error("the file ends at event {found}, and should hold {expected}; export the session again")]
    Short { found: Seq, expected: Seq },
    #[error("blob {0} is missing; export the session again")]
    MissingBlob(BlobId),
    #[error("nobody wants the file any more")]
    Unwanted,
    #[error("the session was at work when it was exported; stop it, then export it again")]
    NotAtRest,
}

/// The blobs that an event names.
pub fn blobs_of(event: &Event) -> Vec<&BlobRef> {
    let mut blobs = Vec::new();
    event.each_blob(&mut |blob| blobs.push(blob));
    blobs
}

/// A blob as its line.
pub fn blob_line(blob: &Blob) -> String {
    let line =
        BlobLine { blob: blob.id.clone(), media_type: blob.media_type.clone(), base64: BASE64.encode(&blob.content) };
    serde_json::to_string(&line).unwrap_or_default()
}

impl Archive {
    /// Reads a file and makes sure that it is all there and keeps the laws.
    pub fn read(file: &[u8]) -> Result<Self, Error> {
        Self::read_while(file, &|| true)
    }

    /// The same, as long as somebody wants it: a large file takes its time.
    pub fn read_while(file: &[u8], is_wanted: &dyn Fn() -> bool) -> Result<Self, Error> {
        let mut lines = (1..).zip(file.split(|byte| *byte == b'\n')).filter(|(_, line)| !line.trim_ascii().is_empty());
        let (_, first) = lines.next().ok_or(Error::Empty)?;
        let header: Header = serde_json::from_slice(first).map_err(Error::Header)?;
        if header.turnloom_session != FORMAT {
            return Err(Error::Format(header.turnloom_session));
        }
        let (mut records, mut envelopes, mut blobs) = (Vec::new(), Vec::new(), Vec::new());
        for (line, bytes) in lines {
            let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
            let wrong = |cause: String| Error::Line { line, cause };
            if !is_wanted() {
                return Err(Error::Unwanted);
            }
            if let Ok(blob) = serde_json::from_slice::<BlobLine>(bytes) {
                blobs.push(decode(blob).map_err(wrong)?);
                continue;
            }
            if !nesting::text_fits(bytes, MAX_EVENT_DEPTH) {
                return Err(wrong(format!("it is nested deeper than {MAX_EVENT_DEPTH} levels")));
            }
            let envelope = Envelope::decode(bytes).map_err(|error| wrong(error.to_string()))?;
            unsafe_to_take(&envelope.event).map_or(Ok(()), |why| Err(wrong(why)))?;
            let envelope = normalized(envelope, &header.session_id);
            let record = envelope.encode();
            if let Some(member) = left_out(bytes, &record.json) {
                return Err(Error::Newer { line, kind: envelope.event.kind().to_owned(), member });
            }
            records.push(record);
            envelopes.push(envelope);
        }
        let state = check(&header, &envelopes, &blobs)?;
        Ok(Self { header, records, blobs, state })
    }
}

/// Brings an event into the form of this version, whoever wrote the file: each member appears once. An event of an unknown type is kept.
fn normalized(envelope: Envelope, session_id: &SessionId) -> Envelope {
    let event = match envelope.event {
        Event::Unknown(_) => Event::from_value(envelope.event.kind(), &envelope.event.data()),
        known => known,
    };
    Envelope { session_id: session_id.clone(), event, ..envelope }
}

/// The first member of a line that is not in the form that would be kept of it. It may change what a fact means, so the fact is not kept without it;
/// one that is empty says nothing.
fn left_out(line: &[u8], kept: &[u8]) -> Option<String> {
    if line == kept {
        return None;
    }
    let (line, kept) = (serde_json::from_slice(line).ok()?, serde_json::from_slice(kept).ok()?);
    missing(&line, &kept)
}

fn missing(given: &Value, kept: &Value) -> Option<String> {
    match (given, kept) {
        (Value::Object(given), Value::Object(kept)) => given.iter().find_map(|(name, value)| match kept.get(name) {
            Some(kept) => missing(value, kept).map(|inner| format!("{name}.{inner}")),
            None => (!says_nothing(value)).then(|| name.clone()),
        }),
        (Value::Array(given), Value::Array(kept)) => {
            let mut pairs = given.iter().zip(kept).enumerate();
            pairs.find_map(|(at, (given, kept))| missing(given, kept).map(|inner| format!("{at}.{inner}")))
        }
        _ => None,
    }
}

fn says_nothing(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Bool(true) => false,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
    }
}

fn check(header: &Header, envelopes: &[Envelope], blobs: &[Blob]) -> Result<State, Error> {
    let found = envelopes.last().map_or(Seq::ZERO, |last| last.seq);
    if let Some(violation) = laws::check(envelopes, Ending::Live).into_iter().next() {
        return Err(Error::Law(violation));
    }
    if found != header.head {
        return Err(Error::Short { found, expected: header.head });
    }
    let there: BTreeSet<&BlobId> = blobs.iter().map(|blob| &blob.id).collect();
    let mut named = envelopes.iter().flat_map(|envelope| blobs_of(&envelope.event));
    if let Some(missing) = named.find(|blob| !there.contains(&blob.id)) {
        return Err(Error::MissingBlob(missing.id.clone()));
    }
    let mut state = State::default();
    for envelope in envelopes {
        state.apply(envelope);
    }
    // What was open or waited would begin to run here, where nobody asked for it.
    if state.at_rest() { Ok(state) } else { Err(Error::NotAtRest) }
}

/// What no log of ours says, and what would reach an agent's program as something else than it looks.
fn unsafe_to_take(event: &Event) -> Option<String> {
    let broken = media_types_of(event).into_iter().find(|media_type| !is_media_type(media_type));
    if let Some(media_type) = broken {
        return Some(format!("{media_type:?} is not a media type"));
    }
    let must = |fits: fn(&str) -> bool, name: &str, word: Option<&str>| {
        word.filter(|word| !fits(word)).map(|word| format!("`{name}` must not be {word:?}"))
    };
    match event {
        Event::SessionReady(ready) => must(is_name, "provider_session_id", ready.provider_session_id.as_deref())
            .or_else(|| must(is_word, "model", ready.model.as_deref()))
            .or_else(|| must(is_word, "mode", ready.mode.as_deref())),
        Event::ModelChanged(changed) => must(is_word, "model", Some(&changed.model)),
        Event::ModeChanged(changed) => must(is_word, "mode", Some(&changed.mode)),
        Event::Done(done) => must(is_name, "anchor", done.anchor.as_deref()),
        Event::Unknown(unknown) if unknown.kind == UNREADABLE => {
            Some("an event could not be read when it was exported".to_owned())
        }
        Event::Unknown(unknown) if Event::KINDS.contains(&unknown.kind.as_str()) => {
            Some(format!("this is not what a `{}` says", unknown.kind))
        }
        _ => None,
    }
}

/// Every media type that an event names.
fn media_types_of(event: &Event) -> Vec<String> {
    let mut found: Vec<String> = blobs_of(event).into_iter().map(|blob| blob.media_type.clone()).collect();
    if let Event::ArtifactCreated(artifact) = event {
        found.push(artifact.media_type.clone());
    }
    // A copy, because the visitor may move large values out of the event.
    event.clone().each_large(&mut |large| match large {
        Large::Image(image) => found.push(std::mem::take(&mut image.media_type)),
        Large::Part(Part::Image { media_type, .. }) => found.push(std::mem::take(media_type)),
        Large::Part(Part::Text { .. } | Part::File { .. }) | Large::Text(..) | Large::Json(..) => {}
    });
    found
}

/// A name that a program takes for a name: no option, no path out of where it looks.
fn is_word(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 256
        && !text.starts_with('-')
        && !text.contains("..")
        && !text.chars().any(char::is_control)
}

/// A word that is no path at all: agents look for files that are called so.
fn is_name(text: &str) -> bool {
    is_word(text) && !text.contains('/')
}

fn decode(line: BlobLine) -> Result<Blob, String> {
    if !is_media_type(&line.media_type) {
        return Err(format!("{:?} is not a media type", line.media_type));
    }
    let content = BASE64.decode(&line.base64).map_err(|error| format!("blob {}: {error}", line.blob))?;
    if BlobId::of(&content) != line.blob {
        return Err(format!("the content of blob {} is not what its name says", line.blob));
    }
    Ok(Blob { id: line.blob, media_type: line.media_type, content: content.into() })
}
