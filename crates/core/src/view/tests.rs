use proptest::prelude::*;
use serde_json::{Value, json};

use super::tree::merge;
use super::{Fold, Node, Op, Window};
use crate::event::{Envelope, Event};
use crate::id::{Seq, SessionId, SubagentId, TurnId};
use crate::session::State;
use crate::session::simulation::{self, VecLog};
use crate::time::Timestamp;

const ALL: Window = Window { messages: usize::MAX, before: None };

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
    fold.snapshot(&ALL)
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
    let newest = fold.snapshot(&Window { messages: 4, before: None });
    assert_eq!(ids(&newest).len(), 4);
    let older = fold.snapshot(&Window { messages: 100, before: newest["before"].as_str().map(str::to_owned) });
    assert_eq!(ids(&older).len(), 16);
    assert!(older.get("before").is_none());
    assert_eq!([ids(&older), ids(&newest)].concat(), ids(&fold.snapshot(&ALL)));
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
        let children = node[children_of].as_array_mut().unwrap();
        let Some(child) = children.iter_mut().rev().find(|child| child["id"] == **id) else { return };
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
            node[children_of].as_array_mut().unwrap().retain(|child| Some(child["id"].as_str().unwrap()) != last);
        }
        other => panic!("unknown change {other}"),
    }
}

/// From every cut: the snapshot there and the changes after it are the snapshot at the end; merged or not.
fn check_cuts(log: &[Envelope], cuts: impl Iterator<Item = usize>) {
    let (mut fold, mut unheard) = (Fold::default(), Fold::default());
    let mut steps: Vec<Vec<Op>> = Vec::new();
    let mut snapshots = vec![fold.snapshot(&ALL)];
    let mut state = State::default();
    for envelope in log {
        steps.push(fold.step(envelope));
        let snapshot = fold.snapshot(&ALL);
        state.apply(envelope);
        let title = snapshot["session"]["title"].as_str().unwrap_or_default();
        assert_eq!(title, state.summary().title, "a session has one name, here and in a list");
        snapshots.push(snapshot);
        unheard.skip(envelope);
    }
    assert_eq!(unheard.snapshot(&ALL), fold.snapshot(&ALL), "whether anybody listens makes no difference");
    let last = snapshots.last().unwrap();
    for cut in cuts {
        let mut held = snapshots[cut].clone();
        let mut tree = Node::from_json(json!({ "blocks": snapshots[cut]["messages"] }));
        for op in merge(steps[cut..].concat()) {
            apply_as_a_client(&mut held, &serde_json::to_value(&op).unwrap());
            tree.apply(op);
        }
        held["seq"] = last["seq"].clone();
        assert_eq!(held, *last, "from {cut}");
        let messages: Value = tree.children.iter().map(Node::to_json).collect();
        assert_eq!(messages, last["messages"], "from {cut}");
    }
}

/// Logs that the simulator made: lawful ones, of everything that can happen.
#[test]
fn changes_from_any_cut_give_the_same_view_on_simulated_logs() {
    #[derive(Default)]
    struct Kept(VecLog, std::rc::Rc<std::cell::RefCell<Vec<Envelope>>>);
    impl simulation::SimulatedLog for Kept {
        fn append(&mut self, head: Seq, records: Vec<crate::event::Record>, summary: &crate::summary::Summary) {
            self.1.borrow_mut().extend(records.iter().map(|record| record.decode().unwrap()));
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
    (0..17usize, id, text, by, any::<bool>()).prop_map(|(kind, id, text, by, flag)| match kind {
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
        14 => ("component_remove", json!({ "component_id": id })),
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
