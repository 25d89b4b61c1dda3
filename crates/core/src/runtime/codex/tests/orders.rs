//! What the protocol writes, and what it makes of the answers.

use serde_json::{Map, Value, json};

use crate::command::{AfterAnswer, Answer, Files};
use crate::component::Registry;
use crate::event::{AfterStop, Event, Origin, Outcome, Part, PermissionReply};
use crate::host_tools;
use crate::id::{MessageId, SessionId, TurnId};
use crate::runtime::codex::CodexProtocol;
use crate::runtime::{
    AskRequest, Beginning, Line, Opening, Order, Output, Prompt, Protocol, Ready, Report, RollbackOrder,
};

pub(super) struct Bench {
    pub(super) protocol: CodexProtocol,
    pub(super) wrote: Vec<Value>,
    pub(super) reports: Vec<Report>,
}

impl Bench {
    /// A session whose protocol has said its first word.
    pub(super) fn opened(beginning: Beginning, params: Value) -> Self {
        Self::opened_by(CodexProtocol::default(), beginning, params)
    }

    pub(super) fn opened_by(protocol: CodexProtocol, beginning: Beginning, params: Value) -> Self {
        let mut bench = Self { protocol, wrote: Vec::new(), reports: Vec::new() };
        let text = |name: &str| params.get(name).and_then(Value::as_str).map(str::to_owned);
        let opening = Opening {
            session_id: SessionId::trusted("s"),
            cwd: Some("/w".into()),
            model: text("model"),
            mode: text("mode"),
            system_prompt: Some("Be brief.".into()),
            anchor: None,
            beginning,
            params,
            state: serde_json::Value::Null,
            epoch: 1,
            host_tools: host_tools::offered(&json!({}), &Registry::builtin()),
        };
        let mut out = Output::default();
        bench.protocol.open(&opening, &mut out);
        bench.take(out);
        bench
    }

    pub(super) fn open(beginning: Beginning, params: Value) -> Self {
        Self::open_where(&json!({}), beginning, params)
    }

    /// The same, where Codex has these settings of its own.
    pub(super) fn open_where(own: &Value, beginning: Beginning, params: Value) -> Self {
        let mut bench = Self::opened(beginning, params);
        bench.reply("initialize", &json!({ "userAgent": "turnloom/0.166.0 (x)" }));
        bench.reply("model/list", &json!({ "data": [{ "id": "m1" }, { "id": "m2", "hidden": true }] }));
        bench.reply("config/read", &json!({ "config": own }));
        bench
    }

    /// A session that is ready.
    pub(super) fn ready(params: Value) -> Self {
        let mut bench = Self::open(Beginning::Fresh, params);
        bench.reply("thread/start", &json!({ "thread": { "id": "t" }, "model": "m1", "cwd": "/w" }));
        bench
    }

    pub(super) fn take(&mut self, out: Output) {
        let lines = out.bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        self.wrote.extend(lines.map(|line| serde_json::from_slice::<Value>(line).unwrap()));
        self.reports.extend(out.reports);
    }

    pub(super) fn hear(&mut self, line: &Value) {
        let mut out = Output::default();
        self.protocol.line(Line::Text(line.to_string().as_bytes()), &mut out);
        self.take(out);
    }

    pub(super) fn order(&mut self, order: &Order) {
        let mut out = Output::default();
        self.protocol.order(order, &mut out);
        self.take(out);
    }

    pub(super) fn last(&self, method: &str) -> Value {
        self.wrote
            .iter()
            .rfind(|line| line["method"] == method)
            .cloned()
            .unwrap_or_else(|| panic!("{method}: {:#?}", self.wrote))
    }

    pub(super) fn reply(&mut self, method: &str, result: &Value) {
        let id = self.last(method)["id"].clone();
        self.hear(&json!({ "id": id, "result": result }));
    }

    pub(super) fn refuse(&mut self, method: &str, message: &str) {
        let id = self.last(method)["id"].clone();
        self.hear(&json!({ "id": id, "error": { "code": -32600, "message": message } }));
    }

