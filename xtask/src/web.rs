//! The workbench: its checks, its build, and that what is committed is what its sources give.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use crate::node::npm;
use crate::tidy::root;

/// Where the built files are committed and embedded from.
const ASSETS: &str = "crates/turnloom/assets";

/// Builds the workbench into the folder that is committed.
pub(crate) fn build() -> Result<()> {
    install()?;
    npm("web", &["run", "build"], &[])
}

/// Everything that can be said about it without a browser.
pub(crate) fn check() -> Result<()> {
    install()?;
    npm("web", &["run", "check"], &[])?;
    let fresh = root().join("target/workbench");
    let folder = fresh.to_str().context("the path of the checkout is not text")?;
    npm("web", &["run", "build", "--", "--outDir", folder], &[])?;
    compare(&fresh, &root().join(ASSETS))?;
    npm("web", &["run", "budget"], &[])
}

fn install() -> Result<()> {
    npm("web", &["ci"], &[])
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
