//! `codex exec`: one process per turn. The session sees an agent that is always there; it is a task that starts the processes one after another.

use std::path::PathBuf;

use serde_json::{Map, Value};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream};
use turnloom_core::id::SessionId;
use turnloom_core::runtime::codex::{
    EXEC_CAPABILITIES, EXEC_PARAMS, EXEC_SETTINGS, ExecProtocol, MODES, Run, RunEnd, RunnerCommand, config_fits,
};
use turnloom_core::runtime::{Capabilities, Opening, Setting, StartFailure};

use super::placeholders::Placeholders;
use super::profile::RunFiles;
use super::rollout::RunRollout;
use super::{Installed, NAME, home_of, trust};
use crate::process::{Agent, InProcess, Launch, Line, Spawner};
use crate::runtime::program::{self, Environment, ProgramConfig};
use crate::runtime::{AgentInfo, LaunchContext, Running, Runtime, RuntimeFuture, StartFuture, describe};

const ID: &str = "codex-exec";

/// Codex without its app-server: less can be done with it, and nothing stays in memory.
#[derive(Debug)]
pub struct CodexExec(Installed);

impl CodexExec {
    pub fn new(config: ProgramConfig) -> Self {
        Self(Installed::new(config))
    }

    async fn launch(&self, opening: &Opening, context: &LaunchContext) -> Result<Running, StartFailure> {
        let profile = self.0.profile(&opening.params)?;
        let environment = self.0.environment(&opening.params)?;
        let (program, _) = self.0.check(&environment, context).await?;
        let runner = Runner {
            program,
            environment,
            cwd: opening.cwd.as_ref().map_or_else(program::default_directory, PathBuf::from),
            session: opening.session_id.clone(),
            line_limit: context.max_line_bytes,
            spawner: context.spawner.clone(),
        };
        let agent = Agent::in_process(&context.tracker, context.max_line_bytes, |pipes| runner.serve(pipes));
        Ok(Running { agent, protocol: Box::new(ExecProtocol::with_profile(profile)), held: None })
    }
}

impl Runtime for CodexExec {
    fn id(&self) -> &'static str {
        ID
    }

    fn info<'a>(&'a self, context: &'a LaunchContext) -> RuntimeFuture<'a, AgentInfo> {
        Box::pin(self.0.info(self, "Codex, one process per turn", context))
    }

    fn capabilities(&self) -> Capabilities {
        EXEC_CAPABILITIES
    }

    fn modes(&self) -> &'static [&'static str] {
        MODES
    }

    fn params(&self) -> &'static [Setting] {
        EXEC_PARAMS
    }

    fn params_fit(&self, params: &Map<String, Value>) -> bool {
        params.get("config").is_none_or(config_fits)
    }

    fn settings(&self) -> &'static [Setting] {
        EXEC_SETTINGS
    }

    fn idle_ms(&self) -> i64 {
        i64::from(self.0.config.idle_seconds) * 1000
    }

    fn start<'a>(&'a self, opening: &'a Opening, context: &'a LaunchContext) -> StartFuture<'a> {
        Box::pin(self.launch(opening, context))
    }
}

/// Starts one process after another, and passes on what they say.
struct Runner {
    program: PathBuf,
    environment: Environment,
    cwd: PathBuf,
    session: SessionId,
    line_limit: usize,
    spawner: Spawner,
}

type Orders = tokio::io::Split<BufReader<DuplexStream>>;

impl Runner {
    async fn serve(self, pipes: InProcess) -> i32 {
        let InProcess { input, mut output, terminated } = pipes;
        let mut orders = BufReader::new(input).split(b'\n');
        let mut waiting: Option<Box<Run>> = None;
        loop {
            let order = if let Some(run) = waiting.take() {
                Some(RunnerCommand::Run(run))
            } else {
                tokio::select! {
                    () = terminated.cancelled() => return 0,
                    order = next(&mut orders) => order,
                }
            };
            match order {
                Some(RunnerCommand::Run(run)) => {
                    let stopped = async {
                        tokio::select! {
                            () = terminated.cancelled() => AfterRun::End,
                            after = other_order(&mut orders) => after,
                        }
                    };
                    let (end, after) = self.run(*run, &mut output, stopped).await;
                    if say(&mut output, &end.line()).await.is_err() {
                        return 0;
                    }
                    match after {
                        AfterRun::GoOn => {}
                        AfterRun::Then(run) => waiting = Some(run),
                        AfterRun::End => return 0,
                    }
                }
                Some(RunnerCommand::Interrupt {}) => {}
                Some(RunnerCommand::Exit {}) | None => return 0,
            }
        }
    }

