//! What comes late, twice, or in another order than it should.

use serde_json::{Value, json};

use super::orders::Bench;
use crate::event::{Event, Outcome};
use crate::runtime::{AskRequest, Beginning, Order, Report};

pub(super) fn started(bench: &mut Bench, turn: &str, item: &Value) {
    bench.tell("item/started", &json!({ "threadId": "t", "turnId": turn, "item": item }));
}

pub(super) fn completed(bench: &mut Bench, turn: &str, item: &Value) {
    bench.tell("item/completed", &json!({ "threadId": "t", "turnId": turn, "item": item }));
}

pub(super) fn command(id: &str, status: &str) -> Value {
    json!({ "type": "commandExecution", "id": id, "command": "sleep 9", "status": status, "aggregatedOutput": "out" })
}

/// A turn that runs.
pub(super) fn begin(bench: &mut Bench, turn: &str, name: &str) {
    bench.prompt(turn, "hello");
    bench.reply("turn/start", &json!({ "turn": { "id": name } }));
}

pub(super) fn ends(bench: &Bench) -> usize {
    bench.reports.iter().filter(|report| matches!(report, Report::TurnEnded { .. })).count()
}

pub(super) fn unparsed(bench: &Bench) -> usize {
    let unparsed = |report: &&Report| matches!(report, Report::Fact { event: Event::AgentUnparsed(_), .. });
    bench.reports.iter().filter(unparsed).count()
}

fn said(bench: &Bench) -> String {
    let text = |report: &Report| match report {
        Report::Fact { event: Event::Delta(delta), .. } => Some(delta.text.clone()),
        _ => None,
    };
    bench.reports.iter().filter_map(text).collect()
}

#[test]
fn an_end_that_is_told_twice_ends_one_turn() {
    let mut bench = Bench::ready(json!({}));
    bench.turn("one", "u1");
    begin(&mut bench, "two", "u2");
    bench.complete("u1", "completed");
    assert_eq!(ends(&bench), 1, "the second turn goes on");
    bench.tell("turn/started", &json!({ "threadId": "t", "turn": { "id": "u1" } }));
    bench.complete("u2", "completed");
    assert_eq!(ends(&bench), 2);
    bench.tell("turn/started", &json!({ "threadId": "t", "turn": { "id": "u2" } }));
    assert!(!bench.has(|report| matches!(report, Report::TurnStarted { .. })), "it would never end");
}

#[test]
fn an_end_that_comes_before_its_beginning_is_answered_ends_the_turn() {
    let mut bench = Bench::ready(json!({}));
    bench.prompt("one", "hello");
    bench.complete("u0", "completed");
    bench.complete("u1", "completed");
    assert_eq!(ends(&bench), 0, "as far as is known, these are others");
    bench.reply("turn/start", &json!({ "turn": { "id": "u1" } }));
    assert_eq!(ends(&bench), 1);
    bench.prompt("two", "hello");
    bench.complete("u1", "completed");
    bench.reply("turn/start", &json!({ "turn": { "id": "u2" } }));
    assert_eq!(ends(&bench), 1, "the end of another one is not kept for it");
}

#[test]
fn what_is_said_of_an_ended_turn_is_not_part_of_the_next() {
    let mut bench = Bench::ready(json!({}));
    bench.turn("one", "u1");
    begin(&mut bench, "two", "u2");
    bench.tell("item/agentMessage/delta", &json!({ "threadId": "t", "turnId": "u1", "itemId": "m", "delta": "late" }));
    completed(&mut bench, "u1", &json!({ "type": "agentMessage", "id": "m", "text": "late" }));
    assert_eq!((said(&bench).as_str(), unparsed(&bench)), ("", 2), "it is kept, and not believed");
}

#[test]
fn an_item_that_ends_twice_is_told_once() {
    let mut bench = Bench::ready(json!({}));
    begin(&mut bench, "one", "u1");
    let message = json!({ "type": "agentMessage", "id": "m", "text": "hello" });
    for _ in 0..2 {
        completed(&mut bench, "u1", &message);
        bench.tell("item/agentMessage/delta", &json!({ "threadId": "t", "turnId": "u1", "itemId": "m", "delta": "o" }));
    }
    assert_eq!(said(&bench), "hello");
    // A model may use the name of a call again, but then the call begins again.
    for _ in 0..2 {
        started(&mut bench, "u1", &command("c", "inProgress"));
        completed(&mut bench, "u1", &command("c", "completed"));
    }
    let results = |report: &&Report| matches!(report, Report::Fact { event: Event::ToolResult(_), .. });
    assert_eq!(bench.reports.iter().filter(results).count(), 2);
}

