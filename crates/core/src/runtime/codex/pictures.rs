//! Pictures that tools bring: inside their results, or in files that they name.

use serde_json::Value;

use super::work::ThreadWork;
use crate::event::{Image, ToolResult};
use crate::runtime::{Output, OutputFile, Report};

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

impl ThreadWork {
    /// A tool has looked at a picture, or made one. It names only the file, which is read before anything that follows is told, also the end of
    /// the turn. If it cannot be read in time, its name is all there is.
    pub(super) fn picture_brought(&mut self, item_id: &str, path: &str, out: &mut Output) {
        let Some(tool) = self.tools.remove(item_id) else { return };
        let result = ToolResult {
            tool_use_id: tool.id,
            output: path.to_owned(),
            file_path: Some(path.to_owned()),
            is_file_read: Some(true),
            ..ToolResult::default()
        };
        if !path.starts_with('/') {
            return self.say(result, out);
        }
        let file = Box::new(OutputFile::Picture { path: path.to_owned() });
        out.report(Report::FactWithOutputFile { file, subagent_id: self.owner.clone(), event: result.into() });
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::pictures_of;

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
}
