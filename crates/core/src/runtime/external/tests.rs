//! The language of agents that others write, line by line, with a session behind it.

use std::collections::VecDeque;

use serde_json::{Value, json};

use super::*;
use crate::command::{ClientCommand, Command, Message, When};
use crate::event::{AfterStop, Envelope, Part};
use crate::id::{IdSource, MessageId};
use crate::laws::{self, Ending};
use crate::runtime::Capabilities;
use crate::session::{Delivery, Effect, Input, Limits, Machine, Numbered, Setup, State};
use crate::time::Timestamp;

/// A session, the language, and what the agent would read.
pub(super) struct Bench {
    machine: Machine,
    protocol: ExternalProtocol,
    framing: Framing,
    pub(super) log: Vec<Envelope>,
    pub(super) wrote: VecDeque<Value>,
    /// Every order that has a number, as it was made.
    pub(super) told: Vec<Numbered>,
    pub(super) stale: u64,
    now: Timestamp,
    replies: u64,
    connected: bool,
    /// The last number that is durable.
    said: u64,
}

impl Bench {
    pub(super) fn new(framing: Framing) -> Self {
        let session_id = SessionId::trusted("s1");
        let names: serde_json::Map<String, Value> =
            CAPABILITY_NAMES.iter().map(|name| ((*name).to_owned(), json!(true))).collect();
        let setup = Setup {
            session_id: session_id.clone(),
            runtime: "research".into(),
            params: json!({}),
            capabilities: capabilities(&names),
            limits: Limits { inline_bytes: 1 << 20, ..Limits::default() },
            ids: IdSource::seeded(7),
            components: std::sync::Arc::default(),
            budgets: std::sync::Arc::default(),
            delegation: crate::delegation::Rules::default(),
        };
        let delivery = match framing {
            Framing::Plain => Delivery::Pipe,
            Framing::Numbered => Delivery::Log { open: false, grace_ms: 60_000 },
        };
        let mut bench = Self {
            machine: Machine::new(setup, State::default()).told_by(delivery),
            protocol: ExternalProtocol::new("research", framing, session_id),
            framing,
            log: Vec::new(),
            wrote: VecDeque::new(),
            told: Vec::new(),
            stale: 0,
            now: Timestamp::from_millis(1_000),
            replies: 0,
            connected: true,
            said: 0,
        };
        let mut out = crate::session::Output::default();
        bench.machine.create(bench.now, &mut out);
        bench.carry_out(out);
        bench
    }

    /// One that has said that it is ready.
    pub(super) fn ready(framing: Framing) -> Self {
        let mut bench = Self::new(framing);
        bench.send("m1", "Hello");
        bench.wrote.clear();
        bench.says(json!({ "type": "ready", "n": 1, "data": {} }));
        bench
    }

    fn input(&mut self, input: Input) {
        let mut out = crate::session::Output::default();
        self.machine.handle(input, self.now, &mut out);
        self.carry_out(out);
    }

    fn carry_out(&mut self, out: crate::session::Output) {
        self.log.extend(out.facts);
        let mut written = Output::default();
        if self.protocol.said > self.said {
            self.said = self.protocol.said;
            self.protocol.committed(self.said, &mut written);
        }
        for (number, order) in out.orders {
            self.told.push((number, order.clone()));
            if self.machine.is_held_by_agent() {
                self.protocol.numbered(number, &order, &mut written);
            }
        }
        let mut exits = 0;
        for effect in out.effects {
            match effect {
                Effect::Start(opening) => {
                    self.protocol = ExternalProtocol::new("research", self.framing, SessionId::trusted("s1"));
                    self.said = 0;
                    self.protocol.open(&opening, &mut written);
                }
                Effect::Order(order) => {
                    let is_numbered = !matches!(order, Order::Close { .. } | Order::Rollback(_));
                    if self.framing == Framing::Plain || !is_numbered {
                        self.protocol.order(&order, &mut written);
                    }
                }
                Effect::Kill | Effect::Terminate => exits += 1,
                Effect::Attach | Effect::Disconnect | Effect::StoreRule { .. } | Effect::Reply { .. } => {}
                Effect::Delegate(_) | Effect::TellChild { .. } | Effect::StopChildren(_) => {}
            }
        }
        self.written(&written.bytes);
        for _ in 0..exits {
            self.input(Input::Exited { exit_code: None, description: "gone".into() });
        }
    }

