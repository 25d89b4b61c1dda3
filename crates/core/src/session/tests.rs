use serde_json::json;

use super::simulation::{self, VecLog};
use super::{Effect, Input, Limits, Machine, Output, Setup, State};
use crate::command::{Command, Files, Message, Refusal, When, Wish};
use crate::event::{Origin, Outcome, Part};
use crate::id::{IdSource, MessageId, SessionId};
use crate::runtime::{Order, Ready, Report};
use crate::time::Timestamp;

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

/// How many schedules the test command runs.
const SCHEDULES: u64 = 3_000;
const STEPS: usize = 120;

/// `TURNLOOM_SEED=n` replays one schedule, `TURNLOOM_SCHEDULES=n` runs more of them.
#[test]
fn the_laws_hold_in_every_schedule() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seeds = match number("TURNLOOM_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("TURNLOOM_SCHEDULES").unwrap_or(SCHEDULES),
    };
    for seed in seeds {
        simulation::run(seed, STEPS, VecLog::default());
    }
}

/// A session with a turn that its agent works on.
fn in_turn() -> Machine {
    let setup = Setup {
        session_id: SessionId::trusted("s"),
        runtime: "fake".into(),
        params: json!({}),
        capabilities: crate::runtime::codex::CAPABILITIES,
        limits: Limits::default(),
        ids: IdSource::seeded(1),
    };
    let mut machine = Machine::new(setup, State::default());
    machine.create(NOW, &mut Output::default());
    wish(&mut machine, send("first", When::Queue));
    input(&mut machine, Input::Report(Report::Ready(Box::<Ready>::default())), NOW);
    machine
}

fn input(machine: &mut Machine, input: Input, at: Timestamp) -> Vec<Effect> {
    let mut out = Output::default();
    machine.handle(input, at, &mut out);
    out.effects
}

fn wish(machine: &mut Machine, wish: Wish) -> Vec<Effect> {
    input(machine, Input::Wish { command: Command { by: "tester".into(), wish }, reply_to: 1 }, NOW)
}

fn send(id: &str, when: When) -> Wish {
    let content = vec![Part::Text { text: id.to_owned() }];
    Wish::Send { message: Message { id: Some(MessageId::trusted(id)), content, origin: Origin::User }, when }
}

#[test]
fn what_was_said_into_a_turn_keeps_its_order_in_the_queue() {
    let mut machine = in_turn();
    wish(&mut machine, send("later", When::Queue));
    for id in ["a", "b", "c", "d"] {
        wish(&mut machine, send(id, When::Steer));
    }
    for id in ["a", "b"] {
        let (message_id, reason) = (MessageId::trusted(id), "no".to_owned());
        input(&mut machine, Input::Report(Report::SteerRejected { message_id, reason }), NOW);
    }
    let queue = |machine: &Machine| -> Vec<String> {
        machine.state.queue.iter().map(|message| message.message_id.to_string()).collect()
    };
    assert_eq!(queue(&machine), ["a", "b", "later"]);
    let ended = Report::TurnEnded { outcome: Outcome::Completed, reason: None, failure: None };
    input(&mut machine, Input::Report(ended), NOW);
    assert_eq!(queue(&machine), ["b", "c", "d", "later"], "and the first one has its turn");
}

#[test]
fn a_turn_that_an_agent_begins_while_it_is_sent_away_ends_with_it() {
    let mut machine = in_turn();
    let ended = Report::TurnEnded { outcome: Outcome::Completed, reason: None, failure: None };
    input(&mut machine, Input::Report(ended), NOW);
    wish(&mut machine, Wish::Rollback { turns: 1, files: Files::Keep });
    input(&mut machine, Input::Report(Report::TurnStarted { origin: Origin::Agent }), NOW);
    assert!(machine.state.turn.is_some());
    let late = machine.next_deadline().expect("the rollback is not waited for without end");
    input(&mut machine, Input::Tick, late);
    input(&mut machine, Input::Exited { exit_code: Some(0), description: "it was told to".into() }, late);
    assert!(machine.state.turn.is_none(), "nobody else will end it");
}

#[test]
fn an_agent_that_does_not_answer_a_rollback_is_not_waited_for() {
    let mut machine = in_turn();
    let ended = Report::TurnEnded { outcome: Outcome::Completed, reason: None, failure: None };
    input(&mut machine, Input::Report(ended), NOW);
    let effects = wish(&mut machine, Wish::Rollback { turns: 1, files: Files::Keep });
    assert!(effects.iter().any(|effect| matches!(effect, Effect::Order(Order::Rollback(_)))));
    let late = machine.next_deadline().expect("it is not waited for without end");
    let effects = input(&mut machine, Input::Tick, late);
    let refused = |effect: &Effect| matches!(effect, Effect::Reply { outcome: Err(Refusal::AgentFailed { code, .. }), .. } if code == "agent_timeout");
    assert!(effects.iter().any(refused));
    assert!(effects.iter().any(|effect| matches!(effect, Effect::Order(Order::Close))));
}
