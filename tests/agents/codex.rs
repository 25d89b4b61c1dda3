//! Codex, the real program.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::place::Place;
use crate::support::{of_kind, processes_of};

const ECHO: &str = r#"
    [[reply]]
    when = { user = "" }
    always = true
    step = [{ text = "You said: {{user}}" }]
"#;

const RUN: &str = r#"
    [[reply]]
    name = "run"
    when = { user = "run it" }
    always = true
    step = [{ run = "touch made.txt && echo made" }]
    [[reply]]
    when = { after = "run" }
    always = true
    step = [{ text = "That was it." }]
"#;

/// No sandbox, so that the tests do not depend on what the kernel allows.
fn free(policy: &str) -> Value {
    json!({ "approval_policy": policy, "sandbox": "danger-full-access" })
}

#[test]
fn two_sessions_share_one_server() {
    let mut place = Place::codex(ECHO);
    let (one, two) = (place.session("codex", json!({})), place.session("codex", json!({})));
    place.say(&one, "warp");
    place.say(&two, "weft");
    let (first, second) = (place.until_idle(&one).completed(), place.until_idle(&two).completed());
    assert_eq!((first.text().as_str(), second.text().as_str()), ("You said: warp", "You said: weft"));
    assert!(first.only("usage")["output_tokens"].as_u64().unwrap() > 0);
    assert!(first.only("done")["anchor"].is_string());
    let log = place.client().log(&one);
    let ready = of_kind(&log, "session_ready")[1];
    assert_eq!(ready["data"]["version"], "0.166.0");
    assert!(!ready["data"]["models"].as_array().unwrap().is_empty());
    assert_eq!(place.turn(&one, "shuttle").completed().text(), "You said: shuttle");
    assert!(processes_of(&one).is_empty(), "the server is nobody's own");
    place.end();
}

#[test]
fn a_command_is_asked_about_and_allowed() {
    let mut place = Place::codex(RUN);
    let id = place.session("codex", free("untrusted"));
    place.say(&id, "run it");
    let ask = place.ask(&id);
    assert!(place.file("made.txt").is_none());
    place.permit(&id, &ask, &json!({ "reply": "once" }));
    let turn = place.until_idle(&id).completed();
    assert_eq!((turn.tools(), turn.text().as_str()), (vec!["Bash"], "That was it."));
    let result = turn.only("tool_result");
    assert_eq!((&result["output"], &result["exit_code"]), (&json!("made\n"), &json!(0)));
    assert!(place.file("made.txt").is_some());
    place.end();
}

#[test]
fn a_command_is_asked_about_and_refused() {
    let mut place = Place::codex(RUN);
    let id = place.session("codex", free("untrusted"));
    place.say(&id, "run it");
    let ask = place.ask(&id);
    place.permit(&id, &ask, &json!({ "reply": "reject" }));
    let turn = place.until_idle(&id).completed();
    assert_eq!(turn.only("tool_result")["denied"], true);
    assert!(place.file("made.txt").is_none());
    place.end();
}

#[test]
fn a_stop_ends_the_command_as_well() {
    let mut place = Place::codex(
        r#"
        [[reply]]
        when = { user = "wait" }
        step = [{ run = "sleep 600" }]
        [[reply]]
        when = { user = "still there" }
        step = [{ text = "Still here." }]
        "#,
    );
    let id = place.session("codex", free("never"));
    place.say(&id, "wait");
    place.until(&id, "a tool", |event| event["type"] == "tool_start");
    let stopped = place.client().post(&format!("/api/sessions/{id}/stop"), &json!({}));
    assert_eq!(stopped.json(), json!({ "stopped": true }), "{}", stopped.body);
    assert_eq!(place.last_turn(&id).outcome(), "stopped");
    assert_eq!(place.turn(&id, "still there").completed().text(), "Still here.");
    place.end();
}

#[test]
fn a_rollback_forgets_the_last_turn() {
    let mut place = Place::codex(ECHO);
    let id = place.session("codex", json!({}));
    place.turn(&id, "remember the warp").completed();
    place.turn(&id, "forget the weft").completed();
    let rolled = place.client().post(&format!("/api/sessions/{id}/rollback"), &json!({ "turns": 1 }));
    assert_eq!(rolled.status, 200, "{}", rolled.body);
    place.turn(&id, "what was it").completed();
    let heard = format!("{:?}", place.model.server().requests().last().unwrap());
    assert!(heard.contains("remember the warp") && !heard.contains("forget the weft"), "{heard}");
    place.end();
}

#[test]
fn a_server_of_its_own_that_dies_is_started_again() {
    let mut place = Place::codex(ECHO);
    let id = place.session("codex", json!({ "own_process": true }));
    place.turn(&id, "before").completed();
    let servers = processes_of(&id);
    assert!(!servers.is_empty(), "it has its own");
    for pid in servers {
        let _ = kill_process(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(), Signal::KILL);
    }
    crate::support::eventually("the server is gone", || processes_of(&id).is_empty().then_some(()));
    // The session may not have heard yet that its server is gone.
    let turn = place.turn(&id, "after");
    if turn.outcome() == "interrupted" {
        assert_eq!(turn.only("error")["code"], "agent_exited");
        place.turn(&id, "after all").completed();
    } else {
        turn.completed();
    }
    let log = place.client().log(&id);
    let resumed: Vec<&Value> = of_kind(&log, "session_ready").iter().map(|event| &event["data"]["resumed"]).collect();
    assert_eq!(resumed.last(), Some(&&json!(true)), "it remembers");
    place.end();
}

#[test]
fn one_process_per_turn() {
    let mut place = Place::codex(ECHO);
    let id = place.session("codex-exec", json!({ "sandbox": "danger-full-access" }));
    assert_eq!(place.turn(&id, "one").completed().text(), "You said: one");
    assert_eq!(place.turn(&id, "two").completed().text(), "You said: two");
    let requests = place.model.server().requests();
    assert_eq!(requests.last().unwrap().heard, ["one", "two"], "it remembers");
    place.end();
}

#[test]
fn a_steer_is_heard_in_the_running_turn() {
    let mut place = Place::codex(
        r#"
        [[reply]]
        name = "slow"
        when = { user = "a slow job" }
        step = [{ run = "sleep 1; echo first" }]
        [[reply]]
        when = { user = "also this" }
        step = [{ text = "Both." }]
        "#,
    );
    let id = place.session("codex", free("never"));
    place.say(&id, "a slow job");
    place.until(&id, "a tool", |event| event["type"] == "tool_start");
    let body = json!({ "message": "also this", "when": "steer" });
    let steered = place.client().post(&format!("/api/sessions/{id}/message"), &body);
    assert_eq!(steered.status, 202, "{}", steered.body);
    let turn = place.until_idle(&id).completed();
    let states: Vec<_> = turn.of_kind("steer").iter().map(|event| event["data"]["state"].clone()).collect();
    assert_eq!(states, ["accepted", "delivered"]);
    assert_eq!(turn.text(), "Both.");
    place.end();
}

#[test]
fn a_stored_thread_is_found_by_its_directory() {
    let mut place = Place::codex(ECHO);
    let id = place.session("codex", json!({}));
    place.turn(&id, "remember the warp").completed();
    let dir = place.dir().to_str().unwrap().to_owned();
    let listed = place.client().get(&format!("/api/agents/codex/conversations?cwd={dir}"));
    assert_eq!(listed.status, 200, "{}", listed.body);
    let found = listed.json();
    let first = &found["conversations"][0];
    assert_eq!(first["title"], "remember the warp", "{found}");
    place.end();
}
