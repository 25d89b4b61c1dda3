use std::sync::Arc;

use serde_json::{Value, json};

use crate::command::{Command, Message, Refusal, Reply, When};
use crate::component::Rules as Components;
use crate::delegation::{ChildNews, Heard, NewChild, News, Rules, Start, TurnEnd};
use crate::event::{
    AfterStop, Delegated, DelegationState, Envelope, Event, Origin, Outcome, Part, ToolResult, ToolStart,
};
use crate::id::{IdSource, MessageId, Seq, SessionId, ToolUseId, TurnId};
use crate::runtime::{HostCall, Order, Report};
use crate::session::clients::tests::{ABLE, Bench};
use crate::session::{Effect, Input, Limits, Machine, Output, Setup, State};

const RULES: Rules = Rules { allowed: true, depth: 2, at_once: 2, total: 3, stop_children: true };

fn setup(params: Value, rules: Rules) -> Setup {
    Setup {
        session_id: SessionId::trusted("s"),
        runtime: "fake".into(),
        params,
        capabilities: ABLE,
        limits: Limits::default(),
        ids: IdSource::seeded(1),
        components: Arc::new(Components::default()),
        budgets: Arc::default(),
        delegation: rules,
    }
}

fn bench_with(params: Value, rules: Rules) -> Bench {
    let mut bench = Bench::of(Machine::new(setup(params, rules), State::default()));
    bench.turn();
    bench
}

fn bench() -> Bench {
    bench_with(json!({ "cwd": "/srv/project" }), RULES)
}

fn call(name: &str, id: &str, input: Value) -> HostCall {
    let (key, tool_use_id) = (format!("key {id}"), Some(ToolUseId::trusted(id)));
    HostCall { key, name: name.to_owned(), input, tool_use_id, ..HostCall::default() }
}

impl Bench {
    /// What came of an input besides orders and replies.
    fn effects(&mut self, input: Input) -> Vec<Effect> {
        let mut out = Output::default();
        self.machine.handle(input, self.now, &mut out);
        let (orders, others): (Vec<_>, Vec<_>) =
            out.effects.into_iter().partition(|effect| matches!(effect, Effect::Order(_) | Effect::Reply { .. }));
        self.take(Output { facts: out.facts, effects: orders, ..Output::default() });
        others
    }

    fn calls_tool(&mut self, call: HostCall) -> Vec<Effect> {
        self.orders.clear();
        let tool_use_id = call.tool_use_id.clone().unwrap();
        self.says(ToolStart { tool_use_id, tool: call.name.clone(), ..ToolStart::default() });
        self.effects(Input::Report(Report::HostCall(Box::new(call))))
    }

    fn delegates(&mut self, id: &str, input: Value) -> Start {
        let mut effects = self.calls_tool(call("delegate", id, input));
        match effects.pop() {
            Some(Effect::Delegate(start)) => *start,
            other => panic!("{other:?} {:?}", self.orders),
        }
    }

    fn hears(&mut self, child: &SessionId, news: News) -> Vec<Effect> {
        self.hears_then(child, news, Heard::AsItHappens)
    }

    fn hears_then(&mut self, child: &SessionId, news: News, heard: Heard) -> Vec<Effect> {
        self.orders.clear();
        let command = Command::Child(Box::new(ChildNews { child: child.clone(), news, heard }));
        let command = crate::command::ClientCommand { by: "delegation".into(), command };
        self.effects(Input::Command { command, reply_to: 77 })
    }

    /// What calls were told.
    fn told(&self) -> Vec<(String, bool)> {
        let result = |order: &Order| match order {
            Order::HostResult { output, is_error, .. } => Some((output.clone(), *is_error)),
            _ => None,
        };
        self.orders.iter().filter_map(result).collect()
    }

    /// The messages that were brought, whether their turns have begun or not.
    fn brought(&self) -> Vec<String> {
        let message = |envelope: &Envelope| match &envelope.event {
            Event::UserMessage(message) if message.origin == Origin::Delegation => Some(message.message_id.to_string()),
            Event::QueueChanged(changed) => changed
                .added
                .as_ref()
                .filter(|added| added.origin == Origin::Delegation)
                .map(|added| added.message_id.to_string()),
            _ => None,
        };
        self.log.iter().filter_map(message).collect()
    }

