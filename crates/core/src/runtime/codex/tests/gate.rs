//! Calls that are proposed before they run.

use serde_json::{Value, json};

use super::orders::Bench;
use crate::command::{AfterAnswer, Answer};
use crate::event::{Event, PermissionReply, PermissionRequest};
use crate::runtime::codex::{CodexProtocol, Routed, Router};
use crate::runtime::{AskRequest, Beginning, Line, Order, Report, Verdict};

const HOOK: &str = "'/bin/turnloom' gate '/run/gate-1'";

/// A session whose thread was opened with a hook.
fn opened(params: Value) -> Bench {
    let protocol = CodexProtocol::default().with_gate(HOOK.to_owned());
    let mut bench = Bench::opened_by(protocol, Beginning::Fresh, params);
    bench.reply("initialize", &json!({ "userAgent": "turnloom/0.166.0 (x)" }));
    bench.reply("model/list", &json!({ "data": [] }));
    bench.reply("config/read", &json!({ "config": {} }));
    bench.reply("thread/start", &json!({ "thread": { "id": "t" }, "model": "m1", "cwd": "/w" }));
    bench
}

fn listed(enabled: bool, trust: &str) -> Value {
    let hook = json!({ "handlerType": "command", "command": HOOK, "eventName": "preToolUse", "enabled": enabled, "trustStatus": trust });
    json!({ "data": [{ "cwd": "/w", "hooks": [hook], "errors": [], "warnings": [] }] })
}

/// One with a turn that runs.
fn working(params: Value) -> Bench {
    let mut bench = opened(params);
    bench.reply("hooks/list", &listed(true, "trusted"));
    bench.prompt("one", "go");
    bench.reply("turn/start", &json!({ "turn": { "id": "turn-1" } }));
    bench.reports.clear();
    bench
}

/// The hook proposes a call, and the key that the session knows it by.
fn propose(bench: &mut Bench, number: u64, item: &str, tool: &str, input: &Value) -> String {
    let hook = json!({ "tool_name": tool, "tool_input": input, "tool_use_id": item, "cwd": "/w", "session_id": "t" });
    let id = format!("proposal-{number}");
    let params = json!({ "threadId": "t", "turnId": "turn-1", "hook": hook });
    bench.hear(&json!({ "id": id, "method": "host/propose", "params": params }));
    format!("{id:?}")
}

fn judge(bench: &mut Bench, key: &str, verdict: Verdict) {
    bench.order(&Order::Verdict { key: key.to_owned(), verdict });
}

/// What a proposal or a request of the server was answered.
fn answer_to(bench: &Bench, id: &Value) -> Option<Value> {
    bench
        .wrote
        .iter()
        .rfind(|line| line["id"] == *id && line.get("method").is_none())
        .map(|line| line["result"].clone())
}

fn decision(bench: &Bench, number: u64) -> Value {
    let said = answer_to(bench, &json!(format!("proposal-{number}"))).expect("it was answered");
    said.get("hookSpecificOutput").cloned().unwrap_or(said)
}

fn asked(bench: &Bench) -> Vec<PermissionRequest> {
    let of = |report: &Report| match report {
        Report::Ask { request: AskRequest::Permission(request), .. } => Some(request.clone()),
        _ => None,
    };
    bench.reports.iter().filter_map(of).collect()
}

fn approval(bench: &mut Bench, id: u64, item: &str, command: &str) {
    let params = json!({ "threadId": "t", "turnId": "turn-1", "itemId": item, "command": command, "cwd": "/w" });
    bench.hear(&json!({ "id": id, "method": "item/commandExecution/requestApproval", "params": params }));
}

fn start_command(bench: &mut Bench, item: &str, command: &str) {
    let item =
        json!({ "type": "commandExecution", "id": item, "command": command, "cwd": "/w", "status": "inProgress" });
    bench.tell("item/started", &json!({ "threadId": "t", "turnId": "turn-1", "item": item }));
}

