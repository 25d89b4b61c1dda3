//! Recording what a session and its agent say, and playing it again.

use std::collections::BTreeSet;
use std::fs;
use std::io::BufReader;
use std::os::unix::fs::PermissionsExt as _;

use rustix::process::Signal;
use serde_json::Value;

use crate::home::{Home, Running, line_with};

fn values(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// What of an event does not differ from run to run.
fn gist(event: &Value) -> (String, Value, Value) {
    let data = &event["data"];
    (event["type"].to_string(), data["text"].clone(), data["outcome"].clone())
}

#[test]
fn a_conversation_is_recorded_and_played_again() {
    let home = Home::new();
    let file = home.0.path().join("demo.jsonl");
    let path = file.to_str().unwrap();
    home.run(&["run", "--record", path, "--yes", "demo"]).code(0);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600, "it is its owner's only");
    let recorded = values(&fs::read_to_string(&file).unwrap());
    let order: Vec<(&str, &Value)> =
        recorded.iter().map(|entry| (entry["dir"].as_str().unwrap(), &entry["line"])).collect();
    // From the very first word on both sides to the end of the turn.
    assert_eq!((order[0].0, &order[0].1["do"]), ("in", &Value::from("open")));
    assert_eq!((order[1].0, &order[1].1["say"]), ("out", &Value::from("ready")));
    assert_eq!((order[2].0, &order[2].1["do"]), ("in", &Value::from("prompt")));
    assert_eq!(order.last().unwrap().1["say"], "turn_end");
    assert!(order.iter().any(|(dir, line)| *dir == "in" && line["do"] == "answer"));

    let stored = values(&home.run(&["events", "last", "--json"]).code(0).out());
    let elsewhere = Home::new();
    let played = elsewhere.run(&["replay", "mock", path, "--check"]).code(0).says("every law holds");
    let played = values(&played.out());
    assert_eq!(played[0]["session_id"], "replay");
    // A replay begins with an agent that runs, so the turn does not have to wait for one.
    let of_the_wait = |event: &&Value| event["type"] == "status" || event["type"] == "session_ready";
    let gists = |events: &[Value]| -> Vec<_> {
        let said = events.iter().filter(|event| event["turn_id"].is_string() && !of_the_wait(event));
        said.map(gist).collect()
    };
    assert_eq!(gists(&played), gists(&stored));
    let brief = elsewhere.run(&["replay", "mock", path, "--brief"]).code(0).out();
    assert_eq!(brief.lines().count(), played.len());
    assert_eq!(
        elsewhere.pipe(&["replay", "mock", "-"], &fs::read_to_string(&file).unwrap()).code(0).out().lines().count(),
        played.len()
    );
    // Nothing was needed for it, and nothing was left behind.
    assert_eq!(elsewhere.data(), Vec::<String>::new());
}

#[test]
fn what_was_not_understood_is_told() {
    let home = Home::new();
    let file = home.0.path().join("garbage.jsonl");
    let path = file.to_str().unwrap();
    home.run(&["run", "--record", path, "garbage"]).code(0);
    assert!(fs::read_to_string(&file).unwrap().contains(r#""line":"this is { not JSON""#));
    home.run(&["replay", "mock", path, "--check"]).code(0).says("not understood, event").says("this is { not JSON");
}

#[test]
fn a_session_that_runs_can_be_recorded() {
    let home = Home::new();
    let up = home.up(&[]);
    home.await_event("try-me", "done"); // of its greeting
    let record = |args: &[&str]| {
        let mut child = home.command(&[&["record", "try-me"], args].concat()).spawn().unwrap();
        let mut err = BufReader::new(child.stderr.take().unwrap());
        line_with(&mut err, "Recording try-me");
        (Running(child), err)
    };
    let (until_idle, _err) = record(&["--turn"]);
    let file = home.0.path().join("live.jsonl");
    let (until_told, _err) = record(&["--out", file.to_str().unwrap()]);
    home.run(&["run", "--session", "try-me", "echo one"]).code(0);
    let lines = values(&until_idle.end().code(0).out());
    let dirs: BTreeSet<&str> = lines.iter().map(|entry| entry["dir"].as_str().unwrap()).collect();
    assert_eq!(dirs.into_iter().collect::<Vec<_>>(), ["in", "out"]);

    home.run(&["run", "--session", "try-me", "echo two"]).code(0);
    crate::home::eventually("the second turn is recorded", || {
        let text = fs::read_to_string(&file).unwrap();
        (text.matches("turn_end").count() == 2).then_some(())
    });
    until_told.signal(Signal::INT);
    until_told.end().code(0);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600, "it is its owner's only");
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.ends_with('\n') && values(&text).len() > lines.len());

    let (left_alone, mut err) = record(&[]);
    up.running.signal(Signal::TERM);
    up.running.end().code(0);
    left_alone.end().code(1);
    line_with(&mut err, "the daemon ended");
}

#[test]
fn what_cannot_be_played_or_recorded_says_why() {
    let home = Home::new();
    home.run(&["replay", "nope", "x"]).code(1).says("recordings of \"nope\" cannot be played").says("hint: there are");
    home.run(&["replay", "claude", "/nowhere/at/all"]).code(1).says("cannot read /nowhere/at/all");
    home.pipe(&["replay", "claude", "-"], "").code(1).says("is empty");
    home.pipe(&["replay", "claude", "-"], "{\"dir\":\"in\",\"line\":{}}\nhello\n").code(1).says("line 2 is not part");
    home.run(&["record", "last"]).code(1).says("no daemon runs for");
    let _up = home.up(&[]);
    home.run(&["record", "nobody"]).code(1).says("there is no session \"nobody\"");
    home.run(&["run", "--record", "/nowhere/at/all", "echo hi"]).code(1).says("cannot write /nowhere/at/all");
}
