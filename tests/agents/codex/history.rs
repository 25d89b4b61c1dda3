//! Forks, rollbacks, compaction, threads that Codex has stored and threads that are no longer there.

use serde_json::json;

use super::{ECHO, last_conversation, session};
use crate::support::of_kind;

#[test]
fn a_fork_remembers_what_came_before_it_and_nothing_else() {
    let (mut place, id) = session(ECHO);
    let first = place.turn(&id, "remember the warp").completed();
    place.turn(&id, "forget the weft").completed();
    let turn = first.of_kind("done")[0]["turn_id"].clone();
    let forked = place.client().post(&format!("/api/sessions/{id}/fork"), &json!({ "at_turn": turn }));
    assert_eq!(forked.status, 201, "{}", forked.body);
    let branch = forked.json()["session_id"].as_str().unwrap().to_owned();
    place.adopt(&branch);
    place.turn(&branch, "what was it").completed();
    let heard = last_conversation(&place);
    assert!(heard.contains("remember the warp") && !heard.contains("forget the weft"), "{heard}");
    let (parent, child) = (place.client().session(&id), place.client().session(&branch));
    assert_ne!(parent["provider_session_id"], child["provider_session_id"]);
    place.turn(&id, "and you").completed();
    let heard = last_conversation(&place);
    assert!(heard.contains("forget the weft") && !heard.contains("what was it"), "{heard}");
    place.end();
}

#[test]
fn a_rollback_forgets_the_last_turns() {
    let (mut place, id) = session(ECHO);
    place.turn(&id, "remember the warp").completed();
    place.turn(&id, "forget the weft").completed();
    let roll = |place: &crate::place::Place, turns: u32| {
        let rolled = place.client().post(&format!("/api/sessions/{id}/rollback"), &json!({ "turns": turns }));
        assert_eq!(rolled.status, 200, "{}", rolled.body);
    };
    roll(&place, 1);
    place.turn(&id, "what was it").completed();
    let heard = last_conversation(&place);
    assert!(heard.contains("remember the warp") && !heard.contains("forget the weft"), "{heard}");
    assert_eq!(of_kind(&place.client().log(&id), "rollback")[0]["data"]["files_restored"], false);
    // Another process made these turns: where they stood is not in its memory.
    assert_eq!(place.daemon.terminate(), Some(0));
    place.daemon.again();
    roll(&place, 1);
    place.turn(&id, "and now").completed();
    let heard = last_conversation(&place);
    assert!(heard.contains("remember the warp") && !heard.contains("what was it"), "{heard}");
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
    assert!(turn.only("compaction_end")["failed"].is_null());
    let asked = place.model.server().requests();
    assert!(asked.iter().any(|seen| seen.kind == Some(turnloom_scripted::Kind::Compact)), "a summary was asked for");
    place.turn(&id, "go on").completed();
    place.end();
}

#[test]
fn a_stored_thread_is_found_and_adopted_with_its_history() {
    let (mut place, id) = session(ECHO);
    place.turn(&id, "remember the warp").completed();
    place.turn(&id, "and the weft").completed();
    let thread = place.client().session(&id)["provider_session_id"].as_str().unwrap().to_owned();
    let dir = place.dir().to_str().unwrap().to_owned();
    let listed = place.client().get(&format!("/api/agents/codex/conversations?cwd={dir}"));
    assert_eq!(listed.status, 200, "{}", listed.body);
    let found = listed.json();
    assert_eq!(found["conversations"][0]["id"], thread.as_str(), "{found}");
    assert_eq!(found["conversations"][0]["title"], "remember the warp", "{found}");
    // The session that has it must let go of it first.
    assert_eq!(place.client().delete(&format!("/api/sessions/{id}?purge=true")).status, 204);
    place.forget(&id);
    let adopted = place.client().post("/api/sessions", &json!({ "runtime": "codex", "adopt": thread }));
    assert_eq!(adopted.status, 201, "{}", adopted.body);
    let session = adopted.json()["session_id"].as_str().unwrap().to_owned();
    place.adopt(&session);
    let log = place.client().log(&session);
    assert_eq!(of_kind(&log, "done").len(), 2, "both turns are there");
    place.turn(&session, "what was it").completed();
    let heard = last_conversation(&place);
    assert!(heard.contains("remember the warp") && heard.contains("and the weft"), "{heard}");
    place.end();
}

#[test]
fn a_name_and_an_archive_are_also_the_threads() {
    let (place, id) = session(ECHO);
    place.turn(&id, "remember the warp").completed();
    let path = format!("/api/sessions/{id}");
    assert_eq!(place.client().patch(&path, &json!({ "title": "The warp" })).status, 200);
    let dir = place.dir().to_str().unwrap().to_owned();
    let listed =
        || place.client().get(&format!("/api/agents/codex/conversations?cwd={dir}")).json()["conversations"].clone();
    assert_eq!(listed()[0]["title"], "The warp");
    assert_eq!(of_kind(&place.client().log(&id), "session_updated").len(), 1, "Codex's echo of the name is no news");
    assert_eq!(place.client().delete(&path).status, 200);
    assert_eq!(listed(), json!([]), "it is put away there too");
    assert_eq!(place.client().post(&format!("{path}/unarchive"), &json!({})).status, 200);
    assert_eq!(listed()[0]["title"], "The warp");
    place.turn(&id, "what was it").completed();
    let log = place.client().log(&id);
    assert_eq!(of_kind(&log, "session_ready").last().unwrap()["data"]["resumed"], true);
    assert!(last_conversation(&place).contains("remember the warp"));
    place.end();
}

#[test]
fn a_thread_that_was_lost_is_said_to_be_lost() {
    let (mut place, id) = session(ECHO);
    place.turn(&id, "remember the warp").completed();
    assert_eq!(place.daemon.terminate(), Some(0));
    for gone in std::fs::read_dir(place.home.path().join(".codex")).unwrap().map(Result::unwrap) {
        if gone.path().is_dir() {
            std::fs::remove_dir_all(gone.path()).unwrap();
        } else if gone.file_name() != "config.toml" {
            std::fs::remove_file(gone.path()).unwrap();
        }
    }
    place.daemon.again();
    place.turn(&id, "what was it").completed();
    let log = place.client().log(&id);
    let ready = &of_kind(&log, "session_ready").last().unwrap()["data"].clone();
    assert_eq!(ready["resumed"], false);
    assert!(ready["reason"].as_str().is_some_and(|reason| !reason.is_empty()), "{ready}");
    assert!(!last_conversation(&place).contains("warp"));
    place.end();
}

#[test]
fn an_unknown_thread_is_not_resumed() {
    let (place, id) = session(ECHO);
    let body = json!({ "provider_session_id": "00000000-0000-7000-8000-000000000000" });
    let answer = place.client().post(&format!("/api/sessions/{id}/resume"), &body);
    answer.is_problem(502, "conversation_not_found");
    assert!(place.doctor().contains("conversation_not_found"), "{}", place.doctor());
    place.turn(&id, "hello").completed();
    place.end();
}

#[test]
fn two_sessions_do_not_share_a_thread() {
    let (mut place, id) = session(ECHO);
    place.turn(&id, "hello").completed();
    let thread = place.client().session(&id)["provider_session_id"].clone();
    let other = place.session("codex", json!({}));
    let answer =
        place.client().post(&format!("/api/sessions/{other}/resume"), &json!({ "provider_session_id": thread }));
    answer.is_problem(502, "conversation_in_use");
    place.end();
}
