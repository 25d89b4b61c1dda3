use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

use tokio::task::JoinSet;
use turnloom_core::id::Seq;

use super::*;
use crate::log::Follower;

/// Takes pages until the given head and checks that nothing is missing or doubled.
async fn drain(follower: &mut Follower, head: Seq, limit: usize) {
    while follower.cursor() < head {
        let before = follower.cursor();
        let page = follower.next(limit).await.unwrap();
        assert!((1..=limit).contains(&page.len()));
        assert_eq!(page, records(before.0 + 1..=follower.cursor().0));
    }
}

/// Polls once, to get as far as one can without anybody's help.
async fn poll_once<F: Future>(future: F) -> Poll<F::Output> {
    let mut future = pin!(future);
    poll_fn(|context| Poll::Ready(future.as_mut().poll(context))).await
}

pub(super) async fn from_every_cut(home: Home) {
    let mut writer = Writer::create(&*home.log, "a").await;
    writer.append(10).await;
    let kept = home.log.hold(&id("a"));
    writer.append(10).await;
    for cut in 0..20 {
        for limit in [1, 3, 100] {
            drain(&mut home.log.follow(&id("a"), Seq(cut)), Seq(20), limit).await;
        }
    }
    drop(kept);
}

pub(super) async fn waits_for_more(home: Home) {
    let mut writer = Writer::create(&*home.log, "a").await;
    let mut follower = home.log.follow(&id("a"), Seq::ZERO);
    for batch in 1..5 {
        let (page, head) = tokio::join!(follower.next(100), writer.append(batch));
        assert_eq!(page.unwrap().last().unwrap().seq, head);
    }
}

pub(super) async fn falls_behind_the_ring(home: Home) {
    let mut writer = Writer::create(&*home.log, "a").await;
    let mut slow = home.log.follow(&id("a"), Seq::ZERO);
    let mut fast = home.log.follow(&id("a"), Seq::ZERO);
    for _ in 0..30 {
        let head = writer.append(100).await;
        drain(&mut fast, head, 256).await;
    }
    drain(&mut slow, Seq(10), 10).await;
    drain(&mut slow, Seq(3000), 256).await;
}

/// Followers come and go at every moment of a writer's work; each must see every record once.
pub(super) async fn no_commit_is_missed_while_attaching(home: Home) {
    const HEAD: Seq = Seq(3000);
    let done = Arc::new(AtomicBool::new(false));
    let mut writer = Writer::create(&*home.log, "a").await;
    let mut readers = JoinSet::new();
    for reader in 0..8_u64 {
        let (log, done) = (home.log.clone(), Arc::clone(&done));
        readers.spawn(async move {
            let mut attached = 0_u64;
            let mut cursor = Seq::ZERO;
            // Attach, take a little, leave, and come back: the tail is made and forgotten all the time.
            while !done.load(Ordering::Relaxed) || cursor < HEAD {
                let mut follower = log.follow(&id("a"), cursor);
                let to = Seq((cursor.0 + 1 + (attached + reader) % 7).min(HEAD.0));
                drain(&mut follower, to, 5).await;
                cursor = follower.cursor();
                attached += 1;
                if cursor == HEAD && !done.load(Ordering::Relaxed) {
                    cursor = Seq(reader);
                }
            }
            attached
        });
    }
    let mut head = Seq::ZERO;
    while head < HEAD {
        head = writer.append((1 + head.0 % 5).min(HEAD.0 - head.0)).await;
        if head.0.is_multiple_of(3) {
            tokio::task::yield_now().await;
        }
    }
    done.store(true, Ordering::Relaxed);
    while let Some(attached) = readers.join_next().await {
        assert!(attached.unwrap() > 0);
    }
}

/// Followers attach while a record is being committed and nothing comes after it that could make up for a missed word.
pub(super) async fn any_commit_may_be_the_last(home: Home) {
    let mut writer = Writer::create(&*home.log, "a").await;
    for round in 1..=500_u64 {
        let mut readers = JoinSet::new();
        for reader in 0..4 {
            let log = home.log.clone();
            readers.spawn(async move {
                // No two arrive at the same moment.
                for _ in 0..(round + reader) % 5 * reader {
                    tokio::task::yield_now().await;
                }
                drain(&mut log.follow(&id("a"), Seq(round - 1)), Seq(round), 5).await;
            });
        }
        writer.append(1).await;
        while let Some(reader) = readers.join_next().await {
            reader.unwrap();
        }
    }
}

pub(super) async fn a_deleted_session_ends(home: Home) {
    Writer::create(&*home.log, "a").await.append(2).await;
    let mut follower = home.log.follow(&id("a"), Seq(2));
    let (end, deleted) = tokio::join!(follower.next(9), home.log.delete(&id("a")));
    assert!(deleted.unwrap());
    assert!(matches!(end, Err(Error::NotFound(_))), "{end:?}");
    assert!(matches!(follower.next(9).await, Err(Error::NotFound(_))));
}

pub(super) async fn a_name_can_be_used_again(home: Home) {
    Writer::create(&*home.log, "a").await.append(5).await;
    let mut old = home.log.follow(&id("a"), Seq::ZERO);
    drain(&mut old, Seq(5), 9).await;
    home.log.delete(&id("a")).await.unwrap();
    let mut writer = Writer::create(&*home.log, "a").await;
    let mut new = home.log.follow(&id("a"), Seq::ZERO);
    writer.append(2).await;
    drain(&mut new, Seq(2), 9).await;
    assert!(matches!(old.next(9).await, Err(Error::NotFound(_))));
}

pub(super) async fn a_dropped_wait_loses_nothing(home: Home) {
    let mut writer = Writer::create(&*home.log, "a").await;
    let mut follower = home.log.follow(&id("a"), Seq::ZERO);
    for _ in 0..20 {
        drop(poll_once(follower.next(2)).await);
        let head = writer.append(3).await;
        let before = follower.cursor();
        if let Poll::Ready(page) = poll_once(follower.next(2)).await {
            assert_eq!(page.unwrap(), records(before.0 + 1..=follower.cursor().0));
        }
        drain(&mut follower, head, 2).await;
    }
}

pub(super) async fn knows_the_head(home: Home) {
    let mut writer = Writer::create(&*home.log, "a").await;
    writer.append(9).await;
    let mut follower = home.log.follow(&id("a"), Seq(1));
    follower.next(2).await.unwrap();
    assert_eq!((follower.cursor(), follower.head()), (Seq(3), Seq(9)));
    writer.append(1).await;
    assert_eq!((follower.cursor(), follower.head()), (Seq(3), Seq(10)));
}
