//! What has no item, what is a picture, and the names of things.

use serde_json::{Value, json};

use super::orders::Bench;
use crate::event::{Event, Outcome, Part, ToolResult};
use crate::id::{MessageId, SessionId, TurnId};
use crate::runtime::codex::ExecProtocol;
use crate::runtime::{Beginning, Line, Opening, Order, Output, OutputFile, Prompt, Protocol, Report};

fn begin(bench: &mut Bench, name: &str) {
    bench.prompt(name, "hello");
    bench.reply("turn/start", &json!({ "turn": { "id": name } }));
}

fn raw(bench: &mut Bench, turn: &str, item: &Value) {
    bench.tell("rawResponseItem/completed", &json!({ "threadId": "t", "turnId": turn, "item": item }));
}

fn item(bench: &mut Bench, method: &str, item: &Value) {
    bench.tell(method, &json!({ "threadId": "t", "turnId": "u1", "item": item }));
}

/// The calls that the log knows, and what came of them.
fn calls(reports: &[Report]) -> Vec<(String, ToolResult)> {
    let tool = |id: &str| {
        reports.iter().find_map(|report| match report {
            Report::Fact { event: Event::ToolStart(start), .. } if start.tool_use_id.as_str() == id => {
                Some(start.tool.clone())
            }
            _ => None,
        })
    };
    let ended = |report: &Report| match report {
        Report::Fact { event: Event::ToolResult(result), .. } => {
            Some((tool(result.tool_use_id.as_str()).unwrap(), result.clone()))
        }
        _ => None,
    };
    reports.iter().filter_map(ended).collect()
}

#[test]
fn a_call_that_failed_before_it_had_an_item_is_told() {
    let mut bench = Bench::ready(json!({}));
    assert_eq!(bench.last("thread/start")["params"]["experimentalRawEvents"], true);
    begin(&mut bench, "u1");
    let call = |kind: &str, id: &str, name: &str| json!({ "type": kind, "call_id": id, "name": name, "input": "it", "arguments": "{\"cmd\":\"ls\"}" });
    let output = |kind: &str, id: &str, output: &str| json!({ "type": kind, "call_id": id, "output": output });
    for (id, name, said) in [
        ("p", "apply_patch", "apply_patch verification failed: no such lines"),
        ("s", "exec", "Script failed\nScript error: nothing"),
        ("w", "exec", "Script completed"),
    ] {
        raw(&mut bench, "u1", &call("custom_tool_call", id, name));
        raw(&mut bench, "u1", &output("custom_tool_call_output", id, said));
    }
    raw(&mut bench, "u1", &call("function_call", "n", "weave"));
    raw(&mut bench, "u1", &output("function_call_output", "n", "unsupported call: weave"));
    raw(&mut bench, "u1", &call("function_call", "q", "update_plan"));
    raw(&mut bench, "u1", &output("function_call_output", "q", "Plan updated"));
    // One that has an item is told by it, once.
    raw(&mut bench, "u1", &call("function_call", "c", "exec_command"));
    let command = |status: &str| json!({ "type": "commandExecution", "id": "c", "command": "ls", "status": status, "exitCode": 0 });
    item(&mut bench, "item/started", &command("inProgress"));
    item(&mut bench, "item/completed", &command("completed"));
    raw(&mut bench, "u1", &output("function_call_output", "c", "all of it"));
    let told: Vec<_> = calls(&bench.reports).into_iter().map(|(tool, result)| (tool, result.is_error)).collect();
    let told: Vec<_> = told.iter().map(|(tool, failed)| (tool.as_str(), *failed)).collect();
    assert_eq!(told, [("Edit", true), ("Script", true), ("weave", true), ("Bash", false)]);
    assert!(calls(&bench.reports)[0].1.output.contains("no such lines"));
    bench.complete("u1", "completed");
    raw(&mut bench, "u1", &call("custom_tool_call", "late", "apply_patch"));
    raw(&mut bench, "u1", &output("custom_tool_call_output", "late", "failed"));
    assert_eq!(calls(&bench.reports).len(), 4, "its turn is over");
}

