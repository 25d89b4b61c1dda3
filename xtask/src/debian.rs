//! Programs of Debian that tests only look at: taken from the machine, or unpacked below `target/`. Nothing is installed, so no server is started.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::tidy::root;

/// Unpacks the packages whose program of the same name is not there, and says below which folder.
pub(crate) fn unpack(packages: &[&str]) -> Result<PathBuf> {
    let target = root().join("target/debian");
    let missing: Vec<&str> = packages.iter().copied().filter(|package| !is_there(package, &target)).collect();
    if missing.is_empty() {
        return Ok(target);
    }
    std::fs::create_dir_all(&target).with_context(|| format!("cannot make {}", target.display()))?;
    // The lists of packages may be missing or old.
    if download(&missing, &target).is_err() {
        apt_get(&["update", "-q"], &target)?;
        download(&missing, &target).with_context(|| format!("install {}, and try again", missing.join(", ")))?;
    }
    for file in std::fs::read_dir(&target)?.filter_map(Result::ok).map(|entry| entry.path()) {
        if file.extension().is_some_and(|extension| extension == "deb") {
            run("dpkg", &["--extract", &file.to_string_lossy(), "."], &target)?;
            std::fs::remove_file(&file)?;
        }
    }
    Ok(target)
}

fn is_there(program: &str, target: &Path) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let of_the_machine = std::env::split_paths(&path).chain([PathBuf::from("/usr/sbin")]);
    let unpacked = ["usr/sbin", "usr/bin"].map(|folder| target.join(folder));
    of_the_machine.chain(unpacked).any(|folder| folder.join(program).is_file())
}

fn download(packages: &[&str], target: &Path) -> Result<()> {
    apt_get(&[&["download", "-q"], packages].concat(), target)
}

fn apt_get(args: &[&str], folder: &Path) -> Result<()> {
    run("apt-get", args, folder)
}

#[expect(clippy::disallowed_methods, reason = "a developer's tool starts programs")]
fn run(program: &str, args: &[&str], folder: &Path) -> Result<()> {
    let status = Command::new(program).args(args).current_dir(folder).status();
    let status = status.with_context(|| format!("cannot run {program}"))?;
    ensure!(status.success(), "{program} {} ended with {status}", args.join(" "));
    Ok(())
}