fn permission(reply: PermissionReply, updated_input: Option<Value>, message: Option<&str>) -> Answer {
    let message = message.map(str::to_owned);
    Answer::Permission { reply, updated_input, message, rule: None, and_then: AfterAnswer::GoOn }
}

#[test]
fn every_thread_gets_the_hook_and_is_ready_when_codex_has_it() {
    let own = json!({ "hooks": { "PreToolUse": [{ "hooks": [{ "type": "command", "command": "mine" }] }] } });
    let mut bench = opened(json!({ "config": own }));
    let config = bench.last("thread/start")["params"]["config"].clone();
    assert_eq!(config["features"]["hooks"], true);
    assert_eq!(config["hooks"]["PreToolUse"][0]["hooks"][0]["command"], "mine", "the session's own are there too");
    let ours = &config["hooks"]["PreToolUse"][1]["hooks"][0];
    assert_eq!((&ours["command"], &ours["timeout"]), (&json!(HOOK), &json!(86_400)));
    let state = &config["hooks"]["state"]["/<session-flags>/config.toml:pre_tool_use:1:0"];
    assert_eq!(state["enabled"], true);
    assert!(state["trusted_hash"].as_str().unwrap().starts_with("sha256:"), "{state}");
    assert!(!bench.has(|report| matches!(report, Report::Ready(_))));
    bench.reply("hooks/list", &listed(true, "trusted"));
    bench.is_ready();
}

#[test]
fn a_mode_with_rules_needs_the_hook() {
    for (enabled, trust) in [(false, "trusted"), (true, "untrusted"), (true, "modified")] {
        let mut bench = opened(json!({ "mode": "plan" }));
        bench.reply("hooks/list", &listed(enabled, trust));
        assert!(
            bench.has(|report| matches!(report, Report::StartFailed(failure) if failure.code == "gate_not_in_force"))
        );
        // In a mode of its own it may work, but not go over to one with rules.
        let mut bench = opened(json!({}));
        bench.reply("hooks/list", &listed(enabled, trust));
        bench.is_ready();
        bench.order(&Order::SetMode { mode: "plan".into() });
        bench.prompt("one", "go");
        let refused = |report: &Report| matches!(report, Report::TurnEnded { failure: Some(failure), .. } if failure.code == "gate_not_in_force");
        assert!(bench.has(refused));
        assert!(!bench.wrote.iter().any(|line| line["method"] == "turn/start"));
    }
}

#[test]
fn what_was_allowed_is_accepted_and_what_is_something_else_is_asked_about() {
    let mut bench = working(json!({ "mode": "implement" }));
    let key = propose(&mut bench, 1, "c1", "Bash", &json!({ "command": "touch a" }));
    let proposed = |report: &Report| matches!(report, Report::Propose { call, .. } if call.tool == "Bash" && call.directory.as_deref() == Some("/w"));
    assert!(bench.has(proposed));
    judge(&mut bench, &key, Verdict::Allow);
    assert_eq!(decision(&bench, 1), json!({}), "a bare yes would be an error");
    approval(&mut bench, 7, "c1", "/bin/bash -lc 'touch a'");
    assert_eq!(answer_to(&bench, &json!(7)), Some(json!({ "decision": "accept" })));
    assert_eq!(asked(&bench).len(), 0);
    approval(&mut bench, 8, "c1", "/bin/bash -lc 'rm a'");
    assert_eq!(answer_to(&bench, &json!(8)), None);
    let asked = asked(&bench);
    assert_eq!((asked.len(), asked[0].fixed_input), (1, Some(true)), "another hook has changed it");
    // What is up to Codex is asked about when Codex asks.
    let key = propose(&mut bench, 2, "c2", "Bash", &json!({ "command": "touch b" }));
    judge(&mut bench, &key, Verdict::UpToAgent);
    assert_eq!(decision(&bench, 2), json!({}));
    approval(&mut bench, 9, "c2", "/bin/bash -lc 'touch b'");
    assert_eq!(answer_to(&bench, &json!(9)), None);
}

