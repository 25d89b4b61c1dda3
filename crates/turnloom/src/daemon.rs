//! A running daemon. It starts everything in order and ends it in reverse.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::attention::{Attention, Tells};
use crate::automation::Changes;
use crate::budgets::Budgets;
use crate::channels::Channels;
use crate::config::{BadValue, Config};
use crate::delegations;
use crate::descriptors;
use crate::http::{self, Access, App, Server, Services, SignIns, random_token};
use crate::log::{self, Log};
use crate::metrics::Metrics;
use crate::outgoing::{Reach, Sender};
use crate::policy::Rules;
use crate::private;
use crate::process::{Instance, Spawner, groups, sweep};
use crate::reader::Reader;
use crate::runtime::claude::Claude;
use crate::runtime::codex::{Codex, CodexExec};
use crate::runtime::command::CommandAgent;
use crate::runtime::external::ExternalAgents;
use crate::runtime::mock::Mock;
use crate::runtime::{LaunchContext, Runtime, Runtimes};
use crate::schedules::Schedules;
use crate::scoped_tokens::ScopedTokens;
use crate::secrets::Secrets;
use crate::session::{self, Sessions};
pub use crate::token::Token;
use crate::token::{self, BadToken};
use crate::webhooks::Webhooks;

/// What a daemon is started with.
#[derive(Debug, Clone)]
pub struct Options {
    pub config: Config,
    pub data: PathBuf,
    pub token: Token,
    /// This very program: it is also the guard and the mock agent.
    pub program: PathBuf,
}

