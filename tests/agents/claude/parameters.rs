//! What people who know Claude Code set: instructions, agents, styles, tools, effort, schemas, and whom they trust.

use serde_json::{Value, json};
use turnloom_scripted::Seen;

use super::{SECRET, loom_server};
use crate::place::Place;
use crate::support::of_kind;

const ECHO: &str = "[[reply]]\nalways = true\nstep = [{ text = \"Yes.\" }]";

fn write(path: std::path::PathBuf, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// A place with instructions of a person and of a project, and what a project would have an agent run.
fn furnished() -> Place {
    let place = Place::claude(ECHO);
    write(place.home.path().join(".claude/CLAUDE.md"), "The person likes blue.");
    write(place.dir().join("CLAUDE.md"), "The project wants tests.");
    write(place.dir().join(".claude/agents/dyer.md"), "---\nname: dyer\ndescription: dyes\n---\nDye it.");
    let hook =
        json!({ "hooks": { "UserPromptSubmit": [{ "hooks": [{ "type": "command", "command": "touch hooked" }] }] } });
    write(place.dir().join(".claude/settings.json"), &hook.to_string());
    write(place.dir().join(".mcp.json"), &json!({ "mcpServers": loom_server(&place) }).to_string());
    place
}

/// What the model was asked in the last turn.
fn last(place: &Place) -> Seen {
    place.asked_turns().pop().unwrap()
}

/// Everything the model was told in the last turn.
fn told(place: &Place) -> String {
    last(place).system
}

#[test]
fn instructions_are_read_and_nothing_of_the_project_is_run() {
    let mut place = furnished();
    let id = place.session("claude", json!({}));
    place.turn(&id, "hello").completed();
    let told = told(&place);
    assert!(told.contains("The person likes blue.") && told.contains("The project wants tests."), "{told}");
    assert!(place.file("hooked").is_none(), "a hook of the project did not run");
    let log = place.client().log(&id);
    assert!(of_kind(&log, "evidence_changed").is_empty(), "nor did its MCP server");
    place.end();
}

#[test]
fn a_project_that_is_trusted_has_its_way() {
    let mut place = furnished();
    let id = place.session("claude", json!({ "trust_project": true }));
    place.turn(&id, "hello").completed();
    assert!(told(&place).contains("The project wants tests."));
    assert!(place.file("hooked").is_some(), "its hook ran");
    place.until(&id, "its server", |event| event["type"] == "evidence_changed" && event["data"]["title"] == "loom");
    place.end();
}

#[test]
fn without_instructions_there_are_none() {
    let mut place = furnished();
    let id = place.session("claude", json!({ "project_instructions": false }));
    place.turn(&id, "hello").completed();
    assert!(!told(&place).contains("The project wants tests."));
    place.end();
}

/// As in a terminal: from the project's own folder down to the one that the agent works in.
#[test]
fn instructions_of_the_folders_above_are_read_too() {
    let mut place = furnished();
    write(place.dir().join("inner/.claude/CLAUDE.md"), "The way there is dyed.");
    write(place.dir().join("inner/most/CLAUDE.md"), "The inmost is woven.");
    let cwd = place.dir().join("inner/most");
    let mut told_in = |params: Value| {
        let mut params = params;
        params["cwd"] = cwd.to_str().unwrap().into();
        let made = place.client().post("/api/sessions", &json!({ "runtime": "claude", "params": params }));
        let id = made.json()["session_id"].as_str().unwrap().to_owned();
        place.adopt(&id);
        place.turn(&id, "hello").completed();
        told(&place)
    };
    let lines = ["The project wants tests.", "The way there is dyed.", "The inmost is woven."];
    let counts = |told: &str| lines.map(|line| told.matches(line).count());
    let plain = told_in(json!({ "system_prompt": "Weave slowly." }));
    assert_eq!(counts(&plain), [1, 1, 1], "{plain}");
    assert!(plain.find(lines[0]) < plain.find(lines[1]) && plain.contains("Weave slowly."), "{plain}");
    assert_eq!(counts(&told_in(json!({ "trust_project": true }))), [1, 1, 1], "the program reads them itself");
    assert_eq!(counts(&told_in(json!({ "project_instructions": false }))), [0, 0, 0]);
    place.end();
}

#[test]
fn agents_styles_plugins_and_hooks_of_the_session_reach_the_program() {
    let mut place = Place::claude(ECHO);
    let home = place.home.path().to_owned();
    let style = "---\nname: Loomish\ndescription: like a loom\n---\nSpeak in warps and wefts.";
    write(home.join(".claude/output-styles/loomish.md"), style);
    let plugin = home.join("spinner");
    write(
        plugin.join(".claude-plugin/plugin.json"),
        r#"{ "name": "spinner", "version": "1.0.0", "description": "spins" }"#,
    );
    write(plugin.join("agents/spin.md"), "---\nname: spin\ndescription: spins wool into yarn\n---\nSpin it.");
    let hooks = json!({ "UserPromptSubmit": [{ "hooks": [{ "type": "command", "command": "touch hooked" }] }] });
    let params = json!({
        "agents": { "dyer": { "description": "dyes cloth", "prompt": "Dye it." } },
        "output_style": "Loomish",
        "plugin_dirs": [plugin],
        "config": { "hooks": hooks },
    });
    let plain = place.session("claude", json!({}));
    place.turn(&plain, "hello").completed();
    let words = ["dyes cloth", "Speak in warps and wefts.", "spins wool into yarn"];
    let before = told(&place);
    assert!(!words.iter().any(|word| before.contains(word)), "{before}");
    let id = place.session("claude", params);
    place.turn(&id, "hello").completed();
    let after = told(&place);
    for word in words {
        assert!(after.contains(word), "{word}: {after}");
    }
    assert!(place.file("hooked").is_some(), "its hook ran");
    place.end();
}

/// As a person sets them: on the command line of `turnloom run`.
#[test]
fn parameters_of_the_command_line_reach_the_model() {
    let place = Place::claude(ECHO);
    let run = |params: &[&str]| {
        let mut run = std::process::Command::new(env!("CARGO_BIN_EXE_turnloom"));
        run.env_clear().env("TURNLOOM_DATA", &place.daemon.data).current_dir(place.dir());
        run.args(["run", "--runtime", "claude"]);
        for param in params {
            run.args(["--param", param]);
        }
        let ran = run.arg("hello").output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (ran.status.code(), text(ran.stdout), text(ran.stderr))
    };
    let (code, out, err) = run(&["effort=low", r#"tools=["Read", "Glob"]"#, "custom_system_prompt=You are a loom."]);
    assert!(code == Some(0) && out.contains("Yes."), "{out} {err}");
    let seen = last(&place);
    assert_eq!(seen.effort.as_deref(), Some("low"));
    assert!(seen.system.contains("You are a loom."), "{}", seen.system);
    assert!(seen.tools.iter().any(|tool| tool == "Glob") && !seen.tools.iter().any(|tool| tool == "Bash"));
    let (code, _, err) = run(&["effort=enormous"]);
    assert!(code == Some(1) && err.contains("xhigh"), "{err}");
    let (code, _, err) = run(&["effort"]);
    assert!(code == Some(2) && err.contains("KEY=VALUE"), "{err}");
    place.end();
}

#[test]
fn prompt_effort_and_tools_are_the_sessions_own() {
    let mut place = Place::claude(ECHO);
    let params = json!({
        "custom_system_prompt": "You are a loom.",
        "system_prompt": "Weave slowly.",
        "effort": "low",
        "tools": ["Read"],
    });
    let id = place.session("claude", params);
    place.turn(&id, "hello").completed();
    let asked = last(&place);
    assert_eq!(asked.effort.as_deref(), Some("low"));
    // The one follows the other at once: nothing of the program's own prompt is between them.
    assert!(asked.system.contains("\nYou are a loom.\n\nWeave slowly."), "{}", asked.system);
    let has = |name: &str| asked.tools.iter().any(|tool| tool == name);
    assert!(has("Read") && !has("Bash"), "{:?}", asked.tools);
    let changed = place.client().patch(&format!("/api/sessions/{id}"), &json!({ "settings": { "effort": "max" } }));
    assert_eq!(changed.status, 200, "{}", changed.body);
    place.turn(&id, "and now").completed();
    assert_eq!(last(&place).effort.as_deref(), Some("max"));
    place.end();
}

#[test]
fn an_answer_has_the_shape_that_was_asked_for() {
    let mut place = Place::claude(
        r#"
        [[reply]]
        when = { user = "count" }
        step = [{ tool = { name = "StructuredOutput", input = { threads = 3 } } }]
        [[reply]]
        always = true
        step = [{ text = "Counted." }]
        "#,
    );
    let schema =
        json!({ "type": "object", "properties": { "threads": { "type": "integer" } }, "required": ["threads"] });
    let id = place.session("claude", json!({ "output_schema": schema }));
    let turn = place.turn(&id, "count").completed();
    assert_eq!(turn.only("result")["structured_output"], json!({ "threads": 3 }));
    place.end();
}

#[test]
fn secrets_do_not_stand_in_a_command_line() {
    let mut place = Place::claude(
        "[[reply]]\nname = \"call\"\nwhen = { user = \"use it\" }\nstep = [{ tool = { name = \"mcp__loom__secret\", input = {} } }]\n\
         [[reply]]\nalways = true\nstep = [{ text = \"Yes.\" }]",
    );
    let params = json!({ "mcp_servers": loom_server(&place), "allowed_tools": ["mcp__loom"], "config": { "env": { "TOKEN": SECRET } } });
    let id = place.session("claude", params);
    let turn = place.turn(&id, "use it").completed();
    assert_eq!(turn.only("tool_result")["output"], SECRET, "the server has it");
    for pid in place.agents() {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        assert!(!line.contains(SECRET), "{line}");
    }
    place.end();
}

#[test]
fn what_cannot_be_is_refused_and_not_ignored() {
    let mut place = Place::claude(ECHO);
    let refused = |params: Value, word: &str| {
        let answer = place.client().post("/api/sessions", &json!({ "runtime": "claude", "params": params }));
        answer.is_problem(400, "invalid_request");
        assert!(answer.body.contains(word), "{}", answer.body);
    };
    refused(json!({ "effort": "enormous" }), "xhigh");
    refused(json!({ "mode": "bypassPermissions" }), "allow_bypass");
    refused(json!({ "permission_mode": "bypass" }), "allow_bypass");
    refused(json!({ "tools": 7 }), "a list of texts");
    refused(json!({ "agents": "dyer" }), "an object");
    let id = place.session("claude", json!({}));
    let path = format!("/api/sessions/{id}");
    place.client().patch(&path, &json!({ "mode": "bypassPermissions" })).is_problem(400, "invalid_request");
    place.client().patch(&path, &json!({ "settings": { "effort": "enormous" } })).is_problem(400, "invalid_request");
    let params = place.agent_info("claude")["params"].clone();
    let effort = params.as_array().unwrap().iter().find(|param| param["name"] == "effort").unwrap();
    assert_eq!(effort["takes"], "choice");
    place.end();
}
