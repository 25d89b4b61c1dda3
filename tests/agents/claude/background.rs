//! Work that outlives its turn: begun there, moved there by the program, stopped one by one, and an agent that has set itself a time to wake up.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::json;

use super::loom_server;
use super::outputs::{PIXEL, picture};
use crate::place::Place;
use crate::support::{eventually, of_kind};

const WATCH: &str = r#"
    [[reply]]
    name = "watch"
    when = { user = "watch it" }
    step = [{ tool = { name = "Bash", input = { command = "echo begun; while [ ! -e gate ]; do sleep 0.1; done; echo over; exit 3", description = "Watch", run_in_background = true } } }]
    [[reply]]
    when = { after = "watch" }
    step = [{ text = "It is watched." }]
    [[reply]]
    always = true
    step = [{ text = "I heard." }]
"#;

#[test]
fn what_a_command_in_the_background_said_is_in_the_log() {
    let mut place = Place::claude(WATCH);
    let id = place.session("claude", json!({ "allowed_tools": ["Bash"] }));
    place.turn(&id, "watch it").completed();
    let view = place.client().get(&format!("/api/sessions/{id}/view")).body;
    assert!(view.contains("\"status\":\"background\""), "the call goes on: {view}");
    std::fs::write(place.dir().join("gate"), "").unwrap();
    let ended = place.until(&id, "its end", |event| event["type"] == "background_ended");
    assert_eq!(
        (&ended["data"]["output"], &ended["data"]["exit_code"]),
        (&json!("begun\nover\n"), &json!(3)),
        "{ended}"
    );
    assert_eq!(ended["data"]["status"], "failed");
    place.end();
}

#[test]
fn one_thing_in_the_background_is_stopped_and_the_rest_goes_on() {
    let mut place = Place::claude(WATCH);
    let id = place.session("claude", json!({ "allowed_tools": ["Bash"] }));
    place.turn(&id, "watch it").completed();
    let stop = place.client().post(&format!("/api/sessions/{id}/stop"), &json!({}));
    assert_eq!(stop.json(), json!({ "stopped": false, "background": 1 }), "a stop says what it leaves");
    let started = place.until(&id, "its beginning", |event| event["type"] == "background_started");
    let task = started["data"]["background_id"].as_str().unwrap();
    let path = |task: &str| format!("/api/sessions/{id}/background/{task}/stop");
    place.client().post(&path("nothing"), &json!({})).is_problem(404, "background_not_found");
    assert_eq!(place.client().post(&path(task), &json!({})).json(), json!({ "stopping": true }));
    let ended = place.until(&id, "its end", |event| event["type"] == "background_ended");
    assert_eq!(ended["data"]["status"], "interrupted", "{ended}");
    eventually("it is told no more", || (place.client().post(&path(task), &json!({})).status == 404).then_some(()));
    place.end();
}

#[test]
fn a_call_that_the_program_moved_to_the_background_tells_how_far_it_is_and_is_waited_for() {
    let env = [("CLAUDE_AUTO_BACKGROUND_TASKS", "1"), ("CLAUDE_CODE_MCP_AUTO_BACKGROUND_MS", "500")];
    let settings =
        "pass_env = [\"CLAUDE_AUTO_BACKGROUND_TASKS\", \"CLAUDE_CODE_MCP_AUTO_BACKGROUND_MS\"]\nidle_seconds = 1";
    let mut place = Place::claude_with(
        r#"
        [[reply]]
        name = "weave"
        when = { user = "weave" }
        step = [{ tool = { name = "mcp__loom__slow", input = {} } }]
        [[reply]]
        when = { after = "weave" }
        step = [{ text = "It weaves." }]
        [[reply]]
        always = true
        step = [{ text = "I heard." }]
        "#,
        settings,
        &env,
    );
    let id = place.session("claude", json!({ "mcp_servers": loom_server(&place), "allowed_tools": ["mcp__loom"] }));
    let turn = place.turn(&id, "weave").completed();
    assert_eq!(
        turn.only("tool_result")["output"],
        "It works in the background.",
        "nothing of what is meant for the model"
    );
    let started = place.until(&id, "its beginning", |event| event["type"] == "background_started");
    assert_eq!(started["data"]["kind"], "tool", "{started}");
    let progress = |event: &serde_json::Value| {
        event["type"] == "tool_progress" && event["turn_id"].is_null() && event["data"]["fraction"] == 0.4
    };
    let told = place.until(&id, "how far it is", progress);
    assert_eq!(
        (&told["data"]["text"], &told["data"]["tool_use_id"]),
        (&json!("second row\n"), &started["data"]["tool_use_id"])
    );
    // It is longer than an agent without work is kept.
    let seconds = std::time::Instant::now();
    eventually("longer than the idle time", || (seconds.elapsed().as_millis() > 1_600).then_some(()));
    std::fs::write(place.home.path().join("gate"), "").unwrap();
    let ended = place.until(&id, "its end", |event| event["type"] == "background_ended");
    assert_eq!(ended["data"]["status"], "completed", "{ended}");
    assert_eq!(ended["data"]["output"], "five rows woven\n[image]", "{ended}");
    assert_eq!(picture(&place, &ended["data"]), BASE64_STANDARD.decode(PIXEL).unwrap());
    let view = place.client().get(&format!("/api/sessions/{id}/view")).body;
    assert!(view.contains("\"images\":[{"), "the view has it: {view}");
    place.end();
}

