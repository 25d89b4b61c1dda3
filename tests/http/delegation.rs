//! Delegation, from outside: sessions that work for other sessions, with the mock in both places.

use serde_json::{Value, json};

use crate::support::{Client, Daemon, assert_lawful, eventually, of_kind};

const ALLOWED: &str = "[delegation]\nallow = true\n";

fn session(client: &Client, id: &str, more: &Value) {
    let mut params = json!({ "pace_ms": 0 });
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let created = client.post("/api/sessions", &json!({ "session_id": id, "runtime": "mock", "params": params }));
    assert_eq!(created.status, 201, "{}", created.body);
}

fn delegate(client: &Client, id: &str, input: &Value) {
    client.say(id, &format!("host delegate {input}"));
}

/// The only session that works for this one, once it is there.
fn child_of(client: &Client, id: &str) -> String {
    eventually("a session works for it", || {
        let log = client.log(id);
        let started = of_kind(&log, "delegation_started");
        let child = started.last()?["data"]["child_session_id"].as_str()?.to_owned();
        (client.get(&format!("/api/sessions/{child}")).status == 200).then_some(child)
    })
}

fn results(client: &Client, id: &str) -> Vec<Value> {
    of_kind(&client.log(id), "tool_result").into_iter().map(|event| event["data"].clone()).collect()
}

/// The last state that the parent knows.
fn state(client: &Client, id: &str) -> String {
    let log = client.log(id);
    let last = of_kind(&log, "delegation_updated").last().map(|event| event["data"]["state"].clone());
    last.unwrap_or_default().as_str().unwrap_or("starting").to_owned()
}

/// The messages that say how a turn ended, once each, whether in the queue or in a turn.
fn brought(client: &Client, id: &str) -> Vec<String> {
    let log = client.log(id);
    let queued = of_kind(&log, "queue_changed").into_iter().map(|event| event["data"]["added"]["message_id"].clone());
    let said = of_kind(&log, "user_message").into_iter().map(|event| event["data"]["message_id"].clone());
    let mut ids: Vec<String> = queued.chain(said).filter_map(|id| id.as_str().map(str::to_owned)).collect();
    ids.retain(|id| id.starts_with("delegation-"));
    ids.sort();
    ids.dedup();
    ids
}

fn card(client: &Client, id: &str) -> Value {
    let view = client.get(&format!("/api/sessions/{id}/view")).json();
    let blocks = view["messages"].as_array().unwrap().iter().flat_map(|message| message["blocks"].as_array().unwrap());
    let mut cards: Vec<Value> = blocks.filter(|block| block["kind"] == "delegation").cloned().collect();
    cards.pop().unwrap_or_else(|| panic!("a card in {view}"))
}

#[test]
fn a_call_that_waits_gets_the_last_words_of_the_other_session() {
    let daemon = Daemon::start_with(ALLOWED, &[]);
    let client = &daemon.client;
    session(client, "parent", &json!({}));
    delegate(client, "parent", &json!({ "runtime": "mock", "prompt": "echo It is built." }));
    client.until_idle("parent");
    let child = child_of(client, "parent");
    let results = results(client, "parent");
    assert_eq!((&results[0]["output"], &results[0]["is_error"]), (&json!("It is built."), &json!(false)));
    assert_eq!(client.session(&child)["parent_session_id"], "parent");
    let log = client.log(&child);
    assert_eq!(of_kind(&log, "turn_started")[0]["data"]["origin"], "delegation");
    assert_eq!(of_kind(&log, "delegated")[0]["data"]["ancestors"], json!(["parent"]));
    let card = card(client, "parent");
    assert_eq!(
        (&card["state"], &card["text"], &card["child_session_id"]),
        (&json!("completed"), &json!("It is built."), &json!(child))
    );
    assert!(brought(client, "parent").is_empty(), "the call was told");
    for id in ["parent", &child] {
        assert_lawful(&client.log(id));
    }
    let listed = client.get("/api/sessions").json();
    let row =
        listed["sessions"].as_array().unwrap().iter().find(|row| row["session_id"] == json!(child)).unwrap().clone();
    assert_eq!(row["parent_session_id"], "parent");
}

