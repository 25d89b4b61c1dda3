//! Webhooks and channels across the death of the daemon.

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use turnloom::log::{Append, CrashSafety, Durability, Log, NewSession};
use turnloom_core::event::{Envelope, Event};
use turnloom_core::id::{Seq, SessionId, TurnId};
use turnloom_core::summary::Summary;
use turnloom_core::time::Timestamp;

use crate::moment;
use crate::support::{Act, Client, Daemon, Receiver, eventually, of_kind};

const SESSIONS: usize = 50;
const TURNS: usize = 200;

/// One failure in so many.
const FAILS: u64 = 25;

fn facts(session: &SessionId, turn: usize) -> Vec<Envelope> {
    let facts = [
        ("user_message", json!({ "message_id": format!("m{turn}"), "content": [], "origin": "user" })),
        ("turn_started", json!({ "message_ids": [format!("m{turn}")], "origin": "user" })),
        ("result", json!({ "text": format!("answer {turn}") })),
        ("done", json!({ "outcome": "completed" })),
    ];
    let first = turn as u64 * 4 + 2;
    let envelope = |(at, (kind, data)): (usize, &(&str, Value))| Envelope {
        seq: Seq(first + at as u64),
        ts: Timestamp::from_millis(1_700_000_000_000),
        session_id: session.clone(),
        turn_id: Some(TurnId::trusted(format!("t{turn}"))),
        subagent_id: None,
        event: Event::from_value(kind, data),
    };
    facts.iter().enumerate().map(envelope).collect()
}

/// Ten thousand turns of fifty sessions, written as a daemon writes them, one commit each.
async fn write_turns(data: &std::path::Path) {
    let log = Log::open(data, CrashSafety::Process).unwrap();
    let ids: Vec<SessionId> = (0..SESSIONS).map(|number| SessionId::trusted(format!("s{number}"))).collect();
    let at = Timestamp::from_millis(1_700_000_000_000);
    let summary = Summary { at_rest: true, ..Summary::default() };
    for id in &ids {
        let ready = Event::from_value("session_ready", &json!({ "session_id": id, "runtime": "mock" }));
        let ready =
            Envelope { seq: Seq(1), ts: at, session_id: id.clone(), turn_id: None, subagent_id: None, event: ready };
        let new = NewSession {
            id: id.clone(),
            runtime: "mock".to_owned(),
            params: json!({}),
            created_at: at,
            records: vec![ready.encode()],
            blobs: Vec::new(),
            summary: summary.clone(),
            share_blobs_of: None,
        };
        log.create(new).await.unwrap();
    }
    let mut epochs = Vec::new();
    for id in &ids {
        epochs.push(log.claim(id).await.unwrap().epoch);
    }
    for turn in 0..TURNS {
        let appends = ids.iter().zip(&epochs).map(|(id, epoch)| {
            log.append(Append {
                session: id.clone(),
                epoch: *epoch,
                expected_head: Seq(turn as u64 * 4 + 1),
                records: facts(id, turn).iter().map(Envelope::encode).collect(),
                blobs: Vec::new(),
                summary: summary.clone(),
                at,
                durability: Durability::Grouped,
                agent: None,
            })
        });
        for written in futures_util::future::join_all(appends).await {
            written.unwrap();
        }
    }
    log.close().await.unwrap();
}

