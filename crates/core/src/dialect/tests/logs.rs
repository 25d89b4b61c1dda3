//! Logs to try dialects on: the mock's scripts and the recordings of real agents played through the real machine, simulated ones, and the golden
//! sample.

use std::cell::RefCell;
use std::rc::Rc;

use serde_json::{Value, json};

use crate::event::{Envelope, Event, PermissionReply, Record};
use crate::id::{MessageId, Seq, SessionId, SubagentId, TurnId};
use crate::replay::{brief, play};
use crate::runtime::RECORDED;
use crate::runtime::mock::bench::Bench;
use crate::session::simulation::{self, SimulatedLog, VecLog};
use crate::summary::Summary;
use crate::time::Timestamp;

pub(crate) const SCRIPTS: &[&str] = &[
    "demo",
    "tool",
    "parallel",
    "parallel permission",
    "subagent permission",
    "status",
    "image",
    "permission",
    "permissions",
    "question",
    "questions",
    "unknown",
    "plan",
    "diff",
    "subagent",
    "background",
    "component",
    "components table",
    "weather",
    "research",
    "plan editor",
    "approval all",
    "mover",
    "bound",
    "buttons",
    "client get_weather",
    "interrupt",
    "state",
    "artifact",
    "compaction",
    "retract",
    "error",
    "end",
    "echo hello there",
    "stream 30 20",
    "big 50000",
    "crash",
    "garbage",
];

/// The log of a session in which these were said, one after the other, and everything asked was answered in this way.
pub(crate) fn played(prompts: &[&str], reply: PermissionReply) -> Vec<Envelope> {
    let mut bench = Bench::with(&json!({ "client_tools": [{ "name": "get_weather" }] }));
    bench.reply = reply;
    for prompt in prompts {
        bench.say(prompt);
        bench.play();
    }
    bench.log
}

/// What real agents said, with the name of each recording. The mock's are played instead.
pub(crate) fn recorded() -> Vec<(String, Vec<Envelope>)> {
    let agents = RECORDED.iter().filter(|(runtime, _)| *runtime != "mock");
    let recordings =
        agents.flat_map(|(runtime, fresh)| brief::recordings(runtime).into_iter().map(move |path| (path, fresh)));
    recordings.map(|(path, fresh)| (brief::name(&path), play(fresh().as_mut(), &brief::entries(&path)))).collect()
}

/// Says which log it was when something does not hold on it.
pub(crate) fn naming<T>(name: &str, check: impl FnOnce() -> T) -> T {
    struct Named<'a>(&'a str);
    impl Drop for Named<'_> {
        fn drop(&mut self) {
            if std::thread::panicking() {
                eprintln!("on the log {}", self.0);
            }
        }
    }
    let _named = Named(name);
    check()
}

/// The messages of a log, in their order.
pub(super) fn said(log: &[Envelope]) -> Vec<MessageId> {
    let said = log.iter().filter_map(|envelope| match &envelope.event {
        Event::UserMessage(message) => Some(message.message_id.clone()),
        _ => None,
    });
    said.collect()
}

/// A lawful log of anything that can happen.
pub(crate) fn simulated(seed: u64, steps: usize) -> Vec<Envelope> {
    #[derive(Default)]
    struct Kept(VecLog, Rc<RefCell<Vec<Envelope>>>);
    impl SimulatedLog for Kept {
        fn append(&mut self, head: Seq, records: Vec<Record>, summary: &Summary) {
            self.1.borrow_mut().extend(records.iter().map(|record| Envelope::decode(&record.json).unwrap()));
            self.0.append(head, records, summary);
        }

        fn read(&mut self) -> Vec<Record> {
            self.0.read()
        }
    }
    let kept = Kept::default();
    let log = Rc::clone(&kept.1);
    simulation::run(seed, steps, kept);
    log.take()
}

/// The golden sample: lines of one kind.
pub(super) fn golden(kind: &str) -> Vec<Value> {
    let text = include_str!("../../../../../tests/clients/golden/dialect-sample.jsonl");
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line["kind"] == kind).collect()
}

