//! Every route: its path, its purpose, its input and its answers. The handlers do the work.

use serde_json::json;
use turnloom_core::component::Entry;
use turnloom_core::view::View;

use super::dialect::universal::problem::Document as UniversalProblem;
use super::table::{Route, Table, delete, get, patch, post, put};
use super::{
    SSE, agents, asks, assets, automation, background, blobs, channels, component_pages, components, conversations,
    dialect, docs, emit, events, export, import, login, messages, operations, policy, queue, schedules, sessions,
    shapes, sign_ins, state, tokens, turns, usage, views, webhooks, websocket, wire,
};
use crate::scoped_tokens::Need;

pub(super) fn routes() -> Table {
    Table::default()
        .group("Operations", operation_routes())
        .group("Sessions", session_routes())
        .group("Events", event_routes())
        .group("Asks", ask_routes())
        .group("Policy", policy_routes())
        .group("Schedules", schedules::routes())
        .group("Channels", channels::routes())
        .group("Webhooks", webhooks::routes())
        .group("Automation", automation_routes())
        .group("Shared", shared_routes())
        .group("Components", component_page_routes())
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
        get("/health", "Check that the daemon is up; needs no token", operations::health)
            .open()
            .answers::<operations::Health>(200, "The daemon is up"),
        get("/login", "Exchange a one-time token for a session cookie", login::login)
            .open()
            .query::<login::Login>()
            .answers_empty(303, "Signed in; go to the page")
            .answers_empty(204, "A prefetch by the browser; the link still works"),
        post("/api/login-links", "Create a one-time sign-in link for a browser", login::login_link)
            .answers::<login::LoginLink>(200, "The link"),
        get("/api/sign-ins", "List the browsers that are signed in, last seen first", sign_ins::list)
            .answers::<sign_ins::List>(200, "The complete list"),
        delete(
            "/api/sign-ins/{id}",
            "Sign a browser out; `current` is the browser that sends the request",
            sign_ins::end,
        )
        .answers_empty(204, "Signed out; its open connections are closed"),
        delete("/api/sign-ins", "Sign every browser out", sign_ins::end_all)
            .answers_empty(204, "Signed out; their open connections are closed"),
        post("/api/tokens", "Make a token for somebody else, with a name and scopes", tokens::make)
            .needs(|_| Need::Owner)
            .body::<tokens::New>()
            .example(json!({ "name": "research", "scopes": ["agent:research"] }))
            .answers::<tokens::Made>(201, "The token; it cannot be shown again"),
        get("/api/tokens", "List the tokens that were made", tokens::list)
            .needs(|_| Need::Owner)
            .answers::<tokens::List>(200, "The complete list, oldest first, without the secrets"),
        delete("/api/tokens/{id}", "Revoke a token", tokens::revoke)
            .needs(|_| Need::Owner)
            .answers_empty(204, "Revoked; what was opened with it is closed"),
        get("/api/usage", "Get what all sessions have spent, by day and by group, and what they may", usage::show)
            .named("show_usage")
            .query::<usage::UsageQuery>()
            .answers::<usage::Usage>(200, "The sums up to now"),
        get("/metrics", "Get metrics for Prometheus", operations::metrics).answers_as(
            200,
            "Exposition text",
            "application/openmetrics-text",
        ),
        post("/api/timings", "Report timings that a page measured, for the metrics", operations::timings)
            .body::<operations::Timings>()
            .example(json!({ "timings": [{ "step": "open_to_shell", "ms": 120.5 }] }))
            .answers_empty(204, "Recorded"),
        get("/api/openapi.json", "Get this OpenAPI document; needs no token", operations::openapi)
            .open()
            .answers::<shapes::SomeDocument>(200, "OpenAPI 3.1"),
        get(
            "/api/asyncapi.json",
            "Get the AsyncAPI document of the streams and the WebSocket; needs no token",
            operations::asyncapi,
        )
        .open()
        .answers::<shapes::SomeDocument>(200, "AsyncAPI 3.0"),
        get("/api/events.schema.json", "Get the JSON Schema of every event; needs no token", operations::event_schema)
            .open()
            .answers::<shapes::SomeDocument>(200, "JSON Schema 2020-12"),
        get("/api/docs", "Read this document as a web page", docs::routes).answers_as(200, "A page", "text/html"),
        get("/", "Get the workbench, the web page of the daemon", assets::index).open().answers_as(
            200,
            "A page",
            "text/html",
        ),
        get("/static/{*name}", "Get a file of the workbench", assets::hashed)
            .open()
            .answers_as(200, "A script", "text/javascript")
            .answers_as(200, "A style sheet", "text/css")
            .answers_bytes(200, "A font", "font/woff2"),
        get("/favicon.svg", "Get the icon of the workbench", assets::icon).open().answers_as(
            200,
            "A picture",
            "image/svg+xml",
        ),
        get("/theme.js", "Get the script that sets the theme before the first paint", assets::theme).open().answers_as(
            200,
            "A script",
            "text/javascript",
        ),
    ]
}

