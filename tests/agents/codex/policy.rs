//! Rules and the real program: what is judged when it asks, in every mode with rules and in sub-agents, and what people always allow.

use serde_json::{Value, json};

use super::asks::with_loom_server_in;
use super::free;
use crate::place::{Place, Turn};
use crate::support::eventually;

/// Runs, writes and calls, by the words of the message, and says what came of it.
const SCRIPT: &str = r#"
    [[reply]]
    name = "run"
    when = { user = "run it" }
    always = true
    step = [{ run = "touch made.txt" }]
    [[reply]]
    name = "publish"
    when = { user = "publish it" }
    always = true
    step = [{ run = "npm publish --dry-run" }]
    [[reply]]
    name = "look"
    when = { user = "look at it" }
    always = true
    step = [{ run = "ls" }]
    [[reply]]
    name = "write"
    when = { user = "write it" }
    always = true
    step = [{ write = { path = "written.txt", text = "cloth\n" } }]
    [[reply]]
    name = "write-above"
    when = { user = "write above" }
    always = true
    step = [{ write = { path = "../above.txt", text = "cloth\n" } }]
    [[reply]]
    name = "destroy"
    when = { user = "destroy it" }
    always = true
    step = [{ run = "touch gone.txt && rm -rf ~" }]
    [[reply]]
    name = "cut"
    when = { user = "have it cut" }
    always = true
    step = [{ tool = { name = "mcp__loom.cut", input = {} } }]
    [[reply]]
    name = "thread-count"
    when = { user = "have it looked at" }
    always = true
    step = [{ tool = { name = "mcp__loom.look", input = {} } }]
    [[reply]]
    name = "terminal"
    when = { user = "open a terminal" }
    always = true
    step = [{ tool = { name = "exec_command", input = { cmd = "sh", tty = true, yield_time_ms = 300 } } }]
    [[reply]]
    name = "hand"
    when = { user = "hand it on" }
    step = [{ tool = { name = "multi_agent_v1.spawn_agent", input = { message = "touch the helper file" } } }]
    [[reply]]
    name = "helper"
    when = { user = "touch the helper file" }
    step = [{ run = "touch helped.txt" }]
    [[reply]]
    when = { after = "helper" }
    step = [{ text = "The helper was told: {{tool_result}}" }]
    [[reply]]
    when = { after = "hand" }
    step = [{ text = "It was handed on" }, { wait_for = "helped" }, { text = "." }]
    [[reply]]
    when = {}
    always = true
    step = [{ text = "Done: {{tool_result}} {{user}}" }]
"#;

fn session() -> (Place, String) {
    let mut place = Place::codex(SCRIPT);
    let id = place.session("codex", free("never"));
    (place, id)
}

fn mode(place: &Place, id: &str, mode: &str) {
    let changed = place.client().patch(&format!("/api/sessions/{id}"), &json!({ "mode": mode }));
    assert_eq!(changed.status, 200, "{}", changed.body);
}

fn decision(turn: &Turn) -> (String, String) {
    let decided = turn.only("tool_decided");
    let text = |name: &str| decided["judged"][name].as_str().unwrap_or_default().to_owned();
    (text("effect"), text("rule"))
}

#[test]
fn each_mode_allows_denies_and_asks_as_its_rules_say() {
    let (place, id) = session();
    place.turn(&id, "look at it").completed();
    mode(&place, &id, "plan");
    let turn = place.turn(&id, "run it").completed();
    assert_eq!(decision(&turn), ("deny".into(), "plan/only-reads".into()));
    assert!(turn.text().contains("plan mode only reads and searches"), "the agent reads why: {}", turn.text());
    assert_eq!(turn.only("tool_result")["denied"], true);
    assert!(place.file("made.txt").is_none());
    assert_eq!(decision(&place.turn(&id, "look at it").completed()).0, "allow");
    assert_eq!(decision(&place.turn(&id, "write it").completed()).0, "deny");
    assert!(place.file("written.txt").is_none());

    mode(&place, &id, "ask");
    place.say(&id, "write it");
    let ask = place.ask(&id);
    assert_eq!(ask["request"]["judged"]["rule"], "ask/default");
    place.permit(&id, &ask, &json!({ "reply": "reject" }));
    place.until_idle(&id).completed();
    assert!(place.file("written.txt").is_none());

    mode(&place, &id, "implement");
    let turn = place.turn(&id, "run it").completed();
    assert_eq!(decision(&turn), ("allow".into(), "implement/edit".into()));
    assert!(place.file("made.txt").is_some());
    assert_eq!(turn.of_kind("permission_request").len(), 0);
    assert_eq!(decision(&place.turn(&id, "write it").completed()).0, "allow");
    assert_eq!(place.file("written.txt").as_deref(), Some("cloth\n"));
    place.say(&id, "write above");
    let ask = place.ask(&id);
    assert_eq!(ask["request"]["judged"]["rule"], "implement/default", "a patch is judged by the files it changes");
    place.permit(&id, &ask, &json!({ "reply": "reject" }));
    place.until_idle(&id).completed();
    assert!(place.file("../above.txt").is_none());

    mode(&place, &id, "bypass");
    let turn = place.turn(&id, "destroy it").completed();
    assert_eq!(decision(&turn).0, "deny");
    assert!(decision(&turn).1.starts_with("absolute/"));
    assert!(place.file("gone.txt").is_none(), "nothing of a script runs if a part of it may not");
    assert_eq!(decision(&place.turn(&id, "publish it").completed()), ("allow".into(), "bypass/default".into()));

    // In a mode of its own Codex works by what the session has said.
    mode(&place, &id, "default");
    let turn = place.turn(&id, "run it").completed();
    assert_eq!(turn.of_kind("tool_decided").len() + turn.of_kind("permission_request").len(), 0, "{turn:?}");
    place.end();
}

