//! What a session says of its sandbox and its settings, and what it becomes.

use serde_json::{Map, Value, json};

use super::orders::Bench;
use crate::event::Event;
use crate::id::SessionId;
use crate::runtime::codex::settings::Settings;
use crate::runtime::codex::{CodexProtocol, config_fits};
use crate::runtime::{Beginning, Opening, Order, Report};

/// Codex's own settings, a profile and parameters in; the sandbox that the thread starts in and what it hears of its sandbox then out.
fn sandbox_of(own: &Value, profile: &Value, params: Value, start: &Value) -> (Value, Value) {
    let profile: Map<String, Value> = profile.as_object().unwrap().clone();
    let mut bench = Bench::opened_by(CodexProtocol::with_profile(profile), Beginning::Fresh, params);
    bench.reply("initialize", &json!({ "userAgent": "turnloom/0.166.0 (x)" }));
    bench.reply("model/list", &json!({ "data": [] }));
    bench.reply("config/read", &json!({ "config": own }));
    bench.reply("thread/start", start);
    let update = bench.wrote.iter().find(|line| line["method"] == "thread/settings/update");
    (bench.last("thread/start")["params"]["sandbox"].clone(), update.map_or(Value::Null, |line| line["params"].clone()))
}

#[test]
fn a_profile_and_config_count_before_codexs_own_settings() {
    let start = json!({ "thread": { "id": "t" } });
    let (write, read) = (json!({ "sandbox_mode": "workspace-write" }), json!({ "sandbox_mode": "read-only" }));
    let none = json!({});
    let policy = |own: &Value, profile: &Value, params: Value| {
        let (sandbox, update) = sandbox_of(own, profile, params, &start);
        (sandbox, update["sandboxPolicy"].clone())
    };
    // A thread that may write must not start so, whoever says that it may.
    for (profile, params) in [
        (&none, json!({ "config": write })),
        (&none, json!({ "config": { "sandbox_mode": "danger-full-access" } })),
        (&write, json!({})),
    ] {
        let (sandbox, policy) = policy(&none, profile, params.clone());
        assert_eq!(sandbox, "read-only", "{profile} {params}");
        assert!(["workspaceWrite", "dangerFullAccess"].contains(&policy["type"].as_str().unwrap()), "{policy}");
    }
    // One that may only read is not widened by what it overrides.
    for (profile, params) in [(&none, json!({ "config": read })), (&read, json!({}))] {
        let (_, policy) = policy(&write, profile, params.clone());
        assert_eq!(policy["type"], "readOnly", "{profile} {params}");
        let (_, update) = sandbox_of(&json!({ "default_permissions": ":workspace" }), profile, params, &start);
        assert_eq!(update["sandboxPolicy"]["type"], "readOnly", "of the two ways to say it the last one holds");
    }
    let (sandbox, update) = sandbox_of(&read, &json!({ "default_permissions": ":workspace" }), json!({}), &start);
    assert_eq!((sandbox, &update["permissions"]), (json!("read-only"), &json!(":workspace")));
    // What belongs to the sandbox, too: each of it on its own.
    let own = json!({ "sandbox_mode": "workspace-write", "sandbox_workspace_write": { "writable_roots": ["/opt"], "network_access": true } });
    let profile = json!({ "sandbox_workspace_write": { "network_access": false } });
    let config = json!({ "sandbox_workspace_write.exclude_slash_tmp": true });
    let (_, policy) = policy(&own, &profile, json!({ "config": config, "add_dirs": ["/srv"] }));
    assert_eq!(
        policy,
        json!({
            "type": "workspaceWrite", "writableRoots": ["/opt", "/srv"], "networkAccess": false,
            "excludeTmpdirEnvVar": false, "excludeSlashTmp": true,
        })
    );
}

