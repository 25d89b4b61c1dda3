mod components;

use std::collections::HashMap;

use proptest::prelude::*;
use serde_json::{Value, json};

use self::components::check_components;
use super::{Fold, Op, Ops, Part, Window, merge};
use crate::event::{Envelope, Event};
use crate::id::{Seq, SessionId, SubagentId, TurnId};
use crate::projection::{Muted as _, Projection as _};
use crate::session::State;
use crate::session::simulation::{self, VecLog};
use crate::time::Timestamp;

const ALL: Window = Window { messages: usize::MAX, before: None, content: true };
/// As streams send it.
const STREAMED: Window = Window { content: false, ..ALL };

impl Fold {
    /// Takes the next event and says what it changed.
    fn step(&mut self, envelope: &Envelope) -> Vec<Op> {
        let mut ops = Ops::default();
        self.apply(envelope, &mut ops);
        ops.take()
    }
}

/// Events in few words: type, data, and the turn they belong to.
fn log(events: &[(&str, Value)]) -> Vec<Envelope> {
    let mut turn = None;
    let mut log = Vec::new();
    for (seq, (kind, data)) in (1..).zip(events) {
        if *kind == "turn_started" || *kind == "user_message" {
            turn = Some(TurnId::trusted(data["turn"].as_str().unwrap_or("t1")));
        }
        let subagent_id = data["by"].as_str().map(SubagentId::trusted);
        log.push(Envelope {
            seq: Seq(seq),
            ts: Timestamp::from_millis(i64::try_from(seq).unwrap() * 1000),
            session_id: SessionId::trusted("s"),
            turn_id: turn.clone().filter(|_| data["between"].is_null()),
            subagent_id,
            event: Event::from_value(kind, data),
        });
        if *kind == "done" {
            turn = None;
        }
    }
    log
}

fn view(events: &[(&str, Value)]) -> Value {
    let mut fold = Fold::default();
    for envelope in log(events) {
        fold.step(&envelope);
    }
    json!(fold.snapshot(&ALL))
}

fn user(text: &str) -> (&'static str, Value) {
    (
        "user_message",
        json!({ "message_id": format!("m-{text}"), "content": [{ "type": "text", "text": text }], "origin": "user" }),
    )
}

fn started() -> (&'static str, Value) {
    ("turn_started", json!({ "message_ids": [], "origin": "user" }))
}

fn delta(block: &str, text: &str) -> (&'static str, Value) {
    ("delta", json!({ "block_id": block, "text": text }))
}

fn done() -> (&'static str, Value) {
    ("done", json!({ "outcome": "completed" }))
}

fn tool(id: &str) -> (&'static str, Value) {
    ("tool_start", json!({ "tool_use_id": id, "tool": "Bash", "command": "ls" }))
}

fn result(id: &str, output: &str) -> (&'static str, Value) {
    ("tool_result", json!({ "tool_use_id": id, "output": output, "is_error": false }))
}

#[test]
fn text_is_joined_with_a_blank_line_where_something_stood_between() {
    for (events, content) in [
        (vec![delta("a", "one "), delta("a", "two")], "one two"),
        (vec![delta("a", "one"), tool("t"), result("t", ""), delta("b", "two")], "one\n\ntwo"),
        (vec![delta("a", "one\n"), tool("t"), delta("b", "two")], "one\ntwo"),
        (vec![delta("a", "one"), delta("b", "two")], "onetwo"),
        (vec![delta("a", "one"), tool("t"), delta("b", "two"), delta("a", " more")], "one more\n\ntwo"),
        (vec![delta("a", "one"), tool("t"), delta("b", "two"), ("retracted", json!({ "block_id": "b" }))], "one"),
    ] {
        let view = view(&[vec![user("hi"), started()], events].concat());
        assert_eq!(view["messages"][1]["content"], content);
    }
}

#[test]
fn a_result_finds_its_call_in_any_order() {
    let early = view(&[user("x"), started(), result("t", "out"), tool("t"), done()]);
    let late = view(&[user("x"), started(), tool("t"), result("t", "out"), done()]);
    for view in [&early, &late] {
        let block = &view["messages"][1]["blocks"][0];
        assert_eq!(
            (&block["status"], &block["output"], &block["summary"]),
            (&json!("done"), &json!("out"), &json!("ls"))
        );
    }
}

