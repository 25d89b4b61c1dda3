//! Decides which tool calls are allowed. Input: a call and the rules. Output: allow, deny or ask, with the rule that decided.
//!
//! A call becomes acts ([`acts()`]), and rules judge acts ([`decide()`]). Shell commands are parsed, every simple command counts, and what cannot be
//! read is never allowed by a rule. Nothing here looks at files or at the environment: a [`World`] answers for them.
//! Asking people, writing decisions down and holding agents to them is not here.

mod act;
mod backtest;
mod call;
mod decide;
mod expiry;
mod glob;
mod judgement;
mod layers;
mod matching;
mod offers;
mod paths;
mod programs;
mod reading;
mod rules;
mod shell;
mod tools;
mod words;

#[cfg(test)]
mod tests;

pub use self::act::{Act, Command, Kind, Location, Place};
pub use self::backtest::{
    BackTest, ChangeCount, ChangedCall, CoveredCall, Report, Setting, Suggester, Suggestion, WouldBe,
};
pub use self::call::{Call, Caller, Mode, Origin, Plain, World};
pub use self::decide::{Decision, RuleName, Scope, decide};
pub use self::expiry::Expiry;
pub use self::judgement::{Judgement, digest, judge};
pub use self::layers::{Layer, MODES, Policy, mode_instructions, mode_note};
pub use self::offers::{Offer, offers};
pub use self::paths::normal;
pub use self::reading::{ReadAction, reading, without_shell};
pub use self::rules::{Effect, Error, Rule, RulesFile};
pub use self::tools::acts;
pub(crate) use self::tools::patched_files;
