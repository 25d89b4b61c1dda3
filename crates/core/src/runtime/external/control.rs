//! What the hub and a session say to each other on the pipe between them, beside the agent's messages. A line of an agent is JSON and never begins like
//! one of these.

use serde::{Deserialize, Serialize};

/// The first byte of such a line.
const MARK: u8 = 1;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Control {
    /// To the session: this process has it.
    Instance(String),
    /// To the session: nobody is connected who could take it.
    Waiting,
    /// To the session: and nobody came.
    NobodyCame { message: String, fix: String },
    /// To the session: the connection is lost.
    Away,
    /// To the session: the agent is back on this connection, and has heard so many orders.
    Back { connection: u64, heard: u64 },
    /// To the hub: what comes after this is for that connection.
    Live { connection: u64 },
    /// To the hub: the agent does not do what it is told; end its connection.
    Disconnect,
}

impl Control {
    pub fn parse(line: &[u8]) -> Option<Self> {
        serde_json::from_slice(line.strip_prefix(&[MARK])?).ok()
    }

    pub fn line(&self) -> Vec<u8> {
        let mut line = vec![MARK];
        // It has string keys only, so it always encodes.
        line.extend(serde_json::to_vec(self).unwrap_or_default());
        line.push(b'\n');
        line
    }
}