#[test]
fn folders_and_network_are_for_a_sandbox_that_codex_chooses_too() {
    let said = |own: Value, params: Value, chosen: Value| {
        let start = json!({ "thread": { "id": "t" }, "sandbox": chosen });
        sandbox_of(&own, &json!({}), params, &start)
    };
    let (write, read) = (
        json!({ "type": "workspaceWrite", "writableRoots": ["/opt"], "networkAccess": false }),
        json!({ "type": "readOnly" }),
    );
    let (sandbox, update) = said(json!({}), json!({ "add_dirs": "/a", "network_access": true }), write.clone());
    assert_eq!(sandbox, Value::Null, "which one it is, Codex knows");
    assert_eq!(
        update["sandboxPolicy"],
        json!({ "type": "workspaceWrite", "writableRoots": ["/a", "/opt"], "networkAccess": true })
    );
    let (_, update) = said(json!({}), json!({ "network_access": true, "add_dirs": ["/a"] }), read);
    assert_eq!(update["sandboxPolicy"], json!({ "type": "readOnly", "networkAccess": true }), "it may still not write");
    assert_eq!(said(json!({}), json!({}), write.clone()).1, Value::Null, "who says nothing changes nothing");
    // Where they cannot be heard, that is said.
    let own = json!({ "default_permissions": ":workspace" });
    let mut bench = Bench::open_where(&own, Beginning::Fresh, json!({ "add_dirs": ["/a"] }));
    bench.reply("thread/start", &json!({ "thread": { "id": "t" }, "sandbox": write }));
    let told = |report: &Report| matches!(report, Report::Fact { event: Event::EvidenceChanged(evidence), .. } if evidence.title.contains("`add_dirs`"));
    assert!(bench.has(told));
}

#[test]
fn a_name_with_a_hundred_thousand_parts_hurts_nobody() {
    let path = |parts: usize| vec!["a"; parts].join(".");
    let of = |config: &Value| {
        let opening = Opening {
            session_id: SessionId::trusted("s"),
            cwd: None,
            model: None,
            mode: None,
            system_prompt: None,
            anchor: None,
            beginning: Beginning::Fresh,
            params: json!({ "config": config }),
            state: serde_json::Value::Null,
            epoch: 1,
            host_tools: Vec::new(),
        };
        let settings = Settings::of(&opening, &Map::new());
        let mut params = settings.thread_params(&Beginning::Fresh);
        params.get_mut("config").and_then(Value::as_object_mut).map(|config| {
            config.remove("features");
            Value::Object(config.clone())
        })
    };
    for config in
        [json!({ path(200_000): 1, "model": "m" }), json!({ path(60): { path(1): [[[[[1]]]]] }, "model": "m" })]
    {
        assert!(!config_fits(&config));
        assert_eq!(of(&config), Some(json!({ "model": "m" })), "what was stored all the same is left out");
    }
    assert!(config_fits(&json!({ path(60): 1 })));
    assert_eq!(of(&json!({ "a.b": { "c": 1 }, "a": { "d": 2 } })), Some(json!({ "a": { "b": { "c": 1 }, "d": 2 } })));
}

