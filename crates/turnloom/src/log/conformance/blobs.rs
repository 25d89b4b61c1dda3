use turnloom_core::blob::{Blob, BlobId};

use super::*;
use crate::log::{BlobRange, BlobSlice};

fn blob(content: &'static str) -> Blob {
    Blob { id: BlobId::of(content.as_bytes()), media_type: "text/plain".to_owned(), content: content.into() }
}

async fn read(home: &Home, content: &str, range: BlobRange) -> Option<BlobSlice> {
    home.log.blob(&BlobId::of(content.as_bytes()), range).await.unwrap()
}

async fn is_there(home: &Home, content: &str) -> bool {
    read(home, content, BlobRange::default()).await.is_some()
}

pub(super) async fn ranges(home: Home) {
    let mut writer = Writer::create(&*home.log, "a").await;
    writer.next.blobs = vec![blob("0123456789"), blob("")];
    writer.append(1).await;
    for (start, len, expected) in [
        (0, None, "0123456789"),
        (0, Some(3), "012"),
        (4, Some(3), "456"),
        (8, Some(9), "89"),
        (9, None, "9"),
        (10, None, ""),
        (u64::MAX, Some(u64::MAX), ""),
        (3, Some(0), ""),
    ] {
        let slice = read(&home, "0123456789", BlobRange { start, len }).await.unwrap();
        assert_eq!(slice.bytes, expected, "{start} {len:?}");
        assert_eq!((slice.size, slice.start, slice.media_type.as_str()), (10, start.min(10), "text/plain"));
    }
    assert_eq!(read(&home, "", BlobRange::default()).await.unwrap().size, 0);
}

pub(super) async fn delete_frees_what_nobody_shares(home: Home) {
    let mut parent = NewSession { blobs: vec![blob("shared"), blob("own")], ..new_session("parent") };
    parent.records = records(1..=2);
    home.log.create(parent).await.unwrap();
    let mut other = Writer::create(&*home.log, "other").await;
    other.next.blobs = vec![blob("shared")];
    other.append(1).await;
    assert!(home.log.delete(&id("parent")).await.unwrap());
    assert!(!home.log.delete(&id("parent")).await.unwrap());
    assert_eq!(home.log.session(&id("parent")).await.unwrap(), None);
    assert!(matches!(all(&*home.log, "parent").await, Err(Error::NotFound(_))));
    assert!(!is_there(&home, "own").await);
    assert!(is_there(&home, "shared").await);
    assert!(home.log.delete(&id("other")).await.unwrap());
    assert!(!is_there(&home, "shared").await);

    // A fork keeps what its parent had.
    let parent = NewSession { blobs: vec![blob("old")], records: records(1..=2), ..new_session("parent") };
    home.log.create(parent).await.unwrap();
    let mut fork = NewSession { blobs: vec![blob("new")], records: records(1..=3), ..new_session("fork") };
    fork.share_blobs_of = Some(id("parent"));
    home.log.create(fork).await.unwrap();
    home.log.delete(&id("parent")).await.unwrap();
    assert!(is_there(&home, "old").await && is_there(&home, "new").await);
    assert_eq!(all(&*home.log, "fork").await.unwrap(), records(1..=3));
    home.log.delete(&id("fork")).await.unwrap();
    assert!(!is_there(&home, "old").await && !is_there(&home, "new").await);
}

pub(super) async fn a_fork_needs_its_parent(home: Home) {
    let fork = NewSession { share_blobs_of: Some(id("gone")), blobs: vec![blob("x")], ..new_session("fork") };
    let refused = home.log.create(fork).await;
    assert!(matches!(&refused, Err(Error::NotFound(parent)) if *parent == id("gone")), "{refused:?}");
    assert_eq!(home.log.session(&id("fork")).await.unwrap(), None);
    assert!(!is_there(&home, "x").await);
}

pub(super) async fn the_same_content_twice(home: Home) {
    let mut writer = Writer::create(&*home.log, "a").await;
    writer.next.blobs = vec![blob("same"), blob("same")];
    writer.append(1).await;
    writer.append(1).await;
    assert_eq!(read(&home, "same", BlobRange::default()).await.unwrap().bytes, "same");
    home.log.delete(&id("a")).await.unwrap();
    assert!(!is_there(&home, "same").await);
}

pub(super) async fn whose_it_is(home: Home) {
    let parent = NewSession { blobs: vec![blob("old")], records: records(1..=2), ..new_session("parent") };
    home.log.create(parent).await.unwrap();
    let fork = NewSession { share_blobs_of: Some(id("parent")), records: records(1..=2), ..new_session("fork") };
    home.log.create(fork).await.unwrap();
    let owners = async |content: &str| {
        let owners = home.log.blob_owners(&BlobId::of(content.as_bytes())).await.unwrap();
        let mut names: Vec<String> =
            owners.iter().map(|owner| format!("{} {}", owner.session, owner.runtime)).collect();
        names.sort();
        names
    };
    assert_eq!(owners("old").await, ["fork mock", "parent mock"]);
    assert!(owners("none").await.is_empty());
    home.log.delete(&id("parent")).await.unwrap();
    assert_eq!(owners("old").await, ["fork mock"]);
}
