use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::budget::Rules;
use crate::command::{AfterAnswer, Answer, ClientCommand, Command, Message, Refusal, Reply, When};
use crate::event::{
    BudgetHold, BudgetState, Envelope, Event, Origin, Outcome, Part, PermissionReply, Record, ToolResult, Usage,
};
use crate::id::{AskId, IdSource, MessageId, Seq, SessionId, ToolUseId};
use crate::runtime::{Capabilities, Order, ProposedCall, Ready, Report, Verdict};
use crate::session::simulation::{self, SimulatedLog};
use crate::session::{Effect, Input, Limits, Machine, Output, Setup, State};
use crate::summary::Summary;
use crate::time::Timestamp;

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

struct Bench {
    machine: Machine,
    log: Vec<Envelope>,
    at: Timestamp,
}

impl Bench {
    fn new(gate: bool, budget: &Value) -> Self {
        let setup = Setup {
            session_id: SessionId::trusted("s"),
            runtime: "fake".into(),
            params: json!({ "budget": budget }),
            capabilities: Capabilities { gate, steer: true, ..Capabilities::default() },
            limits: Limits::default(),
            ids: IdSource::seeded(1),
            components: Arc::default(),
            budgets: Arc::new(Rules { counts_time: true, ..Rules::default() }),
            delegation: crate::delegation::Rules::default(),
        };
        let mut bench = Self { machine: Machine::new(setup, State::default()), log: Vec::new(), at: NOW };
        bench.machine.create(NOW, &mut Output::default());
        bench.say("first");
        bench.report(Report::Ready(Box::<Ready>::default()));
        bench
    }

    fn input(&mut self, input: Input) -> Vec<Effect> {
        let mut out = Output::default();
        self.machine.handle(input, self.at, &mut out);
        self.log.extend(out.facts);
        out.effects
    }

    fn report(&mut self, report: Report) -> Vec<Effect> {
        self.input(Input::Report(report))
    }

    fn execute(&mut self, command: Command) -> Vec<Effect> {
        self.input(Input::Command { command: ClientCommand { by: "ada".into(), command }, reply_to: 1 })
    }

    fn say(&mut self, id: &str) -> Vec<Effect> {
        let content = vec![Part::Text { text: id.to_owned() }];
        let message = Message { id: Some(MessageId::trusted(id)), content, origin: Origin::User, source: None };
        self.execute(Command::Send { message, when: When::Queue })
    }

    fn use_tokens(&mut self, tokens: u64) -> Vec<Effect> {
        self.report(Report::Used(Box::new(Usage { input_tokens: tokens, ..Usage::default() })))
    }

    fn propose(&mut self, key: &str) -> Vec<Effect> {
        let call = ProposedCall {
            tool_use_id: ToolUseId::trusted(key),
            tool: "Bash".into(),
            input: json!({}),
            directory: None,
        };
        self.report(Report::Propose { key: key.into(), subagent_id: None, call })
    }

    fn wait(&mut self, ms: i64) -> Vec<Effect> {
        self.at = self.at.plus_millis(ms);
        self.input(Input::Tick)
    }

    fn ask(&self) -> AskId {
        self.machine.state().summary().asks.first().expect("something is asked").ask_id.clone()
    }

    fn answer(&mut self, reply: PermissionReply) -> Vec<Effect> {
        let answer =
            Answer::Permission { reply, updated_input: None, message: None, rule: None, and_then: AfterAnswer::GoOn };
        let ask_id = self.ask();
        self.execute(Command::Answer { ask_id, answer })
    }

    fn states(&self) -> Vec<BudgetState> {
        let said =
            |envelope: &Envelope| if let Event::Budget(said) = &envelope.event { Some(said.state) } else { None };
        self.log.iter().filter_map(said).collect()
    }
}

fn orders(effects: &[Effect]) -> Vec<&Order> {
    effects.iter().filter_map(|effect| if let Effect::Order(order) = effect { Some(order) } else { None }).collect()
}

#[test]
fn a_call_is_held_until_a_person_has_answered_once() {
    let mut bench = Bench::new(true, &json!({ "session": { "tokens": 100 } }));
    bench.use_tokens(85);
    assert!(matches!(orders(&bench.propose("a")).as_slice(), [Order::Verdict { verdict: Verdict::UpToAgent, .. }]));
    bench.use_tokens(130);
    assert!(!bench.machine.is_paused(), "it may end by itself");
    assert!(orders(&bench.propose("b")).is_empty());
    assert!(bench.machine.is_paused() && orders(&bench.propose("c")).is_empty());
    bench.use_tokens(140);
    assert!(bench.machine.next_deadline().is_none_or(|due| due > bench.at), "nothing is due while a person thinks");
    let ask_id = bench.ask();
    let effects = bench.answer(PermissionReply::Once);
    assert_eq!(orders(&effects).len(), 2, "both calls go on: {effects:?}");
    let answer = Answer::Permission {
        reply: PermissionReply::Reject,
        updated_input: None,
        message: None,
        rule: None,
        and_then: AfterAnswer::GoOn,
    };
    let late = bench.execute(Command::Answer { ask_id, answer });
    assert!(
        matches!(late.as_slice(), [Effect::Reply { outcome: Err(Refusal::AlreadyResolved { .. }), .. }]),
        "{late:?}"
    );
    let expected = [BudgetState::Warned, BudgetState::Reached, BudgetState::Paused, BudgetState::Raised];
    assert_eq!(bench.states(), expected);
}

