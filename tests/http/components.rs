//! Rich components: which there are, what rules make of calls and state, and what people do in them.

use serde_json::{Value, json};

use crate::support::{Client, Daemon, assert_lawful, eventually, of_kind};

/// All components of a session, in the conversation and beside it.
fn shown(client: &Client, id: &str) -> Vec<Value> {
    let view = client.get(&format!("/api/sessions/{id}/view")).json();
    let blocks = view["messages"].as_array().unwrap().iter().flat_map(|message| message["blocks"].as_array().unwrap());
    let in_chat = blocks.filter(|block| block["kind"] == "component" && block["surface"] == "chat").cloned();
    view["components"].as_array().unwrap().iter().cloned().chain(in_chat).collect()
}

#[test]
fn the_registry_is_listed_and_each_entry_read() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    let list = client.get("/api/components");
    assert_eq!(list.status, 200, "{}", list.body);
    let list = list.json();
    assert_eq!(list["components"].as_array().unwrap().len(), 21);
    let tag = format!("\"{}\"", list["version"].as_str().unwrap());
    let again = client.request("GET", "/api/components", &[("if-none-match", tag.as_str())], b"");
    assert_eq!((again.status, again.body.as_str()), (304, ""));
    let canvas = client.get("/api/components?surface=canvas").json();
    let names: Vec<&str> =
        canvas["components"].as_array().unwrap().iter().map(|c| c["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"chart") && !names.contains(&"approval"), "{names:?}");
    let chart = client.get("/api/components/chart").json();
    assert_eq!((&chart["source"], &chart["surfaces"][0]), (&json!("builtin"), &json!("chat")));
    assert_eq!(chart["props"]["properties"]["title"]["maxLength"], 200, "what all of them take");
    client.get("/api/components/hologram").is_problem(404, "component_unknown");
    client.get("/api/components?surface=ceiling").is_problem(400, "invalid_request");
    client.get("/api/components?session=nobody").is_problem(404, "session_not_found");

    let params = json!({ "components": [{ "name": "seating_plan", "surfaces": ["panel"] }], "pace_ms": 0 });
    let made = client.post("/api/sessions", &json!({ "session_id": "s", "runtime": "mock", "params": params }));
    assert_eq!(made.status, 201, "{}", made.body);
    let with = client.get("/api/components?session=s").json();
    assert_eq!(
        (&with["components"][0]["name"], &with["components"][0]["source"]),
        (&json!("seating_plan"), &json!("session"))
    );
    assert_ne!(with["version"], list["version"]);
    let settings = json!({ "settings": { "components": [{ "name": "loom_map" }] } });
    assert_eq!(client.patch("/api/sessions/s", &settings).status, 200);
    assert_eq!(client.get("/api/components?session=s").json()["components"][0]["name"], "loom_map", "as it is now");
    let wrong = json!({ "runtime": "mock", "params": { "components": [{ "name": "Big Name" }] } });
    client.post("/api/sessions", &wrong).is_problem(400, "invalid_request");
    let wrong = json!({ "runtime": "mock", "params": { "component_rules": [{ "tool": "x" }] } });
    client.post("/api/sessions", &wrong).is_problem(400, "invalid_request");
}

const CONFIG: &str = r#"
[[components.tools]]
tool = "Read"
component = "code"
into = "code"

[[components.state]]
pointer = "/rows"
component = "metrics"
surface = "sidebar"
id = "rows"
"#;

#[test]
fn rules_of_the_configuration_and_of_a_session_show_calls_and_state() {
    let daemon = Daemon::start_with(CONFIG, &[]);
    let client = &daemon.client;
    let params = json!({ "component_rules": [{ "tool": "Ed*", "component": "code_diff", "surface": "panel", "result": "input" }], "pace_ms": 0 });
    let made = client.post("/api/sessions", &json!({ "session_id": "s", "runtime": "mock", "params": params }));
    assert_eq!(made.status, 201, "{}", made.body);
    client.turn("s", "tool");
    let found = shown(client, "s");
    let of = |name: &str| found.iter().find(|component| component["name"] == name).cloned().unwrap_or_default();
    assert_eq!((&of("code")["status"], &of("code")["surface"]), (&json!("ready"), &json!("chat")));
    assert_eq!(of("code")["props"]["code"], "fn weave() {\n    slowly();\n}\n");
    assert_eq!(
        (&of("code_diff")["surface"], &of("code_diff")["props"]["old_string"]),
        (&json!("panel"), &json!("slowly"))
    );
    client.turn("s", "state");
    let rows = shown(client, "s").into_iter().find(|component| component["component_id"] == "rows").unwrap();
    assert_eq!((&rows["surface"], &rows["props"]), (&json!("sidebar"), &json!({ "value": 2 })));
    let log = client.log("s");
    assert_eq!(of_kind(&log, "component_update").len(), 1, "the state is stored once");
    assert_lawful(&log);
}

#[test]
fn a_plan_is_changed_and_approved_where_it_is_shown() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("s");
    client.say("s", "plan editor");
    let plan = || shown(client, "s").into_iter().find(|component| component["component_id"] == "plan");
    eventually("the plan waits", || plan().filter(|plan| plan["waiting"].is_string()));
    let act = |action: &str, payload: Value, id: &str| {
        let body = json!({ "action": action, "payload": payload, "callback_id": id });
        client.post("/api/sessions/s/components/plan/callback", &body)
    };
    let steps: Vec<Value> = plan().unwrap()["props"]["steps"].as_array().unwrap().iter().rev().cloned().collect();
    let first = act("reorder_steps", json!({ "steps": steps }), "one");
    assert_eq!(first.status, 200, "{}", first.body);
    assert_eq!(act("reorder_steps", json!({ "steps": steps }), "one").json(), first.json(), "taken once");
    assert_eq!(act("approve_plan", json!({}), "three").status, 200);
    eventually("the turn is over", || (client.get("/api/sessions/s").json()["status"] == "idle").then_some(()));
    let log = client.log("s");
    assert_eq!(
        of_kind(&log, "interrupt_resolved")[0]["data"]["value"],
        json!({ "action": "approve_plan", "payload": {} })
    );
    assert_eq!(of_kind(&log, "component_callback").len(), 2);
    assert!(plan().unwrap()["waiting"].is_null());
    let large = act("press", json!("x".repeat(70_000)), "four");
    large.is_problem(413, "payload_too_large");
    assert_lawful(&log);
}

