//! The laws of schedules: over years, zones, daylight saving, clocks that jump and daemons that die.

mod machine;
mod simulation;
mod template;
mod times;
mod words;

use serde_json::json;

use super::*;
use crate::id::ScheduleId;

pub(super) fn at(text: &str) -> Timestamp {
    serde_json::from_value(json!(text)).unwrap()
}

pub(super) fn cron(expression: &str, zone: &str) -> Times {
    Times::new(&When::Cron { expression: expression.to_owned() }, zone, Timestamp::default()).unwrap()
}

pub(super) fn definition(when: &serde_json::Value) -> Definition {
    let given = json!({ "title": "Test", "when": when, "prompt": "echo {{date}} {{time}}", "runtime": "mock" });
    serde_json::from_value(given).unwrap()
}

pub(super) fn id(name: &str) -> ScheduleId {
    ScheduleId::trusted(name)
}

/// The times that are due after one moment and until another.
pub(super) fn between(times: &Times, from: Timestamp, until: Timestamp) -> Vec<Timestamp> {
    let all = std::iter::successors(times.after(from), |due| times.after(*due));
    all.take_while(|due| *due <= until).collect()
}
