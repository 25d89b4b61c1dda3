//! What each parameter of a session does to the command line, the files and the environment of the program, or to its handshake.

use serde_json::{Value, json};

use super::lines::opening;
use crate::runtime::claude::{ClaudeProtocol, Launch, Options, PARAMS, launch};
use crate::runtime::{Beginning, Opening, Output, Protocol as _};

fn options() -> Options {
    Options { new_conversation: "new".to_owned(), ..Options::default() }
}

fn launched(params: Value) -> Launch {
    launch(&Opening { cwd: Some("/p".to_owned()), ..opening(params) }, &options())
}

/// The values of a flag.
fn values<'a>(launch: &'a Launch, flag: &str) -> Vec<&'a str> {
    let pairs = launch.args.iter().zip(launch.args.iter().skip(1));
    pairs.filter(|(name, _)| *name == flag).map(|(_, value)| value.as_str()).collect()
}

fn handshake(opening: &Opening, options: Options) -> Value {
    let mut out = Output::default();
    ClaudeProtocol::new(options).open(opening, &mut out);
    let first = out.bytes.split(|byte| *byte == b'\n').next().unwrap();
    serde_json::from_slice::<Value>(first).unwrap()["request"].clone()
}

#[test]
fn every_parameter_has_an_effect() {
    let flags: &[(Value, &str, &[&str])] = &[
        (json!({ "effort": "low" }), "--effort", &["low"]),
        (json!({ "trust_project": true }), "--setting-sources", &["user,project,local"]),
        (json!({}), "--setting-sources", &["user"]),
        (json!({ "setting_sources": "user,local" }), "--setting-sources", &["user,local"]),
        (json!({ "setting_sources": "" }), "--setting-sources", &[""]),
        (json!({}), "--add-dir", &["/p"]),
        (json!({ "add_dirs": ["/a", "/b"] }), "--add-dir", &["/a", "/b", "/p"]),
        (json!({ "project_instructions": false }), "--add-dir", &[]),
        (json!({ "trust_project": true }), "--add-dir", &[]),
        (json!({ "tools": "Read,Bash" }), "--tools", &["Read,Bash"]),
        (json!({ "tools": [] }), "--tools", &[""]),
        (json!({}), "--tools", &[]),
        (json!({ "allowed_tools": ["Read"] }), "--allowedTools", &["mcp__turnloom,Read"]),
        (json!({ "disallowed_tools": ["Bash"] }), "--disallowedTools", &["Bash,ListAgents,SendMessage"]),
        (json!({ "disallowed_tools": ["Bash"], "cross_session": true }), "--disallowedTools", &["Bash"]),
        (json!({ "cross_session": true }), "--disallowedTools", &[]),
        (json!({ "plugin_dirs": "/x,/y" }), "--plugin-dir", &["/x", "/y"]),
        (json!({ "max_turns": 3 }), "--max-turns", &["3"]),
        (json!({ "max_budget_usd": 0.5 }), "--max-budget-usd", &["0.5"]),
        (json!({ "fallback_model": "haiku" }), "--fallback-model", &["haiku"]),
        (json!({ "permission_mode": "acceptEdits" }), "--permission-mode", &["acceptEdits"]),
        (json!({ "permission_mode": "bypass" }), "--permission-mode", &["default"]),
        (json!({ "permission_mode": "bypass", "allow_bypass": true }), "--permission-mode", &["bypassPermissions"]),
    ];
    for (params, flag, wanted) in flags {
        assert_eq!(values(&launched(params.clone()), flag), *wanted, "{params} {flag}");
    }
    for (params, switch, wanted) in [
        (json!({ "allow_bypass": true }), "--allow-dangerously-skip-permissions", true),
        (json!({}), "--allow-dangerously-skip-permissions", false),
        (json!({ "setting_sources": [] }), "--strict-mcp-config", true),
        (json!({}), "--strict-mcp-config", false),
    ] {
        assert_eq!(launched(params.clone()).args.iter().any(|arg| arg == switch), wanted, "{params} {switch}");
    }
    let hooks = json!({ "UserPromptSubmit": [{ "hooks": [{ "type": "command", "command": "touch x" }] }] });
    let files: &[(Value, &str, Value)] = &[
        (json!({}), "--settings", json!({ "crossSessionInbound": "refuse" })),
        (
            json!({ "config": { "hooks": hooks }, "output_style": "Explanatory", "cross_session": true }),
            "--settings",
            json!({ "hooks": hooks, "outputStyle": "Explanatory" }),
        ),
        (
            json!({ "mcp_servers": { "a": { "command": "b" } } }),
            "--mcp-config",
            json!({ "mcpServers": { "a": { "command": "b" } } }),
        ),
    ];
    for (params, flag, wanted) in files {
        let launch = launched(params.clone());
        let given: Vec<&Value> = launch.files.iter().filter(|(name, _)| name == flag).map(|(_, file)| file).collect();
        assert_eq!(given, [wanted], "{params} {flag}");
        assert!(values(&launch, flag).is_empty(), "a file, and not the command line");
    }
    for (params, name, wanted) in [
        (json!({ "project_instructions": false }), "CLAUDE_CODE_DISABLE_CLAUDE_MDS", true),
        (json!({}), "CLAUDE_CODE_DISABLE_CLAUDE_MDS", false),
        (json!({}), "CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD", true),
        (json!({ "trust_project": true }), "CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD", false),
    ] {
        let env = launched(params.clone()).env;
        assert_eq!(env.iter().any(|(key, value)| key == name && value == "1"), wanted, "{params} {name}");
    }
    let schema = json!({ "type": "object" });
    let agents = json!({ "dyer": { "description": "dyes", "prompt": "Dye it." } });
    for (params, field, wanted) in [
        (json!({ "custom_system_prompt": "You are a loom." }), "systemPrompt", json!(["You are a loom."])),
        (json!({ "agents": agents }), "agents", agents.clone()),
        (json!({ "output_schema": schema }), "jsonSchema", schema.clone()),
    ] {
        assert_eq!(handshake(&opening(params.clone()), options())[field], wanted, "{params} {field}");
    }
    let mut out = Output::default();
    ClaudeProtocol::new(options()).open(&opening(json!({ "max_thinking_tokens": 8000 })), &mut out);
    let said = String::from_utf8(out.bytes).unwrap();
    assert!(said.contains(r#""max_thinking_tokens":8000"#), "{said}");
}

#[test]
fn what_the_session_does_itself_is_no_business_of_the_program() {
    for params in [json!({ "host_tools": "none" }), json!({ "state_wakes": true })] {
        assert_eq!(launched(params), launched(json!({})));
    }
}

/// Whoever adds a parameter says here what it does.
#[test]
fn no_parameter_is_left_out() {
    let tested = include_str!("launching.rs");
    for param in PARAMS {
        assert!(tested.contains(&format!("\"{}\":", param.name)), "{} has no row", param.name);
    }
}

#[test]
fn what_the_folders_above_say_follows_what_the_session_says() {
    let said = |system_prompt: Option<&str>, instructions: Option<&str>| {
        let opening = Opening { system_prompt: system_prompt.map(str::to_owned), ..opening(json!({})) };
        let options = Options { instructions: instructions.map(str::to_owned), ..options() };
        handshake(&opening, options)["appendSystemPrompt"].clone()
    };
    assert_eq!(said(Some("Be brief."), Some("Weave.")), "Be brief.\n\nWeave.");
    assert_eq!(said(None, Some("Weave.")), "Weave.");
    assert_eq!(said(None, None), Value::Null);
}

#[test]
fn a_conversation_is_begun_gone_on_with_or_copied() {
    let args = |beginning: Beginning, options: &Options| {
        let launch = launch(&Opening { beginning, ..opening(json!({})) }, options);
        let of = |flag: &str| values(&launch, flag).join(",");
        let forks = launch.args.iter().any(|arg| arg == "--fork-session");
        (of("--resume"), of("--session-id"), of("--resume-session-at"), forks, launch.conversation.clone())
    };
    let told = |resume: &str, new: &str, at: &str, forks: bool, name: &str| {
        (resume.to_owned(), new.to_owned(), at.to_owned(), forks, name.to_owned())
    };
    let resume = || Beginning::Resume { provider_session_id: "old".to_owned(), wanted: false };
    let fork = || Beginning::Fork { provider_session_id: "old".to_owned(), at: Some("entry".to_owned()) };
    let conversation_missing = Options { conversation_missing: Some("gone".to_owned()), ..options() };
    assert_eq!(args(Beginning::Fresh, &options()), told("", "new", "", false, "new"));
    assert_eq!(args(resume(), &options()), told("old", "", "", false, "old"));
    assert_eq!(args(fork(), &options()), told("old", "new", "entry", true, "new"));
    assert_eq!(args(resume(), &conversation_missing), told("", "new", "", false, "new"));
    assert_eq!(args(fork(), &conversation_missing), told("", "new", "", false, "new"));
}
