//! What a newcomer types: the README's run command, and then a turn with the mock agent.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};

use crate::steps::cargo;
use crate::tidy::root;

const RUN: &str = "cargo run --release -- up";
const TEST: &str = "cargo xtask test";

/// How long a daemon may take to listen, once it is built.
const LISTEN_TIMEOUT: Duration = Duration::from_secs(20);

pub(crate) fn check() -> Result<()> {
    let readme = std::fs::read_to_string(root().join("README.md")).context("cannot read README.md")?;
    for command in [RUN, TEST] {
        ensure!(readme.contains(command), "README.md must show `{command}`");
    }
    cargo(&["build", "--release"])?;
    let program = root().join("target/release/turnloom");
    let program = if program.is_file() { program } else { target_directory()?.join("release/turnloom") };
    let data = std::env::temp_dir().join(format!("turnloom-readme-{}", std::process::id()));
    let outcome = first_minute(&program, &data);
    drop(std::fs::remove_dir_all(&data));
    outcome
}

fn target_directory() -> Result<std::path::PathBuf> {
    let target = std::env::var_os("CARGO_TARGET_DIR").context("the built program was not found")?;
    Ok(target.into())
}

/// Starts it as the README does (but for the port and the browser) and plays the demo against it.
fn first_minute(program: &Path, data: &Path) -> Result<()> {
    let mut daemon = Running(start(program, data)?);
    let stdout = daemon.0.stdout.take().context("no stdout")?;
    let started = Instant::now();
    let greeting = BufReader::new(stdout).lines().map_while(Result::ok).find(|line| line.contains("http://"));
    ensure!(greeting.is_some() && started.elapsed() < LISTEN_TIMEOUT, "`{RUN}` did not print an address");
    let sessions = output(program, data, &["sessions"])?;
    ensure!(sessions.contains("Try me"), "a fresh daemon has a session to talk to, but it lists: {sessions}");
    let demo = output(program, data, &["run", "--yes", "demo"])?;
    ensure!(demo.contains("That was all"), "the demo did not play to its end: {demo}");
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "a developer's tool starts programs")]
fn start(program: &Path, data: &Path) -> Result<Child> {
    let mut command = Command::new(program);
    command.args(["up", "--port", "0", "--no-open", "--data"]).arg(data);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().context("cannot start turnloom")
}

#[expect(clippy::disallowed_methods, reason = "a developer's tool starts programs")]
fn output(program: &Path, data: &Path, args: &[&str]) -> Result<String> {
    let output = Command::new(program).arg("--data").arg(data).args(args).stdin(Stdio::null()).output()?;
    if !output.status.success() {
        bail!("turnloom {} ended with {}: {}", args.join(" "), output.status, String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// Ends with the check, however it ends.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}