/// The golden sample's turn as our events.
pub(super) fn sample() -> Vec<Envelope> {
    let mut events: Vec<(&str, Value, Option<String>)> = Vec::new();
    for line in golden("normalised") {
        let event = &line["event"];
        let (id, text) = (&event["tool_id"], &event["text"]);
        let by = event["subagent_id"].as_str().map(str::to_owned);
        let mut put = |kind, data| events.push((kind, data, by.clone()));
        match event["type"].as_str().unwrap() {
            "session_ready" => put("session_ready", json!({ "runtime": "mock" })),
            "turn_started" => {
                let content = json!([{ "type": "text", "text": event["user"]["text"] }]);
                put("user_message", json!({ "message_id": "u1", "content": content, "origin": "user" }));
                put("turn_started", json!({ "message_ids": ["u1"], "origin": "user" }));
            }
            kind @ ("thinking" | "delta") => {
                if let Some(by) = event["subagent_id"].as_str().filter(|_| text == "sub ") {
                    let started = json!({ "subagent_id": by, "name": "subagent", "parent_tool_use_id": "c4" });
                    events.push(("subagent_started", started, None));
                }
                let kind = if kind == "delta" { "delta" } else { "thinking" };
                events.push((kind, json!({ "block_id": event["block"], "text": text }), by.clone()));
            }
            "tool_start" => {
                put("tool_start", json!({ "tool_use_id": id, "tool": event["name"], "input": event["input"] }));
            }
            "tool_progress" => put("tool_progress", json!({ "tool_use_id": id, "text": text })),
            "tool_result" => {
                if id == "c4" {
                    let ended =
                        json!({ "subagent_id": "s1", "status": "completed", "tool_calls": 1, "file_changes": 0 });
                    put("subagent_ended", ended);
                }
                let mut result = json!({ "tool_use_id": id, "output": event["output"], "is_error": event["is_error"] });
                if event["denied"] == true {
                    result["denied"] = json!(true);
                }
                put("tool_result", result);
            }
            "plan_updated" => put("plan_updated", json!({ "steps": [{ "text": "rm", "status": "pending" }] })),
            "permission_request" => put(
                "permission_request",
                json!({ "ask_id": event["request_id"], "tool_use_id": id, "tool_name": "Bash", "tool_input": {}, "title": event["title"], "options": [] }),
            ),
            "permission_resolved" => {
                let reply = if event["allowed"] == true { "once" } else { "reject" };
                put(
                    "permission_resolved",
                    json!({ "ask_id": event["request_id"], "tool_name": "Bash", "allowed": event["allowed"], "reply": reply, "by": "x" }),
                );
            }
            "state_snapshot" => put("state_snapshot", json!({ "state": event["state"] })),
            "state_delta" => put("state_delta", json!({ "patch": event["patch"], "by": "agent" })),
            "question_request" => {
                let options = json!([{ "label": "red" }, { "label": "blue" }]);
                let question =
                    json!({ "prompt": event["question"], "options": options, "multiple": false, "free_text": false });
                put("question_request", json!({ "ask_id": event["request_id"], "questions": [question] }));
            }
            "question_resolved" => put(
                "question_resolved",
                json!({ "ask_id": event["request_id"], "answers": [[event["answer"]]], "by": "x" }),
            ),
            "compaction_start" => put("compaction_start", json!({ "trigger": "auto" })),
            "compaction_end" => {
                put("compaction_end", json!({ "reason": "tokens", "tokens_before": 100, "tokens_after": 10 }));
            }
            "usage" => put("usage", json!({ "input_tokens": event["input"], "output_tokens": event["output"] })),
            "result" => put("result", json!({ "text": text })),
            "done" => put("done", json!({ "outcome": "completed" })),
            other => panic!("the sample has {other}"),
        }
    }
    let envelope = |(seq, (kind, data, by)): (u64, (&str, Value, Option<String>))| {
        let event = Event::from_value(kind, &data);
        assert!(!matches!(event, Event::Unknown(_)), "{kind} {data}");
        Envelope {
            seq: Seq(seq),
            ts: Timestamp::default(),
            session_id: SessionId::trusted("S1"),
            turn_id: (seq > 1).then(|| TurnId::trusted("T1")),
            subagent_id: by.map(SubagentId::trusted),
            event,
        }
    };
    (1..).zip(events).map(envelope).collect()
}

/// A small random generator.
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn seeded(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) fn below(&mut self, sides: u64) -> usize {
        self.0 = self.0.wrapping_add(1).wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % sides).unwrap()
    }
}
