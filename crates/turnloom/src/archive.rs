//! A session in a file: one JSON object per line. First what it is, then its events as they were stored, then the blobs they name.
//!
//! Here is the form and what makes a file whole. Reading a session out of a log and putting one in is done in `cli` and `http`.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use turnloom_core::blob::{Blob, BlobId, BlobRef};
use turnloom_core::event::{Envelope, Event, Part, Record};
use turnloom_core::id::{Seq, SessionId};
use turnloom_core::laws::{self, Ending};
use turnloom_core::session::State;
use turnloom_core::time::Timestamp;

/// The form this version writes, and the only one it reads.
pub const FORMAT: u32 = 1;

/// The first line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// The form of the file; its name tells what the file is.
    pub turnloom_session: u32,
    pub session_id: SessionId,
    pub runtime: String,
    #[serde(default)]
    pub params: Value,
    pub created_at: Timestamp,
    pub head: Seq,
}

/// A blob in a line.
#[derive(Debug, Serialize, Deserialize)]
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
    #[error("the log is broken at {0}; export the session again")]
    Law(laws::Violation),
    #[error("the file ends at event {found}, and should hold {expected}; export the session again")]
    Short { found: Seq, expected: Seq },
    #[error("blob {0} is missing; export the session again")]
    MissingBlob(BlobId),
    #[error("the session was at work when it was exported; stop it, then export it again")]
    NotAtRest,
}

/// The blobs that an event names.
pub fn blobs_of(event: &Event) -> Vec<&BlobRef> {
    #[expect(clippy::wildcard_enum_match_arm, reason = "what spills is listed in `blob::spill`")]
    match event {
        Event::ToolStart(start) => start.blob.iter().collect(),
        Event::ToolResult(result) => result.blob.iter().collect(),
        Event::BackgroundEnded(ended) => ended.blob.iter().collect(),
        Event::ArtifactCreated(artifact) => artifact.blob.iter().collect(),
        Event::ArtifactUpdated(artifact) => artifact.blob.iter().collect(),
        Event::UserMessage(message) => of_parts(&message.content),
        Event::Steer(steer) => steer.content.as_deref().map(of_parts).unwrap_or_default(),
        Event::QueueChanged(changed) => {
            changed.added.as_ref().map(|added| of_parts(&added.content)).unwrap_or_default()
        }
        _ => Vec::new(),
    }
}

fn of_parts(parts: &[Part]) -> Vec<&BlobRef> {
    parts.iter().filter_map(|part| if let Part::Image { blob, .. } = part { blob.as_ref() } else { None }).collect()
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
            if let Ok(blob) = serde_json::from_slice::<BlobLine>(bytes) {
                blobs.push(decode(blob).map_err(wrong)?);
                continue;
            }
            let envelope = Envelope::decode(bytes).map_err(|error| wrong(error.to_string()))?;
            records.push(Record { seq: envelope.seq, json: Bytes::copy_from_slice(bytes) });
            envelopes.push(envelope);
        }
        let state = check(&header, &envelopes, &blobs)?;
        Ok(Self { header, records, blobs, state })
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

fn decode(line: BlobLine) -> Result<Blob, String> {
    let content = BASE64.decode(&line.base64).map_err(|error| format!("blob {}: {error}", line.blob))?;
    if BlobId::of(&content) != line.blob {
        return Err(format!("the content of blob {} is not what its name says", line.blob));
    }
    Ok(Blob { id: line.blob, media_type: line.media_type, content: content.into() })
}
