use bytes::Bytes;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::*;
use crate::log::{
    Document, DocumentChange, DocumentQuery, ExpectedRevision, KeyOrder, MAX_DOCUMENT_BYTES, MAX_DOCUMENT_CHANGES,
    MAX_DOCUMENT_KEY_BYTES, PAGE_BYTES, Position, Revision,
};

const NOTE: &str = "note";

fn put(key: &str, value: &Value) -> DocumentChange {
    DocumentChange::put(NOTE, key, value).unwrap()
}

async fn read(home: &Home, key: &str) -> Option<Value> {
    let found = home.log.document(NOTE, key).await.unwrap();
    found.map(|document| document.parse().unwrap())
}

async fn keys(home: &Home, query: DocumentQuery) -> Vec<String> {
    let page = home.log.documents(NOTE, query).await.unwrap();
    page.into_iter().map(|document| document.key).collect()
}

pub(super) async fn write_read_and_remove(home: Home) {
    assert_eq!(home.log.document(NOTE, "a").await.unwrap(), None);
    let changes = vec![put("a", &json!({"n": 1})), DocumentChange::put("other", "a", &json!("another kind")).unwrap()];
    let first = home.log.write_documents(changes).await.unwrap();
    let expected = Document { key: "a".to_owned(), revision: first, json: Bytes::from_static(br#"{"n":1}"#) };
    assert_eq!(home.log.document(NOTE, "a").await.unwrap(), Some(expected), "the bytes as they came");
    let second = home.log.write_documents(vec![put("a", &json!({"n": 2}))]).await.unwrap();
    assert!(second > first);
    assert_eq!(read(&home, "a").await, Some(json!({"n": 2})));
    home.log.write_documents(vec![DocumentChange::remove(NOTE, "a"), DocumentChange::remove(NOTE, "b")]).await.unwrap();
    assert_eq!(read(&home, "a").await, None);
    let other = home.log.document("other", "a").await.unwrap().unwrap();
    assert_eq!((other.revision, other.parse::<Value>().unwrap()), (first, json!("another kind")));
}

pub(super) async fn in_the_order_of_keys(home: Home) {
    let names = ["b/2", "a", "b/10", "b", "c~", "b/", "B", "b0"];
    home.log.write_documents(names.iter().map(|key| put(key, &json!(key))).collect()).await.unwrap();
    home.log.write_documents(vec![DocumentChange::put("nota", "x", &json!(1)).unwrap()]).await.unwrap();
    assert_eq!(keys(&home, DocumentQuery::all(99)).await, ["B", "a", "b", "b/", "b/10", "b/2", "b0", "c~"]);
    let below = DocumentQuery { prefix: "b/".to_owned(), ..DocumentQuery::all(99) };
    assert_eq!(keys(&home, below.clone()).await, ["b/", "b/10", "b/2"]);
    let newest = DocumentQuery { order: KeyOrder::Descending, limit: 2, ..below.clone() };
    assert_eq!(keys(&home, newest.clone()).await, ["b/2", "b/10"]);
    assert_eq!(keys(&home, DocumentQuery { cursor: Some("b/10".to_owned()), ..newest.clone() }).await, ["b/"]);
    assert_eq!(keys(&home, DocumentQuery { cursor: Some("b/".to_owned()), ..newest }).await, [""; 0]);
    // A cursor is a place, whether something is there or not.
    let after = |cursor: &str| DocumentQuery { cursor: Some(cursor.to_owned()), ..below.clone() };
    assert_eq!(keys(&home, after("b/1")).await, ["b/10", "b/2"]);
    assert_eq!(keys(&home, after("a")).await, ["b/", "b/10", "b/2"], "a cursor before the prefix");
    assert_eq!(keys(&home, DocumentQuery { limit: 3, ..DocumentQuery::all(0) }).await, ["B", "a", "b"]);
}

pub(super) async fn pages_are_cut_by_size(home: Home) {
    let large = json!("x".repeat(MAX_DOCUMENT_BYTES - 2));
    for key in 0..9 {
        home.log.write_documents(vec![put(&format!("{key}"), &large)]).await.unwrap();
    }
    let (mut seen, mut query) = (0, DocumentQuery::all(usize::MAX));
    loop {
        let page = keys(&home, query.clone()).await;
        assert!(page.len() <= PAGE_BYTES / MAX_DOCUMENT_BYTES);
        let Some(last) = page.last() else { break };
        query.cursor = Some(last.clone());
        seen += page.len();
    }
    assert_eq!(seen, 9);
}

pub(super) async fn all_of_a_write_or_nothing(home: Home) {
    let first = home.log.write_documents(vec![put("a", &json!(1)), put("b", &json!(1))]).await.unwrap();
    let second = home.log.write_documents(vec![put("b", &json!(2))]).await.unwrap();
    let expects = |expected| vec![put("a", &json!(3)), put("c", &json!(3)), put("b", &json!(3)).expecting(expected)];
    for (expected, told) in [
        (ExpectedRevision::At(first), "it is at revision 2, not at revision 1"),
        (ExpectedRevision::None, "should not be there"),
    ] {
        let refused = home.log.write_documents(expects(expected)).await.unwrap_err();
        assert!(matches!(&refused, Error::DocumentMoved { kind: NOTE, key, .. } if key == "b"), "{refused}");
        assert!(refused.to_string().contains(told), "{refused}");
        assert_eq!((read(&home, "a").await, read(&home, "c").await), (Some(json!(1)), None));
    }
    let missing = put("d", &json!(3)).expecting(ExpectedRevision::At(second));
    let refused = home.log.write_documents(vec![put("a", &json!(3)), missing]).await.unwrap_err();
    assert!(refused.to_string().contains("it is not there"), "{refused}");
    assert_eq!(read(&home, "a").await, Some(json!(1)));
    home.log.write_documents(expects(ExpectedRevision::At(second))).await.unwrap();
    assert_eq!((read(&home, "a").await, read(&home, "c").await), (Some(json!(3)), Some(json!(3))));
    // A removal counts on a revision like everything else.
    let refused = DocumentChange::remove(NOTE, "b").expecting(ExpectedRevision::At(second));
    assert!(home.log.write_documents(vec![refused]).await.is_err());
    assert_eq!(read(&home, "b").await, Some(json!(3)));
}

pub(super) async fn revisions_are_given_once(home: Home) {
    let mut last = Revision::default();
    for round in 0..5 {
        let made = put("a", &json!(round)).expecting(ExpectedRevision::None);
        let revision = home.log.write_documents(vec![made]).await.unwrap();
        assert!(revision > last, "removed and made again, it is another one");
        last = revision;
        home.log.write_documents(vec![DocumentChange::remove(NOTE, "a")]).await.unwrap();
    }
}

pub(super) async fn only_one_of_many_wins(home: Home) {
    let revision = home.log.write_documents(vec![put("a", &json!(0))]).await.unwrap();
    let mut writes = JoinSet::new();
    for writer in 1..=30 {
        let log = home.log.clone();
        let change = put("a", &json!(writer)).expecting(ExpectedRevision::At(revision));
        writes.spawn(async move { log.write_documents(vec![change]).await.ok().map(|_| writer) });
    }
    let winners: Vec<i32> = writes.join_all().await.into_iter().flatten().collect();
    assert_eq!(winners.len(), 1);
    assert_eq!(read(&home, "a").await, Some(json!(winners[0])));
}

pub(super) async fn bad_documents_are_refused(home: Home) {
    let raw = |key: &str, json: &str| DocumentChange {
        json: Some(Bytes::copy_from_slice(json.as_bytes())),
        ..DocumentChange::remove(NOTE, key)
    };
    let large = format!("\"{}\"", "x".repeat(MAX_DOCUMENT_BYTES - 1));
    let many = (0..=MAX_DOCUMENT_CHANGES).map(|key| raw(&key.to_string(), "1")).collect();
    let heavy = (0..17).map(|key| raw(&key.to_string(), &large[1..].replace(['"', 'x'], "1"))).collect();
    for (changes, told) in [
        (vec![raw("", "1")], "visible ASCII"),
        (vec![raw("a b", "1")], "visible ASCII"),
        (vec![raw("é", "1")], "visible ASCII"),
        (vec![raw(&"k".repeat(MAX_DOCUMENT_KEY_BYTES + 1), "1")], "visible ASCII"),
        (vec![raw("k", "{")], "not JSON"),
        (vec![raw("k", &large)], "262145 bytes"),
        (vec![raw("k", "1"), raw("k", "2")], "named twice"),
        (many, "1025 documents"),
        (heavy, "4456448 bytes"),
    ] {
        let refused = home.log.write_documents(changes).await.unwrap_err();
        assert!(matches!(refused, Error::BadDocuments(_)), "{refused}");
        assert!(refused.to_string().contains(told), "{refused}");
    }
    assert_eq!(keys(&home, DocumentQuery::all(9)).await, [""; 0]);
    home.log.write_documents(vec![raw(&"k".repeat(MAX_DOCUMENT_KEY_BYTES), "1")]).await.unwrap();
}

pub(super) async fn documents_are_no_facts(home: Home) {
    let mut writer = Writer::create(&*home.log, "a").await;
    writer.append(3).await;
    let commits = home.log.commits(Position::default(), 99).await.unwrap().len();
    home.log.write_documents(vec![put("a", &json!(1))]).await.unwrap();
    assert_eq!(home.log.commits(Position::default(), 99).await.unwrap().len(), commits);
    assert!(home.log.delete(&id("a")).await.unwrap());
    assert_eq!(read(&home, "a").await, Some(json!(1)), "it is no session's");
    home.log.close().await.unwrap();
    assert!(matches!(home.log.write_documents(Vec::new()).await, Err(Error::Closed)));
    assert!(matches!(home.log.document(NOTE, "a").await, Err(Error::Closed)));
}
