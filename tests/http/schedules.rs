//! Schedules: what is due runs by itself, once, and says what became of it.

use serde_json::{Value, json};

use crate::support::{Client, Daemon, assert_lawful, eventually, of_kind};

fn every(id: &str, every: &str, prompt: &str) -> Value {
    let when = json!({ "type": "interval", "every": every });
    json!({ "schedule_id": id, "title": "A test", "when": when, "prompt": prompt, "runtime": "mock" })
}

fn with(mut body: Value, fields: Value) -> Value {
    let Value::Object(fields) = fields else { panic!("fields are an object") };
    body.as_object_mut().unwrap().extend(fields);
    body
}

fn add(client: &Client, body: &Value) -> Value {
    let made = client.post("/api/schedules", body);
    assert_eq!(made.status, 201, "{}", made.json());
    made.json()
}

fn runs(client: &Client, id: &str) -> Vec<Value> {
    client.get(&format!("/api/schedules/{id}/runs")).json()["runs"].as_array().unwrap().clone()
}

fn ended(client: &Client, id: &str, count: usize) -> Vec<Value> {
    eventually("runs have ended", || {
        let ended: Vec<Value> = runs(client, id).into_iter().filter(|run| run["state"] == "ended").collect();
        (ended.len() >= count).then_some(ended)
    })
}

#[test]
fn what_is_due_runs_and_is_on_record() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    let made = add(
        client,
        &with(every("tick", "300ms", "echo at {{date}}, {{who}}"), json!({ "variables": { "who": "me" } })),
    );
    assert_eq!((&made["status"], made["next"].as_array().unwrap().len()), (&json!("active"), 5));
    let run = ended(client, "tick", 2).pop().unwrap();
    client.patch("/api/schedules/tick", &json!({ "paused": true }));
    assert_eq!((&run["outcome"], &run["cause"]), (&json!("completed"), &json!("due")));
    assert!(run["duration_ms"].is_number() && run["usage"]["input_tokens"].is_number(), "{run}");
    let session = run["session_id"].as_str().unwrap();
    assert_eq!(session, run["run_id"], "a session of its own, named by the run");
    let log = client.log(session);
    assert_lawful(&log);
    let message = of_kind(&log, "user_message")[0];
    assert_eq!((&message["data"]["origin"], &message["data"]["message_id"]), (&json!("schedule"), &run["run_id"]));
    let started = of_kind(&log, "turn_started")[0];
    assert_eq!((&started["data"]["origin"], &started["turn_id"]), (&json!("schedule"), &run["turn_id"]));
    assert!(message["data"]["content"][0]["text"].as_str().unwrap().ends_with(", me"), "{message}");
    let shown = client.get("/api/schedules/tick").json();
    assert_eq!((&shown["status"], &shown["next"]), (&json!("paused"), &json!([])));
    assert_eq!(client.get("/api/schedules").json()["schedules"].as_array().unwrap().len(), 1);
    let page = client.get("/api/schedules/tick/runs?limit=1").json();
    let cursor = page["next_cursor"].as_str().unwrap();
    let older = client.get(&format!("/api/schedules/tick/runs?limit=1&cursor={cursor}")).json();
    assert!(older["runs"][0]["run_id"].as_str() < page["runs"][0]["run_id"].as_str());
    assert_eq!(client.delete("/api/schedules/tick").status, 204);
    client.get("/api/schedules/tick").is_problem(404, "schedule_not_found");
    assert_eq!(client.session(session)["status"], "idle", "its sessions stay");
}