#[test]
fn a_session_that_begins_with_rules_is_held_to_them_and_so_is_one_that_goes_on() {
    let mut place = Place::codex(SCRIPT);
    let params = json!({ "mode": "plan", "approval_policy": "never", "approvals_reviewer": "auto_review" });
    let id = place.session("codex", params);
    assert_eq!(decision(&place.turn(&id, "run it").completed()).0, "deny");
    let bold = place.session("codex", json!({ "mode": "bypass" }));
    let turn = place.turn(&bold, "open a terminal").completed();
    assert!(turn.text().contains("TTY execution is disabled"), "what is typed there cannot be judged: {}", turn.text());
    place.daemon.kill();
    eventually("the agent is gone", || place.agents().is_empty().then_some(()));
    place.daemon.again();
    assert_eq!(decision(&place.turn(&id, "run it").completed()).0, "deny", "the thread is resumed in the same way");
    let forked = place.client().post(&format!("/api/sessions/{id}/fork"), &json!({}));
    assert_eq!(forked.status, 201, "{}", forked.body);
    let fork = forked.json()["session_id"].as_str().unwrap().to_owned();
    place.adopt(&fork);
    assert_eq!(decision(&place.turn(&fork, "run it").completed()).0, "deny", "and so is a fork");
    assert!(place.file("made.txt").is_none());
    place.end();
}

#[test]
fn sub_agents_and_mcp_tools_are_judged() {
    let (place, id) = with_loom_server_in("codex", json!({ "mode": "plan" }), SCRIPT);
    place.say(&id, "hand it on");
    let denied = |event: &Value| event["type"] == "tool_decided" && event["data"]["judged"]["effect"] == "deny";
    let decided = place.until(&id, "the call of the helper is denied", denied);
    assert!(decided["data"]["subagent_id"].is_string() || decided["subagent_id"].is_string(), "{decided}");
    place.until(&id, "the helper ends", |event| event["type"] == "subagent_ended");
    place.model.release("helped");
    place.until_idle(&id).completed();
    assert!(place.file("helped.txt").is_none());
    // Also one that says of itself that it only reads.
    for (message, tool) in [("have it cut", "mcp__loom__cut"), ("have it looked at", "mcp__loom__look")] {
        place.say(&id, message);
        let ask = place.ask(&id);
        assert_eq!(
            (&ask["request"]["tool_name"], &ask["request"]["judged"]["rule"]),
            (&json!(tool), &json!("plan/default"))
        );
        place.permit(&id, &ask, &json!({ "reply": "reject" }));
        assert_eq!(place.until_idle(&id).completed().only("tool_result")["is_error"], true);
    }
    mode(&place, &id, "bypass");
    let turn = place.turn(&id, "have it cut").completed();
    assert_eq!((decision(&turn).0.as_str(), turn.of_kind("permission_request").len()), ("allow", 0));
    place.end();
}

#[test]
fn what_is_always_allowed_is_a_rule_that_holds_in_other_sessions() {
    let (mut place, id) = session();
    mode(&place, &id, "implement");
    place.say(&id, "publish it");
    let ask = place.ask(&id);
    let options = ask["request"]["options"].as_array().unwrap();
    let wanted =
        |option: &&Value| option["scope"] == "project" && option["rule"].as_str().unwrap().contains("npm publish *");
    let rule = options.iter().find(wanted).expect("a rule for the project")["rule"].clone();
    place.permit(&id, &ask, &json!({ "reply": "always", "rule": rule }));
    place.until_idle(&id).completed();
    let other = place.session("codex", json!({ "mode": "implement" }));
    let turn = place.turn(&other, "publish it").completed();
    let decided = turn.only("tool_decided");
    assert_eq!((&decided["judged"]["effect"], &decided["judged"]["scope"]), (&json!("allow"), &json!("project")));
    assert!(!place.home.path().join(".codex/rules").exists(), "Codex itself keeps nothing");
    place.end();
}

#[test]
fn nothing_runs_that_a_killed_daemon_would_have_judged() {
    let (mut place, id) = session();
    mode(&place, &id, "ask");
    place.say(&id, "run it");
    place.ask(&id);
    place.daemon.kill();
    eventually("the agent is gone", || place.agents().is_empty().then_some(()));
    assert!(place.file("made.txt").is_none());
}

#[test]
fn a_runtime_that_cannot_be_held_to_rules_has_no_modes_with_rules() {
    let place = Place::codex(SCRIPT);
    for mode in ["implement", "ask", "bypass"] {
        let params = json!({ "cwd": place.dir(), "mode": mode });
        let refused = place.client().post("/api/sessions", &json!({ "runtime": "codex-exec", "params": params }));
        refused.is_problem(400, "invalid_request");
        assert!(refused.body.contains("codex-exec cannot be held to them"), "{}", refused.body);
    }
    place.end();
}
