//! Budgets, from outside: what is spent pauses the work before more is spent, a person says how it goes on, and the sums over sessions survive a restart.

use serde_json::{Value, json};

use crate::support::{Client, Daemon, assert_lawful, eventually, of_kind};

fn session(client: &Client, id: &str, more: &Value) {
    let mut params = json!({ "pace_ms": 0 });
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let created = client.post("/api/sessions", &json!({ "session_id": id, "runtime": "mock", "params": params }));
    assert_eq!(created.status, 201, "{}", created.body);
}

/// What is said about limits, in order.
fn said(client: &Client, id: &str) -> Vec<String> {
    let log = client.log(id);
    let word = |event: &Value, name: &str| event["data"][name].as_str().unwrap_or_default().to_owned();
    of_kind(&log, "budget").iter().map(|event| format!("{} {}", word(event, "state"), word(event, "scope"))).collect()
}

fn calls(client: &Client, id: &str) -> usize {
    of_kind(&client.log(id), "tool_result").len()
}

fn answer(client: &Client, id: &str, reply: &str) -> Value {
    let ask = client.ask(id);
    let answered = client.post(&format!("/api/sessions/{id}/permissions/{ask}"), &json!({ "reply": reply }));
    assert_eq!(answered.status, 200, "{}", answered.body);
    answered.json()
}

#[test]
fn a_budget_pauses_a_turn_before_its_next_call_and_a_person_lets_it_go_on() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    session(client, "paused", &json!({ "budget": { "session": { "tokens": 1000 } } }));
    client.say("paused", "spend 450 5");
    let ask = client.ask("paused");
    assert_eq!(calls(client, "paused"), 2, "the third call is held");
    assert_eq!(said(client, "paused"), ["warned session", "reached session", "paused session"]);
    let asks = client.get("/api/asks").json();
    let request = &asks["asks"][0]["request"];
    assert_eq!(request["options"][0]["label"], "Go on with another 500 tokens", "{request}");
    assert_eq!(client.session("paused")["status"], "waiting");
    // Nothing goes on by itself, and what is sent meanwhile waits.
    client.say("paused", "echo later");
    assert_eq!((calls(client, "paused"), client.session("paused")["queued"].as_u64()), (2, Some(1)));
    let path = format!("/api/sessions/paused/permissions/{ask}");
    assert_eq!(client.post(&path, &json!({ "reply": "once" })).status, 200);
    client.post(&path, &json!({ "reply": "reject" })).is_problem(409, "already_resolved");
    // 1350 is spent, so it goes up to 1850: the fifth call is one too many.
    let again = client.ask("paused");
    assert_ne!(ask, again);
    assert_eq!(calls(client, "paused"), 4);
    answer(client, "paused", "reject");
    eventually("it has ended", || {
        let log = client.log("paused");
        of_kind(&log, "done").first().map(|done| assert_eq!(done["data"]["outcome"], "stopped"))
    });
    assert_eq!(client.session("paused")["held"], 1, "what waits would only ask again");
    let log = client.log("paused");
    assert_lawful(&log);
    let raised = of_kind(&log, "budget").into_iter().find(|event| event["data"]["state"] == "raised").unwrap().clone();
    assert_eq!((&raised["data"]["limit"], &raised["data"]["spent"]), (&json!(1850.0), &json!(1350.0)));
    let budget = &client.session("paused")["budget"];
    assert_eq!(budget["limits"][0]["limit"], 1850.0, "{budget}");
}

#[test]
fn a_limit_that_is_changed_while_it_is_asked_about_answers_the_ask() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    session(client, "patched", &json!({ "budget": { "session": { "tokens": 100 } } }));
    client.say("patched", "spend 100 2");
    client.ask("patched");
    let bad = json!({ "settings": { "budget": { "session": { "tokens": -1 } } } });
    client.patch("/api/sessions/patched", &bad).is_problem(400, "invalid_request");
    let more = json!({ "settings": { "budget": { "session": { "tokens": 5000 } } } });
    let patched = client.patch("/api/sessions/patched", &more);
    assert_eq!(patched.status, 200, "{}", patched.body);
    client.until_idle("patched");
    let log = client.log("patched");
    assert_lawful(&log);
    assert_eq!((calls(client, "patched"), of_kind(&log, "permission_request").len()), (2, 1));
    assert_eq!(of_kind(&log, "permission_resolved")[0]["data"]["reason"], "the limit was changed");
}

