//! The server: routes, streams, access. It translates between HTTP and sessions, and between a log and whoever follows it; it decides nothing about
//! either.

mod access;
mod asks;
mod assets;
mod blobs;
mod components;
mod conversations;
mod dialect;
mod docs;
mod events;
mod extract;
mod import;
mod messages;
mod operations;
mod problem;
mod sessions;
mod state;
mod table;
mod turns;
mod views;
mod websocket;
mod wire;

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::{HeaderValue, Method, StatusCode};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::serve::ListenerExt as _;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{DefaultPredicate, NotForContentType, Predicate as _};
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer};

pub use self::access::{Access, random_token};
pub use self::dialect::tasks::{Hub as TaskHub, Observed};
pub use self::problem::Problem;
use self::table::{Route, Table, delete, get, patch, post};
use crate::config::Config;
use crate::log::Sqlite;
use crate::metrics::Metrics;
use crate::process::Spawner;
use crate::session::Sessions;
use crate::view::Views;

/// What every handler can reach. Cloning shares it.
#[derive(Debug, Clone)]
pub struct App(Arc<Shared>);

#[derive(Debug)]
pub struct Shared {
    pub sessions: Sessions,
    pub access: Access,
    pub metrics: Arc<Metrics>,
    pub store: Arc<Sqlite>,
    pub spawner: Spawner,
    views: Views,
    /// One permit per connection that follows events.
    followers: Arc<Semaphore>,
    /// Ends every stream.
    closing: CancellationToken,
    universal: dialect::universal::Places,
    tasks: TaskHub,
    /// After how long without a word a turn is taken for dead.
    zombie_ms: i64,
    openapi: Value,
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
        (store, tasks): (Arc<Sqlite>, TaskHub),
        spawner: Spawner,
        config: &Config,
        closing: CancellationToken,
    ) -> Self {
        let followers = Arc::new(Semaphore::new(config.max_followers));
        let views = Views::new(sessions.log().clone());
        Self(Arc::new(Shared {
            sessions,
            access,
            metrics,
            store,
            spawner,
            views,
            followers,
            closing,
            universal: dialect::universal::Places::default(),
            tasks,
            zombie_ms: i64::from(config.zombie_seconds) * 1000,
            openapi: openapi(),
        }))
    }
}

/// The document of all routes.
pub fn openapi() -> Value {
    routes().openapi()
}

/// Serves until the token is cancelled and every response has ended.
pub async fn serve(listener: TcpListener, app: App, config: &Config) -> std::io::Result<()> {
    let closing = app.closing.clone();
    // A frame leaves when it is written, however small it is.
    let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
    // Made once and shared: a router that is served as it is would be copied for every connection.
    let service = router(app, config).into_make_service();
    axum::serve(listener, service).with_graceful_shutdown(closing.cancelled_owned()).await
}

fn router(app: App, config: &Config) -> Router {
    let origins: Vec<HeaderValue> = config.origins.iter().filter_map(|origin| origin.parse().ok()).collect();
    let cors = CorsLayer::new()
        .allow_origin(AllowOrigin::list(origins))
        .allow_methods([Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE])
        // Which headers a client sends is its own affair, once its origin is trusted.
        .allow_headers(AllowHeaders::mirror_request())
        .allow_credentials(true);
    // A stream must leave in the moment it is written.
    let compress = CompressionLayer::new().compress_when(
        DefaultPredicate::new().and(NotForContentType::new(SSE)).and(NotForContentType::new(wire::NDJSON)),
    );
    let router = routes().router().fallback(not_found).method_not_allowed_fallback(method_not_allowed);
    #[cfg(feature = "socketio")]
    let router = router.layer(dialect::socketio::layer(&app));
    router
        .layer(DefaultBodyLimit::max(config.max_body_bytes))
        .layer(from_fn_with_state(app.clone(), access::check))
        .layer(cors)
        .layer(compress)
        .layer(from_fn(log_request))
        .with_state(app)
}

