//! Components in a view: one place each, and what they show.

use serde_json::{Value, json};

use super::{Fold, Op, delta, done, log, merge, result, started, user, view};
use crate::event::{Envelope, Event};

/// What is true of components at every position: each has one place, what shows the state shows it as it is, and no turn leaves anything loading.
pub(super) fn check_components(envelope: &Envelope, snapshot: &Value) {
    fn in_chat<'a>(blocks: &'a Value, found: &mut Vec<&'a Value>) {
        for block in blocks.as_array().into_iter().flatten() {
            if block["kind"] == "component" && block["surface"] == "chat" {
                found.push(block);
            }
            in_chat(&block["blocks"], found);
        }
    }
    let mut shown: Vec<&Value> = snapshot["components"].as_array().unwrap().iter().collect();
    assert!(shown.iter().all(|component| component["surface"] != "chat"), "those are in the conversation");
    snapshot["messages"].as_array().unwrap().iter().for_each(|message| in_chat(&message["blocks"], &mut shown));
    let ids: std::collections::BTreeSet<&str> = shown.iter().map(|c| c["component_id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), shown.len(), "each has one place");
    for component in shown {
        if let Some(pointer) = component["bind"]["pointer"].as_str() {
            let value = snapshot["state"].pointer(pointer).filter(|value| !value.is_null()).expect("else it is hidden");
            let props = &component["props"];
            match value {
                Value::Object(members) => assert!(members.iter().all(|(name, value)| props[name] == *value)),
                Value::Array(_) => assert_eq!(props["items"], *value),
                _ => assert_eq!(props["value"], *value),
            }
        }
        let of_call = component["tool_use_id"].is_string();
        let is_end = matches!(envelope.event, Event::Done(_));
        assert!(!is_end || of_call || component["status"] != "loading", "nothing is left loading");
    }
}

#[test]
fn a_component_that_has_moved_stands_in_one_place() {
    let update = |surface: &str| {
        let component =
            json!({ "component_id": "c", "name": "Chart", "surface": surface, "props": {}, "merge": false });
        ("component_update", component)
    };
    let blocks = |view: &Value| view["messages"][1]["blocks"].clone();
    let moved = view(&[user("go"), started(), update("chat"), update("panel")]);
    assert_eq!(moved["components"][0]["surface"], "panel");
    let line = &blocks(&moved)[0];
    assert_eq!((&line["surface"], &line["props"]), (&json!("panel"), &Value::Null), "a line that says where it is");
    let back = view(&[user("go"), started(), update("chat"), update("panel"), update("chat")]);
    assert_eq!((blocks(&back).as_array().unwrap().len(), &back["components"]), (1, &json!([])));
    assert_eq!((&blocks(&back)[0]["surface"], &blocks(&back)[0]["props"]), (&json!("chat"), &json!({})));
    let entered = view(&[user("go"), started(), update("panel"), delta("a", "x"), update("chat")]);
    assert_eq!((&blocks(&entered)[1]["kind"], &entered["components"]), (&json!("component"), &json!([])));
    let gone = view(&[user("go"), started(), update("chat"), ("component_remove", json!({ "component_id": "c" }))]);
    assert_eq!((blocks(&gone), &gone["components"]), (json!([]), &json!([])));
}

fn weather(call: &str) -> (&'static str, Value) {
    let component = json!({ "component_id": format!("get_weather-{call}"), "name": "weather", "surface": "chat", "result": "merge" });
    (
        "tool_start",
        json!({ "tool_use_id": call, "tool": "get_weather", "input": { "city": "Ghent" }, "component": component }),
    )
}

#[test]
fn a_component_shows_a_call_before_its_row() {
    let log = [user("go"), started(), weather("t")];
    let loading = view(&log);
    let blocks = &loading["messages"][1]["blocks"];
    assert_eq!((&blocks[0]["kind"], &blocks[0]["status"]), (&json!("component"), &json!("loading")));
    assert_eq!((&blocks[0]["props"], &blocks[0]["tool_use_id"]), (&json!({ "city": "Ghent" }), &json!("t")));
    assert_eq!((&blocks[1]["kind"], &blocks[1]["covered_by"]), (&json!("tool"), &json!("get_weather-t")));
    let ready = view(&[&log[..], &[result("t", "{\"temperature\": 11}")]].concat());
    let block = &ready["messages"][1]["blocks"][0];
    assert_eq!((&block["props"], &block["status"]), (&json!({ "city": "Ghent", "temperature": 11 }), &json!("ready")));
    assert_eq!(ready["messages"][1]["blocks"][1]["covered_by"], "get_weather-t");
    let failed = ("tool_result", json!({ "tool_use_id": "t", "output": "no such city", "is_error": true }));
    let failed = view(&[&log[..], &[failed]].concat());
    let blocks = &failed["messages"][1]["blocks"];
    assert_eq!((&blocks[0]["status"], &blocks[0]["error"]), (&json!("error"), &json!("no such city")));
    assert_eq!(blocks[1]["covered_by"], Value::Null, "the row says more");
    let update =
        json!({ "component_id": "get_weather-t", "name": "weather", "surface": "panel", "props": {}, "merge": true });
    let moved = view(&[&log[..], &[result("t", "{}"), ("component_update", update)]].concat());
    assert_eq!(moved["messages"][1]["blocks"][1]["covered_by"], Value::Null, "it went elsewhere");
}

#[test]
fn a_turn_that_ends_leaves_nothing_loading() {
    let update = json!({ "component_id": "c", "name": "chart", "surface": "chat", "props": {}, "merge": false, "status": "loading" });
    let log = [user("go"), started(), ("component_update", update)];
    let status = |outcome: &str| {
        let view = view(&[&log[..], &[("done", json!({ "outcome": outcome, "reason": "why" }))]].concat());
        let block = &view["messages"][1]["blocks"][0];
        (block["status"].clone(), block["error"].clone())
    };
    assert_eq!(status("completed"), (json!("ready"), Value::Null));
    assert_eq!(status("stopped"), (json!("error"), json!("the turn was stopped: why")));
}

#[test]
fn a_rollback_takes_what_was_made_and_keeps_what_was_changed() {
    let update = |id: &str, surface: &str, props: Value| {
        (
            "component_update",
            json!({ "component_id": id, "name": "chart", "surface": surface, "props": props, "merge": true }),
        )
    };
    let second = |kind, data: Value| {
        let mut data = data;
        data["turn"] = json!("t2");
        (kind, data)
    };
    let log = [
        user("one"),
        started(),
        update("kept", "sidebar", json!({ "a": 1 })),
        done(),
        second("user_message", json!({ "message_id": "m2", "content": [], "origin": "user" })),
        second("turn_started", json!({ "message_ids": [], "origin": "user" })),
        update("kept", "chat", json!({ "b": 2 })),
        update("made", "panel", json!({})),
        done(),
        ("rollback", json!({ "turn_ids": ["t2"], "files_restored": false, "between": true })),
    ];
    let view = view(&log);
    assert_eq!(view["components"], json!([]), "what was made is gone");
    let last = view["messages"].as_array().unwrap().last().unwrap();
    let block = &last["blocks"][0];
    assert_eq!(
        (&block["component_id"], &block["props"]),
        (&json!("kept"), &json!({ "a": 1, "b": 2 })),
        "it still has a place"
    );
}

#[test]
fn a_bound_component_follows_the_state() {
    let bind = json!({ "pointer": "/plan", "as": "steps", "edits": true });
    let update = json!({ "component_id": "plan", "name": "plan_editor", "surface": "sidebar", "props": { "title": "Plan" }, "merge": false, "bind": bind });
    let other = json!({ "component_id": "other", "name": "json", "surface": "sidebar", "props": {}, "merge": false });
    let log = [
        ("state_snapshot", json!({ "state": { "plan": ["a"] } })),
        ("component_update", update),
        ("component_update", other),
    ];
    let patched = |value: Value| {
        ("state_delta", json!({ "patch": [{ "op": "replace", "path": "/plan", "value": value }], "by": "web" }))
    };
    assert_eq!(view(&log)["components"][0]["props"], json!({ "title": "Plan", "steps": ["a"] }));
    let shown = |more: &[(&'static str, Value)]| {
        let view = view(&[&log[..], more].concat());
        let ids = view["components"].as_array().unwrap().iter().map(|c| c["component_id"].as_str().unwrap().to_owned());
        (ids.collect::<Vec<_>>(), view["components"][0]["props"].clone())
    };
    assert_eq!(shown(&[patched(json!(["b", "c"]))]).1, json!({ "title": "Plan", "steps": ["b", "c"] }));
    assert_eq!(shown(&[patched(json!({ "steps": ["d"] }))]).1, json!({ "title": "Plan", "steps": ["d"] }));
    assert_eq!(shown(&[patched(Value::Null)]).0, ["other"], "nothing there hides it");
    let again = shown(&[patched(Value::Null), patched(json!(["e"]))]);
    assert_eq!(again, (vec!["plan".to_owned(), "other".to_owned()], json!({ "title": "Plan", "steps": ["e"] })));
}

#[test]
fn what_waits_elsewhere_is_in_the_list_until_it_is_settled() {
    let asked =
        json!({ "interrupt_id": "i", "component_name": "approval", "props": { "action": "go" }, "surface": "overlay" });
    let log = [user("go"), started(), ("interrupt", asked)];
    let waiting = view(&log);
    let component = &waiting["components"][0];
    assert_eq!((&component["component_id"], &component["waiting"]), (&json!("interrupt-i"), &json!("i")));
    assert_eq!(waiting["messages"][1]["blocks"][0]["kind"], "interrupt", "and a line in the conversation");
    let settled = ("interrupt_resolved", json!({ "interrupt_id": "i", "value": 1, "by": "web" }));
    assert_eq!(view(&[&log[..], std::slice::from_ref(&settled)].concat())["components"], json!([]));
    let update =
        json!({ "component_id": "c", "name": "plan_editor", "surface": "sidebar", "props": {}, "merge": false });
    let asked = json!({ "interrupt_id": "i", "component_name": "plan_editor", "props": {}, "surface": "sidebar", "component_id": "c" });
    let log = [user("go"), started(), ("component_update", update), ("interrupt", asked)];
    assert_eq!(view(&log)["components"][0]["waiting"], "i");
    assert_eq!(view(&[&log[..], &[settled]].concat())["components"][0]["waiting"], Value::Null);
}

#[test]
fn one_change_of_a_component_is_one_small_operation() {
    let update = |id: &str, props: Value| {
        (
            "component_update",
            json!({ "component_id": id, "name": "chart", "surface": "panel", "props": props, "merge": true, "mode": "append" }),
        )
    };
    let log = log(&[
        update("a", json!({ "data": [1] })),
        update("b", json!({})),
        update("a", json!({ "data": [2] })),
        update("b", json!({ "x": 1 })),
        update("a", json!({ "data": [3] })),
    ]);
    let mut fold = Fold::default();
    let mut ops: Vec<Op> = log.iter().flat_map(|envelope| fold.step(envelope)).collect();
    let later = ops.split_off(2);
    assert_eq!(
        json!(merge(later)),
        json!([
            { "op": "set", "path": ["@components", "a"], "fields": { "props": { "data": [1, 2, 3] } } },
            { "op": "set", "path": ["@components", "b"], "fields": { "props": { "x": 1 } } },
        ])
    );
    assert_eq!(json!(ops[1])["path"], json!(["@components"]));
}
