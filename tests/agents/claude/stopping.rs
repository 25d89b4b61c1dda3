//! A tool that is stopped, and an agent that rests. What every agent does in the same way is in `both`.

use serde_json::json;

use crate::place::Place;
use crate::support::{eventually, of_kind, processes_of};

#[test]
fn during_a_tool() {
    let mut place = Place::claude(
        r#"
        [[reply]]
        when = { user = "work" }
        step = [{ run = "touch begun; while [ ! -e never ]; do sleep 0.1; done" }]
        [[reply]]
        when = { user = "still there" }
        step = [{ text = "Still here." }]
        "#,
    );
    let id = place.session("claude", json!({ "allowed_tools": ["Bash"] }));
    place.say(&id, "work");
    place.until(&id, "the tool runs", |event| event["type"] == "tool_start");
    eventually("the command runs", || place.file("begun"));
    place.stop(&id);
    let turn = place.last_turn(&id);
    assert_eq!(turn.outcome(), "stopped");
    let result = turn.only("tool_result");
    assert_eq!((&result["interrupted"], &result["is_error"]), (&json!(true), &json!(true)));
    assert_eq!(place.turn(&id, "still there").completed().text(), "Still here.");
    place.end();
}

#[test]
fn an_agent_without_work_ends_and_comes_back() {
    let mut place =
        Place::claude_with("[[reply]]\nalways = true\nstep = [{ text = \"Still here.\" }]", "idle_seconds = 0", &[]);
    let id = place.session("claude", json!({}));
    place.turn(&id, "still there").completed();
    eventually("the agent ends", || processes_of(&id).is_empty().then_some(()));
    place.turn(&id, "still there").completed();
    let log = place.client().log(&id);
    let resumed: Vec<_> = of_kind(&log, "session_ready").iter().map(|event| event["data"]["resumed"].clone()).collect();
    assert_eq!(resumed, [json!(null), json!(null), json!(true)]);
    place.end();
}
