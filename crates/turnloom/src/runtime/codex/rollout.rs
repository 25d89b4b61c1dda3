//! Reads the files that Codex keeps of its threads, for calls that it tells of in no other way. What their lines mean is core's.

use std::fs;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use turnloom_core::runtime::codex::{RolloutCalls, RolloutRequest};

use crate::regular_file;

/// A turn waits for this, so a disk that does not answer must not hold it for long.
const READ_TIMEOUT: Duration = Duration::from_secs(3);
/// How much of a file is read at once. One turn hardly ever writes as much.
const MAX_READ: u64 = 32 * 1024 * 1024;
/// How many folders are looked into for a thread's file: one for each day.
const MAX_FOLDERS: usize = 10_000;

/// The answer to a session that asks for such a file; nothing for every other line.
pub(super) async fn answer(line: &[u8]) -> Option<Vec<u8>> {
    let (id, request) = RolloutRequest::of(line)?;
    let name = id.clone();
    let answer = in_time(move || answered(&name, &request)).await;
    let answer = answer.unwrap_or_else(|error| {
        tracing::debug!(%error, "the file of a thread cannot be read");
        json!({ "id": id, "error": { "code": 0, "message": error.to_string() } })
    });
    Some(format!("{answer}\n").into_bytes())
}

fn answered(id: &Value, request: &RolloutRequest) -> io::Result<Value> {
    let path = Path::new(&request.path);
    let mut calls = RolloutCalls::of_turn(&request.turn_id);
    let end = match request.from {
        Some(from) => read(path, from, &mut calls)?,
        None => size(path)?,
    };
    Ok(calls.answer(id, end))
}

/// What a run of `codex exec` adds to the file of its thread.
#[derive(Debug)]
pub(super) struct RunRollout {
    home: Option<PathBuf>,
    thread: Option<String>,
    path: Option<PathBuf>,
    known: u64,
}

impl RunRollout {
    /// Before the run: what stands there already is known.
    pub(super) async fn before_run(home: Option<PathBuf>, thread: Option<String>) -> Self {
        let resumes = thread.is_some();
        let mut rollout = Self { home, thread, path: None, known: 0 };
        if resumes {
            let found = rollout.find().await;
            let known = in_time(move || found.map(|path| size(&path)).transpose()).await;
            if let Some(known) = known.ok().flatten() {
                rollout.known = known;
            } else {
                // What it adds cannot be told from what was there.
                (rollout.home, rollout.path) = (None, None);
            }
        }
        rollout
    }

    /// Looks at a line that the run says. At the end of its turn: the lines that have to come before it.
    pub(super) async fn lines_before(&mut self, line: &[u8]) -> Vec<u8> {
        if line.len() > MAX_NOTICE {
            return Vec::new();
        }
        let Ok(said) = serde_json::from_slice::<Value>(line) else { return Vec::new() };
        match said.get("type").and_then(Value::as_str) {
            Some("thread.started") => {
                self.thread = said.get("thread_id").and_then(Value::as_str).map(str::to_owned);
                Vec::new()
            }
            Some("turn.completed" | "turn.failed") => self.new_calls().await,
            _ => Vec::new(),
        }
    }

    async fn new_calls(&mut self) -> Vec<u8> {
        let Some(path) = self.find().await else { return Vec::new() };
        let known = self.known;
        let read = in_time(move || {
            let mut calls = RolloutCalls::of_all();
            let end = read(&path, known, &mut calls)?;
            Ok((end, calls.into_items()))
        });
        let (end, items) = read.await.unwrap_or_else(|error| {
            tracing::debug!(%error, "the file of a thread cannot be read");
            (known, Vec::new())
        });
        self.known = end;
        let line = |item: &Value| format!("{}\n", json!({ "type": "rollout.item", "item": item }));
        items.iter().map(line).collect::<String>().into_bytes()
    }

    async fn find(&mut self) -> Option<PathBuf> {
        if self.path.is_none()
            && let (Some(home), Some(thread)) = (self.home.clone(), self.thread.clone())
        {
            self.path = in_time(move || Ok(file_of(&home.join("sessions"), &thread))).await.ok().flatten();
        }
        self.path.clone()
    }
}

/// Lines of `codex exec` that say what is looked for here are shorter.
const MAX_NOTICE: usize = 64 * 1024;

