//! Tasks: the turns of all sessions in one stream.

use std::time::Instant;

use serde_json::{Value, json};

use crate::support::{Daemon, Sse, eventually};

fn next(stream: &mut Sse) -> (Option<u64>, Value) {
    let event = stream.next_event().expect("the stream goes on");
    assert_eq!(event.kind, "", "these clients listen for plain messages");
    (event.id, serde_json::from_str(&event.data).unwrap())
}

/// Frames up to the end of a run.
fn until_completed(stream: &mut Sse, session: &str) -> Vec<(Option<u64>, Value)> {
    let mut frames = Vec::new();
    loop {
        let (id, frame) = next(stream);
        let last = frame["type"] == "task:completed" && frame["data"]["task"]["sessionId"] == session;
        frames.push((id, frame));
        if last {
            return frames;
        }
    }
}

#[test]
fn every_turn_starts_goes_on_and_ends_over_all_sessions() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("a");
    client.mock("b");
    let mut stream = Sse::open(client, "/api/tasks/events");
    let (_, connected) = next(&mut stream);
    assert_eq!((&connected["type"], &connected["data"]["resumed"]), (&json!("connected"), &json!(false)));
    client.say("a", "permission");
    client.ask("a");
    client.say("b", "echo hello");
    let frames = until_completed(&mut stream, "b");
    let started = |session: &str| {
        let mut found = frames
            .iter()
            .filter(|(_, frame)| frame["type"] == "task:started" && frame["data"]["task"]["sessionId"] == session);
        found.next().unwrap().1["data"]["task"].clone()
    };
    assert_eq!((&started("a")["origin"], &started("a")["status"]), (&json!("user"), &json!("running")));
    let ended = &frames.last().unwrap().1["data"]["task"];
    assert_eq!((&ended["status"], &ended["runId"]), (&json!("succeeded"), &started("b")["runId"]));
    assert!(ended["durationMs"].is_number() && ended["completedAt"].is_string());
    let active = client.get("/api/tasks/active").json();
    assert_eq!(active["tasks"].as_array().unwrap().len(), 1);
    assert_eq!((&active["tasks"][0]["runId"], &active["tasks"][0]["needsInput"]), (&started("a")["runId"], &json!(1)));
    // Back with its last position, a client gets what is new and nothing twice; with a position of nobody, what runs.
    let position = frames.iter().rev().find_map(|(id, _)| *id).unwrap();
    let ask = client.ask("a");
    client.post(&format!("/api/sessions/a/permissions/{ask}"), &json!({ "reply": "once" }));
    client.until_idle("a");
    let mut again = Sse::open(client, &format!("/api/tasks/events?after={position}"));
    assert_eq!(next(&mut again).1["data"]["resumed"], true);
    let rest = until_completed(&mut again, "a");
    assert!(rest.iter().all(|(_, frame)| frame["type"] != "task:started"));
    let mut lost = Sse::open(client, "/api/tasks/events?after=7000000");
    assert_eq!(next(&mut lost).1["data"]["resumed"], false);
}

#[test]
fn progress_is_throttled_and_the_newest_wins() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("s");
    let mut stream = Sse::open(client, "/api/tasks/events");
    next(&mut stream);
    let began = Instant::now();
    client.say("s", "stream 400 20 400");
    let frames = until_completed(&mut stream, "s");
    let progress = frames.iter().filter(|(_, frame)| frame["type"] == "task:progress").count();
    let most = usize::try_from(began.elapsed().as_millis() / 300).unwrap() + 2;
    assert!(progress >= 2 && progress <= most, "{progress} pieces of progress in {:?}", began.elapsed());
    let text = |frame: &Value| frame["data"]["progressText"].as_str().unwrap().len();
    assert!(frames.iter().filter(|(_, frame)| frame["type"] == "task:progress").all(|(_, frame)| text(frame) <= 2_048));
}

#[test]
fn the_daemon_says_which_run_is_dead_and_a_person_is_waited_for() {
    let daemon = Daemon::start_with("zombie_seconds = 1", &[]);
    let client = &daemon.client;
    client.mock("hangs");
    client.mock("waits");
    let hangs = client.say("hangs", "hang")["turn_id"].as_str().unwrap().to_owned();
    let waits = client.say("waits", "permission")["turn_id"].as_str().unwrap().to_owned();
    client.ask("waits");
    let status = |run: &str| client.get(&format!("/api/agent-runs/{run}/status")).json();
    let dead = eventually("the run is dead", || Some(status(&hangs)).filter(|status| status["is_zombie"] == true));
    assert_eq!((&dead["status"], &dead["isZombie"]), (&json!("running"), &json!(true)));
    assert!(dead["last_heartbeat_at"].is_string());
    // It has been silent for as long: it asked before the other one said its last word, or at the same time.
    let waited = status(&waits);
    assert_eq!((&waited["is_zombie"], &waited["waits_for_person"]), (&json!(false), &json!(true)));
    let cancelled = client.post(&format!("/api/agent-runs/{hangs}/cancel"), &json!({}));
    assert_eq!(cancelled.json(), json!({ "cancelled": true, "forced": true }));
    let again = client.post(&format!("/api/agent-runs/{hangs}/cancel"), &json!({})).is_problem(409, "not_running");
    assert_eq!(again["run_status"], "cancelled");
    assert_eq!(status(&hangs)["status"], "cancelled");
    let cancelled = client.post(&format!("/api/agent-runs/{waits}/cancel"), &json!({}));
    assert_eq!(cancelled.json(), json!({ "cancelled": true }));
}

#[test]
fn what_is_unknown_is_said_and_an_old_run_is_found_by_its_session() {
    let mut daemon = Daemon::start();
    daemon.client.mock("s");
    let run = daemon.client.say("s", "echo hi")["turn_id"].as_str().unwrap().to_owned();
    daemon.client.until_idle("s");
    daemon.terminate();
    daemon.again();
    let client = &daemon.client;
    client.get(&format!("/api/agent-runs/{run}/status")).is_problem(404, "run_not_found");
    let found = client.get(&format!("/api/agent-runs/{run}/status?session_id=s")).json();
    assert_eq!((&found["status"], &found["is_zombie"]), (&json!("succeeded"), &json!(false)));
    client.get("/api/agent-runs/nothing/status?session_id=s").is_problem(404, "run_not_found");
    client.post("/api/agent-runs/nothing/cancel", &json!({})).is_problem(404, "run_not_found");
    client.get("/api/tasks/events?after=x").is_problem(400, "invalid_request");
    client.request("GET", "/api/tasks/events", &[("last-event-id", "x")], b"").is_problem(400, "bad_cursor");
    assert_eq!(client.get("/api/tasks/active").json()["tasks"], json!([]));
}

#[test]
fn a_turn_that_only_talks_is_heard_of_though_nobody_looks() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("a");
    client.say("a", "stream 1000000 10 100");
    let moments = || {
        let task = &client.get("/api/tasks/active").json()["tasks"][0];
        let text = |name: &str| task[name].as_str().map(str::to_owned);
        text("startedAt").zip(text("lastActivityAt"))
    };
    eventually("it is alive", || moments().filter(|(started, last)| last > started));
    client.post("/api/sessions/a/stop", &json!({}));
}
