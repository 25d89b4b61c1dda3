//! The routes of universal events, for the one table.

use serde_json::json;

use super::super::super::shapes::dialects::UniversalEventPage;
use super::super::super::table::{Route, delete, get, post, put};
use super::{Answers, EventsQuery, Message, Reply, files, sessions};

const SSE: &str = "text/event-stream";
const BYTES: &str = "application/octet-stream";

pub(in crate::http) fn routes() -> Vec<Route> {
    let mut routes = agent_routes();
    routes.extend(session_routes());
    routes.extend(file_routes());
    routes
}

fn agent_routes() -> Vec<Route> {
    vec![
        get("/universal/v1/health", "Check that the daemon is up; needs no token (universal)", sessions::health)
            .open()
            .answers::<sessions::Health>(200, "The daemon is up"),
        get("/universal/v1/agents", "List the runtimes (universal)", sessions::agents)
            .answers::<sessions::Agents>(200, "The runtimes"),
        post("/universal/v1/agents/{agent}/install", "Check that an agent is installed (universal)", sessions::install)
            .answers_empty(204, "It is installed"),
        get("/universal/v1/agents/{agent}/modes", "List the modes of an agent (universal)", sessions::modes)
            .answers::<sessions::Modes>(200, "The modes"),
        get("/universal/v1/agents/{agent}/models", "List the models of an agent (universal)", sessions::models)
            .answers::<sessions::Models>(200, "The known models"),
    ]
}

fn session_routes() -> Vec<Route> {
    vec![
        get("/universal/v1/sessions", "List sessions, newest first (universal)", sessions::list)
            .answers::<sessions::Sessions>(200, "The newest sessions"),
        post("/universal/v1/sessions/{id}", "Create a session (universal)", sessions::create)
            .body::<sessions::Create>()
            .example(json!({ "agent": "mock", "title": "A first try" }))
            .answers::<sessions::Healthy>(200, "Created"),
        post("/universal/v1/sessions/{id}/messages", "Send a message (universal)", super::message)
            .body::<Message>()
            .example(json!({ "message": "echo hello" }))
            .answers_empty(204, "Accepted and stored"),
        post(
            "/universal/v1/sessions/{id}/messages/stream",
            "Send a message and stream its turn (universal)",
            super::turn,
        )
        .query::<EventsQuery>()
        .body::<Message>()
        .example(json!({ "message": "echo hello", "attachments": [{ "path": "/tmp/notes.md" }] }))
        .answers_as(200, "The turn, until it ends or waits for an answer", SSE),
        get("/universal/v1/sessions/{id}/events", "Get a page of events (universal)", super::events)
            .query::<EventsQuery>()
            .answers::<UniversalEventPage>(200, "Events, and whether there are more"),
        get("/universal/v1/sessions/{id}/events/sse", "Stream the events (universal)", super::follow)
            .query::<EventsQuery>()
            .answers_as(200, "Every event after `offset`, then new events as they happen", SSE),
        post("/universal/v1/sessions/{id}/terminate", "End a session (universal)", super::terminate)
            .answers_empty(204, "Ended; ending it again is no error"),
        post(
            "/universal/v1/sessions/{id}/permissions/{ask_id}/reply",
            "Allow or reject a permission request (universal)",
            super::reply,
        )
        .body::<Reply>()
        .example(json!({ "reply": "once" }))
        .answers_empty(204, "Your answer was the first and counts"),
        post("/universal/v1/sessions/{id}/questions/{ask_id}/reply", "Answer questions (universal)", super::answer)
            .body::<Answers>()
            .example(json!({ "answers": [["Silk"]] }))
            .answers_empty(204, "Your answer was the first and counts"),
        post(
            "/universal/v1/sessions/{id}/questions/{ask_id}/reject",
            "Refuse to answer questions (universal)",
            super::reject,
        )
        .answers_empty(204, "Your answer was the first and counts"),
    ]
}

fn file_routes() -> Vec<Route> {
    let query = |route: Route| route.query::<files::FileQuery>();
    vec![
        query(get("/universal/v1/fs/entries", "List the entries of a folder (universal)", files::entries))
            .answers::<Vec<files::Entry>>(200, "The entries"),
        query(get("/universal/v1/fs/file", "Read a file (universal)", files::read)).answers_bytes(
            200,
            "Its bytes",
            BYTES,
        ),
        query(put("/universal/v1/fs/file", "Write a file (universal)", files::write))
            .body_as(BYTES)
            .answers::<files::Written>(200, "Written"),
        query(delete("/universal/v1/fs/entry", "Delete a file or a folder (universal)", files::remove))
            .answers::<files::Done>(200, "Removed"),
        query(post("/universal/v1/fs/mkdir", "Create a folder (universal)", files::make_folder))
            .answers::<files::Done>(200, "The folder exists"),
        query(post("/universal/v1/fs/move", "Move a file or a folder (universal)", files::rename))
            .body::<files::Move>()
            .example(json!({ "from": "notes.md", "to": "old/notes.md", "overwrite": true }))
            .answers::<files::Moved>(200, "Moved"),
        query(get("/universal/v1/fs/stat", "Get what is at a path (universal)", files::stat))
            .answers::<files::Entry>(200, "The file or folder"),
        query(post("/universal/v1/fs/upload-batch", "Upload files as a plain tar (universal)", files::upload))
            .body_as("application/x-tar")
            .answers::<files::Uploaded>(200, "The files that were written"),
    ]
}
