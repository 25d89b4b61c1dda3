//! Files as this protocol's clients read and write them: relative to a session's working directory, or absolute. Every holder of the token may do
//! this, because it can tell an agent to do the same.

use std::io::{self, Write as _};
use std::path::{Component, Path, PathBuf};

use axum::Json;
use axum::extract::{Query, State};
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use tokio::fs;
use turnloom_core::time::Timestamp;

use super::super::super::{App, pieces};
use super::problem::Refused;
use super::tarball::{self, Entry as Packed};
use crate::regular_file;

/// Paths that an upload names in its answer.
const MAX_NAMED: usize = 1_024;

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "UniversalFileQuery")]
pub(in crate::http) struct FileQuery {
    /// The file or the folder.
    path: Option<String>,
    /// With everything in a folder.
    recursive: Option<bool>,
    /// The session whose working directory a relative path starts in.
    #[serde(rename = "sessionId", alias = "session_id")]
    session_id: Option<String>,
}

impl FileQuery {
    async fn resolve(&self, app: &App) -> Result<PathBuf, Refused> {
        let path = self.path.as_deref().ok_or_else(|| Refused::invalid("`path` is missing"))?;
        self.resolve_path(app, path).await
    }

    async fn resolve_path(&self, app: &App, path: &str) -> Result<PathBuf, Refused> {
        let path = Path::new(path);
        if path.is_absolute() {
            return Ok(path.to_owned());
        }
        let mut whole = match &self.session_id {
            Some(name) => {
                let row = super::session(app, name).await?;
                row.summary.cwd.map_or_else(|| PathBuf::from("."), PathBuf::from)
            }
            None => std::env::var_os("HOME").map_or_else(|| PathBuf::from("."), PathBuf::from),
        };
        if whole.is_relative() {
            whole = std::env::current_dir().map_err(|error| failed(&whole, &error))?;
        }
        for part in path.components() {
            match part {
                Component::Normal(part) => whole.push(part),
                Component::CurDir => {}
                Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                    return Err(Refused::invalid(format_args!("invalid relative path: {}", path.display())));
                }
            }
        }
        Ok(whole)
    }
}

fn failed(path: &Path, error: &io::Error) -> Refused {
    use io::ErrorKind as Kind;
    match error.kind() {
        Kind::NotFound => Refused::invalid(format_args!("path not found: {}", path.display())),
        Kind::InvalidFilename
        | Kind::InvalidInput
        | Kind::NotADirectory
        | Kind::IsADirectory
        | Kind::AlreadyExists
        | Kind::ExecutableFileBusy
        | Kind::CrossesDevices => Refused::invalid(format_args!("{}: {error}", path.display())),
        Kind::PermissionDenied | Kind::ReadOnlyFilesystem => {
            Refused::denied(format_args!("{}: {error}", path.display()))
        }
        // Among these is a folder that is not empty: the server that this protocol comes from answers so.
        _ => Refused::failed(&error.to_string()),
    }
}

#[skip_serializing_none]
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "UniversalFileEntry")]
pub(in crate::http) struct Entry {
    name: Option<String>,
    path: String,
    /// `file` or `directory`.
    #[serde(rename = "entryType")]
    kind: &'static str,
    size: u64,
    modified: Option<String>,
}

impl Entry {
    fn of(name: Option<String>, path: &Path, metadata: &std::fs::Metadata) -> Self {
        let since = metadata.modified().ok().and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
        let millis = since.and_then(|since| i64::try_from(since.as_millis()).ok());
        Self {
            name,
            path: shown(path),
            kind: if metadata.is_dir() { "directory" } else { "file" },
            size: metadata.len(),
            modified: millis.map(|millis| Timestamp::from_millis(millis).to_string().replace('Z', "+00:00")),
        }
    }
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

type Answer<T> = Result<Json<T>, Refused>;

pub(in crate::http) async fn entries(State(app): State<App>, Query(query): Query<FileQuery>) -> Answer<Vec<Entry>> {
    let path = query.resolve_path(&app, query.path.as_deref().unwrap_or(".")).await?;
    let metadata = fs::metadata(&path).await.map_err(|error| failed(&path, &error))?;
    if !metadata.is_dir() {
        return Err(Refused::invalid(format_args!("path is not a directory: {}", path.display())));
    }
    let mut found = fs::read_dir(&path).await.map_err(|error| failed(&path, &error))?;
    let mut entries = Vec::new();
    while let Some(entry) = found.next_entry().await.map_err(|error| failed(&path, &error))? {
        // It may be gone already.
        if let Ok(metadata) = entry.metadata().await {
            let name = entry.file_name().to_string_lossy().into_owned();
            entries.push(Entry::of(Some(name), &entry.path(), &metadata));
        }
    }
    entries.sort_by(|left, right| left.path.cmp(&right.path));
    Ok(Json(entries))
}

pub(in crate::http) async fn stat(State(app): State<App>, Query(query): Query<FileQuery>) -> Answer<Entry> {
    let path = query.resolve(&app).await?;
    let metadata = fs::metadata(&path).await.map_err(|error| failed(&path, &error))?;
    Ok(Json(Entry::of(None, &path, &metadata)))
}

pub(in crate::http) async fn read(State(app): State<App>, Query(query): Query<FileQuery>) -> Result<Response, Refused> {
    let path = query.resolve(&app).await?;
    let (body, size) = pieces::file(&path).await.map_err(|error| failed(&path, &error))?;
    let headers =
        [(header::CONTENT_TYPE, "application/octet-stream".to_owned()), (header::CONTENT_LENGTH, size.to_string())];
    Ok((headers, body).into_response())
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "UniversalFileWritten")]
pub(in crate::http) struct Written {
    path: String,
    bytes_written: usize,
}

