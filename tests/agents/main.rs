//! The real agents, through the daemon's HTTP API, against a scripted model on loopback. No key is needed and nothing leaves the machine.
//!
//! `cargo xtask agents` installs the programs once, outside the checkout; `cargo xtask test` does so by itself.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "this is a test, which starts programs and fails by panicking"
)]

#[path = "../support/mod.rs"]
mod support;

mod both;
mod claude;
mod codex;
mod place;
