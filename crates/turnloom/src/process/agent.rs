//! What the rest of the daemon holds of a running agent.

use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{Input, Lines};

/// A running agent. Its parts are apart, so that one task can wait for all of them at once.
#[derive(Debug)]
pub struct Agent {
    pub input: Input,
    pub output: Lines,
    pub handle: Handle,
}

/// How an agent ended. Neither a code nor a signal means that the daemon was ending and did not see it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Exit {
    pub code: Option<i32>,
    pub signal: Option<i32>,
    /// The last it wrote to stderr.
    pub stderr_tail: String,
}

/// The way to end an agent and to learn that it ended. To drop it is to kill the agent.
#[derive(Debug)]
pub struct Handle {
    pid: Option<u32>,
    stop: watch::Sender<Stop>,
    exit: watch::Receiver<Option<Exit>>,
}

impl Handle {
    /// Nothing for an agent inside this process.
    pub fn pid(&self) -> Option<u32> {
        self.pid
    }

    /// Asks the agent and its group to end, and gives them the time they want.
    pub fn terminate(&self) {
        self.ask(Stop::Terminate);
    }

    /// Ends the agent and everything it started. It is done when [`wait`](Self::wait) returns.
    pub fn kill(&self) {
        self.ask(Stop::Kill);
    }

    /// Waits until the agent and everything it started has ended. Cancel safe; every call gives the same answer.
    pub async fn wait(&self) -> Exit {
        let mut exit = self.exit.clone();
        match exit.wait_for(Option::is_some).await {
            Ok(exit) => exit.clone().unwrap_or_default(),
            Err(_) => Exit::default(),
        }
    }

    /// The stronger request stays: a kill is not overruled by a later terminate.
    fn ask(&self, asked: Stop) {
        self.stop.send_modify(|stop| *stop = asked.max(*stop));
    }
}

/// What the holder of a [`Handle`] asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stop {
    No,
    Terminate,
    Kill,
}

/// The other end of a [`Handle`]: hears what is asked, reports the exit.
#[derive(Debug)]
pub(super) struct Supervision {
    stop: watch::Receiver<Stop>,
    exit: watch::Sender<Option<Exit>>,
    /// Ends the agent's [`Lines`]: declared last, so that the exit is known by then.
    _gone: DropGuard,
}

impl Supervision {
    /// The token is cancelled once the agent is gone.
    pub(super) fn new(pid: Option<u32>) -> (Handle, Supervision, CancellationToken) {
        let (stop, asked) = watch::channel(Stop::No);
        let (report, exit) = watch::channel(None);
        let gone = CancellationToken::new();
        let supervision = Supervision { stop: asked, exit: report, _gone: gone.clone().drop_guard() };
        (Handle { pid, stop, exit }, supervision, gone)
    }

    /// What is asked next. Cancel safe. An owner who is gone cannot ask any more, so the agent ends.
    pub(super) async fn requested(&mut self) -> Stop {
        match self.stop.changed().await {
            Ok(()) => *self.stop.borrow_and_update(),
            Err(_) => Stop::Kill,
        }
    }

    pub(super) fn ended(self, exit: Exit) {
        self.exit.send_replace(Some(exit));
    }
}