#[test]
fn what_makes_no_sense_is_refused_and_nothing_is_made() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    let good = every("s", "1h", "echo hi");
    let cron = |expression: &str| json!({ "when": { "type": "cron", "expression": expression } });
    for (fields, status, code) in [
        (cron("every day"), 422, "invalid_cron"),
        (cron("0 0 30 2 *"), 422, "never_due"),
        (json!({ "zone": "Mars/Olympus" }), 422, "unknown_zone"),
        (json!({ "when": { "type": "interval", "every": "soon" } }), 422, "invalid_interval"),
        (json!({ "when": { "type": "once", "at": "2020-01-01T00:00:00Z" } }), 422, "in_the_past"),
        (json!({ "when": { "type": "sometimes" } }), 400, "invalid_request"),
        (json!({ "prompt": "{{nothing}}" }), 422, "invalid_template"),
        (json!({ "prompt": " " }), 400, "invalid_request"),
        (json!({ "runtime": "nobody" }), 400, "unknown_runtime"),
        (json!({ "runtime": null }), 400, "invalid_request"),
        (json!({ "params": { "cwd": "/not/there" } }), 400, "invalid_request"),
        (json!({ "params": { "nonsense": 1 } }), 400, "invalid_request"),
        (json!({ "schedule_id": "a b" }), 400, "invalid_request"),
        (json!({ "schedule_id": "preview" }), 400, "invalid_request"),
        (json!({ "missed": { "type": "all", "at_most": 0 } }), 400, "invalid_request"),
        (json!({ "budget": { "usd": -1 } }), 400, "invalid_request"),
        (json!({ "budget": { "turns": 2 } }), 400, "invalid_request"),
        (json!({ "total_budget": { "dollars": 2 } }), 400, "invalid_request"),
        (json!({ "runtime": null, "session": { "type": "fork", "session_id": "gone" } }), 404, "session_not_found"),
        (json!({ "unknown": 1 }), 400, "invalid_request"),
    ] {
        client.post("/api/schedules", &with(good.clone(), fields)).is_problem(status, code);
    }
    assert_eq!(client.get("/api/schedules").json()["schedules"], json!([]));
    add(client, &good);
    assert_eq!(client.post("/api/schedules", &good).status, 200, "the same again is the same");
    let other = with(good.clone(), json!({ "title": "Another" }));
    client.post("/api/schedules", &other).is_problem(409, "schedule_exists");
    client.patch("/api/schedules/s", &cron("no")).is_problem(422, "invalid_cron");
    assert_eq!(client.get("/api/schedules/s").json()["when"]["type"], "interval");
    let berlin = json!({ "when": { "type": "cron", "expression": "30 2 * * *" }, "zone": "Europe/Berlin", "count": 3 });
    let told = client.post("/api/schedules/preview", &berlin).json();
    assert_eq!((told["times"].as_array().unwrap().len(), &told["words"]), (3, &json!("at 02:30 every day")));
    client.post("/api/schedules/preview", &cron("no")).is_problem(422, "invalid_cron");
}

#[test]
fn overlaps_go_by_the_rule() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    let rule = |id: &str, overlap: &str| with(every(id, "250ms", "hang"), json!({ "overlap": overlap }));
    add(client, &rule("skips", "skip"));
    add(client, &rule("stops", "stop"));
    let skipped =
        eventually("one is left out", || runs(client, "skips").into_iter().find(|run| run["outcome"] == "skipped"));
    assert_eq!(skipped["reason"]["code"], "overlap");
    client.post("/api/schedules/skips/run", &json!({})).is_problem(409, "run_active");
    let stopped =
        eventually("one is stopped", || runs(client, "stops").into_iter().find(|run| run["outcome"] == "stopped"));
    assert!(stopped["turn_id"].is_string(), "{stopped}");
    for id in ["skips", "stops"] {
        assert_eq!(client.delete(&format!("/api/schedules/{id}")).status, 204);
    }
    // One after another, in one session.
    let queued = json!({ "overlap": "queue", "session": { "type": "same" } });
    add(client, &with(every("queues", "1h", "sleep 50"), queued));
    let wanted: Vec<Value> =
        (0..3).map(|_| client.post("/api/schedules/queues/run", &json!({})).json()["run_id"].clone()).collect();
    let done = ended(client, "queues", 3);
    let sessions: Vec<&Value> = done.iter().map(|run| &run["session_id"]).collect();
    assert!(sessions.iter().all(|session| *session == sessions[0]), "{sessions:?}");
    let log = client.log(sessions[0].as_str().unwrap());
    let sent: Vec<Value> =
        of_kind(&log, "user_message").iter().map(|event| event["data"]["message_id"].clone()).collect();
    assert_eq!(sent, wanted, "each once, in order");
}

#[test]
fn what_is_gone_fails_a_run_and_nothing_is_stuck() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    let folder = tempfile::tempdir().unwrap();
    let cwd = json!({ "params": { "cwd": folder.path().to_str().unwrap() } });
    add(client, &with(every("folder", "1h", "echo hi"), cwd));
    drop(folder);
    client.mock("parent");
    client.turn("parent", "echo first");
    let place = |kind: &str| json!({ "runtime": null, "session": { "type": kind, "session_id": "parent" } });
    add(client, &with(every("inside", "1h", "echo hi"), place("same")));
    add(client, &with(every("forks", "1h", "echo {{last_result}}."), place("fork")));
    let run = |id: &str| {
        let before = runs(client, id).len();
        assert_eq!(client.post(&format!("/api/schedules/{id}/run"), &json!({})).status, 202);
        ended(client, id, before + 1).remove(0)
    };
    assert_eq!((&run("inside")["outcome"], &run("inside")["session_id"]), (&json!("completed"), &json!("parent")));
    let fork = run("forks");
    assert_eq!(fork["outcome"], "completed");
    assert_eq!(client.session(fork["session_id"].as_str().unwrap())["title"], "echo first (fork)");
    for (id, code) in [("folder", "directory_missing"), ("inside", "session_not_found"), ("forks", "session_not_found")]
    {
        if id == "inside" {
            assert_eq!(client.delete("/api/sessions/parent?purge=true").status, 204);
        }
        for _ in 0..2 {
            let failed = run(id);
            assert_eq!((&failed["outcome"], &failed["reason"]["code"]), (&json!("failed"), &json!(code)), "{failed}");
        }
    }
    // What is gone does not keep anybody from pausing it; another directory that is not there is refused.
    let paused = client.patch("/api/schedules/folder", &json!({ "paused": true }));
    assert_eq!((paused.status, &paused.json()["status"]), (200, &json!("paused")));
    client
        .patch("/api/schedules/folder", &json!({ "params": { "cwd": "/not/there" } }))
        .is_problem(400, "invalid_request");
    // A session that goes while its run is on.
    add(client, &every("purged", "1h", "hang"));
    let begun = client.post("/api/schedules/purged/run", &json!({})).json();
    let session = begun["session_id"].as_str().unwrap();
    eventually("it runs", || client.get("/api/schedules/purged").json()["open_runs"][0]["turn_id"].as_str().map(drop));
    assert_eq!(client.delete(&format!("/api/sessions/{session}?purge=true")).status, 204);
    let gone = ended(client, "purged", 1).remove(0);
    assert!(gone["outcome"] == "failed" || gone["outcome"] == "stopped", "{gone}");
}

