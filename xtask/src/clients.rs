//! Clients of other protocols, the real ones, against the real daemon.

use std::path::PathBuf;

use anyhow::Result;

use crate::node;
use crate::tidy::root;

pub(crate) fn check() -> Result<()> {
    let program = program()?;
    for args in [&["ci"][..], &["test"]] {
        node::npm("tests/clients", args, &[("TURNLOOM_PROGRAM", &program)])?;
    }
    Ok(())
}

/// The program that the other tests run, so nothing is built again for this.
pub(crate) fn program() -> Result<PathBuf> {
    crate::steps::cargo(&[crate::ALL_TESTS, &["--bins", "--tests", "--no-run"]].concat())?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    Ok(target.join("debug").join("turnloom"))
}
