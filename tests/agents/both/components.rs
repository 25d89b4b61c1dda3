//! What agents show by the session's own tools, and what they hear of what people do with it.

use serde_json::{Value, json};

use super::{Agent, for_each_agent};
use crate::place::Place;
use crate::support::of_kind;

for_each_agent! {
    a_chart_grows_step_by_step_and_props_that_do_not_fit_are_explained a_plan_in_the_sidebar_is_reordered_and_the_agent_hears_of_it_once
    an_approval_is_waited_for_in_every_mode a_shared_state_is_changed_by_both_and_an_artifact_published
    after_a_kill_the_screen_is_the_same_and_nothing_is_told_twice a_wait_goes_on_after_a_kill
}

/// A script whose calls of the session's tools are made by the names that each agent has for them.
pub(super) fn script(replies: &str) -> String {
    let call = |line: &str| {
        let Some((before, rest)) = line.split_once("HOST ") else { return line.to_owned() };
        let (name, rest) = rest.split_once(' ').unwrap();
        let (input, after) = rest.rsplit_once(" END").unwrap();
        format!(
            "{before}{{ tool = {{ anthropic = {{ name = \"mcp__turnloom__{name}\", input = {input} }}, \
             openai = {{ name = \"{name}\", input = {input} }} }} }}{after}"
        )
    };
    let mut script = replies.lines().map(call).collect::<Vec<_>>().join("\n");
    script.push_str("\n[[reply]]\nwhen = { user = \"\" }\nalways = true\nstep = [{ text = \"Good.\" }]\n");
    script.push_str(
        "[[reply]]\nwhen = { tool_result = \"\" }\nalways = true\nstep = [{ text = \"I heard: {{tool_result}}\" }]\n",
    );
    script
}

impl Agent {
    /// A place with one session of its own mode.
    fn showing(&self, replies: &str) -> (Place, String) {
        let mut place = (self.place)(&script(replies));
        let id = place.session(self.runtime, json!({}));
        (place, id)
    }
}

pub(super) fn view(place: &Place, id: &str) -> Value {
    place.client().get(&format!("/api/sessions/{id}/view")).json()
}

/// All blocks of the conversation of this kind.
pub(super) fn blocks(view: &Value, kind: &str) -> Vec<Value> {
    let messages = view["messages"].as_array().unwrap();
    let all = messages.iter().flat_map(|message| message["blocks"].as_array().cloned().unwrap_or_default());
    all.filter(|block| block["kind"] == kind).collect()
}

fn call_back(place: &Place, id: &str, component: &str, body: &Value) -> Value {
    let answer = place.client().post(&format!("/api/sessions/{id}/components/{component}/callback"), body);
    assert!((200..300).contains(&answer.status), "{}", answer.body);
    answer.json()
}

/// What the model has heard of people's presses in its last request: how many messages.
fn told(place: &Place, words: &str) -> usize {
    place.last_conversation().matches(words).count()
}

/// Waits until the model was asked with this in the conversation.
fn until_told(place: &Place, words: &str) {
    crate::support::eventually(&format!("the model hears {words:?}"), || {
        place.asked_turns().iter().any(|seen| seen.heard.join("\n").contains(words)).then_some(())
    });
}

