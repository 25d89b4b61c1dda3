//! How long the real program takes from its start to its first answer.

use std::io::Read as _;
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::loom::directory;
use super::support::Client;
use super::table::{Rounds, Table, Unit};
use super::{Scale, wire};

const POLL: Duration = Duration::from_micros(200);

pub(crate) fn measure(scale: Scale, table: &mut Table) {
    let (mut fresh, mut again, mut raw) = (Rounds::default(), Rounds::default(), Rounds::default());
    for _ in 0..scale.of(20, 1) {
        let data = directory();
        fresh.push_millis(until_healthy(data.path()));
        again.push_millis(until_healthy(data.path()));
        raw.push_millis(nothing());
    }
    table.row("start-up, new data directory", Unit::Millis, fresh, Some(raw.clone()));
    table.row("start-up, the same directory again", Unit::Millis, again, Some(raw));
}

fn until_healthy(data: &Path) -> Duration {
    let started = Instant::now();
    let mut child = Command::new(env!("CARGO_BIN_EXE_turnloom"))
        .args(["up", "--port", "0", "--no-open", "--data"])
        .arg(data)
        .env("TURNLOOM_LOG", "warn")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::inherit())
        .spawn()
        .expect("turnloom starts");
    while !is_healthy(data) {
        assert!(child.try_wait().expect("its state").is_none(), "it ended");
        assert!(started.elapsed() < Duration::from_secs(30), "it never answered");
        std::thread::sleep(POLL);
    }
    let took = started.elapsed();
    stop(&mut child);
    took
}

fn is_healthy(data: &Path) -> bool {
    let Some((found, _)) = turnloom::daemon::find(data) else { return false };
    let address = found.url.trim_start_matches("http://");
    let Ok(mut stream) = TcpStream::connect(address) else { return false };
    wire::request(&mut stream, &Client::new(address, None), "/health", "application/json");
    let mut status = [0; 12];
    stream.read_exact(&mut status).is_ok() && &status == b"HTTP/1.1 200"
}

/// As somebody at a terminal does, so that it leaves nothing behind.
fn stop(child: &mut Child) {
    let pid = rustix::process::Pid::from_child(child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("a signal");
    child.wait().expect("it ends");
}

/// A program that does nothing.
fn nothing() -> Duration {
    let started = Instant::now();
    Command::new("/bin/true").status().expect("it runs");
    started.elapsed()
}