    fn result_of(&self, id: &str) -> Option<ToolResult> {
        self.log.iter().find_map(|envelope| match &envelope.event {
            Event::ToolResult(result) if result.tool_use_id.as_str() == id => Some(result.clone()),
            _ => None,
        })
    }

    fn state_of(&self, child: &SessionId) -> DelegationState {
        self.machine.state().children.all[child].state
    }

    fn ends(&mut self) {
        let ended = Report::TurnEnded { outcome: Outcome::Completed, reason: None, failure: None };
        self.input(Input::Report(ended));
    }
}

fn ended(seq: u64, turn: &str, state: DelegationState, text: &str) -> News {
    News::Ended(Box::new(TurnEnd {
        turn_id: Some(TurnId::trusted(turn)),
        origin: Origin::Delegation,
        message_ids: Vec::new(),
        state,
        text: Some(text.to_owned()),
        reason: None,
        seq: Seq(seq),
    }))
}

fn done(seq: u64) -> News {
    ended(seq, "turn_1", DelegationState::Completed, "It is built.")
}

#[test]
fn a_call_that_waits_gets_the_last_words() {
    let mut bench = bench();
    let start = bench.delegates("c1", json!({ "runtime": "codex", "prompt": "Build it\nwith care", "cwd": "sub" }));
    assert_eq!((start.runtime.as_str(), start.cwd.as_deref()), ("codex", Some("/srv/project/sub")));
    assert_eq!(start.inherited.delegated.ancestors, [SessionId::trusted("s")]);
    assert_eq!(bench.state_of(&start.child), DelegationState::Starting);
    bench.hears(&start.child, News::Started);
    assert_eq!((bench.told(), bench.state_of(&start.child)), (vec![], DelegationState::Running));
    assert!(!bench.machine.state().summary().at_rest);
    bench.hears(&start.child, done(9));
    assert_eq!(bench.told(), [("It is built.".to_owned(), false)]);
    bench.says(ToolResult { tool_use_id: ToolUseId::trusted("c1"), ..ToolResult::default() });
    // The same again, and something older: nothing.
    let facts = bench.log.len();
    bench.hears(&start.child, done(9));
    bench.hears(&start.child, ended(4, "turn_0", DelegationState::Failed, "no"));
    assert_eq!((bench.log.len(), bench.told()), (facts, vec![]));
    bench.ends();
    assert_eq!(bench.brought(), [""; 0], "it was heard");
}

#[test]
fn who_does_not_wait_gets_one_message() {
    let mut bench = bench();
    let start = bench.delegates("c1", json!({ "runtime": "codex", "prompt": "Build", "wait": false }));
    bench.hears(&start.child, News::Started);
    let (told, _) = bench.told().remove(0);
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(told, json!({ "session_id": start.child, "status": "running" }));
    bench.says(ToolResult { tool_use_id: ToolUseId::trusted("c1"), ..ToolResult::default() });
    bench.hears(&start.child, done(9));
    let message = format!("delegation-{}-turn_1", start.child);
    assert_eq!(bench.brought(), std::slice::from_ref(&message), "it waits for the turn that runs");
    bench.hears(&start.child, done(9));
    bench.ends();
    let begun: Vec<_> = bench
        .log
        .iter()
        .filter(|fact| matches!(&fact.event, Event::TurnStarted(started) if started.origin == Origin::Delegation))
        .collect();
    assert_eq!(begun.len(), 1, "and has a turn of its own");
    assert_eq!(bench.brought(), [message.clone(), message]);
    // Nobody else may say it.
    let id = Some(MessageId::trusted("delegation-x-y"));
    let content = vec![Part::Text { text: "!".into() }];
    let message = Message { id, content, origin: Origin::User, source: None };
    assert!(matches!(bench.command(Command::Send { message, when: When::Queue }), Err(Refusal::Invalid(_))));
}