#[test]
fn a_decision_finds_its_call_in_any_order_and_a_permission_says_what_was_judged() {
    let judged = json!({
        "effect": "ask", "rule": "implement/default", "scope": "mode", "reason": "run with --token=hunter2",
        "input_sha256": "", "parts": [],
    });
    let decided = || ("tool_decided", json!({ "tool_use_id": "t", "tool": "Bash", "judged": judged }));
    let early = view(&[user("x"), started(), decided(), tool("t"), result("t", ""), done()]);
    let late = view(&[user("x"), started(), tool("t"), decided(), result("t", ""), done()]);
    let expected = json!({
        "effect": "ask", "rule": "implement/default", "scope": "mode", "reason": "run with --token=••••",
    });
    for view in [&early, &late] {
        assert_eq!(view["messages"][1]["blocks"][0]["decision"], expected);
    }
    // One whose call never came is forgotten with its turn.
    let again = view(&[user("x"), started(), decided(), done(), user("y"), started(), tool("t"), done()]);
    assert_eq!(again["messages"][2]["blocks"][0]["decision"], Value::Null);
    let option = json!({ "reply": "always", "label": "Always", "rule": "effect = \"allow\"", "scope": "project" });
    let request =
        json!({ "ask_id": "a", "tool_name": "Bash", "tool_input": {}, "options": [option], "judged": judged });
    let asked = view(&[user("x"), started(), ("permission_request", request)]);
    let block = &asked["messages"][1]["blocks"][0];
    assert_eq!((&block["judged"]["rule"], &block["options"][0]["scope"]), (&judged["rule"], &json!("project")));
}

#[test]
fn a_final_text_is_not_said_twice() {
    let said = ("result", json!({ "text": "hello" }));
    let streamed = view(&[user("x"), started(), delta("a", "hello"), said.clone(), done()]);
    assert_eq!(streamed["messages"][1]["blocks"].as_array().unwrap().len(), 1);
    let only_final = view(&[user("x"), started(), said, done()]);
    assert_eq!(only_final["messages"][1]["content"], "hello");
}

