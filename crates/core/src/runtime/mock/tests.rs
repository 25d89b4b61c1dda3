use std::collections::BTreeSet;

use serde_json::json;

use super::{CAPABILITIES, MockAgent, MockProtocol, Next};
use crate::command::{AfterAnswer, Answer, Command, Message, When, Wish};
use crate::event::{Envelope, Event, Origin, Outcome, Part, PermissionReply};
use crate::id::{IdSource, SessionId};
use crate::laws::{self, Ending};
use crate::runtime::{Line, Output, Protocol};
use crate::session::{self, Effect, Input, Limits, Machine, Setup, State};
use crate::time::Timestamp;

/// A whole session in one thread: machine, adapter and agent, with no process between them.
struct Bench {
    machine: Machine,
    protocol: MockProtocol,
    agent: MockAgent,
    log: Vec<Envelope>,
    now: Timestamp,
}

impl Bench {
    fn new() -> Self {
        Self::with(&json!({}))
    }

    fn with(params: &serde_json::Value) -> Self {
        let setup = Setup {
            session_id: SessionId::trusted("s"),
            runtime: "mock".into(),
            params: params.clone(),
            capabilities: CAPABILITIES,
            limits: Limits::default(),
            ids: IdSource::seeded(1),
        };
        let machine = Machine::new(setup, State::default());
        let mut bench = Self {
            machine,
            protocol: MockProtocol::default(),
            agent: MockAgent::default(),
            log: Vec::new(),
            now: Timestamp::default(),
        };
        let mut out = session::Output::default();
        bench.machine.create(bench.now, &mut out);
        bench.carry_out(out);
        bench
    }

    fn say(&mut self, text: &str) {
        let message = Message { id: None, content: vec![Part::Text { text: text.into() }], origin: Origin::User };
        self.wish(Wish::Send { message, when: When::Queue });
    }

    fn wish(&mut self, wish: Wish) {
        self.input(Input::Wish { command: Command { by: "test".into(), wish }, reply_to: 0 });
    }

    fn input(&mut self, input: Input) {
        let mut out = session::Output::default();
        self.machine.handle(input, self.now, &mut out);
        self.carry_out(out);
    }

    fn carry_out(&mut self, out: session::Output) {
        self.log.extend(out.facts);
        for effect in out.effects {
            let mut to_agent = Output::default();
            match effect {
                Effect::Start(opening) => self.protocol.open(&opening, &mut to_agent),
                Effect::Order(order) => self.protocol.order(&order, &mut to_agent),
                Effect::Terminate | Effect::Kill | Effect::Reply { .. } => {}
            }
            to_agent.bytes.split(|byte| *byte == b'\n').for_each(|line| self.agent.hear(line));
        }
    }

    /// Lets the agent talk until it has nothing more to say, and answers what it asks.
    fn play(&mut self) {
        loop {
            match self.agent.next_move() {
                Next::Write(bytes) => self.hear(&bytes),
                Next::Sleep { ms } => self.now = self.now.plus_millis(i64::try_from(ms).unwrap()),
                Next::LeaveChild => {}
                Next::Exit { code } => {
                    return self.input(Input::Exited { exit_code: Some(code.into()), description: "left".into() });
                }
                Next::GoDeaf | Next::Listen => match self.machine.state().summary().asks.first() {
                    Some(ask) => {
                        let answer = match ask.kind {
                            crate::summary::AskKind::Permission => Answer::Permission {
                                reply: PermissionReply::Once,
                                updated_input: None,
                                message: None,
                                rule: None,
                                and_then: AfterAnswer::GoOn,
                            },
                            crate::summary::AskKind::Question => Answer::Question {
                                answers: Some(vec![vec!["Silk".into()], vec!["Indigo".into(), "Weld".into()]]),
                            },
                            crate::summary::AskKind::Interrupt => Answer::Interrupt { value: json!("2026-12-24") },
                        };
                        let ask_id = ask.ask_id.clone();
                        self.wish(Wish::Answer { ask_id, answer });
                    }
                    None => return,
                },
            }
        }
    }

    fn hear(&mut self, bytes: &[u8]) {
        let mut said = Output::default();
        let line = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        self.protocol.line(Line::Text(line), &mut said);
        said.reports.into_iter().for_each(|report| self.input(Input::Report(report)));
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for envelope in &self.log {
            if let Event::Delta(delta) = &envelope.event {
                text.push_str(&delta.text);
            }
        }
        text
    }

    fn outcomes(&self) -> Vec<Outcome> {
        let outcome =
            |envelope: &Envelope| if let Event::Done(done) = &envelope.event { Some(done.outcome) } else { None };
        self.log.iter().filter_map(outcome).collect()
    }

    fn assert_lawful(&self, ending: Ending) {
        assert_eq!(laws::check(&self.log, ending), []);
    }
}