#[test]
fn an_agent_that_talks_on_is_interrupted_and_goes_on_when_a_person_says_so() {
    let daemon = Daemon::start_with("budgets.hold_seconds = 1\nbudgets.turn.tokens = 50\n", &[]);
    let client = &daemon.client;
    session(client, "talker", &json!({}));
    client.say("talker", "burn 60");
    client.ask("talker");
    assert_eq!(said(client, "talker"), ["reached turn", "interrupted turn", "paused turn"]);
    let log = client.log("talker");
    let turns = of_kind(&log, "turn_started");
    assert_eq!(of_kind(&log, "done")[0]["data"]["outcome"], "interrupted");
    assert_eq!((turns.len(), &turns[1]["data"]["continues"]), (2, &turns[0]["turn_id"]));
    assert_eq!(turns[1]["data"]["waits"], true);
    answer(client, "talker", "once");
    client.until_idle("talker");
    let log = client.log("talker");
    assert_lawful(&log);
    assert_eq!(of_kind(&log, "done")[1]["data"]["outcome"], "completed", "the mock repeats what it was told");
}

#[test]
fn a_turn_that_goes_round_in_circles_is_noticed() {
    let daemon = Daemon::start_with("budgets.runaway.repeats = 5\n", &[]);
    let client = &daemon.client;
    session(client, "circle", &json!({}));
    client.say("circle", "circle 8");
    client.ask("circle");
    assert_eq!(calls(client, "circle"), 5);
    answer(client, "circle", "once");
    client.until_idle("circle");
    assert_eq!(calls(client, "circle"), 8, "the rest is below the limit again");
    session(client, "busy", &json!({}));
    client.turn("busy", "spend 10 8");
    assert!(said(client, "busy").is_empty(), "other calls are no circle");
}

#[test]
fn sums_over_sessions_pause_all_of_them_and_survive_a_restart() {
    let config = "budgets.day.tokens = 1000\n[budgets.prices.\"*\"]\ninput = 2.0\noutput = 10.0\n";
    let mut daemon = Daemon::start_with(config, &[]);
    let group = json!({ "budget_group": { "id": "tree", "limits": { "usd": 1.0 } } });
    session(&daemon.client, "one", &group);
    session(&daemon.client, "two", &json!({}));
    daemon.client.turn("one", "spend 300 2");
    daemon.client.turn("two", "spend 300");
    let sums = |client: &Client| {
        let usage = client.get("/api/usage").json();
        (usage["daemon"].clone(), usage["days"][0]["spent"].clone(), usage["groups"].clone())
    };
    let before = sums(&daemon.client);
    assert_eq!((&before.0["tokens"], &before.0["turns"]), (&json!(900), &json!(2)));
    assert_eq!(before.1["tokens"], 900);
    assert_eq!((&before.2[0]["id"], &before.2[0]["spent"]["tokens"]), (&json!("tree"), &json!(600)));
    assert!((before.2[0]["spent"]["usd"].as_f64().unwrap() - 0.0012).abs() < 1e-9, "{before:?}");
    daemon.kill();
    daemon.again();
    let client = &daemon.client;
    assert_eq!(sums(client), before, "nothing is lost, and nothing is counted twice");
    // Both sessions reach the limit of the day, and one answer is for both.
    client.say("one", "spend 150 2");
    client.ask("one");
    client.say("two", "echo hello");
    client.ask("two");
    assert_eq!(said(client, "two").last().unwrap(), "paused day");
    let log = client.log("two");
    assert_eq!(of_kind(&log, "turn_started").last().unwrap()["data"]["waits"], true, "the agent has not heard of it");
    answer(client, "one", "once");
    client.until_idle("two");
    let log = client.log("two");
    assert_eq!(
        of_kind(&log, "permission_resolved").last().unwrap()["data"]["reason"],
        "the limit was raised in another session"
    );
    client.until_idle("one");
    for id in ["one", "two"] {
        assert_lawful(&client.log(id));
    }
    let warned =
        [said(client, "one"), said(client, "two")].concat().iter().filter(|said| *said == "warned day").count();
    assert!(warned <= 1, "one session warns for all");
}

#[test]
fn a_crash_in_a_pause_settles_the_ask_and_the_next_message_asks_again() {
    let mut daemon = Daemon::start();
    session(&daemon.client, "crashed", &json!({ "budget": { "session": { "tokens": 100 } } }));
    daemon.client.say("crashed", "spend 100 3");
    daemon.client.ask("crashed");
    daemon.kill();
    daemon.again();
    let client = &daemon.client;
    client.until_idle("crashed");
    assert_eq!(of_kind(&client.log("crashed"), "permission_resolved")[0]["data"]["unanswered"], "interrupted");
    client.say("crashed", "echo again");
    client.ask("crashed");
    answer(client, "crashed", "once");
    client.until_idle("crashed");
    let log = client.log("crashed");
    assert_lawful(&log);
    assert_eq!(of_kind(&log, "done").last().unwrap()["data"]["outcome"], "completed");
}
