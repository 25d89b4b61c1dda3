//! The thread that starts programs.
//!
//! A parent death signal is tied to the *thread* that forked, not to its process. So one thread, which outlives every program it
//! started, does every fork. What becomes of a program afterwards is not here.

mod child;

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsRawFd as _, RawFd};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use rustix::fs::{Access, access};
use rustix::io::Errno;
use rustix::process::{Pid, getpid};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::runtime;
use tokio::sync::{mpsc, oneshot};
use tokio_util::task::TaskTracker;

use self::child::{AsAgent, Role, prepare};
use super::agent::Supervision;
use super::cgroup::{Cgroup, Cgroups};
use super::groups::Groups;
use super::guard::{self, Message};
use super::supervise::{Alive, Program, Supervisor};
use super::sweep::Sweeper;
use super::{Agent, Containment, ControlGroups, DAEMON_COOKIE, Error, Input, Instance, Launch, Lines, SESSION_COOKIE};
use crate::descriptors;

/// A start takes some milliseconds. When this many requests wait, further callers wait for a free place.
const QUEUE: usize = 64;

/// Starts programs. A cheap handle; the thread behind it ends when the last handle and the last program are gone.
#[derive(Debug, Clone)]
pub struct Spawner {
    requests: mpsc::Sender<Request>,
    sweeper: Sweeper,
    instance: Instance,
    containment: Containment,
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
    GroupEnded {
        group: Pid,
        answer: oneshot::Sender<()>,
    },
    WriteGroups {
        file: PathBuf,
        answer: oneshot::Sender<()>,
    },
}

/// Folders that must not stay behind: should the daemon be killed, its guard removes those that are empty. They are forgotten when this is dropped.
#[derive(Debug)]
pub struct WatchedFolders {
    folders: Arc<[PathBuf]>,
    requests: mpsc::Sender<Request>,
}

impl WatchedFolders {
    pub fn folders(&self) -> &[PathBuf] {
        &self.folders
    }
}

impl Drop for WatchedFolders {
    fn drop(&mut self) {
        // Where the queue is full they stay watched until the daemon ends. Only what is empty is ever removed.
        drop(self.requests.try_send(Request::Forget { folders: self.folders.clone() }));
    }
}

impl Spawner {
    /// `guard` is the program to run as the guard: the daemon's own.
    pub fn start(
        guard: PathBuf,
        control_groups: ControlGroups,
        tracker: TaskTracker,
        runtime: runtime::Handle,
    ) -> io::Result<Self> {
        let instance = Instance::random();
        let sweeper = Sweeper::start(instance.clone())?;
        let (requests, queue) = mpsc::channel(QUEUE);
        let guard = Guard { program: guard, running: None, watched: HashMap::new(), groups: HashSet::new() };
        let made = match control_groups {
            ControlGroups::WherePossible => Cgroups::make(&instance),
            ControlGroups::Never => Err("control groups are turned off in the settings".to_owned()),
        };
        let (cgroups, containment) = match made {
            Ok(cgroups) => {
                let folder = cgroups.folder().to_owned();
                (Some(cgroups), Containment::ControlGroup { folder })
            }
            Err(why) => (None, Containment::ProcessGroup { why }),
        };
        let worker = Worker { guard, groups: Groups::default(), cgroups, instance: instance.clone(), tracker, runtime };
        thread::Builder::new().name("spawner".to_owned()).spawn(move || worker.serve(queue))?;
        Ok(Self { requests, sweeper, instance, containment, alive: Arc::default() })
    }

    /// Starts a program. When the caller does not wait for the answer, the program is ended again.
    pub async fn spawn(&self, launch: Launch) -> Result<Agent, Error> {
        let (answer, started) = oneshot::channel();
        let request = Request::Start { launch, spawner: self.clone(), answer };
        self.requests.send(request).await.map_err(|_| Error::SpawnerEnded)?;
        started.await.map_err(|_| Error::SpawnerEnded)?
    }

    /// Has folders watched. When this returns, they are.
    pub async fn watch(&self, folders: Vec<PathBuf>) -> WatchedFolders {
        let watched = WatchedFolders { folders: folders.into(), requests: self.requests.clone() };
        let (answer, told) = oneshot::channel();
        if self.requests.send(Request::Watch { folders: watched.folders.clone(), answer }).await.is_ok() {
            let _ = told.await;
        }
        watched
    }

    /// Has the groups of agents written down: after a crash, [`end_previous`](super::groups::end_previous) ends what is left of them.
    pub async fn write_groups(&self, file: PathBuf) {
        let (answer, told) = oneshot::channel();
        if self.requests.send(Request::WriteGroups { file, answer }).await.is_ok() {
            let _ = told.await;
        }
    }

    /// This run of the daemon. Write it down: after a crash, [`sweep_daemon`](super::sweep::sweep_daemon) clears up after it.
    pub fn instance(&self) -> &Instance {
        &self.instance
    }

    /// What keeps hold of what agents start.
    pub fn containment(&self) -> &Containment {
        &self.containment
    }

