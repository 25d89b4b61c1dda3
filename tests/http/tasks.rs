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
    // While progress is held back no position is told; then it comes with the last of that.
    let mut told = frames.last().unwrap().0;
    let position = loop {
        match told {
            Some(position) => break position,
            None => told = next(&mut stream).0,
        }
    };
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

/// Reads frames until one fits.
fn until(stream: &mut Sse, wanted: impl Fn(&Value) -> bool) -> Value {
    loop {
        let (_, frame) = next(stream);
        if wanted(&frame) {
            return frame;
        }
    }
}

#[test]
fn the_stream_says_who_is_dead_and_that_it_is_back() {
    let daemon = Daemon::start_with("zombie_seconds = 1", &[]);
    let client = &daemon.client;
    client.mock("hangs");
    client.mock("waits");
    let mut stream = Sse::open(client, "/api/tasks/events");
    next(&mut stream);
    client.say("waits", "permission");
    client.ask("waits");
    let run = client.say("hangs", "hang")["turn_id"].as_str().unwrap().to_owned();
    // Nothing is committed when somebody falls silent; it is told all the same.
    let dead = until(&mut stream, |frame| frame["type"] == "task:progress" && frame["data"]["isZombie"] == true);
    assert_eq!(dead["data"]["runId"], json!(run));
    let active = client.get("/api/tasks/active").json();
    let zombies: Vec<&Value> =
        active["tasks"].as_array().unwrap().iter().filter(|task| task["isZombie"] == true).collect();
    assert_eq!(zombies.len(), 1, "who waits for a person is not dead");
    // Who comes now is told at once.
    let mut late = Sse::open(client, "/api/tasks/events");
    until(&mut late, |frame| frame["data"]["task"]["isZombie"] == true);
    // A queued message is no sign of the agent, but one of the session.
    client.say("hangs", "echo later");
    let back = until(&mut stream, |frame| frame["type"] == "task:progress" && frame["data"]["runId"] == json!(run));
    assert_eq!((&back["data"]["isZombie"], &back["data"]["queued"]), (&json!(false), &json!(1)));
    let force = format!("/api/agent-runs/{run}/cancel?force=true");
    client.post(&force, &json!({})).is_problem(409, "run_is_alive");
    eventually("it is dead again", || {
        let status = client.get(&format!("/api/agent-runs/{run}/status")).json();
        (status["is_zombie"] == true).then_some(())
    });
    assert_eq!(client.post(&force, &json!({})).json(), json!({ "cancelled": true, "forced": true }));
}

#[test]
fn a_task_says_what_began_it_and_whether_somebody_is_there() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("mine");
    client.say("mine", "echo by hand");
    client.until_idle("mine");
    let when = json!({ "type": "interval", "every": "1h" });
    let schedule = json!({ "schedule_id": "nightly", "title": "Nightly", "when": when, "prompt": "echo by itself", "runtime": "mock" });
    assert_eq!(client.post("/api/schedules", &schedule).status, 201);
    let run = client.post("/api/schedules/nightly/run", &json!({})).json();
    let listed = |query: &str| client.get(&format!("/api/tasks?{query}")).json()["tasks"].as_array().unwrap().clone();
    let scheduled = eventually("it has run", || listed("type=scheduled&status=succeeded").pop());
    assert_eq!((&scheduled["type"], &scheduled["presence"]), (&json!("scheduled"), &json!("background")));
    assert_eq!(scheduled["metadata"], json!({ "scheduledRunId": run["run_id"] }));
    assert_eq!(scheduled["prompt"], "echo by itself");
    let mine = &listed("presence=foreground")[0];
    assert_eq!((&mine["type"], &mine["title"]), (&json!("chat"), &json!("echo by hand")));
}

#[test]
fn turns_are_listed_by_page_and_filter_newest_first() {
    let mut daemon = Daemon::start();
    let client = &daemon.client;
    for session in ["a", "b", "c"] {
        client.mock(session);
    }
    let mut began = Vec::new();
    for (session, script) in
        [("a", "echo 1"), ("b", "error"), ("a", "echo 2"), ("c", "echo 3"), ("b", "echo 4"), ("a", "echo 5")]
    {
        began.push(client.say(session, script)["turn_id"].as_str().unwrap().to_owned());
        client.until_idle(session);
    }
    began.reverse();
    // One is put away, and is still found in its place.
    assert_eq!(client.delete("/api/sessions/c").status, 200);
    // Nothing of it is kept in memory.
    daemon.terminate();
    daemon.again();
    let client = &daemon.client;
    let ids = |page: &Value| -> Vec<String> {
        page["tasks"].as_array().unwrap().iter().map(|task| task["runId"].as_str().unwrap().to_owned()).collect()
    };
    let all = client.get("/api/tasks").json();
    assert_eq!(ids(&all), began);
    assert!(all.get("next_cursor").is_none());
    let (mut read, mut query) = (Vec::new(), "limit=2".to_owned());
    loop {
        let page = client.get(&format!("/api/tasks?{query}")).json();
        read.extend(ids(&page));
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        assert_eq!(ids(&page).len(), 2);
        query = format!("limit=2&cursor={cursor}");
    }
    assert_eq!(read, began);
    let failed = client.get("/api/tasks?status=failed").json();
    assert_eq!(ids(&failed), [began[4].clone()]);
    assert!(failed["tasks"][0]["error"].is_string());
    assert_eq!(ids(&client.get("/api/tasks?session_id=a").json()), [&began[0], &began[3], &began[5]].map(Clone::clone));
    client.say("b", "hang");
    let running = client.get("/api/tasks?status=running").json();
    assert_eq!((running["tasks"].as_array().unwrap().len(), &running["tasks"][0]["sessionId"]), (1, &json!("b")));
    client.get("/api/tasks?session_id=nobody").is_problem(404, "session_not_found");
    for wrong in ["cursor=x", "limit=0", "status=done", "type=x", "colour=red"] {
        client.get(&format!("/api/tasks?{wrong}")).is_problem(400, "invalid_request");
    }
}

#[test]
fn a_stream_can_say_that_lists_have_changed() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("a");
    let mut plain = Sse::open(client, "/api/tasks/events");
    let mut lists = Sse::open(client, "/api/tasks/events?lists=true");
    next(&mut plain);
    next(&mut lists);
    client.patch("/api/sessions/a", &json!({ "title": "another name" }));
    assert_eq!(next(&mut lists).1["type"], "sessions:changed");
    client.say("a", "echo x");
    assert!(until_completed(&mut plain, "a").iter().all(|(_, frame)| frame["type"] != "sessions:changed"));
}
