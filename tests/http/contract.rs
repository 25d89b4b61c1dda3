//! The documents the daemon serves of itself.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::support::client::SseEvent;
use crate::support::closed;
use crate::support::contract::{CONTRACT, STREAMS, Seen};
use crate::support::{Daemon, Sse, eventually};
use crate::websocket;

#[test]
fn the_openapi_document_is_valid_and_complete() {
    let daemon = Daemon::start();
    let text = daemon.client.get("/api/openapi.json").body;
    let spec = oas3::from_json(&text).expect("an OpenAPI 3.1 document");
    spec.validate_version().expect("a version this knows");
    let document: Value = serde_json::from_str(&text).unwrap();
    let (mut ids, mut shown) = (BTreeSet::new(), BTreeSet::new());
    for (path, method, operation) in operations(&document) {
        let id = operation["operationId"].as_str().unwrap();
        assert!(ids.insert(id.to_owned()), "{method} {path}: {id} is not unique; give it another with `named`");
        let is_word = |c: char| c.is_ascii_lowercase() || c == '_';
        assert!(id.chars().all(is_word) && !id.starts_with(method), "{method} {path}: {id} is not a name");
        assert!(!operation["summary"].as_str().unwrap().is_empty(), "{method} {path}");
        let named = path.matches('{').count();
        let parameters = operation["parameters"].as_array().unwrap();
        assert_eq!(parameters.iter().filter(|parameter| parameter["in"] == "path").count(), named, "{method} {path}");
        for parameter in parameters {
            let described = parameter["description"].as_str().is_some_and(|text| !text.is_empty());
            assert!(described, "{method} {path}: {} is not described", parameter["name"]);
        }
        assert!(operation["responses"]["default"].is_object(), "{method} {path}");
        assert!(operation["responses"].as_object().unwrap().len() > 1, "{method} {path}");
        for (status, response) in operation["responses"].as_object().unwrap() {
            let schema = &response["content"]["application/json"]["schema"];
            assert_ne!(schema["type"], "string", "{method} {path} {status}: JSON is not a text; give it a schema");
            for (media_type, content) in response["content"].as_object().into_iter().flatten() {
                let Some(example) = content.get("example") else { continue };
                let key = format!("{method} {path} {status} {media_type} example");
                let validator = CONTRACT.validator(&key, &content["schema"]);
                let errors: Vec<String> = validator.iter_errors(example).map(|error| error.to_string()).collect();
                assert!(errors.is_empty(), "{key}: {errors:?}");
                shown.insert(content["schema"]["$ref"].as_str().unwrap().rsplit('/').next().unwrap().to_owned());
            }
        }
        if let Some(content) = operation["requestBody"]["content"].get("application/json") {
            let example = content.get("example");
            let example = example.unwrap_or_else(|| panic!("{method} {path}: give its body an `example`"));
            let validator = CONTRACT.validator(&format!("{method} {path} body"), &content["schema"]);
            let errors: Vec<String> = validator.iter_errors(example).map(|error| error.to_string()).collect();
            assert!(errors.is_empty(), "the example of {method} {path}: {errors:?}");
        }
    }
    let main = ["Asks", "EventPage", "Receipt", "SessionList", "SessionView"];
    assert!(shown.iter().eq(main), "the main answers have an example: {shown:?}");
    assert!(document["servers"].as_array().is_some_and(|servers| !servers.is_empty()));
    no_boolean_schemas("/components/schemas", &document["components"]["schemas"]);
    no_boolean_schemas("/paths", &document["paths"]);
    assert_eq!(document, CONTRACT.document, "what is served is what the tests compare with");
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

/// Every operation: its path, its method, and what is said of it.
pub(crate) fn operations(document: &Value) -> impl Iterator<Item = (&String, &String, &Value)> {
    let paths = document["paths"].as_object().unwrap().iter();
    paths.flat_map(|(path, methods)| {
        methods.as_object().unwrap().iter().map(move |(method, operation)| (path, method, operation))
    })
}

/// `true` is a schema, but not to everything that makes clients.
fn no_boolean_schemas(place: &str, value: &Value) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let is_schema = matches!(name.as_str(), "items" | "schema" | "not")
                    || place.ends_with("/properties")
                    || place == "/components/schemas";
                assert!(!(is_schema && member.is_boolean()), "{place}/{name} is {member}");
                if let (Value::Array(forms), "anyOf" | "oneOf" | "allOf" | "prefixItems") = (member, name.as_str()) {
                    assert!(!forms.iter().any(Value::is_boolean), "{place}/{name} is {member}");
                }
                assert!(name != "additionalProperties" || *member != json!(true), "{place}/{name} is {member}");
                no_boolean_schemas(&format!("{place}/{name}"), member);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| no_boolean_schemas(place, item)),
        _ => {}
    }
}

