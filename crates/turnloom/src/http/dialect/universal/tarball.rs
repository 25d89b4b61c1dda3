//! What is in an uploaded tar: files and folders, and nothing that leaves the folder they are unpacked to. How a tar is written is known to its crate.

use std::io;
use std::path::{Component, Path, PathBuf};

use bytes::Bytes;

/// One thing in an archive. The bytes are those of the upload.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Entry {
    File { path: PathBuf, bytes: Bytes },
    Folder { path: PathBuf },
}

/// Why an archive is refused, in words for whoever sent it.
pub(super) type Bad = String;

/// Everything in an archive, if all of it stays within the folder it is unpacked to.
pub(super) fn read(archive: &Bytes) -> Result<Vec<Entry>, Bad> {
    let bad = |error: io::Error| error.to_string();
    let mut reader = tar::Archive::new(archive.as_ref());
    let mut entries = Vec::new();
    for entry in reader.entries().map_err(bad)? {
        let entry = entry.map_err(bad)?;
        let kind = entry.header().entry_type();
        if kind.is_pax_global_extensions() {
            continue;
        }
        if !(kind.is_file() || kind.is_dir()) {
            return Err("it holds something that is neither a file nor a folder".to_owned());
        }
        let name = entry.path().map_err(bad)?;
        let path = inside(&name).ok_or_else(|| format!("{:?} leads out of the folder", name.to_string_lossy()))?;
        if path.as_os_str().is_empty() {
            continue;
        }
        if kind.is_dir() || entry.path_bytes().ends_with(b"/") {
            entries.push(Entry::Folder { path });
        } else {
            let bytes = content(archive, &entry).ok_or("it ends in the middle of a file")?;
            entries.push(Entry::File { path, bytes });
        }
    }
    Ok(entries)
}

/// A file's part of the archive: nothing is copied.
fn content(archive: &Bytes, entry: &tar::Entry<'_, &[u8]>) -> Option<Bytes> {
    let start = usize::try_from(entry.raw_file_position()).ok()?;
    let end = start.checked_add(usize::try_from(entry.size()).ok()?)?;
    (end <= archive.len()).then(|| archive.slice(start..end))
}

fn inside(name: &Path) -> Option<PathBuf> {
    let mut path = PathBuf::new();
    for part in name.components() {
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
    use bytes::Bytes;
    use tar::{Builder, EntryType, Header};

    use super::{Entry, read};

    /// One entry under exactly this name, which a builder would not write.
    fn entry(name: &str, kind: EntryType, bytes: &[u8]) -> Vec<u8> {
        let mut header = Header::new_gnu();
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_entry_type(kind);
        header.set_size(bytes.len() as u64);
        header.set_cksum();
        let mut archive = header.as_bytes().to_vec();
        archive.extend_from_slice(bytes);
        archive.resize(archive.len().next_multiple_of(512), 0);
        archive
    }

    #[test]
    fn files_folders_and_long_names() {
        let long = format!("{}/end.txt", "d".repeat(120));
        let mut builder = Builder::new(Vec::new());
        let mut add = |name: &str, kind, bytes: &[u8]| {
            let mut header = Header::new_gnu();
            header.set_entry_type(kind);
            header.set_size(bytes.len() as u64);
            builder.append_data(&mut header, name, bytes).unwrap();
        };
        add("up/", EntryType::Directory, b"");
        add("up/a.txt", EntryType::Regular, b"hello");
        add(&long, EntryType::Regular, b"x");
        builder.append_pax_extensions([("path", "named/by/pax.txt".as_bytes())]).unwrap();
        builder.get_mut().extend(entry("short", EntryType::Regular, b"y"));
        let archive = builder.into_inner().unwrap().into();
        let entries = read(&archive).unwrap();
        let file = |path: &str, bytes: &'static [u8]| Entry::File { path: path.into(), bytes: bytes.into() };
        let expected = [
            Entry::Folder { path: "up".into() },
            file("up/a.txt", b"hello"),
            file(&long, b"x"),
            file("named/by/pax.txt", b"y"),
        ];
        assert_eq!(entries, expected);
        let Entry::File { bytes, .. } = &entries[1] else { panic!("a file") };
        assert!(archive.as_ptr_range().contains(&bytes.as_ptr()), "it was copied");
    }

    #[test]
    fn what_leads_out_or_is_cut_is_refused() {
        let refused = |archive: Vec<u8>| read(&Bytes::from(archive)).unwrap_err();
        assert!(refused(entry("../x", EntryType::Regular, b"1")).contains("leads out"));
        assert!(refused(entry("a/../../x", EntryType::Regular, b"1")).contains("leads out"));
        assert!(refused(entry("/etc/x", EntryType::Regular, b"1")).contains("leads out"));
        for kind in [EntryType::Symlink, EntryType::Link, EntryType::Fifo, EntryType::Char, EntryType::GNUSparse] {
            refused(entry("link", kind, b""));
        }
        let cut = entry("a", EntryType::Regular, &[1; 600]);
        refused(cut[..512 + 100].to_vec());
        refused(b"not a tar at all, but long enough to be one".repeat(40));
        // One that says it is larger than anything.
        let mut huge = Header::new_gnu();
        huge.as_old_mut().name[0] = b'a';
        huge.set_size(u64::MAX);
        huge.set_cksum();
        refused(huge.as_bytes().to_vec());
    }
}
