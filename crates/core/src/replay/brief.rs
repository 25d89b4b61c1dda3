//! Events in a form that people can review: one line each, long things cut.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{Entry, Recorded, play, read};
use crate::event::{Envelope, Event};
use crate::laws::{self, Ending};

const TEXT: usize = 140;
const ITEMS: usize = 6;

/// Where the recordings are.
pub(crate) fn recordings(runtime: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/transcripts").join(runtime);
    let mut found = Vec::new();
    let mut folders = vec![root];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
            let path = entry.unwrap().path();
            match path.extension().and_then(|extension| extension.to_str()) {
                None if path.is_dir() => folders.push(path),
                Some("jsonl") => found.push(path),
                _ if path.is_dir() => folders.push(path),
                _ => {}
            }
        }
    }
    found.sort();
    assert!(!found.is_empty(), "there are recordings of {runtime}");
    found
}

pub(crate) fn entries(path: &Path) -> Vec<Entry> {
    read(&std::fs::read_to_string(path).unwrap()).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A name for the snapshot of a recording.
pub(crate) fn name(path: &Path) -> String {
    let text = path.with_extension("").to_string_lossy().into_owned();
    text.split_once("transcripts/").map_or(text.clone(), |(_, rest)| rest.replace('/', "__"))
}

/// Plays a recording, checks the laws, and gives it line by line.
pub(crate) fn reviewed(recorded: &mut dyn Recorded, path: &Path) -> String {
    let log = play(recorded, &entries(path));
    must_be_lawful(&log, path, "the whole");
    log.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Every beginning of a recording must leave a lawful log behind as well.
pub(crate) fn lawful_when_cut(fresh: &dyn Fn() -> Box<dyn Recorded>, path: &Path) {
    let entries = entries(path);
    for cut in 0..entries.len() {
        let log = play(fresh().as_mut(), &entries[..cut]);
        must_be_lawful(&log, path, &format!("cut after line {cut}"));
    }
}

fn must_be_lawful(log: &[Envelope], path: &Path, what: &str) {
    let broken = laws::check(log, Ending::AtRest);
    let lines: Vec<String> = log.iter().map(line).collect();
    assert!(broken.is_empty(), "{}, {what}: {broken:?}\n{}", path.display(), lines.join("\n"));
}

/// What was not understood in a log.
pub(crate) fn unparsed(log: &[Envelope]) -> Vec<String> {
    let said = |envelope: &Envelope| match &envelope.event {
        Event::AgentUnparsed(unparsed) => Some(format!("{}: {} {}", unparsed.location, unparsed.error, unparsed.raw)),
        _ => None,
    };
    log.iter().filter_map(said).collect()
}

fn line(envelope: &Envelope) -> String {
    let who = envelope.subagent_id.as_ref().map(|id| format!(" @{id}")).unwrap_or_default();
    let place = if envelope.turn_id.is_some() { "" } else { "- " };
    format!("{place}{}{who} {}", envelope.event.kind(), short(&envelope.event.data()))
}

fn short(value: &Value) -> Value {
    match value {
        Value::String(text) if text.chars().count() > TEXT => {
            format!("{}… ({} bytes)", text.chars().take(TEXT).collect::<String>(), text.len()).into()
        }
        Value::Array(items) if items.len() > ITEMS => format!("[{} items]", items.len()).into(),
        Value::Array(items) => items.iter().map(short).collect(),
        Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), short(value))).collect(),
        other => other.clone(),
    }
}
