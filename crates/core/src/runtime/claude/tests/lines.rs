//! Single lines of the program, and what is made of them.

use serde_json::{Value, json};

use crate::event::{CompactionTrigger, Event, Part, WorkStatus};
use crate::id::{MessageId, SessionId, TurnId};
use crate::runtime::claude::{ClaudeProtocol, Options};
use crate::runtime::{Beginning, Line, Opening, Order, Output, OutputFile, Prompt, Protocol as _, Report};

/// A program that has answered the handshake.
pub(super) struct Bench(pub(super) ClaudeProtocol);

pub(super) fn opening(params: Value) -> Opening {
    Opening {
        session_id: SessionId::trusted("s"),
        cwd: None,
        model: None,
        mode: None,
        system_prompt: None,
        beginning: Beginning::Fresh,
        anchor: None,
        params,
        state: serde_json::Value::Null,
        epoch: 1,
        host_tools: Vec::new(),
    }
}

impl Bench {
    pub(super) fn new() -> Self {
        let (new_conversation, conversations) = ("conversation".to_owned(), "/c/projects".to_owned());
        let options = Options { new_conversation, conversations, ..Options::default() };
        let mut bench = Self(ClaudeProtocol::new(options));
        bench.0.open(&opening(json!({})), &mut Output::default());
        let response = json!({ "subtype": "success", "request_id": "turnloom-1", "response": {} });
        bench.says(&json!({ "type": "control_response", "response": response }));
        bench
    }

    pub(super) fn says(&mut self, line: &Value) -> Vec<Report> {
        let mut out = Output::default();
        self.0.line(Line::Text(line.to_string().as_bytes()), &mut out);
        out.reports
    }

    /// What it says about itself.
    pub(super) fn system(&mut self, subtype: &str, mut line: Value) -> Vec<Report> {
        line["type"] = "system".into();
        line["subtype"] = subtype.into();
        self.says(&line)
    }

    pub(super) fn prompt(&mut self, text: &str) {
        let content = vec![Part::Text { text: text.to_owned() }];
        let messages =
            vec![Prompt { message_id: MessageId::trusted("m"), content, origin: crate::event::Origin::User }];
        self.0.order(&Order::Prompt { turn_id: TurnId::trusted("t"), messages }, &mut Output::default());
        self.system("init", json!({ "session_id": "conversation" }));
    }

    pub(super) fn calls(&mut self, tool: &str, input: &Value) {
        let block = json!({ "type": "tool_use", "id": "call", "name": tool, "input": input });
        self.says(&json!({ "type": "assistant", "message": { "id": "a", "content": [block] } }));
    }

    pub(super) fn returns(&mut self, content: &Value, structure: &Value) -> Vec<Report> {
        let block = json!({ "type": "tool_result", "tool_use_id": "call", "content": content });
        self.says(&json!({ "type": "user", "message": { "content": [block] }, "tool_use_result": structure }))
    }

    pub(super) fn ends(&mut self, mut result: Value) -> Vec<Report> {
        result["type"] = "result".into();
        self.says(&result)
    }
}

pub(super) fn events(reports: &[Report]) -> Vec<&Event> {
    let event = |report| match report {
        &Report::Fact { ref event, .. } | &Report::FactWithOutputFile { ref event, .. } => Some(event),
        _ => None,
    };
    reports.iter().filter_map(event).collect()
}

pub(super) fn kinds(reports: &[Report]) -> Vec<&str> {
    events(reports).into_iter().map(Event::kind).collect()
}

/// What the only result of a call says.
fn output_of(reports: &[Report]) -> &str {
    let output = events(reports).into_iter().find_map(|event| match event {
        Event::ToolResult(result) => Some(result.output.as_str()),
        _ => None,
    });
    output.unwrap_or_else(|| panic!("no result: {reports:?}"))
}

fn code_of(reports: &[Report]) -> String {
    let code = reports.iter().find_map(|report| match report {
        Report::TurnEnded { failure, .. } => failure.as_ref().map(|failure| failure.code.clone()),
        _ => None,
    });
    code.unwrap_or_else(|| panic!("no failure: {reports:?}"))
}