#[test]
fn what_cannot_be_is_refused_with_what_can_be() {
    let mut bench = bench();
    let refused = |bench: &mut Bench, name: &str, id: &str, input: Value| {
        let effects = bench.calls_tool(call(name, id, input));
        assert!(effects.is_empty(), "{effects:?}");
        let (why, is_error) = bench.told().pop().expect("a result at once");
        assert!(is_error, "{why}");
        bench.says(ToolResult { tool_use_id: ToolUseId::trusted(id), ..ToolResult::default() });
        why
    };
    assert!(refused(&mut bench, "delegate", "e1", json!({ "runtime": "codex" })).contains("missing field `prompt`"));
    assert!(
        refused(&mut bench, "delegate", "e2", json!({ "runtime": "codex", "prompt": " " })).contains("must say what")
    );
    assert!(
        refused(&mut bench, "delegate_message", "e3", json!({ "session_id": "x", "message": "y" }))
            .contains("nobody does")
    );
    let first = bench.delegates("c1", json!({ "runtime": "codex", "prompt": "a", "wait": false })).child;
    bench.delegates("c2", json!({ "runtime": "codex", "prompt": "b", "wait": false }));
    let why = refused(&mut bench, "delegate", "e4", json!({ "runtime": "codex", "prompt": "c" }));
    assert!(why.contains("no more than 2 may at once"), "{why}");
    // What could not be started is told, and makes room.
    let reason = "there is no runtime \"codex\"; there are mock".to_owned();
    bench.hears(&first, News::NotStarted { message_id: None, reason });
    let (why, is_error) = bench.told().pop().unwrap();
    assert!(is_error && why.contains("has failed: there is no runtime"), "{why}");
    bench.delegates("c3", json!({ "runtime": "mock", "prompt": "a" }));
    bench.hears(&first, News::Removed);
    let second = bench.machine.state().children.all.keys().find(|id| **id != first).unwrap().clone();
    bench.hears(&second, done(3));
    let why = refused(&mut bench, "delegate", "e5", json!({ "runtime": "codex", "prompt": "d" }));
    assert!(why.contains("has delegated 3 times"), "{why}");
}

#[test]
fn a_task_does_not_come_round() {
    let mut machine = Machine::new(setup(json!({ "cwd": "/srv/project" }), RULES), State::default());
    let task = crate::delegation::fingerprint("codex", Some("/srv/project"), "Build");
    let above = SessionId::trusted("root");
    let delegated = Delegated {
        parent_session_id: Some(above.clone()),
        ancestors: vec![above.clone()],
        tasks: vec![task],
        tool_use_id: None,
    };
    let mut out = Output::default();
    machine.create_for(delegated, crate::time::Timestamp::from_millis(0), &mut out);
    assert_eq!(machine.state().summary().parent_session_id, Some(above.clone()));
    let mut bench = Bench::made(machine, out);
    bench.turn();
    bench.calls_tool(call("delegate", "c1", json!({ "runtime": "codex", "prompt": " Build" })));
    assert!(bench.told().pop().unwrap().0.contains("the very task that was given to you"));
    let start = bench.delegates("c2", json!({ "runtime": "claude", "prompt": "Build" }));
    assert_eq!(start.inherited.delegated.ancestors.len(), 2);
    // Nor does a session work for one that works for it.
    let new = |child: &SessionId| {
        let (runtime, title) = ("mock".to_owned(), String::new());
        Command::AddChild(Box::new(NewChild { child: child.clone(), runtime, title, cwd: None }))
    };
    for id in [&above, &SessionId::trusted("s")] {
        assert_eq!(bench.command(new(id)), Err(Refusal::DelegationCycle(id.clone())));
    }
    assert!(matches!(bench.command(new(&SessionId::trusted("other"))), Ok(Reply::Inherited(_))));
}

#[test]
fn at_the_bottom_nothing_is_offered() {
    let mut bench = bench_with(json!({}), Rules { depth: 0, ..RULES });
    bench.calls_tool(call("delegate", "c1", json!({ "runtime": "codex", "prompt": "a" })));
    assert!(bench.told().pop().unwrap().0.contains("does not offer delegate"));
    let mut bench = bench_with(json!({ "delegation": false }), RULES);
    bench.calls_tool(call("delegate", "c1", json!({ "runtime": "codex", "prompt": "a" })));
    assert!(bench.told().pop().unwrap().0.contains("does not offer delegate"));
}

