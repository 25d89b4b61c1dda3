//! How many events a second reach the followers of one session, all together.

use std::cell::RefCell;
use std::io::Write as _;
use std::net::TcpStream;
use std::rc::Rc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::task::LocalSet;

use super::loom::{EVENT_BYTES, Served};
use super::table::{Rounds, Table, Unit};
use super::{Scale, floor, wire};

const FOLLOWERS: usize = 100;

/// How a turn ends on the wire.
const DONE: &str = "\nevent: done\n";

/// Events in one write, as the daemon does it when there is much to write.
const EVENTS_PER_WRITE: usize = 256;

pub(crate) fn measure(scale: Scale, table: &mut Table) {
    let pieces = scale.of(40_000, 100);
    let (mut value, mut raw) = (Rounds::default(), Rounds::default());
    for _ in 0..scale.rounds() {
        let (events, frames, took) = followed_turn(pieces);
        value.push_rate(events * FOLLOWERS, took);
        raw.push_rate(events * FOLLOWERS, bare_sockets(events, &frames));
    }
    table.row(format!("deliveries to {FOLLOWERS} followers"), Unit::PerSecond, value, Some(raw));
}

/// A turn that everybody follows: its events, their bytes on the wire, and how long until the last follower had the last.
fn followed_turn(pieces: usize) -> (usize, Vec<u8>, Duration) {
    let served = Served::start();
    let params = json!({ "pace_ms": 0, "in_process": true });
    let body = json!({ "session_id": "s", "runtime": "mock", "params": params });
    assert_eq!(served.client.post("/api/sessions", &body).status, 201);
    let readers = read_all((0..FOLLOWERS).map(|_| wire::follow(&served.client, "s")).collect());
    let started = Instant::now();
    served.client.say("s", &format!("stream {pieces} {}", EVENT_BYTES / 4));
    let counters = readers.join().expect("the readers");
    let took = started.elapsed();
    let head = served.client.session("s")["head"].as_u64().expect("a head");
    assert!(head > pieces as u64, "every piece is an event");
    for counter in &counters {
        assert_eq!(counter.events() as u64, head, "every follower gets every event");
        assert!(counter.ends_with(&format!("id: {head}{DONE}")), "and the last one last");
    }
    let mut frames = Vec::new();
    let events = head as usize;
    wire::read_events(&mut wire::follow(&served.client, "s"), events, |bytes| frames.extend_from_slice(bytes));
    served.stop();
    (events, frames, took)
}

/// The same bytes, written by one thread to as many sockets.
fn bare_sockets(events: usize, frames: &[u8]) -> Duration {
    let (mut from, to): (Vec<TcpStream>, Vec<TcpStream>) = (0..FOLLOWERS).map(|_| floor::socket_pair()).unzip();
    let readers = read_all(to);
    let started = Instant::now();
    for chunk in frames.chunks(frames.len() / events.div_ceil(EVENTS_PER_WRITE)) {
        for stream in &mut from {
            stream.write_all(chunk).expect("a write");
        }
    }
    let counters = readers.join().expect("the readers");
    assert!(counters.iter().all(|counter| counter.events() == events));
    started.elapsed()
}

/// One thread that reads every stream to the end of the turn.
fn read_all(streams: Vec<TcpStream>) -> JoinHandle<Vec<wire::Counter>> {
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let tasks = LocalSet::new();
        let buffer = Rc::new(RefCell::new(vec![0; wire::BUFFER]));
        tasks.block_on(&runtime, async {
            let open = streams.into_iter().map(|stream| {
                stream.set_nonblocking(true).expect("non-blocking");
                tokio::net::TcpStream::from_std(stream).expect("a stream")
            });
            let readers: Vec<_> = open.map(|stream| tasks.spawn_local(read_turn(stream, Rc::clone(&buffer)))).collect();
            let mut counters = Vec::new();
            for reader in readers {
                counters.push(reader.await.expect("a reader"));
            }
            counters
        })
    })
}

async fn read_turn(stream: tokio::net::TcpStream, buffer: Rc<RefCell<Vec<u8>>>) -> wire::Counter {
    let mut counter = wire::Counter::default();
    while !counter.ends_with_frame(DONE) {
        stream.readable().await.expect("it is readable");
        let mut buffer = buffer.borrow_mut();
        match stream.try_read(&mut buffer) {
            Ok(0) => panic!("the stream ended after {} events", counter.events()),
            Ok(read) => counter.take(&buffer[..read]),
            Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock, "{error}"),
        }
    }
    counter
}