#[test]
fn who_does_not_wait_hears_it_by_one_message() {
    let daemon = Daemon::start_with(ALLOWED, &[]);
    let client = &daemon.client;
    session(client, "parent", &json!({}));
    delegate(client, "parent", &json!({ "runtime": "mock", "prompt": "echo It is built.", "wait": false }));
    let child = child_of(client, "parent");
    eventually("the parent has heard it", || {
        let log = client.log("parent");
        (of_kind(&log, "done").len() == 2).then_some(())
    });
    let log = client.log("parent");
    assert_eq!(of_kind(&log, "turn_started")[1]["data"]["origin"], "delegation");
    let turn = of_kind(&client.log(&child), "turn_started")[0]["turn_id"].as_str().unwrap().to_owned();
    assert_eq!(brought(client, "parent"), [format!("delegation-{child}-{turn}")]);
    let said = of_kind(&log, "user_message")[1]["data"]["content"][0]["text"].as_str().unwrap().to_owned();
    assert!(said.contains("is done:\n\nIt is built."), "{said}");
    assert!(results(client, "parent")[0]["output"].as_str().unwrap().contains(&child));
    assert_lawful(&log);
    // It is told more, and says so in the same way.
    client.say(
        "parent",
        &format!("host delegate_message {}", json!({ "session_id": child, "message": "echo More.", "wait": true })),
    );
    eventually("the third turn", || (of_kind(&client.log("parent"), "done").len() == 3).then_some(()));
    assert_eq!(results(client, "parent").last().unwrap()["output"], "More.");
    client.say("parent", "host delegate_status");
    eventually("the fourth turn", || (of_kind(&client.log("parent"), "done").len() == 4).then_some(()));
    let status: Value =
        serde_json::from_str(results(client, "parent").last().unwrap()["output"].as_str().unwrap()).unwrap();
    assert_eq!(status["sessions"][0]["result"], "More.");
}

#[test]
fn what_cannot_be_is_said_so_that_a_model_can_act_on_it() {
    let daemon = Daemon::start_with(
        "[delegation]\nallow = true\nmax_depth = 1\nmax_at_once = 1\n[claude]\nprogram = \"/nowhere/claude\"\n",
        &[],
    );
    let client = &daemon.client;
    let folder = tempfile::tempdir().unwrap();
    session(client, "parent", &json!({ "cwd": folder.path() }));
    let refused = |input: Value| {
        let before = results(client, "parent").len();
        delegate(client, "parent", &input);
        let result = eventually("a result", || results(client, "parent").get(before).cloned());
        client.until_idle("parent");
        assert_eq!(result["is_error"], true, "{result}");
        result["output"].as_str().unwrap().to_owned()
    };
    let why = refused(json!({ "runtime": "nobody", "prompt": "x" }));
    assert!(why.contains("there is no runtime \"nobody\"; there are") && why.contains("mock"), "{why}");
    let why = refused(json!({ "runtime": "claude", "prompt": "x" }));
    assert!(why.contains("choose another runtime, or do it yourself"), "{why}");
    let why = refused(json!({ "runtime": "mock", "prompt": "x", "cwd": "gone" }));
    assert!(why.contains("is not there; name one that is"), "{why}");
    let why = refused(json!({ "runtime": "mock", "prompt": "x", "cwd": "/" }));
    assert!(why.contains("is not in your working directory"), "{why}");
    let why = refused(json!({ "runtime": "mock" }));
    assert!(why.contains("missing field `prompt`"), "{why}");
    // One at once, and none below the first.
    delegate(client, "parent", &json!({ "runtime": "mock", "prompt": "hang", "wait": false }));
    let child = child_of(client, "parent");
    client.until_idle("parent");
    let why = refused(json!({ "runtime": "mock", "prompt": "x" }));
    assert!(why.contains("no more than 1 may at once"), "{why}");
    client.say("parent", &format!("host delegate_stop {}", json!({ "session_id": child })));
    eventually("it is stopped", || (state(client, "parent") == "stopped").then_some(()));
    client.until_idle("parent");
    let deeper = json!({ "runtime": "mock", "prompt": "echo deep" });
    delegate(client, "parent", &json!({ "runtime": "mock", "prompt": format!("host delegate {deeper}") }));
    client.until_idle("parent");
    let said = results(client, "parent").last().unwrap()["output"].as_str().unwrap().to_owned();
    assert!(said.contains("this session does not offer delegate"), "{said}");

    let daemon = Daemon::start();
    session(&daemon.client, "parent", &json!({}));
    delegate(&daemon.client, "parent", &json!({ "runtime": "mock", "prompt": "x" }));
    daemon.client.until_idle("parent");
    let said = results(&daemon.client, "parent")[0]["output"].as_str().unwrap().to_owned();
    assert!(said.contains("does not offer delegate"), "nobody has allowed it: {said}");
}