#[test]
fn a_message_in_the_middle_closes_what_the_agent_was_saying() {
    let view = view(&[user("x"), started(), delta("a", "one"), user("steer"), delta("b", "two"), done()]);
    let roles: Vec<_> = view["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|m| (m["role"].as_str().unwrap(), m["done"].as_bool().unwrap()))
        .collect();
    assert_eq!(roles, [("user", true), ("agent", true), ("user", true), ("agent", true)]);
}

#[test]
fn a_sub_agents_work_is_inside_it() {
    let view = view(&[
        user("x"),
        started(),
        ("subagent_started", json!({ "subagent_id": "s1", "name": "Explorer" })),
        ("tool_start", json!({ "tool_use_id": "t", "tool": "Grep", "pattern": "x", "by": "s1" })),
        ("subagent_started", json!({ "subagent_id": "s2", "name": "Inner", "parent_subagent_id": "s1" })),
        ("delta", json!({ "block_id": "b", "text": "deep", "by": "s2" })),
        ("subagent_ended", json!({ "subagent_id": "s2", "status": "completed", "tool_calls": 0, "file_changes": 0 })),
        delta("a", "outside"),
    ]);
    let outer = &view["messages"][1]["blocks"][0];
    assert_eq!((&outer["kind"], &outer["tool_calls"]), (&json!("subagent"), &json!(1)));
    assert_eq!(outer["blocks"][0]["kind"], "tool");
    assert_eq!(
        (&outer["blocks"][1]["status"], &outer["blocks"][1]["blocks"][0]["text"]),
        (&json!("completed"), &json!("deep"))
    );
    assert_eq!(view["messages"][1]["content"], "outside");
}

#[test]
fn an_ask_waits_and_is_settled() {
    let ask = ("permission_request", json!({ "ask_id": "a", "tool_name": "Bash", "tool_input": {}, "options": [] }));
    let answer = (
        "permission_resolved",
        json!({ "ask_id": "a", "tool_name": "Bash", "allowed": true, "reply": "once", "by": "web" }),
    );
    let waiting = view(&[user("x"), started(), ask.clone()]);
    assert_eq!(waiting["asks"][0]["ask_id"], "a");
    assert_eq!(waiting["messages"][1]["blocks"][0]["state"], "pending");
    let settled = view(&[user("x"), started(), ask, answer]);
    assert_eq!(settled["asks"], json!([]));
    let block = &settled["messages"][1]["blocks"][0];
    assert_eq!((&block["state"], &block["by"]), (&json!("allowed"), &json!("web")));
}

#[test]
fn what_was_rolled_back_is_hidden_and_what_was_interrupted_is_marked() {
    let view = view(&[
        user("x"),
        started(),
        delta("a", "gone"),
        done(),
        ("rollback", json!({ "turn_ids": ["t1"], "files_restored": false, "between": true })),
        ("user_message", json!({ "message_id": "m2", "content": [], "origin": "user", "turn": "t2" })),
        ("turn_started", json!({ "message_ids": [], "origin": "user", "turn": "t2" })),
        ("delta", json!({ "block_id": "b", "text": "half" })),
        ("delta", json!({ "block_id": "b", "text": "", "done": true, "interrupted": true })),
        ("done", json!({ "outcome": "interrupted" })),
    ]);
    let messages = view["messages"].as_array().unwrap();
    assert_eq!(messages.len(), 2);
    assert_eq!(
        (&messages[1]["outcome"], &messages[1]["blocks"][0]["interrupted"]),
        (&json!("interrupted"), &json!(true))
    );
}

#[test]
fn what_is_not_known_is_shown_as_such() {
    let view = view(&[user("x"), started(), ("hologram", json!({ "depth": 3 }))]);
    let block = &view["messages"][1]["blocks"][0];
    assert_eq!(
        (&block["kind"], &block["type"], &block["data"]["depth"]),
        (&json!("unknown"), &json!("hologram"), &json!(3))
    );
}

#[test]
fn a_window_says_where_the_older_ones_are() {
    let mut fold = Fold::default();
    let events: Vec<_> = (0..10).flat_map(|n| [user(&n.to_string()), started(), done()]).collect();
    for envelope in log(&events) {
        fold.step(&envelope);
    }
    let ids = |view: &Value| -> Vec<String> {
        view["messages"].as_array().unwrap().iter().map(|m| m["id"].as_str().unwrap().to_owned()).collect()
    };
    let newest = json!(fold.snapshot(&Window { messages: 4, ..Window::default() }));
    assert_eq!(ids(&newest).len(), 4);
    let older =
        json!(fold.snapshot(&Window { messages: 100, before: newest["before"].as_str().map(str::to_owned), ..ALL }));
    assert_eq!(ids(&older).len(), 16);
    assert!(older.get("before").is_none());
    assert_eq!([ids(&older), ids(&newest)].concat(), ids(&json!(fold.snapshot(&ALL))));
}

/// What a client does, which knows JSON and nothing else.
fn apply_as_a_client(view: &mut Value, op: &Value) {
    let path: Vec<&str> = op["path"].as_array().unwrap().iter().map(|id| id.as_str().unwrap()).collect();
    let (parents, last) = match (op["op"].as_str().unwrap(), path.split_last()) {
        ("remove", Some((last, parents))) => (parents, Some(*last)),
        _ => (path.as_slice(), None),
    };
    let mut node = view;
    let mut children_of = "messages";
    for id in parents {
        if *id == super::COMPONENTS {
            children_of = "components";
            continue;
        }
        let children = node[children_of].as_array_mut().unwrap();
        let Some(child) = children.iter_mut().rev().find(|child| id_of(child) == *id) else { return };
        (node, children_of) = (child, "blocks");
    }
    match op["op"].as_str().unwrap() {
        "append" => {
            let field = op["field"].as_str().unwrap();
            let text = format!("{}{}", node[field].as_str().unwrap_or_default(), op["text"].as_str().unwrap());
            node[field] = json!(text);
        }
        "set" => {
            for (name, value) in op["fields"].as_object().unwrap() {
                if value.is_null() {
                    node.as_object_mut().unwrap().remove(name);
                } else {
                    node[name] = value.clone();
                }
            }
        }
        "insert" => node[children_of].as_array_mut().unwrap().push(op["node"].clone()),
        "remove" => {
            node[children_of].as_array_mut().unwrap().retain(|child| Some(id_of(child)) != last);
        }
        other => panic!("unknown change {other}"),
    }
}

fn id_of(child: &Value) -> &str {
    child["id"].as_str().or_else(|| child["component_id"].as_str()).unwrap()
}

/// From every cut: the snapshot there and the changes after it are the snapshot at the end, merged or not; and so is what was stored there, brought
/// forward.
fn check_cuts(log: &[Envelope], cuts: impl Iterator<Item = usize>) {
    let (mut fold, mut unheard) = (Fold::default(), Fold::default());
    let mut steps: Vec<Vec<Op>> = Vec::new();
    let mut snapshots = vec![json!(fold.snapshot(&STREAMED))];
    let mut stored = vec![Stored::of(&mut fold)];
    let mut state = State::default();
    for envelope in log {
        steps.push(fold.step(envelope));
        let snapshot = json!(fold.snapshot(&STREAMED));
        state.apply(envelope);
        let title = snapshot["session"]["title"].as_str().unwrap_or_default();
        assert_eq!(title, state.summary().title, "a session has one name, here and in a list");
        check_components(envelope, &snapshot);
        snapshots.push(snapshot);
        stored.push(Stored::of(&mut fold));
        unheard.apply(envelope, &mut Ops::muted());
    }
    let last = snapshots.last().unwrap();
    assert_eq!(json!(unheard.snapshot(&STREAMED)), *last, "whether anybody listens makes no difference");
    for cut in cuts {
        for ops in [steps[cut..].concat(), merge(steps[cut..].concat())] {
            let mut held = snapshots[cut].clone();
            for op in ops {
                apply_as_a_client(&mut held, &serde_json::to_value(&op).unwrap());
            }
            held["seq"] = last["seq"].clone();
            assert_eq!(held, *last, "from {cut}");
        }
        let mut loaded = stored[cut].load();
        for envelope in &log[cut..] {
            stored[cut].restore(&mut loaded, |fold| fold.missing_for(envelope));
            loaded.apply(envelope, &mut Ops::muted());
        }
        stored[cut].restore(&mut loaded, |fold| fold.missing_in(&STREAMED).or_else(|| fold.missing_files()));
        assert_eq!(json!(loaded.snapshot(&STREAMED)), *last, "stored at {cut}");
        assert_eq!(Stored::of(&mut loaded), *stored.last().unwrap(), "stored at {cut} and again");
    }
}

/// What a store holds of a view.
#[derive(Debug, PartialEq)]
struct Stored(HashMap<Part, (Seq, String)>);

impl Stored {
    fn of(fold: &mut Fold) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let parts = fold.parts().into_iter();
        Self(parts.map(|(part, at)| (part, (at, text(fold.store(part).expect("all is loaded"))))).collect())
    }

    fn load(&self) -> Fold {
        Fold::load(self.0[&Part::Head].1.as_bytes()).unwrap()
    }

    /// Reads what is missing.
    fn restore(&self, fold: &mut Fold, missing: impl Fn(&Fold) -> Option<Part>) {
        while let Some(part) = missing(fold) {
            let (at, bytes) = &self.0[&part];
            fold.restore(part, *at, bytes.as_bytes()).unwrap();
        }
    }
}

