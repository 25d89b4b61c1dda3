//! What one can do with a session.

use serde_json::{Value, json};

use crate::support::{Daemon, assert_lawful, eventually, kinds, of_kind};

#[test]
fn a_session_is_created_once() {
    let daemon = Daemon::start();
    let body = json!({ "session_id": "one", "runtime": "mock", "params": { "title": "First" } });
    let created = daemon.client.post("/api/sessions", &body);
    assert_eq!(created.status, 201);
    let session = created.json();
    assert_eq!(
        (session["session_id"].as_str(), session["status"].as_str(), session["head"].as_u64()),
        (Some("one"), Some("idle"), Some(1))
    );
    assert_eq!(daemon.client.post("/api/sessions", &body).status, 200);
    let other = json!({ "session_id": "one", "runtime": "mock", "params": { "title": "Second" } });
    daemon.client.post("/api/sessions", &other).is_problem(409, "session_exists");
    assert_eq!(daemon.client.log("one").len(), 1);
}

#[test]
fn a_turn_begins_at_once_and_ends_once() {
    let daemon = Daemon::start();
    daemon.client.mock("s");
    let events = daemon.client.turn("s", "echo hello world");
    assert_eq!(kinds(&events)[..4], ["user_message", "turn_started", "status", "status"]);
    assert_eq!(events[2]["data"]["state"], "accepted");
    assert_eq!(events.last().unwrap()["data"]["outcome"], "completed");
    let text: String = of_kind(&events, "delta").iter().map(|delta| delta["data"]["text"].as_str().unwrap()).collect();
    assert_eq!(text, "hello world");
    assert_eq!(of_kind(&events, "result")[0]["data"]["text"], "hello world");
    assert_lawful(&daemon.client.log("s"));
}

#[test]
fn the_same_message_id_is_the_same_message() {
    let daemon = Daemon::start();
    daemon.client.mock("s");
    let body = json!({ "message": "echo once", "message_id": "m1" });
    let first = daemon.client.post("/api/sessions/s/message", &body);
    assert_eq!(first.status, 202);
    daemon.client.until_idle("s");
    let again = daemon.client.post("/api/sessions/s/message", &body);
    assert_eq!((again.status, again.json()), (202, first.json()));
    // The turn route finds the old turn again, whole.
    let events = crate::support::Sse::post(&daemon.client, "/api/sessions/s/turn", &body).until("done");
    assert_eq!(events.first().map(|event| event.kind.as_str()), Some("user_message"));
    assert_eq!(of_kind(&daemon.client.log("s"), "user_message").len(), 1);
}

#[test]
fn messages_wait_steer_or_are_refused() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("s");
    client.say("s", "hang");
    let send = |text: &str, when: &str, id: &str| {
        client.post("/api/sessions/s/message", &json!({ "message": text, "when": when, "message_id": id }))
    };
    send("no", "reject", "r").is_problem(409, "busy");
    let queued = send("echo second", "queue", "q1").json();
    assert_eq!((queued["queued"].as_bool(), queued["position"].as_u64()), (Some(true), Some(1)));
    assert_eq!(send("echo third", "queue", "q2").json()["position"], 2);
    assert_eq!(send("echo never", "queue", "q3").json()["position"], 3);

    let order = |ids: &[&str]| client.patch("/api/sessions/s/queue", &json!({ "order": ids }));
    let queue = order(&["q2", "q1"]).json();
    let ids: Vec<_> =
        queue["queue"].as_array().unwrap().iter().map(|item| item["message_id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["q2", "q1", "q3"]);
    order(&["nobody"]).is_problem(409, "not_queued");
    assert_eq!(client.delete("/api/sessions/s/queue/q3").status, 200);
    client.delete("/api/sessions/s/queue/q3").is_problem(409, "not_queued");
    assert_eq!(client.get("/api/sessions/s/queue").json()["queue"].as_array().unwrap().len(), 2);

    // A steer ends the mock's wait; then the queue goes on by itself.
    let steered = send("wake up", "steer", "st").json();
    assert_eq!(steered["queued"], false);
    client.until_idle("s");
    let log = client.log("s");
    let order: Vec<_> =
        of_kind(&log, "user_message").iter().map(|event| event["data"]["message_id"].as_str().unwrap()).collect();
    assert_eq!(order[1..], ["st", "q2", "q1"]);
    let states: Vec<_> = of_kind(&log, "steer").iter().map(|event| event["data"]["state"].as_str().unwrap()).collect();
    assert_eq!(states, ["accepted", "delivered"]);
    assert_lawful(&log);
}

#[test]
fn stop_settles_the_turn() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("s");
    assert_eq!(client.post("/api/sessions/s/stop", &json!({})).json(), json!({ "stopped": false }));
    let turn = client.say("s", "hang")["turn_id"].clone();
    assert_eq!(
        client.post("/api/sessions/s/stop", &json!({ "turn_id": "another" })).json(),
        json!({ "stopped": false })
    );
    assert_eq!(client.post("/api/sessions/s/stop", &json!({ "turn_id": turn })).json(), json!({ "stopped": true }));
    let log = client.log("s");
    assert_eq!(of_kind(&log, "done").last().unwrap()["data"]["outcome"], "stopped");
    assert_lawful(&log);
    // Also when the agent is in the middle of it.
    client.say("s", "hang");
    client.until_thinking("s");
    assert_eq!(client.post("/api/sessions/s/stop", &json!({})).json(), json!({ "stopped": true }));
    assert_eq!(client.log("s").last().unwrap()["data"]["outcome"], "stopped");
}

