//! One daemon per data directory. The lock belongs to the open file, so it ends with the process however that ends.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::Path;

use rustix::fs::{FlockOperation, flock};

use crate::log::Error;

const FILE: &str = "turnloom.lock";

/// Held as long as anything may write to the directory.
#[derive(Debug)]
pub(super) struct DataLock {
    _file: File,
}

impl DataLock {
    pub(super) fn take(data: &Path) -> Result<Self, Error> {
        let path = data.join(FILE);
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(|cause| Error::io("open", &path, cause))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => {
                return Err(Error::Locked { path: data.to_owned(), pid: holder(&mut file) });
            }
            Err(errno) => return Err(Error::io("lock", &path, errno.into())),
        }
        name_holder(&mut file).map_err(|cause| Error::io("write", &path, cause))?;
        Ok(Self { _file: file })
    }
}

fn name_holder(file: &mut File) -> std::io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", std::process::id())
}

/// Who has it, if it has come to say so.
fn holder(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}
