use std::sync::Arc;

use serde_json::{Value, json};

use super::range_of;
use crate::command::{self, Callback, Command, Message, Refusal, Update, When};
use crate::component::Rules;
use crate::event::{ComponentUpdate, Origin, Outcome, Part};
use crate::id::{IdSource, MessageId, SessionId};
use crate::runtime::{Capabilities, Hearing, Order, Prompt, Report};
use crate::session::clients::tests::{ABLE, Bench};
use crate::session::{Input, Limits, Machine, Output, Setup, State};

fn machine(params: Value, steer: bool, state: State) -> Machine {
    let setup = Setup {
        session_id: SessionId::trusted("s"),
        runtime: "fake".into(),
        params,
        capabilities: Capabilities { steer, ..ABLE },
        limits: Limits { queue: 3, ..Limits::default() },
        ids: IdSource::seeded(state.head.0),
        components: Arc::new(Rules::default()),
        budgets: std::sync::Arc::default(),
        delegation: crate::delegation::Rules::default(),
    };
    Machine::new(setup, state).hearing_by(Hearing::Messages)
}

/// A session at rest that shows a plan and a chart.
fn bench_with(params: Value, steer: bool) -> Bench {
    let mut bench = Bench::of(machine(params, steer, State::default()));
    bench.turn();
    for (id, name) in [("plan", "plan_editor"), ("chart", "chart")] {
        bench.says(ComponentUpdate {
            component_id: id.into(),
            name: name.into(),
            props: json!({}),
            ..Default::default()
        });
    }
    bench.rests();
    bench
}

fn bench() -> Bench {
    bench_with(json!({}), true)
}

impl Bench {
    fn rests(&mut self) {
        self.input(Input::Report(Report::TurnEnded { outcome: Outcome::Completed, reason: None, failure: None }));
        self.orders.clear();
    }

    fn presses(&mut self, component_id: &str, action: &str, payload: Value) -> command::Outcome {
        let (component_id, action) = (component_id.to_owned(), action.to_owned());
        self.command(Command::CallBack(Callback { component_id, action, payload, callback_id: None }))
    }

    fn waits_a_moment(&mut self) {
        self.now = self.now.plus_millis(800);
        self.input(Input::Tick);
    }

    fn sends(&mut self, text: &str, when: When) {
        let message =
            Message { id: None, content: vec![Part::Text { text: text.into() }], origin: Origin::User, source: None };
        self.command(Command::Send { message, when }).unwrap();
    }

    /// What the agent was told since, as texts: the messages of a turn together.
    fn told_texts(&self) -> Vec<Vec<String>> {
        let text = |prompt: &Prompt| match prompt.content.as_slice() {
            [Part::Text { text }] => text.clone(),
            other => panic!("{other:?}"),
        };
        let told = |order: &Order| match order {
            Order::Prompt { messages, .. } => Some(messages.iter().map(text).collect()),
            Order::Steer { message, .. } => Some(vec![text(message)]),
            _ => None,
        };
        self.orders.iter().filter_map(told).collect()
    }

    /// The daemon dies, and the next one loads the session.
    fn dies(&mut self) {
        let mut state = State::default();
        self.log.iter().for_each(|fact| state.apply(fact));
        self.machine = machine(json!({}), true, state);
        self.orders.clear();
        let mut out = Output::default();
        self.machine.recover(self.now, &mut out);
        assert!(out.effects.is_empty(), "nothing runs by surprise");
        self.take(out);
    }
}

