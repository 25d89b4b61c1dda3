//! Budgets and real agents: a limit holds the agent before it asks its model again, and a person says how it goes on.

use serde_json::json;

use super::{Agent, for_each_agent};
use crate::place::Place;

for_each_agent! {
    a_budget_holds_the_next_call_and_a_person_lets_it_go_on a_budget_holds_the_next_call_and_a_person_stops_the_turn
}

/// Two calls, each of a request that uses a thousand tokens and more.
const TWO_CALLS: &str = r#"
    [[reply]]
    name = "first"
    when = { user = "make both" }
    step = [{ run = "touch first.txt" }]
    usage = { input = 1000, output = 100 }
    [[reply]]
    name = "second"
    when = { after = "first" }
    step = [{ run = "touch second.txt" }]
    usage = { input = 1200, output = 100 }
    [[reply]]
    when = { after = "second" }
    always = true
    step = [{ text = "Both are made." }]
    [[reply]]
    always = true
    step = [{ text = "Yes." }]
"#;

/// A session in the middle of a turn that is held at its second call. Codex says what a request has used when its call has run, so its limit is
/// that of the first one.
fn held(agent: &Agent) -> (Place, String, usize) {
    let mut place = (agent.place)(TWO_CALLS);
    let mut params = (agent.free)();
    params["budget"] = json!({ "session": { "tokens": if agent.runtime == "codex" { 1000 } else { 2000 } } });
    let id = place.session(agent.runtime, params);
    place.say(&id, "make both");
    let ask = place.ask(&id);
    assert_eq!(ask["request"]["tool_name"], "Go over the budget", "{ask}");
    assert!(place.file("first.txt").is_some() && place.file("second.txt").is_none(), "the second call is held");
    let asked = place.asked_turns().len();
    assert_eq!(asked, 2, "the model was asked for two calls, and for nothing since");
    (place, id, asked)
}

fn a_budget_holds_the_next_call_and_a_person_lets_it_go_on(agent: &Agent) {
    let (place, id, asked) = held(agent);
    place.say(&id, "and this waits");
    assert_eq!(place.client().session(&id)["queued"], 1);
    assert_eq!(place.asked_turns().len(), asked, "nothing reaches the model while a person is asked");
    let unqueued = place.client().delete(&format!("/api/sessions/{id}/queue/{}", queued(&place, &id)));
    assert_eq!(unqueued.status, 200, "{}", unqueued.body);
    let ask = place.ask(&id);
    place.permit(&id, &ask, &json!({ "reply": "once" }));
    let turn = place.until_idle(&id).completed();
    assert_eq!(turn.text(), "Both are made.");
    assert!(place.file("second.txt").is_some());
    let states: Vec<String> =
        turn.of_kind("budget").iter().map(|said| said["data"]["state"].as_str().unwrap().to_owned()).collect();
    assert_eq!(states[..3], ["reached", "paused", "raised"], "{turn:?}");
    place.end();
}

fn a_budget_holds_the_next_call_and_a_person_stops_the_turn(agent: &Agent) {
    let (place, id, asked) = held(agent);
    let ask = place.ask(&id);
    place.permit(&id, &ask, &json!({ "reply": "reject" }));
    let turn = place.until_idle(&id);
    assert_eq!(turn.outcome(), "stopped", "{turn:?}");
    assert!(place.file("second.txt").is_none(), "the call never ran");
    assert_eq!(place.asked_turns().len(), asked, "and the model was not asked again");
    place.end();
}

fn queued(place: &Place, id: &str) -> String {
    let queue = place.client().get(&format!("/api/sessions/{id}/queue")).json();
    queue["queue"][0]["message_id"].as_str().unwrap().to_owned()
}
