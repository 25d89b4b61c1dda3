//! How an agent connects, is given sessions, loses its line and goes on.

use serde_json::json;

use crate::agent::{TestAgent, begin, closed_with, dial, make_token};
use crate::support::{Daemon, assert_lawful, eventually, kinds, of_kind};

#[test]
fn a_whole_turn_with_an_answer() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    let mut agent = TestAgent::new(client, "research", "one");
    let listed = |name: &str| {
        let agents = client.get("/api/agents").json();
        agents["agents"].as_array().unwrap().iter().find(|agent| agent["id"] == name).cloned()
    };
    let before = listed("research").expect("a token for its name is enough");
    assert_eq!((&before["kind"], &before["connected"]), (&json!("external"), &json!(0)));
    assert!(before["problem"].is_string() && before["fix"].as_str().unwrap().contains("agent:research"), "{before}");
    let welcome = agent.connect(client);
    assert_eq!(welcome["window"]["messages"], 1024);
    let after = listed("research").unwrap();
    assert_eq!((&after["connected"], &after["name"]), (&json!(1), &json!("Research")));
    assert_eq!((&after["capabilities"]["steer"], &after["capabilities"]["gate"]), (&json!(true), &json!(false)));
    assert!(after["problem"].is_null());

    begin(client, "s1", "research", "Sales?");
    let open = agent.until("open");
    assert_eq!((&open["epoch"], &open["opening"]["params"]["depth"]), (&json!(1), &json!(3)));
    agent.say("s1", "ready", None, json!({ "provider_session_id": "c1" }));
    let prompt = agent.until("prompt");
    let turn = prompt["turn_id"].as_str().unwrap().to_owned();
    assert_eq!((&prompt["o"], &prompt["messages"][0]["content"][0]["text"]), (&json!(1), &json!("Sales?")));
    agent.say("s1", "delta", Some(&turn), json!({ "text": "Here they are." }));
    let ask = json!({ "key": "a1", "interrupt": { "component_name": "approval", "props": { "action": "Send" } } });
    agent.say("s1", "ask", Some(&turn), ask);
    let ask_id = client.ask("s1");
    let value = json!({ "choice": "approve", "approved": true });
    assert_eq!(client.post(&format!("/api/sessions/s1/interrupt/{ask_id}"), &json!({ "value": value })).status, 200);
    let answer = agent.until("answer");
    assert_eq!((&answer["key"], &answer["ask_id"], &answer["by"]), (&json!("a1"), &json!(ask_id), &json!("api")));
    assert_eq!(answer["interrupt"]["value"], value);
    assert_eq!(
        client.patch("/api/sessions/s1/state", &json!([{ "op": "add", "path": "/rows", "value": 2 }])).status,
        200
    );
    assert_eq!(agent.until("state")["state"], json!({ "rows": 2 }));
    agent.say("s1", "turn_ended", Some(&turn), json!({ "outcome": "completed" }));
    client.until_idle("s1");
    let log = client.log("s1");
    assert_lawful(&log);
    assert_eq!(of_kind(&log, "done")[0]["data"]["outcome"], "completed");
    assert_eq!(of_kind(&log, "interrupt")[0]["data"]["key"], "a1");
    agent.until_committed("s1");
}

#[test]
fn a_message_waits_for_the_agent_and_says_so() {
    let daemon = Daemon::start_with(
        "[agents.research]\nkind = \"external\"\nwait_seconds = 600\n[agents.late]\nkind = \"external\"\nwait_seconds = 0\n",
        &[],
    );
    let client = &daemon.client;
    begin(client, "s1", "research", "Are you there?");
    eventually("it says that it waits", || {
        let log = client.log("s1");
        let statuses = of_kind(&log, "status");
        statuses.iter().any(|status| status["data"]["label"] == "Waiting for research to connect").then_some(())
    });
    let mut agent = TestAgent::new(client, "research", "one");
    agent.connect(client);
    agent.take_session();
    let prompt = agent.until("prompt");
    assert_eq!(prompt["messages"][0]["content"][0]["text"], "Are you there?");
    begin(client, "s2", "late", "And you?");
    eventually("nobody came", || (client.session("s2")["problem"]["code"] == "agent_not_connected").then_some(()));
    assert_lawful(&client.log("s2"));
}