#[test]
fn an_answer_that_is_refused_fails_the_turn() {
    let refusal =
        json!({ "type": "message", "role": "assistant", "content": [{ "type": "refusal", "refusal": "I will not." }] });
    let mut bench = Bench::ready(json!({}));
    begin(&mut bench, "u1");
    raw(&mut bench, "u1", &refusal);
    bench.complete("u1", "completed");
    let refused = |report: &Report| matches!(report, Report::TurnEnded { outcome: Outcome::Failed, failure: Some(failure), .. } if failure.code == "refused_by_policy" && failure.message == "I will not.");
    assert!(bench.has(refused), "{:?}", bench.reports);
    // One that goes on to answer has answered.
    let mut bench = Bench::ready(json!({}));
    begin(&mut bench, "u1");
    raw(&mut bench, "u1", &refusal);
    item(&mut bench, "item/completed", &json!({ "type": "agentMessage", "id": "m", "text": "Well then." }));
    bench.complete("u1", "completed");
    assert!(bench.has(|report| matches!(report, Report::TurnEnded { outcome: Outcome::Completed, .. })));
}

#[test]
fn a_failed_compaction_has_a_code_of_its_own() {
    for (info, code) in [
        ("other", "compaction_failed"),
        ("contextWindowExceeded", "compaction_failed"),
        ("unauthorized", "not_logged_in"),
    ] {
        let mut bench = Bench::ready(json!({}));
        begin(&mut bench, "u1");
        item(&mut bench, "item/started", &json!({ "type": "contextCompaction", "id": "k" }));
        let error = json!({ "message": "no", "codexErrorInfo": info });
        let turn = json!({ "id": "u1", "status": "failed", "error": error });
        bench.tell("turn/completed", &json!({ "threadId": "t", "turn": turn }));
        let failed = |report: &Report| matches!(report, Report::TurnEnded { failure: Some(failure), .. } if failure.code == code);
        assert!(bench.has(failed), "{info}: {:?}", bench.reports);
    }
}

#[test]
fn pictures_are_brought_and_those_in_files_are_named_before_the_end() {
    let mut bench = Bench::ready(json!({}));
    begin(&mut bench, "u1");
    let content =
        json!([{ "type": "text", "text": "look" }, { "type": "image", "data": "AA==", "mimeType": "image/png" }]);
    let call = json!({ "type": "mcpToolCall", "id": "m", "server": "loom", "tool": "pic", "status": "completed", "result": { "content": content } });
    item(&mut bench, "item/completed", &call);
    let brought = calls(&bench.reports).remove(0).1;
    assert_eq!((brought.output.as_str(), brought.images.unwrap()[0].data.as_deref()), ("look\n[image]", Some("AA==")));
    // The file of a picture is named with the result, so it is read before anything that follows: the turn may end at once.
    let view = |id: &str, path: &str| json!({ "type": "imageView", "id": id, "path": path });
    for (id, path) in [("a", "/w/p.png"), ("b", "p.png")] {
        item(&mut bench, "item/started", &view(id, path));
        item(&mut bench, "item/completed", &view(id, path));
    }
    let made = |id: &str, status: &str| json!({ "type": "imageGeneration", "id": id, "status": status, "savedPath": "/w/m.png" });
    item(&mut bench, "item/completed", &made("c", "completed"));
    item(&mut bench, "item/completed", &made("d", "failed"));
    bench.complete("u1", "completed");
    let told = |report: &Report| match report {
        Report::FactWithOutputFile { file, event: Event::ToolResult(result), .. } => {
            let OutputFile::Picture { path } = &**file else { panic!("{file:?}") };
            Some(format!("{} {path}", result.tool_use_id))
        }
        Report::Fact { event: Event::ToolResult(result), .. } => {
            Some(format!("{} {:?}", result.tool_use_id, result.is_error))
        }
        Report::TurnEnded { .. } => Some("end".to_owned()),
        _ => None,
    };
    let told: Vec<String> = bench.reports.iter().filter_map(told).skip(1).collect();
    assert_eq!(told, ["u1:a /w/p.png", "u1:b false", "u1:c /w/m.png", "u1:d true", "end"]);
}

