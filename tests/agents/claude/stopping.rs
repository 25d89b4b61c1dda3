//! Turns that are stopped, agents and daemons that die.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::session;
use crate::place::Place;
use crate::support::{eventually, of_kind, processes_of};

fn stop(place: &Place, id: &str) {
    let stopped = place.client().post(&format!("/api/sessions/{id}/stop"), &json!({}));
    assert_eq!(stopped.json(), json!({ "stopped": true }), "{}", stopped.body);
}

/// SIGKILL to every process of a session.
fn kill_agents(id: &str) {
    let agents = processes_of(id);
    assert!(!agents.is_empty(), "an agent runs");
    for pid in agents {
        let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
        let _ = kill_process(pid, Signal::KILL);
    }
}

const TALK: &str = r#"
    [[reply]]
    when = { user = "talk" }
    always = true
    step = [{ text = "I talk and I" }, { wait_for = "end" }, { text = " talk." }]
    [[reply]]
    when = { user = "still there" }
    always = true
    step = [{ text = "Still here." }]
"#;

#[test]
fn during_text() {
    let (place, id) = session(TALK);
    place.say(&id, "talk");
    place.until(&id, "some text", |event| event["type"] == "delta");
    stop(&place, &id);
    let turn = place.last_turn(&id);
    assert_eq!(turn.outcome(), "stopped");
    assert!("I talk and I".starts_with(turn.text().trim_end()), "{:?}", turn.text());
    let agents = processes_of(&id);
    assert_eq!(place.turn(&id, "still there").completed().text(), "Still here.");
    assert_eq!(processes_of(&id), agents, "the process lives on");
    place.end();
}

#[test]
fn during_a_tool() {
    let mut place = Place::claude(
        r#"
        [[reply]]
        when = { user = "work" }
        step = [{ run = "while [ ! -e never ]; do sleep 0.1; done" }]
        [[reply]]
        when = { user = "still there" }
        step = [{ text = "Still here." }]
        "#,
    );
    let id = place.session("claude", json!({ "allowed_tools": ["Bash"] }));
    place.say(&id, "work");
    place.until(&id, "the tool runs", |event| event["type"] == "tool_start");
    eventually("the command runs", || (processes_of(&id).len() > 1).then_some(()));
    stop(&place, &id);
    let turn = place.last_turn(&id);
    assert_eq!(turn.outcome(), "stopped");
    let result = turn.only("tool_result");
    assert_eq!((&result["interrupted"], &result["is_error"]), (&json!(true), &json!(true)));
    assert_eq!(place.turn(&id, "still there").completed().text(), "Still here.");
    place.end();
}

#[test]
fn while_a_permission_is_open() {
    let (place, id) = session(
        r#"
        [[reply]]
        when = { user = "work" }
        step = [{ run = "touch made.txt" }]
        [[reply]]
        when = { user = "still there" }
        step = [{ text = "Still here." }]
        "#,
    );
    place.say(&id, "work");
    let ask = place.ask(&id);
    stop(&place, &id);
    let turn = place.last_turn(&id);
    assert_eq!(turn.outcome(), "stopped");
    assert_eq!(turn.only("permission_resolved")["allowed"], false);
    assert_eq!(turn.only("tool_result")["denied"], true);
    let path = format!("/api/sessions/{id}/permissions/{}", ask["ask_id"].as_str().unwrap());
    place.client().post(&path, &json!({ "reply": "once" })).is_problem(409, "already_resolved");
    assert_eq!(place.turn(&id, "still there").completed().text(), "Still here.");
    assert!(place.file("made.txt").is_none());
    place.end();
}

#[test]
fn before_the_first_word() {
    let (place, id) = session(
        r#"
        [[reply]]
        when = { user = "talk" }
        step = [{ wait_for = "end" }, { text = "At last." }]
        [[reply]]
        when = { user = "still there" }
        step = [{ text = "Still here." }]
        "#,
    );
    place.say(&id, "talk");
    place.model.until_waiting("end");
    stop(&place, &id);
    assert_eq!(place.last_turn(&id).outcome(), "stopped");
    assert_eq!(place.turn(&id, "still there").completed().text(), "Still here.");
    place.end();
}

/// After any death the next message goes on with the same conversation.
fn assert_goes_on(place: &Place, id: &str) {
    let turn = place.last_turn(id);
    assert_eq!(turn.outcome(), "interrupted", "{turn:?}");
    let before = place.client().session(id)["provider_session_id"].clone();
    assert_eq!(place.turn(id, "still there").completed().text(), "Still here.");
    let log = place.client().log(id);
    let ready = of_kind(&log, "session_ready");
    let last = &ready.last().unwrap()["data"];
    assert_eq!((&last["resumed"], &last["provider_session_id"]), (&json!(true), &before), "{last}");
    let asked = place.model.server().requests();
    let seen = asked.iter().rev().find(|seen| seen.reply.is_some()).unwrap();
    assert!(seen.user.as_deref().unwrap_or_default().contains("still there"));
}

#[test]
fn the_agent_is_killed() {
    let (place, id) = session(TALK);
    place.turn(&id, "still there").completed();
    place.say(&id, "talk");
    place.until(&id, "some text", |event| event["type"] == "delta" && event["data"]["text"] == "I");
    kill_agents(&id);
    place.client().until_idle(&id);
    assert_goes_on(&place, &id);
    place.end();
}

#[test]
fn the_daemon_is_killed() {
    let (mut place, id) = session(TALK);
    place.turn(&id, "still there").completed();
    place.say(&id, "talk");
    place.until(&id, "some text", |event| event["type"] == "delta" && event["data"]["text"] == "I");
    place.daemon.kill();
    eventually("its agent is gone", || processes_of(&id).is_empty().then_some(()));
    place.daemon.again();
    place.client().until_idle(&id);
    assert_goes_on(&place, &id);
    place.end();
}

#[test]
fn both_are_killed() {
    let (mut place, id) = session(TALK);
    place.turn(&id, "still there").completed();
    place.say(&id, "talk");
    place.until(&id, "some text", |event| event["type"] == "delta" && event["data"]["text"] == "I");
    kill_agents(&id);
    place.daemon.kill();
    eventually("its agent is gone", || processes_of(&id).is_empty().then_some(()));
    place.daemon.again();
    place.client().until_idle(&id);
    assert_goes_on(&place, &id);
    place.end();
}

#[test]
fn the_daemon_rests_between_two_turns() {
    let (mut place, id) = session(TALK);
    place.turn(&id, "still there").completed();
    assert_eq!(place.daemon.terminate(), Some(0));
    place.daemon.again();
    assert_eq!(place.turn(&id, "still there").completed().text(), "Still here.");
    let log = place.client().log(&id);
    assert_eq!(of_kind(&log, "session_ready").last().unwrap()["data"]["resumed"], true);
    place.end();
}

#[test]
fn an_agent_without_work_ends_and_comes_back() {
    let mut place = Place::claude_with(TALK, "idle_seconds = 0", &[]);
    let id = place.session("claude", json!({}));
    place.turn(&id, "still there").completed();
    eventually("the agent ends", || processes_of(&id).is_empty().then_some(()));
    place.turn(&id, "still there").completed();
    let log = place.client().log(&id);
    let resumed: Vec<_> = of_kind(&log, "session_ready").iter().map(|event| event["data"]["resumed"].clone()).collect();
    assert_eq!(resumed, [json!(null), json!(null), json!(true)]);
    place.end();
}