/// Components of people's own.
fn component_page_routes() -> Vec<Route> {
    vec![
        post("/api/components/reload", "Read the folders of components again", component_pages::reload)
            .named("reload_components")
            .answers::<component_pages::Reloaded>(200, "What is there now, and what was left out"),
        get("/views/c/{name}/{hash}/{*path}", "Get a file of a component's page, for a frame", component_pages::file)
            .named("component_file")
            .open()
            .answers_as(200, "The page", "text/html")
            .answers_as(200, "A script", "text/javascript")
            .answers_as(200, "A style sheet", "text/css")
            .answers_as(200, "A picture", "image/svg+xml")
            .answers_bytes(200, "A picture", "image/png")
            .answers_bytes(200, "A file of another type", "application/octet-stream"),
    ]
}

#[expect(clippy::too_many_lines, reason = "a table")]
#[expect(clippy::redundant_closure, reason = "the constructor is for one lifetime, a closure for all")]
fn session_routes() -> Vec<Route> {
    vec![
        get("/api/agents", "List the runtimes and whether each is ready", sessions::agents)
            .answers::<sessions::Agents>(200, "The complete list"),
        get(
            "/api/agents/connect",
            "Connect as an agent: a WebSocket that carries all sessions of a process",
            agents::connect,
        )
        .needs(|_| Need::BeSomeAgent)
        .answers_empty(101, "Upgraded; the first message is `hello`, the first answer `welcome`"),
        get(
            "/api/agents/{runtime}/conversations",
            "List the conversations that an agent itself has stored for a directory, newest first",
            conversations::list,
        )
        .query::<conversations::ConversationsQuery>()
        .answers::<conversations::Conversations>(200, "A new session can adopt each of them"),
        post("/api/sessions", "Create a session", sessions::create)
            .body::<sessions::Create>()
            .example(json!({ "session_id": "try-me", "runtime": "mock", "params": { "title": "A first try" } }))
            .answers::<sessions::SessionView>(201, "Created")
            .answers::<sessions::SessionView>(200, "The session exists already, from the same request"),
        get("/api/sessions", "List sessions, newest activity first", sessions::list).reads()
            .query::<sessions::ListQuery>()
            .answers::<sessions::SessionList>(200, "One page of sessions")
            .answers_as(
                200,
                "`snapshot`, a page of them; then `changes`: `sessions` as they are now, `removed` ids",
                SSE,
            ),
        post("/api/sessions/import", "Import a session from an exported file", import::import)
            .query::<import::ImportQuery>()
            .body_as(wire::NDJSON)
            .answers::<sessions::SessionView>(201, "Imported"),
        get("/api/sessions/{id}/export", "Export a session as a file that `import` reads", export::export).reads().answers_as(
            200,
            "One JSON object per line: a header, the events, the blobs they name",
            wire::NDJSON,
        ),
        get("/api/sessions/{id}", "Get a session", sessions::show).reads().answers::<sessions::SessionView>(200, "The session"),
        patch("/api/sessions/{id}", "Change a session's title, model, mode or settings", sessions::update)
            .body::<sessions::Update>()
            .example(json!({ "title": "A better name" }))
            .answers::<sessions::SessionView>(200, "As it is now"),
        delete("/api/sessions/{id}", "Archive a session, or delete it for good", sessions::remove)
            .query::<sessions::RemoveQuery>()
            .answers::<sessions::SessionView>(200, "Archived")
            .answers_empty(204, "Deleted"),
        post("/api/sessions/{id}/unarchive", "Unarchive a session", sessions::unarchive)
            .answers::<sessions::SessionView>(200, "As it is now"),
        post("/api/sessions/{id}/message", "Send a message", messages::send).uses()
            .body::<messages::Send>()
            .example(json!({ "message": "demo", "message_id": "m-1" }))
            .answers::<turnloom_core::command::Receipt>(202, "Accepted and stored"),
        post("/api/sessions/{id}/emit", "Add facts to a session, all of them or none", emit::emit)
            .needs(|session| Need::Emit(session))
            .body::<emit::Emit>()
            .example(json!({ "id": "step-7", "events": [{ "type": "evidence_changed", "data": { "evidence_id": "tests", "kind": "tests", "title": "Tests", "status": "passed" } }] }))
            .answers::<emit::Accepted>(200, "Written; the same `id` again is answered the same"),
        post("/api/sessions/{id}/turn", "Send a message and stream its turn", turns::send_and_follow).uses()
            .body::<messages::Send>()
            .example(json!({ "message": [{ "type": "text", "text": "echo hello" }] }))
            .answers_as(200, "`accepted`, then the turn's events until `done`", SSE)
            .answers_as(200, "`accepted`, then the turn's events until `done`", "text/plain"),
        post("/api/sessions/{id}/stop", "Stop the running turn", sessions::stop).uses()
            .body::<sessions::Stop>()
            .example(json!({ "then": "hold" }))
            .answers::<sessions::Stopped>(200, "The turn has ended"),
        post(
            "/api/sessions/{id}/background/{background_id}/stop",
            "Stop a background task or a background sub-agent",
            background::stop,
        ).uses()
        .answers::<background::Stopping>(200, "The agent was asked to stop it"),
        post("/api/sessions/{id}/resume", "Start the agent and resume its conversation", sessions::resume)
            .body::<sessions::Resume>()
            .example(json!({ "provider_session_id": "0c8a7d2e-6f0b-4a51-9d3c-1b2e3f4a5b6c" }))
            .answers::<sessions::SessionView>(200, "Started; the event `session_ready` says whether it was resumed"),
        post("/api/sessions/{id}/fork", "Fork a session: create one that begins with a copy of it", sessions::fork)
            .body::<sessions::Fork>()
            .example(json!({ "session_id": "another-try" }))
            .answers::<sessions::SessionView>(201, "The new session"),
        post("/api/sessions/{id}/rollback", "Roll back the last turns", sessions::rollback)
            .body::<sessions::Rollback>()
            .example(json!({ "turns": 1 }))
            .answers::<sessions::SessionView>(200, "As it is now"),
        post("/api/sessions/{id}/compact", "Compact the agent's conversation", sessions::compact)
            .answers::<sessions::Accepted>(202, "Accepted; the compaction runs as a turn"),
        get("/api/sessions/{id}/queue", "List the queued messages", queue::list).reads()
            .answers::<queue::Queue>(200, "The queue, in order"),
        patch("/api/sessions/{id}/queue", "Reorder the queued messages", queue::reorder).uses()
            .body::<queue::Reorder>()
            .example(json!({ "order": ["m-2", "m-1"] }))
            .answers::<queue::Queue>(200, "The queue, in its new order"),
        post("/api/sessions/{id}/continue", "Release the held messages", queue::go_on).uses()
            .answers::<queue::Queue>(200, "The queue"),
        get("/api/sessions/{id}/queue/{message_id}", "Get the whole content of a queued message", queue::read).reads()
            .answers::<queue::QueuedMessage>(200, "The message"),
        patch("/api/sessions/{id}/queue/{message_id}", "Edit a queued message; it keeps its place", queue::edit).uses()
            .body::<queue::Edit>()
            .example(json!({ "message": "echo something else" }))
            .answers::<queue::Queue>(200, "The queue"),
        delete("/api/sessions/{id}/queue/{message_id}", "Remove a message from the queue", queue::remove).uses()
            .answers::<queue::Queue>(200, "The queue"),
    ]
}

