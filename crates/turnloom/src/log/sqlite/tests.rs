use std::fs;
use std::path::PathBuf;

use serde_json::json;
use tempfile::TempDir;

use super::db::Appended;
use super::steps::Progress;
use super::*;
use crate::log::conformance::{Writer, all, append, id, new_session, records};
use crate::log::{Epoch, Log, SessionQuery};

fn open(data: &Path) -> Result<Sqlite, Error> {
    Sqlite::open(data, CrashSafety::Power, Tails::default())
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
    assert!(matches!(refused, Error::NewerSchema { found: 99, known: 6, .. }), "{refused}");
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
    let mut db = Db::open(&data.path().join(FILE), CrashSafety::Process).unwrap();
    for (durability, expected) in [
        (Durability::Grouped, NORMAL),
        (Durability::Synced, FULL),
        (Durability::Synced, FULL),
        (Durability::Grouped, NORMAL),
    ] {
        let group = db.begin(durability);
        assert_eq!(synchronous(&group), expected);
        group.commit().unwrap();
    }
    drop(db);
    let mut db = Db::open(&data.path().join(FILE), CrashSafety::Power).unwrap();
    for durability in [Durability::Grouped, Durability::Synced] {
        assert_eq!(synchronous(&db.begin(durability)), FULL);
    }
}

#[test]
fn one_fenced_append_fails_alone() {
    let mut db = Db::memory().unwrap();
    let mut group = db.begin(Durability::Synced);
    for name in ["a", "b", "c"] {
        group.create(&new_session(name)).unwrap();
        group.claim(&id(name)).unwrap();
    }
    group.claim(&id("b")).unwrap();
    group.commit().unwrap();

    let mut group = db.begin(Durability::Synced);
    let outcomes = ["a", "b", "c"].map(|name| group.append(&append(name, Epoch(1), Seq::ZERO, 2)));
    assert_eq!(group.commit().unwrap(), 4);
    assert!(
        matches!(
            outcomes,
            [
                Ok(Appended { head: Seq(2), .. }),
                Err(Error::Fenced { current: Epoch(2), .. }),
                Ok(Appended { head: Seq(2), .. })
            ]
        ),
        "{outcomes:?}"
    );
    let heads = ["a", "b", "c"].map(|name| db.reader().session(&id(name)).unwrap().unwrap().head.0);
    assert_eq!(heads, [2, 0, 2]);
}

#[test]
fn a_group_that_breaks_leaves_nothing() {
    let mut db = Db::memory().unwrap();
    let mut group = db.begin(Durability::Synced);
    group.create(&new_session("a")).unwrap();
    // The next append finds no table to write to.
    group.connection().execute_batch("ALTER TABLE event RENAME TO gone").unwrap();
    let broken = group.append(&append("a", Epoch(0), Seq::ZERO, 1)).unwrap_err();
    assert!(matches!(broken, Error::Failed { .. }), "{broken}");
    assert!(group.create(&new_session("b")).is_err());
    assert!(group.commit().is_err());
    assert_eq!(db.reader().session(&id("a")).unwrap(), None);
    let mut group = db.begin(Durability::Synced);
    group.create(&new_session("a")).unwrap();
    group.append(&append("a", Epoch(0), Seq::ZERO, 1)).unwrap();
    assert_eq!(group.commit().unwrap(), 1);
}

#[tokio::test]
async fn a_log_that_cannot_write_says_so_and_shows_nothing() {
    let data = tempfile::tempdir().unwrap();
    let tails = Tails::default();
    let store = Arc::new(Sqlite::open(data.path(), CrashSafety::Power, tails.clone()).unwrap());
    let log = Log::new(Arc::clone(&store) as Arc<dyn Store>, tails);
    let mut writer = Writer::create(&*log, "a").await;
    writer.append(1).await;
    let mut follower = log.follow(&id("a"), Seq::ZERO);
    follower.next(9).await.unwrap();
    // Somebody breaks the database under the writer.
    rusqlite::Connection::open(data.path().join(FILE)).unwrap().execute_batch("DROP TABLE event").unwrap();
    let failed = log.append(append("a", writer.next.epoch, Seq(1), 1)).await.unwrap_err();
    assert!(matches!(failed, Error::Failed { doing: "append", .. }), "{failed}");
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
    let mut group = db.begin(Durability::Synced);
    group.create(&NewSession { records: records(1..=2), params: json!({}), ..new_session("a") }).unwrap();
    let kind: String =
        group.connection().query_row("SELECT body ->> 'type' FROM event WHERE seq = 2", (), |row| row.get(0)).unwrap();
    assert_eq!(kind, "delta");
}

