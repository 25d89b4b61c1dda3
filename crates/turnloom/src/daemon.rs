//! A running daemon: everything started in order, and ended in reverse.

use std::fs;
use std::io::Write as _;
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::config::{Config, Durability};
use crate::http::{self, Access, App, random_token};
use crate::log::{self, Log, Sqlite, Tails, sqlite};
use crate::metrics::Metrics;
use crate::process::{Instance, Spawner, sweep};
use crate::runtime::claude::Claude;
use crate::runtime::codex::{Codex, CodexExec};
use crate::runtime::mock::Mock;
use crate::runtime::{Runtimes, Workshop};
use crate::session::{self, Sessions};

/// What a daemon is started with.
#[derive(Debug, Clone)]
pub struct Options {
    pub config: Config,
    pub data: PathBuf,
    pub token: Token,
    /// This very program: it is also the guard and the mock agent.
    pub program: PathBuf,
}

/// Who may call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Token {
    /// The one kept in the data directory, made at the first start.
    Kept,
    Given(String),
    /// Nobody is asked; only on loopback.
    None,
}

/// Why a daemon could not start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Log(#[from] log::Error),
    #[error(transparent)]
    Session(#[from] session::Error),
    #[error("cannot listen on {address}: {cause}; choose another --port, or stop what listens there")]
    Listen { address: String, cause: std::io::Error },
    #[error("--no-token is for loopback only, and {0} is not; leave it out, or listen on 127.0.0.1")]
    TokenNeeded(String),
    #[error("cannot {doing} {}: {cause}", path.display())]
    File { doing: &'static str, path: PathBuf, cause: std::io::Error },
    #[error("cannot start a thread: {0}")]
    Thread(std::io::Error),
}

/// What the data directory says of the daemon that uses it, so that the command line finds it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Found {
    pub url: String,
    pub pid: u32,
}

/// A daemon that serves.
#[derive(Debug)]
pub struct Daemon {
    pub address: SocketAddr,
    pub token: Option<String>,
    pub sessions: Sessions,
    /// How many sessions an earlier daemon had left open.
    pub recovered: usize,
    app: App,
    log: Log,
    store: Arc<Sqlite>,
    data: PathBuf,
    closing: CancellationToken,
    tracker: TaskTracker,
}

impl Daemon {
    pub async fn start(options: Options) -> Result<Self, Error> {
        let daemon = Self::open(options, Recovery::Now).await?;
        daemon.write_found()?;
        Ok(daemon)
    }

    /// A daemon for whoever only looks into the log: it goes on with nothing an earlier one left, and does not say that it is there.
    pub async fn start_to_read(options: Options) -> Result<Self, Error> {
        Self::open(options, Recovery::Later).await
    }

    async fn open(options: Options, recovery: Recovery) -> Result<Self, Error> {
        let Options { config, data, token, program } = options;
        let tails = Tails::default();
        let durability = match config.durability {
            Durability::Power => sqlite::Durability::Power,
            Durability::Process => sqlite::Durability::Process,
        };
        let store = Arc::new(Sqlite::open(&data, durability, tails.clone())?);
        let tasks = http::TaskHub::default();
        let log = Log::new(Arc::new(http::Observed::new(Arc::clone(&store) as _, tasks.clone())), tails);
        // The directory is ours from here on.
        let token = match token {
            Token::Kept => Some(kept_token(&data)?),
            Token::Given(token) => Some(token),
            Token::None => None,
        };
        let (listener, address) = listen(&config, token.is_some()).await?;
        let tracker = TaskTracker::new();
        let spawner = Spawner::start(program.clone(), tracker.clone(), tokio::runtime::Handle::current())
            .map_err(Error::Thread)?;
        sweep_previous(&data, spawner.instance())?;
        let metrics = Arc::new(Metrics::default());
        let workshop = Workshop {
            spawner: spawner.clone(),
            tracker: tracker.clone(),
            max_line_bytes: config.max_line_bytes,
            closing: CancellationToken::new(),
        };
        let runtimes = Runtimes::new(vec![
            Box::new(Mock { program }),
            Box::new(Claude::new(config.claude.clone())),
            Box::new(Codex::new(config.codex.clone())),
            Box::new(CodexExec::new(config.codex.clone())),
        ]);
        let sessions = Sessions::new(log.clone(), runtimes, workshop, config.clone(), Arc::clone(&metrics));
        let recovered = match recovery {
            Recovery::Now => sessions.recover().await?,
            Recovery::Later => 0,
        };
        let closing = CancellationToken::new();
        let access = Access::new(token.as_deref(), hosts(&config, address), config.origins.clone());
        let stored = (Arc::clone(&store), tasks);
        let app = App::new(sessions.clone(), access, metrics, stored, spawner, &config, closing.clone());
        let serving = app.clone();
        tracker.spawn(async move {
            if let Err(error) = http::serve(listener, serving, &config).await {
                tracing::error!(%error, "the server ended");
            }
        });
        Ok(Self { address, token, sessions, recovered, app, log, store, data, closing, tracker })
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

    /// Resolves when the log cannot be written any more. A daemon that cannot write must not pretend.
    pub async fn failed(&self) -> log::Error {
        self.store.failed().await
    }

    /// Stops accepting, ends streams, settles sessions, closes the log.
    pub async fn stop(self) -> Result<(), Error> {
        self.closing.cancel();
        self.sessions.shut_down().await;
        self.tracker.close();
        self.tracker.wait().await;
        self.log.close().await?;
        drop(fs::remove_file(self.data.join(FOUND)));
        Ok(())
    }

    fn write_found(&self) -> Result<(), Error> {
        let found = Found { url: self.url(), pid: std::process::id() };
        let json = serde_json::to_vec(&found).unwrap_or_default();
        write_private(&self.data.join(FOUND), &json)
    }
}

/// When a daemon settles what an earlier one left open.
enum Recovery {
    Now,
    /// The next one does it.
    Later,
}

const FOUND: &str = "daemon.json";
const TOKEN: &str = "token";
const INSTANCE: &str = "instance";

/// The daemon that uses a data directory, if one wrote itself down there, and its token.
pub fn find(data: &Path) -> Option<(Found, Option<String>)> {
    let found = serde_json::from_slice(&fs::read(data.join(FOUND)).ok()?).ok()?;
    let token = fs::read_to_string(data.join(TOKEN)).ok().map(|token| token.trim().to_owned());
    Some((found, token))
}

async fn listen(config: &Config, has_token: bool) -> Result<(TcpListener, SocketAddr), Error> {
    let wanted = format!("{}:{}", config.host, config.port);
    let failed = |cause| Error::Listen { address: wanted.clone(), cause };
    let listener = TcpListener::bind(&wanted).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    if !has_token && !address.ip().is_loopback() {
        return Err(Error::TokenNeeded(address.to_string()));
    }
    Ok((listener, address))
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

fn kept_token(data: &Path) -> Result<String, Error> {
    let path = data.join(TOKEN);
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
    if let Ok(previous) = fs::read_to_string(&path) {
        let swept = sweep::sweep_daemon(&Instance::trusted(previous.trim()));
        tracing::debug!(?swept, "swept what an earlier daemon left");
    }
    write_private(&path, instance.as_str().as_bytes())
}

/// For the owner's eyes only, and never half written.
fn write_private(path: &Path, content: &[u8]) -> Result<(), Error> {
    let fresh = path.with_extension("new");
    let write = || {
        let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&fresh)?;
        file.write_all(content)?;
        fs::rename(&fresh, path)
    };
    write().map_err(|cause| Error::File { doing: "write", path: path.to_owned(), cause })
}
