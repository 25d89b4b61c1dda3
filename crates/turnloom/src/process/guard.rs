//! The last one out.
//!
//! A small process beside the daemon that outlives it, however it ends, and ends what its agents had started. The kernel ends the agents
//! themselves; what they started in sessions of their own is found by the cookie. It holds one end of a pipe and waits for the daemon's
//! end to close; until then it is told which folders must not stay behind. It is started by the spawner, in a session of its own, deaf to
//! the signals that end a daemon, with an empty environment: no sweep finds it. It knows nothing of agents.

use std::collections::HashSet;
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::Instance;
use super::sweep::{Swept, sweep_daemon};

/// The arguments that make the daemon's own program a guard.
pub(super) fn arguments(instance: &Instance) -> [&str; 2] {
    ["guard", instance.as_str()]
}

/// What the daemon tells its guard.
#[derive(Debug, Clone, Copy)]
#[repr(u8)]
pub(super) enum Word {
    /// This folder is to be removed if it is there and empty when the daemon is gone.
    Watch = b'+',
    Forget = b'-',
}

/// A word on the wire. A path may hold any byte but the one that ends it.
pub(super) fn tell(word: Word, folder: &Path) -> Vec<u8> {
    let mut said = vec![word as u8];
    said.extend_from_slice(folder.as_os_str().as_bytes());
    said.push(0);
    said
}

/// Waits for the end of stdin, then ends everything that the named run of the daemon left behind.
pub fn run(instance: &str) -> ExitCode {
    let watched = listen(io::stdin().lock());
    let swept = sweep_daemon(&Instance::trusted(instance));
    // After those who might still use them.
    for folder in watched {
        drop(std::fs::remove_dir(folder));
    }
    match swept {
        Swept::Clean => ExitCode::SUCCESS,
        Swept::Left(_) => ExitCode::FAILURE,
    }
}

/// Hears the daemon out. However the pipe ends, the daemon is gone.
fn listen(mut daemon: impl io::BufRead) -> HashSet<PathBuf> {
    let mut watched = HashSet::new();
    let mut said = Vec::new();
    while matches!(daemon.read_until(0, &mut said), Ok(1..)) {
        // A word that was cut off by the daemon's end has no end of its own.
        if let [word, folder @ .., 0] = said.as_slice() {
            let folder = PathBuf::from(OsString::from_vec(folder.to_vec()));
            if *word == Word::Watch as u8 {
                watched.insert(folder);
            } else {
                watched.remove(&folder);
            }
        }
        said.clear();
    }
    watched
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::{Word, listen, tell};

    #[test]
    fn what_is_told_is_what_is_watched() {
        let strange = Path::new("a folder\nwith a \u{2028} break");
        let mut said = tell(Word::Watch, strange);
        said.extend(tell(Word::Watch, Path::new("/gone")));
        said.extend(tell(Word::Forget, Path::new("/gone")));
        said.extend(tell(Word::Forget, Path::new("/never")));
        said.extend(tell(Word::Watch, Path::new("/cut off")).iter().take(5));
        assert!(listen(said.as_slice()).into_iter().eq([PathBuf::from(strange)]));
    }
}