    async fn run(
        &self,
        mut run: Run,
        output: &mut DuplexStream,
        stopped: impl Future<Output = AfterRun>,
    ) -> (RunEnd, AfterRun) {
        let home = home_of(&self.environment);
        trust::prevent_auto_trust(&mut run, &self.cwd, home.as_deref());
        let mut files = match RunFiles::write(home.as_deref(), &mut run) {
            Ok(files) => files,
            Err(error) => {
                let stderr = format!("what {NAME} is to read cannot be written: {error}");
                return (RunEnd { code: None, stderr }, AfterRun::GoOn);
            }
        };
        let mut rollout = RunRollout::before_run(home, run.thread.take()).await;
        let mut args: Vec<_> = run.args.into_iter().map(Into::into).collect();
        // Before the word that says what to do next.
        let setup = super::STARTUP_SETTINGS.iter().flat_map(|setting| ["-c".into(), (*setting).into()]);
        args.splice(1..1, setup);
        let launch = Launch {
            program: self.program.clone(),
            args,
            cwd: self.cwd.clone(),
            env: self.environment.clone().into_vec(),
            session: self.session.clone(),
            line_limit: self.line_limit,
        };
        let placeholders = [
            Placeholders::missing_in(&self.cwd, &self.spawner).await,
            Placeholders::missing_in_common(&self.environment, &self.spawner).await,
        ];
        let mut agent = match self.spawner.spawn(launch).await {
            Ok(agent) => agent,
            Err(error) => {
                return (
                    RunEnd { code: None, stderr: format!("{NAME} could not be started: {error}") },
                    AfterRun::GoOn,
                );
            }
        };
        let Agent { input, output: said, handle } = &mut agent;
        let mut after = AfterRun::GoOn;
        let mut stopped = std::pin::pin!(stopped);
        let mut listening = true;
        if input.write_all(run.prompt.as_bytes()).await.is_ok() {
            input.close();
        }
        let mut lines = Vec::new();
        loop {
            tokio::select! {
                count = said.next_batch(&mut lines) => {
                    if count == 0 {
                        break;
                    }
                    // A process that writes has read its settings, so these files can go.
                    files.settings.clear();
                    for line in lines.drain(..) {
                        // The beginning of a line that is over the limit: the protocol cannot read it either, and says so.
                        let text: &[u8] = match &line {
                            Line::Text(text) => text,
                            Line::TooLong { head, .. } => head,
                        };
                        let before = rollout.lines_before(text).await;
                        let written = async {
                            output.write_all(&before).await?;
                            output.write_all(text).await?;
                            output.write_all(b"\n").await
                        };
                        if written.await.is_err() {
                            handle.kill();
                        }
                    }
                }
                stop = &mut stopped, if listening => {
                    (after, listening) = (stop, false);
                    // The next message may come between the end of a turn and the end of its process.
                    if !matches!(after, AfterRun::Then(_)) {
                        handle.terminate();
                    }
                }
            }
        }
        let exit = handle.wait().await;
        drop(files);
        if exit.code != Some(0) {
            placeholders.iter().for_each(Placeholders::remove);
        }
        let stderr = if exit.code == Some(0) { String::new() } else { describe(&exit) };
        (RunEnd { code: exit.code, stderr }, after)
    }
}

/// What follows the end of a process.
#[derive(Debug, PartialEq)]
enum AfterRun {
    GoOn,
    Then(Box<Run>),
    End,
}

/// What comes in while a process runs.
async fn other_order(orders: &mut Orders) -> AfterRun {
    match next(orders).await {
        Some(RunnerCommand::Interrupt {}) => AfterRun::GoOn,
        Some(RunnerCommand::Run(run)) => AfterRun::Then(run),
        Some(RunnerCommand::Exit {}) | None => AfterRun::End,
    }
}

/// The next order. A line that is none is passed over: only our own protocol writes here.
async fn next(orders: &mut Orders) -> Option<RunnerCommand> {
    while let Ok(Some(line)) = orders.next_segment().await {
        if let Ok(order) = serde_json::from_slice(&line) {
            return Some(order);
        }
    }
    None
}

async fn say(output: &mut DuplexStream, line: &Value) -> std::io::Result<()> {
    output.write_all(format!("{line}\n").as_bytes()).await
}
