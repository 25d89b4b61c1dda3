//! Forks, rollbacks, compaction, and conversations that are no longer there.

use serde_json::json;

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

#[test]
fn a_rollback_forgets_the_last_turns() {
    let (place, id) = session(ECHO);
    place.turn(&id, "remember the warp").completed();
    place.turn(&id, "forget the weft").completed();
    let rolled = place.client().post(&format!("/api/sessions/{id}/rollback"), &json!({ "turns": 1 }));
    assert_eq!(rolled.status, 200, "{}", rolled.body);
    place.turn(&id, "what was it").completed();
    let heard = place.last_conversation();
    assert!(heard.contains("remember the warp") && !heard.contains("forget the weft"), "{heard}");
    let log = place.client().log(&id);
    assert_eq!(of_kind(&log, "rollback")[0]["data"]["files_restored"], false);
    // And once more, back to nothing.
    let rolled = place.client().post(&format!("/api/sessions/{id}/rollback"), &json!({ "turns": 2 }));
    assert_eq!(rolled.status, 200, "{}", rolled.body);
    place.turn(&id, "who am I").completed();
    assert!(!place.last_conversation().contains("warp"));
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
