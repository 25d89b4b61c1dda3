//! The schedules of this daemon: one task owns them all, decides what is due (`turnloom_core::schedule`), writes it down and has it done.
//!
//! Not here: what is due and what follows from it (core), and the routes (`http/schedules`).

mod documents;
mod scheduler;
mod start;
mod view;

use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use turnloom_core::id::ScheduleId;
use turnloom_core::schedule::{self, Definition, NotNow, Run};
use turnloom_core::time::Timestamp;

pub use self::documents::RunPage;
use self::scheduler::{Request, Scheduler};
pub use self::view::{ScheduleStatus, ScheduleView};
use crate::automation::Changes;
use crate::log;
use crate::session::{self, Sessions, now};

/// How many requests may wait for the task; each belongs to a caller that waits for it.
const REQUESTS: usize = 64;

/// How many schedules there may be: all of them are at hand, and people look through them.
pub const MAX_SCHEDULES: usize = 1_000;

/// Why something could not be done with a schedule.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("there is no schedule {0:?}; GET /api/schedules lists them")]
    NotFound(String),
    #[error("schedule {0} exists and is defined differently; change it, or choose another schedule_id")]
    Exists(ScheduleId),
    #[error("there are {MAX_SCHEDULES} schedules; remove some first")]
    TooMany,
    #[error(transparent)]
    Definition(#[from] schedule::Error),
    #[error(transparent)]
    NotNow(#[from] NotNow),
    #[error(transparent)]
    Session(#[from] session::Error),
    #[error(transparent)]
    Log(#[from] log::Error),
    #[error("the daemon is shutting down")]
    ShuttingDown,
}

/// What makes another definition of one.
pub type Edit = Box<dyn FnOnce(Definition) -> Definition + Send>;

/// Whether a request to create a schedule did so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Created {
    New,
    /// An earlier try of the same request did.
    Before,
}

/// The way to the schedules. Cloning shares it.
#[derive(Debug, Clone)]
pub struct Schedules {
    requests: mpsc::Sender<Request>,
    log: log::Log,
}

impl Schedules {
    /// Takes up what an earlier daemon had scheduled. Nothing runs before [`Schedules::begin`].
    pub async fn start(
        sessions: Sessions,
        changes: Changes,
        tracker: &TaskTracker,
        closing: CancellationToken,
    ) -> Result<Self, log::Error> {
        let (requests, queue) = mpsc::channel(REQUESTS);
        let log = sessions.log().clone();
        let scheduler = Scheduler::load((sessions, changes), queue, closing).await?;
        tracker.spawn(scheduler.run());
        Ok(Self { requests, log })
    }

    /// From here on what is due runs. A daemon that lives for one command does not say so: it would leave runs half done.
    pub async fn begin(&self) {
        // Where nobody is left to hear it, the daemon ends.
        drop(self.requests.send(Request::Begin).await);
    }

    pub async fn create(
        &self,
        id: Option<ScheduleId>,
        definition: Definition,
    ) -> Result<(ScheduleView, Created), Error> {
        self.ask(|reply| Request::Create { id, definition: Box::new(definition), reply }).await
    }

    pub async fn edit(&self, id: &str, edit: Edit) -> Result<ScheduleView, Error> {
        self.ask(|reply| Request::Edit { id: id.to_owned(), edit, reply }).await
    }

    /// Removes a schedule and its history. A run that goes on goes on in its session.
    pub async fn remove(&self, id: &str) -> Result<(), Error> {
        self.ask(|reply| Request::Remove { id: id.to_owned(), reply }).await
    }

    pub async fn run_now(&self, id: &str) -> Result<Run, Error> {
        self.ask(|reply| Request::RunNow { id: id.to_owned(), reply }).await
    }

    pub async fn show(&self, id: &str) -> Result<ScheduleView, Error> {
        self.ask(|reply| Request::Show { id: id.to_owned(), reply }).await
    }

    /// All of them, in the order of their ids.
    pub async fn list(&self) -> Result<Vec<ScheduleView>, Error> {
        self.ask(|reply| Request::List { reply }).await
    }

    /// A page of a schedule's runs, the newest first.
    pub async fn runs(&self, id: &str, cursor: Option<String>, limit: usize) -> Result<RunPage, Error> {
        let id = self.show(id).await?.schedule_id;
        documents::runs(&self.log, &id, cursor, limit).await.map_err(Error::Log)
    }

    async fn ask<T>(&self, request: impl FnOnce(oneshot::Sender<Result<T, Error>>) -> Request) -> Result<T, Error> {
        let (reply, answer) = oneshot::channel();
        self.requests.send(request(reply)).await.map_err(|_| Error::ShuttingDown)?;
        answer.await.map_err(|_| Error::ShuttingDown)?
    }
}

/// When runs of a schedule that is not there yet would be due: in words, and the next times.
pub fn preview(when: &schedule::When, zone: &str, count: usize) -> Result<(String, Vec<Timestamp>), schedule::Error> {
    let times = schedule::Times::new(when, zone, now())?;
    let due = std::iter::successors(times.after(now()), |due| times.after(*due));
    Ok((schedule::words(when, &times), due.take(count).collect()))
}
