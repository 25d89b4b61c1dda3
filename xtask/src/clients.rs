//! Clients of other protocols, the real ones, against the real daemon.

use std::path::PathBuf;

use anyhow::Result;

use crate::node;
use crate::tidy::root;

pub(crate) fn check() -> Result<()> {
    // The program that the other tests run, so nothing is built again for this.
    crate::steps::cargo(&[crate::ALL_TESTS, &["--bins", "--tests", "--no-run"]].concat())?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    let program = target.join("debug").join("turnloom");
    for args in [&["ci"][..], &["test"]] {
        node::npm("tests/clients", args, &[("TURNLOOM_PROGRAM", &program)])?;
    }
    Ok(())
}
