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
    command.args(args.iter().skip(1)).envs(env.iter().copied());
    let status = command.status().with_context(|| format!("cannot run cargo {}", args.join(" ")))?;
    if !status.success() {
        bail!("cargo {} ended with {status}", args.join(" "));
    }
    Ok(())
}
