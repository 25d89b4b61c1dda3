//! One daemon per data directory. The lock belongs to the open file, so it ends with the process however that ends.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};

use crate::log::Error;

const FILE: &str = "turnloom.lock";

/// A process that was killed holds its files for a moment longer.
const LOCK_TIMEOUT: Duration = Duration::from_millis(500);
const RETRY_DELAY: Duration = Duration::from_millis(10);

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
            .mode(0o600)
            .open(&path)
            .map_err(|cause| Error::io("open", &path, cause))?;
        let deadline = Instant::now() + LOCK_TIMEOUT;
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => break,
                Err(rustix::io::Errno::WOULDBLOCK) if Instant::now() < deadline => std::thread::sleep(RETRY_DELAY),
                Err(rustix::io::Errno::WOULDBLOCK) => {
                    return Err(Error::Locked { path: data.to_owned(), pid: holder(&mut file) });
                }
                Err(errno) => return Err(Error::io("lock", &path, errno.into())),
            }
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

/// The process that holds the lock, if it wrote its id and still runs.
fn holder(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    text.trim().parse().ok().filter(|pid| is_alive(*pid))
}

/// Whether a process runs. One that has ended may still have a number, until its parent has looked.
fn is_alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(')').and_then(|(_, rest)| rest.trim_start().chars().next());
    state.is_some_and(|state| !matches!(state, 'Z' | 'X'))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A process that has ended.
    const NOBODY: u32 = i32::MAX as u32;

    #[test]
    fn who_was_killed_is_waited_for_and_not_named() {
        let data = tempfile::tempdir().unwrap();
        let path = data.path().join(FILE);
        std::fs::write(&path, format!("{NOBODY}\n")).unwrap();
        let held = File::open(&path).unwrap();
        flock(&held, FlockOperation::NonBlockingLockExclusive).unwrap();
        // Nobody lets go: after a moment it is said, without a name that helps nobody.
        let refused = DataLock::take(data.path()).unwrap_err();
        assert!(matches!(refused, Error::Locked { pid: None, .. }), "{refused:?}");
        let waiting = std::thread::scope(|scope| {
            let waiting = scope.spawn(|| DataLock::take(data.path()).map(drop));
            drop(held);
            waiting.join().unwrap()
        });
        assert!(waiting.is_ok());
        std::fs::write(&path, std::process::id().to_string()).unwrap();
        let held = File::open(&path).unwrap();
        flock(&held, FlockOperation::NonBlockingLockExclusive).unwrap();
        let refused = DataLock::take(data.path()).unwrap_err();
        assert!(matches!(refused, Error::Locked { pid: Some(pid), .. } if pid == std::process::id()), "{refused:?}");
    }
}
