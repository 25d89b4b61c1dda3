use serde_json::{Value, json};

use super::Changes;
use crate::event::{Envelope, Event};
use crate::id::{Seq, SessionId, TurnId};

/// The files after these facts, each as `kind path +added −removed`, and the diff of the first.
fn told(facts: &[(&str, &str, Value)]) -> (Vec<String>, String) {
    let mut changes = Changes::default();
    for (at, (turn, kind, data)) in facts.iter().enumerate() {
        changes.step(&Envelope {
            seq: Seq(at as u64 + 1),
            ts: crate::time::Timestamp::default(),
            session_id: SessionId::trusted("s"),
            turn_id: (!turn.is_empty()).then(|| TurnId::trusted(*turn)),
            subagent_id: None,
            event: Event::from_value(kind, data),
        });
    }
    let files = changes.files();
    let line = |file: &super::ChangedFile| {
        let kind = json!(file.kind).as_str().unwrap_or_default().to_owned();
        let not = if file.exact { "" } else { " in parts" };
        format!("{kind} {} +{} −{}{not}", file.path, file.added, file.removed)
    };
    (files.iter().map(line).collect(), files.first().map(|file| file.diff.clone()).unwrap_or_default())
}

fn edit<'a>(turn: &'a str, path: &str, hunks: &str) -> (&'a str, &'static str, Value) {
    let diff = format!("--- a/{path}\n+++ b/{path}\n{hunks}");
    (turn, "tool_result", json!({ "tool_use_id": "t", "output": "", "is_error": false, "diff": diff }))
}

fn whole<'a>(turn: &'a str, path: &str, hunks: &str) -> (&'a str, &'static str, Value) {
    let diff = format!("diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n{hunks}");
    (turn, "diff_updated", json!({ "files": [{ "path": path, "kind": "modified", "diff": diff }] }))
}

fn ready() -> (&'static str, &'static str, Value) {
    ("", "session_ready", json!({ "runtime": "mock", "cwd": "/home/user/loom" }))
}

#[test]
fn edits_of_one_file_are_one_change() {
    let (files, diff) = told(&[
        ready(),
        edit("1", "/home/user/loom/a.rs", "@@ -1,3 +1,4 @@\n one\n-two\n+TWO\n+more\n three\n"),
        edit("1", "/home/user/loom/b.rs", "@@ -1,1 +1,1 @@\n-x\n+y\n"),
        edit("2", "/home/user/loom/a.rs", "@@ -2,2 +2,1 @@\n-TWO\n-more\n+zwei\n"),
        edit("2", "/home/user/loom/a.rs", "@@ -40,1 +40,2 @@\n forty\n+after\n"),
    ]);
    assert_eq!(files, ["modified a.rs +2 −1", "modified b.rs +1 −1"], "the newest first, from the folder");
    assert_eq!(
        diff,
        "--- a/a.rs\n+++ b/a.rs\n@@ -1,3 +1,3 @@\n one\n-two\n+zwei\n three\n@@ -40,1 +40,2 @@\n forty\n+after\n"
    );
}

#[test]
fn what_is_as_it_was_is_no_change() {
    let there = edit("1", "a", "@@ -1,2 +1,2 @@\n-x\n+y\n same\n");
    let back = edit("1", "a", "@@ -1,2 +1,2 @@\n-y\n+x\n same\n");
    assert_eq!(told(&[there, back]).0, Vec::<String>::new());
    let made =
        |diff: &str| ("1", "tool_result", json!({ "tool_use_id": "t", "output": "", "is_error": false, "diff": diff }));
    let create = made("--- /dev/null\n+++ b/n\n@@ -0,0 +1,2 @@\n+one\n+two\n");
    let remove = made("--- a/n\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-one\n-two\n");
    assert_eq!(told(std::slice::from_ref(&create)).0, ["added n +2 −0"]);
    assert_eq!(told(&[create.clone(), edit("1", "n", "@@ -1,1 +1,1 @@\n-one\n+eins\n")]).0, ["added n +2 −0"]);
    assert_eq!(told(&[create, remove.clone()]).0, Vec::<String>::new());
    assert_eq!(told(&[remove]).0, ["deleted n +0 −2"]);
}

#[test]
fn a_turns_whole_diff_stands_for_its_edits() {
    let (files, diff) = told(&[
        edit("1", "a", "@@ -1,1 +1,1 @@\n-x\n+y\n"),
        whole("1", "a", "@@ -1,1 +1,1 @@\n-x\n+y\n"),
        edit("1", "a", "@@ -1,1 +1,1 @@\n-y\n+z\n"),
        edit("1", "gone", "@@ -1,1 +1,1 @@\n-y\n+z\n"),
        whole("1", "a", "@@ -1,1 +1,1 @@\n-x\n+z\n"),
        whole("2", "a", "@@ -1,1 +1,2 @@\n-z\n+q\n+r\n"),
    ]);
    assert_eq!(files, ["modified a +2 −1"]);
    assert_eq!(diff, "--- a/a\n+++ b/a\n@@ -1,1 +1,2 @@\n-x\n+q\n+r\n");
}

#[test]
fn what_does_not_fit_stands_after_what_does() {
    let (files, diff) =
        told(&[edit("1", "a", "@@ -1,1 +1,1 @@\n-x\n+y\n"), edit("2", "a", "@@ -1,1 +1,1 @@\n-other\n+z\n")]);
    assert_eq!(files, ["modified a +2 −2 in parts"]);
    assert_eq!(diff, "--- a/a\n+++ b/a\n@@ -1,1 +1,1 @@\n-x\n+y\n@@ -1,1 +1,1 @@\n-other\n+z\n");
}

#[test]
fn a_removed_line_that_looks_like_a_header_is_a_line() {
    let (files, _) = told(&[edit("1", "a.sql", "@@ -1,2 +1,1 @@\n--- a comment\n select\n")]);
    assert_eq!(files, ["modified a.sql +0 −1"]);
}

#[test]
fn turns_that_were_taken_back_with_their_files_do_not_count() {
    let back = |restored: bool| ("", "rollback", json!({ "turn_ids": ["2"], "files_restored": restored }));
    let facts = |restored| {
        [
            edit("1", "a", "@@ -1,1 +1,1 @@\n-x\n+y\n"),
            edit("2", "a", "@@ -1,1 +1,2 @@\n y\n+more\n"),
            edit("2", "b", "@@ -1,1 +1,1 @@\n-x\n+y\n"),
            back(restored),
        ]
    };
    assert_eq!(told(&facts(true)).0, ["modified a +1 −1"]);
    assert_eq!(told(&facts(false)).0, ["modified b +1 −1", "modified a +2 −1"]);
}

#[test]
fn a_file_that_was_moved_keeps_its_changes() {
    let moved = "--- a/old\n+++ b/new\n@@ -1,1 +1,1 @@\n-y\n+z\n";
    let (files, _) = told(&[
        edit("1", "old", "@@ -1,1 +1,1 @@\n-x\n+y\n"),
        ("2", "tool_result", json!({ "tool_use_id": "t", "output": "", "is_error": false, "diff": moved })),
    ]);
    assert_eq!(files, ["renamed new +1 −1"]);
}

#[test]
fn a_failed_edit_changes_nothing() {
    let (turn, kind, mut data) = edit("1", "a", "@@ -1,1 +1,1 @@\n-x\n+y\n");
    data["is_error"] = json!(true);
    assert_eq!(told(&[(turn, kind, data)]).0, Vec::<String>::new());
}
