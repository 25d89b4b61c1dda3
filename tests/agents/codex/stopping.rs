//! Commands that are stopped, servers that die, what a sandbox leaves behind. What every agent does in the same way is in `both`.

use std::ffi::OsString;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::{ECHO, free, one_server, session};
use crate::place::Place;
use crate::support::{eventually, of_kind, processes_of};

const TALK: &str = r#"
    [[reply]]
    when = { user = "talk" }
    always = true
    step = [{ text = "I talk and I" }, { wait_for = "end" }, { text = " talk." }]
    [[reply]]
    name = "work"
    when = { user = "work" }
    always = true
    step = [{ run = "echo $$ > pid; while [ ! -e never ]; do sleep 0.1; done" }]
    [[reply]]
    when = { user = "still there" }
    always = true
    step = [{ text = "Still here." }]
"#;

fn until_gone(pid: u32) {
    let path = std::path::PathBuf::from(format!("/proc/{pid}"));
    eventually("the command is gone", || (!path.exists()).then_some(()));
}

/// Codex tells of a command a moment after it was started.
#[test]
fn during_a_command_that_was_not_told_of_yet() {
    let (place, id) = session(TALK);
    for _ in 0..5 {
        place.say(&id, "work");
        let pid = eventually("the command runs", || place.file("pid")?.trim().parse().ok());
        place.stop(&id);
        assert_eq!(place.last_turn(&id).outcome(), "stopped");
        until_gone(pid);
        std::fs::remove_file(place.dir().join("pid")).unwrap();
    }
    assert_eq!(place.turn(&id, "still there").completed().text(), "Still here.");
    place.end();
}

#[test]
fn during_a_command_which_ends_too() {
    let (place, id) = session(TALK);
    place.say(&id, "work");
    place.until(&id, "the tool runs", |event| event["type"] == "tool_start");
    let pid = eventually("the command runs", || place.file("pid")?.trim().parse().ok());
    place.stop(&id);
    let turn = place.last_turn(&id);
    assert_eq!(turn.outcome(), "stopped");
    let result = turn.only("tool_result");
    assert_eq!((&result["interrupted"], &result["is_error"]), (&json!(true), &json!(true)));
    until_gone(pid);
    assert_eq!(place.turn(&id, "still there").completed().text(), "Still here.");
    place.end();
}

#[test]
fn ten_sessions_lose_their_server_and_go_on() {
    let mut place = Place::codex(TALK);
    let ids: Vec<String> = (0..10).map(|_| place.session("codex", free("never"))).collect();
    for id in &ids {
        place.say(id, "talk");
    }
    for id in &ids {
        place.until(id, "some text", |event| event["type"] == "delta");
    }
    one_server(&place);
    place.kill_agents();
    for id in &ids {
        let turn = place.until_idle(id);
        assert_eq!(turn.outcome(), "interrupted", "{turn:?}");
        let error = turn.only("error");
        assert_eq!((&error["code"], &error["retryable"]), (&json!("agent_exited"), &json!(true)), "{error}");
        assert!(error["fix"].is_string(), "{error}");
    }
    let said = place.doctor();
    assert!(said.contains("agent_exited") && ids.iter().any(|id| said.contains(id)), "{said}");
    for id in &ids {
        place.say(id, "still there");
    }
    for id in &ids {
        assert_eq!(place.until_idle(id).completed().text(), "Still here.");
        let log = place.client().log(id);
        assert_eq!(of_kind(&log, "session_ready").last().unwrap()["data"]["resumed"], true);
    }
    one_server(&place);
    assert!(!place.doctor().contains("agent_exited"), "that is over");
    place.end();
}

#[test]
fn a_server_of_its_own_that_dies_is_started_again() {
    let mut place = Place::codex(ECHO);
    let id = place.session("codex", json!({ "own_process": true }));
    place.turn(&id, "before").completed();
    let servers = processes_of(&id);
    assert!(!servers.is_empty(), "it has its own");
    for pid in servers {
        let _ = kill_process(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(), Signal::KILL);
    }
    eventually("the server is gone", || processes_of(&id).is_empty().then_some(()));
    // The session may not have heard yet that its server is gone.
    let turn = place.turn(&id, "after");
    if turn.outcome() == "interrupted" {
        assert_eq!(turn.only("error")["code"], "agent_exited");
        place.turn(&id, "after all").completed();
    } else {
        turn.completed();
    }
    let log = place.client().log(&id);
    let resumed: Vec<&Value> = of_kind(&log, "session_ready").iter().map(|event| &event["data"]["resumed"]).collect();
    assert_eq!(resumed.last(), Some(&&json!(true)), "it remembers");
    place.end();
}

/// A session whose command runs in a sandbox. Where the kernel allows none, the command fails and there is nothing to leave behind.
fn sandboxed(runtime: &str) -> (Place, String) {
    // Only the workspace may be written to: the folders for temporary files are everybody's.
    let narrow = "[sandbox_workspace_write]\nexclude_slash_tmp = true\nexclude_tmpdir_env_var = true";
    let mut place = Place::codex_with(TALK, narrow);
    let id = place.session(runtime, json!({ "sandbox": "workspace-write" }));
    place.say(&id, "work");
    eventually("the command runs, or cannot", || {
        let failed = place.client().log(&id).iter().any(|event| event["type"] == "tool_result");
        (failed || place.file("pid").is_some()).then_some(())
    });
    (place, id)
}

/// What is in the workspace besides the command's own file and the project's repository.
fn strays(place: &Place) -> Vec<OsString> {
    let inside = std::fs::read_dir(place.dir()).unwrap().map(|entry| entry.unwrap().file_name());
    inside.filter(|name| name != "pid" && name != ".git").collect()
}

#[test]
fn a_sandbox_is_cleared_away_after_a_stop() {
    for runtime in ["codex", "codex-exec"] {
        let (place, id) = sandboxed(runtime);
        place.stop(&id);
        // The command is ended after the turn.
        eventually("the sandbox is gone", || strays(&place).is_empty().then_some(()));
        assert_eq!(place.turn(&id, "still there").completed().text(), "Still here.");
        place.end();
    }
}

#[test]
fn a_sandbox_is_cleared_away_when_its_server_dies() {
    let (place, id) = sandboxed("codex");
    place.kill_agents();
    place.client().until_idle(&id);
    assert_eq!(strays(&place), [""; 0]);
    place.end();
}

#[test]
fn a_sandbox_is_cleared_away_when_the_daemon_ends() {
    for runtime in ["codex", "codex-exec"] {
        let (mut place, id) = sandboxed(runtime);
        assert_eq!(place.daemon.terminate(), Some(0));
        assert!(place.agents().is_empty(), "nothing runs on");
        assert_eq!(strays(&place), [""; 0]);
        place.daemon.again();
        place.client().until_idle(&id);
        place.turn(&id, "still there").completed();
        place.end();
    }
}

#[test]
fn a_sandbox_is_cleared_away_when_the_daemon_is_killed() {
    for runtime in ["codex", "codex-exec"] {
        let (mut place, id) = sandboxed(runtime);
        place.daemon.kill();
        // Its guard does it, whether or not there is ever another daemon.
        eventually("the sandbox is gone", || strays(&place).is_empty().then_some(()));
        place.daemon.again();
        place.client().until_idle(&id);
        place.turn(&id, "still there").completed();
        place.end();
    }
}
