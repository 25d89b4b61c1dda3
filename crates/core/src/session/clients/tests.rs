use serde_json::{Value, json};

use crate::command::{self, Answer, Callback, ClientCommand, Command, Message, Refusal, Reply, Update, When};
use crate::component::Rules;
use crate::event::{
    ComponentRemove, ComponentUpdate, Envelope, Event, Interrupt, Origin, Outcome, Part, StateSnapshot, ToolResult,
    ToolStart,
};
use crate::id::{IdSource, SessionId, ToolUseId};
use crate::laws::{self, Ending};
use crate::runtime::{AskRequest, Capabilities, Order, Ready, Report};
use crate::session::{Effect, Input, Limits, Machine, Output, Setup, State};
use crate::shared;
use crate::time::Timestamp;

/// A session whose log is in memory, and the last thing it did.
pub(in crate::session) struct Bench {
    pub(in crate::session) machine: Machine,
    pub(in crate::session) log: Vec<Envelope>,
    pub(in crate::session) orders: Vec<Order>,
    pub(in crate::session) now: Timestamp,
    replies: u64,
}

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);
pub(in crate::session) const ABLE: Capabilities =
    Capabilities { components: true, state: true, client_tools: true, ..NOTHING };
pub(in crate::session) const NOTHING: Capabilities = crate::runtime::codex::EXEC_CAPABILITIES;

impl Bench {
    fn new(capabilities: Capabilities) -> Self {
        Self::with(capabilities, json!({}), Rules::default())
    }

    pub(in crate::session) fn with(capabilities: Capabilities, params: Value, components: Rules) -> Self {
        let setup = Setup {
            session_id: SessionId::trusted("s"),
            runtime: "fake".into(),
            params,
            capabilities,
            limits: Limits::default(),
            ids: IdSource::seeded(1),
            components: std::sync::Arc::new(components),
            budgets: std::sync::Arc::default(),
            delegation: crate::delegation::Rules::default(),
        };
        let machine = Machine::new(setup, State::default());
        Self::of(machine)
    }

    pub(in crate::session) fn of(mut machine: Machine) -> Self {
        let mut out = Output::default();
        machine.create(NOW, &mut out);
        Self::made(machine, out)
    }

    /// A machine that has said this already.
    pub(in crate::session) fn made(machine: Machine, out: Output) -> Self {
        let mut bench = Self { machine, log: Vec::new(), orders: Vec::new(), now: NOW, replies: 0 };
        bench.take(out);
        bench
    }

    pub(in crate::session) fn take(&mut self, out: Output) -> Option<command::Outcome> {
        self.log.extend(out.facts);
        let mut outcome = None;
        for effect in out.effects {
            match effect {
                Effect::Order(order) => self.orders.push(order),
                Effect::Reply { outcome: said, .. } => outcome = Some(said),
                _ => {}
            }
        }
        assert_eq!(laws::check(&self.log, Ending::Live), []);
        outcome
    }

    pub(in crate::session) fn input(&mut self, input: Input) -> Option<command::Outcome> {
        let mut out = Output::default();
        self.machine.handle(input, self.now, &mut out);
        self.take(out)
    }

    pub(in crate::session) fn command(&mut self, command: Command) -> command::Outcome {
        self.replies += 1;
        let command = ClientCommand { by: "tester".into(), command };
        self.input(Input::Command { command, reply_to: self.replies }).expect("a reply at once")
    }

    pub(in crate::session) fn says(&mut self, event: impl Into<Event>) {
        self.input(Input::Report(Report::Fact { subagent_id: None, event: event.into() }));
    }

    /// The agent has started.
    pub(in crate::session) fn ready(&mut self) {
        self.input(Input::Report(Report::Ready(Box::<Ready>::default())));
    }

    pub(in crate::session) fn patch(&mut self, patch: Value) -> command::Outcome {
        self.command(Command::PatchState { patch })
    }

    fn press(&mut self, component_id: &str) -> command::Outcome {
        let (component_id, payload) = (component_id.to_owned(), json!(1));
        self.command(Command::CallBack(Callback { component_id, action: "throw".into(), payload, callback_id: None }))
    }

    /// The agent is in a turn.
    pub(in crate::session) fn turn(&mut self) {
        let message =
            Message { id: None, content: vec![Part::Text { text: "go".into() }], origin: Origin::User, source: None };
        self.command(Command::Send { message, when: When::Queue }).unwrap();
        self.ready();
    }

