//! Permissions, questions, plans: what an agent wants of a person. What every agent does in the same way is in `both`.

use serde_json::json;

use super::session;
use crate::place::Place;

const TOUCH: &str = r#"
    [[reply]]
    name = "touch"
    when = { user = "make it" }
    always = true
    step = [{ run = "touch made.txt" }]
    [[reply]]
    when = { after = "touch" }
    always = true
    step = [{ text = "I was told: {{tool_result}}" }]
"#;

#[test]
fn the_input_is_edited_before_it_runs() {
    let (place, id) = session(TOUCH);
    place.say(&id, "make it");
    let ask = place.ask(&id);
    let mut input = ask["request"]["tool_input"].clone();
    input["command"] = "touch other.txt".into();
    place.permit(&id, &ask, &json!({ "reply": "once", "updated_input": input }));
    place.until_idle(&id).completed();
    assert!(place.file("made.txt").is_none() && place.file("other.txt").is_some());
    place.end();
}

#[test]
fn rejected_with_a_reason_that_the_agent_reads() {
    let (place, id) = session(TOUCH);
    place.say(&id, "make it");
    let ask = place.ask(&id);
    place.permit(&id, &ask, &json!({ "reply": "reject", "message": "not on a Sunday" }));
    let turn = place.until_idle(&id).completed();
    assert!(turn.text().contains("not on a Sunday"));
    assert_eq!(turn.only("tool_result")["denied"], true);
    assert!(place.file("made.txt").is_none());
    place.end();
}

#[test]
fn read_edit_and_write_with_their_diffs() {
    let mut place = Place::claude(
        r#"
        [[reply]]
        name = "read"
        when = { user = "dye it" }
        step = [{ read = "cloth.txt" }]
        [[reply]]
        name = "edit"
        when = { after = "read" }
        step = [{ edit = { path = "cloth.txt", old = "undyed", new = "blue" } }]
        [[reply]]
        name = "write"
        when = { after = "edit" }
        step = [{ write = { path = "label.txt", text = "blue cloth\n" } }]
        [[reply]]
        when = { after = "write" }
        step = [{ text = "Dyed and labelled." }]
        "#,
    );
    std::fs::write(place.dir().join("cloth.txt"), "weft\nundyed\nwarp\n").unwrap();
    let id = place.session("claude", json!({}));
    place.say(&id, "dye it");
    let ask = place.ask(&id);
    assert_eq!(ask["request"]["tool_name"], "Edit");
    place.permit(&id, &ask, &json!({ "reply": "once" }));
    place.until(&id, "the second ask", |event| {
        event["type"] == "permission_request" && event["data"]["tool_name"] == "Write"
    });
    let ask = place.ask(&id);
    place.permit(&id, &ask, &json!({ "reply": "once" }));
    let turn = place.until_idle(&id).completed();
    let diffs: Vec<_> =
        turn.of_kind("tool_result").iter().filter_map(|e| e["data"]["diff"].as_str().map(str::to_owned)).collect();
    assert!(diffs[0].contains("-undyed\n+blue\n"), "{diffs:?}");
    assert!(diffs[1].starts_with("--- /dev/null\n") && diffs[1].contains("+blue cloth\n"), "{diffs:?}");
    assert_eq!(place.file("cloth.txt").as_deref(), Some("weft\nblue\nwarp\n"));
    place.end();
}

#[test]
fn the_hosts_own_tool_asks_too() {
    let (place, id) = session(
        r#"
        [[reply]]
        name = "ask"
        when = { user = "weave" }
        step = [{ tool = { name = "mcp__turnloom__ask_user", input = { question = "How wide?", options = ["narrow", "wide"] } } }]
        [[reply]]
        when = { after = "ask" }
        step = [{ text = "I heard: {{tool_result}}" }]
        "#,
    );
    place.say(&id, "weave");
    let ask = place.ask(&id);
    assert_eq!(ask["request"]["questions"][0]["prompt"], "How wide?");
    place.answer(&id, &ask, &json!([["wide"]]));
    assert!(place.until_idle(&id).completed().text().contains("I heard: wide"));
    let offered = place.asked_turns();
    assert!(offered[0].tools.iter().any(|tool| tool == "mcp__turnloom__ask_user"), "{:?}", offered[0].tools);
    place.end();
}

#[test]
fn a_plan_is_approved_and_carried_out() {
    let mut place = Place::claude(
        r#"
        [[reply]]
        name = "plan"
        when = { user = "plan it" }
        step = [{ text = "This is the plan." }, { tool = { name = "ExitPlanMode", input = { plan = "1. Weave" } } }]
        [[reply]]
        when = { after = "plan" }
        step = [{ text = "It is done." }]
        "#,
    );
    let id = place.session("claude", json!({ "mode": "plan" }));
    place.say(&id, "plan it");
    let ask = place.ask(&id);
    assert_eq!(ask["request"]["tool_name"], "ExitPlanMode");
    assert_eq!(ask["title"], "Approve this plan?");
    place.permit(&id, &ask, &json!({ "reply": "always" }));
    let turn = place.until_idle(&id).completed();
    assert_eq!(turn.of_kind("mode_changed").last().unwrap()["data"]["mode"], "acceptEdits");
    place.end();
}