/// A thread that began in another process, at a place where its file has 100 bytes.
fn resumed() -> Bench {
    let beginning = Beginning::Resume { provider_session_id: "t".into(), wanted: false };
    let mut bench = Bench::open(beginning, json!({}));
    bench.reply("thread/resume", &json!({ "thread": { "id": "t", "path": "/r" }, "cwd": "/w" }));
    assert_eq!(bench.last(READ)["params"], json!({ "path": "/r" }));
    bench.reply(READ, &json!({ "end": 100, "items": [] }));
    bench
}

const READ: &str = "host/rollout/read";

#[test]
fn calls_without_an_item_are_read_from_the_file_of_a_resumed_thread() {
    let mut bench = resumed();
    let call = json!({ "type": "custom_tool_call", "call_id": "p", "name": "apply_patch", "input": "it" });
    let output =
        json!({ "type": "custom_tool_call_output", "call_id": "p", "output": "apply_patch verification failed" });
    let ends = |bench: &Bench| bench.reports.iter().filter(|report| matches!(report, Report::TurnEnded { .. })).count();
    begin(&mut bench, "u1");
    bench.complete("u1", "completed");
    assert_eq!(bench.last(READ)["params"], json!({ "path": "/r", "from": 100, "turnId": "u1" }));
    assert_eq!(ends(&bench), 0, "the calls come first");
    bench.reply(READ, &json!({ "end": 150, "items": [&call, &output, &call, &output] }));
    assert_eq!(ends(&bench), 1);
    let told: Vec<_> = calls(&bench.reports).into_iter().map(|(tool, result)| (tool, result.is_error)).collect();
    assert_eq!(told, [("Edit".to_owned(), true)], "once");
    let at = |wanted: fn(&Report) -> bool| bench.reports.iter().position(wanted);
    let result = at(|report| matches!(report, Report::Fact { event: Event::ToolResult(_), .. }));
    assert!(result < at(|report| matches!(report, Report::TurnEnded { .. })));
    // A file that cannot be read holds no turn, and what is known stays known.
    begin(&mut bench, "u2");
    bench.complete("u2", "completed");
    assert_eq!(bench.last(READ)["params"]["from"], 150);
    bench.refuse(READ, "no such file");
    assert_eq!(ends(&bench), 2);
}

#[test]
fn a_turn_that_is_over_without_its_file_ends_once() {
    let mut bench = resumed();
    begin(&mut bench, "u1");
    bench.complete("u1", "completed");
    let read = bench.last(READ);
    bench.order(&Order::Interrupt { turn_id: None });
    bench.refuse("turn/interrupt", "no active turn to interrupt");
    let call = json!({ "type": "function_call", "call_id": "n", "name": "weave", "arguments": "{}" });
    let output = json!({ "type": "function_call_output", "call_id": "n", "output": "unsupported call: weave" });
    bench.hear(&json!({ "id": read["id"], "result": { "end": 150, "items": [call, output] } }));
    let ends = bench.reports.iter().filter(|report| matches!(report, Report::TurnEnded { .. })).count();
    assert_eq!((ends, calls(&bench.reports).len()), (1, 0), "it is too late for its calls");
}

