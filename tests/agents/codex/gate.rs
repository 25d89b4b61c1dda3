//! The gate: Codex's hook proposes every call, also those that it never asks anybody about; and nothing runs where it cannot.

use std::os::unix::fs::symlink;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::asks::with_loom_server_in;
use super::free;
use crate::place::{Place, Turn, oldest_codex_program};
use crate::support::eventually;

const SCRIPT: &str = r#"
    [[reply]]
    name = "run"
    when = { user = "run it" }
    always = true
    step = [{ run = "touch made.txt" }]
    [[reply]]
    name = "picture"
    when = { user = "look at the picture" }
    always = true
    step = [{ tool = { name = "view_image", input = { path = "cloth.png" } } }]
    [[reply]]
    name = "patch"
    when = { user = "write it" }
    always = true
    step = [{ write = { path = "written.txt", text = "cloth\n" } }]
    [[reply]]
    name = "look"
    when = { user = "have it looked at" }
    always = true
    step = [{ tool = { name = "mcp__loom.look", input = {} } }]
    [[reply]]
    name = "hand"
    when = { user = "hand it on" }
    always = true
    step = [{ tool = { name = "multi_agent_v1.spawn_agent", input = { message = "touch the helper file" } } }]
    [[reply]]
    name = "helper"
    when = { user = "touch the helper file" }
    always = true
    step = [{ run = "touch helped.txt" }]
    [[reply]]
    when = {}
    always = true
    step = [{ text = "Done: {{tool_result}} {{user}}" }]
"#;

/// Codex itself lets this run without asking, and outside its sandbox.
const ALLOW_TOUCH: &str = r#"prefix_rule(pattern=["touch"], decision="allow")"#;

fn rules(place: &Place, rules: &str) {
    std::fs::write(place.daemon.data.join("policy.toml"), rules).unwrap();
}

fn allow_touch(place: &Place) {
    let folder = place.home.path().join(".codex/rules");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("default.rules"), ALLOW_TOUCH).unwrap();
}

fn denied(turn: &Turn) -> Value {
    let decided = turn.only("tool_decided");
    assert_eq!(decided["judged"]["effect"], "deny", "{turn:?}");
    let result = turn.only("tool_result");
    assert_eq!((&result["denied"], &result["tool_use_id"]), (&json!(true), &decided["tool_use_id"]));
    assert_eq!(turn.only("tool_start")["tool_use_id"], decided["tool_use_id"]);
    assert_eq!(turn.of_kind("permission_request").len(), 0);
    decided["judged"]["rule"].clone()
}

#[test]
fn what_codex_would_not_ask_about_is_denied_by_rules() {
    let mut place = Place::codex(SCRIPT);
    allow_touch(&place);
    std::fs::write(place.dir().join("cloth.png"), "no picture").unwrap();
    rules(
        &place,
        "[[rule]]\nid = \"alone\"\neffect = \"deny\"\ndoes = \"delegate\"\nreason = \"you work alone\"\n\
         [[rule]]\nid = \"blind\"\neffect = \"deny\"\ndoes = \"read\"\npath = \"cloth.png\"\n",
    );
    let id = place.session("codex", json!({ "mode": "plan" }));
    let turn = place.turn(&id, "run it").completed();
    assert_eq!(denied(&turn), "plan/only-reads", "also what the user's own rules for Codex allow");
    assert!(turn.text().contains("plan mode only reads and searches"), "the model reads why: {}", turn.text());
    assert!(place.file("made.txt").is_none());
    let turn = place.turn(&id, "hand it on").completed();
    assert_eq!(denied(&turn), "user/alone");
    assert!(turn.text().contains("you work alone"), "{}", turn.text());
    assert_eq!(turn.of_kind("subagent_started").len(), 0);
    assert_eq!(denied(&place.turn(&id, "look at the picture").completed()), "user/blind");
    // Also in a mode of Codex's own, in which it asks nobody.
    let own = place.session("codex", free("never"));
    assert_eq!(denied(&place.turn(&own, "hand it on").completed()), "user/alone");
    assert_eq!(denied(&place.turn(&own, "look at the picture").completed()), "user/blind");
    place.turn(&own, "run it").completed();
    assert!(place.file("made.txt").is_some(), "what no rule is about is up to Codex");
    place.end();
}

