use std::sync::Arc;

use serde_json::{Value, json};

use crate::command::{Answer, Command, Reply};
use crate::component::Rules;
use crate::event::{Judged, Outcome};
use crate::id::{AskId, IdSource, SessionId, ToolUseId};
use crate::policy::{Effect as Ruling, Judgement};
use crate::runtime::{Capabilities, HostCall, HostFile, Order, Report};
use crate::session::clients::tests::{ABLE, Bench};
use crate::session::{Input, Limits, Machine, Setup, State};

fn bench_with(params: Value, hold_ms: Option<i64>) -> Bench {
    let setup = Setup {
        session_id: SessionId::trusted("s"),
        runtime: "fake".into(),
        params,
        capabilities: Capabilities { steer: true, ..ABLE },
        limits: Limits { hold_ms, ..Limits::default() },
        ids: IdSource::seeded(1),
        components: Arc::new(Rules::default()),
        budgets: std::sync::Arc::default(),
        delegation: crate::delegation::Rules::default(),
    };
    let mut bench = Bench::of(Machine::new(setup, State::default()));
    bench.turn();
    bench
}

fn bench() -> Bench {
    bench_with(json!({}), None)
}

fn host_call(name: &str, input: Value) -> HostCall {
    HostCall {
        key: format!("key of {name}"),
        name: name.to_owned(),
        input,
        tool_use_id: Some(ToolUseId::trusted("call")),
        ..HostCall::default()
    }
}

impl Bench {
    fn host(&mut self, call: HostCall) -> Option<(String, bool)> {
        self.orders.clear();
        self.input(Input::Report(Report::HostCall(Box::new(call))));
        self.result_of_host()
    }

    fn result_of_host(&self) -> Option<(String, bool)> {
        self.orders.iter().find_map(|order| match order {
            Order::HostResult { output, is_error, .. } => Some((output.clone(), *is_error)),
            _ => None,
        })
    }

    /// What a call gave.
    #[track_caller]
    fn gives(&mut self, name: &str, input: Value) -> Value {
        let (output, is_error) = self.host(host_call(name, input)).expect("a result at once");
        assert!(!is_error, "{output}");
        serde_json::from_str(&output).expect("JSON")
    }

    /// Why a call gave nothing; it changed nothing either.
    #[track_caller]
    fn refuses(&mut self, name: &str, input: Value) -> String {
        let facts = self.log.len();
        let (output, is_error) = self.host(host_call(name, input)).expect("a result at once");
        assert!(is_error, "{output}");
        assert_eq!(self.log.len(), facts, "a refused call is no fact");
        output
    }

    fn waits(&mut self, name: &str, input: Value) -> AskId {
        assert_eq!(self.host(host_call(name, input)), None, "it waits");
        self.open_ask()
    }

    fn open_ask(&self) -> AskId {
        self.machine.state().summary().asks.last().expect("an ask").ask_id.clone()
    }

    fn answer(&mut self, ask_id: &AskId, answer: Answer) {
        self.orders.clear();
        let answered = self.command(Command::Answer { ask_id: ask_id.clone(), answer });
        assert!(matches!(answered, Ok(Reply::Resolved { .. })), "{answered:?}");
    }

    fn json_result(&self) -> Value {
        serde_json::from_str(&self.result_of_host().expect("a result").0).expect("JSON")
    }
}

