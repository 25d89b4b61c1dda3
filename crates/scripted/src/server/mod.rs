//! The only part with sockets and time: listens on loopback, plays frames, keeps what was asked. What is answered is decided elsewhere.

mod answer;
mod gates;
mod play;
mod seen;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::{any, get, post};
use axum::serve::ListenerExt as _;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::gates::Gates;
pub use self::seen::Seen;
use self::seen::SeenList;
use crate::choose::ScriptPlayer;
use crate::ids::Ids;
use crate::script::Script;

/// Agents send the whole conversation each time, with images.
const MAX_BODY_BYTES: usize = 64 * 1024 * 1024;

/// How long a client that does not read can hold up the end.
const STOP: Duration = Duration::from_secs(2);

/// How a server differs from another one with the same script.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// Stands in every id (`msg_PREFIX_1`). An agent that resumes a conversation must not see an id twice, so a server that is started again
    /// for the same agent needs another one.
    pub ids: String,
}

impl Options {
    /// Ids no other server has had.
    pub fn fresh() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { ids: format!("{:x}-{:x}", since.as_micros(), std::process::id()) }
    }
}

/// Why a server did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("{0} is not on loopback: a scripted model answers anybody, so it may listen on loopback only")]
    NotLoopback(SocketAddr),
    #[error("cannot listen on {0}: {1}")]
    Listen(SocketAddr, std::io::Error),
}

/// A scripted model that is running. Ends when it is dropped, in the middle of whatever it says.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    tasks: TaskTracker,
}

/// What every connection shares.
#[derive(Debug)]
struct Shared {
    stage: Mutex<Stage>,
    seen: SeenList,
    gates: Gates,
    closing: CancellationToken,
}

/// What a reply takes something from, so it is one at a time.
#[derive(Debug)]
struct Stage {
    playing: ScriptPlayer,
    ids: Ids,
}

impl Server {
    /// Listens on this address, which must be on loopback; port 0 takes a free one.
    pub async fn start(script: Script, address: SocketAddr) -> Result<Self, StartError> {
        Self::start_with(script, address, Options::default()).await
    }

    pub async fn start_with(script: Script, address: SocketAddr, options: Options) -> Result<Self, StartError> {
        if !address.ip().is_loopback() {
            return Err(StartError::NotLoopback(address));
        }
        let fail = |error| StartError::Listen(address, error);
        let listener = TcpListener::bind(address).await.map_err(fail)?;
        let address = listener.local_addr().map_err(fail)?;
        let shared = Arc::new(Shared {
            gates: Gates::new(script.gates()),
            stage: Mutex::new(Stage { playing: ScriptPlayer::new(script), ids: Ids::new(&options.ids) }),
            seen: SeenList::default(),
            closing: CancellationToken::new(),
        });
        let tasks = TaskTracker::new();
        // A piece leaves when it is written, however small it is.
        let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
        let closing = shared.closing.clone().cancelled_owned();
        let serving = axum::serve(listener, router(Arc::clone(&shared))).with_graceful_shutdown(closing);
        let patience = shared.closing.clone();
        tasks.spawn(async move {
            let impatient = async {
                patience.cancelled().await;
                tokio::time::sleep(STOP).await;
            };
            tokio::select! {
                // Its only error is one of accepting, which axum tries again itself.
                served = serving => drop(served),
                () = impatient => {}
            }
        });
        tasks.close();
        Ok(Self { address, shared, tasks })
    }

    /// The base URL, without a slash at the end: `ANTHROPIC_BASE_URL` as it is, and with `/v1` the `base_url` of a Codex provider.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Every request so far, oldest first.
    pub fn requests(&self) -> Vec<Seen> {
        self.shared.seen.list()
    }

    /// Lets one stream pass that waits for this name, or the next one that will. False if the script has no such name.
    pub fn release(&self, name: &str) -> bool {
        self.shared.gates.release(name)
    }

    /// How many streams wait for this name now.
    pub fn waiting(&self, name: &str) -> usize {
        self.shared.gates.waiting(name)
    }

    /// Ends every stream and waits until nothing runs any more.
    pub async fn stop(self) {
        self.shared.closing.cancel();
        self.tasks.wait().await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.closing.cancel();
    }
}

impl Shared {
    fn with_stage<T>(&self, act: impl FnOnce(&mut Stage) -> T) -> T {
        act(&mut self.stage.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn router(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/", any(answer::alive))
        .route("/v1/messages", post(answer::messages))
        .route("/v1/messages/count_tokens", post(answer::count_tokens))
        .route("/v1/responses", post(answer::responses))
        .route("/responses", post(answer::responses))
        .route("/v1/models", get(answer::models))
        .route("/models", get(answer::models))
        .route("/_scripted/requests", get(answer::requests))
        .route("/_scripted/gates", get(answer::gates))
        .route("/_scripted/release/{name}", post(answer::release))
        .fallback(answer::unknown)
        .method_not_allowed_fallback(answer::unknown)
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .with_state(shared)
}
