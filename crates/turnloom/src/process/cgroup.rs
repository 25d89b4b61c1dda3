//! Control groups: where the kernel itself keeps count of what an agent starts, nothing gets away.
//!
//! Each run of the daemon makes a folder below the control group it lives in, and each agent gets one in that. Killing a group is one write
//! and reaches whatever left its parent, its process group and its environment behind. This needs cgroup v2 with `cgroup.kill` (Linux
//! 5.14) and a group that the daemon may divide. Where that is not so, the [`sweep`](super::sweep) does what it can. No limits on memory or
//! processors are set here.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{Access, access};

use super::Instance;

/// The control group of one run of the daemon, which holds those of its agents.
#[derive(Debug)]
pub(super) struct Cgroups {
    folder: PathBuf,
    made: AtomicU64,
}

impl Cgroups {
    /// Makes the group, or says why there can be none.
    pub(super) fn make(instance: &Instance) -> Result<Self, String> {
        let parent = parent()?;
        // Moving a process needs the right to write here too: it is where it comes from.
        access(parent.join("cgroup.procs"), Access::WRITE_OK)
            .map_err(|error| format!("the control group {} is not ours to divide: {error}", parent.display()))?;
        let folder = folder_of(&parent, instance);
        fs::create_dir(&folder).map_err(|error| format!("cannot create {}: {error}", folder.display()))?;
        let usable = check(&folder);
        if usable.is_err() {
            drop(fs::remove_dir(&folder));
        }
        usable.map(|()| Self { folder, made: AtomicU64::new(0) })
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// An empty group for one agent.
    pub(super) fn group(&self) -> io::Result<Cgroup> {
        let folder = self.folder.join(self.made.fetch_add(1, Ordering::Relaxed).to_string());
        fs::create_dir(&folder)?;
        Ok(Cgroup { folder })
    }
}

/// A group with a process in it cannot be removed; the code that ends the process removes it.
impl Drop for Cgroups {
    fn drop(&mut self) {
        drop(fs::remove_dir(&self.folder));
    }
}

/// The group of one agent and of everything it starts.
#[derive(Debug)]
pub(super) struct Cgroup {
    folder: PathBuf,
}

impl Cgroup {
    /// The file that a process writes `0` into to join the group.
    pub(super) fn join_file(&self) -> io::Result<File> {
        File::options().write(true).open(self.folder.join("cgroup.procs"))
    }

    pub(super) fn holds(&self, pid: u32) -> bool {
        let Ok(groups) = fs::read_to_string(format!("/proc/{pid}/cgroup")) else { return true };
        // The daemon's name and the agent's number: what stands before them is not the same in every container.
        let name = |path: &Path| Some((path.parent()?.file_name()?.to_owned(), path.file_name()?.to_owned()));
        let own = name(&self.folder);
        groups.lines().filter_map(|line| line.strip_prefix("0::")).any(|path| name(Path::new(path)) == own)
    }

    pub(super) fn kill(&self) {
        kill(&self.folder);
    }

    pub(super) fn is_empty(&self) -> bool {
        is_empty(&self.folder)
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        drop(fs::remove_dir(&self.folder));
    }
}

/// The group that a run of a daemon on this machine has, if it has one.
pub(super) fn of_daemon(instance: &Instance) -> Option<PathBuf> {
    parent().ok().map(|parent| folder_of(&parent, instance)).filter(|folder| folder.exists())
}

/// Ends everything in a group and in those below it.
pub(super) fn kill(folder: &Path) {
    // It fails when the group is gone, which is as good.
    drop(fs::write(folder.join("cgroup.kill"), "1"));
}

pub(super) fn is_empty(folder: &Path) -> bool {
    fs::read_to_string(folder.join("cgroup.events"))
        .map_or(true, |events| events.lines().any(|line| line == "populated 0"))
}

/// Removes a group that is empty, and those in it.
pub(super) fn remove(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove(&entry.path());
        }
    }
    drop(fs::remove_dir(folder));
}

fn folder_of(parent: &Path, instance: &Instance) -> PathBuf {
    parent.join(format!("turnloom-{}", instance.as_str()))
}

fn check(folder: &Path) -> Result<(), String> {
    if !folder.join("cgroup.kill").exists() {
        return Err("this kernel cannot end a control group at once; Linux 5.14 can".to_owned());
    }
    match fs::read_to_string(folder.join("cgroup.type")) {
        Ok(kind) if kind.trim() == "domain" => Ok(()),
        Ok(kind) => Err(format!("control groups in {} would be of type {}", folder.display(), kind.trim())),
        Err(error) => Err(format!("cannot read the type of {}: {error}", folder.display())),
    }
}