#[test]
fn a_patch_that_was_allowed_changes_the_files_that_it_named() {
    let mut bench = working(json!({ "mode": "implement" }));
    let patch = "*** Begin Patch\n*** Add File: src/a.txt\n+x\n*** End Patch";
    let key = propose(&mut bench, 1, "p1", "apply_patch", &json!({ "command": patch }));
    judge(&mut bench, &key, Verdict::Allow);
    for (id, path, accepted) in [(7, "/w/src/a.txt", true), (8, "/w/src/b.txt", false)] {
        let change = json!({ "path": path, "kind": { "type": "add" }, "diff": "x" });
        let item = json!({ "type": "fileChange", "id": "p1", "changes": [change], "status": "inProgress" });
        bench.protocol.main.tools.clear();
        bench.tell("item/started", &json!({ "threadId": "t", "turnId": "turn-1", "item": item }));
        let params = json!({ "threadId": "t", "turnId": "turn-1", "itemId": "p1" });
        bench.hear(&json!({ "id": id, "method": "item/fileChange/requestApproval", "params": params }));
        assert_eq!(answer_to(&bench, &json!(id)).is_some(), accepted, "{path}");
    }
}

#[test]
fn what_is_denied_is_in_the_log_and_the_model_reads_why() {
    let mut bench = working(json!({ "mode": "plan" }));
    let key = propose(&mut bench, 1, "s1", "spawn_agent", &json!({ "message": "help" }));
    judge(&mut bench, &key, Verdict::Deny { reason: "you work alone".into() });
    let said = decision(&bench, 1);
    assert_eq!(
        (&said["permissionDecision"], &said["permissionDecisionReason"]),
        (&json!("deny"), &json!("you work alone"))
    );
    let proposed = bench.reports.iter().find_map(|report| match report {
        Report::Propose { call, .. } => Some(call.tool_use_id.clone()),
        _ => None,
    });
    let result = bench.reports.iter().find_map(|report| match report {
        Report::Fact { event: Event::ToolResult(result), .. } => Some(result.clone()),
        _ => None,
    });
    let result = result.expect("there is a row for it");
    assert_eq!((result.denied, Some(result.tool_use_id)), (Some(true), proposed));
    // A denial without a reason would be none.
    let key = propose(&mut bench, 2, "s2", "spawn_agent", &json!({}));
    judge(&mut bench, &key, Verdict::Deny { reason: String::new() });
    assert!(!decision(&bench, 2)["permissionDecisionReason"].as_str().unwrap().is_empty());
}

#[test]
fn a_person_is_asked_in_the_hook_and_may_edit_the_call() {
    let mut bench = working(json!({ "mode": "ask" }));
    let key = propose(&mut bench, 1, "c1", "Bash", &json!({ "command": "touch a" }));
    judge(&mut bench, &key, Verdict::Ask { reason: "a person decides".into() });
    let asks = asked(&bench);
    assert_eq!((asks.len(), asks[0].fixed_input, &asks[0].tool_input), (1, None, &json!({ "command": "touch a" })));
    let edited = json!({ "command": "touch b" });
    let answer = permission(PermissionReply::Once, Some(edited.clone()), None);
    bench.order(&Order::Answer { key, answer, about: None });
    let said = decision(&bench, 1);
    assert_eq!((&said["permissionDecision"], &said["updatedInput"]), (&json!("allow"), &edited));
    approval(&mut bench, 7, "c1", "/bin/bash -lc 'touch b'");
    assert_eq!(answer_to(&bench, &json!(7)), Some(json!({ "decision": "accept" })));
    // What Codex would take for an error of the hook does not leave.
    let key = propose(&mut bench, 2, "c2", "Bash", &json!({ "command": "touch c" }));
    judge(&mut bench, &key, Verdict::Ask { reason: String::new() });
    bench.order(&Order::Answer {
        key,
        answer: permission(PermissionReply::Once, Some(json!({ "other": 1 })), None),
        about: None,
    });
    assert_eq!(decision(&bench, 2)["permissionDecision"], "deny");
    let key = propose(&mut bench, 3, "c3", "Bash", &json!({ "command": "touch d" }));
    judge(&mut bench, &key, Verdict::Ask { reason: String::new() });
    bench.order(&Order::Answer {
        key,
        answer: permission(PermissionReply::Reject, None, Some("not today")),
        about: None,
    });
    assert_eq!(decision(&bench, 3)["permissionDecisionReason"], "not today");
}

