//! The turn machine: what a session decides. Inputs come in (a client's wish, an agent's report, the passing of time), facts and effects go out.
//!
//! [`State`] is a fold of the log and nothing else, so a session that was reloaded knows exactly what it knew. [`Machine`] adds what does not
//! outlive the process: the agent that runs, who waits for a reply, which deadline is next. Nothing here waits, reads a clock or writes.

mod agent;
mod clients;
mod ending;
mod machine;
mod open;
mod state;
mod turn;
mod wishes;

#[cfg(any(test, feature = "simulation"))]
pub mod simulation;
#[cfg(test)]
mod tests;

pub use self::machine::{Effect, Input, Limits, Machine, Output, ReplyTo, Setup};
pub use self::state::State;
