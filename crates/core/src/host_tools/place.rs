//! Which file an agent may publish, and what is in it. Names only: whether links lead elsewhere is found out where the file is opened.

use crate::blob::picture_type;

/// The largest file that becomes an artifact.
pub const MAX_FILE_BYTES: u64 = 20 * 1024 * 1024;

/// Kinds of files by the ends of their names.
const KINDS: &[(&str, &str)] = &[
    ("md", "text/markdown"),
    ("markdown", "text/markdown"),
    ("txt", "text/plain"),
    ("log", "text/plain"),
    ("html", "text/html"),
    ("htm", "text/html"),
    ("css", "text/css"),
    ("csv", "text/csv"),
    ("tsv", "text/tab-separated-values"),
    ("xml", "text/xml"),
    ("js", "text/javascript"),
    ("json", "application/json"),
    ("yaml", "application/yaml"),
    ("yml", "application/yaml"),
    ("toml", "application/toml"),
    ("pdf", "application/pdf"),
    ("zip", "application/zip"),
    ("svg", "image/svg+xml"),
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("webp", "image/webp"),
    ("avif", "image/avif"),
];

/// Where a path leads inside of one of these folders, which are names of the same one: without `.`, `..` and the folder itself.
pub fn place_in(folders: &[&str], path: &str) -> Result<String, String> {
    let outside = || format!("{path:?} is not in the working directory; only files in it can be published");
    if path.is_empty() || path.contains('\0') {
        return Err(format!("{path:?} is no path"));
    }
    let inside = if path.starts_with('/') {
        let normal = normal(path).ok_or_else(outside)?;
        let below = |folder: &&str| {
            let folder = self::normal(folder)?;
            let rest =
                if folder.is_empty() { Some(normal.as_str()) } else { normal.strip_prefix(&folder)?.strip_prefix('/') };
            rest.map(str::to_owned)
        };
        folders.iter().find_map(below).ok_or_else(outside)?
    } else {
        normal(path).ok_or_else(outside)?
    };
    if inside.is_empty() { Err(format!("{path:?} is a folder")) } else { Ok(inside) }
}

/// A path without `.` and `..`; nothing if it leads above where it begins.
fn normal(path: &str) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// What is in a file, by its first bytes and its name.
pub fn media_type_of(path: &str, content: &[u8]) -> &'static str {
    let end = path.rsplit('/').next().and_then(|name| name.rsplit_once('.')).map(|(_, end)| end.to_ascii_lowercase());
    let named = end.and_then(|end| KINDS.iter().find(|(known, _)| *known == end)).map(|(_, kind)| *kind);
    let otherwise = if std::str::from_utf8(content).is_ok() { "text/plain" } else { "application/octet-stream" };
    picture_type(content).or(named).unwrap_or(otherwise)
}
