//! The server: routes, streams, access. It translates between HTTP and sessions, and between a log and its followers; it decides nothing about
//! either.

mod access;
mod agents;
mod asks;
mod assets;
mod asyncapi;
mod automation;
mod background;
mod blobs;
mod channels;
mod component_pages;
mod components;
mod connections;
mod conversations;
mod dialect;
mod docs;
mod document;
mod emit;
mod events;
mod export;
mod extract;
mod import;
mod inbox;
mod lists;
mod login;
mod messages;
mod notifications;
mod operations;
mod pieces;
mod policy;
mod problem;
mod queue;
mod routes;
mod schedules;
mod serve;
mod sessions;
mod shapes;
mod sign_ins;
mod state;
mod table;
mod tokens;
mod turns;
mod usage;
mod views;
mod webhooks;
mod websocket;
mod wire;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::{Extensions, HeaderMap, HeaderValue, Method, StatusCode, Version};
use axum::middleware::{from_fn, from_fn_with_state, map_response};
use axum::response::{IntoResponse, Response};
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{DefaultPredicate, Predicate as _};
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer};

pub use self::access::{Access, random_token};
pub use self::asyncapi::asyncapi;
pub use self::dialect::tasks::Hub as TaskHub;
pub use self::problem::Problem;
use self::routes::routes;
pub use self::serve::Server;
pub use self::sign_ins::SignIns;
use crate::attention::Attention;
use crate::automation::Changes;
use crate::channels::Channels;
use crate::component_folders::ComponentFolders;
use crate::config::Config;
use crate::metrics::Metrics;
use crate::process::Spawner;
use crate::reader::{self, Reader, UNBUFFERED};
use crate::schedules::Schedules;
use crate::session::Sessions;
use crate::webhooks::Webhooks;

/// What every handler can reach. Cloning shares it.
#[derive(Debug, Clone)]
pub struct App(Arc<Shared>);

#[derive(Debug)]
pub struct Shared {
    pub sessions: Sessions,
    pub schedules: Schedules,
    pub access: Access,
    pub metrics: Arc<Metrics>,
    pub spawner: Spawner,
    pub reader: Reader,
    /// How often facts are added from outside.
    emits: emit::Calls,
    /// What each route asks of a scoped token.
    needs: table::Needs,
    /// Ends every stream.
    closing: CancellationToken,
    /// What goes on beside requests: sockets, and watching answers leave. The server waits for their sockets.
    workers: TaskTracker,
    /// Permits for answers that read whole logs.
    histories: Arc<Semaphore>,
    /// Permits for answers with a large page.
    pages: Arc<Semaphore>,
    /// Sockets of those whom no WebSocket reaches.
    socket_channels: websocket::channel::Channels,
    /// Whose files lie on the disk until it is their turn to be imported.
    imports: Semaphore,
    tasks: TaskHub,
    pub channels: Channels,
    pub webhooks: Webhooks,
    /// Who looks at schedules, channels and webhooks hears of changes.
    pub automation: Changes,
    pub attention: Attention,
    /// Components of people's own, with their pages.
    component_folders: ComponentFolders,
    /// Where files may be kept for a moment.
    data: PathBuf,
    /// After how long without a word a turn is taken for dead.
    zombie_after: Duration,
    openapi: Value,
}

/// What goes on beside sessions, for handlers to reach.
#[derive(Debug)]
pub struct Services {
    pub tasks: TaskHub,
    pub reader: Reader,
    pub schedules: Schedules,
    pub channels: Channels,
    pub webhooks: Webhooks,
    pub automation: Changes,
    pub attention: Attention,
    /// Where files may be kept for a moment.
    pub data: PathBuf,
}

impl std::ops::Deref for App {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

impl App {
    pub fn new(
        sessions: Sessions,
        access: Access,
        metrics: Arc<Metrics>,
        services: Services,
        spawner: Spawner,
        config: &Config,
        closing: CancellationToken,
    ) -> Self {
        let Services { tasks, reader, schedules, channels, webhooks, automation, attention, data } = services;
        let workers = TaskTracker::new();
        workers.spawn(reader::save_views(reader.views().clone(), closing.clone()));
        let component_folders = ComponentFolders::open(&data, &config.components.dirs, &config.views.allow_domains);
        sessions.set_folder_components(component_folders.registered());
        Self(Arc::new(Shared {
            sessions,
            schedules,
            access,
            metrics,
            spawner,
            reader,
            emits: emit::Calls::default(),
            needs: routes().needs(),
            closing,
            workers,
            histories: dialect::history::room(),
            pages: Arc::new(Semaphore::new(dialect::history::PAGES_AT_ONCE)),
            socket_channels: websocket::channel::Channels::default(),
            imports: Semaphore::new(import::MAX_FILES),
            tasks,
            channels,
            webhooks,
            automation,
            attention,
            component_folders,
            data,
            zombie_after: Duration::from_secs(config.zombie_seconds.into()),
            openapi: openapi(),
        }))
    }
}

/// The document of all routes.
pub fn openapi() -> Value {
    routes().openapi()
}

fn router(app: App, config: &Config) -> Router {
    let origins: Vec<HeaderValue> = config.origins.iter().filter_map(|origin| origin.parse().ok()).collect();
    let cors = CorsLayer::new()
        .allow_origin(AllowOrigin::list(origins))
        .allow_methods([Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE])
        // Which headers a client sends is its own affair, once its origin is trusted.
        .allow_headers(AllowHeaders::mirror_request())
        .allow_credentials(true);
    // A stream must leave in the moment it is written, whatever its media type.
    let is_whole = |_: StatusCode, _: Version, headers: &HeaderMap, _: &Extensions| !headers.contains_key(UNBUFFERED);
    let compress = CompressionLayer::new().compress_when(DefaultPredicate::new().and(is_whole));
    let router = routes().router().fallback(not_found).method_not_allowed_fallback(method_not_allowed);
    #[cfg(feature = "socketio")]
    let router = router.layer(dialect::socketio::layer(&app));
    router
        .layer(DefaultBodyLimit::max(config.max_body_bytes))
        .layer(from_fn_with_state(app.clone(), access::check))
        .layer(cors)
        .layer(from_fn_with_state(app.clone(), access::check_origin))
        .layer(map_response(access::protect))
        .layer(compress)
        .layer(from_fn(log_request))
        .with_state(app)
}

const SSE: &str = "text/event-stream";

async fn not_found(uri: axum::http::Uri) -> Response {
    let detail = "there is nothing here; /api/docs lists what there is";
    dialect::refuse(uri.path(), Problem::new(StatusCode::NOT_FOUND, "not_found", detail))
}

async fn method_not_allowed(uri: axum::http::Uri) -> Response {
    let detail = "this route does not take that method; see /api/docs";
    dialect::refuse(uri.path(), Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", detail))
}

async fn log_request(request: axum::extract::Request, next: axum::middleware::Next) -> Response {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let started = std::time::Instant::now();
    let response = next.run(request).await;
    let status = response.status();
    let micros = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
    if status.is_server_error() {
        tracing::warn!(%method, path, status = status.as_u16(), micros, "request");
    } else {
        tracing::debug!(%method, path, status = status.as_u16(), micros, "request");
    }
    response.into_response()
}
