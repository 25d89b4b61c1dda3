//! Opens files whose names come from outside. A pipe, a device or a folder is refused without blocking.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::OFlags;

/// A file to read.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    opened(OpenOptions::new().read(true), path)
}

/// What a file holds; one that is longer is refused.
pub(crate) fn read(path: &Path, most: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let limit = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
    open(path)?.take(limit).read_to_end(&mut bytes)?;
    if bytes.len() > most { Err(io::Error::new(io::ErrorKind::FileTooLarge, "too large")) } else { Ok(bytes) }
}

/// A file to write to, emptied, or a new one.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    let file = opened(OpenOptions::new().write(true).create(true).truncate(false), path)?;
    file.set_len(0)?;
    Ok(file)
}

fn opened(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    let not_a_file = || io::Error::new(io::ErrorKind::InvalidInput, "not a file");
    let file = options.custom_flags(flags).open(path).map_err(|error| match error.raw_os_error() {
        // A pipe that nobody reads, a socket.
        Some(code) if code == rustix::io::Errno::NXIO.raw_os_error() => not_a_file(),
        _ => error,
    })?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(not_a_file()) }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn only_files_are_opened() {
        let place = tempfile::tempdir().unwrap();
        let (file, pipe) = (place.path().join("file"), place.path().join("pipe"));
        create(&file).unwrap().write_all(b"long").unwrap();
        create(&file).unwrap().write_all(b"new").unwrap();
        assert_eq!(io::read_to_string(open(&file).unwrap()).unwrap(), "new");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        for path in [&pipe, place.path(), Path::new("/dev/null")] {
            assert!(open(path).is_err() && create(path).is_err(), "{}", path.display());
        }
    }
}
