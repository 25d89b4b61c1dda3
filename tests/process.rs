//! Real programs, started and ended.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "the helpers of a test may fail it")]

use std::ffi::OsString;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures_util::FutureExt as _;
use rustix::process::{Pid, PidfdFlags, Resource, Rlimit, Signal, getrlimit, kill_process, pidfd_open, setrlimit};
use tokio::net::unix::pipe;
use tokio_util::task::TaskTracker;
use turnloom::config::Config;
use turnloom::descriptors;
use turnloom::process::groups::end_previous;
use turnloom::process::sweep::{Swept, sweep_daemon};
use turnloom::process::{
    Containment, ControlGroups, DEFAULT_LINE_LIMIT, Error, Exit, Instance, Launch, Line, Lines, Spawner,
};
use turnloom_core::id::SessionId;

/// Long enough for a machine that does other things as well.
const DEADLINE: Duration = Duration::from_secs(30);

const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Starts a process in a session of its own and says its pid; goes on when it has left the group and holds no pipe of its parent.
const ESCAPE: &str = "echo $(setsid sh -c 'echo $$; exec sleep 1000 >/dev/null' &)";

/// Starts a process in its own group, without a cookie, and says its pid.
const FORGET: &str = "env -i sleep 1000 & echo $!";

/// Both: only a control group knows of it.
const ESCAPE_AND_FORGET: &str = "echo $(setsid env -i sh -c 'echo $$; exec sleep 1000 >/dev/null' &)";

/// Makes the test program act as a daemon.
const ACT_AS_DAEMON: &str = "TEST_ACT_AS_DAEMON";
/// Whether that daemon may use control groups.
const WITH_CONTROL_GROUPS: &str = "TEST_WITH_CONTROL_GROUPS";

fn spawner() -> Spawner {
    spawner_with(ControlGroups::Never)
}

fn spawner_with(control_groups: ControlGroups) -> Spawner {
    let guard = PathBuf::from(env!("CARGO_BIN_EXE_turnloom"));
    Spawner::start(guard, control_groups, TaskTracker::new(), tokio::runtime::Handle::current()).unwrap()
}

/// With a session of its own.
fn launch(program: impl Into<PathBuf>, args: &[&str]) -> Launch {
    Launch {
        program: program.into(),
        args: args.iter().map(OsString::from).collect(),
        cwd: "/".into(),
        env: vec![("PATH".into(), PATH.into())],
        session: SessionId::trusted(Instance::random().as_str()),
        line_limit: DEFAULT_LINE_LIMIT,
    }
}

fn sh(script: &str) -> Launch {
    launch("sh", &["-c", script])
}

async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(DEADLINE, future).await.expect("within the deadline")
}

fn text(line: Line) -> String {
    match line {
        Line::Text(bytes) => String::from_utf8(bytes.to_vec()).unwrap(),
        Line::TooLong { .. } => panic!("{line:?}"),
    }
}

async fn next_lines(output: &mut Lines) -> Vec<String> {
    let mut lines = Vec::new();
    within(output.next_batch(&mut lines)).await;
    lines.into_iter().map(text).collect()
}

async fn all_lines(output: &mut Lines) -> Vec<String> {
    let mut lines = Vec::new();
    while within(output.next_batch(&mut lines)).await > 0 {}
    lines.into_iter().map(text).collect()
}

fn exit(code: i32) -> Exit {
    Exit { code: Some(code), signal: None, stderr_tail: String::new() }
}

fn killed() -> Exit {
    Exit { code: None, signal: Some(Signal::KILL.as_raw()), stderr_tail: String::new() }
}

/// A process that is not our child, and its end. Its number cannot go to another one without notice.
struct Witness(Option<pipe::Receiver>);

impl Witness {
    fn of(pid: &str) -> Self {
        let pid = Pid::from_raw(pid.parse().unwrap()).unwrap();
        let process = pidfd_open(pid, PidfdFlags::NONBLOCK).ok();
        Self(process.map(|fd| pipe::Receiver::from_owned_fd_unchecked(fd).unwrap()))
    }

    fn is_alive(&self) -> bool {
        self.0.as_ref().is_some_and(|process| process.readable().now_or_never().is_none())
    }