/// Why a daemon could not start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Log(#[from] log::Error),
    #[error(transparent)]
    Session(#[from] session::Error),
    #[error("the clock of this machine stands before 1970, and dates are needed; set it, and start again")]
    Clock,
    #[error(transparent)]
    Config(#[from] BadValue),
    #[error(transparent)]
    Token(#[from] BadToken),
    #[error("cannot listen on {address}: {cause}; choose another --port, or stop what listens there")]
    Listen { address: String, cause: std::io::Error },
    #[error("--no-token is for loopback only, and {0}; leave it out, or listen on 127.0.0.1 without `hosts`")]
    TokenNeeded(String),
    #[error("cannot {doing} {}: {cause}", path.display())]
    File { doing: &'static str, path: PathBuf, cause: std::io::Error },
    #[error("cannot start a thread: {0}")]
    Thread(std::io::Error),
}

/// Why a daemon that served cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    #[error("the log failed: {0}")]
    Log(log::Error),
    /// Alive, but deaf: nobody would ever know.
    #[error("the server failed and takes no connections any more")]
    Server,
}

/// What the data directory says of the daemon that uses it, so that the command line finds it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DaemonInfo {
    pub url: String,
    pub pid: u32,
}

/// A daemon that serves.
#[derive(Debug)]
pub struct Daemon {
    pub address: SocketAddr,
    pub token: Option<String>,
    pub sessions: Sessions,
    pub schedules: Schedules,
    /// How many sessions an earlier daemon had left open.
    pub recovered: usize,
    app: App,
    log: Log,
    data: PathBuf,
    closing: CancellationToken,
    tracker: TaskTracker,
    server: Server,
}

impl Daemon {
    pub async fn start(options: Options) -> Result<Self, Error> {
        let daemon = Self::open(options, Recovery::Now).await?;
        daemon.write_daemon_info()?;
        Ok(daemon)
    }

    /// A daemon that only reads the log: it recovers nothing that an earlier one left, and does not announce itself.
    pub async fn start_to_read(options: Options) -> Result<Self, Error> {
        Self::open(options, Recovery::Later).await
    }

    async fn open(options: Options, recovery: Recovery) -> Result<Self, Error> {
        let Options { config, data, token, program } = options;
        // What comes later must not panic over it; a clock that is set so meanwhile only costs connections.
        if SystemTime::now() < SystemTime::UNIX_EPOCH {
            return Err(Error::Clock);
        }
        config.check()?;
        if let Token::Given(token) = &token {
            check_token(token, &config)?;
        }
        if let Err(too_few) = descriptors::raise(&config) {
            tracing::warn!("{too_few}");
        }
        let log = Log::open(&data, config.durability)?;
        // The directory is ours from here on.
        let token = match token {
            Token::Kept => Some(stored_token(&data)?),
            Token::Given(token) => Some(token),
            Token::None => None,
        };
        if let Some(token) = &token {
            check_token(token, &config)?;
        }
        let (listener, address) = listen(&config, token.is_some()).await?;
        let (tracker, closing) = (TaskTracker::new(), CancellationToken::new());
        let tasks =
            http::TaskHub::start(&log, &tracker, closing.clone(), Duration::from_secs(config.zombie_seconds.into()));
        let runtime = tokio::runtime::Handle::current();
        let spawner =
            Spawner::start(program.clone(), config.control_groups, tracker.clone(), runtime).map_err(Error::Thread)?;
        sweep_previous(&data, spawner.instance())?;
        spawner.write_groups(data.join(GROUPS)).await;
        let metrics = Arc::new(Metrics::default());
        let tokens = ScopedTokens::open(data.join(TOKENS));
        let context = LaunchContext {
            spawner: spawner.clone(),
            tracker: tracker.clone(),
            max_line_bytes: config.max_line_bytes,
            closing: CancellationToken::new(),
            url: format!("http://{}", local(address)),
            tokens: tokens.clone(),
        };
        let mut known: Vec<Box<dyn Runtime>> = vec![
            Box::new(Mock { program }),
            Box::new(Claude::new(config.claude.clone())),
            Box::new(Codex::new(config.codex.clone())),
            Box::new(CodexExec::new(config.codex.clone())),
        ];
        known.extend(CommandAgent::all(&config).map(|agent| Box::new(agent) as Box<dyn Runtime>));
        let runtimes = Runtimes::new(known, ExternalAgents::new(&config, tokens.clone()));
        let rules = (Arc::new(config.budgets.rules()), config.budgets.zone.as_str());
        let budgets = Budgets::start(&log, data.join(USAGE), rules, &tracker, closing.clone());
        let sessions = Sessions::new(
            log.clone(),
            runtimes,
            context,
            config.clone(),
            (Rules::open(&data), budgets),
            Arc::clone(&metrics),
        );
        let reader = Reader::new(log.clone(), config.max_followers, Arc::clone(&metrics), closing.clone());
        let outside = outside(&data, &config)?;
        let ends = (tracker.clone(), closing.clone());
        let automation = Changes::default();
        let notes = (Arc::clone(&metrics), automation.clone());
        let channels =
            Channels::open((sessions.clone(), reader.clone()), outside.clone(), notes.clone(), ends.clone()).await?;
        let webhooks = Webhooks::open((log.clone(), reader.clone()), outside.clone(), notes, ends).await?;
        let tells = if recovery == Recovery::Now { Tells::Devices } else { Tells::Nobody };
        delegations::start(&sessions, &tracker, closing.clone());
        let recovered = match recovery {
            Recovery::Now => {
                let recovered = sessions.recover().await?;
                channels.resume().await?;
                webhooks.resume().await?;
                recovered
            }
            Recovery::Later => 0,
        };
        let attention = Attention::start(&log, outside, tells, (&tracker, closing.clone()));
        let schedules = Schedules::start(sessions.clone(), automation.clone(), &tracker, closing.clone()).await?;
        let idle = Duration::from_hours(config.sign_in_hours.into());
        let sign_ins = SignIns::open(data.join(SIGN_INS), idle, token.as_deref().unwrap_or_default());
        let access =
            Access::new(token.as_deref(), (sign_ins, tokens), &hosts(&config, address), config.origins.clone());
        let (schedules_, data_) = (schedules.clone(), data.clone());
        let services =
            Services { tasks, reader, schedules: schedules_, channels, webhooks, automation, attention, data: data_ };
        let app = App::new(sessions.clone(), access, metrics, services, spawner, &config, closing.clone());
        let server = Server::start(listener, app.clone(), &config);
        Ok(Self { address, token, sessions, schedules, recovered, app, log, data, closing, tracker, server })
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// A link that signs a browser in, once.
    pub fn login_url(&self) -> String {
        match self.token {
            Some(_) => format!("{}/login?token={}", self.url(), self.app.access.login_token()),
            None => self.url(),
        }
    }

    /// Resolves when the log cannot be written any more, or nobody listens. Such a daemon must not pretend.
    pub async fn failed(&self) -> Failure {
        tokio::select! {
            error = self.log.failed() => Failure::Log(error),
            () = self.server.ended() => Failure::Server,
        }
    }

    /// Stops accepting, ends streams, settles sessions, closes the log. Clients that do not read their answers are not waited for.
    pub async fn stop(self) -> Result<(), Error> {
        self.closing.cancel();
        self.sessions.shut_down().await;
        self.server.stop().await;
        self.tracker.close();
        self.tracker.wait().await;
        self.log.close().await?;
        drop(fs::remove_file(self.data.join(DAEMON_FILE)));
        Ok(())
    }

    fn write_daemon_info(&self) -> Result<(), Error> {
        let found = DaemonInfo { url: self.url(), pid: std::process::id() };
        let json = serde_json::to_vec(&found).unwrap_or_default();
        write_private(&self.data.join(DAEMON_FILE), &json)
    }
}

/// When a daemon settles what an earlier one left open.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Recovery {
    Now,
    /// The next one does it.
    Later,
}

const DAEMON_FILE: &str = "daemon.json";
const TOKEN: &str = "token";
const INSTANCE: &str = "instance";
const GROUPS: &str = "groups";
const SIGN_INS: &str = "sign-ins";
const TOKENS: &str = "tokens";
const USAGE: &str = "usage.json";
const SECRETS: &str = "secrets";

/// The daemon that uses a data directory, if one wrote itself down there, and its token.
pub fn find(data: &Path) -> Option<(DaemonInfo, Option<String>)> {
    let found = serde_json::from_slice(&fs::read(data.join(DAEMON_FILE)).ok()?).ok()?;
    let token = fs::read_to_string(data.join(TOKEN)).ok().map(|token| token.trim().to_owned());
    Some((found, token))
}

fn check_token(token: &str, config: &Config) -> Result<(), BadToken> {
    token::check(token)?;
    if config.is_exposed() { token::check_strength(token) } else { Ok(()) }
}

async fn listen(config: &Config, has_token: bool) -> Result<(TcpListener, SocketAddr), Error> {
    let wanted = format!("{}:{}", config.host, config.port);
    if !has_token && config.is_exposed() {
        let names = config.hosts.join(", ");
        let why = if names.is_empty() { format!("{wanted} is not") } else { format!("`hosts` names {names}") };
        return Err(Error::TokenNeeded(why));
    }
    let failed = |cause| Error::Listen { address: wanted.clone(), cause };
    let listener = TcpListener::bind(&wanted).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    if !has_token && !address.ip().is_loopback() {
        return Err(Error::TokenNeeded(format!("{address} is not")));
    }
    Ok((listener, address))
}

/// The secrets that others share with the daemon, and what sends requests to them.
fn outside(data: &Path, config: &Config) -> Result<(Secrets, Sender), Error> {
    let path = data.join(SECRETS);
    let secrets = Secrets::open(path.clone()).map_err(|cause| Error::File { doing: "read", path, cause })?;
    let reach = if config.allow_private_targets { Reach::Anywhere } else { Reach::Public };
    Ok((secrets, Sender::new(reach)))
}

/// The names the daemon answers to.
fn hosts(config: &Config, address: SocketAddr) -> Vec<String> {
    let port = address.port();
    let mut hosts =
        vec![address.to_string(), format!("localhost:{port}"), format!("127.0.0.1:{port}"), format!("[::1]:{port}")];
    hosts.push(format!("{}:{port}", config.host));
    hosts.extend(config.hosts.iter().cloned());
    hosts
}

/// How a program of this machine reaches the daemon.
fn local(address: SocketAddr) -> SocketAddr {
    match address.ip() {
        ip if !ip.is_unspecified() => address,
        IpAddr::V4(_) => SocketAddr::new(Ipv4Addr::LOCALHOST.into(), address.port()),
        IpAddr::V6(_) => SocketAddr::new(Ipv6Addr::LOCALHOST.into(), address.port()),
    }
}

fn stored_token(data: &Path) -> Result<String, Error> {
    let path = data.join(TOKEN);
    // Somebody may have put it there with an editor.
    private::restrict(&path).map_err(|cause| Error::File { doing: "close to others", path: path.clone(), cause })?;
    match fs::read_to_string(&path) {
        Ok(token) if !token.trim().is_empty() => Ok(token.trim().to_owned()),
        Ok(_) => make_token(&path),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => make_token(&path),
        Err(cause) => Err(Error::File { doing: "read", path, cause }),
    }
}

fn make_token(path: &Path) -> Result<String, Error> {
    let token = random_token();
    write_private(path, token.as_bytes())?;
    Ok(token)
}

/// Ends what a daemon before us left running, and writes down who we are for the one after us.
fn sweep_previous(data: &Path, instance: &Instance) -> Result<(), Error> {
    let path = data.join(INSTANCE);
    groups::end_previous(&data.join(GROUPS));
    if let Ok(previous) = fs::read_to_string(&path) {
        let swept = sweep::sweep_daemon(&Instance::trusted(previous.trim()));
        tracing::debug!(?swept, "swept what an earlier daemon left");
    }
    write_private(&path, instance.as_str().as_bytes())
}

fn write_private(path: &Path, content: &[u8]) -> Result<(), Error> {
    private::replace(path, content).map_err(|cause| Error::File { doing: "write", path: path.to_owned(), cause })
}
