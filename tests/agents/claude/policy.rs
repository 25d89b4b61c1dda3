//! Rules and the real program: what is judged, before it runs, in every mode and in sub-agents, and what people always allow.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use super::{loom_server, session};
use crate::place::{Place, Turn};
use crate::support::eventually;

/// Runs, writes, reads and fetches, by the words of the message, and says what came of it.
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
    step = [{ tool = { name = "Write", input = { file_path = "written.txt", content = "cloth" } } }]
    [[reply]]
    name = "destroy"
    when = { user = "destroy it" }
    always = true
    step = [{ run = "touch gone.txt && rm -rf ~" }]
    [[reply]]
    name = "fetch"
    when = { user = "fetch it" }
    always = true
    step = [{ tool = { name = "WebFetch", input = { url = "http://203.0.113.1/cloth", prompt = "what is it" } } }]
    [[reply]]
    name = "mcp"
    when = { user = "ask the loom" }
    always = true
    step = [{ tool = { name = "mcp__loom__secret", input = {} } }]
    [[reply]]
    name = "hand"
    when = { user = "hand it on" }
    always = true
    step = [{ tool = { name = "Agent", input = { description = "Touch", prompt = "touch the helper file", subagent_type = "general-purpose", run_in_background = false } } }]
    [[reply]]
    name = "helper"
    when = { user = "touch the helper file" }
    always = true
    step = [{ run = "touch helped.txt" }]
    [[reply]]
    when = { after = "helper" }
    always = true
    step = [{ text = "The helper was told: {{tool_result}}" }]
    [[reply]]
    when = { after = "run" }
    always = true
    step = [{ text = "I was told: {{tool_result}}" }]
    [[reply]]
    when = {}
    always = true
    step = [{ text = "Done: {{tool_result}}" }]
"#;

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
    let (place, id) = session(SCRIPT);
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
    assert!(place.last_instructions().contains("in `ask` mode"), "the agent is told its mode");
    assert_eq!(ask["request"]["judged"]["rule"], "ask/default");
    place.permit(&id, &ask, &json!({ "reply": "reject" }));
    place.until_idle(&id).completed();
    assert!(place.file("written.txt").is_none());

    mode(&place, &id, "implement");
    let turn = place.turn(&id, "run it").completed();
    assert_eq!(decision(&turn), ("allow".into(), "implement/edit".into()));
    assert!(place.file("made.txt").is_some(), "nobody was asked, although the program itself would have");
    assert_eq!(turn.of_kind("permission_request").len(), 0);
    assert_eq!(decision(&place.turn(&id, "write it").completed()).0, "allow");
    assert_eq!(place.file("written.txt").as_deref(), Some("cloth"));

    mode(&place, &id, "bypass");
    let turn = place.turn(&id, "destroy it").completed();
    assert_eq!(decision(&turn).0, "deny");
    assert!(decision(&turn).1.starts_with("absolute/"));
    assert!(place.file("gone.txt").is_none(), "nothing of a script runs if a part of it may not");
    assert_eq!(decision(&place.turn(&id, "publish it").completed()), ("allow".into(), "bypass/default".into()));
    place.end();
}

#[test]
fn the_absolute_rules_hold_in_the_agents_own_modes_too() {
    let mut place = Place::claude(SCRIPT);
    let params = json!({ "allow_bypass": true, "mode": "bypassPermissions", "env": { "IS_SANDBOX": "1" } });
    let id = place.session("claude", params);
    let turn = place.turn(&id, "destroy it").completed();
    assert_eq!(decision(&turn).0, "deny");
    assert!(place.file("gone.txt").is_none());
    let turn = place.turn(&id, "run it").completed();
    assert_eq!(turn.of_kind("tool_decided").len(), 0, "no rule is about it, and the mode is the agent's own");
    assert!(place.file("made.txt").is_some());
    place.end();
}