#[test]
fn an_answer_to_an_earlier_turn_does_nothing_to_this_one() {
    let mut bench = Bench::ready(json!({}));
    bench.prompt("one", "hello");
    let first = bench.last("turn/start")["id"].clone();
    bench.tell("turn/started", &json!({ "threadId": "t", "turn": { "id": "u1" } }));
    bench.complete("u1", "completed");
    bench.prompt("two", "again");
    bench.hear(&json!({ "id": first, "error": { "code": -32600, "message": "too late" } }));
    assert_eq!(ends(&bench), 1, "the second turn goes on");
    bench.reply("turn/start", &json!({ "turn": { "id": "u2" } }));
    bench.complete("u2", "completed");
    assert_eq!(ends(&bench), 2);
}

#[test]
fn the_end_of_a_stopped_command_is_not_that_of_another_with_its_name() {
    let mut bench = Bench::ready(json!({}));
    begin(&mut bench, "one", "u1");
    started(&mut bench, "u1", &command("c", "inProgress"));
    bench.complete("u1", "interrupted");
    let list = bench.last("thread/backgroundTerminals/list");
    begin(&mut bench, "two", "u2");
    started(&mut bench, "u2", &command("c", "inProgress"));
    let before = bench.reports.len();
    completed(&mut bench, "u1", &command("c", "failed"));
    assert_eq!(bench.reports.len(), before, "the new one still runs");
    // The list comes so late that it holds the new one.
    bench.hear(&json!({ "id": list["id"], "result": { "data": [{ "itemId": "c", "processId": "7" }] } }));
    let ended = |line: &Value| line["method"] == "thread/backgroundTerminals/terminate";
    assert!(!bench.wrote.iter().any(ended), "nobody wants to stop it");
}

#[test]
fn the_end_of_a_sub_agent_may_be_told_after_the_turn() {
    let mut bench = Bench::ready(json!({}));
    begin(&mut bench, "one", "u1");
    let activity = |kind: &str| json!({ "type": "subAgentActivity", "id": kind, "kind": kind, "agentThreadId": "child", "agentPath": "/main/counter" });
    started(&mut bench, "u1", &activity("started"));
    bench.tell("turn/started", &json!({ "threadId": "child", "turn": { "id": "v1" } }));
    bench.complete("u1", "completed");
    started(&mut bench, "u1", &activity("completed"));
    completed(&mut bench, "u1", &activity("completed"));
    assert_eq!(unparsed(&bench), 0);
    let ended = |report: &&Report| matches!(report, Report::Fact { event: Event::SubagentEnded(_), .. });
    assert_eq!(bench.reports.iter().filter(ended).count(), 1);
    // Nothing else begins in a turn that is over.
    started(&mut bench, "u1", &command("c", "inProgress"));
    assert_eq!(unparsed(&bench), 1);
}

#[test]
fn a_review_is_stopped_by_the_name_it_answers_to() {
    let mut bench = Bench::ready(json!({}));
    bench.prompt("one", "/review");
    bench.reply("review/start", &json!({ "turn": { "id": "u1" } }));
    bench.tell("turn/started", &json!({ "threadId": "t", "turn": { "id": "u2" } }));
    bench.order(&Order::Interrupt { turn_id: None });
    bench.refuse("turn/interrupt", "expected active turn id `u1` but found `u2`");
    assert_eq!(bench.last("turn/interrupt")["params"]["turnId"], "u2");
    bench.complete("u1", "interrupted");
    assert!(bench.has(|report| matches!(report, Report::TurnEnded { outcome: Outcome::Interrupted, .. })));
}

#[test]
fn an_error_between_turns_is_told_and_fails_no_turn() {
    let mut bench = Bench::ready(json!({}));
    bench.tell("error", &json!({ "threadId": "t", "error": { "message": "the disk is full" }, "willRetry": false }));
    let told = |report: &Report| matches!(report, Report::Fact { event: Event::EvidenceChanged(evidence), .. } if evidence.title == "the disk is full");
    assert!(bench.has(told));
    begin(&mut bench, "one", "u1");
    bench.complete("u1", "failed");
    let failed = |report: &Report| matches!(report, Report::TurnEnded { failure: Some(failure), .. } if failure.message == "Codex did not say why");
    assert!(bench.has(failed));
}

