//! What every home of the log must do, asked of each of them. Not here: what only one of them has, such as a file.

mod blobs;
mod documents;
mod feed;
mod follow;
mod sessions;
pub(super) mod snapshots;
mod writing;

use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::Arc;

use serde_json::json;
use tempfile::TempDir;
use turnloom_core::event::Record;
use turnloom_core::id::{Seq, SessionId};
use turnloom_core::summary::Summary;
use turnloom_core::time::Timestamp;

use super::memory::Memory;
use super::sqlite::Sqlite;
use super::{Append, CrashSafety, Created, Durability, Epoch, Error, Log, NewSession, ReadRange, Store, Tails};

macro_rules! suite {
    ($($group:ident: $($test:ident)*;)*) => {
        suite!(@home memory $($($group $test)*)*);
        suite!(@home sqlite $($($group $test)*)*);
        suite!(@home sqlite_with_journal $($($group $test)*)*);
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
    writing: append_and_read read_backwards limits large_pages_are_cut a_large_session_is_made_whole expected_head fencing gaps_are_refused create_is_idempotent
        create_with_records unknown_ids what_an_agent_said_is_kept_with_its_facts an_empty_append_updates_the_summary many_sessions_at_once a_closed_log_says_so;
    follow: from_every_cut waits_for_more falls_behind_the_ring no_commit_is_missed_while_attaching any_commit_may_be_the_last
        a_deleted_session_ends a_name_can_be_used_again a_dropped_wait_loses_nothing knows_the_head;
    feed: in_the_order_of_commits_from_every_cut waits_for_any_session a_removal_is_told_and_takes_the_rest_with_it;
    sessions: newest_first_in_pages filters search bad_cursors unsettled_and_waiting;
    snapshots: each_part_of_each_kind an_older_snapshot_replaces_no_newer_one what_does_not_fit_is_left_out a_snapshot_is_no_append
        a_snapshot_goes_with_its_session_and_nowhere_else many_are_saved_between_appends;
    documents: write_read_and_remove in_the_order_of_keys pages_are_cut_by_size all_of_a_write_or_nothing revisions_are_given_once only_one_of_many_wins
        bad_documents_are_refused documents_are_no_facts;
    blobs: ranges whose_it_is delete_frees_what_nobody_shares a_fork_needs_its_parent the_same_content_twice;
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
        Self::in_directory(Sqlite::open)
    }

    fn sqlite_with_journal() -> Self {
        Self::in_directory(Sqlite::open_journaling)
    }

    fn in_directory(open: fn(&Path, CrashSafety, Tails) -> Result<Sqlite, Error>) -> Self {
        let data = tempfile::tempdir().unwrap();
        let tails = Tails::default();
        let store = open(data.path(), CrashSafety::Power, tails.clone()).unwrap();
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
    seqs.map(|seq| Record::new(Seq(seq), format!(r#"{{"seq":{seq},"type":"delta"}}"#))).collect()
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
        durability: Durability::Grouped,
        agent: None,
    }
}

pub(super) async fn all(store: &dyn Store, name: &str) -> Result<Vec<Record>, Error> {
    let mut records: Vec<Record> = Vec::new();
    loop {
        let after = records.last().map_or(Seq::ZERO, |last| last.seq);
        let page = store.read(&id(name), ReadRange::After { after, limit: usize::MAX }).await?;
        if page.is_empty() {
            return Ok(records);
        }
        records.extend(page);
    }
}