/// What a database shows of itself, without a store in between.
fn count(data: &Path, sql: &str) -> i64 {
    rusqlite::Connection::open(data.join(FILE)).unwrap().query_row(sql, (), |row| row.get(0)).unwrap()
}

fn change(data: &Path, sql: &str) {
    rusqlite::Connection::open(data.join(FILE)).unwrap().execute_batch(sql).unwrap();
}

#[tokio::test]
async fn others_write_while_a_large_session_is_made_and_removed() {
    let data = tempfile::tempdir().unwrap();
    let store = open(data.path()).unwrap();
    let mut writer = Writer::create(&store, "small").await;
    let large = NewSession { records: records(1..=60_000), ..new_session("large") };
    let (made, mut meanwhile) = (std::cell::Cell::new(false), 0);
    let making = async {
        assert_eq!(store.create(large).await.unwrap(), Created::New);
        made.set(true);
    };
    let appending = async {
        while !made.get() {
            writer.append(1).await;
            meanwhile += 1;
        }
    };
    tokio::join!(making, appending);
    assert!(meanwhile >= 5, "{meanwhile} appends went between the steps");
    assert_eq!(all(&store, "large").await.unwrap().len(), 60_000);
    assert!(store.delete(&id("large")).await.unwrap());
    assert_eq!(store.session(&id("large")).await.unwrap(), None, "it is out of sight at once");
    // Every append takes one step along.
    while count(data.path(), "SELECT count(*) FROM session") > 1 {
        writer.append(1).await;
    }
    assert_eq!(count(data.path(), "SELECT count(*) FROM event"), i64::try_from(writer.next.expected_head.0).unwrap());
}

#[tokio::test]
async fn what_a_killed_daemon_left_half_made_or_half_removed_is_removed() {
    let data = tempfile::tempdir().unwrap();
    let mut db = Db::open(&data.path().join(FILE), CrashSafety::Power).unwrap();
    let large = |name| NewSession { records: records(1..=30_000), ..new_session(name) };
    let mut group = db.begin(Durability::Synced);
    group.create(&NewSession { records: records(1..=10), ..new_session("kept") }).unwrap();
    group.create(&large("removed")).unwrap();
    assert!(matches!(group.delete(&id("removed")), Ok(Removal::Begun(..))), "not all of it in one group");
    group.commit().unwrap();
    let (making, _wait) = SessionCreation::new(large("made"));
    let mut background_job = BackgroundJob::Make(making);
    for _ in 0..5 {
        let mut group = db.begin(Durability::Synced);
        assert_eq!(background_job.step(&mut group), Progress::More);
        group.commit().unwrap();
    }
    drop((background_job, db));
    assert!(count(data.path(), "SELECT count(*) FROM event") > 20_000);
    let store = open(data.path()).unwrap();
    for name in ["removed", "made"] {
        assert_eq!(store.session(&id(name)).await.unwrap(), None, "all of it or nothing");
    }
    let began = std::time::Instant::now();
    while count(data.path(), "SELECT count(*) FROM session") > 1 {
        assert!(began.elapsed() < std::time::Duration::from_mins(1), "it is not removed");
        std::thread::yield_now();
    }
    assert_eq!(count(data.path(), "SELECT count(*) FROM event"), 10);
    assert_eq!(all(&store, "kept").await.unwrap().len(), 10);
}

