//! What clients write besides messages and answers: shared state, components, and the results of tools they run.

use serde_json::{Value, json};

use crate::support::{Client, Daemon, Sse, assert_lawful, eventually, of_kind};

fn state(client: &Client, id: &str) -> Value {
    let answer = client.get(&format!("/api/sessions/{id}/state"));
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.json()
}

#[test]
fn the_state_is_read_and_patched_without_an_agent() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("s");
    assert_eq!(state(client, "s"), json!({ "state": {}, "seq": 0 }));
    let mut stream = Sse::open(client, "/api/sessions/s/events?types=state_delta");
    let patch = json!([{ "op": "add", "path": "/rows", "value": 3 }]);
    let headers = [("content-type", "application/json-patch+json"), ("turnloom-client", "loom")];
    let patched = client.request("PATCH", "/api/sessions/s/state", &headers, patch.to_string().as_bytes());
    assert_eq!(patched.status, 200, "{}", patched.body);
    assert_eq!(patched.json()["state"], json!({ "rows": 3 }));
    let seen: Value = serde_json::from_str(&stream.until("state_delta").pop().unwrap().data).unwrap();
    assert_eq!(seen["data"], json!({ "patch": patch, "by": "loom" }));
    assert_eq!(seen["seq"], patched.json()["seq"], "everybody sees it, where the answer says");
    assert_eq!(state(client, "s"), patched.json());
    // The agent that comes then has heard of it, and its own change is on top.
    client.turn("s", "state");
    assert_eq!(state(client, "s")["state"], json!({ "rows": 4 }));
    assert_eq!(client.get("/api/sessions/s/view").json()["state"], json!({ "rows": 4 }), "the view agrees");
    assert_lawful(&client.log("s"));
}

#[test]
fn a_patch_that_does_not_fit_changes_nothing() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("s");
    client.patch("/api/sessions/s/state", &json!([{ "op": "add", "path": "/rows", "value": 1 }]));
    let before = client.log("s");
    let patch = |patch: Value| client.patch("/api/sessions/s/state", &patch);
    let test = json!([{ "op": "remove", "path": "/rows" }, { "op": "test", "path": "/rows", "value": 1 }]);
    patch(test).is_problem(409, "test_failed");
    patch(json!([{ "op": "remove", "path": "/warp" }])).is_problem(422, "invalid_patch");
    patch(json!([{ "op": "weave", "path": "/warp" }])).is_problem(422, "invalid_patch");
    patch(json!({ "rows": 2 })).is_problem(422, "invalid_patch");
    let large = json!([{ "op": "add", "path": "/x", "value": "x".repeat(1_100_000) }]);
    patch(large).is_problem(413, "state_too_large");
    client.patch("/api/sessions/nobody/state", &json!([])).is_problem(404, "session_not_found");
    client.get("/api/sessions/nobody/state").is_problem(404, "session_not_found");
    assert_eq!(client.log("s"), before);
}

#[test]
fn the_state_is_still_there_after_a_restart() {
    let mut daemon = Daemon::start();
    daemon.client.mock("s");
    daemon.client.patch("/api/sessions/s/state", &json!([{ "op": "add", "path": "/rows", "value": 9 }]));
    let before = state(&daemon.client, "s");
    daemon.kill();
    daemon.again();
    assert_eq!(state(&daemon.client, "s"), before);
    daemon.client.turn("s", "state");
    assert_eq!(state(&daemon.client, "s")["state"]["rows"], 10);
}

#[test]
fn what_is_pressed_in_a_component_reaches_the_agent() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("s");
    let nothing = json!({ "action": "throw" });
    client.post("/api/sessions/s/components/shuttle/callback", &nothing).is_problem(404, "component_not_found");
    client.turn("s", "buttons");
    // It stands in the conversation.
    let shown = || {
        let view = client.get("/api/sessions/s/view").json();
        let mut blocks =
            view["messages"].as_array().unwrap().iter().flat_map(|message| message["blocks"].as_array().unwrap());
        blocks.rfind(|block| block["kind"] == "component").cloned().unwrap_or_default()
    };
    let path = format!("/api/sessions/s/components/{}/callback", shown()["component_id"].as_str().unwrap());
    client.post(&path, &json!({})).is_problem(400, "invalid_request");
    client.post(&path, &json!({ "action": "" })).is_problem(400, "invalid_request");
    client.post(&path, &json!({ "action": "throw", "now": true })).is_problem(400, "invalid_request");
    let pressed = client.post(&path, &json!({ "action": "throw", "payload": { "rows": 2 } }));
    assert_eq!(pressed.status, 200, "{}", pressed.body);
    let text = eventually("the component says so", || {
        let text = shown()["props"]["text"].clone();
        text.as_str().filter(|text| text.starts_with("You pressed")).map(str::to_owned)
    });
    assert_eq!(text, r#"You pressed throw, with {"rows":2}."#);
    let log = client.log("s");
    let callbacks = of_kind(&log, "component_callback");
    assert_eq!(callbacks.len(), 1);
    assert_eq!(callbacks[0]["seq"], pressed.json()["seq"]);
    assert_lawful(&log);
}

fn with_tool(client: &Client, id: &str) {
    let schema = json!({ "type": "object", "properties": { "city": { "type": "string" } } });
    let tools = json!([{ "name": "get_weather", "description": "The weather in a city.", "input_schema": schema }]);
    let body = json!({ "session_id": id, "runtime": "mock", "params": { "client_tools": tools, "pace_ms": 0 } });
    let made = client.post("/api/sessions", &body);
    assert_eq!(made.status, 201, "{}", made.body);
    assert_eq!(made.json()["capabilities"]["client_tools"], true);
}