    async fn ended(self) {
        if let Some(process) = self.0 {
            within(process.readable()).await.unwrap();
        }
    }
}

fn guard_of(instance: &str) -> Option<String> {
    std::fs::read_dir("/proc").unwrap().flatten().find_map(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).ok()?;
        line.ends_with(format!("\0guard\0{instance}\0").as_bytes()).then(|| entry.file_name().into_string().unwrap())
    })
}

#[tokio::test]
async fn lines_go_in_and_come_out() {
    let spawner = spawner();
    let mut agent = spawner.spawn(launch("cat", &[])).await.unwrap();
    assert_eq!(spawner.alive(), 1);
    assert!(Witness::of(&agent.handle.pid().unwrap().to_string()).is_alive());
    agent.input.write_all(b"one\n").await.unwrap();
    assert_eq!(next_lines(&mut agent.output).await, ["one"]);
    agent.input.write_all(b"two\r\nthree").await.unwrap();
    agent.input.close();
    assert_eq!(all_lines(&mut agent.output).await, ["two", "three"]);
    assert_eq!(within(agent.handle.wait()).await, exit(0));
    assert_eq!(spawner.alive(), 0);
}

#[tokio::test]
async fn more_than_the_pipes_hold_goes_through_one_task() {
    let mut agent = spawner().spawn(launch("cat", &[])).await.unwrap();
    let line = format!("{}\n", "x".repeat(999)).into_bytes();
    for _ in 0..2_000 {
        agent.input.queue(&line).unwrap();
    }
    let mut lines = Vec::new();
    while lines.len() < 2_000 {
        let waiting = agent.input.is_waiting();
        tokio::select! {
            flushed = agent.input.flush(), if waiting => flushed.unwrap(),
            added = within(agent.output.next_batch(&mut lines)) => assert!(added > 0),
        }
    }
    assert!(lines.iter().all(|line| matches!(line, Line::Text(bytes) if bytes.len() == 999)));
}

#[tokio::test]
async fn the_environment_is_the_given_one_and_the_cookies() {
    let spawner = spawner();
    let mut launch = launch("/usr/bin/env", &[]);
    launch.env = vec![("A".into(), "1".into()), ("TURNLOOM_DAEMON".into(), "forged".into())];
    let session = launch.session.clone();
    let mut agent = spawner.spawn(launch).await.unwrap();
    let mut lines = all_lines(&mut agent.output).await;
    lines.sort();
    let daemon = format!("TURNLOOM_DAEMON={}", spawner.instance().as_str());
    assert_eq!(lines, ["A=1".to_owned(), daemon, format!("TURNLOOM_SESSION={session}")]);
}

#[tokio::test]
async fn the_surroundings_are_clean() {
    check_surroundings(&spawner()).await;
}

async fn check_surroundings(spawner: &Spawner) {
    let directory = tempfile::tempdir().unwrap();
    // Ignored and blocked signals, the limit on core files, the group, the open files (`ls` opens one more), and the directory.
    // The signals are those of a child, because a shell that starts one blocks them for a moment.
    let signals = "sed -n 's/^SigIgn:.//p; s/^SigBlk:.//p' /proc/self/status";
    let script = format!("{signals}; ulimit -c; cut -d ' ' -f 5 /proc/$$/stat; ls /proc/self/fd | wc -l; pwd");
    let mut launch = sh(&script);
    launch.cwd = directory.path().canonicalize().unwrap();
    let cwd = launch.cwd.to_str().unwrap().to_owned();
    let mut agent = spawner.spawn(launch).await.unwrap();
    let pid = agent.handle.pid().unwrap().to_string();
    let lines = all_lines(&mut agent.output).await;
    let (signals, rest) = lines.split_at(2);
    for set in signals {
        // 32 and 33 belong to the C library, which does not let anybody change them.
        assert_eq!(u64::from_str_radix(set, 16).unwrap() & !(0b11 << 31), 0, "{lines:?}");
    }
    assert_eq!(rest, ["0", &pid, "4", &cwd]);
}