const SSE: &str = "text/event-stream";

fn routes() -> Table {
    Table::default()
        .group("Operations", operation_routes())
        .group("Sessions", session_routes())
        .group("Events", event_routes())
        .group("Asks", ask_routes())
        .group("Shared", shared_routes())
        .group("AI SDK", ai_sdk_routes())
        .group("AG-UI", ag_ui_routes())
        .group("Universal events", dialect::universal::routes())
        .group("Agent UI", dialect::agent_ui::routes())
        .group("Tasks", dialect::tasks::routes())
        .group("Snapshots", dialect::snapshot::routes())
}

fn operation_routes() -> Vec<Route> {
    vec![
        get("/health", "Whether the daemon is up; needs no token", operations::health)
            .answers::<operations::Health>(200, "It is"),
        get("/login", "Trade a one-time token for a cookie", access::login)
            .query::<access::Login>()
            .answers_empty(303, "Signed in; go to the page"),
        post("/api/login-links", "Make a link that signs a browser in, once", access::login_link)
            .answers::<access::LoginLink>(200, "The link"),
        get("/metrics", "Counters for Prometheus", operations::metrics).answers_as(
            200,
            "Exposition text",
            "text/plain",
        ),
        post("/api/timings", "What a page measured, for the metrics", operations::timings)
            .body::<operations::Timings>()
            .answers_empty(204, "Taken"),
        get("/api/openapi.json", "This document", operations::openapi).answers_as(
            200,
            "OpenAPI 3.1",
            "application/json",
        ),
        get("/api/docs", "This document, to read", docs::routes).answers_as(200, "A page", "text/html"),
        get("/", "The workbench", assets::index).answers_as(200, "A page", "text/html"),
        get("/static/{*name}", "Files of the workbench", assets::hashed).answers_as(200, "A file", "text/javascript"),
        get("/favicon.svg", "Its icon", assets::icon).answers_as(200, "A picture", "image/svg+xml"),
        get("/theme.js", "Its theme, before the first paint", assets::theme).answers_as(
            200,
            "A script",
            "text/javascript",
        ),
    ]
}

fn session_routes() -> Vec<Route> {
    vec![
        get("/api/agents", "The runtimes, and whether each is ready", sessions::agents)
            .answers::<sessions::Agents>(200, "All of them"),
        get(
            "/api/agents/{runtime}/conversations",
            "What an agent has stored of a directory by itself, newest first",
            conversations::list,
        )
        .query::<conversations::ConversationsQuery>()
        .answers::<conversations::Conversations>(200, "Each can be adopted by a new session"),
        post("/api/sessions", "Create a session", sessions::create)
            .body::<sessions::Create>()
            .answers::<sessions::SessionView>(201, "Created")
            .answers::<sessions::SessionView>(200, "The same request was made before"),
        get("/api/sessions", "List sessions, newest activity first", sessions::list)
            .query::<sessions::ListQuery>()
            .answers::<sessions::SessionList>(200, "A page of them"),
        post("/api/sessions/import", "Add a session from an exported file", import::import)
            .query::<import::ImportQuery>()
            .answers::<sessions::SessionView>(201, "Added"),
        get("/api/sessions/{id}", "One session", sessions::show).answers::<sessions::SessionView>(200, "It"),
        patch("/api/sessions/{id}", "Change title, model or mode", sessions::update)
            .body::<sessions::Update>()
            .answers::<sessions::SessionView>(200, "As it is now"),
        delete("/api/sessions/{id}", "Archive a session, or remove it for good", sessions::remove)
            .query::<sessions::RemoveQuery>()
            .answers::<sessions::SessionView>(200, "Archived")
            .answers_empty(204, "Removed"),
        post("/api/sessions/{id}/unarchive", "Bring a session back", sessions::unarchive)
            .answers::<sessions::SessionView>(200, "As it is now"),
        post("/api/sessions/{id}/message", "Send a message", messages::send)
            .body::<messages::Send>()
            .answers::<turnloom_core::command::Receipt>(202, "Accepted, and durable"),
        post("/api/sessions/{id}/turn", "Send a message and follow its turn", turns::send_and_follow)
            .body::<messages::Send>()
            .answers_as(200, "`accepted`, then the turn's events until `done`", SSE)
            .answers_as(200, "`accepted`, then the turn's events until `done`", "text/plain"),
        post("/api/sessions/{id}/stop", "Stop the turn", sessions::stop)
            .body::<sessions::Stop>()
            .answers::<sessions::Stopped>(200, "The turn is settled"),
        post("/api/sessions/{id}/resume", "Start the agent with its conversation", sessions::resume)
            .body::<sessions::Resume>()
            .answers::<sessions::SessionView>(200, "The log says whether it remembers"),
        post("/api/sessions/{id}/fork", "Make a session that begins with a copy of this one", sessions::fork)
            .body::<sessions::Fork>()
            .answers::<sessions::SessionView>(201, "The new session"),
        post("/api/sessions/{id}/rollback", "Take back the last turns", sessions::rollback)
            .body::<sessions::Rollback>()
            .answers::<sessions::SessionView>(200, "As it is now"),
        post("/api/sessions/{id}/compact", "Compact the history", sessions::compact)
            .answers::<sessions::Accepted>(202, "It runs as a turn"),
        get("/api/sessions/{id}/queue", "The messages that wait", sessions::queue)
            .answers::<sessions::Queue>(200, "In order"),
        patch("/api/sessions/{id}/queue", "Change the order", sessions::reorder)
            .body::<sessions::Reorder>()
            .answers::<sessions::Queue>(200, "In the new order"),
        delete("/api/sessions/{id}/queue/{message_id}", "Take a message out", sessions::unqueue)
            .answers::<sessions::Queue>(200, "What still waits"),
    ]
}