#[test]
fn a_client_makes_a_session_that_works_for_another() {
    let daemon = Daemon::start_with("[delegation]\nmax_total = 3\n", &[]);
    let client = &daemon.client;
    session(client, "top", &json!({ "mode": "ask", "budget": { "session": { "tokens": 1000 } } }));
    let create = |id: &str, parent: &str, params: Value| {
        let body = json!({ "session_id": id, "runtime": "mock", "parent_session_id": parent, "params": params });
        client.post("/api/sessions", &body)
    };
    let made = create("below", "top", json!({ "title": "Below" }));
    assert_eq!(made.status, 201, "{}", made.body);
    assert_eq!((&made.json()["parent_session_id"], &made.json()["mode"]), (&json!("top"), &json!("ask")));
    assert_eq!(create("below", "top", json!({ "title": "Below" })).status, 200, "the same again");
    assert_eq!(card(client, "top")["title"], "Below");
    create("top", "below", json!({})).is_problem(409, "delegation_cycle");
    create("self", "self", json!({})).is_problem(404, "session_not_found");
    create("x", "nobody", json!({})).is_problem(404, "session_not_found");
    create("x", "top", json!({ "mode": "bypass" })).is_problem(400, "invalid_request");
    client.patch("/api/sessions/below", &json!({ "mode": "implement" })).is_problem(400, "invalid_request");
    assert_eq!(client.patch("/api/sessions/below", &json!({ "mode": "plan" })).status, 200);
    session(client, "other", &json!({}));
    create("other", "top", json!({})).is_problem(409, "session_exists");
    let adopting = json!({ "runtime": "mock", "parent_session_id": "top", "adopt": "c" });
    client.post("/api/sessions", &adopting).is_problem(400, "invalid_request");
    assert_eq!(create("deeper", "below", json!({})).status, 201);
    create("below", "deeper", json!({})).is_problem(409, "delegation_cycle");
    assert_eq!(create("second", "top", json!({})).status, 201);
    assert_eq!(create("third", "top", json!({})).status, 201);
    create("fourth", "top", json!({})).is_problem(429, "delegation_limit");
    // They spend what the top may spend.
    client.turn("below", "spend 600");
    client.say("second", "spend 600 3");
    client.ask("second");
    let log = client.log("second");
    let paused = of_kind(&log, "budget").into_iter().find(|event| event["data"]["state"] == "paused").unwrap().clone();
    assert_eq!((&paused["data"]["scope"], &paused["data"]["id"]), (&json!("group"), &json!("tree-top")));
}

#[test]
fn an_ask_of_the_other_session_is_answered_where_it_was_delegated() {
    let daemon = Daemon::start_with(ALLOWED, &[]);
    let client = &daemon.client;
    session(client, "parent", &json!({}));
    delegate(client, "parent", &json!({ "runtime": "mock", "prompt": "permission" }));
    let child = child_of(client, "parent");
    let ask = client.ask(&child);
    let shown = eventually("the card shows it", || {
        let card = card(client, "parent");
        card["asks"].as_array()?.first().cloned()
    });
    assert_eq!((&shown["ask_id"], &shown["session_id"]), (&json!(ask), &json!(child)));
    assert_eq!(client.session("parent")["delegated_asks"], 1);
    let asks = client.get("/api/asks").json();
    assert_eq!(asks["asks"].as_array().unwrap().len(), 1, "it is one ask, and the other session's");
    let answered = client.post(&format!("/api/sessions/parent/permissions/{ask}"), &json!({ "reply": "once" }));
    assert_eq!(answered.status, 200, "{}", answered.body);
    client.until_idle("parent");
    assert!(of_kind(&client.log("parent"), "permission_resolved").is_empty(), "it is settled where it was asked");
    assert_eq!(of_kind(&client.log(&child), "permission_resolved")[0]["data"]["allowed"], true);
    let card = card(client, "parent");
    assert_eq!((&card["state"], card["asks"].as_array().map(Vec::len)), (&json!("completed"), Some(0)));
}