#[tokio::test]
async fn a_flood_on_stderr_blocks_nothing() {
    let script = "head -c 10000000 /dev/zero | tr '\\0' x >&2; echo done; echo last words >&2";
    let mut agent = spawner().spawn(sh(script)).await.unwrap();
    assert_eq!(all_lines(&mut agent.output).await, ["done"]);
    let exit = within(agent.handle.wait()).await;
    assert_eq!(exit.code, Some(0));
    assert!(exit.stderr_tail.ends_with("xlast words\n"), "{}", exit.stderr_tail);
    assert_eq!(exit.stderr_tail.len(), 8 * 1024);
}

#[tokio::test]
async fn a_line_over_the_limit_is_described() {
    let mut launch = sh("head -c 3000 /dev/zero | tr '\\0' x; echo; echo next");
    launch.line_limit = 2000;
    let mut agent = spawner().spawn(launch).await.unwrap();
    let mut lines = Vec::new();
    while within(agent.output.next_batch(&mut lines)).await > 0 {}
    let sha256 = turnloom_core::blob::BlobId::of(&[b'x'; 3000]).to_string();
    let long = Line::TooLong { size: 3000, sha256, head: vec![b'x'; 1024].into() };
    assert_eq!(lines, [long, Line::Text("next".into())]);
}

#[tokio::test]
async fn terminate_asks_the_whole_group() {
    let mut agent = spawner().spawn(sh("trap 'echo bye; exit 7' TERM; sleep 1000 & echo $!; wait")).await.unwrap();
    let [child] = next_lines(&mut agent.output).await.try_into().unwrap();
    let child = Witness::of(&child);
    agent.handle.terminate();
    assert_eq!(all_lines(&mut agent.output).await, ["bye"]);
    assert_eq!(within(agent.handle.wait()).await.code, Some(7));
    child.ended().await;
}

#[tokio::test]
async fn kill_ends_what_ignores_terminate() {
    let mut agent = spawner().spawn(sh("trap '' TERM; echo ready; while :; do sleep 1000; done")).await.unwrap();
    assert_eq!(next_lines(&mut agent.output).await, ["ready"]);
    agent.handle.terminate();
    assert!(agent.handle.wait().now_or_never().is_none());
    agent.handle.kill();
    agent.handle.terminate();
    assert_eq!(within(agent.handle.wait()).await, killed());
}

#[tokio::test]
async fn kill_ends_what_left_the_group() {
    let mut agent = spawner().spawn(sh(&format!("{ESCAPE}; cat"))).await.unwrap();
    let [escaped] = next_lines(&mut agent.output).await.try_into().unwrap();
    let escaped = Witness::of(&escaped);
    assert!(escaped.is_alive());
    agent.handle.kill();
    assert_eq!(within(agent.handle.wait()).await, killed());
    escaped.ended().await;
    assert!(all_lines(&mut agent.output).await.is_empty());
}

#[tokio::test]
async fn an_agent_that_exits_leaves_nothing() {
    let script = format!("{ESCAPE}; sleep 1000 & echo $!; env -i sleep 1000 & echo $!; exit 3");
    let mut agent = spawner().spawn(sh(&script)).await.unwrap();
    assert_eq!(within(agent.handle.wait()).await, exit(3));
    let pids = all_lines(&mut agent.output).await;
    assert_eq!(pids.len(), 3);
    for pid in pids {
        Witness::of(&pid).ended().await;
    }
}

fn has_control_groups(spawner: &Spawner) -> bool {
    matches!(spawner.containment(), Containment::ControlGroup { .. })
}

/// Says that something could not be tried here, past what holds back the words of tests that pass.
fn tell_untried(test: &str, containment: &Containment) {
    let Containment::ProcessGroup { why } = containment else { return };
    let words = format!("SKIPPED {test}: no control groups here, because {why}\n");
    std::io::stderr().write_all(words.as_bytes()).unwrap();
}

