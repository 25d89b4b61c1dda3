//! Files that an agent gives to people: a text of its own, or a file that was read for it.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Outcome, Served, read};
use crate::blob;
use crate::component;
use crate::event::{ArtifactCreated, ArtifactUpdated, ArtifactVersion};
use crate::host_tools::{DELEGATE, DELEGATE_MESSAGE, MAX_FILE_BYTES, PUBLISH_ARTIFACT, media_type_of};
use crate::runtime::{HostCall, HostFile, Report};
use crate::session::machine::{Machine, Output};
use crate::time::Timestamp;

/// What a text is, if nobody says what.
const USUAL: &str = "text/markdown";

#[derive(Debug, Deserialize)]
struct Publish {
    title: String,
    content: Option<String>,
    path: Option<String>,
    media_type: Option<String>,
    artifact_id: Option<String>,
    label: Option<String>,
}

/// The path of the file that a call wants to publish.
fn wanted_path(call: &HostCall) -> Option<&str> {
    let path = call.input.get("path").and_then(Value::as_str)?;
    Some(path).filter(|_| call.name == PUBLISH_ARTIFACT)
}

impl Machine {
    /// The file that a report needs before the session can hear it: whoever reads files adds it.
    pub fn wanted_file<'a>(&self, report: &'a Report) -> Option<&'a str> {
        match report {
            Report::HostCall(call) if call.file.is_none() => wanted_path(call),
            _ => None,
        }
    }

    pub(super) fn publish(&mut self, call: &HostCall, at: Timestamp, out: &mut Output) -> Outcome {
        let Publish { title, content, path, media_type, artifact_id, label } = read(call, &[])?;
        if title.trim().is_empty() {
            return Err("`title` must say something".to_owned());
        }
        let bytes = match (content, &path, &call.file) {
            (Some(_), Some(_), _) => return Err("give content or path, not both".to_owned()),
            (Some(content), None, _) => content.into_bytes(),
            (None, Some(_), Some(HostFile::Content(bytes))) => bytes.clone(),
            (None, Some(_), Some(HostFile::Unreadable(why))) => return Err(why.clone()),
            (None, Some(path), None) => return Err(format!("{path:?} cannot be read here; give its content")),
            (None, None, _) => return Err("give content, or the path of a file in the working directory".to_owned()),
        };
        if bytes.len() as u64 > MAX_FILE_BYTES {
            return Err(format!("this has {} bytes; an artifact has at most {MAX_FILE_BYTES}", bytes.len()));
        }
        let media_type = match (media_type, &path) {
            (Some(given), _) if !blob::is_media_type(&given) => {
                return Err(format!("{given:?} is no media type; one is text/html"));
            }
            (Some(given), _) => given,
            (None, Some(path)) => media_type_of(path, &bytes).to_owned(),
            (None, None) => USUAL.to_owned(),
        };
        let artifact_id = match artifact_id {
            Some(id) if !component::is_id(&id) => {
                return Err(format!("{id:?} cannot be an artifact_id: it has 1 to 128 letters, digits, `-_.:`"));
            }
            Some(id) => id,
            None => self.free_artifact(),
        };
        // What is drawn, and what is no text, is kept as the bytes that it is.
        let (content, blob) = match String::from_utf8(bytes) {
            Ok(text) if !media_type.starts_with("image/") => (Some(text), None),
            Ok(text) => (None, Some(blob::keep(text.into_bytes(), &media_type, &mut out.blobs))),
            Err(error) => (None, Some(blob::keep(error.into_bytes(), &media_type, &mut out.blobs))),
        };
        let known = self.state.artifacts.get(&artifact_id).copied();
        let version = known.map_or(1, |version| version.saturating_add(1));
        if known.is_some() {
            let (artifact_id, title) = (artifact_id.clone(), Some(title));
            let updated = ArtifactUpdated { artifact_id, title, content, blob, ..ArtifactUpdated::default() };
            self.emit_for(call, updated, at, out);
        } else {
            let artifact_id = artifact_id.clone();
            let created =
                ArtifactCreated { artifact_id, title, media_type, path, content, blob, ..ArtifactCreated::default() };
            self.emit_for(call, created, at, out);
        }
        if known.is_some() || label.is_some() {
            let artifact_id = artifact_id.clone();
            let versioned = ArtifactVersion { artifact_id, version, label, ..ArtifactVersion::default() };
            self.emit_for(call, versioned, at, out);
        }
        Ok(Served::Now(json!({ "artifact_id": artifact_id, "version": version })))
    }

    fn free_artifact(&self) -> String {
        let is_free = |id: &String| !self.state.artifacts.contains_key(id);
        let numbers = 1..=self.state.artifacts.len() + 1;
        numbers.map(|number| format!("artifact-{number}")).find(is_free).unwrap_or_else(|| "artifact".to_owned())
    }
}

/// Whether a call reads a file.
pub(in crate::session) fn reading_path(call: &HostCall) -> bool {
    wanted_path(call).is_some()
}

/// Whether a call has another agent do something.
pub(in crate::session) fn delegates(call: &HostCall) -> bool {
    [DELEGATE, DELEGATE_MESSAGE].contains(&call.name.as_str())
}

/// The call of a report which rules may have something against: it reads a file, or delegates.
pub(in crate::session) fn ruled(report: &Report) -> Option<&HostCall> {
    match report {
        Report::HostCall(call) => (reading_path(call) || delegates(call)).then_some(call.as_ref()),
        _ => None,
    }
}
