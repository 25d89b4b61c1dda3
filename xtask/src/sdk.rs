//! The TypeScript SDK, and the examples that stand on it and on other clients: built, compared with the reference, run against the real daemon.

use anyhow::Result;

use crate::{browser, clients, node};

const FOLDER: &str = "sdk/typescript";

/// Its types, from the documents in `docs/reference`.
pub(crate) fn generate() -> Result<()> {
    node::npm(FOLDER, &["ci"], &[])?;
    node::npm(FOLDER, &["run", "generate"], &[])
}

/// What programs load of it.
pub(crate) fn build() -> Result<()> {
    node::npm(FOLDER, &["ci"], &[])?;
    node::npm(FOLDER, &["run", "build"], &[])
}

pub(crate) fn check() -> Result<()> {
    let program = clients::program()?;
    for args in [&["ci"][..], &["run", "check"], &["test"]] {
        node::npm(FOLDER, args, &[("TURNLOOM_PROGRAM", &program)])?;
    }
    Ok(())
}

/// The examples take the SDK as it is built, and the browser of the workbench's tests.
pub(crate) fn prepare_and_check_examples() -> Result<()> {
    browser::install()?;
    build()?;
    check_examples()
}

/// The examples, where the workbench and the SDK were checked before.
pub(crate) fn check_examples() -> Result<()> {
    let program = clients::program()?;
    for args in [&["ci"][..], &["run", "check"], &["test"]] {
        node::npm("examples", args, &[("TURNLOOM_PROGRAM", &program)])?;
    }
    Ok(())
}
