//! The daemon dies at any moment, and nothing is lost, nothing is doubled, nothing is left running.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::cast_possible_truncation,
    reason = "a test says what is wrong by panicking, and starts what it tests"
)]

#[path = "../support/mod.rs"]
mod support;
mod webhooks;

mod schedules;

use std::time::Duration;

use support::{Daemon, Sse, assert_lawful, eventually, of_kind};

/// How often each is tried, at another moment each time.
const ROUNDS: u64 = 25;

/// A moment that differs from round to round and from run to run; printed, so that a failure can be looked at.
fn moment(round: u64, within: Duration) -> Duration {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let mixed = (u64::from(now.subsec_nanos()) ^ (round << 20)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 16;
    Duration::from_micros(mixed % within.as_micros() as u64)
}

#[test]
fn a_follower_loses_nothing_when_the_daemon_is_killed() {
    let mut daemon = Daemon::start();
    for round in 0..ROUNDS {
        let id = format!("killed-{round}");
        daemon.client.mock(&id);
        let mut stream = Sse::open(&daemon.client, &format!("/api/sessions/{id}/events"));
        let follower = std::thread::spawn(move || {
            let mut seen = Vec::new();
            while let Some(event) = stream.next_event() {
                seen.extend(event.id.map(|id| (id, event.data)));
            }
            seen
        });
        daemon.client.say(&id, "stream 20000");
        let wait = moment(round, Duration::from_millis(250));
        std::thread::sleep(wait);
        daemon.kill();
        let mut seen = follower.join().unwrap();
        let before = seen.len();
        eventually("no process of the session is left", || daemon.processes_of(&id).is_empty().then_some(()));

        daemon.again();
        daemon.client.until_idle(&id);
        let last = seen.last().map_or(0, |(id, _)| *id);
        let head = daemon.client.session(&id)["head"].as_u64().unwrap();
        let mut stream = Sse::open(&daemon.client, &format!("/api/sessions/{id}/events?after={last}"));
        while seen.last().map_or(0, |(id, _)| *id) < head {
            let event = stream.next_event().expect("the stream goes on");
            seen.extend(event.id.map(|id| (id, event.data)));
        }
        let log = daemon.client.log(&id);
        println!("round {round}: killed after {wait:?}, {before} events seen, {} in the log", log.len());
        // What was seen before, and what came after, is the log: no gap, no repeat, no other bytes.
        assert_eq!(seen.len(), log.len());
        for ((seq, data), event) in seen.iter().zip(&log) {
            assert_eq!(
                (*seq, serde_json::from_str::<serde_json::Value>(data).unwrap()),
                (event["seq"].as_u64().unwrap(), event.clone())
            );
        }
        assert_lawful(&log);
        let outcome = of_kind(&log, "done")[0]["data"]["outcome"].as_str().unwrap();
        let whole = of_kind(&log, "delta").len() >= 20_000;
        assert_eq!(outcome, if whole { "completed" } else { "interrupted" });
        // And the session goes on.
        assert_eq!(daemon.client.turn(&id, "echo alive").last().unwrap()["data"]["outcome"], "completed");
    }
}

#[test]
fn an_accepted_message_survives_the_daemon() {
    let mut daemon = Daemon::start();
    for round in 0..ROUNDS / 2 {
        let id = format!("accepted-{round}");
        daemon.client.mock(&id);
        daemon.client.say(&id, "hang");
        let mut accepted = Vec::new();
        for n in 0..5 {
            let body = serde_json::json!({ "message": format!("echo {n}"), "message_id": format!("m{n}") });
            let receipt = daemon.client.post(&format!("/api/sessions/{id}/message"), &body);
            assert_eq!(receipt.status, 202);
            accepted.push((body, receipt.json()));
            if moment(round + n, Duration::from_millis(2)) < Duration::from_micros(400) {
                break;
            }
        }
        daemon.kill();
        daemon.again();
        // A client that never heard back asks again, and gets the same receipt.
        for (body, receipt) in &accepted {
            assert_eq!(daemon.client.post(&format!("/api/sessions/{id}/message"), body).json(), *receipt);
        }
        daemon.client.until_idle(&id);
        let log = daemon.client.log(&id);
        let sent: Vec<_> = of_kind(&log, "user_message")[1..]
            .iter()
            .map(|event| event["data"]["message_id"].as_str().unwrap())
            .collect();
        let wanted: Vec<_> = accepted.iter().map(|(body, _)| body["message_id"].as_str().unwrap()).collect();
        assert_eq!(sent, wanted, "each once, in order");
        assert_lawful(&log);
    }
}

#[test]
fn an_open_ask_is_settled_by_the_restart() {
    let mut daemon = Daemon::start();
    daemon.client.mock("s");
    daemon.client.say("s", "permission");
    let ask = daemon.client.ask("s");
    daemon.kill();
    daemon.again();
    daemon.client.until_idle("s");
    assert_eq!(daemon.client.get("/api/asks").json()["asks"], serde_json::json!([]));
    let late =
        daemon.client.post(&format!("/api/sessions/s/permissions/{ask}"), &serde_json::json!({ "reply": "once" }));
    late.is_problem(409, "already_resolved");
    let log = daemon.client.log("s");
    assert_eq!(of_kind(&log, "done")[0]["data"]["outcome"], "interrupted");
    assert_eq!(of_kind(&log, "tool_result")[0]["data"]["interrupted"], true);
    assert_lawful(&log);
}

#[test]
fn nothing_outlives_a_killed_daemon_even_if_it_never_comes_back() {
    let mut daemon = Daemon::start();
    daemon.client.mock("orphans");
    daemon.client.say("orphans", "linger");
    eventually("the helper has left its group", || (daemon.processes_of("orphans").len() >= 2).then_some(()));
    daemon.kill();
    eventually("everything has ended", || daemon.processes_of("orphans").is_empty().then_some(()));
}

#[test]
fn less_durable_is_still_durable_enough_for_a_kill() {
    let data = tempfile::tempdir().unwrap();
    std::fs::write(data.path().join("config.toml"), "durability = \"process\"").unwrap();
    let mut daemon = Daemon::on(data.path(), &[]);
    daemon.client.mock("s");
    let mut stream = Sse::open(&daemon.client, "/api/sessions/s/events");
    daemon.client.say("s", "stream 5000");
    let mut last = None;
    for _ in 0..500 {
        last = stream.next_event();
    }
    daemon.kill();
    daemon.again();
    daemon.client.until_idle("s");
    let log = daemon.client.log("s");
    let last = last.and_then(|event| event.id).unwrap();
    assert!(log.len() as u64 >= last);
    assert_lawful(&log);
}

#[test]
fn a_second_daemon_is_refused() {
    let daemon = Daemon::start();
    let second = std::process::Command::new(env!("CARGO_BIN_EXE_turnloom"))
        .args(["up", "--port", "0", "--no-open", "--data"])
        .arg(&daemon.data)
        .output()
        .unwrap();
    assert_eq!(second.status.code(), Some(1));
    let said = String::from_utf8_lossy(&second.stderr);
    assert!(said.contains("in use by another turnloom") && said.contains(&daemon.pid().to_string()), "{said}");
    assert_eq!(daemon.client.get("/health").status, 200);
}