#[test]
fn who_stops_a_session_stops_those_that_work_for_it_and_hears_no_more() {
    let mut bench = bench();
    let start = bench.delegates("c1", json!({ "runtime": "codex", "prompt": "a", "wait": false }));
    bench.hears(&start.child, News::Started);
    let stop = Command::Stop { turn_id: None, then: AfterStop::Continue };
    let command = crate::command::ClientCommand { by: "a person".into(), command: stop };
    let effects = bench.effects(Input::Command { command, reply_to: 5 });
    assert!(matches!(effects.as_slice(), [Effect::StopChildren(children)] if *children == [start.child.clone()]));
    assert_eq!(bench.state_of(&start.child), DelegationState::Stopping);
    bench.input(Input::Report(Report::TurnEnded { outcome: Outcome::Stopped, reason: None, failure: None }));
    bench.hears(&start.child, ended(9, "turn_1", DelegationState::Stopped, "half"));
    assert_eq!((bench.state_of(&start.child), bench.brought()), (DelegationState::Stopped, vec![]));

    let mut bench = bench_with(json!({}), Rules { stop_children: false, ..RULES });
    let start = bench.delegates("c1", json!({ "runtime": "codex", "prompt": "a", "wait": false }));
    let stop = Command::Stop { turn_id: None, then: AfterStop::Continue };
    let command = crate::command::ClientCommand { by: "a person".into(), command: stop };
    assert!(bench.effects(Input::Command { command, reply_to: 5 }).is_empty());
    bench.input(Input::Report(Report::TurnEnded { outcome: Outcome::Stopped, reason: None, failure: None }));
    bench.hears(&start.child, done(9));
    assert_eq!(bench.brought().len(), 1);
}

/// The session as the next daemon finds it.
fn reloaded(bench: &Bench) -> Bench {
    let mut state = State::default();
    bench.log.iter().for_each(|envelope| state.apply(envelope));
    assert_eq!(&state, bench.machine.state());
    let machine = Machine::new(setup(json!({ "cwd": "/srv/project" }), RULES), state);
    Bench::made(machine, Output { facts: bench.log.clone(), ..Output::default() })
}

fn recover(bench: &mut Bench) {
    let mut out = Output::default();
    bench.machine.recover(bench.now, &mut out);
    bench.take(out);
}

#[test]
fn after_a_restart_a_call_that_waited_says_what_became_of_it() {
    let mut bench = bench();
    let start = bench.delegates("c1", json!({ "runtime": "codex", "prompt": "a" }));
    bench.hears(&start.child, News::Started);
    let message = format!("delegation-{}-turn_1", start.child);
    // The daemon ended before it heard of the end.
    let mut next = reloaded(&bench);
    assert_eq!(next.machine.unsettled_children().len(), 1);
    next.hears_then(&start.child, done(9), Heard::AfterRestart);
    recover(&mut next);
    let result = next.result_of("c1").unwrap();
    assert!(result.output.contains("is done:\n\nIt is built.") && !result.is_error, "{result:?}");
    assert_eq!(next.brought(), std::slice::from_ref(&message), "the agent itself was cut off before it read that");
    let held = next.machine.state().queue_items();
    assert_eq!((held.len(), held[0].held), (1, Some(crate::event::Hold::Restarted)));
    // Once is enough.
    let mut again = reloaded(&next);
    again.hears_then(&start.child, done(9), Heard::AfterRestart);
    recover(&mut again);
    assert_eq!(again.brought(), std::slice::from_ref(&message));

    // The daemon ended after the call was told, and before the agent said so.
    bench.hears(&start.child, done(9));
    let mut next = reloaded(&bench);
    recover(&mut next);
    assert!(next.result_of("c1").unwrap().output.contains("It is built."));
    assert_eq!(next.brought(), std::slice::from_ref(&message));

    // It goes on where it is, and says so later.
    let mut bench = bench_with(json!({ "cwd": "/srv/project" }), RULES);
    let start = bench.delegates("c1", json!({ "runtime": "codex", "prompt": "a" }));
    let mut next = reloaded(&bench);
    recover(&mut next);
    assert!(next.result_of("c1").unwrap().output.contains("goes on"));
    next.hears(&start.child, done(9));
    assert_eq!(next.brought().len(), 1, "begun at once: nothing else runs");
}

