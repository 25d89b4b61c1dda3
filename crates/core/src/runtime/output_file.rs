//! What an agent names and does not say: output that it has cut, results that it keeps elsewhere, pictures in files. Whoever drives it reads the
//! files; how what is in them becomes a part of a fact is here.

use crate::event::{Event, Image};

/// What stands in the words of a result where a picture is.
pub const PICTURE_PLACE: &str = "[image]";

/// Where an agent keeps an output.
#[derive(Debug, Clone)]
pub enum OutputFile {
    /// All of a file is the output.
    Whole {
        path: String,
        /// How the file ends besides the output, when it is whole.
        mark: Option<String>,
    },
    Entry(OutputEntry),
    /// A picture that a tool looked at, or made.
    Picture {
        path: String,
    },
}

/// One line of a file that the agent writes line by line. It may come a moment after the agent spoke of it.
#[derive(Debug, Clone)]
pub struct OutputEntry {
    /// The folder in one of whose folders the file is.
    pub below: String,
    pub file: String,
    /// What the agent calls that which has an output.
    pub task: String,
    /// Reads a line; nothing if it is about something else.
    pub read: fn(entry: &OutputEntry, line: &str) -> Option<EntryOutput>,
}

/// What an entry says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryOutput {
    pub text: String,
    /// The file that has all of it, if the entry has not.
    pub whole_in: Option<String>,
    /// The files of the pictures; the text has [`PICTURE_PLACE`] where each stood.
    pub pictures: Vec<String>,
}

/// Puts the words of a file into the fact that they belong to.
pub fn set_output(event: &mut Event, text: String) {
    match event {
        Event::ToolResult(result) => result.output = text,
        Event::BackgroundEnded(ended) => ended.output = Some(text),
        _ => {}
    }
}

/// Puts a picture into the fact that names its file. `data` is base64.
pub fn add_picture(event: &mut Event, path: &str, data: String) {
    let image = Image { media_type: media_type(path).to_owned(), data: Some(data), blob: None };
    let (output, images) = match event {
        Event::ToolResult(result) => (&mut result.output, &mut result.images),
        Event::BackgroundEnded(ended) => (ended.output.get_or_insert_default(), &mut ended.images),
        _ => return,
    };
    let images = images.get_or_insert_default();
    images.push(image);
    if output.matches(PICTURE_PLACE).count() < images.len() {
        let line = if output.is_empty() { "" } else { "\n" };
        output.push_str(line);
        output.push_str(PICTURE_PLACE);
    }
}

/// What a file is, as far as its name says so. What it holds is looked at when it is kept.
fn media_type(path: &str) -> &'static str {
    let end = path.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    match end.as_str() {
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        _ => "image/png",
    }
}

#[cfg(test)]
mod tests {
    use super::add_picture;
    use crate::event::{BackgroundEnded, Event, ToolResult};

    #[test]
    fn a_picture_has_its_place_among_the_words() {
        let mut event: Event = ToolResult { output: "/w/p.JPG".to_owned(), ..ToolResult::default() }.into();
        add_picture(&mut event, "/w/p.JPG", "AA==".to_owned());
        let Event::ToolResult(result) = event else { panic!() };
        let images = result.images.unwrap();
        assert_eq!((result.output.as_str(), images[0].media_type.as_str()), ("/w/p.JPG\n[image]", "image/jpeg"));
        for (said, shown) in [(Some("one\n[image]\ntwo"), "one\n[image]\ntwo\n[image]"), (None, "[image]\n[image]")] {
            let mut event: Event = BackgroundEnded { output: said.map(str::to_owned), ..Default::default() }.into();
            add_picture(&mut event, "a.png", "AA==".to_owned());
            add_picture(&mut event, "b.png", "AQ==".to_owned());
            let Event::BackgroundEnded(ended) = event else { panic!() };
            assert_eq!((ended.output.as_deref(), ended.images.map(|images| images.len())), (Some(shown), Some(2)));
        }
    }
}
