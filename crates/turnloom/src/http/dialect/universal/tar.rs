//! A plain tar, as far as an upload needs it: files and folders, with long names in either of the usual ways.

use std::path::{Component, Path, PathBuf};

const BLOCK: usize = 512;

/// One thing in an archive.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Entry<'a> {
    File { path: PathBuf, bytes: &'a [u8] },
    Folder { path: PathBuf },
}

/// Why an archive is refused, in words for the sender.
pub(super) type Bad = String;

/// Everything in an archive, if all of it stays within the folder it is unpacked to.
pub(super) fn read(archive: &[u8]) -> Result<Vec<Entry<'_>>, Bad> {
    let mut entries = Vec::new();
    let mut rest = archive;
    let mut long: Option<String> = None;
    while let Some(head) = rest.get(..BLOCK) {
        if head.iter().all(|byte| *byte == 0) {
            break;
        }
        let size = octal(field(head, 124, 12)).ok_or("a header without a size")?;
        let bytes = rest.get(BLOCK..BLOCK + size).ok_or("it ends in the middle of a file")?;
        let padded = size.div_ceil(BLOCK) * BLOCK;
        rest = rest.get(BLOCK + padded..).unwrap_or_default();
        match head.get(156).copied() {
            Some(b'L') => long = Some(text(bytes)),
            Some(b'x') => long = pax_path(bytes).or(long),
            Some(b'g') => {}
            Some(kind @ (b'0' | 0 | b'5')) => {
                let name = long.take().unwrap_or_else(|| short_name(head));
                let path = inside(&name).ok_or_else(|| format!("{name:?} leads out of the folder"))?;
                let folder = kind == b'5' || name.ends_with('/');
                if path.as_os_str().is_empty() {
                    continue;
                }
                entries.push(if folder { Entry::Folder { path } } else { Entry::File { path, bytes } });
            }
            _ => return Err("it holds something that is neither a file nor a folder".to_owned()),
        }
    }
    Ok(entries)
}

fn field(head: &[u8], start: usize, len: usize) -> &[u8] {
    head.get(start..start + len).unwrap_or_default()
}

fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(bytes.get(..end).unwrap_or_default()).into_owned()
}

fn octal(bytes: &[u8]) -> Option<usize> {
    usize::from_str_radix(text(bytes).trim(), 8).ok()
}

fn short_name(head: &[u8]) -> String {
    let name = text(field(head, 0, 100));
    let prefix = if field(head, 257, 5) == b"ustar" { text(field(head, 345, 155)) } else { String::new() };
    if prefix.is_empty() { name } else { format!("{prefix}/{name}") }
}

/// `LENGTH path=NAME\n`.
fn pax_path(bytes: &[u8]) -> Option<String> {
    let records = std::str::from_utf8(bytes).ok()?;
    let path = records.lines().find_map(|line| line.split_once(' ')?.1.strip_prefix("path="));
    path.map(str::to_owned)
}

fn inside(name: &str) -> Option<PathBuf> {
    let mut path = PathBuf::new();
    for part in Path::new(name).components() {
        match part {
            Component::Normal(part) => path.push(part),
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(path)
}

#[cfg(test)]
mod tests {
    use super::{BLOCK, Entry, read};

    fn entry(name: &str, kind: u8, bytes: &[u8]) -> Vec<u8> {
        let mut head = vec![0; BLOCK];
        head[..name.len()].copy_from_slice(name.as_bytes());
        head[124..135].copy_from_slice(format!("{:011o}", bytes.len()).as_bytes());
        head[156] = kind;
        head.extend_from_slice(bytes);
        head.resize(head.len().div_ceil(BLOCK) * BLOCK, 0);
        head
    }

    #[test]
    fn files_folders_and_long_names() {
        let long = format!("{}/end.txt", "d".repeat(120));
        let archive = [
            entry("up/", b'5', b""),
            entry("up/a.txt", b'0', b"hello"),
            entry("././@LongLink", b'L', long.as_bytes()),
            entry("short", b'0', b"x"),
            vec![0; 2 * BLOCK],
        ]
        .concat();
        let entries = read(&archive).unwrap();
        assert_eq!(entries[0], Entry::Folder { path: "up".into() });
        assert_eq!(entries[1], Entry::File { path: "up/a.txt".into(), bytes: b"hello" });
        assert_eq!(entries[2], Entry::File { path: long.into(), bytes: b"x" });
    }

    #[test]
    fn what_leads_out_or_is_cut_is_refused() {
        assert!(read(&entry("../x", b'0', b"1")).is_err());
        assert!(read(&entry("/etc/x", b'0', b"1")).is_err());
        assert!(read(&entry("link", b'2', b"")).is_err());
        let cut = entry("a", b'0', &[1; 600]);
        assert!(read(&cut[..BLOCK + 100]).is_err());
    }
}