#[test]
fn a_tool_that_says_it_only_reads_is_proposed_too() {
    let (place, id) = with_loom_server_in("codex", free("never"), SCRIPT);
    rules(&place, "[[rule]]\nid = \"no-loom\"\neffect = \"deny\"\ndoes = \"mcp\"\nserver = \"loom\"\n");
    assert_eq!(denied(&place.turn(&id, "have it looked at").completed()), "user/no-loom");
    rules(&place, "[[rule]]\nid = \"ask-loom\"\neffect = \"ask\"\ndoes = \"mcp\"\nserver = \"loom\"\n");
    place.say(&id, "have it looked at");
    let ask = place.ask(&id);
    assert_eq!(ask["request"]["tool_name"], "mcp__loom__look");
    place.permit(&id, &ask, &json!({ "reply": "once" }));
    let turn = place.until_idle(&id).completed();
    assert_eq!(turn.of_kind("permission_request").len(), 1, "it is asked about once");
    assert!(turn.text().contains("three threads"), "{}", turn.text());
    place.end();
}

#[test]
fn an_ask_is_asked_once_and_its_answer_may_edit_the_call() {
    let mut place = Place::codex(SCRIPT);
    let id = place.session("codex", json!({ "mode": "ask", "sandbox": "danger-full-access" }));
    place.say(&id, "run it");
    let ask = place.ask(&id);
    assert_eq!(ask["request"]["tool_input"], json!({ "command": "touch made.txt" }));
    place.permit(&id, &ask, &json!({ "reply": "once", "updated_input": { "command": "touch other.txt" } }));
    let turn = place.until_idle(&id).completed();
    // What was asked about and what a person made of it are both decided.
    assert_eq!((turn.of_kind("permission_request").len(), turn.of_kind("tool_decided").len()), (1, 2), "{turn:?}");
    assert_eq!(turn.only("tool_start")["command"], "touch other.txt", "the log says what ran");
    assert!(place.file("other.txt").is_some() && place.file("made.txt").is_none());
    // A patch is judged by its files, and not asked about again either.
    place.say(&id, "write it");
    let ask = place.ask(&id);
    assert_eq!(ask["request"]["tool_name"], "apply_patch");
    place.permit(&id, &ask, &json!({ "reply": "once" }));
    let turn = place.until_idle(&id).completed();
    assert_eq!((turn.of_kind("permission_request").len(), turn.of_kind("tool_decided").len()), (1, 1), "{turn:?}");
    assert_eq!(place.file("written.txt").as_deref(), Some("cloth\n"));
    // Whoever says no says why to the model itself.
    place.say(&id, "run it");
    let ask = place.ask(&id);
    place.permit(&id, &ask, &json!({ "reply": "reject", "message": "not on a Sunday" }));
    let turn = place.until_idle(&id).completed();
    assert!(turn.text().contains("not on a Sunday"), "{}", turn.text());
    assert_eq!(turn.only("tool_result")["denied"], true);
    place.end();
}

#[test]
fn threads_that_go_on_keep_the_gate() {
    let mut place = Place::codex(SCRIPT);
    allow_touch(&place);
    let id = place.session("codex", json!({ "mode": "plan" }));
    denied(&place.turn(&id, "run it").completed());
    place.daemon.kill();
    eventually("the agent is gone", || place.agents().is_empty().then_some(()));
    place.daemon.again();
    denied(&place.turn(&id, "run it").completed());
    let forked = place.client().post(&format!("/api/sessions/{id}/fork"), &json!({}));
    assert_eq!(forked.status, 201, "{}", forked.body);
    let fork = forked.json()["session_id"].as_str().unwrap().to_owned();
    place.adopt(&fork);
    denied(&place.turn(&fork, "run it").completed());
    assert!(place.file("made.txt").is_none());
    place.end();
}

