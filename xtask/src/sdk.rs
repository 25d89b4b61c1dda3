//! The TypeScript SDK, and the examples that stand on it and on other clients: built, compared with the reference, run against the real daemon.

use anyhow::Result;

use crate::{browser, clients, node};

const FOLDER: &str = "sdk/typescript";

pub(crate) fn check() -> Result<()> {
    let program = clients::program()?;
    for args in [&["ci"][..], &["run", "check"], &["test"]] {
        node::npm(FOLDER, args, &[("TURNLOOM_PROGRAM", &program)])?;
    }
    Ok(())
}

/// The examples take the SDK as it is built, and the browser of the workbench's tests.
pub(crate) fn check_examples() -> Result<()> {
    let program = clients::program()?;
    browser::install()?;
    for args in [&["ci"][..], &["run", "build"]] {
        node::npm(FOLDER, args, &[])?;
    }
    for args in [&["ci"][..], &["run", "check"], &["test"]] {
        node::npm("examples", args, &[("TURNLOOM_PROGRAM", &program)])?;
    }
    Ok(())
}
