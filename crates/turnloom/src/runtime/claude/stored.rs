//! Where Claude Code keeps its conversations: one file each, below a folder for the directory it worked in.

use std::fs::File;
use std::io::{BufRead as _, BufReader, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use turnloom_core::runtime::claude::read_stored;
use turnloom_core::time::Timestamp;

use crate::runtime::program::Environment;
use crate::runtime::{AdoptError, Conversation, History};

/// More than anybody looks through.
const LISTED: usize = 200;
/// A conversation that is larger than this is not read.
const MAX_BYTES: u64 = 256 * 1024 * 1024;

#[derive(Debug, Clone)]
pub(super) struct Stored {
    config: PathBuf,
}

impl Stored {
    pub(super) fn new(environment: &Environment) -> Self {
        let home = environment.path("HOME").unwrap_or_default();
        Self { config: environment.path("CLAUDE_CONFIG_DIR").unwrap_or_else(|| home.join(".claude")) }
    }

    /// The folder with a folder for each directory that it worked in.
    pub(super) fn conversations(&self) -> PathBuf {
        self.config.join("projects")
    }

    pub(super) fn has_login(&self) -> bool {
        self.config.join(".credentials.json").is_file()
    }

    /// The file of a conversation, in whichever directory it was held.
    pub(super) fn find(&self, id: &str) -> Option<PathBuf> {
        // The id becomes part of a path, so it must not be one.
        if id.is_empty() || !id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
            return None;
        }
        let folders = std::fs::read_dir(self.conversations()).ok()?;
        let files = folders.filter_map(Result::ok).map(|folder| folder.path().join(format!("{id}.jsonl")));
        files.into_iter().find(|file| file.is_file())
    }

    /// Whether a conversation has this entry. One that cannot be read is taken for whole: then nothing is known.
    pub(super) async fn has_entry(self, id: &str, entry: &str) -> bool {
        let (Some(file), entry) = (self.find(id), entry.to_owned()) else { return true };
        let found = blocking(move || {
            let unreadable = |error: std::io::Error| AdoptError::Unreadable(error.to_string());
            let mut lines = BufReader::new(File::open(&file).map_err(unreadable)?);
            let mut line = Vec::new();
            // Line by line: such files may be large. A name is a UUID, so it stands nowhere else by chance.
            while lines.read_until(b'\n', &mut line).map_err(unreadable)? > 0 {
                if line.windows(entry.len().max(1)).any(|part| part == entry.as_bytes()) {
                    return Ok(true);
                }
                line.clear();
            }
            Ok(false)
        });
        found.await.unwrap_or(true)
    }

    pub(super) async fn list(self, cwd: &Path) -> Result<Vec<Conversation>, AdoptError> {
        let name: String =
            cwd.to_string_lossy().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let folder = self.conversations().join(name);
        blocking(move || {
            let mut files: Vec<(SystemTime, PathBuf)> = match std::fs::read_dir(&folder) {
                Ok(entries) => entries.filter_map(|entry| changed(entry.ok()?.path())).collect(),
                // Nothing was ever said there, or could be.
                Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidFilename) => Vec::new(),
                Err(error) => return Err(AdoptError::Unreadable(format!("{}: {error}", folder.display()))),
            };
            files.sort_by(|a, b| b.cmp(a));
            files.truncate(LISTED);
            Ok(files.iter().filter_map(|(_, file)| read(file).ok()).map(|history| history.conversation).collect())
        })
        .await
    }

    pub(super) async fn history(self, id: &str) -> Result<History, AdoptError> {
        let file = self.find(id).ok_or_else(|| AdoptError::NotFound(id.to_owned()))?;
        blocking(move || read(&file)).await
    }
}

fn changed(file: PathBuf) -> Option<(SystemTime, PathBuf)> {
    let is_conversation = file.extension().is_some_and(|extension| extension == "jsonl");
    let changed = file.metadata().ok().filter(|_| is_conversation)?.modified().ok()?;
    Some((changed, file))
}

fn read(file: &Path) -> Result<History, AdoptError> {
    let unreadable = |error: &dyn std::fmt::Display| AdoptError::Unreadable(format!("{}: {error}", file.display()));
    let size = file.metadata().map_err(|error| unreadable(&error))?.len();
    if size > MAX_BYTES {
        return Err(unreadable(&"it is too large"));
    }
    let bytes = std::fs::read(file).map_err(|error| unreadable(&error))?;
    let (outline, turns) = read_stored(&String::from_utf8_lossy(&bytes));
    let conversation = Conversation {
        id: file.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        title: outline.title,
        cwd: outline.cwd,
        updated_at: outline.updated_at.unwrap_or(Timestamp::from_millis(0)),
    };
    Ok(History { conversation, turns })
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, AdoptError> + Send + 'static,
) -> Result<T, AdoptError> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(AdoptError::Unreadable(error.to_string())))
}