fn event_routes() -> Vec<Route> {
    vec![
        get("/api/sessions/{id}/events", "Read a page of a session's events, or stream them", events::events)
            .reads()
            .query::<events::EventsQuery>()
            .answers::<events::EventPage>(200, "A page, or a stream with `Accept: text/event-stream` or `text/plain`")
            .answers_as(200, "A page, or a stream with `Accept: text/event-stream` or `text/plain`", SSE)
            .answers_as(200, "A page, or a stream with `Accept: text/event-stream` or `text/plain`", "text/plain"),
        get(
            "/api/sessions/{id}/view",
            "Get the conversation as people read it: the newest messages, or those before a given one",
            views::view,
        )
        .reads()
        .query::<views::ViewQuery>()
        .answers::<View>(200, "A snapshot of the view"),
        get("/api/sessions/{id}/files", "List the files that the session changed, with a diff of each", views::files)
            .reads()
            .query::<views::FilesQuery>()
            .answers::<views::Files>(200, "The files, newest change first"),
        get("/api/sessions/{id}/view/stream", "Stream the changes of the view", views::follow)
            .reads()
            .query::<views::StreamQuery>()
            .answers_as(200, "`snapshot` (unless the client is at the head), then `ops`", SSE),
        get(
            "/api/sessions/{id}/wire",
            "Stream what the session and its agent write to each other, from now on",
            wire::wire,
        )
        .query::<wire::WireQuery>()
        .answers_as(
            200,
            "One `{\"dir\",\"at_ms\",\"line\"}` per line; a last `{\"error\"}` if you fell behind",
            wire::NDJSON,
        ),
        get("/api/ws", "Open a WebSocket that carries any number of streams and commands", websocket::upgrade)
            .needs(|_| Need::ReadSomething)
            .query::<websocket::SocketQuery>()
            .answers_empty(101, "Upgraded"),
        get(
            "/api/channel",
            "Open a channel: what a WebSocket carries, where none gets through",
            websocket::channel::open,
        )
        .needs(|_| Need::ReadSomething)
        .named("open_channel")
        .answers_as(200, "`opened` with the name of the channel, then what a WebSocket would send", SSE),
        post("/api/channel/{channel}", "Send ops to a channel, in order", websocket::channel::post)
            .needs(|_| Need::ReadSomething)
            .named("send_ops")
            .body::<websocket::channel::Ops>()
            .example(json!([{ "op": "subscribe", "stream": "asks", "subscription": "asks" }]))
            .answers_empty(204, "The ops were accepted; their answers arrive on the channel's stream"),
        get("/api/blobs/{blob_id}", "Get a blob: content that was too large for an event; takes `Range`", blobs::blob)
            .needs(|_| Need::SomeBlob)
            .answers_bytes(200, "All of it", "*/*")
            .answers_bytes(206, "A part of it", "*/*")
            .answers_empty(304, "The client already has it"),
        post(
            "/api/blobs/{blob_id}/link",
            "Create a link that shows a blob without a token for some minutes",
            blobs::link,
        )
        .answers::<blobs::BlobLink>(200, "The link, for `<img>` for example, which cannot send a token"),
    ]
}

