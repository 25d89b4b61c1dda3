//! Forks, rollbacks, compaction, and conversations that are no longer there.

use serde_json::{Value, json};

use super::session;
use crate::place::Place;
use crate::support::of_kind;

/// Every message is answered with its own words, and the model says how many messages it saw.
const ECHO: &str = r#"
    [[reply]]
    name = "write"
    when = { user = "write" }
    always = true
    step = [{ write = { path = "note.txt", text = "{{user}}\n" } }]
    [[reply]]
    when = { after = "write" }
    always = true
    step = [{ text = "Written." }]
    [[reply]]
    when = { user = "" }
    always = true
    step = [{ text = "You said: {{user}}" }]
"#;

/// What the model was sent last, as one text.
fn last_conversation(place: &Place) -> String {
    let seen = place.model.server().requests();
    seen.iter().rev().find(|seen| seen.kind == Some(turnloom_scripted::Kind::Turn)).unwrap().heard.join("\n")
}

fn fork(place: &mut Place, id: &str, body: &Value) -> String {
    let forked = place.client().post(&format!("/api/sessions/{id}/fork"), body);
    assert_eq!(forked.status, 201, "{}", forked.body);
    let fork = forked.json()["session_id"].as_str().unwrap().to_owned();
    place.adopt(&fork);
    fork
}

#[test]
fn a_fork_remembers_what_came_before_it_and_nothing_else() {
    let (mut place, id) = session(ECHO);
    let first = place.turn(&id, "remember the warp").completed();
    place.turn(&id, "forget the weft").completed();
    let turn = first.of_kind("done")[0]["turn_id"].clone();
    let branch = fork(&mut place, &id, &json!({ "at_turn": turn }));
    place.turn(&branch, "what was it").completed();
    let heard = last_conversation(&place);
    assert!(heard.contains("remember the warp") && !heard.contains("forget the weft"), "{heard}");
    let (parent, child) = (place.client().session(&id), place.client().session(&branch));
    assert_ne!(parent["provider_session_id"], child["provider_session_id"]);
    // The parent does not know of it.
    place.turn(&id, "and you").completed();
    let heard = last_conversation(&place);
    assert!(heard.contains("forget the weft") && !heard.contains("what was it"), "{heard}");
    place.end();
}

#[test]
fn a_rollback_forgets_the_last_turns() {
    let (place, id) = session(ECHO);
    place.turn(&id, "remember the warp").completed();
    place.turn(&id, "forget the weft").completed();
    let rolled = place.client().post(&format!("/api/sessions/{id}/rollback"), &json!({ "turns": 1 }));
    assert_eq!(rolled.status, 200, "{}", rolled.body);
    place.turn(&id, "what was it").completed();
    let heard = last_conversation(&place);
    assert!(heard.contains("remember the warp") && !heard.contains("forget the weft"), "{heard}");
    let log = place.client().log(&id);
    assert_eq!(of_kind(&log, "rollback")[0]["data"]["files_restored"], false);
    // And once more, back to nothing.
    let rolled = place.client().post(&format!("/api/sessions/{id}/rollback"), &json!({ "turns": 2 }));
    assert_eq!(rolled.status, 200, "{}", rolled.body);
    place.turn(&id, "who am I").completed();
    assert!(!last_conversation(&place).contains("warp"));
    place.end();
}

#[test]
fn a_rollback_puts_files_back_when_told_to() {
    let mut place = Place::claude(ECHO);
    let id = place.session("claude", json!({ "permission_mode": "acceptEdits" }));
    place.turn(&id, "hello").completed();
    place.turn(&id, "write blue").completed();
    assert!(place.file("note.txt").is_some());
    let body = json!({ "turns": 1, "restore_files": true });
    let rolled = place.client().post(&format!("/api/sessions/{id}/rollback"), &body);
    assert_eq!(rolled.status, 200, "{}", rolled.body);
    let log = place.client().log(&id);
    assert_eq!(of_kind(&log, "rollback")[0]["data"]["files_restored"], true);
    assert!(place.file("note.txt").is_none(), "the file is gone again");
    place.end();
}

#[test]
fn compaction() {
    let (place, id) = session(ECHO);
    place.turn(&id, "remember the warp").completed();
    place.turn(&id, "and the weft").completed();
    assert_eq!(place.client().post(&format!("/api/sessions/{id}/compact"), &json!({})).status, 202);
    let turn = place.until_idle(&id).completed();
    assert_eq!(turn.only("compaction_start")["trigger"], "manual");
    let end = turn.only("compaction_end");
    assert!(end["failed"].is_null() && end["tokens_before"].is_number(), "{end}");
    place.turn(&id, "go on").completed();
    place.end();
}

#[test]
fn a_conversation_that_was_lost_is_said_to_be_lost() {
    let (mut place, id) = session(ECHO);
    place.turn(&id, "remember the warp").completed();
    assert_eq!(place.daemon.terminate(), Some(0));
    std::fs::remove_dir_all(place.home.path().join(".claude/projects")).unwrap();
    place.daemon.again();
    place.turn(&id, "what was it").completed();
    let log = place.client().log(&id);
    let ready = &of_kind(&log, "session_ready").last().unwrap()["data"].clone();
    assert_eq!(ready["resumed"], false);
    assert!(ready["reason"].as_str().unwrap().contains("without memory"), "{ready}");
    place.end();
}

#[test]
fn an_unknown_conversation_is_not_resumed() {
    let (place, id) = session(ECHO);
    let body = json!({ "provider_session_id": "00000000-0000-4000-8000-000000000000" });
    let answer = place.client().post(&format!("/api/sessions/{id}/resume"), &body);
    answer.is_problem(502, "conversation_not_found");
    place.turn(&id, "hello").completed();
    place.end();
}

#[test]
fn two_sessions_do_not_share_a_conversation() {
    let (mut place, id) = session(ECHO);
    place.turn(&id, "hello").completed();
    let conversation = place.client().session(&id)["provider_session_id"].clone();
    let other = place.session("claude", json!({}));
    let body = json!({ "provider_session_id": conversation });
    let answer = place.client().post(&format!("/api/sessions/{other}/resume"), &body);
    answer.is_problem(502, "conversation_in_use");
    place.end();
}