    pub(super) fn tell(&mut self, method: &str, params: &Value) {
        self.hear(&json!({ "method": method, "params": params, "emittedAtMs": 1 }));
    }

    pub(super) fn prompt(&mut self, turn: &str, text: &str) {
        let content = vec![Part::Text { text: text.into() }];
        let message = Prompt { message_id: MessageId::trusted("m"), content, origin: Origin::User };
        self.order(&Order::Prompt { turn_id: TurnId::trusted(turn), messages: vec![message] });
    }

    pub(super) fn turn(&mut self, turn: &str, name: &str) {
        self.prompt(turn, "hello");
        self.reply("turn/start", &json!({ "turn": { "id": name } }));
        self.complete(name, "completed");
    }

    pub(super) fn complete(&mut self, name: &str, status: &str) {
        self.tell("turn/completed", &json!({ "threadId": "t", "turn": { "id": name, "status": status } }));
    }

    pub(super) fn is_ready(&self) -> &Ready {
        let ready = |report: &'_ Report| matches!(report, Report::Ready(_));
        let Some(Report::Ready(ready)) = self.reports.iter().find(|report| ready(report)) else { panic!("not ready") };
        ready
    }

    pub(super) fn has(&self, wanted: impl Fn(&Report) -> bool) -> bool {
        self.reports.iter().any(wanted)
    }
}

