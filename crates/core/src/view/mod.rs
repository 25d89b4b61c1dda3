//! The chat fold: a session as people read it, and the smallest change to it for each event.
//!
//! A view is a tree of nodes: the session, its messages, their blocks, and inside a sub-agent's block its own blocks. Four kinds of change are enough for
//! all of it, so a client needs no logic of its own: it holds a snapshot and applies changes. [`Fold::step`] changes its own tree by those very changes,
//! which is why a view built live and one built by replay cannot differ. How a view is drawn is not known here.

mod block;
mod fields;
mod fold;
mod mask;
mod summary;
#[cfg(test)]
mod tests;
mod tree;

pub use self::fields::Fields;
pub use self::fold::Fold;
pub use self::mask::mask;
pub use self::tree::{Node, Op, Path, Window, merge};
