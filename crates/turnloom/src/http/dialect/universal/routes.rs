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
        get("/universal/v1/health", "Whether the daemon is up; needs no token (universal)", sessions::health)
            .open()
            .answers::<sessions::Health>(200, "It is"),
        get("/universal/v1/agents", "The runtimes (universal)", sessions::agents)
            .answers::<sessions::Agents>(200, "All of them"),
        post("/universal/v1/agents/{agent}/install", "Whether an agent is installed (universal)", sessions::install)
            .answers_empty(204, "It is"),
        get("/universal/v1/agents/{agent}/modes", "The modes of an agent (universal)", sessions::modes)
            .answers::<sessions::Modes>(200, "All of them"),
        get("/universal/v1/agents/{agent}/models", "The models of an agent (universal)", sessions::models)
            .answers::<sessions::Models>(200, "Those that are known"),
    ]
}

fn session_routes() -> Vec<Route> {
    vec![
        get("/universal/v1/sessions", "List sessions, newest first (universal)", sessions::list)
            .answers::<sessions::Sessions>(200, "The newest"),
        post("/universal/v1/sessions/{id}", "Create a session (universal)", sessions::create)
            .body::<sessions::Create>()
            .example(json!({ "agent": "mock", "title": "A first try" }))
            .answers::<sessions::Healthy>(200, "Created"),
        post("/universal/v1/sessions/{id}/messages", "Send a message (universal)", super::message)
            .body::<Message>()
            .example(json!({ "message": "echo hello" }))
            .answers_empty(204, "Accepted, and durable"),
        post(
            "/universal/v1/sessions/{id}/messages/stream",
            "Send a message and follow its turn (universal)",
            super::turn,
        )
        .query::<EventsQuery>()
        .body::<Message>()
        .example(json!({ "message": "echo hello", "attachments": [{ "path": "/tmp/notes.md" }] }))
        .answers_as(200, "The turn, until it ends or somebody has to answer", SSE),
        get("/universal/v1/sessions/{id}/events", "A page of events (universal)", super::events)
            .query::<EventsQuery>()
            .answers::<UniversalEventPage>(200, "Events, and whether there are more"),
        get("/universal/v1/sessions/{id}/events/sse", "Follow the events (universal)", super::follow)
            .query::<EventsQuery>()
            .answers_as(200, "Every event after `offset`, and then whatever comes", SSE),
        post("/universal/v1/sessions/{id}/terminate", "End a session (universal)", super::terminate)
            .answers_empty(204, "Ended, also the second time"),
        post("/universal/v1/sessions/{id}/permissions/{ask_id}/reply", "Allow or reject (universal)", super::reply)
            .body::<Reply>()
            .example(json!({ "reply": "once" }))
            .answers_empty(204, "Settled by you"),
        post("/universal/v1/sessions/{id}/questions/{ask_id}/reply", "Answer (universal)", super::answer)
            .body::<Answers>()
            .example(json!({ "answers": [["Silk"]] }))
            .answers_empty(204, "Settled by you"),
        post("/universal/v1/sessions/{id}/questions/{ask_id}/reject", "Do not answer (universal)", super::reject)
            .answers_empty(204, "Settled by you"),
    ]
}

fn file_routes() -> Vec<Route> {
    let query = |route: Route| route.query::<files::FileQuery>();
    vec![
        query(get("/universal/v1/fs/entries", "What is in a folder (universal)", files::entries))
            .answers::<Vec<files::Entry>>(200, "All of it"),
        query(get("/universal/v1/fs/file", "Read a file (universal)", files::read)).answers_bytes(
            200,
            "Its bytes",
            BYTES,
        ),
        query(put("/universal/v1/fs/file", "Write a file (universal)", files::write))
            .body_as(BYTES)
            .answers::<files::Written>(200, "Written"),
        query(delete("/universal/v1/fs/entry", "Remove a file or a folder (universal)", files::remove))
            .answers::<files::Done>(200, "Removed"),
        query(post("/universal/v1/fs/mkdir", "Make a folder (universal)", files::make_folder))
            .answers::<files::Done>(200, "It is there"),
        query(post("/universal/v1/fs/move", "Move a file or a folder (universal)", files::rename))
            .body::<files::Move>()
            .example(json!({ "from": "notes.md", "to": "old/notes.md", "overwrite": true }))
            .answers::<files::Moved>(200, "Moved"),
        query(get("/universal/v1/fs/stat", "What a path is (universal)", files::stat))
            .answers::<files::Entry>(200, "It"),
        query(post("/universal/v1/fs/upload-batch", "Unpack a plain tar (universal)", files::upload))
            .body_as("application/x-tar")
            .answers::<files::Uploaded>(200, "What was written"),
    ]
}
