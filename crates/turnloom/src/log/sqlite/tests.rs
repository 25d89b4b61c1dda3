use std::fs;
use std::path::PathBuf;

use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::log::conformance::{Writer, all, append, id, new_session, records};
use crate::log::{Epoch, Log};

fn open(data: &Path) -> Result<Sqlite, Error> {
    Sqlite::open(data, Durability::Power, Tails::default())
}

fn synchronous(group: &Group<'_>) -> i64 {
    group.connection().pragma_query_value(None, "synchronous", |row| row.get(0)).unwrap()
}

/// A copy of the files as they lie on disk at this moment: what a killed daemon leaves.
fn as_if_killed(data: &Path) -> TempDir {
    let copy = tempfile::tempdir().unwrap();
    for file in fs::read_dir(data).unwrap() {
        let path: PathBuf = file.unwrap().path();
        fs::copy(&path, copy.path().join(path.file_name().unwrap())).unwrap();
    }
    copy
}

#[tokio::test]
async fn reopened_it_has_everything() {
    let data = tempfile::tempdir().unwrap();
    let store = open(data.path()).unwrap();
    Writer::create(&store, "a").await.append(50).await;
    drop(store);
    let store = open(data.path()).unwrap();
    assert_eq!(all(&store, "a").await.unwrap(), records(1..=50));
    let mut writer = Writer::claim(&store, "a").await;
    assert_eq!((writer.next.epoch, writer.append(1).await), (Epoch(2), Seq(51)));
}

#[tokio::test]
async fn a_kill_loses_nothing_that_was_answered() {
    let data = tempfile::tempdir().unwrap();
    let store = open(data.path()).unwrap();
    let mut writer = Writer::create(&store, "a").await;
    for _ in 0..20 {
        let head = writer.append(3).await;
        let copy = as_if_killed(data.path());
        assert_eq!(all(&open(copy.path()).unwrap(), "a").await.unwrap(), records(1..=head.0));
    }
}

#[tokio::test]
async fn close_carries_out_what_was_taken_and_empties_the_wal() {
    let data = tempfile::tempdir().unwrap();
    let store = open(data.path()).unwrap();
    let mut writer = Writer::create(&store, "a").await;
    let (head, closed) = tokio::join!(writer.append(9), store.close());
    closed.unwrap();
    assert_eq!(head, Seq(9));
    assert!(matches!(store.failed().await, Error::Closed));
    let wal = fs::metadata(data.path().join(format!("{FILE}-wal"))).map_or(0, |file| file.len());
    assert_eq!(wal, 0);
    // The first store still exists, but the directory is free.
    let again = open(data.path()).unwrap();
    assert_eq!(all(&again, "a").await.unwrap(), records(1..=9));
}

#[tokio::test]
async fn a_caller_that_leaves_has_written_all_the_same() {
    let data = tempfile::tempdir().unwrap();
    let store = open(data.path()).unwrap();
    let writer = Writer::create(&store, "a").await;
    let mut left = store.append(append("a", writer.next.epoch, Seq::ZERO, 1));
    drop(std::future::poll_fn(|context| std::task::Poll::Ready(left.as_mut().poll(context))).await);
    drop(left);
    // Writes are carried out in order, so a claim answered is an append done.
    assert_eq!(store.claim(&id("a")).await.unwrap().head, Seq(1));
}

#[test]
fn a_newer_schema_is_refused() {
    let data = tempfile::tempdir().unwrap();
    drop(open(data.path()).unwrap());
    let path = data.path().join(FILE);
    rusqlite::Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let refused = open(data.path()).unwrap_err();
    assert!(matches!(refused, Error::NewerSchema { found: 99, known: 1, .. }), "{refused}");
    assert!(refused.to_string().contains("use a newer turnloom, or another --data"), "{refused}");
}

#[test]
fn a_second_daemon_is_refused() {
    let data = tempfile::tempdir().unwrap();
    let first = open(data.path()).unwrap();
    let refused = open(data.path()).unwrap_err();
    assert!(matches!(refused, Error::Locked { pid: Some(pid), .. } if pid == std::process::id()), "{refused}");
    drop(first);
    drop(open(data.path()).unwrap());
}

#[test]
fn a_directory_that_cannot_be_says_why() {
    let data = tempfile::tempdir().unwrap();
    let file = data.path().join("file");
    fs::write(&file, "").unwrap();
    let refused = open(&file.join("below")).unwrap_err();
    assert!(matches!(refused, Error::Io { .. }), "{refused}");
    assert!(refused.to_string().contains("--data"), "{refused}");
}

#[test]
fn a_damaged_file_says_so() {
    let data = tempfile::tempdir().unwrap();
    fs::write(data.path().join(FILE), "this was a database once, believe me".repeat(100)).unwrap();
    let refused = open(data.path()).unwrap_err();
    assert!(matches!(refused, Error::Open { .. }), "{refused}");
    assert!(refused.to_string().contains("not a database"), "{refused}");
}