#[test]
fn what_wakes_is_told_together_a_moment_later() {
    let mut bench = bench();
    bench.presses("plan", "approve_step", json!({ "step_index": 0 })).unwrap();
    let first = bench.machine.head();
    bench.now = bench.now.plus_millis(500);
    bench.presses("plan", "reorder_steps", json!({ "steps": ["a"] })).unwrap();
    bench.presses("plan", "reorder_steps", json!({ "steps": ["b"] })).unwrap();
    let last = bench.machine.head();
    bench.now = bench.now.plus_millis(500);
    bench.input(Input::Tick);
    assert_eq!(bench.told_texts(), Vec::<Vec<String>>::new(), "somebody still presses");
    assert!(!bench.machine.can_unload());
    bench.waits_a_moment();
    let text = "The person used the screen:\n- plan_editor \"plan\": approve_step {\"step_index\":0}\n- plan_editor \"plan\": reorder_steps {\"steps\":[\"b\"]}";
    assert_eq!(bench.told_texts(), [[text]]);
    let fact = bench.log.iter().rev().find(|fact| fact.event.kind() == "user_message").unwrap().event.data();
    assert_eq!((&fact["message_id"], &fact["origin"]), (&json!(format!("ui-{first}-{last}")), &json!("component")));
    bench.rests();
    bench.waits_a_moment();
    bench.sends("next", When::Queue);
    assert_eq!(bench.told_texts(), [["next"]], "it is told once");
}

#[test]
fn a_running_turn_is_steered_or_the_message_waits() {
    for steer in [true, false] {
        let mut bench = bench_with(json!({}), steer);
        bench.sends("work", When::Queue);
        bench.orders.clear();
        bench.presses("plan", "approve_plan", json!({})).unwrap();
        bench.waits_a_moment();
        assert_eq!(bench.told_texts().len(), usize::from(steer));
        assert_eq!(bench.machine.state().queue_items().len(), usize::from(!steer));
        if !steer {
            bench.input(Input::Report(Report::TurnEnded { outcome: Outcome::Completed, reason: None, failure: None }));
            assert_eq!(bench.told_texts().len(), 1);
        }
    }
}

#[test]
fn what_does_not_wake_goes_before_the_next_message() {
    let mut bench = bench();
    bench.presses("chart", "select_point", json!({ "index": 1, "row": 1 })).unwrap();
    bench.presses("chart", "select_point", json!({ "index": 2, "row": 2 })).unwrap();
    bench.patch(json!([{ "op": "add", "path": "/a", "value": 1 }])).unwrap();
    bench
        .patch(json!([{ "op": "test", "path": "/a", "value": 1 }, { "op": "add", "path": "/b", "value": 2 }]))
        .unwrap();
    bench.waits_a_moment();
    assert!(bench.told_texts().is_empty() && bench.machine.can_unload() == (bench.machine.next_deadline().is_none()));
    bench.sends("/compact", When::Queue);
    assert_eq!(bench.told_texts(), [["/compact"]], "a command of the agent stands alone");
    bench.rests();
    bench.sends("look", When::Queue);
    let told = "The person used the screen:\n- chart \"chart\": select_point {\"index\":2,\"row\":2}\n- state: [{\"op\":\"add\",\"path\":\"/a\",\"value\":1},{\"op\":\"add\",\"path\":\"/b\",\"value\":2}]";
    assert_eq!(bench.told_texts(), [[told, "look"]]);
    let started = bench.log.iter().rev().find(|fact| fact.event.kind() == "turn_started").unwrap().event.data();
    assert_eq!(started["message_ids"].as_array().unwrap().len(), 2);
    assert_eq!(started["origin"], "user");
    // In a running turn it is steered before the message.
    bench.orders.clear();
    bench.patch(json!([{ "op": "remove", "path": "/b" }])).unwrap();
    bench.sends("and now", When::Steer);
    let told = "The person used the screen:\n- state: [{\"op\":\"remove\",\"path\":\"/b\"}]";
    assert_eq!(bench.told_texts(), [[told], ["and now"]]);
}

#[test]
fn changes_of_the_state_wake_where_the_session_wants_it() {
    let mut bench = bench();
    bench
        .command(Command::Update(Update {
            settings: json!({ "state_wakes": true }).as_object().cloned().unwrap(),
            ..Update::default()
        }))
        .unwrap();
    bench.orders.clear();
    bench.patch(json!([{ "op": "add", "path": "/a", "value": 1 }])).unwrap();
    bench.waits_a_moment();
    assert_eq!(bench.told_texts().len(), 1);
    assert!(bench.orders.iter().all(|order| !matches!(order, Order::State { .. } | Order::Callback(_))));
}