#[test]
fn a_hook_that_is_gone_takes_its_ask_along_and_the_end_of_a_turn_takes_the_hooks() {
    let mut bench = working(json!({ "mode": "ask" }));
    let key = propose(&mut bench, 1, "c1", "Bash", &json!({ "command": "touch a" }));
    judge(&mut bench, &key, Verdict::Ask { reason: String::new() });
    bench.tell("host/proposalGone", &json!({ "threadId": "t", "proposal": "proposal-1" }));
    assert!(bench.has(|report| matches!(report, Report::AskWithdrawn { key: gone, .. } if *gone == key)));
    let key = propose(&mut bench, 2, "c2", "Bash", &json!({ "command": "touch b" }));
    judge(&mut bench, &key, Verdict::Ask { reason: String::new() });
    bench.complete("turn-1", "interrupted");
    assert_eq!(decision(&bench, 2)["permissionDecision"], "deny");
    propose(&mut bench, 3, "c3", "Bash", &json!({ "command": "touch c" }));
    assert_eq!(decision(&bench, 3)["permissionDecision"], "deny", "nothing runs after its turn");
}

#[test]
fn what_runs_without_having_been_proposed_stops_the_turn() {
    let failed = |bench: &mut Bench| {
        assert_eq!(bench.last("turn/interrupt")["params"]["turnId"], "turn-1");
        bench.complete("turn-1", "interrupted");
        bench.has(|report| matches!(report, Report::TurnEnded { failure: Some(failure), .. } if failure.code == "gate_failed"))
    };
    let mut bench = working(json!({}));
    start_command(&mut bench, "c1", "touch a");
    assert!(failed(&mut bench));
    // One that was denied and starts all the same.
    let mut bench = working(json!({}));
    let key = propose(&mut bench, 1, "c1", "Bash", &json!({ "command": "touch a" }));
    judge(&mut bench, &key, Verdict::Deny { reason: "no".into() });
    start_command(&mut bench, "c1", "touch a");
    assert!(failed(&mut bench));
    // Codex says itself that the hook failed.
    let mut bench = working(json!({}));
    let run = json!({ "eventName": "preToolUse", "source": "sessionFlags", "status": "failed", "entries": [{ "kind": "error", "text": "hook exited with code 1" }] });
    bench.tell("hook/completed", &json!({ "threadId": "t", "turnId": "turn-1", "run": run }));
    assert!(failed(&mut bench));
    // What was proposed may run, and what a person types at a shell of Codex's own is no call.
    let mut bench = working(json!({}));
    let key = propose(&mut bench, 1, "c1", "Bash", &json!({ "command": "touch a" }));
    judge(&mut bench, &key, Verdict::UpToAgent);
    start_command(&mut bench, "c1", "touch a");
    let item = json!({ "type": "commandExecution", "id": "u1", "command": "ls", "source": "userShell" });
    bench.tell("item/started", &json!({ "threadId": "t", "turnId": "turn-1", "item": item }));
    assert!(!bench.wrote.iter().any(|line| line["method"] == "turn/interrupt"));
}

#[test]
fn questions_and_tools_of_clients_are_not_judged() {
    let mut bench = working(json!({ "mode": "plan" }));
    propose(&mut bench, 1, "q1", "ask_user", &json!({ "questions": [] }));
    assert_eq!(decision(&bench, 1), json!({}));
    assert!(!bench.has(|report| matches!(report, Report::Propose { .. })));
}

