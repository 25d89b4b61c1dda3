//! How long an event is on its way: from the agent's line, through the disk, to the follower's socket.

use std::io::Read as _;
use std::net::TcpStream;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::json;

use super::agent::{DIGITS, MARK};
use super::floor::{self, nanos};
use super::loom::{EVENT_BYTES, Served, Writer};
use super::table::{Rounds, Table, Unit, percentile};
use super::{Scale, wire};

/// What is measured before everything is warm.
pub(crate) const WARM_UP: usize = 20;

pub(crate) fn measure(scale: Scale, table: &mut Table) {
    for per_second in [200, 1000] {
        let count = scale.of(per_second * 3, 10) + WARM_UP;
        let apart = Duration::from_secs(1) / per_second as u32;
        let mut line = Spread::default();
        let (mut syncs, mut sends) = (Spread::default(), Spread::default());
        let (mut commits, mut reads) = (Spread::default(), Spread::default());
        for _ in 0..scale.of(5, 1) {
            line.push(from_line(count, per_second));
            let (commit, read) = from_commit(count, apart);
            commits.push(commit);
            reads.push(read);
            syncs.push(floor::paced_syncs(count, apart));
            sends.push(floor::paced_sends(count, apart));
        }
        line.rows(table, &format!("agent's line to follower, {per_second}/s"), &syncs.plus(&sends));
        commits.rows(table, &format!("append to commit, {per_second}/s"), &syncs);
        reads.rows(table, &format!("commit to follower, {per_second}/s"), &sends);
    }
}

/// The middle and the end of each round.
#[derive(Default)]
pub(crate) struct Spread {
    p50: Rounds,
    p99: Rounds,
}

impl Spread {
    pub(crate) fn push(&mut self, samples: Vec<f64>) {
        let mut sorted: Vec<f64> = samples.into_iter().skip(WARM_UP).collect();
        sorted.sort_by(f64::total_cmp);
        self.p50.push(percentile(&sorted, 0.5));
        self.p99.push(percentile(&sorted, 0.99));
    }

    pub(crate) fn plus(&self, other: &Spread) -> Spread {
        Spread { p50: self.p50.plus(&other.p50), p99: self.p99.plus(&other.p99) }
    }

    pub(crate) fn rows(self, table: &mut Table, what: &str, floor: &Spread) {
        table.row(format!("{what}, p50"), Unit::Millis, self.p50, Some(floor.p50.clone()));
        table.row(format!("{what}, p99"), Unit::Millis, self.p99, Some(floor.p99.clone()));
    }
}

/// A real child writes lines with the time in them; a socket reads them.
fn from_line(count: usize, per_second: usize) -> Vec<f64> {
    let served = Served::start();
    let body = json!({ "session_id": "s", "runtime": "mock", "params": { "pace_ms": 0 } });
    assert_eq!(served.client.post("/api/sessions", &body).status, 201);
    let stream = wire::follow(&served.client, "s");
    let reader = std::thread::spawn(move || {
        let mut samples = Vec::with_capacity(count);
        read_marks(stream, count, |mark, now| samples.push(now.saturating_sub(mark) as f64 / 1e6));
        samples
    });
    served.client.say("s", &format!("stream {count} {} {per_second}", EVENT_BYTES / 2));
    let samples = reader.join().expect("the reader");
    served.stop();
    samples
}

/// One append at a time, as far apart: how long until it is answered, and from then until a socket has read it.
///
/// The commit is shown to followers just before it is answered, so a follower may be first: that counts as zero.
fn from_commit(count: usize, apart: Duration) -> (Vec<f64>, Vec<f64>) {
    let served = Served::start();
    let log = served.log().clone();
    let mut writer = served.runtime.block_on(Writer::create(&log, "s"));
    let (reader, read) = read_times(wire::follow(&served.client, "s"), count);
    let (mut commits, mut reads) = (Vec::with_capacity(count), Vec::with_capacity(count));
    for _ in 0..count {
        let append = writer.next(1);
        std::thread::sleep(apart);
        let began = nanos();
        served.runtime.block_on(log.append(append)).expect("an append");
        let answered = nanos();
        commits.push((answered - began) as f64 / 1e6);
        let read = read.recv().expect("a frame");
        reads.push(read.saturating_sub(answered) as f64 / 1e6);
    }
    reader.join().expect("the reader");
    served.stop();
    (commits, reads)
}

/// When each event was read.
fn read_times(mut stream: TcpStream, count: usize) -> (JoinHandle<()>, Receiver<u64>) {
    let (sender, receiver) = sync_channel(count);
    let reader = std::thread::spawn(move || {
        let (mut counter, mut seen) = (wire::Counter::default(), 0);
        let mut buffer = vec![0; wire::BUFFER];
        while seen < count {
            let read = stream.read(&mut buffer).expect("a read");
            let now = nanos();
            assert!(read > 0, "the stream ended");
            counter.take(&buffer[..read]);
            for _ in seen..counter.events() {
                sender.send(now).expect("somebody waits");
            }
            seen = counter.events();
        }
    });
    (reader, receiver)
}

/// Reads until so many marked times were there; tells of each, and when it was read.
pub(crate) fn read_marks(mut stream: TcpStream, count: usize, mut tell: impl FnMut(u64, u64)) {
    let mut pending = Vec::new();
    let mut buffer = vec![0; wire::BUFFER];
    let mut seen = 0;
    while seen < count {
        let read = stream.read(&mut buffer).expect("a read");
        let now = nanos();
        assert!(read > 0, "the stream ended after {seen} of {count}");
        pending.extend_from_slice(&buffer[..read]);
        let mut done = 0;
        while let Some(at) = pending[done..].iter().position(|&byte| byte == MARK) {
            let digits = done + at + 1;
            let Some(text) = pending.get(digits..digits + DIGITS) else { break };
            tell(std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()).expect("a time"), now);
            seen += 1;
            done = digits + DIGITS;
        }
        let keep = pending.len().saturating_sub(DIGITS + 1).max(done);
        pending.drain(..keep.min(pending.len()));
    }
}
