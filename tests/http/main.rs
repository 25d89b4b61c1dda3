//! The native API, through the real program: every route, every refusal, every way back.

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

mod access;
mod agent_ui;
mod asks;
mod background;
mod bad_input;
mod bounds;
mod budgets;
mod channel;
mod channels;
mod clock;
mod component_pages;
mod components;
mod contract;
mod conversations;
mod delegation;
mod dialects;
mod events;
#[cfg(feature = "socketio")]
mod gateway;
mod imported;
mod inbox;
mod lifecycle;
mod policy;
mod queue;
mod schedules;
mod serving;
mod shared;
mod snapshot;
mod stored;
mod streams;
mod surfaces;
mod tasks;
mod together;
mod turns;
mod universal;
mod universal_recorded;
mod views;
mod webhooks;
mod websocket;
mod wire;
