//! Many sessions, many followers, slow followers: what the daemon must carry without growing.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::cast_possible_truncation,
    reason = "a test says what is wrong by panicking, and starts what it tests"
)]

#[path = "../support/mod.rs"]
mod support;

use serde_json::json;
use support::{Daemon, Sse, eventually};

#[test]
fn a_thousand_idle_sessions_cost_almost_nothing() {
    let daemon = Daemon::start_with("linger_seconds = 0\ndurability = \"process\"", &[]);
    let client = &daemon.client;
    let talk = |id: &str| {
        let body = json!({ "session_id": id, "runtime": "mock", "params": { "pace_ms": 0, "in_process": true } });
        assert_eq!(client.post("/api/sessions", &body).status, 201);
        client.say(id, "echo hello");
    };
    let all_asleep = || {
        eventually("every session has left memory", || {
            let text = client.get("/metrics").body;
            let is = |line: &str| text.lines().any(|known| known == line);
            (is("turnloom_sessions_awake 0") && is("turnloom_children_alive 0")).then_some(())
        });
    };
    // The first ones pay for caches and thread stacks that all share, those of the database's readers too.
    (0..700).for_each(|n| talk(&format!("first-{n}")));
    all_asleep();
    let before = memory_at_rest(&daemon);
    (0..1000).for_each(|n| talk(&format!("idle-{n}")));
    all_asleep();
    let after = memory_at_rest(&daemon);
    let each = after.saturating_sub(before) / 1000;
    println!("{each} bytes per idle session; {after} bytes in all");
    assert!(each < 10 * 1024, "{each} bytes each");
}

/// What is freed is given back a moment after the last session has left.
fn memory_at_rest(daemon: &Daemon) -> usize {
    let mut known = (0, 0);
    eventually("the memory does not change any more", || {
        let now = daemon.memory();
        known = if now == known.0 { (now, known.1 + 1) } else { (now, 0) };
        (known.1 > 100).then_some(now)
    })
}

#[test]
fn a_hundred_followers_get_every_event() {
    let daemon = Daemon::start();
    daemon.client.mock("s");
    let followers: Vec<_> = (0..100)
        .map(|_| {
            let mut stream = Sse::open(&daemon.client, "/api/sessions/s/events");
            std::thread::spawn(move || stream.until("done").len())
        })
        .collect();
    daemon.client.say("s", "stream 2000");
    let seen: Vec<usize> = followers.into_iter().map(|follower| follower.join().unwrap()).collect();
    let head = daemon.client.session("s")["head"].as_u64().unwrap();
    assert!(seen.iter().all(|count| *count as u64 == head), "{seen:?}");
}

#[test]
fn a_follower_that_does_not_read_gets_everything_when_it_does() {
    let daemon = Daemon::start_with("durability = \"process\"", &[]);
    daemon.client.mock("s");
    // They ask and then do not read: more of them than the memory they would need if they were buffered for.
    let mut slow: Vec<Sse> = (0..20).map(|_| Sse::open(&daemon.client, "/api/sessions/s/events")).collect();
    daemon.client.turn("s", "stream 1000");
    let before = daemon.memory();
    // 40 MB of text.
    daemon.client.turn("s", "stream 20000 2000");
    let grown = daemon.memory().saturating_sub(before);
    println!("{grown} bytes while 20 followers did not read 40 MB each");
    assert!(grown < 64 * 1024 * 1024, "{grown} bytes");
    let head = daemon.client.session("s")["head"].as_u64().unwrap();
    for stream in &mut slow {
        let mut expected = 1;
        while expected <= head {
            let event = stream.next_event().expect("it goes on");
            if let Some(id) = event.id {
                assert_eq!(id, expected);
                expected += 1;
            }
        }
    }
}

#[test]
fn a_crowd_that_writes_at_once_is_served() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("s");
    let patch = |patch: &serde_json::Value| {
        let headers = [("content-type", "application/json-patch+json")];
        client.request("PATCH", "/api/sessions/s/state", &headers, patch.to_string().as_bytes())
    };
    assert_eq!(patch(&json!([{ "op": "add", "path": "/rows", "value": [] }])).status, 200);
    // Several times what may lie before a session.
    let all_here = std::sync::Barrier::new(400);
    std::thread::scope(|scope| {
        for row in 0..400 {
            let (patch, all_here) = (&patch, &all_here);
            scope.spawn(move || {
                all_here.wait();
                let answer = patch(&json!([{ "op": "add", "path": "/rows/-", "value": row }]));
                assert_eq!(answer.status, 200, "{}", answer.body);
            });
        }
    });
    let state = client.get("/api/sessions/s/state").json();
    let mut rows: Vec<_> = state["state"]["rows"].as_array().unwrap().iter().map(|row| row.as_u64().unwrap()).collect();
    rows.sort_unstable();
    assert!(rows.into_iter().eq(0..400), "{state}");
}
