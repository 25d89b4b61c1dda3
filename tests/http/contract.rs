//! The documents the daemon serves of itself.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::support::{Daemon, eventually};

#[test]
fn the_openapi_document_is_valid_and_complete() {
    let daemon = Daemon::start();
    let text = daemon.client.get("/api/openapi.json").body;
    let spec = oas3::from_json(&text).expect("an OpenAPI 3.1 document");
    spec.validate_version().expect("a version this knows");
    let document: Value = serde_json::from_str(&text).unwrap();
    let mut ids = BTreeSet::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            assert!(ids.insert(operation["operationId"].clone().to_string()), "{method} {path}: its id is not unique");
            assert!(!operation["summary"].as_str().unwrap().is_empty(), "{method} {path}");
            let named = path.matches('{').count();
            let parameters = operation["parameters"].as_array().unwrap();
            assert_eq!(
                parameters.iter().filter(|parameter| parameter["in"] == "path").count(),
                named,
                "{method} {path}"
            );
            assert!(operation["responses"]["default"].is_object(), "{method} {path}");
            assert!(operation["responses"].as_object().unwrap().len() > 1, "{method} {path}");
        }
    }
    check_references(&document, &document);
    // The contract's routes, each with its methods.
    for (path, methods) in [
        ("/health", "get"),
        ("/api/agents", "get"),
        ("/api/agents/{runtime}/conversations", "get"),
        ("/api/sessions", "get post"),
        ("/api/sessions/{id}", "get patch delete"),
        ("/api/sessions/{id}/message", "post"),
        ("/api/sessions/{id}/turn", "post"),
        ("/api/sessions/{id}/stop", "post"),
        ("/api/sessions/{id}/resume", "post"),
        ("/api/sessions/{id}/fork", "post"),
        ("/api/sessions/{id}/rollback", "post"),
        ("/api/sessions/{id}/compact", "post"),
        ("/api/sessions/{id}/unarchive", "post"),
        ("/api/sessions/{id}/queue", "get patch"),
        ("/api/sessions/{id}/queue/{message_id}", "delete"),
        ("/api/sessions/{id}/events", "get"),
        ("/api/sessions/{id}/wire", "get"),
        ("/api/blobs/{blob_id}", "get"),
        ("/api/ws", "get"),
        ("/api/asks", "get"),
        ("/api/sessions/{id}/permissions/{ask_id}", "post"),
        ("/api/sessions/{id}/questions/{ask_id}", "post"),
        ("/api/sessions/{id}/questions/{ask_id}/reject", "post"),
        ("/api/sessions/{id}/interrupt/{interrupt_id}", "post"),
        ("/metrics", "get"),
        ("/api/openapi.json", "get"),
        ("/api/docs", "get"),
    ] {
        for method in methods.split(' ') {
            assert!(document["paths"][path][method].is_object(), "{method} {path} is missing");
        }
    }
}

fn check_references(document: &Value, value: &Value) {
    match value {
        Value::Object(members) => {
            if let Some(reference) = members.get("$ref").and_then(Value::as_str) {
                let pointer = reference.strip_prefix('#').expect("a local reference");
                assert!(document.pointer(pointer).is_some(), "{reference} leads nowhere");
            }
            members.values().for_each(|member| check_references(document, member));
        }
        Value::Array(items) => items.iter().for_each(|item| check_references(document, item)),
        _ => {}
    }
}

#[test]
fn answers_are_what_the_document_says() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("s");
    client.say("s", "permission");
    client.ask("s");
    let document = client.get("/api/openapi.json").json();
    for path in [
        "/health",
        "/api/agents",
        "/api/sessions",
        "/api/sessions/{id}",
        "/api/sessions/{id}/queue",
        "/api/asks",
        "/api/sessions/{id}/events",
    ] {
        let pointer = format!("/paths/{}/get/responses/200/content/application~1json/schema", path.replace('/', "~1"));
        let mut schema = document.pointer(&pointer).unwrap_or_else(|| panic!("{path}")).clone();
        schema["components"] = document["components"].clone();
        let validator = jsonschema::validator_for(&schema).expect("a schema");
        let answer = client.get(&path.replace("{id}", "s")).json();
        let errors: Vec<String> = validator.iter_errors(&answer).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{path}: {errors:?}");
    }
    let problem = client.get("/api/sessions/nobody").json();
    let mut schema = json!({ "$ref": "#/components/schemas/Problem" });
    schema["components"] = document["components"].clone();
    assert!(jsonschema::validator_for(&schema).unwrap().is_valid(&problem));
}