pub(in crate::http) async fn write(
    State(app): State<App>,
    Query(query): Query<FileQuery>,
    body: Bytes,
) -> Answer<Written> {
    let path = query.resolve(&app).await?;
    let bytes_written = body.len();
    put(&path, body).await?;
    Ok(Json(Written { path: shown(&path), bytes_written }))
}

async fn put(path: &Path, bytes: Bytes) -> Result<(), Refused> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).await.map_err(|error| failed(folder, &error))?;
    }
    let to = path.to_owned();
    let writing = tokio::task::spawn_blocking(move || regular_file::create(&to)?.write_all(&bytes));
    let written = writing.await.unwrap_or_else(|error| Err(io::Error::other(error)));
    written.map_err(|error| failed(path, &error))
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "UniversalFilePath")]
pub(in crate::http) struct Done {
    path: String,
}

pub(in crate::http) async fn remove(State(app): State<App>, Query(query): Query<FileQuery>) -> Answer<Done> {
    let path = query.resolve(&app).await?;
    let metadata = fs::symlink_metadata(&path).await.map_err(|error| failed(&path, &error))?;
    let removed = match (metadata.is_dir(), query.recursive == Some(true)) {
        (true, true) => fs::remove_dir_all(&path).await,
        (true, false) => fs::remove_dir(&path).await,
        (false, _) => fs::remove_file(&path).await,
    };
    removed.map_err(|error| failed(&path, &error))?;
    Ok(Json(Done { path: shown(&path) }))
}

pub(in crate::http) async fn make_folder(State(app): State<App>, Query(query): Query<FileQuery>) -> Answer<Done> {
    let path = query.resolve(&app).await?;
    fs::create_dir_all(&path).await.map_err(|error| failed(&path, &error))?;
    Ok(Json(Done { path: shown(&path) }))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "UniversalFileMove")]
pub(in crate::http) struct Move {
    from: String,
    to: String,
    #[serde(default)]
    overwrite: Option<bool>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "UniversalFileMoved")]
pub(in crate::http) struct Moved {
    from: String,
    to: String,
}

pub(in crate::http) async fn rename(
    State(app): State<App>,
    Query(query): Query<FileQuery>,
    Json(asked): Json<Move>,
) -> Answer<Moved> {
    let from = query.resolve_path(&app, &asked.from).await?;
    let to = query.resolve_path(&app, &asked.to).await?;
    fs::symlink_metadata(&from).await.map_err(|error| failed(&from, &error))?;
    if fs::symlink_metadata(&to).await.is_ok() && asked.overwrite != Some(true) {
        return Err(Refused::invalid(format_args!("destination already exists: {}", to.display())));
    }
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder).await.map_err(|error| failed(folder, &error))?;
    }
    fs::rename(&from, &to).await.map_err(|error| failed(&from, &error))?;
    Ok(Json(Moved { from: shown(&from), to: shown(&to) }))
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "UniversalFilesUploaded")]
pub(in crate::http) struct Uploaded {
    paths: Vec<String>,
    /// There were more than are named here.
    truncated: bool,
}

pub(in crate::http) async fn upload(
    State(app): State<App>,
    Query(query): Query<FileQuery>,
    body: Bytes,
) -> Answer<Uploaded> {
    let folder = query.resolve_path(&app, query.path.as_deref().unwrap_or(".")).await?;
    let entries = tarball::read(&body).map_err(|bad| Refused::invalid(format_args!("invalid tar: {bad}")))?;
    fs::create_dir_all(&folder).await.map_err(|error| failed(&folder, &error))?;
    let (mut paths, mut truncated) = (Vec::new(), false);
    for entry in entries {
        let path = match entry {
            Packed::Folder { path } => {
                let path = folder.join(path);
                fs::create_dir_all(&path).await.map_err(|error| failed(&path, &error))?;
                continue;
            }
            Packed::File { path, bytes } => {
                let path = folder.join(path);
                put(&path, bytes).await?;
                path
            }
        };
        if paths.len() < MAX_NAMED {
            paths.push(shown(&path));
        } else {
            truncated = true;
        }
    }
    Ok(Json(Uploaded { paths, truncated }))
}
