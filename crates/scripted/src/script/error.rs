//! What is wrong with a script, and where.

use std::ops::Range;

/// A script that cannot be played.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct ScriptError {
    /// Does not change between versions: `bad_toml`, `bad_reply`, `bad_uses`, `bad_step`, `bad_order`, `bad_value`.
    pub code: &'static str,
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    pub message: String,
}

impl ScriptError {
    pub(super) fn at(text: &str, span: Option<Range<usize>>, code: &'static str, message: impl Into<String>) -> Self {
        let start = span.map_or(0, |span| span.start);
        let before = text.get(..start).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        Self { code, line, column, message: message.into() }
    }
}