#[test]
fn a_sandbox_is_said_after_the_start_with_all_that_belongs_to_it() {
    let start = json!({ "thread": { "id": "t" } });
    let own = json!({ "sandbox_workspace_write": { "writable_roots": ["/opt"], "network_access": true, "exclude_slash_tmp": true } });
    let params = json!({ "mode": "auto", "add_dirs": ["/srv"] });
    let mut bench = Bench::open_where(&own, Beginning::Fresh, params.clone());
    bench.reply("thread/start", &start);
    let policy = json!({
        "type": "workspaceWrite", "writableRoots": ["/opt", "/srv"], "networkAccess": true,
        "excludeTmpdirEnvVar": false, "excludeSlashTmp": true,
    });
    assert_eq!(bench.last("thread/settings/update")["params"], json!({ "threadId": "t", "sandboxPolicy": policy }));
    bench.refuse("thread/settings/update", "no");
    let told = |report: &Report| matches!(report, Report::Fact { event: Event::EvidenceChanged(evidence), .. } if evidence.kind == "warning");
    assert!(bench.has(told), "nobody believes in a sandbox that is not there");
    // The same for one that goes on, which never makes Codex trust anything.
    let resume = Beginning::Resume { provider_session_id: "t".into(), wanted: false };
    let mut bench = Bench::open_where(&own, resume, params);
    assert_eq!(bench.last("thread/resume")["params"]["sandbox"], "workspace-write");
    bench.reply("thread/resume", &start);
    assert_eq!(bench.last("thread/settings/update")["params"]["sandboxPolicy"], policy);

    // Codex's own settings may say it too, in two ways.
    let said = |own: Value, params: Value| {
        let mut bench = Bench::open_where(&own, Beginning::Fresh, params);
        bench.reply("thread/start", &start);
        let sandbox = bench.last("thread/start")["params"]["sandbox"].clone();
        let update = bench.wrote.iter().find(|line| line["method"] == "thread/settings/update");
        (sandbox, update.map(|line| line["params"].clone()))
    };
    let (sandbox, update) = said(json!({ "sandbox_mode": "danger-full-access" }), json!({}));
    assert_eq!((sandbox, &update.unwrap()["sandboxPolicy"]["type"]), (json!("read-only"), &json!("dangerFullAccess")));
    let (sandbox, update) = said(json!({ "default_permissions": ":workspace" }), json!({}));
    assert_eq!((sandbox, &update.unwrap()["permissions"]), (json!("read-only"), &json!(":workspace")));
    let (_, update) = said(json!({}), json!({ "mode": "auto", "add_dirs": "/a, /b" }));
    assert_eq!(update.unwrap()["sandboxPolicy"]["writableRoots"], json!(["/a", "/b"]));
    let (sandbox, update) = said(json!({}), json!({ "sandbox": "workspace-write", "network_access": true }));
    assert_eq!((sandbox, &update.unwrap()["sandboxPolicy"]["networkAccess"]), (json!("read-only"), &json!(true)));
    assert_eq!(said(json!({}), json!({})), (Value::Null, None), "what Codex does by itself");
}

#[test]
fn parameters_become_settings_of_codex() {
    let params = json!({
        "custom_system_prompt": "You weave.", "project_instructions": false, "trust_project": true,
        "mcp_servers": { "a.b": { "command": "x" } },
        "config": { "tools.web_search": false, "mcp_servers": { "c": { "url": "http://c" } } },
        "output_schema": { "type": "object" },
    });
    let profile = json!({ "model_verbosity": "low", "mcp_servers": { "a.b": { "url": "http://old" } } });
    let protocol = CodexProtocol::with_profile(profile.as_object().unwrap().clone());
    let mut bench = Bench::opened_by(protocol, Beginning::Fresh, params);
    bench.reply("initialize", &json!({ "userAgent": "turnloom/0.166.0 (x)" }));
    bench.reply("model/list", &json!({ "data": [] }));
    bench.refuse("config/read", "not known");
    let start = bench.last("thread/start")["params"].clone();
    assert_eq!(start["baseInstructions"], "You weave.");
    assert_eq!(
        start["config"],
        json!({
            "model_verbosity": "low",
            "mcp_servers": { "a.b": { "command": "x" }, "c": { "url": "http://c" } },
            "tools": { "web_search": false },
            "features": { "unified_exec_tty": false },
            "project_doc_max_bytes": 0,
            "projects": { "/w": { "trust_level": "trusted" } },
        })
    );
    bench.reply("thread/start", &json!({ "thread": { "id": "t" } }));
    for turn in ["one", "two"] {
        bench.prompt(turn, "hello");
        assert_eq!(bench.last("turn/start")["params"]["outputSchema"], json!({ "type": "object" }), "{turn}");
        bench.reply("turn/start", &json!({ "turn": { "id": turn } }));
        bench.complete(turn, "completed");
    }
}