#[test]
fn a_component_is_shown_changed_and_removed() {
    let mut bench = bench();
    let chart = json!({ "name": "chart", "props": { "type": "bar", "data": [1] } });
    assert_eq!(bench.gives("render_component", chart.clone()), json!({ "component_id": "chart-1", "surface": "chat" }));
    let (kind, fact) = bench.last();
    assert_eq!((kind, &fact["tool_use_id"], &fact["status"]), ("component_update", &json!("call"), &json!("ready")));
    assert_eq!(bench.gives("render_component", chart)["component_id"], "chart-2");
    let moved = json!({ "component_id": "chart-1", "props": { "data": [2] }, "mode": "append", "surface": "canvas" });
    assert_eq!(bench.gives("update_component", moved), json!({ "component_id": "chart-1", "surface": "canvas" }));
    assert_eq!(bench.last().1["tool_use_id"], Value::Null, "its row stays");
    let status = json!({ "component_id": "chart-1", "status": "error", "error": "it broke" });
    bench.gives("update_component", status);
    assert_eq!(bench.last().1["mode"], "shallow", "what is not said of the props leaves them");
    // Some models write JSON into a text.
    let text = json!({ "component_id": "chart-1", "patch": "[{\"op\":\"add\",\"path\":\"/data/-\",\"value\":3}]", "status": "ready" });
    bench.gives("update_component", text);
    let loading = json!({ "name": "table", "component_id": "t", "status": "loading", "surface": null });
    bench.gives("render_component", loading);
    assert_eq!(bench.gives("remove_component", json!({ "component_id": "t" })), json!({ "removed": true }));
    assert_eq!(bench.gives("remove_component", json!({ "component_id": "t" })), json!({ "removed": false }));
}

#[test]
fn a_component_that_shows_the_state_lets_people_change_it() {
    let mut bench = bench();
    bench.gives("render_component", json!({ "name": "plan_editor", "component_id": "plan", "bind": "/plan" }));
    assert_eq!(bench.last().1["bind"], json!({ "pointer": "/plan", "as": "steps", "edits": true }));
    bench.gives("render_component", json!({ "name": "plan_editor", "component_id": "plan", "props": { "steps": [] } }));
    assert_eq!(bench.log[bench.log.len() - 2].event.kind(), "component_remove", "it shows the state no more");
}

#[test]
fn what_cannot_be_shown_is_refused_with_a_reason_to_act_on() {
    let mut bench = bench();
    bench.gives(
        "render_component",
        json!({ "name": "chart", "component_id": "c", "props": { "type": "bar", "data": [1] } }),
    );
    let why = |bench: &mut Bench, input: Value| bench.refuses("render_component", input);
    for (input, reason) in [
        (json!({}), "missing field `name`"),
        (json!({ "name": "pie" }), "there is no component \"pie\"; there are weather, chart"),
        (
            json!({ "name": "chart", "props": { "type": "bar", "data": 1 } }),
            "props do not fit chart: /data: must be array, not number; the schema is {",
        ),
        (json!({ "name": "chart", "props": { "data": [] } }), "`type` is missing"),
        (json!({ "name": "chart", "props": { "type": "bar", "data": [], "title": 1 } }), "/title"),
        (json!({ "name": "json", "props": [1] }), "does not fit"),
        (json!({ "name": "json", "surface": "top" }), "unknown variant `top`"),
        (json!({ "name": "json", "component_id": "a b" }), "cannot be a component_id"),
        (json!({ "name": "json", "status": "error" }), "loading or ready"),
        (json!({ "name": "json", "bind": "plan" }), "begins with `/`"),
        (json!({ "name": "json", "props": { "value": "x".repeat(300_000) } }), "larger than"),
    ] {
        let said = why(&mut bench, input.clone());
        assert!(said.contains(reason), "{input}: {said}");
    }
    for (input, reason) in [
        (json!({ "props": {} }), "missing field `component_id`"),
        (json!({ "component_id": "x", "props": {} }), "there is no component \"x\"; shown are: c (chart)"),
        (json!({ "component_id": "c" }), "say what to change"),
        (json!({ "component_id": "c", "props": {}, "patch": [] }), "not both"),
        (json!({ "component_id": "c", "mode": "patch" }), "say what to change"),
        (json!({ "component_id": "c", "mode": "patch", "props": {} }), "needs a patch"),
        (json!({ "component_id": "c", "props": { "data": 7 } }), "props do not fit chart: /data"),
        (
            json!({ "component_id": "c", "patch": [{ "op": "add", "path": "/title", "value": "t" }, { "op": "remove", "path": "/no" }] }),
            "operation 2 of the patch",
        ),
    ] {
        let said = bench.refuses("update_component", input.clone());
        assert!(said.contains(reason), "{input}: {said}");
    }
    bench.refuses("remove_component", json!({}));
}

