//! Python: packages for tests, below `target/`, and the Python SDK: its models, checks and tests.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::tidy::root;
use crate::{clients, node};

const SDK: &str = "sdk/python";

/// Installs what a file of requirements names, once for each version of the file, and says where.
pub(crate) fn install(requirements: &str) -> Result<PathBuf> {
    let target = root().join("target/python");
    install_once(requirements, &target, |file| {
        drop(std::fs::remove_dir_all(&target));
        run(pip(None).args(["--no-deps", "--target"]).arg(&target).arg("--requirement").arg(file))
    })?;
    Ok(target)
}

/// Models of events and answers, from the documents in `docs/reference`.
pub(crate) fn generate() -> Result<()> {
    run(&mut generator())
}

pub(crate) fn generated_is_current() -> Result<()> {
    run(generator().arg("--check"))
}

/// The SDK as people install it: a wheel, checked and run against the real daemon.
pub(crate) fn check() -> Result<()> {
    let program = clients::program()?;
    let python = environment()?;
    let wheels = root().join("target/python-sdk-wheel");
    drop(std::fs::remove_dir_all(&wheels));
    run(in_sdk(&python, &["-m", "build", "--wheel", "--no-isolation", "--outdir"]).arg(&wheels))?;
    let wheel = std::fs::read_dir(&wheels)?.flatten().map(|entry| entry.path()).next().context("there is no wheel")?;
    run(pip(Some(&python)).args(["--no-deps", "--force-reinstall"]).arg(wheel))?;
    for args in [&["-m", "ruff", "check"][..], &["-m", "ruff", "format", "--check"], &["-m", "mypy"]] {
        run(&mut in_sdk(&python, args))?;
    }
    for args in [&["ci"][..], &["run", "check"]] {
        node::npm(SDK, args, &[("TURNLOOM_PYTHON", &python)])?;
    }
    run(in_sdk(&python, &["-m", "pytest"]).env("TURNLOOM_PROGRAM", program))
}

/// A virtual environment of its own, with what `requirements.txt` names; says where its Python is.
fn environment() -> Result<PathBuf> {
    let target = root().join("target/python-sdk");
    let python = target.join("bin/python");
    install_once(&format!("{SDK}/requirements.txt"), &target, |file| {
        drop(std::fs::remove_dir_all(&target));
        // Some systems have no `ensurepip`; the pip that is there installs into it as well.
        run(command("python3").args(["-m", "venv", "--without-pip"]).arg(&target))?;
        run(pip(Some(&python)).args(["--no-deps", "--requirement"]).arg(file))
    })?;
    Ok(python)
}

/// Does it unless it was done with the same requirements.
fn install_once(requirements: &str, target: &Path, install: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let file = root().join(requirements);
    let wanted = std::fs::read_to_string(&file).with_context(|| format!("cannot read {requirements}"))?;
    let stamp = target.join("requirements.txt");
    if std::fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    install(&file).with_context(|| format!("cannot install what {requirements} names"))?;
    std::fs::write(&stamp, wanted).with_context(|| format!("cannot write {}", stamp.display()))
}

fn generator() -> Command {
    let mut generator = command("python3");
    generator.arg(root().join(SDK).join("scripts/generate.py"));
    generator
}

/// The machine's pip, which installs for itself or for another Python.
fn pip(python: Option<&Path>) -> Command {
    let mut pip = command("python3");
    pip.args(["-m", "pip", "--disable-pip-version-check"]);
    if let Some(python) = python {
        pip.arg("--python").arg(python);
    }
    pip.args(["install", "--quiet"]);
    pip
}

fn in_sdk(python: &Path, args: &[&str]) -> Command {
    let mut command = command(python);
    command.args(args).current_dir(root().join(SDK));
    command
}

#[expect(clippy::disallowed_methods, reason = "a developer's tool starts programs")]
fn command(program: impl AsRef<std::ffi::OsStr>) -> Command {
    Command::new(program)
}

fn run(command: &mut Command) -> Result<()> {
    let status = command.status().context("install Python 3 with pip, and try again")?;
    ensure!(status.success(), "{} ended with {status}", command.get_program().to_string_lossy());
    Ok(())
}