#[test]
fn the_turn_outlives_a_cut_and_a_restart_of_the_daemon() {
    let mut daemon = Daemon::start();
    let mut agent = TestAgent::new(&daemon.client, "research", "one");
    agent.connect(&daemon.client);
    begin(&daemon.client, "s1", "research", "Long work");
    agent.take_session();
    let turn = agent.until("prompt")["turn_id"].as_str().unwrap().to_owned();
    agent.say("s1", "delta", Some(&turn), json!({ "block_id": "b", "text": "1" }));
    agent.cut();
    agent.say("s1", "delta", Some(&turn), json!({ "block_id": "b", "text": "2" }));
    agent.connect(&daemon.client);
    let question =
        json!({ "key": "q", "question": { "questions": [{ "prompt": "Go on?", "options": [{ "label": "Yes" }] }] } });
    agent.say("s1", "ask", Some(&turn), question);
    let ask_id = daemon.client.ask("s1");
    daemon.kill();
    agent.say("s1", "delta", Some(&turn), json!({ "block_id": "b", "text": "3" }));
    daemon.again();
    let client = &daemon.client;
    eventually("the session is there", || (client.session("s1")["turn"] == json!(turn)).then_some(()));
    // The ask is still open, and can be answered while the agent is away.
    let answered = client.post(&format!("/api/sessions/s1/questions/{ask_id}"), &json!({ "answers": [["Yes"]] }));
    assert_eq!(answered.status, 200, "{}", answered.body);
    agent.cut();
    let welcome = agent.connect(client);
    assert_eq!((&welcome["sessions"][0]["state"], &welcome["sessions"][0]["turn_id"]), (&json!("yours"), &json!(turn)));
    assert_eq!(agent.until("answer")["question"]["answers"], json!([["Yes"]]));
    agent.say("s1", "turn_ended", Some(&turn), json!({ "outcome": "completed" }));
    client.until_idle("s1");
    let log = client.log("s1");
    assert_lawful(&log);
    let text: String = of_kind(&log, "delta").iter().map(|delta| delta["data"]["text"].as_str().unwrap()).collect();
    assert_eq!(text, "123");
    assert_eq!(of_kind(&log, "done")[0]["data"]["outcome"], "completed");

    // A polite end is no end of a turn either.
    client.say("s1", "More");
    let turn = agent.until("prompt")["turn_id"].as_str().unwrap().to_owned();
    agent.say("s1", "delta", Some(&turn), json!({ "text": "a" }));
    agent.until_committed("s1");
    assert_eq!(daemon.terminate(), Some(0));
    let orders = agent.orders.len();
    assert!(agent.look_for(std::time::Duration::from_millis(200)).is_none() && agent.socket.is_none());
    daemon.again();
    agent.connect(&daemon.client);
    agent.say("s1", "turn_ended", Some(&turn), json!({ "outcome": "completed" }));
    daemon.client.until_idle("s1");
    assert_eq!(agent.orders.len(), orders, "no interrupt, and nothing twice");
    assert_eq!(of_kind(&daemon.client.log("s1"), "done").len(), 2);
}

#[test]
fn who_does_not_come_back_loses_the_turn_and_the_session() {
    let daemon =
        Daemon::start_with("[agents.research]\nkind = \"external\"\ngrace_seconds = 1\nwait_seconds = 600", &[]);
    let client = &daemon.client;
    let mut agent = TestAgent::new(client, "research", "one");
    agent.connect(client);
    begin(client, "s1", "research", "Work");
    agent.take_session();
    agent.until("prompt");
    agent.cut();
    client.until_idle("s1");
    let log = client.log("s1");
    assert_eq!(of_kind(&log, "done")[0]["data"]["outcome"], "interrupted");
    assert_eq!(of_kind(&log, "error")[0]["data"]["code"], "agent_away");
    let welcome = agent.connect(client);
    assert_eq!(welcome["sessions"][0]["state"], "gone");
    client.say("s1", "Again");
    let open = agent.until("open");
    assert_eq!((&open["epoch"], &open["opening"]["beginning"]["kind"]), (&json!(2), &json!("resume")));
    agent.say("s1", "ready", None, json!({ "resumed": true }));
    let turn = agent.until("prompt")["turn_id"].as_str().unwrap().to_owned();
    agent.say("s1", "turn_ended", Some(&turn), json!({ "outcome": "completed" }));
    client.until_idle("s1");
    assert_lawful(&client.log("s1"));
}

