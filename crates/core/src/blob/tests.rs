use super::{BlobId, DEFAULT_LIMIT, is_media_type, spill};
use crate::event::{ArtifactCreated, Event, Image, ToolResult};

const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// What becomes of a picture: the blob's media type and bytes, and what the event says of it.
fn spilled(media_type: &str, data: &str) -> (String, Vec<u8>, Image) {
    let image = Image { media_type: media_type.to_owned(), data: Some(data.to_owned()), blob: None };
    let mut event = Event::from(ToolResult { images: Some(vec![image]), ..ToolResult::default() });
    let mut blobs = spill(&mut event, DEFAULT_LIMIT);
    let (Event::ToolResult(result), Some(blob)) = (event, blobs.pop()) else { panic!("a result and its blob") };
    assert!(blobs.is_empty());
    let image = result.images.unwrap().pop().unwrap();
    assert_eq!(image.data, None, "nothing stays in the event");
    assert_eq!(image.blob.as_ref().unwrap().id, BlobId::of(&blob.content));
    assert_eq!(image.blob.as_ref().unwrap().media_type, blob.media_type);
    (blob.media_type, blob.content.to_vec(), image)
}

#[test]
fn a_tools_picture_becomes_a_blob_that_can_be_drawn() {
    let (media_type, bytes, image) = spilled("image/png", PIXEL);
    assert_eq!(media_type, "image/png");
    assert!(bytes.starts_with(b"\x89PNG"), "decoded");
    assert_eq!(image.blob.unwrap().size, bytes.len() as u64);
}

#[test]
fn a_picture_is_what_its_bytes_say_and_nothing_else_is_a_page() {
    assert_eq!(spilled("text/html", PIXEL).0, "image/png");
    // "<script>": what an agent calls it does not make a document of it.
    assert_eq!(spilled("text/html", "PHNjcmlwdD4=").0, "application/octet-stream");
    assert_eq!(spilled("image/x-own", "AAAA").0, "image/x-own");
    let (media_type, bytes, _) = spilled("image/png", "not base64!");
    assert_eq!((media_type.as_str(), bytes.as_slice()), ("application/octet-stream", b"not base64!".as_slice()));
}

#[test]
fn what_is_no_media_type_is_not_kept_as_one() {
    for fine in ["image/png", "text/plain; charset=utf-8", "application/vnd.x+json", "image/*"] {
        assert!(is_media_type(fine), "{fine}");
    }
    for broken in ["", "image", "/png", "image/", "image/png\n", "image/<b>", "ima ge/png", &"x/".repeat(200)] {
        assert!(!is_media_type(broken), "{broken:?}");
    }
    assert_eq!(spilled("image/<b>", "AAAA").2.media_type, "application/octet-stream");
    let created = ArtifactCreated { media_type: "no\nsuch".to_owned(), ..ArtifactCreated::default() };
    let mut event = Event::from(created);
    spill(&mut event, DEFAULT_LIMIT);
    assert_eq!(event.data()["media_type"], "application/octet-stream");
}
