//! One real agent gives work to the other, and hears what came of it: waiting for it, by a message later, and after the daemon was killed in between.

use serde_json::{Value, json};

use super::components::{blocks, script, view};
use super::{Agent, for_each_agent};
use crate::place::Place;
use crate::support::{eventually, of_kind};

for_each_agent! {
    it_waits_for_the_other_and_a_permission_is_answered_where_it_was_delegated it_goes_on_and_hears_of_the_end_by_a_message
    after_a_kill_it_learns_what_became_of_the_other
}

/// The one that delegates hears of the end; the other one makes a file.
const SCRIPT: &str = r#"
    [[reply]]
    when = { user = "which works for you" }
    always = true
    step = [{ text = "Good to know." }]
    [[reply]]
    name = "delegate"
    when = { user = "plan it" }
    step = [HOST delegate { runtime = "OTHER", prompt = "make it", wait = WAIT } END]
    [[reply]]
    when = { after = "delegate" }
    step = [{ text = "The other said: {{tool_result}}" }]
    [[reply]]
    name = "touch"
    when = { user = "make it" }
    step = [{ run = "touch made.txt" }]
    [[reply]]
    when = { after = "touch" }
    step = [{ text = "It is made." }]
"#;

/// A session that has given work to the other agent, which asks whether it may.
fn delegated(agent: &Agent, wait: bool) -> (Place, String, String, Value) {
    let other = if agent.runtime == "claude" { "codex" } else { "claude" };
    let replies = SCRIPT.replace("OTHER", other).replace("WAIT", if wait { "true" } else { "false" });
    let mut place = Place::both(&script(&replies), "[delegation]\nallow = true\n");
    // In this mode rules ask about everything but reading; the other one gets the same.
    let id = place.session(agent.runtime, json!({ "mode": "ask" }));
    place.say(&id, "plan it");
    let started = place.until(&id, "another session", |event| event["type"] == "delegation_started");
    let child = started["data"]["child_session_id"].as_str().unwrap().to_owned();
    let ask = place.ask(&child);
    place.adopt(&child);
    let row = place.client().session(&child);
    assert_eq!((&row["runtime"], &row["parent_session_id"], &row["mode"]), (&json!(other), &json!(id), &json!("ask")));
    assert!(place.file("made.txt").is_none(), "nothing has happened yet");
    (place, id, child, ask)
}

fn card(place: &Place, id: &str) -> Value {
    blocks(&view(place, id), "delegation").pop().expect("a card")
}

fn it_waits_for_the_other_and_a_permission_is_answered_where_it_was_delegated(agent: &Agent) {
    let (place, id, child, ask) = delegated(agent, true);
    let shown = eventually("the card shows the ask", || card(&place, &id)["asks"].as_array()?.first().cloned());
    assert_eq!((&shown["ask_id"], &shown["session_id"]), (&ask["ask_id"], &json!(child)));
    assert_eq!(shown["request"]["tool_input"]["command"], "touch made.txt", "{shown}");
    place.permit(&id, &ask, &json!({ "reply": "once" }));
    let turn = place.until_idle(&id).completed();
    assert!(place.file("made.txt").is_some());
    assert_eq!(turn.text(), "The other said: It is made.", "{turn:?}");
    let card = card(&place, &id);
    assert_eq!((&card["state"], &card["text"]), (&json!("completed"), &json!("It is made.")));
    assert_eq!(of_kind(&place.client().log(&child), "turn_started")[0]["data"]["origin"], "delegation");
    place.end();
}

fn it_goes_on_and_hears_of_the_end_by_a_message(agent: &Agent) {
    let (place, id, child, ask) = delegated(agent, false);
    let turn = place.until_idle(&id).completed();
    assert!(turn.text().contains("running") && turn.text().contains(&child), "{turn:?}");
    place.permit(&id, &ask, &json!({ "reply": "once" }));
    place.until(&id, "the message", |event| event["type"] == "turn_started" && event["data"]["origin"] == "delegation");
    let turn = place.until_idle(&id).completed();
    assert_eq!(turn.text(), "Good to know.", "{turn:?}");
    let heard = turn.only("user_message")["content"][0]["text"].as_str().unwrap().to_owned();
    assert!(heard.contains("is done:\n\nIt is made."), "{heard}");
    let told = of_kind(&place.client().log(&id), "turn_started").len();
    assert_eq!(told, 2, "once");
    place.end();
}

fn after_a_kill_it_learns_what_became_of_the_other(agent: &Agent) {
    let (mut place, id, child, _) = delegated(agent, true);
    place.daemon.kill();
    place.daemon.again();
    // What is held stays in the queue, so the session is not waited for to be idle.
    place.until(&id, "the end of its turn", |event| event["type"] == "done");
    let turn = place.last_turn(&id);
    assert_eq!(turn.outcome(), "interrupted");
    let said = turn.only("tool_result")["output"].as_str().unwrap().to_owned();
    assert!(said.contains(&child) && said.contains("was interrupted"), "{said}");
    assert_eq!(card(&place, &id)["state"], "interrupted");
    let row = place.client().session(&id);
    assert_eq!((&row["held"], &row["status"]), (&json!(1), &json!("idle")), "nothing runs by surprise: {row}");
    place.client().post(&format!("/api/sessions/{id}/continue"), &json!({}));
    place.until(&id, "the message", |event| event["type"] == "turn_started" && event["data"]["origin"] == "delegation");
    let turn = place.until_idle(&id).completed();
    assert_eq!(turn.text(), "Good to know.", "{turn:?}");
    assert!(place.file("made.txt").is_none());
    place.end();
}
