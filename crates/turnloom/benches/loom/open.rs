//! What it costs that a session is old: to list it, to open its view, to wake it, and to run a client of another protocol in it. The floor of each is the
//! same with the shortest session, so a column of ones says that age costs nothing.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use turnloom_core::event::{Envelope, Event, Record};
use turnloom_core::id::{Seq, SessionId, TurnId};
use turnloom_core::time::Timestamp;

use super::Scale;
use super::loom::{Served, Writer, directory};
use super::support::{Client, eventually};
use super::table::{Rounds, Table, Unit};

/// Events in a turn.
const TURN: usize = 100;

/// What is measured, and how.
type Measure = fn(&Client, &str, usize) -> Duration;

/// Each right after the daemon has started, so that nothing is at hand.
const COLD: &[(&str, Measure)] = &[("list", list), ("open", open), ("wake", wake)];

/// Each in a daemon that has seen the session before.
const RUNS: &[(&str, Measure)] = &[("AG-UI run", ag_ui), ("AI SDK run", ai_sdk)];

pub(crate) fn measure(scale: Scale, table: &mut Table) {
    let sizes = if scale.smoke { vec![1_000, 6_000] } else { vec![1_000, 10_000, 100_000, 1_000_000] };
    let data = directory();
    let served = Served::start_in(data.path());
    for size in &sizes {
        write(&served, &name(*size), *size);
    }
    served.stop();
    let mut cold = vec![vec![Rounds::default(); sizes.len()]; COLD.len()];
    let mut runs = vec![vec![Rounds::default(); sizes.len()]; RUNS.len()];
    for round in 0..scale.rounds() {
        for (what, (_, measure)) in COLD.iter().enumerate() {
            for (which, size) in sizes.iter().enumerate() {
                let served = Served::start_in(data.path());
                cold[what][which].push_millis(measure(&served.client, &name(*size), round));
                served.stop();
            }
        }
        let served = Served::start_in(data.path());
        for (what, (_, measure)) in RUNS.iter().enumerate() {
            for (which, size) in sizes.iter().enumerate() {
                // The first one wakes the session.
                measure(&served.client, &name(*size), 1_000 + round);
                runs[what][which].push_millis(measure(&served.client, &name(*size), round));
            }
        }
        served.stop();
    }
    let named = |measures: &[(&'static str, Measure)]| measures.iter().map(|(name, _)| *name).collect::<Vec<_>>();
    for (what, rounds) in named(COLD).into_iter().zip(cold).chain(named(RUNS).into_iter().zip(runs)) {
        let shortest = rounds[0].clone();
        for (size, rounds) in sizes.iter().zip(rounds) {
            table.row(format!("{what}, session of {size} events"), Unit::Millis, rounds, Some(shortest.clone()));
        }
    }
}

fn name(size: usize) -> String {
    format!("s{size}")
}

/// A session of short turns, that has rested once.
fn write(served: &Served, name: &str, events: usize) {
    served.runtime.block_on(async {
        let mut writer = Writer::create(served.log(), name).await;
        for turn in 0..events / TURN {
            let records = turn_of(&writer.id, turn);
            served.log().append(writer.append(records)).await.expect("an append");
        }
    });
    let client = &served.client;
    client.turn(name, "echo rest");
    if events < 5_000 {
        return;
    }
    let id = SessionId::trusted(name);
    eventually("what it comes to is kept", || {
        let names = served.runtime.block_on(served.log().snapshots(&id)).expect("names");
        let newest =
            |kind: &str| names.iter().filter(|name| name.kind == kind && name.part == 0).map(|name| name.seq.0).max();
        let is_new = |kind: &str| newest(kind).is_some_and(|seq| seq + 10_000 > events as u64);
        (is_new(turnloom::session::STATE) && is_new(turnloom::reader::VIEW)).then_some(())
    });
}

fn turn_of(id: &SessionId, turn: usize) -> Vec<Record> {
    let text = "x".repeat(40);
    let first = (turn * TURN) as u64;
    let data = |n: usize| match n {
        0 => (
            "user_message",
            json!({ "message_id": format!("m{turn}"), "content": [{ "type": "text", "text": "go on" }], "origin": "user" }),
        ),
        1 => ("turn_started", json!({ "message_ids": [format!("m{turn}")], "origin": "user" })),
        n if n == TURN - 2 => ("delta", json!({ "block_id": "b", "text": "", "done": true })),
        n if n == TURN - 1 => ("done", json!({ "outcome": "completed" })),
        _ => ("delta", json!({ "block_id": "b", "text": text })),
    };
    let record = |n: usize| {
        let (kind, data) = data(n);
        Envelope {
            seq: Seq(first + n as u64 + 1),
            ts: Timestamp::from_millis(1_700_000_000_000),
            session_id: id.clone(),
            turn_id: Some(TurnId::trusted(format!("t{turn}"))),
            subagent_id: None,
            event: Event::from_value(kind, &data),
        }
        .encode()
    };
    (0..TURN).map(record).collect()
}

fn list(client: &Client, _: &str, _: usize) -> Duration {
    let started = Instant::now();
    assert_eq!(client.get("/api/sessions").status, 200);
    started.elapsed()
}

fn open(client: &Client, name: &str, _: usize) -> Duration {
    let started = Instant::now();
    let view = client.get(&format!("/api/sessions/{name}/view?messages=20"));
    let took = started.elapsed();
    assert_eq!(view.json()["messages"].as_array().map(Vec::len), Some(20));
    took
}

/// Until the message is in the log.
fn wake(client: &Client, name: &str, _: usize) -> Duration {
    let started = Instant::now();
    let sent = client.post(&format!("/api/sessions/{name}/message"), &json!({ "message": "echo awake" }));
    let took = started.elapsed();
    assert_eq!(sent.status, 202, "{}", sent.body);
    client.until_idle(name);
    took
}

fn ag_ui(client: &Client, name: &str, round: usize) -> Duration {
    let message = json!({ "id": format!("ag-{round}"), "role": "user", "content": "echo run" });
    let run = json!({
        "threadId": name, "runId": format!("run-{round}"), "messages": [message], "tools": [], "context": [], "state": {}, "forwardedProps": {},
    });
    answered(client, &format!("/ag-ui/{name}"), &run, "RUN_FINISHED")
}

fn ai_sdk(client: &Client, name: &str, round: usize) -> Duration {
    let message =
        json!({ "id": format!("ai-{round}"), "role": "user", "parts": [{ "type": "text", "text": "echo run" }] });
    answered(client, &format!("/ai-sdk/{name}/chat"), &json!({ "id": name, "messages": [message] }), "\"finish\"")
}

fn answered(client: &Client, path: &str, body: &Value, end: &str) -> Duration {
    let started = Instant::now();
    let answer = client.post(path, body);
    let took = started.elapsed();
    assert!(answer.status == 200 && answer.body.contains(end), "{} {}", answer.status, answer.body);
    took
}
