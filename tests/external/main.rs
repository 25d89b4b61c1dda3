//! Agents that others write, through the real program: who may connect, what is lost and repeated (nothing), and what hostile ones can do (nothing).
//! The scenes beside this file are played by the protocol itself, in `core`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::cast_possible_truncation,
    reason = "a test says what is wrong by panicking, and starts what it tests"
)]

#[path = "../support/mod.rs"]
mod support;

mod agent;
mod chaos;
mod command;
mod connecting;
mod emit;
mod hostile;
mod tokens;
