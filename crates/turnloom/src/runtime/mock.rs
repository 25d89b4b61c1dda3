//! The mock: a real child process, so that crashes, hangs and orphans are real; or a task in the daemon, for load.

use std::path::PathBuf;

use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader, BufWriter};
use turnloom_core::runtime::mock::{CAPABILITIES, MockAgent, MockProtocol, NextAction, SETTINGS};
use turnloom_core::runtime::{Capabilities, Opening, Setting};

use super::{
    AgentInfo, AgentKind, LaunchContext, Running, Runtime, RuntimeFuture, StartFuture, listed_params, start_failure,
};
use crate::process::{Agent, Launch};

/// It starts in a few milliseconds, so there is no reason to keep it.
const IDLE_MS: i64 = 2_000;

/// What is written at once: a burst becomes few writes. In the daemon there are many of them at a time, and no system call to save.
const WRITE_BYTES: usize = 64 * 1024;
const WRITE_BYTES_IN_DAEMON: usize = 4 * 1024;

#[derive(Debug)]
pub struct Mock {
    /// This very program, which is also the agent.
    pub program: PathBuf,
}

impl Runtime for Mock {
    fn id(&self) -> &'static str {
        "mock"
    }

    fn info<'a>(&'a self, _context: &'a LaunchContext) -> RuntimeFuture<'a, AgentInfo> {
        let info = AgentInfo {
            id: self.id().to_owned(),
            name: "Mock agent".to_owned(),
            installed: true,
            version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            capabilities: self.capabilities(),
            modes: Vec::new(),
            settings: self.settings(),
            params: listed_params(self),
            commands: None,
            kind: AgentKind::Builtin,
            connected: None,
            problem: None,
            fix: None,
        };
        Box::pin(std::future::ready(info))
    }

    fn capabilities(&self) -> Capabilities {
        CAPABILITIES
    }

    fn own_params(&self) -> &'static [&'static str] {
        &["pace_ms", "in_process", "greet"]
    }

    fn settings(&self) -> &'static [Setting] {
        SETTINGS
    }

    fn idle_ms(&self) -> i64 {
        IDLE_MS
    }

    fn start<'a>(&'a self, opening: &'a Opening, context: &'a LaunchContext) -> StartFuture<'a> {
        Box::pin(async move {
            let in_process = opening.params.get("in_process").and_then(serde_json::Value::as_bool) == Some(true);
            let agent = if in_process {
                Agent::in_process(&context.tracker, context.max_line_bytes, |pipes| async move {
                    play(pipes.input, pipes.output, World::Daemon).await.into()
                })
            } else {
                let launch = Launch {
                    program: self.program.clone(),
                    args: vec!["mock-agent".into()],
                    cwd: opening.cwd.as_ref().map_or_else(std::env::temp_dir, PathBuf::from),
                    env: Vec::new(),
                    session: opening.session_id.clone(),
                    line_limit: context.max_line_bytes,
                };
                context.spawner.spawn(launch).await.map_err(|error| start_failure(self.id(), &error))?
            };
            Ok(Running { agent, protocol: Box::new(MockProtocol::default()), held: None })
        })
    }
}

/// Where the mock lives, and so what it may do to its surroundings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum World {
    /// A process of its own.
    Process,
    /// A task of the daemon: it must not hurt its host.
    Daemon,
}

/// Plays the mock over any pair of pipes; the exit code comes back.
pub async fn play(input: impl AsyncRead + Unpin, output: impl AsyncWrite + Unpin, world: World) -> u8 {
    let mut agent = MockAgent::default();
    let mut lines = BufReader::new(input).split(b'\n');
    let write_bytes = match world {
        World::Process => WRITE_BYTES,
        World::Daemon => WRITE_BYTES_IN_DAEMON,
    };
    let mut output = BufWriter::with_capacity(write_bytes, output);
    let mut listening = true;
    loop {
        // What was said meanwhile comes first: an interrupt must not wait for a burst to end.
        let nap = match agent.next_action() {
            NextAction::Write(bytes) => {
                if output.write_all(&bytes).await.is_err() {
                    return 0; // nobody listens any more
                }
                Some(0)
            }
            NextAction::Sleep { ms } => Some(ms),
            NextAction::Listen => None,
            NextAction::IgnoreSignals => {
                if world == World::Process {
                    ignore_sigterm();
                }
                None
            }
            NextAction::LeaveChild => {
                if world == World::Process {
                    leave_child();
                }
                Some(0)
            }
            NextAction::Exit { code } => {
                drop(output.flush().await);
                return code;
            }
        };
        if nap != Some(0) && output.flush().await.is_err() {
            return 0;
        }
        tokio::select! {
            biased;
            line = lines.next_segment(), if listening => if let Ok(Some(line)) = line {
                agent.receive(&line);
            } else {
                listening = false;
                agent.input_closed();
            },
            () = sleep(nap), if nap.is_some() => {}
            else => std::future::pending().await,
        }
    }
}

async fn sleep(nap: Option<u64>) {
    match nap {
        // Even a burst lets others run now and then.
        None | Some(0) => {}
        Some(ms) => tokio::time::sleep(std::time::Duration::from_millis(ms)).await,
    }
}

/// Takes the signal and does nothing with it. Only SIGKILL ends this process now.
fn ignore_sigterm() {
    drop(tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()));
}

/// Starts a process that leaves this one's group and session, as tools of real agents do.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the agent, not the daemon; leaving a process behind is its purpose"
)]
fn leave_child() {
    let Ok(program) = std::env::current_exe() else { return };
    let mut command = std::process::Command::new(program);
    command.args(["mock-agent", "--linger"]);
    command.stdin(std::process::Stdio::null()).stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    drop(command.spawn());
}

/// What the process that is left behind does: it takes a session of its own and stays.
pub fn linger() -> ! {
    let _ = rustix::process::setsid();
    loop {
        std::thread::park();
    }
}

/// The mock as a program of its own, over stdin and stdout.
pub fn main() -> std::process::ExitCode {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else {
        return std::process::ExitCode::FAILURE;
    };
    let code = runtime.block_on(play(tokio::io::stdin(), tokio::io::stdout(), World::Process));
    // Somebody may still hold our input open, and a read of it cannot be called off.
    runtime.shutdown_background();
    code.into()
}
