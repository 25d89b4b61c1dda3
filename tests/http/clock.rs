//! A wall clock that is set, or was never right.

use std::path::PathBuf;
use std::process::Command;

use serde_json::json;

use crate::support::{Daemon, Receiver, assert_lawful, eventually, of_kind, preload, processes_of};

/// A wall clock for one daemon, which the test can set.
struct WallClock {
    folder: tempfile::TempDir,
    library: PathBuf,
}

impl WallClock {
    fn new(seconds: i64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = Self { library: preload("clock.c", folder.path()), folder };
        clock.set(seconds);
        clock
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("seconds")
    }

    /// So many seconds before or after the real one.
    fn set(&self, seconds: i64) {
        let fresh = self.folder.path().join("fresh");
        std::fs::write(&fresh, seconds.to_string()).unwrap();
        std::fs::rename(fresh, self.file()).unwrap();
    }

    /// The environment of a program that has this clock.
    fn env(&self) -> Vec<(String, String)> {
        let env = [("LD_PRELOAD", self.library.clone()), ("TEST_CLOCK", self.file()), ("PATH", "/usr/bin:/bin".into())];
        env.into_iter().map(|(name, value)| (name.to_owned(), value.to_str().unwrap().to_owned())).collect()
    }

    fn daemon(&self, config: &str) -> Daemon {
        Daemon::start_in(config, self.env())
    }
}

const HOUR: i64 = 3600;

#[test]
fn a_stop_ends_in_time_though_the_clock_is_set_back() {
    let clock = WallClock::new(0);
    let daemon = clock.daemon("interrupt_seconds = 2\nterminate_seconds = 1");
    let client = &daemon.client;
    client.mock("set-back");
    client.say("set-back", "stubborn");
    client.until_thinking("set-back");
    std::thread::scope(|scope| {
        let stopped = scope.spawn(|| client.post("/api/sessions/set-back/stop", &json!({})).json());
        eventually("the stop is under way", || (client.session("set-back")["status"] == "stopping").then_some(()));
        clock.set(-HOUR);
        assert_eq!(stopped.join().unwrap(), json!({ "stopped": true }));
    });
    assert_eq!(processes_of("set-back"), Vec::<u32>::new());
    // And an agent that starts is not given up because the clock is set right again.
    clock.set(HOUR);
    assert_eq!(client.turn("set-back", "echo on").last().unwrap()["data"]["outcome"], "completed");
    assert_lawful(&client.log("set-back"));
}

const BEFORE_1970: i64 = -80 * 365 * 24 * HOUR;

#[test]
fn a_clock_before_1970_is_named_at_the_start() {
    let clock = WallClock::new(BEFORE_1970);
    let data = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_turnloom"));
    command.args(["up", "--port", "0", "--no-open", "--data"]).arg(data.path()).env_clear().envs(clock.env());
    let ended = command.output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(1), "{said}");
    assert!(said.contains("the clock of this machine stands before 1970") && !said.contains("panicked"), "{said}");
}

#[test]
fn a_session_goes_on_when_the_clock_is_set_before_1970() {
    let clock = WallClock::new(0);
    let mut daemon = clock.daemon("");
    let client = daemon.client.clone();
    client.mock("early");
    client.say("early", "sleep 500");
    client.until_thinking("early");
    clock.set(BEFORE_1970);
    // Whoever asks meanwhile is answered, whichever thread it is that does it.
    std::thread::scope(|scope| {
        let asked: Vec<_> = (0..32).map(|_| scope.spawn(|| client.get("/api/sessions/early").status)).collect();
        assert!(asked.into_iter().all(|asked| asked.join().unwrap() == 200));
    });
    // Its turn ends, and its agent with it after a while.
    eventually("the agent is gone", || processes_of("early").is_empty().then_some(()));
    clock.set(0);
    let log = client.log("early");
    assert_eq!(of_kind(&log, "done")[0]["data"]["outcome"], "completed");
    assert_lawful(&log);
    assert_eq!(client.turn("early", "echo good morning").last().unwrap()["data"]["outcome"], "completed");
    assert_eq!(daemon.terminate(), Some(0));
}

#[test]
fn a_run_is_not_dead_because_the_clock_is_set_ahead() {
    let clock = WallClock::new(0);
    let daemon = clock.daemon("zombie_seconds = 1800");
    let client = &daemon.client;
    client.mock("ahead");
    let run = client.say("ahead", "hang")["turn_id"].as_str().unwrap().to_owned();
    client.until_thinking("ahead");
    clock.set(HOUR);
    let status = client.get(&format!("/api/agent-runs/{run}/status")).json();
    assert_eq!((&status["status"], &status["is_zombie"]), (&json!("running"), &json!(false)));
}

#[test]
fn what_a_schedule_missed_is_told_in_the_session_of_the_next_run_and_to_webhooks() {
    let (clock, receiver) = (WallClock::new(0), Receiver::taking());
    let daemon = clock.daemon("allow_private_targets = true");
    let client = &daemon.client;
    let missed = json!({ "url": receiver.url, "events": ["schedule.missed"] });
    assert_eq!(client.post("/api/webhooks", &missed).status, 201);
    let when = json!({ "type": "interval", "every": "10m" });
    let made = json!({ "schedule_id": "s", "title": "A test", "when": when, "prompt": "echo hi", "runtime": "mock" });
    assert_eq!(client.post("/api/schedules", &made).status, 201);
    // As if the machine had slept.
    clock.set(HOUR);
    let runs = || client.get("/api/schedules/s/runs").json()["runs"].as_array().unwrap().clone();
    let run = eventually("one run makes up for all", || runs().into_iter().find(|run| run["outcome"] == "completed"));
    assert!(runs().iter().any(|run| run["outcome"] == "missed" && run["missed"]["count"] == 5), "{:?}", runs());
    let log = client.log(run["session_id"].as_str().unwrap());
    assert_lawful(&log);
    let facts = of_kind(&log, "schedule_missed");
    assert_eq!(facts.len(), 1);
    assert_eq!((&facts[0]["data"]["schedule_id"], &facts[0]["data"]["count"]), (&json!("s"), &json!(5)));
    let told = eventually("it is told", || receiver.received().first().map(crate::support::receiver::Received::json));
    assert_eq!((&told["type"], &told["data"]["facts"]["count"]), (&json!("schedule.missed"), &json!(5)), "{told}");
    // A clock that is set back a day runs nothing twice, and somebody can still run it.
    clock.set(-24 * HOUR);
    let before = runs().len();
    assert_eq!(client.post("/api/schedules/s/run", &json!({})).status, 202);
    let again = eventually("it runs by hand", || {
        let ended = runs().into_iter().filter(|run| run["state"] == "ended").collect::<Vec<_>>();
        (ended.len() > before).then_some(ended)
    });
    assert_eq!(again.iter().filter(|run| run["cause"] != "manual").count(), before, "nothing that was due runs again");
}
