//! Clients of other protocols, the real ones, against the real daemon.

use std::path::PathBuf;

use anyhow::Result;

use crate::tidy::root;
use crate::{debian, node, python};

/// The clients themselves, a front end that stands on one of them, and clients that are made from the `OpenAPI` document.
const FOLDERS: &[&str] = &["tests/clients", "tests/assistant-ui", "tests/generators"];

pub(crate) fn check() -> Result<()> {
    let program = program()?;
    let packages = python::install("tests/generators/requirements.txt")?;
    let env = [("TURNLOOM_PROGRAM", program.as_path()), ("TURNLOOM_PYTHON_PACKAGES", packages.as_path())];
    for folder in FOLDERS {
        for args in [&["ci"][..], &["test"]] {
            node::npm(folder, args, &env)?;
        }
    }
    Ok(())
}

/// Everything that the documentation shows, where the SDK was built before.
pub(crate) fn check_docs() -> Result<()> {
    let (program, programs) = (program()?, debian::unpack(&["caddy", "nginx", "openssl"])?);
    let env = [("TURNLOOM_PROGRAM", program.as_path()), ("TURNLOOM_PROGRAMS", programs.as_path())];
    for args in [&["ci"][..], &["test"]] {
        node::npm("tests/docs", args, &env)?;
    }
    Ok(())
}

/// The program that the other tests run, so nothing is built again for this.
pub(crate) fn program() -> Result<PathBuf> {
    crate::steps::cargo(&[crate::ALL_TESTS, &["--bins", "--tests", "--no-run"]].concat())?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    Ok(target.join("debug").join("turnloom"))
}
