//! The process groups of agents, in a file: what is left of them when the daemon and its guard were both killed. A group is known by its number and
//! by when its leader started, within one boot and one space of process numbers; where anything differs, the number is somebody else's by now.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::{Pid, Signal, kill_process_group};

use super::sweep::processes;
use crate::private;

/// The groups of agents that run. Nothing is written as long as nobody has said where.
#[derive(Debug, Default)]
pub(super) struct Groups {
    file: Option<PathBuf>,
    running: BTreeMap<i32, u64>,
}

impl Groups {
    pub(super) fn write_to(&mut self, file: PathBuf) {
        self.file = Some(file);
        self.write();
    }

    pub(super) fn started(&mut self, leader: Pid) {
        if let Some(Process { started, .. }) = Process::of(leader) {
            self.running.insert(leader.as_raw_nonzero().get(), started);
            self.write();
        }
    }

    pub(super) fn ended(&mut self, leader: Pid) {
        if self.running.remove(&leader.as_raw_nonzero().get()).is_some() {
            self.write();
        }
    }

    fn write(&self) {
        let Some(file) = &self.file else { return };
        let mut text = format!("{}\n", boot_and_pid_namespace());
        for (group, started) in &self.running {
            let _ = writeln!(text, "{group} {started}");
        }
        if let Err(error) = private::replace(file, text.as_bytes()) {
            tracing::debug!(%error, "the groups of agents could not be written down");
        }
    }
}

/// Ends the groups that an earlier daemon wrote down and that are still there.
pub fn end_previous(file: &Path) {
    let text = fs::read_to_string(file).unwrap_or_default();
    let mut lines = text.lines();
    if lines.next() != Some(boot_and_pid_namespace().as_str()) {
        return;
    }
    for line in lines {
        let known = line.split_once(' ').and_then(|(group, started)| {
            let group = group.parse().ok().filter(|group| *group > 1).and_then(Pid::from_raw)?;
            Some((group, started.parse().ok()?))
        });
        if let Some((group, started)) = known
            && is_same_group(group, started)
        {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

/// Whether a group is the one that was written down: its leader is the same or gone, and nobody in it is older.
fn is_same_group(group: Pid, started: u64) -> bool {
    let mut members = processes().filter_map(Process::of).filter(|process| process.group == group);
    members.all(|process| if process.id == group { process.started == started } else { process.started >= started })
}

/// This boot of the machine, and this space of process numbers.
fn boot_and_pid_namespace() -> String {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let space = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    format!("{} {}", boot.trim(), space.display())
}

struct Process {
    id: Pid,
    group: Pid,
    /// In ticks since the machine started.
    started: u64,
}

impl Process {
    fn of(id: Pid) -> Option<Self> {
        let text = fs::read(format!("/proc/{}/stat", id.as_raw_nonzero())).ok()?;
        // A name may hold anything, also a bracket.
        let end = text.iter().rposition(|byte| *byte == b')')?;
        let rest = std::str::from_utf8(text.get(end + 1..)?).ok()?;
        let field = |number: usize| rest.split_whitespace().nth(number);
        let group = Pid::from_raw(field(2)?.parse().ok()?)?;
        Some(Self { id, group, started: field(19)?.parse().ok()? })
    }
}
