use rusqlite::Connection;
use tempfile::TempDir;

use crate::log::conformance::{Writer, all, id, records};
use crate::log::sqlite::{FILE, Sqlite, uint};
use crate::log::{CrashSafety, Store as _, Tails};

const SESSIONS: usize = 7;

fn open(data: &TempDir) -> Sqlite {
    Sqlite::open_journaling(data.path(), CrashSafety::Power, Tails::default()).unwrap()
}

fn count(data: &TempDir, table: &str) -> u64 {
    let db = Connection::open(data.path().join(FILE)).unwrap();
    let rows: i64 = db.query_row(&format!("SELECT count(*) FROM {table}"), (), |row| row.get(0)).unwrap();
    uint(rows)
}

fn name(session: usize) -> String {
    format!("s{session}")
}

/// Sizes that go into the journal, and sizes that do not, in an order that repeats late.
fn size(round: u64) -> u64 {
    [1, 3, 1, 16, 17, 2, 40, 1][usize::try_from(round * round % 8).unwrap()]
}

#[tokio::test]
async fn a_log_is_whole_wherever_its_events_stand() {
    let data = tempfile::tempdir().unwrap();
    let store = open(&data);
    let mut writers = Vec::new();
    for session in 0..SESSIONS {
        writers.push(Writer::create(&store, &name(session)).await);
    }
    let mut has_been_in_both = false;
    for round in 0..60 {
        for (session, writer) in writers.iter_mut().enumerate() {
            let head = writer.append(size(round + session as u64)).await;
            assert_eq!(all(&store, &name(session)).await.unwrap(), records(1..=head.0));
        }
        has_been_in_both |= count(&data, "journal") > 0 && count(&data, "event") > 0;
    }
    assert!(has_been_in_both, "both places were used");
    let heads: Vec<u64> = writers.iter().map(|writer| writer.next.expected_head.0).collect();
    drop(writers);
    store.close().await.unwrap();
    drop(store);
    assert_eq!(count(&data, "journal") + count(&data, "event"), heads.iter().sum::<u64>(), "each stands in one place");
    let store = open(&data);
    for (session, head) in heads.into_iter().enumerate() {
        assert_eq!(all(&store, &name(session)).await.unwrap(), records(1..=head));
    }
}

#[tokio::test]
async fn the_journal_stays_small() {
    let data = tempfile::tempdir().unwrap();
    let store = open(&data);
    let mut writer = Writer::create(&store, "a").await;
    for _ in 0..200 {
        writer.append(1).await;
        let waiting = count(&data, "journal");
        // What was full when a group ended is moved along with one of the next.
        assert!(waiting < 60, "{waiting} events wait");
    }
}

#[tokio::test]
async fn a_removed_session_leaves_nothing_in_the_journal() {
    let data = tempfile::tempdir().unwrap();
    let store = open(&data);
    let mut kept = Writer::create(&store, "kept").await;
    for _ in 0..5 {
        kept.append(1).await;
        Writer::create(&store, "gone").await.append(3).await;
        assert!(store.delete(&id("gone")).await.unwrap());
    }
    // Every append takes a step along.
    while count(&data, "session") > 1 {
        kept.append(1).await;
    }
    assert_eq!(count(&data, "journal") + count(&data, "event"), kept.next.expected_head.0);
    assert_eq!(all(&store, "kept").await.unwrap(), records(1..=kept.next.expected_head.0));
}
