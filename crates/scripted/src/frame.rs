//! What a server does with a stream, one thing after another. Not here: who does it, and what time it is.

/// One thing to do on a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Frame {
    /// Write this.
    Send(String),
    /// Let time pass.
    Wait { ms: u64 },
    /// Go on when somebody releases this name.
    Gate { name: String },
    /// Close the connection, without an end.
    Cut,
}

impl Frame {
    /// One server-sent event.
    pub(crate) fn event(name: &str, data: &serde_json::Value) -> Self {
        Self::Send(format!("event: {name}\ndata: {data}\n\n"))
    }
}