#[test]
fn thinking_that_was_stopped_is_kept_half_written() {
    let mut bench = Bench::new();
    bench.prompt("think");
    let stream = |event: Value| json!({ "type": "stream_event", "event": event });
    bench.says(&stream(json!({ "type": "message_start", "message": { "id": "msg" } })));
    bench.says(&stream(json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "thinking" } })));
    let delta = json!({ "type": "thinking_delta", "thinking": "hm" });
    bench.says(&stream(json!({ "type": "content_block_delta", "index": 0, "delta": delta })));
    bench.0.order(&Order::Interrupt { turn_id: None }, &mut Output::default());
    let mut end = stream(json!({ "type": "message_stop" }));
    end["abandoned_blocks"] = json!({ "api_message_id": "msg", "from_block_index": 0 });
    let mut said = bench.says(&end);
    said.extend(bench.ends(json!({ "is_error": true, "terminal_reason": "aborted_streaming" })));
    assert!(!kinds(&said).contains(&"retracted"), "{said:?}");
}

#[test]
fn a_compaction_that_a_person_typed_is_a_persons_and_may_fail() {
    let mut bench = Bench::new();
    bench.prompt("/compact the warp");
    let begun = bench.system("status", json!({ "status": "compacting" }));
    assert!(
        matches!(events(&begun)[..], [Event::CompactionStart(start)] if start.trigger == CompactionTrigger::Manual)
    );
    let failed = json!({ "status": null, "compact_result": "failed", "compact_error": "no room" });
    assert_eq!(kinds(&bench.system("status", failed)), ["compaction_end"]);
    assert_eq!(
        code_of(&bench.ends(json!({ "is_error": false, "result": "Error during compaction" }))),
        "compaction_failed"
    );
    // One that the agent began by itself does not fail the turn.
    bench.prompt("go on");
    bench.system("status", json!({ "status": "compacting" }));
    bench.system("status", json!({ "status": null, "compact_result": "failed" }));
    let ended = bench.ends(json!({ "is_error": false, "result": "done" }));
    assert!(ended.iter().any(|report| matches!(report, Report::TurnEnded { failure: None, .. })), "{ended:?}");
}

#[test]
fn what_was_not_done_changes_no_plan() {
    let mut bench = Bench::new();
    bench.prompt("plan");
    let todo = json!({ "todos": [{ "content": "Weave", "status": "in_progress" }] });
    let task = json!({ "task": { "id": "1", "subject": "Weave" } });
    let update = json!({ "taskId": "1", "status": "completed" });
    let cron = json!({ "cron": "0 9 * * *", "prompt": "look" });
    let calls = [
        ("TodoWrite", &todo, json!({}), "plan_updated"),
        ("TaskCreate", &json!({ "subject": "Weave" }), task, "plan_updated"),
        ("TaskUpdate", &update, json!({ "success": true }), "plan_updated"),
        ("CronCreate", &cron, json!({ "id": "c" }), "background_started"),
    ];
    for (tool, input, structure, change) in calls {
        bench.calls(tool, input);
        let block = json!({ "type": "tool_result", "tool_use_id": "call", "content": "no", "is_error": true });
        let failed = json!({ "type": "user", "message": { "content": [block] }, "tool_use_result": structure });
        assert_eq!(kinds(&bench.says(&failed)), ["tool_result"], "{tool}");
        bench.calls(tool, input);
        assert_eq!(kinds(&bench.returns(&json!("ok"), &structure)), ["tool_result", change], "{tool}");
    }
    bench.calls("TaskUpdate", &update);
    let refused = bench.returns(&json!("Task not found"), &json!({ "success": false }));
    assert_eq!(kinds(&refused), ["tool_result"]);
}

