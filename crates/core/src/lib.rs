//! What happened, what it means, what to do next.
//!
//! This crate decides; it does nothing. There is no clock, no socket, no file, no process and no thread in it: a function that needs the
//! time takes the time. Whatever touches the world is in the `turnloom` crate.

pub mod attention;
pub mod awaited;
pub mod blob;
pub mod budget;
pub mod changes;
pub mod channel;
pub mod client_tools;
pub mod command;
pub mod component;
pub mod delegation;
pub mod dialect;
pub mod event;
pub mod host_tools;
pub mod id;
pub mod laws;
pub mod nesting;
pub mod policy;
pub mod projection;
pub mod replay;
pub mod runtime;
pub mod schedule;
pub mod session;
pub mod shared;
pub mod summary;
pub mod time;
pub mod view;
pub mod webhook;