/// `sessions/2026/11/18/rollout-…-<thread>.jsonl`. The newest days first.
fn file_of(sessions: &Path, thread: &str) -> Option<PathBuf> {
    let suffix = format!("-{thread}.jsonl");
    let mut folders = vec![(sessions.to_owned(), 0)];
    for _ in 0..MAX_FOLDERS {
        let (folder, depth) = folders.pop()?;
        let Ok(entries) = fs::read_dir(folder) else { continue };
        let mut inside: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        inside.sort();
        if depth < 3 {
            folders.extend(inside.into_iter().filter(|path| path.is_dir()).map(|path| (path, depth + 1)));
        } else if let Some(file) = inside.into_iter().find(|path| path.to_string_lossy().ends_with(&suffix)) {
            return Some(file);
        }
    }
    None
}

/// Where a file ends. One that is not there yet is empty.
fn size(path: &Path) -> io::Result<u64> {
    match regular_file::open(path) {
        Ok(file) => Ok(file.metadata()?.len()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(error),
    }
}

/// Reads whole lines from here on, and says up to where.
fn read(path: &Path, from: u64, calls: &mut RolloutCalls) -> io::Result<u64> {
    let mut file = regular_file::open(path)?;
    file.seek(SeekFrom::Start(from))?;
    let mut lines = BufReader::new(file.take(MAX_READ));
    let (mut at, mut line) = (from, Vec::new());
    loop {
        line.clear();
        let size = lines.read_until(b'\n', &mut line)?;
        // The last one may be half written.
        if !line.ends_with(b"\n") {
            return Ok(at);
        }
        calls.line(&line);
        at += size as u64;
    }
}

async fn in_time<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    match tokio::time::timeout(READ_TIMEOUT, tokio::task::spawn_blocking(work)).await {
        Ok(Ok(done)) => done,
        Ok(Err(error)) => Err(io::Error::other(error)),
        Err(late) => Err(io::Error::other(late)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{RunRollout, answer};

    fn call(id: &str, turn: &str) -> String {
        let payload = json!({ "type": "function_call", "call_id": id });
        let context = json!({ "type": "turn_context", "payload": { "turn_id": turn } });
        format!("{context}\n{}\n", json!({ "type": "response_item", "payload": payload }))
    }

    async fn asked(params: Value) -> Value {
        let line = json!({ "id": 1, "method": "host/rollout/read", "params": params }).to_string();
        serde_json::from_slice(&answer(line.as_bytes()).await.unwrap()).unwrap()
    }

    #[tokio::test]
    async fn what_is_new_is_read_once_and_in_whole_lines() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("rollout.jsonl");
        assert_eq!(asked(json!({ "path": &path })).await["result"]["end"], 0, "it is not there yet");
        let first = call("a", "u1");
        std::fs::write(&path, &first).unwrap();
        assert_eq!(asked(json!({ "path": &path })).await["result"]["end"], first.len());
        std::fs::write(&path, format!("{first}{}half", call("b", "u2"))).unwrap();
        let read = asked(json!({ "path": &path, "from": first.len(), "turnId": "u2" })).await;
        assert_eq!(read["result"]["items"], json!([{ "type": "function_call", "call_id": "b" }]));
        assert_eq!(read["result"]["end"], first.len() * 2, "without the half line");
        assert!(asked(json!({ "path": place.path(), "from": 0 })).await["error"].is_object());
        assert!(answer(b"{\"id\":1,\"method\":\"turn/start\",\"params\":{}}").await.is_none());
    }

    #[tokio::test]
    async fn a_run_tells_what_it_has_added_before_its_turn_ends() {
        let home = tempfile::tempdir().unwrap();
        let day = home.path().join("sessions/2026/11/18");
        std::fs::create_dir_all(&day).unwrap();
        let path = day.join("rollout-2026-11-18T01-02-03-abc.jsonl");
        std::fs::write(&path, call("a", "u1")).unwrap();
        let end = br#"{"type":"turn.completed"}"#;
        let mut resumed = RunRollout::before_run(Some(home.path().to_owned()), Some("abc".to_owned())).await;
        std::fs::write(&path, call("a", "u1") + &call("b", "u2")).unwrap();
        assert!(resumed.lines_before(br#"{"type":"turn.started"}"#).await.is_empty());
        let lines = String::from_utf8(resumed.lines_before(end).await).unwrap();
        assert!(lines.contains("\"b\"") && !lines.contains("\"a\""), "{lines}");
        assert!(resumed.lines_before(end).await.is_empty(), "once");
        let mut fresh = RunRollout::before_run(Some(home.path().to_owned()), None).await;
        assert!(fresh.lines_before(end).await.is_empty());
        fresh.lines_before(br#"{"type":"thread.started","thread_id":"abc"}"#).await;
        assert_eq!(fresh.lines_before(end).await.split(|byte| *byte == b'\n').count(), 3);
    }
}
