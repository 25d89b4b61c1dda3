//! The chat fold: a session as people read it, and the smallest change to it for each event.
//!
//! A view is a tree: the session, its messages, their blocks, and inside a sub-agent's block its own blocks. All of them are types with a schema, and
//! four kinds of change are enough for all of it, so a client needs no logic of its own: it holds a snapshot and applies changes. The fold changes its
//! own tree only where it also tells the change, and the tests compare both from every position. How a view is drawn is not known here.

mod begin;
mod block;
mod change;
mod fold;
mod mask;
mod nodes;
mod summary;
#[cfg(test)]
mod tests;
mod window;

pub use self::block::*;
pub use self::change::{COMPONENTS, Fields, Node, Op, Ops, OpsFrame, Path, TextField, merge};
pub use self::fold::{Fold, NotUsable, Part};
pub use self::mask::mask;
pub use self::nodes::*;
pub use self::window::{Snapshot, Window, content};
