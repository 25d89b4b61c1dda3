//! What a new process does between `fork` and `exec`. All but one line of the project's unsafe code is here.

#![expect(unsafe_code, reason = "a process can set its parent death signal only itself, before it becomes the program")]

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::{mem, ptr};

use rustix::io::Errno;
use rustix::process::{Pid, Resource, Rlimit, Signal};
use rustix::process::{getppid, set_parent_process_death_signal, setrlimit, setsid};

/// What the new process is going to be.
#[derive(Debug, Clone, Copy)]
pub(super) enum Role {
    /// Ends when the daemon does, whose pid this is.
    Agent { daemon: Pid },
    /// Stays when the daemon ends, and is deaf to what ends a daemon.
    Guard,
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
    forget_inheritance();
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
    match role {
        Role::Agent { daemon } => {
            set_parent_process_death_signal(Some(Signal::KILL))?;
            // If the daemon died before that, no signal will come.
            if getppid() != Some(daemon) {
                return Err(Errno::SRCH);
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

/// Undoes what the daemon was given by whoever started it: ignored and blocked signals, open files. The daemon's own handlers end with
/// `exec`, its own files are closed by it.
fn forget_inheritance() {
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