#[test]
fn only_what_is_offered_is_served_and_only_in_a_turn() {
    let mut bench = bench_with(json!({ "host_tools": ["get_state", "ask"] }), None);
    let said = bench.refuses("render_component", json!({ "name": "json" }));
    assert!(said.contains("does not offer render_component; it offers ask_user, get_state"), "{said}");
    assert!(bench.refuses("rm", json!({})).contains("does not offer"));
    bench.gives("get_state", json!({}));
    bench.input(Input::Report(Report::TurnEnded { outcome: Outcome::Completed, reason: None, failure: None }));
    assert_eq!(bench.refuses("get_state", json!({})), "no turn is running");
}

#[test]
fn a_question_is_answered_dismissed_or_withdrawn() {
    let mut bench = bench();
    assert!(bench.refuses("ask_user", json!({ "question": " " })).contains("must say something"));
    let ask = json!({ "question": "Which?", "options": ["a", "b"] });
    let ask_id = bench.waits("ask_user", ask.clone());
    let fact = bench.log.iter().rev().find(|fact| fact.event.kind() == "question_request").unwrap().event.data();
    assert_eq!((&fact["covers"], &fact["tool_use_id"]), (&json!("call"), &json!("call")));
    bench.answer(&ask_id, Answer::Question { answers: Some(vec![vec!["a".into()]]) });
    assert_eq!(bench.result_of_host(), Some(("a".to_owned(), false)));
    let ask_id = bench.waits("ask_user", ask.clone());
    bench.answer(&ask_id, Answer::Question { answers: None });
    assert_eq!(bench.result_of_host(), Some(("The person did not answer.".to_owned(), true)));
    // As an older version of the tool had it.
    let several =
        json!({ "questions": [{ "question": "A?" }, { "question": "B?", "options": [{ "label": "x" }] }, {}] });
    let ask_id = bench.waits("ask_user", several);
    bench.answer(&ask_id, Answer::Question { answers: Some(vec![vec!["1".into()], vec!["x".into()]]) });
    assert_eq!(bench.result_of_host(), Some(("A?: 1\nB?: x".to_owned(), false)));
    bench.waits("ask_user", ask);
    bench.orders.clear();
    bench.input(Input::Report(Report::TurnEnded { outcome: Outcome::Completed, reason: None, failure: None }));
    assert_eq!(bench.result_of_host(), Some(("no answer: the turn ended".to_owned(), true)));
}

#[test]
fn a_wait_is_an_ask_with_a_value_that_is_checked() {
    let mut bench = bench();
    for (input, reason) in [
        (json!({}), "give `name` and `props`"),
        (json!({ "name": "pie" }), "there is no component"),
        (json!({ "name": "approval" }), "`action` is missing"),
        (json!({ "name": "json", "props": { "value": 1 } }), "nobody can answer with json"),
        (json!({ "component_id": "c" }), "there is no component \"c\"; shown are: none"),
        (json!({ "ask_id": "ask_x" }), "there is no ask ask_x"),
    ] {
        let said = bench.refuses("wait_for_user", input.clone());
        assert!(said.contains(reason), "{input}: {said}");
    }
    let approval = json!({ "name": "approval", "props": { "action": "Publish" } });
    let ask_id = bench.waits("wait_for_user", approval.clone());
    let wrong =
        bench.command(Command::Answer { ask_id: ask_id.clone(), answer: Answer::Interrupt { value: json!(1) } });
    assert!(wrong.is_err());
    let value = json!({ "choice": "approve", "approved": true });
    bench.answer(&ask_id, Answer::Interrupt { value: value.clone() });
    assert_eq!(bench.json_result(), json!({ "status": "answered", "value": value, "by": "tester" }));
    // Who asks again has the answer again.
    assert_eq!(bench.gives("wait_for_user", json!({ "ask_id": ask_id }))["value"], value);
    // The call is taken back: nothing waits, and nobody is told.
    bench.waits("wait_for_user", approval.clone());
    bench.orders.clear();
    let withdrawn = Report::AskWithdrawn { key: "key of wait_for_user".into(), reason: "never mind".into() };
    bench.input(Input::Report(withdrawn));
    assert_eq!((bench.result_of_host(), bench.machine.state().summary().asks.len()), (None, 0));
    bench.waits("wait_for_user", approval);
    bench.orders.clear();
    bench.input(Input::Report(Report::TurnEnded { outcome: Outcome::Completed, reason: None, failure: None }));
    assert_eq!(bench.json_result(), json!({ "status": "withdrawn", "reason": "the turn ended" }));
}

