//! What a new process does between `fork` and `exec`. All but one line of the project's unsafe code is here.

#![expect(unsafe_code, reason = "a process can set its parent death signal only itself, before it becomes the program")]

use std::io;
use std::os::fd::RawFd;
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::{mem, ptr};

use rustix::io::Errno;
use rustix::process::{Pid, Resource, Rlimit, Signal};
use rustix::process::{getpid, getppid, set_parent_process_death_signal, setrlimit, setsid};

use crate::process::guard::GROUP_STARTED;

/// What the new process is going to be.
#[derive(Debug, Clone, Copy)]
pub(super) enum Role {
    Agent(AsAgent),
    /// Stays when the daemon ends, and is deaf to what ends a daemon.
    Guard,
}

/// What an agent does for its own end. The files are open in the daemon while it starts the agent.
#[derive(Debug, Clone, Copy)]
pub(super) struct AsAgent {
    /// It ends when the daemon does.
    pub(super) daemon: Pid,
    /// Where it says which group it leads.
    pub(super) guard: RawFd,
    /// The control group it joins.
    pub(super) cgroup: Option<RawFd>,
    /// How many files it may open, where the daemon itself may open more.
    pub(super) files: Option<Rlimit>,
}

pub(super) fn prepare(command: &mut Command, role: Role) {
    // SAFETY: in the child of a process with threads only async-signal-safe functions may be called. `become_role` makes system calls
    // and nothing else: it takes no lock, allocates nothing, and its closure owns nothing but a `Copy` value.
    unsafe {
        command.pre_exec(move || become_role(role).map_err(io::Error::from));
    }
}

/// After stdin, stdout and stderr.
const FIRST_FILE: libc::c_uint = 3;

fn become_role(role: Role) -> Result<(), Errno> {
    reset_inherited_state();
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
    match role {
        Role::Agent(AsAgent { daemon, guard, cgroup, files }) => {
            set_parent_process_death_signal(Some(Signal::KILL))?;
            // If the daemon died before that, no signal will come.
            if getppid() != Some(daemon) {
                return Err(Errno::SRCH);
            }
            if let Some(given) = files {
                setrlimit(Resource::Nofile, given)?;
            }
            report_group(guard);
            if let Some(join_file) = cgroup {
                // Whether it worked is seen by the daemon.
                write_all(join_file, b"0");
            }
        }
        Role::Guard => {
            setsid()?;
            for deaf_to in [Signal::HUP, Signal::INT, Signal::QUIT, Signal::TERM] {
                // SAFETY: to ignore a signal installs no code.
                unsafe { libc::signal(deaf_to.as_raw(), libc::SIG_IGN) };
            }
        }
    }
    Ok(())
}

/// Tells the guard which process group this process leads. Nothing is allocated.
fn report_group(guard: RawFd) {
    let mut message = [0_u8; 16];
    let mut rest = getpid().as_raw_nonzero().get().unsigned_abs();
    let mut start = message.len() - 1; // The last byte is the NUL that ends it.
    while rest > 0 && start > 1 {
        start -= 1;
        if let Some(digit) = message.get_mut(start) {
            *digit = b'0' + u8::try_from(rest % 10).unwrap_or(0);
        }
        rest /= 10;
    }
    start -= 1;
    if let Some(letter) = message.get_mut(start) {
        *letter = GROUP_STARTED;
    }
    write_all(guard, message.get(start..).unwrap_or_default());
}

/// Short enough to be written at once, or not at all.
fn write_all(file: RawFd, bytes: &[u8]) {
    // SAFETY: the bytes are there as long as the call lasts, and a file that is not open is refused.
    unsafe { libc::write(file, bytes.as_ptr().cast(), bytes.len()) };
}

/// Undoes what the daemon inherited from its own parent: ignored and blocked signals, open files. The daemon's own handlers end with `exec`; the
/// daemon closes its own files.
fn reset_inherited_state() {
    for number in 1..=libc::SIGRTMAX() {
        // SAFETY: the default disposition installs no code. It is refused for those that cannot be changed.
        unsafe { libc::signal(number, libc::SIG_DFL) };
    }
    // SAFETY: a signal set is plain bits, all zero is the empty one, and the old one is not asked for.
    unsafe {
        let none: libc::sigset_t = mem::zeroed();
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, ptr::null_mut());
    }
    // SAFETY: it marks files and closes none: the pipe on which a failed `exec` is reported stays open until then. A kernel that is too
    // old for it refuses.
    unsafe { libc::syscall(libc::SYS_close_range, FIRST_FILE, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC) };
}