/// Logs that the simulator made: lawful ones, of everything that can happen.
#[test]
fn changes_from_any_cut_give_the_same_view_on_simulated_logs() {
    #[derive(Default)]
    struct Kept(VecLog, std::rc::Rc<std::cell::RefCell<Vec<Envelope>>>);
    impl simulation::SimulatedLog for Kept {
        fn append(&mut self, head: Seq, records: Vec<crate::event::Record>, summary: &crate::summary::Summary) {
            self.1.borrow_mut().extend(records.iter().map(|record| Envelope::decode(&record.json).unwrap()));
            self.0.append(head, records, summary);
        }

        fn read(&mut self) -> Vec<crate::event::Record> {
            self.0.read()
        }
    }
    for seed in 0..60 {
        let kept = Kept::default();
        let log = std::rc::Rc::clone(&kept.1);
        simulation::run(seed, 60, kept);
        let log = log.borrow();
        check_cuts(&log, (0..=log.len()).step_by(7));
    }
}

proptest! {
    /// Logs that no machine would write: any events in any order.
    #[test]
    fn changes_from_any_cut_give_the_same_view_on_any_log(events in proptest::collection::vec(any_event(), 0..40)) {
        let log = log(&events);
        check_cuts(&log, 0..=log.len());
    }
}

