//! A session's end of the hub: an agent inside this process, whose pipe ends here.

use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::sync::mpsc;
use tokio::time::Instant;
use turnloom_core::id::SessionId;
use turnloom_core::runtime::external::{Control, Cursor};

use super::hub::Hub;
use crate::process::InProcess;

/// What a session waits for.
#[derive(Debug)]
pub(super) enum Waiting {
    /// Whoever has room, for so long.
    ForSomebody { epoch: u64, wait: Duration, message: String, fix: String },
    /// The process that has it.
    ForItsOwner(Cursor),
}

/// What a session gets.
#[derive(Debug)]
pub(super) enum ToSession {
    Line(Vec<u8>),
    End(i32),
}

#[derive(Debug)]
pub(super) struct Seat {
    pub(super) hub: Hub,
    pub(super) session: SessionId,
    pub(super) number: u64,
    pub(super) inbox: mpsc::UnboundedReceiver<ToSession>,
    pub(super) waiting: Waiting,
}

impl Seat {
    pub(super) async fn serve(mut self, pipes: InProcess) -> i32 {
        let InProcess { input, mut output, terminated } = pipes;
        let mut lines = BufReader::new(input).split(b'\n');
        let opening = async {
            let Waiting::ForSomebody { wait, message, fix, .. } = &self.waiting else { return Some(()) };
            let until = Instant::now() + *wait;
            let open = lines.next_segment().await.ok()??;
            let open = String::from_utf8(open).ok()?;
            let mut changes = self.hub.changes();
            let mut is_told = false;
            let instance = loop {
                changes.mark_unchanged();
                if let Some(instance) = self.hub.open(&self.session, self.number, &open) {
                    break instance;
                }
                if !is_told {
                    is_told = true;
                    output.write_all(&Control::Waiting.line()).await.ok()?;
                }
                if tokio::time::timeout_at(until, changes.changed()).await.is_err() {
                    let (message, fix) = (message.clone(), fix.clone());
                    output.write_all(&Control::NobodyCame { message, fix }.line()).await.ok()?;
                    // The session ends this.
                    std::future::pending::<()>().await;
                }
            };
            output.write_all(&Control::Instance(instance).line()).await.ok()
        };
        tokio::select! {
            () = terminated.cancelled() => return 0,
            opened = opening => if opened.is_none() {
                return 0;
            },
        }
        loop {
            tokio::select! {
                biased;
                () = terminated.cancelled() => return 0,
                message = self.inbox.recv() => match message {
                    Some(ToSession::Line(line)) => if output.write_all(&line).await.is_err() {
                        return 0; // nobody listens any more
                    },
                    Some(ToSession::End(code)) => {
                        drop(output.flush().await);
                        return code;
                    }
                    None => return 1,
                },
                line = lines.next_segment() => match line {
                    Ok(Some(line)) => self.hub.take_from_session(&self.session, self.number, &line),
                    Ok(None) | Err(_) => return 0,
                },
            }
        }
    }
}

/// However it ends, also where it is killed: whoever has the session must know.
impl Drop for Seat {
    fn drop(&mut self) {
        self.hub.leave(&self.session, self.number);
    }
}