#[test]
fn an_approval_takes_what_it_resolves() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("s");
    client.say("s", "approval");
    let waits = || shown(client, "s").into_iter().find(|component| component["waiting"].is_string());
    let component = eventually("it waits above the conversation", waits);
    assert_eq!((&component["surface"], &component["name"]), (&json!("overlay"), &json!("approval")));
    let path = format!("/api/sessions/s/interrupt/{}", component["waiting"].as_str().unwrap());
    client.post(&path, &json!({ "value": "yes" })).is_problem(422, "invalid_value");
    assert_eq!(client.post(&path, &json!({ "value": { "choice": "approve", "approved": true } })).status, 200);
    assert!(waits().is_none(), "what was settled goes");
}

#[test]
fn people_edit_the_state_where_it_is_shown() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("s");
    client.turn("s", "bound");
    let plan = || shown(client, "s").into_iter().find(|component| component["component_id"] == "shared-plan").unwrap();
    assert_eq!(plan()["props"]["steps"], json!(["Warp the loom", "Throw the shuttle", "Cut the cloth"]));
    let act = |payload: Value| {
        let body = json!({ "action": "reorder_steps", "payload": payload });
        client.post("/api/sessions/s/components/shared-plan/callback", &body)
    };
    let steps = json!(["Throw the shuttle", "Warp the loom", "Cut the cloth"]);
    assert_eq!(act(json!({ "steps": steps })).status, 200);
    assert_eq!(
        (&plan()["props"]["steps"], &client.get("/api/sessions/s/state").json()["state"]["plan"]),
        (&steps, &steps)
    );
    act(json!({ "steps": ["Warp the loom"] })).is_problem(409, "test_failed");
    assert!(of_kind(&client.log("s"), "component_callback").is_empty());
}

#[test]
fn every_component_is_there_after_a_restart() {
    let mut daemon = Daemon::start();
    daemon.client.mock("s");
    for words in ["components", "weather", "research", "mover", "bound"] {
        daemon.client.turn("s", words);
    }
    let before = shown(&daemon.client, "s");
    assert!(before.len() >= 3 * 21, "{}", before.len());
    assert!(before.iter().all(|component| component["status"] != "loading"));
    daemon.kill();
    daemon.again();
    assert_eq!(shown(&daemon.client, "s"), before);
}