#[test]
fn a_thread_is_started_with_what_was_asked_for() {
    let params = json!({
        "sandbox": "workspaceWrite", "approval_policy": "on-request", "effort": "low", "mode": "plan",
        "env": { "A": "1" }, "mcp_servers": { "demo": { "command": "demo" } }, "title": "Named",
    });
    let mut bench = Bench::ready(params);
    let start = bench.last("thread/start")["params"].clone();
    assert_eq!(
        (&start["cwd"], &start["sandbox"], &start["approvalPolicy"]),
        (&json!("/w"), &json!("read-only"), &json!("untrusted")),
        "a thread that may write at its start makes Codex trust the project, and where rules decide it asks about everything"
    );
    assert_eq!(
        bench.last("thread/settings/update")["params"]["sandboxPolicy"],
        json!({
            "type": "workspaceWrite", "writableRoots": [], "networkAccess": false,
            "excludeTmpdirEnvVar": false, "excludeSlashTmp": false,
        })
    );
    let told = start["developerInstructions"].as_str().unwrap();
    assert!(told.starts_with("Be brief.\n\n") && told.contains("`plan` mode"), "{told}");
    assert_eq!(
        start["config"],
        json!({
            "mcp_servers": { "demo": { "command": "demo", "default_tools_approval_mode": "prompt" } },
            "shell_environment_policy": { "set": { "A": "1" } },
            "features": { "unified_exec_tty": false },
            "web_search": "disabled",
        })
    );
    let offered: Vec<&Value> = start["dynamicTools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    assert_eq!(offered, host_tools::NAMES[..8]);
    assert_eq!(bench.last("thread/name/set")["params"]["name"], "Named");
    let ready = bench.is_ready();
    assert_eq!((ready.provider_session_id.as_deref(), ready.version.as_deref()), (Some("t"), Some("0.166.0")));
    assert_eq!(ready.models.as_ref().unwrap().len(), 1, "a hidden model is hidden");
    bench.prompt("one", "hello");
    let turn = bench.last("turn/start")["params"].clone();
    assert_eq!((&turn["effort"], &turn["clientUserMessageId"]), (&json!("low"), &json!("m")));
    assert_eq!(turn["collaborationMode"]["mode"], "plan");
    bench.reply("turn/start", &json!({ "turn": { "id": "u1" } }));
    bench.complete("u1", "completed");
    // What was said holds; what changes is said once.
    bench.order(&Order::SetModel { model: "m2".into() });
    bench.order(&Order::SetMode { mode: "full-access".into() });
    let settings: Map<String, Value> = [("effort".to_owned(), json!("high"))].into_iter().collect();
    bench.order(&Order::Configure { settings });
    bench.prompt("two", "again");
    let turn = bench.last("turn/start")["params"].clone();
    assert_eq!(
        (&turn["model"], &turn["effort"], &turn["approvalPolicy"]),
        (&json!("m2"), &json!("high"), &json!("never"))
    );
    assert_eq!(
        (&turn["sandboxPolicy"]["type"], &turn["collaborationMode"]["mode"]),
        (&json!("dangerFullAccess"), &json!("default"))
    );
    bench.reply("turn/start", &json!({ "turn": { "id": "u2" } }));
    bench.complete("u2", "completed");
    bench.prompt("three", "and again");
    assert!(bench.last("turn/start")["params"].get("model").is_none());
}

#[test]
fn what_changes_while_a_turn_begins_is_said_with_the_next() {
    let mut bench = Bench::ready(json!({}));
    bench.order(&Order::SetModel { model: "m2".into() });
    bench.prompt("one", "hello");
    bench.order(&Order::SetModel { model: "m3".into() });
    bench.tell("thread/settings/updated", &json!({ "threadId": "t", "threadSettings": { "model": "m2" } }));
    bench.refuse("turn/start", "not now");
    bench.prompt("two", "/review");
    bench.reply("review/start", &json!({ "turn": { "id": "u1" } }));
    bench.complete("u1", "completed");
    bench.prompt("three", "again");
    assert_eq!(bench.last("turn/start")["params"]["model"], "m3");
    bench.reply("turn/start", &json!({ "turn": { "id": "u2" } }));
    bench.tell("thread/settings/updated", &json!({ "threadId": "t", "threadSettings": { "model": "m3" } }));
    let changed = |report: &Report| matches!(report, Report::Fact { event: Event::ModelChanged(_), .. });
    assert!(!bench.has(changed), "it is what was wanted");
    for _ in 0..2 {
        bench.tell("model/rerouted", &json!({ "threadId": "t", "fromModel": "m3", "toModel": "m4" }));
    }
    assert_eq!(bench.reports.iter().filter(|report| changed(report)).count(), 1, "once is enough");
}

#[test]
fn raw_thoughts_are_said_once() {
    let mut bench = Bench::ready(json!({}));
    bench.prompt("one", "hello");
    bench.reply("turn/start", &json!({ "turn": { "id": "u1" } }));
    for (part, text) in [(0, "on"), (0, "e"), (1, "two")] {
        let piece = json!({ "threadId": "t", "turnId": "u1", "itemId": "r", "delta": text, "contentIndex": part });
        bench.tell("item/reasoning/textDelta", &piece);
    }
    let item = json!({ "type": "reasoning", "id": "r", "summary": [], "content": ["one", "two"] });
    bench.tell("item/completed", &json!({ "threadId": "t", "turnId": "u1", "item": item }));
    let thought = |report: &Report| match report {
        Report::Fact { event: Event::Thinking(thinking), .. } => Some(thinking.text.clone()),
        _ => None,
    };
    assert_eq!(bench.reports.iter().filter_map(thought).collect::<String>(), "one\n\ntwo");
    assert!(!bench.has(|report| matches!(report, Report::Fact { event: Event::Retracted(_), .. })));
}

#[test]
fn a_resume_is_verified() {
    let resume = || Beginning::Resume { provider_session_id: "t".into(), wanted: false };
    let mut bench = Bench::open(resume(), json!({ "sandbox": "read-only", "approval_policy": "never" }));
    let params = bench.last("thread/resume")["params"].clone();
    assert_eq!((&params["threadId"], &params["excludeTurns"]), (&json!("t"), &json!(true)));
    assert_eq!(
        (&params["sandbox"], &params["approvalPolicy"]),
        (&json!("read-only"), &json!("never")),
        "a sandbox is not remembered"
    );
    bench.reply("thread/resume", &json!({ "thread": { "id": "t" }, "cwd": "/w" }));
    assert!(bench.is_ready().resumed);

    let mut bench = Bench::open(resume(), json!({}));
    bench.reply("thread/resume", &json!({ "thread": { "id": "other" }, "cwd": "/elsewhere" }));
    let ready = bench.is_ready();
    assert!(!ready.resumed && ready.reason.as_ref().unwrap().contains("/elsewhere"));

    let mut bench = Bench::open(resume(), json!({}));
    bench.refuse("thread/resume", "no rollout found for thread id t");
    bench.reply("thread/start", &json!({ "thread": { "id": "new" } }));
    let ready = bench.is_ready();
    assert_eq!((ready.resumed, ready.reason.as_deref()), (false, Some("no rollout found for thread id t")));

    let wanted = Beginning::Resume { provider_session_id: "t".into(), wanted: true };
    let mut bench = Bench::open(wanted, json!({}));
    bench.refuse("thread/resume", "no rollout found for thread id t");
    assert!(
        bench.has(|report| matches!(report, Report::StartFailed(failure) if failure.code == "conversation_not_found"))
    );

    let mut bench = Bench::open(resume(), json!({}));
    bench.refuse("thread/resume", "thread t already has an active writer");
    assert!(
        bench.has(|report| matches!(report, Report::StartFailed(failure) if failure.code == "conversation_in_use"))
    );
}

#[test]
fn a_fork_says_where() {
    let beginning = Beginning::Fork { provider_session_id: "t".into(), at: Some("u1".into()) };
    let mut bench = Bench::open(beginning, json!({}));
    assert_eq!(bench.last("thread/fork")["params"]["lastTurnId"], "u1");
    bench.reply("thread/fork", &json!({ "thread": { "id": "copy", "forkedFromId": "t" } }));
    assert!(bench.is_ready().resumed);
}

fn rollback(turn_ids: &[&str], kept: usize, to: Option<&str>) -> Order {
    Order::Rollback(RollbackOrder {
        turn_ids: turn_ids.iter().map(|id| TurnId::trusted(*id)).collect(),
        kept,
        to: to.map(str::to_owned),
        first_message: None,
        files: Files::Keep,
    })
}

#[test]
fn turns_are_taken_back() {
    let mut bench = Bench::ready(json!({}));
    bench.turn("one", "u1");
    bench.turn("two", "u2");
    bench.order(&rollback(&["two"], 1, Some("u1")));
    assert_eq!(bench.last("thread/revert")["params"]["beforeTurnId"], "u2");
    bench.reply("thread/revert", &json!({ "thread": { "id": "t" } }));
    assert!(bench.has(|report| matches!(report, Report::RolledBack { .. })));
    // Turns of an earlier process: Codex knows what comes after the last one that stays.
    bench.order(&rollback(&["four", "five"], 1, Some("u1")));
    bench.reply("thread/turns/list", &json!({ "data": [{ "id": "u5" }], "nextCursor": "more" }));
    assert_eq!(bench.last("thread/turns/list")["params"]["cursor"], "more");
    bench.reply("thread/turns/list", &json!({ "data": [{ "id": "u4" }, { "id": "u1" }] }));
    assert_eq!(bench.last("thread/revert")["params"]["beforeTurnId"], "u4");
    bench.refuse("thread/revert", "thread/revert only supports paginated threads");
    assert_eq!(bench.last("thread/rollback")["params"], json!({ "threadId": "t", "numTurns": 2 }));
    bench.refuse("thread/rollback", "no");
    assert!(bench.has(|report| matches!(report, Report::RollbackRefused { reason } if reason == "no")));
}

#[test]
fn an_interrupt_waits_for_nothing() {
    let mut bench = Bench::ready(json!({}));
    bench.prompt("one", "hello");
    bench.order(&Order::Interrupt { turn_id: None });
    assert!(!bench.wrote.iter().any(|line| line["method"] == "turn/interrupt"), "the turn has no name yet");
    bench.reply("turn/start", &json!({ "turn": { "id": "u1" } }));
    assert_eq!(bench.last("turn/interrupt")["params"], json!({ "threadId": "t", "turnId": "u1" }));
    let command = json!({ "type": "commandExecution", "id": "c", "command": "sleep 9", "processId": "7", "status": "inProgress" });
    bench.tell("item/started", &json!({ "threadId": "t", "turnId": "u1", "item": command }));
    bench.complete("u1", "interrupted");
    // One of them was told of, the other one not yet.
    let terminals = json!({ "data": [{ "itemId": "c", "processId": "7" }, { "itemId": "d", "processId": "8" }] });
    bench.reply("thread/backgroundTerminals/list", &terminals);
    let ended = |line: &&Value| line["method"] == "thread/backgroundTerminals/terminate";
    let ended: Vec<_> = bench.wrote.iter().filter(ended).map(|line| line["params"]["processId"].clone()).collect();
    assert_eq!(ended, ["7", "8"]);
    let before = bench.reports.len();
    for id in ["c", "d"] {
        let ended =
            json!({ "type": "commandExecution", "id": id, "command": "sleep 9", "status": "failed", "exitCode": -1 });
        bench.tell("item/completed", &json!({ "threadId": "t", "turnId": "u1", "item": ended }));
    }
    assert_eq!(bench.reports.len(), before, "its end is known already");
}

#[test]
fn steers_wait_for_the_turn_and_may_be_refused() {
    let mut bench = Bench::ready(json!({}));
    bench.prompt("one", "hello");
    let message = Prompt {
        message_id: MessageId::trusted("s1"),
        content: vec![Part::File { path: "/w/a.rs".into() }],
        origin: Origin::User,
    };
    bench.order(&Order::Steer { turn_id: TurnId::trusted("one"), message });
    bench.reply("turn/start", &json!({ "turn": { "id": "u1" } }));
    let steer = bench.last("turn/steer")["params"].clone();
    assert_eq!(steer["expectedTurnId"], "u1");
    assert_eq!(steer["input"], json!([{ "type": "mention", "name": "a.rs", "path": "/w/a.rs" }]));
    bench.refuse("turn/steer", "cannot steer a compact turn");
    assert!(bench.has(|report| matches!(report, Report::SteerRejected { reason, .. } if reason.contains("compact"))));
}

#[test]
fn a_turn_that_is_refused_has_ended() {
    let mut bench = Bench::ready(json!({}));
    bench.prompt("one", "hello");
    bench.refuse("turn/start", "failed to submit turn input");
    let failed = |report: &Report| matches!(report, Report::TurnEnded { outcome: Outcome::Failed, failure: Some(failure), .. } if failure.code == "agent_refused");
    assert!(bench.has(failed));
}

#[test]
fn rejections_reach_the_model_and_stops_cancel() {
    let reject = |message: Option<&str>, and_then| Answer::Permission {
        reply: PermissionReply::Reject,
        updated_input: None,
        message: message.map(str::to_owned),
        rule: None,
        and_then,
    };
    let mut bench = Bench::ready(json!({}));
    bench.prompt("one", "hello");
    bench.reply("turn/start", &json!({ "turn": { "id": "u1" } }));
    let ask = json!({ "threadId": "t", "turnId": "u1", "itemId": "c", "command": "/bin/bash -lc 'rm x'", "proposedExecpolicyAmendment": ["rm"] });
    for (id, answer, decision) in [
        (0, reject(Some("not that one"), AfterAnswer::GoOn), json!("decline")),
        (1, reject(None, AfterAnswer::Stop(AfterStop::Continue)), json!("cancel")),
    ] {
        bench.hear(&json!({ "method": "item/commandExecution/requestApproval", "id": id, "params": ask }));
        bench.order(&Order::Answer { key: id.to_string(), answer, about: None });
        let answered = bench.wrote.iter().rfind(|line| line["id"] == id && line.get("result").is_some()).unwrap();
        assert_eq!(answered["result"]["decision"], decision);
    }
    assert_eq!(bench.last("turn/steer")["params"]["input"][0]["text"], "not that one");
    let asked = bench.reports.iter().find_map(|report| match report {
        Report::Ask { request: AskRequest::Permission(request), .. } => Some(request.clone()),
        _ => None,
    });
    let replies: Vec<_> = asked.unwrap().options.into_iter().map(|option| option.reply).collect();
    assert_eq!(replies, [PermissionReply::Once, PermissionReply::Reject], "what is always allowed is a rule of ours");
}

#[test]
fn a_call_without_an_item_begins_and_ends() {
    let ended = |report: &Report| match report {
        Report::Fact { event: Event::ToolResult(result), .. } => Some((result.output.clone(), result.is_error)),
        _ => None,
    };
    let mut bench = Bench::ready(json!({}));
    bench.prompt("one", "hello");
    bench.reply("turn/start", &json!({ "turn": { "id": "u1" } }));
    let ask = |item: &str| json!({ "threadId": "t", "turnId": "u1", "itemId": item, "permissions": { "network": {} }, "questions": [] });
    bench.hear(&json!({ "method": "item/permissions/requestApproval", "id": 0, "params": ask("p") }));
    let reply = PermissionReply::Once;
    let and_then = AfterAnswer::GoOn;
    let answer = Answer::Permission { reply, updated_input: None, message: None, rule: None, and_then };
    bench.order(&Order::Answer { key: "0".into(), answer, about: None });
    // The other one is taken back before anybody has answered.
    bench.hear(&json!({ "method": "item/tool/requestUserInput", "id": 1, "params": ask("q") }));
    bench.tell("serverRequest/resolved", &json!({ "threadId": "t", "requestId": 1 }));
    let ends: Vec<_> = bench.reports.iter().filter_map(ended).collect();
    assert_eq!(
        ends,
        [("allowed for this turn".to_owned(), false), ("Codex does not wait for it any more".to_owned(), true)]
    );
}

#[test]
fn a_tool_of_the_session_is_carried_out_by_it() {
    let mut bench = Bench::ready(json!({}));
    bench.prompt("one", "hello");
    bench.reply("turn/start", &json!({ "turn": { "id": "u1" } }));
    let call = |tool: &str, arguments: Value| json!({ "threadId": "t", "turnId": "u1", "callId": "c", "tool": tool, "arguments": arguments });
    let ask = call("ask_user", json!({ "question": "Which?" }));
    bench.hear(&json!({ "method": "item/tool/call", "id": 0, "params": ask }));
    assert!(bench.has(|report| matches!(report, Report::HostCall(call) if call.name == "ask_user" && call.key == "0")));
    let result = |output: &str, is_error| Order::HostResult { key: "0".into(), output: output.to_owned(), is_error };
    bench.order(&result("A", false));
    let said = &bench.wrote.last().unwrap()["result"];
    assert_eq!((&said["contentItems"][0]["text"], &said["success"]), (&json!("A"), &json!(true)));
    let before = bench.wrote.len();
    bench.order(&result("B", true));
    assert_eq!(bench.wrote.len(), before, "it has one result");
    bench.hear(&json!({ "method": "item/tool/call", "id": 1, "params": call("other", json!({})) }));
    assert_eq!(bench.wrote.last().unwrap()["result"]["success"], false);
    bench.hear(&json!({ "method": "no/such/request", "id": 2, "params": {} }));
    assert_eq!(bench.wrote.last().unwrap()["error"]["code"], -32601, "or the turn would hang");
    assert!(bench.has(|report| matches!(report, Report::Fact { event: Event::AgentUnparsed(_), .. })));
}

#[test]
fn closing_is_one_word() {
    let mut bench = Bench::ready(json!({}));
    let before = bench.wrote.len();
    bench.order(&Order::Close { reason: crate::runtime::CloseReason::Idle });
    assert_eq!(bench.wrote[before..], [json!({ "method": "exit" })], "the router knows what has to be ended");
}