#[tokio::test]
async fn one_bad_row_is_one_damaged_session() {
    let data = tempfile::tempdir().unwrap();
    let store = open(data.path()).unwrap();
    for name in ["whole", "summary", "params", "text", "named"] {
        store.create(NewSession { records: records(1..=3), ..new_session(name) }).await.unwrap();
    }
    store.close().await.unwrap();
    drop(store);
    change(data.path(), "UPDATE session SET summary = '{\"status\":7' WHERE id = 'summary'");
    change(data.path(), "UPDATE session SET params = 'no' WHERE id = 'params'");
    change(data.path(), "UPDATE session SET title = CAST(x'ff' AS TEXT), asks = 1 WHERE id = 'text'");
    change(data.path(), "UPDATE session SET id = CAST(x'6eff' AS TEXT) WHERE id = 'named'");
    change(data.path(), "UPDATE event SET body = 'garbage' WHERE seq = 2");
    let store = open(data.path()).unwrap();
    let feed = store.commits(Position(0), 9).await.unwrap();
    let named: Vec<&str> = feed.iter().map(|commit| commit.session.as_str()).collect();
    assert_eq!(named, ["whole", "summary", "params", "text", "n\u{fffd}"], "nobody else's news is held up");
    let page = store.sessions(SessionQuery { limit: 9, ..SessionQuery::default() }).await.unwrap();
    let damaged: Vec<(String, bool)> =
        page.sessions.iter().map(|row| (row.id.to_string(), row.damaged.is_some())).collect();
    let expected = [("n\u{fffd}", false), ("text", false), ("params", true), ("summary", true), ("whole", false)];
    assert_eq!(damaged, expected.map(|(name, damaged)| (name.to_owned(), damaged)));
    assert_eq!(page.sessions[3].summary.title, "summary", "what has a column of its own is known");
    assert_eq!(store.waiting().await.unwrap().len(), 1);
    let events = all(&store, "whole").await.unwrap();
    let unreadable: Vec<bool> = events.iter().map(Record::is_unreadable).collect();
    assert_eq!(unreadable, [false, true, false], "the events around it are as they were");
    assert!(store.delete(&id("summary")).await.unwrap());
}

#[test]
fn a_log_that_is_gone_is_missed() {
    let data = tempfile::tempdir().unwrap();
    drop(open(data.path()).unwrap());
    let database = data.path().join(FILE);
    let whole = fs::read(&database).unwrap();
    fs::write(&database, "").unwrap();
    let refused = open(data.path()).unwrap_err();
    assert!(matches!(&refused, Error::Lost { path, .. } if *path == database), "{refused}");
    assert_eq!(fs::metadata(&database).unwrap().len(), 0, "nothing is touched");
    fs::remove_file(&database).unwrap();
    let refused = open(data.path()).unwrap_err();
    assert!(matches!(&refused, Error::Lost { path, .. } if *path == database), "{refused}");
    fs::write(&database, whole).unwrap();
    drop(open(data.path()).unwrap());
    // A log that never was is not missed.
    let fresh = tempfile::tempdir().unwrap();
    fs::write(fresh.path().join(FILE), "").unwrap();
    drop(open(fresh.path()).unwrap());
}

#[tokio::test]
async fn a_write_ahead_log_that_is_gone_is_missed() {
    let data = tempfile::tempdir().unwrap();
    let store = open(data.path()).unwrap();
    Writer::create(&store, "a").await.append(5).await;
    let copy = as_if_killed(data.path());
    let wal = copy.path().join(format!("{FILE}-wal"));
    let kept = fs::read(&wal).unwrap();
    fs::remove_file(&wal).unwrap();
    let refused = open(copy.path()).unwrap_err();
    assert!(matches!(&refused, Error::Lost { path, .. } if *path == wal), "{refused}");
    assert!(refused.to_string().contains("to go on with what there is, remove "), "{refused}");
    fs::write(&wal, kept).unwrap();
    assert_eq!(all(&open(copy.path()).unwrap(), "a").await.unwrap().len(), 5, "put back, it is all there");
    // Who has looked at what is left and wants to go on can.
    let copy = as_if_killed(data.path());
    fs::remove_file(copy.path().join(format!("{FILE}-wal"))).unwrap();
    fs::remove_file(copy.path().join(format!("{FILE}-mark"))).unwrap();
    drop(open(copy.path()).unwrap());
}

#[tokio::test]
async fn its_files_are_private_in_a_directory_that_is_not() {
    use std::os::unix::fs::PermissionsExt as _;
    let data = tempfile::tempdir().unwrap();
    fs::set_permissions(data.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let database = data.path().join(FILE);
    fs::write(&database, "").unwrap();
    fs::set_permissions(&database, fs::Permissions::from_mode(0o644)).unwrap();
    let store = open(data.path()).unwrap();
    Writer::create(&store, "a").await.append(5).await;
    for file in fs::read_dir(data.path()).unwrap() {
        let file = file.unwrap();
        let mode = file.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{}", file.path().display());
    }
}
