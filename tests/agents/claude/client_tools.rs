//! Tools that clients run: offered to the real agent, called by it, answered from outside.

use serde_json::{Value, json};

use crate::place::Place;
use crate::support::{Client, of_kind};

const WEATHER: &str = r#"
    [[reply]]
    name = "look"
    when = { user = "weather" }
    always = true
    step = [{ tool = { name = "mcp__turnloom__get_weather", input = { city = "Ghent" } } }]
    [[reply]]
    when = { after = "look" }
    always = true
    step = [{ text = "I heard: {{tool_result}}" }]
    [[reply]]
    when = { user = "" }
    always = true
    step = [{ text = "Hello." }]
"#;

fn tool(name: &str) -> Value {
    let schema = json!({ "type": "object", "properties": { "city": { "type": "string" } } });
    json!({ "name": name, "description": "The weather in a city.", "input_schema": schema })
}

fn offered(place: &Place) -> Vec<Vec<String>> {
    place.asked_turns().into_iter().map(|request| request.tools).collect()
}

#[test]
fn a_client_runs_a_tool_for_the_agent() {
    let mut place = Place::claude(WEATHER);
    let id = place.session("claude", json!({ "client_tools": [tool("get_weather")] }));
    place.say(&id, "weather");
    let ask = place.ask(&id);
    assert_eq!((&ask["kind"], &ask["title"]), (&json!("interrupt"), &json!("get_weather")));
    assert_eq!(ask["request"]["props"], json!({ "city": "Ghent" }));
    let path = format!("/api/sessions/{id}/tool-results/{}", ask["request"]["tool_use_id"].as_str().unwrap());
    let given = place.client().post(&path, &json!({ "output": { "sky": "clear" } }));
    assert_eq!(given.status, 200, "{}", given.body);
    let turn = place.until_idle(&id).completed();
    assert!(turn.text().contains(r#"{"sky":"clear"}"#), "{}", turn.text());
    let start = turn.only("tool_start");
    assert_eq!((&start["tool"], &start["client_tool"]), (&json!("get_weather"), &json!(true)));
    assert_eq!(start["tool_use_id"], ask["request"]["tool_use_id"], "the ask is about the call");
    assert!(turn.of_kind("permission_request").is_empty(), "whoever runs it may refuse to, so nobody is asked before");
    // It fails, and the agent hears so.
    place.say(&id, "weather");
    let ask = place.ask(&id);
    let path = format!("/api/sessions/{id}/tool-results/{}", ask["request"]["tool_use_id"].as_str().unwrap());
    place.client().post(&path, &json!({ "output": "no network", "is_error": true }));
    let turn = place.until_idle(&id).completed();
    assert_eq!(turn.only("tool_result")["is_error"], true);
    assert!(turn.text().contains("no network"));
    // It is called off, and nothing waits any more.
    place.say(&id, "weather");
    place.ask(&id);
    place.client().post(&format!("/api/sessions/{id}/stop"), &json!({}));
    assert_eq!(place.until_idle(&id).outcome(), "stopped");
    assert_eq!(place.client().get("/api/asks").json()["asks"], json!([]));
    place.end();
}

#[test]
fn tools_can_be_changed_while_the_agent_runs() {
    let mut place = Place::claude(WEATHER);
    let id = place.session("claude", json!({}));
    place.turn(&id, "hello").completed();
    let name = "mcp__turnloom__get_weather".to_owned();
    assert!(!offered(&place)[0].contains(&name));
    let change = json!({ "settings": { "client_tools": [tool("get_weather")] } });
    let changed = place.client().patch(&format!("/api/sessions/{id}"), &change);
    assert_eq!(changed.status, 200, "{}", changed.body);
    place.turn(&id, "hello again").completed();
    assert!(offered(&place).last().unwrap().contains(&name), "the agent has asked for the list again");
    place.end();
}

/// One run of an AG-UI client; the frames it got.
fn run(client: &Client, id: &str, messages: &Value) -> Vec<Value> {
    let schema = json!({ "type": "object", "properties": { "city": { "type": "string" } } });
    let tools = json!([{ "name": "get_weather", "description": "The weather in a city.", "parameters": schema }]);
    let body = json!({
        "threadId": id, "runId": "r", "messages": messages, "tools": tools, "state": {}, "protocolVersion": "1.0",
    });
    let answer = client.post(&format!("/ag-ui/{id}"), &body);
    assert_eq!(answer.status, 200, "{}", answer.body);
    let data = answer.body.split("\n\n").filter_map(|frame| frame.strip_prefix("data: "));
    data.map(|data| serde_json::from_str(data).unwrap()).collect()
}

#[test]
fn a_front_end_brings_its_tools_with_a_run() {
    let mut place = Place::claude(WEATHER);
    let id = place.session("claude", json!({}));
    let said = json!({ "id": "m1", "role": "user", "content": "weather" });
    let first = run(place.client(), &id, &json!([said]));
    let call = first.iter().find(|frame| frame["type"] == "TOOL_CALL_START").expect("a call").clone();
    assert_eq!(call["toolCallName"], "get_weather");
    let last = first.last().unwrap();
    assert_eq!(last["outcome"]["pendingToolCallIds"], json!([call["toolCallId"]]), "{last}");
    let result = json!({ "id": "t1", "role": "tool", "toolCallId": call["toolCallId"], "content": "clear skies" });
    let second = run(place.client(), &id, &json!([said, result]));
    let told = second.iter().filter(|frame| frame["type"] == "TEXT_MESSAGE_CONTENT");
    let told: String = told.map(|frame| frame["delta"].as_str().unwrap()).collect();
    assert!(told.contains("clear skies"), "{told}");
    place.until_idle(&id).completed();
    let log = place.client().log(&id);
    assert_eq!(of_kind(&log, "session_updated").len(), 1, "the same tools again change nothing");
    place.end();
}