/// Where this machine lets us make control groups; elsewhere the reason is said. What needs no kernel is tried in `process/cgroup.rs`.
#[tokio::test]
async fn nothing_gets_out_of_a_control_group() {
    let spawner = spawner_with(ControlGroups::WherePossible);
    let Containment::ControlGroup { folder } = spawner.containment().clone() else {
        return tell_untried("nothing_gets_out_of_a_control_group", spawner.containment());
    };
    let neighbour = spawner.spawn(sh("echo; cat")).await.unwrap();
    let script = format!("{ESCAPE_AND_FORGET}; {FORGET}; exit 3");
    let mut agent = spawner.spawn(sh(&script)).await.unwrap();
    assert_eq!(within(agent.handle.wait()).await, exit(3));
    let pids = all_lines(&mut agent.output).await;
    assert_eq!(pids.len(), 2);
    for pid in pids {
        Witness::of(&pid).ended().await;
    }
    assert!(Witness::of(&neighbour.handle.pid().unwrap().to_string()).is_alive());
    let agents = || std::fs::read_dir(&folder).unwrap().flatten().filter(|entry| entry.path().is_dir()).count();
    assert_eq!(agents(), 1, "the group of an agent that ended is gone");
    let neighbour = neighbour.handle;
    neighbour.kill();
    within(neighbour.wait()).await;
    let guard = Witness::of(&guard_of(spawner.instance().as_str()).unwrap());
    drop(spawner);
    guard.ended().await;
    assert!(!folder.exists(), "and so is the daemon's");
}

#[tokio::test]
async fn a_dropped_handle_kills() {
    let mut agent = spawner().spawn(sh(&format!("{ESCAPE}; echo $$; cat"))).await.unwrap();
    let mut pids = Vec::new();
    while pids.len() < 2 {
        pids.extend(next_lines(&mut agent.output).await);
    }
    drop(agent.handle);
    for pid in pids {
        Witness::of(&pid).ended().await;
    }
    assert!(all_lines(&mut agent.output).await.is_empty());
}

#[tokio::test]
async fn one_session_ends_without_its_neighbour() {
    let spawner = spawner();
    let mut ends = spawner.spawn(sh("echo; cat")).await.unwrap();
    let mut stays = spawner.spawn(sh(&format!("{ESCAPE}; cat"))).await.unwrap();
    let [escaped] = next_lines(&mut stays.output).await.try_into().unwrap();
    let escaped = Witness::of(&escaped);
    next_lines(&mut ends.output).await;
    ends.handle.kill();
    within(ends.handle.wait()).await;
    assert!(escaped.is_alive());
    stays.input.write_all(b"here\n").await.unwrap();
    assert_eq!(next_lines(&mut stays.output).await, ["here"]);
    stays.handle.kill();
    within(stays.handle.wait()).await;
}

#[tokio::test]
async fn many_at_once_leave_nothing() {
    let spawner = spawner();
    let agents = (0..50).map(|n| {
        let spawner = &spawner;
        async move {
            let mut agent = spawner.spawn(sh(&format!("{ESCAPE}; exit {n}"))).await.unwrap();
            assert_eq!(within(agent.handle.wait()).await, exit(n));
            all_lines(&mut agent.output).await
        }
    });
    let escaped = futures_util::future::join_all(agents).await.concat();
    assert_eq!(escaped.len(), 50);
    for pid in escaped {
        Witness::of(&pid).ended().await;
    }
    assert_eq!(spawner.alive(), 0);
}