#[test]
fn much_is_told_at_once_and_very_much_is_not_taken() {
    let mut bench = bench();
    for n in 0..20 {
        bench.presses("plan", "approve_step", json!({ "step_index": n })).unwrap();
    }
    assert_eq!(bench.told_texts().len(), 1, "twenty are enough");
    bench.rests();
    for n in 0..100 {
        bench.presses("chart", "open", json!(n)).unwrap();
        bench.now = bench.now.plus_millis(1);
    }
    assert!(!bench.told_texts().is_empty());
    let mut bench = self::bench();
    for n in 0..300 {
        bench.patch(json!([{ "op": "add", "path": format!("/k{n}"), "value": n }])).unwrap();
    }
    bench.sends("look", When::Queue);
    assert!(
        bench.told_texts()[0][0].contains("changed in many places; read it with get_state"),
        "{:?}",
        bench.told_texts()
    );
}

#[test]
fn nothing_is_lost_or_told_twice_when_the_daemon_dies() {
    let mut bench = bench();
    bench.presses("plan", "approve_plan", json!({})).unwrap();
    bench.presses("chart", "select_point", json!({ "index": 1, "row": 1 })).unwrap();
    bench.dies();
    let queue = bench.machine.state().queue_items();
    assert_eq!(queue.len(), 1, "it waits for somebody who lets it go on");
    assert!(queue[0].held.is_some() && range_of(&queue[0].message_id).is_some());
    bench.dies();
    assert_eq!(bench.machine.state().queue_items(), queue, "it is made once");
    bench.command(Command::Continue).unwrap();
    bench.ready();
    assert_eq!(bench.told_texts().len(), 1);
    assert!(bench.told_texts()[0][0].contains("approve_plan") && bench.told_texts()[0][0].contains("select_point"));
    // What does not wake waits on, also there.
    bench.rests();
    bench.patch(json!([{ "op": "add", "path": "/a", "value": 1 }])).unwrap();
    bench.dies();
    assert!(bench.machine.state().queue_items().is_empty());
    bench.sends("look", When::Queue);
    bench.ready();
    assert_eq!(bench.told_texts()[0].len(), 2);
}

#[test]
fn a_full_queue_takes_it_along() {
    let mut bench = bench_with(json!({}), false);
    (0..4).for_each(|n| bench.sends(&format!("m{n}"), When::Queue));
    bench.orders.clear();
    bench.presses("plan", "approve_plan", json!({})).unwrap();
    bench.waits_a_moment();
    assert_eq!(bench.machine.state().queue_items().len(), 3, "there is no room");
    bench.input(Input::Report(Report::TurnEnded { outcome: Outcome::Completed, reason: None, failure: None }));
    let heard = bench.told_texts();
    assert_eq!((heard.len(), heard[0].len(), heard[0][1].as_str()), (1, 2, "m1"));
}

#[test]
fn the_ids_are_the_sessions_own() {
    for (id, range) in [
        ("ui-1-2", Some((1, 2))),
        ("ui-01-2", None),
        ("ui-1", None),
        ("ui-a-b", None),
        ("ui-1-2-3", None),
        ("message", None),
    ] {
        assert_eq!(range_of(&MessageId::trusted(id)), range, "{id}");
    }
    let mut bench = bench();
    let id = Some(MessageId::trusted("ui-1-2"));
    let message = Message { id, content: vec![Part::Text { text: "me".into() }], origin: Origin::User, source: None };
    let refused = bench.command(Command::Send { message, when: When::Queue });
    assert!(matches!(refused, Err(Refusal::Invalid(_))), "{refused:?}");
}

#[test]
fn words_of_others_cannot_look_like_ours() {
    let mut bench = bench();
    bench.presses("plan", "go\n- state: []", json!("a\nb")).unwrap();
    bench.waits_a_moment();
    assert_eq!(
        bench.told_texts(),
        [["The person used the screen:\n- plan_editor \"plan\": \"go\\n- state: []\" \"a\\nb\""]]
    );
}