#[test]
fn every_route_that_reads_answers_what_the_document_says() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("s");
    client.turn("s", "artifact");
    client.say("s", "permission");
    client.ask("s");
    let queued = client.say("s", "echo later");
    let made = |path: &str, body: &Value| {
        let answer = client.post(path, body);
        assert_eq!(answer.status, 201, "{path}: {}", answer.body);
        answer.json()
    };
    let daily = json!({ "type": "interval", "every": "24h" });
    made(
        "/api/schedules",
        &json!({ "schedule_id": "s", "title": "A day", "when": daily, "prompt": "echo", "runtime": "mock" }),
    );
    let secret = json!({ "value": "a secret of a channel" });
    made("/api/channels", &json!({ "name": "chart", "kind": "bearer", "runtime": "mock", "secret": secret }));
    let webhook = made("/api/webhooks", &json!({ "url": "https://hooks.example/turnloom" }));
    let log = client.log("s");
    let artifact = log.iter().find(|event| event["type"] == "artifact_created").unwrap();
    let turn = client.session("s")["turn"].as_str().unwrap().to_owned();
    let stands_for = |name: &str| match name {
        "id" | "session" => "s",
        "runtime" | "agent" => "mock",
        "turn_id" => &turn,
        "message_id" => queued["message_id"].as_str().unwrap(),
        "name" => "chart",
        "artifact_id" => artifact["data"]["artifact_id"].as_str().unwrap(),
        other => panic!("say here what stands for {{{other}}}, so that the route is tried"),
    };
    let (mut tried, mut open) = (0, Vec::new());
    for (path, _, operation) in operations(&CONTRACT.document).filter(|(_, method, _)| *method == "get") {
        if operation["responses"]["200"]["content"].get("application/json").is_none() {
            continue;
        }
        let part = |part: &str| match part.strip_prefix('{').and_then(|part| part.strip_suffix('}')) {
            Some("id") if path.starts_with("/api/webhooks/") => {
                webhook["webhook"]["webhook_id"].as_str().unwrap().to_owned()
            }
            Some(name) => stands_for(name).to_owned(),
            None => part.to_owned(),
        };
        let mut address = path.split('/').map(part).collect::<Vec<_>>().join("/");
        if path.starts_with("/universal/v1/fs/") {
            address.push_str("?path=.&sessionId=s");
        }
        // The client compares it.
        let answer = client.get(&address);
        // What the mock cannot do it refuses.
        let refuses = answer.status == 422 && address.ends_with("/conversations");
        assert!(answer.status == 200 || refuses, "{address}: {} {}", answer.status, answer.body);
        tried += 1;
        let Some(mut more) = answer.json().as_object().cloned().filter(|_| !refuses) else { continue };
        more.insert("surprise".to_owned(), json!(1));
        let body = Value::Object(more).to_string();
        let seen =
            Seen { method: "GET", path: &address, status: 200, headers: &answer.headers, body: Some(body.as_bytes()) };
        if CONTRACT.errors_of_answer(&seen).is_empty() {
            open.push(path.as_str());
        }
    }
    assert!(tried > 20, "{tried}");
    let documents = ["/api/openapi.json", "/api/asyncapi.json", "/api/events.schema.json"];
    assert_eq!(open, documents, "an answer has no member that its schema does not name");
    client.get("/api/sessions/nobody").is_problem(404, "session_not_found");
}

