use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

fn item(session: u64, position: u64) -> Item {
    Item {
        id: format!("msg_{position}"),
        event: EventType::TurnCompleted,
        session_id: SessionId::trusted(format!("s{session}")),
        seq: Seq(position),
        position,
        state: ItemState::Waiting,
        attempts: 0,
        next_at: None,
        last_error: None,
    }
}

fn at(ms: i64) -> Timestamp {
    Timestamp::from_millis(ms)
}

/// What is written down, and what a daemon after a crash begins with.
#[derive(Debug, Default)]
struct Disk {
    position: u64,
    kept: BTreeMap<String, Item>,
}

impl Disk {
    fn write(&mut self, outbox: &mut Outbox) {
        for change in outbox.take_changes() {
            match change {
                Change::Keep(item) => drop(self.kept.insert(item.id.clone(), item)),
                Change::Forget { id } => drop(self.kept.remove(&id)),
            }
        }
        self.position = outbox.position();
    }
}

#[test]
fn one_lane_does_not_hold_up_another_and_keeps_its_order() {
    let mut outbox = Outbox::default();
    for (session, position) in [(1, 1), (2, 2), (1, 3), (2, 4)] {
        outbox.push(item(session, position));
        outbox.read(position);
    }
    let sent = outbox.due(at(0), 16);
    assert_eq!(sent.iter().map(|item| item.position).collect::<Vec<_>>(), [1, 2]);
    assert!(outbox.due(at(0), 16).is_empty(), "one of each session at a time");
    assert_eq!(outbox.position(), 0);
    outbox.failed(&sent[0], at(0), "no".to_owned(), None);
    outbox.delivered(&sent[1]);
    assert_eq!(outbox.position(), 3, "what failed and what stands behind it is kept");
    assert_eq!(outbox.take_changes().len(), 2);
    let sent = outbox.due(at(0), 16);
    assert_eq!(sent.iter().map(|item| item.position).collect::<Vec<_>>(), [4]);
    outbox.delivered(&sent[0]);
    assert_eq!(outbox.position(), 4);
    let due = outbox.next_due().unwrap();
    assert!((at(1_000)..=at(1_200)).contains(&due));
    let sent = outbox.due(due, 16);
    assert_eq!((sent[0].position, sent[0].attempts), (1, 1));
    outbox.delivered(&sent[0]);
    assert_eq!(outbox.take_changes(), [Change::Forget { id: "msg_1".to_owned() }]);
    assert_eq!(outbox.due(due, 16)[0].position, 3);
}

#[test]
fn after_days_an_event_is_dead_and_the_next_goes_on() {
    let mut outbox = Outbox::default();
    outbox.push(item(1, 1));
    outbox.push(item(1, 2));
    outbox.read(2);
    let mut now = at(0);
    let mut tries = 0;
    while outbox.dead().next().is_none() {
        now = outbox.next_due().unwrap().max(now);
        let sent = outbox.due(now, 1);
        assert_eq!(sent[0].position, 1);
        outbox.failed(&sent[0], now, "refused".to_owned(), None);
        tries += 1;
        assert!(tries < 100);
    }
    assert_eq!(outbox.due(now, 1)[0].position, 2);
    assert!(!outbox.revive("msg_9") && outbox.revive("msg_1"));
    assert_eq!(outbox.waiting(), 2);
    assert_eq!(outbox.dead().count(), 0);
}

#[test]
fn what_a_receiver_asks_for_is_waited() {
    let mut outbox = Outbox::default();
    outbox.push(item(1, 1));
    let sent = outbox.due(at(0), 1);
    outbox.failed(&sent[0], at(0), "busy".to_owned(), Some(60_000));
    assert_eq!(outbox.next_due(), Some(at(60_000)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    /// A receiver that fails at random and a daemon that dies at random: everything arrives, and for each session in order.
    #[test]
    fn everything_arrives_in_order_across_crashes(
        sessions in prop::collection::vec(0_u64..4, 1..60),
        steps in prop::collection::vec((0_u8..10, 0_usize..4), 1..400),
    ) {
        let mut disk = Disk::default();
        let mut outbox = Outbox::default();
        let mut arrived: BTreeMap<SessionId, Vec<u64>> = BTreeMap::new();
        let (mut now, mut on_the_way): (i64, Vec<Item>) = (0, Vec::new());
        let feed: Vec<Item> = sessions.iter().zip(1..).map(|(session, position)| item(*session, position)).collect();
        let total = feed.len() as u64;
        let quiet = std::iter::repeat_n((2_u8, 0_usize), 4_000);
        for (step, which) in steps.into_iter().chain(quiet) {
            match step {
                // The daemon dies; what was on its way may have arrived.
                0 => {
                    outbox = Outbox::restore(disk.position, disk.kept.values().cloned().collect());
                    on_the_way.clear();
                }
                1 if !on_the_way.is_empty() => {
                    let item = on_the_way.remove(which % on_the_way.len());
                    outbox.failed(&item, at(now), "no".to_owned(), None);
                }
                3 => disk.write(&mut outbox),
                _ => {
                    let next = outbox.read_to + 1;
                    if next <= total && outbox.has_room() {
                        outbox.push(feed[usize::try_from(next).unwrap() - 1].clone());
                        outbox.read(next);
                    }
                    on_the_way.extend(outbox.due(at(now), 3 - on_the_way.len().min(3)));
                    if !on_the_way.is_empty() {
                        let item = on_the_way.remove(which % on_the_way.len());
                        let seen = arrived.entry(item.session_id.clone()).or_default();
                        if !seen.contains(&item.position) {
                            seen.push(item.position);
                        }
                        outbox.delivered(&item);
                    }
                    now += 700;
                }
            }
        }
        let mut all: Vec<u64> = arrived.values().flatten().copied().collect();
        for seen in arrived.values() {
            prop_assert!(seen.is_sorted(), "{seen:?}");
        }
        all.sort_unstable();
        prop_assert_eq!(all, (1..=total).collect::<Vec<_>>());
        prop_assert_eq!(outbox.waiting(), 0);
        prop_assert_eq!(outbox.position(), total);
    }
}
