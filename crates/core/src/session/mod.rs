//! The turn machine: what a session decides. Inputs come in (a client's command, an agent's report, the passing of time), facts and effects go out.
//!
//! [`State`] is a fold of the log and nothing else, so a session that was reloaded knows exactly what it knew. [`Machine`] adds what does not
//! outlive the process: the agent that runs, who waits for a reply, which deadline is next. Nothing here waits, reads a clock or writes.

mod agent;
mod away;
mod budgets;
mod children;
mod clients;
mod commands;
mod components;
mod deadlines;
mod delegating;
mod emit;
mod ending;
mod expiring;
mod host_calls;
mod import;
mod judging;
mod machine;
mod news;
mod open;
mod orders;
mod pausing;
mod queue;
mod screen;
mod setup;
mod state;
mod stored;
mod turn;
mod unparsed_limiter;

#[cfg(any(test, feature = "simulation"))]
pub mod simulation;
#[cfg(test)]
mod tests;

pub use self::delegating::asks_for_parent;
pub use self::emit::SCHEDULES;
pub use self::import::{IMPORTED, needs_consent, params_of_copy};
pub use self::judging::ToJudge;
pub use self::machine::{Delivery, Effect, Input, Limits, Machine, Output, ReplyTo, Setup};
pub use self::orders::Numbered;
pub(crate) use self::pausing::TOOL as BUDGET_TOOL;
pub use self::state::State;