#[test]
fn what_a_search_looks_for_is_its_input() {
    let mut bench = Bench::ready(json!({}));
    begin(&mut bench, "u1");
    let search = |query: &str| json!({ "type": "webSearch", "id": "s", "query": query, "results": [{ "title": "Looms", "url": "http://l" }] });
    item(&mut bench, "item/started", &search(""));
    item(&mut bench, "item/completed", &search("looms"));
    let input = bench.reports.iter().find_map(|report| match report {
        Report::Fact { event: Event::ToolStart(start), .. } => start.input.clone(),
        _ => None,
    });
    assert_eq!(input, Some(json!({ "query": "looms" })));
    assert_eq!(calls(&bench.reports)[0].1.output, "Looms http://l");
}

/// Every name of a block or a call.
fn names(reports: &[Report]) -> Vec<String> {
    let name = |report: &Report| match report {
        Report::Fact { event: Event::ToolStart(start), .. } => Some(start.tool_use_id.to_string()),
        Report::Fact { event: Event::Delta(delta), .. } if !delta.done => Some(delta.block_id.to_string()),
        _ => None,
    };
    reports.iter().filter_map(name).collect()
}

#[test]
fn names_that_are_counted_do_not_come_again_in_a_later_turn() {
    let mut bench = Bench::ready(json!({}));
    let long = "call_0123456789abcdef0123456789";
    for turn in ["u1", "u2"] {
        begin(&mut bench, turn);
        for id in ["call_0", long] {
            let command =
                json!({ "type": "commandExecution", "id": id, "command": "ls", "status": "completed", "exitCode": 0 });
            bench.tell("item/completed", &json!({ "threadId": "t", "turnId": turn, "item": command }));
        }
        bench.complete(turn, "completed");
    }
    assert_eq!(names(&bench.reports), ["u1:call_0", long, "u2:call_0", long]);

    // `codex exec` counts from 0 in every process, also in that of another daemon.
    let opening = Opening {
        session_id: SessionId::trusted("s"),
        cwd: None,
        model: None,
        mode: None,
        system_prompt: None,
        anchor: None,
        beginning: Beginning::Fresh,
        params: Value::Null,
        state: serde_json::Value::Null,
        epoch: 1,
        host_tools: Vec::new(),
    };
    let mut said = Vec::new();
    for turn in ["turn-1", "turn-2", "turn-3"] {
        let (mut exec, mut out) = (ExecProtocol::default(), Output::default());
        exec.open(&opening, &mut out);
        let message = Prompt {
            message_id: MessageId::trusted("m"),
            content: vec![Part::Text { text: "hello".into() }],
            origin: crate::event::Origin::User,
        };
        exec.order(&Order::Prompt { turn_id: TurnId::trusted(turn), messages: vec![message] }, &mut out);
        for item in [
            json!({ "type": "command_execution", "id": "item_0", "command": "ls", "status": "completed", "exit_code": 0 }),
            json!({ "type": "agent_message", "id": "item_1", "text": "done" }),
        ] {
            let line = json!({ "type": "item.completed", "item": item }).to_string();
            exec.line(Line::Text(line.as_bytes()), &mut out);
        }
        said.extend(names(&out.reports));
    }
    let mut known = said.clone();
    known.sort();
    known.dedup();
    assert_eq!(known.len(), said.len(), "{said:?}");
}

#[test]
fn messages_about_progress_are_lines() {
    let mut bench = Bench::ready(json!({}));
    begin(&mut bench, "u1");
    let call = json!({ "type": "mcpToolCall", "id": "m", "server": "loom", "tool": "slow", "status": "inProgress", "arguments": {} });
    item(&mut bench, "item/started", &call);
    for message in ["step 1", "step 2\n"] {
        let progress = json!({ "threadId": "t", "turnId": "u1", "itemId": "m", "message": message });
        bench.tell("item/mcpToolCall/progress", &progress);
    }
    let texts = bench.reports.iter().filter_map(|report| match report {
        Report::Fact { event: Event::ToolProgress(progress), .. } => progress.text.clone(),
        _ => None,
    });
    assert_eq!(texts.collect::<String>(), "step 1\nstep 2\n");
}