#[test]
fn a_mode_that_changes_is_told_with_the_next_message() {
    let mut bench = working(json!({ "mode": "plan" }));
    bench.complete("turn-1", "completed");
    bench.order(&Order::SetMode { mode: "implement".into() });
    bench.prompt("two", "go on");
    let input = bench.last("turn/start")["params"]["input"].clone();
    assert!(input[0]["text"].as_str().unwrap().contains("`implement` mode"), "{input}");
    assert_eq!(input[1]["text"], "go on");
}

// ---- on the way ----

fn hook(thread: &str) -> Vec<u8> {
    json!({ "session_id": thread, "turn_id": "u", "tool_name": "Bash", "tool_input": {}, "tool_use_id": "c" })
        .to_string()
        .into_bytes()
}

#[test]
fn a_proposal_goes_to_whoever_owns_the_thread_and_its_verdict_comes_back() {
    let mut router = Router::default();
    let (one, two) = (router.connect(), router.connect());
    for (client, thread) in [(one, "a"), (two, "b")] {
        let mut out = Routed::default();
        let resume = json!({ "id": 1, "method": "thread/resume", "params": { "threadId": thread } });
        router.from_client(client, resume.to_string().as_bytes(), &mut out);
    }
    let mut out = Routed::default();
    router.propose(5, &hook("b"), &mut out);
    assert_eq!(out.to_clients.len(), 1);
    assert_eq!(out.to_clients[0].0, two);
    let response = json!({ "id": "proposal-5", "result": {} }).to_string();
    // Nobody answers for another.
    let mut out = Routed::default();
    router.from_client(one, response.as_bytes(), &mut out);
    assert!(out.verdicts.is_empty());
    router.from_client(two, response.as_bytes(), &mut out);
    assert_eq!(out.verdicts, [(5, json!({}))]);
    assert!(out.to_server.is_empty(), "it is none of the server's questions");
    router.from_client(two, response.as_bytes(), &mut out);
    assert_eq!(out.verdicts.len(), 1, "once");
}

#[test]
fn a_proposal_that_nobody_can_judge_is_denied() {
    let denied = |out: &Routed| {
        let said = &out
            .verdicts
            .iter()
            .map(|(_, said)| said["hookSpecificOutput"]["permissionDecision"].clone())
            .collect::<Vec<_>>();
        said == &[json!("deny")]
    };
    let mut router = Router::default();
    let mut out = Routed::default();
    router.propose(1, b"nonsense", &mut out);
    assert!(denied(&out));
    let mut out = Routed::default();
    router.propose(2, br#"{"tool_name":"Bash"}"#, &mut out);
    assert!(denied(&out), "it does not say whose it is");
    // Its session leaves while it waits.
    let client = router.connect();
    let mut out = Routed::default();
    let resume = json!({ "id": 1, "method": "thread/resume", "params": { "threadId": "a" } });
    router.from_client(client, resume.to_string().as_bytes(), &mut out);
    router.propose(3, &hook("a"), &mut out);
    let mut out = Routed::default();
    router.disconnect(client, &mut out);
    assert!(denied(&out));
    // Its turn ends while it waits.
    let client = router.connect();
    let mut out = Routed::default();
    router.from_client(
        client,
        json!({ "id": 1, "method": "thread/resume", "params": { "threadId": "b" } }).to_string().as_bytes(),
        &mut out,
    );
    router.propose(4, &hook("b"), &mut out);
    let ended = json!({ "method": "turn/completed", "params": { "threadId": "b", "turn": { "id": "u", "status": "completed" } } });
    let mut out = Routed::default();
    router.from_server(Line::Text(ended.to_string().as_bytes()), &mut out);
    assert!(denied(&out));
    // One that was ended is taken back, and hears nothing.
    let mut out = Routed::default();
    router.propose(5, &hook("b"), &mut out);
    router.proposal_gone(5, &mut out);
    assert!(String::from_utf8_lossy(&out.to_clients.last().unwrap().1).contains("host/proposalGone"));
    router.from_client(client, json!({ "id": "proposal-5", "result": {} }).to_string().as_bytes(), &mut out);
    assert!(out.verdicts.is_empty());
}