#[test]
fn an_agent_that_does_not_stop_is_ended_by_force() {
    let daemon = Daemon::start_with("interrupt_seconds = 1\nterminate_seconds = 1", &[]);
    let client = &daemon.client;
    client.mock("stubborn-one");
    client.say("stubborn-one", "stubborn");
    client.until_thinking("stubborn-one");
    assert_eq!(client.post("/api/sessions/stubborn-one/stop", &json!({})).json(), json!({ "stopped": true }));
    assert_eq!(daemon.processes_of("stubborn-one"), Vec::<u32>::new());
    let log = client.log("stubborn-one");
    let steps: Vec<_> =
        of_kind(&log, "status").iter().filter_map(|event| event["data"]["detail"]["step"].as_str()).collect();
    assert_eq!(steps, ["terminate", "kill"]);
    assert_lawful(&log);
    // And it works again.
    assert_eq!(client.turn("stubborn-one", "echo back").last().unwrap()["data"]["outcome"], "completed");
    let ready = of_kind(&client.log("stubborn-one"), "session_ready").last().copied().cloned().unwrap();
    assert_eq!(ready["data"]["resumed"], true);
}

#[test]
fn a_crashed_agent_interrupts_its_turn_and_the_next_goes_on() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("s");
    let events = client.turn("s", "crash");
    let done = &events.last().unwrap()["data"];
    assert_eq!((done["outcome"].as_str(), done["exit_code"].as_i64()), (Some("interrupted"), Some(3)));
    assert_eq!(of_kind(&events, "error")[0]["data"]["code"], "agent_exited");
    assert_eq!(client.turn("s", "echo still here").last().unwrap()["data"]["outcome"], "completed");
    assert_lawful(&client.log("s"));
}

#[test]
fn nothing_outlives_a_stop_not_even_what_left_the_group() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("lingering");
    client.say("lingering", "linger");
    eventually("the helper has left", || (daemon.processes_of("lingering").len() >= 2).then_some(()));
    client.post("/api/sessions/lingering/stop", &json!({}));
    client.delete("/api/sessions/lingering");
    eventually("everything has ended", || daemon.processes_of("lingering").is_empty().then_some(()));
}