#[test]
fn ten_thousand_webhooks_arrive_in_order_from_a_daemon_that_dies_at_a_receiver_that_fails() {
    let requests = AtomicU64::new(0);
    let receiver = Receiver::start(move |_| {
        let number = requests.fetch_add(1, Ordering::SeqCst).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        match number % (FAILS * 2) {
            0 => Act::Answer(503, ""),
            1 => Act::Close,
            _ => Act::Answer(204, ""),
        }
    });
    let mut daemon = Daemon::start_with("allow_private_targets = true", &[]);
    let made = daemon.client.post("/api/webhooks", &json!({ "url": receiver.url, "events": ["turn.completed"] }));
    assert_eq!(made.status, 201, "{}", made.body);
    assert_eq!(daemon.terminate(), Some(0));
    tokio::runtime::Runtime::new().unwrap().block_on(write_turns(&daemon.data));
    daemon.again();
    let mut kills = 0;
    let started = std::time::Instant::now();
    let arrived = || -> HashSet<String> {
        receiver.received().iter().map(|one| one.header("webhook-id").unwrap().to_owned()).collect()
    };
    // It dies while some have arrived and some have not.
    for part in [1, 3, 6] {
        eventually("some arrive", || (receiver.received().len() >= part * 1_000).then_some(()));
        std::thread::sleep(moment(part as u64, Duration::from_millis(200)));
        daemon.kill();
        kills += 1;
        daemon.again();
    }
    let total = SESSIONS * TURNS;
    let limit = std::time::Instant::now() + Duration::from_mins(8);
    while daemon.client.get("/api/webhooks").json()["webhooks"][0]["waiting"] != 0 || arrived().len() < total {
        assert!(std::time::Instant::now() < limit, "{} of {total} arrived", arrived().len());
        std::thread::sleep(Duration::from_millis(200));
    }
    let all = receiver.received();
    println!("{} requests for {total} events, {kills} deaths, {:?}", all.len(), started.elapsed());
    let mut seen = HashSet::new();
    let mut last: BTreeMap<String, u64> = BTreeMap::new();
    for one in &all {
        if !seen.insert(one.header("webhook-id").unwrap().to_owned()) {
            continue;
        }
        let data = &one.json()["data"];
        let (session, seq) = (data["session_id"].as_str().unwrap().to_owned(), data["seq"].as_u64().unwrap());
        let before = last.insert(session.clone(), seq);
        assert!(before.is_none_or(|before| before + 4 == seq), "{session}: {seq} came after {before:?}");
    }
    assert_eq!(seen.len(), total);
}

#[test]
fn what_a_channel_accepted_is_done_once_however_often_the_daemon_dies() {
    let receiver = Receiver::taking();
    let mut daemon = Daemon::start_with("allow_private_targets = true", &[]);
    let body = json!({
        "name": "plain", "kind": "bearer", "runtime": "mock", "params": { "pace_ms": 0 }, "secret": { "value": "s" },
        "reply": { "to": "post", "url": receiver.url },
    });
    assert_eq!(daemon.client.post("/api/channels", &body).status, 201);
    let mut sessions: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for round in 0..8_u64 {
        let stranger = Client { address: daemon.client.address.clone(), token: None };
        for number in 0..12 {
            let id = format!("{round}-{number}");
            let body =
                json!({ "message": format!("echo {id}"), "conversation": format!("c{}", number % 3) }).to_string();
            let headers =
                [("authorization", "Bearer s"), ("webhook-id", id.as_str()), ("content-type", "application/json")];
            // A service that heard nothing sends it again.
            for _ in 0..2 {
                let said = stranger.request("POST", "/hooks/plain", &headers, body.as_bytes());
                assert!(matches!(said.status, 200 | 202), "{}", said.body);
                let session = said.json()["session_id"].as_str().unwrap().to_owned();
                let known = sessions.entry(session).or_default();
                if !known.contains(&id) {
                    known.push(id.clone());
                }
            }
        }
        std::thread::sleep(moment(round, Duration::from_millis(300)));
        daemon.kill();
        daemon.again();
    }
    eventually("everything is done", || {
        let channel = daemon.client.get("/api/channels/plain").json();
        (channel["waiting"] == 0).then_some(())
    });
    for (session, ids) in &sessions {
        let log = daemon.client.log(session);
        let told: Vec<&str> = of_kind(&log, "user_message")
            .iter()
            .map(|one| one["data"]["source"]["delivery"].as_str().unwrap())
            .collect();
        assert_eq!(told, *ids, "each once, in the order in which they came");
        assert_eq!(of_kind(&log, "done").len(), ids.len());
    }
    // Each was answered: with what it said, or with that its turn was cut off.
    let answered: HashSet<String> =
        receiver.received().iter().map(|one| one.json()["delivery_id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(answered.len(), 8 * 12);
}
