//! Reads what an agent keeps in a file: output that it has cut, and pictures. It is read while the file exists, up to a limit, so that the log still
//! has it when the agent has deleted the file.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use tokio::time::{Instant, timeout_at};
use turnloom_core::event::Event;
use turnloom_core::runtime::{EntryOutput, OutputEntry, OutputFile, Report, add_picture, set_output};

use crate::regular_file;

/// A file on a working disk is read in much less time; a broken disk must not block the session for longer. All files that are reported together
/// share this time.
pub(super) const READ_TIMEOUT: Duration = Duration::from_secs(5);
/// An agent writes what it has said within a fraction of this.
const ENTRY_TIMEOUT: Duration = Duration::from_secs(2);
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// How much of the end of a file is looked through for an entry that is just being written.
const TAIL_BYTES: u64 = 4 * 1024 * 1024;

/// The report with all of its output in it, if it says where that is and it can be read in time.
pub(super) async fn with_whole_output(report: Report, limit: usize, deadline: Instant) -> Report {
    let Report::FactWithOutputFile { file, subagent_id, mut event } = report else { return report };
    match *file {
        OutputFile::Whole { path, mark } => {
            if let Some(mut text) = file_text(&path, limit, deadline).await {
                if let Some(rest) = mark.as_deref().and_then(|mark| text.strip_suffix(mark)) {
                    text.truncate(rest.len());
                }
                set_output(&mut event, text);
            }
        }
        OutputFile::Entry(entry) => {
            let entry_output = timeout_at(deadline.min(Instant::now() + ENTRY_TIMEOUT), wait_for_entry(&entry)).await;
            if let Ok(EntryOutput { text, whole_in, pictures }) = entry_output {
                let all = match whole_in {
                    Some(path) => file_text(&path, limit, deadline).await,
                    None => None,
                };
                set_output(&mut event, all.unwrap_or(text));
                for path in pictures {
                    attach_picture(&mut event, &path, limit, deadline).await;
                }
            } else {
                tracing::debug!(file = entry.file, task = entry.task, "an agent has not written an output");
            }
        }
        OutputFile::Picture { path } => attach_picture(&mut event, &path, limit, deadline).await,
    }
    Report::Fact { subagent_id, event }
}

async fn file_text(path: &str, limit: usize, deadline: Instant) -> Option<String> {
    read_in_time(path, deadline, move |path| read(path, limit)).await
}

async fn attach_picture(event: &mut Event, path: &str, limit: usize, deadline: Instant) {
    if let Some(data) = read_in_time(path, deadline, move |path| picture(path, limit)).await {
        add_picture(event, path, data);
    }
}

/// What a file holds, if that is known before the deadline.
async fn read_in_time(
    path: &str,
    deadline: Instant,
    read: impl FnOnce(&Path) -> io::Result<String> + Send + 'static,
) -> Option<String> {
    let from = PathBuf::from(path);
    let reading = tokio::task::spawn_blocking(move || read(&from));
    match timeout_at(deadline, reading).await {
        Ok(Ok(Ok(text))) => return Some(text),
        Ok(Ok(Err(error))) => tracing::debug!(path, %error, "an agent's output cannot be read"),
        Ok(Err(_)) | Err(_) => tracing::debug!(path, "an agent's output was not read in time"),
    }
    None
}

