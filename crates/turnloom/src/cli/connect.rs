//! Which daemon a command talks to: one that was named, one that uses the data directory, or one started here for as long as the command runs.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde::Deserialize;
use tokio::time::Instant;
use turnloom_core::id::{Seq, SessionId, TurnId};
use turnloom_core::summary::{LostAsk, SessionStatus};
use turnloom_core::time::Timestamp;

use super::failure::Failure;
use crate::client::{self, Client, escape};
use crate::config::Config;
use crate::daemon::{self, Daemon, Options, Token};
use crate::log;

/// How long to wait for somebody who is just leaving, or just starting.
const LOCK_TIMEOUT: Duration = Duration::from_secs(3);
const LOCK_RETRY_DELAY: Duration = Duration::from_millis(50);

/// Where a daemon may be.
#[derive(Debug, Clone)]
pub(super) struct Target {
    pub(super) data: PathBuf,
    pub(super) url: Option<String>,
    pub(super) token: Option<String>,
}

/// What a command wants of a daemon that it starts itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Run turns.
    Work,
    /// Look into the log, or add a finished session to it.
    Read,
}

/// A daemon to talk to.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) client: Client,
    own: Option<Box<Daemon>>,
}

impl Connection {
    /// Ends the daemon, if it is ours.
    pub(super) async fn finish(self) -> Result<()> {
        drop(self.client);
        match self.own {
            Some(daemon) => Ok(daemon.stop().await?),
            None => Ok(()),
        }
    }
}

impl Target {
    /// The daemon that runs, if one does and answers.
    pub(super) async fn find(&self) -> Result<Option<Client>> {
        let found = daemon::find(&self.data);
        if let Some(url) = &self.url {
            // The kept token belongs to the daemon of this directory and goes to no other.
            let kept = found.filter(|(found, _)| found.url == url.trim_end_matches('/')).and_then(|(_, token)| token);
            let client = Client::new(url, self.token.clone().or(kept))?;
            client.health().await?;
            return Ok(Some(client));
        }
        let Some((found, kept)) = found.filter(|(found, _)| is_alive(found.pid)) else { return Ok(None) };
        let client = Client::new(&found.url, self.token.clone().or(kept))?;
        Ok(client.health().await.is_ok().then_some(client))
    }

    /// The daemon that runs. Where one would have to outlive the command, none is started.
    pub(super) async fn running(&self) -> Result<Client> {
        let missing = || {
            let what = format!("no daemon runs for {}", self.data.display());
            Failure::new(what, "start one with `turnloom up`, or name another with --data or --url")
        };
        Ok(self.find().await?.ok_or_else(missing)?)
    }

    /// The daemon that runs, or one of our own.
    pub(super) async fn connect(&self, purpose: Purpose) -> Result<Connection> {
        let deadline = Instant::now() + LOCK_TIMEOUT;
        loop {
            if let Some(client) = self.find().await? {
                return Ok(Connection { client, own: None });
            }
            match self.start(purpose).await {
                Ok(daemon) => {
                    let client = Client::new(&daemon.url(), daemon.token.clone())?;
                    return Ok(Connection { client, own: Some(Box::new(daemon)) });
                }
                Err(daemon::Error::Log(log::Error::Locked { pid, .. })) if Instant::now() >= deadline => {
                    let who = pid.map(|pid| format!(" (process {pid})")).unwrap_or_default();
                    let what = format!("another turnloom{who} uses {}, and it does not answer", self.data.display());
                    return Err(Failure::new(what, "stop that process, or use another --data").into());
                }
                Err(daemon::Error::Log(log::Error::Locked { .. })) => tokio::time::sleep(LOCK_RETRY_DELAY).await,
                Err(error) => return Err(error.into()),
            }
        }
    }

    async fn start(&self, purpose: Purpose) -> Result<Daemon, daemon::Error> {
        let options = Options {
            // The address is nobody's business but ours.
            config: Config { host: "127.0.0.1".to_owned(), port: 0, hosts: Vec::new(), ..self.config() },
            data: self.data.clone(),
            token: self.token.clone().map_or(Token::Kept, Token::Given),
            program: program(),
        };
        match purpose {
            Purpose::Work => Daemon::start(options).await,
            Purpose::Read => Daemon::start_to_read(options).await,
        }
    }

    /// The settings of the data directory. What is wrong with them is for `up` and `doctor` to say.
    fn config(&self) -> Config {
        Config::read(None, &self.data).unwrap_or_default()
    }
}

/// This very program.
pub(super) fn program() -> PathBuf {
    std::env::current_exe().unwrap_or_else(|_| PathBuf::from("turnloom"))
}

pub(super) fn is_alive(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    // A process of somebody else exists too, though we may not signal it.
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
}

/// A session as the daemon lists it: what of it the command line needs.
#[derive(Debug, Clone, Deserialize)]
#[expect(clippy::struct_field_names, reason = "the names are the API's")]
pub(super) struct Session {
    pub(super) session_id: SessionId,
    pub(super) runtime: String,
    pub(super) status: SessionStatus,
    pub(super) head: Seq,
    pub(super) turn: Option<TurnId>,
    pub(super) title: String,
    #[serde(default)]
    pub(super) asks: usize,
    #[serde(default)]
    pub(super) queued: usize,
    #[serde(default)]
    pub(super) held: usize,
    pub(super) lost_ask: Option<LostAsk>,
    pub(super) updated_at: Timestamp,
}

#[derive(Debug, Deserialize)]
struct Page {
    sessions: Vec<Session>,
}

/// Finds the session a person means: by its id, by the beginning of its id, or `last` for the one that was active last.
pub(super) async fn session(client: &Client, name: &str) -> Result<Session> {
    if name == "last" {
        let page: Page = client.get("/api/sessions?limit=1").await?;
        let none = || Failure::new("there are no sessions yet", "make one with `turnloom run \"demo\"`");
        return Ok(page.sessions.into_iter().next().ok_or_else(none)?);
    }
    match client.get(&format!("/api/sessions/{}", escape(name))).await {
        Ok(session) => return Ok(session),
        Err(error) if error.code() == Some("session_not_found") => {}
        Err(error) => return Err(error.into()),
    }
    let mut matching = Vec::new();
    for archived in [false, true] {
        let path = format!("/api/sessions?limit=500&archived={archived}&q={}", escape(name));
        let page: Page = client.get(&path).await.context("cannot list the sessions")?;
        matching.extend(page.sessions.into_iter().filter(|session| session.session_id.as_str().starts_with(name)));
    }
    match matching.as_slice() {
        [one] => Ok(one.clone()),
        [] => Err(Failure::new(format!("there is no session {name:?}"), "list them with `turnloom sessions`").into()),
        many => {
            let ids: Vec<&str> = many.iter().take(5).map(|session| session.session_id.as_str()).collect();
            let what = format!("{name:?} is the beginning of {} sessions", many.len());
            Err(Failure::new(what, format!("give more of it: {}", ids.join(", "))).into())
        }
    }
}

/// The path of something of a session.
pub(super) fn path(session: &SessionId, rest: &str) -> String {
    format!("/api/sessions/{}{rest}", escape(session.as_str()))
}

/// Whether a call failed because the daemon is gone or going, so that it may be there again in a moment.
pub(super) fn is_temporary(error: &client::Error) -> bool {
    match error {
        client::Error::Unreachable { .. } | client::Error::NotOurs { .. } => true,
        client::Error::Problem(problem) => problem.status == 503,
        client::Error::BadUrl(_) | client::Error::Certificates(_) => false,
    }
}
