//! Schedules and their runs as documents. What belongs together is written together.

use serde::{Deserialize, Serialize};
use turnloom_core::id::{RunId, ScheduleId};
use turnloom_core::schedule::{MAX_HISTORY, Machine, Run, Schedule, key_of};

use crate::log::{self, DocumentChange, DocumentQuery, KeyOrder, Log, Position};

const SCHEDULE: &str = "schedule";
const RUN: &str = "schedule_run";

/// How far the feed of all sessions was read.
const POSITION: &str = "feed_position";
const POSITION_KEY: &str = "schedules";

const PAGE: usize = 256;

/// How many runs too many are kept before the oldest are removed: so that it is not done each time.
const SLACK: u32 = 50;

#[derive(Debug, Serialize, Deserialize)]
struct Reached {
    position: u64,
}

/// Some runs, the newest first.
#[derive(Debug)]
pub struct RunPage {
    pub runs: Vec<Run>,
    pub next: Option<String>,
}

/// Everything that was scheduled. What cannot be read is left where it is.
pub(super) async fn load(log: &Log) -> Result<Vec<Machine>, log::Error> {
    let mut machines = Vec::new();
    let mut query = DocumentQuery::all(PAGE);
    loop {
        let page = log.documents(SCHEDULE, query.clone()).await?;
        let Some(last) = page.last() else { return Ok(machines) };
        query.cursor = Some(last.key.clone());
        for document in &page {
            let schedule: Schedule = match document.parse() {
                Ok(schedule) => schedule,
                Err(error) => {
                    tracing::error!(schedule = document.key, %error, "a schedule cannot be read and does not run");
                    continue;
                }
            };
            let mut open = Vec::new();
            for id in &schedule.progress.open {
                open.extend(run(log, &schedule.schedule_id, id).await?);
            }
            match Machine::load(schedule, open) {
                Ok(machine) => machines.push(machine),
                Err(error) => tracing::error!(schedule = document.key, %error, "a schedule does not run"),
            }
        }
    }
}

async fn run(log: &Log, schedule: &ScheduleId, id: &RunId) -> Result<Option<Run>, log::Error> {
    let found = log.document(RUN, &key_of(id, schedule)).await?;
    Ok(found.and_then(|document| match document.parse() {
        Ok(run) => Some(run),
        Err(error) => {
            tracing::error!(run = %id, %error, "a run cannot be read and is not followed");
            None
        }
    }))
}

pub(super) async fn runs(
    log: &Log,
    schedule: &ScheduleId,
    cursor: Option<String>,
    limit: usize,
) -> Result<RunPage, log::Error> {
    let prefix = format!("{schedule}/");
    let cursor = cursor.map(|cursor| format!("{prefix}{cursor}"));
    // One more than asked for, to know whether there is another page.
    let query = DocumentQuery { prefix, cursor, order: KeyOrder::Descending, limit: limit.saturating_add(1) };
    let mut page = log.documents(RUN, query).await?;
    let more = page.len() > limit;
    page.truncate(limit);
    let last = page.last().filter(|_| more).and_then(|last| last.key.rsplit_once('/'));
    let next = last.map(|(_, stamp)| stamp.to_owned());
    Ok(RunPage { runs: page.iter().filter_map(|document| document.parse().ok()).collect(), next })
}

pub(super) async fn position(log: &Log) -> Result<Option<Position>, log::Error> {
    let found = log.document(POSITION, POSITION_KEY).await?;
    Ok(found.and_then(|document| document.parse::<Reached>().ok()).map(|reached| Position(reached.position)))
}

pub(super) async fn save_position(log: &Log, position: Position) -> Result<(), log::Error> {
    log.write_documents(vec![reached(position)?]).await.map(drop)
}

/// Writes a schedule as it is now, the runs that are different, and how far the feed was read: all or nothing.
pub(super) async fn save(log: &Log, machine: &mut Machine, runs: &[Run], position: Position) -> Result<(), log::Error> {
    let id = machine.schedule().schedule_id.clone();
    let mut changes = Vec::with_capacity(runs.len() + 2);
    for run in runs {
        changes.push(encoded(DocumentChange::put(RUN, key_of(&run.run_id, &id), run))?);
    }
    if machine.schedule().progress.kept > MAX_HISTORY + SLACK {
        let oldest = DocumentQuery { prefix: format!("{id}/"), ..DocumentQuery::all(SLACK as usize) };
        let is_needed = |key: &String| {
            machine.open().any(|run| key_of(&run.run_id, &id) == *key)
                || runs.iter().any(|run| key_of(&run.run_id, &id) == *key)
        };
        let keys = log.documents(RUN, oldest).await?.into_iter().map(|document| document.key);
        let removed: Vec<DocumentChange> =
            keys.filter(|key| !is_needed(key)).map(|key| DocumentChange::remove(RUN, key)).collect();
        machine.forgotten(u32::try_from(removed.len()).unwrap_or(SLACK));
        changes.extend(removed);
    }
    changes.push(encoded(DocumentChange::put(SCHEDULE, id.as_str(), machine.schedule()))?);
    changes.push(reached(position)?);
    log.write_documents(changes).await.map(drop)
}

/// Removes a schedule, and then its runs, some at a time. Should the daemon end in between, a new schedule of the same name finds them.
pub(super) async fn remove(log: &Log, schedule: &ScheduleId) -> Result<(), log::Error> {
    log.write_documents(vec![DocumentChange::remove(SCHEDULE, schedule.as_str())]).await?;
    let query = DocumentQuery { prefix: format!("{schedule}/"), ..DocumentQuery::all(PAGE) };
    loop {
        let page = log.documents(RUN, query.clone()).await?;
        if page.is_empty() {
            return Ok(());
        }
        let changes = page.into_iter().map(|document| DocumentChange::remove(RUN, document.key)).collect();
        log.write_documents(changes).await?;
    }
}

fn reached(position: Position) -> Result<DocumentChange, log::Error> {
    encoded(DocumentChange::put(POSITION, POSITION_KEY, &Reached { position: position.0 }))
}

/// What is written here can always be written as JSON.
fn encoded(change: serde_json::Result<DocumentChange>) -> Result<DocumentChange, log::Error> {
    change.map_err(|error| log::Error::BadDocuments(error.to_string()))
}