fn any_event() -> impl Strategy<Value = (&'static str, Value)> {
    let id = prop_oneof![Just("a"), Just("b"), Just("c")];
    let text = prop_oneof![Just(""), Just("x"), Just("line\n"), Just("wörd ")];
    let by = prop_oneof![3 => Just(Value::Null), 1 => Just(json!("a")), 1 => Just(json!("b"))];
    let pointer = prop_oneof![Just(""), Just("/a"), Just("/b")];
    (0..24usize, id, text, by, any::<bool>(), pointer).prop_map(|(kind, id, text, by, flag, pointer)| match kind {
        0 => user(id),
        1 => started(),
        2 => done(),
        3..=5 => ("delta", json!({ "block_id": id, "text": text, "done": flag, "by": by })),
        6 => ("thinking", json!({ "block_id": id, "text": text, "done": flag, "by": by })),
        7 => ("retracted", json!({ "block_id": id })),
        8 => ("tool_start", json!({ "tool_use_id": id, "tool": "Read", "by": by })),
        9 => ("tool_result", json!({ "tool_use_id": id, "output": text, "is_error": flag, "by": by })),
        10 => ("tool_progress", json!({ "tool_use_id": id, "text": text, "fraction": 0.5 })),
        11 => ("subagent_started", json!({ "subagent_id": id, "name": "n", "parent_subagent_id": by })),
        12 => ("subagent_ended", json!({ "subagent_id": id, "status": "completed", "tool_calls": 1, "file_changes": 0 })),
        13 => ("component_update", json!({ "component_id": id, "name": "C", "surface": if flag { "chat" } else { "panel" }, "props": { text: 1 }, "merge": flag })),
        14 if flag => ("component_update", json!({
            "component_id": id, "name": "C", "surface": if text.is_empty() { "chat" } else { "sidebar" }, "props": {}, "merge": true,
            "status": "loading", "bind": { "pointer": pointer },
        })),
        14 => ("component_remove", json!({ "component_id": id })),
        16 => ("tool_start", json!({
            "tool_use_id": id, "tool": "Read", "input": { "text": text }, "by": by,
            "component": { "component_id": if flag { "a" } else { id }, "name": "C", "surface": if text.is_empty() { "panel" } else { "chat" }, "result": "merge" },
        })),
        17 => ("state_snapshot", json!({ "state": if flag { json!({ "a": text, "b": [1] }) } else { Value::Null } })),
        18 => ("state_delta", json!({ "patch": [{ "op": "add", "path": format!("/{id}"), "value": if flag { json!({ "x": text }) } else { Value::Null } }], "by": "agent" })),
        19 => ("interrupt", json!({
            "interrupt_id": id, "component_name": "C", "props": {}, "surface": if flag { "overlay" } else { "chat" },
            "component_id": if text.is_empty() { json!("b") } else { Value::Null },
        })),
        20 => ("interrupt_resolved", json!({ "interrupt_id": id, "value": 1, "by": "web" })),
        21 => ("done", json!({ "outcome": "failed" })),
        15 => ("artifact_created", json!({ "artifact_id": id, "title": "T", "media_type": "text/plain" })),
        _ => ("rollback", json!({ "turn_ids": ["t1"], "files_restored": false })),
    })
}

/// What real agents said.
#[test]
fn changes_from_any_cut_give_the_same_view_on_recorded_logs() {
    use crate::replay::{brief, play};
    // The mock makes its own logs, in the tests above.
    for (runtime, fresh) in crate::runtime::RECORDED.iter().filter(|(runtime, _)| *runtime != "mock") {
        for path in brief::recordings(runtime) {
            let log = play(fresh().as_mut(), &brief::entries(&path));
            check_cuts(&log, 0..=log.len());
        }
    }
}

#[test]
fn a_step_that_was_begun_is_not_being_done_when_its_turn_is_over() {
    let plan = json!({ "steps": [{ "text": "a", "status": "done" }, { "text": "b", "status": "running" }] });
    let stopped = ("done", json!({ "outcome": "stopped", "stopped": true }));
    let view = view(&[user("go"), started(), ("plan_updated", plan), stopped]);
    assert_eq!(view["plan"]["steps"][1]["status"], "unfinished");
    assert_eq!(view["messages"][1]["blocks"][0]["steps"][1]["status"], "unfinished");
    assert_eq!(view["plan"]["steps"][0]["status"], "done");
}