    /// The agent is in a turn and calls a tool that a client runs.
    fn calls(&mut self, call: &str) {
        self.turn();
        let tool_use_id = ToolUseId::trusted(call);
        let start = ToolStart { tool_use_id: tool_use_id.clone(), client_tool: Some(true), ..ToolStart::default() };
        self.says(start);
        let request = Interrupt { tool_use_id: Some(tool_use_id), ..Interrupt::default() };
        let request = AskRequest::Interrupt(request);
        self.input(Input::Report(Report::Ask { key: call.to_owned(), subagent_id: None, request }));
    }

    fn result(&mut self, call: &str, answer: Answer) -> command::Outcome {
        self.command(Command::ToolResult { tool_use_id: ToolUseId::trusted(call), answer })
    }

    pub(in crate::session) fn count(&self, kind: &str) -> usize {
        self.log.iter().filter(|envelope| envelope.event.kind() == kind).count()
    }

    pub(in crate::session) fn last(&self) -> (&str, Value) {
        let envelope = self.log.last().expect("a log");
        (envelope.event.kind(), envelope.event.data())
    }
}

#[test]
fn a_patch_is_one_fact_and_a_refused_one_is_none() {
    let mut bench = Bench::new(NOTHING);
    let patch = json!([{ "op": "add", "path": "/rows", "value": 1 }]);
    let granted = bench.patch(patch.clone()).unwrap();
    assert_eq!(granted, Reply::State { state: json!({ "rows": 1 }), seq: bench.machine.head() });
    assert_eq!(bench.last(), ("state_delta", json!({ "patch": patch, "by": "tester" })));
    let facts = bench.log.len();
    let again = bench.patch(json!([{ "op": "test", "path": "/rows", "value": 1 }])).unwrap();
    assert_eq!(again, granted, "what changes nothing is granted");
    let failed =
        bench.patch(json!([{ "op": "remove", "path": "/rows" }, { "op": "test", "path": "/rows", "value": 1 }]));
    assert_eq!(failed, Err(Refusal::Patch(shared::Error::TestFailed { at: 2 })));
    assert_eq!(bench.log.len(), facts, "and writes nothing");
    assert!(bench.orders.is_empty(), "this agent cannot hear of it");
}

#[test]
fn an_agent_that_can_hears_the_state_when_it_comes_and_when_it_changes() {
    let mut bench = Bench::new(ABLE);
    bench.patch(json!([{ "op": "add", "path": "/rows", "value": 1 }])).unwrap();
    bench.says(ComponentUpdate { component_id: "note".into(), name: "Note".into(), ..ComponentUpdate::default() });
    bench.press("note").unwrap();
    bench.ready();
    bench.patch(json!([{ "op": "add", "path": "/rows", "value": 2 }])).unwrap();
    let told: Vec<Option<&Value>> = bench
        .orders
        .iter()
        .map(|order| if let Order::State { state, .. } = order { Some(state) } else { None })
        .collect();
    assert_eq!(told, [Some(&json!({ "rows": 1 })), None, Some(&json!({ "rows": 2 }))]);
}

#[test]
fn the_state_of_an_archived_session_is_read_and_not_changed() {
    let mut bench = Bench::new(ABLE);
    bench.says(StateSnapshot { state: json!({ "rows": 1 }) });
    bench.command(Command::Archive).unwrap();
    assert!(matches!(bench.patch(json!([])), Ok(Reply::State { .. })));
    assert_eq!(bench.patch(json!([{ "op": "remove", "path": "/rows" }])), Err(Refusal::Archived));
}

#[test]
fn what_is_pressed_is_a_fact_and_wakes_the_agent() {
    let mut bench = Bench::new(ABLE);
    let unknown = bench.press("shuttle");
    assert_eq!(unknown, Err(Refusal::ComponentNotFound("shuttle".into())));
    let component_id = "shuttle".to_owned();
    bench.says(ComponentUpdate { component_id: component_id.clone(), name: "Note".into(), ..Default::default() });
    let seq = bench.machine.head().next();
    assert_eq!(bench.press("shuttle"), Ok(Reply::Noted { seq }));
    let data = json!({ "component_id": "shuttle", "action": "throw", "payload": 1, "by": "tester", "name": "Note" });
    assert_eq!(bench.last(), ("component_callback", data));
    assert!(bench.orders.is_empty(), "nobody is there yet");
    bench.ready();
    bench.press("shuttle").unwrap();
    let heard = bench.orders.iter().filter(|order| matches!(order, Order::Callback(_))).count();
    assert_eq!(heard, 2, "each is heard once");
    bench.says(ComponentRemove { component_id, ..ComponentRemove::default() });
    assert!(matches!(bench.press("shuttle"), Err(Refusal::ComponentNotFound(_))));
}