#[test]
fn what_a_running_turn_says_waits_until_the_session_is_ready() {
    let beginning = Beginning::Resume { provider_session_id: "t".into(), wanted: false };
    let mut bench = Bench::opened(beginning, json!({}));
    bench.reply("initialize", &json!({ "userAgent": "turnloom/0.166.0 (x)" }));
    bench.reply("config/read", &json!({ "config": {} }));
    bench.reply("thread/resume", &json!({ "thread": { "id": "t", "status": { "type": "active" } }, "cwd": "/w" }));
    let ask = json!({ "threadId": "t", "turnId": "u1", "itemId": "c", "command": "sleep 9" });
    bench.hear(&json!({ "method": "item/commandExecution/requestApproval", "id": 0, "params": ask }));
    assert!(bench.reports.is_empty(), "nobody would hear it");
    bench.reply("model/list", &json!({ "data": [] }));
    let at = |wanted: fn(&Report) -> bool| bench.reports.iter().position(wanted);
    let ready = at(|report| matches!(report, Report::Ready(_)));
    let asked = at(|report| matches!(report, Report::Ask { .. }));
    assert!(ready.is_some() && ready < at(|report| matches!(report, Report::TurnStarted { .. })));
    assert!(ready < asked, "{:?}", bench.reports);
}

#[test]
fn a_turn_that_was_over_before_the_session_was_ready_does_not_end_its_first_one() {
    let beginning = Beginning::Resume { provider_session_id: "t".into(), wanted: false };
    let mut bench = Bench::opened(beginning, json!({}));
    bench.reply("initialize", &json!({ "userAgent": "turnloom/0.166.0 (x)" }));
    bench.reply("config/read", &json!({ "config": {} }));
    bench.reply("thread/resume", &json!({ "thread": { "id": "t", "status": { "type": "active" } }, "cwd": "/w" }));
    started(&mut bench, "u1", &command("c", "inProgress"));
    bench.complete("u1", "completed");
    bench.reply("model/list", &json!({ "data": [] }));
    assert_eq!(ends(&bench), 0, "the session may have begun one as soon as it was ready");
    assert!(!bench.has(|report| matches!(report, Report::TurnStarted { .. })));
    begin(&mut bench, "one", "u2");
    bench.complete("u2", "completed");
    assert_eq!(ends(&bench), 1);
}

#[test]
fn two_calls_of_one_server_are_told_apart() {
    let mut bench = Bench::ready(json!({}));
    begin(&mut bench, "one", "u1");
    for (id, length) in [("a", 1), ("b", 2)] {
        let call = json!({ "type": "mcpToolCall", "id": id, "server": "loom", "tool": "cut", "arguments": { "length": length } });
        started(&mut bench, "u1", &call);
    }
    for (id, length) in [(0, 2), (1, 1)] {
        let meta = json!({ "codex_approval_kind": "mcp_tool_call", "tool_params": { "length": length } });
        let ask = json!({ "threadId": "t", "turnId": "u1", "serverName": "loom", "mode": "form", "message": "?", "_meta": meta });
        bench.hear(&json!({ "method": "mcpServer/elicitation/request", "id": id, "params": ask }));
    }
    let about = |report: &Report| match report {
        Report::Ask { request: AskRequest::Permission(request), .. } => request.tool_use_id.clone(),
        _ => None,
    };
    let about: Vec<String> = bench.reports.iter().filter_map(about).map(|id| id.to_string()).collect();
    assert_eq!(about, ["u1:b", "u1:a"]);
}

#[test]
fn a_line_that_the_router_could_not_read_is_in_the_log() {
    let mut bench = Bench::ready(json!({}));
    bench.tell("host/unreadable", &json!({ "error": "over the limit", "raw": "{", "size": 99, "sha256": "abc" }));
    let kept = |report: &Report| matches!(report, Report::Fact { event: Event::AgentUnparsed(unparsed), .. } if unparsed.size == Some(99) && unparsed.error == "over the limit");
    assert!(bench.has(kept));
}

#[test]
fn a_sub_agent_that_is_through_waits_for_its_own_helpers() {
    let mut bench = Bench::ready(json!({}));
    begin(&mut bench, "one", "u1");
    for (thread, parent) in [("child", "t"), ("grandchild", "child")] {
        bench.tell("turn/started", &json!({ "threadId": thread, "turn": { "id": format!("turn of {thread}") } }));
        bench.reply("thread/read", &json!({ "thread": { "id": thread, "parentThreadId": parent } }));
    }
    let ended = |bench: &Bench| -> Vec<String> {
        let ended = |report: &Report| match report {
            Report::Fact { event: Event::SubagentEnded(ended), .. } => Some(ended.subagent_id.to_string()),
            _ => None,
        };
        bench.reports.iter().filter_map(ended).collect()
    };
    let complete = |thread: &str| json!({ "threadId": thread, "turn": { "id": format!("turn of {thread}"), "status": "completed" } });
    bench.tell("turn/completed", &complete("child"));
    assert_eq!(ended(&bench), [""; 0], "the log would end both");
    bench.tell("turn/completed", &complete("grandchild"));
    assert_eq!(ended(&bench), ["grandchild", "child"]);
}