#[test]
fn what_cost_nothing_costs_zero() {
    let mut bench = Bench::new();
    bench.prompt("hello");
    let ended = bench.ends(json!({ "result": "hi", "model_usage_since_last_result": {} }));
    let cost = events(&ended).into_iter().find_map(|event| match event {
        Event::Usage(usage) => usage.cost_usd,
        _ => None,
    });
    assert!(cost.is_some_and(|cost| cost == 0.0 && cost.is_sign_positive()), "{cost:?}");
}

#[test]
fn failures_have_codes_of_their_own() {
    let cases = [
        (
            json!({ "terminal_reason": "api_error", "stop_reason": "refusal", "result": "flagged" }),
            None,
            "refused_by_policy",
        ),
        (
            json!({ "terminal_reason": "api_error" }),
            Some(("max_output_tokens", "exceeded the 128000 output token maximum", None)),
            "output_limit",
        ),
        (
            json!({ "terminal_reason": "api_error" }),
            Some(("max_output_tokens", "The model has reached its context window limit.", None)),
            "context_too_long",
        ),
        (json!({ "terminal_reason": "prompt_too_long", "api_error_status": 400 }), None, "context_too_long"),
        (json!({ "terminal_reason": "image_error", "api_error_status": 413 }), None, "context_too_long"),
        (
            json!({ "terminal_reason": "api_error", "api_error_status": 400 }),
            Some(("unknown", "Output blocked by content filtering policy", Some(400))),
            "content_filtered",
        ),
        // In the middle of an answer there is no status any more.
        (
            json!({ "terminal_reason": "api_error", "api_error_type": "invalid_request_error" }),
            Some(("unknown", "API Error: Output blocked by content filtering policy", None)),
            "content_filtered",
        ),
        (
            json!({ "terminal_reason": "api_error" }),
            Some(("unknown", "Output blocked by content filtering policy", None)),
            "content_filtered",
        ),
        (
            json!({ "terminal_reason": "api_error", "api_error_type": "overloaded_error" }),
            Some(("unknown", "API Error: Overloaded", None)),
            "overloaded",
        ),
        (
            json!({ "terminal_reason": "api_error", "api_error_status": 404 }),
            Some(("model_not_found", "no such model", Some(404))),
            "model_not_found",
        ),
        (json!({ "terminal_reason": "api_error" }), Some(("unknown", "Connection error", None)), "connection_failed"),
        (json!({ "terminal_reason": "api_error" }), Some(("something_new", "?", None)), "agent_failed"),
    ];
    for (mut result, said, code) in cases {
        let mut bench = Bench::new();
        bench.prompt("go");
        if let Some((kind, text, status)) = said {
            let content = json!([{ "type": "text", "text": text }]);
            let line = json!({ "type": "assistant", "message": { "id": "e", "content": content }, "error": kind, "api_error_status": status });
            bench.says(&line);
        }
        result["is_error"] = true.into();
        assert_eq!(code_of(&bench.ends(result.clone())), code, "{result}");
    }
}

#[test]
fn a_refusal_and_a_notice_are_read() {
    let mut bench = Bench::new();
    bench.prompt("go");
    assert!(bench.system("model_refusal_no_fallback", json!({ "content": "" })).is_empty());
    let notice = bench.system("notification", json!({ "key": "k", "text": "Fast mode is off", "priority": "high" }));
    assert!(
        matches!(events(&notice)[..], [Event::EvidenceChanged(it)] if it.title == "Fast mode is off" && it.kind == "notice")
    );
    assert_eq!(code_of(&bench.ends(json!({ "is_error": true, "result": "no" }))), "refused_by_policy");
}

