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

/// As a program leaves it that is killed before it has written the end of a turn.
#[test]
fn a_conversation_whose_end_was_never_stored_is_not_said_to_be_remembered() {
    let (mut place, id) = session(ECHO);
    place.turn(&id, "remember the warp").completed();
    place.turn(&id, "and the weft").completed();
    let conversation = place.client().session(&id)["provider_session_id"].as_str().unwrap().to_owned();
    assert_eq!(place.daemon.terminate(), Some(0));
    let projects = std::fs::read_dir(place.home.path().join(".claude/projects")).unwrap();
    let file = projects.map(|folder| folder.unwrap().path().join(format!("{conversation}.jsonl")));
    let file = file.into_iter().find(|file| file.is_file()).expect("the conversation is stored");
    let stored = std::fs::read_to_string(&file).unwrap();
    let cut = stored.find("and the weft").expect("the last turn is stored");
    let line = stored[..cut].rfind('\n').expect("it is not the first line") + 1;
    std::fs::write(&file, &stored[..line]).unwrap();
    place.daemon.again();
    place.turn(&id, "what was it").completed();
    let heard = place.last_conversation();
    assert!(heard.contains("remember the warp") && !heard.contains("and the weft"), "{heard}");
    let log = place.client().log(&id);
    let ready = of_kind(&log, "session_ready").last().unwrap()["data"].clone();
    assert_eq!(ready["resumed"], false, "{ready}");
    assert!(ready["reason"].as_str().unwrap().contains("has not stored the end"), "{ready}");
    // From here on it is whole again.
    assert_eq!(place.daemon.terminate(), Some(0));
    place.daemon.again();
    place.turn(&id, "and now").completed();
    let log = place.client().log(&id);
    assert_eq!(of_kind(&log, "session_ready").last().unwrap()["data"]["resumed"], true);
    place.end();
}

/// Some turns leave little behind: a command of the program's own, a compaction, a stop. The program still has all that there was.
#[test]
fn a_conversation_is_remembered_whatever_its_last_turn_was() {
    let (mut place, id) = session(ECHO);
    place.turn(&id, "remember the warp").completed();
    let last_ready = |place: &Place| of_kind(&place.client().log(&id), "session_ready").last().unwrap()["data"].clone();
    for last in ["/cost", "/compact", "compact", "stop at once", "/nothing of the kind", "/clear"] {
        match last {
            "compact" => {
                let asked = place.client().post(&format!("/api/sessions/{id}/compact"), &json!({}));
                assert_eq!(asked.status, 202, "{}", asked.body);
                place.until_idle(&id).completed();
            }
            // It may have begun or not.
            "stop at once" => {
                place.say(&id, last);
                place.client().post(&format!("/api/sessions/{id}/stop"), &json!({}));
                place.until_idle(&id);
            }
            typed => drop(place.turn(&id, typed).completed()),
        }
        assert_eq!(place.daemon.terminate(), Some(0));
        place.daemon.again();
        place.turn(&id, "go on").completed();
        let ready = last_ready(&place);
        assert_eq!(ready["resumed"], true, "after {last}: {ready}");
    }
    place.end();
}

#[test]
fn a_stop_is_remembered() {
    let (mut place, id) = session(
        "[[reply]]\nwhen = { user = \"count\" }\nstep = [{ text = \"one, \" }, { wait_for = \"two\" }]\n\
         [[reply]]\nalways = true\nstep = [{ text = \"Yes.\" }]",
    );
    place.turn(&id, "hello").completed();
    place.say(&id, "count");
    place.until(&id, "what it says", |event| event["type"] == "delta" && event["data"]["text"] == "one, ");
    place.stop(&id);
    place.until_idle(&id);
    assert_eq!(place.daemon.terminate(), Some(0));
    place.daemon.again();
    place.turn(&id, "go on").completed();
    assert!(place.last_conversation().contains("count"));
    let log = place.client().log(&id);
    assert_eq!(of_kind(&log, "session_ready").last().unwrap()["data"]["resumed"], true);
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
