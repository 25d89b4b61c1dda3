use super::*;

fn id() -> SessionId {
    SessionId::trusted("s")
}

fn record(seq: u64, bytes: usize) -> Record {
    Record::new(Seq(seq), vec![b'x'; bytes])
}

fn publish(tails: &Tails, seq: u64) {
    tails.publish(Position(seq), &id(), Seq(seq - 1), &[record(seq, 1)]);
}

fn seqs(records: Option<Vec<Record>>) -> Option<Vec<u64>> {
    records.map(|records| records.into_iter().map(|record| record.seq.0).collect())
}

#[test]
fn forgotten_with_the_last_hold() {
    let tails = Tails::default();
    let first = tails.hold(&id());
    let second = tails.hold(&id());
    assert!(Arc::ptr_eq(&first.0, &second.0));
    drop(first);
    assert_eq!(tails.held.lock().len(), 1);
    drop(second);
    assert_eq!(tails.held.lock().len(), 0);
    publish(&tails, 1);
    assert_eq!(tails.held.lock().len(), 0);
}

#[test]
fn an_old_tail_does_not_take_a_new_one_with_it() {
    let tails = Tails::default();
    let old = tails.hold(&id());
    tails.end(Position(9), &id());
    let new = tails.hold(&id());
    drop(old);
    publish(&tails, 1);
    assert_eq!(*new.watch().borrow(), Head::At(Seq(1)));
}

#[test]
fn the_ring_reaches_back_as_far_as_its_bounds() {
    let mut ring = Ring::default();
    assert_eq!(ring.after(Seq::ZERO, 9), None);
    ring.push(&(1..=1025).map(|seq| record(seq, 1)).collect::<Vec<_>>());
    assert_eq!(ring.after(Seq::ZERO, 9), None);
    assert_eq!(seqs(ring.after(Seq(1), 2)), Some(vec![2, 3]));
    assert_eq!(seqs(ring.after(Seq(1023), 9)), Some(vec![1024, 1025]));
    assert_eq!(ring.after(Seq(1025), 9), None);
    ring.push(&[record(1026, RING_BYTES)]);
    assert_eq!(seqs(ring.after(Seq(1025), 9)), Some(vec![1026]));
    ring.push(&[record(1027, RING_BYTES + 1)]);
    assert_eq!((ring.after(Seq(1026), 9), ring.bytes), (None, 0));
}

#[test]
fn the_ring_has_no_gap() {
    let mut ring = Ring::default();
    ring.push(&[record(1, 1), record(2, 1)]);
    ring.push(&[record(5, 1)]);
    assert_eq!((ring.after(Seq(1), 9), ring.bytes), (None, 1));
    assert_eq!(seqs(ring.after(Seq(4), 9)), Some(vec![5]));
}

#[test]
fn a_head_only_moves_up() {
    let tails = Tails::default();
    let tail = tails.hold(&id());
    let head = tail.watch();
    publish(&tails, 5);
    tail.raise_head(Seq(3));
    assert_eq!(*head.borrow(), Head::At(Seq(5)));
    tail.raise_head(Seq(7));
    publish(&tails, 6);
    assert_eq!(*head.borrow(), Head::At(Seq(7)));
    tails.end(Position(9), &id());
    tail.raise_head(Seq(9));
    assert_eq!(*head.borrow(), Head::Gone);
}
