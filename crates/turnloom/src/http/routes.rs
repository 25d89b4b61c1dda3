//! Every route: where it is, what it does, what it takes and what it answers. What happens then stands with each handler.

use serde_json::json;
use turnloom_core::view::View;

use super::dialect::universal::problem::Document as UniversalProblem;
use super::table::{Route, Table, delete, get, patch, post};
use super::{
    SSE, asks, assets, background, blobs, components, conversations, dialect, docs, events, export, import, login,
    messages, operations, queue, sessions, shapes, sign_ins, state, turns, views, websocket, wire,
};

pub(super) fn routes() -> Table {
    Table::default()
        .group("Operations", operation_routes())
        .group("Sessions", session_routes())
        .group("Events", event_routes())
        .group("Asks", ask_routes())
        .group("Shared", shared_routes())
        .group("AI SDK", ai_sdk_routes().into_iter().map(Route::refuses_in_text))
        .group("AG-UI", ag_ui_routes())
        .group(
            "Universal events",
            dialect::universal::routes().into_iter().map(Route::refuses_with::<UniversalProblem>),
        )
        .group("Agent UI", dialect::agent_ui::routes())
        .group("Tasks", dialect::tasks::routes())
        .group("Snapshots", dialect::snapshot::routes())
}

fn operation_routes() -> Vec<Route> {
    vec![
        get("/health", "Whether the daemon is up; needs no token", operations::health)
            .open()
            .answers::<operations::Health>(200, "It is"),
        get("/login", "Trade a one-time token for a cookie", login::login)
            .open()
            .query::<login::Login>()
            .answers_empty(303, "Signed in; go to the page")
            .answers_empty(204, "Only looked at, by a browser that fetches ahead; the link still works"),
        post("/api/login-links", "Make a link that signs a browser in, once", login::login_link)
            .answers::<login::LoginLink>(200, "The link"),
        get("/api/sign-ins", "Browsers that are signed in, last seen first", sign_ins::list)
            .answers::<sign_ins::List>(200, "All of them"),
        delete("/api/sign-ins/{id}", "Sign a browser out; `current` is the one that asks", sign_ins::end)
            .answers_empty(204, "What it had open is closed"),
        delete("/api/sign-ins", "Sign every browser out", sign_ins::end_all)
            .answers_empty(204, "What they had open is closed"),
        get("/metrics", "Counters for Prometheus", operations::metrics).answers_as(
            200,
            "Exposition text",
            "application/openmetrics-text",
        ),
        post("/api/timings", "What a page measured, for the metrics", operations::timings)
            .body::<operations::Timings>()
            .example(json!({ "timings": [{ "step": "open_to_shell", "ms": 120.5 }] }))
            .answers_empty(204, "Taken"),
        get("/api/openapi.json", "This document; needs no token", operations::openapi)
            .open()
            .answers::<shapes::SomeDocument>(200, "OpenAPI 3.1"),
        get("/api/asyncapi.json", "What streams and the WebSocket carry; needs no token", operations::asyncapi)
            .open()
            .answers::<shapes::SomeDocument>(200, "AsyncAPI 3.0"),
        get("/api/events.schema.json", "The JSON Schema of every event; needs no token", operations::event_schema)
            .open()
            .answers::<shapes::SomeDocument>(200, "JSON Schema 2020-12"),
        get("/api/docs", "This document, to read", docs::routes).answers_as(200, "A page", "text/html"),
        get("/", "The workbench", assets::index).open().answers_as(200, "A page", "text/html"),
        get("/static/{*name}", "Files of the workbench", assets::hashed)
            .open()
            .answers_as(200, "A script", "text/javascript")
            .answers_as(200, "A style sheet", "text/css")
            .answers_bytes(200, "A font", "font/woff2"),
        get("/favicon.svg", "Its icon", assets::icon).open().answers_as(200, "A picture", "image/svg+xml"),
        get("/theme.js", "Its theme, before the first paint", assets::theme).open().answers_as(
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
            .example(json!({ "session_id": "try-me", "runtime": "mock", "params": { "title": "A first try" } }))
            .answers::<sessions::SessionView>(201, "Created")
            .answers::<sessions::SessionView>(200, "The same request was made before"),
        get("/api/sessions", "List sessions, newest activity first", sessions::list)
            .query::<sessions::ListQuery>()
            .answers::<sessions::SessionList>(200, "A page of them")
            .answers_as(
                200,
                "`snapshot`, a page of them; then `changes`: `sessions` as they are now, `removed` ids",
                SSE,
            ),
        post("/api/sessions/import", "Add a session from an exported file", import::import)
            .query::<import::ImportQuery>()
            .body_as(wire::NDJSON)
            .answers::<sessions::SessionView>(201, "Added"),
        get("/api/sessions/{id}/export", "A session as a file, for `import`", export::export).answers_as(
            200,
            "One JSON object per line: what it is, its events, the blobs they name",
            wire::NDJSON,
        ),
        get("/api/sessions/{id}", "One session", sessions::show).answers::<sessions::SessionView>(200, "It"),
        patch("/api/sessions/{id}", "Change title, model or mode", sessions::update)
            .body::<sessions::Update>()
            .example(json!({ "title": "A better name" }))
            .answers::<sessions::SessionView>(200, "As it is now"),
        delete("/api/sessions/{id}", "Archive a session, or remove it for good", sessions::remove)
            .query::<sessions::RemoveQuery>()
            .answers::<sessions::SessionView>(200, "Archived")
            .answers_empty(204, "Removed"),
        post("/api/sessions/{id}/unarchive", "Bring a session back", sessions::unarchive)
            .answers::<sessions::SessionView>(200, "As it is now"),
        post("/api/sessions/{id}/message", "Send a message", messages::send)
            .body::<messages::Send>()
            .example(json!({ "message": "demo", "message_id": "m-1" }))
            .answers::<turnloom_core::command::Receipt>(202, "Accepted, and durable"),
        post("/api/sessions/{id}/turn", "Send a message and follow its turn", turns::send_and_follow)
            .body::<messages::Send>()
            .example(json!({ "message": [{ "type": "text", "text": "echo hello" }] }))
            .answers_as(200, "`accepted`, then the turn's events until `done`", SSE)
            .answers_as(200, "`accepted`, then the turn's events until `done`", "text/plain"),
        post("/api/sessions/{id}/stop", "Stop the turn", sessions::stop)
            .body::<sessions::Stop>()
            .example(json!({ "then": "hold" }))
            .answers::<sessions::Stopped>(200, "The turn is settled"),
        post(
            "/api/sessions/{id}/background/{background_id}/stop",
            "End one task or sub-agent of the background",
            background::stop,
        )
        .answers::<background::Stopping>(200, "The agent was told"),
        post("/api/sessions/{id}/resume", "Start the agent with its conversation", sessions::resume)
            .body::<sessions::Resume>()
            .example(json!({ "provider_session_id": "0c8a7d2e-6f0b-4a51-9d3c-1b2e3f4a5b6c" }))
            .answers::<sessions::SessionView>(200, "The log says whether it remembers"),
        post("/api/sessions/{id}/fork", "Make a session that begins with a copy of this one", sessions::fork)
            .body::<sessions::Fork>()
            .example(json!({ "session_id": "another-try" }))
            .answers::<sessions::SessionView>(201, "The new session"),
        post("/api/sessions/{id}/rollback", "Take back the last turns", sessions::rollback)
            .body::<sessions::Rollback>()
            .example(json!({ "turns": 1 }))
            .answers::<sessions::SessionView>(200, "As it is now"),
        post("/api/sessions/{id}/compact", "Compact the history", sessions::compact)
            .answers::<sessions::Accepted>(202, "It runs as a turn"),
        get("/api/sessions/{id}/queue", "The messages that wait", queue::list).answers::<queue::Queue>(200, "In order"),
        patch("/api/sessions/{id}/queue", "Change the order", queue::reorder)
            .body::<queue::Reorder>()
            .example(json!({ "order": ["m-2", "m-1"] }))
            .answers::<queue::Queue>(200, "In the new order"),
        post("/api/sessions/{id}/continue", "Let the messages that are held go on", queue::go_on)
            .answers::<queue::Queue>(200, "What still waits"),
        get("/api/sessions/{id}/queue/{message_id}", "All that a message that waits says", queue::read)
            .answers::<queue::QueuedMessage>(200, "The message"),
        patch("/api/sessions/{id}/queue/{message_id}", "Change a message that waits, in its place", queue::edit)
            .body::<queue::Edit>()
            .example(json!({ "message": "echo something else" }))
            .answers::<queue::Queue>(200, "What waits now"),
        delete("/api/sessions/{id}/queue/{message_id}", "Take a message out", queue::remove)
            .answers::<queue::Queue>(200, "What still waits"),
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
        .answers::<View>(200, "A snapshot"),
        get(
            "/api/sessions/{id}/files",
            "The files that the session has changed, with what is different now",
            views::files,
        )
        .query::<views::FilesQuery>()
        .answers::<views::Files>(200, "The newest change first"),
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
        get("/api/ws", "The same over one WebSocket", websocket::upgrade)
            .query::<websocket::SocketQuery>()
            .answers_empty(101, "Upgraded"),
        get("/api/channel", "The same over one stream, where WebSockets do not get through", websocket::channel::open)
            .named("open_channel")
            .answers_as(200, "`opened` with the name of the channel, then what a WebSocket would tell", SSE),
        post("/api/channel/{channel}", "Send ops to a channel, in order", websocket::channel::post)
            .named("send_ops")
            .body::<websocket::channel::Ops>()
            .example(json!([{ "op": "subscribe", "stream": "asks", "subscription": "asks" }]))
            .answers_empty(204, "They were taken; what they say back comes on the channel's stream"),
        get("/api/blobs/{blob_id}", "What was too large for an event; takes ranges", blobs::blob)
            .answers_bytes(200, "All of it", "*/*")
            .answers_bytes(206, "A part of it", "*/*")
            .answers_empty(304, "The client has it"),
        post(
            "/api/blobs/{blob_id}/link",
            "Make an address that shows a blob without a token, for some minutes",
            blobs::link,
        )
        .answers::<blobs::BlobLink>(200, "For `<img>`, which cannot send a token"),
    ]
}

fn ask_routes() -> Vec<Route> {
    vec![
        get("/api/asks", "Everything that waits for a person, oldest first", asks::list)
            .answers::<asks::Asks>(200, "All of it")
            .answers_as(200, "`asks`: all of it, each time it has changed", SSE),
        post("/api/sessions/{id}/permissions/{ask_id}", "Allow or reject", asks::permission)
            .body::<asks::Permission>()
            .example(json!({ "reply": "once" }))
            .answers::<asks::Resolved>(200, "Settled by you"),
        post("/api/sessions/{id}/questions/{ask_id}", "Answer", asks::question)
            .body::<asks::Answers>()
            .example(json!({ "answers": [["Silk"], ["Indigo", "Weld"]] }))
            .answers::<asks::Resolved>(200, "Settled by you"),
        post("/api/sessions/{id}/questions/{ask_id}/reject", "Do not answer", asks::reject_question)
            .answers::<asks::Resolved>(200, "Settled by you"),
        post("/api/sessions/{id}/interrupt/{interrupt_id}", "Give the value that is waited for", asks::interrupt)
            .body::<asks::Value>()
            .example(json!({ "value": "2026-12-24" }))
            .answers::<asks::Resolved>(200, "Settled by you"),
    ]
}

fn shared_routes() -> Vec<Route> {
    vec![
        get("/api/sessions/{id}/state", "What the agent and its clients share", state::read)
            .answers::<state::State>(200, "All of it"),
        patch("/api/sessions/{id}/state", "Change it by a JSON Patch", state::patch)
            .body::<state::StatePatch>()
            .example(json!([{ "op": "add", "path": "/rows", "value": 2 }]))
            .answers::<state::State>(200, "As it is now"),
        post(
            "/api/sessions/{id}/components/{component_id}/callback",
            "Tell the agent what was done in a component",
            components::call_back,
        )
        .body::<components::Callback>()
        .example(json!({ "action": "press", "payload": { "button": "go" } }))
        .answers::<components::Noted>(200, "It is in the log"),
        post("/api/sessions/{id}/tool-results/{tool_use_id}", "Give the result of a client's tool", asks::tool_result)
            .body::<asks::ToolResult>()
            .example(json!({ "output": "clear, 18 degrees" }))
            .answers::<asks::Resolved>(200, "Settled by you"),
    ]
}

fn ai_sdk_routes() -> Vec<Route> {
    use dialect::ai_sdk;
    let chat = |path| {
        post(path, "Say something, or go on after an answer (AI SDK)", ai_sdk::chat)
            .query::<ai_sdk::ChatQuery>()
            .body::<ai_sdk::ChatBody>()
            .example(json!({ "id": "try-me", "messages": [{ "id": "m-1", "role": "user", "parts": [{ "type": "text", "text": "hello" }] }] }))
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
        chat("/ai-sdk/{session}/chat").named("ai_sdk_chat_in_session"),
        resume("/ai-sdk/chat/{id}/stream"),
        resume("/ai-sdk/{session}/chat/{id}/stream").named("ai_sdk_resume_in_session"),
        get("/ai-sdk/chat/{id}/messages", "A session as UI messages (AI SDK)", ai_sdk::messages)
            .query::<ai_sdk::MessagesQuery>()
            .answers::<Vec<shapes::dialects::UiMessage>>(200, "A list of messages"),
        post("/ai-sdk/chat/{id}/stop", "Stop the turn (AI SDK)", ai_sdk::stop_chat)
            .answers::<ai_sdk::Stopped>(200, "The turn is settled"),
    ]
}

fn ag_ui_routes() -> Vec<Route> {
    use dialect::ag_ui;
    let message = json!({ "id": "m-1", "role": "user", "content": "hello" });
    let example = json!({ "threadId": "try-me", "runId": "run-1", "messages": [message], "tools": [], "context": [], "state": {} });
    let run = |route: Route| {
        let route = route.body::<ag_ui::RunBody>().example(example.clone());
        route.answers_as(200, "AG-UI events: one run", SSE)
    };
    vec![
        run(post("/ag-ui/{session}", "Run: say something, or answer (AG-UI)", ag_ui::run).query::<ag_ui::RunQuery>()),
        get("/ag-ui/{session}/messages", "A session as AG-UI messages", ag_ui::messages).answers::<Vec<
            shapes::dialects::AgUiMessage,
        >>(
            200, "A list of messages"
        ),
        get("/ag-ui/copilotkit/info", "The agents there are (CopilotKit)", ag_ui::info)
            .answers::<ag_ui::Info>(200, "All of them"),
        run(post("/ag-ui/copilotkit/agent/{agent}/run", "Run (CopilotKit)", ag_ui::agent_run)),
        run(post("/ag-ui/copilotkit/agent/{agent}/connect", "Be there (CopilotKit)", ag_ui::agent_connect)),
        post("/ag-ui/copilotkit/agent/{agent}/stop/{thread}", "Stop the turn (CopilotKit)", ag_ui::agent_stop)
            .answers::<ag_ui::Stopped>(200, "The turn is settled"),
        post("/ag-ui/copilotkit", "All of these at one address (CopilotKit)", ag_ui::single)
            .body::<ag_ui::Call>()
            .example(json!({ "method": "info" }))
            .answers::<shapes::dialects::CopilotKitAnswer>(200, "What the method answers")
            .answers_as(200, "What the method answers", SSE),
    ]
}
