//! The thread that starts programs.
//!
//! A parent death signal is tied to the *thread* that forked, not to its process. So one thread, which outlives every program it
//! started, does every fork. What becomes of a program afterwards is not here.

mod child;

use std::collections::HashMap;
use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use rustix::fs::{Access, access};
use rustix::io::Errno;
use rustix::process::getpid;
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::runtime;
use tokio::sync::{mpsc, oneshot};
use tokio_util::task::TaskTracker;

use self::child::{Role, prepare};
use super::agent::Supervision;
use super::guard::{self, Word};
use super::supervise::{Alive, Program, Supervisor};
use super::sweep::Sweeper;
use super::{Agent, DAEMON_COOKIE, Error, Input, Instance, Launch, Lines, SESSION_COOKIE};

/// A start takes some milliseconds; whoever comes when this many wait may wait for a place too.
const QUEUE: usize = 64;

/// Starts programs. A cheap handle; the thread behind it ends when the last handle and the last program are gone.
#[derive(Debug, Clone)]
pub struct Spawner {
    requests: mpsc::Sender<Request>,
    sweeper: Sweeper,
    instance: Instance,
    alive: Arc<AtomicUsize>,
}

#[derive(Debug)]
enum Request {
    Start {
        launch: Launch,
        /// Comes with the request and goes to its program's supervisor, so that the thread itself does not keep its queue open.
        spawner: Spawner,
        answer: oneshot::Sender<Result<Agent, Error>>,
    },
    Watch {
        folders: Arc<[PathBuf]>,
        answer: oneshot::Sender<()>,
    },
    Forget {
        folders: Arc<[PathBuf]>,
    },
}

/// Folders that must not stay behind: should the daemon be killed, its guard removes those that are empty. They are forgotten when this is dropped.
#[derive(Debug)]
pub struct Watched {
    folders: Arc<[PathBuf]>,
    requests: mpsc::Sender<Request>,
}

impl Watched {
    pub fn folders(&self) -> &[PathBuf] {
        &self.folders
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        // Where the queue is full they stay watched until the daemon ends. Only what is empty is ever removed.
        drop(self.requests.try_send(Request::Forget { folders: self.folders.clone() }));
    }
}

impl Spawner {
    /// `guard` is the program to run as the guard: the daemon's own.
    pub fn start(guard: PathBuf, tracker: TaskTracker, runtime: runtime::Handle) -> io::Result<Self> {
        let instance = Instance::random();
        let sweeper = Sweeper::start(instance.clone())?;
        let (requests, queue) = mpsc::channel(QUEUE);
        let guard = Guard { program: guard, running: None, watched: HashMap::new() };
        let worker = Worker { guard, instance: instance.clone(), tracker, runtime };
        thread::Builder::new().name("spawner".to_owned()).spawn(move || worker.serve(queue))?;
        Ok(Self { requests, sweeper, instance, alive: Arc::default() })
    }

    /// Starts a program. When the caller does not wait for the answer, the program is ended again.
    pub async fn spawn(&self, launch: Launch) -> Result<Agent, Error> {
        let (answer, started) = oneshot::channel();
        let request = Request::Start { launch, spawner: self.clone(), answer };
        self.requests.send(request).await.map_err(|_| Error::SpawnerEnded)?;
        started.await.map_err(|_| Error::SpawnerEnded)?
    }

    /// Has folders watched. When this returns, they are.
    pub async fn watch(&self, folders: Vec<PathBuf>) -> Watched {
        let watched = Watched { folders: folders.into(), requests: self.requests.clone() };
        let (answer, told) = oneshot::channel();
        if self.requests.send(Request::Watch { folders: watched.folders.clone(), answer }).await.is_ok() {
            let _ = told.await;
        }
        watched
    }

    /// This run of the daemon. Write it down: after a crash, [`sweep_daemon`](super::sweep::sweep_daemon) clears up after it.
    pub fn instance(&self) -> &Instance {
        &self.instance
    }

    /// How many programs are alive.
    pub fn alive(&self) -> usize {
        self.alive.load(Ordering::Relaxed)
    }

    pub(super) fn sweeper(&self) -> &Sweeper {
        &self.sweeper
    }
}

/// What the thread owns.
struct Worker {
    guard: Guard,
    instance: Instance,
    tracker: TaskTracker,
    runtime: runtime::Handle,
}

impl Worker {
    fn serve(mut self, mut queue: mpsc::Receiver<Request>) {
        while let Some(request) = queue.blocking_recv() {
            match request {
                // An agent that nobody waits for is dropped with the answer, and that ends it.
                Request::Start { launch, spawner, answer } => drop(answer.send(self.start(launch, spawner))),
                Request::Watch { folders, answer } => {
                    folders.iter().for_each(|folder| self.guard.watch(folder));
                    let _ = answer.send(());
                }
                Request::Forget { folders } => folders.iter().for_each(|folder| self.guard.forget(folder)),
            }
        }
        self.guard.dismiss();
    }

