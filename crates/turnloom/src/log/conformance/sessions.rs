use turnloom_core::event::QuestionRequest;
use turnloom_core::id::AskId;
use turnloom_core::summary::{AskKind, AskRequest, PendingAsk};
use turnloom_core::time::Timestamp;

use super::*;
use crate::log::{SessionQuery, SessionRow};

fn query() -> SessionQuery {
    SessionQuery { limit: 100, ..SessionQuery::default() }
}

async fn names(home: &Home, query: SessionQuery) -> Vec<String> {
    let page = home.log.sessions(query).await.unwrap();
    page.sessions.into_iter().map(|row| row.id.to_string()).collect()
}

async fn touch(home: &Home, name: &str, at: i64, change: impl FnOnce(&mut Append)) {
    let mut writer = Writer::claim(&*home.log, name).await;
    writer.next.at = Timestamp::from_millis(at);
    change(&mut writer.next);
    writer.append(1).await;
}

pub(super) async fn newest_first_in_pages(home: Home) {
    // All at the same time but the last two, so that the second key decides.
    for name in ["a", "b", "c", "d", "e"] {
        home.log.create(new_session(name)).await.unwrap();
    }
    touch(&home, "b", 9, |_| {}).await;
    touch(&home, "d", 8, |_| {}).await;
    let expected = ["b", "d", "e", "c", "a"];
    assert_eq!(names(&home, query()).await, expected);
    for limit in 1..=6 {
        let mut seen: Vec<String> = Vec::new();
        let mut cursor = None;
        loop {
            let page = home.log.sessions(SessionQuery { limit, cursor, ..query() }).await.unwrap();
            assert!((1..=limit).contains(&page.sessions.len()));
            seen.extend(page.sessions.into_iter().map(|row: SessionRow| row.id.to_string()));
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(seen, expected, "in pages of {limit}");
    }
}

pub(super) async fn filters(home: Home) {
    home.log.create(new_session("a")).await.unwrap();
    home.log.create(NewSession { runtime: "claude".to_owned(), ..new_session("b") }).await.unwrap();
    home.log.create(new_session("c")).await.unwrap();
    touch(&home, "c", 5, |append| append.summary.archived = true).await;
    assert_eq!(names(&home, query()).await, ["b", "a"]);
    assert_eq!(names(&home, SessionQuery { archived: true, ..query() }).await, ["c"]);
    assert_eq!(names(&home, SessionQuery { runtime: Some("claude".to_owned()), ..query() }).await, ["b"]);
    touch(&home, "c", 6, |append| append.summary.archived = false).await;
    assert_eq!(names(&home, query()).await, ["c", "b", "a"]);
}

pub(super) async fn search(home: Home) {
    for (name, title) in [("s1", "Fix the Build"), ("s2", "100% done"), ("s3", "snake_case"), ("s4", r"back\slash")] {
        let mut new = new_session(name);
        new.summary.title = title.to_owned();
        home.log.create(new).await.unwrap();
    }
    for (q, expected) in [
        ("fix THE", &["s1"][..]),
        ("%", &["s2"]),
        ("_", &["s3"]),
        (r"\", &["s4"]),
        ("S1", &["s1"]),
        ("'", &[]),
        ("", &["s4", "s3", "s2", "s1"]),
    ] {
        assert_eq!(names(&home, SessionQuery { q: Some(q.to_owned()), ..query() }).await, expected, "{q:?}");
    }
    assert!(names(&home, SessionQuery { q: Some("x".repeat(100_000)), ..query() }).await.is_empty());
}

pub(super) async fn bad_cursors(home: Home) {
    for cursor in ["", "x", "1", "1.", ".1", "1.x", "1.2.3", "99999999999999999999.1"] {
        let refused = home.log.sessions(SessionQuery { cursor: Some(cursor.to_owned()), ..query() }).await;
        assert!(matches!(refused, Err(Error::BadCursor)), "{cursor:?}: {refused:?}");
    }
}

pub(super) async fn unsettled_and_waiting(home: Home) {
    for name in ["a", "b", "c"] {
        home.log.create(new_session(name)).await.unwrap();
    }
    assert!(home.log.unsettled().await.unwrap().is_empty());
    let ask = PendingAsk {
        ask_id: AskId::trusted("ask_1"),
        kind: AskKind::Question,
        turn_id: None,
        seq: Seq(1),
        asked_at: Timestamp::from_millis(3),
        title: "Which?".to_owned(),
        request: AskRequest::Question(QuestionRequest {
            ask_id: AskId::trusted("ask_1"),
            ..QuestionRequest::default()
        }),
        subagent_id: None,
        subagent_name: None,
    };
    touch(&home, "c", 3, |append| append.summary.at_rest = false).await;
    touch(&home, "a", 4, |append| {
        append.summary.at_rest = false;
        append.summary.asks = vec![ask.clone()];
    })
    .await;
    assert_eq!(home.log.unsettled().await.unwrap(), [id("a"), id("c")]);
    let waiting = home.log.waiting().await.unwrap();
    assert_eq!(waiting.len(), 1);
    assert_eq!((&waiting[0].id, &waiting[0].summary.asks), (&id("a"), &vec![ask]));
    touch(&home, "a", 5, |_| {}).await;
    assert_eq!(home.log.unsettled().await.unwrap(), [id("c")]);
    assert!(home.log.waiting().await.unwrap().is_empty());
}
