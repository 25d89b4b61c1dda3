//! Facts that scripts add.

use serde_json::{Value, json};

use crate::agent::make_token;
use crate::support::{Client, Daemon, of_kind};

fn component(value: f64) -> Value {
    let props = json!({ "value": value });
    json!({ "type": "component_update", "data": { "component_id": "build", "name": "progress", "surface": "sidebar", "props": props, "merge": true } })
}

#[test]
fn all_or_nothing_once_and_by_name() {
    let daemon = Daemon::start();
    daemon.client.mock("s1");
    let (_, token) = make_token(&daemon.client, "ci", &["emit:s1"]);
    let script = Client::new(&daemon.client.address, Some(&token));
    let emit = |body: Value| script.post("/api/sessions/s1/emit", &body);
    let first = emit(
        json!({ "id": "step-7", "events": [component(0.4), { "type": "state_delta", "data": { "patch": [{ "op": "add", "path": "/n", "value": 1 }] } }] }),
    );
    assert_eq!(first.status, 200, "{}", first.body);
    assert_eq!(first.json()["accepted"], 2);
    let again = emit(
        json!({ "id": "step-7", "events": [component(0.4), { "type": "state_delta", "data": { "patch": [{ "op": "add", "path": "/n", "value": 1 }] } }] }),
    );
    assert_eq!(again.json(), first.json(), "a retry is answered the same");
    let log = daemon.client.log("s1");
    let shown = of_kind(&log, "component_update");
    assert_eq!(
        (shown.len(), &shown[0]["data"]["by"], &shown[0]["data"]["emit_id"]),
        (1, &json!("ci"), &json!("step-7"))
    );
    assert_eq!(of_kind(&log, "state_delta")[0]["data"]["by"], "ci");

    let head = log.len();
    for (body, status, code) in [
        (
            json!({ "events": [component(0.5), { "type": "done", "data": { "outcome": "completed" } }] }),
            422,
            "not_for_emit",
        ),
        (
            json!({ "events": [component(0.5), { "type": "delta", "data": { "block_id": "b", "text": "x" } }] }),
            422,
            "not_for_emit",
        ),
        (json!({ "events": [{ "type": "nonsense", "data": {} }] }), 422, "not_for_emit"),
        (
            json!({ "events": [component(0.5), { "type": "tool_progress", "data": { "tool_use_id": "none" } }] }),
            422,
            "not_for_emit",
        ),
        (
            json!({ "events": [component(0.5), { "type": "state_delta", "data": { "patch": [{ "op": "remove", "path": "/no" }] } }] }),
            422,
            "invalid_patch",
        ),
        (json!({ "turn_id": "turn_1", "events": [component(0.5)] }), 409, "turn_over"),
        (json!({ "events": [] }), 400, "invalid_request"),
        (json!({ "id": "", "events": [component(0.5)] }), 400, "invalid_request"),
        (json!({ "events": vec![component(0.5); 101] }), 413, "emit_too_large"),
        (
            json!({ "events": [{ "type": "evidence_changed", "data": { "evidence_id": "x".repeat(300_000) } }] }),
            413,
            "emit_too_large",
        ),
    ] {
        emit(body).is_problem(status, code);
    }
    assert_eq!(daemon.client.log("s1").len(), head, "nothing half done");
}

#[test]
fn a_retry_after_a_restart_is_a_retry() {
    let mut daemon = Daemon::start();
    daemon.client.mock("s1");
    let body = json!({ "id": "once", "events": [component(0.1)] });
    let first = daemon.client.post("/api/sessions/s1/emit", &body).json();
    daemon.kill();
    daemon.again();
    assert_eq!(daemon.client.post("/api/sessions/s1/emit", &body).json(), first);
    assert_eq!(of_kind(&daemon.client.log("s1"), "component_update").len(), 1);
}

#[test]
fn too_many_calls_are_refused() {
    let daemon = Daemon::start();
    daemon.client.mock("s1");
    let mut refused = 0;
    for _ in 0..400 {
        let answer = daemon.client.post("/api/sessions/s1/emit", &json!({ "events": [component(0.1)] }));
        refused += usize::from(answer.status == 429);
        if refused > 0 {
            return answer.is_problem(429, "too_many_emits").as_object().map(drop).unwrap();
        }
    }
    panic!("nothing was refused");
}