    fn written(&mut self, bytes: &[u8]) {
        let lines = bytes.split(|byte| *byte == b'\n').filter(|line| line.first() == Some(&b'{'));
        let lines: Vec<Value> = lines.map(|line| serde_json::from_slice(line).unwrap()).collect();
        if self.connected {
            self.wrote.extend(lines);
        }
    }

    pub(super) fn line(&mut self, line: Line<'_>) {
        let mut said = Output::default();
        self.protocol.line(line, &mut said);
        self.written(&said.bytes);
        let mut out = crate::session::Output::default();
        for report in said.reports {
            self.machine.handle(Input::Report(report), self.now, &mut out);
        }
        self.stale += self.machine.take_stale();
        self.carry_out(out);
    }

    #[expect(clippy::needless_pass_by_value, reason = "written where it is said")]
    pub(super) fn says(&mut self, message: Value) {
        self.line(Line::Text(message.to_string().as_bytes()));
    }

    pub(super) fn command(&mut self, command: Command) {
        self.replies += 1;
        let command = ClientCommand { by: "workbench".into(), command };
        self.input(Input::Command { command, reply_to: self.replies });
    }

    pub(super) fn send(&mut self, id: &str, text: &str) {
        let content = vec![Part::Text { text: text.to_owned() }];
        let message =
            Message { id: Some(MessageId::trusted(id)), content, origin: crate::event::Origin::User, source: None };
        self.command(Command::Send { message, when: When::Queue });
    }

    pub(super) fn stop(&mut self) {
        self.command(Command::Stop { turn_id: None, then: AfterStop::Continue });
    }

    pub(super) fn cut(&mut self) {
        self.connected = false;
        let away = Control::Away.line();
        self.line(Line::Text(away.trim_ascii_end()));
    }

    pub(super) fn back(&mut self, heard: u64) {
        self.connected = true;
        let back = Control::Back { connection: 2, heard }.line();
        self.line(Line::Text(back.trim_ascii_end()));
        // As the session does it: all that was not heard, from the log.
        let mut again = State::default();
        let mut orders: Vec<Numbered> = Vec::new();
        for fact in &self.log {
            if matches!(&fact.event, Event::SessionReady(ready) if ready.epoch.is_some()) {
                orders.clear();
            }
            orders.extend(again.apply_and_order(fact));
        }
        let mut written = Output::default();
        for (number, order) in orders.into_iter().filter(|(number, _)| *number > heard) {
            self.protocol.numbered(number, &order, &mut written);
        }
        self.written(&written.bytes);
    }

    pub(super) fn pass(&mut self, ms: i64) {
        self.now = self.now.plus_millis(ms);
        while self.machine.next_deadline().is_some_and(|deadline| deadline <= self.now) {
            self.input(Input::Tick);
        }
    }

    pub(super) fn turn(&self) -> String {
        self.machine.state().summary().turn.expect("a turn").to_string()
    }

    pub(super) fn kinds(&self) -> Vec<String> {
        self.log.iter().map(|fact| fact.event.kind().to_owned()).collect()
    }

    fn last(&self, kind: &str) -> Value {
        self.log.iter().rev().find(|fact| fact.event.kind() == kind).map(|fact| fact.event.data()).unwrap_or_default()
    }

    pub(super) fn lawful(&self) {
        assert_eq!(laws::check(&self.log, Ending::Live), []);
    }
}

#[test]
fn a_whole_turn() {
    let mut bench = Bench::ready(Framing::Numbered);
    let turn = bench.turn();
    assert_eq!(bench.wrote.pop_front().unwrap(), json!({ "type": "ack", "session_id": "s1", "n": 1 }));
    let prompt = bench.wrote.pop_front().unwrap();
    assert_eq!((&prompt["type"], &prompt["o"], &prompt["turn_id"]), (&json!("prompt"), &json!(1), &json!(turn)));
    assert_eq!(prompt["messages"][0]["content"][0]["text"], "Hello");
    bench.says(json!({ "type": "delta", "session_id": "s1", "n": 2, "turn_id": turn, "data": { "text": "Here." } }));
    bench.says(json!({ "type": "no_such_type", "n": 3 }));
    bench.says(json!({ "type": "turn_ended", "n": 4, "turn_id": turn, "data": { "outcome": "completed" } }));
    assert_eq!(bench.last("done")["outcome"], "completed");
    assert_eq!(bench.wrote.iter().filter(|line| line["type"] == "ack").count(), 3, "also for what is not known");
    bench.lawful();
}

