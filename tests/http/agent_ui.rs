//! Agent UI events: every frame valid, resumed from any position, and each layer of reads on its own.

use serde_json::{Value, json};

use crate::support::{Client, Daemon, Sse};

fn schema() -> jsonschema::Validator {
    let schema = include_str!("../clients/golden/agent-ui-event.schema.json");
    jsonschema::validator_for(&serde_json::from_str(schema).unwrap()).unwrap()
}

fn until(stream: &mut Sse, kind: &str) -> Vec<(Option<u64>, Value)> {
    let mut events = Vec::new();
    while let Some(event) = stream.next_event() {
        let data: Value = serde_json::from_str(&event.data).unwrap();
        let last = data["type"] == kind;
        events.push((event.id, data));
        if last {
            return events;
        }
    }
    panic!("the stream ended before {kind}");
}

fn demo(client: &Client) {
    client.mock("s");
    for text in ["demo", "artifact", "image", "error", "garbage", "big 50000"] {
        client.say("s", text);
        while client.session("s")["turn"].is_string() {
            let asks = client.get("/api/asks").json();
            for ask in asks["asks"].as_array().unwrap() {
                let id = ask["ask_id"].as_str().unwrap();
                match ask["kind"].as_str().unwrap() {
                    "permission" => {
                        client.post(&format!("/api/sessions/s/permissions/{id}"), &json!({ "reply": "once" }))
                    }
                    "question" => {
                        client.post(&format!("/api/sessions/s/questions/{id}"), &json!({ "answers": [["Silk"], []] }))
                    }
                    _ => client.post(&format!("/api/sessions/s/interrupt/{id}"), &json!({ "value": "2026-12-24" })),
                };
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }
}

#[test]
fn every_frame_is_valid_and_a_reader_comes_back_anywhere() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    demo(client);
    let schema = schema();
    let head = client.session("s")["head"].as_u64().unwrap();
    let read = |after: u64| {
        let mut stream = Sse::open(client, &format!("/agent-ui/sessions/s/events?after={after}"));
        let mut events = Vec::new();
        while events.last().is_none_or(|(id, _): &(Option<u64>, Value)| *id != Some(head)) {
            let event = stream.next_event().expect("it goes on");
            events.push((event.id, serde_json::from_str::<Value>(&event.data).unwrap()));
        }
        events
    };
    let all = read(0);
    for (id, event) in &all {
        let errors: Vec<String> = schema.iter_errors(event).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{errors:?}: {event}");
        assert!(id.is_none_or(|id| event["sequence"] == id), "an id is given once, with the last event of a fact");
    }
    for after in (1..head).step_by(17) {
        let rest: Vec<_> =
            all.iter().filter(|(_, event)| event["sequence"].as_u64().unwrap() > after).cloned().collect();
        assert_eq!(read(after), rest, "after {after}");
    }
}

#[test]
fn a_request_and_its_answer_are_told_live() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("s");
    let mut stream = Sse::open(client, "/agent-ui/sessions/s/events");
    client.say("s", "permission");
    let (_, asked) = until(&mut stream, "action.required").pop().unwrap();
    assert_eq!((&asked["control"], &asked["runtimeStatus"]), (&json!("approve"), &json!("needs_input")));
    let snapshot = client.get("/agent-ui/sessions/s").json();
    assert_eq!(snapshot["pendingActions"][0]["actionId"], asked["actionId"]);
    assert_eq!(snapshot["runtimeStatus"], "needs_input");
    let id = asked["actionId"].as_str().unwrap();
    assert_eq!(client.post(&format!("/api/sessions/s/permissions/{id}"), &json!({ "reply": "once" })).status, 200);
    let (_, settled) = until(&mut stream, "action.resolved").pop().unwrap();
    assert_eq!((&settled["actionId"], &settled["payload"]["decision"]), (&asked["actionId"], &json!("allow_once")));
    let (_, finished) = until(&mut stream, "run.finished").pop().unwrap();
    assert_eq!(finished["payload"]["outcome"], "success");
}

#[test]
fn each_layer_answers_its_own() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    demo(client);
    let list = client.get("/agent-ui/sessions?limit=1").json();
    assert_eq!((&list["sessions"][0]["sessionId"], &list["truncated"]), (&json!("s"), &json!(false)));
    let window = client.get("/agent-ui/sessions/s/window?limit=2").json();
    assert_eq!((window["messages"].as_array().unwrap().len(), &window["truncated"]), (2, &json!(true)));
    let older = window["olderCursor"].as_str().unwrap();
    let page = client.get(&format!("/agent-ui/sessions/s/window?limit=2&before={older}")).json();
    assert_eq!(page["messages"].as_array().unwrap().len(), 2);
    let (mut cursor, mut events) = (0, Vec::new());
    loop {
        let page = client.get(&format!("/agent-ui/sessions/s/timeline?cursor={cursor}&limit=50")).json();
        events.extend(page["events"].as_array().unwrap().clone());
        match page["nextCursor"].as_u64() {
            Some(next) => cursor = next,
            None => break,
        }
    }
    let sequences: Vec<u64> = events.iter().map(|event| event["sequence"].as_u64().unwrap()).collect();
    assert!(sequences.is_sorted() && sequences.first() == Some(&1));
    let created = events.iter().filter(|event| event["type"] == "artifact.created");
    for created in created {
        let read = created["artifactReadRef"].as_str().unwrap();
        let preview = client.get(read.strip_suffix("/content").unwrap()).json();
        assert_eq!(preview["artifactId"], created["artifactId"]);
        let content = client.get(read);
        assert!(content.status == 200 && !content.bytes.is_empty());
        assert_eq!(content.header("content-type"), Some("application/octet-stream"));
        if created["artifactKind"] == "image" {
            assert!(content.bytes.starts_with(b"\x89PNG"));
        }
    }
    let big = events.iter().find(|event| event["payload"]["outputRef"].is_string()).expect("a large output");
    assert!(big["payload"]["preview"].as_str().unwrap().len() <= 4096);
    assert_eq!(client.get(big["payload"]["outputRef"].as_str().unwrap()).status, 200);
    let diagnostics = client.get("/agent-ui/sessions/s/diagnostics").json();
    assert!(diagnostics["events"].as_array().unwrap().iter().any(|event| event["type"] == "diagnostic.changed"));
    assert_eq!(client.get("/agent-ui/sessions/s/evidence").json()["evidence"], json!([]));
}

#[test]
fn bad_input_is_a_problem() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("s");
    client.get("/agent-ui/sessions/nobody/events").is_problem(404, "session_not_found");
    client.get("/agent-ui/sessions/nobody").is_problem(404, "session_not_found");
    client.get("/agent-ui/sessions/s/events?after=99").is_problem(400, "bad_cursor");
    client.get("/agent-ui/sessions/s/events?after=x").is_problem(400, "invalid_request");
    client.get("/agent-ui/sessions/s/events?upto=1").is_problem(400, "invalid_request");
    client.get("/agent-ui/sessions/s/window?limit=0").is_problem(400, "invalid_request");
    client.get("/agent-ui/sessions/s/window?before=nothing").is_problem(400, "invalid_request");
    client.get("/agent-ui/sessions/s/artifacts/nothing").is_problem(404, "not_found");
    client.request("GET", "/agent-ui/sessions", &[("authorization", "Bearer x")], b"").is_problem(401, "unauthorized");
}
