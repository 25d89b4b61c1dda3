use super::*;

fn commit(position: u64, session: &str, kinds: &[&str]) -> Commit {
    let record = |kind: &&str| Record::new(Seq(1), format!(r#"{{"seq":1,"type":"{kind}"}}"#));
    let (position, session) = (Position(position), SessionId::trusted(session));
    let change = Change::Appended { after: Seq::ZERO, head: Seq(1) };
    Commit { position, session, change, records: Some(kinds.iter().map(record).collect()) }
}

fn positions(commits: Option<Vec<Commit>>) -> Option<Vec<u64>> {
    commits.map(|commits| commits.iter().map(|commit| commit.position.0).collect())
}

#[test]
fn who_talks_on_is_no_news() {
    let feed = Feed::default();
    feed.begin_at(Position(7));
    feed.publish(commit(8, "a", &["delta", "thinking"]));
    assert_eq!(feed.head(), FeedHead { position: Position(8), notable: Position(7) });
    feed.publish(commit(9, "a", &["delta", "done"]));
    assert_eq!(feed.head(), FeedHead { position: Position(9), notable: Position(9) });
    feed.publish(commit(10, "a", &[]));
    assert_eq!(feed.head().notable, Position(10), "what changes without an event is news");
}

#[test]
fn the_newest_are_at_hand_while_somebody_follows() {
    let feed = Feed::default();
    feed.publish(commit(1, "a", &["done"]));
    assert_eq!(positions(feed.after(Position(0), 9)), None, "nobody followed");
    let following = feed.watch();
    feed.publish(commit(2, "a", &["done"]));
    feed.publish(commit(3, "b", &["done"]));
    assert_eq!(positions(feed.after(Position(0), 9)), None, "it does not reach back that far");
    assert_eq!(positions(feed.after(Position(1), 9)), Some(vec![2, 3]));
    assert_eq!(positions(feed.after(Position(1), 1)), Some(vec![2]));
    assert_eq!(positions(feed.after(Position(3), 9)), Some(vec![]));
    drop(following);
    feed.publish(commit(4, "b", &["done"]));
    assert_eq!(positions(feed.after(Position(3), 9)), None);
}

#[test]
fn what_is_kept_is_bounded() {
    let feed = Feed::default();
    let _following = feed.watch();
    let count = RING_COMMITS as u64 + 10;
    for position in 1..=count {
        feed.publish(commit(position, "a", &["done"]));
    }
    assert_eq!(feed.0.ring.lock().commits.len(), RING_COMMITS);
    let large = Record::new(Seq(1), vec![b'x'; RING_BYTES + 1]);
    feed.publish(Commit { records: Some([large].into()), ..commit(count + 1, "a", &[]) });
    assert_eq!(feed.0.ring.lock().commits.len(), 0);
}
