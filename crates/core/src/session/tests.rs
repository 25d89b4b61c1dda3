use serde_json::json;

use super::simulation::{self, VecLog};
use super::{Effect, Input, Limits, Machine, Output, Setup, State};
use crate::command::{AfterAnswer, Answer, ClientCommand, Command, Edit, Files, Message, Refusal, Reply, When};
use crate::event::{
    AfterStop, BackgroundKind, BackgroundStarted, Envelope, Event, Hold, Origin, Outcome, Part, PermissionReply,
    PermissionRequest, Unanswered,
};
use crate::id::{BackgroundId, IdSource, MessageId, SessionId};
use crate::runtime::{AskRequest, Beginning, Line, Order, Ready, Report, unparsed};
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

fn setup() -> Setup {
    Setup {
        session_id: SessionId::trusted("s"),
        runtime: "fake".into(),
        params: json!({}),
        capabilities: crate::runtime::codex::CAPABILITIES,
        limits: Limits::default(),
        ids: IdSource::seeded(1),
        components: std::sync::Arc::default(),
        budgets: std::sync::Arc::default(),
        delegation: crate::delegation::Rules::default(),
    }
}

/// A session with a turn that its agent works on.
fn in_turn() -> Machine {
    let mut machine = Machine::new(setup(), State::default());
    machine.create(NOW, &mut Output::default());
    execute(&mut machine, send("first", When::Queue));
    input(&mut machine, Input::Report(Report::Ready(Box::<Ready>::default())), NOW);
    machine
}

fn input(machine: &mut Machine, input: Input, at: Timestamp) -> Vec<Effect> {
    let mut out = Output::default();
    machine.handle(input, at, &mut out);
    out.effects
}

fn execute(machine: &mut Machine, command: Command) -> Vec<Effect> {
    input(machine, Input::Command { command: ClientCommand { by: "tester".into(), command }, reply_to: 1 }, NOW)
}

fn send(id: &str, when: When) -> Command {
    let content = vec![Part::Text { text: id.to_owned() }];
    Command::Send {
        message: Message { id: Some(MessageId::trusted(id)), content, origin: Origin::User, source: None },
        when,
    }
}

