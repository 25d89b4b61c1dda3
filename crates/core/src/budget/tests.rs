use serde_json::json;

use super::*;
use crate::event::{
    Budget, BudgetMeasure, BudgetScope, BudgetState, Done, Envelope, Event, ToolResult, ToolStart, TurnStarted, Usage,
};
use crate::id::{Seq, SessionId, ToolUseId, TurnId};
use crate::time::Timestamp;

fn envelope(session: &str, turn: &str, event: Event) -> Envelope {
    Envelope {
        seq: Seq(1),
        ts: Timestamp::from_millis(1_800_000_000_000),
        session_id: SessionId::trusted(session),
        turn_id: Some(TurnId::trusted(turn)),
        subagent_id: None,
        event,
    }
}

fn usage(tokens: u64) -> Event {
    Usage { input_tokens: tokens, ..Usage::default() }.into()
}

fn call(ledger: &mut Ledger, number: usize, command: &str, output: &str) {
    let tool_use_id = ToolUseId::trusted(format!("c{number}"));
    let input = Some(json!({ "command": command }));
    let start = ToolStart { tool_use_id: tool_use_id.clone(), tool: "Bash".into(), input, ..ToolStart::default() };
    ledger.apply(&envelope("s", "t", start.into()));
    let result = ToolResult { tool_use_id, output: output.into(), ..ToolResult::default() };
    ledger.apply(&envelope("s", "t", result.into()));
}

#[test]
fn a_circle_is_calls_without_anything_new() {
    let mut ledger = Ledger::default();
    ledger.apply(&envelope("s", "t", TurnStarted::default().into()));
    for number in 0..6 {
        call(&mut ledger, number, "cat a", "same");
    }
    assert_eq!(ledger.repeats().most(), 6);
    // Something changes: polling is no circle.
    call(&mut ledger, 10, "cat a", "other");
    assert_eq!(ledger.repeats().most(), 1);
    for number in 20..40 {
        call(&mut ledger, number, "gh run view", &format!("{number} % done"));
    }
    assert_eq!(ledger.repeats().most(), 1);
    // An edit between two runs of the same tests is something new, and two calls in turn are a circle.
    for number in (40..60).step_by(2) {
        call(&mut ledger, number, &format!("edit {number}"), "ok");
        call(&mut ledger, number + 1, "cargo test", "1 failed");
    }
    assert_eq!(ledger.repeats().most(), 1);
    for number in (60..70).step_by(2) {
        call(&mut ledger, number, "edit 40", "ok");
        call(&mut ledger, number + 1, "cargo test", "1 failed");
    }
    assert_eq!(ledger.repeats().most(), 6);
    ledger.apply(&envelope("s", "u", TurnStarted::default().into()));
    assert_eq!(ledger.repeats().most(), 0, "another turn");
}

#[test]
fn what_a_turn_used_is_said_as_a_whole() {
    let mut ledger = Ledger::default();
    for turn in ["a", "b"] {
        ledger.apply(&envelope("s", turn, TurnStarted::default().into()));
        ledger.apply(&envelope("s", turn, usage(100)));
        ledger.apply(&envelope("s", turn, usage(250)));
        ledger.apply(&envelope("s", turn, Done { worked_ms: Some(2_000), ..Done::default() }.into()));
    }
    let expected = Spent { tokens: 500, turns: 2, worked_ms: 4_000, nano_usd: 0 };
    assert_eq!(ledger.of_session(), expected);
    let plan = Rules::default().plan(Some(&json!({ "session": { "tokens": 500 }, "turn": { "tokens": 1_000 } })), None);
    let levels = own_levels(&plan, &ledger, 0, 0);
    let reached: Vec<BudgetScope> = levels.iter().filter(|level| level.is_reached()).map(|level| level.scope).collect();
    assert_eq!(reached, [BudgetScope::Session]);
    let level = levels.iter().find(|level| level.is_reached()).unwrap();
    let raised = level.raised(50);
    assert_eq!((raised, level.offer(raised).as_str()), (750, "Go on with another 250 tokens"));
    let limit = 750.0;
    let fact = Budget { limit, ..level.fact(BudgetState::Raised) };
    ledger.apply(&envelope("s", "b", fact.into()));
    assert!(own_levels(&plan, &ledger, 0, 0).iter().all(|level| !level.is_reached()));
}

