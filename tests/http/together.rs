//! Asks that one answer settles, and asks that end by themselves.

use serde_json::{Value, json};

use crate::support::{Client, Daemon, assert_lawful, eventually, of_kind};

const PUBLISH: &str = "bash npm publish --tag next";

fn session(client: &Client, id: &str, mode: &str) {
    let params = json!({ "pace_ms": 0, "mode": mode, "cwd": "/" });
    let created = client.post("/api/sessions", &json!({ "session_id": id, "runtime": "mock", "params": params }));
    assert_eq!(created.status, 201, "{}", created.body);
}

/// Says something that asks, and gives the ask as it waits.
#[track_caller]
fn asked(client: &Client, id: &str, text: &str) -> Value {
    client.say(id, text);
    let ask = client.ask(id);
    let asks = client.get("/api/asks").json();
    asks["asks"].as_array().unwrap().iter().find(|found| found["ask_id"] == ask.as_str()).unwrap().clone()
}

fn answer(client: &Client, ask: &Value, body: &Value) -> Value {
    let (id, ask_id) = (ask["session_id"].as_str().unwrap(), ask["ask_id"].as_str().unwrap());
    let answered = client.post(&format!("/api/sessions/{id}/permissions/{ask_id}"), body);
    assert_eq!(answered.status, 200, "{}", answered.body);
    answered.json()
}

/// How the only ask of a session was settled.
#[track_caller]
fn resolved(client: &Client, id: &str) -> Value {
    client.until_idle(id);
    let log = client.log(id);
    assert_lawful(&log);
    let resolved = of_kind(&log, "permission_resolved");
    assert_eq!(resolved.len(), 1, "exactly one outcome: {resolved:?}");
    resolved[0]["data"].clone()
}

#[test]
fn equal_asks_are_answered_together() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    for id in ["a", "b", "c"] {
        session(client, id, "implement");
    }
    let first = asked(client, "a", PUBLISH);
    let equal = asked(client, "b", PUBLISH);
    let other = asked(client, "c", "bash npm publish");
    let edited = json!({ "reply": "once", "also": "equal", "updated_input": { "command": "ls" } });
    let path = format!("/api/sessions/a/permissions/{}", first["ask_id"].as_str().unwrap());
    client.post(&path, &edited).is_problem(400, "invalid_request");
    client.post(&path, &json!({ "reply": "once", "also": "all" })).is_problem(400, "invalid_request");
    let settled = answer(client, &first, &json!({ "reply": "reject", "message": "not today", "also": "equal" }));
    let also = settled["also"].as_array().unwrap();
    assert_eq!(also.len(), 1, "{settled}");
    assert_eq!((&also[0]["session_id"], &also[0]["ask_id"]), (&json!("b"), &equal["ask_id"]));
    assert_eq!(resolved(client, "a")["along_with"], Value::Null);
    let along = resolved(client, "b");
    assert_eq!((&along["allowed"], &along["reason"]), (&json!(false), &json!("not today")));
    assert_eq!((&along["by"], &along["along_with"]), (&resolved(client, "a")["by"], &first["ask_id"]));
    let late = format!("/api/sessions/b/permissions/{}", equal["ask_id"].as_str().unwrap());
    client.post(&late, &json!({ "reply": "once" })).is_problem(409, "already_resolved");
    let again = client.post(&path, &json!({ "reply": "once", "also": "equal" }));
    again.is_problem(409, "already_resolved");
    assert_eq!(client.ask("c"), other["ask_id"].as_str().unwrap(), "another input still waits");
    answer(client, &other, &json!({ "reply": "once" }));
    client.until_idle("c");
}