#[test]
fn two_processes_share_the_work_and_one_that_connects_twice_has_one_line() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    let mut one = TestAgent::new(client, "research", "one");
    let mut two = one.another("two");
    one.connect(client);
    two.connect(client);
    begin(client, "s1", "research", "First");
    begin(client, "s2", "research", "Second");
    let (of_one, of_two) = (one.take_session(), two.take_session());
    assert_ne!(of_one, of_two);
    one.until("prompt");
    // What is another's is not to be had.
    let mut thief = one.another("three");
    thief.held.insert(of_one.clone(), crate::agent::Held { epoch: 1, ..Default::default() });
    assert_eq!(thief.connect(client)["sessions"][0]["reason"], "another instance has it");
    thief.send(&json!({ "type": "turn_ended", "session_id": of_one, "n": 1, "data": { "outcome": "completed" } }));
    let mut first = one.socket.take().unwrap();
    let welcome = one.connect(client);
    assert_eq!(welcome["sessions"][0]["state"], "yours");
    assert_eq!(closed_with(&mut first), 4001);
    assert!(client.session(&of_one)["turn"].is_string(), "the turn goes on");
}

#[test]
fn who_may_not_is_not_let_in() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    let (_, token) = make_token(client, "other", &["agent:other"]);
    let bearer = format!("Bearer {token}");
    let refused = |headers: &[(&'static str, &str)]| match dial(client, headers) {
        Err(tokio_tungstenite::tungstenite::Error::Http(response)) => response.status().as_u16(),
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(&[]), 401);
    assert_eq!(refused(&[("authorization", "Bearer tl_guess")]), 401);
    let origin = format!("http://{}", client.address);
    assert_eq!(refused(&[("authorization", &bearer), ("origin", &origin)]), 403);
    let (_, reader) = make_token(client, "reader", &["read:*"]);
    assert_eq!(refused(&[("authorization", &format!("Bearer {reader}"))]), 403);
    for (hello, code) in [
        (json!({ "type": "hello", "protocol": 1, "agent": "research", "instance": "i" }), 1008),
        (json!({ "type": "hello", "protocol": 2, "agent": "other", "instance": "i" }), 1008),
        (json!({ "type": "hello", "protocol": 1, "agent": "other", "instance": "" }), 1008),
        (json!({ "type": "hello", "protocol": 1, "agent": "other" }), 1008),
        (json!({ "type": "delta" }), 1008),
    ] {
        let mut socket = dial(client, &[("authorization", &bearer)]).unwrap();
        socket.send(tokio_tungstenite::tungstenite::Message::text(hello.to_string())).unwrap();
        assert_eq!(closed_with(&mut socket), code, "{hello}");
    }
    let builtin = json!({ "type": "hello", "protocol": 1, "agent": "claude", "instance": "i" });
    let own = format!("Bearer {}", client.token.as_deref().unwrap());
    let mut socket = dial(client, &[("authorization", &own)]).unwrap();
    socket.send(tokio_tungstenite::tungstenite::Message::text(builtin.to_string())).unwrap();
    assert_eq!(closed_with(&mut socket), 1008, "nobody is Claude Code but Claude Code");
}

#[test]
fn a_revoked_token_ends_the_connection() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    let (id, token) = make_token(client, "research", &["agent:research"]);
    let mut agent = TestAgent::with_token("research", "one", &token);
    agent.connect(client);
    assert_eq!(client.delete(&format!("/api/tokens/{id}")).status, 204);
    assert_eq!(closed_with(agent.socket.as_mut().unwrap()), 1008);
    assert!(agent.try_connect(client).is_none());
}

#[test]
fn a_stop_is_obeyed_and_late_words_harm_nobody() {
    let daemon = Daemon::start_with("interrupt_seconds = 1", &[]);
    let client = &daemon.client;
    let mut agent = TestAgent::new(client, "research", "one");
    agent.connect(client);
    begin(client, "s1", "research", "Work");
    agent.take_session();
    let turn = agent.until("prompt")["turn_id"].as_str().unwrap().to_owned();
    let stopping = {
        let client = client.clone();
        std::thread::spawn(move || client.post("/api/sessions/s1/stop", &json!({})))
    };
    assert_eq!(agent.until("interrupt")["turn_id"], json!(turn));
    // It does not listen; its turn is ended for it.
    assert_eq!(stopping.join().unwrap().status, 200);
    agent.say("s1", "delta", Some(&turn), json!({ "text": "too late" }));
    agent.until_committed("s1");
    let log = client.log("s1");
    assert!(!kinds(&log).contains(&"delta"));
    assert_eq!(of_kind(&log, "done")[0]["data"]["outcome"], "stopped");
    assert_lawful(&log);
    let metrics = client.get("/metrics").body;
    assert!(metrics.contains("turnloom_agent_stale_total 1"), "{metrics}");
}