#[test]
fn a_fork_begins_with_its_parents_facts() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("parent");
    let first = client.turn("parent", "echo one").last().unwrap()["turn_id"].clone();
    client.turn("parent", "big 40000");
    client.say("parent", "hang");
    client.post("/api/sessions/parent/message", &json!({ "message": "echo queued" }));

    let whole = client.post("/api/sessions/parent/fork", &json!({ "session_id": "whole" }));
    assert_eq!(whole.status, 201, "{}", whole.body);
    let (parent, child) = (client.log("parent"), client.log("whole"));
    let forked = child.iter().position(|event| event["type"] == "forked").expect("a fork");
    for (copied, original) in child[..forked].iter().zip(&parent) {
        assert_eq!(
            (&copied["seq"], &copied["type"], &copied["data"], &copied["ts"]),
            (&original["seq"], &original["type"], &original["data"], &original["ts"])
        );
        assert_eq!(copied["session_id"], "whole");
    }
    assert_eq!(child[forked]["data"]["from_session"], "parent");
    assert_eq!(child[forked]["data"]["at_seq"], child[forked - 1]["seq"]);
    assert_lawful(&child);

    let early = client.post("/api/sessions/parent/fork", &json!({ "session_id": "early", "at_turn": first }));
    assert_eq!(early.status, 201);
    assert_eq!(of_kind(&client.log("early"), "user_message").len(), 1);
    client.post("/api/sessions/parent/fork", &json!({ "at_turn": "nothing" })).is_problem(400, "invalid_request");
    // It goes on by itself, from a copy of the conversation.
    client.turn("whole", "echo mine");
    let ready = of_kind(&client.log("whole"), "session_ready").last().copied().cloned().unwrap();
    assert_eq!(
        (ready["data"]["provider_session_id"].as_str(), ready["data"]["resumed"].as_bool()),
        (Some("mock-whole"), Some(true))
    );
    // The blob of the parent is the child's as well.
    let blob = of_kind(&client.log("whole"), "tool_result")[0]["data"]["blob"]["id"].as_str().unwrap().to_owned();
    assert_eq!(client.delete("/api/sessions/parent?purge=true").status, 204);
    assert_eq!(client.get(&format!("/api/blobs/{blob}")).bytes.len(), 40_000);
    assert_eq!(client.delete("/api/sessions/whole?purge=true").status, 204);
    assert_eq!(client.delete("/api/sessions/early?purge=true").status, 204);
    client.get(&format!("/api/blobs/{blob}")).is_problem(404, "blob_not_found");
    client.get("/api/sessions/whole").is_problem(404, "session_not_found");
}

#[test]
fn turns_are_taken_back_but_not_forgotten() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("s");
    client.turn("s", "echo one");
    let second = client.turn("s", "echo two").last().unwrap()["turn_id"].clone();
    client.post("/api/sessions/s/rollback", &json!({ "turns": 5 })).is_problem(400, "invalid_request");
    client.post("/api/sessions/s/rollback", &json!({ "turns": 0 })).is_problem(400, "invalid_request");
    let before = client.log("s").len();
    assert_eq!(client.post("/api/sessions/s/rollback", &json!({ "turns": 1 })).status, 200);
    let log = client.log("s");
    assert!(log.len() > before);
    let rollback = log.last().unwrap();
    assert_eq!((&rollback["type"], &rollback["data"]["turn_ids"]), (&json!("rollback"), &json!([second])));
    client.post("/api/sessions/s/rollback", &json!({ "turns": 2 })).is_problem(400, "invalid_request");
}

#[test]
fn compaction_runs_as_a_turn() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("s");
    assert_eq!(client.post("/api/sessions/s/compact", &json!({})).status, 202);
    client.until_idle("s");
    let log = client.log("s");
    assert_eq!(of_kind(&log, "compaction_end")[0]["data"]["kept"], 6);
    assert_eq!(of_kind(&log, "turn_started")[0]["data"]["origin"], "api");
    assert_lawful(&log);
}

#[test]
fn resume_says_whether_the_agent_remembers() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("s");
    client.turn("s", "end");
    eventually("the session ended", || (of_kind(&client.log("s"), "session_ended").len() == 1).then_some(()));
    client.post("/api/sessions/s/message", &json!({ "message": "more" })).is_problem(409, "session_ended");
    let resume = |body: serde_json::Value| {
        eventually("the old agent has left", || {
            let answer = client.post("/api/sessions/s/resume", &body);
            (answer.status != 409).then_some(answer)
        })
    };
    assert_eq!(resume(json!({})).status, 200);
    let last = |log: &[serde_json::Value]| of_kind(log, "session_ready").last().unwrap()["data"].clone();
    assert_eq!(last(&client.log("s"))["resumed"], true);
    assert_eq!(client.turn("s", "echo again").last().unwrap()["data"]["outcome"], "completed");
    client.turn("s", "end");
    assert_eq!(resume(json!({ "provider_session_id": "lost" })).status, 200);
    let ready = last(&client.log("s"));
    assert_eq!(ready["resumed"], false);
    assert!(ready["reason"].as_str().unwrap().contains("lost"));
}

