use serde_json::{Value, json};
use tempfile::TempDir;
use turnloom_core::event::{Envelope, Event};
use turnloom_core::id::TurnId;
use turnloom_core::summary::Summary;
use turnloom_core::time::Timestamp;

use super::*;
use crate::log::{CrashSafety, NewSession};

const WINDOW: Window = Window { messages: 30, before: None, content: false };

fn said(seq: u64, bytes: usize) -> Record {
    let content = json!([{ "type": "text", "text": "x".repeat(bytes) }]);
    let data = json!({ "message_id": format!("m{seq}"), "content": content, "origin": "user" });
    let (session_id, ts) = (SessionId::trusted("s"), Timestamp::from_millis(0));
    let event = Event::from_value("user_message", &data);
    Envelope { seq: Seq(seq), ts, session_id, turn_id: None, subagent_id: None, event }.encode()
}

/// A session of some large messages.
fn new(bytes: usize) -> NewSession {
    NewSession {
        id: SessionId::trusted("s"),
        runtime: "mock".to_owned(),
        params: json!({}),
        created_at: Timestamp::from_millis(0),
        records: (1..=10).map(|seq| said(seq, bytes)).collect(),
        blobs: Vec::new(),
        summary: Summary::default(),
        share_blobs_of: None,
    }
}

/// It, and its view.
async fn opened(bytes: usize) -> (TempDir, Arc<SharedView>) {
    let data = tempfile::tempdir().unwrap();
    let log = Log::open(data.path(), CrashSafety::Process).unwrap();
    log.create(new(bytes)).await.unwrap();
    let view = Views::new(log).of(&SessionId::trusted("s"));
    view.catch_up(Seq(10)).await.unwrap();
    (data, view)
}

