//! One task per program: drains its stderr, passes signals on, and clears up after it.

use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::Child;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::FutureExt as _;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio::process::ChildStderr;
use turnloom_core::id::SessionId;

use super::agent::{Exit, Stop, Supervision};
use super::cgroup::Cgroup;
use super::spawn::Spawner;
use super::tail::Tail;

/// One read of stderr.
const READ_BYTES: usize = 8 * 1024;

/// A program that was started and not yet reaped, so its pid is its own. The pid is also the name of its group.
#[derive(Debug)]
pub(super) struct Program {
    child: Child,
    pid: Pid,
    /// A pidfd, which becomes readable when the program has ended and leaves it unreaped. It is no pipe, but it is only asked whether it
    /// is readable, and of the runtime's safe types this is the one that takes any descriptor.
    ended: pipe::Receiver,
}

impl Program {
    /// Called inside a runtime.
    pub(super) fn new(mut child: Child) -> io::Result<Self> {
        match watch(&child) {
            Ok((pid, ended)) => Ok(Self { child, pid, ended }),
            Err(error) => {
                child.kill().ok();
                child.wait().ok();
                Err(error)
            }
        }
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    fn signal(&self, signal: Signal) {
        // It fails when there is nobody left in the group, which is as good.
        let _ = kill_process_group(self.pid, signal);
    }
}

/// A program that nobody supervises any more ends at once. One that has been reaped is left alone.
impl Drop for Program {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.signal(Signal::KILL);
            self.child.wait().ok();
        }
    }
}

fn watch(child: &Child) -> io::Result<(Pid, pipe::Receiver)> {
    let pid = Pid::from_child(child);
    let ended = pidfd_open(pid, PidfdFlags::NONBLOCK)?;
    Ok((pid, pipe::Receiver::from_owned_fd_unchecked(ended)?))
}

/// What the supervising task owns.
#[derive(Debug)]
pub(super) struct Supervisor {
    pub(super) program: Program,
    pub(super) stderr: ChildStderr,
    pub(super) session: SessionId,
    pub(super) cgroup: Option<Cgroup>,
    pub(super) supervision: Supervision,
    pub(super) alive: Alive,
    /// Held until the end: the program dies with the thread that started it, and the thread ends with the last of these.
    pub(super) spawner: Spawner,
}

impl Supervisor {
    pub(super) async fn run(mut self) {
        let mut tail = Tail::default();
        let mut buffer = Vec::with_capacity(READ_BYTES);
        let mut stderr_open = true;
        let mut killed = false;
        loop {
            tokio::select! {
                _ = self.program.ended.readable() => break,
                requested = self.supervision.requested(), if !killed => match requested {
                    Stop::No => {}
                    Stop::Terminate => self.program.signal(Signal::TERM),
                    Stop::Kill => {
                        killed = true;
                        self.program.signal(Signal::KILL);
                    }
                },
                read = self.stderr.read_buf(&mut buffer), if stderr_open => {
                    stderr_open = matches!(read, Ok(1..));
                    tail.push(&buffer);
                    buffer.clear();
                }
            }
        }
        // The program has ended but is not reaped, so the name of its group cannot have gone to another one yet.
        self.program.signal(Signal::KILL);
        self.spawner.sweeper().sweep(self.session, self.cgroup).await;
        self.spawner.group_ended(self.program.pid).await;
        // All who could write are gone, so what they wrote is there. A stranger who holds the pipe is not waited for.
        while stderr_open && let Some(Ok(1..)) = self.stderr.read_buf(&mut buffer).now_or_never() {
            tail.push(&buffer);
            buffer.clear();
        }
        let status = self.program.child.try_wait().ok().flatten();
        drop(self.alive);
        self.supervision.ended(Exit {
            code: status.and_then(|status| status.code()),
            signal: status.and_then(|status| status.signal()),
            stderr_tail: tail.into_text(),
        });
    }
}

/// One of the programs that are alive; the count goes down when it is dropped.
#[derive(Debug)]
pub(super) struct Alive(Arc<AtomicUsize>);

impl Alive {
    pub(super) fn count_one(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(count))
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