#[test]
fn sums_go_over_sessions_and_count_each_turn_once() {
    let mut sums = Sums::default();
    let group = |id: &str| TurnStarted { budget_group: Some(id.into()), ..TurnStarted::default() };
    sums.apply(&envelope("a", "a1", group("g").into()), "2027-01-15");
    sums.apply(&envelope("b", "b1", TurnStarted::default().into()), "2027-01-15");
    sums.apply(&envelope("a", "a1", usage(100)), "2027-01-15");
    sums.apply(&envelope("a", "a1", usage(180)), "2027-01-16");
    sums.apply(&envelope("b", "b1", usage(50)), "2027-01-16");
    assert_eq!(sums.daemon().spent.tokens, 230);
    assert_eq!(sums.days()["2027-01-15"].spent, Spent { tokens: 100, turns: 2, ..Spent::default() });
    assert_eq!(sums.days()["2027-01-16"].spent.tokens, 130);
    assert_eq!(sums.groups()["g"].spent.tokens, 180);
    let raised = Budget {
        state: BudgetState::Raised,
        scope: BudgetScope::Group,
        id: Some("g".into()),
        measure: BudgetMeasure::Tokens,
        limit: 400.0,
        ..Budget::default()
    };
    sums.apply(&envelope("b", "b1", raised.into()), "2027-01-16");
    assert_eq!(sums.groups()["g"].raised_to(BudgetMeasure::Tokens), Some(400));
    // What is kept is what goes on.
    let kept: Sums = serde_json::from_str(&serde_json::to_string(&sums).unwrap()).unwrap();
    assert_eq!(kept, sums);

    // A session adds what it has said and the sums have not heard.
    let mut ledger = Ledger::default();
    ledger.apply(&envelope("a", "a1", group("g").into()));
    ledger.apply(&envelope("a", "a1", usage(220)));
    let plan = Rules::default().plan(None, Some(&json!({ "id": "g", "limits": { "tokens": 200 } })));
    let shared = sums.shared(&SessionId::trusted("a"), "2027-01-16", Some("g"));
    let levels = shared_levels(&plan, &shared, &ledger, 0);
    assert_eq!(levels.iter().map(|level| (level.spent, level.limit)).collect::<Vec<_>>(), [(220, 400)]);
}

#[test]
fn prices_are_found_by_the_longest_beginning() {
    let price = |input: f64| Price { input, output: 10.0, cache_read: Some(0.1), cache_write: None };
    let prices = [("claude-", 1.0), ("claude-opus", 4.0), ("*", 9.0)];
    let prices = prices.into_iter().map(|(name, input)| (name.to_owned(), price(input))).collect();
    let rules = Rules { prices, ..Rules::default() };
    let input = |model: &str| rules.price(Some(model)).map(|price| price.input);
    assert_eq!(input("claude-opus-5-5"), Some(4.0));
    assert_eq!(input("claude-haiku"), Some(1.0));
    assert_eq!(input("gpt"), Some(9.0));
    let used =
        Usage { input_tokens: 1_000_000, cached_tokens: Some(500_000), output_tokens: 100_000, ..Usage::default() };
    assert!((price(4.0).of(&used) - (2.0 + 0.05 + 1.0)).abs() < 1e-9);
}

#[test]
fn a_budget_that_makes_no_sense_is_named() {
    let check = |params: serde_json::Value| check_params(params.as_object().unwrap());
    for (params, named) in [
        (json!({ "budget": { "session": { "tokens": 0 } } }), "`tokens` must be a number above 0"),
        (json!({ "budget": { "session": { "usd": -1 } } }), "`usd`"),
        (json!({ "budget": { "turn": { "turns": 3 } } }), "no limit of one turn"),
        (json!({ "budget": { "sesion": {} } }), "unknown field"),
        (json!({ "budget_group": { "id": "" } }), "`id`"),
        (json!({ "budget_group": { "id": "a", "limits": { "minutes": 0 } } }), "`minutes`"),
    ] {
        let (_, why) = check(params.clone()).unwrap_err();
        assert!(why.contains(named), "{params}: {why}");
    }
    check(json!({ "budget": { "session": { "usd": 2.5, "tokens": null } }, "budget_group": { "id": "tree-1" } }))
        .unwrap();
    let rules = Rules { session: Limits { usd: Some(1.0), ..Limits::default() }, ..Rules::default() };
    assert_eq!(rules.plan(None, None).session.usd, Some(1.0));
    assert_eq!(rules.plan(Some(&json!({ "session": { "usd": null } })), None).session.usd, None);
}