fn a_chart_grows_step_by_step_and_props_that_do_not_fit_are_explained(agent: &Agent) {
    let (place, id) = agent.showing(
        r#"
        [[reply]]
        name = "wrong"
        when = { user = "draw" }
        step = [HOST render_component { name = "chart", component_id = "threads", props = { type = "bar", data = "many" } } END]
        [[reply]]
        name = "right"
        when = { after = "wrong" }
        step = [HOST render_component { name = "chart", component_id = "threads", props = { type = "bar", data = [3], title = "Threads" } } END]
        [[reply]]
        name = "more"
        when = { after = "right" }
        step = [HOST update_component { component_id = "threads", mode = "append", props = { data = [5] } } END]
        [[reply]]
        name = "most"
        when = { after = "more" }
        step = [HOST update_component { component_id = "threads", patch = [{ op = "add", path = "/data/-", value = 8 }] } END]
        [[reply]]
        name = "other"
        when = { after = "most" }
        step = [HOST update_component { component_id = "yarn", props = { data = [5] } } END]
        "#,
    );
    let turn = place.turn(&id, "draw").completed();
    let results: Vec<&Value> = turn.of_kind("tool_result").iter().map(|event| &event["data"]).collect();
    assert_eq!(results[0]["is_error"], true);
    let why = results[0]["output"].as_str().unwrap();
    assert!(why.contains("props do not fit chart: /data: must be array") && why.contains("the schema is"), "{why}");
    assert!(results[1]["output"].as_str().unwrap().contains(r#""component_id":"threads""#), "{}", results[1]);
    assert!(results[4]["output"].as_str().unwrap().contains("shown are: threads (chart)"), "{}", results[4]);
    let updates = turn.of_kind("component_update");
    let modes: Vec<&Value> = updates.iter().map(|event| &event["data"]["mode"]).collect();
    assert_eq!(modes, [&json!("replace"), &json!("append"), &json!("patch")]);
    assert!(turn.of_kind("permission_request").is_empty());
    let view = view(&place, &id);
    let shown = blocks(&view, "component");
    assert_eq!((shown.len(), &shown[0]["props"]["data"]), (1, &json!([3, 5, 8])), "{shown:?}");
    let rows = blocks(&view, "tool");
    let covered: Vec<&Value> = rows.iter().map(|row| &row["covered_by"]).collect();
    assert_eq!(covered, [&Value::Null, &json!("threads"), &Value::Null, &Value::Null, &Value::Null]);
    assert!(rows.iter().all(|row| row["client_tool"].is_null()), "no client runs them");
    let capabilities = &place.agent_info(agent.runtime)["capabilities"];
    assert_eq!((&capabilities["components"], &capabilities["state"]), (&json!(true), &json!(true)));
    place.end();
}

fn a_plan_in_the_sidebar_is_reordered_and_the_agent_hears_of_it_once(agent: &Agent) {
    let (place, id) = agent.showing(
        r#"
        [[reply]]
        name = "plan"
        when = { user = "plan" }
        step = [HOST render_component { name = "plan_editor", component_id = "plan", surface = "sidebar", props = { steps = ["warp", "weave", "cut"], editable = true } } END]
        [[reply]]
        name = "chart"
        when = { after = "plan" }
        step = [HOST render_component { name = "chart", component_id = "threads", props = { type = "bar", data = [3] } } END]
        "#,
    );
    place.turn(&id, "plan").completed();
    assert_eq!(view(&place, &id)["components"][0]["component_id"], "plan");
    // A press that does not wake waits for the next message; two orders of the steps are one.
    call_back(&place, &id, "threads", &json!({ "action": "select_point", "payload": { "index": 0, "row": 3 } }));
    let turns = of_kind(&place.client().log(&id), "turn_started").len();
    for (callback_id, steps) in [("r1", json!(["cut", "weave", "warp"])), ("r2", json!(["weave", "warp", "cut"]))] {
        let body = json!({ "action": "reorder_steps", "payload": { "steps": steps }, "callback_id": callback_id });
        let first = call_back(&place, &id, "plan", &body);
        assert_eq!(call_back(&place, &id, "plan", &body), first, "a retry is the same press");
    }
    until_told(&place, r#"reorder_steps {"steps":["weave","warp","cut"]}"#);
    let turn = place.until_idle(&id).completed();
    let heard = &turn.only("user_message")["content"][0]["text"];
    let words = heard.as_str().unwrap();
    assert!(words.starts_with("The person used the screen:\n- chart \"threads\": select_point"), "{words}");
    assert!(!words.contains(r#"["cut","weave","warp"]"#), "only how it stands in the end: {words}");
    assert_eq!(turn.only("turn_started")["origin"], "component");
    let log = place.client().log(&id);
    let seqs: Vec<&Value> = of_kind(&log, "component_callback").into_iter().map(|event| &event["seq"]).collect();
    let name = format!("ui-{}-{}", seqs[0], seqs[2]);
    assert_eq!(turn.only("user_message")["message_id"], name.as_str());
    assert_eq!(of_kind(&place.client().log(&id), "turn_started").len(), turns + 1);
    place.turn(&id, "and now").completed();
    assert_eq!(told(&place, "reorder_steps"), 1, "{}", place.last_conversation());
    // What does not wake goes before the next message, in the same turn.
    call_back(&place, &id, "threads", &json!({ "action": "select_point", "payload": { "index": 0, "row": 3 } }));
    let turn = place.turn(&id, "what did I press").completed();
    let messages = turn.of_kind("user_message");
    assert_eq!(messages.len(), 2, "{turn:?}");
    assert_eq!((&messages[0]["data"]["origin"], &messages[1]["data"]["origin"]), (&json!("component"), &json!("user")));
    let named: Vec<&Value> = messages.iter().map(|message| &message["data"]["message_id"]).collect();
    assert_eq!(turn.only("turn_started")["message_ids"], json!(named));
    assert_eq!(told(&place, "select_point"), 2, "{}", place.last_conversation());
    place.end();
}

const APPROVAL: &str = r#"
    [[reply]]
    name = "again"
    when = { user = "ask_" }
    step = [HOST wait_for_user { ask_id = "{{user}}" } END]
    [[reply]]
    name = "wait"
    when = { user = "publish" }
    step = [HOST wait_for_user { name = "approval", surface = "overlay", props = { action = "Publish the report", danger = true } } END]
"#;

fn an_approval_is_waited_for_in_every_mode(agent: &Agent) {
    let mut place = (agent.place)(&script(APPROVAL));
    // Rules decide there, and they have nothing against it.
    let id = place.session(agent.runtime, json!({ "mode": "plan" }));
    place.say(&id, "publish");
    let ask = place.ask(&id);
    assert_eq!((&ask["kind"], &ask["request"]["component_name"]), (&json!("interrupt"), &json!("approval")));
    assert_eq!(view(&place, &id)["components"][0]["waiting"], ask["ask_id"]);
    let path = format!("/api/sessions/{id}/interrupt/{}", ask["ask_id"].as_str().unwrap());
    place.client().post(&path, &json!({ "value": { "choice": 7 } })).is_problem(422, "invalid_value");
    let value = json!({ "choice": "approve", "approved": true });
    assert_eq!(place.client().post(&path, &json!({ "value": value })).status, 200);
    let turn = place.until_idle(&id).completed();
    let heard: Value = serde_json::from_str(turn.only("tool_result")["output"].as_str().unwrap()).unwrap();
    assert_eq!((&heard["status"], &heard["value"]), (&json!("answered"), &value), "{heard}");
    assert!(turn.text().contains(r#""choice":"approve""#), "{}", turn.text());
    assert_eq!(told(&place, "The person used the screen"), 0, "the answer is told once");
    let view = view(&place, &id);
    assert_eq!(
        (blocks(&view, "tool")[0]["covered_by"].as_str(), view["components"].as_array().map(Vec::len)),
        (ask["ask_id"].as_str(), Some(0))
    );
    assert!(turn.of_kind("permission_request").is_empty() && turn.of_kind("error").is_empty(), "{turn:?}");
    place.end();
}

fn a_shared_state_is_changed_by_both_and_an_artifact_published(agent: &Agent) {
    let (place, id) = agent.showing(
        r#"
        [[reply]]
        name = "share"
        when = { user = "share" }
        step = [HOST patch_state { patch = [{ op = "add", path = "/plan", value = ["warp", "weave"] }] } END]
        [[reply]]
        name = "show"
        when = { after = "share" }
        step = [HOST render_component { name = "plan_editor", component_id = "shared", surface = "sidebar", bind = "/plan" } END]
        [[reply]]
        name = "look"
        when = { user = "look" }
        step = [HOST get_state { pointer = "/plan" } END]
        [[reply]]
        name = "report"
        when = { user = "report" }
        step = [HOST publish_artifact { title = "Report", path = "report.md", artifact_id = "report" } END]
        [[reply]]
        name = "again"
        when = { after = "report" }
        step = [HOST publish_artifact { title = "Report", content = "Second", artifact_id = "report", label = "after review" } END]
        [[reply]]
        name = "steal"
        when = { after = "again" }
        step = [HOST publish_artifact { title = "Others", path = "../secret" } END]
        "#,
    );
    place.turn(&id, "share").completed();
    let steps = |place: &Place| view(place, &id)["components"][0]["props"]["steps"].clone();
    assert_eq!(steps(&place), json!(["warp", "weave"]));
    // The page edits what it shows: that is a change of the state, and the agent hears of it with the next message.
    call_back(&place, &id, "shared", &json!({ "action": "reorder_steps", "payload": { "steps": ["weave", "warp"] } }));
    let patch = json!([{ "op": "add", "path": "/plan/-", "value": "cut" }]);
    let patched = place.client().patch(&format!("/api/sessions/{id}/state"), &patch);
    assert_eq!(patched.status, 200, "{}", patched.body);
    assert_eq!(steps(&place), json!(["weave", "warp", "cut"]));
    let turn = place.turn(&id, "look").completed();
    let told = turn.of_kind("user_message")[0]["data"]["content"][0]["text"].as_str().unwrap().to_owned();
    assert!(told.contains("- state: [") && told.contains("\"cut\"") && !told.contains("\"test\""), "{told}");
    assert!(turn.only("tool_result")["output"].as_str().unwrap().contains(r#"["weave","warp","cut"]"#));
    std::fs::write(place.dir().join("report.md"), "# First").unwrap();
    let turn = place.turn(&id, "report").completed();
    let created = turn.only("artifact_created");
    assert_eq!((&created["content"], &created["media_type"]), (&json!("# First"), &json!("text/markdown")));
    assert_eq!(turn.only("artifact_version")["version"], 2);
    let refused = turn.of_kind("tool_result")[2]["data"].clone();
    assert!(refused["output"].as_str().unwrap().contains("is not in the working directory"), "{refused}");
    assert_eq!(blocks(&view(&place, &id), "artifact")[0]["content"], "Second");
    assert_eq!(self::told(&place, "- state: ["), 1);
    place.end();
}

fn after_a_kill_the_screen_is_the_same_and_nothing_is_told_twice(agent: &Agent) {
    let (mut place, id) = agent.showing(
        r#"
        [[reply]]
        name = "plan"
        when = { user = "plan" }
        step = [HOST render_component { name = "plan_editor", component_id = "plan", surface = "sidebar", props = { steps = ["warp", "weave"], editable = true } } END]
        [[reply]]
        name = "chart"
        when = { after = "plan" }
        step = [HOST render_component { name = "chart", component_id = "threads", props = { type = "bar", data = [3] } } END]
        "#,
    );
    place.turn(&id, "plan").completed();
    call_back(&place, &id, "plan", &json!({ "action": "approve_plan", "payload": {}, "callback_id": "p1" }));
    // It was pressed, and nobody has heard of it.
    let before = view(&place, &id);
    place.daemon.kill();
    place.daemon.again();
    let after = view(&place, &id);
    assert_eq!(after["components"], before["components"]);
    assert_eq!(blocks(&after, "component"), blocks(&before, "component"));
    call_back(&place, &id, "plan", &json!({ "action": "approve_plan", "payload": {}, "callback_id": "p1" }));
    place.turn(&id, "go on").completed();
    let log = place.client().log(&id);
    let told: Vec<&Value> =
        log.iter().filter(|event| event["type"] == "user_message" && event["data"]["origin"] == "component").collect();
    let waits = of_kind(&log, "queue_changed").into_iter().filter(|event| event["data"]["added"].is_object()).count();
    if told.is_empty() {
        // It was made a message before the message after it, and waits until somebody lets it go on.
        assert_eq!(waits, 1, "{log:#?}");
        place.client().post(&format!("/api/sessions/{id}/continue"), &json!({}));
        place.until(&id, "the press is told", |event| {
            event["type"] == "user_message" && event["data"]["origin"] == "component"
        });
        place.until_idle(&id).completed();
    }
    assert_eq!(self::told(&place, "approve_plan"), 1, "{}", place.last_conversation());
    place.end();
}

fn a_wait_goes_on_after_a_kill(agent: &Agent) {
    let mut place = (agent.place)(&script(APPROVAL));
    let id = place.session(agent.runtime, json!({}));
    place.say(&id, "publish");
    let ask = place.ask(&id);
    place.daemon.kill();
    place.daemon.again();
    let turn = place.until_idle(&id);
    assert_eq!(turn.outcome(), "interrupted");
    assert_eq!(turn.only("interrupt_resolved")["unanswered"], "interrupted");
    // The agent comes back for what it has waited for.
    place.say(&id, ask["ask_id"].as_str().unwrap());
    let ask = place.ask(&id);
    assert_eq!(ask["request"]["props"]["action"], "Publish the report");
    let path = format!("/api/sessions/{id}/interrupt/{}", ask["ask_id"].as_str().unwrap());
    let value = json!({ "choice": "approve", "approved": true });
    assert_eq!(place.client().post(&path, &json!({ "value": value })).status, 200);
    assert!(place.until_idle(&id).completed().text().contains(r#""status":"answered""#));
    place.end();
}
