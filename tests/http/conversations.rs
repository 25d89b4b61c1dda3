//! Conversations that an agent has stored by itself. Reading them needs no agent.

use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{Client, Daemon, assert_lawful, kinds, of_kind};

const STORED: &str = include_str!("../stored/claude.jsonl");
const ID: &str = "7d1f4a52-5c0e-4f0b-9a3e-2f6f0c1d8e11";

/// A daemon for somebody who has talked to Claude Code in a directory, and does not have it any more.
struct Place {
    daemon: Daemon,
    cwd: TempDir,
    config: TempDir,
}

impl Place {
    fn new() -> Self {
        let (cwd, config) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let folder = config.path().join("projects").join(name_of(cwd.path()));
        std::fs::create_dir_all(&folder).unwrap();
        let stored = STORED.replace("/srv/weaving", cwd.path().to_str().unwrap());
        std::fs::write(folder.join(format!("{ID}.jsonl")), stored).unwrap();
        std::fs::write(folder.join("notes.txt"), "no conversation").unwrap();
        let env = [("CLAUDE_CONFIG_DIR", config.path()), ("HOME", config.path()), ("PATH", Path::new("/usr/bin:/bin"))];
        let env = env.map(|(name, value)| (name.to_owned(), value.to_str().unwrap().to_owned()));
        Self { daemon: Daemon::start_in("", env.into()), cwd, config }
    }

    fn client(&self) -> &Client {
        &self.daemon.client
    }

    fn cwd(&self) -> &str {
        self.cwd.path().to_str().unwrap()
    }

    fn listed(&self, cwd: &str) -> Value {
        self.client().get(&format!("/api/agents/claude/conversations?cwd={cwd}")).json()
    }
}

/// How the agent calls the folder for a directory.
fn name_of(cwd: &Path) -> String {
    cwd.to_str().unwrap().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}

#[test]
fn stored_conversations_are_listed_by_directory() {
    let place = Place::new();
    let expected = json!({ "conversations": [{
        "id": ID, "title": "Knots", "cwd": place.cwd(), "updated_at": "2026-03-01T09:00:22.000Z",
    }] });
    assert_eq!(place.listed(place.cwd()), expected);
    assert_eq!(place.listed("/nobody/was/here"), json!({ "conversations": [] }));
    let client = place.client();
    client.get("/api/agents/claude/conversations?cwd=here").is_problem(400, "invalid_request");
    client.get("/api/agents/claude/conversations?folder=x").is_problem(400, "invalid_request");
    client.get("/api/agents/mock/conversations").is_problem(422, "unsupported");
    client.get("/api/agents/nobody/conversations").is_problem(400, "unknown_runtime");
    let stranger = Client::new(&client.address, None);
    stranger.get("/api/agents/claude/conversations").is_problem(401, "unauthorized");
}

#[test]
fn a_session_begins_with_what_was_said() {
    let place = Place::new();
    let client = place.client();
    let body = json!({ "session_id": "knots", "runtime": "claude", "adopt": ID });
    let created = client.post("/api/sessions", &body);
    assert_eq!(created.status, 201, "{}", created.body);
    let session = created.json();
    assert_eq!(
        [&session["title"], &session["cwd"], &session["provider_session_id"], &session["status"]],
        [&json!("Knots"), &json!(place.cwd()), &json!(ID), &json!("idle")]
    );
    let log = client.log("knots");
    assert_lawful(&log);
    let said: Vec<&Value> =
        of_kind(&log, "user_message").iter().map(|event| &event["data"]["content"][0]["text"]).collect();
    assert_eq!(said, ["Count the knots", "Then show me the first one", "Look again"]);
    assert!(of_kind(&log, "user_message").iter().all(|event| event["data"]["origin"] == "import"));
    assert_eq!(kinds(&log).last(), Some(&"session_ready"));

    // The same request again, also when the conversation is gone; another one is another.
    std::fs::remove_dir_all(place.config.path().join("projects")).unwrap();
    assert_eq!(client.post("/api/sessions", &body).status, 200);
    for other in [
        json!({ "session_id": "knots", "runtime": "claude", "adopt": "another" }),
        json!({ "session_id": "knots", "runtime": "claude", "adopt": ID, "params": { "title": "Other" } }),
        json!({ "session_id": "knots", "runtime": "claude" }),
    ] {
        client.post("/api/sessions", &other).is_problem(409, "session_exists");
    }
    let again = json!({ "session_id": "more", "runtime": "claude", "adopt": ID });
    client.post("/api/sessions", &again).is_problem(404, "conversation_not_found");
    assert_eq!(client.log("knots").len(), log.len());
}

#[test]
fn what_cannot_be_adopted_makes_no_session() {
    let place = Place::new();
    let client = place.client();
    let adopt = |runtime: &str, id: &str| {
        client.post("/api/sessions", &json!({ "session_id": "s", "runtime": runtime, "adopt": id }))
    };
    adopt("claude", "nobody").is_problem(404, "conversation_not_found");
    adopt("claude", "../secrets").is_problem(404, "conversation_not_found");
    adopt("mock", ID).is_problem(422, "unsupported");
    adopt("nobody", ID).is_problem(400, "unknown_runtime");
    let body = json!({ "runtime": "claude", "params": { "adopt": ID } });
    client.post("/api/sessions", &body).is_problem(400, "invalid_request");
    std::fs::remove_dir(place.cwd.path()).unwrap();
    adopt("claude", ID).is_problem(400, "invalid_request");
    client.get("/api/sessions/s").is_problem(404, "session_not_found");
    // Somewhere else it can go on.
    let params = json!({ "cwd": place.config.path().to_str().unwrap(), "title": "Mine" });
    let body = json!({ "session_id": "s", "runtime": "claude", "adopt": ID, "params": params });
    assert_eq!(client.post("/api/sessions", &body).json()["title"], "Mine");
}