fn event_routes() -> Vec<Route> {
    vec![
        get("/api/sessions/{id}/events", "Read or follow the log", events::events)
            .query::<events::EventsQuery>()
            .answers::<events::EventPage>(200, "A page (`Accept: application/json`), or a stream")
            .answers_as(200, "A page (`Accept: application/json`), or a stream", SSE)
            .answers_as(200, "A page (`Accept: application/json`), or a stream", "text/plain"),
        get(
            "/api/sessions/{id}/view",
            "The conversation as people read it: the newest messages, or those before one",
            views::view,
        )
        .query::<views::ViewQuery>()
        .answers_as(200, "A snapshot", "application/json"),
        get("/api/sessions/{id}/view/stream", "Changes to the view as they come", views::follow)
            .query::<views::StreamQuery>()
            .answers_as(200, "`snapshot` (unless the client is at the head), then `ops`", SSE),
        get("/api/sessions/{id}/wire", "What the session and its agent write to each other, from now on", wire::wire)
            .query::<wire::WireQuery>()
            .answers_as(
                200,
                "One `{\"dir\",\"at_ms\",\"line\"}` per line; a last `{\"error\"}` if you fell behind",
                wire::NDJSON,
            ),
        get("/api/ws", "The same over one WebSocket", websocket::upgrade).answers_empty(101, "Upgraded"),
        get("/api/blobs/{blob_id}", "What was too large for an event; takes ranges", blobs::blob)
            .answers_as(200, "All of it", "application/octet-stream")
            .answers_as(206, "A part of it", "application/octet-stream"),
    ]
}

fn ask_routes() -> Vec<Route> {
    vec![
        get("/api/asks", "Everything that waits for a person, oldest first", asks::list)
            .answers::<asks::Asks>(200, "All of it"),
        post("/api/sessions/{id}/permissions/{ask_id}", "Allow or reject", asks::permission)
            .body::<asks::Permission>()
            .answers::<asks::Resolved>(200, "Settled by you"),
        post("/api/sessions/{id}/questions/{ask_id}", "Answer", asks::question)
            .body::<asks::Answers>()
            .answers::<asks::Resolved>(200, "Settled by you"),
        post("/api/sessions/{id}/questions/{ask_id}/reject", "Do not answer", asks::reject_question)
            .answers::<asks::Resolved>(200, "Settled by you"),
        post("/api/sessions/{id}/interrupt/{interrupt_id}", "Give the value that is waited for", asks::interrupt)
            .body::<asks::Value>()
            .answers::<asks::Resolved>(200, "Settled by you"),
    ]
}