#[test]
fn what_is_said_twice_is_heard_once_and_what_is_late_not_at_all() {
    let mut bench = Bench::ready(Framing::Numbered);
    let turn = bench.turn();
    let delta = json!({ "type": "delta", "n": 2, "turn_id": turn, "data": { "block_id": "b", "text": "once" } });
    bench.says(delta.clone());
    bench.says(delta);
    assert_eq!(bench.kinds().iter().filter(|kind| *kind == "delta").count(), 1);
    bench.stop();
    bench.pass(5_000);
    assert_eq!(bench.last("done")["outcome"], "stopped", "there is no process to kill");
    bench.says(json!({ "type": "delta", "n": 3, "turn_id": turn, "data": { "block_id": "b", "text": "late" } }));
    assert_eq!((bench.stale, bench.protocol.said), (1, 3));
    bench.lawful();
}

#[test]
fn hostile_lines_are_kept_counted_and_harmless() {
    let mut bench = Bench::ready(Framing::Numbered);
    let turn = bench.turn();
    let before = bench.log.len();
    for line in ["", "   "] {
        bench.line(Line::Text(line.as_bytes()));
    }
    assert_eq!(bench.log.len(), before);
    for line in ["not json", "[]", "{", "\"text\"", "{\"type\":7}", "{\"n\":2}", "\u{1}{\"away\":1}", "\u{1}"] {
        bench.line(Line::Text(line.as_bytes()));
    }
    bench.line(Line::Text(b"\xff\xfe"));
    bench.line(Line::TooLong { size: 1 << 40, sha256: "00", head: b"{\"type\":" });
    assert_eq!(bench.protocol.said, 1, "nothing of this had a number");
    let mut n = 1;
    let mut say = |bench: &mut Bench, mut message: Value| {
        n += 1;
        message["n"] = json!(n);
        message["turn_id"] = json!(turn);
        bench.says(message);
    };
    say(&mut bench, json!({ "type": "delta", "data": { "text": 7 } }));
    say(&mut bench, json!({ "type": "done", "data": { "outcome": "completed" } }));
    say(&mut bench, json!({ "type": "user_message", "data": { "message_id": "x", "content": [], "origin": "user" } }));
    say(&mut bench, json!({ "type": "agent_unparsed", "data": { "location": "", "error": "", "raw": "" } }));
    say(&mut bench, json!({ "type": "status", "data": { "state": "stopping" } }));
    say(&mut bench, json!({ "type": "ask", "data": { "key": "" , "question": { "questions": [] } } }));
    say(&mut bench, json!({ "type": "ask", "data": { "key": "k" } }));
    say(&mut bench, json!({ "type": "ask", "data": { "key": "k", "question": {}, "interrupt": {} } }));
    say(&mut bench, json!({ "type": "turn_ended", "data": { "outcome": "glorious" } }));
    let refused = bench.wrote.iter().filter(|line| line["type"] == "refused").count();
    assert!(refused >= 9, "{:?}", bench.wrote);
    assert!(bench.machine.state().summary().turn.is_some(), "the turn goes on");
    // Another session's words are nobody's here, whatever number they have.
    let said = bench.protocol.said;
    bench.says(json!({ "type": "delta", "session_id": "s2", "n": said + 1, "data": { "text": "psst" } }));
    bench.says(json!({ "type": "delta", "n": said + 7, "data": { "text": "a gap" } }));
    assert_eq!(bench.protocol.said, said);
    say(&mut bench, json!({ "type": "turn_ended", "data": { "outcome": "completed" } }));
    assert_eq!(bench.last("done")["outcome"], "completed");
    for _ in 0..10_000 {
        bench.line(Line::Text(b"flood"));
    }
    assert!(bench.kinds().iter().filter(|kind| *kind == "agent_unparsed").count() < 300, "a flood is bounded");
    bench.lawful();
}

#[test]
fn a_lost_connection_keeps_the_turn_and_its_asks() {
    let mut bench = Bench::ready(Framing::Numbered);
    let turn = bench.turn();
    let ask = json!({ "key": "a1", "interrupt": { "component_name": "approval", "props": { "action": "Send" } } });
    bench.says(json!({ "type": "ask", "n": 2, "turn_id": turn, "data": ask.clone() }));
    bench.says(json!({ "type": "ask", "n": 3, "turn_id": turn, "data": ask }));
    assert_eq!(bench.kinds().iter().filter(|kind| *kind == "interrupt").count(), 1, "the same key is one ask");
    bench.cut();
    bench.pass(1_000);
    assert_ne!(bench.last("status")["state"], "retrying", "a blink is not worth a word");
    bench.pass(2_000);
    assert_eq!(bench.last("status")["label"], "Waiting for research to come back");
    let ask_id = bench.machine.state().summary().asks[0].ask_id.clone();
    let answer = crate::command::Answer::Interrupt { value: json!({ "choice": "approve", "approved": true }) };
    bench.command(Command::Answer { ask_id, answer });
    bench.wrote.clear();
    bench.back(1);
    let answer = bench.wrote.iter().find(|line| line["type"] == "answer").expect("it hears what it missed");
    assert_eq!((&answer["o"], &answer["key"], &answer["by"]), (&json!(2), &json!("a1"), &json!("workbench")));
    assert_eq!(answer["interrupt"]["value"]["approved"], true);
    bench.says(json!({ "type": "turn_ended", "n": 4, "turn_id": turn, "data": { "outcome": "completed" } }));
    assert_eq!(bench.last("done")["outcome"], "completed");
    bench.lawful();
}

