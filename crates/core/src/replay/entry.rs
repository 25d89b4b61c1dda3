//! A recording as a file: one JSON object per line, `{"dir":"in"|"out","at_ms":N,"line":MESSAGE}`. `in` is what the host wrote to the agent, `out`
//! what the agent said; a line that was not JSON is a string. More fields may be there.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Who wrote a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// The host, to the agent.
    In,
    /// The agent.
    Out,
}

/// One line of a recording.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    #[serde(rename = "dir")]
    pub direction: Direction,
    #[serde(default)]
    pub at_ms: u64,
    pub line: Value,
}

/// A file that is not a recording.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "line {line} is not part of a recording ({message}); each line must be {{\"dir\":\"in\" or \"out\",\"at_ms\":N,\"line\":...}}"
)]
pub struct Error {
    pub line: usize,
    pub message: String,
}

/// Reads a recording.
pub fn read(text: &str) -> Result<Vec<Entry>, Error> {
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(number, line)| {
            serde_json::from_str(line).map_err(|error| Error { line: number, message: error.to_string() })
        })
        .collect()
}
