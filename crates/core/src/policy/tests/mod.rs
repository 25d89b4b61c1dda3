//! The corpus, the modes, rules, the fuzzer, and inputs made to break things.

mod backtest;
mod corpus;
mod fuzz;
mod layers;
mod modes;
mod words;

use serde_json::json;

use super::{Call, Decision, Effect, Plain, Policy, decide};

pub(super) const DIRECTORY: &str = "/code/app";

pub(super) fn world() -> Plain {
    Plain { home: Some("/home/user".to_owned()) }
}

pub(super) fn bash(policy: &Policy, mode: &str, command: &str) -> Decision {
    let input = json!({ "command": command });
    decide(policy, &Call::new("Bash", &input, mode, DIRECTORY), &world())
}

pub(super) fn effect(policy: &Policy, mode: &str, command: &str) -> Effect {
    bash(policy, mode, command).effect
}
