use std::path::Path;

use serde_json::json;

use crate::log::conformance::Writer;
use crate::log::sqlite::{Db, FILE, Sqlite};
use crate::log::{CrashSafety, DocumentChange, Durability, ExpectedRevision, Revision, Store as _, Tails};

fn open(data: &Path) -> Sqlite {
    Sqlite::open(data, CrashSafety::Process, Tails::default()).unwrap()
}

#[tokio::test]
async fn reopened_it_has_them_and_gives_no_revision_again() {
    let data = tempfile::tempdir().unwrap();
    let store = open(data.path());
    let put = |key| DocumentChange::put("note", key, &json!({ "key": key })).unwrap();
    store.write_documents(vec![put("a"), put("b")]).await.unwrap();
    store.write_documents(vec![DocumentChange::remove("note", "b")]).await.unwrap();
    drop(store);
    let store = open(data.path());
    let kept = store.document("note", "a").await.unwrap().unwrap();
    assert_eq!((kept.revision, kept.parse::<serde_json::Value>().unwrap()), (Revision(1), json!({ "key": "a" })));
    assert_eq!(store.write_documents(vec![put("b")]).await.unwrap(), Revision(3));
}

#[test]
fn a_refused_write_takes_nobody_with_it() {
    let data = tempfile::tempdir().unwrap();
    let mut db = Db::open(&data.path().join(FILE), CrashSafety::Power).unwrap();
    let put = |key| DocumentChange::put("note", key, &json!(1)).unwrap();
    let mut group = db.begin(Durability::Synced);
    group.write_documents(&[put("a")]).unwrap();
    let refused = [put("b"), put("a").expecting(ExpectedRevision::None)];
    group.write_documents(&refused).unwrap_err();
    group.write_documents(&[put("c")]).unwrap();
    group.commit().unwrap();
    for (key, is_there) in [("a", true), ("b", false), ("c", true)] {
        assert_eq!(db.reader().document("note", key).unwrap().is_some(), is_there, "{key}");
    }
}

#[tokio::test]
async fn one_that_is_damaged_is_one_that_cannot_be_parsed() {
    let data = tempfile::tempdir().unwrap();
    let store = open(data.path());
    Writer::create(&store, "session").await.append(1).await;
    let put = |key| DocumentChange::put("note", key, &json!(1)).unwrap();
    store.write_documents(vec![put("a"), put("b")]).await.unwrap();
    let path = data.path().join(FILE);
    rusqlite::Connection::open(&path).unwrap().execute("UPDATE document SET body = '{' WHERE key = 'a'", ()).unwrap();
    let page = store.documents("note", crate::log::DocumentQuery::all(9)).await.unwrap();
    let readable: Vec<bool> = page.iter().map(|kept| kept.parse::<serde_json::Value>().is_ok()).collect();
    assert_eq!(readable, [false, true]);
}