/// What a session has been told of asks and of its sandbox, last.
fn said_last(bench: &Bench, method: &str) -> [Value; 3] {
    let params = bench.last(method)["params"].clone();
    [params["approvalPolicy"].clone(), params["approvalsReviewer"].clone(), params["sandboxPolicy"]["type"].clone()]
}

#[test]
fn where_rules_decide_codex_asks_a_person_about_everything() {
    let wanted = [("plan", "read-only"), ("implement", "workspace-write"), ("mine", "workspace-write")];
    for (mode, sandbox) in wanted.into_iter().chain([("bypass", "danger-full-access"), ("ask", "workspace-write")]) {
        let own = json!({ "approvals_reviewer": "auto_review", "mcp_servers": { "db": { "command": "db" } } });
        let params = json!({ "mode": mode, "permission_mode": "bypass", "approval_policy": "never", "approvals_reviewer": "auto_review" });
        for beginning in [
            Beginning::Fresh,
            Beginning::Resume { provider_session_id: "t".into(), wanted: false },
            Beginning::Fork { provider_session_id: "o".into(), at: None },
        ] {
            let method = match beginning {
                Beginning::Fresh => "thread/start",
                Beginning::Resume { .. } => "thread/resume",
                Beginning::Fork { .. } => "thread/fork",
            };
            let bench = Bench::open_where(&own, beginning.clone(), params.clone());
            let given = bench.last(method)["params"].clone();
            let at_start = if beginning == Beginning::Fresh { "read-only" } else { sandbox };
            assert_eq!((&given["approvalPolicy"], &given["approvalsReviewer"]), (&json!("untrusted"), &json!("user")));
            assert_eq!(given["sandbox"], at_start, "{mode} {method}");
            let config = &given["config"];
            assert_eq!(
                (&config["features"]["unified_exec_tty"], &config["web_search"]),
                (&json!(false), &json!("disabled"))
            );
            assert_eq!(config["mcp_servers"]["db"], json!({ "default_tools_approval_mode": "prompt" }));
        }
    }
}

#[test]
fn a_mode_with_rules_begins_and_ends_at_once() {
    let own = json!({ "approval_policy": "on-request", "sandbox_mode": "read-only" });
    let mut bench = Bench::open_where(&own, Beginning::Fresh, json!({ "approvals_reviewer": "auto_review" }));
    bench.reply("thread/start", &json!({ "thread": { "id": "t" }, "model": "m1", "cwd": "/w" }));
    let config = bench.last("thread/start")["params"]["config"].clone();
    assert_eq!(config, json!({ "features": { "unified_exec_tty": false } }), "the rest is as Codex has it");
    bench.order(&Order::SetMode { mode: "implement".into() });
    let ruled = ["untrusted", "user", "workspaceWrite"].map(Value::from);
    assert_eq!(said_last(&bench, "thread/settings/update"), ruled);
    let settings = [("approval_policy".to_owned(), json!("never"))].into_iter().collect();
    bench.order(&Order::Configure { settings });
    bench.prompt("one", "hello");
    assert_eq!(said_last(&bench, "turn/start"), ruled, "the message says it again, and nothing takes it back");
    bench.reply("turn/start", &json!({ "turn": { "id": "u1" } }));
    bench.complete("u1", "completed");
    bench.order(&Order::SetMode { mode: "default".into() });
    let own = ["never", "auto_review", "readOnly"].map(Value::from);
    assert_eq!(said_last(&bench, "thread/settings/update"), own, "as the session and Codex's own settings say");
    bench.prompt("two", "hello");
    assert_eq!(said_last(&bench, "turn/start"), own);
    bench.reply("turn/start", &json!({ "turn": { "id": "u2" } }));
    assert!(!bench.wrote.iter().any(|line| line["method"] == "turn/interrupt"));
    bench.order(&Order::SetMode { mode: "plan".into() });
    assert_eq!(bench.last("turn/interrupt")["params"]["turnId"], "u2", "this turn would go on without asking");
}