fn automation_routes() -> Vec<Route> {
    vec![
        get("/api/automation", "Tell whether schedules, channels or webhooks have changed", automation::show)
            .named("show_automation")
            .answers::<crate::automation::Versions>(200, "A number for each, which is another one after a change")
            .answers_as(200, "A stream of `automation`: the numbers whenever one of them is another", SSE),
    ]
}

fn ask_routes() -> Vec<Route> {
    vec![
        get("/api/asks", "List everything that waits for a person, oldest first", asks::list)
            .reads()
            .answers::<asks::Asks>(200, "All of it")
            .answers_as(200, "A stream of `asks`: the whole list each time it changes", SSE),
        post("/api/sessions/{id}/permissions/{ask_id}", "Allow or reject a permission request", asks::permission)
            .uses()
            .body::<asks::Permission>()
            .example(json!({ "reply": "once" }))
            .answers::<asks::Resolved>(200, "Your answer was the first and counts"),
        post("/api/sessions/{id}/questions/{ask_id}", "Answer questions", asks::question)
            .uses()
            .body::<asks::Answers>()
            .example(json!({ "answers": [["Silk"], ["Indigo", "Weld"]] }))
            .answers::<asks::Resolved>(200, "Your answer was the first and counts"),
        post("/api/sessions/{id}/questions/{ask_id}/reject", "Refuse to answer questions", asks::reject_question)
            .uses()
            .answers::<asks::Resolved>(200, "Your answer was the first and counts"),
        post(
            "/api/sessions/{id}/interrupt/{interrupt_id}",
            "Give an interrupt the value it waits for",
            asks::interrupt,
        )
        .uses()
        .body::<asks::Value>()
        .example(json!({ "value": "2026-12-24" }))
        .answers::<asks::Resolved>(200, "Your answer was the first and counts"),
    ]
}

