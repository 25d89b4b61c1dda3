//! The feed of all sessions: every commit once, in one order, from any position.

use std::collections::BTreeMap;

use turnloom_core::id::Seq;

use super::{Home, Writer, id};
use crate::log::{Change, Commit, Position};

/// What a reader has who takes so many at a time and stops at this position.
async fn read(home: &Home, after: Position, until: Position, limit: usize) -> Vec<Commit> {
    let mut follower = home.log.follow_all(after);
    let mut commits = Vec::new();
    while follower.cursor() < until {
        commits.extend(follower.next(limit).await.unwrap());
    }
    commits
}

fn without_records(commits: &[Commit]) -> Vec<Commit> {
    commits.iter().map(|commit| Commit { records: None, ..commit.clone() }).collect()
}

pub(super) async fn in_the_order_of_commits_from_every_cut(home: Home) {
    let store = &*home.log;
    let (mut first, mut second) = (Writer::create(store, "a").await, Writer::create(store, "b").await);
    // Some are read from memory, others from the store.
    for _ in 0..3 {
        first.append(2).await;
        second.append(1).await;
    }
    let _following = home.log.feed().watch();
    for _ in 0..3 {
        second.append(3).await;
        first.append(1).await;
    }
    let end = home.log.feed().head().position;
    let all = read(&home, Position(0), end, 1).await;
    assert_eq!(all.len(), 2 + 6 + 6);
    assert!(all.is_sorted_by(|left, right| left.position < right.position));
    // Each session's commits are its log, without a gap.
    let mut heads: BTreeMap<&str, Seq> = BTreeMap::new();
    for commit in &all {
        let Change::Appended { after, head } = commit.change else { panic!("{commit:?}") };
        assert_eq!(heads.insert(commit.session.as_str(), head).unwrap_or_default(), after);
        let records = home.log.records_of(commit).await.unwrap();
        let seqs: Vec<u64> = records.iter().map(|record| record.seq.0).collect();
        assert_eq!(seqs, (after.0 + 1..=head.0).collect::<Vec<_>>());
    }
    assert_eq!(heads, BTreeMap::from([("a", Seq(9)), ("b", Seq(12))]));
    for cut in 0..all.len() {
        let after = all[..cut].last().map_or(Position(0), |commit| commit.position);
        for limit in [1, 4, 100] {
            let rest = read(&home, after, end, limit).await;
            assert_eq!(without_records(&rest), without_records(&all[cut..]), "after {after}");
        }
    }
}

pub(super) async fn waits_for_any_session(home: Home) {
    let store = &*home.log;
    let mut writer = Writer::create(store, "a").await;
    let mut follower = home.log.follow_all(home.log.feed().head().position);
    let (commits, head) = tokio::join!(follower.next(9), writer.append(2));
    let commits = commits.unwrap();
    assert_eq!((commits.len(), commits[0].session.clone()), (1, id("a")));
    assert_eq!(commits[0].change, Change::Appended { after: Seq::ZERO, head });
    assert_eq!(commits[0].records.as_ref().map(|records| records.len()), Some(2));
}

pub(super) async fn a_removal_is_told_and_takes_the_rest_with_it(home: Home) {
    let store = &*home.log;
    let (mut kept, mut gone) = (Writer::create(store, "kept").await, Writer::create(store, "gone").await);
    kept.append(1).await;
    gone.append(1).await;
    store.delete(&id("gone")).await.unwrap();
    let told: Vec<(String, bool)> = store
        .commits(Position(0), 99)
        .await
        .unwrap()
        .iter()
        .map(|commit| (commit.session.to_string(), commit.change == Change::Removed))
        .collect();
    let named = |name: &str, removed| (name.to_owned(), removed);
    assert_eq!(told, [named("kept", false), named("kept", false), named("gone", true)]);
    // The same name again is another session, and nothing of the old one is taken for it.
    let end = home.log.feed().head().position;
    let mut again = Writer::create(store, "gone").await;
    again.append(2).await;
    let later = store.commits(end, 99).await.unwrap();
    assert_eq!(
        later.iter().map(|commit| commit.change).collect::<Vec<_>>(),
        [Change::Appended { after: Seq::ZERO, head: Seq::ZERO }, Change::Appended { after: Seq::ZERO, head: Seq(2) },]
    );
    assert_eq!(store.commits(Position(0), 99).await.unwrap().len(), 3 + 2);
}
