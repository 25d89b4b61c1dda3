//! What a project may bring along, what is written where, and what others can see.

use serde_json::{Value, json};

use super::ECHO;
use crate::place::Place;
use crate::support::eventually;

/// The project's instructions are heard, or the script has nothing to say.
const INSTRUCTED: &str = r#"
    [[reply]]
    when = { system = "weave only in blue" }
    always = true
    step = [{ text = "Blue it is." }]
    [[reply]]
    always = true
    step = [{ text = "Any colour." }]
"#;

/// A project with instructions, and settings that start a program.
fn bring_along(place: &Place) {
    let folder = place.dir().join(".codex");
    std::fs::create_dir_all(&folder).unwrap();
    let started = place.home.path().join("started");
    let settings = format!(
        "[mcp_servers.uninvited]\ncommand = \"/bin/sh\"\nargs = [\"-c\", \"touch {}; sleep 5\"]\n",
        started.display()
    );
    std::fs::write(folder.join("config.toml"), settings).unwrap();
    std::fs::write(place.dir().join("AGENTS.md"), "Weave only in blue.\n").unwrap();
}

fn has_started(place: &Place) -> bool {
    place.home.path().join("started").exists()
}

fn own_settings(place: &Place) -> String {
    std::fs::read_to_string(place.home.path().join(".codex/config.toml")).unwrap()
}

#[test]
fn a_project_is_not_trusted_by_working_in_it() {
    for runtime in ["codex", "codex-exec"] {
        for sandbox in ["workspace-write", "danger-full-access"] {
            let mut place = Place::codex(INSTRUCTED);
            bring_along(&place);
            let before = own_settings(&place);
            let id = place.session(runtime, json!({ "sandbox": sandbox }));
            assert_eq!(
                place.turn(&id, "weave").completed().text(),
                "Blue it is.",
                "{runtime}: its instructions are read"
            );
            assert_eq!(own_settings(&place), before, "{runtime}: nothing is written that nobody asked for");
            assert!(!has_started(&place), "{runtime}: nothing of the project is started");
            place.end();
        }
    }
}

#[test]
fn what_codex_says_of_itself_may_not_make_it_trust_a_project_either() {
    let mut place = Place::codex(INSTRUCTED);
    bring_along(&place);
    place.configure_codex(&format!("sandbox_mode = \"workspace-write\"\n{}", own_settings(&place)));
    let id = place.session("codex", json!({}));
    place.turn(&id, "weave").completed();
    assert!(!has_started(&place));
    place.end();
}

#[test]
fn a_project_is_trusted_when_the_session_or_codex_says_so() {
    for runtime in ["codex", "codex-exec"] {
        let mut place = Place::codex(INSTRUCTED);
        bring_along(&place);
        let before = own_settings(&place);
        let id = place.session(runtime, json!({ "sandbox": "workspace-write", "trust_project": true }));
        place.turn(&id, "weave").completed();
        eventually("its server runs", || has_started(&place).then_some(()));
        assert_eq!(own_settings(&place), before, "for this session only");
        place.end();

        let mut place = Place::codex(INSTRUCTED);
        bring_along(&place);
        let before = own_settings(&place);
        let trust = format!("{before}\n[projects.\"{}\"]\ntrust_level = \"trusted\"\n", place.dir().display());
        place.configure_codex(&trust);
        let id = place.session(runtime, json!({ "sandbox": "workspace-write" }));
        place.turn(&id, "weave").completed();
        eventually("its server runs", || has_started(&place).then_some(()));
        assert_eq!(own_settings(&place), trust, "as a person has left it");
        place.configure_codex(&before);
        place.end();
    }
}

#[test]
fn a_session_may_do_without_the_projects_instructions() {
    for runtime in ["codex", "codex-exec"] {
        let mut place = Place::codex(INSTRUCTED);
        bring_along(&place);
        let id = place.session(runtime, json!({ "sandbox": "workspace-write", "project_instructions": false }));
        assert_eq!(place.turn(&id, "weave").completed().text(), "Any colour.", "{runtime}");
        place.end();
    }
}