#[test]
fn a_command_that_comes_back_at_once_is_in_the_background_also_of_an_older_program() {
    let mut bench = Bench::new();
    bench.prompt("watch");
    bench.calls("Bash", &json!({ "command": "watch", "description": "Watch" }));
    let said =
        bench.returns(&"Command running in background".into(), &json!({ "stdout": "", "backgroundTaskId": "b1" }));
    assert_eq!(kinds(&said), ["background_started", "tool_result"]);
    assert_eq!(output_of(&said), "It works in the background.", "and nothing of what is meant for the model");
    let path = "/tmp/c/conversation/tasks/b1.output";
    let ended = json!({ "task_id": "b1", "status": "failed", "output_file": path, "summary": "\"Watch\" failed with exit code 7" });
    let said = bench.system("task_notification", ended);
    let [Report::FactWithOutputFile { file, event: Event::BackgroundEnded(ended), .. }] = &said[..] else {
        panic!("{said:?}")
    };
    assert!(matches!(&**file, OutputFile::Whole { path: kept, .. } if kept == path), "{file:?}");
    assert_eq!((ended.exit_code, ended.status), (Some(7), WorkStatus::Failed));
}

#[test]
fn a_call_that_was_moved_to_the_background_has_its_result() {
    let mut bench = Bench::new();
    bench.prompt("weave");
    bench.calls("mcp__loom__slow", &json!({}));
    let task = json!({ "task_id": "k1", "task_type": "mcp_task", "tool_use_id": "call", "description": "loom/slow" });
    assert_eq!(kinds(&bench.system("task_started", task)), ["background_started"]);
    let words = "MCP tool \"loom/slow\" is still running after 2s. To stop it, use TaskStop with task_id \"k1\".";
    let said = bench.returns(&json!([{ "type": "text", "text": words }]), &Value::Null);
    assert_eq!(output_of(&said), "It works in the background.");
    let path = "/tmp/c/conversation/tasks/k1.output";
    let end = json!({ "task_id": "k1", "status": "completed", "output_file": path, "summary": "loom/slow" });
    let said = bench.system("task_notification", end);
    let [Report::FactWithOutputFile { file, event: Event::BackgroundEnded(_), .. }] = &said[..] else {
        panic!("{said:?}")
    };
    let OutputFile::Entry(entry) = &**file else { panic!("{file:?}") };
    assert_eq!((entry.below.as_str(), entry.file.as_str()), ("/c/projects", "conversation.jsonl"));
    let notice = |task: &str, result: &str| {
        let text = format!(
            "<task-notification>\n<task-id>{task}</task-id>\n<result>\n{result}\n</result>\n</task-notification>"
        );
        json!({ "type": "queue-operation", "operation": "enqueue", "content": text }).to_string()
    };
    let read = |line: &str| (entry.read)(entry, line).map(|said| (said.text, said.whole_in));
    assert_eq!(read(&notice("k1", "five rows\nwoven")), Some(("five rows\nwoven".to_owned(), None)));
    assert_eq!(read(&notice("k2", "k1")), None, "another task's");
    assert_eq!(read("{ k1 <task-notification>"), None);
    let saved = "/c/projects/-p/conversation/tool-results/x.txt";
    let large = format!(
        "Error: result (9 characters) exceeds maximum allowed tokens. Output has been saved to {saved}.\nFormat"
    );
    assert_eq!(read(&notice("k1", &large)).unwrap().1.as_deref(), Some(saved));
    // The program keeps a picture twice, and says so twice.
    let kept = |path: &str| format!("[image result] Binary content (image/png, 70 bytes) saved to {path}");
    let own = "/c/projects/-p/conversation/tool-results/a.png";
    let source = "[Image: source: /c/projects/-p/conversation/tool-results/b.png]";
    let others = kept("/home/user/secret.png");
    let said = (entry.read)(entry, &notice("k1", &format!("one\n{}\n{source}\n{others}", kept(own)))).unwrap();
    assert_eq!(said.text, format!("one\n[image]\n{others}"));
    assert_eq!(said.pictures, [own], "what is not the program's own is not read");
}