fn snapshot(view: &SharedView) -> (Seq, Bytes) {
    match view.since(None, &WINDOW) {
        Update::Snapshot { seq, json } => (seq, json),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn all_who_look_share_one_large_snapshot() {
    let (_data, view) = opened(100_000).await;
    let (seq, first) = snapshot(&view);
    assert_eq!(seq, Seq(10));
    assert_eq!(snapshot(&view).1.as_ptr(), first.as_ptr());
    // The view goes on; who comes now gets the same bytes and the changes since.
    view.take(&[said(11, 10)]);
    let (seq, second) = snapshot(&view);
    assert_eq!((seq, second.as_ptr()), (Seq(10), first.as_ptr()));
    assert!(matches!(view.since(Some(seq), &WINDOW), Update::Ops { seq: Seq(11), ops } if ops.len() == 1));
    // Who asks for the newest gets it, and who wants another part gets that.
    let newest: Value = serde_json::from_slice(&view.snapshot(Seq(11), &WINDOW).await.unwrap()).unwrap();
    assert_eq!((newest["seq"].as_u64(), newest["messages"].as_array().unwrap().len()), (Some(11), 11));
    let two = view.snapshot(Seq(11), &Window { messages: 2, ..WINDOW }).await.unwrap();
    let two: Value = serde_json::from_slice(&two).unwrap();
    assert_eq!(two["messages"].as_array().unwrap().len(), 2);
    drop((first, second));
    assert_eq!(snapshot(&view).0, Seq(11), "nothing old is kept for nobody");
}

#[tokio::test]
async fn a_small_snapshot_is_the_newest() {
    let (_data, view) = opened(10).await;
    let (_, _held) = snapshot(&view);
    view.take(&[said(11, 10)]);
    assert_eq!(snapshot(&view).0, Seq(11));
}

#[tokio::test]
async fn a_crowd_reads_a_log_once() {
    let (_data, view) = opened(100_000).await;
    let fresh = SharedView::new(view.id.clone(), view.log.clone());
    let all = futures_util::future::join_all((0..20).map(|_| fresh.catch_up(Seq(10)))).await;
    assert!(all.into_iter().all(|caught_up| caught_up.is_ok()));
    assert_eq!(snapshot(&fresh), snapshot(&view));
}

#[tokio::test]
async fn what_stands_after_a_hole_is_read_all_the_same() {
    let data = tempfile::tempdir().unwrap();
    let log = Log::open(data.path(), CrashSafety::Process).unwrap();
    log.create(new(10)).await.unwrap();
    let other = rusqlite::Connection::open(data.path().join("turnloom.db")).unwrap();
    other.execute("DELETE FROM event WHERE seq = 4", ()).unwrap();
    let view = Views::new(log).of(&SessionId::trusted("s"));
    // What comes from the end of the log says nothing of what is missing before it.
    view.take(&[said(11, 10)]);
    assert!(!view.state().fold.has_message("m11"));
    view.catch_up(Seq(10)).await.unwrap();
    view.take(&[said(11, 10)]);
    let all = snapshot(&view).1;
    let found = String::from_utf8(all.to_vec()).unwrap();
    assert!(["m3", "m5", "m10", "m11"].iter().all(|id| found.contains(&format!("\"{id}\""))), "{found}");
}

#[tokio::test]
async fn windows_that_differ_share_what_is_large() {
    let (_data, view) = opened(100_000).await;
    let snapshot = |messages: usize| match view.since(None, &Window { messages, ..WINDOW }) {
        Update::Snapshot { json, .. } => json,
        other => panic!("{other:?}"),
    };
    let count = |json: &Bytes| serde_json::from_slice::<Value>(json).unwrap()["messages"].as_array().unwrap().len();
    let held: Vec<Bytes> = [5, 6, 7, 8].map(snapshot).to_vec();
    assert_eq!(held.iter().map(count).collect::<Vec<_>>(), [5, 6, 7, 8]);
    // Going back and forth between windows makes none anew.
    assert_eq!(snapshot(5).as_ptr(), held[0].as_ptr());
    assert_eq!((snapshot(9).as_ptr(), snapshot(3).as_ptr()), (held[3].as_ptr(), held[0].as_ptr()));
    drop(held);
    assert_eq!(count(&snapshot(9)), 9, "there is room again");
}

/// A session of many short turns, in which an artifact of the first turn is changed at the end.
fn long(turns: u64) -> Vec<Record> {
    let (mut records, mut seq) = (Vec::new(), 0);
    for turn in 0..turns {
        let turn_id = Some(TurnId::trusted(format!("t{turn}")));
        let mut events = vec![
            (
                "user_message",
                json!({ "message_id": format!("m{turn}"), "content": [{ "type": "text", "text": "go" }], "origin": "user" }),
            ),
            ("turn_started", json!({ "message_ids": [], "origin": "user" })),
            ("delta", json!({ "block_id": "b", "text": format!("said in {turn}"), "done": true })),
            ("done", json!({ "outcome": "completed" })),
        ];
        if turn == 0 {
            let created = json!({ "artifact_id": "a", "title": "First", "media_type": "text/plain" });
            events.insert(2, ("artifact_created", created));
        }
        for (kind, data) in events {
            seq += 1;
            let (session_id, ts) = (SessionId::trusted("s"), Timestamp::from_millis(0));
            let event = Event::from_value(kind, &data);
            let turn_id = turn_id.clone();
            records.push(Envelope { seq: Seq(seq), ts, session_id, turn_id, subagent_id: None, event }.encode());
        }
    }
    records
}

async fn stored(turns: u64) -> (TempDir, Log, Seq) {
    let data = tempfile::tempdir().unwrap();
    let log = Log::open(data.path(), CrashSafety::Process).unwrap();
    let records = long(turns);
    let head = records.last().unwrap().seq;
    log.create(NewSession { records, ..new(1) }).await.unwrap();
    let view = SharedView::new(SessionId::trusted("s"), log.clone());
    view.catch_up(head).await.unwrap();
    view.save().await.unwrap();
    (data, log, head)
}

async fn texts(view: &SharedView, head: Seq, messages: usize) -> Vec<String> {
    let window = Window { messages, content: true, ..WINDOW };
    let json: Value = serde_json::from_slice(&view.snapshot(head, &window).await.unwrap()).unwrap();
    json["messages"].as_array().unwrap().iter().map(|m| m["content"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_long_view_is_read_as_far_as_somebody_looks() {
    let (_data, log, head) = stored(500).await;
    let view = SharedView::new(SessionId::trusted("s"), log.clone());
    assert_eq!(texts(&view, head, 2).await, ["go", "said in 499"]);
    assert!(!view.state().fold.has_message("m0"), "what nobody looks at is not read");
    assert_eq!(texts(&view, head, 1_000).await.len(), 1_000);
    assert!(view.has_message(head, "m0").await.unwrap());
    assert!(!view.has_message(head, "nobody").await.unwrap());
}

#[tokio::test]
async fn what_is_old_can_still_change_and_is_saved_again() {
    let (_data, log, head) = stored(200).await;
    let view = SharedView::new(SessionId::trusted("s"), log.clone());
    view.catch_up(head).await.unwrap();
    let updated = Event::from_value("artifact_updated", &json!({ "artifact_id": "a", "title": "Renamed" }));
    let (session_id, ts) = (SessionId::trusted("s"), Timestamp::from_millis(0));
    let record =
        Envelope { seq: head.next(), ts, session_id, turn_id: None, subagent_id: None, event: updated }.encode();
    let id = SessionId::trusted("s");
    let append = crate::log::Append {
        epoch: log.claim(&id).await.unwrap().epoch,
        session: id,
        expected_head: head,
        records: vec![record],
        blobs: Vec::new(),
        summary: Summary::default(),
        at: ts,
        durability: turnloom_core::event::Durability::Synced,
        agent: None,
    };
    log.append(append).await.unwrap();
    let head = head.next();
    view.catch_up(head).await.unwrap();
    view.save().await.unwrap();
    let again = SharedView::new(SessionId::trusted("s"), log.clone());
    let all = again.snapshot(head, &Window { messages: 1_000, ..WINDOW }).await.unwrap();
    assert!(String::from_utf8(all.to_vec()).unwrap().contains("Renamed"));
    let report = crate::snapshots::check(&log).await.unwrap();
    assert!(report.wrong.is_empty() && report.right > 3, "{report:?}");
}

#[tokio::test]
async fn a_part_that_is_not_there_is_made_from_the_log() {
    let (_data, log, head) = stored(200).await;
    let view = SharedView::new(SessionId::trusted("s"), log.clone());
    view.catch_up(head).await.unwrap();
    log.forget(&SessionId::trusted("s"), VIEW).await.unwrap();
    assert_eq!(texts(&view, head, 1_000).await.len(), 400);
    assert_eq!(snapshot(&view).0, head);
}
