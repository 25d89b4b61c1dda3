//! Every recording, played through the protocol and the turn machine.

use std::collections::HashMap;
use std::path::Path;

use super::RecordedClaude;
use crate::event::{Envelope, Event};
use crate::replay::brief::{self, entries, name, recordings};
use crate::replay::{Direction, Recorded, play};

fn log_of(path: &Path) -> Vec<Envelope> {
    play(&mut RecordedClaude::default(), &entries(path))
}

#[test]
fn every_recording_gives_the_reviewed_events() {
    for path in recordings("claude") {
        let lines = brief::reviewed(&mut RecordedClaude::default(), &path);
        insta::assert_snapshot!(name(&path), lines);
    }
}

#[test]
fn a_recording_may_end_at_any_line() {
    let fresh = || Box::new(RecordedClaude::default()) as Box<dyn Recorded>;
    for path in recordings("claude") {
        brief::lawful_when_cut(&fresh, &path);
    }
}

#[test]
fn nothing_in_the_recordings_is_unknown() {
    for path in recordings("claude") {
        let unknown = brief::unparsed(&log_of(&path));
        assert!(unknown.is_empty(), "{}: {unknown:#?}", path.display());
    }
}

/// The text of each block in the log is the agent's own final text: once, and whole.
#[test]
fn the_log_holds_the_agents_final_text() {
    for path in recordings("claude") {
        let mut said = Vec::new();
        for entry in entries(&path).iter().filter(|entry| entry.direction == Direction::Out) {
            if entry.line["type"] == "assistant" && entry.line.get("error").is_none() {
                for block in entry.line["message"]["content"].as_array().unwrap() {
                    let text = block.get("text").or(block.get("thinking")).and_then(|text| text.as_str());
                    said.extend(text.map(str::to_owned));
                }
            }
        }
        let mut blocks: Vec<(String, String)> = Vec::new();
        let mut at: HashMap<String, usize> = HashMap::new();
        let mut whole = Vec::new();
        for envelope in log_of(&path) {
            let (id, text, done, cut_off) = match envelope.event {
                Event::Delta(delta) => (delta.block_id, delta.text, delta.done, delta.interrupted),
                Event::Thinking(thinking) => {
                    (thinking.block_id, thinking.text, thinking.done == Some(true), thinking.interrupted)
                }
                Event::Retracted(retracted) => {
                    at.remove(retracted.block_id.as_str());
                    continue;
                }
                _ => continue,
            };
            let index = *at.entry(id.to_string()).or_insert_with(|| {
                blocks.push((id.to_string(), String::new()));
                blocks.len() - 1
            });
            blocks[index].1.push_str(&text);
            if done {
                whole.push((blocks[index].1.clone(), cut_off));
            }
        }
        // What was cut off with its turn was perhaps never said whole.
        whole.retain(|(text, cut_off)| !cut_off || said.contains(text));
        let whole: Vec<String> = whole.into_iter().map(|(text, _)| text).collect();
        assert_eq!(whole, said, "{}", path.display());
    }
}