#[tokio::test]
async fn errors_name_the_cause() {
    let spawner = spawner();
    let directory = tempfile::tempdir().unwrap();
    let plain = directory.path().join("plain");
    std::fs::write(&plain, "text").unwrap();
    let orphan = directory.path().join("orphan");
    std::fs::write(&orphan, "#!/no/such/interpreter\n").unwrap();
    std::fs::set_permissions(&orphan, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();

    let error = |launch| async { spawner.spawn(launch).await.err().unwrap() };
    let found = error(launch("no-such-program", &[])).await;
    assert!(matches!(found, Error::ProgramNotFound { .. }));
    assert_eq!(found.to_string(), "no-such-program was not found; install it, or name it by its full path");
    assert!(matches!(error(launch("/no/such/program", &[])).await, Error::ProgramNotFound { .. }));
    assert!(matches!(error(launch(&plain, &[])).await, Error::NotExecutable { .. }));
    assert!(matches!(error(launch(&orphan, &[])).await, Error::NotExecutable { .. }));
    assert!(matches!(error(launch("/", &[])).await, Error::NotExecutable { .. }));
    assert!(matches!(error(launch("cat", &["nul\0"])).await, Error::Spawn { .. }));
    for cwd in [Path::new("/no/such/directory"), &plain] {
        let launch = Launch { cwd: cwd.to_owned(), ..launch("cat", &[]) };
        assert!(matches!(error(launch).await, Error::WorkingDirectory { cwd: named, .. } if named == cwd));
    }
    assert_eq!(spawner.alive(), 0);
}

#[tokio::test]
async fn no_agent_without_a_guard() {
    let runtime = tokio::runtime::Handle::current();
    let spawner = Spawner::start("/no/such/guard".into(), ControlGroups::Never, TaskTracker::new(), runtime);
    assert!(matches!(spawner.unwrap().spawn(launch("cat", &[])).await, Err(Error::Guard { .. })));
}

#[tokio::test]
async fn a_lost_guard_is_replaced_and_the_last_one_ends_with_the_spawner() {
    let spawner = spawner();
    let instance = spawner.instance().as_str().to_owned();
    assert_eq!(guard_of(&instance), None);
    drop(spawner.spawn(launch("true", &[])).await.unwrap());
    let first = guard_of(&instance).unwrap();
    let pid = Pid::from_raw(first.parse().unwrap()).unwrap();
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        kill_process(pid, signal).unwrap();
    }
    drop(spawner.spawn(launch("true", &[])).await.unwrap());
    assert_eq!(guard_of(&instance), Some(first.clone()), "deaf to what ends a daemon");
    kill_process(pid, Signal::KILL).unwrap();
    Witness::of(&first).ended().await;
    drop(spawner.spawn(launch("true", &[])).await.unwrap());
    let second = guard_of(&instance).unwrap();
    assert_ne!(first, second);
    let second = Witness::of(&second);
    drop(spawner);
    second.ended().await;
}

#[tokio::test]
async fn writing_to_what_ended_is_an_error() {
    let mut agent = spawner().spawn(launch("true", &[])).await.unwrap();
    assert_eq!(within(agent.handle.wait()).await, exit(0));
    assert!(matches!(agent.input.write_all(b"hello\n").await, Err(Error::InputBroken { .. })));
    agent.input.close();
    assert!(matches!(agent.input.write_all(b"hello\n").await, Err(Error::InputClosed)));
}

#[tokio::test]
async fn waiting_can_be_cancelled_and_repeated() {
    let agent = spawner().spawn(sh("cat; echo why >&2; exit 5")).await.unwrap();
    assert!(agent.handle.wait().now_or_never().is_none());
    drop(agent.input);
    let expected = Exit { stderr_tail: "why\n".to_owned(), ..exit(5) };
    let both = futures_util::future::join(agent.handle.wait(), agent.handle.wait());
    assert_eq!(within(both).await, (expected.clone(), expected.clone()));
    assert_eq!(agent.handle.wait().now_or_never(), Some(expected));
}

#[tokio::test]
async fn nothing_survives_a_killed_daemon() {
    check_killed_daemon(ControlGroups::Never).await;
}

#[tokio::test]
async fn nothing_survives_a_killed_daemon_with_control_groups() {
    let containment = spawner_with(ControlGroups::WherePossible).containment().clone();
    tell_untried("the control groups of nothing_survives_a_killed_daemon", &containment);
    check_killed_daemon(ControlGroups::WherePossible).await;
}

async fn check_killed_daemon(control_groups: ControlGroups) {
    // In bad surroundings, which it must not pass on.
    let mut launch = sh("trap '' INT USR1; exec 9</dev/null; exec \"$TEST\" --exact acts_as_daemon --nocapture");
    launch.env.push(("TEST".into(), std::env::current_exe().unwrap().into()));
    let folders = tempfile::tempdir().unwrap();
    let path = |name: &str| folders.path().join(name);
    for name in ["early", "late", "forgotten", "used/by somebody"] {
        std::fs::create_dir_all(path(name)).unwrap();
    }
    launch.env.push((ACT_AS_DAEMON.into(), folders.path().into()));
    if control_groups == ControlGroups::WherePossible {
        launch.env.push((WITH_CONTROL_GROUPS.into(), "1".into()));
    }
    let mut daemon = spawner().spawn(launch).await.unwrap();
    let report = loop {
        let lines = next_lines(&mut daemon.output).await;
        assert!(!lines.is_empty(), "the daemon ended: {}", daemon.handle.wait().await.stderr_tail);
        if let Some((_, report)) = lines.iter().find_map(|line| line.split_once("report ")) {
            break report.to_owned();
        }
    };
    let witnesses: Vec<Witness> = report.split(' ').map(Witness::of).collect();
    assert!(witnesses.len() >= 4);
    assert!(witnesses.iter().all(Witness::is_alive));
    let pid = Pid::from_raw(daemon.handle.pid().unwrap().try_into().unwrap()).unwrap();
    kill_process(pid, Signal::KILL).unwrap();
    for witness in witnesses {
        witness.ended().await;
    }
    assert!(!path("early").exists() && !path("late").exists(), "nor does what was watched");
    assert!(path("forgotten").exists() && path("used/by somebody").exists());
}

