//! The guard: a process that cleans up after the daemon.
//!
//! A small process beside the daemon that outlives it, however it ends, and ends what its agents had started. The kernel ends the agents
//! themselves. The rest is found by their control group, their process groups and the cookies in their environment. The guard holds one end
//! of a pipe and waits for the daemon's end to close; until then it is told which groups there are and which folders must not stay behind.
//! It is started by the spawner, in a session of its own, deaf to the signals that end a daemon, with an empty environment: no sweep finds
//! it. It knows nothing of agents.

use std::collections::HashSet;
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use rustix::process::{Pid, Signal, kill_process_group};

use super::Instance;
use super::sweep::{Swept, sweep_daemon};

/// The arguments that make the daemon's own program a guard.
pub(super) fn arguments(instance: &Instance) -> [&str; 2] {
    ["guard", instance.as_str()]
}

/// What the daemon and its agents tell the guard. On the wire it is a letter, a text and a NUL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Message<'a> {
    /// This folder is to be removed if it is there and empty when the daemon is gone.
    Watch(&'a Path),
    Forget(&'a Path),
    /// An agent leads this process group. An agent says so itself before it becomes its program, so there is no moment in between.
    GroupStarted(Pid),
    /// The group was killed; its number may soon be another's.
    GroupEnded(Pid),
}

const WATCH: u8 = b'+';
const FORGET: u8 = b'-';
pub(super) const GROUP_STARTED: u8 = b'g';
const GROUP_ENDED: u8 = b'e';

impl Message<'_> {
    /// A path may hold any byte but the one that ends it.
    pub(super) fn encode(self) -> Vec<u8> {
        let (letter, text) = match self {
            Message::Watch(folder) => (WATCH, folder.as_os_str().as_bytes().to_vec()),
            Message::Forget(folder) => (FORGET, folder.as_os_str().as_bytes().to_vec()),
            Message::GroupStarted(group) => (GROUP_STARTED, group.to_string().into_bytes()),
            Message::GroupEnded(group) => (GROUP_ENDED, group.to_string().into_bytes()),
        };
        [&[letter], text.as_slice(), &[0]].concat()
    }
}

/// Waits for the end of stdin, then ends everything that the named run of the daemon left behind.
pub fn run(instance: &str) -> ExitCode {
    let CleanupList { folders, groups } = read_messages(io::stdin().lock());
    for group in groups {
        // It fails when there is nobody left in the group, which is as good.
        let _ = kill_process_group(group, Signal::KILL);
    }
    let swept = sweep_daemon(&Instance::trusted(instance));
    // After those who might still use them.
    for folder in folders {
        drop(std::fs::remove_dir(folder));
    }
    match swept {
        Swept::Clean => ExitCode::SUCCESS,
        Swept::Left(_) => ExitCode::FAILURE,
    }
}

/// What is left to do when the daemon is gone.
#[derive(Debug, Default, PartialEq, Eq)]
struct CleanupList {
    folders: HashSet<PathBuf>,
    groups: HashSet<Pid>,
}

/// Reads messages until the pipe ends. However it ends, the daemon is gone.
fn read_messages(mut daemon: impl io::BufRead) -> CleanupList {
    let mut cleanup = CleanupList::default();
    let mut message = Vec::new();
    while matches!(daemon.read_until(0, &mut message), Ok(1..)) {
        // A message that was cut off by the daemon's end has no end of its own.
        if let [letter, text @ .., 0] = message.as_slice() {
            cleanup.apply(*letter, text);
        }
        message.clear();
    }
    cleanup
}

impl CleanupList {
    fn apply(&mut self, letter: u8, text: &[u8]) {
        let folder = || PathBuf::from(OsString::from_vec(text.to_vec()));
        let group = || std::str::from_utf8(text).ok()?.parse().ok().filter(|pid| *pid > 0).and_then(Pid::from_raw);
        match letter {
            WATCH => drop(self.folders.insert(folder())),
            FORGET => drop(self.folders.remove(&folder())),
            GROUP_STARTED => self.groups.extend(group()),
            GROUP_ENDED => drop(group().map(|group| self.groups.remove(&group))),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use rustix::process::Pid;

    use super::{CleanupList, Message, read_messages};

    #[test]
    fn what_is_told_is_what_is_left_to_do() {
        let strange = Path::new("a folder\nwith a \u{2028} break");
        let group = |pid| Pid::from_raw(pid).unwrap();
        let mut message = Message::Watch(strange).encode();
        message.extend(Message::GroupStarted(group(17)).encode());
        message.extend(Message::Watch(Path::new("/gone")).encode());
        message.extend(Message::GroupStarted(group(4_194_304)).encode());
        message.extend(Message::Forget(Path::new("/gone")).encode());
        message.extend(Message::Forget(Path::new("/never")).encode());
        message.extend(Message::GroupEnded(group(17)).encode());
        message.extend(b"gnot a number\0g-1\0?\0");
        message.extend(Message::Watch(Path::new("/cut off")).encode().iter().take(5));
        let expected = CleanupList { folders: [PathBuf::from(strange)].into(), groups: [group(4_194_304)].into() };
        assert_eq!(read_messages(message.as_slice()), expected);
    }
}
