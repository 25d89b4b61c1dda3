use serde_json::{Value, json};

use crate::command::{self, Answer, Callback, Command, Refusal, Reply};
use crate::component::{MAX_PAYLOAD_BYTES, Rules, StateRule};
use crate::event::{ComponentRemove, ComponentUpdate, Event, Interrupt, StateSnapshot, ToolResult, ToolStart};
use crate::id::{AskId, ToolUseId};
use crate::runtime::{AskRequest, Order, Report};
use crate::session::Input;
use crate::session::clients::tests::{ABLE, Bench, NOTHING};

/// A session whose parameters bring this.
fn bench(params: Value) -> Bench {
    Bench::with(ABLE, params, Rules::default())
}

impl Bench {
    /// What the agent says, as JSON.
    #[expect(clippy::needless_pass_by_value, reason = "written where it is said")]
    fn tells(&mut self, data: Value) {
        let event = Event::from_value("component_update", &data);
        self.input(Input::Report(Report::Fact { subagent_id: None, event }));
    }

    fn start(&mut self, tool: &str, input: Value) -> Value {
        let tool_use_id = ToolUseId::trusted(tool);
        self.says(ToolStart { tool_use_id, tool: tool.to_owned(), input: Some(input), ..ToolStart::default() });
        self.of_kind("tool_start")
    }

    fn end(&mut self, tool: &str, output: &str) -> Value {
        let tool_use_id = ToolUseId::trusted(tool);
        self.says(ToolResult { tool_use_id, output: output.to_owned(), ..ToolResult::default() });
        self.of_kind("tool_result")
    }

    /// The last fact of this kind.
    fn of_kind(&self, kind: &str) -> Value {
        let found = self.log.iter().rev().find(|envelope| envelope.event.kind() == kind);
        found.map(|envelope| envelope.event.data()).unwrap_or_default()
    }

    fn acts(&mut self, component_id: &str, action: &str, payload: Value) -> command::Outcome {
        self.acts_as(component_id, action, payload, None)
    }

    fn acts_as(&mut self, component_id: &str, action: &str, payload: Value, id: Option<&str>) -> command::Outcome {
        let (component_id, action) = (component_id.to_owned(), action.to_owned());
        let callback_id = id.map(str::to_owned);
        self.command(Command::CallBack(Callback { component_id, action, payload, callback_id }))
    }

    fn asks(&mut self, request: Interrupt) -> AskId {
        let request = AskRequest::Interrupt(request);
        self.input(Input::Report(Report::Ask { key: "key".into(), subagent_id: None, request }));
        AskId::trusted(self.of_kind("interrupt")["interrupt_id"].as_str().unwrap())
    }

    fn answers(&mut self, ask_id: &AskId, value: Value) -> command::Outcome {
        self.command(Command::Answer { ask_id: ask_id.clone(), answer: Answer::Interrupt { value } })
    }

    fn heard(&self) -> usize {
        self.orders.iter().filter(|order| matches!(order, Order::Callback(_))).count()
    }
}

#[test]
fn what_an_agent_leaves_out_is_what_stands() {
    let mut bench = bench(json!({}));
    bench.tells(
        json!({ "component_id": "c", "name": "chart", "surface": "panel", "props": { "data": [1] }, "merge": false }),
    );
    bench.tells(json!({ "component_id": "c", "mode": "append", "props": { "data": [2] } }));
    let fact = bench.of_kind("component_update");
    assert_eq!((&fact["name"], &fact["surface"], &fact["merge"]), (&json!("chart"), &json!("panel"), &json!(true)));
    bench.tells(json!({ "component_id": "other", "props": {} }));
    assert_eq!(bench.of_kind("agent_unparsed")["error"], "a component needs a `name`");
}

