//! The documents the daemon serves of itself.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::support::Daemon;

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
    assert!(text.contains(&format!("turnloom_events_total {head}\n")), "{head}\n{text}");
    assert!(text.contains("turnloom_commit_appends_bucket{le=\"+Inf\"}"));
    assert!(text.ends_with("# EOF\n"));
}

#[test]
fn the_pages_need_nothing_from_elsewhere() {
    let daemon = Daemon::start();
    for path in ["/", "/api/docs"] {
        let page = daemon.client.get(path);
        assert_eq!(page.status, 200);
        assert!(page.header("content-security-policy").unwrap().contains("default-src 'none'"));
        assert!(!page.body.contains("http://") && !page.body.contains("https://json"), "{path}");
    }
}
