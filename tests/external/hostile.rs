//! Agents that do what they should not.

use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

use crate::agent::{TestAgent, begin, closed_with};
use crate::support::{Daemon, assert_lawful, kinds, of_kind};

/// An agent in a turn.
fn working(daemon: &Daemon) -> (TestAgent, String) {
    let mut agent = TestAgent::new(&daemon.client, "research", "one");
    agent.connect(&daemon.client);
    begin(&daemon.client, "s1", "research", "Work");
    agent.take_session();
    let turn = agent.until("prompt")["turn_id"].as_str().unwrap().to_owned();
    agent.until_committed("s1");
    (agent, turn)
}

#[test]
fn what_is_no_message_ends_the_connection_and_not_the_turn() {
    let daemon = Daemon::start();
    let (mut agent, turn) = working(&daemon);
    let large = format!("{{\"type\":\"delta\",\"pad\":\"{}\"}}", "x".repeat(16 * 1024 * 1024));
    for (message, code) in [
        (Message::text("not json"), 1008),
        (Message::text("{\"type\":"), 1008),
        (Message::binary(vec![0_u8, 159, 146, 150]), 1008),
        (Message::text(json!({ "type": "delta", "session_id": "s1", "n": 99 }).to_string()), 1008),
        (Message::text(json!({ "type": "hello", "protocol": 1 }).to_string()), 1008),
        (Message::text(large), 1009),
    ] {
        let mut socket = agent.socket.take().unwrap();
        // The other side may close before all of it was sent.
        drop(socket.send(message));
        assert_eq!(closed_with(&mut socket), code);
        assert_eq!(agent.connect(&daemon.client)["sessions"][0]["state"], "yours");
    }
    agent.say("s1", "turn_ended", Some(&turn), json!({ "outcome": "completed" }));
    daemon.client.until_idle("s1");
    let log = daemon.client.log("s1");
    assert_eq!(of_kind(&log, "done")[0]["data"]["outcome"], "completed");
    assert_lawful(&log);
}

#[test]
fn a_flood_is_bounded_and_other_sessions_are_not_touched() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("other");
    let (mut agent, turn) = working(&daemon);
    for _ in 0..600 {
        agent.say("s1", "delta", Some(&turn), json!({ "text": 7 }));
    }
    // Of a session that is not its own it may say what it likes.
    for n in 1..10 {
        agent.send(&json!({ "type": "turn_ended", "session_id": "other", "n": n, "data": { "outcome": "completed" } }));
        agent.send(&json!({ "type": "component_update", "session_id": "no-such", "n": n, "data": {} }));
    }
    agent.say("s1", "turn_ended", Some(&turn), json!({ "outcome": "completed" }));
    client.until_idle("s1");
    let log = client.log("s1");
    let unparsed = of_kind(&log, "agent_unparsed").len();
    assert!((1..300).contains(&unparsed), "{unparsed}");
    assert_lawful(&log);
    assert_eq!(kinds(&client.log("other")), ["session_ready"]);
    assert_eq!(client.turn("other", "echo hello").last().unwrap()["type"], "done");
}
