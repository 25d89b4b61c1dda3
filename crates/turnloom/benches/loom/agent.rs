//! The mock agent with a clock: it writes the time into every piece of text, in the moment before the piece leaves.

use std::io::{BufRead as _, Write as _};
use std::process::ExitCode;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use turnloom_core::runtime::mock::{MockAgent, NextAction};

use super::floor::nanos;

/// Stands before the time; nothing else in a stream of events holds it.
pub(crate) const MARK: u8 = b'@';

/// The digits of a time, until the year 2286.
pub(crate) const DIGITS: usize = 19;

pub(crate) fn main() -> ExitCode {
    let (sender, heard) = sync_channel(64);
    std::thread::spawn(move || {
        let lines = std::io::stdin().lock().split(b'\n').map_while(Result::ok);
        lines.take_while(|line| sender.send(line.clone()).is_ok()).for_each(drop);
    });
    let mut agent = MockAgent::default();
    let mut stdout = std::io::stdout().lock();
    loop {
        let nap = match agent.next_action() {
            NextAction::Write(mut line) => {
                stamp(&mut line);
                if stdout.write_all(&line).and_then(|()| stdout.flush()).is_err() {
                    return ExitCode::SUCCESS;
                }
                Duration::ZERO
            }
            NextAction::Sleep { ms } => Duration::from_millis(ms),
            NextAction::Exit { code } => return code.into(),
            NextAction::Listen | NextAction::IgnoreSignals | NextAction::LeaveChild => Duration::MAX,
        };
        let line = if nap == Duration::MAX {
            heard.recv().map_err(|_| RecvTimeoutError::Disconnected)
        } else {
            heard.recv_timeout(nap)
        };
        match line {
            Ok(line) => agent.receive(&line),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return ExitCode::SUCCESS,
        }
    }
}

/// Puts the time in the place of the first run of `x` that has room for it.
pub(crate) fn stamp(line: &mut [u8]) {
    let room = DIGITS + 1;
    if let Some(at) = line.windows(room).position(|window| window.iter().all(|&byte| byte == b'x')) {
        line[at] = MARK;
        line[at + 1..at + room].copy_from_slice(format!("{:0DIGITS$}", nanos()).as_bytes());
    }
}