#[test]
fn a_turn_that_was_never_begun_leaves_the_conversation_where_it_was() {
    let anchors = |said: &[Report]| -> Vec<String> {
        let anchor = |report: &Report| match report {
            Report::Anchor(anchor) => Some(anchor.clone()),
            _ => None,
        };
        said.iter().filter_map(anchor).collect()
    };
    let lifecycle =
        |state: &str, uuid: &str| json!({ "type": "command_lifecycle", "command_uuid": uuid, "state": state });
    let ours = "0e3bd9c1-7a51-4bd6-a1c7-4c8f3b1f7a10";
    let order = Order::Prompt {
        turn_id: TurnId::trusted("t"),
        messages: vec![Prompt {
            message_id: MessageId::trusted(ours),
            content: Vec::new(),
            origin: crate::event::Origin::User,
        }],
    };
    let mut bench = Bench::new();
    bench.prompt("hello");
    let text = json!({ "type": "text", "text": "hi" });
    bench.says(&json!({ "type": "assistant", "uuid": "said", "message": { "id": "a", "content": [text] } }));
    assert_eq!(anchors(&bench.ends(json!({ "result": "hi" }))), ["said"]);
    bench.0.order(&order, &mut Output::default());
    bench.says(&lifecycle("queued", ours));
    assert_eq!(anchors(&bench.says(&lifecycle("cancelled", ours))), ["said"], "it has no entry for that message");
    // One that was begun is an entry, also if nothing more comes of it.
    bench.0.order(&order, &mut Output::default());
    bench.says(&lifecycle("queued", ours));
    bench.says(&lifecycle("started", ours));
    assert_eq!(anchors(&bench.ends(json!({ "is_error": true, "terminal_reason": "aborted_streaming" }))), [ours]);
}

#[test]
fn what_is_no_longer_listed_has_ended() {
    let mut bench = Bench::new();
    bench.prompt("watch");
    bench.system("task_started", json!({ "task_id": "b1", "task_type": "local_bash", "is_backgrounded": true }));
    bench.system("task_started", json!({ "task_id": "a1", "task_type": "local_agent", "is_backgrounded": true }));
    bench.system("task_started", json!({ "task_id": "f1", "task_type": "local_agent", "is_backgrounded": false }));
    let listed = bench.system("background_tasks_changed", json!({ "tasks": [{ "task_id": "a1" }] }));
    assert_eq!(kinds(&listed), ["background_ended"]);
    assert_eq!(kinds(&bench.system("background_tasks_changed", json!({ "tasks": [] }))), ["subagent_ended"]);
}

#[test]
fn only_files_of_the_conversation_are_read() {
    for (path, own) in [
        ("/home/user/.claude/projects/-p/conversation/tool-results/x.txt", true),
        ("/tmp/claude-0/-p/conversation/tasks/b1.output", true),
        ("/tmp/claude-0/-p/another/tasks/b1.output", false),
        ("/tmp/conversation/tasks/../../../etc/passwd", false),
        ("/etc/passwd", false),
        ("conversation/tasks/x", false),
    ] {
        let mut bench = Bench::new();
        bench.prompt("look");
        bench.calls("mcp__loom__large", &json!({}));
        let text = format!(
            "Error: result (568,889 characters) exceeds maximum allowed tokens. Output has been saved to {path}.\nFormat: Plain text"
        );
        let said = bench.returns(&text.into(), &Value::Null);
        assert_eq!(matches!(said[0], Report::FactWithOutputFile { .. }), own, "{path}");
    }
}

#[test]
fn a_sub_agents_report_is_what_it_said() {
    let mut bench = Bench::new();
    bench.prompt("delegate");
    bench.calls("Agent", &json!({ "description": "Count" }));
    let text = |text: &str| json!({ "type": "text", "text": text });
    let structure = json!({ "status": "completed", "harnessNoteCount": 1, "harnessTailCount": 1,
        "content": [text("<tools-used-before-summary>Read</tools-used-before-summary>"), text("There are three."), text("<usage>1</usage>")] });
    let said = bench.returns(&json!([text("[Subagent hand-back] internal")]), &structure);
    assert!(
        matches!(events(&said)[..], [Event::ToolResult(result)] if result.output == "There are three."),
        "{said:?}"
    );
}