fn policy_routes() -> Vec<Route> {
    vec![
        get(
            "/api/policy",
            "Get the rules that count in a session or a directory, and what is wrong with them",
            policy::show,
        )
        .query::<policy::PolicyQuery>()
        .answers::<policy::PolicyView>(200, "Modes, rules by layer, and what people always allow"),
        get("/api/rules", "List the rules that people chose with `always`", policy::list)
            .answers::<policy::StoredRules>(200, "The complete list, oldest first"),
        delete("/api/rules/{id}", "Remove a rule that somebody chose with `always`", policy::remove)
            .answers_empty(204, "Removed; equal calls ask again"),
        post(
            "/api/policy/test",
            "Judge every recorded call by proposed rules, and tell what would change",
            policy::trying::test,
        )
        .body::<policy::trying::Proposed>()
        .example(json!({ "rules": "[[rule]]\neffect = \"deny\"\ncommand = \"git push *\"\n" }))
        .answers::<policy::trying::Tried>(200, "How many calls would change, and which"),
        get(
            "/api/policy/suggestions",
            "Suggest rules from what people keep allowing or refusing",
            policy::trying::suggest,
        )
        .query::<policy::trying::SuggestionsQuery>()
        .answers::<policy::trying::Suggestions>(200, "Rules with the calls that each would have covered"),
        get("/api/policy/problems", "Get what is wrong with files of rules", policy::problems)
            .query::<policy::PolicyQuery>()
            .answers::<policy::Problems>(200, "File, line and message; none, if all is right"),
        get("/api/policy/own", "Get the user's own rules as a file", policy::own::show)
            .answers::<policy::own::OwnRules>(200, "The text of policy.toml"),
        put("/api/policy/own", "Replace the user's own rules", policy::own::replace)
            .body::<policy::own::Replacement>()
            .example(json!({ "text": "", "was": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" }))
            .answers::<policy::own::OwnRules>(200, "They count from the next call on"),
        post("/api/policy/own/rules", "Add a rule to the user's own", policy::own::add)
            .body::<policy::own::NewRule>()
            .example(json!({ "rule": "effect = \"ask\"\ncommand = \"npm run deploy *\"" }))
            .answers::<policy::own::AddedRule>(
                201,
                "It counts from the next call on; one that was there is not added twice",
            ),
    ]
}

fn shared_routes() -> Vec<Route> {
    vec![
        get("/api/sessions/{id}/state", "Get the state that the agent and its clients share", state::read)
            .reads()
            .answers::<state::State>(200, "All of it"),
        patch("/api/sessions/{id}/state", "Change the shared state with a JSON Patch", state::patch)
            .uses()
            .body::<state::StatePatch>()
            .example(json!([{ "op": "add", "path": "/rows", "value": 2 }]))
            .answers::<state::State>(200, "As it is now"),
        get("/api/components", "List the components that agents can show", components::list)
            .query::<components::ListQuery>()
            .answers::<components::List>(200, "The complete list; its `ETag` is the version")
            .answers_empty(304, "Nothing has changed since the version in `If-None-Match`"),
        get("/api/components/{name}", "Get one component that agents can show", components::show)
            .query::<components::EntryQuery>()
            .answers::<Entry>(200, "The component, with the schema of its props"),
        post(
            "/api/sessions/{id}/components/{component_id}/callback",
            "Report what a person did in a component",
            components::call_back,
        )
        .uses()
        .body::<components::Callback>()
        .example(json!({ "action": "press", "payload": { "button": "go" }, "callback_id": "press-1" }))
        .answers::<components::Noted>(200, "Recorded in the log"),
        post(
            "/api/sessions/{id}/tool-results/{tool_use_id}",
            "Give the result of a tool that a client runs",
            asks::tool_result,
        )
        .uses()
        .body::<asks::ToolResult>()
        .example(json!({ "output": "clear, 18 degrees" }))
        .answers::<asks::Resolved>(200, "Your answer was the first and counts"),
    ]
}

fn ai_sdk_routes() -> Vec<Route> {
    use dialect::ai_sdk;
    let chat = |path| {
        post(path, "Send a message, or continue after an answer (AI SDK)", ai_sdk::chat)
            .query::<ai_sdk::ChatQuery>()
            .body::<ai_sdk::ChatBody>()
            .example(json!({ "id": "try-me", "messages": [{ "id": "m-1", "role": "user", "parts": [{ "type": "text", "text": "hello" }] }] }))
            .answers_as(200, "A UI message stream of the turn, or of its rest", SSE)
    };
    let resume = |path| {
        get(path, "Stream the running turn from its beginning (AI SDK)", ai_sdk::resume)
            .query::<ai_sdk::ChatQuery>()
            .answers_as(200, "A UI message stream", SSE)
            .answers_empty(204, "No turn runs")
    };
    vec![
        chat("/ai-sdk/chat"),
        chat("/ai-sdk/{session}/chat").named("ai_sdk_chat_in_session"),
        resume("/ai-sdk/chat/{id}/stream"),
        resume("/ai-sdk/{session}/chat/{id}/stream").named("ai_sdk_resume_in_session"),
        get("/ai-sdk/chat/{id}/messages", "Get a session as UI messages (AI SDK)", ai_sdk::messages)
            .query::<ai_sdk::MessagesQuery>()
            .answers::<Vec<shapes::dialects::UiMessage>>(200, "A list of messages"),
        post("/ai-sdk/chat/{id}/stop", "Stop the running turn (AI SDK)", ai_sdk::stop_chat)
            .answers::<ai_sdk::Stopped>(200, "The turn has ended"),
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
        run(post("/ag-ui/{session}", "Run the agent: send a message, or answer (AG-UI)", ag_ui::run)
            .query::<ag_ui::RunQuery>()),
        get("/ag-ui/{session}/messages", "Get a session as AG-UI messages", ag_ui::messages).answers::<Vec<
            shapes::dialects::AgUiMessage,
        >>(
            200, "A list of messages"
        ),
        get("/ag-ui/copilotkit/info", "List the agents (CopilotKit)", ag_ui::info)
            .answers::<ag_ui::Info>(200, "The complete list"),
        run(post("/ag-ui/copilotkit/agent/{agent}/run", "Run an agent (CopilotKit)", ag_ui::agent_run)),
        run(post(
            "/ag-ui/copilotkit/agent/{agent}/connect",
            "Connect to a session without sending anything (CopilotKit)",
            ag_ui::agent_connect,
        )),
        post("/ag-ui/copilotkit/agent/{agent}/stop/{thread}", "Stop the running turn (CopilotKit)", ag_ui::agent_stop)
            .answers::<ag_ui::Stopped>(200, "The turn has ended"),
        post("/ag-ui/copilotkit", "Call any of these methods at one address (CopilotKit)", ag_ui::single)
            .body::<ag_ui::Call>()
            .example(json!({ "method": "info" }))
            .answers::<shapes::dialects::CopilotKitAnswer>(200, "What the method answers")
            .answers_as(200, "What the method answers", SSE),
    ]
}
