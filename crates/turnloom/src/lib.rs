//! The daemon and the command line: everything that touches the world.
//!
//! What a session decides, what an event means and how an agent's language reads is not here; it is in `turnloom-core`, which does nothing. Here
//! is the doing: the log, the processes, the sockets, the terminal. Dependencies point one way: `cli` and `http` know `schedules` and `session`, which
//! know `process`, `runtime` and `log`.

pub mod archive;
pub mod attention;
pub mod automation;
pub mod budgets;
pub mod channels;
pub mod cli;
pub mod client;
pub mod component_folders;
pub mod config;
pub mod daemon;
mod delegations;
pub mod descriptors;
pub mod http;
pub mod log;
mod memory;
pub mod metrics;
pub mod outgoing;
pub mod policy;
pub mod private;
pub mod process;
pub mod reader;
mod regular_file;
pub mod roles;
pub mod runtime;
pub mod schedules;
pub mod scoped_tokens;
pub mod secrets;
pub mod session;
pub mod snapshots;
mod sync;
pub mod token;
pub mod webhooks;