#[test]
fn a_client_runs_a_tool_and_all_see_it() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    with_tool(client, "s");
    client.say("s", r#"client get_weather {"city":"Ghent"}"#);
    client.ask("s");
    assert_eq!(client.session("s")["status"], "waiting");
    let ask = client.get("/api/asks").json()["asks"][0].clone();
    let call = ask["request"]["tool_use_id"].as_str().unwrap().to_owned();
    assert_eq!((&ask["kind"], &ask["request"]["component_name"]), (&json!("interrupt"), &json!("get_weather")));
    assert_eq!(ask["request"]["props"], json!({ "city": "Ghent" }));
    let path = format!("/api/sessions/s/tool-results/{call}");
    client.post(&path, &json!({})).is_problem(400, "invalid_request");
    client.post(&path, &json!({ "output": 1, "when": "now" })).is_problem(400, "invalid_request");
    client.post("/api/sessions/s/tool-results/other", &json!({ "output": 1 })).is_problem(404, "tool_call_not_found");
    let given = client.post(&path, &json!({ "output": { "sky": "clear" } }));
    assert_eq!(given.status, 200, "{}", given.body);
    client.post(&path, &json!({ "output": "again" })).is_problem(409, "already_resolved");
    client.until_idle("s");
    let log = client.log("s");
    let start = &of_kind(&log, "tool_start")[0]["data"];
    assert_eq!((&start["tool"], &start["client_tool"]), (&json!("get_weather"), &json!(true)));
    let resolved = of_kind(&log, "interrupt_resolved");
    assert_eq!((resolved.len(), &resolved[0]["seq"]), (1, &given.json()["seq"]));
    let result = &of_kind(&log, "tool_result")[0]["data"];
    assert_eq!((&result["tool_use_id"], &result["output"]), (&start["tool_use_id"], &json!(r#"{"sky":"clear"}"#)));
    assert_lawful(&log);
}

#[test]
fn a_clients_tool_may_fail_or_be_stopped() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    with_tool(client, "s");
    client.say("s", "client get_weather");
    client.ask("s");
    let call = client.get("/api/asks").json()["asks"][0]["request"]["tool_use_id"].as_str().unwrap().to_owned();
    let failed = json!({ "output": "no network", "is_error": true });
    assert_eq!(client.post(&format!("/api/sessions/s/tool-results/{call}"), &failed).status, 200);
    client.until_idle("s");
    let log = client.log("s");
    assert_eq!(of_kind(&log, "tool_result")[0]["data"]["is_error"], true);
    client.say("s", "client get_weather");
    client.ask("s");
    assert_eq!(client.post("/api/sessions/s/stop", &json!({})).json()["stopped"], true);
    assert_eq!(client.get("/api/asks").json()["asks"], json!([]));
    assert_lawful(&client.log("s"));
}

#[test]
fn a_call_that_waits_is_settled_when_the_daemon_dies() {
    let mut daemon = Daemon::start();
    with_tool(&daemon.client, "s");
    daemon.client.say("s", "client get_weather");
    daemon.client.ask("s");
    let call = daemon.client.get("/api/asks").json()["asks"][0]["request"]["tool_use_id"].as_str().unwrap().to_owned();
    daemon.kill();
    daemon.again();
    let client = &daemon.client;
    client.until_idle("s");
    let late = client.post(&format!("/api/sessions/s/tool-results/{call}"), &json!({ "output": 1 }));
    assert_eq!(late.is_problem(409, "already_resolved")["by"], "turnloom");
    let turn = client.turn("s", "client");
    let said: String = of_kind(&turn, "delta").iter().map(|delta| delta["data"]["text"].as_str().unwrap()).collect();
    assert_eq!(said, "Clients run these for me: get_weather.", "the tools are still there");
    assert_lawful(&client.log("s"));
}

#[test]
fn tools_are_checked_and_can_be_changed() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    let create = |runtime: &str, tools: Value| {
        client.post("/api/sessions", &json!({ "runtime": runtime, "params": { "client_tools": tools } }))
    };
    for wrong in [json!({}), json!([{ "name": "two words" }]), json!([{ "name": "a" }, { "name": "a" }])] {
        create("mock", wrong).is_problem(400, "invalid_request");
    }
    create("codex-exec", json!([{ "name": "a" }])).is_problem(422, "unsupported");
    with_tool(client, "s");
    let said = |text: &str| {
        let turn = client.turn("s", text);
        of_kind(&turn, "delta").iter().map(|delta| delta["data"]["text"].as_str().unwrap()).collect::<String>()
    };
    assert_eq!(said("client"), "Clients run these for me: get_weather.");
    let change = |tools: Value| client.patch("/api/sessions/s", &json!({ "settings": { "client_tools": tools } }));
    change(json!([{ "name": "ask_user" }])).is_problem(400, "invalid_request");
    client.patch("/api/sessions/s", &json!({ "settings": { "run_tools": [] } })).is_problem(400, "invalid_request");
    assert_eq!(change(json!([{ "name": "pick_colour" }])).status, 200);
    assert_eq!(said("client"), "Clients run these for me: pick_colour.", "the agent that runs hears of it");
    assert_eq!(change(json!([])).status, 200);
    assert_eq!(said("client pick_colour"), "No client runs tools for me.");
    assert_lawful(&client.log("s"));
}
