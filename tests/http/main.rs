//! The native API, through the real program: every route, every refusal, every way back.

#[path = "../support/mod.rs"]
mod support;

mod access;
mod asks;
mod bad_input;
mod contract;
mod events;
mod lifecycle;
mod views;
mod websocket;
