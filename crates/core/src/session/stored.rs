//! A session's state as bytes, so that a long log is not folded again from its beginning. Where the bytes are kept is not decided here; that they
//! are never more than a shortcut is: [`State::load`] takes what [`State::store`] of this version wrote, and everything else is folded anew.

use super::State;

impl State {
    /// Raised with every change to what is stored, and to what [`State::apply`] makes of a log: what an older version stored is then folded anew.
    /// The tests notice both.
    pub const VERSION: u32 = 4;

    /// The same state is the same bytes.
    pub fn store(&self) -> Result<Vec<u8>, serde_json::Error> {
        serde_json::to_vec(self)
    }

    pub fn load(bytes: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(bytes)
    }
}

#[cfg(test)]
mod tests;
