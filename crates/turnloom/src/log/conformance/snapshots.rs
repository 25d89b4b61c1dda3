use bytes::Bytes;
use tokio::task::JoinSet;
use turnloom_core::id::Seq;

use super::*;
use crate::log::{MAX_SNAPSHOT_BYTES, Position, Snapshot, SnapshotName};

pub(in crate::log) fn snapshot(name: &str, seq: u64, text: &str) -> Snapshot {
    let bytes = Bytes::copy_from_slice(text.as_bytes());
    Snapshot { session: id(name), kind: "fold".to_owned(), part: 0, version: 1, seq: Seq(seq), bytes }
}

async fn kept(home: &Home, name: &str) -> Option<Snapshot> {
    home.log.snapshot(&id(name), "fold", 0).await.unwrap()
}

pub(super) async fn each_part_of_each_kind(home: Home) {
    Writer::create(&*home.log, "a").await.append(5).await;
    assert_eq!(kept(&home, "a").await, None);
    let first = snapshot("a", 5, "one");
    let second = Snapshot { part: 1, seq: Seq(4), ..snapshot("a", 4, "two") };
    let other = Snapshot { kind: "another".to_owned(), version: 7, ..snapshot("a", 3, "three") };
    home.log.save(vec![first.clone(), second.clone(), other.clone()]).await.unwrap();
    for saved in [&first, &second, &other] {
        let read = home.log.snapshot(&id("a"), &saved.kind, saved.part).await.unwrap();
        assert_eq!(read.as_ref(), Some(saved));
    }
    assert_eq!(home.log.snapshot(&id("a"), "fold", 2).await.unwrap(), None);
    let called = |kind: &str, part, version, seq| SnapshotName { kind: kind.to_owned(), part, version, seq: Seq(seq) };
    let names = home.log.snapshots(&id("a")).await.unwrap();
    assert_eq!(names, [called("another", 0, 7, 3), called("fold", 0, 1, 5), called("fold", 1, 1, 4)]);
    home.log.forget(&id("a"), "fold").await.unwrap();
    assert_eq!(home.log.snapshots(&id("a")).await.unwrap(), [called("another", 0, 7, 3)]);
}

pub(super) async fn an_older_snapshot_replaces_no_newer_one(home: Home) {
    Writer::create(&*home.log, "a").await.append(5).await;
    home.log.save(vec![snapshot("a", 4, "newer")]).await.unwrap();
    home.log.save(vec![snapshot("a", 3, "older")]).await.unwrap();
    assert_eq!(kept(&home, "a").await, Some(snapshot("a", 4, "newer")));
    home.log.save(vec![snapshot("a", 4, "corrected")]).await.unwrap();
    assert_eq!(kept(&home, "a").await, Some(snapshot("a", 4, "corrected")));
    let other = Snapshot { version: 2, ..snapshot("a", 1, "of another version") };
    home.log.save(vec![other.clone()]).await.unwrap();
    assert_eq!(kept(&home, "a").await, Some(other), "what nobody can read is in nobody's way");
}

pub(super) async fn what_does_not_fit_is_left_out(home: Home) {
    Writer::create(&*home.log, "a").await.append(5).await;
    let large = Snapshot { bytes: vec![0; MAX_SNAPSHOT_BYTES + 1].into(), ..snapshot("a", 5, "") };
    home.log.save(vec![large, snapshot("a", 6, "after the head"), snapshot("nobody", 1, "x")]).await.unwrap();
    assert_eq!(kept(&home, "a").await, None);
    assert_eq!(kept(&home, "nobody").await, None);
    assert_eq!(home.log.snapshots(&id("nobody")).await.unwrap(), []);
    home.log.forget(&id("nobody"), "fold").await.unwrap();
    home.log.save(vec![snapshot("a", 5, "")]).await.unwrap();
    assert_eq!(kept(&home, "a").await, Some(snapshot("a", 5, "")), "an empty one is one");
}

pub(super) async fn a_snapshot_is_no_append(home: Home) {
    let mut writer = Writer::create(&*home.log, "a").await;
    writer.append(3).await;
    let row = home.log.session(&id("a")).await.unwrap();
    let commits = home.log.commits(Position::default(), 99).await.unwrap().len();
    home.log.save(vec![snapshot("a", 3, "x")]).await.unwrap();
    assert_eq!(home.log.session(&id("a")).await.unwrap(), row);
    assert_eq!(home.log.commits(Position::default(), 99).await.unwrap().len(), commits);
    writer.append(2).await;
    assert_eq!(kept(&home, "a").await, Some(snapshot("a", 3, "x")), "it says itself how far it goes");
}

pub(super) async fn a_snapshot_goes_with_its_session_and_nowhere_else(home: Home) {
    let new = NewSession { records: records(1..=3), ..new_session("a") };
    home.log.create(new.clone()).await.unwrap();
    home.log.save(vec![snapshot("a", 3, "x")]).await.unwrap();
    let fork = NewSession { share_blobs_of: Some(id("a")), id: id("fork"), ..new.clone() };
    home.log.create(fork).await.unwrap();
    assert_eq!(kept(&home, "fork").await, None);
    assert!(home.log.delete(&id("a")).await.unwrap());
    assert_eq!((kept(&home, "a").await, home.log.snapshots(&id("a")).await.unwrap()), (None, Vec::new()));
    home.log.create(new).await.unwrap();
    assert_eq!(kept(&home, "a").await, None, "another session of the same name");
}

pub(super) async fn many_are_saved_between_appends(home: Home) {
    let mut writer = Writer::create(&*home.log, "a").await;
    let mut saves = JoinSet::new();
    for _ in 0..50 {
        let head = writer.append(1).await;
        let (log, snapshot) = (home.log.clone(), snapshot("a", head.0, &head.to_string()));
        saves.spawn(async move { log.save(vec![snapshot]).await });
    }
    while let Some(saved) = saves.join_next().await {
        saved.unwrap().unwrap();
    }
    assert_eq!(kept(&home, "a").await, Some(snapshot("a", 50, "50")));
}