#[test]
fn a_turn_that_ends_with_its_last_words_asks_nobody_and_the_next_message_does() {
    let mut bench = Bench::new(true, &json!({ "session": { "tokens": 100 } }));
    bench.say("second");
    bench.use_tokens(120);
    let ended = Report::TurnEnded { outcome: Outcome::Completed, reason: None, failure: None };
    let effects = bench.report(ended);
    assert!(orders(&effects).is_empty(), "the agent does not hear of the second message: {effects:?}");
    assert_eq!(bench.states(), [BudgetState::Reached, BudgetState::Paused]);
    let paused = bench.log.iter().find_map(|envelope| match &envelope.event {
        Event::Budget(said) if said.state == BudgetState::Paused => said.how,
        _ => None,
    });
    assert_eq!(paused, Some(BudgetHold::Message));
    let effects = bench.answer(PermissionReply::Once);
    assert!(matches!(orders(&effects).as_slice(), [Order::Prompt { .. }]), "{effects:?}");
}

#[test]
fn an_agent_without_a_gate_is_interrupted_and_told_to_go_on() {
    let mut bench = Bench::new(false, &json!({ "turn": { "tokens": 100 } }));
    bench.use_tokens(120);
    assert!(matches!(orders(&bench.wait(1_500)).as_slice(), [Order::Interrupt { .. }]));
    let ended = Report::TurnEnded { outcome: Outcome::Interrupted, reason: None, failure: None };
    assert!(orders(&bench.report(ended)).is_empty());
    assert!(bench.machine.is_paused());
    let effects = bench.answer(PermissionReply::Once);
    let [Order::Prompt { messages, .. }] = orders(&effects)[..] else { panic!("{effects:?}") };
    assert!(format!("{messages:?}").contains("continue where you stopped"));
    // The turn that goes on counts with the one before: another fifty, and not another hundred.
    bench.use_tokens(49);
    assert!(bench.machine.next_deadline().is_none());
    bench.use_tokens(51);
    assert!(matches!(orders(&bench.wait(1_500)).as_slice(), [Order::Interrupt { .. }]));
}

#[test]
fn minutes_are_those_of_work() {
    let mut bench = Bench::new(true, &json!({ "turn": { "minutes": 1 } }));
    bench.wait(30_000);
    let request = crate::runtime::AskRequest::Question(crate::event::QuestionRequest {
        questions: vec![crate::event::Question { prompt: "?".into(), free_text: true, ..Default::default() }],
        ..Default::default()
    });
    bench.report(Report::Ask { key: "q".into(), subagent_id: None, request });
    bench.wait(3_600_000);
    assert_eq!(bench.states(), [], "a person is waited for");
    let ask_id = bench.ask();
    bench.execute(Command::Answer { ask_id, answer: Answer::Question { answers: None } });
    bench.wait(20_000);
    assert_eq!(bench.states(), [BudgetState::Warned]);
    bench.wait(11_000);
    assert_eq!(bench.states(), [BudgetState::Warned, BudgetState::Reached]);
    assert!(orders(&bench.propose("a")).is_empty() && bench.machine.is_paused());
    // Somebody says another limit.
    let settings = json!({ "budget": { "turn": { "minutes": 5 } } });
    let update = crate::command::Update { settings: settings.as_object().unwrap().clone(), ..Default::default() };
    let effects = bench.execute(Command::Update(update));
    assert!(matches!(orders(&effects).as_slice(), [Order::Verdict { .. }]), "{effects:?}");
    assert!(effects.iter().any(|effect| matches!(effect, Effect::Reply { outcome: Ok(Reply::Done), .. })));
}

#[test]
fn an_agent_cannot_set_its_own_budget() {
    let mut bench = Bench::new(true, &json!({ "session": { "tokens": 100 } }));
    let data = json!({ "settings": { "budget": { "session": { "tokens": null } } }, "by": "agent" });
    bench.report(Report::Fact { subagent_id: None, event: Event::from_value("session_updated", &data) });
    bench.use_tokens(120);
    bench.propose("a");
    assert!(bench.machine.is_paused());
    let result = ToolResult { tool_use_id: ToolUseId::trusted("x"), ..ToolResult::default() };
    bench.report(result.into());
    assert_eq!(bench.machine.state().summary().asks.len(), 1, "and it asks once");
}

#[derive(Default, Clone)]
struct Kept(Rc<RefCell<Vec<Record>>>);

impl SimulatedLog for Kept {
    fn append(&mut self, _expected_head: Seq, records: Vec<Record>, _summary: &Summary) {
        self.0.borrow_mut().extend(records);
    }

    fn read(&mut self) -> Vec<Record> {
        self.0.borrow().clone()
    }
}

#[test]
fn simulated_sessions_come_to_every_kind_of_pause() {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for seed in (0..1_500).step_by(3) {
        let log = Kept::default();
        simulation::run(seed, 120, log.clone());
        for record in log.0.borrow().iter() {
            if let Ok(envelope) = record.decode()
                && let Event::Budget(said) = &envelope.event
            {
                *seen.entry(format!("{:?} {:?}", said.state, said.scope)).or_default() += 1;
                *seen.entry(format!("{:?} {:?}", said.state, said.how)).or_default() += 1;
                *seen.entry(format!("{:?} {:?}", said.state, said.measure)).or_default() += 1;
            }
        }
    }
    for expected in [
        "Paused Turn",
        "Paused Session",
        "Paused Day",
        "Paused Group",
        "Paused Some(Call)",
        "Paused Some(Message)",
        "Paused Turns",
        "Paused Minutes",
        "Interrupted Turn",
        "Raised Day",
        "Raised Session",
        "Stopped Session",
        "Warned Session",
    ] {
        assert!(seen.contains_key(expected), "{expected} never comes: {seen:#?}");
    }
}
