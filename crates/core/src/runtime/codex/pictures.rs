//! Pictures that tools bring: inside their results, or in files that they name.

use serde_json::{Value, json};

use super::protocol::{Call, CodexProtocol};
use super::wire::{FileRead, Item};
use super::work::{ThreadWork, ToolKind};
use crate::event::{Image, ToolResult};
use crate::runtime::Output;

/// What stands in the text of a result where a picture was.
pub(super) const PLACE: &str = "[image]";

/// The pictures in a list of contents, in the words of MCP servers, of host tools and of the model.
pub(super) fn pictures_of(content: &Value) -> Option<Vec<Image>> {
    let found: Vec<Image> = content.as_array().into_iter().flatten().filter_map(picture_in).collect();
    (!found.is_empty()).then_some(found)
}

pub(super) fn picture_in(part: &Value) -> Option<Image> {
    let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    let resource = part.get("resource").unwrap_or(part);
    let inside = match text(part, "type")?.as_str() {
        "image" => text(part, "mimeType").zip(text(part, "data")),
        "resource" => text(resource, "mimeType").zip(text(resource, "blob")),
        "inputImage" => text(part, "imageUrl").and_then(|url| of_url(&url)),
        "input_image" => text(part, "image_url").and_then(|url| of_url(&url)),
        _ => None,
    };
    let (media_type, data) = inside.filter(|(media_type, _)| media_type.starts_with("image/"))?;
    Some(Image { media_type, data: Some(data), blob: None })
}

/// `data:image/png;base64,...`
fn of_url(url: &str) -> Option<(String, String)> {
    let (media_type, data) = url.strip_prefix("data:")?.split_once(";base64,")?;
    Some((media_type.to_owned(), data.to_owned()))
}

/// What a tool that looks at a picture, or makes one, has brought. Where the file could not be read, its name.
pub(super) fn picture(path: &str, data: Option<String>) -> ToolResult {
    let end = path.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    let media_type = match end.as_str() {
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        _ => "image/png",
    };
    let image = data.map(|data| Image { media_type: media_type.to_owned(), data: Some(data), blob: None });
    ToolResult {
        output: if image.is_some() { format!("{path}\n{PLACE}") } else { path.to_owned() },
        file_path: Some(path.to_owned()),
        is_file_read: Some(true),
        images: image.map(|image| vec![image]),
        ..ToolResult::default()
    }
}

impl CodexProtocol {
    /// Reads the file of a picture before its tool is said to have ended. False for an item that has none.
    pub(super) fn reads_picture(&mut self, thread_id: &str, item: &Item, out: &mut Output) -> bool {
        let (id, path) = match item {
            Item::ImageView { id, path } => (id, path),
            Item::ImageGeneration { id, saved_path: Some(path), .. } => (id, path),
            _ => return false,
        };
        let Some(work) = self.start_work(thread_id, out).filter(|_| path.starts_with('/')) else { return false };
        work.started(item, out);
        let Some(tool) = work.tools.get_mut(id) else { return false };
        tool.kind = ToolKind::Picture { path: path.clone() };
        let call = Call::Picture { thread_id: thread_id.to_owned(), item_id: id.clone() };
        self.call("fs/readFile", json!({ "path": path }), call, out);
        true
    }

    pub(super) fn picture_read(&mut self, thread_id: &str, item_id: &str, result: Option<&str>, out: &mut Output) {
        let read = result.and_then(|result| serde_json::from_str::<FileRead>(result).ok());
        let data = read.map(|read| read.data_base64).filter(|data| !data.is_empty());
        if let Some(work) = self.work(thread_id) {
            work.picture_brought(item_id, data, out);
        }
    }
}

impl ThreadWork {
    fn picture_brought(&mut self, item_id: &str, data: Option<String>, out: &mut Output) {
        // The turn may have ended meanwhile, and the next one may have a call of the same name.
        let Some(ToolKind::Picture { path }) = self.tools.get(item_id).map(|tool| &tool.kind) else { return };
        let result = picture(path, data);
        self.call_ended(item_id, result, out);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{picture, pictures_of};

    #[test]
    fn pictures_are_found_in_all_words_for_them() {
        let content = json!([
            { "type": "text", "text": "look" },
            { "type": "image", "data": "AA==", "mimeType": "image/png" },
            { "type": "inputImage", "imageUrl": "data:image/gif;base64,AQ==" },
            { "type": "input_image", "image_url": "https://elsewhere/" },
            { "type": "resource", "resource": { "blob": "Ag==", "mimeType": "image/webp" } },
            { "type": "resource", "resource": { "blob": "Ag==", "mimeType": "text/html" } },
        ]);
        let found = pictures_of(&content).unwrap();
        let found: Vec<_> = found.iter().map(|image| (image.media_type.as_str(), image.data.as_deref())).collect();
        assert_eq!(found, [("image/png", Some("AA==")), ("image/gif", Some("AQ==")), ("image/webp", Some("Ag=="))]);
        assert_eq!(pictures_of(&json!("text")), None);
    }

    #[test]
    fn a_file_that_cannot_be_read_is_named() {
        assert_eq!(picture("/w/p.JPG", Some("AA==".into())).images.unwrap()[0].media_type, "image/jpeg");
        let unread = picture("/w/p.png", None);
        assert_eq!((unread.output.as_str(), unread.images), ("/w/p.png", None));
    }
}
