//! A scripted model on loopback: real agents talk to it with dummy keys, so they run without a key and without a network.
//!
//! One small script answers for both the Messages API and the Responses API. `script`, `request`, `choose`, `plan` and the two
//! `frames` are pure: text in, frames out. Only `server` knows sockets and time. There is no model here, no agent and nothing of a daemon:
//! the command line is in the `turnloom` crate, the format is explained in `docs/scripted-model.md`.

mod anthropic;
mod choose;
mod frame;
mod ids;
mod openai;
mod plan;
mod request;
mod script;
mod server;
mod speech;
mod tools;
mod wire;

pub use self::request::{Api, Kind};
pub use self::script::{Script, ScriptError};
pub use self::server::{Options, Seen, Server, StartError};

/// The script of the keyless demo.
pub const DEMO: &str = include_str!("../scripts/demo.toml");