/// Not a test but the daemon of the one above.
#[tokio::test]
async fn acts_as_daemon() {
    let Some(folders) = std::env::var_os(ACT_AS_DAEMON) else { return };
    let folder = |name: &str| vec![PathBuf::from(&folders).join(name)];
    // It was itself started by a daemon, so it carries cookies; a sweep spares whoever makes it.
    let own = Instance::trusted(std::env::var("TURNLOOM_DAEMON").unwrap());
    assert_eq!(sweep_daemon(&own), Swept::Clean);

    let with_control_groups = std::env::var_os(WITH_CONTROL_GROUPS).is_some();
    let spawner = spawner_with(if with_control_groups { ControlGroups::WherePossible } else { ControlGroups::Never });
    // Before there is a guard, and after.
    let _early = [spawner.watch(folder("early")).await, spawner.watch(folder("used")).await];
    check_surroundings(&spawner).await;
    let _late = spawner.watch(folder("late")).await;
    drop([spawner.watch(folder("late")).await, spawner.watch(folder("forgotten")).await]);
    let lost = if has_control_groups(&spawner) { ESCAPE_AND_FORGET } else { ":" };
    let mut agent = spawner.spawn(sh(&format!("{ESCAPE}; {FORGET}; {lost}; echo; cat"))).await.unwrap();
    let mut pids = Vec::new();
    while pids.last() != Some(&String::new()) {
        pids.extend(next_lines(&mut agent.output).await);
    }
    let guard = guard_of(spawner.instance().as_str()).unwrap();
    println!("report {} {guard} {}", agent.handle.pid().unwrap(), pids.join(" ").trim_end());
    agent.handle.wait().await;
}

#[tokio::test]
async fn an_agent_gets_the_limit_of_files_that_the_daemon_was_given() {
    let maximum = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: Some(1_000), maximum }).unwrap();
    let _ = descriptors::raise(&Config::default());
    assert!(getrlimit(Resource::Nofile).current.is_none_or(|soft| soft > 1_000));
    let mut agent = within(spawner().spawn(sh("ulimit -Sn"))).await.unwrap();
    assert_eq!(all_lines(&mut agent.output).await, ["1000"]);
}

#[tokio::test]
async fn groups_that_were_written_down_are_ended_by_the_next_daemon() {
    let place = tempfile::tempdir().unwrap();
    let (file, stale) = (place.path().join("groups"), place.path().join("stale"));
    let spawner = spawner();
    spawner.write_groups(file.clone()).await;
    // It has no cookie, and stays in the group.
    let mut agent = within(spawner.spawn(sh(&format!("{FORGET}; cat")))).await.unwrap();
    let forgotten = next_lines(&mut agent.output).await.remove(0);
    let written = std::fs::read_to_string(&file).unwrap();
    let leader = agent.handle.pid().unwrap().to_string();
    let line = written.lines().find(|line| line.starts_with(&format!("{leader} "))).unwrap();
    // The number of another one, of another boot, or of a leader that started later.
    let later = written.replace(line, &format!("{leader} 1"));
    for wrong in [later, written.replacen('-', "+", 1), format!("{leader} 1\n"), "x\ny z\n".to_owned()] {
        std::fs::write(&stale, wrong).unwrap();
        end_previous(&stale);
    }
    assert!(Witness::of(&forgotten).is_alive() && Witness::of(&leader).is_alive());
    end_previous(&file);
    Witness::of(&forgotten).ended().await;
    assert_eq!(within(agent.handle.wait()).await, killed());
    let left = std::fs::read_to_string(&file).unwrap();
    assert!(!left.contains(line), "who has ended is not written down any more: {left}");
}