#[test]
fn every_command_keeps_the_laws() {
    for command in [
        "help",
        "demo",
        "markdown",
        "tool",
        "parallel",
        "parallel permission",
        "subagent permission",
        "status",
        "image",
        "permission",
        "question",
        "plan",
        "diff",
        "subagent",
        "background",
        "component",
        "interrupt",
        "state",
        "artifact",
        "compaction",
        "retract",
        "error",
        "end",
        "echo hello",
        "anything else",
        "stream 30 20",
        "prose 30 20",
        "sleep 5",
        "big 50000",
        "crash",
        "garbage",
        "garbage utf8",
        "garbage 300",
        "",
    ] {
        let mut bench = Bench::new();
        bench.say(command);
        bench.play();
        bench.assert_lawful(Ending::AtRest);
        assert!(!bench.outcomes().is_empty(), "{command}");
    }
}

#[test]
fn the_demo_shows_almost_every_type() {
    let mut bench = Bench::new();
    for command in ["demo", "interrupt", "background", "retract", "error", "garbage", "end"] {
        bench.say(command);
        bench.play();
    }
    let shown: BTreeSet<&str> = bench.log.iter().map(|envelope| envelope.event.kind()).collect();
    let missing: Vec<&&str> = Event::KINDS.iter().filter(|kind| !shown.contains(**kind)).collect();
    // What is left is not an agent's to show: it is done to a session by its clients.
    assert_eq!(
        missing,
        [
            &"session_updated",
            &"mode_changed",
            &"model_changed",
            &"steer",
            &"component_remove",
            &"component_callback",
            &"artifact_removed",
            &"evidence_changed",
            &"rollback",
            &"forked",
            &"queue_changed"
        ]
    );
}

#[test]
fn text_is_never_doubled() {
    let mut bench = Bench::new();
    bench.say("echo once and only once");
    bench.play();
    assert_eq!(bench.text(), "once and only once");
    bench.say("retract");
    bench.play();
    assert!(bench.text().ends_with("I said it differently in the end."));
    assert!(bench.log.iter().any(|envelope| matches!(envelope.event, Event::Retracted(_))));
}

#[test]
fn it_greets_whoever_has_not_said_anything() {
    let mut bench = Bench::with(&json!({ "greet": true }));
    bench.wish(Wish::Resume { provider_session_id: None });
    bench.play();
    assert!(bench.text().starts_with("Hello."));
    assert_eq!(bench.outcomes(), [Outcome::Completed]);
    bench.assert_lawful(Ending::AtRest);
}

#[test]
fn a_steer_is_heard_in_the_running_turn() {
    let mut bench = Bench::new();
    bench.say("hang");
    bench.play();
    let message = Message { id: None, content: vec![Part::Text { text: "go left".into() }], origin: Origin::User };
    bench.wish(Wish::Send { message, when: When::Steer });
    bench.play();
    assert_eq!(bench.text(), "Waiting.Understood: go left");
    assert_eq!(bench.outcomes(), [Outcome::Completed]);
    bench.assert_lawful(Ending::AtRest);
}

#[test]
fn a_stop_ends_a_turn_that_hangs() {
    let mut bench = Bench::new();
    bench.say("hang");
    bench.play();
    bench.wish(Wish::Stop { turn_id: None });
    bench.play();
    assert_eq!(bench.outcomes(), [Outcome::Stopped]);
    bench.assert_lawful(Ending::AtRest);
}

#[test]
fn a_crash_is_an_interrupted_turn_and_says_why() {
    let mut bench = Bench::new();
    bench.say("crash");
    bench.play();
    assert_eq!(bench.outcomes(), [Outcome::Interrupted]);
    assert!(
        bench
            .log
            .iter()
            .any(|envelope| matches!(&envelope.event, Event::Failure(failure) if failure.code == "agent_exited"))
    );
}

#[test]
fn what_cannot_be_read_is_kept() {
    let mut bench = Bench::new();
    bench.say("garbage");
    bench.play();
    let kept = bench.log.iter().find_map(|envelope| match &envelope.event {
        Event::AgentUnparsed(unparsed) => Some(unparsed.raw.clone()),
        _ => None,
    });
    assert_eq!(kept.as_deref(), Some("this is { not JSON"));
    assert_eq!(bench.outcomes(), [Outcome::Completed]);
}

#[test]
fn a_large_output_becomes_a_blob() {
    let mut bench = Bench::new();
    bench.say("big 100000");
    bench.play();
    let result = bench.log.iter().find_map(|envelope| match &envelope.event {
        Event::ToolResult(result) => Some(result.clone()),
        _ => None,
    });
    let result = result.unwrap();
    let blob = result.blob.unwrap();
    assert_eq!(blob.size, 100_000);
    assert!(result.output.starts_with("0123456789abcdef") && result.output.contains("bytes left out"));
    assert!(result.output.len() < 5_000);
}
