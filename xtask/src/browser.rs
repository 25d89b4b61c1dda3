//! The workbench in a real browser, against the real daemon.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::node;
use crate::tidy::root;

const CHROMIUM: &str = "/usr/bin/chromium";

pub(crate) fn check() -> Result<()> {
    install_chromium()?;
    // The program that the other tests run, so nothing is built again for this.
    crate::steps::cargo(&[crate::ALL_TESTS, &["--bins", "--tests", "--no-run"]].concat())?;
    npm(&["ci"], "debug")?;
    npm(&["test"], "debug")
}

/// The browser and what drives it, for tests of other pages.
pub(crate) fn install() -> Result<()> {
    install_chromium()?;
    node::npm("tests/browser", &["ci"], &[])
}

/// How the page feels, in numbers.
pub(crate) fn bench() -> Result<()> {
    install_chromium()?;
    crate::steps::cargo(&["build", "--release"])?;
    npm(&["ci"], "release")?;
    npm(&["run", "bench"], "release")
}

fn npm(args: &[&str], profile: &str) -> Result<()> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    let program = target.join(profile).join("turnloom");
    node::npm("tests/browser", args, &[("TURNLOOM_PROGRAM", &program), ("CHROMIUM", Path::new(CHROMIUM))])
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
