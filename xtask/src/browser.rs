//! The workbench in a real browser, against the real daemon.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::tidy::root;

const CHROMIUM: &str = "/usr/bin/chromium";

pub(crate) fn check() -> Result<()> {
    install_chromium()?;
    crate::steps::cargo(&["build", "-p", "turnloom"])?;
    npm(&["ci", "--no-audit", "--no-fund"], "debug")?;
    npm(&["test"], "debug")
}

/// How the page feels, in numbers.
pub(crate) fn bench() -> Result<()> {
    install_chromium()?;
    crate::steps::cargo(&["build", "--release"])?;
    npm(&["ci", "--no-audit", "--no-fund"], "release")?;
    npm(&["run", "bench"], "release")
}

#[expect(clippy::disallowed_methods, reason = "a developer's tool starts programs")]
fn npm(args: &[&str], profile: &str) -> Result<()> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    let mut command = Command::new("npm");
    command.args(args).current_dir(root().join("tests/browser"));
    command.env("TURNLOOM_PROGRAM", target.join(profile).join("turnloom")).env("CHROMIUM", CHROMIUM);
    let status = command.status().context("cannot run npm")?;
    ensure!(status.success(), "npm {} ended with {status}", args.join(" "));
    Ok(())
}

/// Debian's, where it is missing and may be installed.
#[expect(clippy::disallowed_methods, reason = "a developer's tool starts programs")]
fn install_chromium() -> Result<()> {
    if Path::new(CHROMIUM).exists() {
        return Ok(());
    }
    println!("installing Chromium from Debian's packages");
    for args in [&["update", "-q"][..], &["install", "-y", "-q", "--no-install-recommends", "chromium"]] {
        let status = Command::new("apt-get").args(args).env("DEBIAN_FRONTEND", "noninteractive").status();
        let status = status.context("the browser tests need Chromium at /usr/bin/chromium; install it")?;
        ensure!(status.success(), "apt-get {} ended with {status}; install Chromium at {CHROMIUM}", args.join(" "));
    }
    Ok(())
}