/// Waits until an entry is written, for ever if need be.
async fn wait_for_entry(entry: &OutputEntry) -> EntryOutput {
    let mut from = None;
    loop {
        let wanted = entry.clone();
        let looking = tokio::task::spawn_blocking(move || search_entry(&wanted, from));
        match looking.await {
            Ok(Ok(EntrySearch::Found(output))) => return output,
            Ok(Ok(EntrySearch::NotBefore(end))) => from = Some(end),
            // It may not be there yet.
            Ok(Err(_)) | Err(_) => {}
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

enum EntrySearch {
    Found(EntryOutput),
    /// It is not in the lines up to here.
    NotBefore(u64),
}

fn search_entry(entry: &OutputEntry, from: Option<u64>) -> io::Result<EntrySearch> {
    let folders = std::fs::read_dir(&entry.below)?;
    let mut files = folders.filter_map(Result::ok).map(|folder| folder.path().join(&entry.file));
    let path = files.find(|file| file.is_file()).ok_or(io::ErrorKind::NotFound)?;
    let mut file = File::open(path)?;
    let mut at = from.unwrap_or(file.metadata()?.len().saturating_sub(TAIL_BYTES));
    file.seek(SeekFrom::Start(at))?;
    let mut bytes = Vec::new();
    file.take(2 * TAIL_BYTES).read_to_end(&mut bytes)?;
    // The last line may be half written.
    for line in bytes.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n")) {
        at += line.len() as u64;
        if let Some(output) = (entry.read)(entry, &String::from_utf8_lossy(line)) {
            return Ok(EntrySearch::Found(output));
        }
    }
    Ok(EntrySearch::NotBefore(at))
}

/// The text of a file; of one that is too large both ends, with a note between them.
fn read(path: &Path, limit: usize) -> io::Result<String> {
    let mut file = regular_file::open(path)?;
    let (size, half) = (file.metadata()?.len(), limit as u64 / 2);
    let mut bytes = Vec::new();
    if size <= limit as u64 {
        (&mut file).take(limit as u64).read_to_end(&mut bytes)?;
        return Ok(String::from_utf8_lossy(&bytes).into_owned());
    }
    (&mut file).take(half).read_to_end(&mut bytes)?;
    let mut text = String::from_utf8_lossy(&bytes).into_owned();
    let _ = write!(text, "\n[{} bytes left out]\n", size - 2 * half);
    file.seek(SeekFrom::Start(size - half))?;
    bytes.clear();
    file.take(half).read_to_end(&mut bytes)?;
    text.push_str(&String::from_utf8_lossy(&bytes));
    Ok(text)
}

/// A picture in base64. Half of one is none.
fn picture(path: &Path, limit: usize) -> io::Result<String> {
    let mut bytes = Vec::new();
    regular_file::open(path)?.take(limit as u64 + 1).read_to_end(&mut bytes)?;
    match bytes.len() {
        0 => Err(io::Error::new(io::ErrorKind::InvalidData, "the file is empty")),
        size if size > limit => Err(io::ErrorKind::FileTooLarge.into()),
        _ => Ok(BASE64.encode(bytes)),
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;
    use turnloom_core::event::{BackgroundEnded, Event, Image, ToolResult};
    use turnloom_core::runtime::{EntryOutput, OutputEntry, OutputFile, Report};

    use super::{READ_TIMEOUT, with_whole_output};

    async fn output(path: &std::path::Path, limit: usize) -> String {
        let event = ToolResult { output: "cut".to_owned(), ..ToolResult::default() }.into();
        let path = path.to_str().unwrap().to_owned();
        let file = Box::new(OutputFile::Whole { path, mark: Some(" it".to_owned()) });
        match with_whole_output(
            Report::FactWithOutputFile { file, subagent_id: None, event },
            limit,
            Instant::now() + READ_TIMEOUT,
        )
        .await
        {
            Report::Fact { event: Event::ToolResult(result), .. } => result.output,
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn what_is_there_is_read_within_the_bound() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("kept.txt");
        std::fs::write(&file, "all of it").unwrap();
        assert_eq!(output(&file, 100).await, "all of", "without what is no output");
        assert_eq!(output(&file, 4).await, "al\n[5 bytes left out]\nit");
        assert_eq!(output(&folder.path().join("gone"), 100).await, "cut");
        assert_eq!(output(folder.path(), 100).await, "cut", "a folder is no output");
        let pipe = folder.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        assert_eq!(output(&pipe, 100).await, "cut", "nor is a pipe, and nobody waits for it");
    }

    #[tokio::test]
    async fn a_picture_is_read_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("p.gif");
        std::fs::write(&file, [0, 1, 2]).unwrap();
        let result = async |path: &std::path::Path, limit: usize| {
            let event = ToolResult { output: "p".to_owned(), ..ToolResult::default() }.into();
            let file = Box::new(OutputFile::Picture { path: path.to_str().unwrap().to_owned() });
            let report = Report::FactWithOutputFile { file, subagent_id: None, event };
            match with_whole_output(report, limit, Instant::now() + READ_TIMEOUT).await {
                Report::Fact { event: Event::ToolResult(result), .. } => (result.output, result.images),
                other => panic!("{other:?}"),
            }
        };
        let image = Image { media_type: "image/gif".to_owned(), data: Some("AAEC".to_owned()), blob: None };
        assert_eq!(result(&file, 3).await, ("p\n[image]".to_owned(), Some(vec![image])));
        assert_eq!(result(&file, 2).await, ("p".to_owned(), None), "too large");
        assert_eq!(result(folder.path(), 9).await, ("p".to_owned(), None), "no file");
    }

    fn says(entry: &OutputEntry, line: &str) -> Option<EntryOutput> {
        let text = line.strip_prefix(&entry.task)?.trim().to_owned();
        let whole_in = text.strip_prefix("see ").map(str::to_owned);
        let pictures = text.strip_prefix("[image] ").map(str::to_owned).into_iter().collect();
        Some(EntryOutput { text, whole_in, pictures })
    }

    async fn ended(folder: &std::path::Path, task: &str) -> Option<String> {
        ended_before(folder, task, Instant::now() + READ_TIMEOUT).await
    }

    async fn ended_before(folder: &std::path::Path, task: &str, deadline: Instant) -> Option<String> {
        ended_fact(folder, task, deadline).await.output
    }

    async fn ended_fact(folder: &std::path::Path, task: &str, deadline: Instant) -> BackgroundEnded {
        let below = folder.to_str().unwrap().to_owned();
        let entry = OutputEntry { below, file: "log".to_owned(), task: task.to_owned(), read: says };
        let file = Box::new(OutputFile::Entry(entry));
        let report = Report::FactWithOutputFile { file, subagent_id: None, event: BackgroundEnded::default().into() };
        match with_whole_output(report, 100, deadline).await {
            Report::Fact { event: Event::BackgroundEnded(ended), .. } => ended,
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn an_entry_is_waited_for_and_read_when_its_line_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("project")).unwrap();
        let file = folder.path().join("project/log");
        let all = folder.path().join("all");
        std::fs::write(&all, "all of it").unwrap();
        let write = |text: &str| std::fs::write(&file, text).unwrap();
        write("something else\none woven\n");
        assert_eq!(ended(folder.path(), "one").await.as_deref(), Some("woven"));
        write(&format!("one woven\ntwo see {}\n", all.display()));
        assert_eq!(ended(folder.path(), "two").await.as_deref(), Some("all of it"));
        write(&format!("one [image] {}\n", all.display()));
        let ended_with = ended_fact(folder.path(), "one", Instant::now() + READ_TIMEOUT).await;
        assert_eq!(ended_with.images.unwrap()[0].data.as_deref(), Some("YWxsIG9mIGl0"));
        write("one woven\nthree half");
        let (later, ()) = tokio::join!(ended(folder.path(), "three"), async {
            tokio::time::sleep(super::POLL_INTERVAL).await;
            write("one woven\nthree half and half\n");
        });
        assert_eq!(later.as_deref(), Some("half and half"));
        assert_eq!(ended(folder.path(), "four").await, None, "it is not waited for for ever");
        // However many there are, they are waited for together.
        let deadline = Instant::now() + super::POLL_INTERVAL;
        for _ in 0..100 {
            assert_eq!(ended_before(folder.path(), "four", deadline).await, None);
        }
        assert!(deadline.elapsed() < super::ENTRY_TIMEOUT, "{:?}", deadline.elapsed());
    }
}
