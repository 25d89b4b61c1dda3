//! Many sessions on one agent that connects: how much it can say in all of them, and how long a word is on its way.

use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio_tungstenite::tungstenite::WebSocket;
use tokio_tungstenite::tungstenite::stream::MaybeTlsStream;
use turnloom::config::AgentConfig;

use super::agent::{DIGITS, MARK};
use super::connected::TestAgent;
use super::floor::nanos;
use super::latency::{Spread, WARM_UP, read_marks};
use super::loom::{EVENT_BYTES, Served};
use super::table::{Rounds, Table, Unit};
use super::{Scale, floor, wire};

const NAME: &str = "bench";

/// How long the agent looks whether it was told something, while it talks.
const GLANCE: Duration = Duration::from_micros(200);

/// Words of all sessions together.
const PER_SECOND: usize = 1000;

/// How many sessions are followed while all of them talk.
const FOLLOWED: usize = 100;

pub(crate) fn measure(scale: Scale, table: &mut Table) {
    let sessions = scale.of(1000, 3);
    let (mut rate, mut rate_floor) = (Rounds::default(), Rounds::default());
    let (mut words, mut syncs, mut sends) = (Spread::default(), Spread::default(), Spread::default());
    for _ in 0..scale.of(3, 1) {
        let each = scale.of(50, 2);
        rate.push_rate(sessions * each, as_fast_as_it_goes(sessions, each));
        rate_floor.push_rate(sessions * each, floor::grouped_appends(sessions, each, 1));
        let each = scale.of(5, WARM_UP);
        words.push(paced(sessions, each));
        let (count, apart) = (scale.of(1000, 10) + WARM_UP, Duration::from_secs(1) / PER_SECOND as u32);
        syncs.push(floor::paced_syncs(count, apart));
        sends.push(floor::paced_sends(count, apart));
    }
    let what = format!("one connected agent, {sessions} sessions");
    table.row(format!("{what}: words made durable"), Unit::PerSecond, rate, Some(rate_floor));
    words.rows(table, &format!("{what}: word to follower, {PER_SECOND}/s in all"), &syncs.plus(&sends));
}

/// Sessions that are all in a turn of one agent.
struct Talking {
    served: Served,
    agent: TestAgent,
    turns: Vec<(String, String)>,
}

fn talking(sessions: usize) -> Talking {
    let served = Served::start_with(|config| {
        config.agents.insert(NAME.to_owned(), AgentConfig { wait_seconds: 3600, ..AgentConfig::default() });
    });
    let mut agent = TestAgent::new(&served.client, NAME, "one");
    agent.connect(&served.client);
    let turns = (0..sessions)
        .map(|number| {
            let id = format!("s{number}");
            let body = json!({ "session_id": id, "runtime": NAME });
            assert_eq!(served.client.post("/api/sessions", &body).status, 201);
            served.client.say(&id, "talk");
            agent.take_session();
            let turn = agent.until("prompt")["turn_id"].as_str().expect("a turn").to_owned();
            agent.until_committed(&id);
            (id, turn)
        })
        .collect();
    if let Some(MaybeTlsStream::Plain(stream)) = agent.socket.as_ref().map(WebSocket::get_ref) {
        stream.set_nodelay(true).expect("no delay");
        stream.set_read_timeout(Some(GLANCE)).expect("a time-out");
    }
    Talking { served, agent, turns }
}

/// Every session gets a word in turn, and it is over when all are acknowledged.
fn as_fast_as_it_goes(sessions: usize, each: usize) -> Duration {
    let Talking { served, mut agent, turns } = talking(sessions);
    let text = "x".repeat(EVENT_BYTES / 2);
    let started = Instant::now();
    for _ in 0..each {
        for (id, turn) in &turns {
            agent.say(id, "delta", Some(turn), json!({ "text": text }));
        }
        assert!(agent.look_for(GLANCE).is_none(), "an order that nobody expected");
    }
    for (id, _) in &turns {
        agent.until_committed(id);
    }
    let took = started.elapsed();
    served.stop();
    took
}

/// Words of all sessions at an even pace; some are followed, and those have the time in them.
fn paced(sessions: usize, each: usize) -> Vec<f64> {
    let Talking { served, mut agent, turns } = talking(sessions);
    let follow = |(id, _): &(String, String)| {
        let head = served.client.session(id)["head"].as_u64().expect("a head");
        let mut stream = TcpStream::connect(&served.client.address).expect("a connection");
        wire::request(
            &mut stream,
            &served.client,
            &format!("/api/sessions/{id}/events?after={head}"),
            "text/event-stream",
        );
        std::thread::spawn(move || {
            let mut samples = Vec::with_capacity(each);
            read_marks(stream, each, |mark, now| samples.push(now.saturating_sub(mark) as f64 / 1e6));
            samples
        })
    };
    let every = (sessions / FOLLOWED).max(1);
    let readers: Vec<_> = turns.iter().step_by(every).map(follow).collect();
    let apart = Duration::from_secs(1) / PER_SECOND as u32;
    let started = Instant::now();
    for (number, (id, turn)) in (0..each).flat_map(|_| &turns).enumerate() {
        let due = started + apart * number as u32;
        while Instant::now() < due {
            assert!(agent.look_for(GLANCE).is_none(), "an order that nobody expected");
        }
        let text = format!("{}{:0DIGITS$}{}", char::from(MARK), nanos(), "x".repeat(EVENT_BYTES / 4));
        agent.say(id, "delta", Some(turn), json!({ "text": text }));
    }
    let samples = readers.into_iter().flat_map(|reader| reader.join().expect("a reader")).collect();
    served.stop();
    samples
}