#[test]
fn process_durability_syncs_when_asked() {
    const FULL: i64 = 2;
    const NORMAL: i64 = 1;
    let data = tempfile::tempdir().unwrap();
    let mut db = Db::open(&data.path().join(FILE), Durability::Process).unwrap();
    for (sync, expected) in [(Sync::Lazy, NORMAL), (Sync::Now, FULL), (Sync::Now, FULL), (Sync::Lazy, NORMAL)] {
        let group = db.begin(sync);
        assert_eq!(synchronous(&group), expected);
        group.commit().unwrap();
    }
    drop(db);
    let mut db = Db::open(&data.path().join(FILE), Durability::Power).unwrap();
    for sync in [Sync::Lazy, Sync::Now] {
        assert_eq!(synchronous(&db.begin(sync)), FULL);
    }
}

#[test]
fn one_fenced_append_fails_alone() {
    let mut db = Db::memory().unwrap();
    let mut group = db.begin(Sync::Now);
    for name in ["a", "b", "c"] {
        group.create(&new_session(name)).unwrap();
        group.claim(&id(name)).unwrap();
    }
    group.claim(&id("b")).unwrap();
    group.commit().unwrap();

    let mut group = db.begin(Sync::Now);
    let outcomes = ["a", "b", "c"].map(|name| group.append(&append(name, Epoch(1), Seq::ZERO, 2)));
    assert_eq!(group.commit().unwrap(), 4);
    assert!(matches!(outcomes, [Ok(Seq(2)), Err(Error::Fenced { current: Epoch(2), .. }), Ok(Seq(2))]), "{outcomes:?}");
    let heads = ["a", "b", "c"].map(|name| db.reader().session(&id(name)).unwrap().unwrap().head.0);
    assert_eq!(heads, [2, 0, 2]);
}

#[test]
fn a_group_that_breaks_leaves_nothing() {
    let mut db = Db::memory().unwrap();
    let mut group = db.begin(Sync::Now);
    group.create(&new_session("a")).unwrap();
    // The next append finds no table to write to.
    group.connection().execute_batch("ALTER TABLE event RENAME TO gone").unwrap();
    let broken = group.append(&append("a", Epoch(0), Seq::ZERO, 1)).unwrap_err();
    assert!(matches!(broken, Error::Sqlite { .. }), "{broken}");
    assert!(group.create(&new_session("b")).is_err());
    assert!(group.commit().is_err());
    assert_eq!(db.reader().session(&id("a")).unwrap(), None);
    let mut group = db.begin(Sync::Now);
    group.create(&new_session("a")).unwrap();
    group.append(&append("a", Epoch(0), Seq::ZERO, 1)).unwrap();
    assert_eq!(group.commit().unwrap(), 1);
}

#[tokio::test]
async fn a_log_that_cannot_write_says_so_and_shows_nothing() {
    let data = tempfile::tempdir().unwrap();
    let tails = Tails::default();
    let store = Arc::new(Sqlite::open(data.path(), Durability::Power, tails.clone()).unwrap());
    let log = Log::new(Arc::clone(&store) as Arc<dyn Store>, tails);
    let mut writer = Writer::create(&*log, "a").await;
    writer.append(1).await;
    let mut follower = log.follow(&id("a"), Seq::ZERO);
    follower.next(9).await.unwrap();
    // Somebody breaks the database under the writer.
    rusqlite::Connection::open(data.path().join(FILE)).unwrap().execute_batch("DROP TABLE event").unwrap();
    let failed = log.append(append("a", writer.next.epoch, Seq(1), 1)).await.unwrap_err();
    assert!(matches!(failed, Error::Sqlite { doing: "append", .. }), "{failed}");
    assert_eq!(store.failed().await.to_string(), failed.to_string());
    assert_eq!(log.claim(&id("a")).await.unwrap_err().to_string(), failed.to_string());
    assert_eq!(log.session(&id("a")).await.unwrap().unwrap().head, Seq(1));
    assert_eq!(follower.head(), Seq(1));
    assert!(log.close().await.is_err());
}

#[tokio::test]
async fn counts_what_it_does() {
    let data = tempfile::tempdir().unwrap();
    let store = open(data.path()).unwrap();
    let mut writer = Writer::create(&store, "a").await;
    writer.append(5).await;
    writer.append(2).await;
    store.close().await.unwrap();
    let stats = store.stats();
    assert_eq!((stats.commits(), stats.writes(), stats.events()), (4, 4, 7));
    assert_eq!(stats.group_sizes().next(), Some((1, 4)));
    assert_eq!((stats.group_sizes().last(), store.pending()), (Some((1024, 0)), 0));
}

#[test]
fn group_sizes_fall_into_their_buckets() {
    let stats = Stats::default();
    for size in [1, 2, 3, 4, 5, 1024, 5000] {
        stats.count(size, 0);
    }
    let sizes: Vec<_> = stats.group_sizes().filter(|(_, groups)| *groups > 0).collect();
    assert_eq!(sizes, [(1, 1), (2, 1), (4, 2), (8, 1), (1024, 2)]);
}

#[test]
fn bodies_can_be_read_with_the_shell() {
    let mut db = Db::memory().unwrap();
    let mut group = db.begin(Sync::Now);
    group.create(&NewSession { records: records(1..=2), params: json!({}), ..new_session("a") }).unwrap();
    let kind: String =
        group.connection().query_row("SELECT body ->> 'type' FROM event WHERE seq = 2", (), |row| row.get(0)).unwrap();
    assert_eq!(kind, "delta");
}