#[test]
fn who_does_not_come_back_loses_the_turn() {
    let mut bench = Bench::ready(Framing::Numbered);
    bench.cut();
    bench.send("m2", "And then?");
    bench.pass(60_000);
    assert_eq!(bench.last("done")["outcome"], "interrupted");
    assert_eq!(bench.last("error")["code"], "agent_away");
    bench.lawful();
}

#[test]
fn a_stop_while_it_is_away_ends_the_turn_at_once() {
    let mut bench = Bench::ready(Framing::Numbered);
    let turn = bench.turn();
    bench.cut();
    bench.stop();
    assert_eq!(bench.last("done")["outcome"], "stopped");
    bench.wrote.clear();
    bench.back(1);
    let interrupt = bench.wrote.iter().find(|line| line["type"] == "interrupt").expect("it hears of the stop");
    assert_eq!((&interrupt["turn_id"], &interrupt["o"]), (&json!(turn), &json!(2)));
    bench.lawful();
}

#[test]
fn three_stops_that_are_ignored_end_the_connection() {
    let mut bench = Bench::ready(Framing::Numbered);
    let mut out = crate::session::Output::default();
    for turn in 0..3 {
        bench.stop();
        if turn < 2 {
            bench.pass(5_000);
            bench.send(&format!("more{turn}"), "go");
        } else {
            bench.machine.handle(Input::Tick, bench.now.plus_millis(5_000), &mut out);
        }
    }
    assert!(out.effects.iter().any(|effect| matches!(effect, Effect::Disconnect)));
}

#[test]
fn a_turn_of_its_own_has_a_name() {
    let mut bench = Bench::ready(Framing::Numbered);
    let turn = bench.turn();
    bench.says(json!({ "type": "turn_ended", "n": 2, "turn_id": turn, "data": { "outcome": "completed" } }));
    bench.says(json!({ "type": "turn_started", "n": 3, "data": { "origin": "agent", "turn": "nightly" } }));
    bench.says(json!({ "type": "delta", "n": 4, "turn_id": "nightly", "data": { "text": "Done." } }));
    bench.says(json!({ "type": "turn_ended", "n": 5, "turn_id": "nightly", "data": { "outcome": "completed" } }));
    assert_eq!(bench.kinds().iter().filter(|kind| *kind == "done").count(), 2);
    bench.says(json!({ "type": "turn_started", "n": 6, "data": { "origin": "agent", "turn": "nightly" } }));
    assert_eq!(bench.last("agent_unparsed")["error"], "a turn of this name has ended");
    assert_eq!(bench.stale, 0);
    bench.lawful();
}

#[test]
fn one_on_a_pipe_has_no_numbers() {
    let mut bench = Bench::ready(Framing::Plain);
    let prompt = bench.wrote.pop_front().unwrap();
    assert_eq!(prompt["type"], "prompt");
    assert!(prompt.get("o").is_none());
    bench.says(json!({ "type": "delta", "data": { "text": "Without a number." } }));
    bench.says(json!({ "type": "turn_ended", "data": { "outcome": "completed" } }));
    assert_eq!(bench.last("done")["outcome"], "completed");
    assert!(bench.wrote.iter().all(|line| line["type"] != "ack"));
    bench.lawful();
}

#[test]
fn capabilities_are_what_is_claimed_and_allowed() {
    let claimed = json!({ "steer": true, "gate": true, "adopt": true, "fly": true, "plan": "yes" });
    let claimed = capabilities(claimed.as_object().unwrap());
    assert_eq!(claimed, Capabilities { steer: true, ..Capabilities::default() });
    assert_eq!(limited(claimed, &["components".to_owned()]), Capabilities::default());
    assert_eq!(limited(claimed, &["steer".to_owned()]), claimed);
}