#[test]
fn who_stops_a_session_stops_those_that_work_for_it() {
    let daemon = Daemon::start_with(ALLOWED, &[]);
    let client = &daemon.client;
    session(client, "parent", &json!({}));
    delegate(client, "parent", &json!({ "runtime": "mock", "prompt": "hang" }));
    let child = child_of(client, "parent");
    client.until_thinking(&child);
    assert_eq!(client.post("/api/sessions/parent/stop", &json!({})).status, 200);
    client.until_idle("parent");
    client.until_idle(&child);
    eventually("the card says so", || (state(client, "parent") == "stopped").then_some(()));
    let outcome = |id: &str| of_kind(&client.log(id), "done").last().unwrap()["data"]["outcome"].clone();
    assert_eq!((outcome("parent"), outcome(&child)), (json!("stopped"), json!("stopped")));
    assert!(brought(client, "parent").is_empty(), "nobody wants to hear of it");
    assert_eq!(of_kind(&client.log("parent"), "turn_started").len(), 1);

    let daemon = Daemon::start_with("[delegation]\nallow = true\nstop_children = false\n", &[]);
    let client = &daemon.client;
    session(client, "parent", &json!({}));
    delegate(client, "parent", &json!({ "runtime": "mock", "prompt": "hang" }));
    let child = child_of(client, "parent");
    client.until_thinking(&child);
    assert_eq!(client.post("/api/sessions/parent/stop", &json!({})).status, 200);
    client.until_idle("parent");
    assert_eq!(client.session(&child)["status"], "running");
    // A person stops it there, and who delegated it hears that.
    assert_eq!(client.post(&format!("/api/sessions/{child}/stop"), &json!({})).status, 200);
    eventually("the parent hears", || (brought(client, "parent").len() == 1).then_some(()));
}

#[test]
fn after_a_kill_who_waited_learns_the_truth_once() {
    let mut daemon = Daemon::start_with(ALLOWED, &[]);
    session(&daemon.client, "waits", &json!({}));
    delegate(&daemon.client, "waits", &json!({ "runtime": "mock", "prompt": "hang" }));
    let waited = child_of(&daemon.client, "waits");
    daemon.client.until_thinking(&waited);
    session(&daemon.client, "goes", &json!({}));
    delegate(&daemon.client, "goes", &json!({ "runtime": "mock", "prompt": "hang", "wait": false }));
    let left = child_of(&daemon.client, "goes");
    daemon.client.until_thinking(&left);
    daemon.client.until_idle("goes");
    for round in 0..3 {
        daemon.kill();
        daemon.again();
        let client = &daemon.client;
        for (parent, child) in [("waits", &waited), ("goes", &left)] {
            eventually("the parent knows", || (state(client, parent) == "interrupted").then_some(()));
            let turn = of_kind(&client.log(child), "turn_started")[0]["turn_id"].as_str().unwrap().to_owned();
            assert_eq!(brought(client, parent), [format!("delegation-{child}-{turn}")], "round {round}");
            let row = eventually("it is held", || Some(client.session(parent)).filter(|row| row["held"] == 1));
            assert_eq!(row["status"], "idle", "nothing runs by surprise");
            assert_lawful(&client.log(parent));
        }
    }
    let client = &daemon.client;
    let result = &results(client, "waits")[0];
    let said = result["output"].as_str().unwrap();
    assert!(said.contains("was interrupted") && said.contains(&waited), "{said}");
    assert_eq!(client.post("/api/sessions/waits/continue", &json!({})).status, 200);
    eventually("it goes on", || {
        let log = client.log("waits");
        let turns = of_kind(&log, "turn_started");
        (turns.len() == 2 && turns[1]["data"]["origin"] == "delegation").then_some(())
    });
}

