//! An agent that is a future instead of a program, in the same shape: for load tests and for the built-in mock.

use std::future::Future;
use std::panic::AssertUnwindSafe;

use futures_util::FutureExt as _;
use tokio::io::DuplexStream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::agent::{Agent, Exit, Stop, Supervision};
use super::{Input, Lines};

/// What a process of its own would exit with.
const PANICKED: i32 = 101;

/// The room between the two, in each direction: what a pipe of the kernel holds.
const PIPE_BYTES: usize = 64 * 1024;

/// The agent's side.
#[derive(Debug)]
pub struct InProcess {
    /// What the daemon writes; ends when it closes the input.
    pub input: DuplexStream,
    /// What the daemon reads.
    pub output: DuplexStream,
    /// The daemon asks the agent to end. If it does not and is killed, its future is dropped where it stands.
    pub terminated: CancellationToken,
}

impl Agent {
    /// Runs an agent inside this process; what the future returns is the exit code. Called inside a runtime.
    pub fn in_process<F, T>(tracker: &TaskTracker, line_limit: usize, agent: F) -> Agent
    where
        F: FnOnce(InProcess) -> T,
        T: Future<Output = i32> + Send + 'static,
    {
        let (input, agent_input) = tokio::io::duplex(PIPE_BYTES);
        let (agent_output, output) = tokio::io::duplex(PIPE_BYTES);
        let terminated = CancellationToken::new();
        let (handle, supervision, gone) = Supervision::new(None);
        let running = agent(InProcess { input: agent_input, output: agent_output, terminated: terminated.clone() });
        tracker.spawn(supervise(running, supervision, terminated));
        Agent { input: Input::new(input), output: Lines::new(output, line_limit, gone), handle }
    }
}

async fn supervise(agent: impl Future<Output = i32>, mut supervision: Supervision, terminated: CancellationToken) {
    // A program that panics ends, and is seen to; so does this one.
    let mut agent = Box::pin(AssertUnwindSafe(agent).catch_unwind());
    let exit = loop {
        tokio::select! {
            code = &mut agent => break Exit { code: Some(code.unwrap_or(PANICKED)), ..Exit::default() },
            requested = supervision.requested() => match requested {
                Stop::No => {}
                Stop::Terminate => terminated.cancel(),
                Stop::Kill => break Exit { signal: Some(rustix::process::Signal::KILL.as_raw()), ..Exit::default() },
            },
        }
    };
    // Before the exit is told, so that the agent's ends of the pipes are closed by then.
    drop(agent);
    supervision.ended(exit);
}

#[cfg(test)]
mod tests;
