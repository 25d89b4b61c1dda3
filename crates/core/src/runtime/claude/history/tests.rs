//! A stored conversation with everything that is not part of it: a branch that was rewound, a sub-agent, meta entries, half a line.

use serde_json::{Value, json};

use super::read_stored;
use crate::event::Origin;
use crate::id::{IdSource, SessionId};
use crate::laws::{self, Ending};
use crate::runtime::ImportedTurn;
use crate::runtime::claude::CAPABILITIES;
use crate::session::{Limits, Machine, Output, Setup, State};
use crate::time::Timestamp;

const STORED: &str = include_str!("../../../../../../tests/stored/claude.jsonl");

fn lines(turn: &ImportedTurn) -> Vec<String> {
    let ImportedTurn { message_id, content, started_at, events, ended_at, anchor } = turn;
    let mut lines = vec![
        format!("{started_at} {message_id} {}", json!(content)),
        format!("{ended_at} anchor {}", anchor.as_deref().unwrap_or("none")),
    ];
    lines.splice(1..1, events.iter().map(|(at, event)| format!("  {at} {} {}", event.kind(), event.data())));
    lines
}

#[test]
fn the_branch_that_was_written_last_is_the_conversation() {
    let (outline, turns) = read_stored(STORED);
    assert_eq!((outline.title.as_str(), outline.cwd.as_deref()), ("Knots", Some("/srv/weaving")));
    assert_eq!(outline.updated_at, turns.last().map(|turn| turn.ended_at));
    let lines: Vec<String> = turns.iter().flat_map(lines).collect();
    insta::assert_snapshot!("stored_conversation", lines.join("\n"));
}

#[test]
fn what_has_no_name_is_called_by_its_first_words() {
    let unnamed: Vec<&str> = STORED.lines().filter(|line| !line.contains("customTitle")).collect();
    assert_eq!(read_stored(&unnamed.join("\n")).0.title, "Count the knots");
    let (nothing, turns) = read_stored("not a conversation\n{}\n");
    assert_eq!((nothing.title.as_str(), turns.len()), ("", 0));
}

#[test]
fn a_session_can_begin_with_it_wherever_it_was_cut() {
    let lines: Vec<&str> = STORED.lines().collect();
    for cut in 0..=lines.len() {
        let setup = Setup {
            session_id: SessionId::trusted("s"),
            runtime: "claude".into(),
            params: Value::Null,
            capabilities: CAPABILITIES,
            limits: Limits::default(),
            ids: IdSource::seeded(1),
            components: std::sync::Arc::default(),
            budgets: std::sync::Arc::default(),
            delegation: crate::delegation::Rules::default(),
        };
        let mut machine = Machine::new(setup, State::default());
        let (at, mut out) = (Timestamp::from_millis(2_000_000_000_000), Output::default());
        machine.create(at, &mut out);
        let (_, turns) = read_stored(&lines[..cut].join("\n"));
        let count = turns.len();
        machine.adopt(at, &mut out, "conversation".to_owned(), turns);
        assert_eq!(laws::check(&out.facts, Ending::AtRest), [], "cut after line {cut}");
        let imported = out.facts.iter().filter(|fact| fact.event.data()["origin"] == json!(Origin::Import));
        assert_eq!(imported.count(), 2 * count);
        let summary = machine.state().summary();
        assert_eq!(summary.provider_session_id.as_deref(), Some("conversation"));
        assert!(summary.at_rest);
    }
}