    fn start(&mut self, launch: Launch, spawner: Spawner) -> Result<Agent, Error> {
        self.guard.ensure(&self.instance)?;
        check_directory(&launch.cwd)?;
        let mut command = agent_command(&launch, &self.instance);
        let child = command.spawn().map_err(|error| spawn_error(&launch, error))?;
        let _inside = self.runtime.enter();
        self.attend(child, &launch, spawner).map_err(|source| Error::Spawn { program: launch.program, source })
    }

    fn attend(&self, mut child: Child, launch: &Launch, spawner: Spawner) -> io::Result<Agent> {
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let program = Program::new(child)?;
        let (handle, supervision, gone) = Supervision::new(Some(program.id()));
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        let input = Input::new(ChildStdin::from_std(stdin)?);
        let output = Lines::new(ChildStdout::from_std(stdout)?, launch.line_limit, gone);
        let supervisor = Supervisor {
            program,
            stderr: ChildStderr::from_std(stderr)?,
            session: launch.session.clone(),
            supervision,
            alive: Alive::one_more(&spawner.alive),
            spawner,
        };
        self.tracker.spawn_on(supervisor.run(), &self.runtime);
        Ok(Agent { input, output, handle })
    }
}

/// The guard process, started before the first agent and again if somebody ended it.
struct Guard {
    program: PathBuf,
    /// Its stdin is the pipe whose end tells it that the daemon is gone.
    running: Option<Child>,
    /// By how many.
    watched: HashMap<PathBuf, usize>,
}

impl Guard {
    fn ensure(&mut self, instance: &Instance) -> Result<(), Error> {
        if let Some(running) = &mut self.running
            && matches!(running.try_wait(), Ok(None))
        {
            return Ok(());
        }
        let started = guard_command(&self.program, instance).spawn();
        self.running = Some(started.map_err(|source| Error::Guard { program: self.program.clone(), source })?);
        let folders: Vec<PathBuf> = self.watched.keys().cloned().collect();
        for folder in folders {
            self.tell(Word::Watch, &folder);
        }
        Ok(())
    }

    fn watch(&mut self, folder: &Path) {
        let by = self.watched.entry(folder.to_owned()).or_default();
        *by += 1;
        if *by == 1 {
            self.tell(Word::Watch, folder);
        }
    }

    fn forget(&mut self, folder: &Path) {
        let Some(by) = self.watched.get_mut(folder) else { return };
        *by -= 1;
        if *by == 0 {
            self.watched.remove(folder);
            self.tell(Word::Forget, folder);
        }
    }

    /// One that is not there is told when it starts. It reads at once, so nobody waits here.
    fn tell(&mut self, word: Word, folder: &Path) {
        if let Some(stdin) = self.running.as_mut().and_then(|running| running.stdin.as_mut()) {
            drop(stdin.write_all(&guard::tell(word, folder)));
        }
    }

    fn dismiss(self) {
        if let Some(mut running) = self.running {
            // Closes its stdin first.
            running.wait().ok();
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the place that starts programs")]
fn agent_command(launch: &Launch, instance: &Instance) -> Command {
    let mut command = Command::new(&launch.program);
    command
        .args(&launch.args)
        .current_dir(&launch.cwd)
        .env_clear()
        .envs(launch.env.iter().map(|(name, value)| (name, value)))
        .env(SESSION_COOKIE, launch.session.as_str())
        .env(DAEMON_COOKIE, instance.as_str())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    prepare(&mut command, Role::Agent { daemon: getpid() });
    command
}

#[expect(clippy::disallowed_methods, reason = "this is the place that starts programs")]
fn guard_command(program: &Path, instance: &Instance) -> Command {
    let mut command = Command::new(program);
    command
        .args(guard::arguments(instance))
        // Anywhere else it would keep a file system busy.
        .current_dir("/")
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    prepare(&mut command, Role::Guard);
    command
}

fn check_directory(cwd: &Path) -> Result<(), Error> {
    let usable = match cwd.metadata() {
        Ok(metadata) if metadata.is_dir() => access(cwd, Access::EXEC_OK).map_err(io::Error::from),
        Ok(_) => Err(io::ErrorKind::NotADirectory.into()),
        Err(error) => Err(error),
    };
    usable.map_err(|source| Error::WorkingDirectory { cwd: cwd.to_owned(), source })
}

fn spawn_error(launch: &Launch, source: io::Error) -> Error {
    let program = launch.program.clone();
    let is = |errno: Errno| source.raw_os_error() == Some(errno.raw_os_error());
    // A script is "not found" also when its interpreter is not. A name without a slash was looked up in PATH.
    let is_there = program.components().count() > 1 && launch.cwd.join(&program).exists();
    if is(Errno::ACCESS) || is(Errno::NOEXEC) || (is(Errno::NOENT) && is_there) {
        Error::NotExecutable { program, source }
    } else if is(Errno::NOENT) || is(Errno::NOTDIR) {
        Error::ProgramNotFound { program }
    } else {
        Error::Spawn { program, source }
    }
}
