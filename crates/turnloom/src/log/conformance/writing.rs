use tokio::task::JoinSet;
use turnloom_core::id::Seq;
use turnloom_core::runtime::external::Cursor;
use turnloom_core::summary::SessionStatus;
use turnloom_core::time::Timestamp;

use super::*;
use crate::log::{BlobRange, PAGE_BYTES, SessionQuery};

pub(super) async fn append_and_read(home: Home) {
    let mut writer = Writer::create(&*home.log, "a").await;
    assert_eq!(writer.append(1).await, Seq(1));
    assert_eq!(writer.append(4).await, Seq(5));
    assert_eq!(all(&*home.log, "a").await.unwrap(), records(1..=5));
    let row = home.log.session(&id("a")).await.unwrap().unwrap();
    assert_eq!((row.head, row.epoch), (Seq(5), Epoch(1)));
    assert_eq!((row.created_at.millis(), row.updated_at.millis()), (1, 2));
    assert_eq!((row.runtime, row.params), (new_session("a").runtime, new_session("a").params));
}

pub(super) async fn read_backwards(home: Home) {
    Writer::create(&*home.log, "a").await.append(5).await;
    for (before, limit, expected) in [(6, 2, 4..=5), (99, 9, 1..=5), (4, 2, 2..=3), (2, 9, 1..=1), (u64::MAX, 1, 5..=5)]
    {
        let range = ReadRange::Before { before: Seq(before), limit };
        assert_eq!(home.log.read(&id("a"), range).await.unwrap(), records(expected), "{range:?}");
    }
    let range = ReadRange::Before { before: Seq(1), limit: 9 };
    assert_eq!(home.log.read(&id("a"), range).await.unwrap(), []);
}

pub(super) async fn limits(home: Home) {
    Writer::create(&*home.log, "a").await.append(5).await;
    for (after, limit, expected) in [(0, 2, 1..=2), (3, 9, 4..=5), (2, 1, 3..=3)] {
        let range = ReadRange::After { after: Seq(after), limit };
        assert_eq!(home.log.read(&id("a"), range).await.unwrap(), records(expected), "{range:?}");
    }
    for (after, limit) in [(0, 0), (5, 9), (u64::MAX, usize::MAX)] {
        let range = ReadRange::After { after: Seq(after), limit };
        assert_eq!(home.log.read(&id("a"), range).await.unwrap(), [], "{range:?}");
    }
}

