//! The messages that wait: held by a stop and by a restart, let go, edited in their place.

use serde_json::{Value, json};

use crate::support::{Client, Daemon, assert_lawful, eventually, of_kind};

/// A session that is busy, with two messages that wait.
fn busy(client: &Client, id: &str) {
    client.mock(id);
    client.say(id, "hang");
    client.until_thinking(id);
    for (message_id, text) in [("a", "echo one"), ("b", "echo two")] {
        let sent =
            client.post(&format!("/api/sessions/{id}/message"), &json!({ "message": text, "message_id": message_id }));
        assert_eq!(sent.status, 202);
    }
}

fn queue(client: &Client, id: &str) -> Vec<(String, Value)> {
    let queue = client.get(&format!("/api/sessions/{id}/queue")).json()["queue"].clone();
    let item = |item: &Value| (item["message_id"].as_str().unwrap().to_owned(), item["held"].clone());
    queue.as_array().unwrap().iter().map(item).collect()
}

fn messages(log: &[Value]) -> Vec<String> {
    of_kind(log, "user_message").iter().map(|event| event["data"]["message_id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_stop_holds_what_waits_until_somebody_continues() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    busy(client, "s");
    assert_eq!(client.post("/api/sessions/s/stop", &json!({ "then": "hold" })).json(), json!({ "stopped": true }));
    let held = |id: &str| (id.to_owned(), json!("stopped"));
    assert_eq!(queue(client, "s"), [held("a"), held("b")]);
    let session = client.session("s");
    assert_eq!((&session["held"], &session["queued"], &session["turn"]), (&json!(2), &json!(2), &Value::Null));
    let done = of_kind(&client.log("s"), "done").last().copied().cloned().unwrap();
    assert_eq!((&done["data"]["outcome"], &done["data"]["then"]), (&json!("stopped"), &json!("hold")));
    // What is sent now has its turn at once, and the others wait on.
    assert_eq!(client.turn("s", "echo now").last().unwrap()["data"]["outcome"], "completed");
    assert_eq!(queue(client, "s"), [held("a"), held("b")]);
    assert_eq!(client.post("/api/sessions/s/continue", &json!({})).status, 200);
    client.until_idle("s");
    let log = client.log("s");
    assert_eq!(messages(&log)[2..], ["a", "b"]);
    assert_lawful(&log);
    client.post("/api/sessions/s/stop", &json!({ "then": "perhaps" })).is_problem(400, "invalid_request");
}

#[test]
fn a_stop_goes_on_with_the_queue_unless_it_says_otherwise() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    busy(client, "s");
    client.post("/api/sessions/s/stop", &json!({}));
    client.until_idle("s");
    assert_eq!(messages(&client.log("s"))[1..], ["a", "b"]);
}

#[test]
fn a_message_is_edited_in_its_place() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    busy(client, "s");
    let said = client.get("/api/sessions/s/queue/a").json();
    assert_eq!(said["content"], json!([{ "type": "text", "text": "echo one" }]));
    let edited = client.patch("/api/sessions/s/queue/a", &json!({ "message": "echo other" })).json();
    let previews: Vec<_> = edited["queue"].as_array().unwrap().iter().map(|item| &item["preview"]).collect();
    assert_eq!(previews, ["echo other", "echo two"]);
    client.patch("/api/sessions/s/queue/a", &json!({ "message": " " })).is_problem(400, "invalid_request");
    client.patch("/api/sessions/s/queue/nobody", &json!({ "message": "x" })).is_problem(409, "not_queued");
    client.get("/api/sessions/s/queue/nobody").is_problem(409, "not_queued");
    client.post("/api/sessions/s/stop", &json!({}));
    client.until_idle("s");
    let log = client.log("s");
    assert_eq!(of_kind(&log, "user_message")[1]["data"]["content"][0]["text"], "echo other");
    assert_lawful(&log);
}

#[test]
fn after_a_restart_nothing_runs_by_surprise_and_the_ask_is_told() {
    for end in ["kill", "end"] {
        let mut daemon = Daemon::start();
        daemon.client.mock("s");
        daemon.client.say("s", "permission");
        daemon.client.ask("s");
        daemon.client.post("/api/sessions/s/message", &json!({ "message": "echo later", "message_id": "later" }));
        if end == "kill" {
            daemon.kill();
        } else {
            daemon.terminate();
        }
        daemon.again();
        let client = &daemon.client;
        eventually("it is settled", || client.session("s")["turn"].is_null().then_some(()));
        assert_eq!(queue(client, "s"), [("later".to_owned(), json!("restarted"))], "{end}");
        let session = client.session("s");
        assert_eq!((&session["held"], &session["lost_ask"]["title"]), (&json!(1), &json!("Run rm -rf build")), "{end}");
        let log = client.log("s");
        let settled = &of_kind(&log, "permission_resolved")[0]["data"];
        assert_eq!(settled["unanswered"], "interrupted", "{end}");
        let view = client.get("/api/sessions/s/view").json();
        let block =
            view["messages"][1]["blocks"].as_array().unwrap().iter().find(|b| b["kind"] == "permission").cloned();
        assert_eq!(block.unwrap()["state"], "withdrawn", "{end}");
        client.post("/api/sessions/s/continue", &json!({}));
        client.until_idle("s");
        assert_eq!(client.session("s")["lost_ask"], Value::Null, "{end}");
        assert_lawful(&client.log("s"));
    }
}

#[test]
fn a_fork_has_a_title_of_its_own() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.post("/api/sessions", &json!({ "session_id": "s", "runtime": "mock", "params": { "title": "Weave" } }));
    client.turn("s", "echo hi");
    let fork = |of: &str| client.post(&format!("/api/sessions/{of}/fork"), &json!({})).json();
    let first = fork("s");
    assert_eq!(first["title"], "Weave (fork)");
    assert_eq!(fork("s")["title"], "Weave (fork 2)");
    assert_eq!(fork(first["session_id"].as_str().unwrap())["title"], "Weave (fork 3)");
    let view = client.get(&format!("/api/sessions/{}/view", first["session_id"].as_str().unwrap())).json();
    let notes = view["messages"].as_array().unwrap().iter().flat_map(|message| message["blocks"].as_array().unwrap());
    let note = notes.clone().find(|block| block["kind"] == "status").unwrap();
    assert_eq!((&note["label"], &note["session_id"]), (&json!("Forked from Weave"), &json!("s")));
}

#[test]
fn the_files_of_a_session_are_told_with_what_is_different() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("s");
    client.turn("s", "diff");
    let listed = client.get("/api/sessions/s/view?messages=1").json()["files"].clone();
    let files = client.get("/api/sessions/s/files").json()["files"].clone();
    let paths =
        |files: &Value| -> Vec<Value> { files.as_array().unwrap().iter().map(|file| file["path"].clone()).collect() };
    assert!(!paths(&files).is_empty(), "{files}");
    assert_eq!(paths(&listed), paths(&files));
    let path = files[0]["path"].as_str().unwrap().to_owned();
    let one = client.get(&format!("/api/sessions/s/files?path={path}")).json()["files"].clone();
    assert_eq!(one, json!([files[0]]));
    client.get("/api/sessions/nobody/files").is_problem(404, "session_not_found");
}

#[test]
fn a_sign_in_link_that_was_used_leads_to_the_page_that_says_so() {
    let daemon = Daemon::start();
    let used = daemon.client.request("GET", "/login?token=used", &[("Accept", "text/html")], b"");
    assert_eq!((used.status, used.header("location")), (303, Some("/#/used-link")));
}