#[test]
fn what_was_said_into_a_turn_keeps_its_order_in_the_queue() {
    let mut machine = in_turn();
    execute(&mut machine, send("later", When::Queue));
    for id in ["a", "b", "c", "d"] {
        execute(&mut machine, send(id, When::Steer));
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
    execute(&mut machine, Command::Rollback { turns: 1, files: Files::Keep });
    input(&mut machine, Input::Report(Report::TurnStarted { origin: Origin::Agent, name: None }), NOW);
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
    let effects = execute(&mut machine, Command::Rollback { turns: 1, files: Files::Keep });
    assert!(effects.iter().any(|effect| matches!(effect, Effect::Order(Order::Rollback(_)))));
    let late = machine.next_deadline().expect("it is not waited for without end");
    let effects = input(&mut machine, Input::Tick, late);
    let refused = |effect: &Effect| matches!(effect, Effect::Reply { outcome: Err(Refusal::AgentFailed { code, .. }), .. } if code == "agent_timeout");
    assert!(effects.iter().any(refused));
    assert!(effects.iter().any(|effect| matches!(effect, Effect::Order(Order::Close { .. }))));
}

// ---- what is held ----

/// The queue, each message with why it is held.
fn queue(machine: &Machine) -> Vec<(String, Option<Hold>)> {
    machine.state.queue_items().into_iter().map(|item| (item.message_id.to_string(), item.held)).collect()
}

fn held(ids: &[&str], why: Hold) -> Vec<(String, Option<Hold>)> {
    ids.iter().map(|id| ((*id).to_owned(), Some(why))).collect()
}

/// What the next daemon finds.
fn restarted(facts: &[Envelope]) -> (Machine, Output) {
    let mut state = State::default();
    for fact in facts {
        state.apply(fact);
    }
    let mut machine = Machine::new(setup(), state);
    let mut out = Output::default();
    machine.recover(NOW, &mut out);
    (machine, out)
}

fn prompted(effects: &[Effect]) -> Vec<String> {
    let prompts = effects.iter().filter_map(|effect| match effect {
        Effect::Order(Order::Prompt { messages, .. }) => Some(messages),
        _ => None,
    });
    prompts.flatten().map(|prompt| prompt.message_id.to_string()).collect()
}

/// A turn that was stopped so, while two messages waited.
fn stopped(then: AfterStop) -> Machine {
    let mut machine = in_turn();
    for id in ["a", "b"] {
        execute(&mut machine, send(id, When::Queue));
    }
    execute(&mut machine, Command::Stop { turn_id: None, then });
    machine
}

fn turn_ended() -> Input {
    Input::Report(Report::TurnEnded { outcome: Outcome::Stopped, reason: None, failure: None })
}

#[test]
fn a_stop_that_holds_starts_nothing_until_somebody_says_so() {
    let mut machine = stopped(AfterStop::Hold);
    assert_eq!(queue(&machine), held(&["a", "b"], Hold::Stopped), "as soon as it is stopping");
    let mut out = Output::default();
    machine.handle(turn_ended(), NOW, &mut out);
    assert!(prompted(&out.effects).is_empty());
    let then = out.facts.iter().find_map(|fact| if let Event::Done(done) = &fact.event { done.then } else { None });
    assert_eq!(then, Some(AfterStop::Hold), "the fact says which");
    assert!(machine.state.at_rest(), "a crash now would lose nothing");
    assert_eq!(prompted(&execute(&mut machine, Command::Continue)), ["a"]);
    assert_eq!(queue(&machine), [("b".to_owned(), None)]);
}

#[test]
fn a_stop_that_does_not_hold_goes_on() {
    let mut machine = stopped(AfterStop::Continue);
    assert_eq!(prompted(&input(&mut machine, turn_ended(), NOW)), ["a"]);
}

#[test]
fn a_message_sent_while_others_are_held_has_its_turn_and_they_wait_on() {
    let mut machine = stopped(AfterStop::Hold);
    execute(&mut machine, send("while stopping", When::Queue));
    assert_eq!(prompted(&input(&mut machine, turn_ended(), NOW)), ["while stopping"]);
    execute(&mut machine, send("d", When::Queue));
    let ended = Report::TurnEnded { outcome: Outcome::Completed, reason: None, failure: None };
    assert_eq!(prompted(&input(&mut machine, Input::Report(ended.clone()), NOW)), ["d"]);
    assert!(prompted(&input(&mut machine, Input::Report(ended), NOW)).is_empty());
    assert_eq!(queue(&machine), held(&["a", "b"], Hold::Stopped));
    assert_eq!(prompted(&execute(&mut machine, send("e", When::Reject))), ["e"], "it is not busy");
}

#[test]
fn what_was_said_into_a_stopped_turn_is_held_too() {
    let mut machine = in_turn();
    execute(&mut machine, send("later", When::Queue));
    execute(&mut machine, send("into", When::Steer));
    execute(&mut machine, Command::Stop { turn_id: None, then: AfterStop::Hold });
    input(&mut machine, turn_ended(), NOW);
    assert_eq!(queue(&machine), held(&["into", "later"], Hold::Stopped));
}

#[test]
fn after_a_restart_what_waited_is_held() {
    let mut machine = Machine::new(setup(), State::default());
    let mut out = Output::default();
    machine.create(NOW, &mut out);
    for id in ["a", "b"] {
        let command = ClientCommand { by: "tester".into(), command: send(id, When::Queue) };
        machine.handle(Input::Command { command, reply_to: 1 }, NOW, &mut out);
    }
    let (machine, out) = restarted(&out.facts);
    assert_eq!(queue(&machine), held(&["b"], Hold::Restarted));
    assert!(out.effects.is_empty(), "nothing starts by surprise");
    assert!(machine.can_unload());
    let mut machine = machine;
    execute(&mut machine, send("b", When::Queue));
    assert!(machine.state.turn.is_some() && machine.state.queue.is_empty(), "whoever sends it again still wants it");
}

#[test]
fn sending_again_does_not_undo_a_stop() {
    let mut machine = stopped(AfterStop::Hold);
    input(&mut machine, turn_ended(), NOW);
    execute(&mut machine, send("a", When::Queue));
    assert_eq!(queue(&machine), held(&["a", "b"], Hold::Stopped));
}

#[test]
fn an_archived_session_that_comes_back_starts_nothing() {
    let mut machine = stopped(AfterStop::Continue);
    execute(&mut machine, Command::Archive);
    input(&mut machine, turn_ended(), NOW);
    execute(&mut machine, Command::Unarchive);
    assert!(machine.state.turn.is_none());
    assert_eq!(queue(&machine), held(&["a", "b"], Hold::Archived));
}

#[test]
fn a_message_that_is_edited_keeps_its_place() {
    let mut machine = stopped(AfterStop::Hold);
    let (message_id, edit) = (MessageId::trusted("a"), Edit::Words("other words".into()));
    execute(&mut machine, Command::EditQueued { message_id: message_id.clone(), edit });
    assert_eq!(queue(&machine), held(&["a", "b"], Hold::Stopped));
    let effects = execute(&mut machine, Command::ReadQueued { message_id });
    let said = vec![Part::Text { text: "other words".into() }];
    assert!(
        effects.iter().any(
            |effect| matches!(effect, Effect::Reply { outcome: Ok(Reply::Queued(content)), .. } if *content == said)
        )
    );
    let gone = Command::EditQueued { message_id: MessageId::trusted("first"), edit: Edit::Words("late".into()) };
    let effects = execute(&mut machine, gone);
    assert!(effects.iter().any(|effect| matches!(effect, Effect::Reply { outcome: Err(Refusal::NotQueued(_)), .. })));
}

#[test]
fn an_ask_that_a_restart_ended_was_rejected_by_nobody_and_is_remembered() {
    let mut machine = Machine::new(setup(), State::default());
    let mut out = Output::default();
    machine.create(NOW, &mut out);
    let command = ClientCommand { by: "tester".into(), command: send("first", When::Queue) };
    machine.handle(Input::Command { command, reply_to: 1 }, NOW, &mut out);
    machine.handle(Input::Report(Report::Ready(Box::<Ready>::default())), NOW, &mut out);
    let title = Some("Run it".to_owned());
    let request = AskRequest::Permission(PermissionRequest { title, ..PermissionRequest::default() });
    machine.handle(Input::Report(Report::Ask { key: "k".into(), subagent_id: None, request }), NOW, &mut out);
    let (mut machine, recovered) = restarted(&out.facts);
    let unanswered = recovered.facts.iter().find_map(|fact| match &fact.event {
        Event::PermissionResolved(resolved) => resolved.unanswered,
        _ => None,
    });
    assert_eq!(unanswered, Some(Unanswered::Interrupted));
    let lost = machine.state().summary().lost_ask.expect("it is remembered");
    assert_eq!(lost.title, "Run it");
    let answer = Answer::Permission {
        reply: PermissionReply::Once,
        updated_input: None,
        message: None,
        rule: None,
        and_then: AfterAnswer::GoOn,
    };
    let effects = execute(&mut machine, Command::Answer { ask_id: lost.ask_id, answer });
    let late = |effect: &Effect| matches!(effect, Effect::Reply { outcome: Err(Refusal::AlreadyResolved { how, .. }), .. } if how == "withdrawn");
    assert!(effects.iter().any(late), "whoever answers now hears so");
    execute(&mut machine, send("go on", When::Queue));
    assert_eq!(machine.state().summary().lost_ask, None, "somebody has said how it goes on");
}

#[test]
fn another_conversation_is_resumed_while_the_agent_rests() {
    let mut machine = in_turn();
    let ended = Report::TurnEnded { outcome: Outcome::Completed, reason: None, failure: None };
    input(&mut machine, Input::Report(ended), NOW);
    let effects = execute(&mut machine, Command::Resume { provider_session_id: Some("other".into()) });
    assert!(
        effects.iter().any(|effect| matches!(effect, Effect::Order(Order::Close { .. }))),
        "the one that rests goes"
    );
    let left = Input::Exited { exit_code: Some(0), description: "it was told to".into() };
    let effects = input(&mut machine, left, NOW);
    let started = effects.iter().find_map(|effect| match effect {
        Effect::Start(opening) => Some(opening.beginning.clone()),
        _ => None,
    });
    assert_eq!(started, Some(Beginning::Resume { provider_session_id: "other".into(), wanted: true }));
    let effects = input(&mut machine, Input::Report(Report::Ready(Box::<Ready>::default())), NOW);
    assert!(effects.iter().any(|effect| matches!(effect, Effect::Reply { outcome: Ok(Reply::Done), .. })));
}

#[test]
fn a_stop_ends_in_time_also_when_the_clock_is_set_back() {
    const HOUR: i64 = 3_600_000;
    let mut machine = in_turn();
    execute(&mut machine, Command::Stop { turn_id: None, then: AfterStop::Continue });
    let due = machine.next_deadline().expect("an agent is not waited for without end").millis() - NOW.millis();
    let earlier = NOW.plus_millis(-HOUR);
    machine.clock_was_set(-HOUR);
    assert_eq!(machine.next_deadline(), Some(earlier.plus_millis(due)));
    let effects = input(&mut machine, Input::Tick, earlier.plus_millis(due));
    assert!(effects.iter().any(|effect| matches!(effect, Effect::Terminate)), "{effects:?}");
}

#[test]
fn what_an_agent_has_set_for_later_is_its_own_to_take_back() {
    let capabilities = crate::runtime::claude::CAPABILITIES;
    let mut machine = Machine::new(Setup { capabilities, ..setup() }, State::default());
    machine.create(NOW, &mut Output::default());
    execute(&mut machine, send("first", When::Queue));
    input(&mut machine, Input::Report(Report::Ready(Box::<Ready>::default())), NOW);
    for (id, kind) in [("watch", BackgroundKind::Command), ("alarm", BackgroundKind::Schedule)] {
        let started =
            BackgroundStarted { background_id: BackgroundId::trusted(id), kind, ..BackgroundStarted::default() };
        input(&mut machine, Input::Report(Report::Fact { subagent_id: None, event: started.into() }), NOW);
    }
    let effects = execute(&mut machine, Command::StopBackground { id: "watch".into() });
    assert!(
        effects.iter().any(|effect| matches!(effect, Effect::Order(Order::StopBackground { id }) if id == "watch"))
    );
    let effects = execute(&mut machine, Command::StopBackground { id: "alarm".into() });
    assert!(
        matches!(effects.as_slice(), [Effect::Reply { outcome: Err(Refusal::Unsupported { .. }), .. }]),
        "{effects:?}"
    );
}

#[test]
fn of_what_nobody_understands_the_log_keeps_little_however_long_it_is() {
    let mut machine = in_turn();
    let long = "\u{e9}".repeat(15 * 1024 * 1024 / 2);
    let said = unparsed(&format!("fake/{long}"), &format!("unknown variant `{long}`"), Line::Text(long.as_bytes()));
    let mut out = Output::default();
    machine.handle(Input::Report(Report::Fact { subagent_id: None, event: said }), NOW, &mut out);
    let [fact] = out.facts.as_slice() else { panic!("{} facts", out.facts.len()) };
    let json = fact.encode().json;
    assert!(json.len() < 8 * 1024, "{} bytes", json.len());
    assert!(
        String::from_utf8_lossy(&json).contains(&format!("\"size\":{}", long.len())),
        "it is known how long it was"
    );
}
