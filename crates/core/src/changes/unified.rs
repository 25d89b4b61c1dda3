//! Parses unified diffs into files and hunks. The line counts of a hunk say where it ends, so a removed line that looks like a header is treated as a
//! line.

use serde::{Deserialize, Serialize};

/// What one diff says of one file.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct FilePatch {
    /// `None`: it was not there.
    pub(super) from: Option<String>,
    /// `None`: it is not there any more.
    pub(super) to: Option<String>,
    pub(super) hunks: Vec<Hunk>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Hunk {
    /// Lines before it, as the file was then.
    pub(super) skip: u64,
    pub(super) lines: Vec<Line>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Line {
    Same(String),
    Gone(String),
    New(String),
}

/// The files of a diff. What is not part of a hunk or of a header is passed over.
pub(super) fn parse(diff: &str) -> Vec<FilePatch> {
    let mut files: Vec<FilePatch> = Vec::new();
    let mut from = None;
    let mut left = (0, 0);
    for line in diff.split('\n') {
        let line = line.strip_suffix('\r').unwrap_or(line);
        if left != (0, 0) {
            let said = match line.split_at_checked(1) {
                Some(("+", text)) => Some(Line::New(text.to_owned())),
                Some(("-", text)) => Some(Line::Gone(text.to_owned())),
                Some((" ", text)) => Some(Line::Same(text.to_owned())),
                // Some programs leave out the space of an empty line.
                None => Some(Line::Same(String::new())),
                Some(_) => None,
            };
            let hunk = files.last_mut().and_then(|file| file.hunks.last_mut());
            if let (Some(said), Some(hunk)) = (said, hunk) {
                let (old, new) = match said {
                    Line::Same(_) => (1, 1),
                    Line::Gone(_) => (1, 0),
                    Line::New(_) => (0, 1),
                };
                left = (u64::saturating_sub(left.0, old), u64::saturating_sub(left.1, new));
                hunk.lines.push(said);
            }
        } else if let Some(path) = line.strip_prefix("--- ") {
            from = Some(path.to_owned());
        } else if let (Some(to), Some(from)) = (line.strip_prefix("+++ "), from.take()) {
            files.push(FilePatch { from: name(&from, "a/"), to: name(to, "b/"), hunks: Vec::new() });
        } else if let (Some((old, new)), Some(file)) = (header(line), files.last_mut()) {
            left = (old.1, new.1);
            // A hunk that takes nothing stands after the line it names.
            let skip = if old.1 == 0 { old.0 } else { old.0.saturating_sub(1) };
            file.hunks.push(Hunk { skip, lines: Vec::new() });
        }
    }
    files
}

fn name(text: &str, side: &str) -> Option<String> {
    let path = text.split('\t').next().unwrap_or(text);
    (path != "/dev/null").then(|| path.strip_prefix(side).unwrap_or(path).to_owned())
}

/// `@@ -1,2 +3,4 @@`: where, and how many lines, on both sides.
fn header(line: &str) -> Option<((u64, u64), (u64, u64))> {
    let (ranges, _) = line.strip_prefix("@@ -")?.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    let range = |text: &str| match text.split_once(',') {
        Some((start, count)) => Some((start.parse().ok()?, count.parse().ok()?)),
        None => Some((text.parse().ok()?, 1)),
    };
    Some((range(old)?, range(new)?))
}
