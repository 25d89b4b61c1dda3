//! The last one out.
//!
//! A small process beside the daemon that outlives it, however it ends, and ends what its agents had started. The kernel ends the agents
//! themselves; what they started in sessions of their own is found by the cookie. It holds one end of a pipe and waits for the daemon's
//! end to close. It is started by the spawner, in a session of its own, deaf to the signals that end a daemon, with an empty environment:
//! no sweep finds it. It writes nothing, keeps nothing and knows nothing of agents.

use std::io::{self, Read as _};
use std::process::ExitCode;

use super::Instance;
use super::sweep::{Swept, sweep_daemon};

/// The arguments that make the daemon's own program a guard.
pub(super) fn arguments(instance: &Instance) -> [&str; 2] {
    ["guard", instance.as_str()]
}

/// Waits for the end of stdin, then ends everything that the named run of the daemon left behind.
pub fn run(instance: &str) -> ExitCode {
    let mut stdin = io::stdin().lock();
    let mut nothing = [0; 64];
    loop {
        match stdin.read(&mut nothing) {
            Ok(1..) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(0) | Err(_) => break,
        }
    }
    match sweep_daemon(&Instance::trusted(instance)) {
        Swept::Clean => ExitCode::SUCCESS,
        Swept::Left(_) => ExitCode::FAILURE,
    }
}
