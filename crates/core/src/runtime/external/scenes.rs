//! Scenes as files, in `tests/external`: lines both ways, which every implementation of the language can play. Here the daemon's side is played.
//!
//! Each line is one step: `{"to":"agent","line":…}` is what the agent must be told next, `{"to":"daemon","line":…}` what it says, `{"client":…}` what a
//! client does, `{"cut":true}`, `{"back":{"heard":N}}` and `{"pass_ms":N}` what happens to the connection and the time, `{"log":[…]}` the types of the
//! last facts. A text that begins with `$` stands for any text, the same one wherever it stands.

use std::collections::HashMap;
use std::path::Path;

use serde_json::{Value, json};

use super::Framing;
use super::tests::Bench;
use crate::command::{Answer, Command};

#[test]
fn every_scene_plays() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/external");
    let mut played = 0;
    for file in
        std::fs::read_dir(folder).unwrap().flatten().filter(|file| file.path().extension() == Some("jsonl".as_ref()))
    {
        play(&file.path());
        played += 1;
    }
    assert!(played >= 6, "{played} scenes");
}

fn play(path: &Path) {
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let header = lines.next().unwrap();
    let framing = if header["framing"] == "plain" { Framing::Plain } else { Framing::Numbered };
    let mut bench = Bench::new(framing);
    let mut names = HashMap::new();
    for (number, step) in (2..).zip(lines) {
        let place = || format!("{}:{number}", path.display());
        match step["to"].as_str() {
            Some("agent") => {
                let told = bench.wrote.pop_front().unwrap_or_else(|| panic!("{}: nothing was told", place()));
                assert!(matches(&step["line"], &told, &mut names), "{}: told {told}", place());
            }
            Some("daemon") => bench.says(filled(&step["line"], &names)),
            _ => act(&mut bench, &step, &names, &place()),
        }
    }
    assert!(bench.wrote.is_empty(), "{}: also told {:?}", path.display(), bench.wrote);
    bench.lawful();
}

fn act(bench: &mut Bench, step: &Value, names: &HashMap<String, Value>, place: &str) {
    if let Some(wanted) = step["log"].as_array() {
        let kinds = bench.kinds();
        let last: Vec<Value> =
            kinds.iter().skip(kinds.len().saturating_sub(wanted.len())).map(|kind| json!(kind)).collect();
        assert_eq!(last, *wanted, "{place}");
    } else if let Some(client) = step.get("client") {
        let client = filled(client, names);
        match client["does"].as_str().unwrap() {
            "send" => bench.send(client["message_id"].as_str().unwrap(), client["text"].as_str().unwrap()),
            "stop" => bench.stop(),
            "answer" => {
                let ask_id = crate::id::AskId::trusted(bench.log.iter().rev().find_map(ask_id).unwrap());
                bench.command(Command::Answer { ask_id, answer: Answer::Interrupt { value: client["value"].clone() } });
            }
            "patch" => bench.command(Command::PatchState { patch: client["patch"].clone() }),
            other => panic!("{place}: {other}"),
        }
    } else if step["cut"] == true {
        bench.cut();
    } else if let Some(heard) = step["back"]["heard"].as_u64() {
        bench.back(heard);
    } else if let Some(ms) = step["pass_ms"].as_i64() {
        bench.pass(ms);
    } else {
        panic!("{place}: {step}");
    }
}

fn ask_id(fact: &crate::event::Envelope) -> Option<String> {
    fact.event.data()["interrupt_id"].as_str().map(str::to_owned).filter(|_| fact.event.kind() == "interrupt")
}

/// Whether what was told is what the scene says, and nothing else.
fn matches(wanted: &Value, told: &Value, names: &mut HashMap<String, Value>) -> bool {
    match (wanted, told) {
        (Value::String(name), told) if name.starts_with('$') => {
            *names.entry(name.clone()).or_insert_with(|| told.clone()) == *told
        }
        (Value::Object(wanted), Value::Object(told)) => {
            wanted.len() == told.len()
                && wanted.iter().all(|(key, wanted)| told.get(key).is_some_and(|told| matches(wanted, told, names)))
        }
        (Value::Array(wanted), Value::Array(told)) => {
            wanted.len() == told.len() && wanted.iter().zip(told).all(|(wanted, told)| matches(wanted, told, names))
        }
        (wanted, told) => wanted == told,
    }
}

fn filled(value: &Value, names: &HashMap<String, Value>) -> Value {
    match value {
        Value::String(text) => names.get(text).cloned().unwrap_or_else(|| value.clone()),
        Value::Array(list) => list.iter().map(|value| filled(value, names)).collect(),
        Value::Object(fields) => fields.iter().map(|(key, value)| (key.clone(), filled(value, names))).collect(),
        _ => value.clone(),
    }
}
