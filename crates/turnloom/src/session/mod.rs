//! The sessions of this daemon. Each session that is awake has one actor; a session at rest has none. Commands to a session go through here; reading
//! a session goes through the log.

mod actor;
mod adopt;
mod clock;
mod create;
mod delegate;
mod host_files;
mod import;
mod judging;
mod mirror;
mod modes;
mod outbox;
mod output_files;
mod slash_commands;
mod state;
mod together;
mod wire;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use tokio::sync::mpsc::error::SendTimeoutError;
use tokio::sync::{Semaphore, mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use turnloom_core::command::{ClientCommand, Command, Refusal, Reply};
use turnloom_core::component::{self, Entry, Registry, Source};
use turnloom_core::delegation::Heard;
use turnloom_core::id::{MessageId, SessionId, TurnId};
use turnloom_core::time::Timestamp;

pub use self::create::{Fork, NewSession};
pub(crate) use self::create::{fold, seed};
pub(crate) use self::delegate::changed;
pub use self::modes::ModeChoice;
pub use self::state::STATE;
pub use self::together::SettledAlong;
pub use self::wire::{FellBehind, Until, Wire};
use crate::budgets::Budgets;
use crate::config::Config;
use crate::log::{self, Log, SessionRow};
use crate::metrics::Metrics;
use crate::policy::Rules;
use crate::runtime::{LaunchContext, MirrorUpdate, Runtimes};
use crate::sync::Locked;

/// How many commands may wait in one session's queue. When it is full, callers wait for a free place, in order.
const MAX_WAITING_COMMANDS: usize = 64;

/// How long a caller waits for a place in the queue: long enough for many clients that reconnect at once, short enough to report a session that is
/// stuck.
const QUEUE_TIMEOUT: Duration = Duration::from_secs(10);

/// How long the end of the daemon waits after agents should have ended: for what is being copied or read from a file, say.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(20);

/// How many sessions go to rest before freed memory is returned to the system, while others are awake.
const EXITS_PER_CLEANUP: usize = 256;

/// Why something could not be done with a session.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error(transparent)]
    Log(#[from] log::Error),
    #[error("there is no runtime {name:?}; there are {}", known.join(", "))]
    UnknownRuntime { name: String, known: Vec<String> },
    #[error("session {id} is damaged: {why}; it can be read as far as that goes, and removed with ?purge=true")]
    Damaged { id: SessionId, why: String },
    #[error("{0}")]
    BrokenFile(String),
    #[error("session {0} exists and was created differently; choose another session_id")]
    Conflict(SessionId),
    #[error("there is no conversation {0:?}; `turnloom adopt RUNTIME` lists what there is")]
    ConversationNotFound(String),
    #[error("{0}")]
    ConversationUnreadable(String),
    #[error("{0}")]
    Invalid(String),
    #[error("too many requests wait for this session; try again in a second")]
    Overloaded,
    #[error("the daemon is shutting down")]
    ShuttingDown,
}

/// The registry. Cloning shares it.
#[derive(Debug, Clone)]
pub struct Sessions(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    log: Log,
    runtimes: Runtimes,
    context: LaunchContext,
    config: Config,
    rules: Rules,
    budgets: Budgets,
    /// Which components there are, and what the configuration says of them. Folders that are read again change it, also for sessions that are awake.
    components: watch::Sender<Arc<component::Rules>>,
    metrics: Arc<Metrics>,
    awake: Locked<HashMap<SessionId, mpsc::Sender<Request>>>,
    /// Those that could not be loaded, and why.
    damaged: Locked<HashMap<SessionId, String>>,
    /// The last rule that somebody has stored by answering *always*.
    rule_stored: watch::Sender<Option<together::RuleStored>>,
    /// One at a time is copied or imported: each holds a whole log in memory.
    copying: Semaphore,
    /// For whom each session works that was awake and works for one.
    parents: Locked<HashMap<SessionId, SessionId>>,
    /// Those that an earlier daemon left, and that were not awake since.
    left_behind: Locked<HashSet<SessionId>>,
    slash_commands: slash_commands::SlashCommands,
    mirrors: mirror::Mirrors,
    taps: wire::Taps,
    /// How many have gone to rest; see [`Sessions::actor_exited`].
    exits: AtomicUsize,
    tracker: TaskTracker,
    shutdown: CancellationToken,
}

/// A command on its way to an actor.
#[derive(Debug)]
struct Request {
    command: ClientCommand,
    answer: oneshot::Sender<Answer>,
}

#[derive(Debug)]
enum Answer {
    Outcome(Result<Reply, Refusal>),
    /// The actor was leaving and did nothing with it.
    NotTaken(ClientCommand),
    /// The actor could not go on.
    Failed(Error),
}

impl Sessions {
    /// The components there are; with those of a session, if one is named.
    pub async fn components(&self, id: Option<&SessionId>) -> Result<Registry, Error> {
        let registry = self.0.components.borrow().registry.clone();
        let Some(id) = id else { return Ok(registry) };
        let row = self.row(id).await?;
        let (state, _) = self.load_state(id, row.head).await?;
        let name = component::SESSION_COMPONENTS;
        let given = state.settings().get(name).or_else(|| row.params.get(name));
        // They were checked when they were given.
        let entries = given.and_then(|entries| component::read_entries(entries).ok()).unwrap_or_default();
        Ok(registry.with(entries, Source::Session))
    }

    /// These components have folders now, in every session.
    pub fn set_folder_components(&self, entries: Vec<Entry>) {
        let rules = self.0.config.components.rules();
        let registry = rules.registry.with(entries, Source::Config);
        self.0.components.send_replace(Arc::new(component::Rules { registry, ..rules }));
    }

    pub fn new(
        log: Log,
        runtimes: Runtimes,
        context: LaunchContext,
        config: Config,
        (rules, budgets): (Rules, Budgets),
        metrics: Arc<Metrics>,
    ) -> Self {
        Self(Arc::new(Inner {
            log,
            runtimes,
            context,
            components: watch::Sender::new(Arc::new(config.components.rules())),
            config,
            rules,
            budgets,
            metrics,
            awake: Locked::default(),
            damaged: Locked::default(),
            rule_stored: watch::Sender::new(None),
            copying: Semaphore::new(1),
            parents: Locked::default(),
            left_behind: Locked::default(),
            slash_commands: slash_commands::SlashCommands::default(),
            mirrors: mirror::Mirrors::default(),
            taps: wire::Taps::default(),
            exits: AtomicUsize::new(0),
            tracker: TaskTracker::new(),
            shutdown: CancellationToken::new(),
        }))
    }

    pub fn log(&self) -> &Log {
        &self.0.log
    }

    pub fn runtimes(&self) -> &Runtimes {
        &self.0.runtimes
    }

    pub fn launch_context(&self) -> &LaunchContext {
        &self.0.context
    }

    pub fn budgets(&self) -> &Budgets {
        &self.0.budgets
    }

    pub fn rules(&self) -> &Rules {
        &self.0.rules
    }

    pub fn awake(&self) -> usize {
        self.lock().len()
    }

    pub async fn row(&self, id: &SessionId) -> Result<SessionRow, Error> {
        let row = self.0.log.session(id).await?;
        row.ok_or_else(|| log::Error::NotFound(id.clone()).into())
    }

    /// Sends a command whose outcome nobody waits for.
    pub fn execute_unattended(&self, id: SessionId, command: ClientCommand) {
        let sessions = self.clone();
        self.0.tracker.spawn(async move {
            if let Err(error) = sessions.execute(&id, command).await {
                tracing::debug!(session = %id, %error, "a command that nobody waited for was not granted");
            }
        });
    }

    /// Carries out or refuses a command, waking the session if it rests. When this returns, the facts are durable.
    pub async fn execute(&self, id: &SessionId, command: ClientCommand) -> Result<Reply, Error> {
        let update = MirrorUpdate::of(&command.command);
        let reply = self.send_to_actor(id, command).await?;
        if let Some(update) = update {
            self.mirror(id, update);
        }
        Ok(reply)
    }

    async fn send_to_actor(&self, id: &SessionId, command: ClientCommand) -> Result<Reply, Error> {
        let mut command = command;
        loop {
            let actor = self.wake(id).await?;
            let (answer, outcome) = oneshot::channel();
            match actor.send_timeout(Request { command, answer }, QUEUE_TIMEOUT).await {
                Ok(()) => {}
                Err(SendTimeoutError::Timeout(_)) => return Err(Error::Overloaded),
                Err(SendTimeoutError::Closed(request)) => {
                    // The actor exited between lookup and send; retry.
                    command = request.command;
                    self.forget(id, &actor);
                    continue;
                }
            }
            match outcome.await {
                Ok(Answer::Outcome(outcome)) => return Ok(outcome?),
                Ok(Answer::NotTaken(returned)) => command = returned,
                Ok(Answer::Failed(error)) => return Err(error),
                Err(_) => return Err(Error::ShuttingDown),
            }
        }
    }

    /// Wakes a session that an agent says it has, so that the agent can go on with it. Says which turn is open.
    pub async fn wake_for_agent(&self, id: &SessionId, agent: &str, instance: &str, epoch: u64) -> Option<TurnId> {
        let is_its = |row: &SessionRow| {
            let heard = row.agent.as_ref().filter(|heard| heard.open && heard.epoch == epoch);
            row.runtime == agent && heard.is_some_and(|heard| heard.instance == instance)
        };
        self.row(id).await.ok().filter(is_its)?;
        // Nothing is asked of it: that it answers is that it is awake.
        let nothing = Command::ReadQueued { message_id: MessageId::trusted("-") };
        drop(self.send_to_actor(id, ClientCommand { by: agent.to_owned(), command: nothing }).await);
        self.row(id).await.ok()?.summary.turn
    }

    /// Removes a session, its facts and its blobs, once it has come to rest.
    pub async fn purge(&self, id: &SessionId, by: String) -> Result<(), Error> {
        match self.send_to_actor(id, ClientCommand { by, command: Command::Archive }).await {
            // What cannot be woken is at rest.
            Ok(_) | Err(Error::Damaged { .. }) => {}
            Err(error) => return Err(error),
        }
        let actor = self.lock().get(id).cloned();
        if let Some(actor) = actor {
            // An archived session leaves as soon as its agent has ended.
            actor.closed().await;
        }
        self.0.log.delete(id).await?;
        self.lock_damaged().remove(id);
        Ok(())
    }

    /// Settles what an earlier daemon left open, and goes on with what it had accepted.
    pub async fn recover(&self) -> Result<usize, Error> {
        let mut settled = 0;
        let left = self.0.log.unsettled().await?;
        self.0.left_behind.lock().extend(left.iter().cloned());
        for id in left {
            match self.wake(&id).await {
                Ok(_) => settled += 1,
                Err(Error::Log(error)) if !matches!(error, log::Error::NotFound(_)) => return Err(error.into()),
                // One that cannot go on is no reason for the others not to.
                Err(error) => tracing::warn!(session = %id, %error, "a session was left as it is"),
            }
        }
        Ok(settled)
    }

    /// Ends every session politely: turns are interrupted, agents end, everything is written.
    pub async fn shut_down(&self) {
        self.0.shutdown.cancel();
        self.0.tracker.close();
        let config = &self.0.config;
        let stopping = Duration::from_secs(u64::from(config.interrupt_seconds) + u64::from(config.terminate_seconds));
        if tokio::time::timeout(stopping + SHUTDOWN_TIMEOUT, self.0.tracker.wait()).await.is_err() {
            tracing::warn!(tasks = self.0.tracker.len(), "the daemon ends in the middle of something");
        }
        self.0.context.closing.cancel();
    }

    async fn wake(&self, id: &SessionId) -> Result<mpsc::Sender<Request>, Error> {
        if let Some(actor) = self.lock().get(id) {
            return Ok(actor.clone());
        }
        if self.0.shutdown.is_cancelled() {
            return Err(Error::ShuttingDown);
        }
        let row = self.row(id).await?;
        if let Some(why) = self.damage(&row) {
            return Err(Error::Damaged { id: id.clone(), why });
        }
        let mut awake = self.lock();
        if let Some(actor) = awake.get(id) {
            return Ok(actor.clone());
        }
        let (sender, requests) = mpsc::channel(MAX_WAITING_COMMANDS);
        awake.insert(id.clone(), sender.clone());
        let heard = if self.0.left_behind.lock().remove(id) { Heard::AfterRestart } else { Heard::AsItHappens };
        let actor = actor::Actor::new(self.clone(), row, requests, heard);
        self.0.tracker.spawn(actor.run());
        Ok(sender)
    }

    /// What keeps a session from being woken, as far as that is known.
    pub fn damage(&self, row: &SessionRow) -> Option<String> {
        let stored = row.damaged.clone().or_else(|| self.lock_damaged().get(&row.id).cloned());
        stored.or_else(|| self.runtime(&row.runtime).err().map(|unknown| unknown.to_string()))
    }

    /// Remembers that a session could not be loaded, if that is what happened.
    fn note_damage(&self, error: &Error) {
        if let Error::Damaged { id, why } = error {
            self.lock_damaged().insert(id.clone(), why.clone());
        }
    }

    fn lock_damaged(&self) -> std::sync::MutexGuard<'_, HashMap<SessionId, String>> {
        self.0.damaged.lock()
    }

    fn runtime(&self, name: &str) -> Result<&dyn crate::runtime::Runtime, Error> {
        self.0.runtimes.get(name).ok_or_else(|| Error::UnknownRuntime {
            name: name.to_owned(),
            known: self.0.runtimes.all().map(|runtime| runtime.id().to_owned()).collect(),
        })
    }

    /// Takes an actor off the list, unless another stands in its place already.
    fn forget(&self, id: &SessionId, actor: &mpsc::Sender<Request>) {
        let mut awake = self.lock();
        if awake.get(id).is_some_and(|listed| listed.same_channel(actor)) {
            awake.remove(id);
        }
    }

    /// Takes an actor that goes to rest off the list. After the last of them, and now and then before, its memory is given back.
    fn actor_exited(&self, id: &SessionId) {
        let none_awake = {
            let mut awake = self.lock();
            awake.remove(id);
            awake.is_empty()
        };
        let exits = self.0.exits.fetch_add(1, Ordering::Relaxed) + 1;
        if none_awake || exits.is_multiple_of(EXITS_PER_CLEANUP) {
            self.0.tracker.spawn_blocking(crate::memory::release_free_memory);
        }
    }

    /// The map is never left half changed, so a panic elsewhere does not spoil it.
    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<SessionId, mpsc::Sender<Request>>> {
        self.0.awake.lock()
    }
}

/// The wall clock, in the form the core takes it.
pub fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
