//! The program under test, and the directory it uses. Everything that is started here is ended here.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

pub(crate) use crate::eventually::{PATIENCE as DEADLINE, eventually};

/// A data directory, and the program to use it.
pub(crate) struct Home(pub(crate) TempDir);

impl Home {
    pub(crate) fn new() -> Self {
        let home = Self(TempDir::new().unwrap());
        // A repository of its own: whatever stands above it is not the project.
        std::fs::create_dir_all(home.project().join(".git")).unwrap();
        std::fs::write(home.project().join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        home
    }

    /// Where the person is.
    pub(crate) fn project(&self) -> PathBuf {
        self.0.path().join("project")
    }

    /// What is in the data directory beside that.
    pub(crate) fn data(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).unwrap().flatten();
        let names = entries.map(|entry| entry.file_name().into_string().unwrap());
        names.filter(|name| name != "project").collect()
    }

    #[expect(clippy::disallowed_methods, reason = "this is the person, not the daemon")]
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_turnloom"));
        command.args(args).env_clear().env("PATH", "/usr/bin:/bin").env("TURNLOOM_DATA", self.0.path());
        command
            .env("HOME", self.0.path())
            .current_dir(self.project())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        self.end(self.command(args))
    }

    /// Runs a command to its end.
    #[expect(clippy::unused_self, reason = "a program ends before its directory does")]
    pub(crate) fn end(&self, mut command: Command) -> Ran {
        Running(command.spawn().unwrap()).end()
    }

    pub(crate) fn pipe(&self, args: &[&str], input: &str) -> Ran {
        let mut child = self.command(args).stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        Running(child).end()
    }

    /// A daemon that is up.
    pub(crate) fn up(&self, args: &[&str]) -> Up {
        self.up_by(self.command(&[&["up", "--port", "0", "--no-open"], args].concat()))
    }

    /// A daemon that this command starts.
    #[expect(clippy::unused_self, reason = "a program ends before its directory does")]
    pub(crate) fn up_by(&self, mut command: Command) -> Up {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let line = line_with(&mut out, "http://");
        let url = line.split_whitespace().find(|word| word.starts_with("http://")).unwrap();
        let url = url.split("/login").next().unwrap().to_owned();
        Up { running: Running(child), _out: out, url }
    }

    /// Waits until a program that was just started has made a session.
    pub(crate) fn await_session(&self) {
        eventually("a daemon is there", || self.0.path().join("daemon.json").exists().then_some(()));
        eventually("a session is there", || (!self.run(&["sessions"]).code(0).out().is_empty()).then_some(()));
    }

    /// Waits for an event by following the log until it is there.
    pub(crate) fn await_event(&self, session: &str, kind: &str) -> Value {
        let mut child = self.command(&["events", session, "--follow", "--json", "--types", kind]).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let follower = Running(child);
        let (sender, line) = std::sync::mpsc::channel();
        let reader = std::thread::spawn(move || {
            let mut line = String::new();
            out.read_line(&mut line).unwrap();
            sender.send(line).unwrap();
        });
        let line = line.recv_timeout(DEADLINE);
        drop(follower);
        reader.join().unwrap();
        serde_json::from_str(&line.expect("an event within the deadline")).unwrap()
    }
}

/// A program that runs, and does not outlive its test.
pub(crate) struct Running(pub(crate) Child);

impl Running {
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).unwrap();
    }

    /// Waits for it to end. What it printed is read meanwhile, so that it never waits for us.
    pub(crate) fn end(mut self) -> Ran {
        fn all(stream: Option<impl std::io::Read + Send + 'static>) -> std::thread::JoinHandle<Vec<u8>> {
            std::thread::spawn(move || {
                let mut bytes = Vec::new();
                stream.map(|mut stream| stream.read_to_end(&mut bytes));
                bytes
            })
        }
        let (out, err) = (all(self.0.stdout.take()), all(self.0.stderr.take()));
        let status = eventually("the program ends", || self.0.try_wait().unwrap());
        Ran(Output { status, stdout: out.join().unwrap(), stderr: err.join().unwrap() })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

pub(crate) struct Up {
    pub(crate) running: Running,
    /// Held, so that the daemon can print.
    _out: BufReader<ChildStdout>,
    pub(crate) url: String,
}

/// A program that has ended.
pub(crate) struct Ran(Output);

impl Ran {
    #[track_caller]
    pub(crate) fn code(self, code: i32) -> Self {
        assert_eq!(self.0.status.code(), Some(code), "{}\n{}", self.out(), self.err());
        self
    }

    pub(crate) fn out(&self) -> String {
        String::from_utf8(self.0.stdout.clone()).unwrap()
    }

    pub(crate) fn err(&self) -> String {
        String::from_utf8(self.0.stderr.clone()).unwrap()
    }

    #[track_caller]
    pub(crate) fn says(self, text: &str) -> Self {
        assert!(self.err().contains(text), "{text:?} is not in {:?}", self.err());
        self
    }
}

pub(crate) fn line_with(out: &mut impl std::io::BufRead, text: &str) -> String {
    let mut line = String::new();
    while !line.contains(text) {
        line.clear();
        assert!(out.read_line(&mut line).unwrap() > 0, "it ended without {text:?}");
    }
    line
}