    /// A group was killed, and its leader is about to be reaped. When this returns, the guard knows.
    pub(super) async fn group_ended(&self, group: Pid) {
        let (answer, told) = oneshot::channel();
        if self.requests.send(Request::GroupEnded { group, answer }).await.is_ok() {
            let _ = told.await;
        }
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
    groups: Groups,
    cgroups: Option<Cgroups>,
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
                Request::GroupEnded { group, answer } => {
                    self.guard.group_ended(group);
                    self.groups.ended(group);
                    let _ = answer.send(());
                }
                Request::WriteGroups { file, answer } => {
                    self.groups.write_to(file);
                    let _ = answer.send(());
                }
            }
        }
        self.guard.shut_down();
    }

    fn start(&mut self, launch: Launch, spawner: Spawner) -> Result<Agent, Error> {
        let guard = self.guard.ensure(&self.instance)?;
        check_directory(&launch.cwd)?;
        let failed = |source| Error::Spawn { program: launch.program.clone(), source };
        let cgroup = self.cgroups.as_ref().map(Cgroups::group).transpose().map_err(failed)?;
        let join_file = cgroup.as_ref().map(Cgroup::join_file).transpose().map_err(failed)?;
        let cgroup_file = join_file.as_ref().map(File::as_raw_fd);
        let role = AsAgent { daemon: getpid(), guard, cgroup: cgroup_file, files: descriptors::original_limit() };
        let mut command = agent_command(&launch, &self.instance, role);
        let child = command.spawn().map_err(|error| spawn_error(&launch, error))?;
        self.guard.group_started(Pid::from_child(&child));
        self.groups.started(Pid::from_child(&child));
        if let Some(cgroup) = &cgroup
            && !cgroup.holds(child.id())
        {
            tracing::warn!(program = %launch.program.display(), "an agent could not be put into its control group; what it starts is found by its environment");
        }
        let _inside = self.runtime.enter();
        self.supervise_child(child, cgroup, &launch, spawner)
            .map_err(|source| Error::Spawn { program: launch.program, source })
    }

    fn supervise_child(
        &self,
        mut child: Child,
        cgroup: Option<Cgroup>,
        launch: &Launch,
        spawner: Spawner,
    ) -> io::Result<Agent> {
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
            cgroup,
            supervision,
            alive: Alive::count_one(&spawner.alive),
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
    /// How many watchers each folder has.
    watched: HashMap<PathBuf, usize>,
    /// Of agents that run. An agent tells the guard itself; this is for a guard that replaces another.
    groups: HashSet<Pid>,
}

impl Guard {
    /// Starts the guard if it is not running, and returns the pipe to it.
    fn ensure(&mut self, instance: &Instance) -> Result<RawFd, Error> {
        if !matches!(self.running.as_mut().map(Child::try_wait), Some(Ok(None))) {
            let started = guard_command(&self.program, instance).spawn();
            self.running = Some(started.map_err(|source| self.error(source))?);
            let folders = self.watched.keys().map(|folder| Message::Watch(folder).encode());
            let groups = self.groups.iter().map(|group| Message::GroupStarted(*group).encode());
            let message: Vec<u8> = folders.chain(groups).flatten().collect();
            self.write(&message);
        }
        let stdin = self.running.as_ref().and_then(|running| running.stdin.as_ref());
        stdin.map(std::os::fd::AsRawFd::as_raw_fd).ok_or_else(|| self.error(io::ErrorKind::BrokenPipe.into()))
    }

    fn error(&self, source: io::Error) -> Error {
        Error::Guard { program: self.program.clone(), source }
    }

    fn group_started(&mut self, group: Pid) {
        self.groups.insert(group);
    }

    fn group_ended(&mut self, group: Pid) {
        self.groups.remove(&group);
        self.send(Message::GroupEnded(group));
    }

    fn watch(&mut self, folder: &Path) {
        let by = self.watched.entry(folder.to_owned()).or_default();
        *by += 1;
        if *by == 1 {
            self.send(Message::Watch(folder));
        }
    }

    fn forget(&mut self, folder: &Path) {
        let Some(by) = self.watched.get_mut(folder) else { return };
        *by -= 1;
        if *by == 0 {
            self.watched.remove(folder);
            self.send(Message::Forget(folder));
        }
    }

    /// A guard that is not running gets the message when it starts. It reads at once, so this does not block.
    fn send(&mut self, message: Message<'_>) {
        self.write(&message.encode());
    }

    fn write(&mut self, message: &[u8]) {
        if let Some(stdin) = self.running.as_mut().and_then(|running| running.stdin.as_mut()) {
            drop(stdin.write_all(message));
        }
    }

    fn shut_down(self) {
        if let Some(mut running) = self.running {
            // Closes its stdin first.
            running.wait().ok();
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the place that starts programs")]
fn agent_command(launch: &Launch, instance: &Instance, role: AsAgent) -> Command {
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
    prepare(&mut command, Role::Agent(role));
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