fn shared_routes() -> Vec<Route> {
    vec![
        get("/api/sessions/{id}/state", "What the agent and its clients share", state::read)
            .answers::<state::State>(200, "All of it"),
        patch("/api/sessions/{id}/state", "Change it by a JSON Patch", state::patch)
            .body::<state::StatePatch>()
            .answers::<state::State>(200, "As it is now"),
        post(
            "/api/sessions/{id}/components/{component_id}/callback",
            "Tell the agent what was done in a component",
            components::call_back,
        )
        .body::<components::Callback>()
        .answers::<components::Noted>(200, "It is in the log"),
        post("/api/sessions/{id}/tool-results/{tool_use_id}", "Give the result of a client's tool", asks::tool_result)
            .body::<asks::ToolResult>()
            .answers::<asks::Resolved>(200, "Settled by you"),
    ]
}

fn ai_sdk_routes() -> Vec<Route> {
    use dialect::ai_sdk;
    let chat = |path| {
        post(path, "Say something, or go on after an answer (AI SDK)", ai_sdk::chat)
            .query::<ai_sdk::ChatQuery>()
            .body::<ai_sdk::ChatBody>()
            .answers_as(200, "A UI message stream: the turn, or what follows of it", SSE)
    };
    let resume = |path| {
        get(path, "Follow the turn that runs, from its beginning (AI SDK)", ai_sdk::resume)
            .query::<ai_sdk::ChatQuery>()
            .answers_as(200, "A UI message stream", SSE)
            .answers_empty(204, "No turn runs")
    };
    vec![
        chat("/ai-sdk/chat"),
        chat("/ai-sdk/{session}/chat"),
        resume("/ai-sdk/chat/{id}/stream"),
        resume("/ai-sdk/{session}/chat/{id}/stream"),
        get("/ai-sdk/chat/{id}/messages", "A session as UI messages (AI SDK)", ai_sdk::messages)
            .query::<ai_sdk::MessagesQuery>()
            .answers_as(200, "A list of messages", "application/json"),
        post("/ai-sdk/chat/{id}/stop", "Stop the turn (AI SDK)", ai_sdk::stop_chat)
            .answers::<ai_sdk::Stopped>(200, "The turn is settled"),
    ]
}

fn ag_ui_routes() -> Vec<Route> {
    use dialect::ag_ui;
    let run = |route: Route| route.body::<ag_ui::RunBody>().answers_as(200, "AG-UI events: one run", SSE);
    vec![
        run(post("/ag-ui/{session}", "Run: say something, or answer (AG-UI)", ag_ui::run).query::<ag_ui::RunQuery>()),
        get("/ag-ui/copilotkit/info", "The agents there are (CopilotKit)", ag_ui::info)
            .answers::<ag_ui::Info>(200, "All of them"),
        run(post("/ag-ui/copilotkit/agent/{agent}/run", "Run (CopilotKit)", ag_ui::agent_run)),
        run(post("/ag-ui/copilotkit/agent/{agent}/connect", "Be there (CopilotKit)", ag_ui::agent_connect)),
        post("/ag-ui/copilotkit/agent/{agent}/stop/{thread}", "Stop the turn (CopilotKit)", ag_ui::agent_stop)
            .answers::<ag_ui::Stopped>(200, "The turn is settled"),
        post("/ag-ui/copilotkit", "All of these at one address (CopilotKit)", ag_ui::single)
            .body::<ag_ui::Call>()
            .answers_as(200, "What the method answers", "application/json"),
    ]
}

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
