use std::path::Path;

use rusqlite::Connection;

use super::*;
use crate::log::conformance::snapshots::snapshot;
use crate::log::conformance::{Writer, id, new_session, records};
use crate::log::sqlite::{Db, FILE, Sqlite};
use crate::log::{CrashSafety, Durability, NewSession, Store as _, Tails};

fn open(data: &Path) -> Sqlite {
    Sqlite::open(data, CrashSafety::Power, Tails::default()).unwrap()
}

fn change(data: &Path, sql: &str) {
    assert_eq!(Connection::open(data.join(FILE)).unwrap().execute(sql, ()).unwrap(), 1, "{sql}");
}

async fn kept(store: &Sqlite) -> Option<Snapshot> {
    store.snapshot(&id("a"), "fold", 0).await.unwrap()
}

#[tokio::test]
async fn what_is_damaged_is_not_there_until_it_is_replaced() {
    let data = tempfile::tempdir().unwrap();
    let store = open(data.path());
    Writer::create(&store, "a").await.append(5).await;
    for damage in ["bytes = x'00'", "checksum = 0", "seq = 6"] {
        store.save(vec![snapshot("a", 5, "x")]).await.unwrap();
        assert_eq!(kept(&store).await, Some(snapshot("a", 5, "x")));
        change(data.path(), &format!("UPDATE snapshot SET {damage}"));
        assert_eq!(kept(&store).await, None, "{damage}");
        assert_eq!(store.snapshots(&id("a")).await.unwrap().len(), 1, "{damage}");
    }
    store.save(vec![snapshot("a", 4, "y")]).await.unwrap();
    assert_eq!(kept(&store).await, Some(snapshot("a", 4, "y")), "one after the head is in nobody's way");
}

#[tokio::test]
async fn close_carries_out_what_was_to_be_saved() {
    let data = tempfile::tempdir().unwrap();
    let store = open(data.path());
    Writer::create(&store, "a").await.append(5).await;
    let (saved, closed) = tokio::join!(store.save(vec![snapshot("a", 5, "x")]), store.close());
    saved.unwrap();
    closed.unwrap();
    drop(store);
    assert_eq!(kept(&open(data.path())).await, Some(snapshot("a", 5, "x")));
}

#[tokio::test]
async fn it_is_removed_with_a_session_that_is_removed_in_steps() {
    let data = tempfile::tempdir().unwrap();
    let store = open(data.path());
    store.create(NewSession { records: records(1..=9_000), ..new_session("a") }).await.unwrap();
    let parts = (0..40).map(|part| Snapshot { part, ..snapshot("a", 9_000, "x") });
    store.save(parts.collect()).await.unwrap();
    assert!(store.delete(&id("a")).await.unwrap());
    assert_eq!((kept(&store).await, store.snapshots(&id("a")).await.unwrap()), (None, Vec::new()), "at once");
    let mut writer = Writer::create(&store, "b").await;
    let left = |sql| Connection::open(data.path().join(FILE)).unwrap().query_row(sql, (), |row| row.get::<_, i64>(0));
    // Every append takes one step along.
    while left("SELECT count(*) FROM session").unwrap() > 1 {
        writer.append(1).await;
    }
    assert_eq!(left("SELECT count(*) FROM snapshot").unwrap(), 0);
}

#[test]
fn a_snapshot_alone_is_not_synced() {
    const FULL: i64 = 2;
    const NORMAL: i64 = 1;
    let data = tempfile::tempdir().unwrap();
    let mut db = Db::open(&data.path().join(FILE), CrashSafety::Power).unwrap();
    let synchronous = |group: &Group<'_>| {
        group.connection().pragma_query_value(None, "synchronous", |row| row.get::<_, i64>(0)).unwrap()
    };
    for (group, expected) in
        [(Db::begin_unsynced as fn(&mut Db) -> Group<'_>, NORMAL), (|db| db.begin(Durability::Grouped), FULL)]
    {
        let group = group(&mut db);
        assert_eq!(synchronous(&group), expected);
        group.commit().unwrap();
    }
}
