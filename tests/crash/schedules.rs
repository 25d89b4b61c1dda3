//! The daemon dies around the moments at which runs are due. Each due time has one turn, and none has two.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};

use crate::moment;
use crate::support::{Daemon, assert_lawful, eventually, of_kind};

/// How often it is killed.
const ROUNDS: u64 = 100;

/// In milliseconds: a run is due about as often as the daemon dies.
const EVERY: i64 = 1000;

fn runs(daemon: &Daemon) -> Vec<Value> {
    let (mut runs, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = daemon.client.get(&format!("/api/schedules/s/runs?limit=200{cursor}")).json();
        runs.extend(page["runs"].as_array().unwrap().clone());
        let Some(next) = page["next_cursor"].as_str() else { return runs };
        cursor = format!("&cursor={next}");
    }
}

#[test]
fn a_due_run_is_neither_lost_nor_doubled() {
    let mut daemon = Daemon::start();
    let body = json!({
        "schedule_id": "s",
        "title": "Crash",
        "when": { "type": "interval", "every": format!("{EVERY} ms") },
        "prompt": "echo {{run_id}}",
        "runtime": "mock",
        "overlap": "queue",
        "missed": { "type": "all", "at_most": 100 },
    });
    let made = daemon.client.post("/api/schedules", &body);
    assert_eq!(made.status, 201, "{}", made.json());
    let created = millis(&made.json()["created_at"]);
    for round in 0..ROUNDS {
        std::thread::sleep(moment(round, Duration::from_millis(400)));
        daemon.kill();
        daemon.again();
    }
    assert_eq!(daemon.client.patch("/api/schedules/s", &json!({ "paused": true })).status, 200);
    let shown = eventually("every run has ended", || {
        Some(daemon.client.get("/api/schedules/s").json()).filter(|shown| shown["open_runs"] == json!([]))
    });
    let runs = runs(&daemon);
    assert!(runs.iter().all(|run| run["state"] == "ended"), "{shown}");

    // Every due time from the first to the last has a run, or is among those that were told as missed.
    let mut due: Vec<i64> =
        runs.iter().filter(|run| run.get("missed").is_none()).map(|run| millis(&run["due_at"])).collect();
    for missed in runs.iter().filter_map(|run| run.get("missed")) {
        let (first, last) = (millis(&missed["first"]), millis(&missed["last"]));
        due.extend((first..=last).step_by(EVERY as usize));
    }
    due.sort_unstable();
    // The oldest may be forgotten by now.
    let (first, last) = (*due.first().unwrap(), *due.last().unwrap());
    assert_eq!((first - created) % EVERY, 0);
    let expected: Vec<i64> = (first..=last).step_by(EVERY as usize).collect();
    assert_eq!(due, expected, "each once");

    // And the logs of the sessions say the same.
    let ran: Vec<&Value> =
        runs.iter().filter(|run| !["missed", "skipped"].contains(&run["outcome"].as_str().unwrap())).collect();
    let (mut completed, mut sessions) = (0, BTreeSet::new());
    for run in &ran {
        let session = run["session_id"].as_str().unwrap();
        assert!(sessions.insert(session.to_owned()), "{session} is a session of its own");
        let log = daemon.client.log(session);
        assert_lawful(&log);
        let messages = of_kind(&log, "user_message");
        assert_eq!(messages.len(), 1, "{run} was sent once");
        assert_eq!(messages[0]["data"]["message_id"], run["run_id"]);
        assert_eq!(of_kind(&log, "turn_started").len(), 1, "{run} has one turn");
        let outcome = &of_kind(&log, "done")[0]["data"]["outcome"];
        assert_eq!(*outcome, run["outcome"], "{run}");
        completed += u64::from(outcome == "completed");
    }
    println!("{} due, {} ran, {completed} completed, {} kills", due.len(), ran.len(), ROUNDS);
    assert!(completed > 0);
}

fn millis(time: &Value) -> i64 {
    let time: turnloom_core::time::Timestamp = serde_json::from_value(time.clone()).unwrap();
    time.millis()
}