#[test]
fn what_a_search_found_is_its_output() {
    let mut bench = Bench::new();
    bench.prompt("search");
    bench.calls("WebSearch", &json!({ "query": "how many threads" }));
    let page = json!({ "title": "Looms", "url": "https://loom.example/" });
    let structure = json!({ "query": "how many threads", "results": ["Three, it says.", { "tool_use_id": "x", "content": [page] }] });
    let content = "Web search results for query: \"how many threads\"\n\nREMINDER: You MUST include the sources";
    let said = bench.returns(&content.into(), &structure);
    let [Event::ToolResult(result)] = events(&said)[..] else { panic!("{said:?}") };
    assert_eq!(result.output, "Three, it says.\nLooms https://loom.example/");
}

/// Who asks, for each ask in these reports.
fn askers(reports: &[Report]) -> Vec<Option<String>> {
    let asker = |report: &Report| match report {
        Report::Ask { subagent_id, .. } => Some(subagent_id.as_ref().map(ToString::to_string)),
        Report::HostCall(call) => Some(call.subagent_id.as_ref().map(ToString::to_string)),
        _ => None,
    };
    reports.iter().filter_map(asker).collect()
}

#[test]
fn a_question_of_a_sub_agent_says_who_asks() {
    let mut bench = Bench::new();
    bench.prompt("delegate");
    bench.calls("Task", &json!({ "prompt": "count" }));
    bench.system("task_started", json!({ "task_id": "a1", "task_type": "local_agent", "tool_use_id": "call" }));
    let calls = |bench: &mut Bench, id: &str, tool: &str| {
        let block = json!({ "type": "tool_use", "id": id, "name": tool, "input": {} });
        let message = json!({ "id": format!("m-{id}"), "content": [block] });
        bench.says(&json!({ "type": "assistant", "parent_tool_use_id": "call", "message": message }));
    };
    calls(&mut bench, "asks", "mcp__turnloom__ask_user");
    let params = json!({ "name": "ask_user", "arguments": { "question": "Which?" }, "_meta": { "claudecode/toolUseId": "asks" } });
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let request = json!({ "subtype": "mcp_message", "server_name": "turnloom", "message": message });
    let asked = bench.says(&json!({ "type": "control_request", "request_id": "r1", "request": request }));
    assert_eq!(askers(&asked), [Some("a1".to_owned())], "{asked:?}");
    // A form names only its server. Who asks is known while one call of it waits.
    let form = |bench: &mut Bench, id: &str| {
        let request = json!({ "subtype": "elicitation", "mcp_server_name": "loom", "message": "Which port?" });
        bench.says(&json!({ "type": "control_request", "request_id": id, "request": request }))
    };
    calls(&mut bench, "serves", "mcp__loom__serve");
    assert_eq!(askers(&form(&mut bench, "r2")), [Some("a1".to_owned())]);
    calls(&mut bench, "weaves", "mcp__loom__weave");
    assert_eq!(askers(&form(&mut bench, "r3")), [None]);
}

#[test]
fn messages_about_progress_are_lines() {
    let mut bench = Bench::new();
    bench.prompt("go");
    bench.calls("mcp__loom__slow", &json!({}));
    bench.system("task_started", json!({ "task_id": "k1", "task_type": "mcp_task", "tool_use_id": "call" }));
    let mut said = bench.system("task_progress", json!({ "task_id": "k1", "summary": "20% · step 1" }));
    said.extend(bench.system("task_progress", json!({ "task_id": "k1", "summary": "40% · step 2" })));
    for seconds in [2, 3] {
        said.extend(
            bench.says(&json!({ "type": "tool_progress", "tool_use_id": "call", "elapsed_time_seconds": seconds })),
        );
    }
    let texts = events(&said).into_iter().filter_map(|event| match event {
        Event::ToolProgress(progress) => progress.text.clone(),
        _ => None,
    });
    assert_eq!(texts.collect::<String>(), "step 1\nstep 2\nrunning for 2 s\nrunning for 3 s\n");
}
