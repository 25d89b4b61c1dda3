//! Asks: settled exactly once, whoever answers.

use serde_json::json;

use crate::support::{Daemon, assert_lawful, of_kind};

#[test]
fn two_answers_at_once_have_one_winner() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    for round in 0..20 {
        let id = format!("s{round}");
        client.mock(&id);
        client.say(&id, "permission");
        let ask = client.ask(&id);
        let path = format!("/api/sessions/{id}/permissions/{ask}");
        let answers: Vec<_> = std::thread::scope(|scope| {
            let answer = |name: &'static str, reply: &'static str| {
                let path = &path;
                scope.spawn(move || {
                    let headers = [("content-type", "application/json"), ("turnloom-client", name)];
                    (name, client.request("POST", path, &headers, json!({ "reply": reply }).to_string().as_bytes()))
                })
            };
            [answer("left", "once"), answer("right", "reject")].map(|thread| thread.join().unwrap()).into()
        });
        let (winner, won) = answers.iter().find(|(_, answer)| answer.status == 200).expect("a winner");
        let (_, lost) = answers.iter().find(|(_, answer)| answer.status == 409).expect("a loser");
        let problem = lost.is_problem(409, "already_resolved");
        assert_eq!((&problem["by"], &problem["seq"]), (&json!(winner), &won.json()["seq"]));
        client.until_idle(&id);
        let log = client.log(&id);
        let resolved = of_kind(&log, "permission_resolved");
        assert_eq!(resolved.len(), 1);
        assert_eq!((&resolved[0]["data"]["by"], &resolved[0]["seq"]), (&json!(winner), &won.json()["seq"]));
        assert_lawful(&log);
    }
}

#[test]
fn a_permission_can_be_given_with_another_input_or_refused_with_a_reason() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("s");
    let answer = |body: serde_json::Value| {
        client.say("s", "permission");
        let ask = client.ask("s");
        let answered = client.post(&format!("/api/sessions/s/permissions/{ask}"), &body);
        assert_eq!(answered.status, 200, "{}", answered.body);
        client.until_idle("s");
        client.log("s")
    };
    let log = answer(json!({ "reply": "always", "updated_input": { "command": "rm -rf tmp" } }));
    assert!(log.iter().any(|event| event["type"] == "delta" && event["data"]["text"].as_str().unwrap().contains("rm")));
    let log = answer(json!({ "reply": "reject", "message": "too dangerous" }));
    let result = of_kind(&log, "tool_result").last().copied().cloned().unwrap();
    assert_eq!(result["data"]["denied"], true);
    assert!(result["data"]["output"].as_str().unwrap().contains("too dangerous"));
    let log = answer(json!({ "reply": "reject", "stop": true }));
    assert_eq!(log.last().unwrap()["data"]["outcome"], "stopped");
    assert_lawful(&log);
}

#[test]
fn a_question_takes_what_it_offers() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("s");
    client.say("s", "question");
    let ask = client.ask("s");
    assert_eq!(client.session("s")["status"], "waiting");
    let path = format!("/api/sessions/s/questions/{ask}");
    for wrong in [json!([["Silk"]]), json!([["Silk", "Wool"], ["Indigo"]]), json!([["Silk"], ["Purple"]])] {
        client.post(&path, &json!({ "answers": wrong })).is_problem(400, "invalid_request");
    }
    client
        .post(&format!("/api/sessions/s/permissions/{ask}"), &json!({ "reply": "once" }))
        .is_problem(400, "invalid_request");
    assert_eq!(client.post(&path, &json!({ "answers": [["my own yarn"], ["Indigo", "Weld"]] })).status, 200);
    client.until_idle("s");
    client.say("s", "question");
    let ask = client.ask("s");
    assert_eq!(client.post(&format!("/api/sessions/s/questions/{ask}/reject"), &json!({})).status, 200);
    client.until_idle("s");
    assert_lawful(&client.log("s"));
}

#[test]
fn an_interrupt_takes_any_value() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("s");
    client.say("s", "interrupt");
    let ask = client.ask("s");
    assert_eq!(client.post(&format!("/api/sessions/s/interrupt/{ask}"), &json!({ "value": "2026-12-24" })).status, 200);
    client.until_idle("s");
    let log = client.log("s");
    assert_eq!(of_kind(&log, "interrupt_resolved")[0]["data"]["value"], "2026-12-24");
}

#[test]
fn an_input_that_does_not_fit_is_refused_and_the_ask_still_waits() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("s");
    client.say("s", "permission");
    let ask = client.ask("s");
    let path = format!("/api/sessions/s/permissions/{ask}");
    for wrong in [json!("rm -rf tmp"), json!(["rm"]), json!({ "command": ["rm", "-rf"] }), json!({ "command": null })] {
        client.post(&path, &json!({ "reply": "once", "updated_input": wrong })).is_problem(400, "invalid_request");
    }
    assert_eq!(client.ask("s"), ask);
    assert_eq!(client.post(&path, &json!({ "reply": "once" })).status, 200);
    client.until_idle("s");
    let log = client.log("s");
    assert_eq!(of_kind(&log, "permission_resolved").len(), 1);
    assert_lawful(&log);
}

#[test]
fn an_ask_is_settled_with_its_turn_and_an_unknown_one_is_unknown() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("s");
    client.say("s", "permission");
    let ask = client.ask("s");
    client.post("/api/sessions/s/stop", &json!({}));
    assert_eq!(client.get("/api/asks").json()["asks"], json!([]));
    let problem = client
        .post(&format!("/api/sessions/s/permissions/{ask}"), &json!({ "reply": "once" }))
        .is_problem(409, "already_resolved");
    assert_eq!(problem["by"], "turnloom");
    client.post("/api/sessions/s/permissions/nothing", &json!({ "reply": "once" })).is_problem(404, "ask_not_found");
    assert_lawful(&client.log("s"));
}

#[test]
fn asks_of_all_sessions_are_listed_oldest_first() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    for id in ["a", "b"] {
        client.mock(id);
        client.say(id, "permission");
        client.ask(id);
    }
    let asks = client.get("/api/asks").json();
    let order: Vec<_> =
        asks["asks"].as_array().unwrap().iter().map(|ask| ask["session_id"].as_str().unwrap()).collect();
    assert_eq!(order, ["a", "b"]);
    assert_eq!(asks["asks"][0]["request"]["tool_name"], "Bash");
}