fn large(seqs: std::ops::RangeInclusive<u64>, bytes: usize) -> Vec<Record> {
    let json = |seq| format!(r#"{{"seq":{seq},"type":"delta","text":"{}"}}"#, "x".repeat(bytes));
    seqs.map(|seq| Record::new(Seq(seq), json(seq))).collect()
}

pub(super) async fn large_pages_are_cut(home: Home) {
    let records = large(1..=10, PAGE_BYTES / 3);
    home.log.create(NewSession { records: records.clone(), ..new_session("a") }).await.unwrap();
    let mut read: Vec<Record> = Vec::new();
    while read.len() < records.len() {
        let after = read.last().map_or(Seq::ZERO, |last| last.seq);
        let page = home.log.read(&id("a"), ReadRange::After { after, limit: 100 }).await.unwrap();
        assert!(!page.is_empty(), "nothing only at the end");
        assert!(page.len() <= 3, "{} records on a page", page.len());
        read.extend(page);
    }
    assert!(read == records);
    let before = home.log.read(&id("a"), ReadRange::Before { before: Seq(9), limit: 100 }).await.unwrap();
    assert!(before == records[5..8], "the newest of them, in order");
}

pub(super) async fn a_large_session_is_made_whole(home: Home) {
    let new = NewSession { records: large(1..=5_000, 500), ..new_session("a") };
    let mut follower = home.log.follow(&id("a"), Seq::ZERO);
    assert!(matches!(follower.next(1).await, Err(Error::NotFound(_))));
    let (first, second) = tokio::join!(home.log.create(new.clone()), home.log.create(new.clone()));
    let made = [first.unwrap(), second.unwrap()];
    assert_eq!(made.iter().filter(|created| **created == Created::New).count(), 1, "one of the two made it");
    let row = home.log.session(&id("a")).await.unwrap().unwrap();
    assert_eq!((row.head, row.summary), (Seq(5_000), new.summary));
    let mut follower = home.log.follow(&id("a"), Seq::ZERO);
    let mut read: Vec<Record> = Vec::new();
    while read.len() < 5_000 {
        read.extend(follower.next(4_096).await.unwrap());
    }
    assert!(read == new.records);
    assert!(home.log.delete(&id("a")).await.unwrap());
    assert_eq!(home.log.session(&id("a")).await.unwrap(), None, "out of sight at once");
    assert!(home.log.sessions(SessionQuery { limit: 9, ..SessionQuery::default() }).await.unwrap().sessions.is_empty());
    assert_eq!(home.log.create(new_session("a")).await.unwrap(), Created::New, "and its name is free");
}

pub(super) async fn expected_head(home: Home) {
    let mut writer = Writer::create(&*home.log, "a").await;
    writer.append(3).await;
    for head in [0, 2, 4] {
        let refused = home.log.append(append("a", Epoch(1), Seq(head), 1)).await.unwrap_err();
        assert!(
            matches!(refused, Error::HeadMoved { expected, actual: Seq(3), .. } if expected == Seq(head)),
            "{refused}"
        );
    }
    assert_eq!(all(&*home.log, "a").await.unwrap(), records(1..=3));
}

pub(super) async fn fencing(home: Home) {
    let mut old = Writer::create(&*home.log, "a").await;
    old.append(2).await;
    let claim = home.log.claim(&id("a")).await.unwrap();
    assert_eq!((claim.epoch, claim.head), (Epoch(2), Seq(2)));
    let refused = home.log.append(append("a", old.next.epoch, Seq(2), 1)).await.unwrap_err();
    assert!(matches!(refused, Error::Fenced { held: Epoch(1), current: Epoch(2), .. }), "{refused}");
    assert_eq!(home.log.append(append("a", claim.epoch, claim.head, 1)).await.unwrap(), Seq(3));
}

pub(super) async fn gaps_are_refused(home: Home) {
    let writer = Writer::create(&*home.log, "a").await;
    for wrong in [records(2..=3), [records(1..=1), records(3..=3)].concat(), [records(1..=1), records(1..=1)].concat()]
    {
        let refused = home.log.append(Append { records: wrong.clone(), ..writer.next.clone() }).await.unwrap_err();
        assert!(matches!(refused, Error::Gap { .. }), "{refused}");
        let refused = home.log.create(NewSession { records: wrong, ..new_session("b") }).await.unwrap_err();
        assert!(matches!(refused, Error::Gap { .. }), "{refused}");
    }
    assert_eq!(all(&*home.log, "a").await.unwrap(), []);
    assert_eq!(home.log.session(&id("b")).await.unwrap(), None);
}

pub(super) async fn create_is_idempotent(home: Home) {
    Writer::create(&*home.log, "a").await.append(2).await;
    let again = NewSession { runtime: "other".to_owned(), records: records(1..=9), ..new_session("a") };
    let row = home.log.session(&id("a")).await.unwrap().unwrap();
    assert_eq!(home.log.create(again).await.unwrap(), Created::Exists(Box::new(row)));
    assert_eq!(all(&*home.log, "a").await.unwrap(), records(1..=2));
}

pub(super) async fn create_with_records(home: Home) {
    let new = NewSession { records: records(1..=3), ..new_session("a") };
    assert_eq!(home.log.create(new).await.unwrap(), Created::New);
    let mut writer = Writer::claim(&*home.log, "a").await;
    assert_eq!(writer.append(1).await, Seq(4));
    assert_eq!(all(&*home.log, "a").await.unwrap(), records(1..=4));
}

pub(super) async fn unknown_ids(home: Home) {
    let nobody = id("nobody");
    let read = home.log.read(&nobody, ReadRange::After { after: Seq::ZERO, limit: 1 }).await;
    assert!(matches!(read, Err(Error::NotFound(_))), "{read:?}");
    let claim = home.log.claim(&nobody).await;
    assert!(matches!(claim, Err(Error::NotFound(_))), "{claim:?}");
    let appended = home.log.append(append("nobody", Epoch(1), Seq::ZERO, 1)).await;
    assert!(matches!(appended, Err(Error::NotFound(_))), "{appended:?}");
    let followed = home.log.follow(&nobody, Seq::ZERO).next(1).await;
    assert!(matches!(followed, Err(Error::NotFound(_))), "{followed:?}");
    assert_eq!(home.log.session(&nobody).await.unwrap(), None);
    assert!(!home.log.delete(&nobody).await.unwrap());
    let blob = turnloom_core::blob::BlobId::of(b"nothing");
    assert_eq!(home.log.blob(&blob, BlobRange::default()).await.unwrap(), None);
    assert_eq!(home.log.sessions(SessionQuery { limit: 9, ..SessionQuery::default() }).await.unwrap().sessions, []);
}

pub(super) async fn an_empty_append_updates_the_summary(home: Home) {
    let mut writer = Writer::create(&*home.log, "a").await;
    writer.append(2).await;
    writer.next.summary.status = SessionStatus::Failed;
    writer.next.at = Timestamp::from_millis(7);
    assert_eq!(writer.append(0).await, Seq(2));
    let row = home.log.session(&id("a")).await.unwrap().unwrap();
    assert_eq!((row.summary.status, row.updated_at.millis()), (SessionStatus::Failed, 7));
}

pub(super) async fn many_sessions_at_once(home: Home) {
    let mut writers = JoinSet::new();
    for number in 0..40_u64 {
        let log = home.log.clone();
        writers.spawn(async move {
            let mut writer = Writer::create(&*log, &format!("s{number}")).await;
            for batch in 0..10 {
                writer.append(1 + (number + batch) % 4).await;
            }
            (number, writer.next.expected_head)
        });
    }
    while let Some(done) = writers.join_next().await {
        let (number, head) = done.unwrap();
        assert_eq!(all(&*home.log, &format!("s{number}")).await.unwrap(), records(1..=head.0));
    }
}

pub(super) async fn a_closed_log_says_so(home: Home) {
    Writer::create(&*home.log, "a").await;
    home.log.close().await.unwrap();
    home.log.close().await.unwrap();
    assert!(matches!(home.log.claim(&id("a")).await, Err(Error::Closed)));
    assert!(matches!(home.log.session(&id("a")).await, Err(Error::Closed)));
}

pub(super) async fn what_an_agent_said_is_kept_with_its_facts(home: Home) {
    let mut writer = Writer::create(&*home.log, "a").await;
    let heard = async || home.log.session(&id("a")).await.unwrap().unwrap().agent;
    assert_eq!(heard().await, None);
    let cursor = |said| Some(Cursor { epoch: 3, instance: "one".to_owned(), said, open: true });
    writer.next.agent = cursor(7);
    writer.append(2).await;
    assert_eq!(heard().await, cursor(7));
    writer.next.agent = None;
    writer.append(1).await;
    assert_eq!(heard().await, cursor(7), "whoever says nothing of it leaves it");
    writer.next.agent = cursor(9);
    writer.append(0).await;
    assert_eq!(heard().await, cursor(9), "also without facts");
    let refused = Append { agent: cursor(10), expected_head: Seq(99), ..writer.next.clone() };
    assert!(home.log.append(refused).await.is_err());
    let fenced = Append { agent: cursor(10), epoch: Epoch(99), ..writer.next.clone() };
    assert!(home.log.append(fenced).await.is_err());
    assert_eq!(heard().await, cursor(9), "a refused append leaves no trace");
    let mut next = Writer::claim(&*home.log, "a").await;
    next.append(1).await;
    assert_eq!(heard().await, cursor(9), "the next owner goes on from there");
}