#[test]
fn a_schedule_keeps_to_its_budgets_and_its_policy() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    let asks = |session: &str| {
        eventually("it asks about its budget", || {
            client.get("/api/asks").json()["asks"].as_array()?.iter().find(|ask| ask["session_id"] == session).cloned()
        })
    };
    // Each run has its own.
    let each = json!({ "budget": { "tokens": 1000 }, "overlap": "queue", "params": { "pace_ms": 0 } });
    add(client, &with(every("each", "1h", "spend 450 5"), each));
    let run = client.post("/api/schedules/each/run", &json!({})).json();
    let session = run["session_id"].as_str().unwrap();
    let ask = asks(session);
    let log = client.log(session);
    let said = of_kind(&log, "budget");
    assert!(
        said.iter().any(|event| event["data"]["state"] == "reached" && event["data"]["scope"] == "turn"),
        "{said:?}"
    );
    let answer = format!("/api/sessions/{session}/permissions/{}", ask["ask_id"].as_str().unwrap());
    assert_eq!(client.post(&answer, &json!({ "reply": "reject" })).status, 200);
    assert_eq!(ended(client, "each", 1)[0]["outcome"], "stopped");

    // All of them have one together, under the name of the schedule.
    let total = json!({ "total_budget": { "turns": 1 }, "overlap": "queue", "params": { "mode": "plan" } });
    add(client, &with(every("total", "1h", "bash touch made.txt"), total));
    client.post("/api/schedules/total/run", &json!({}));
    let first = ended(client, "total", 1).remove(0);
    let log = client.log(first["session_id"].as_str().unwrap());
    let decided = of_kind(&log, "tool_decided");
    assert_eq!(decided[0]["data"]["judged"]["effect"], "deny", "the mode of the schedule holds: {decided:?}");
    eventually("what it spent is known", || {
        let usage = client.get("/api/usage?group=schedule/total").json();
        (usage["groups"][0]["spent"]["turns"] == 1).then_some(())
    });
    let second = client.post("/api/schedules/total/run", &json!({})).json();
    let session = second["session_id"].as_str().unwrap();
    asks(session);
    let log = client.log(session);
    let said = of_kind(&log, "budget");
    assert!(
        said.iter().any(|event| event["data"]["scope"] == "group" && event["data"]["id"] == "schedule/total"),
        "{said:?}"
    );
}

#[test]
fn who_looks_at_schedules_hears_of_changes() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    let before = client.get("/api/automation").json();
    add(client, &every("heard", "1h", "echo hi"));
    let after = client.get("/api/automation").json();
    assert!(after["schedules"].as_u64() > before["schedules"].as_u64(), "{before} {after}");
    assert_eq!((&after["channels"], &after["webhooks"]), (&before["channels"], &before["webhooks"]));
    client.post("/api/schedules/heard/run", &json!({}));
    ended(client, "heard", 1);
    assert!(client.get("/api/automation").json()["schedules"].as_u64() > after["schedules"].as_u64());
}

#[test]
fn a_schedule_survives_the_daemon() {
    let mut daemon = Daemon::start();
    let once = json!({ "overlap": "queue", "missed": { "type": "all", "at_most": 9 } });
    add(&daemon.client, &with(every("lives", "400ms", "echo hi"), once));
    ended(&daemon.client, "lives", 1);
    assert_eq!(daemon.terminate(), Some(0));
    daemon.again();
    let before = runs(&daemon.client, "lives").len();
    ended(&daemon.client, "lives", before + 2);
    daemon.client.patch("/api/schedules/lives", &json!({ "paused": true }));
}
