//! Every recording, played through the protocol and the turn machine.

use std::path::PathBuf;

use crate::replay::brief::{self, entries, name, recordings};
use crate::replay::play;
use crate::runtime::{MakeRecorded, RECORDED};

/// Every recording, with what reads it.
fn all() -> Vec<(PathBuf, MakeRecorded)> {
    let read = |name: &str| RECORDED.iter().find(|(known, _)| *known == name).unwrap().1;
    let of = |runtime: &'static str| recordings(runtime).into_iter().map(move |path| (path, read(runtime)));
    of("codex").chain(of("codex-exec")).collect()
}

#[test]
fn every_recording_gives_the_reviewed_events() {
    for (path, recorded) in all() {
        let lines = brief::reviewed(recorded().as_mut(), &path);
        insta::assert_snapshot!(name(&path), lines);
    }
}

#[test]
fn a_recording_may_end_at_any_line() {
    for (path, recorded) in all() {
        brief::lawful_when_cut(&recorded, &path);
    }
}

#[test]
fn nothing_in_the_recordings_is_unknown() {
    for (path, recorded) in all() {
        let unknown = brief::unparsed(&play(recorded().as_mut(), &entries(&path)));
        assert!(unknown.is_empty(), "{}: {unknown:#?}", path.display());
    }
}

mod gate;
mod late;
mod orders;
mod settings;
mod terminals;
mod unlisted;
mod world;

mod fuzz {
    use proptest::prelude::*;

    use crate::event::Part;
    use crate::id::{MessageId, SessionId, TurnId};
    use crate::replay::Direction;
    use crate::replay::brief::{entries, recordings};
    use crate::runtime::codex::{CodexProtocol, ExecProtocol, Routed, Router};
    use crate::runtime::{Beginning, Line, Opening, Order, Output, Prompt, Protocol};

    fn golden() -> Vec<String> {
        let all = [recordings("codex"), recordings("codex-exec")].concat();
        let lines = all.iter().flat_map(|path| entries(path)).filter(|entry| entry.direction == Direction::Out);
        lines.map(|entry| entry.line.to_string()).filter(|line| line.len() < 4_000).collect()
    }

    /// A line as an agent that has gone mad would write it.
    fn mad() -> impl Strategy<Value = Vec<u8>> {
        let lines = golden();
        let line = (0..lines.len()).prop_map(move |at| lines[at].clone().into_bytes());
        prop_oneof![
            4 => line.clone(),
            2 => (line.clone(), any::<prop::sample::Index>()).prop_map(|(line, at)| line[..at.index(line.len())].to_vec()),
            2 => (line.clone(), any::<prop::sample::Index>(), any::<u8>()).prop_map(|(mut line, at, byte)| {
                let at = at.index(line.len());
                line[at] = byte;
                line
            }),
            2 => (line, 0usize..8, "[a-z0-9:\\-]{0,12}").prop_map(|(line, which, text)| {
                // Another type or another value where one is expected.
                let names = ["threadId", "turnId", "item", "id", "status", "delta", "params", "turn"];
                let name = format!("\"{}\": ", names[which]);
                String::from_utf8(line).unwrap().replacen(&name, &format!("{name}\"{text}\", \"was\": "), 1).into_bytes()
            }),
            1 => prop::collection::vec(any::<u8>(), 0..80),
        ]
    }

    fn orders(turn: usize) -> Vec<Order> {
        let message = Prompt {
            message_id: MessageId::trusted(format!("m{turn}")),
            content: vec![Part::Text { text: "go".into() }],
            origin: crate::event::Origin::User,
        };
        let turn_id = TurnId::trusted(format!("turn{turn}"));
        vec![
            Order::Prompt { turn_id: turn_id.clone(), messages: vec![message.clone()] },
            Order::Steer { turn_id: turn_id.clone(), message },
            Order::Interrupt { turn_id: Some(turn_id.clone()) },
            Order::Compact { turn_id },
        ]
    }

    proptest! {
           #![proptest_config(ProptestConfig::with_cases(96))]

           /// Nothing that an agent says makes a protocol or the router panic, and what they write is always whole lines of JSON.
           #[test]
           fn madness_is_survived(lines in prop::collection::vec(mad(), 0..60), when in prop::collection::vec(0usize..60, 0..6)) {
               let opening = Opening {
                   session_id: SessionId::trusted("s"),
                   cwd: None,
                   model: None,
                   mode: None,
                   system_prompt: None,
                   anchor: None,
               beginning: Beginning::Fresh,
                   params: serde_json::Value::Null,
    state: serde_json::Value::Null,
    epoch: 1,
    host_tools: Vec::new(),
               };
               let mut router = Router::default();
               let client = router.connect();
               let (mut codex, mut exec) = (CodexProtocol::default(), ExecProtocol::default());
               let mut out = Output::default();
               codex.open(&opening, &mut out);
               exec.open(&opening, &mut out);
               let mut routed = Routed::default();
               for (at, line) in lines.iter().enumerate() {
                   codex.line(Line::Text(line), &mut out);
                   exec.line(Line::Text(line), &mut out);
                   router.from_server(Line::Text(line), &mut routed);
                   router.from_client(client, line, &mut routed);
                   if when.contains(&at) {
                       for order in orders(at) {
                           codex.order(&order, &mut out);
                           exec.order(&order, &mut out);
                       }
                   }
               }
               codex.line(Line::TooLong { size: 9, sha256: "", head: b"{" }, &mut out);
               for line in out.bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                   prop_assert!(serde_json::from_slice::<serde_json::Value>(line).is_ok());
               }
           }
       }
}
