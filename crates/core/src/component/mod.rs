//! Rich components: what an agent shows that is more than text. The registry says which there are; a rule says which of them shows a call or a part of
//! the shared state; a fold says what each of them holds. This is the one home of all that: the session, the view and the dialects only use it.
//!
//! A rule is applied once, when a fact is made, and its outcome is written into the fact. [`Shown`] reads facts only, so another configuration never
//! changes an old session. How a component looks is not known here.

mod edits;
mod merge;
mod registry;
mod rules;
mod schema;
mod shown;
#[cfg(test)]
mod tests;
mod tool;

pub use self::edits::{Outdated, edited};
pub use self::merge::{Unmergeable, mode_of};
pub use self::registry::{CallbackEntry, Entry, EntryView, Registry, Source};
pub use self::rules::{ComponentId, Rules, StateRule, ToolRule, check_params, is_id, read_entries, read_rules};
pub use self::schema::{Misfit, check};
pub use self::shown::{Component, Shown};
pub use self::tool::{result_props, start_props};

/// The props of one fact, and those that all facts of a component come to, as JSON.
pub const MAX_PROPS_BYTES: usize = 256 * 1024;

/// The levels of props.
pub const MAX_PROPS_DEPTH: usize = 32;

/// Operations in one patch of props.
pub const MAX_PATCH_OPERATIONS: usize = 256;

/// Components that one session shows.
pub const MAX_SHOWN: usize = 100;

/// What goes with a callback, as JSON.
pub const MAX_PAYLOAD_BYTES: usize = 64 * 1024;

/// The name of what was pressed.
pub const MAX_ACTION_BYTES: usize = 256;

/// Parameters, and settings, of every runtime: components that the session's own front end can draw.
pub const SESSION_COMPONENTS: &str = "components";

/// Which components show which calls, in this session.
pub const SESSION_RULES: &str = "component_rules";
