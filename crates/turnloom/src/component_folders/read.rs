//! Reads folders from the disk, within bounds. One that is wrong is left out and named; the others are served.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use sha2::{Digest as _, Sha256};
use turnloom_core::blob::hex;

use super::manifest::{self, MANIFEST};
use super::{Folder, FolderProblem, PAGE, address};
use crate::regular_file;

/// They are kept in memory.
const MAX_FOLDERS: usize = 64;
const MAX_FILES: usize = 256;
const MAX_FOLDER_BYTES: u64 = 8 * 1024 * 1024;
const MAX_BYTES: u64 = 64 * 1024 * 1024;
const MAX_DEPTH: usize = 8;
/// As many characters of a hash as tell one version from another.
const HASH_CHARACTERS: usize = 16;

/// Every folder in these places.
pub(super) fn all(places: &[PathBuf], allowed: &[String]) -> (BTreeMap<String, Arc<Folder>>, Vec<FolderProblem>) {
    let (mut folders, mut problems) = (BTreeMap::new(), Vec::new());
    let mut bytes = 0;
    for path in places.iter().flat_map(|place| subfolders(place)) {
        let read = match () {
            () if folders.len() >= MAX_FOLDERS => Err(format!("there are more than {MAX_FOLDERS} components")),
            () => folder(&path, allowed),
        };
        let size = |folder: &Folder| folder.files.values().map(|file| file.len() as u64).sum::<u64>();
        let read = read.and_then(|folder| match folders.get(&folder.entry.name) {
            Some(_) => Err("another folder has the same name and comes first".to_owned()),
            None if bytes + size(&folder) > MAX_BYTES => {
                Err(format!("all components together have more than {MAX_BYTES} bytes"))
            }
            None => Ok(folder),
        });
        match read {
            Ok(folder) => {
                bytes += size(&folder);
                folders.insert(folder.entry.name.clone(), Arc::new(folder));
            }
            Err(problem) => problems.push(FolderProblem { folder: path.display().to_string(), problem }),
        }
    }
    (folders, problems)
}

/// In the order of their names, so that every reading is the same. A place that is not there has none.
fn subfolders(place: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(place) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries
        .filter_map(Result::ok)
        .filter(|entry| !is_hidden(entry) && entry.path().is_dir())
        .map(|entry| entry.path())
        .collect();
    paths.sort();
    paths
}

fn is_hidden(entry: &fs::DirEntry) -> bool {
    entry.file_name().to_string_lossy().starts_with('.')
}

fn folder(path: &Path, allowed: &[String]) -> Result<Folder, String> {
    let name = path.file_name().and_then(|name| name.to_str()).ok_or("its name is not text")?;
    let mut found = Found { files: BTreeMap::new(), room: MAX_FOLDER_BYTES };
    collect(path, "", 0, &mut found)?;
    let mut files = found.files;
    // What describes it is not for the page.
    let manifest = files.remove(MANIFEST).ok_or_else(|| format!("it has no {MANIFEST}"))?;
    if !files.contains_key(PAGE) {
        return Err(format!("it has no {PAGE}"));
    }
    let (mut entry, mut domains) = manifest::read(name, &manifest)?;
    let hash = hash(&manifest, &files);
    entry.view.url = format!("{}{PAGE}", address(name, &hash));
    domains.retain(allowed);
    Ok(Folder { entry, hash, files, domains })
}

/// What was read, and how many bytes more may be.
struct Found {
    files: BTreeMap<String, Bytes>,
    room: u64,
}

/// Every file below a folder, by its path. Links are not followed, so nothing outside of it is served.
fn collect(folder: &Path, prefix: &str, depth: usize, found: &mut Found) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{} cannot be read: {error}", folder.display());
    if depth >= MAX_DEPTH {
        return Err(format!("its folders are more than {MAX_DEPTH} deep"));
    }
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let kind = entry.file_type().map_err(failed)?;
        if is_hidden(&entry) || kind.is_symlink() {
            continue;
        }
        let name =
            entry.file_name().into_string().map_err(|name| format!("{} is no name of a file", name.display()))?;
        let path = format!("{prefix}{name}");
        if kind.is_dir() {
            collect(&entry.path(), &format!("{path}/"), depth + 1, found)?;
        } else if kind.is_file() {
            if found.files.len() >= MAX_FILES {
                return Err(format!("it has more than {MAX_FILES} files"));
            }
            let content = read_file(&entry.path(), found.room);
            let content = content.map_err(|error| format!("{path} cannot be read: {error}"))?;
            let left = found.room.checked_sub(content.len() as u64);
            found.room = left.ok_or_else(|| format!("it has more than {MAX_FOLDER_BYTES} bytes"))?;
            found.files.insert(path, content.into());
        }
    }
    Ok(())
}

/// One byte more than there is room for tells that it is too large.
fn read_file(path: &Path, room: u64) -> std::io::Result<Vec<u8>> {
    let mut content = Vec::new();
    regular_file::open(path)?.take(room.saturating_add(1)).read_to_end(&mut content)?;
    Ok(content)
}

fn hash(manifest: &[u8], files: &BTreeMap<String, Bytes>) -> String {
    let mut hash = Sha256::new();
    let mut part = |bytes: &[u8]| {
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    part(manifest);
    for (path, content) in files {
        part(path.as_bytes());
        part(content);
    }
    hex(&hash.finalize()).chars().take(HASH_CHARACTERS).collect()
}