#[test]
fn an_agent_without_components_is_told_nothing() {
    let mut bench = Bench::new(NOTHING);
    bench.says(ComponentUpdate { component_id: "shuttle".into(), name: "Note".into(), ..Default::default() });
    assert!(matches!(bench.press("shuttle"), Err(Refusal::Unsupported { .. })));
}

#[test]
fn the_result_of_a_clients_tool_is_given_once() {
    let mut bench = Bench::new(ABLE);
    bench.calls("call");
    assert_eq!(
        bench.result("other", Answer::Interrupt { value: json!(1) }).map_err(|refusal| refusal.code().to_owned()),
        Err("tool_call_not_found".into())
    );
    let granted = bench.result("call", Answer::ToolFailed { output: json!("no camera") });
    assert!(matches!(granted, Ok(Reply::Resolved { .. })), "{granted:?}");
    let resolved =
        bench.log.iter().find(|envelope| envelope.event.kind() == "interrupt_resolved").unwrap().event.data();
    assert_eq!((&resolved["value"], &resolved["is_error"]), (&json!("no camera"), &json!(true)));
    let answered = bench.orders.iter().filter(|order| matches!(order, Order::Answer { key, .. } if key == "call"));
    assert_eq!(answered.count(), 1);
    let late = bench.result("call", Answer::Interrupt { value: json!(1) });
    assert!(matches!(late, Err(Refusal::AlreadyResolved { by, how, .. }) if by == "tester" && how == "failed"));
}

#[test]
fn a_call_that_has_a_result_waits_for_nobody() {
    let mut bench = Bench::new(ABLE);
    bench.calls("call");
    bench.says(ToolResult { tool_use_id: ToolUseId::trusted("call"), ..ToolResult::default() });
    assert!(bench.machine.state().summary().asks.is_empty());
    let late = bench.result("call", Answer::Interrupt { value: json!(1) });
    assert!(matches!(late, Err(Refusal::AlreadyResolved { how, .. }) if how == "withdrawn"));
    assert!(!bench.orders.iter().any(|order| matches!(order, Order::Answer { .. })));
}

#[test]
fn a_call_is_settled_when_its_agent_dies() {
    let mut bench = Bench::new(ABLE);
    bench.calls("call");
    bench.input(Input::Exited { exit_code: Some(1), description: "gone".into() });
    assert_eq!((bench.count("interrupt_resolved"), bench.count("tool_result")), (1, 1));
    let done = bench
        .log
        .iter()
        .rev()
        .find_map(|envelope| if let Event::Done(done) = &envelope.event { Some(done) } else { None });
    assert_eq!(done.unwrap().outcome, Outcome::Interrupted);
}

#[test]
fn only_a_tool_can_fail() {
    let mut bench = Bench::new(ABLE);
    bench.calls("call");
    let request = AskRequest::Interrupt(Interrupt::default());
    bench.input(Input::Report(Report::Ask { key: "form".into(), subagent_id: None, request }));
    let asks = bench.machine.state().summary().asks;
    let form = asks.iter().find(|ask| ask.client_call().is_none()).unwrap().ask_id.clone();
    let refused = bench.command(Command::Answer { ask_id: form, answer: Answer::ToolFailed { output: json!("no") } });
    assert!(matches!(refused, Err(Refusal::Invalid(_))));
}

#[test]
fn tools_are_a_setting_that_is_checked_and_told_once() {
    let tools = |list: Value| Update {
        settings: serde_json::Map::from_iter([("client_tools".to_owned(), list)]),
        ..Update::default()
    };
    let mut bench = Bench::new(NOTHING);
    let refused = bench.command(Command::Update(tools(json!([{ "name": "a" }]))));
    assert!(matches!(refused, Err(Refusal::Unsupported { .. })));
    let mut bench = Bench::new(ABLE);
    assert!(matches!(bench.command(Command::Update(tools(json!([{ "name": "a b" }])))), Err(Refusal::Invalid(_))));
    bench.command(Command::Update(tools(json!([])))).unwrap();
    assert_eq!(bench.count("session_updated"), 0, "none before and none now");
    bench.calls("call");
    for _ in 0..2 {
        bench.command(Command::Update(tools(json!([{ "name": "a" }])))).unwrap();
    }
    assert_eq!(bench.count("session_updated"), 1);
    assert_eq!(bench.orders.iter().filter(|order| matches!(order, Order::Configure { .. })).count(), 1);
}