#[test]
fn one_that_was_never_made_is_said_to_have_failed() {
    let mut bench = bench();
    let start = bench.delegates("c1", json!({ "runtime": "codex", "prompt": "a", "wait": false }));
    let mut next = reloaded(&bench);
    let reason = "the daemon ended before it was there".to_owned();
    next.hears_then(&start.child, News::NotStarted { message_id: None, reason }, Heard::AfterRestart);
    recover(&mut next);
    assert_eq!(next.state_of(&start.child), DelegationState::Failed);
    assert_eq!(next.brought(), [format!("delegation-{}-none", start.child)]);
}

#[test]
fn more_is_said_and_it_is_stopped_by_whom_it_works_for() {
    let mut bench = bench();
    let start = bench.delegates("c1", json!({ "runtime": "codex", "prompt": "a" }));
    bench.hears(&start.child, News::Started);
    bench.hears(&start.child, done(9));
    bench.says(ToolResult { tool_use_id: ToolUseId::trusted("c1"), ..ToolResult::default() });
    let status = bench.calls_tool(call("delegate_status", "c2", json!({})));
    assert!(status.is_empty());
    let said: Value = serde_json::from_str(&bench.told()[0].0).unwrap();
    assert_eq!(
        (&said["sessions"][0]["status"], &said["sessions"][0]["result"]),
        (&json!("completed"), &json!("It is built."))
    );
    let more = json!({ "session_id": start.child, "message": "And paint it", "wait": true });
    let effects = bench.calls_tool(call("delegate_message", "c3", more));
    assert!(matches!(effects.as_slice(), [Effect::TellChild { child, .. }] if *child == start.child), "{effects:?}");
    assert_eq!(bench.state_of(&start.child), DelegationState::Running);
    let effects = bench.calls_tool(call("delegate_stop", "c4", json!({ "session_id": start.child })));
    assert!(matches!(effects.as_slice(), [Effect::StopChildren(_)]));
    bench.hears(&start.child, ended(20, "turn_2", DelegationState::Stopped, "half"));
    let told = bench.told();
    assert_eq!(told.len(), 2, "both calls");
    assert!(told.iter().all(|(text, is_error)| *is_error && text.contains("was stopped. It had said:\n\nhalf")));
    assert_eq!(bench.brought(), [""; 0]);
}

#[test]
fn a_tree_spends_what_its_root_may_spend() {
    let mut bench = bench_with(json!({ "budget": { "session": { "tokens": 1000 }, "turn": { "usd": 1 } } }), RULES);
    bench.says(crate::event::Usage { input_tokens: 300, ..crate::event::Usage::default() });
    let start = bench.delegates("c1", json!({ "runtime": "codex", "prompt": "a" }));
    let group = &start.inherited.params["budget_group"];
    assert_eq!(
        (&group["id"], &group["limits"]["tokens"]),
        (&json!("tree-s"), &json!(1000.0)),
        "this turn is in the sum"
    );
    let budget = &start.inherited.params["budget"];
    assert_eq!((&budget["turn"]["usd"], &budget["session"]), (&json!(1), &json!({ "tokens": null })));
    let params = start.inherited.params.clone();
    assert_eq!(crate::budget::check_params(&params), Ok(()));
    // What is there already is passed on as it is.
    let own = json!({ "id": "g", "limits": { "usd": 2 } });
    let mut bench = bench_with(json!({ "budget_group": own }), RULES);
    let start = bench.delegates("c1", json!({ "runtime": "codex", "prompt": "a" }));
    assert_eq!(start.inherited.params["budget_group"], own);
}