#[test]
fn what_is_over_a_bound_is_kept_as_unparsed_and_changes_nothing() {
    let mut bench = bench(json!({}));
    let update = |id: &str, props: Value| json!({ "component_id": id, "name": "chart", "surface": "chat", "props": props, "merge": false, "mode": "append" });
    bench.tells(update("c", json!({ "text": "x".repeat(200_000) })));
    let facts = bench.count("component_update");
    for (data, why) in [
        (update("c", json!({ "text": "x".repeat(100_000) })), "larger than"),
        (update("c@", json!({})), "id of a component"),
        (update("c", json!([])), "must be an object"),
        (json!({ "component_id": "c", "mode": "patch", "patch": [{ "op": "remove", "path": "/no" }] }), "does not fit"),
    ] {
        bench.tells(data);
        let error = bench.of_kind("agent_unparsed")["error"].as_str().unwrap().to_owned();
        assert!(error.contains(why), "{error}");
    }
    assert_eq!(bench.count("component_update"), facts);
    (1..100).for_each(|n| bench.tells(update(&format!("n{n}"), json!({}))));
    assert_eq!(bench.count("component_update"), facts + 99);
    bench.tells(update("one-more", json!({})));
    assert_eq!(bench.count("component_update"), facts + 99, "a hundred is enough");
    bench.tells(update("n1", json!({ "data": [1] })));
    assert_eq!(bench.count("component_update"), facts + 100, "those that are there may change");
}

#[test]
fn a_rule_is_written_into_the_call_and_never_read_again() {
    let rules = json!([{ "tool": "get_*", "component": "weather", "surface": "panel", "into": "data" }]);
    let mut bench = bench(json!({ "component_rules": rules }));
    bench.turn();
    let component = bench.start("get_weather", json!({ "city": "Ghent" }))["component"].clone();
    let expected = json!({
        "component_id": "get_weather-get_weather", "name": "weather", "surface": "panel", "result": "merge", "into": "data",
    });
    assert_eq!(component, expected);
    assert_eq!(bench.start("Bash", json!({}))["component"], Value::Null);
    let settings = json!({ "component_rules": [] }).as_object().unwrap().clone();
    bench.command(Command::Update(crate::command::Update { settings, ..Default::default() })).unwrap();
    assert_eq!(bench.start("get_time", json!({}))["component"], Value::Null, "as it is now");
    let wrong = json!({ "component_rules": [{ "tool": "x" }] }).as_object().unwrap().clone();
    let refused = bench.command(Command::Update(crate::command::Update { settings: wrong, ..Default::default() }));
    assert!(matches!(refused, Err(Refusal::Invalid(_))));
}

#[test]
fn what_a_component_needs_of_a_large_call_stays_in_the_facts() {
    let mut bench = bench(json!({ "component_rules": [{ "tool": "*", "component": "table", "into": "rows" }] }));
    bench.turn();
    let long = "x".repeat(40_000);
    let start = bench.start("find", json!({ "query": long }));
    assert_eq!(start["component"]["props"]["query"], long, "the input itself was cut");
    let found = json!([{ "name": long }]);
    assert_eq!(bench.end("find", &found.to_string())["props"], json!({ "rows": found }));
    bench.start("small", json!({}));
    assert_eq!(bench.end("small", "[1]")["props"], Value::Null, "the output has it");
    bench.start("huge", json!({}));
    assert_eq!(bench.end("huge", &json!(["x".repeat(300_000)]).to_string())["props"], Value::Null);
    let shown = bench.machine.state().components.get("huge-huge", &Value::Null).unwrap();
    assert_eq!(shown.error.as_deref(), Some("the result is too large to be shown here"));
}

#[test]
fn the_state_is_shown_by_one_fact() {
    let rule = StateRule {
        pointer: "/plan".into(),
        component: "plan_editor".into(),
        surface: None,
        id: Some("plan".into()),
        as_key: Some("steps".into()),
        edits: true,
    };
    let mut bench = Bench::with(NOTHING, json!({}), Rules { state: vec![rule], ..Rules::default() });
    bench.says(StateSnapshot { state: json!({ "other": 1 }) });
    assert_eq!(bench.count("component_update"), 0);
    bench.patch(json!([{ "op": "add", "path": "/plan", "value": ["a", "b"] }])).unwrap();
    let fact = bench.of_kind("component_update");
    let bind = json!({ "pointer": "/plan", "as": "steps", "edits": true });
    assert_eq!((&fact["component_id"], &fact["surface"], &fact["bind"]), (&json!("plan"), &json!("chat"), &bind));
    bench.patch(json!([{ "op": "remove", "path": "/plan" }])).unwrap();
    bench.patch(json!([{ "op": "add", "path": "/plan", "value": ["a", "b"] }])).unwrap();
    assert_eq!(bench.count("component_update"), 1, "it follows the state by itself");
    // People's edits are patches; this agent need not hear of them.
    let seq = bench.machine.head().next();
    assert_eq!(bench.acts("plan", "reorder_steps", json!({ "steps": ["b", "a"] })), Ok(Reply::Noted { seq }));
    assert_eq!(bench.of_kind("state_delta")["patch"][1]["value"], json!(["b", "a"]));
    let late = bench.acts("plan", "reorder_steps", json!({ "steps": ["b", "c"] }));
    assert_eq!(late.map_err(|refusal| refusal.code().to_owned()), Err("test_failed".to_owned()));
    assert_eq!(bench.count("component_callback"), 0);
    bench.says(ComponentRemove { component_id: "plan".into(), ..ComponentRemove::default() });
    bench.patch(json!([{ "op": "replace", "path": "/plan", "value": [] }])).unwrap();
    assert_eq!(bench.count("component_update"), 1, "what was taken away stays away");
}

