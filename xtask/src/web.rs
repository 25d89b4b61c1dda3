//! The workbench: its checks, its build, and that what is committed is what its sources give.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};

use crate::tidy::root;

/// Where the built files are committed and embedded from.
const ASSETS: &str = "crates/turnloom/assets";

/// What the build tools need.
const OLDEST_NODE: (u32, u32) = (20, 19);

/// Builds the workbench into the folder that is committed.
pub(crate) fn build() -> Result<()> {
    install()?;
    npm(&["run", "build"])
}

/// Everything that can be said about it without a browser.
pub(crate) fn check() -> Result<()> {
    install()?;
    npm(&["run", "check"])?;
    let fresh = root().join("target/workbench");
    let folder = fresh.to_str().context("the path of the checkout is not text")?;
    npm(&["run", "build", "--", "--outDir", folder])?;
    compare(&fresh, &root().join(ASSETS))?;
    npm(&["run", "budget"])
}

#[expect(clippy::disallowed_methods, reason = "a developer's tool starts programs")]
fn install() -> Result<()> {
    let version = output(Command::new("node").arg("--version"))
        .context("Node is needed for the workbench; install version 20.19 or newer")?;
    let mut numbers = version.trim().trim_start_matches('v').split('.').map_while(|part| part.parse::<u32>().ok());
    let found = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    ensure!(found >= OLDEST_NODE, "Node {version} is too old for the workbench; install version 20.19 or newer");
    npm(&["ci", "--no-audit", "--no-fund"])
}

#[expect(clippy::disallowed_methods, reason = "a developer's tool starts programs")]
fn npm(args: &[&str]) -> Result<()> {
    let mut command = Command::new("npm");
    let status = command.args(args).current_dir(root().join("web")).status().context("cannot run npm")?;
    ensure!(status.success(), "npm {} ended with {status}", args.join(" "));
    Ok(())
}

fn output(command: &mut Command) -> Result<String> {
    let output = command.output()?;
    ensure!(output.status.success(), "it ended with {}", output.status);
    Ok(String::from_utf8(output.stdout)?)
}

fn compare(fresh: &Path, committed: &Path) -> Result<()> {
    let (fresh, committed) = (files(fresh)?, files(committed)?);
    let names: std::collections::BTreeSet<&PathBuf> = fresh.keys().chain(committed.keys()).collect();
    let differ: Vec<String> = names
        .into_iter()
        .filter(|name| fresh.get(*name) != committed.get(*name))
        .map(|name| name.display().to_string())
        .collect();
    if !differ.is_empty() {
        bail!("{ASSETS} is not what the sources give ({}); run `cargo xtask web` and commit it", differ.join(", "));
    }
    Ok(())
}

/// Every file below a folder, by its path in it.
fn files(folder: &Path) -> Result<BTreeMap<PathBuf, Vec<u8>>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(&next).with_context(|| format!("cannot read {}", next.display()))? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder)?.to_path_buf();
                found.insert(name, std::fs::read(&path)?);
            }
        }
    }
    Ok(found)
}
