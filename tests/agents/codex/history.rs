//! Rollbacks, threads that Codex has stored, and threads that are no longer there. What every agent does in the same way is in `both`.

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::{ECHO, session, until_servers};
use crate::support::{eventually, of_kind};

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
    let heard = place.last_conversation();
    assert!(heard.contains("remember the warp") && !heard.contains("forget the weft"), "{heard}");
    assert_eq!(of_kind(&place.client().log(&id), "rollback")[0]["data"]["files_restored"], false);
    // Another process made these turns: where they stood is not in its memory.
    assert_eq!(place.daemon.terminate(), Some(0));
    place.daemon.again();
    roll(&place, 1);
    place.turn(&id, "and now").completed();
    let heard = place.last_conversation();
    assert!(heard.contains("remember the warp") && !heard.contains("what was it"), "{heard}");
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
    let heard = place.last_conversation();
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
    let is_listed = || (listed()[0]["title"] == "The warp").then_some(());
    eventually("the thread has the name", is_listed);
    assert_eq!(of_kind(&place.client().log(&id), "session_updated").len(), 1, "Codex's echo of the name is no news");
    assert_eq!(place.client().delete(&path).status, 200);
    eventually("it is put away there too", || (listed() == json!([])).then_some(()));
    assert_eq!(place.client().post(&format!("{path}/unarchive"), &json!({})).status, 200);
    place.turn(&id, "what was it").completed();
    eventually("it is taken out there too", is_listed);
    let log = place.client().log(&id);
    assert_eq!(of_kind(&log, "session_ready").last().unwrap()["data"]["resumed"], true);
    assert!(place.last_conversation().contains("remember the warp"));
    place.end();
}

/// The session is the truth: whoever renames it does not wait for Codex.
#[test]
fn nobody_waits_until_codex_knows_a_name() {
    let (place, id) = session(ECHO);
    place.turn(&id, "remember the warp").completed();
    let servers = until_servers(&place, 1);
    let tell = |signal: Signal| {
        for pid in &servers {
            kill_process(Pid::from_raw(i32::try_from(*pid).unwrap()).unwrap(), signal).unwrap();
        }
    };
    tell(Signal::STOP);
    let begun = Instant::now();
    for title in ["The weft", "The warp"] {
        assert_eq!(place.client().patch(&format!("/api/sessions/{id}"), &json!({ "title": title })).status, 200);
    }
    assert!(begun.elapsed() < Duration::from_secs(30), "Codex could not have answered");
    assert_eq!(place.client().session(&id)["title"], "The warp");
    tell(Signal::CONT);
    let dir = place.dir().to_str().unwrap().to_owned();
    eventually("the thread has the last name", || {
        let listed = place.client().get(&format!("/api/agents/codex/conversations?cwd={dir}")).json();
        (listed["conversations"][0]["title"] == "The warp").then_some(())
    });
    assert_eq!(of_kind(&place.client().log(&id), "session_updated").len(), 2, "Codex's echo of a name is no news");
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
    assert!(!place.last_conversation().contains("warp"));
    place.end();
}
