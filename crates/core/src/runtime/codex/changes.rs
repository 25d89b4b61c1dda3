//! Changes of files as diffs: of one item, and of the turn as a whole.

use serde_json::{Value, json};

use super::wire::{Change, ChangeKind};
use crate::event::{DiffUpdated, FileChange, FileDiff};

/// One diff for all changes of an item. Nothing where no content is known.
pub(super) fn diff_of(changes: &[Change]) -> Option<String> {
    let diffs: Vec<String> = changes.iter().filter(|change| !change.diff.is_empty()).map(unified).collect();
    (!diffs.is_empty()).then(|| diffs.concat())
}

/// What a tool's input, or a person who is asked, sees of the changes.
pub(super) fn described(changes: &[Change]) -> Value {
    changes.iter().map(|change| json!({ "path": change.path, "kind": change.kind.name() })).collect()
}

/// One line per file.
pub(super) fn listed(changes: &[Change]) -> String {
    let line = |change: &Change| {
        let letter = match change.kind.name() {
            "add" => 'A',
            "delete" => 'D',
            _ => 'M',
        };
        format!("{letter} {}", change.path)
    };
    changes.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn unified(change: &Change) -> String {
    let Change { path, kind, diff } = change;
    let whole = |sign: char| {
        diff.lines().flat_map(|line| [sign.to_string(), line.to_owned(), "\n".to_owned()]).collect::<String>()
    };
    let count = diff.lines().count();
    let to = match kind {
        ChangeKind::Typed { move_path: Some(to), .. } => to,
        ChangeKind::Typed { .. } | ChangeKind::Named(_) => path,
    };
    match kind.name() {
        "add" => format!("--- /dev/null\n+++ b/{}\n@@ -0,0 +1,{count} @@\n{}", without_prefix(path), whole('+')),
        "delete" => format!("--- a/{}\n+++ /dev/null\n@@ -1,{count} +0,0 @@\n{}", without_prefix(path), whole('-')),
        _ => format!("--- a/{}\n+++ b/{}\n{}\n", without_prefix(path), without_prefix(to), diff.trim_end_matches('\n')),
    }
}

fn without_prefix(path: &str) -> &str {
    path.trim_start_matches('/')
}

/// Takes a diff in the way of git apart into its files.
pub(super) fn of_turn(diff: &str) -> DiffUpdated {
    let mut files: Vec<FileDiff> = Vec::new();
    for line in diff.split_inclusive('\n') {
        if let Some(paths) = line.trim_end().strip_prefix("diff --git ") {
            let path = paths.rsplit_once(" b/").map_or(paths, |(_, path)| path).to_owned();
            files.push(FileDiff { path, kind: FileChange::Modified, diff: String::new() });
        } else if files.is_empty() && !line.trim().is_empty() {
            files.push(FileDiff { path: String::new(), kind: FileChange::Modified, diff: String::new() });
        }
        let Some(file) = files.last_mut() else { continue };
        file.kind = match line {
            line if line.starts_with("new file mode") => FileChange::Added,
            line if line.starts_with("deleted file mode") => FileChange::Deleted,
            line if line.starts_with("rename to") => FileChange::Renamed,
            _ => file.kind,
        };
        file.diff.push_str(line);
    }
    DiffUpdated { files }
}

#[cfg(test)]
mod tests {
    use super::{diff_of, listed, of_turn};
    use crate::event::FileChange;
    use crate::runtime::codex::wire::{Change, ChangeKind};

    #[test]
    fn changes_become_one_diff() {
        let change = |path: &str, kind: &str, diff: &str| Change {
            path: path.into(),
            kind: ChangeKind::Typed { kind: kind.into(), move_path: None },
            diff: diff.into(),
        };
        let changes = [
            change("/w/new.md", "add", "one\ntwo\n"),
            change("/w/old.md", "delete", "gone\n"),
            change("/w/a.py", "update", "@@ -1 +1 @@\n-a\n+b\n"),
        ];
        assert_eq!(
            diff_of(&changes).unwrap(),
            "--- /dev/null\n+++ b/w/new.md\n@@ -0,0 +1,2 @@\n+one\n+two\n--- a/w/old.md\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-gone\n\
             --- a/w/a.py\n+++ b/w/a.py\n@@ -1 +1 @@\n-a\n+b\n"
        );
        assert_eq!(listed(&changes), "A /w/new.md\nD /w/old.md\nM /w/a.py");
        assert_eq!(diff_of(&[change("/w/a", "add", "")]), None);
    }

    #[test]
    fn a_turns_diff_is_taken_apart() {
        let diff = "diff --git a/N.md b/N.md\nnew file mode 100644\n--- /dev/null\n+++ b/N.md\n@@ -0,0 +1 @@\n+x\n\
                    diff --git a/src/a b.py b/src/a b.py\n--- a/src/a b.py\n+++ b/src/a b.py\n";
        let files = of_turn(diff).files;
        let seen: Vec<_> = files.iter().map(|file| (file.path.as_str(), file.kind)).collect();
        assert_eq!(seen, [("N.md", FileChange::Added), ("src/a b.py", FileChange::Modified)]);
        assert_eq!(files.iter().map(|file| file.diff.as_str()).collect::<String>(), diff);
        assert!(of_turn("").files.is_empty());
    }
}
