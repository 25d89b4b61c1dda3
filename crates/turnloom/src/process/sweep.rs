//! Finding processes by the cookies in their environment, and ending them.
//!
//! A process may leave its parent, its group and its session, but it keeps the environment it was started with, unless it clears it. Where
//! agents have control groups of their own, those are ended first. What is not here: process groups, children, reaping. The cost is one look
//! at each process of the machine, so many sessions are swept in one pass.

use std::collections::HashSet;
use std::fs;
use std::io::{self, Read as _};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, getpid, pidfd_open, pidfd_send_signal};
use tokio::sync::{mpsc, oneshot};
use turnloom_core::id::SessionId;

use super::cgroup::{self, Cgroup};
use super::{DAEMON_COOKIE, Instance, SESSION_COOKIE};

/// Between two passes: what was killed needs a moment to go, and a process in the middle of `exec` shows no environment.
const PAUSE: Duration = Duration::from_millis(3);

/// When to give up. What SIGKILL has not ended by then is stuck in the kernel, or multiplies faster than it is found.
const LIMIT: Duration = Duration::from_secs(5);

/// Each session waits for one sweep at most, so a full queue means that more agents end at once than anybody runs; they wait.
const QUEUE: usize = 1024;

/// What a sweep came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Swept {
    /// Two passes, one after the other, found nothing.
    Clean,
    /// This many were still there at the end.
    Left(usize),
}

/// Ends everything that a run of a daemon started. Blocks.
///
/// This is the exact way to clear up after a crash, for a daemon that wrote down which run it was.
pub fn sweep_daemon(instance: &Instance) -> Swept {
    let cgroup = cgroup::of_daemon(instance);
    if let Some(folder) = &cgroup {
        cgroup::kill(folder);
        wait_until(|| cgroup::is_empty(folder));
    }
    let swept = sweep(|cookies| cookies.daemon == Some(instance.as_str().as_bytes()));
    if let Some(folder) = &cgroup {
        cgroup::remove(folder);
    }
    swept
}

/// Sweeps for agents that ended, on a thread of its own: those that end together share their passes.
#[derive(Debug, Clone)]
pub(super) struct Sweeper {
    requests: mpsc::Sender<Request>,
}

#[derive(Debug)]
struct Request {
    session: SessionId,
    cgroup: Option<Cgroup>,
    done: oneshot::Sender<()>,
}

impl Sweeper {
    /// The thread ends with the last handle.
    pub(super) fn start(instance: Instance) -> io::Result<Self> {
        let (requests, queue) = mpsc::channel(QUEUE);
        thread::Builder::new().name("sweeper".to_owned()).spawn(move || serve(&instance, queue))?;
        Ok(Self { requests })
    }

    /// Ends everything that this daemon started for a session.
    pub(super) async fn sweep(&self, session: SessionId, cgroup: Option<Cgroup>) {
        let (done, answer) = oneshot::channel();
        if self.requests.send(Request { session, cgroup, done }).await.is_ok() {
            let _ = answer.await;
        }
    }
}

fn serve(instance: &Instance, mut queue: mpsc::Receiver<Request>) {
    while let Some(first) = queue.blocking_recv() {
        let mut requests = vec![first];
        while let Ok(next) = queue.try_recv() {
            requests.push(next);
        }
        let cgroups = || requests.iter().filter_map(|request| request.cgroup.as_ref());
        cgroups().for_each(Cgroup::kill);
        wait_until(|| cgroups().all(Cgroup::is_empty));
        let sessions: HashSet<&[u8]> = requests.iter().map(|request| request.session.as_str().as_bytes()).collect();
        let swept = sweep(|cookies| {
            cookies.daemon == Some(instance.as_str().as_bytes())
                && cookies.session.is_some_and(|id| sessions.contains(id))
        });
        if let Swept::Left(processes) = swept {
            tracing::warn!(processes, "processes of ended agents are still there after SIGKILL");
        }
        for Request { cgroup, done, .. } in requests {
            // The group is removed before the sweep is reported as done.
            drop(cgroup);
            let _ = done.send(());
        }
    }
}

/// What was killed needs a moment to go.
fn wait_until(holds: impl Fn() -> bool) {
    let start = Instant::now();
    while !holds() && start.elapsed() < LIMIT {
        thread::sleep(PAUSE);
    }
}

/// Passes until two in a row find nothing.
fn sweep(wanted: impl Fn(&Cookies<'_>) -> bool) -> Swept {
    let start = Instant::now();
    let mut empty_passes = 0;
    loop {
        let found = pass(&wanted);
        empty_passes = if found == 0 { empty_passes + 1 } else { 0 };
        if empty_passes == 2 {
            return Swept::Clean;
        }
        if found > 0 && start.elapsed() > LIMIT {
            return Swept::Left(found);
        }
        thread::sleep(PAUSE);
    }
}

/// Kills what is wanted and returns how many there were. A zombie has no environment and is not among them.
fn pass(wanted: &impl Fn(&Cookies<'_>) -> bool) -> usize {
    let mut environ = Vec::new();
    let mut is_wanted =
        |pid| read_environ(pid, &mut environ).is_ok_and(|()| wanted(&Cookies::in_environment(&environ)));
    let mut found = 0;
    for pid in processes().filter(|pid| *pid != getpid()) {
        if !is_wanted(pid) {
            continue;
        }
        // The number may have gone to another process meanwhile. The descriptor stays with the one it was opened for, so that one is
        // asked again.
        let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else { continue };
        if is_wanted(pid) && pidfd_send_signal(&process, Signal::KILL).is_ok() {
            found += 1;
        }
    }
    found
}

pub(super) fn processes() -> impl Iterator<Item = Pid> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok().and_then(Pid::from_raw))
}

fn read_environ(pid: Pid, environ: &mut Vec<u8>) -> io::Result<()> {
    environ.clear();
    fs::File::open(format!("/proc/{}/environ", pid.as_raw_nonzero()))?.read_to_end(environ).map(drop)
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Cookies<'a> {
    daemon: Option<&'a [u8]>,
    session: Option<&'a [u8]>,
}

impl<'a> Cookies<'a> {
    /// Entries are `NAME=value`, each ended by a NUL.
    fn in_environment(environ: &'a [u8]) -> Self {
        let mut cookies = Self::default();
        for entry in environ.split(|byte| *byte == 0) {
            cookies.daemon = cookies.daemon.or_else(|| value(entry, DAEMON_COOKIE));
            cookies.session = cookies.session.or_else(|| value(entry, SESSION_COOKIE));
        }
        cookies
    }
}

fn value<'a>(entry: &'a [u8], name: &str) -> Option<&'a [u8]> {
    entry.strip_prefix(name.as_bytes())?.strip_prefix(b"=")
}

#[cfg(test)]
mod tests;
