//! Every recording, played through the protocol and the turn machine.

mod launching;
mod lines;
mod waking;

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

/// Whatever a program says, and in whatever order: the protocol reads on, and what the session keeps is lawful.
mod fuzz {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;
    use crate::laws::{self, Ending};
    use crate::replay::Entry;

    /// Lines of all recordings, to be shuffled and broken.
    fn lines() -> Vec<Entry> {
        recordings("claude").iter().step_by(4).flat_map(|path| entries(path)).collect()
    }

    /// Something done to a line.
    #[derive(Debug, Clone)]
    enum Harm {
        None,
        Cut(usize),
        Twice,
        /// A field somewhere inside gets another value.
        Swap(usize, Value),
    }

    fn harm() -> impl Strategy<Value = Harm> {
        let value = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            ".{0,12}".prop_map(Value::from),
            Just(serde_json::json!([[], {}])),
            Just(serde_json::json!({ "type": "tool_use", "id": "x", "name": "Agent", "input": [] })),
        ];
        prop_oneof![
            4 => Just(Harm::None),
            1 => (0_usize..400).prop_map(Harm::Cut),
            1 => Just(Harm::Twice),
            3 => (0_usize..40, value).prop_map(|(at, value)| Harm::Swap(at, value)),
        ]
    }

    fn leaves(value: &mut Value) -> Vec<&mut Value> {
        if value.as_object().is_some_and(|fields| !fields.is_empty()) {
            return value.as_object_mut().into_iter().flatten().flat_map(|(_, value)| leaves(value)).collect();
        }
        if value.as_array().is_some_and(|items| !items.is_empty()) {
            return value.as_array_mut().into_iter().flatten().flat_map(leaves).collect();
        }
        vec![value]
    }

    fn harmed(entry: &Entry, harm: &Harm) -> Vec<Entry> {
        let mut entry = entry.clone();
        match harm {
            Harm::None => {}
            Harm::Twice => return vec![entry.clone(), entry],
            Harm::Cut(at) => {
                let text = entry.line.to_string();
                let cut = text.floor_char_boundary((*at).min(text.len()));
                entry.line = text[..cut].into();
            }
            Harm::Swap(at, value) => {
                let mut leaves = leaves(&mut entry.line);
                let count = leaves.len().max(1);
                if let Some(leaf) = leaves.get_mut(at % count) {
                    **leaf = value.clone();
                }
            }
        }
        vec![entry]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        #[test]
        fn the_laws_hold_whatever_is_said(picks in prop::collection::vec((any::<prop::sample::Index>(), 1_usize..12, harm()), 1..24)) {
            thread_local!(static LINES: Vec<Entry> = lines());
            let script = LINES.with(|lines| {
                let mut script = Vec::new();
                for (start, length, harm) in &picks {
                    let start = start.index(lines.len());
                    for entry in lines.iter().skip(start).take(*length) {
                        script.extend(harmed(entry, harm));
                    }
                }
                script
            });
            let log = play(&mut RecordedClaude::default(), &script);
            let broken = laws::check(&log, Ending::AtRest);
            prop_assert!(broken.is_empty(), "{broken:?}");
        }

        #[test]
        fn a_line_of_anything_is_read(line in prop::collection::vec(any::<u8>(), 0..200)) {
            use crate::runtime::{Line, Output, Protocol as _};
            let mut protocol = super::super::ClaudeProtocol::new(super::super::Options::default());
            protocol.line(Line::Text(&line), &mut Output::default());
            protocol.line(Line::TooLong { size: 1 << 40, sha256: "0", head: &line }, &mut Output::default());
        }
    }
}
