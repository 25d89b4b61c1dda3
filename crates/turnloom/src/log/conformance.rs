//! What every home of the log must do, asked of each of them. Not here: what only one of them has, such as a file.

mod blobs;
mod follow;
mod sessions;
mod writing;

use std::ops::RangeInclusive;
use std::sync::Arc;

use serde_json::json;
use tempfile::TempDir;
use turnloom_core::event::Record;
use turnloom_core::id::{Seq, SessionId};
use turnloom_core::summary::Summary;
use turnloom_core::time::Timestamp;

use super::memory::Memory;
use super::sqlite::Durability;
use super::{Append, Created, Epoch, Error, Log, NewSession, ReadRange, Sqlite, Store, Sync, Tails};

macro_rules! suite {
    ($($group:ident: $($test:ident)*;)*) => {
        suite!(@home memory $($($group $test)*)*);
        suite!(@home sqlite $($($group $test)*)*);
    };
    (@home $home:ident $($group:ident $test:ident)*) => {
        mod $home {$(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() {
                super::$group::$test(super::Home::$home()).await;
            }
        )*}
    };
}

suite! {
    writing: append_and_read read_backwards limits expected_head fencing gaps_are_refused create_is_idempotent
        create_with_records unknown_ids an_empty_append_updates_the_summary many_sessions_at_once a_closed_log_says_so;
    follow: from_every_cut waits_for_more falls_behind_the_ring no_commit_is_missed_while_attaching any_commit_may_be_the_last
        a_deleted_session_ends a_name_can_be_used_again a_dropped_wait_loses_nothing knows_the_head;
    sessions: newest_first_in_pages filters search bad_cursors unsettled_and_waiting;
    blobs: ranges delete_frees_what_nobody_shares a_fork_needs_its_parent the_same_content_twice;
}

/// A log with nothing in it.
pub(super) struct Home {
    pub(super) log: Log,
    _data: Option<TempDir>,
}

impl Home {
    fn memory() -> Self {
        let tails = Tails::default();
        Self { log: Log::new(Arc::new(Memory::new(tails.clone())), tails), _data: None }
    }

    fn sqlite() -> Self {
        let data = tempfile::tempdir().unwrap();
        let tails = Tails::default();
        let store = Sqlite::open(data.path(), Durability::Power, tails.clone()).unwrap();
        Self { log: Log::new(Arc::new(store), tails), _data: Some(data) }
    }
}

/// A session's only writer.
pub(super) struct Writer<'a> {
    pub(super) store: &'a dyn Store,
    pub(super) next: Append,
}

impl<'a> Writer<'a> {
    /// Creates a session without records and claims it.
    pub(super) async fn create(store: &'a dyn Store, name: &str) -> Self {
        assert_eq!(store.create(new_session(name)).await.unwrap(), Created::New);
        Self::claim(store, name).await
    }

    pub(super) async fn claim(store: &'a dyn Store, name: &str) -> Self {
        let claim = store.claim(&id(name)).await.unwrap();
        Self { store, next: append(name, claim.epoch, claim.head, 0) }
    }

    /// Appends so many records at once.
    pub(super) async fn append(&mut self, count: u64) -> Seq {
        let head = self.next.expected_head.0;
        self.next.records = records(head + 1..=head + count);
        self.next.expected_head = self.store.append(self.next.clone()).await.unwrap();
        self.next.expected_head
    }
}

pub(super) fn id(name: &str) -> SessionId {
    SessionId::parse(name).unwrap()
}

pub(super) fn records(seqs: RangeInclusive<u64>) -> Vec<Record> {
    seqs.map(|seq| Record { seq: Seq(seq), json: format!(r#"{{"seq":{seq},"type":"delta"}}"#).into() }).collect()
}

pub(super) fn new_session(name: &str) -> NewSession {
    NewSession {
        id: id(name),
        runtime: "mock".to_owned(),
        params: json!({ "cwd": "/src" }),
        created_at: Timestamp::from_millis(1),
        records: Vec::new(),
        blobs: Vec::new(),
        summary: Summary { title: name.to_owned(), at_rest: true, ..Summary::default() },
        share_blobs_of: None,
    }
}

pub(super) fn append(name: &str, epoch: Epoch, head: Seq, count: u64) -> Append {
    Append {
        session: id(name),
        epoch,
        expected_head: head,
        records: records(head.0 + 1..=head.0 + count),
        blobs: Vec::new(),
        summary: new_session(name).summary,
        at: Timestamp::from_millis(2),
        sync: Sync::Lazy,
    }
}

pub(super) async fn all(store: &dyn Store, name: &str) -> Result<Vec<Record>, Error> {
    store.read(&id(name), ReadRange::After { after: Seq::ZERO, limit: usize::MAX }).await
}
