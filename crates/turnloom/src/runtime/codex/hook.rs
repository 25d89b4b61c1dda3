//! `turnloom gate SOCKET`: what Codex runs before each call. It passes the call on to the daemon and prints the verdict. A hook that fails lets the
//! call run, so every trouble of its own becomes exit code 2 and a text, which does not. It starts for every call, so nothing else is built up here.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Map, Value};
use turnloom_core::runtime::codex::PATIENCE_SECONDS;

use super::gate::MAX_CALL_BYTES;

/// What Codex takes for "this call does not run", if there is a text on stderr.
const BLOCKED: u8 = 2;

/// A verdict is small: a reason, or an edited command.
const MAX_VERDICT_BYTES: u64 = 64 << 20;

pub fn run(socket: &str) -> ExitCode {
    match judged(socket).and_then(|verdict| print(&verdict)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            drop(writeln!(io::stderr(), "Turnloom could not judge this call, so it does not run: {error}"));
            ExitCode::from(BLOCKED)
        }
    }
}

fn judged(socket: &str) -> io::Result<Map<String, Value>> {
    let mut call = Vec::new();
    io::stdin().lock().take(MAX_CALL_BYTES + 1).read_to_end(&mut call)?;
    if call.len() as u64 > MAX_CALL_BYTES {
        return Err(io::Error::other(format!("it is larger than {MAX_CALL_BYTES} bytes")));
    }
    let call: Value = serde_json::from_slice(&call)?;
    let mut daemon = UnixStream::connect(socket)?;
    daemon.set_read_timeout(Some(Duration::from_secs(PATIENCE_SECONDS)))?;
    daemon.write_all(format!("{call}\n").as_bytes())?;
    let mut verdict = Vec::new();
    BufReader::new(daemon).take(MAX_VERDICT_BYTES).read_until(b'\n', &mut verdict).map_err(|error| {
        match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => io::Error::other("nobody has answered in time"),
            _ => error,
        }
    })?;
    // Half a verdict is none.
    if verdict.last() != Some(&b'\n') {
        return Err(io::Error::other("the daemon is gone"));
    }
    Ok(serde_json::from_slice(&verdict)?)
}

/// Nothing is what a hook prints that has no objection.
fn print(verdict: &Map<String, Value>) -> io::Result<()> {
    if verdict.is_empty() {
        return Ok(());
    }
    let mut out = io::stdout().lock();
    serde_json::to_writer(&mut out, verdict)?;
    out.flush()
}
