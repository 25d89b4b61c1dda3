//! Messages that come while a turn runs.

use serde_json::json;

use super::{Agent, for_each_agent};
use crate::support::of_kind;

for_each_agent! { a_message_steers_the_running_turn queued_messages_come_one_after_the_other }

fn a_message_steers_the_running_turn(agent: &Agent) {
    let (place, id) = agent.session(
        r#"
        [[reply]]
        name = "work"
        when = { user = "do the work" }
        step = [{ run = "while [ ! -e go ]; do sleep 0.05; done; echo worked" }]
        [[reply]]
        when = { user = "in blue" }
        step = [{ text = "Done, in blue." }]
        [[reply]]
        when = { after = "work" }
        step = [{ text = "Done, undyed." }]
        "#,
    );
    place.say(&id, "do the work");
    place.until(&id, "the tool runs", |event| event["type"] == "tool_start");
    let steer = json!({ "message": "in blue", "when": "steer" });
    assert_eq!(place.client().post(&format!("/api/sessions/{id}/message"), &steer).status, 202);
    std::fs::write(place.dir().join("go"), "").unwrap();
    let turn = place.until_idle(&id).completed();
    let states: Vec<_> = turn.of_kind("steer").iter().map(|event| event["data"]["state"].clone()).collect();
    assert_eq!(states, ["accepted", "delivered"]);
    assert_eq!(turn.text(), "Done, in blue.");
    assert_eq!(of_kind(&place.client().log(&id), "turn_started").len(), 1);
    place.end();
}

fn queued_messages_come_one_after_the_other(agent: &Agent) {
    let (place, id) = agent.session(
        r#"
        [[reply]]
        when = { user = "first" }
        step = [{ text = "One" }, { wait_for = "end" }, { text = "." }]
        [[reply]]
        when = { user = "second" }
        step = [{ text = "Two." }]
        [[reply]]
        when = { user = "third" }
        step = [{ text = "Three." }]
        "#,
    );
    place.say(&id, "first");
    place.model.until_waiting("end");
    place.say(&id, "second");
    place.say(&id, "third");
    place.model.release("end");
    assert_eq!(place.until_idle(&id).completed().text(), "Three.");
    assert_eq!(of_kind(&place.client().log(&id), "done").len(), 3);
    place.end();
}
