//! How many events a second become durable.

use std::time::{Duration, Instant};

use super::loom::{Writer, directory, open_log, runtime};
use super::table::{Rounds, Table, Unit};
use super::{Scale, floor};

const SESSIONS: usize = 100;

pub(crate) fn measure(scale: Scale, table: &mut Table) {
    for (batch, batches) in [(1, 2000), (8, 2000), (64, 1000), (512, 300)] {
        let batches = scale.of(batches, 5);
        let (mut value, mut raw) = (Rounds::default(), Rounds::default());
        for _ in 0..scale.rounds() {
            value.push_rate(batches * batch, one_session(batches, batch));
            raw.push_rate(batches * batch, floor::synced_appends(batches, batch));
        }
        table.row(format!("append, one session, batches of {batch}"), Unit::PerSecond, value, Some(raw));
    }
    for (batch, batches) in [(1, 100), (8, 100)] {
        let batches = scale.of(batches, 2);
        let (mut value, mut raw) = (Rounds::default(), Rounds::default());
        for _ in 0..scale.rounds() {
            let events = SESSIONS * batches * batch;
            value.push_rate(events, many_sessions(batches, batch));
            raw.push_rate(events, floor::grouped_appends(SESSIONS, batches, batch));
        }
        table.row(format!("append, {SESSIONS} sessions, batches of {batch}"), Unit::PerSecond, value, Some(raw));
    }
}

fn one_session(batches: usize, batch: usize) -> Duration {
    let (data, runtime) = (directory(), runtime());
    let log = open_log(data.path());
    runtime.block_on(async {
        let mut writer = Writer::create(&log, "one").await;
        let appends: Vec<_> = (0..batches).map(|_| writer.next(batch)).collect();
        let started = Instant::now();
        for append in appends {
            log.append(append).await.expect("an append");
        }
        let took = started.elapsed();
        log.close().await.expect("it closes");
        took
    })
}

/// Each waits for its own append before its next.
fn many_sessions(batches: usize, batch: usize) -> Duration {
    let (data, runtime) = (directory(), runtime());
    let log = open_log(data.path());
    let work: Vec<Vec<_>> = (0..SESSIONS)
        .map(|n| {
            let mut writer = runtime.block_on(Writer::create(&log, &format!("session-{n}")));
            (0..batches).map(|_| writer.next(batch)).collect()
        })
        .collect();
    let started = Instant::now();
    let running: Vec<_> = work
        .into_iter()
        .map(|appends| {
            let log = log.clone();
            runtime.spawn(async move {
                for append in appends {
                    log.append(append).await.expect("an append");
                }
            })
        })
        .collect();
    for task in running {
        runtime.block_on(task).expect("a task");
    }
    let took = started.elapsed();
    runtime.block_on(log.close()).expect("it closes");
    took
}
