//! Budgets: what may be spent, what was spent, and what a turn looks like that runs away. Everything here is a fold of facts or a comparison of numbers;
//! when work is held, and how, is decided in [`crate::session`], and where the sums over sessions are kept is the daemon's affair.
//!
//! Amounts are whole numbers: tokens, billionths of a dollar, turns, milliseconds. Facts carry them in the units that people use.

mod amount;
mod ledger;
mod level;
mod repeats;
mod rules;
mod sums;
#[cfg(test)]
mod tests;

pub use self::amount::{Spent, from_units, in_units};
pub use self::ledger::{Ledger, Pause, Tally};
pub use self::level::{Level, own_levels, shared_levels};
pub use self::repeats::Repeats;
pub use self::rules::{GROUP, Group, Limits, OWN, Plan, Price, Rules, RunawayLimits, check_params};
pub use self::sums::{Shared, SharedSum, Sum, Sums};