#[test]
fn another_conversation_is_resumed_while_the_agent_rests() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("s");
    client.turn("s", "echo one");
    let begun = of_kind(&client.log("s"), "session_ready").len();
    let resume = |body: &Value| client.post("/api/sessions/s/resume", body);
    for (at, (other, resumed)) in [("mock-other", true), ("lost", false)].into_iter().enumerate() {
        assert_eq!(resume(&json!({ "provider_session_id": other })).status, 200);
        let log = client.log("s");
        let ready = of_kind(&log, "session_ready");
        assert_eq!(ready.len(), begun + at + 1, "the agent begins again, with the other one");
        assert_eq!(ready.last().unwrap()["data"]["resumed"], resumed, "{other}: {:?}", ready.last());
        assert_eq!(client.turn("s", "echo on").last().unwrap()["data"]["outcome"], "completed");
    }
    client.say("s", "hang");
    resume(&json!({ "provider_session_id": "lost" })).is_problem(409, "busy");
    client.post("/api/sessions/s/stop", &json!({}));
    client.until_idle("s");
    assert_lawful(&client.log("s"));
}

#[test]
fn title_model_and_mode_change_and_the_log_says_who() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("s");
    let answer = client.request(
        "PATCH",
        "/api/sessions/s",
        &[("content-type", "application/json"), ("turnloom-client", "desk")],
        br#"{"title":"Named","model":"m2","mode":"plan"}"#,
    );
    let session = answer.json();
    assert_eq!(
        (&session["title"], &session["model"], &session["mode"]),
        (&json!("Named"), &json!("m2"), &json!("plan"))
    );
    let log = client.log("s");
    assert_eq!(kinds(&log)[1..], ["session_updated", "model_changed", "mode_changed"]);
    assert_eq!(log[1]["data"]["by"], "desk");
}

#[test]
fn an_archived_session_rests_until_it_is_brought_back() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("s");
    client.say("s", "hang");
    assert_eq!(client.delete("/api/sessions/s").json()["status"], "archived");
    client.post("/api/sessions/s/message", &json!({ "message": "hi" })).is_problem(409, "archived");
    assert_eq!(client.get("/api/sessions").json()["sessions"], json!([]));
    assert_eq!(client.get("/api/sessions?archived=true").json()["sessions"].as_array().unwrap().len(), 1);
    eventually("its turn is settled", || client.session("s")["turn"].is_null().then_some(()));
    assert_eq!(client.post("/api/sessions/s/unarchive", &json!({})).status, 200);
    assert_eq!(client.turn("s", "echo back").last().unwrap()["data"]["outcome"], "completed");
    assert_lawful(&client.log("s"));
}

