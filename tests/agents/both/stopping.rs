//! Turns that are stopped, agents and daemons that die.

use serde_json::json;

use super::{Agent, for_each_agent, stopped};
use crate::place::Place;
use crate::support::{eventually, of_kind};

for_each_agent! {
    during_text during_a_thought before_the_first_word while_a_permission_is_open the_agent_is_killed the_daemon_is_killed both_are_killed
    the_daemon_rests_between_two_turns
}

const TALK: &str = r#"
    [[reply]]
    when = { user = "talk" }
    always = true
    step = [{ text = "I talk and I" }, { wait_for = "end" }, { text = " talk." }]
    [[reply]]
    when = { user = "wonder" }
    always = true
    step = [{ thinking = "I wonder and I" }, { wait_for = "end" }, { text = "At last." }]
    [[reply]]
    when = { user = "consider" }
    always = true
    step = [{ wait_for = "end" }, { text = "At last." }]
    [[reply]]
    when = { user = "work" }
    always = true
    step = [{ run = "touch made.txt" }]
    [[reply]]
    when = { user = "still there" }
    always = true
    step = [{ text = "Still here." }]
"#;

fn still_there(place: &Place, id: &str) {
    assert_eq!(place.turn(id, "still there").completed().text(), "Still here.");
}

fn during_text(agent: &Agent) {
    let (place, id) = agent.session(TALK);
    place.say(&id, "talk");
    place.until(&id, "some text", |event| event["type"] == "delta");
    let said = stopped(&place, &id).text();
    assert!("I talk and I".starts_with(said.trim_end()), "{said:?}");
    let agents = place.agents();
    still_there(&place, &id);
    // Beside the one that matters there may be others for a moment.
    assert!(place.agents().iter().any(|pid| agents.contains(pid)), "the process lives on");
    place.end();
}

/// What was thought stays as it was: nothing was begun anew.
fn during_a_thought(agent: &Agent) {
    let (place, id) = agent.session(TALK);
    place.say(&id, "wonder");
    place.until(&id, "a thought", |event| event["type"] == "thinking" && event["data"]["text"] == "I");
    let turn = stopped(&place, &id);
    let thought = turn.thinking();
    assert!(!thought.is_empty() && "I wonder and I".starts_with(thought.trim_end()), "{thought:?}");
    assert!(turn.of_kind("retracted").is_empty(), "{turn:?}");
    still_there(&place, &id);
    place.end();
}

fn before_the_first_word(agent: &Agent) {
    let (place, id) = agent.session(TALK);
    place.say(&id, "consider");
    place.model.until_waiting("end");
    stopped(&place, &id);
    still_there(&place, &id);
    place.end();
}

fn while_a_permission_is_open(agent: &Agent) {
    let (place, id) = agent.asking_session(TALK);
    place.say(&id, "work");
    let ask = place.ask(&id);
    let turn = stopped(&place, &id);
    assert_eq!(turn.only("permission_resolved")["allowed"], false);
    assert_eq!(turn.only("tool_result")["denied"], true);
    let path = format!("/api/sessions/{id}/permissions/{}", ask["ask_id"].as_str().unwrap());
    place.client().post(&path, &json!({ "reply": "once" })).is_problem(409, "already_resolved");
    still_there(&place, &id);
    assert!(place.file("made.txt").is_none(), "it never ran");
    place.end();
}

/// A session that was told one thing and is in the middle of the next.
fn talking(agent: &Agent) -> (Place, String) {
    let (place, id) = agent.session(TALK);
    still_there(&place, &id);
    place.say(&id, "talk");
    place.until(&id, "some text", |event| event["type"] == "delta" && event["data"]["text"] == "I");
    (place, id)
}

/// After any death the next message goes on with the same conversation.
fn assert_goes_on(place: &Place, id: &str) {
    let turn = place.until_idle(id);
    assert_eq!(turn.outcome(), "interrupted", "{turn:?}");
    let before = place.client().session(id)["provider_session_id"].clone();
    still_there(place, id);
    let log = place.client().log(id);
    let last = &of_kind(&log, "session_ready").last().unwrap()["data"];
    assert_eq!((&last["resumed"], &last["provider_session_id"]), (&json!(true), &before), "{last}");
    let heard = place.last_conversation();
    assert_eq!(heard.matches("still there").count(), 2, "it remembers: {heard}");
}

fn the_agent_is_killed(agent: &Agent) {
    let (place, id) = talking(agent);
    place.kill_agents();
    let turn = place.until_idle(&id);
    assert_eq!(turn.only("error")["code"], "agent_exited");
    assert_goes_on(&place, &id);
    place.end();
}

fn the_daemon_is_killed(agent: &Agent) {
    let (mut place, id) = talking(agent);
    place.daemon.kill();
    eventually("its agent is gone", || place.agents().is_empty().then_some(()));
    place.daemon.again();
    assert_goes_on(&place, &id);
    place.end();
}

fn both_are_killed(agent: &Agent) {
    let (mut place, id) = talking(agent);
    place.kill_agents();
    place.daemon.kill();
    eventually("its agent is gone", || place.agents().is_empty().then_some(()));
    place.daemon.again();
    assert_goes_on(&place, &id);
    place.end();
}

fn the_daemon_rests_between_two_turns(agent: &Agent) {
    let (mut place, id) = agent.session(TALK);
    still_there(&place, &id);
    assert_eq!(place.daemon.terminate(), Some(0));
    place.daemon.again();
    still_there(&place, &id);
    let log = place.client().log(&id);
    assert_eq!(of_kind(&log, "session_ready").last().unwrap()["data"]["resumed"], true);
    place.end();
}
