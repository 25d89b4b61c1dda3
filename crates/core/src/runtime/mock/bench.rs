//! A whole session in one thread: machine, adapter and agent, with no process between them. For tests that need what an agent says, and for those
//! that need a log.

use serde_json::{Value, json};

use super::{CAPABILITIES, MockAgent, MockProtocol, NextAction};
use crate::command::{AfterAnswer, Answer, ClientCommand, Command, Message, When};
use crate::event::{Envelope, Event, Origin, Outcome, Part, PermissionReply, Question};
use crate::id::{IdSource, SessionId};
use crate::laws::{self, Ending};
use crate::runtime::{Line, Output, Protocol};
use crate::session::{self, Effect, Input, Limits, Machine, Setup, State};
use crate::summary::{AskKind, AskRequest, PendingAsk};
use crate::time::Timestamp;

pub(crate) struct Bench {
    machine: Machine,
    protocol: MockProtocol,
    agent: MockAgent,
    pub(crate) log: Vec<Envelope>,
    now: Timestamp,
    /// How permission is answered.
    pub(crate) reply: PermissionReply,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self::with(&json!({}))
    }

    pub(crate) fn with(params: &Value) -> Self {
        let setup = Setup {
            session_id: SessionId::trusted("s"),
            runtime: "mock".into(),
            params: params.clone(),
            capabilities: CAPABILITIES,
            limits: Limits::default(),
            ids: IdSource::seeded(1),
            components: std::sync::Arc::default(),
            budgets: std::sync::Arc::default(),
            delegation: crate::delegation::Rules::default(),
        };
        let mut bench = Self {
            machine: Machine::new(setup, State::default()),
            protocol: MockProtocol::default(),
            agent: MockAgent::default(),
            log: Vec::new(),
            now: Timestamp::default(),
            reply: PermissionReply::Once,
        };
        let mut out = session::Output::default();
        bench.machine.create(bench.now, &mut out);
        bench.carry_out(out);
        bench
    }

    pub(crate) fn say(&mut self, text: &str) {
        let message =
            Message { id: None, content: vec![Part::Text { text: text.into() }], origin: Origin::User, source: None };
        self.command(Command::Send { message, when: When::Queue });
    }

    pub(crate) fn command(&mut self, command: Command) {
        self.input(Input::Command { command: ClientCommand { by: "test".into(), command }, reply_to: 0 });
    }

    pub(crate) fn input(&mut self, input: Input) {
        let mut out = session::Output::default();
        self.machine.handle(input, self.now, &mut out);
        self.carry_out(out);
    }

    fn carry_out(&mut self, out: session::Output) {
        self.log.extend(out.facts);
        for effect in out.effects {
            let mut to_agent = Output::default();
            match effect {
                Effect::Start(opening) => self.protocol.open(&opening, &mut to_agent),
                Effect::Order(order) => self.protocol.order(&order, &mut to_agent),
                Effect::Attach
                | Effect::Disconnect
                | Effect::StoreRule { .. }
                | Effect::Delegate(_)
                | Effect::TellChild { .. }
                | Effect::StopChildren(_)
                | Effect::Terminate
                | Effect::Kill
                | Effect::Reply { .. } => {}
            }
            to_agent.bytes.split(|byte| *byte == b'\n').for_each(|line| self.agent.receive(line));
        }
    }

    /// Lets the agent talk until it has nothing more to say, and answers what it asks.
    pub(crate) fn play(&mut self) {
        loop {
            match self.agent.next_action() {
                NextAction::Write(bytes) => self.receive(&bytes),
                NextAction::Sleep { ms } => self.now = self.now.plus_millis(i64::try_from(ms).unwrap()),
                NextAction::LeaveChild => {}
                NextAction::Exit { code } => {
                    return self.input(Input::Exited { exit_code: Some(code.into()), description: "left".into() });
                }
                NextAction::IgnoreSignals | NextAction::Listen => {
                    match self.machine.state().summary().asks.first().cloned() {
                        Some(ask) => self.answer(ask),
                        None => return,
                    }
                }
            }
        }
    }

    fn answer(&mut self, ask: PendingAsk) {
        let answer = match ask.kind {
            AskKind::Permission => Answer::Permission {
                reply: self.reply,
                updated_input: None,
                message: None,
                rule: None,
                and_then: AfterAnswer::GoOn,
            },
            AskKind::Question => {
                Answer::Question { answers: Some(ask.questions().iter().map(preferred_answers).collect()) }
            }
            AskKind::Interrupt => Answer::Interrupt { value: fitting_value(&ask.request) },
        };
        self.command(Command::Answer { ask_id: ask.ask_id, answer });
    }

    fn receive(&mut self, bytes: &[u8]) {
        let mut said = Output::default();
        let line = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        self.protocol.line(Line::Text(line), &mut said);
        said.reports.into_iter().for_each(|report| self.input(Input::Report(report)));
    }

    pub(crate) fn text(&self) -> String {
        let deltas = self.log.iter().filter_map(|envelope| match &envelope.event {
            Event::Delta(delta) => Some(delta.text.as_str()),
            _ => None,
        });
        deltas.collect()
    }

    pub(crate) fn outcomes(&self) -> Vec<Outcome> {
        let outcome =
            |envelope: &Envelope| if let Event::Done(done) = &envelope.event { Some(done.outcome) } else { None };
        self.log.iter().filter_map(outcome).collect()
    }

    pub(crate) fn assert_lawful(&self, ending: Ending) {
        assert_eq!(laws::check(&self.log, ending), []);
    }
}

/// What is chosen where it is offered, and the first where it is not: an answer that is refused would leave the ask open for ever.
/// What the component that waits takes for an answer.
fn fitting_value(request: &AskRequest) -> Value {
    match request {
        AskRequest::Interrupt(request) if request.component_name == "approval" => {
            json!({ "choice": "approve", "approved": true })
        }
        AskRequest::Interrupt(request) if request.component_name == "plan_editor" => json!({ "approved": true }),
        _ => json!("2026-12-24"),
    }
}

fn preferred_answers(question: &Question) -> Vec<String> {
    let labels = || question.options.iter().map(|option| option.label.clone());
    let liked: Vec<String> = labels().filter(|label| ["Silk", "Indigo", "Weld"].contains(&label.as_str())).collect();
    if liked.is_empty() { labels().take(1).collect() } else { liked }
}
