//! What a tool said: its words without the program's own remarks, its pictures, its exit code, its change to a file, and where the program keeps
//! what it has cut.

use serde_json::Value;

use super::tasks::is_own_file;
use super::tools::starts_subagent;
use crate::event::Image;

/// How the program says that it wrote a result to a file, up to the file's name.
const SAVED_TO_PREFIXES: &[&str] = &["Full output saved to: ", "Output has been saved to "];

const IN_BACKGROUND: &str = "It works in the background.";

/// The words of a call that goes on in the background: what it has printed so far. The rest tells the model how to look after it.
pub(super) fn output_so_far(structure: Option<&Value>) -> String {
    let text = |name: &str| structure.and_then(|s| s.get(name)).and_then(Value::as_str).unwrap_or_default();
    let printed = [text("stdout"), text("stderr"), IN_BACKGROUND];
    printed.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

/// The words of a result. Long output stands in the message only as a preview, and longer in the structure.
pub(super) fn output_of(tool: &str, content: &Value, structure: Option<&Value>) -> String {
    let text = |name: &str| structure.and_then(|s| s.get(name)).and_then(Value::as_str).unwrap_or_default();
    let plain = text_of(content);
    if tool == "Bash" && plain.starts_with("<persisted-output>") {
        let size = structure.and_then(|s| s.get("persistedOutputSize")).and_then(Value::as_u64);
        let path = text("persistedOutputPath");
        let note = size.map(|size| format!("[{size} bytes in all; the agent keeps them in {path}]"));
        let parts = [text("stdout"), text("stderr"), note.as_deref().unwrap_or_default()];
        return parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n");
    }
    if tool == "WebSearch"
        && let Some(results) = structure.and_then(|s| s.get("results")?.as_array())
    {
        return results.iter().flat_map(search_results).collect::<Vec<_>>().join("\n");
    }
    match structure.filter(|_| starts_subagent(tool)) {
        // What stands there is for the model, and asks it not to repeat any of it.
        Some(_) if text("status") == "async_launched" => IN_BACKGROUND.to_owned(),
        Some(structure) => report_of(structure).unwrap_or(plain),
        None => plain,
    }
}

/// What a search found: words of the model, or pages with their addresses. What the program says around it is for the model.
fn search_results(result: &Value) -> Vec<String> {
    let page = |page: &Value| {
        let text = |name: &str| page.get(name).and_then(Value::as_str);
        Some(format!("{} {}", text("title").unwrap_or_default(), text("url")?).trim().to_owned())
    };
    match result {
        Value::String(text) => vec![text.clone()],
        other => other.get("content").and_then(Value::as_array).into_iter().flatten().filter_map(page).collect(),
    }
}

/// What a sub-agent reported, without what the program put around it for the model.
fn report_of(structure: &Value) -> Option<String> {
    let blocks = structure.get("content")?;
    let number = |name: &str| structure.get(name).and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok());
    let (notes, tail) = (number("harnessNoteCount").unwrap_or(0), number("harnessTailCount").unwrap_or(0));
    match blocks.as_array() {
        Some(list) => {
            let end = list.len().saturating_sub(tail);
            Some(text_of(&Value::Array(list.iter().take(end).skip(notes).cloned().collect())))
        }
        None => Some(text_of(blocks)),
    }
}

/// The file that holds all of a result that was cut, if the program says so and the file is its own.
pub(super) fn saved_output_file(content: &Value, structure: Option<&Value>, conversation: &str) -> Option<String> {
    let structured = structure.and_then(|s| s.get("persistedOutputPath")).and_then(Value::as_str).map(str::to_owned);
    let plain = text_of(content);
    let first = plain.get(..plain.floor_char_boundary(1024)).unwrap_or_default();
    let named = || {
        let rest = SAVED_TO_PREFIXES.iter().find_map(|words| Some(first.split_once(words)?.1))?;
        let path = rest.lines().next()?.trim_end();
        Some(path.strip_suffix('.').unwrap_or(path).to_owned())
    };
    let cut = plain.starts_with("<persisted-output>") || plain.starts_with("Error: result (");
    structured.or_else(|| named().filter(|_| cut)).filter(|path| is_own_file(path, conversation))
}

pub(super) fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let text = |block: &Value| match block.get("type").and_then(Value::as_str) {
                // Where the program put a picture is nothing to read.
                Some("text") => block.get("text")?.as_str().filter(|text| !is_picture_path(text)).map(str::to_owned),
                Some("tool_reference") => block.get("tool_name").and_then(Value::as_str).map(str::to_owned),
                Some(kind) => Some(format!("[{kind}]")),
                None => None,
            };
            blocks.iter().filter_map(text).collect::<Vec<_>>().join("\n")
        }
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

pub(super) fn is_picture_path(text: &str) -> bool {
    text.starts_with("[Image: source: ")
}

/// The pictures among what a tool said.
pub(super) fn images_of(content: &Value) -> Vec<Image> {
    let image = |block: &Value| {
        let source = block.get("source").filter(|_| block.get("type").and_then(Value::as_str) == Some("image"))?;
        let text = |name: &str| source.get(name).and_then(Value::as_str).map(str::to_owned);
        Some(Image { media_type: text("media_type").unwrap_or_default(), data: Some(text("data")?), blob: None })
    };
    content.as_array().into_iter().flatten().filter_map(image).collect()
}

pub(super) fn exit_code(output: &str, is_error: bool, structure: Option<&Value>) -> Option<i32> {
    if is_error {
        let rest = output.strip_prefix("Exit code ").or_else(|| output.strip_prefix("Error: Exit code "))?;
        return rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok();
    }
    let ran_to_its_end = structure.is_some_and(|s| {
        s.get("interrupted").and_then(Value::as_bool) == Some(false) && s.get("backgroundTaskId").is_none()
    });
    ran_to_its_end.then_some(0)
}

/// The change to a file as a unified diff.
pub(super) fn diff_of(structure: &Value, path: Option<&str>) -> Option<String> {
    let hunks = structure.get("structuredPatch")?.as_array()?;
    let path = path.unwrap_or("file").trim_start_matches('/');
    let created = structure.get("type").and_then(Value::as_str) == Some("create");
    let mut diff = vec![if created { "--- /dev/null".to_owned() } else { format!("--- a/{path}") }];
    diff.push(format!("+++ b/{path}"));
    if created {
        let lines: Vec<&str> = structure.get("content")?.as_str()?.lines().collect();
        diff.push(format!("@@ -0,0 +1,{} @@", lines.len()));
        diff.extend(lines.iter().map(|line| format!("+{line}")));
    } else if hunks.is_empty() {
        return None;
    }
    for hunk in hunks {
        let number = |name: &str| hunk.get(name).and_then(Value::as_u64).unwrap_or(0);
        let (old, old_lines) = (number("oldStart"), number("oldLines"));
        let (new, new_lines) = (number("newStart"), number("newLines"));
        diff.push(format!("@@ -{old},{old_lines} +{new},{new_lines} @@"));
        diff.extend(super::wire::texts(hunk.get("lines")));
    }
    diff.push(String::new());
    Some(diff.join("\n"))
}
