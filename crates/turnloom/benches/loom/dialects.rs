//! How fast a long session is folded into other protocols, on one core: from the bytes of the log to the bytes of the frames.

use std::collections::HashSet;
use std::hint::black_box;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use turnloom_core::dialect::ag_ui::{AgUi, RunInput};
use turnloom_core::dialect::agent_ui::AgentUi;
use turnloom_core::dialect::ai_sdk::{AiSdk, History, Profile, Subject};
use turnloom_core::dialect::snapshot::{self, Snapshot};
use turnloom_core::dialect::tasks::{Change, KINDS, SessionTasks};
use turnloom_core::dialect::text::{PlainText, Scope};
use turnloom_core::dialect::universal::{About, Raw, Universal, Wanted};
use turnloom_core::dialect::{Dialect, Frames, Projection as _};
use turnloom_core::event::{Envelope, Event, Record};
use turnloom_core::id::{Seq, SessionId, TurnId};
use turnloom_core::time::Timestamp;

use super::Scale;
use super::table::{Rounds, Table, Unit};

/// Frames are handed on after this many events, as a connection does.
const BATCH: usize = 256;

/// Makes something of a log, and says how long it took.
type Measure = fn(&[Record]) -> Duration;

const MEASURES: &[(&str, Measure)] = &[
    ("AI SDK chunks", |log| {
        tell(log, AiSdk::new(Profile::V6, Subject::Everything, HashSet::new()), Reader::FromTheBeginning)
    }),
    ("AI SDK messages", |log| {
        let mut history = History::new(Profile::V6, HashSet::new());
        take(log, |envelope| history.apply(envelope, &mut ()))
    }),
    ("AG-UI events, live", |log| tell(log, agent(), Reader::FromTheBeginning)),
    ("an AG-UI snapshot", |log| tell(log, agent(), Reader::AtTheEnd)),
    ("universal events", |log| {
        tell(log, Universal::new(About::default(), Wanted::After(0), Raw::LeftOut), Reader::FromTheBeginning)
    }),
    ("Agent UI events", |log| tell(log, AgentUi::new(Seq::ZERO), Reader::FromTheBeginning)),
    ("snapshots", |log| tell(log, Snapshot::new(Seq::ZERO), Reader::FromTheBeginning)),
    ("a history of snapshots", |log| {
        let mut history = snapshot::History::default();
        take(log, |envelope| history.apply(envelope, &mut ()))
    }),
    ("tasks", tasks),
    ("plain text", |log| tell(log, PlainText::new(Scope::After(Seq::ZERO)), Reader::FromTheBeginning)),
];

pub(crate) fn measure(scale: Scale, table: &mut Table) {
    let events = scale.of(100_000, 2_000);
    let log = session(events);
    let mut floor = Rounds::default();
    let mut rates: Vec<Rounds> = MEASURES.iter().map(|_| Rounds::default()).collect();
    for _ in 0..scale.rounds() {
        floor.push_rate(
            events,
            take(&log, |envelope| {
                black_box(envelope);
            }),
        );
        for ((_, measure), rate) in MEASURES.iter().zip(&mut rates) {
            rate.push_rate(events, measure(&log));
        }
    }
    for ((what, _), rate) in MEASURES.iter().zip(rates) {
        table.row(format!("{events} events to {what}"), Unit::PerSecond, rate, Some(floor.clone()));
    }
}

fn agent() -> AgUi {
    let input = json!({ "threadId": "s", "runId": "r", "messages": [], "protocolVersion": "1.0" });
    AgUi::new(RunInput::read(&input).expect("a run"), None)
}

/// When the reader came.
#[derive(Clone, Copy, PartialEq)]
enum Reader {
    FromTheBeginning,
    AtTheEnd,
}

fn tell(log: &[Record], mut dialect: impl Dialect, reader: Reader) -> Duration {
    let started = Instant::now();
    let mut frames = Frames::default();
    for (at, record) in log.iter().enumerate() {
        if reader == Reader::FromTheBeginning && at == ARRIVES {
            dialect.caught_up(&mut frames);
        }
        dialect.apply(&record.decode().expect("an event"), &mut frames);
        if at.is_multiple_of(BATCH) {
            dialect.flush(&mut frames);
            black_box(frames.size());
            frames.clear();
        }
    }
    if reader == Reader::AtTheEnd {
        dialect.caught_up(&mut frames);
    }
    assert!(!dialect.is_done() || reader == Reader::AtTheEnd);
    black_box(frames.size());
    started.elapsed()
}

/// Every progress is written, which is more than the daemon does: there it is told so often a second.
fn tasks(log: &[Record]) -> Duration {
    let started = Instant::now();
    let mut tasks = SessionTasks::default();
    let mut frames = Frames::default();
    for record in log.iter().filter(|record| KINDS.contains(&record.kind())) {
        let mut change = Change::Nothing;
        tasks.apply(&record.decode().expect("an event"), &mut change);
        if let (Change::Progress, Some(task)) = (change, tasks.task()) {
            frames.push(&task.progress());
            black_box(frames.size());
            frames.clear();
        }
    }
    started.elapsed()
}

/// Only reading the events is the floor.
fn take(log: &[Record], mut step: impl FnMut(&Envelope)) -> Duration {
    let started = Instant::now();
    for record in log {
        step(&record.decode().expect("an event"));
    }
    started.elapsed()
}

/// The reader comes when the turn has begun.
const ARRIVES: usize = 3;

/// One long turn as agents make them: thoughts, text, calls with progress, a plan now and then.
fn session(events: usize) -> Vec<Record> {
    let mut log = vec![
        envelope(1, "session_ready", &json!({ "runtime": "mock" })),
        envelope(2, "user_message", &json!({ "message_id": "m", "content": [], "origin": "user" })),
        envelope(3, "turn_started", &json!({ "message_ids": ["m"], "origin": "user" })),
    ];
    for seq in 4..=events as u64 {
        let (round, part) = (seq / 40, seq % 40);
        let (text, call) = ("a few words of text, as they come ", format!("call-{round}"));
        let (kind, data) = match part {
            0..=5 => ("thinking", json!({ "block_id": format!("t{round}"), "text": text, "done": part == 5 })),
            6..=33 => ("delta", json!({ "block_id": format!("b{round}"), "text": text, "done": part == 33 })),
            34 => ("tool_start", json!({ "tool_use_id": call, "tool": "Bash", "input": { "command": "cargo test" } })),
            35..=37 => ("tool_progress", json!({ "tool_use_id": call, "text": "one more test passed\n" })),
            38 => ("tool_result", json!({ "tool_use_id": call, "output": "all tests passed\n", "is_error": false })),
            _ => ("plan_updated", json!({ "steps": [{ "text": "go on", "status": "running" }] })),
        };
        log.push(envelope(seq, kind, &data));
    }
    log
}

fn envelope(seq: u64, kind: &str, data: &Value) -> Record {
    Envelope {
        seq: Seq(seq),
        ts: Timestamp::from_millis(1_800_000_000_000),
        session_id: SessionId::trusted("s"),
        turn_id: (seq > 1).then(|| TurnId::trusted("turn_01a1e1fc-69f0-7f6a-bcfc-61fef7679a6f")),
        subagent_id: None,
        event: Event::from_value(kind, data),
    }
    .encode()
}