#[test]
fn a_callback_is_taken_once() {
    let mut bench = bench(json!({}));
    bench.says(ComponentUpdate { component_id: "c".into(), name: "chart".into(), ..ComponentUpdate::default() });
    bench.turn();
    let first = bench.acts_as("c", "select_point", json!({ "index": 1 }), Some("p1"));
    assert_eq!(bench.of_kind("component_callback")["name"], "chart");
    assert_eq!(bench.acts_as("c", "select_point", json!({ "index": 1 }), Some("p1")), first);
    assert_eq!((bench.count("component_callback"), bench.heard()), (1, 1));
    bench.acts_as("c", "select_point", json!({ "index": 1 }), Some("p2")).unwrap();
    assert_eq!((bench.count("component_callback"), bench.heard()), (2, 2));
    let large = bench.acts("c", "go", json!("x".repeat(MAX_PAYLOAD_BYTES)));
    assert_eq!(large, Err(Refusal::PayloadTooLarge));
    assert!(matches!(bench.acts_as("c", "go", json!(1), Some("@")), Err(Refusal::Invalid(_))));
}

#[test]
fn an_action_settles_what_waits_for_it_and_is_not_told_otherwise() {
    let mut bench = Bench::with(NOTHING, json!({}), Rules::default());
    bench.turn();
    bench.says(ComponentUpdate { component_id: "plan".into(), name: "plan_editor".into(), ..Default::default() });
    let actions = Some(vec!["approve_plan".to_owned()]);
    let ask_id = bench.asks(Interrupt { component_id: Some("plan".into()), actions, ..Interrupt::default() });
    assert_eq!(bench.of_kind("interrupt")["component_name"], "plan_editor", "as it is called");
    let other = bench.acts("plan", "reorder_steps", json!({ "steps": [] }));
    assert!(matches!(other, Err(Refusal::Unsupported { .. })), "that is no answer, and this agent hears nothing else");
    bench.acts("plan", "approve_plan", json!({})).unwrap();
    assert_eq!(bench.of_kind("interrupt_resolved")["value"], json!({ "action": "approve_plan", "payload": {} }));
    assert_eq!((bench.count("component_callback"), bench.heard()), (1, 0));
    let answered =
        bench.orders.iter().filter(|order| matches!(order, Order::Answer { key, .. } if key == "key")).count();
    assert_eq!(answered, 1);
    assert!(matches!(bench.answers(&ask_id, json!({ "approved": true })), Err(Refusal::AlreadyResolved { .. })));
}

#[test]
fn a_value_must_be_what_is_waited_for() {
    let code = |outcome: command::Outcome| outcome.map(drop).map_err(|refusal| refusal.code().to_owned());
    let mut bench = bench(json!({}));
    bench.turn();
    let ask =
        |name: &str, value_schema| Interrupt { component_name: name.to_owned(), value_schema, ..Interrupt::default() };
    let approval = bench.asks(ask("approval", None));
    assert_eq!(code(bench.answers(&approval, json!("yes"))), Err("invalid_value".to_owned()));
    assert_eq!(bench.count("interrupt_resolved"), 0);
    assert_eq!(code(bench.answers(&approval, json!({ "choice": "approve", "approved": true }))), Ok(()));
    let own = bench.asks(ask("approval", Some(json!({ "type": "integer", "maximum": 5 }))));
    assert_eq!(code(bench.answers(&own, json!(6))), Err("invalid_value".to_owned()));
    assert_eq!(code(bench.answers(&own, json!(5))), Ok(()));
    let unknown = bench.asks(ask("hologram", None));
    assert_eq!(code(bench.answers(&unknown, json!(1))), Ok(()), "nobody knows what it answers");
}
