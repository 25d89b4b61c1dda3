//! What a machine is made of besides its log, and how long and how large things may be in it.

use std::sync::Arc;

use serde_json::Value;

use crate::component::Rules;
use crate::id::{IdSource, SessionId};
use crate::runtime::Capabilities;
use crate::{blob, budget, delegation};

/// What a machine is made of, besides its log.
#[derive(Debug)]
pub struct Setup {
    pub session_id: SessionId,
    pub runtime: String,
    /// What the client gave at creation.
    pub params: Value,
    pub capabilities: Capabilities,
    pub limits: Limits,
    pub ids: IdSource,
    /// Which components there are, and what the configuration says of them.
    pub components: Arc<Rules>,
    /// What the configuration says of budgets.
    pub budgets: Arc<budget::Rules>,
    /// How far delegating may go.
    pub delegation: delegation::Rules,
}

/// How long things may take, in milliseconds, and how large they may be.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// An agent's handshake.
    pub start_ms: i64,
    /// An agent's own interrupt, before its process is asked to end.
    pub interrupt_ms: i64,
    /// A process that was asked to end, before it is killed.
    pub terminate_ms: i64,
    /// An agent without work, before it is told to end.
    pub idle_ms: i64,
    /// What an event may carry itself.
    pub inline_bytes: usize,
    /// Messages that may wait.
    pub queue: usize,
    /// A call that waits for a person, before the agent hears that it may go on waiting; for ever, if not given.
    pub hold_ms: Option<i64>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            start_ms: 60_000,
            interrupt_ms: 5_000,
            terminate_ms: 5_000,
            idle_ms: 300_000,
            inline_bytes: blob::DEFAULT_LIMIT,
            queue: 100,
            hold_ms: None,
        }
    }
}