#[test]
fn what_needs_no_token_is_what_the_document_says() {
    let daemon = Daemon::start();
    let stranger = crate::support::Client::new(&daemon.client.address, None);
    for (path, method, operation) in operations(&CONTRACT.document) {
        let part = |part: &str| if part.starts_with('{') { "x".to_owned() } else { part.to_owned() };
        let address = path.split('/').map(part).collect::<Vec<_>>().join("/");
        let answer = stranger.request(&method.to_uppercase(), &address, &[], b"");
        let is_open = operation["security"] == json!([]);
        // The sign-in wants a token of its own.
        assert_eq!(answer.status != 401 || path == "/login", is_open, "{method} {path}: {}", answer.status);
    }
}

#[test]
fn streams_and_sockets_carry_what_their_document_says() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    let document = client.get("/api/asyncapi.json").json();
    assert_eq!(document, STREAMS.document, "what is served is what the tests compare with");
    check_references(&document, &document);
    no_boolean_schemas("", &document["channels"]);
    no_boolean_schemas("", &document["components"]["schemas"]);
    for channel in document["channels"].as_object().unwrap().values() {
        let address = channel["address"].as_str().unwrap();
        assert!(CONTRACT.document["paths"].get(address).is_some(), "{address} is no route");
    }
    assert_eq!(client.get("/api/events.schema.json").json(), turnloom_core::event::schema());
    // Every stream, as server-sent events; what comes is compared as it is read.
    client.mock("s");
    let streams =
        ["/api/sessions/s/events", "/api/sessions/s/view/stream", "/api/sessions", "/api/asks", "/api/tasks/events"];
    let mut streams = streams.map(|path| Sse::open(client, path));
    for stream in &mut streams {
        stream.next_event().unwrap();
    }
    client.turn("s", "tool");
    client.say("s", "permission");
    client.ask("s");
    for (stream, what) in streams.iter_mut().zip(["done", "\"ops\"", "\"sessions\"", "ask_id", "task:completed"]) {
        let found = |event: SseEvent| event.kind == what || event.data.contains(what);
        while !found(stream.next_event().expect("it goes on")) {}
    }
    // A message that waits and is taken away has a last word of its own.
    let mut lost = Sse::post(client, "/api/sessions/s/turn", &json!({ "message": "echo later", "message_id": "m" }));
    assert_eq!(lost.next_event().unwrap().kind, "accepted");
    assert_eq!(client.delete("/api/sessions/s/queue/m").status, 200);
    let mut told = Vec::new();
    while let Some(event) = lost.next_event() {
        told.push(event.kind);
    }
    assert_eq!(told.last().map(String::as_str), Some("problem"));
}

