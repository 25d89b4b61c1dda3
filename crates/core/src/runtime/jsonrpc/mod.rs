//! JSON-RPC 2.0 between two peers, one message per line. Pure: lines in, lines out, deadlines as values. The owner of the peer knows what the methods
//! mean. There is no transport, no clock and no retry here, and batches are not supported.

mod message;
mod peer;
#[cfg(test)]
mod tests;

pub use self::message::{Error, Id, Incoming, read};
pub use self::peer::{Flavor, Peer, Received};
