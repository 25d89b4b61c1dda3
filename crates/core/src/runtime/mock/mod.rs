//! The built-in agent: no key, no network, every kind of event, every kind of trouble. Both sides of its small language are here, and both are
//! pure: [`MockProtocol`] is the adapter, [`MockAgent`] is the agent. The process around the agent is in the `turnloom` crate.

mod agent;
#[cfg(test)]
pub(crate) mod bench;
mod protocol;
mod recorded;
mod scripts;
#[cfg(test)]
mod tests;
mod wire;

pub use self::agent::{MockAgent, NextAction};
pub use self::protocol::MockProtocol;
pub use self::recorded::RecordedMock;
use super::{Capabilities, Setting, Takes};

/// What may be changed while a session lives: how fast it speaks.
pub const SETTINGS: &[Setting] = &[Setting { name: "pace_ms", takes: Takes::Number, choices: &[] }];

/// The mock can do everything that is in the model.
pub const CAPABILITIES: Capabilities = Capabilities {
    steer: true,
    resume: true,
    fork: true,
    rollback: true,
    compact: true,
    set_model: true,
    set_mode: true,
    permissions: true,
    gate: true,
    edit_input: true,
    questions: true,
    images: true,
    files: true,
    thinking: true,
    plan: true,
    subagents: true,
    background: true,
    stop_background: true,
    components: true,
    state: true,
    usage: true,
    client_tools: true,
    restore_files: false,
    adopt: false,
};