#[test]
fn a_daemon_that_is_killed_anywhere_tells_each_end_once() {
    let mut daemon = Daemon::start_with(ALLOWED, &[]);
    for round in 0..12_u64 {
        let parent = format!("parent-{round}");
        session(&daemon.client, &parent, &json!({}));
        let wait = round % 2 == 0;
        delegate(&daemon.client, &parent, &json!({ "runtime": "mock", "prompt": "sleep 40", "wait": wait }));
        std::thread::sleep(std::time::Duration::from_millis(round * 9));
        daemon.kill();
        daemon.again();
        let client = &daemon.client;
        eventually("everything is settled", || {
            let log = client.log(&parent);
            let started = of_kind(&log, "delegation_started").len();
            let open = ["starting", "running", "waiting", "stopping"];
            let is_open = started > 0 && open.contains(&state(client, &parent).as_str());
            (!is_open && client.session(&parent)["turn"].is_null()).then_some(())
        });
        let log = client.log(&parent);
        assert_lawful(&log);
        if of_kind(&log, "delegation_started").is_empty() {
            continue;
        }
        let results = results(client, &parent);
        let heard = results.iter().filter(|result| result["interrupted"].is_null() && wait).count();
        let ends = of_kind(&log, "delegation_updated").into_iter().filter(|event| {
            ["completed", "failed", "interrupted", "stopped"].iter().any(|state| event["data"]["state"] == *state)
        });
        assert_eq!(ends.count(), 1, "round {round}: {log:#?}");
        assert_eq!(heard + brought(client, &parent).len(), 1, "round {round}: {log:#?}");
    }
}

#[test]
fn a_tree_of_sessions_passes_its_asks_up_and_its_results_too() {
    let daemon = Daemon::start_with(ALLOWED, &[]);
    let client = &daemon.client;
    session(client, "top", &json!({}));
    let inner = json!({ "runtime": "mock", "prompt": "permission" });
    delegate(client, "top", &json!({ "runtime": "mock", "prompt": format!("host delegate {inner}") }));
    let middle = child_of(client, "top");
    let leaf = child_of(client, &middle);
    let ask = client.ask(&leaf);
    eventually("the top shows it", || {
        let card = card(client, "top");
        (card["asks"][0]["session_id"] == json!(leaf)).then_some(())
    });
    assert_eq!(of_kind(&client.log(&leaf), "delegated")[0]["data"]["ancestors"], json!(["top", middle]));
    assert_eq!(client.post(&format!("/api/sessions/top/permissions/{ask}"), &json!({ "reply": "once" })).status, 200);
    client.until_idle("top");
    assert_eq!(card(client, "top")["state"], "completed");
    // One that is removed is gone for good.
    assert_eq!(client.delete(&format!("/api/sessions/{leaf}?purge=true")).status, 204);
    eventually("its parent knows", || (state(client, &middle) == "removed").then_some(()));
    // A copy works for nobody.
    let copy = client.post(&format!("/api/sessions/{middle}/fork"), &json!({})).json();
    assert!(copy["parent_session_id"].is_null(), "{copy}");
}

#[test]
fn a_task_does_not_come_round() {
    let daemon = Daemon::start_with(ALLOWED, &[]);
    let client = &daemon.client;
    session(client, "top", &json!({}));
    // What is delegated is delegated in the same words: a mock that is told to delegate itself.
    let inner = json!({ "runtime": "mock", "prompt": "echo x" });
    let same = format!("host delegate {inner}");
    delegate(client, "top", &json!({ "runtime": "mock", "prompt": same }));
    client.until_idle("top");
    assert_eq!(results(client, "top")[0]["is_error"], false);
    // The leaf was given "echo x", and could not have given it on.
    let middle = child_of(client, "top");
    let leaf = child_of(client, &middle);
    client.turn(&leaf, &format!("host delegate {inner}"));
    let said = results(client, &leaf)[0]["output"].as_str().unwrap().to_owned();
    assert!(said.contains("the very task that was given to you"), "{said}");
}