/// The sockets on which a daemon listens to hooks.
fn gates(place: &Place) -> Vec<PathBuf> {
    let fds = std::fs::read_dir(format!("/proc/{}/fd", place.daemon.pid())).unwrap().flatten();
    let links: Vec<String> = fds
        .filter_map(|fd| std::fs::read_link(fd.path()).ok())
        .map(|link| link.to_string_lossy().into_owned())
        .collect();
    let table = std::fs::read_to_string("/proc/net/unix").unwrap();
    let of_line = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (inode, path) = (words.get(6)?, words.get(7)?);
        (path.contains("/gate-") && links.contains(&format!("socket:[{inode}]"))).then(|| PathBuf::from(path))
    };
    let mut found: Vec<PathBuf> = table.lines().filter_map(of_line).collect();
    found.dedup();
    found
}

#[test]
fn nothing_runs_where_the_daemon_cannot_be_reached() {
    let mut place = Place::codex(SCRIPT);
    allow_touch(&place);
    let id = place.session("codex", free("never"));
    place.turn(&id, "hello").completed();
    let [gate] = gates(&place).try_into().expect("one server, one gate");
    std::fs::remove_file(&gate).unwrap();
    // Somebody else's socket is none.
    symlink("/nowhere", &gate).unwrap();
    let turn = place.turn(&id, "run it").completed();
    assert!(turn.text().contains("could not judge this call"), "{}", turn.text());
    assert!(place.file("made.txt").is_none());
    place.end();
}

#[test]
fn nothing_runs_that_a_killed_daemon_was_judging() {
    let mut place = Place::codex(SCRIPT);
    allow_touch(&place);
    rules(&place, "[[rule]]\nid = \"touch\"\neffect = \"ask\"\ncommand = \"touch *\"\n");
    let id = place.session("codex", free("never"));
    place.say(&id, "run it");
    place.ask(&id);
    place.daemon.kill();
    eventually("the agent is gone", || place.agents().is_empty().then_some(()));
    assert!(place.file("made.txt").is_none());
}

#[test]
fn a_stopped_turn_leaves_no_hook_behind() {
    let mut place = Place::codex(SCRIPT);
    let id = place.session("codex", json!({ "mode": "ask" }));
    place.say(&id, "run it");
    let ask = place.ask(&id);
    place.stop(&id);
    place.client().until_idle(&id);
    let path = format!("/api/sessions/{id}/permissions/{}", ask["ask_id"].as_str().unwrap());
    place.client().post(&path, &json!({ "reply": "once" })).is_problem(409, "already_resolved");
    assert!(place.file("made.txt").is_none());
    place.end();
}

#[test]
fn an_agent_hears_of_a_mode_that_changes() {
    let mut place = Place::codex(SCRIPT);
    let id = place.session("codex", free("never"));
    place.turn(&id, "hello").completed();
    let changed = place.client().patch(&format!("/api/sessions/{id}"), &json!({ "mode": "plan" }));
    assert_eq!(changed.status, 200, "{}", changed.body);
    place.turn(&id, "and now").completed();
    assert!(place.last_conversation().contains("The session is in `plan` mode"), "{}", place.last_conversation());
    place.turn(&id, "once more").completed();
    assert_eq!(place.last_conversation().matches("The session is in `plan` mode").count(), 1, "it is told once");
    place.end();
}

#[test]
fn the_oldest_version_has_the_gate_too() {
    let mut place = Place::codex_of(&oldest_codex_program(), SCRIPT, "");
    allow_touch(&place);
    let id = place.session("codex", json!({ "mode": "plan" }));
    let turn = place.turn(&id, "run it").completed();
    assert_eq!(denied(&turn), "plan/only-reads");
    assert!(place.file("made.txt").is_none());
    place.end();
}