#[test]
fn a_shown_component_answers_with_what_was_pressed() {
    let mut bench = bench();
    bench.gives(
        "render_component",
        json!({ "name": "json", "component_id": "j", "props": { "actions": [{ "action": "go", "label": "Go" }] } }),
    );
    bench.waits("wait_for_user", json!({ "component_id": "j", "actions": ["go"] }));
    bench.orders.clear();
    let callback = crate::command::Callback {
        component_id: "j".into(),
        action: "go".into(),
        payload: json!(3),
        callback_id: None,
    };
    bench.command(Command::CallBack(callback)).unwrap();
    assert_eq!(bench.json_result()["value"], json!({ "action": "go", "payload": 3 }));
}

#[test]
fn a_call_that_is_held_for_long_goes_on_later() {
    let mut bench = bench_with(json!({}), Some(1_000));
    let approval = json!({ "name": "approval", "props": { "action": "Publish" } });
    let ask_id = bench.waits("wait_for_user", approval);
    bench.now = bench.now.plus_millis(1_000);
    assert_eq!(bench.machine.next_deadline(), Some(bench.now));
    bench.orders.clear();
    bench.input(Input::Tick);
    assert_eq!(bench.json_result(), json!({ "status": "pending", "ask_id": ask_id }));
    assert_eq!(bench.open_ask(), ask_id, "what it waits for is still there");
    bench.waits("wait_for_user", json!({ "ask_id": ask_id }));
    assert!(bench.refuses("wait_for_user", json!({ "ask_id": ask_id })).contains("another call waits"));
    bench.now = bench.now.plus_millis(1_000);
    bench.input(Input::Tick);
    // It is answered while nobody waits, and the next who asks has the answer.
    let value = json!({ "choice": "reject", "approved": false });
    bench.answer(&ask_id, Answer::Interrupt { value: value.clone() });
    assert_eq!(bench.result_of_host(), None);
    assert_eq!(bench.gives("wait_for_user", json!({ "ask_id": ask_id }))["value"], value);
}

#[test]
fn a_wait_that_was_lost_is_asked_again() {
    let mut bench = bench();
    let ask_id = bench
        .waits("wait_for_user", json!({ "name": "approval", "surface": "overlay", "props": { "action": "Publish" } }));
    bench.input(Input::Exited { exit_code: None, description: "gone".into() });
    let mut state = State::default();
    bench.log.iter().for_each(|fact| state.apply(fact));
    assert_eq!(state, *bench.machine.state(), "it is a fold");
    bench.turn();
    let again = bench.waits("wait_for_user", json!({ "ask_id": ask_id }));
    assert_ne!(again, ask_id);
    let fact = bench.log.iter().rev().find(|fact| fact.event.kind() == "interrupt").unwrap().event.data();
    assert_eq!((&fact["props"]["action"], &fact["surface"]), (&json!("Publish"), &json!("overlay")));
}

#[test]
fn the_state_is_read_and_patched() {
    let mut bench = bench();
    assert_eq!(bench.gives("get_state", json!({}))["state"], json!({}));
    let patch = json!({ "patch": [{ "op": "add", "path": "/rows", "value": [1, 2] }] });
    let seq = bench.gives("patch_state", patch.clone())["seq"].clone();
    assert_eq!(bench.last().1, json!({ "patch": patch["patch"], "by": "agent" }));
    assert_eq!(bench.gives("get_state", json!({ "pointer": "/rows/1" })), json!({ "state": 2, "seq": seq }));
    assert!(bench.orders.iter().all(|order| !matches!(order, Order::State { .. })), "it knows what it did");
    assert!(
        bench.refuses("get_state", json!({ "pointer": "/no" })).contains("leads nowhere in the state; it has rows")
    );
    let failing = json!({ "patch": [{ "op": "add", "path": "/x", "value": 1 }, { "op": "remove", "path": "/no" }] });
    assert!(bench.refuses("patch_state", failing).contains("operation 2"));
    assert!(bench.refuses("patch_state", json!({})).contains("not a JSON Patch"));
    let large = json!({ "patch": [{ "op": "add", "path": "/large", "value": "x".repeat(70_000) }] });
    bench.gives("patch_state", large);
    assert!(bench.refuses("get_state", json!({})).contains("read a part of it"));
}