#[test]
fn every_event_is_valid_by_the_event_schema() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("s");
    client.say("s", "demo");
    for answer in ["permissions", "questions"] {
        let ask = client.ask("s");
        let body = if answer == "permissions" {
            json!({ "reply": "once" })
        } else {
            json!({ "answers": [["Silk"], ["Indigo"]] })
        };
        assert_eq!(client.post(&format!("/api/sessions/s/{answer}/{ask}"), &body).status, 200);
    }
    client.until_idle("s");
    let validator = jsonschema::validator_for(&turnloom_core::event::schema()).unwrap();
    for event in client.log("s") {
        let errors: Vec<String> = validator.iter_errors(&event).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{event}: {errors:?}");
    }
}

#[test]
fn metrics_count_what_happened() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("s");
    client.turn("s", "echo one");
    client.turn("s", "error");
    client.turn("s", "garbage");
    let text = client.get("/metrics").body;
    for line in [
        "turnloom_turns_started_total 3",
        "turnloom_turns_ended_total{outcome=\"completed\"} 2",
        "turnloom_turns_ended_total{outcome=\"failed\"} 1",
        "turnloom_agent_unparsed_total 1",
        "turnloom_sessions_awake 1",
        "turnloom_children_alive 1",
        "turnloom_followers 0",
    ] {
        assert!(text.lines().any(|known| known == line), "{line} is not in\n{text}");
    }
    let head = client.session("s")["head"].as_u64().unwrap();
    // A stream is told of a commit before the session counts it.
    let counted = format!("turnloom_events_total {head}\n");
    eventually("every event is counted", || client.get("/metrics").body.contains(&counted).then_some(()));
    assert!(text.contains("turnloom_commit_appends_bucket{le=\"+Inf\"}"));
    assert!(text.ends_with("# EOF\n"));
}

#[test]
fn a_page_can_say_how_long_things_took() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    let timings =
        json!({ "timings": [{ "step": "sent_to_accepted", "ms": 3.5 }, { "step": "open_to_messages", "ms": 40 }] });
    assert_eq!(client.post("/api/timings", &timings).status, 204);
    let text = client.get("/metrics").body;
    assert!(text.contains("turnloom_page_milliseconds_count{step=\"SentToAccepted\"} 1"), "{text}");
    for wrong in [json!({ "step": "made_up", "ms": 1 }), json!({ "step": "open_to_shell", "ms": -1 })] {
        client.post("/api/timings", &json!({ "timings": [wrong] })).is_problem(400, "invalid_request");
    }
}

#[test]
fn the_pages_need_nothing_from_elsewhere() {
    let daemon = Daemon::start();
    let docs = daemon.client.get("/api/docs");
    assert_eq!(docs.status, 200);
    assert!(docs.header("content-security-policy").unwrap().contains("default-src 'none'"));
    assert!(!docs.body.contains("http://") && !docs.body.contains("https://json"));
}

#[test]
fn the_workbench_is_part_of_the_program() {
    let daemon = Daemon::start();
    // The page holds no secret, so that somebody who is not signed in can be told how to sign in.
    let stranger = crate::support::Client::new(&daemon.client.address, None);
    let page = stranger.get("/");
    assert_eq!((page.status, page.header("cache-control")), (200, Some("no-cache")));
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.contains("require-trusted-types-for 'script'") && policy.contains("default-src 'self'"), "{policy}");
    let addresses = page.body.split(['"', '\'']).filter(|part| part.starts_with('/'));
    let mut scripts = 0;
    for address in addresses {
        let file = stranger.get(address);
        assert_eq!(file.status, 200, "{address}");
        scripts += usize::from(file.header("content-type") == Some("text/javascript; charset=utf-8"));
        if address.starts_with("/static/") {
            assert!(file.header("cache-control").unwrap().contains("immutable"), "{address}");
        }
    }
    assert!(scripts > 0, "{}", page.body);
    assert!(!page.body.contains("http://") && !page.body.contains("https://"));
    stranger.get("/static/nothing.js").is_problem(404, "not_found");
    stranger.get("/static/../../Cargo.toml").is_problem(404, "not_found");
    let small = stranger.request("GET", "/theme.js", &[("accept-encoding", "gzip")], b"");
    assert_eq!(small.status, 200);
}
