//! Reads lines from stdin. A blocking read cannot be cancelled, so a thread does it, and the process exits without waiting for that thread.

use std::io::{BufRead as _, IsTerminal as _};

use tokio::sync::mpsc;

/// How many lines may be typed ahead. A longer paste waits until lines are read.
const LINES: usize = 64;

#[derive(Debug, Default)]
pub(super) struct Keyboard {
    lines: Option<mpsc::Receiver<String>>,
    ended: bool,
}

impl Keyboard {
    /// Whether a person sits at it.
    pub(super) fn is_person() -> bool {
        std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
    }

    /// The next line; nothing at the end. Reading begins with the first call, so that a command that asks nothing takes nothing. Cancel-safe.
    pub(super) async fn line(&mut self) -> Option<String> {
        if self.ended {
            return None;
        }
        let line = self.lines.get_or_insert_with(start).recv().await;
        self.ended = line.is_none();
        line
    }
}

fn start() -> mpsc::Receiver<String> {
    let (sender, lines) = mpsc::channel(LINES);
    let read = move || {
        for line in std::io::stdin().lock().lines() {
            // A line that is not UTF-8 ends it: it came from no person.
            let Ok(line) = line else { return };
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    };
    // Without the thread there are no lines, which is what its end means as well.
    drop(std::thread::Builder::new().name("keyboard".to_owned()).spawn(read));
    lines
}