#[test]
fn sessions_are_listed_searched_and_paged() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    for name in ["alpha", "beta", "gamma"] {
        client.post(
            "/api/sessions",
            &json!({ "session_id": name, "runtime": "mock", "params": { "title": format!("The {name} one") } }),
        );
    }
    let ids = |path: &str| -> Vec<String> {
        let list = client.get(path).json();
        list["sessions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|session| session["session_id"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(ids("/api/sessions"), ["gamma", "beta", "alpha"]);
    client.turn("alpha", "echo newest");
    assert_eq!(ids("/api/sessions")[0], "alpha");
    assert_eq!(ids("/api/sessions?q=BETA%20one"), ["beta"]);
    assert_eq!(ids("/api/sessions?runtime=other"), Vec::<String>::new());
    let first = client.get("/api/sessions?limit=2").json();
    let cursor = first["next_cursor"].as_str().unwrap();
    assert_eq!(ids(&format!("/api/sessions?limit=2&cursor={cursor}")).len(), 1);
    client.get("/api/sessions?cursor=nonsense").is_problem(400, "bad_cursor");
}

#[test]
fn shutting_down_settles_what_runs() {
    let mut daemon = Daemon::start();
    daemon.client.mock("s");
    daemon.client.say("s", "hang");
    daemon.client.post("/api/sessions/s/message", &json!({ "message": "echo later", "message_id": "later" }));
    assert_eq!(daemon.terminate(), Some(0));
    assert_eq!(daemon.processes_of("s"), Vec::<u32>::new());
    daemon.again();
    // What was accepted is there in the next daemon, and done when somebody says so.
    daemon.client.post("/api/sessions/s/continue", &json!({}));
    daemon.client.until_idle("s");
    let log = daemon.client.log("s");
    let outcomes: Vec<_> = of_kind(&log, "done").iter().map(|done| done["data"]["outcome"].as_str().unwrap()).collect();
    assert_eq!(outcomes, ["interrupted", "completed"]);
    assert_lawful(&log);
}

#[test]
fn settings_are_listed_changed_and_shown() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    let agents = client.get("/api/agents").json();
    let named = |id: &str| {
        let agents = agents["agents"].as_array().unwrap();
        agents.iter().find(|agent| agent["id"] == id).map(|agent| agent["settings"].clone()).unwrap()
    };
    assert_eq!(named("mock"), json!([{ "name": "pace_ms", "takes": "number" }]));
    let sandboxes = ["read-only", "workspace-write", "danger-full-access"];
    assert_eq!(named("codex")[1], json!({ "name": "sandbox", "takes": "choice", "choices": sandboxes }));
    for agent in agents["agents"].as_array().unwrap() {
        let params = agent["params"].as_array().unwrap();
        for (name, takes) in [("system_prompt", "text"), ("env", "object"), ("mcp_servers", "object")] {
            assert!(params.contains(&json!({ "name": name, "takes": takes })), "{name} of {agent}");
        }
        let mode = params.iter().find(|param| param["name"] == "permission_mode").unwrap();
        let words = |list: &Value| list.as_array().cloned().unwrap_or_default();
        assert!(words(&mode["choices"]).iter().all(|word| words(&agent["modes"]).contains(word)), "{agent}");
    }

    client.mock("s");
    assert_eq!(client.session("s")["settings"], json!({ "pace_ms": 0 }), "as it was made");
    let change = |value: Value| client.patch("/api/sessions/s", &json!({ "settings": { "pace_ms": value } }));
    assert_eq!(change(json!(1)).json()["settings"], json!({ "pace_ms": 1 }));
    let head = client.session("s")["head"].clone();
    for wrong in [json!("fast"), json!(-1), Value::Null] {
        change(wrong).is_problem(400, "invalid_request");
    }
    assert_eq!(client.session("s")["head"], head, "nothing was written");
    assert_eq!(client.session("s")["settings"], json!({ "pace_ms": 1 }));
    client.turn("s", "echo still here");

    // What narrows an agent must be a word it knows, or somebody believes that it was narrowed.
    let body = json!({ "runtime": "codex", "params": { "sandbox": "readonlyy" } });
    let refused = client.post("/api/sessions", &body);
    assert!(refused.body.contains("read-only, workspace-write"), "{}", refused.body);
    refused.is_problem(400, "invalid_request");
    // Nor is anything left out in silence.
    let servers = json!({ "mcp_servers": [{ "name": "x" }] });
    for wrong in [json!({ "env": "A=1" }), json!({ "env": null }), json!({ "env": { "A": 1 } }), servers] {
        let body = json!({ "runtime": "mock", "params": wrong });
        client.post("/api/sessions", &body).is_problem(400, "invalid_request");
    }
    for (runtime, name) in
        [("claude", "mode"), ("claude", "permission_mode"), ("codex", "mode"), ("codex-exec", "mode")]
    {
        let body = |mode: &str| json!({ "session_id": "plans", "runtime": runtime, "params": { name: mode } });
        client.post("/api/sessions", &body("Plan")).is_problem(400, "invalid_request");
        assert_eq!(client.post("/api/sessions", &body("plan")).status, 201, "{runtime}");
        if runtime != "codex-exec" {
            let change = client.patch("/api/sessions/plans", &json!({ "mode": "planning" }));
            change.is_problem(400, "invalid_request");
        }
        assert_eq!(client.delete("/api/sessions/plans?purge=true").status, 204);
    }
}