/// The control group that this process is in.
fn parent() -> Result<PathBuf, String> {
    let mounts =
        fs::read_to_string("/proc/self/mountinfo").map_err(|error| format!("cannot read the mounts: {error}"))?;
    let groups =
        fs::read_to_string("/proc/self/cgroup").map_err(|error| format!("cannot read the control group: {error}"))?;
    find_parent(&mounts, &groups).ok_or_else(|| "cgroup v2 is not mounted".to_owned())
}

/// From `/proc/self/mountinfo` and `/proc/self/cgroup`.
fn find_parent(mounts: &str, groups: &str) -> Option<PathBuf> {
    let path = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    mounts.lines().find_map(|line| {
        let (mount, kind) = line.split_once(" - ")?;
        if kind.split(' ').next() != Some("cgroup2") {
            return None;
        }
        let mut fields = mount.split(' ').skip(3);
        let (root, point) = (fields.next()?, fields.next()?);
        // A container may see only a part of the tree.
        let below = Path::new(path).strip_prefix(root).ok()?;
        Some(Path::new(point).join(below))
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write as _;
    use std::path::Path;

    use super::*;

    /// All but what the kernel does: which files are read and written.
    #[test]
    fn groups_are_folders_with_files_that_mean_something() {
        let place = tempfile::tempdir().unwrap();
        let groups = Cgroups { folder: place.path().join("daemon"), made: AtomicU64::new(0) };
        fs::create_dir(groups.folder()).unwrap();
        let (first, second) = (groups.group().unwrap(), groups.group().unwrap());
        assert_ne!(first.folder, second.folder);
        assert!(first.join_file().is_err(), "a folder without a door is no group");
        fs::write(first.folder.join("cgroup.procs"), "").unwrap();
        first.join_file().unwrap().write_all(b"0").unwrap();
        assert_eq!(fs::read_to_string(first.folder.join("cgroup.procs")).unwrap(), "0");
        for (events, expected) in [("populated 1\nfrozen 0\n", false), ("populated 0\nfrozen 0\n", true)] {
            fs::write(first.folder.join("cgroup.events"), events).unwrap();
            assert_eq!(first.is_empty(), expected, "{events}");
        }
        assert!(second.is_empty(), "one that is gone holds nobody");
        assert!(!second.holds(std::process::id()), "we are elsewhere");
        first.kill();
        assert_eq!(fs::read_to_string(first.folder.join("cgroup.kill")).unwrap(), "1");
        let gone = second.folder.clone();
        drop(second);
        assert!(!gone.exists());
        fs::create_dir_all(gone.join("inner")).unwrap();
        remove(&gone);
        assert!(!gone.exists(), "with those in it");
        drop(groups);
        assert!(first.folder.exists(), "a folder with something in it stays");
    }

    #[test]
    fn a_group_that_cannot_be_ended_at_once_is_not_used() {
        let place = tempfile::tempdir().unwrap();
        let why = || check(place.path()).unwrap_err();
        assert!(why().contains("Linux 5.14"), "{}", why());
        fs::write(place.path().join("cgroup.kill"), "").unwrap();
        assert!(why().contains("cannot read the type"), "{}", why());
        fs::write(place.path().join("cgroup.type"), "domain threaded\n").unwrap();
        assert!(why().contains("would be of type domain threaded"), "{}", why());
        fs::write(place.path().join("cgroup.type"), "domain\n").unwrap();
        assert_eq!(check(place.path()), Ok(()));
    }

    #[test]
    fn the_group_is_found_wherever_it_is_mounted() {
        let unified = "24 30 0:22 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate";
        let hybrid = "31 2 0:9 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw";
        let part = "24 30 0:22 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw";
        let none = "31 2 0:9 / /sys/fs/cgroup rw - tmpfs tmpfs rw";
        let cases = [
            (unified, "0::/user.slice/app.scope", Some("/sys/fs/cgroup/user.slice/app.scope")),
            (hybrid, "9:name=systemd:/\n0::/", Some("/sys/fs/cgroup/unified")),
            (part, "0::/docker/abc/inner", Some("/sys/fs/cgroup/inner")),
            (part, "0::/elsewhere", None),
            (none, "0::/", None),
            (unified, "9:name=systemd:/", None),
        ];
        for (mounts, groups, expected) in cases {
            assert_eq!(find_parent(mounts, groups).as_deref(), expected.map(Path::new), "{mounts} {groups}");
        }
    }
}