#[test]
fn an_ask_that_nobody_answered_was_not_rejected() {
    let asked = ("permission_request", json!({ "ask_id": "a", "tool_name": "Bash", "tool_input": {}, "options": [] }));
    let resolved = |by: &str, unanswered: Value| {
        let data = json!({
            "ask_id": "a", "tool_name": "Bash", "allowed": false, "reply": "reject", "by": by, "reason": "the daemon ended",
            "unanswered": unanswered,
        });
        ("permission_resolved", data)
    };
    let state = |by, unanswered| {
        let view = view(&[user("go"), started(), asked.clone(), resolved(by, unanswered)]);
        let block = &view["messages"][1]["blocks"][0];
        (block["state"].clone(), block["unanswered"].clone())
    };
    assert_eq!(state("turnloom", json!("stopped")), (json!("withdrawn"), json!("stopped")));
    assert_eq!(state("ann", Value::Null), (json!("rejected"), Value::Null));
    assert_eq!(state("turnloom", json!("expired")), (json!("rejected"), json!("expired")), "its rule said how it ends");
    // Logs from before there was a word for it.
    assert_eq!(state("turnloom", Value::Null), (json!("withdrawn"), json!("interrupted")));
    let question = (
        "question_request",
        json!({ "ask_id": "q", "questions": [{ "prompt": "?", "options": [], "multiple": false, "free_text": true }] }),
    );
    let refused = ("question_resolved", json!({ "ask_id": "q", "rejected": true, "by": "turnloom" }));
    let view = view(&[user("go"), started(), question, refused]);
    assert_eq!(view["messages"][1]["blocks"][0]["state"], "withdrawn");
}

#[test]
fn a_fork_names_where_it_comes_from() {
    let forked = ("forked", json!({ "from_session": "ses_1", "from_title": "Weave", "at_seq": 1, "between": true }));
    let note = &view(&[forked])["messages"][0]["blocks"][0];
    assert_eq!((&note["label"], &note["session_id"]), (&json!("Forked from Weave"), &json!("ses_1")));
}

#[test]
fn the_files_of_the_whole_session_are_told_with_every_window() {
    let edit = |id: &str, hunk: &str| {
        let diff = format!("--- a/a\n+++ b/a\n{hunk}");
        ("tool_result", json!({ "tool_use_id": id, "output": "", "is_error": false, "diff": diff }))
    };
    let mut events = vec![user("go"), started(), tool("1"), edit("1", "@@ -1,1 +1,1 @@\n-x\n+y\n"), done()];
    events.extend([user("more"), started(), tool("2"), edit("2", "@@ -1,1 +1,2 @@\n y\n+z\n"), done()]);
    let mut fold = Fold::default();
    for envelope in &log(&events) {
        drop(fold.step(envelope));
    }
    let newest = json!(fold.snapshot(&Window { messages: 1, ..Window::default() }));
    assert_eq!(newest["files"], json!([{ "path": "a", "kind": "modified", "added": 2, "removed": 1 }]));
    assert_eq!(
        fold.changes().unwrap().file("a").map(|file| file.diff).unwrap(),
        "--- a/a\n+++ b/a\n@@ -1,1 +1,2 @@\n-x\n+y\n+z\n"
    );
}

#[test]
fn sub_agents_that_start_each_other_without_end_stand_side_by_side() {
    let started = |n: usize| {
        let parent = n.checked_sub(1).map(|parent| format!("a{parent}"));
        ("subagent_started", json!({ "subagent_id": format!("a{n}"), "name": "weaver", "parent_subagent_id": parent }))
    };
    let mut events = vec![user("go"), self::started()];
    events.extend((0..3_000).map(started));
    let mut fold = Fold::default();
    for envelope in log(&events) {
        fold.step(&envelope);
    }
    let json = serde_json::to_vec(&fold.snapshot(&ALL)).unwrap();
    assert!(crate::nesting::text_fits(&json, 64), "a view can be read by any parser");
    let found = String::from_utf8(json).unwrap().matches("\"subagent_id\":\"a").count();
    assert_eq!(found, 3_000, "none of them is lost");
}

/// Whoever changes what the fold makes of a log, or how it is stored, has to raise `Fold::VERSION`, and to write the new hash here.
#[test]
fn what_is_stored_belongs_to_its_version() {
    let sample = include_str!("../session/stored/sample.jsonl");
    let (mut fold, mut stored) = (Fold::default(), Vec::new());
    for line in sample.lines() {
        fold.apply(&Envelope::decode(line.as_bytes()).unwrap(), &mut Ops::muted());
        for (part, _) in fold.parts() {
            stored.extend(fold.store(part).unwrap());
        }
    }
    let hash = crate::blob::BlobId::of(&stored).to_string();
    assert_eq!((Fold::VERSION, hash.as_str()), (4, "3eaf5d2949670c33ed173cff3a349a16a245ab1613951f1f950bfb57dd9f3bd3"));
}