#[test]
fn sub_agents_mcp_tools_and_fetches_are_judged() {
    let mut place = Place::claude(SCRIPT);
    let servers = loom_server(&place);
    let id = place.session("claude", json!({ "mode": "plan", "mcp_servers": servers }));
    let turn = place.turn(&id, "hand it on").completed();
    let denied: Vec<&Value> =
        turn.of_kind("tool_decided").into_iter().filter(|fact| fact["data"]["judged"]["effect"] == "deny").collect();
    assert_eq!(denied.len(), 1, "{:?}", turn.of_kind("tool_decided"));
    assert!(place.file("helped.txt").is_none());
    for message in ["ask the loom", "fetch it"] {
        place.say(&id, message);
        let ask = place.ask(&id);
        assert_eq!(ask["request"]["judged"]["rule"], "plan/default", "{message}");
        place.permit(&id, &ask, &json!({ "reply": "reject", "message": "not now" }));
        place.until_idle(&id).completed();
    }
    place.end();
}

#[test]
fn a_project_cannot_allow_what_the_rules_deny() {
    let mut place = Place::claude(SCRIPT);
    let hook = place.home.path().join("hook");
    let allows = r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","updatedInput":{"command":"touch sneaked.txt","description":"x"}}}"#;
    std::fs::write(&hook, format!("#!/bin/sh\nprintf '%s' '{allows}'\n")).unwrap();
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
    let settings = json!({
        "permissions": { "allow": ["Bash", "Write"], "defaultMode": "bypassPermissions" },
        "hooks": { "PreToolUse": [{ "matcher": "Bash", "hooks": [{ "type": "command", "command": hook }] }] },
    });
    std::fs::create_dir_all(place.dir().join(".claude")).unwrap();
    std::fs::write(place.dir().join(".claude/settings.json"), settings.to_string()).unwrap();
    for trust in [false, true] {
        let id = place.session("claude", json!({ "mode": "plan", "trust_project": trust }));
        for message in ["run it", "write it", "look at it"] {
            place.turn(&id, message).completed();
        }
        for file in ["made.txt", "written.txt", "sneaked.txt"] {
            assert!(place.file(file).is_none(), "{file}, with trust_project = {trust}");
        }
    }
    place.end();
}

#[test]
fn what_is_always_allowed_is_a_rule_that_holds_in_other_sessions_and_can_be_removed() {
    let (mut place, id) = session(SCRIPT);
    mode(&place, &id, "implement");
    place.say(&id, "publish it");
    let ask = place.ask(&id);
    let options = ask["request"]["options"].as_array().unwrap();
    let wanted =
        |option: &&Value| option["scope"] == "project" && option["rule"].as_str().unwrap().contains("npm publish *");
    let rule = options.iter().find(wanted).expect("a rule for the project")["rule"].clone();
    place.permit(&id, &ask, &json!({ "reply": "always", "rule": rule }));
    place.until_idle(&id).completed();
    let other = place.session("claude", json!({ "mode": "implement" }));
    let turn = place.turn(&other, "publish it").completed();
    let decided = turn.only("tool_decided");
    assert_eq!((&decided["judged"]["effect"], &decided["judged"]["scope"]), (&json!("allow"), &json!("project")));
    assert!(decided["judged"]["rule"].as_str().unwrap().starts_with("always/"));
    // Somebody takes it away by hand, and it is gone at once.
    let file = place.daemon.data.join("always.toml");
    assert!(std::fs::read_to_string(&file).unwrap().contains("npm publish *"));
    std::fs::remove_file(file).unwrap();
    place.say(&other, "publish it");
    let ask = place.ask(&other);
    place.permit(&other, &ask, &json!({ "reply": "reject" }));
    place.until_idle(&other).completed();
    place.end();
}

#[test]
fn nothing_runs_that_a_killed_daemon_would_have_judged() {
    let (mut place, id) = session(SCRIPT);
    mode(&place, &id, "ask");
    place.say(&id, "run it");
    place.ask(&id);
    place.daemon.kill();
    eventually("the agent is gone", || place.agents().is_empty().then_some(()));
    assert!(place.file("made.txt").is_none());
}