#[test]
fn profile_prompt_folders_and_network_reach_the_agent() {
    let script = |words: &str, sentence: &str| {
        format!("[[reply]]\nwhen = {{ system = \"{words}\" }}\nalways = true\nstep = [{{ text = \"{sentence}\" }}]\n")
    };
    let heard = script("network access is enabled", "Connected.") + &script("you are a loom", "I am.");
    let mut place = Place::codex(&(heard + "[[reply]]\nalways = true\nstep = [{ text = \"Plain.\" }]"));
    let other = place.home.path().join("other");
    std::fs::create_dir(&other).unwrap();
    let params = json!({ "sandbox": "workspace-write", "network_access": true, "add_dirs": [other] });
    let id = place.session("codex", params);
    assert_eq!(place.turn(&id, "hello").completed().text(), "Connected.");
    for runtime in ["codex", "codex-exec"] {
        let id = place.session(runtime, json!({ "custom_system_prompt": "You are a loom." }));
        for _ in 0..2 {
            assert_eq!(place.turn(&id, "hello").completed().text(), "I am.", "{runtime}");
        }
    }
    std::fs::write(place.home.path().join(".codex/fast.config.toml"), "model = \"gpt-5.4\"\n").unwrap();
    for runtime in ["codex", "codex-exec"] {
        let id = place.session(runtime, json!({ "profile": "fast" }));
        assert_eq!(place.turn(&id, "hello").completed().text(), "Plain.", "{runtime}");
        assert_eq!(place.model.server().requests().last().unwrap().model.as_deref(), Some("gpt-5.4"), "{runtime}");
        let id = place.session(runtime, json!({ "profile": "missing" }));
        place.turn(&id, "hello").failed("agent_config_invalid");
    }
    place.end();
}

/// What the daemon writes for one process goes.
fn until_nothing_private_is_left(place: &Place) {
    let left = || {
        let files = std::fs::read_dir(place.home.path().join(".codex")).unwrap();
        files.filter_map(Result::ok).any(|file| file.file_name().to_string_lossy().starts_with("turnloom-"))
    };
    eventually("nothing is left of what it was told", || (!left()).then_some(()));
}

#[test]
fn an_answer_has_the_shape_that_was_wanted() {
    for runtime in ["codex", "codex-exec"] {
        let mut place = Place::codex("[[reply]]\nalways = true\nstep = [{ text = '{ \"threads\": 3 }' }]");
        let schema = json!({
            "type": "object",
            "properties": { "threads": { "type": "integer" } },
            "required": ["threads"],
            "additionalProperties": false,
        });
        let id = place.session(runtime, json!({ "output_schema": &schema }));
        for _ in 0..2 {
            let turn = place.turn(&id, "count").completed();
            assert_eq!(turn.only("result")["structured_output"], json!({ "threads": 3 }), "{runtime}");
            let asked = place.model.server().requests().last().unwrap().schema.clone().expect("a schema");
            assert_eq!(serde_json::from_str::<Value>(&asked).unwrap(), schema, "{runtime}");
        }
        until_nothing_private_is_left(&place);
        place.end();
    }
}

#[test]
fn secrets_are_not_on_any_command_line() {
    for (runtime, params) in
        [("codex", super::free("never")), ("codex-exec", json!({ "sandbox": "danger-full-access" }))]
    {
        let mut place = Place::codex(
            "[[reply]]\nalways = true\nstep = [{ text = \"I wait\" }, { wait_for = \"looked\" }, { text = \" no more.\" }]",
        );
        let mut params: Value = params;
        params["mcp_servers"] = json!({ "loom": { "command": "/bin/cat", "env": { "LOOM_KEY": "sesame-7f3a" } } });
        params["env"] = json!({ "OTHER_KEY": "sesame-7f3b" });
        params["system_prompt"] = "sesame-7f3c".into();
        params["custom_system_prompt"] = "sesame-7f3d".into();
        let id = place.session(runtime, params);
        place.say(&id, "wait");
        place.model.until_waiting("looked");
        let agents = place.agents();
        assert!(!agents.is_empty());
        for pid in agents {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line);
            assert!(!line.contains("sesame"), "{runtime}: {line}");
        }
        until_nothing_private_is_left(&place);
        place.model.release("looked");
        place.until_idle(&id).completed();
        place.end();
    }
}

#[test]
fn an_effort_that_nobody_knows_is_refused() {
    let mut place = Place::codex(ECHO);
    for runtime in ["codex", "codex-exec"] {
        let params = json!({ "cwd": place.dir(), "effort": "purple" });
        place
            .client()
            .post("/api/sessions", &json!({ "runtime": runtime, "params": params }))
            .is_problem(400, "invalid_request");
    }
    let id = place.session("codex", json!({ "effort": "xhigh" }));
    let path = format!("/api/sessions/{id}");
    place.client().patch(&path, &json!({ "settings": { "effort": "purple" } })).is_problem(400, "invalid_request");
    place.end();
}