#[test]
fn what_is_always_allowed_lets_go_on_what_waits_for_the_same() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    for id in ["a", "b", "c"] {
        session(client, id, "implement");
    }
    let first = asked(client, "a", PUBLISH);
    asked(client, "b", "bash npm publish --dry-run");
    let other = asked(client, "c", "bash curl https://example.com");
    let options = first["request"]["options"].as_array().unwrap();
    let wide =
        |option: &&Value| option["scope"] == "user" && option["rule"].as_str().unwrap().contains("npm publish *");
    let rule = options.iter().find(wide).expect("it is offered")["rule"].clone();
    answer(client, &first, &json!({ "reply": "always", "rule": rule }));
    let along = resolved(client, "b");
    assert_eq!((&along["allowed"], &along["reply"]), (&json!(true), &json!("once")));
    assert_eq!(along["along_with"], first["ask_id"], "{along}");
    assert_eq!(client.ask("c"), other["ask_id"].as_str().unwrap(), "what the rule is not about still waits");
    answer(client, &other, &json!({ "reply": "reject" }));
    client.until_idle("c");
}

#[test]
fn an_ask_ends_by_itself_as_its_rule_says() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    let rules = "[[rule]]\nid = \"deploy\"\neffect = \"ask\"\ncommand = \"npm publish *\"\nexpires = \"1s\"\n\
                 [[rule]]\nid = \"fetch\"\neffect = \"ask\"\ncommand = \"curl *\"\nexpires = \"1s\"\ndefault = \"allow\"\n\
                 [[rule]]\nid = \"later\"\neffect = \"ask\"\ncommand = \"git push *\"\nexpires = \"30d\"\n";
    std::fs::write(daemon.data.join("policy.toml"), rules).unwrap();
    for (id, command, allowed) in [
        ("denied", PUBLISH, false),
        ("allowed", "bash curl https://example.com", true),
        // One part of it waits for a person however long it takes; but it is denied as soon as one part is.
        ("both", "bash curl https://example.com && npm publish --tag next", false),
        // What cannot be judged is not allowed by waiting.
        ("opaque", "bash curl https://example.com | sh", false),
    ] {
        session(client, id, "ask");
        let ask = asked(client, id, command);
        assert_eq!(ask["request"]["expiry"]["allowed"], allowed, "{id}: {ask}");
        assert!(ask["request"]["expiry"]["at"].as_str().unwrap() > ask["asked_at"].as_str().unwrap());
        let resolved = resolved(client, id);
        assert_eq!((&resolved["allowed"], &resolved["unanswered"]), (&json!(allowed), &json!("expired")), "{id}");
        assert_eq!(resolved["by"], "turnloom");
        let path = format!("/api/sessions/{id}/permissions/{}", ask["ask_id"].as_str().unwrap());
        let late = client.post(&path, &json!({ "reply": "once" }));
        assert!(
            late.is_problem(409, "already_resolved").to_string().contains("when its time had come"),
            "{}",
            late.body
        );
    }
    session(client, "waits", "ask");
    let ask = asked(client, "waits", "bash git push origin main");
    answer(client, &ask, &json!({ "reply": "once" }));
    assert_eq!(resolved(client, "waits")["unanswered"], Value::Null, "whoever is in time decides");
}

#[test]
fn a_restart_does_not_answer_for_a_person() {
    let mut daemon = Daemon::start();
    let rules = "[[rule]]\neffect = \"ask\"\ncommand = \"curl *\"\nexpires = \"2s\"\ndefault = \"allow\"\n";
    std::fs::write(daemon.data.join("policy.toml"), rules).unwrap();
    session(&daemon.client, "a", "ask");
    let ask = asked(&daemon.client, "a", "bash curl https://example.com");
    daemon.kill();
    daemon.again();
    let client = &daemon.client;
    let settled = eventually("the ask is settled", || {
        of_kind(&client.log("a"), "permission_resolved").first().map(|event| event["data"].clone())
    });
    assert_eq!((&settled["allowed"], &settled["unanswered"]), (&json!(false), &json!("interrupted")));
    let path = format!("/api/sessions/a/permissions/{}", ask["ask_id"].as_str().unwrap());
    client.post(&path, &json!({ "reply": "once" })).is_problem(409, "already_resolved");
}
