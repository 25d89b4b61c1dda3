//! Python packages for tests, below `target/`.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::tidy::root;

/// Installs what a file of requirements names, once for each version of the file, and says where.
pub(crate) fn install(requirements: &str) -> Result<PathBuf> {
    let file = root().join(requirements);
    let wanted = std::fs::read_to_string(&file).with_context(|| format!("cannot read {requirements}"))?;
    let target = root().join("target/python");
    let stamp = target.join("requirements.txt");
    if std::fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(target);
    }
    drop(std::fs::remove_dir_all(&target));
    let status = pip(&file, &target).status().context("install Python 3 with pip, and try again")?;
    ensure!(status.success(), "pip could not install what {requirements} names ({status})");
    std::fs::write(&stamp, wanted).with_context(|| format!("cannot write {}", stamp.display()))?;
    Ok(target)
}

#[expect(clippy::disallowed_methods, reason = "a developer's tool starts programs")]
fn pip(requirements: &Path, target: &Path) -> Command {
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--target"]);
    pip.arg(target).arg("--requirement").arg(requirements);
    pip
}
