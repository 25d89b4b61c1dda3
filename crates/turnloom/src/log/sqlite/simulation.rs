//! The turn machine's simulator on the real database: what it reads back after each crash is what the database kept.

use turnloom_core::event::Record;
use turnloom_core::id::{Seq, SessionId};
use turnloom_core::session::simulation::{self, SimulatedLog};
use turnloom_core::summary::Summary;
use turnloom_core::time::Timestamp;

use super::db::Db;
use crate::log::{Append, Durability, Epoch, NewSession, ReadRange};

/// How many schedules the test command runs here; the pure simulator runs many more.
const SCHEDULES: u64 = 300;
const STEPS: usize = 120;

struct SqliteLog {
    db: Db,
    session: SessionId,
    epoch: Epoch,
    created: bool,
}

impl SqliteLog {
    fn new() -> Self {
        let db = Db::memory().unwrap();
        Self { db, session: SessionId::trusted("simulated"), epoch: Epoch::default(), created: false }
    }
}

impl SimulatedLog for SqliteLog {
    fn append(&mut self, expected_head: Seq, records: Vec<Record>, summary: &Summary) {
        let mut group = self.db.begin(Durability::Synced);
        if self.created {
            let append = Append {
                session: self.session.clone(),
                epoch: self.epoch,
                expected_head,
                records,
                blobs: Vec::new(),
                summary: summary.clone(),
                at: Timestamp::from_millis(1),
                durability: Durability::Synced,
                agent: None,
            };
            group.append(&append).unwrap();
        } else {
            let new = NewSession {
                id: self.session.clone(),
                runtime: "fake".to_owned(),
                params: serde_json::json!({}),
                created_at: Timestamp::from_millis(1),
                records,
                blobs: Vec::new(),
                summary: summary.clone(),
                share_blobs_of: None,
            };
            group.create(&new).unwrap();
        }
        group.commit().unwrap();
        self.created = true;
    }

    fn read(&mut self) -> Vec<Record> {
        // Every life of the session is a new writer, and the one before it is fenced.
        let mut group = self.db.begin(Durability::Grouped);
        self.epoch = group.claim(&self.session).unwrap().epoch;
        group.commit().unwrap();
        let everything = ReadRange::After { after: Seq::ZERO, limit: usize::MAX / 2 };
        self.db.reader().read(&self.session, everything).unwrap()
    }
}

#[test]
fn the_laws_hold_in_the_database() {
    for seed in 0..SCHEDULES {
        simulation::run(seed, STEPS, SqliteLog::new());
    }
}