#[test]
fn an_artifact_gets_versions() {
    let mut bench = bench();
    let first = bench.gives("publish_artifact", json!({ "title": "Report", "content": "# One" }));
    assert_eq!(first, json!({ "artifact_id": "artifact-1", "version": 1 }));
    assert_eq!(bench.last().1["media_type"], "text/markdown");
    let next = json!({ "title": "Report", "content": "# Two", "artifact_id": "artifact-1", "label": "checked" });
    assert_eq!(bench.gives("publish_artifact", next)["version"], 2);
    assert_eq!(
        bench.last(),
        ("artifact_version", json!({ "artifact_id": "artifact-1", "version": 2, "label": "checked" }))
    );
    let mut call = host_call("publish_artifact", json!({ "title": "Picture", "path": "p.png" }));
    call.file = Some(HostFile::Content(b"\x89PNG\xff".to_vec()));
    let (_, is_error) = bench.host(call).unwrap();
    assert!(!is_error);
    let fact = bench.last().1;
    assert_eq!(
        (&fact["media_type"], &fact["content"], &fact["path"]),
        (&json!("image/png"), &Value::Null, &json!("p.png"))
    );
    assert_eq!(fact["blob"]["size"], 5);
    for (input, reason) in [
        (json!({ "content": "x" }), "missing field `title`"),
        (json!({ "title": " ", "content": "x" }), "must say something"),
        (json!({ "title": "t" }), "give content, or the path"),
        (json!({ "title": "t", "content": "x", "path": "y" }), "not both"),
        (json!({ "title": "t", "path": "y" }), "cannot be read here"),
        (json!({ "title": "t", "content": "x", "media_type": "no" }), "no media type"),
        (json!({ "title": "t", "content": "x", "artifact_id": "a b" }), "cannot be an artifact_id"),
        (json!({ "title": "t", "content": "x".repeat(20 * 1024 * 1024 + 1) }), "at most"),
    ] {
        let said = bench.refuses("publish_artifact", input);
        assert!(said.contains(reason), "{said}");
    }
    let mut call = host_call("publish_artifact", json!({ "title": "t", "path": "../y" }));
    call.file = Some(HostFile::Unreadable("it is elsewhere".into()));
    assert_eq!(bench.host(call), Some(("it is elsewhere".to_owned(), true)));
}

#[test]
fn what_rules_forbid_to_read_is_not_published() {
    let mut bench = bench();
    let call = host_call("publish_artifact", json!({ "title": "t", "path": ".env" }));
    let report = Report::HostCall(Box::new(call.clone()));
    let to_judge = bench.machine.to_judge(&report).expect("it reads a file");
    assert_eq!((to_judge.tool, &to_judge.input["path"]), ("publish_artifact", &json!(".env")));
    assert_eq!(bench.machine.wanted_file(&report), Some(".env"));
    let plain = Report::HostCall(Box::new(host_call("publish_artifact", json!({ "title": "t", "content": "x" }))));
    assert!(bench.machine.to_judge(&plain).is_none() && bench.machine.wanted_file(&plain).is_none());
    for (effect, words) in [
        (Some(Ruling::Deny), "a rule forbids to read this file: secret"),
        (Some(Ruling::Ask), "read it with a tool of your own"),
    ] {
        bench.orders.clear();
        let judged = Judged { rule: "user/env".into(), reason: "secret".into(), ..Judged::default() };
        let judgement = Judgement { effect, judged, expiry: None, offers: Vec::new() };
        bench.input(Input::Judged { report: Report::HostCall(Box::new(call.clone())), judgement });
        let (said, is_error) = bench.result_of_host().unwrap();
        assert!(is_error && said.contains(words), "{said}");
        assert_eq!(bench.last().0, "tool_decided");
    }
    assert_eq!(bench.count("artifact_created"), 0);
}