#[test]
fn a_sub_agent_in_the_background_is_not_over_with_its_turn() {
    let mut place = Place::claude(
        r#"
        [[reply]]
        name = "delegate"
        when = { user = "hand it on" }
        step = [{ tool = { name = "Agent", input = { description = "Count", prompt = "count the threads", subagent_type = "general-purpose", run_in_background = true } } }]
        [[reply]]
        name = "count"
        when = { user = "count the threads" }
        step = [{ wait_for = "counted" }, { text = "There are three." }]
        [[reply]]
        when = { after = "delegate" }
        step = [{ text = "It counts." }]
        [[reply]]
        always = true
        step = [{ text = "I heard." }]
        "#,
    );
    let id = place.session("claude", json!({}));
    let turn = place.turn(&id, "hand it on").completed();
    let result = turn.only("tool_result");
    assert_eq!(result["output"], "It works in the background.", "nothing of what is meant for the model");
    assert!(of_kind(&place.client().log(&id), "subagent_ended").is_empty());
    place.model.release("counted");
    place.until(&id, "its end", |event| event["type"] == "subagent_ended");
    place.end();
}

#[test]
fn an_agent_that_will_wake_itself_is_not_ended() {
    let mut place = Place::claude_with(
        r#"
        [[reply]]
        name = "sleep"
        when = { user = "look again later" }
        step = [{ tool = { name = "CronCreate", input = { cron = "0 0 1 1 *", prompt = "look at the loom", recurring = true } } }]
        [[reply]]
        when = { after = "sleep" }
        step = [{ text = "I will." }]
        [[reply]]
        name = "awake"
        when = { user = "never mind" }
        step = [{ text = "All right." }]
        "#,
        "idle_seconds = 1",
        &[],
    );
    let id = place.session("claude", json!({ "allowed_tools": ["CronCreate"] }));
    place.turn(&id, "look again later").completed();
    let started = place.until(&id, "what it has set itself", |event| event["type"] == "background_started");
    assert_eq!(started["data"]["kind"], "schedule", "{started}");
    assert!(started["data"]["label"].as_str().unwrap().contains("look at the loom"), "{started}");
    let agents = place.agents();
    let since = std::time::Instant::now();
    eventually("longer than the idle time", || (since.elapsed().as_millis() > 1_600).then_some(()));
    assert_eq!(place.agents(), agents, "it is still there");
    place.turn(&id, "never mind").completed();
    let log = place.client().log(&id);
    assert_eq!(of_kind(&log, "session_ready").len(), 2, "one process: created, started");
    // An agent that is told to go says what it leaves undone.
    let archived = place.client().delete(&format!("/api/sessions/{id}"));
    assert_eq!(archived.status, 200, "{}", archived.body);
    let ended = place.until(&id, "its end", |event| event["type"] == "background_ended");
    assert_eq!(
        (&ended["data"]["status"], &ended["data"]["reason"]),
        (&json!("interrupted"), &json!("the agent ended"))
    );
    place.forget(&id);
    place.end();
}
