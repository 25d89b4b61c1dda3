//! Running commands, and saying how long each took.

use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

#[derive(Default)]
pub(crate) struct Steps(Vec<(&'static str, Duration, bool)>);

impl Steps {
    pub(crate) fn run(&mut self, name: &'static str, step: impl FnOnce() -> Result<()>) -> Result<()> {
        println!("==> {name}");
        let started = Instant::now();
        let outcome = step();
        self.0.push((name, started.elapsed(), outcome.is_ok()));
        println!("    {name}: {:.1} s", started.elapsed().as_secs_f64());
        outcome.with_context(|| format!("{name} failed"))
    }

    pub(crate) fn report(&self) {
        println!();
        for (name, took, ok) in &self.0 {
            println!("{:>8.1} s  {}  {name}", took.as_secs_f64(), if *ok { "ok    " } else { "FAILED" });
        }
        let total: Duration = self.0.iter().map(|(_, took, _)| *took).sum();
        println!("{:>8.1} s  in all", total.as_secs_f64());
        let failed = self.0.iter().filter(|(_, _, ok)| !ok).count();
        println!("{} passed, {failed} failed", self.0.len() - failed);
    }
}

/// Clippy as the compiler of our own packages, so that one compilation serves lints and tests. Whatever it warns of fails the build.
const LINTING: [(&str, &str); 2] =
    [("RUSTC_WORKSPACE_WRAPPER", "clippy-driver"), ("CLIPPY_ARGS", "-Dwarnings__CLIPPY_HACKERY__")];

pub(crate) fn cargo(args: &[&str]) -> Result<()> {
    cargo_with(args, &[])
}

#[expect(clippy::disallowed_methods, reason = "a developer's tool starts programs")]
pub(crate) fn cargo_with(args: &[&str], env: &[(&str, &str)]) -> Result<()> {
    let mut command = Command::new(env!("CARGO"));
    command.arg(args.first().copied().unwrap_or_default());
    // What is built is what is locked, in every step.
    if !matches!(args.first(), Some(&"fmt")) {
        command.arg("--locked");
    }
    if matches!(args.first(), Some(&("test" | "run" | "bench"))) && !args.contains(&"--release") {
        command.envs(LINTING);
    }
    // What `cargo run` tells this program of itself would make some build scripts run again, and all that depends on them.
    for (name, _) in std::env::vars_os().filter(|(name, _)| is_of_this_program(&name.to_string_lossy())) {
        command.env_remove(name);
    }
    command.args(args.iter().skip(1)).envs(env.iter().copied());
    let status = command.status().with_context(|| format!("cannot run cargo {}", args.join(" ")))?;
    if !status.success() {
        bail!("cargo {} ended with {status}", args.join(" "));
    }
    Ok(())
}

fn is_of_this_program(name: &str) -> bool {
    name.starts_with("CARGO_PKG_")
        || matches!(name, "CARGO_MANIFEST_DIR" | "CARGO_MANIFEST_PATH" | "CARGO_PRIMARY_PACKAGE")
}