/// A profile or the session's own settings may say the sandbox too.
#[test]
fn settings_of_the_session_may_not_make_it_trust_a_project_either() {
    for runtime in ["codex", "codex-exec"] {
        for (key, value) in [("sandbox_mode", "workspace-write"), ("default_permissions", ":workspace")] {
            for by_profile in [true, false] {
                let mut place = Place::codex(INSTRUCTED);
                bring_along(&place);
                let before = own_settings(&place);
                let profile = format!("{key} = \"{value}\"\n");
                std::fs::write(place.home.path().join(".codex/wide.config.toml"), profile).unwrap();
                let params =
                    if by_profile { json!({ "profile": "wide" }) } else { json!({ "config": { key: value } }) };
                let id = place.session(runtime, params.clone());
                assert_eq!(place.turn(&id, "weave").completed().text(), "Blue it is.", "{runtime} {params}");
                assert_eq!(
                    own_settings(&place),
                    before,
                    "{runtime} {params}: nothing is written that nobody asked for"
                );
                assert!(!has_started(&place), "{runtime} {params}: nothing of the project is started");
                place.end();
            }
        }
    }
}

/// Says which sandbox it was told of.
const SANDBOXED: &str = r#"
    [[reply]]
    when = { system = "`sandbox_mode` is `read-only`" }
    always = true
    step = [{ text = "I read." }]
    [[reply]]
    when = { system = "network access is enabled" }
    always = true
    step = [{ text = "I am connected." }]
    [[reply]]
    always = true
    step = [{ text = "I write." }]
"#;

#[test]
fn a_profile_that_only_reads_is_not_widened() {
    let mut place = Place::codex(SANDBOXED);
    place.configure_codex(&format!("sandbox_mode = \"workspace-write\"\n{}", own_settings(&place)));
    std::fs::write(place.home.path().join(".codex/narrow.config.toml"), "sandbox_mode = \"read-only\"\n").unwrap();
    for (params, said) in [
        (json!({}), "I write."),
        (json!({ "profile": "narrow" }), "I read."),
        (json!({ "config": { "sandbox_mode": "read-only" } }), "I read."),
        (json!({ "config": { "sandbox_workspace_write.network_access": true } }), "I am connected."),
    ] {
        let id = place.session("codex", params.clone());
        assert_eq!(place.turn(&id, "hello").completed().text(), said, "{params}");
    }
    place.end();
}

#[test]
fn folders_and_network_are_for_the_sandbox_that_codex_chooses() {
    let mut place = Place::codex(
        r#"
        [[reply]]
        when = { system = "network access is enabled" }
        always = true
        step = [{ text = "I am connected." }]
        [[reply]]
        always = true
        step = [{ text = "I am not." }]
        "#,
    );
    // Without a word Codex lets nobody write here, and lets those write who trust the project.
    for trusts in [false, true] {
        let params =
            |network: bool| json!({ "network_access": network, "add_dirs": ["/var/tmp"], "trust_project": trusts });
        for (network, said) in [(true, "I am connected."), (false, "I am not.")] {
            let id = place.session("codex", params(network));
            assert_eq!(place.turn(&id, "hello").completed().text(), said, "trusted: {trusts}");
            let warned = place.client().log(&id).into_iter().find(|event| event["type"] == "evidence_changed");
            assert_eq!(warned, None, "trusted: {trusts}");
        }
    }
    place.end();
}

#[test]
fn what_cannot_be_is_refused_and_not_ignored() {
    let place = Place::codex(ECHO);
    let refused = |runtime: &str, params: Value, word: &str| {
        let answer = place.client().post("/api/sessions", &json!({ "runtime": runtime, "params": params }));
        answer.is_problem(400, "invalid_request");
        assert!(answer.body.contains(word), "{}", answer.body);
    };
    for runtime in ["codex", "codex-exec"] {
        refused(runtime, json!({ "add_dirs": 7 }), "a list of texts");
        refused(runtime, json!({ "network_access": "yes" }), "true or false");
        refused(runtime, json!({ "trust_project": "true" }), "true or false");
        refused(runtime, json!({ "config": "model=m" }), "an object");
        refused(runtime, json!({ "colour": "blue" }), "add_dirs");
        let params = place.agent_info(runtime)["params"].clone();
        let takes = |name: &str| {
            params.as_array().unwrap().iter().find(|param| param["name"] == name).unwrap()["takes"].clone()
        };
        assert_eq!((takes("add_dirs"), takes("network_access")), (json!("texts"), json!("flag")), "{runtime}");
    }
    refused("codex", json!({ "approvals_reviewer": "nobody" }), "auto_review");
    refused("codex-exec", json!({ "output_schema": "it" }), "an object");
    refused("codex-exec", json!({ "model_provider": "mine" }), "unknown field");
    place.end();
}
