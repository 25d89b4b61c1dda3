//! Cuts, kills and restarts at any moment, with the real daemon: every fact and every order exactly once.

use std::collections::{BTreeMap, VecDeque};

use serde_json::{Value, json};

use crate::agent::{TestAgent, begin};
use crate::support::{Daemon, assert_lawful, eventually, of_kind};

const SESSIONS: usize = 3;
const TURNS: usize = 12;

/// A small generator: the same seed, the same run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// What the agent still has to say in each turn that it works on.
#[derive(Default)]
struct Work {
    turn: String,
    left: VecDeque<(&'static str, Value)>,
    waits_for: Option<String>,
}

#[test]
fn every_fact_and_every_order_exactly_once() {
    let mut dice = Dice(20_261_118);
    let mut daemon =
        Daemon::start_with("[agents.research]\nkind = \"external\"\ngrace_seconds = 3600\nwait_seconds = 3600", &[]);
    let mut agent = TestAgent::new(&daemon.client, "research", "one");
    agent.connect(&daemon.client);
    let name = |number: usize| format!("chaos{number}");
    for number in 0..SESSIONS {
        begin(&daemon.client, &name(number), "research", "0");
    }
    let mut work: BTreeMap<String, Work> = BTreeMap::new();
    let mut expected: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut ended: BTreeMap<String, usize> = BTreeMap::new();
    let (mut cuts, mut kills) = (0, 0);
    let mut steps = 0;
    while ended.values().sum::<usize>() < SESSIONS * TURNS {
        steps += 1;
        assert!(steps < 20_000, "it does not come to an end: {ended:?}");
        if agent.socket.is_none() && agent.try_connect(&daemon.client).is_none() {
            continue;
        }
        match dice.roll(60) {
            0..=7 => {
                cuts += 1;
                agent.cut();
                continue;
            }
            8..=10 if kills < 8 => {
                kills += 1;
                daemon.kill();
                // What it says meanwhile is for the next one.
                speak(&mut agent, &mut work, &mut ended, &mut dice);
                agent.cut();
                daemon.again();
                continue;
            }
            _ => {}
        }
        if let Some(order) = agent.look() {
            let session = order["session_id"].as_str().unwrap().to_owned();
            match order["type"].as_str().unwrap() {
                "open" => agent.say(&session, "ready", None, json!({})),
                "prompt" => {
                    let (turn, turns) =
                        (order["turn_id"].as_str().unwrap().to_owned(), expected.entry(session.clone()).or_default());
                    let mut left = VecDeque::new();
                    for piece in 0..(3 + dice.roll(12)) {
                        let text = format!("{}.{piece} ", turns.len());
                        turns.push(text.clone());
                        left.push_back(("delta", json!({ "block_id": format!("b{turn}"), "text": text })));
                        if dice.roll(6) == 0 {
                            let key = format!("{turn}-{piece}");
                            let asked = json!({ "component_name": "form", "props": {} });
                            left.push_back(("ask", json!({ "key": key, "interrupt": asked })));
                        }
                    }
                    left.push_back(("turn_ended", json!({ "outcome": "completed" })));
                    work.insert(session, Work { turn, left, waits_for: None });
                }
                "answer" => {
                    let work = work.get_mut(&session).unwrap();
                    assert_eq!(work.waits_for.take().as_deref(), order["key"].as_str(), "an answer to what it asked");
                }
                other => panic!("{other}"),
            }
        }
        speak(&mut agent, &mut work, &mut ended, &mut dice);
        if dice.roll(4) == 0 {
            answer_and_send(&daemon, &ended, &mut dice);
        }
    }
    assert!(cuts > 5 && kills > 2, "{cuts} cuts, {kills} kills in {steps} steps");
    for number in 0..SESSIONS {
        let session = name(number);
        eventually("all is durable", || {
            if agent.socket.is_none() {
                agent.try_connect(&daemon.client);
            }
            agent.look();
            (agent.unacknowledged(&session) == 0).then_some(())
        });
        daemon.client.until_idle(&session);
        let log = daemon.client.log(&session);
        assert_lawful(&log);
        let text: Vec<&str> = of_kind(&log, "delta")
            .iter()
            .filter_map(|delta| delta["data"]["text"].as_str())
            .filter(|text| !text.is_empty())
            .collect();
        assert_eq!(text, expected[&session], "{session}");
        let done = of_kind(&log, "done");
        assert_eq!(done.len(), TURNS);
        assert!(done.iter().all(|done| done["data"]["outcome"] == "completed"), "{done:?}");
        let prompts: Vec<&Value> = agent
            .orders
            .iter()
            .filter(|order| order["session_id"] == json!(session) && order["type"] == "prompt")
            .collect();
        assert_eq!(prompts.len(), TURNS, "each was heard once");
    }
}

/// Says some of what there is to say.
fn speak(
    agent: &mut TestAgent,
    work: &mut BTreeMap<String, Work>,
    ended: &mut BTreeMap<String, usize>,
    dice: &mut Dice,
) {
    for (session, work) in work.iter_mut() {
        if !agent.held.contains_key(session) {
            continue;
        }
        for _ in 0..dice.roll(3) {
            if work.waits_for.is_some() {
                break;
            }
            let Some((kind, data)) = work.left.pop_front() else { break };
            if kind == "ask" {
                work.waits_for = data["key"].as_str().map(str::to_owned);
            }
            if kind == "turn_ended" {
                *ended.entry(session.clone()).or_default() += 1;
            }
            agent.say(session, kind, Some(&work.turn), data);
        }
    }
}

/// People answer, and send the next message when a turn has ended.
fn answer_and_send(daemon: &Daemon, ended: &BTreeMap<String, usize>, dice: &mut Dice) {
    let client = &daemon.client;
    for ask in client.get("/api/asks").json()["asks"].as_array().unwrap() {
        let (session, ask_id) = (ask["session_id"].as_str().unwrap(), ask["ask_id"].as_str().unwrap());
        let answer = client.post(
            &format!("/api/sessions/{session}/interrupt/{ask_id}"),
            &json!({ "value": { "action": "submit", "values": { "roll": dice.roll(9) } } }),
        );
        assert_eq!(answer.status, 200, "{}", answer.body);
    }
    for number in 0..SESSIONS {
        let session = format!("chaos{number}");
        let state = client.session(&session);
        let turns = ended.get(&session).copied().unwrap_or_default();
        if state["turn"].is_null() && turns > 0 && turns < TURNS {
            // The same id again is the same message, so asking often does no harm.
            let body = json!({ "message": turns.to_string(), "message_id": format!("{session}-{turns}") });
            assert_eq!(client.post(&format!("/api/sessions/{session}/message"), &body).status, 202);
        }
    }
}