/// Every op, with all that it may have, and everything that comes back.
#[test]
fn a_socket_carries_what_its_document_says() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("s");
    let mut socket = websocket::open(client);
    let mut heard = BTreeSet::new();
    let mut tell = |op: Value, until: &dyn Fn(&Value) -> bool| {
        websocket::tell(&mut socket, &op);
        let (before, last) = websocket::until(&mut socket, until);
        heard.extend(before.iter().chain([&last]).map(|told| told["op"].as_str().unwrap().to_owned()));
        last
    };
    let named = |name: &'static str| move |told: &Value| told["op"] == "frame" && told["name"] == name;
    let subscribe = |stream: &str, more: Value| {
        let mut op = json!({ "op": "subscribe", "stream": stream, "subscription": stream, "window": 60000, "ref": 1 });
        op.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        op
    };
    tell(json!({ "op": "ping" }), &|told| told["op"] == "pong");
    let events =
        json!({ "session_id": "s", "after": 0, "types": "done,user_message", "limit": 5, "dialect": "native" });
    tell(subscribe("events", events), &|told| told["op"] == "subscribed");
    tell(subscribe("view", json!({ "session_id": "s", "messages": 3 })), &named("snapshot"));
    tell(subscribe("sessions", json!({ "archived": false, "runtime": "mock", "limit": 5 })), &named("snapshot"));
    tell(subscribe("asks", json!({})), &named("asks"));
    tell(subscribe("tasks", json!({ "after": 0 })), &|told| told["data"]["type"] == "connected");
    let turn = json!({ "session_id": "s", "message": "permission", "message_id": "m-1", "when": "queue" });
    let asked = tell(subscribe("turn", turn), &|told| told["event"]["type"] == "permission_request");
    let ask = asked["event"]["data"]["ask_id"].clone();
    tell(json!({ "op": "taken", "subscription": "turn", "frames": 1 }), &|told| told["data"]["asks"][0].is_object());
    let answer =
        json!({ "op": "answer", "session_id": "s", "ask_id": ask, "reply": "once", "stop": false, "ref": [1] });
    tell(answer, &|told| told["op"] == "ended" && told["subscription"] == "turn");
    let send = json!({ "op": "send", "session_id": "s", "message": [{ "type": "text", "text": "hang" }], "ref": "h" });
    tell(send, &|told| told["op"] == "accepted");
    tell(json!({ "op": "stop", "session_id": "s", "then": "hold", "ref": 2 }), &|told| told["op"] == "stopped");
    tell(json!({ "op": "stop", "session_id": "nobody" }), &|told| told["op"] == "error");
    let dialect = json!({ "session_id": "s", "dialect": "snapshot", "subscription": 7 });
    tell(subscribe("events", dialect), &named("stream"));
    let last = tell(json!({ "op": "unsubscribe", "subscription": "view" }), &|told| told["op"] == "unsubscribed");
    assert_eq!(last["was_subscribed"], true);
    // Only heartbeats need patience that nobody has here.
    let answers = STREAMS.document["operations"]["socket_answers"]["messages"].as_array().unwrap().iter();
    let answers = answers.map(|message| message["$ref"].as_str().unwrap().rsplit('/').next().unwrap().to_owned());
    let unheard: Vec<String> = answers.filter(|name| !heard.contains(name)).collect();
    assert_eq!(unheard, ["heartbeat"]);
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
fn an_answer_has_no_member_that_its_schema_does_not_name() {
    let document = json!({ "schemas": {
        "Base": { "type": "object", "properties": { "a": {} }, "required": ["a"] },
        "More": { "allOf": [{ "$ref": "#/components/schemas/Base" }, { "properties": { "b": {} } }] },
        "Either": { "oneOf": [{ "$ref": "#/components/schemas/Base" }, { "type": "object", "required": ["free"] }] },
        "Map": { "type": "object", "additionalProperties": { "$ref": "#/components/schemas/Base" } },
        "Mixed": { "properties": { "t": {} }, "oneOf": [{ "properties": { "x": {} }, "required": ["x"] }, { "properties": { "y": {} }, "required": ["y"] }] },
        "Nullable": { "anyOf": [{ "$ref": "#/components/schemas/Base" }, { "type": "null" }] },
    } });
    let components = closed::components(&document);
    let fits = |name: &str, value: Value| {
        let schema = json!({ "$ref": format!("#/components/schemas/{name}"), "components": components });
        jsonschema::validator_for(&schema).unwrap().is_valid(&value)
    };
    assert!(fits("Base", json!({ "a": 1 })) && !fits("Base", json!({ "a": 1, "z": 1 })));
    assert!(fits("More", json!({ "a": 1, "b": 1 })) && !fits("More", json!({ "a": 1, "z": 1 })));
    assert!(fits("Either", json!({ "free": 1, "z": 1 })) && !fits("Either", json!({ "a": 1, "z": 1 })));
    assert!(fits("Map", json!({ "any": { "a": 1 } })) && !fits("Map", json!({ "any": { "a": 1, "z": 1 } })));
    assert!(fits("Mixed", json!({ "t": 1, "x": 1 })) && !fits("Mixed", json!({ "t": 1, "x": 1, "z": 1 })));
    assert!(fits("Nullable", Value::Null) && !fits("Nullable", json!({ "a": 1, "z": 1 })));
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
        "turnloom_agent_unparsed_total 2",
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
